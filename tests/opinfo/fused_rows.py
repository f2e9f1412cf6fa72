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


def of_experts(x, w, ids, share=1, bias=None):
    """[choices, n]: the rows of x, of which `share` choices have each, times w[expert]^T; zeros for experts below 0."""
    out = []
    for choice, expert in enumerate(ids.flatten().tolist()):
        row = x[choice // share].double() @ w[max(expert, 0)].double().t()
        if bias is not None:
            row = row + bias[max(expert, 0)].double()
        out.append(row if expert >= 0 else row * 0)
    return torch.stack(out)


def mixed(x, w1, w2, weights, ids, first=False, bias1=None, bias2=None, clamp=None, low=False, dtype=None):
    """A mixture of experts with weights as numbers, rounded to `dtype` between its products."""
    dtype = dtype or x.dtype
    by = weights.double().flatten().unsqueeze(1)
    gate, up = (of_experts(x, w1, ids, ids.shape[1], bias1) * (by if first else 1)).to(dtype).double().chunk(2, 1)
    if clamp is not None:
        gate, up = gate.clamp(-clamp if low else None, clamp), up.clamp(-clamp, clamp)
    given = of_experts((functional.silu(gate) * up).to(dtype), w2, ids, 1, bias2) * (1 if first else by)
    return given.to(dtype).double().view(*ids.shape, -1).sum(1)


def nibbles(codes):
    return torch.stack((codes & 15, codes >> 4), -1).flatten(-2)


def floats_of_4_bits(codes):
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    return torch.cat((values, -values))[nibbles(codes.view(torch.uint8)).long()]


def spread(scale, like, lines=1, terms=None):
    """Scales of blocks of lines and terms, for each element."""
    if scale.dtype == torch.uint8:
        scale = torch.exp2(scale.double() - 127)
    scale = scale.double().view(*scale.shape, *[1] * (like.dim() - scale.dim()))
    for dim, each in ((-2, lines), (-1, terms or like.shape[-1])):
        scale = scale.repeat_interleave(each, dim).narrow(dim, 0, like.shape[dim])
    return scale


def fused_experts(x, w1, w2, weights, ids, _activation="silu", first=False, f8=False, _a=False, i8=False, i4=False, mx="none",
                  channels=False, _experts=-1, names=None, s1=None, s2=None, _z1=None, _z2=None, _a1=None, _a2=None, shape=None,
                  bias1=None, bias2=None):
    ids = ids if names is None else names[ids.clamp_min(0)].where(ids >= 0, -1)
    if i4:
        w1, w2 = (spread(s, nibbles(w), 1, shape[1]) * (nibbles(w).double() - 8) for w, s in ((w1, s1), (w2, s2)))
    elif mx != "none":
        w1, w2 = (spread(s, floats_of_4_bits(w), 1, 32) * floats_of_4_bits(w) for w, s in ((w1, s1), (w2, s2)))
    elif i8:
        w1, w2 = (spread(s, w) * w for w, s in ((w1, s1), (w2, s2)))
    return mixed(x, w1, w2, weights, ids, first, bias1, bias2).to(x.dtype)


def tokens_of_experts(dtype, tokens=7, k=32, experts=3, choices=2):
    """Positive numbers, of which sums lose nothing; some choices are of no expert."""
    ids = torch.randint(-1, experts, (tokens, choices))
    return torch.rand(tokens, k).to(dtype) / 4, torch.rand(tokens, choices) + 0.5, ids


def fused_experts_samples(dtype):
    x, weights, ids = tokens_of_experts(dtype)
    w1, w2 = torch.rand(3, 64, 32).to(dtype) / 4, torch.rand(3, 32, 32).to(dtype) / 4
    yield (x, w1, w2, weights, ids)
    yield (x, w1, w2, weights.to(dtype), ids.int(), "silu", True)
    yield (x, w1, w2, weights, ids, {"w1_bias": torch.rand(3, 64).to(dtype), "w2_bias": torch.rand(3, 32).to(dtype)})
    named = torch.randint(0, 4, ids.shape)
    yield (x, w1, w2, weights, named, {"global_num_experts": 4, "expert_map": torch.tensor([2, -1, 0, 1])})
    c1, c2 = torch.randint(0, 9, (3, 64, 32), dtype=torch.int8), torch.randint(0, 9, (3, 32, 32), dtype=torch.int8)
    yield (x, c1, c2, weights, ids, {"use_int8_w8a16": True, "per_channel_quant": True,
                                     "w1_scale": torch.rand(3, 64) / 32, "w2_scale": torch.rand(3, 32) / 32})
    for codes1, codes2, s1, s2, *_ in marlin_operands(dtype, 16):
        yield (x, codes1, codes2, weights, ids, {"use_int4_w4a16": True, "w1_scale": s1, "w2_scale": s2,
                                                 "block_shape": [0, 16]})
    for codes1, codes2, s1, s2 in mx_operands():
        yield (x, codes1, codes2, weights, ids, {"ocp_mx_scheme": "w_mxfp4", "w1_scale": s1, "w2_scale": s2})


def fused_experts_by_name(*arguments, **named):
    places = ["hidden_states", "w1", "w2", "topk_weights", "topk_ids", "activation", "apply_router_weight_on_input",
              "use_fp8_w8a8", "use_int8_w8a8", "use_int8_w8a16", "use_int4_w4a16", "ocp_mx_scheme", "per_channel_quant",
              "global_num_experts", "expert_map", "w1_scale", "w2_scale", "w1_zp", "w2_zp", "a1_scale", "a2_scale",
              "block_shape", "w1_bias", "w2_bias"]
    defaults = dict(zip(places[5:], ("silu", False, False, False, False, False, "none", False, -1, *[None] * 10)))
    given = {**defaults, **dict(zip(places, arguments)), **named}
    return fused_experts(*(given[place] for place in places))


def marlin_operands(dtype, group):
    """Pairs of 4 bits from 8 on, so that numbers are positive."""
    high = [torch.randint(8, 16, (3, lines, 16)) * 17 for lines in (64, 32)]
    yield (*(codes.to(torch.uint8) for codes in high),
           *(torch.rand(3, lines, 32 // group).to(dtype) / 64 for lines in (64, 32)))


def mx_operands():
    low = [torch.randint(0, 8, (3, lines, 16)) * 17 for lines in (64, 32)]
    yield (*(codes.to(torch.uint8) for codes in low),
           *(torch.randint(121, 124, (3, lines, 1), dtype=torch.uint8) for lines in (64, 32)))


def marlin(x, w1, w2, bias1, bias2, s1, s2, weights, ids, kind, first=False, _experts=-1, _names=None, clamp=None, group=128):
    wide = {0: lambda w: nibbles(w).double() - 8, 1: lambda w: w.double() - 128, 6: floats_of_4_bits}[kind]
    w1, w2 = (wide(w) * spread(s, wide(w), 1, 32 if kind == 6 else group) for w, s in ((w1, s1), (w2, s2)))
    return mixed(x, w1, w2, weights, ids, first, bias1, bias2, clamp).to(x.dtype)


def marlin_samples(dtype):
    x, weights, ids = tokens_of_experts(dtype)
    for w1, w2, s1, s2 in marlin_operands(dtype, 16):
        yield (x, w1, w2, None, None, s1, s2, weights, ids, 0, False, -1, None, None, 16)
        yield (x, w1, w2, torch.rand(3, 64).to(dtype), torch.rand(3, 32).to(dtype), s1, s2, weights, ids, 0, True, -1, None,
               0.5, 16)
        bytes1, bytes2 = (torch.randint(128, 140, (3, lines, 32), dtype=torch.uint8) for lines in (64, 32))
        yield (x, bytes1, bytes2, None, None, s1, s2, weights, ids, 1, False, -1, None, None, 16)
    for w1, w2, s1, s2 in mx_operands():
        yield (x, w1, w2, None, None, s1, s2, weights, ids, 6)


def marlin_4_samples(dtype):
    x, weights, ids = tokens_of_experts(dtype)
    for operands in marlin_operands(dtype, 8):
        yield (x, *operands, weights, ids, 8)
        yield (x, *operands, weights, ids, 8, True)


def marlin_mx_samples(dtype):
    x, weights, ids = tokens_of_experts(dtype)
    for operands in mx_operands():
        yield (x, *operands, weights, ids)


def product_of_blocks(a, b, c, sa, sb, zeros, weights, order, owners, total, weighs, top_k, block, *_):
    ids = torch.full((a.shape[0] * top_k,), -1)
    for place, row in enumerate((torch.arange(ids.numel()) if order is None else order).tolist()):
        if row < ids.numel() and (order is None or place < int(total)):
            ids[row] = owners[place if order is None else place // block]
    wide = b if sb is None else b.double() * spread(sb, b)
    out = of_experts(a if sa is None else a.double() * sa.double(), wide, ids, top_k)
    return (out * (weights.double().flatten().unsqueeze(1) if weighs else 1)).view(c.shape).to(c.dtype)


def product_of_blocks_samples(dtype):
    ids, n, k = torch.randint(0, 3, (9, 2), dtype=torch.int32), 24, 32
    x, w, c = torch.rand(9, k).to(dtype), torch.rand(3, n, k).to(dtype), torch.zeros(9, 2, n, dtype=dtype)
    weights = torch.rand(9, 2)
    order, owners, total = aligned(ids, 16, 3)
    yield (x, w, c, None, None, None, None, order, owners, total, False, 2, 16)
    yield (x, w, c, None, None, None, weights, order, owners, total, True, 2, 16)
    yield (x, w, c, None, None, None, weights, None, ids.flatten(), total, True, 2, 16)
    codes = torch.randint(-9, 9, (3, n, k), dtype=torch.int8)
    yield (x, codes, c, None, torch.rand(3, n), None, None, order, owners, total, False, 2, 16, False, False, True, False, True)
    rows = torch.randint(-9, 9, (9, k), dtype=torch.int8)
    yield (rows, codes, c, torch.rand(9, 1), torch.rand(3, n), None, None, order, owners, total, False, 2, 16, False, True,
           False, False, True)


def without_zeros(samples):
    return lambda dtype: ((*sample[:5], *sample[6:]) for sample in samples(dtype))


def gated_apart(x, w1, w2, w3, weights, ids, s1=None, z1=None, s2=None, z2=None, s3=None, z3=None):
    def wide(w, s, z):
        each = None if s is None else w.shape[-1] // s.shape[-1]
        return w if s is None else w.double() * spread(s, w, 1, each) + spread(z, w, 1, each)
    by = weights.double().flatten().unsqueeze(1)
    rows = of_experts(x, wide(w1, s1, z1), ids, ids.shape[1])
    if w2 is not None:
        rows = functional.silu(rows.to(x.dtype).double())
        if w3 is not None:
            rows = rows * of_experts(x, wide(w3, s3, z3), ids, ids.shape[1]).to(x.dtype).double()
        rows = of_experts(rows.to(x.dtype), wide(w2, s2, z2), ids)
    return (rows * by).to(x.dtype).double().view(*ids.shape, -1).sum(1).to(x.dtype)


def gated_apart_samples(dtype):
    x, weights, ids = tokens_of_experts(dtype)
    w1, w2, w3 = (torch.rand(3, *sizes).to(dtype) / 4 for sizes in ((24, 32), (32, 24), (24, 32)))
    yield (x, w1, w2, w3, weights, ids)
    yield (x, w1, w2, None, weights, ids)
    yield (x, w1, None, None, weights, ids)
    codes = [torch.randint(0, 16, (3, *sizes), dtype=torch.uint8) for sizes in ((24, 32), (32, 24), (24, 32))]
    shared = [torch.rand(3, lines, parts).to(dtype) / 16 for lines, parts in ((24, 2), (24, 2), (32, 3), (32, 3), (24, 2), (24, 2))]
    yield (x, *codes, weights, ids, *shared)


def mega(dtype):
    def run(x, by, ids, weights, l1, s1, l2, s2, clamp=None):
        w1, w2 = (floats_of_4_bits(w) * spread(s, floats_of_4_bits(w), 1, 32) for w, s in ((l1, s1), (l2, s2)))
        rows = x.double() * spread(by, x, 1, 32)
        return mixed(rows, w1, w2, weights, ids, clamp=clamp, low=True, dtype=torch.float64).to(dtype)
    return run


def mega_samples(_dtype):
    weights, ids = torch.rand(5, 2), torch.randint(-1, 3, (5, 2))
    x = torch.rand(5, 32).to(torch.float8_e4m3fn)
    for w1, w2, s1, s2 in mx_operands():
        yield (x, torch.rand(5, 1), ids, weights, w1, s1, w2, s2)
        yield (x, torch.randint(124, 128, (5, 1), dtype=torch.uint8), ids.int(), weights, w1.view(torch.int8),
               torch.rand(3, 64, 1) / 16, w2.view(torch.int8), torch.rand(3, 32, 1) / 16, 0.5)


def staged(x, weights, ids, codes, packed, ids_out, weights_out):
    groups = x.unflatten(1, (-1, 32)).double()
    exponents = torch.ceil(torch.log2(groups.abs().amax(-1).clamp_min(1e-4) / 448)).clamp(-126, 127)
    by = (exponents + 127).long().unflatten(1, (-1, 4)) << torch.arange(0, 32, 8)
    scaled = (groups / torch.exp2(exponents).unsqueeze(-1)).flatten(1).float().to(torch.float8_e4m3fn)
    return scaled.to(codes.dtype), by.sum(-1).int(), ids.to(ids_out.dtype), weights.to(weights_out.dtype)


def staged_samples(dtype):
    for tokens, k in ((3, 128), (5, 256)):
        ids = torch.randint(0, 8, (tokens, 2))
        outputs = (torch.zeros(tokens, k).to(torch.float8_e4m3fn), torch.zeros(tokens, k // 128, dtype=torch.int32),
                   torch.zeros(tokens, 2, dtype=torch.int64), torch.zeros(tokens, 2))
        yield (torch.randn(tokens, k, dtype=dtype) * 3, torch.rand(tokens, 2), ids, *outputs)
        yield (torch.randn(tokens, k, dtype=dtype) * 3, torch.rand(tokens, 2), ids.int(), *outputs)


def grouped_samples(dtype):
    def wide(*sizes):
        return torch.rand(*sizes).to(dtype)
    offsets = torch.tensor([3, 3, 16], dtype=torch.int32)
    yield (wide(16, 8), wide(3, 8, 24), offsets)
    yield (wide(16, 8), wide(3, 24, 8).transpose(1, 2), offsets)
    yield (wide(3, 8, 24), wide(24, 16), offsets)
    yield (wide(8, 16), wide(16, 24), offsets)
    yield (wide(3, 8, 16), wide(3, 16, 24))


def scaled_groups(a, b, by_a, by_b, offsets=None, _bias=None, _scale=None, dtype=None, _fast=False):
    dtype = dtype or torch.bfloat16
    a, b = a.double(), b.double()
    if offsets is None:
        return ((a @ b) * by_a.unsqueeze(-1) * by_b.unsqueeze(1)).to(dtype)
    ends, out, by_a, by_b = [0, *offsets.tolist()], [], by_a.double(), by_b.double()
    for g, (begin, end) in enumerate(zip(ends, ends[1:])):
        if b.dim() == 3:
            out.append(a[begin:end] @ b[g] * by_a[begin:end].unsqueeze(1) * by_b[g])
        elif a.dim() == 3:
            out.append(a[g] @ b[:, begin:end] * by_a[g].unsqueeze(1) * by_b[begin:end])
        else:
            own_a, own_b = (s.view(len(ends) - 1, -1)[g] for s in (by_a, by_b))
            out.append(a[:, begin:end] @ b[begin:end] * own_a.unsqueeze(1) * own_b)
    return (torch.cat(out) if b.dim() == 3 else torch.cat(out, 1) if a.dim() == 3 else torch.stack(out)).to(dtype)


def scaled_groups_samples(dtype):
    def codes(*sizes):
        return (torch.rand(*sizes) * 3).to(torch.float8_e4m3fn)
    offsets = torch.tensor([16, 16, 48], dtype=torch.int32)
    yield (codes(48, 32), codes(3, 16, 32).transpose(1, 2), torch.rand(48), torch.rand(3, 16), offsets, None, None, dtype)
    yield (codes(3, 16, 32), codes(48, 32).t(), torch.rand(3, 16), torch.rand(48), offsets, None, None, dtype)
    yield (codes(16, 48), codes(32, 48).t(), torch.rand(48), torch.rand(96), offsets, None, None, dtype)
    yield (codes(3, 16, 32), codes(3, 32, 32).transpose(1, 2), torch.rand(3, 16), torch.rand(3, 32), None, None, None, dtype)


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


def cyclic(first):
    row = torch.tensor([-1.0 if sign == "-" else 1.0 for sign in first], dtype=torch.float64)
    return torch.stack([row.roll(k) for k in range(len(first))])


def williamson(*first):
    a, b, c, d = map(cyclic, first)
    return torch.cat([torch.cat(row, 1) for row in ((a, b, c, d), (-b, a, -d, c), (-c, d, a, -b), (-d, -c, b, a))])


def residues(p):
    """Of a prime: 1 where column - row is a square, -1 where it is none, 0 on the diagonal."""
    squares = {k * k % p for k in range(1, p)}
    return torch.tensor([[0.0 if i == j else 1.0 if (j - i) % p in squares else -1.0 for j in range(p)]
                         for i in range(p)], dtype=torch.float64)


def paley_12():
    conference = functional.pad(residues(5), (1, 0, 1, 0), value=1.0)
    conference[0, 0] = 0
    ones, diagonal = (torch.tensor(m, dtype=torch.float64) for m in ([[1, 1], [1, -1]], [[1, -1], [-1, -1]]))
    return torch.kron(conference, ones) + torch.kron(torch.eye(6, dtype=torch.float64), diagonal)


def paley_40():
    whole = functional.pad(torch.eye(19, dtype=torch.float64) - residues(19), (1, 0, 1, 0), value=1.0)
    whole[0, 1:] = -1
    return torch.kron(torch.tensor([[1, 1], [1, -1]], dtype=torch.float64), whole)


HADAMARD = {12: paley_12(), 20: williamson("+----", "+----", "++--+", "+-++-"),
            28: williamson("+------", "++----+", "+-+--+-", "+--++--"), 40: paley_40()}


def hadamard_of(order):
    def transformed(x, scale=1.0):
        whole = order
        while whole < x.shape[-1]:
            whole *= 2
        padded = functional.pad(x.double(), (0, whole - x.shape[-1])).unflatten(-1, (order, -1))
        mixed = HADAMARD[order] @ hadamard(padded)
        return (mixed.flatten(-2)[..., :x.shape[-1]] * scale).to(x.dtype)

    def samples(dtype):
        for sizes in ([4, order], [3, order * 4], [2, 2, order * 2 - 3], [2, 1]):
            yield (torch.randn(sizes, dtype=dtype),)
            yield (torch.randn(sizes, dtype=dtype), 0.25)
    return transformed, samples, FLOATS


def rows_to_transform(dtype):
    for sizes in ([12], [3, 5], [2, 3, 64], [2, 35]):
        yield (torch.randn(sizes, dtype=dtype),)
        yield (torch.randn(sizes, dtype=dtype), 7, -1, "ortho")
        yield (torch.randn(sizes, dtype=dtype).mT if len(sizes) > 1 else torch.randn(sizes, dtype=dtype), None, 0)


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

# ---- attention in other forms: fused kernels', over latent keys, by lists of keys


def scored(q, k, v, bias=None, is_causal=False, scale=None):
    """Of [batch, heads, n, size]: the result, and the logarithms of the sums of exponentials."""
    q, k, v = map(kept, (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        scores = scores + kept(bias)
    if is_causal:
        hidden = torch.arange(k.shape[-2]) > torch.arange(q.shape[-2]).unsqueeze(1)
        scores = scores.masked_fill(hidden, -torch.inf)
    return torch.softmax(scores, -1).nan_to_num(0) @ v, torch.logsumexp(scores, -1)


def fused_attention(column):
    def reference(q, k, v, bias=None, *others, scale=None):
        has_logs = True if column is False else others[-3]
        out, logs = scored(q, k, v, bias, others[-1], scale)
        logs = logs if has_logs else logs[..., :0]
        return (out.to(q.dtype), logs.unsqueeze(-1) if column else logs, None, None, q.shape[-2], k.shape[-2],
                torch.tensor(0), torch.tensor(0), None)
    return reference


def attention_operands(dtype):
    for n, m, heads, causal in ((4, 6, 3, False), (5, 5, 1, True)):
        q, k, v = (torch.randn(2, h, rows, 8, dtype=dtype) for h, rows in ((3, n), (heads, m), (heads, m)))
        yield (q, k, v, None if causal else torch.randn(n, m, dtype=dtype), causal)


def cudnn_samples(dtype):
    for q, k, v, bias, causal in attention_operands(dtype):
        yield (q, k, v, bias, True, 0.0, causal)
        yield (q, k, v, bias, False, 0.0, causal, {"scale": 0.5})


def cudnn_forward_samples(dtype):
    for q, k, v, bias, causal in attention_operands(dtype):
        yield (q, k, v, bias, None, None, 4, 6, True, 0.0, causal)


def overrideable_samples(dtype):
    for q, k, v, bias, causal in attention_operands(dtype):
        yield (q, k, v, bias, 0.0, causal)


def attention_changes(grad, q, k, v, bias, is_causal, scale=None):
    """The gradients of query, key, value and, if there is one, of the bias."""
    with torch.enable_grad():
        inputs = [t.detach().requires_grad_() for t in (q, k, v, *([] if bias is None else [bias]))]
        made = scored(*inputs[:3], inputs[3] if bias is not None else None, is_causal, scale)[0].to(q.dtype)
    return (*torch.autograd.grad(made, inputs, grad), *([None] if bias is None else []))


def efficient_changes(grad, q, k, v, bias, _out, _logs, _seed, _offset, _p, wanted, is_causal=False):
    all_ = attention_changes(grad, q, k, v, bias, is_causal)
    return tuple(g if w else None for g, w in zip(all_, wanted))


def overrideable_changes(grad, q, k, v, bias, wanted, out, logs, _cum_q, _cum_k, _max_q, _max_k, p, is_causal, seed, offset):
    return efficient_changes(grad, q, k, v, bias, out, logs, seed, offset, p, wanted, is_causal)


def cudnn_changes(grad, q, k, v, _out, _logs, _seed, _offset, bias, _cum_q, _cum_k, _max_q, _max_k, _p, is_causal):
    return attention_changes(grad, q, k, v, bias, is_causal)[:3]


def positions_first(grad, q, k, v, bias, _out, _cum_q, _cum_k, _max_q, _max_k, _logs, _p, _seed, _offset, kind, wanted):
    *grads, of_bias = attention_changes(*(t.transpose(1, 2) for t in (grad, q, k, v)), bias, kind == 1)
    return (*(g.transpose(1, 2) for g in grads), of_bias if wanted else None)


def changes_samples(arrange):
    def samples(dtype):
        for q, k, v, bias, causal in attention_operands(dtype):
            out, logs = scored(q, k, v, bias, causal)
            yield arrange(torch.randn_like(out).to(dtype), q, k, v, bias, out.to(dtype), logs, torch.tensor(0), causal)
    return samples


def paged_keys(cache, table, row, n):
    """The first n lines of a sequence: [n, heads, size]."""
    return cache[table[row].long()].flatten(0, 1)[:n]


def latent(q, cache, table, lengths, size, scale, causal):
    """Of [batch, n, heads, e]: as `scored`, of all keys of pages."""
    made = []
    for row, n in enumerate(lengths.tolist()):
        keys = paged_keys(cache, table, row, n).transpose(0, 1).unsqueeze(0)
        first = n - q.shape[1]
        bias = torch.where(torch.arange(n) > torch.arange(q.shape[1]).unsqueeze(1) + first, -torch.inf, 0.0) if causal else None
        made.append(scored(q[row:row + 1].transpose(1, 2), keys, keys[..., :size], bias, False, scale))
    return torch.cat([o.transpose(1, 2) for o, _ in made]).to(q.dtype), torch.cat([logs for _, logs in made])


def flash_mla(q, table, cache, _pad, _block, _b, _n, lengths, _heads, _key_heads, e, ev, causal):
    return latent(q, cache, table, lengths, ev, e ** -0.5, causal)[0]


def mla_operands(dtype):
    for n, heads in ((1, 4), (3, 2)):
        yield (torch.randn(2, n, heads, 20, dtype=dtype), torch.randn(5, 4, 1, 20, dtype=dtype),
               torch.tensor([[4, 0, 2], [1, 3, 0]], dtype=torch.int32), torch.tensor([9, 4], dtype=torch.int32))


def flash_mla_samples(dtype):
    for q, cache, table, lengths in mla_operands(dtype):
        yield (q, table, cache, 12, 4, 2, q.shape[1], lengths, q.shape[2], 1, 20, 16, True)


def with_kvcache(q, cache, table, lengths, size, *, softmax_scale=None, causal=False, indices=None, attn_sink=None,
                 topk_length=None):
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    if indices is None:
        return latent(q, cache, table, lengths, size, scale, causal)
    count = torch.full(q.shape[:2], indices.shape[-1]) if topk_length is None else topk_length.unsqueeze(1).expand(q.shape[:2])
    out, _, logs = listed(q.flatten(0, 1), cache.flatten(0, 1), indices.flatten(0, 1).unsqueeze(1), scale, size, attn_sink, count.flatten())
    return out.unflatten(0, q.shape[:2]).to(q.dtype), logs.unflatten(0, q.shape[:2]).transpose(1, 2)


def with_kvcache_samples(dtype):
    for q, cache, table, lengths in mla_operands(dtype):
        yield (q, cache, table, lengths, 16, {"softmax_scale": 0.3, "causal": True})
        indices = torch.randint(-1, 20, (2, q.shape[1], 7), dtype=torch.int32)
        indices[..., 0] = 3
        yield (q, cache, None, None, 16, {"indices": indices, "attn_sink": torch.randn(q.shape[2]),
                                          "topk_length": torch.tensor([7, 2], dtype=torch.int32)})


def listed(q, kv, indices, scale, size, sink=None, lengths=None, last=None):
    """Of [n, heads, e] by lists [n, key heads, count]: results, largest scores and logarithms."""
    outs, largest, sums = [], [], []
    for row in range(q.shape[0]):
        for head in range(q.shape[1]):
            group = head // (q.shape[1] // kv.shape[1])
            own = indices[row, group][:None if lengths is None else max(0, int(lengths[row]))]
            own = own[(own >= 0) & (own < (kv.shape[0] if last is None else last(row)))].long()
            keys = kept(kv[own, group])
            scores = keys @ kept(q[row, head]) * scale
            log = torch.logsumexp(scores, 0) if len(own) else torch.tensor(-torch.inf, dtype=scores.dtype)
            whole = log if sink is None else torch.logaddexp(log, sink[head].to(log.dtype))
            outs.append((scores - whole).exp() @ keys[:, :size] if len(own) else keys.new_zeros(size))
            largest.append(scores.max() if len(own) else log)
            sums.append(log)
    heads = (q.shape[0], q.shape[1])
    return (torch.stack(outs).unflatten(0, heads).to(q.dtype), torch.stack(largest).unflatten(0, heads),
            torch.stack(sums).unflatten(0, heads))


def sparse_forward(q, kv, indices, scale, size=512, sink=None, lengths=None):
    out, largest, sums = listed(q, kv, indices, scale, size, sink, lengths)
    return out, largest, torch.where(sums == -torch.inf, torch.inf, sums)


def sparse_forward_samples(dtype):
    for groups in (1, 2):
        q, kv = torch.randn(3, 4, 20, dtype=dtype), torch.randn(9, groups, 20, dtype=dtype)
        indices = torch.randint(-1, 10, (3, groups, 6), dtype=torch.int32)
        yield (q, kv, indices, 0.3, 16)
        yield (q, kv, indices, 0.3, 16, torch.randn(4), torch.tensor([6, 0, 2], dtype=torch.int32))


def causal_lists(q, kv, indices, scale=None, _p_sum=False, size=512):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    made = [listed(*each, scale, size, last=lambda row: row + 1) for each in zip(q, kv, indices)]
    logs = torch.stack([sums for _, _, sums in made]) / torch.tensor(2.0, dtype=torch.float64).log().item()
    return torch.stack([out for out, _, _ in made]), logs.to(q.dtype)


def causal_lists_samples(dtype):
    q, kv = torch.randn(2, 4, 4, 20, dtype=dtype), torch.randn(2, 4, 2, 20, dtype=dtype)
    yield (q, kv, torch.randint(-1, 5, (2, 4, 2, 6), dtype=torch.int32), 0.3, False, 16)


def lists_with_sinks(q, kv, sink, indices, scale):
    return torch.stack([listed(a, b.unsqueeze(1), c.unsqueeze(1), scale, q.shape[-1], sink)[0] for a, b, c in zip(q, kv, indices)])


def lists_with_sinks_samples(dtype):
    yield (torch.randn(2, 3, 4, 16, dtype=dtype), torch.randn(2, 7, 16, dtype=dtype), torch.randn(4),
           torch.randint(-1, 7, (2, 3, 5), dtype=torch.int32), 0.4)


# ---- logits of an indexer, and plans


def logits(q, k, weights):
    """Of q [n, heads, size] and k [m, size]: [n, m]."""
    return (torch.relu(kept(q) @ kept(k).T) * weights.unsqueeze(-1)).sum(1)


def between(x, starts, ends, hidden):
    at = torch.arange(x.shape[1])
    return x.masked_fill((at < starts.unsqueeze(1)) | (at >= ends.unsqueeze(1)), hidden)


def dense_logits(q, k, scales, weights, starts, ends, clean):
    x = logits(q, k.float() * scales.unsqueeze(1), weights)
    return between(x, starts, ends, -torch.inf) if clean else x


def of_four_bits(q, scales):
    if scales is None:
        return q
    numbers = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    nibbles = torch.stack((q & 15, q >> 4), -1).flatten(-2).long()
    x = numbers[nibbles & 7] * torch.where(nibbles > 7, -1.0, 1.0)
    exponents = (scales.unsqueeze(-1) >> (torch.arange(x.shape[-1]) // 32 * 8)) & 255
    return x * torch.exp2(exponents.float() - 127)


def coded_logits(q, q_scale, k, scales, weights, starts, ends, clean=True):
    return dense_logits(of_four_bits(q, q_scale), k, scales, weights, starts, ends, clean)


def eighth_bits(*sizes):
    return torch.randn(*sizes).to(torch.float8_e4m3fn)


def packed_exponents(*sizes):
    return sum(torch.randint(124, 130, sizes, dtype=torch.int32) << shift for shift in (0, 8))


def dense_logits_samples(_dtype):
    starts, ends = (torch.tensor(t, dtype=torch.int32) for t in ([0, 2, 5], [7, 4, 4]))
    for clean in (False, True):
        yield (eighth_bits(3, 4, 64), eighth_bits(7, 64), torch.rand(7), torch.randn(3, 4), starts, ends, clean)


def coded_logits_samples(dtype):
    for q, k, scales, weights, starts, ends, clean in dense_logits_samples(dtype):
        yield (q, None, k, scales, weights, starts, ends, clean)
        yield (torch.randint(0, 256, (3, 4, 32), dtype=torch.uint8), packed_exponents(3, 4), k, scales, weights, starts, ends, clean)


def ends_of(lengths, n):
    return (lengths if lengths.dim() == 2 else lengths.unsqueeze(1) - n + 1 + torch.arange(n)).flatten()


def paged_logits(q, keys_of, weights, lengths, most, hidden):
    """Of q [batch, n, heads, size] and what gives the keys of a sequence."""
    batch, n = q.shape[:2]
    rows = torch.zeros(batch * n, most)
    for b in range(batch):
        own = logits(q[b], keys_of(b), weights[b * n:(b + 1) * n])[:, :most]
        rows[b * n:(b + 1) * n, :own.shape[1]] = own
    return between(rows, torch.zeros(batch * n), ends_of(lengths, n), hidden)


def bf16_paged_logits(q, cache, weights, lengths, table, _metadata, most, clean=False):
    return paged_logits(q, lambda b: paged_keys(cache, table, b, None).squeeze(1), weights, lengths, most, -torch.inf if clean else 0.0)


def byte_pages(cache, in_pages):
    """The keys of a cache of bytes, [pages, page, size]."""
    pages, page, _, size = cache.shape
    flat, size = cache.flatten(1), size - 4
    if in_pages:
        data, scales = flat[:, :page * size].reshape(pages, page, size), flat[:, page * size:].reshape(pages, page, 4)
    else:
        data, scales = cache.squeeze(2)[..., :size], cache.squeeze(2)[..., size:]
    return data.contiguous().view(torch.float8_e4m3fn).float() * scales.contiguous().view(torch.float32)


def fp8_paged_logits(q, cache, weights, lengths, table, most):
    keys = byte_pages(cache, False)
    return paged_logits(q, lambda b: keys[table[b].long()].flatten(0, 1), weights, lengths, most, -torch.inf)


def coded_paged_logits(q, q_scale, cache, weights, lengths, table, _metadata, most, clean=False):
    keys = byte_pages(cache, True)
    return paged_logits(of_four_bits(q, q_scale), lambda b: keys[table[b].long()].flatten(0, 1), weights, lengths, most,
                        -torch.inf if clean else 0.0)


def paged_operands():
    table = torch.tensor([[2, 0, 1], [1, 2, 0]], dtype=torch.int32)
    lengths = torch.tensor([9, 4], dtype=torch.int32)
    return torch.randn(4, 3), lengths, table


def byte_cache(in_pages):
    data, scales = eighth_bits(3, 4, 32).view(torch.uint8), torch.rand(3, 4, 1).view(torch.uint8)
    parts = (data.flatten(1), scales.flatten(1)) if in_pages else (data, scales)
    return torch.cat(parts, -1).reshape(3, 4, 1, 36)


def bf16_paged_samples(dtype):
    weights, lengths, table = paged_operands()
    q, cache = torch.randn(2, 2, 3, 16, dtype=dtype), torch.randn(3, 4, 1, 16, dtype=dtype)
    yield (q, cache, weights, lengths, table, None, 14, True)
    yield (q, cache, weights, lengths.unsqueeze(1).repeat(1, 2), table, None, 10)


def fp8_paged_samples(_dtype):
    weights, lengths, table = paged_operands()
    yield (eighth_bits(2, 2, 3, 32), byte_cache(False), weights, lengths, table, 14)


def coded_paged_samples(_dtype):
    weights, lengths, table = paged_operands()
    yield (eighth_bits(2, 2, 3, 32), None, byte_cache(True), weights, lengths, table, None, 14, True)
    yield (torch.randint(0, 256, (2, 2, 3, 16), dtype=torch.uint8), packed_exponents(2, 2, 3), byte_cache(True), weights, lengths,
           table, None, 9)


def shares_of_units(lengths, _block, units):
    lengths = lengths[:, -1] if lengths.dim() == 2 else lengths
    ends = ((lengths + 255) // 256).cumsum(0)
    starts = torch.tensor([u * (int(ends[-1]) // units) + min(u, int(ends[-1]) % units) for u in range(units + 1)])
    sequences = torch.searchsorted(ends, starts, right=True)
    before = torch.cat((torch.zeros(1, dtype=torch.int64), ends))[sequences]
    return torch.stack((sequences, starts - before), 1).int()


units = 128  # that plans count with on the device that is judged, as on the host


def splits_of_sequences(_batch, queries, _keys, heads, key_heads, size, _value_size, _dtype, used, num_splits=0):
    """Heads that share keys are rows of one tile."""
    tiles = (used + 127) // 128 if size <= 128 else (used + 63) // 64
    share = -(-int((-(-queries * (heads // key_heads) // 128) * tiles).sum()) * key_heads * 11 // (units * 10))
    return torch.cat((torch.zeros(1), (-(-tiles // max(1, share))).clamp(1, num_splits or 128))).int()


def splits_samples(dtype):
    for size in (64, 256):
        yield (3, 1, 60000, 8, 2, size, size, dtype, torch.tensor([60000, 0, 900], dtype=torch.int32))
        yield (3, 1, 60000, 8, 2, size, size, dtype, torch.tensor([60000, 5, 900], dtype=torch.int32), {"num_splits": 4})


def shares_samples(_dtype):
    for lengths in ([1000, 0, 300, 5000], [[1, 700], [2, 90]]):
        yield (torch.tensor(lengths, dtype=torch.int32), 64, 5)


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
    "_grouped_mm": (None, grouped_samples, NARROW),
    "_scaled_grouped_mm": (scaled_groups, scaled_groups_samples, NARROW),
    "flaggems::dispatch_fused_moe_kernel": (product_of_blocks, product_of_blocks_samples, NARROW),
    "flaggems::invoke_fused_moe_triton_kernel": (
        lambda a, b, c, sa, sb, *others: product_of_blocks(a, b, c, sa, sb, None, *others),
        without_zeros(product_of_blocks_samples), NARROW),
    "flaggems::fused_experts_impl": (fused_experts_by_name, fused_experts_samples, NARROW),
    "flaggems::outplace_fused_experts": (fused_experts_by_name, fused_experts_samples, NARROW),
    "flaggems::inplace_fused_experts": (fused_experts_by_name, fused_experts_samples, NARROW),
    "flaggems::fused_marlin_moe": (marlin, marlin_samples, NARROW),
    "flaggems::fused_marlin_moe_w4a16_int4": (
        lambda x, w1, w2, s1, s2, weights, ids, group, first=False: marlin(
            x, w1, w2, None, None, s1, s2, weights, ids, 0, first, group=group), marlin_4_samples, NARROW),
    "flaggems::fused_marlin_moe_w4a16_mxfp4": (
        lambda x, w1, w2, s1, s2, weights, ids: marlin(x, w1, w2, None, None, s1, s2, weights, ids, 6), marlin_mx_samples,
        NARROW),
    "flaggems::fused_moe": (gated_apart, gated_apart_samples, NARROW),
    "flaggems::fp8_fp4_mega_moe": (mega(torch.bfloat16), mega_samples, (torch.float8_e4m3fn,)),
    "flaggems::fp8_fp4_mega_moe_torch_ref": (mega(torch.float32), mega_samples, (torch.float8_e4m3fn,)),
    "flaggems::stage_deepseek_v4_mega_moe_inputs": (staged, staged_samples, NARROW),
    "flaggems::pack_seq": (packed, packed_samples, FLOATS),
    "flaggems::unpack_seq": (unpacked, unpacked_samples, FLOATS),
    "flaggems::top_k_per_row_prefill": (best_of_rows, best_of_rows_samples, FLOATS),
    "flaggems::top_k_per_row_decode": (best_of_tokens, best_of_tokens_samples, FLOATS),
    "flaggems::apply_repetition_penalties": (penalised, penalised_samples, FLOATS),
    "flaggems::hadamard_transform": (hadamard, hadamard_samples, FLOATS),
    **{f"flaggems::hadamard_transform_{order}N": hadamard_of(order) for order in HADAMARD},
    "flaggems::fft": (torch.fft.fft, rows_to_transform, EXACT),
    "_cholesky_solve_helper": (None, lambda dtype: [(torch.randn(2, 3, 2, dtype=dtype), torch.eye(3, dtype=dtype) * 2 +
                                                     torch.rand(2, 3, 3, dtype=dtype), upper) for upper in (False, True)], EXACT),
    "_linalg_eigvals": (None, lambda dtype: [(torch.randn(2, 5, 5, dtype=dtype),)], EXACT),
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
    "_scaled_dot_product_cudnn_attention": (fused_attention(True), cudnn_samples, FLOATS),
    "_cudnn_attention_forward": (fused_attention(True), cudnn_forward_samples, FLOATS),
    "_scaled_dot_product_fused_attention_overrideable": (fused_attention(False), overrideable_samples, FLOATS),
    "_scaled_dot_product_cudnn_attention_backward": (cudnn_changes, changes_samples(
        lambda g, q, k, v, bias, out, logs, zero, causal: (g, q, k, v, out, logs, zero, zero, bias, None, None, 5, 5, 0.0, causal)),
        EXACT),
    "_scaled_dot_product_efficient_attention_backward": (efficient_changes, changes_samples(
        lambda g, q, k, v, bias, out, logs, zero, causal: (g, q, k, v, bias, out, logs, zero, zero, 0.0, [True, True, not causal, True],
                                                           causal)), EXACT),
    "_scaled_dot_product_fused_attention_overrideable_backward": (overrideable_changes, changes_samples(
        lambda g, q, k, v, bias, out, logs, zero, causal: (g, q, k, v, bias, [True] * 4, out, logs, None, None, 5, 5, 0.0, causal, zero,
                                                           zero)), EXACT),
    "_efficient_attention_backward": (positions_first, changes_samples(
        lambda g, q, k, v, bias, out, logs, zero, causal: (
            *(t.transpose(1, 2).contiguous() for t in (g, q, k, v)), bias, out.transpose(1, 2).contiguous(), None, None, 5, 5,
            torch.nn.functional.pad(logs, (0, 32 - logs.shape[-1])), 0.0, zero, zero, int(causal), not causal)), EXACT),
    "flaggems::flash_mla": (flash_mla, flash_mla_samples, NARROW),
    "flaggems::flash_mla_with_kvcache": (with_kvcache, with_kvcache_samples, NARROW),
    "flaggems::flash_mla_sparse_fwd": (sparse_forward, sparse_forward_samples, NARROW),
    "flaggems::triton_sparse_mla_fwd_interface": (causal_lists, causal_lists_samples, NARROW),
    "flaggems::sparse_attn_triton": (lists_with_sinks, lists_with_sinks_samples, NARROW),
    "flaggems::fp8_mqa_logits": (dense_logits, dense_logits_samples, (torch.float32,)),
    "flaggems::fp8_fp4_mqa_logits": (coded_logits, coded_logits_samples, (torch.float32,)),
    "flaggems::bf16_paged_mqa_logits": (bf16_paged_logits, bf16_paged_samples, NARROW),
    "flaggems::fp8_paged_mqa_logits": (fp8_paged_logits, fp8_paged_samples, (torch.float32,)),
    "flaggems::fp8_fp4_paged_mqa_logits": (coded_paged_logits, coded_paged_samples, (torch.float32,)),
    "flaggems::get_paged_mqa_logits_metadata": (shares_of_units, shares_samples, (torch.float32,)),
    "flaggems::get_scheduler_metadata": (splits_of_sequences, splits_samples, NARROW),
}
