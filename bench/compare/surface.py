#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the operators on the host with PyTorch's forms that write into given memory, in one process and run.

    bench/compare/surface.py                           f32 and bf16, 64 KiB, 1 MiB and 64 MiB, two threads
    bench/compare/surface.py --dtype f32 --match tan   one type; operators with these words in their names
    bench/compare/surface.py --base BEFORE.so          beside the operators of another build, not PyTorch
    bench/compare/surface.py --output bench/results/surface-NAME.txt

Our side is bench/gpu/operators/{tables,functions,surface,layers,...}.cpp compiled for the host. Both sides run in turn on the same
tensors, called through one function each from Python; the median of the rounds counts, by the wall clock or, with one
thread, by the processor's time. Every result is compared first. Sizes are those of the largest operand; the ratio
is PyTorch's time over ours.
"""
import argparse
import ctypes
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCES = ("bridge", "functions", "tables", "surface", "layers", "moves", "rows", "reduce", "sort")
aten = torch.ops.aten
F32, BF16, I64, I32, BOOL, C64 = (torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.bool, torch.complex64)
NUMBERS = {F32: 0, BF16: 1, I64: 2, BOOL: 3, I32: 6, C64: 9}  # of dtypes, as operators/bridge.hpp has them
KIB, MIB = 2**10, 2**20


class Operand(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int64), ("rank", ctypes.c_int64),
                ("sizes", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8)]


class Library:
    def __init__(self, path):
        library = ctypes.CDLL(str(path))
        self.find, self.call = library.flaggems_bench_find, library.flaggems_bench_call
        self.find.restype, self.find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        self.call.restype = ctypes.c_char_p

    def bind(self, name, tensors, numbers):
        operation = self.find(name.encode())
        if not operation:
            return None
        operands = (Operand * len(tensors))()
        for o, t in zip(operands, tensors):
            o.data, o.dtype, o.rank = t.data_ptr(), NUMBERS[t.dtype], t.dim()
            o.sizes[:t.dim()], o.strides[:t.dim()] = t.shape, t.stride()
        arguments = (ctypes.c_void_p(operation), operands, ctypes.c_int(len(tensors)),
                     (ctypes.c_double * max(1, len(numbers)))(*numbers), ctypes.c_int(len(numbers)), ctypes.c_void_p())
        call = self.call

        def run():
            error = call(*arguments)
            if error:
                raise RuntimeError(error.decode())
        run.kept = tensors
        return run


# ---- cases: (family, operator, shape, tensors with results last, numbers, PyTorch's call of the tensors)

def random(*sizes, dtype=F32):
    return torch.randn(sizes).to(dtype)


def uniform(*sizes, dtype=F32, low=0.0, high=1.0):
    return (torch.rand(sizes) * (high - low) + low).to(dtype)


TABLES = {
    "pointwise": ("neg abs square relu exp exp2 expm1 log log1p log2 sqrt rsqrt reciprocal sin cos tanh erf sigmoid silu "
                  "gelu gelu_tanh logical_not", "add sub mul div pow maximum minimum eq ne lt le gt ge logical_and "
                  "logical_or logical_xor", "clamp"),
    "rounding": ("ceil floor round trunc frac sign signbit", "copysign", ""),
    "arithmetic": ("conj_physical deg2rad rad2deg nan_to_num", "fmod remainder fmax fmin heaviside gcd lcm hypot "
                   "floor_divide", "lerp"),
    "comparison": ("isnan isinf isfinite isposinf isneginf", "", ""),
    "bitwise": ("bitwise_not", "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift", ""),
    "trigonometric": ("tan asin acos atan sinh cosh asinh acosh atanh sinc angle", "atan2", ""),
    "special": ("log10 erfc erfinv", "logaddexp logaddexp2 xlogy xlog1py", ""),
    "activation": ("selu relu6 mish hardswish hardsigmoid log_sigmoid leaky_relu celu hardshrink softshrink softplus "
                   "threshold hardtanh elu", "", ""),
    "backward": ("", "sigmoid_backward tanh_backward silu_backward gelu_backward mish_backward threshold_backward "
                 "softplus_backward", ""),
}
RANGES = {"acosh": (1.1, 9), **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), (-0.9, 0.9)),
          **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "pow", "xlogy", "xlog1py", "fmod",
                           "remainder", "floor_divide", "div"), (0.5, 4))}
WHOLE = {"gcd", "lcm", *TABLES["bitwise"][0].split(), *TABLES["bitwise"][1].split()}
BOOLEAN = {"logical_not", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "signbit",
           *TABLES["comparison"][0].split()}


def given(f, *numbers, **named):
    return lambda t: f(*t[:-1], *numbers, out=t[-1], **named)


def returning(f):
    return lambda t: f(*t[:-1])


# What is no torch.NAME(..., out=): options as operators/tables.hpp gives them.
CALLS = {
    "silu": given(aten.silu.out), "gelu": given(aten.gelu.out), "gelu_tanh": given(aten.gelu.out, approximate="tanh"),
    "relu": given(aten.relu.out), "isinf": given(aten.isinf.out), "isfinite": lambda t: torch.isfinite(t[0]),
    "isnan": given(aten.isnan.out), "selu": returning(torch.selu), "relu6": returning(F.relu6),
    "mish": given(aten.mish.out), "hardswish": given(aten.hardswish.out), "hardsigmoid": given(aten.hardsigmoid.out),
    "log_sigmoid": given(aten.log_sigmoid.out), "leaky_relu": given(aten.leaky_relu.out, 0.75),
    "celu": lambda t: torch.celu(t[0], 0.75), "hardshrink": given(aten.hardshrink.out, 0.75),
    "softshrink": given(aten.softshrink.out, 0.75), "softplus": given(aten.softplus.out, 0.75, 1.25),
    "threshold": given(aten.threshold.out, 0.75, 1.25), "hardtanh": given(aten.hardtanh.out, 0.75, 1.25),
    "elu": given(aten.elu.out, 0.75, 1.25, 0.5), "clamp": lambda t: torch.clamp(t[0], t[1], t[2], out=t[3]),
    "xlog1py": given(torch.special.xlog1py), "mish_backward": returning(aten.mish_backward),
    **{f"{op}_backward": lambda t, f=getattr(aten, f"{op}_backward").grad_input, n=n: f(t[0], t[1], *n, grad_input=t[2])
       for op, n in (("sigmoid", ()), ("tanh", ()), ("silu", ()), ("gelu", ()), ("threshold", (0.75,)),
                     ("softplus", (0.75, 1.25)))},
}


def tables(size, dtype):
    for family, lists in TABLES.items():
        for inputs, names in enumerate(lists, 1):
            for op in names.split():
                kind = I32 if op in WHOLE else dtype
                if op in WHOLE and dtype != F32:
                    continue
                n = size // kind.itemsize
                if kind == I32:
                    operands = [torch.randint(1, 30, (n,), dtype=I32) for _ in range(inputs)]
                elif op in RANGES:
                    low, high = RANGES[op]
                    operands = [uniform(n, dtype=dtype, low=low, high=high) for _ in range(inputs)]
                else:
                    operands = [random(n, dtype=dtype) for _ in range(inputs)]
                if op == "clamp":
                    operands[1:] = [operands[1].abs().neg(), operands[2].abs()]
                result = torch.empty(n, dtype=BOOL if op in BOOLEAN else kind)
                yield family, op, "", [*operands, result], (), CALLS.get(op) or given(getattr(torch, op))


def others(size, dtype):
    item = dtype.itemsize
    n = size // item
    rows = 1 << (int(math.log2(n)) // 2)
    columns = n // rows

    def floats(*sizes):
        return random(*sizes, dtype=dtype)

    def result(*sizes, d=dtype):
        return torch.empty(sizes, dtype=d)

    x, y = floats(rows, columns), floats(rows, columns)
    line, target = x.view(-1), uniform(n, dtype=dtype)
    shape = f"{rows}x{columns}"
    for f in (F.mse_loss, F.smooth_l1_loss, F.binary_cross_entropy_with_logits):
        yield "loss", f.__name__, "", [line, target, result()], (), returning(f)
    yield "move", "flip", shape, [x, result(rows, columns)], (), lambda t: torch.flip(t[0], (-1,))
    yield "move", "roll", shape, [x, result(rows, columns)], (), lambda t: torch.roll(t[0], 3, -1)
    yield "move", "triu", shape, [x, result(rows, columns)], (), given(torch.triu)
    yield ("move", "repeat", "2x3", [floats(rows // 2, columns // 2), result(rows, columns // 2 * 3)], (),
           lambda t: t[0].repeat(2, 3))
    c = n // (8 * 8 * 16)
    yield ("move", "pixel_shuffle", "2", [floats(c // 4, 16, 16, 16), result(c // 4, 4, 32, 32)], (),
           lambda t: F.pixel_shuffle(t[0], 2))
    for op, f in (("constant_pad_nd", lambda t: F.pad(t[0], (1, 2, 3, 4))),
                  ("reflection_pad2d", given(aten.reflection_pad2d.out, (1, 2, 3, 4)))):
        yield "move", op, "32x32", [floats(1, n // 1024, 32, 32), result(1, n // 1024, 39, 35)], (), f
    yield ("move", "stack", "dim -1", [floats(n // 2), floats(n // 2), result(n // 2, 2)], (),
           lambda t: torch.stack(t[:2], -1, out=t[2]))
    yield "move", "outer", shape, [floats(rows), floats(columns), result(rows, columns)], (), given(torch.outer)
    yield "move", "glu", shape, [x, result(rows, columns // 2)], (), given(aten.glu.out)
    mask = torch.randint(2, (n,)).bool()
    yield ("move", "masked_fill", "", [line, mask, result(n)], (),
           lambda t: aten.masked_fill.Scalar_out(t[0], t[1], 0.5, out=t[2]))
    small = uniform(rows, columns, dtype=dtype)
    for dim in (1, 0):
        for op, f, data in (("cumsum", torch.cumsum, small), ("logcumsumexp", torch.logcumsumexp, x)):
            yield ("scan", op, f"{shape}, dim {dim}", [data, result(rows, columns)], (dim,),
                   lambda t, f=f, d=dim: f(t[0], d, out=t[1]))
        yield ("scan", "cummax", f"{shape}, dim {dim}", [x, result(rows, columns), result(rows, columns, d=I64)], (dim,),
               lambda t, d=dim: torch.cummax(t[0], d, out=(t[1], t[2])))
    for dim in (1, 0):
        index = torch.randint(x.size(dim), (rows, columns))
        once = torch.rand(rows, columns).argsort(dim)
        yield ("index", "gather", f"{shape}, dim {dim}", [x, index, result(rows, columns)], (dim,),
               lambda t, d=dim: torch.gather(t[0], d, t[1], out=t[2]))
        yield ("index", "scatter_", f"{shape}, dim {dim}", [x, once, result(rows, columns)], (dim,),
               lambda t, d=dim: t[2].scatter_(d, t[1], t[0]))
        yield ("index", "scatter_add_", f"{shape}, dim {dim}", [x, index, torch.zeros(rows, columns, dtype=dtype)],
               (dim,), lambda t, d=dim: t[2].scatter_add_(d, t[1], t[0]))
    width = 256
    count, length = max(1, n // width // 2), n // width
    places, distinct = torch.randint(length, (count,)), torch.randperm(length)[:count]
    table, taken = floats(length, width), floats(count, width)
    yield ("index", "index", f"{count} of {length}x{width}", [table, places, result(count, width)], (),
           lambda t: aten.index.Tensor_out(t[0], [t[1]], out=t[2]))
    yield ("index", "index_add_", f"{count} of {length}x{width}", [taken, places, table.clone()], (0,),
           lambda t: t[2].index_add_(0, t[1], t[0]))
    yield ("index", "index_copy_", f"{count} of {length}x{width}", [taken, distinct, table.clone()], (0,),
           lambda t: t[2].index_copy_(0, t[1], t[0]))
    yield ("index", "index_put_", f"{count} of {length}x{width}", [taken, places, table.clone()], (0,),
           lambda t: t[2].index_put_((t[1],), t[0]))
    yield ("index", "index_put_ added", f"{count} of {length}x{width}", [taken, places, table.clone()], (1,),
           lambda t: t[2].index_put_((t[1],), t[0], True))
    yield ("index", "embedding_dense_backward", f"{count} of {length}x{width}", [taken, places, result(length, width)], (),
           lambda t, k=length: aten.embedding_dense_backward(t[0], t[1], k, -1, False))
    for dim in (1, 0):
        left = columns if dim == 0 else rows
        label = f"{shape}, dim {dim}"
        yield ("statistics", "max", label, [x, result(left), result(left, d=I64)], (dim,),
               lambda t, d=dim: torch.max(t[0], d, out=(t[1], t[2])))
        yield ("statistics", "var", label, [x, result(left)], (dim,), lambda t, d=dim: torch.var(t[0], d, out=t[1]))
        yield ("statistics", "logsumexp", label, [x, result(left)], (dim,),
               lambda t, d=dim: torch.logsumexp(t[0], d, out=t[1]))
        yield ("statistics", "norm", label, [x, result(left)], (dim,),
               lambda t, d=dim: torch.linalg.vector_norm(t[0], 2, d, out=t[1]))
        yield ("statistics", "count_nonzero", label, [x, result(left, d=I64)], (dim,),
               lambda t, d=dim: torch.count_nonzero(t[0], d))
    channels, places = 64, max(16, n // 64 // 4)
    for stride in (1, 2):
        shape = f"1x{channels}x{places}, {channels} filters of 3, stride {stride}"
        yield ("convolution", "conv1d", shape,
               [floats(1, channels, places), floats(channels, channels, 3), floats(channels),
                result(1, channels, (places - 1) // stride + 1)], (stride, 1),
               lambda t, s=stride: torch.conv1d(t[0], t[1], t[2], s, 1, 1, 1))


def layers(size, dtype):
    """Layers of models: images of 64 channels, rows of 1024, sequences of 32 steps."""
    n = size // dtype.itemsize
    side = max(8, 1 << (int(math.log2(n // 64)) // 2))
    images = max(1, n // 64 // side // side)

    def floats(*sizes):
        return random(*sizes, dtype=dtype)

    def result(*sizes, d=dtype):
        return torch.empty(sizes, dtype=d)

    x, shape = floats(images, 64, side, side), f"{images}x64x{side}x{side}"
    for stride in (1, 2):
        to = (side - 1) // stride + 1
        yield ("convolution", "conv2d", f"{shape}, 64 of 3x3, stride {stride}",
               [x, floats(64, 64, 3, 3) / 24, floats(64), result(images, 64, to, to)], (stride, 1),
               lambda t, s=stride: torch.conv2d(t[0], t[1], t[2], s, 1))
    yield ("convolution", "conv2d", f"{shape}, 64 of 1x1",
           [x, floats(64, 64, 1, 1) / 8, floats(64), result(images, 64, side, side)], (1, 0),
           lambda t: torch.conv2d(t[0], t[1], t[2]))
    half = side // 2
    yield ("window", "avg_pool2d", f"{shape}, 2", [x, result(images, 64, half, half)], (2, 2),
           lambda t: aten.avg_pool2d.out(t[0], [2, 2], [2, 2], out=t[1]))
    yield ("window", "max_pool2d", f"{shape}, 3", [x, result(images, 64, half - 1, half - 1),
                                                  result(images, 64, half - 1, half - 1, d=I64)], (3, 2),
           lambda t: aten.max_pool2d_with_indices.out(t[0], [3, 3], [2, 2], out=t[1], indices=t[2]))
    small = floats(images, 64, half, half)
    yield ("window", "upsample_bilinear2d", f"to {shape}", [small, result(images, 64, side, side)], (),
           lambda t, s=side: aten.upsample_bilinear2d.out(t[0], [s, s], False, out=t[1]))
    for training in (0, 1):
        yield ("norm", "native_batch_norm", f"{shape}, {'training' if training else 'inference'}",
               [x, random(64), random(64), torch.zeros(64), torch.ones(64), result(64, d=F32), result(64, d=F32),
                result(images, 64, side, side)], (training,),
               lambda t, b=bool(training): torch.native_batch_norm(*t[:5], b, 0.1, 1e-5)[0])
    rows = n // 1024
    lines, shape = floats(rows, 1024), f"{rows}x1024"
    for op, f in (("softmax", lambda t: torch.softmax(t[0], -1, out=t[1])),
                  ("log_softmax", lambda t: torch.log_softmax(t[0], -1, out=t[1]))):
        yield "norm", op, shape, [lines, result(rows, 1024)], (), f
    yield ("norm", "layer_norm", shape, [lines, floats(1024), floats(1024), result(rows, 1024)], (),
           lambda t: F.layer_norm(t[0], (1024,), t[1], t[2]))
    for dim in (1, 0):
        for op in ("sum", "mean", "amax"):
            yield ("statistics", op, f"{shape}, dim {dim}", [lines, result(rows if dim else 1024)], (dim,),
                   lambda t, f=getattr(torch, op), d=dim: f(t[0], d, out=t[1]))
    yield ("order", "sort", shape, [lines, result(rows, 1024), result(rows, 1024, d=I64)], (),
           lambda t: torch.sort(t[0], -1, out=(t[1], t[2])))
    yield ("order", "topk", f"{shape}, 16", [lines, result(rows, 16), result(rows, 16, d=I64)], (16,),
           lambda t: torch.topk(t[0], 16, -1, out=(t[1], t[2])))
    table, tokens = floats(max(2, n // 256 // 2), 256), torch.randint(max(2, n // 256 // 2), (n // 256,))
    yield ("index", "embedding", f"{n // 256} of {table.size(0)}x256", [table, tokens, result(n // 256, 256)], (),
           lambda t: F.embedding(t[1], t[0]))
    steps, width = 32, 128
    batch = max(1, n // steps // width)
    yield ("recurrent", "lstm", f"{steps}x{batch}x{width}",
           [floats(steps, batch, width), torch.zeros(1, batch, width, dtype=dtype),
            torch.zeros(1, batch, width, dtype=dtype), floats(4 * width, width) / 11, floats(4 * width, width) / 11,
            result(steps, batch, width)], (),
           lambda t: torch.lstm(t[0], (t[1], t[2]), (t[3], t[4]), False, 1, 0.0, False, False, False)[0])
    q = max(16, n // 512)
    q = min(q, 2048)
    yield ("products", "einsum bqhd,bkhd", f"2x{q}x4x64", [floats(2, q, 4, 64), floats(2, q, 4, 64), result(2, 4, q, q)], (),
           lambda t: torch.einsum("bqhd,bkhd->bhqk", t[0], t[1]))
    if dtype != F32:
        return
    for length in (64, 1000, 4096):
        lines = torch.randn(max(1, n // 2 // length), length, dtype=C64)
        yield ("transform", "fft_fft", f"{lines.size(0)}x{length}", [lines, torch.empty_like(lines)], (),
               lambda t: torch.fft.fft(t[0], out=t[1]))
    for k in (16, 64, 256):
        if k * k > n or n > MIB:
            continue
        batch = n // k // k
        a = torch.randn(batch, k, k)
        positive, shape = a @ a.mT + k * torch.eye(k), f"{batch}x{k}x{k}"
        yield ("factor", "linalg_cholesky", shape, [positive, torch.empty(batch, k, k).mT], (),
               lambda t: torch.linalg.cholesky(t[0], out=t[1]))
        yield ("factor", "linalg_lu_factor", shape, [positive, torch.empty(batch, k, k).mT,
                                                    torch.empty(batch, k, dtype=I32)], (),
               lambda t: torch.linalg.lu_factor(t[0], out=(t[1], t[2])))
        yield ("factor", "linalg_svdvals", shape, [a, torch.empty(batch, k)], (),
               lambda t: torch.linalg.svdvals(t[0], out=t[1]))


# ---- measurements

def check(tensors, results, ours, theirs):
    """Empty, or how far our results are from PyTorch's, which may be a new tensor."""
    written = tensors[-results:]
    before = [t.clone() for t in written]
    found = theirs(tensors)
    returned = found if isinstance(found, (tuple, list)) else (found,)
    want = [(r if isinstance(r, torch.Tensor) else w).clone() for r, w in zip([*returned, *[None] * results], written)]
    for t, b in zip(written, before):
        t.copy_(b)
    ours()
    for got, w in zip(written, want):
        if not got.dtype.is_floating_point:
            if got.dtype == I64 and results == 2:
                continue  # of equal elements any
            if not got.dtype.is_complex and not torch.equal(got, w):
                return "differs"
            if not got.dtype.is_complex:
                continue
            got, w = torch.view_as_real(got), torch.view_as_real(w)
        a, b = got.double().reshape(-1), w.double().reshape(-1)
        same = (a == b) | (a.isnan() & b.isnan())
        error = float(((a - b).abs() / (b.abs() + 1))[~same].max()) if not bool(same.all()) else 0.0
        if not error < (3e-2 if got.dtype == BF16 else 2e-4):
            return f"differs by {error:.1e}"
    return ""


