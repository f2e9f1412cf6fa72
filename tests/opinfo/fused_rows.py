# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of what models fuse: norms, routing to experts, batches of sequences, scaled softmax, with references in PyTorch; and
of ATen's forms with numbers. (reference, samples, dtypes) as rows.Row has them."""
import torch
from torch.nn import functional

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
NARROW = (torch.float32, torch.bfloat16, torch.float16)


def kept(x):
    return x if x.dtype == torch.float64 else x.float()


# ---- norms


def normed(x, weight=None, eps=1e-5, zero_centered=False):
    """In f32 at least, with the reciprocal of the root."""
    inverse = torch.rsqrt(kept(x).square().mean(-1, keepdim=True) + eps)
    scale = 1 if weight is None else kept(weight) + (1 if zero_centered else 0)
    return (kept(x) * inverse * scale).to(x.dtype), inverse.squeeze(-1)


def add_rms_norm(x, y, _sizes, weight=None, eps=1e-5):
    total = kept(x) + kept(y)
    return normed(total, weight, eps)[0].to(x.dtype)


def two_and_weight(dtype):
    for sizes in ([4, 8], [3, 5, 7], [2, 300]):
        x, y = (torch.randn(sizes, dtype=dtype) for _ in range(2))
        yield (x, y, sizes[-1:])
        yield (x, y, sizes[-1:], torch.randn(sizes[-1], dtype=dtype), 1e-3)


def with_weight(dtype):
    for sizes in ([4, 8], [3, 5, 7], [2, 300]):
        yield (torch.randn(sizes, dtype=dtype), torch.randn(sizes[-1], dtype=dtype), 1e-3)


def two_with_weights(dtype):
    for rows in (4, 1):
        yield (torch.randn(rows, 12, dtype=dtype), torch.randn(rows, 7, dtype=dtype), torch.randn(12, dtype=dtype),
               torch.randn(7, dtype=dtype), 1e-3)


def centered_or_not(dtype):
    for x, weight, eps in with_weight(dtype):
        yield (x, weight, eps)
        yield (x, weight, eps, True)


def rms_gradients(grad, x, inverse, weight, zero_centered=False):
    scale = kept(weight) + (1 if zero_centered else 0)
    root, slope = inverse.unsqueeze(-1), kept(grad) * scale
    by_x = root * (slope - kept(x) * root.square() * (slope * kept(x)).mean(-1, keepdim=True))
    by_weight = (kept(grad) * kept(x) * root).flatten(0, -2).sum(0)
    return by_x.to(x.dtype), by_weight.to(weight.dtype)


def rms_gradients_samples(dtype):
    for x, weight, eps in with_weight(dtype):
        for centered in (False, True):
            yield (torch.randn_like(x), x, normed(x, eps=eps)[1], weight, centered)


# ---- experts


def apart(tokens, experts):
    """Scores in [0.1, 0.9] that are far enough apart to be in one order in each dtype."""
    orders = [torch.randperm(experts) for _ in range(tokens)]
    return (torch.stack(orders) / experts * 0.8 + 0.1) if tokens else torch.empty(0, experts)


