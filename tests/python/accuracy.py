#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The operators before ATen's, by the shapes, dtypes and tolerances of FlagGems' accuracy tests, against float64 on the CPU.

    tests/python/accuracy.py [--device cuda] [--quick] [--only REGEX] [--dtypes float32 ...] [--part K/N]

Prints a line for each operator that fails, and how many passed. Exit status 1: a result is beyond the tolerance or of
another dtype, or an operator of ours did not run; 77: PyTorch is not installed.
"""
import argparse
import collections
import math
import re
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

import flaggems

FLOATS = (torch.float16, torch.float32, torch.bfloat16)
INTS = (torch.int32, torch.int64)
RTOL = {torch.float16: 1e-3, torch.bfloat16: 0.016, torch.float32: 1.3e-6}
POINTWISE = ((), (1,), (1024, 1024), (20, 320, 15), (16, 128, 64, 60), (16, 7, 57, 32, 29))
REDUCED = ((1, 2), (4096, 256), (200, 2560, 3))
PRODUCTS = ((1, 1, 32), (15, 160, 1024), (495, 5333, 71))  # M, N, K
QUICK = ((2, 19, 7),)

Case = collections.namedtuple("Case", "name call shapes dtypes exact scale own")
CASES = []


def case(name, call, shapes=POINTWISE, dtypes=FLOATS, exact=False, scale=lambda shape: 1, own=None):
    """call(random, shape, dtype) gives a function and its arguments; `scale` multiplies the absolute tolerance. `own` is our
    function of the same arguments, where ours do not stand before ATen's."""
    CASES.append(Case(name, call, shapes, dtypes, exact, scale, own))


class Random:
    """Arguments on a device."""

    def __init__(self, device):
        self.device, self.generator = device, torch.Generator().manual_seed(0)

    def normal(self, shape, dtype):
        if not dtype.is_floating_point:
            return self.integers(shape, -100, 100).to(dtype)
        return torch.randn(shape, generator=self.generator).to(dtype).to(self.device)

    def uniform(self, shape, dtype, low=0.0, high=1.0):
        return (torch.rand(shape, generator=self.generator) * (high - low) + low).to(dtype).to(self.device)

    def integers(self, shape, low, high):
        return torch.randint(low, high, shape, generator=self.generator).to(self.device)

    def bools(self, shape):
        return self.integers(shape, 0, 2).bool()


# ---- formulas


def unary(name, f, low=None, high=None, **more):
    def call(random, shape, dtype):
        x = random.normal(shape, dtype) if low is None else random.uniform(shape, dtype, low, high)
        return f, (x,)
    case(name, call, **more)


def binary(name, f, positive=False, **more):
    def call(random, shape, dtype):
        x, y = random.normal(shape, dtype), random.normal(shape, dtype)
        if positive:
            x, y = x.abs() + 1, y.abs() + 1
        return f, (x, y)
    case(name, call, **more)


for same in ("abs", "ceil", "floor", "neg", "relu", "round", "sign", "trunc", "isnan", "isinf", "isfinite", "logical_not"):
    unary(same, getattr(torch, same), exact=True)
for near in ("cos", "sin", "tan", "erf", "exp", "exp2", "expm1", "sigmoid", "tanh", "square", "sinh", "cosh", "atan", "asinh"):
    unary(near, getattr(torch, near))
for above in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"):
    unary(above, getattr(torch, above), 0.1, 3.0)
for within in ("acos", "asin", "atanh", "erfinv", "logit"):
    unary(within, getattr(torch, within), 0.05, 0.95)
unary("acosh", torch.acosh, 1.1, 4.0)
for activation in ("silu", "gelu", "celu", "elu", "selu", "hardsigmoid", "hardswish", "mish", "softplus", "leaky_relu", "hardtanh",
                   "relu6", "logsigmoid", "softshrink", "hardshrink"):
    unary(activation, getattr(F, activation))
