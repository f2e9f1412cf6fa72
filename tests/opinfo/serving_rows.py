# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of what servers of language models fuse: hyper-connections, rotations by three positions, caches of sparse
attention, with references in PyTorch. (reference, samples, dtypes) as rows.Row has them."""
import torch

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
NARROW = (torch.float32, torch.bfloat16, torch.float16)
EXACT = (torch.float32, torch.float64)
PLACES = (torch.int32, torch.int64)


def kept(x):
    return x if x.dtype == torch.float64 else x.float()


# ---- hyper-connections


def products_of(streams, fn, eps):
    x = kept(streams).flatten(-2)
    return x @ kept(fn).t() * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


def balanced(x, repeat, eps):
    x = x.softmax(-1) + eps
    x = x / (x.sum(-2, keepdim=True) + eps)
    for _ in range(repeat - 1):
        x = x / (x.sum(-1, keepdim=True) + eps)
        x = x / (x.sum(-2, keepdim=True) + eps)
    return x


def before_layer(residual, fn, scale, base, rms_eps, pre_eps, sinkhorn_eps, post_mult, repeat, _n_splits=1):
    n = residual.shape[-2]
    mixes = products_of(residual, fn, rms_eps)
    mixes = mixes * torch.repeat_interleave(scale, torch.tensor([n, n, n * n])) + base
    pre, post, comb = mixes.split([n, n, n * n], -1)
    read = (kept(residual) * (pre.sigmoid() + pre_eps).unsqueeze(-1)).sum(-2).to(residual.dtype)
    return (post.sigmoid() * post_mult).unsqueeze(-1), balanced(comb.unflatten(-1, (n, n)), repeat, sinkhorn_eps), read


def before_layer_samples(dtype):
    for n, outer, width in ((4, [3], 16), (4, [2, 5], 9), (2, [3], 8), (3, [], 7)):
        mixes = 2 * n + n * n
        yield (torch.randn(*outer, n, width, dtype=dtype), torch.randn(mixes, n * width) / 8, torch.rand(3),
               torch.randn(mixes), 1e-6, 1e-3, 1e-6, 2.0, 3)


def behind_layer(x, residual, post, comb):
    mixed = comb.to(kept(x).dtype).transpose(-1, -2) @ kept(residual)
    return (kept(x).unsqueeze(-2) * post + mixed).to(x.dtype)


def behind_layer_samples(dtype):
    for n, outer, width in ((4, [3], 16), (4, [2, 5], 9), (2, [3], 1100), (6, [2], 7)):
        yield (torch.randn(*outer, width, dtype=dtype), torch.randn(*outer, n, width, dtype=dtype),
               torch.rand(*outer, n, 1), torch.rand(*outer, n, n))


def head_of_streams(streams, fn, scale, base, out, _hidden_size, rms_eps, hc_eps, _hc_mult):
    pre = (products_of(streams, fn, rms_eps) * scale + base).sigmoid() + hc_eps
    return (pre.unsqueeze(-1) * kept(streams)).sum(1).to(out.dtype)


def head_of_streams_samples(dtype):
    for n, width in ((4, 16), (2, 9)):
        yield (torch.randn(5, n, width, dtype=dtype), torch.randn(n, n * width) / 8, torch.rand(1), torch.randn(n),
               torch.empty(5, width, dtype=dtype), width, 1e-6, 1e-3, n)


def sinkhorn(m, iters=20):
    powers = torch.exp(m)
    r = powers
    for _ in range(iters):
        r = r / r.sum(-2, keepdim=True)
        r = r / r.sum(-1, keepdim=True)
    return r, powers


def matrices(dtype):
    for sizes in ([5, 4, 4], [2, 3, 3, 3], [2, 2]):
        yield (torch.randn(sizes, dtype=dtype),)
        yield (torch.randn(sizes, dtype=dtype), 3)


def sinkhorn_gradient(r, g, cg_iters=None):
    """By the definition: the solution of the linear system, which conjugate gradients have found by then."""
    n = r.shape[-1]
    eye = torch.eye(n, dtype=r.dtype).expand_as(r)
    system = torch.cat((torch.cat((eye, r), 2), torch.cat((r.transpose(1, 2), eye), 2)), 1).double()
    sums = torch.cat(((r * g).sum(2), (r * g).sum(1)), 1).double()
    both = (torch.linalg.pinv(system, rtol=1e-5, hermitian=True) @ sums.unsqueeze(-1)).squeeze(-1).to(r.dtype)
    return (g - both[:, :n].unsqueeze(2) - both[:, n:].unsqueeze(1)) * r


def sinkhorn_gradient_samples(dtype):
    for n in (4, 3):
        r = sinkhorn(torch.randn(6, n, n, dtype=torch.float64), 60)[0].to(dtype)
        yield (r, torch.randn(6, n, n, dtype=dtype))
        yield (r, torch.randn(6, n, n, dtype=dtype), 2 * n - 1)


# ---- rotations


def turned(x, angles, back=False):
    """Pairs of neighbours among the last elements of x [N, heads, E], by rows [N, R] of cosines and sines."""
    pairs = angles.shape[-1] // 2
    if pairs == 0:
        return x
    cos, sin = kept(angles[:, None, :pairs]), kept(angles[:, None, pairs:]) * (-1 if back else 1)
    rest, own = x[..., :-2 * pairs], kept(x[..., -2 * pairs:]).unflatten(-1, (-1, 2))
    a, b = own.unbind(-1)
    return torch.cat((kept(rest), torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)), -1)


def exact_angles(rows, size, dtype=torch.float32):
    """Of quarter turns and the like, so that few products are rounded."""
    return torch.randint(-2, 3, (rows, size)).to(dtype) / 2


def by_three(query, key, table, positions, t, h, w, head, rotary, interleaved=False, glm=False, neox=True, axes=None):
    pairs = rotary // 2
    k = torch.arange(pairs)
    if interleaved and not glm:
        axes = torch.where((k % 3 == 1) & (k < 3 * h), 1, torch.where((k % 3 == 2) & (k < 3 * w), 2, 0))
    elif not glm:
        axes = torch.repeat_interleave(torch.arange(3), torch.tensor([t, h, w]))
    rows = positions[axes].t()
    cos, sin = (kept(part.gather(0, rows)).unsqueeze(1) for part in table.split(pairs, 1))

    def rotated(x):
        own = kept(x).unflatten(1, (-1, head)).clone()
        places = (k, k + pairs) if neox else (2 * k, 2 * k + 1)
        a, b = (own[..., p].clone() for p in places)
        own[..., places[0]], own[..., places[1]] = a * cos - b * sin, b * cos + a * sin
        return own.flatten(1).to(x.dtype)
    return rotated(query), rotated(key)


def by_three_samples(dtype):
    for (t, h, w), rotary, form in (((2, 1, 1), 8, (False, False, True)), ((2, 2, 2), 12, (True, False, True)),
                                    ((3, 2, 1), 12, (False, False, False)), ((2, 2, 2), 12, (True, True, True))):
        axes = torch.randint(0, 3, (rotary // 2,)) if form[1] else None
        for tokens in (1, 5):
            angles = torch.rand(9, rotary // 2) * 6
            yield (torch.randn(tokens, 3 * 14, dtype=dtype), torch.randn(tokens, 14, dtype=dtype),
                   torch.cat((angles.cos(), angles.sin()), 1).to(dtype), torch.randint(0, 9, (3, tokens)), t, h, w, 14,
                   rotary, *form, axes)


# ---- caches


def power_of_two(scale):
    return torch.exp2(torch.ceil(torch.log2(scale.double()))).float()


def coded(groups, floor, powers):
    """Codes and scales of groups along the last dimension."""
    scales = groups.float().abs().amax(-1).clamp(min=floor) / 448
    scales = power_of_two(scales) if powers else scales
    return (groups.float() / scales.unsqueeze(-1)).clamp(-448, 448).to(torch.float8_e4m3fn), scales


def as_bytes(x):
    return x.contiguous().view(torch.uint8)


def index_keys(k, cache, slots, size, scale_fmt):
    cache = cache.clone()
    blocks, page, _ = cache.shape
    flat, elements = cache.view(blocks, -1), k.shape[1]
    codes, scales = coded(k.unflatten(1, (-1, size)), 1e-4, scale_fmt == "ue8m0")
    codes, scales = as_bytes(codes).flatten(1), as_bytes(scales)
    for token, slot in enumerate(slots.tolist()):
        if slot >= 0:
            block, place = slot // page, slot % page
            flat[block, place * elements:(place + 1) * elements] = codes[token]
            first = page * elements + place * scales.shape[1]
            flat[block, first:first + scales.shape[1]] = scales[token]
    return cache


def index_keys_samples(dtype):
    for size, group in ((16, 8), (64, 64), (32, 4)):
        for scale_fmt in ("ue8m0", ""):
            yield (torch.randn(4, size, dtype=dtype) * 5, torch.randint(0, 256, (3, 4, size + 4 * size // group),
                                                                        dtype=torch.uint8),
                   torch.tensor([7, -1, 0, 11]), group, scale_fmt)


def gathered_keys(cache, codes, scales, table, starts):
    codes, scales = codes.clone(), scales.clone()
    flat, page = cache.flatten(1), cache.shape[1]
    size, bytes_ = codes.shape[1], scales.shape[1]
    for b, (first, end) in enumerate(zip(starts.tolist(), starts.tolist()[1:])):
        for token in range(first, min(end, codes.shape[0])):
            block, place = table[b, (token - first) // page], (token - first) % page
            codes[token] = flat[block, place * size:(place + 1) * size]
            scales[token] = flat[block, page * size + place * bytes_:page * size + (place + 1) * bytes_]
    return codes, scales


def gathered_keys_samples(dtype):
    for size, bytes_ in ((16, 4), (7, 8)):
        cache = torch.randint(0, 256, (5, 4, size + bytes_), dtype=dtype)
        table = torch.tensor([[4, 0, 1], [2, 3, 0], [1, 1, 1]], dtype=torch.int32)
        yield (cache, torch.zeros(13, size, dtype=dtype), torch.zeros(13, bytes_, dtype=dtype), table,
               torch.tensor([0, 6, 6, 11], dtype=torch.int32))


def normed(q, eps):
    return kept(q) * torch.rsqrt(kept(q).square().mean(-1, keepdim=True) + eps)


def inserted(q, kv, cache, slots, positions, table, eps=1e-6, _page=16):
    cache, angles = cache.clone(), table[positions]
    rows = turned(kv.unsqueeze(1), angles).squeeze(1).to(kv.dtype)
    for row, slot in zip(rows, slots.tolist()):
        if slot >= 0:
            cache[slot // cache.shape[1], slot % cache.shape[1]] = row
    return turned(normed(q, eps), angles).to(q.dtype), cache


def inserted_samples(dtype):
    for size, rotary in ((16, 4), (12, 12), (8, 0)):
        angles = torch.rand(9, rotary // 2) * 6
        yield (torch.randn(4, 3, size, dtype=dtype), torch.randn(4, size, dtype=dtype),
               torch.randn(3, 4, size, dtype=dtype), torch.tensor([7, -1, 11]), torch.randint(0, 9, (4,)),
               torch.cat((angles.cos(), angles.sin()), 1), 1e-6, 4)


def inserted_codes(q, kv, cache, slots, positions, table, eps, page):
    cache, angles = cache.clone(), table[positions]
    plain = table.shape[1]
    codes, scales = coded(kv[:, :kv.shape[1] - plain].unflatten(1, (-1, 64)), 1e-4, True)
    exponents = (torch.log2(scales) + 127).to(torch.uint8)
    rows = torch.cat((as_bytes(codes).flatten(1),
                      as_bytes(turned(kv.unsqueeze(1), angles).squeeze(1)[:, -plain:].to(torch.bfloat16))), 1)
    exponents = torch.cat((exponents, torch.zeros(len(kv), 1, dtype=torch.uint8)), 1)
    for token, slot in enumerate(slots.tolist()):
        if slot >= 0:
            block, place = slot // page, slot % page
            cache[block, place * rows.shape[1]:(place + 1) * rows.shape[1]] = rows[token]
            first = page * rows.shape[1] + place * exponents.shape[1]
            cache[block, first:first + exponents.shape[1]] = exponents[token]
    return turned(normed(q, eps), angles).to(q.dtype), cache


def inserted_codes_samples(dtype):
    for size, rotary in ((128 + 8, 8), (64 + 4, 4)):
        bytes_ = 4 * (size + rotary + (size - rotary) // 64 + 1) + 6
        yield (torch.randn(4, 3, size, dtype=dtype), (torch.randint(-8, 9, (4, size)) / 4).to(dtype),
               torch.randint(0, 256, (3, bytes_), dtype=torch.uint8), torch.tensor([7, -1, 11]),
               torch.randint(0, 9, (4,)), exact_angles(9, rotary), 1e-6, 4)


def decoded(out, cache, lengths, gathered, table, page, offset=0, rope_dim=64, nope_dim=None, scale_slots=None):
    out = out.clone()
    nope = out.shape[2] - rope_dim if nope_dim is None else nope_dim
    slots = -(-nope // 64) + (nope % 64 == 0) if scale_slots is None else scale_slots
    flat, token = cache.flatten(1), nope + 2 * rope_dim
    for b, length in enumerate(lengths.tolist()):
        count = length if gathered is None else int(gathered[b])
        for k in range(min(count, out.shape[1] - offset)):
            at = length - count + k
            block, place = table[b, at // page], at % page
            row = flat[block, place * token:(place + 1) * token]
            codes = row[:nope].contiguous().view(torch.float8_e4m3fn).float()
            first = page * token + place * slots
            scales = torch.exp2(flat[block, first:first + slots].float() - 127).repeat_interleave(64)[:nope]
            out[b, offset + k, :nope] = (codes * scales).to(out.dtype)
            out[b, offset + k, nope:nope + rope_dim] = row[nope:].clone().view(torch.bfloat16).to(out.dtype)
    return out


def decoded_samples(dtype):
    for nope, rope in ((64, 4), (70, 2)):
        slots = -(-nope // 64) + (nope % 64 == 0)
        cache = torch.zeros(4, 4 * (nope + 2 * rope + slots), dtype=torch.uint8)
        for token in range(4):
            first = token * (nope + 2 * rope)
            cache[:, first:first + nope] = as_bytes(torch.randn(4, nope).to(torch.float8_e4m3fn))
            cache[:, first + nope:first + nope + 2 * rope] = as_bytes(torch.randn(4, rope).to(torch.bfloat16))
        cache[:, 4 * (nope + 2 * rope):] = torch.randint(120, 132, (4, 4 * slots), dtype=torch.uint8)
        table = torch.tensor([[3, 1], [0, 2]], dtype=torch.int32)
        lengths = torch.tensor([5, 3])
        out = torch.randn(2, 7, nope + rope, dtype=dtype)
        yield (out, cache, lengths, None, table, 4, 1, rope)
        yield (out, cache.view(4, 4, -1), lengths, torch.tensor([2, 3], dtype=torch.int32), table, 4, 0, rope, nope, slots)


def global_places(local, sequences, table, page, valid=None):
    rows = table[sequences.long()].gather(1, local.clamp(min=0).long() // page)
    places = torch.where(local < 0, -1, rows * page + local.clamp(min=0) % page)
    counts = (local >= 0).sum(1)
    return places.int(), (counts if valid is None else counts * valid).int()


def global_places_samples(dtype):
    local = torch.randint(0, 12, (5, 6)).to(dtype)
    local[1, 3:] = -1
    sequences, table = torch.tensor([0, 0, 1, 2, 1]), torch.randint(0, 50, (3, 3))
    yield (local, sequences.int(), table.int(), 4)
    yield (local, sequences.int(), table.int(), 4, torch.tensor([True, True, False, True, True]))


def joined_places(chosen, starts, ends, gathered, window, ratio, topk, m, n):
    width = -(-(topk + window) // 128) * 128
    out = torch.full((len(chosen), width), -1, dtype=torch.int32)
    lengths = torch.zeros(len(chosen), dtype=torch.int32)
    begins = (starts - starts[0]).tolist()
    for b, (first, end) in enumerate(zip(begins, begins[1:])):
        for token in range(first, end):
            at = int(ends[b]) - (end - first) + token - first
            own, near_by = min((at + 1) // ratio, topk), min(at + 1, window)
            out[token, :own] = chosen[token, :own].int() + m * b
            out[token, own:own + near_by] = m * b + n + torch.arange(at - near_by + 1, at + 1) - int(ends[b] - gathered[b])
            lengths[token] = own + near_by
    return out, lengths


def joined_places_samples(dtype):
    starts = torch.tensor([2, 5, 5, 9], dtype=torch.int32)
    ends, gathered = torch.tensor([7, 3, 4]), torch.tensor([6, 3, 4], dtype=torch.int32)
    for window, ratio, topk in ((4, 2, 3), (130, 4, 5), (0, 1, 2)):
        yield (torch.randint(0, 9, (7, 5)).to(dtype), starts, ends, gathered, window, ratio, topk, 100, 20)


def best_within(inputs, starts, ends, topk):
    made = torch.full((len(inputs), topk), -1, dtype=torch.int32)
    for row, (a, b) in enumerate(zip(starts.tolist(), ends.tolist())):
        k = min(topk, max(0, b - a))
        made[row, :k] = inputs[row, a:max(a, b)].topk(k).indices.int() + a
    return made


def best_within_samples(dtype):
    inputs = torch.stack([torch.randperm(9) for _ in range(4)]).to(dtype)
    for k in (3, 9):
        yield (inputs, torch.tensor([0, 2, 4, 0]), torch.tensor([9, 9, 6, 0]), k)


# ---- queries, and what attention gives


def index_queries(positions, q, table, weights, softmax_scale, head_scale):
    x = turned(q, table[positions]).to(q.dtype)
    codes, scales = coded(x, 1e-4, True)
    return codes, (weights.float() * scales * softmax_scale * head_scale).float()


F4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def f4_of(x):
    """The nearest, of two the even code."""
    apart = (x.abs().unsqueeze(-1) - F4).abs()
    nearest = (apart + torch.tensor([0, 1e-6] * 4)).argmin(-1)
    return nearest + 8 * torch.signbit(x)


def index_queries_f4(positions, q, table, weights, softmax_scale, head_scale):
    groups = turned(q, table[positions]).to(q.dtype).float().unflatten(-1, (-1, 32))
    scales = power_of_two(groups.abs().amax(-1).clamp(min=6 * 2.0**-126) / 6)
    codes = f4_of(groups / scales.unsqueeze(-1)).flatten(-2).unflatten(-1, (-1, 2))
    return ((codes[..., 0] + 16 * codes[..., 1]).to(torch.uint8), (torch.log2(scales) + 127).to(torch.uint8),
            (weights.float() * softmax_scale * head_scale).float())


def index_queries_samples(dtype):
    for size, rotary in ((64, 32), (32, 8), (96, 0)):
        q = (torch.randint(-30, 31, (4, 3, size)) / 8).to(dtype)
        yield (torch.randint(0, 9, (4,)), q, exact_angles(9, rotary), torch.randn(4, 3, dtype=dtype), 0.125, 0.5)


def turned_back(o, positions, table, groups, heads, nope=448, rope=64, group=128, eps=1e-10, packed=False):
    x = turned(o, table[positions], True).unflatten(1, (groups, heads)).unflatten(-1, (-1, group))
    codes, scales = coded(x, eps, packed)
    if packed:
        exponents = (torch.log2(scales) + 127).to(torch.int32)
        scales = (exponents * torch.tensor([1, 2**8, 2**16, 2**24], dtype=torch.int32)).sum(-1).int().unsqueeze(-1)
    return codes.flatten(2), scales.flatten(2)


def turned_back_samples(dtype):
    for groups, heads, nope, rope, group in ((2, 2, 24, 8, 8), (1, 3, 12, 4, 4), (2, 1, 448, 64, 128)):
        for tokens in (5, 1):
            yield ((torch.randint(-30, 31, (tokens, groups * heads, nope + rope)) / 8).to(dtype),
                   torch.randint(0, 9, (tokens,)), exact_angles(9, rope), groups, heads, nope, rope, group)


def beams(dtype):
    x = torch.randn(3, 7, dtype=dtype)
    yield (x, torch.randn(3, dtype=dtype))
    yield (x, torch.randn(3, 1, dtype=dtype))


def continued(log_probs, scores):
    return log_probs + (scores.unsqueeze(-1) if scores.dim() == 1 else scores)


ROWS = {
    "flaggems::mhc_pre": (before_layer, before_layer_samples, NARROW),
    "flaggems::mhc_post": (behind_layer, behind_layer_samples, NARROW),
    "flaggems::hc_head_fused_kernel": (head_of_streams, head_of_streams_samples, NARROW),
    "flaggems::hc_head_fused_kernel_ref": (head_of_streams, head_of_streams_samples, NARROW),
    "flaggems::sinkhorn_forward": (sinkhorn, matrices, EXACT),
    "flaggems::mhc_bwd": (sinkhorn_gradient, sinkhorn_gradient_samples, EXACT),
    "flaggems::mhc_bwd_ref": (sinkhorn_gradient, sinkhorn_gradient_samples, EXACT),
    "flaggems::mrope": (by_three, by_three_samples, FLOATS),
    "flaggems::beam_search_score": (continued, beams, FLOATS),
    "flaggems::beam_search_score_": (continued, beams, FLOATS),
    "flaggems::bucket_sort_topk": (best_within, best_within_samples, FLOATS),
    "flaggems::indexer_k_quant_and_cache": (index_keys, index_keys_samples, NARROW),
    "flaggems::cp_gather_indexer_k_quant_cache": (gathered_keys, gathered_keys_samples, (torch.uint8,)),
    "flaggems::dequantize_and_gather_k_cache": (decoded, decoded_samples, NARROW),
    "flaggems::compute_global_topk_indices_and_lens": (global_places, global_places_samples, PLACES),
    "flaggems::combine_topk_swa_indices": (joined_places, joined_places_samples, PLACES),
    "flaggems::fused_deepseek_v4_qnorm_rope_kv_rope_insert": (inserted, inserted_samples, NARROW),
    "flaggems::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert": (inserted_codes, inserted_codes_samples, NARROW),
    "flaggems::fused_indexer_q_rope_quant": (index_queries, index_queries_samples, NARROW),
    "flaggems::fused_indexer_q_rope_quant_mxfp4": (index_queries_f4, index_queries_samples, NARROW),
    "flaggems::fused_inv_rope_fp8_quant": (turned_back, turned_back_samples, NARROW),
    "flaggems::fused_inv_rope_fp8_quant_packed": (
        lambda *a: turned_back(*a, *(448, 64, 128)[len(a) - 5:], 1e-10, True), turned_back_samples, NARROW),
}
