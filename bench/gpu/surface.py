# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Cases of operators/surface.cpp: a row of a table each, in a few sizes. bench/gpu/run.py surface"""
import math

import torch
import torch.nn.functional as F

from operands import BF16, F32, KIB, MIB, Case, aten, empty, integers, random, size_of, tensor_bytes, text, uniform


def out_of(f):
    return lambda *t: f(*t[:-1], out=t[-1])


def gradient_of(f):
    return lambda g, x, o: f.grad_input(g, x, grad_input=o)


def exact(convolution, *arguments):
    """Without TF32, which PyTorch's convolutions of f32 take unless told otherwise."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        return convolution(*arguments)


def positive(*sizes, dtype):
    return uniform(*sizes, dtype=dtype) + 0.5


# operator: (inputs, formula of floats, PyTorch's call into the last tensor, what makes operands)
FORMULAS = {
    "floor": (1, torch.floor, out_of(torch.floor), random),
    "sign": (1, torch.sign, out_of(torch.sign), random),
    "tan": (1, torch.tan, out_of(torch.tan), uniform),
    "atan": (1, torch.atan, out_of(torch.atan), random),
    "asin": (1, torch.asin, out_of(torch.asin), lambda *s, dtype: uniform(*s, dtype=dtype) * 0.9),
    "asinh": (1, torch.asinh, out_of(torch.asinh), random),
    "acosh": (1, torch.acosh, out_of(torch.acosh), lambda *s, dtype: uniform(*s, dtype=dtype) + 2),
    "atanh": (1, torch.atanh, out_of(torch.atanh), lambda *s, dtype: uniform(*s, dtype=dtype) * 0.9),
    "log1p": (1, torch.log1p, out_of(torch.log1p), positive),
    "sinc": (1, torch.sinc, out_of(torch.sinc), random),
    "erfc": (1, torch.erfc, out_of(torch.erfc), random),
    "erfinv": (1, torch.erfinv, out_of(torch.erfinv), lambda *s, dtype: uniform(*s, dtype=dtype) * 0.9),
    "mish": (1, F.mish, out_of(aten.mish.out), random),
    "hardswish": (1, F.hardswish, out_of(aten.hardswish.out), random),
    "softplus": (1, lambda x: F.softplus(x, 0.75, 1.25), lambda x, o: aten.softplus.out(x, 0.75, 1.25, out=o), random),
    "elu": (1, lambda x: aten.elu(x, 0.75, 1.25, 0.5), lambda x, o: aten.elu.out(x, 0.75, 1.25, 0.5, out=o), random),
    "nan_to_num": (1, torch.nan_to_num, out_of(torch.nan_to_num), random),
    "atan2": (2, torch.atan2, out_of(torch.atan2), random),
    "hypot": (2, torch.hypot, out_of(torch.hypot), random),
    "fmod": (2, torch.fmod, out_of(torch.fmod), positive),
    "remainder": (2, None, out_of(torch.remainder), positive),
    "floor_divide": (2, None, out_of(torch.floor_divide), positive),
    "copysign": (2, torch.copysign, out_of(torch.copysign), random),
    "logaddexp": (2, torch.logaddexp, out_of(torch.logaddexp), random),
    "xlogy": (2, torch.xlogy, out_of(torch.xlogy), positive),
    "gelu_backward": (2, aten.gelu_backward, gradient_of(aten.gelu_backward), random),
    "silu_backward": (2, aten.silu_backward, gradient_of(aten.silu_backward), random),
    "tanh_backward": (2, aten.tanh_backward, gradient_of(aten.tanh_backward), uniform),
    "lerp": (3, torch.lerp, out_of(torch.lerp), uniform),
}
LOSSES = {"mse_loss": F.mse_loss, "smooth_l1_loss": F.smooth_l1_loss,
          "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits}
REMAINDERS = ("fmod", "remainder", "floor_divide")  # of rounded operands, so not to be compared in f32


def same(f):
    """Whether the result is PyTorch's of the same operands: of what is exact."""
    return lambda t: torch.equal(t[-1], f(*t[:-1]))