unary("gelu tanh", lambda x: F.gelu(x, approximate="tanh"))
unary("nan_to_num", lambda x: torch.nan_to_num(x / x.trunc(), 1.0, 2.0, 3.0), exact=False)
unary("pow scalar", lambda x: torch.pow(x, 3))
unary("scalar pow", lambda x: torch.pow(2.0, x))
unary("clamp", lambda x: torch.clamp(x, -0.5, 0.7), exact=True)
unary("threshold", lambda x: F.threshold(x, 0.3, 7.0), exact=True)
unary("bitwise_not", torch.bitwise_not, dtypes=INTS, exact=True)
for compare in ("eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum", "logical_and", "logical_or", "logical_xor"):
    binary(compare, getattr(torch, compare), exact=True)
for bits in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    binary(bits, getattr(torch, bits), dtypes=INTS, exact=True)
binary("add", lambda x, y: torch.add(x, y, alpha=2), dtypes=FLOATS + INTS)
binary("sub", lambda x, y: torch.sub(x, y, alpha=2), dtypes=FLOATS + INTS)
binary("mul", torch.mul, dtypes=FLOATS + INTS)
binary("div", torch.div, positive=True)
binary("div floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), positive=True, dtypes=INTS, exact=True)
binary("div trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), positive=True, dtypes=INTS, exact=True)
binary("remainder", torch.remainder, positive=True, dtypes=INTS, exact=True)
binary("floor_divide", torch.floor_divide, positive=True, dtypes=INTS, exact=True)
binary("pow", torch.pow, positive=True, dtypes=(torch.float32,), scale=lambda s: 10)
binary("atan2", torch.atan2)
binary("hypot", torch.hypot)
binary("lerp", lambda x, y: torch.lerp(x, y, 0.3))
binary("where", lambda x, y: torch.where(x > 0, x, y), exact=True)
binary("masked_fill", lambda x, y: x.masked_fill(y > 0, 0.5), exact=True)
binary("addcmul", lambda x, y: torch.addcmul(x, x, y, value=0.5))
binary("addcdiv", lambda x, y: torch.addcdiv(x, x, y, value=0.5), positive=True)
binary("mse_loss", F.mse_loss, shapes=REDUCED)
binary("mul by a number", lambda x, y: x * 2.5 - 1 + y / 3, dtypes=(torch.float32,))
binary("gelu and mul", lambda x, y: F.gelu(x) * y, dtypes=(torch.float32,))


# ---- reductions


def reduction(name, f, exact=False, dtypes=FLOATS, scale=lambda shape: max(shape)):
    for dim in (-1, 0):
        def call(random, shape, dtype, dim=dim):
            return lambda x: f(x, dim), (random.normal(shape, dtype),)
        case(f"{name} {dim}", call, REDUCED, dtypes, exact, scale)


one = {"scale": lambda shape: 1}
reduction("sum", lambda x, d: x.sum(d))
reduction("mean", lambda x, d: x.mean(d), **one)
reduction("amax", lambda x, d: x.amax(d), exact=True)
reduction("amin", lambda x, d: x.amin(d), exact=True)
reduction("argmax", lambda x, d: x.argmax(d), dtypes=(torch.float32,), exact=True)
reduction("max", lambda x, d: x.max(d).values, exact=True)
reduction("all", lambda x, d: (x > -2).all(d), exact=True)
reduction("any", lambda x, d: (x > 2).any(d), exact=True)
reduction("var_mean", lambda x, d: torch.var_mean(x, d)[0])
reduction("std", lambda x, d: x.std(d))
reduction("logsumexp", lambda x, d: x.logsumexp(d), **one)
reduction("norm", lambda x, d: torch.linalg.vector_norm(x, 2, d))
reduction("cumsum", lambda x, d: x.cumsum(d))
reduction("cummax", lambda x, d: x.cummax(d).values, exact=True)
reduction("count_nonzero", lambda x, d: x.trunc().count_nonzero(d), exact=True)
reduction("softmax", lambda x, d: x.softmax(d), **one)
reduction("log_softmax", lambda x, d: x.log_softmax(d), **one)
reduction("sort", lambda x, d: x.sort(stable=True, dim=d).values, exact=True)
reduction("topk", lambda x, d: x.topk(1, d).values, exact=True)
unary("sum of all", torch.sum, shapes=REDUCED, scale=math.prod)
unary("prod", lambda x: (1 + x / 1e4).prod(-1), shapes=((4096, 256),), dtypes=(torch.float32,), scale=lambda s: 256)


# ---- products, norms, attention


def product(name, f, parts):
    def call(random, shape, dtype):
        return f, tuple(random.normal(part, dtype) for part in parts(*shape))
    case(name, call, PRODUCTS, FLOATS, scale=lambda shape: shape[-1])


product("mm", torch.mm, lambda m, n, k: ((m, k), (k, n)))
product("mm of columns", lambda x, y: x @ y.t(), lambda m, n, k: ((m, k), (n, k)))
product("addmm", lambda b, x, y: torch.addmm(b, x, y, alpha=0.001, beta=-0.999), lambda m, n, k: ((n,), (m, k), (k, n)))
product("bmm", torch.bmm, lambda m, n, k: ((4, m, k), (4, k, n)))
product("baddbmm", lambda b, x, y: torch.baddbmm(b, x, y, beta=0.5), lambda m, n, k: ((4, m, n), (4, m, k), (4, k, n)))
product("mv", torch.mv, lambda m, n, k: ((n, k), (k,)))
product("linear", F.linear, lambda m, n, k: ((m, k), (n, k), (n,)))
product("outer", torch.outer, lambda m, n, k: ((m,), (n,)))
product("dot", torch.dot, lambda m, n, k: ((k,), (k,)))

NORMED = ((1, 40999), (100, 1024), (16, 64, 128))
for norm, f, own in (("layer_norm", lambda x, w, b: F.layer_norm(x, w.shape, w, b), None),
                     ("rms_norm", lambda x, w, b: F.rms_norm(x, w.shape, w, 1e-5),
                      lambda x, w, b: flaggems.ops.rms_norm(x, list(w.shape), w, 1e-5))):
    case(norm, lambda random, shape, dtype, f=f: (f, (random.normal(shape, dtype), random.normal(shape[-1:], dtype),
                                                      random.normal(shape[-1:], dtype))), NORMED, scale=lambda s: 10, own=own)
case("group_norm", lambda random, shape, dtype: (lambda x, w, b: F.group_norm(x, 4, w, b), (
    random.normal(shape, dtype), random.normal(shape[1:2], dtype), random.normal(shape[1:2], dtype))),
     ((16, 32, 32, 32), (4, 16, 10)), scale=lambda s: 10)
for causal in (False, True):
    case(f"scaled_dot_product_attention {causal}", lambda random, shape, dtype, causal=causal: (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
        [random.uniform(shape, dtype, -0.05, 0.05) for _ in range(3)]), ((2, 4, 128, 64), (1, 2, 77, 128)),
         (torch.float16, torch.bfloat16), scale=lambda s: 10, own=lambda q, k, v, causal=causal:
         flaggems.ops.scaled_dot_product_attention(q, k, v, is_causal=causal))


# ---- moves and indices


def moved(name, f, shapes=((20, 320, 15), (16, 7, 57, 32)), dtypes=FLOATS + INTS):
    unary(name, f, shapes=shapes, dtypes=dtypes, exact=True)


moved("cat", lambda x: torch.cat((x, x, x), 1))
moved("stack", lambda x: torch.stack((x, x), -1))
moved("flip", lambda x: x.flip(0, -1))
moved("roll", lambda x: x.roll((3, -2), (0, -1)))
moved("repeat", lambda x: x.repeat(*(2,) * x.dim()))
moved("tile", lambda x: x.tile(2, 3))
moved("repeat_interleave", lambda x: x.repeat_interleave(3, 1))
moved("pad", lambda x: F.pad(x, (1, 2, 3, 1), value=2))
moved("reflection_pad1d", lambda x: F.pad(x, (1, 2), "reflect"), shapes=((20, 320, 15),), dtypes=FLOATS)
moved("triu", lambda x: x.triu(1))
moved("tril", lambda x: x.tril(-1))
moved("diag_embed", lambda x: torch.diag_embed(x, 1), shapes=((20, 15),))
moved("contiguous", lambda x: x.transpose(0, 1).contiguous())
moved("select_scatter", lambda x: x.select_scatter(x[:, 0], 1, 2))
moved("slice_scatter", lambda x: x.slice_scatter(x[:, :2], 1, 2, 6, 2))
moved("nonzero", lambda x: (x > 1).nonzero())
moved("unfold", lambda x: F.unfold(x, 3), shapes=((4, 3, 16, 17),), dtypes=FLOATS)


def at_indices(name, f, exact=True, dtypes=FLOATS, **more):
    def call(random, shape, dtype):
        index = random.integers(shape, 0, shape[-1])
        row = random.integers((shape[0],), 0, shape[0])
        return f, (random.normal(shape, dtype), index, row)
    case(name, call, ((200, 40, 25), (64, 64)), dtypes, exact, **more)


at_indices("gather", lambda x, index, row: x.gather(-1, index))
at_indices("index_select", lambda x, index, row: x.index_select(0, row))
at_indices("index", lambda x, index, row: x[row])
at_indices("scatter_add", lambda x, index, row: x.scatter_add(-1, index, x), exact=False, scale=lambda s: 40, dtypes=(torch.float32,))
at_indices("index_add", lambda x, index, row: x.index_add(0, row, x), exact=False, scale=lambda s: 10, dtypes=(torch.float32,))
at_indices("index_put", lambda x, index, row: x.index_put((row,), x, True), exact=False, scale=lambda s: 10, dtypes=(torch.float32,))
at_indices("isin", lambda x, index, row: torch.isin(index, row), dtypes=(torch.float32,))
at_indices("embedding", lambda x, index, row: F.embedding(row, x.flatten(1)))
at_indices("masked_select", lambda x, index, row: x.masked_select(index > 5))


# ---- the run


def upcast(arguments):
    return [a.cpu().double() if a.is_floating_point() else a.cpu() for a in arguments]


def compared(one, got, expected, shape, stated):
    if got.dtype != stated:
        return f"expected {stated}, got {got.dtype}"
    got, expected = got.cpu(), expected.to(stated)
    if one.exact or not stated.is_floating_point:
        return "" if torch.equal(got, expected) else f"{int((got != expected).sum())} elements are not the same"
    if torch.allclose(got, expected, RTOL[stated], 1e-4 * one.scale(shape), equal_nan=True):
        return ""
    return f"off by {float((got.double() - expected.double()).abs().max()):.2e}"


def check(one, random, shape, dtype, log):
    f, arguments = one.call(random, shape, dtype)
    expected = f(*upcast(arguments))
    stated = f(*arguments).dtype
    log.clear()
    if one.own:
        return compared(one, one.own(*arguments), expected, shape, stated)
    with flaggems.use_gems(fallback=True, log=lambda name, _, why: log.append((name, why))):
        try:
            got = f(*arguments)
        except RuntimeError as error:
            return f"{error}, after {log[-3:]}"
    if not any(why is None for _, why in log):
        return f"no operator of ours ran: {log}"
    return compared(one, got, expected, shape, stated)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true", help="the least of the shapes of each")
    parser.add_argument("--only", default="", help="names with a match")
    parser.add_argument("--dtypes", nargs="+", help="torch's names of those that the package was built for; else all")
    parser.add_argument("--part", default="0/1", metavar="K/N", help="the K-th of N parts of the cases")
    options = parser.parse_args()
    part, parts = (int(x) for x in options.part.split("/"))
    chosen = [one for one in CASES if re.search(options.only, one.name)][part::parts]
    random, log = Random(options.device), []
    passed, failed, theirs = 0, 0, collections.Counter()
    for one in chosen:
        least = QUICK if one.shapes is POINTWISE else one.shapes[:1]
        for shape in least if options.quick else one.shapes:
            for dtype in one.dtypes:
                if options.dtypes and str(dtype).removeprefix("torch.") not in options.dtypes:
                    continue
                problem = check(one, random, shape, dtype, log)
                passed += not problem
                failed += bool(problem)
                theirs.update(name for name, why in log if why is not None)
                if problem:
                    print(f"{one.name} {tuple(shape)} {dtype}: {problem}", flush=True)
    for name, count in theirs.most_common():
        print(f"left to ATen: {name}, {count}")
    print(f"{passed} passed, {failed} failed, {len(chosen)} operators on {options.device}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
