# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Operators and overloads that no OpInfo's sample calls, or whose ATen operator has no kernel for the CPU: samples,
and a reference where ATen is none."""
import typing

import torch
from torch.nn import functional

import fused_rows
import gradient_rows
import quant_rows
import recurrent_rows
import serving_rows

EPS = 1e-6
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.uint8)
# Dtypes of rows that no OpInfo is judged in.
OWN_DTYPES = (torch.int8, torch.float8_e4m3fn)


class Reference:
    """In the place of ATen's overload: a schema, and a function that gives what an operator has to."""

    def __init__(self, schema, function):
        self._schema = torch._C.parse_schema(schema) if isinstance(schema, str) else schema
        self.function = function

    def __call__(self, /, *args, **kwargs):
        return self.function(*args, **kwargs)


def of_sizes(sizes, dtype):
    if dtype == torch.bool:
        return torch.testing.make_tensor(sizes, dtype=dtype, device="cpu")
    return torch.testing.make_tensor(sizes, dtype=dtype, device="cpu", low=-4 if dtype.is_signed else 0, high=4)


def shapes(dtype):
    for sizes in ([4, 8], [3, 5, 7], [1], [2, 0, 3], [2, 300]):
        yield of_sizes(sizes, dtype)


def gated(function):
    def reference(x, y, approximate="none"):
        return function(x, approximate) * y

    def samples(dtype, more=()):
        for x in shapes(dtype):
            y = torch.randn_like(x)
            yield (x, y, *more)
            if x.dim() > 1:
                yield (x.transpose(0, 1), y.transpose(0, 1), *more)
            yield (x, y[..., :1], *more)  # broadcast
    return reference, samples


def gelu(x, approximate):
    return functional.gelu(x, approximate=approximate)


silu_and_mul, gated_samples = gated(lambda x, _: functional.silu(x))
gelu_and_mul, _ = gated(gelu)


def gelu_and_mul_samples(dtype):
    yield from gated_samples(dtype)
    yield from gated_samples(dtype, ("tanh",))


def one_operand(dtype):
    for x in shapes(dtype):
        yield (x,)
        if x.dim() > 1:
            yield (x.transpose(0, 1),)


def rms_norm_backward(grad_out, x, _shape, _rstd, weight, _mask):
    with torch.enable_grad():
        inputs = [x.detach().requires_grad_(), weight.detach().requires_grad_()]
        # (rms_norm's kernel may be the judge's, without gradients.)
        y = inputs[0] * torch.rsqrt(inputs[0].square().mean(-1, keepdim=True) + EPS) * inputs[1]
    return torch.autograd.grad(y, inputs, grad_out)


def rms_norm_backward_samples(dtype):
    for x in shapes(dtype):
        if x.numel() == 0:
            continue
        weight = torch.randn(x.shape[-1:], dtype=dtype)
        kept = x if dtype == torch.float64 else x.float()
        rstd = torch.rsqrt(kept.square().mean(-1, keepdim=True) + EPS)
        yield (torch.randn_like(x), x, list(x.shape[-1:]), rstd, weight, [True, True])


def fused_add_rms_norm(x, residual, weight, epsilon):
    total = x + residual
    return functional.rms_norm(total, weight.shape, weight, epsilon), total


def fused_add_rms_norm_samples(dtype):
    for x in shapes(dtype):
        yield (x, torch.randn_like(x), torch.randn(x.shape[-1:], dtype=dtype), EPS)


def rotated(x, cos, sin, interleaved):
    half = cos.shape[-1]
    cos, sin, rest = cos.unsqueeze(-2), sin.unsqueeze(-2), x[..., 2 * half:]
    if interleaved:
        a, b = x[..., 0:2 * half:2], x[..., 1:2 * half:2]
        pairs = torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    else:
        a, b = x[..., :half], x[..., half:2 * half]
        pairs = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    return torch.cat([pairs, rest], -1)


def rotary(q, k, cos, sin, position_ids=None, rotary_interleaved=False):
    if position_ids is None:
        position_ids = torch.arange(q.shape[-3])
    cos, sin = cos[position_ids], sin[position_ids]
    return rotated(q, cos, sin, rotary_interleaved), rotated(k, cos, sin, rotary_interleaved)


