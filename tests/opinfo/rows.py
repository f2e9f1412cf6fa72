# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Operators and overloads that no OpInfo's sample calls, or whose ATen operator has no kernel for the CPU: samples,
and a reference where ATen is none."""
import torch
from torch.nn import functional

EPS = 1e-6


class Reference:
    """In the place of ATen's overload: a schema, and a function that gives what an operator has to."""

    def __init__(self, schema, function):
        self._schema = torch._C.parse_schema(schema) if isinstance(schema, str) else schema
        self.function = function

    def __call__(self, /, *args, **kwargs):
        return self.function(*args, **kwargs)


def shapes(dtype):
    for sizes in ([4, 8], [3, 5, 7], [1], [2, 0, 3], [2, 300]):
        yield torch.testing.make_tensor(sizes, dtype=dtype, device="cpu", low=-4, high=4)


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


def powers_of_numbers(dtype):
    for (x,) in one_operand(dtype):
        yield (2.5, x)
        yield (3, x)


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


# Key: reference (None: ATen), samples of a dtype.
ROWS = {
    "flaggems::silu_and_mul": (silu_and_mul, gated_samples),
    "flaggems::gelu_and_mul": (gelu_and_mul, gelu_and_mul_samples),
    "flaggems::gelu_none": (lambda x: gelu(x, "none"), one_operand),
    "flaggems::gelu_none_": (lambda x: gelu(x, "none"), one_operand),
    "flaggems::gelu_tanh": (lambda x: gelu(x, "tanh"), one_operand),
    "flaggems::gelu_tanh_": (lambda x: gelu(x, "tanh"), one_operand),
    "flaggems::fused_add_rms_norm": (fused_add_rms_norm, fused_add_rms_norm_samples),
    "flaggems::apply_rotary_pos_emb": (rotary, rotary_samples),
    "flaggems::apply_rotary_pos_emb_": (rotary, rotary_samples),
    "clamp": (None, with_numbers((-1, 2), (0.5, None), (None, 1))),
    "clip": (None, with_numbers((-1, 2.5))),
    "pow.Scalar": (None, powers_of_numbers),
    "where.ScalarOther": (None, chosen_numbers),
    "fill_.Tensor": (None, filled),
    "contiguous": (None, in_formats),
    "_fused_rms_norm_backward": (rms_norm_backward, rms_norm_backward_samples),
}


OF_ATEN = {key for key, (reference, _) in ROWS.items() if reference is None}


def calls(key, text, dtype, overload):
    """(reference, arguments) of each sample of an operator with this schema; `overload`: ATen's."""
    function, samples = ROWS[key]
    reference = overload if function is None else Reference(text, function)
    torch.manual_seed(0)
    return [(reference, args) for args in samples(dtype)]