def timed(sides, seconds, clock):
    """Median seconds of a call of each side."""
    counts, samples = [], [[] for _ in sides]
    for run in sides:
        run()
        start = time.perf_counter()
        run()
        counts.append(max(1, min(2000, int(seconds / 16 / max(time.perf_counter() - start, 1e-7)))))
    for k in range(9):
        order = range(len(sides)) if k % 2 == 0 else reversed(range(len(sides)))
        for i in order:
            run, count = sides[i], counts[i]
            run()
            start = clock()
            for _ in range(count):
                run()
            samples[i].append((clock() - start) / count)
    return [statistics.median(s) for s in samples]


def build(arguments):
    library = arguments.build / "libsurface.so"
    arguments.build.mkdir(parents=True, exist_ok=True)
    newest = max(p.stat().st_mtime for p in (ROOT / "include").rglob("*.hpp"))
    objects = []
    for name in SOURCES:
        source, target = ROOT / f"bench/gpu/operators/{name}.cpp", arguments.build / f"{name}.o"
        objects.append(str(target))
        if not target.exists() or target.stat().st_mtime < max(newest, source.stat().st_mtime):
            subprocess.run([arguments.cxx, "-std=c++20", "-O2", "-fPIC", "-fno-gnu-unique", "-DFLAGGEMS_MAX_ISA=2",
                            "-DFLAGGEMS_BENCH_DEVICE=host", "-I", str(ROOT / "include"), "-c", str(source), "-o",
                            str(target)], check=True)
    subprocess.run([arguments.cxx, "-shared", *objects, "-o", str(library), "-ldl", "-lpthread"], check=True)
    return library


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", nargs="+", choices=("f32", "bf16"), default=["f32", "bf16"])
    parser.add_argument("--size", nargs="+", type=int, default=[64 * KIB, MIB, 64 * MIB])
    parser.add_argument("--match", nargs="+", default=[])
    parser.add_argument("--family", nargs="+", default=[])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.02, help="of work in all rounds of a side")
    parser.add_argument("--base", type=pathlib.Path, help="a library of an earlier build: the peer instead of PyTorch")
    parser.add_argument("--library", type=pathlib.Path, help="ours, built before")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/surface")
    parser.add_argument("--cxx", default="g++")
    arguments = parser.parse_args()
    os.environ["FLAGGEMS_NUM_THREADS"] = str(arguments.threads)
    library = Library(arguments.library or build(arguments))
    base = Library(arguments.base) if arguments.base else None
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    clock = time.perf_counter if arguments.threads > 1 else time.thread_time
    lines, ratios, wrong = [], {}, 0

    def say(text):
        lines.append(text)
        print(text, flush=True)

    processor = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo", encoding="utf-8") if "model name" in l), "")
    flags = next((l.split(":")[1].split() for l in open("/proc/cpuinfo", encoding="utf-8") if l.startswith("flags")), [])
    level = "AVX-512" if "avx512bw" in flags else "AVX2" if "avx2" in flags else "baseline"
    say(f"{processor}, {level}, {arguments.threads} threads, PyTorch {torch.__version__}")
    say(f"{'family':14} {'operator':34} {'shape':34} {'type':5} {'bytes':>9} {'us':>10} "
        f"{'base' if base else 'torch':>10} {'ratio':>6}")
    with torch.inference_mode():
        for size in arguments.size:
            for dtype in ((F32, BF16)[d == "bf16"] for d in arguments.dtype):
                for family, op, shape, tensors, numbers, theirs in (c for f in (tables, others, layers) for c in f(size, dtype)):
                    if arguments.family and family not in arguments.family or \
                            arguments.match and not any(w in op for w in arguments.match):
                        continue
                    name = "gelu" if op == "gelu" else op.split()[0]
                    ours = library.bind(name, tensors, numbers)
                    results = 2 if op in ("cummax", "max", "sort", "topk", "max_pool2d", "linalg_lu_factor") else 1
                    try:
                        problem = "no such operation" if ours is None else check(tensors, results, ours, theirs)
                    except (RuntimeError, NotImplementedError, TypeError, IndexError) as error:
                        problem = str(error).splitlines()[0][:90]
                    kind = {F32: "f32", BF16: "bf16", I32: "i32", C64: "c64"}[tensors[0].dtype]
                    head = f"{family:14} {op:34} {shape:34} {kind:5} {size:9}"
                    if problem:
                        wrong += 1
                        say(f"{head} WRONG {problem}")
                        continue
                    peer = base.bind(name, tensors, numbers) if base else lambda t=tensors, f=theirs: f(t)
                    seconds, other = timed((ours, peer), arguments.seconds, clock)
                    ratio = other / seconds
                    ratios.setdefault((family, kind), []).append(ratio)
                    say(f"{head} {seconds * 1e6:10.2f} {other * 1e6:10.2f} {ratio:6.2f}")
    say("")
    say(f"{'family':14} {'type':5} {'rows':>5} {'mean':>6} {'least':>6} {'< 0.9':>6}")
    for (family, kind), found in sorted(ratios.items()):
        say(f"{family:14} {kind:5} {len(found):5} {mean(found):6.2f} {min(found):6.2f} "
            f"{sum(r < 0.9 for r in found):6}")
    everything = [r for found in ratios.values() for r in found]
    if everything:
        say(f"{'all':14} {'':5} {len(everything):5} {mean(everything):6.2f} {min(everything):6.2f} "
            f"{sum(r < 0.9 for r in everything):6}")
    if arguments.output:
        arguments.output.write_text("# SPDX-FileCopyrightText: 2026 The flaggems authors\n"
                                    "# SPDX-License-Identifier: Apache-2.0\n\n" + "\n".join(lines) + "\n",
                                    encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