def rotary_samples(dtype):
    angles = torch.arange(32).unsqueeze(1) * torch.tensor([1.0, 0.5, 0.25, 0.125])
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    for dim in (8, 11):  # of which 8 are rotated
        for batch in ([], [2]):
            q = torch.randn(*batch, 6, 3, dim, dtype=dtype)
            k = torch.randn(*batch, 6, 1, dim, dtype=dtype)
            for interleaved in (False, True):
                yield (q, k, cos, sin, None, interleaved)
                yield (q, k, cos, sin, torch.randint(0, 32, q.shape[:-2]), interleaved)


def with_numbers(*numbers):
    def samples(dtype):
        for (x,) in one_operand(dtype):
            for values in numbers:
                yield (x, *values)
    return samples


def numbers_before(*numbers):
    def samples(dtype):
        for (x,) in one_operand(dtype):
            for value in numbers:
                yield (value, x)
    return samples


def two_operands(dtype):
    for (x,) in one_operand(dtype):
        y = of_sizes(x.shape, dtype)
        yield (x, y)
        yield (x, y[..., :1])
        if x.dim() > 1:
            yield (x, y.transpose(0, 1).contiguous().transpose(0, 1))


def chosen_numbers(dtype):
    for (x,) in one_operand(dtype):
        yield (x > 0, x, -2)
        yield (x > 0, x, 0.5)


def filled(dtype):
    for (x,) in one_operand(dtype):
        yield (x, torch.tensor(1.5, dtype=dtype))


def in_formats(dtype):
    yield from one_operand(dtype)
    x = torch.randn(2, 3, 4, 5, dtype=dtype)
    yield (x.transpose(1, 3),)


def windows(*more):
    def samples(dtype):
        for length in (0, 1, 2, 5, 32):
            for one in more or ((),):
                yield (length, *one, {"dtype": dtype})
    return samples


def ranges(dtype):
    yield (0, 5, {"dtype": dtype})
    yield (1.5, 4, {"dtype": dtype})


def ranges_with_steps(dtype):
    yield (0, 5, 0.5, {"dtype": dtype})
    yield (3, -3, -2, {"dtype": dtype})


def scattered_views(dtype):
    x = torch.randn(4, 4, dtype=dtype)
    yield (x, torch.randn(2, 2, dtype=dtype), [2, 2], [1, 2], 0, {"out": torch.empty_like(x)})
    yield (x, torch.randn(3, dtype=dtype), [3], [5], 1, {"out": torch.empty_like(x)})


def embedding_gradients(dtype):
    for indices in (torch.tensor([1, 4, 1, 0]), torch.tensor([[3, 3], [2, 5]])):
        grad = torch.randn(*indices.shape, 6, dtype=dtype)
        for padding, by_frequency in ((-1, False), (1, False), (3, True)):
            yield (grad, indices, 7, padding, by_frequency, False)


def masked_scale_samples(dtype):
    for (x,) in one_operand(dtype):
        yield (x, torch.rand(x.shape) > 0.5, 2.5)


def even_rows(dtype):
    for sizes in ([4, 8], [3, 5, 14], [2], [2, 0, 6], [2, 300]):
        x = torch.randn(sizes, dtype=dtype)
        yield x
        if len(sizes) > 2:
            yield x.transpose(0, 1)


def by_halves(function):
    """function(a) * b of the halves of the last dimension, its gradient, and samples of each."""
    def forward(x):
        a, b = x.chunk(2, -1)
        return function(a) * b

    def backward(grad, x):
        a, b = x.chunk(2, -1)
        with torch.enable_grad():
            c = a.detach().clone().requires_grad_()
            y = function(c)
        by_a = torch.autograd.grad(y, c, grad * b)[0]
        return torch.cat([by_a, grad * y.detach()], -1)
    return forward, backward


def gated_gradients(dtype):
    for x in even_rows(dtype):
        yield (torch.randn_like(x.chunk(2, -1)[0]), x)


def clamped_silu(x, y, limit):
    return functional.silu(x.clamp(max=limit)) * y.clamp(-limit, limit)


def skip_layer_norm(x, residual, sizes, weight=None, bias=None, eps=1e-5):
    return functional.layer_norm(x + residual, sizes, weight, bias, eps)