def grouped_topk(scores, n_group, topk_group, topk, renormalize, factor, bias, scoring_func=0):
    values = torch.sigmoid(kept(scores)) if scoring_func else kept(scores)
    choices = values + kept(bias)
    of_group = choices.unflatten(1, (n_group, -1)).topk(2, -1).values.sum(-1)
    best = torch.zeros_like(of_group).scatter(1, of_group.topk(topk_group, 1).indices, 1).bool()
    hidden = choices.masked_fill(~best.repeat_interleave(scores.shape[1] // n_group, 1), float("-inf"))
    chosen = hidden.topk(topk, 1).indices
    weights = values.gather(1, chosen)
    if renormalize:
        weights = weights / weights.sum(1, keepdim=True)
    return weights * factor, chosen.int()


def grouped_topk_samples(dtype):
    for tokens in (1, 6):
        for renormalize, scoring in ((False, 0), (True, 1)):
            scores = 1.3 ** (apart(tokens, 12) * 15)  # no two groups have one sum
            yield (scores.to(dtype) / 50, 4, 2, 3, renormalize, 2.5, torch.zeros(12, dtype=dtype), scoring)


def softplus_roots(weights, indices, places, gating, renormalize, factor, bias=None, ids=None, table=None):
    tokens, k = weights.shape
    scores = functional.softplus(kept(gating)).sqrt()
    chosen = table[ids] if ids is not None else (scores if bias is None else scores + kept(bias)).topk(k, 1).indices
    shares = scores.gather(1, chosen.long())
    if renormalize:
        shares = shares / shares.sum(1, keepdim=True)
    order = torch.arange(tokens * k).view(tokens, k)
    return (shares * factor).to(weights.dtype), chosen.to(indices.dtype), order.to(places.dtype)


def softplus_roots_samples(dtype):
    for tokens, experts, k in ((5, 8, 3), (2, 4, 4)):
        gating = apart(tokens, experts).to(dtype)
        outputs = (torch.empty(tokens, k), *(torch.empty(tokens, k, dtype=torch.int32) for _ in range(2)))
        yield (*outputs, gating, True, 1.5)
        yield (*outputs, gating, False, 1.0, torch.zeros(experts, dtype=dtype))
        table = torch.stack([torch.randperm(experts)[:k] for _ in range(3)])
        yield (*outputs, gating, True, 1.5, None, torch.randint(0, 3, (tokens,)), table)


def blocks_of_experts(ids, block, experts, places, blocks):
    """For so many places and blocks."""
    ids, order, owners = ids.flatten(), [], []
    for expert in range(experts):
        own = (ids == expert).nonzero().flatten().tolist()
        own += [ids.numel()] * (-len(own) % block)
        order, owners = order + own, owners + [expert] * (len(own) // block)
    total = len(order)
    order += [ids.numel()] * (places - total)
    owners += [-1] * (blocks - len(owners))
    return (torch.tensor(order, dtype=torch.int32), torch.tensor(owners, dtype=torch.int32),
            torch.tensor([total], dtype=torch.int32))


def most_places(ids, block, experts):
    n = ids.numel()
    return min(n + experts * (block - 1), n * block)


def aligned(ids, block, experts, expert_map=None, pad_sorted_ids=False):
    places = most_places(ids, block, experts)
    if pad_sorted_ids:
        places = -(-places // block) * block
    order, owners, total = blocks_of_experts(ids, block, experts, places, -(-places // block))
    if expert_map is not None:
        owners = torch.where(owners < 0, owners, expert_map[owners.clamp(min=0).long()].int())
    return order, owners, total


def aligned_samples(dtype):
    for tokens in (1, 7, 40):
        ids = torch.randint(0, 5, (tokens, 2)).to(dtype)
        for block in (1, 4, 16):
            yield (ids, block, 5)
            yield (ids, block, 5, torch.tensor([3, -1, 0, 1, 2], dtype=dtype), True)


def aligned_into(ids, experts, block, order, owners, _total):
    return tuple(t.to(ids.dtype) for t in blocks_of_experts(ids, block, experts, order.numel(), owners.numel()))


def aligned_into_samples(dtype):
    for ids, block, experts in (s for s in aligned_samples(dtype) if len(s) == 3):
        places = most_places(ids, block, experts)
        yield (ids, experts, block, *(torch.empty(n, dtype=dtype) for n in (places, -(-places // block), 1)))


# ---- sequences


def packed(x, lengths, pad_value):
    return torch.nn.utils.rnn.pad_sequence(x.split(lengths.tolist()), batch_first=True, padding_value=pad_value)


def packed_samples(dtype):
    for lengths, more in (([2, 0, 3], []), ([4], [6]), ([1, 5, 2], [2, 3])):
        yield (torch.randn(sum(lengths), *more, dtype=dtype), torch.tensor(lengths), -2.0)


def unpacked(x, lengths):
    return torch.cat([row[:n] for row, n in zip(x, lengths.tolist())])


def unpacked_samples(dtype):
    for x, lengths, value in packed_samples(dtype):
        yield (packed(x, lengths, value), lengths)


def best_of_rows(logits, starts, ends, indices):
    made = torch.full_like(indices, -1)
    for row, (a, b) in enumerate(zip(starts.tolist(), ends.tolist())):
        k = min(indices.shape[1], max(0, b - a))
        made[row, :k] = logits[row, a:a + max(0, b - a)].topk(k).indices
    return made


def best_of_rows_samples(dtype):
    logits = apart(4, 9).to(dtype)
    for k in (3, 9):
        for whole in (torch.int32, torch.int64):
            yield (logits, torch.tensor([0, 2, 4, 0]), torch.tensor([9, 9, 6, 0]), torch.empty(4, k, dtype=whole))


def best_of_tokens(logits, next_n, lengths, indices):
    rows = torch.arange(logits.shape[0])
    ends = lengths[rows // next_n] - (next_n - 1 - rows % next_n)
    return best_of_rows(logits, torch.zeros_like(ends), ends, indices)


def best_of_tokens_samples(dtype):
    yield (apart(4, 9).to(dtype), 2, torch.tensor([9, 5]), torch.empty(4, 4, dtype=torch.int32))
    yield (apart(3, 9).to(dtype), 1, torch.tensor([9, 1, 3]), torch.empty(3, 4, dtype=torch.int32))


def penalised(logits, prompt, output, penalties):
    by = penalties.unsqueeze(1)
    return torch.where(prompt | output, torch.where(logits > 0, logits / by, logits * by), logits)


def penalised_samples(dtype):
    for rows, n in ((3, 11), (1, 300)):
        yield (torch.randn(rows, n, dtype=dtype), torch.rand(rows, n) > 0.7, torch.rand(rows, n) > 0.5,
               (torch.rand(rows) + 0.5).to(dtype))


# ---- the rest


def hadamard(x, scale=1.0):
    n = 1 << max(0, x.shape[-1] - 1).bit_length()
    matrix = torch.ones(1, 1, dtype=torch.float64)
    while matrix.shape[0] < n:
        matrix = torch.cat((torch.cat((matrix, matrix), 1), torch.cat((matrix, -matrix), 1)))
    padded = functional.pad(x.double(), (0, n - x.shape[-1]))
    return ((padded @ matrix)[..., :x.shape[-1]] * scale).to(x.dtype)


def hadamard_samples(dtype):
    for sizes in ([4, 8], [3, 7], [2, 3, 1], [2, 64]):
        yield (torch.randn(sizes, dtype=dtype),)
        yield (torch.randn(sizes, dtype=dtype), 0.25)


def products_with_bias(dtype):
    for bias in ([5], [3, 5], [3, 1]):
        yield (torch.randn(3, 6, dtype=dtype), torch.randn(6, 5, dtype=dtype), torch.randn(bias, dtype=dtype))


def scaled_softmax(x, factor):
    return torch.softmax(kept(x) * factor, -1).to(x.dtype)


def scaled_softmax_gradient(grad, y, factor):
    product = kept(grad) * kept(y)
    return ((product - kept(y) * product.sum(-1, keepdim=True)) * factor).to(y.dtype)


def scaled_samples(dtype):
    for sizes in ([2, 3, 4, 8], [5, 300]):
        yield (torch.randn(sizes, dtype=dtype), 0.3)


def scaled_gradient_samples(dtype):
    for x, factor in scaled_samples(dtype):
        yield (torch.randn_like(x), scaled_softmax(x, factor), factor)


def groups_of_f8(x, size, eps=1e-10, column_major_scales=False, scale_ue8m0=False):
    groups = x.float().unflatten(-1, (-1, size))
    scales = groups.abs().amax(-1).clamp(min=eps) / 448
    if scale_ue8m0:
        scales = torch.exp2(torch.ceil(torch.log2(scales.double()))).float()
    return (groups / scales.unsqueeze(-1)).clamp(-448, 448).flatten(-2).to(torch.float8_e4m3fn), scales


def groups_of_f8_samples(dtype):
    for sizes in ([4, 128], [2, 3, 64]):
        x = torch.randn(sizes, dtype=dtype) * 5
        yield (x, 32)
        yield (x, 64, 1e-10, False, True)


def pooled_samples(dtype):
    x = torch.randn(2, 3, 5, 6, 7, dtype=dtype)
    made, indices = functional.max_pool3d(x, 2, 2, return_indices=True)
    yield (torch.randn_like(made), x, indices, [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1], False)


def pooled_gradient(*arguments):
    grad, x, indices, *window = arguments
    return torch.ops.aten.max_pool3d_with_indices_backward(grad, x, *window, indices)


def resized(x, size):
    n = 1
    for extent in size:
        n *= extent
    return x.flatten()[:n].view(size).clone()


def resized_samples(dtype):
    x = torch.randn(4, 6, dtype=dtype)
    yield (x, [3, 5])
    yield (x, [24])


def likelihood(x, target, weight=None, reduction=1, ignore_index=-100):
    made = functional.nll_loss(kept(x), target, None if weight is None else kept(weight), ignore_index=ignore_index,
                               reduction=("none", "mean", "sum")[reduction])
    counted = (target != ignore_index).to(kept(x).dtype)
    if weight is not None:
        counted = counted * kept(weight)[target.clamp_min(0)]
    return made.to(x.dtype), (counted.sum() if reduction else counted.sum() * 0).to(x.dtype)


def likelihood_samples(dtype):
    for sizes in ([6, 4], [2, 4, 3, 5]):
        x = torch.randn(sizes, dtype=dtype).log_softmax(1)
        target = torch.randint(0, 4, [sizes[0], *sizes[2:]])
        for reduction in (0, 1, 2):
            yield (x, target, None, reduction)
            yield (x, target, torch.rand(4, dtype=dtype) + 0.5, reduction, 1)


def degrees(dtype):
    for n in (torch.arange(6).to(dtype), torch.tensor([[3.0], [0.0]]).to(dtype)):
        yield (0.75, n)


def orders(dtype):
    for x in (torch.rand(4, 7, dtype=dtype), torch.rand(3, dtype=dtype)):
        yield (x, 3)
        yield (x, 0)


def above_one(dtype):
    yield (2.5, torch.rand(3, 5, dtype=dtype) + 0.5)


def by_number(dtype):
    yield (torch.rand(3, 5, dtype=dtype) + 1.5, 0.75)


def sorted_row(dtype):
    return torch.arange(8).to(dtype)


def gradients_of_norm(dtype):
    v, g = torch.randn(4, 6, dtype=dtype), torch.randn(4, 1, dtype=dtype)
    _, norms = torch.ops.aten._weight_norm_interface(v, g, 0)
    yield (torch.randn_like(v), v, g, norms, 0)


EXACT = (torch.float32, torch.float64)
POLYNOMIALS = [f"special_{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"] + [
    "special_hermite_polynomial_h", "special_hermite_polynomial_he", "special_laguerre_polynomial_l",
    "special_legendre_polynomial_p"]

ROWS = {
    "flaggems::add_rms_norm": (add_rms_norm, two_and_weight, FLOATS),
    "flaggems::rmsnorm": (lambda x, weight, eps: normed(x, weight, eps)[0], with_weight, FLOATS),
    "flaggems::fused_q_kv_rmsnorm": (lambda q, kv, a, b, eps: (normed(q, a, eps)[0], normed(kv, b, eps)[0]),
                                     two_with_weights, FLOATS),
    "flaggems::te_rmsnorm_fwd": (normed, centered_or_not, FLOATS),
    "flaggems::te_rmsnorm_bwd": (rms_gradients, rms_gradients_samples, FLOATS),
    "flaggems::grouped_topk": (grouped_topk, grouped_topk_samples, NARROW),
    "flaggems::topk_softplus_sqrt": (softplus_roots, softplus_roots_samples, NARROW),
    "flaggems::router_gemm": (lambda x, weight: kept(x) @ kept(weight).t(), lambda dtype: [
        (torch.randn(5, 16, dtype=dtype), torch.randn(8, 16, dtype=dtype))], FLOATS),
    "flaggems::moe_align_block_size": (aligned, aligned_samples, (torch.int32, torch.int64)),
    "flaggems::moe_align_block_size_triton": (aligned_into, aligned_into_samples, (torch.int32, torch.int64)),
    "flaggems::pack_seq": (packed, packed_samples, FLOATS),
    "flaggems::unpack_seq": (unpacked, unpacked_samples, FLOATS),
    "flaggems::top_k_per_row_prefill": (best_of_rows, best_of_rows_samples, FLOATS),
    "flaggems::top_k_per_row_decode": (best_of_tokens, best_of_tokens_samples, FLOATS),
    "flaggems::apply_repetition_penalties": (penalised, penalised_samples, FLOATS),
    "flaggems::hadamard_transform": (hadamard, hadamard_samples, FLOATS),
    "flaggems::matmuladd": (lambda x, y, bias: (kept(x) @ kept(y) + kept(bias)).to(x.dtype), products_with_bias, FLOATS),
    "flaggems::scaled_softmax_forward": (scaled_softmax, scaled_samples, FLOATS),
    "flaggems::scaled_softmax_backward": (scaled_softmax_gradient, scaled_gradient_samples, FLOATS),
    "flaggems::per_token_group_quant_fp8": (groups_of_f8, groups_of_f8_samples, NARROW),
    "flaggems::max_pool3d_backward": (pooled_gradient, pooled_samples, EXACT),
    "flaggems::resize_output": (resized, resized_samples, FLOATS),
    "flaggems::nll_loss_nd_forward": (likelihood, likelihood_samples, EXACT),
    "_weight_norm_interface": (None, lambda dtype: [(torch.randn(4, 6, dtype=dtype), torch.randn(4, 1, dtype=dtype), 0)], EXACT),
    "_weight_norm_interface_backward": (None, gradients_of_norm, EXACT),
    "affine_grid_generator": (None, lambda dtype: [(torch.randn(2, 2, 3, dtype=dtype), [2, 3, 4, 5], corners)
                                                   for corners in (False, True)], EXACT),
    "_is_all_true": (None, lambda dtype: [(torch.rand(3, 4) > 0.1,), (torch.ones(3, dtype=dtype),)], (torch.bool,)),
    "_is_any_true": (None, lambda dtype: [(torch.rand(3, 4) > 0.9,), (torch.zeros(3, dtype=dtype),)], (torch.bool,)),
    "searchsorted.Scalar": (None, lambda dtype: [(sorted_row(dtype), 2.5), (sorted_row(dtype), 3, {"right": True})], EXACT),
    "bucketize.Scalar": (None, lambda dtype: [(2.5, sorted_row(dtype)), (3, sorted_row(dtype), {"right": True})], EXACT),
    "special_zeta.self_scalar": (None, above_one, EXACT),
    "special_zeta.other_scalar": (None, by_number, EXACT),
    **{f"{name}.x_scalar": (None, degrees, EXACT) for name in POLYNOMIALS},
    **{f"{name}.n_scalar": (None, orders, EXACT) for name in POLYNOMIALS},
}
