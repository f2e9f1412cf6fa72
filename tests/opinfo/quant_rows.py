# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of quantised products, packed weights, observers and sparse matrices, with references in PyTorch.
(reference, samples, dtypes) as rows.Row has them."""
import torch
from torch.sparse._semi_structured_conversions import (sparse_semi_structured_from_dense_cutlass,
                                                       sparse_semi_structured_to_dense_cutlass)

F8 = (torch.float8_e4m3fn,)
NARROW = (torch.float32, torch.bfloat16, torch.float16)
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def f8(*sizes):
    return torch.randn(sizes).to(torch.float8_e4m3fn)


def scales(*sizes):
    return torch.rand(sizes) + 0.5


def parts(n, block):
    return -(-n // block)


# ---- products with scales


def in_blocks(x, by, lines, terms):
    """x times the scales of its blocks, in float64."""
    rows, columns = x.shape[-2:]
    wide = by.double().repeat_interleave(lines, -2)[..., :rows, :].repeat_interleave(terms, -1)[..., :columns]
    return x.double() * wide


def block_product(x, y, xs, ys, block_size=(128, 128), output_dtype=None):
    lines, terms = block_size
    left, right = in_blocks(x, xs, 1, terms), in_blocks(y, ys, lines, terms)
    return (left @ right.mT).to(output_dtype or torch.bfloat16)


def block_products(batch):
    def samples(_dtype):
        for m, n, k, lines, terms in ((5, 7, 12, 3, 4), (3, 130, 140, 128, 128), (16, 32, 64, 32, 16)):
            arguments = (f8(*batch, m, k), f8(*batch, n, k), scales(*batch, m, parts(k, terms)),
                         scales(*batch, parts(n, lines), parts(k, terms)), [lines, terms])
            yield arguments
            yield (*arguments, {"output_dtype": torch.float32})
    return samples


def heads(equation, x, xs, y, ys, block_size=(128, 128), output_dtype=None):
    assert equation == "bhr,hdr->bhd"
    made = block_product(x.transpose(0, 1), y, xs.transpose(0, 1), ys, block_size, output_dtype)
    return made.transpose(0, 1).contiguous()


def heads_samples(_dtype):
    for x, y, xs, ys, blocks, *more in block_products((4,))(None):
        yield ("bhr,hdr->bhd", x.transpose(0, 1), xs.transpose(0, 1), y, ys, blocks, *more)


def cutlass(c, a, b, by_a, by_b, bias=None):
    if by_a.numel() in (1, a.shape[0]) and by_b.numel() in (1, b.shape[1]):
        made = (a.double() @ b.double()) * by_a.double().view(-1, 1) * by_b.double().view(1, -1)
    else:
        made = in_blocks(a, by_a, 1, 128) @ in_blocks(b, by_b, 128, 128)
    return (made if bias is None else made + bias.double()).to(c.dtype)


def cutlass_samples(dtype):
    def matrix(*sizes):
        return torch.randint(-8, 9, sizes).to(dtype) if dtype == torch.int8 else f8(*sizes)
    for out in (torch.bfloat16, torch.float32):
        a, b, c = matrix(5, 12), matrix(7, 12).t(), torch.empty(5, 7, dtype=out)
        yield (c, a, b, scales(1), scales(1))
        yield (c, a, b, scales(5, 1), scales(7), torch.randn(7).to(out))
        yield (c, a, b, scales(5), scales(1, 7))
        yield (torch.empty(3, 140, dtype=out), matrix(3, 130), matrix(130, 140), scales(3, 2), scales(2, 2))


# ---- packed weights


def packed(x, _tiles):
    return ((x[:, ::2] & 15) | (x[:, 1::2] & 15) << 4).to(torch.uint8)


def packed_samples(_dtype):
    for n, k in ((8, 32), (3, 2), (1, 64)):
        yield (torch.randint(-16, 16, (n, k), dtype=torch.int32), 2)


def int4_product(x, w, group, by, zeros):
    bits = torch.stack((w & 15, w >> 4), -1).flatten(1).double()
    wide = [t.t().repeat_interleave(group, 1).double() for t in (by, zeros)]
    return (x.double() @ ((bits - wide[1]) * wide[0]).t()).to(x.dtype)


def int4_products(dtype):
    # (Of such scales, weights are exact in each dtype.)
    for m, n, k, group in ((4, 8, 64, 32), (1, 5, 12, 4)):
        yield (torch.randn(m, k, dtype=dtype), torch.randint(0, 256, (n, k // 2), dtype=torch.uint8), group,
               2.0 ** torch.randint(-3, 2, (k // group, n)).to(dtype), torch.full((k // group, n), 8).to(dtype))


def rows_of_weights(_dtype):
    weights, by = torch.randint(0, 256, (4, 32), dtype=torch.uint8), torch.rand(4, 2)
    yield (weights, by, None, 32, 64, 4)
    yield (weights, by, torch.rand(4), 64, 64, 4)


def gathered(x, by, indices=None, block_size=128):
    wide = x.flatten().float() * by.repeat_interleave(block_size)[:x.numel()]
    return wide if indices is None else wide[indices.flatten()]


def gathered_samples(_dtype):
    for sizes, block in (((3, 100), 128), ((40,), 16), ((4, 8), 32)):
        x = torch.randint(-128, 128, sizes, dtype=torch.int8)
        by = scales(parts(x.numel(), block))
        yield (x, by, None, block)
        yield (x, by, torch.randint(0, x.numel(), (2, 5)), block)


# ---- ranges


def observed(dtype):
    for rows, symmetric in ((False, False), (False, True), (True, False), (True, True)):
        for observer, rounding in ((1, 1), (1, 0), (0, 1)):
            n = 4 if rows else 1
            low = torch.full((n,), float("inf")) if observer else -torch.rand(n) - 0.1
            high = torch.full((n,), float("-inf")) if observer else torch.rand(n) + 0.1
            yield (torch.randn(4, 6, dtype=dtype), torch.tensor([observer]), torch.tensor([rounding]), low, high,
                   torch.ones(n), torch.zeros(n, dtype=torch.int32), 0.25, -8, 7, 0, rows, symmetric)


def searched(_dtype):
    for n, numel, bits in ((100, 100, 4), (64, 40, 8), (1, 1, 4)):
        yield (torch.randn(n), numel, 200, 0.16, bits)


# ---- sparse matrices


def sampled(starts, columns, values, a, b, beta=1, alpha=1):
    rows = torch.repeat_interleave(torch.arange(len(starts) - 1), starts.diff())
    made = (a.double() @ b.double())[rows, columns]
    return (alpha * made + (beta * values.double() if beta else 0)).to(values.dtype)


def sampled_samples(dtype):
    for m, n, k in ((4, 5, 7), (3, 3, 1), (6, 8, 40)):
        places = (torch.rand(m, n) > 0.5).to_sparse_csr()
        starts, columns = places.crow_indices(), places.col_indices()
        arguments = (starts, columns, torch.randn(len(columns), dtype=dtype), torch.randn(m, k, dtype=dtype),
                     torch.randn(k, n, dtype=dtype))
        yield arguments
        yield (*arguments, {"beta": 0.5, "alpha": 2})


def half_stored(x, meta, y):
    return (sparse_semi_structured_to_dense_cutlass(x, meta).double() @ y.double()).to(x.dtype)


def half_stored_samples(dtype):
    for m, k, n in ((32, 64, 8), (64, 128, 5)):
        keep = torch.tensor([[1, 0, 0, 1], [0, 1, 1, 0]]).repeat(m // 2, k // 4)
        if dtype == torch.float32:
            keep = torch.tensor([[1, 0], [0, 1]]).repeat(m // 2, k // 2)
        # (PyTorch expands float32 as pairs of float16, of which it changes some NaNs.)
        x, meta = sparse_semi_structured_from_dense_cutlass(torch.randn(m, k).bfloat16().to(dtype) * keep)
        yield (x, meta, torch.randn(k, n, dtype=dtype))


# ---- creation


def tokens(size, low, high, token):
    return token.clone()


def constrained(dtype):
    for bounds in ((5, None, None), (5, 1, 10), (3, 3, 3)):
        yield (*bounds, torch.zeros((), dtype=dtype))


ROWS = {
    "flaggems::w8a8_block_fp8_matmul": (block_product, block_products(()), F8),
    "flaggems::w8a8_block_fp8_bmm": (block_product, block_products((2,)), F8),
    "flaggems::fp8_einsum": (heads, heads_samples, F8),
    "flaggems::cutlass_scaled_mm": (cutlass, cutlass_samples, (torch.int8, *F8)),
    "flaggems::matmul_bias_activation": (
        lambda x, y, bias: (x.double() @ y.double() + bias.double()).relu().to(x.dtype), lambda dtype: [
            (torch.randn(3, 6, dtype=dtype), torch.randn(6, 5, dtype=dtype), torch.randn(sizes, dtype=dtype))
            for sizes in ([5], [3, 5], [3, 1])], FLOATS),
    "_compute_linear_combination": (None, lambda dtype: [
        (torch.randn(3, *more, dtype=dtype), torch.randn(4, 3, dtype=dtype)) for more in ((), (5,), (2, 6), (2, 3, 4))],
        (torch.float32, torch.float64)),
    "_convert_weight_to_int4pack": (packed, packed_samples, (torch.int32,)),
    "_weight_int4pack_mm_with_scales_and_zeros": (int4_product, int4_products, NARROW),
    "_dyn_quant_pack_4bit_weight": (None, rows_of_weights, (torch.uint8,)),
    "flaggems::gather_block_quantized": (gathered, gathered_samples, (torch.int8,)),
    "choose_qparams_optimized": (None, searched, (torch.float32,)),
    "_fused_moving_avg_obs_fq_helper": (None, observed, (torch.float32,)),
    "flaggems::sparse_sampled_addmm": (sampled, sampled_samples, FLOATS),
    "_sparse_semi_structured_mm": (half_stored, half_stored_samples, NARROW),
    "_list_to_tensor": (lambda x: torch.tensor(x, dtype=torch.int64), lambda _dtype: [([1, -2, 3],), ([],)], (torch.int64,)),
    "_functional_sym_constrain_range": (None, constrained, (torch.float32, torch.int64)),
    "_functional_sym_constrain_range_for_size": (tokens, constrained, (torch.float32, torch.int64)),
    "_make_dep_token": (None, lambda dtype: [({"dtype": dtype},)], (torch.float32, torch.int64)),
}