def skip_layer_norm_samples(dtype):
    for x in shapes(dtype):
        size = list(x.shape[-1:])
        weight, bias = torch.randn(size, dtype=dtype), torch.randn(size, dtype=dtype)
        yield (x, torch.randn_like(x), size)
        yield (x, torch.randn_like(x), size, weight, bias, 1e-3)


def gemma_rms_norm(x, weight, epsilon=EPS):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * (1 + weight)


def gemma_rms_norm_samples(dtype):
    for x in shapes(dtype):
        yield (x, torch.randn(x.shape[-1:], dtype=dtype))
        yield (x, torch.randn(x.shape[-1:], dtype=dtype), 1e-3)


def squares(dtype):
    for x in even_rows(dtype):
        yield (x,)


# ---- 8-bit floats


def act_quant(x, block_size=128, scale_fmt="none"):
    blocks = x.float().unflatten(-1, (-1, block_size))
    scales = blocks.abs().amax(-1).clamp(min=1e-4) * torch.tensor(1 / 448)
    if scale_fmt == "ue8m0":
        scales = torch.exp2(torch.ceil(torch.log2(scales.double()))).float()
    return (blocks / scales.unsqueeze(-1)).flatten(-2).to(torch.float8_e4m3fn), scales


def act_quant_samples(dtype):
    for sizes in ([4, 128], [3, 2, 256]):
        yield (torch.randn(sizes, dtype=dtype) * 9,)
        yield (torch.randn(sizes, dtype=dtype), 64, "ue8m0")


def to_f8(*sizes):
    return (torch.randn(*sizes) * 3).to(torch.float8_e4m3fn)


def fp8_matmul(a, a_s, b, b_s):
    k, n = a.shape[-1], b.shape[0]
    x = a.double() * a_s.double().repeat_interleave(128, -1)[..., :k]
    w = b.double() * b_s.double().repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]
    return (x @ w.t()).to(torch.bfloat16)