def formulas():
    for op, (inputs, formula, eager, data) in FORMULAS.items():
        for dtype in (BF16, F32):
            for size in (64 * KIB, MIB, 64 * MIB):
                n = size // size_of(dtype)
                exact = None
                if op in REMAINDERS:
                    exact = same({"fmod": torch.fmod, "remainder": torch.remainder,
                                  "floor_divide": torch.floor_divide}[op])
                yield Case("surface", op, tensor_bytes(size), dtype, size * (inputs + 1),
                           lambda n=n, k=inputs, d=dtype, f=data: [*(f(n, dtype=d) for _ in range(k)),
                                                                   empty(n, dtype=d)], (op, ()), 1, formula, {"torch": eager},
                           formula if op not in REMAINDERS and size == 64 * MIB else None, exact=exact)


def others():
    bools = torch.bool
    for dtype in (BF16, F32):
        size = size_of(dtype)

        def case(op, shape, moved, make, numbers, reference, eager, results=1, roof="copy", **more):
            compiled = None if op in ("conv1d", "conv2d", "cumsum", "logcumsumexp") or more.get("in_place") else reference
            return Case("surface", op, shape, dtype, moved, make, (op, numbers), results, reference, {"torch": eager},
                        compiled, roof=roof, **more)

        def given(*tensors, d=dtype):
            return lambda: [t() for t in tensors]

        def floats(*sizes, d=dtype):
            return lambda: random(*sizes, dtype=d)

        def result(*sizes, d=dtype):
            return lambda: empty(*sizes, dtype=d)

        n = 32 * MIB // size
        yield case("isnan", tensor_bytes(32 * MIB), n * (size + 1), given(floats(n), result(n, d=bools)), (), None,
                   lambda x, o: torch.ne(x, x, out=o), exact=same(torch.isnan))
        yield case("masked_fill", tensor_bytes(32 * MIB), n * (2 * size + 1),
                   given(floats(n), lambda n=n: integers(2, n).bool(), result(n)), (), None,
                   lambda x, m, o: aten.masked_fill.Scalar_out(x, m, 0.5, out=o),
                   exact=same(lambda x, m: x.masked_fill(m, 0.5)))
        for op, f in LOSSES.items():
            for rows in (64 * KIB, 64 * MIB):
                k = rows // size
                yield case(op, tensor_bytes(rows), 2 * rows,
                           lambda k=k, d=dtype: [random(k, dtype=d), uniform(k, dtype=d), empty(dtype=d)], (), f,
                           lambda x, y, o, f=f: f(x, y), roof="read")

        # ---- moves
        rows, columns = 8192, 4096
        moved = 2 * rows * columns * size
        plain = given(floats(rows, columns), result(rows, columns))
        yield case("flip", text(rows, columns), moved, plain, (), lambda x: x.flip(-1), lambda x, o: x.flip(-1))
        yield case("roll", text(rows, columns), moved, plain, (), lambda x: x.roll(3, -1), lambda x, o: x.roll(3, -1))
        yield case("triu", text(rows, columns), moved, plain, (), torch.triu, out_of(torch.triu))
        yield case("repeat", "2048x4096, 2x3", 7 * 2048 * 4096 * size, given(floats(2048, 4096), result(4096, 12288)),
                   (), lambda x: x.repeat(2, 3), lambda x, o: x.repeat(2, 3))
        yield case("pixel_shuffle", "16x256x64x64, 2", 2 * 16 * 256 * 64 * 64 * size,
                   given(floats(16, 256, 64, 64), result(16, 64, 128, 128)), (), lambda x: F.pixel_shuffle(x, 2),
                   lambda x, o: F.pixel_shuffle(x, 2))
        padded = given(floats(64, 64, 112, 112), result(64, 64, 119, 115))
        for op, f in (("constant_pad_nd", lambda x, *_: F.pad(x, (1, 2, 3, 4))),
                      ("reflection_pad2d", lambda x, *_: F.pad(x, (1, 2, 3, 4), "reflect"))):
            yield case(op, "64x64x112x112", 64 * 64 * (112 * 112 + 119 * 115) * size, padded, (), f, f)
        yield case("stack", "2 of 4096x4096, dim -1", 4 * 4096 * 4096 * size,
                   given(floats(4096, 4096), floats(4096, 4096), result(4096, 4096, 2)), (),
                   lambda x, y: torch.stack((x, y), -1), lambda x, y, o: torch.stack((x, y), -1, out=o))
        # ---- convolutions: of a speech model, and each channel alone
        for label, c, f, n, k, stride, groups in (("8x80x3000, 384 filters of 3", 80, 384, 3000, 3, 1, 1),
                                                  ("8x384x3000, 384 filters of 3, stride 2", 384, 384, 3000, 3, 2, 1),
                                                  ("8x2048x2048, depthwise of 3", 2048, 2048, 2048, 3, 1, 2048)):
            places = (n - 1) // stride + 1
            yield case("conv1d", label, 8 * (c * n + f * places) * size + f * c // groups * k * size,
                       given(floats(8, c, n), floats(f, c // groups, k), floats(f), result(8, f, places)),
                       (stride, groups),
                       lambda x, w, b, s=stride, g=groups: exact(F.conv1d, x, w, b, s, 1, 1, g),
                       lambda x, w, b, o, s=stride, g=groups: exact(F.conv1d, x, w, b, s, 1, 1, g))
        for c, f, n, k, stride in ((3, 64, 224, 7, 2), (64, 64, 56, 3, 1), (256, 64, 56, 1, 1), (256, 512, 56, 1, 2),
                                   (128, 128, 28, 3, 1), (512, 512, 7, 3, 1)):
            places, pad = (n - 1) // stride + 1, k // 2
            yield case("conv2d", f"32x{c}x{n}x{n}, {f} filters of {k}x{k}, stride {stride}",
                       32 * (c * n * n + f * places * places) * size + f * c * k * k * size,
                       given(floats(32, c, n, n), floats(f, c, k, k), floats(f), result(32, f, places, places)),
                       (stride, pad),
                       lambda x, w, b, s=stride, p=pad: exact(F.conv2d, x, w, b, s, p),
                       lambda x, w, b, o, s=stride, p=pad: exact(F.conv2d, x, w, b, s, p))
        yield case("outer", "8192 x 4096", 8192 * 4096 * size,
                   given(floats(8192), floats(4096), result(8192, 4096)), (), torch.outer, out_of(torch.outer), roof="copy")
        yield case("glu", text(rows, columns), rows * columns * size * 3 // 2,
                   given(floats(rows, columns), result(rows, columns // 2)), (), lambda x: F.glu(x),
                   lambda x, o: F.glu(x))

        # ---- scans
        for op, f in (("cumsum", torch.cumsum), ("logcumsumexp", torch.logcumsumexp)):
            for sizes, dim in (((65536, 512), 1), ((16, 2**20), 1), ((2**23,), 0), ((512, 65536), 0)):
                if op == "logcumsumexp" and dim == 0 and len(sizes) == 1:
                    continue
                if op == "cumsum" and dtype == BF16:
                    data = lambda s=sizes: uniform(*s, dtype=BF16)  # noqa: E731
                else:
                    data = floats(*sizes)
                yield case(op, f"{text(*sizes)}, dim {dim}", 2 * math.prod(sizes) * size, given(data, result(*sizes)),
                           (dim,), lambda x, f=f, d=dim: f(x, d), lambda x, o, f=f, d=dim: f(x, d, out=o))
        yield case("cummax", "65536x512, dim 1", 65536 * 512 * (2 * size + 8),
                   given(floats(65536, 512), result(65536, 512), result(65536, 512, d=torch.int64)), (1,), None,
                   lambda x, v, i: torch.cummax(x, 1, out=(v, i)), results=2,
                   exact=lambda t: torch.equal(t[1], torch.cummax(t[0], 1).values) and torch.equal(
                       t[0].gather(1, t[2]), t[1]))

        # ---- at indices
        for dim, sizes in ((1, (8192, 4096)), (0, (4096, 8192))):
            shape = f"{text(*sizes)}, dim {dim}"
            most, count = sizes[dim], math.prod(sizes)
            index = lambda s=sizes, m=most: integers(m, *s)  # noqa: E731
            once = lambda s=sizes, d=dim: torch.rand(s, device="cuda").argsort(d)  # noqa: E731
            yield case("gather", shape, count * (2 * size + 8), given(floats(*sizes), index, result(*sizes)), (dim,),
                       None, lambda x, i, o, d=dim: torch.gather(x, d, i, out=o),
                       exact=same(lambda x, i, d=dim: x.gather(d, i)))
            yield case("scatter_", shape, count * (2 * size + 8), given(floats(*sizes), once, result(*sizes)), (dim,),
                       None, lambda x, i, o, d=dim: o.scatter_(d, i, x),
                       exact=same(lambda x, i, d=dim: torch.empty_like(x).scatter_(d, i, x)))
            yield case("scatter_add_", shape, count * (3 * size + 8), given(floats(*sizes), index, floats(*sizes)),
                       (dim,), lambda x, i, o, d=dim: o.scatter_add(d, i, x), lambda x, i, o, d=dim: o.scatter_add_(d, i, x),
                       in_place=True)
        table, width, count = 65536, 1024, 16384
        rows_of = given(floats(count, width), lambda c=count, t=table: integers(t, c), floats(table, width))
        shape, moved = f"{count} rows of {text(table, width)}", 3 * count * width * size
        yield case("index", shape, 2 * count * width * size,
                   given(floats(table, width), lambda c=count, t=table: integers(t, c), result(count, width)), (), None,
                   lambda x, i, o: aten.index.Tensor_out(x, [i], out=o), exact=same(lambda x, i: x[i]))
        yield case("index_add_", shape, moved, rows_of, (0,), lambda x, i, o: o.index_add(0, i, x),
                   lambda x, i, o: o.index_add_(0, i, x), in_place=True)
        yield case("index_copy_", shape, 2 * count * width * size,
                   given(floats(count, width), lambda c=count, t=table: torch.randperm(t, device="cuda")[:c],
                         floats(table, width)), (0,), None,
                   lambda x, i, o: o.index_copy_(0, i, x), exact=lambda t: torch.equal(t[2][t[1]], t[0]))
        yield case("index_put_", f"{shape}, added", moved, rows_of, (1,),
                   lambda x, i, o: o.index_put((i,), x, True), lambda x, i, o: o.index_put_((i,), x, True),
                   in_place=True)
        yield case("embedding_dense_backward", f"{count} of {text(32000, width)}", (count + 32000) * width * size,
                   given(floats(count, width), lambda c=count: integers(32000, c), result(32000, width)), (), None,
                   lambda g, i, o: aten.embedding_dense_backward(g, i, 32000, -1, False),
                   exact=lambda t: torch.allclose(t[2].float(), aten.embedding_dense_backward(
                       t[0].float(), t[1], 32000, -1, False), 2e-2, 2e-2))

        # ---- statistics
        for dim in (1, 0):
            rows, columns = 16384, 2048
            left = columns if dim == 0 else rows
            shape, moved = f"{text(rows, columns)}, dim {dim}", rows * columns * size
            x = floats(rows, columns)
            yield case("max", shape, moved, given(x, result(left), result(left, d=torch.int64)), (dim,), None,
                       lambda x, v, i, d=dim: torch.max(x, d, out=(v, i)), results=2, roof="read",
                       exact=lambda t, d=dim: torch.equal(t[1], t[0].amax(d)))
            for op, f in (("var", lambda x, o=None, d=dim: torch.var(x, d)),
                          ("logsumexp", lambda x, o=None, d=dim: torch.logsumexp(x, d)),
                          ("norm", lambda x, o=None, d=dim: torch.linalg.vector_norm(x, 2, d))):
                yield case(op, shape, moved, given(x, result(left)), (dim,), f, f, roof="read")
            yield case("count_nonzero", shape, moved, given(x, result(left, d=torch.int64)), (dim,), None,
                       lambda x, o, d=dim: torch.count_nonzero(x, d), roof="read",
                       exact=same(lambda x, d=dim: torch.count_nonzero(x, d)))
        yield case("skip_layer_norm", "8192x4096", 3 * 8192 * 4096 * size,
                   given(floats(8192, 4096), floats(8192, 4096), floats(4096), floats(4096), result(8192, 4096)), (),
                   lambda x, r, w, b: F.layer_norm(x + r, (4096,), w, b),
                   lambda x, r, w, b, o: F.layer_norm(x + r, (4096,), w, b))


def surface():
    yield from formulas()
    yield from others()