def fp8_matmul_samples(_dtype):
    for rows, k, n in (([4], 128, 256), ([2, 3], 200, 150)):
        blocks, lines = -(-k // 128), -(-n // 128)
        yield (to_f8(*rows, k), torch.rand(*rows, blocks) + 0.5, to_f8(n, k), torch.rand(lines, blocks) + 0.5)


def scaled_mm(a, b, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, _fast=False):
    product = (a.double() @ b.double()) * scale_a.double() * scale_b.double()
    return (product if bias is None else product + bias.double()).to(out_dtype)


def scaled_mm_samples(dtype):
    for m, k, n in ((4, 16, 32), (17, 64, 16)):
        a, b = to_f8(m, k), to_f8(n, k).t()
        yield (a, b, torch.tensor(0.5), torch.tensor(2.0), None, None, dtype)
        yield (a, b, torch.rand(m, 1), torch.rand(1, n), torch.randn(n, dtype=dtype), None, dtype)


def int_mm_samples(dtype):
    for m, k, n in ((17, 16, 8), (32, 40, 24)):
        a, b = of_sizes((m, k), dtype), of_sizes((k, n), dtype)
        yield (a, b)
        yield (a.t().contiguous().t(), b.t().contiguous().t())


# ---- RWKV, caches


def rwkv_keys(k, kk, a, ka, heads, size):
    out = k * (1 + (a - 1) * ka)
    rows = (k * kk).unflatten(-1, (heads, size))
    rows = (rows / torch.sqrt(rows.square().sum(-1, keepdim=True) + 1e-12)).flatten(-2)
    return out, rows, rows * a


def rwkv_keys_samples(dtype):
    for tokens in ([], [5]):
        k, a = torch.randn(*tokens, 12, dtype=dtype), torch.rand(*tokens, 12, dtype=dtype)
        yield (k, torch.randn(12, dtype=dtype), a, torch.randn(12, dtype=dtype), 3, 4)


def rwkv_sparse_samples(dtype):
    k = torch.randn(40, dtype=dtype) * (torch.rand(40) > 0.7)
    yield (k, torch.randn(40, 9, dtype=dtype))
    yield (k, torch.randn(9, 40, dtype=dtype).t())


def cached_flash(key, value, key_cache, value_cache, slots):
    caches = key_cache.clone(), value_cache.clone()
    for cache, rows in zip(caches, (key, value)):
        for row, slot in zip(rows, slots.tolist()):
            if slot >= 0:
                cache[slot // cache.shape[1], slot % cache.shape[1]] = row
    return caches


def cached(key, value, key_cache, value_cache, slots):
    n, heads, size = key.shape
    x = key_cache.shape[-1]
    keys = key_cache.permute(0, 3, 1, 2, 4).reshape(key_cache.shape[0], -1, heads, size)
    keys, values = cached_flash(key, value, keys, value_cache.permute(0, 3, 1, 2), slots)
    keys = keys.unflatten(-1, (size // x, x)).permute(0, 2, 3, 1, 4)
    return keys.contiguous(), values.permute(0, 2, 3, 1).contiguous()


def cache_samples(key_sizes, value_sizes):
    def samples(dtype):
        key, value = (torch.randn(4, 2, 8, dtype=dtype) for _ in range(2))
        caches = torch.randn(key_sizes, dtype=dtype), torch.randn(value_sizes, dtype=dtype)
        yield (key, value, *caches, torch.tensor([7, -1, 0, 11]))
        yield (key, value, *caches, torch.tensor([2, 1]))
    return samples


def cached_latent(kv_c, k_pe, cache, slots):
    cache = cache.clone()
    for row, slot in zip(torch.cat((kv_c, k_pe), 1), slots.tolist()):
        if slot >= 0:
            cache[slot // cache.shape[1], slot % cache.shape[1]] = row
    return cache


def cached_latent_samples(dtype):
    kv_c, k_pe, cache = (torch.randn(*sizes, dtype=dtype) for sizes in ((4, 6), (4, 2), (3, 4, 8)))
    yield (kv_c, k_pe, cache, torch.tensor([7, -1, 0, 11]))
    yield (kv_c, k_pe, cache, torch.tensor([2, 1]))


# ---- experts, losses, shares


def topk_softmax(weights, indices, places, gating, renormalize=False):
    tokens, k = weights.shape
    best = torch.softmax(gating if gating.dtype == torch.float64 else gating.float(), 1).topk(k, 1)
    shares = best.values / best.values.sum(1, keepdim=True) if renormalize else best.values
    at = torch.arange(tokens).unsqueeze(1) + torch.arange(k) * tokens
    return shares.to(weights.dtype), best.indices.to(indices.dtype), at.to(places.dtype)


def topk_softmax_samples(dtype):
    for tokens, experts, k in ((5, 8, 2), (3, 4, 4), (0, 4, 2)):
        # Shares that are far enough apart to be in one order in each dtype.
        gating = torch.stack([torch.randperm(experts) for _ in range(tokens)]).to(dtype) if tokens else \
            torch.empty(0, experts, dtype=dtype)
        for renormalize, whole in ((False, torch.int64), (True, torch.int64), (True, torch.int32)):
            outputs = (torch.empty(tokens, k), *(torch.empty(tokens, k, dtype=whole) for _ in range(2)))
            yield (*outputs, gating, renormalize)


def moe_sum_samples(dtype):
    for tokens, experts, width in ((5, 2, 8), (1, 3, 7), (0, 2, 4)):
        yield (of_sizes([tokens, experts, width], dtype), torch.empty(tokens, width, dtype=dtype))


def nll_gradient(grad, x, target, weight=None, reduction=1, ignore_index=-100, _total=None):
    how = ("none", "mean", "sum")[reduction]
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        # (nll_loss' kernel may be the judge's, without gradients.)
        chosen = -x.gather(1, target.clamp_min(0).unsqueeze(1)).squeeze(1)
        counted = (target != ignore_index).to(x.dtype)
        if weight is not None:
            counted = counted * weight[target.clamp_min(0)]
        loss = chosen * counted
        loss = loss if how == "none" else loss.sum() if how == "sum" else loss.sum() / counted.sum()
    return torch.autograd.grad(loss, x, grad)[0]


def nll_gradient_samples(dtype):
    x, target = torch.randn(5, 4, dtype=dtype), torch.tensor([1, 3, 0, -100, 2])
    weight = torch.rand(4, dtype=dtype) + 0.5
    yield (torch.randn(5, dtype=dtype), x, target, None, 0)
    yield (torch.randn(5, dtype=dtype), x, target, weight, 0)
    yield (torch.randn((), dtype=dtype), x, target, weight, 2)


def normed_cumsum(x, dim=-1):
    kept = x if x.dtype == torch.float64 else x.float()
    return (kept.cumsum(dim) / kept.sum(dim, keepdim=True)).to(x.dtype)


def positive_operand(dtype):
    for x in shapes(dtype):
        yield (x.abs() + 0.5,)
        yield (x.abs() + 0.5, 0)


def rms_norm_gradients(dy, x, _inverse, _sizes, weight, eps=1e-5):
    return rms_norm_backward(dy, x, None, None, weight, None)


def rms_norm_gradients_samples(dtype):
    for dy, x, sizes, rstd, weight, _ in rms_norm_backward_samples(dtype):
        yield (dy, x, rstd, sizes, weight)


# ---- attention that gives logarithms, or is of several sequences


def attended(q, k, v, hidden=None, scale=None):
    """Of [..., heads, n, size]: the result, and the logarithms of the sums of exponentials."""
    own = q.dtype if q.dtype == torch.float64 else torch.float32
    q, k, v = (t.to(own) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    return torch.softmax(scores, -1).nan_to_num(0) @ v, torch.logsumexp(scores, -1)


def behind(n, m, shift=0):
    """Whether key j is behind the own one of position i, i + shift."""
    return torch.arange(m) > torch.arange(n).unsqueeze(1) + shift


def with_logs(q, k, v, _mask=None, _p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    out, logs = attended(q, k, v, behind(q.shape[-2], k.shape[-2]) if is_causal else None, scale)
    return out.to(q.dtype), logs


def efficient(q, k, v, _bias, compute_logs, dropout_p=0.0, is_causal=False, *, scale=None):
    out, logs = with_logs(q, k, v, None, dropout_p, is_causal, scale=scale)
    return out, logs if compute_logs else logs[..., :0], torch.tensor(0), torch.tensor(0)


def attention_gradients(grad, q, k, v, out, logs, _mask=None, _p=0.0, is_causal=False):
    """Of the results that are given, which are rounded."""
    scale = q.shape[-1] ** -0.5
    scores = q.double() @ k.double().mT * scale
    if is_causal:
        scores = scores.masked_fill(behind(*scores.shape[-2:]), float("-inf"))
    p, grad = (scores - logs.double().unsqueeze(-1)).exp(), grad.double()
    slopes = p * (grad @ v.double().mT - (grad * out.double()).sum(-1, keepdim=True)) * scale
    return tuple(t.to(q.dtype) for t in (slopes @ k.double(), slopes.mT @ q.double(), p.mT @ grad))


def queries_keys_values(dtype, key_heads=3):
    for n, m, causal in ((4, 6, False), (5, 5, True)):
        yield (*(torch.randn(2, h, rows, 8, dtype=dtype) for h, rows in ((3, n), (key_heads, m), (key_heads, m))),
               causal)


def with_logs_samples(dtype):
    for q, k, v, causal in queries_keys_values(dtype):
        yield (q, k, v, None, 0.0, causal)
        yield (q.transpose(1, 2).contiguous().transpose(1, 2), k, v, None, 0.0, causal, {"scale": 0.5})
    for q, k, v, causal in queries_keys_values(dtype, 1):
        yield (q, k, v, None, 0.0, causal, {"enable_gqa": True})


def math_samples(dtype):
    for q, k, v, causal in queries_keys_values(dtype):
        yield (q, k, v, None, 0.0, causal)


def efficient_samples(dtype):
    for q, k, v, causal in queries_keys_values(dtype):
        yield (q, k, v, None, True, 0.0, causal)
        yield (q, k, v, None, False, 0.0, causal)


def attention_gradients_samples(dtype):
    for q, k, v, causal in queries_keys_values(dtype):
        out, logs = with_logs(q, k, v, None, 0.0, causal)
        yield (torch.randn_like(out), q, k, v, out, logs, None, 0.0, causal)


def of_sequences(q, k, v, cu_q, cu_k, causal=False, scale=None):
    """Of [rows, heads, size]."""
    out = q.new_zeros(*q.shape[:2], v.shape[-1])
    logs = torch.empty(q.shape[1], q.shape[0], dtype=torch.float64 if q.dtype == torch.float64 else torch.float32)
    for (a, b), (c, d) in zip(zip(cu_q.tolist(), cu_q[1:].tolist()), zip(cu_k.tolist(), cu_k[1:].tolist())):
        n, m = b - a, d - c
        made, found = attended(*(t.transpose(0, 1) for t in (q[a:b], k[c:d], v[c:d])),
                               behind(n, m, m - n) if causal else None, scale)
        out[a:b], logs[:, a:b] = made.transpose(0, 1).to(q.dtype), found
    return out, logs


def varlen(q, k, v, _most, cu_q, _most_keys, cu_k, *, causal, softmax_scale=None, return_softmax_lse=True):
    return of_sequences(q, k, v, cu_q, cu_k, causal, softmax_scale)


def varlen_samples(dtype):
    cu_q, cu_k = (torch.tensor(t, dtype=torch.int32) for t in ([0, 3, 4, 9], [0, 5, 6, 12]))
    for key_heads in (4, 2):
        q, k, v = (torch.randn(rows, h, 8, dtype=dtype) for rows, h in ((9, 4), (12, key_heads), (12, key_heads)))
        for causal in (False, True):
            yield (q, k, v, 5, cu_q, 6, cu_k, {"causal": causal, "return_softmax_lse": True})
    yield (q, k, v, 5, cu_q, 6, cu_k, {"causal": True, "softmax_scale": 0.5, "return_softmax_lse": True})


def flash_forward(q, k, v, cu_q, cu_k, _most, _most_keys, _p, is_causal, _mask, *, scale=None):
    if cu_q is None:
        n, m = q.shape[1], k.shape[1]
        out, logs = attended(*(t.transpose(1, 2) for t in (q, k, v)), behind(n, m, m - n) if is_causal else None, scale)
        out = out.transpose(1, 2).to(q.dtype)
    else:
        out, logs = of_sequences(q, k, v, cu_q, cu_k, is_causal, scale)
    return out, logs, torch.zeros(2, dtype=torch.int64), torch.empty(0, dtype=torch.int64), q.new_empty(0)


def flash_forward_samples(dtype):
    for q, k, v, causal in queries_keys_values(dtype):
        yield (*(t.transpose(1, 2) for t in (q, k, v)), None, None, 6, 6, 0.0, causal, False)
    for q, k, v, most, cu_q, most_keys, cu_k, named in varlen_samples(dtype):
        yield (q, k, v, cu_q, cu_k, most, most_keys, 0.0, named["causal"], False)


def rms_norm_forward(x, sizes, weight=None, eps=1e-5):
    kept = x if x.dtype == torch.float64 else x.float()
    inverse = torch.rsqrt(kept.square().mean(-1, keepdim=True) + eps)
    return (kept * inverse * (1 if weight is None else weight)).to(x.dtype), inverse


def rms_norm_forward_samples(dtype):
    for x in shapes(dtype):
        yield (x, list(x.shape[-1:]))
        yield (x, list(x.shape[-1:]), torch.randn(x.shape[-1:], dtype=dtype), 1e-3)


class Row(typing.NamedTuple):
    reference: typing.Callable | None  # None: ATen
    samples: typing.Callable  # of a dtype: positional arguments, and a dict of the others at the end
    dtypes: tuple = FLOATS


swiglu, dswiglu = by_halves(functional.silu)
geglu, dgeglu = by_halves(lambda a: gelu(a, "tanh"))
reglu, dreglu = by_halves(functional.relu)
WHOLE = (*INTEGERS, torch.bool)

ROWS = {
    "flaggems::silu_and_mul": Row(silu_and_mul, gated_samples),
    "flaggems::silu_and_mul_with_clamp": Row(clamped_silu, lambda dtype: gated_samples(dtype, (1.5,))),
    "flaggems::gelu_and_mul": Row(gelu_and_mul, gelu_and_mul_samples),
    "flaggems::gelu_none": Row(lambda x: gelu(x, "none"), one_operand),
    "flaggems::gelu_none_": Row(lambda x: gelu(x, "none"), one_operand),
    "flaggems::gelu_tanh": Row(lambda x: gelu(x, "tanh"), one_operand),
    "flaggems::gelu_tanh_": Row(lambda x: gelu(x, "tanh"), one_operand),
    "flaggems::squared_relu": Row(lambda x: x.relu().square(), one_operand),
    "flaggems::squared_relu_": Row(lambda x: x.relu().square(), one_operand),
    "flaggems::swiglu": Row(swiglu, squares),
    "flaggems::geglu": Row(geglu, squares),
    "flaggems::reglu": Row(reglu, squares),
    "flaggems::dswiglu": Row(dswiglu, gated_gradients),
    "flaggems::dgeglu": Row(dgeglu, gated_gradients),
    "flaggems::dreglu": Row(dreglu, gated_gradients),
    "flaggems::dropout_backward": Row(lambda grad, mask, scale: grad * mask * scale, masked_scale_samples),
    "flaggems::fused_add_rms_norm": Row(fused_add_rms_norm, fused_add_rms_norm_samples),
    "flaggems::skip_layer_norm": Row(skip_layer_norm, skip_layer_norm_samples),
    "flaggems::gemma_rms_norm": Row(gemma_rms_norm, gemma_rms_norm_samples),
    "flaggems::apply_rotary_pos_emb": Row(rotary, rotary_samples),
    "flaggems::apply_rotary_pos_emb_": Row(rotary, rotary_samples),
    "flaggems::act_quant": Row(act_quant, act_quant_samples, (torch.float32, torch.bfloat16, torch.float16)),
    "flaggems::fp8_matmul": Row(fp8_matmul, fp8_matmul_samples, (torch.float8_e4m3fn,)),
    "flaggems::fp8_matmul_direct": Row(fp8_matmul, fp8_matmul_samples, (torch.float8_e4m3fn,)),
    "flaggems::rms_norm_forward": Row(rms_norm_forward, rms_norm_forward_samples),
    "flaggems::fused_rms_norm_forward": Row(rms_norm_forward, rms_norm_forward_samples),
    "flaggems::scaled_dot_product_attention_forward": Row(with_logs, with_logs_samples),
    "flaggems::scaled_dot_product_attention_backward": Row(attention_gradients, attention_gradients_samples),
    "flaggems::flash_attn_varlen_func": Row(varlen, varlen_samples),
    "flaggems::flash_attn_varlen_opt_func": Row(varlen, varlen_samples),
    "_flash_attention_forward": Row(flash_forward, flash_forward_samples),
    "_scaled_dot_product_efficient_attention": Row(efficient, efficient_samples),
    "_scaled_dot_product_attention_math": Row(None, math_samples),
    "flaggems::rwkv_ka_fusion": Row(rwkv_keys, rwkv_keys_samples),
    "flaggems::rwkv_mm_sparsity": Row(lambda k, v: (k.unsqueeze(1) * v).sum(0), rwkv_sparse_samples),
    "flaggems::reshape_and_cache": Row(cached, cache_samples((3, 2, 2, 4, 4), (3, 2, 8, 4))),
    "flaggems::reshape_and_cache_flash": Row(cached_flash, cache_samples((3, 4, 2, 8), (3, 4, 2, 8))),
    "flaggems::concat_and_cache_mla": Row(cached_latent, cached_latent_samples),
    "flaggems::topk_softmax": Row(topk_softmax, topk_softmax_samples, (torch.float32, torch.bfloat16, torch.float16)),
    "flaggems::moe_sum": Row(lambda x, _out: x.float().sum(1).to(x.dtype), moe_sum_samples,
                             (torch.float32, torch.bfloat16, torch.float16)),
    "flaggems::nll_loss_nd_backward": Row(nll_gradient, nll_gradient_samples, (torch.float32, torch.float64)),
    "flaggems::normed_cumsum": Row(normed_cumsum, positive_operand),
    "flaggems::rms_norm_backward": Row(rms_norm_gradients, rms_norm_gradients_samples),
    "_int_mm": Row(lambda a, b: a.int() @ b.int(), int_mm_samples, (torch.int8, torch.uint8)),
    "_scaled_mm": Row(scaled_mm, scaled_mm_samples, (torch.float32, torch.bfloat16, torch.float16)),
    "_add_relu.Tensor": Row(lambda x, y: (x + y).relu(), two_operands),
    "_masked_scale": Row(lambda x, mask, scale: x * mask * scale, masked_scale_samples),
    "_fused_rms_norm_backward": Row(rms_norm_backward, rms_norm_backward_samples),
    "as_strided_scatter.out": Row(None, scattered_views),
    "clamp": Row(None, with_numbers((-1, 2), (0.5, None), (None, 1))),
    "clip": Row(None, with_numbers((-1, 2.5))),
    "contiguous": Row(None, in_formats),
    "embedding_backward": Row(None, embedding_gradients),
    "fill_.Tensor": Row(None, filled),
    "float_power.Scalar": Row(None, numbers_before(2.5, 3)),
    "float_power.Tensor_Scalar": Row(None, with_numbers((2,), (1.5,))),
    "float_power_.Scalar": Row(None, with_numbers((2,)), (torch.float64,)),
    "float_power_.Tensor": Row(None, two_operands, (torch.float64,)),
    "floor_divide.Scalar": Row(None, with_numbers((2,), (-3,)), FLOATS + INTEGERS),
    "norm.Scalar": Row(None, with_numbers((2,), (1,), (0.5,))),
    "pow.Scalar": Row(None, numbers_before(2.5, 3)),
    "range": Row(None, ranges),
    "range.step": Row(None, ranges_with_steps),
    "remainder.Scalar_Tensor": Row(None, numbers_before(7, 2.5)),
    "select_copy.int": Row(None, with_numbers((0, 0), (-1, 0))),
    "slice_copy.Tensor": Row(None, with_numbers((0, 0, 2, 1), (-1, 1, None, 2))),
    "split_copy.Tensor": Row(None, with_numbers((2, 0), (3, -1))),
    "squeeze_copy.dims": Row(None, with_numbers(([0],), ([-1],))),
    "special_xlog1py.other_scalar": Row(None, with_numbers((0.5,), (2,))),
    "special_xlog1py.self_scalar": Row(None, numbers_before(1.5, 0)),
    "where.ScalarOther": Row(None, chosen_numbers),
    "xlogy.Scalar_Other": Row(None, with_numbers((0.5,), (2,))),
    "xlogy.Scalar_Self": Row(None, numbers_before(1.5, 0)),
    **{f"{name}_window": Row(None, windows()) for name in ("bartlett", "blackman", "hamming", "hann")},
    "hamming_window.periodic_alpha": Row(None, windows((True, 0.6), (False, 0.5))),
    "hamming_window.periodic_alpha_beta": Row(None, windows((True, 0.6, 0.3),)),
    **{f"{name}_window.periodic": Row(None, windows((True,), (False,)))
       for name in ("bartlett", "blackman", "hamming", "hann")},
    **{f"__{name}__.{form}": Row(None, samples, WHOLE) for name in ("and", "or", "xor", "iand", "ior", "ixor")
       for form, samples in (("Tensor", two_operands), ("Scalar", with_numbers((1,), (True,))))},
    **{f"__{name}__.{form}": Row(None, samples, INTEGERS)
       for name in ("lshift", "rshift", "ilshift", "irshift")
       for form, samples in (("Tensor", lambda dtype: ((x, y.abs() % 5) for x, y in two_operands(dtype))),
                             ("Scalar", with_numbers((2,))))},
    **{f"bitwise_{name}.Scalar_Tensor": Row(None, numbers_before(1), WHOLE) for name in ("and", "or", "xor")},
    **{f"bitwise_{name}_shift.Scalar_Tensor": Row(
        None, lambda dtype: ((77, x.abs() % 5) for (x,) in one_operand(dtype)), INTEGERS)
       for name in ("left", "right")},
    **{f"bitwise_{name}_shift.Tensor_Scalar": Row(None, with_numbers((2,)), INTEGERS) for name in ("left", "right")},
    **{key: Row(*row) for key, row in (fused_rows.ROWS | gradient_rows.ROWS | quant_rows.ROWS | recurrent_rows.ROWS | serving_rows.ROWS).items()},
}


OF_ATEN = {key for key, row in ROWS.items() if row.reference is None}


def calls(key, text, dtype, overload):
    """(reference, arguments, those with names) of each sample of an operator with this schema; `overload`: ATen's."""
    row = ROWS[key]
    reference = overload if row.reference is None else Reference(text, row.reference)
    torch.manual_seed(0)
    for args in row.samples(dtype):
        named = args[-1] if isinstance(args[-1], dict) else {}
        yield reference, args[:-1] if named else args, named
