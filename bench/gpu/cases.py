# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""What is compared: for each case its operands, our call, the peers' and the reference."""
import functools
import math

import torch
import torch.nn.functional as F

import surface
import triton_kernels as tk
from operands import BF16, F32, KIB, MIB, Case, aten, empty, integers, random, size_of, tensor_bytes, text, uniform


# ---- pointwise and fused

def pointwise():
    table = {
        "add": (2, lambda x, y: x + y, lambda x, y, o: torch.add(x, y, out=o)),
        "silu": (1, F.silu, lambda x, o: aten.silu.out(x, out=o)),
        "gelu": (1, F.gelu, lambda x, o: aten.gelu.out(x, out=o)),
        "exp": (1, torch.exp, lambda x, o: torch.exp(x, out=o)),
    }
    for op, (inputs, formula, eager) in table.items():
        for dtype in (BF16, F32):
            for size in (4 * KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 512 * MIB, 2048 * MIB):
                if size > 512 * MIB and (op, dtype) != ("add", BF16) or size == 4 * MIB and dtype == F32:
                    continue
                compiled = formula if size in (64 * KIB, 16 * MIB, 512 * MIB) and dtype == BF16 else None
                n = size // size_of(dtype)
                peers = {"torch": eager}
                if op == "add":
                    peers["triton"] = tk.add
                yield Case("pointwise", op, tensor_bytes(size), dtype, size * (inputs + 1),
                           lambda n=n, k=inputs, d=dtype: [*(random(n, dtype=d) for _ in range(k)),
                                                           empty(n, dtype=d)],
                           (op, ()), 1, formula, peers, compiled)
    # Of odd lengths, and with packs that do not begin together.
    for dtype in (BF16, F32):
        for size in (64 * KIB, 64 * MIB):
            n = size // size_of(dtype)
            for shape, more, skipped in (("+ 3 elements", 3, 0), ("x[1:]", 0, 1)):
                yield Case("pointwise", "add", f"{tensor_bytes(size)}, {shape}", dtype, 3 * size,
                           lambda n=n + more, s=skipped, d=dtype: [random(n + s, dtype=d)[s:], random(n, dtype=d),
                                                                   empty(n, dtype=d)],
                           ("add", ()), 1, lambda x, y: x + y,
                           {"torch": lambda x, y, o: torch.add(x, y, out=o), "triton": tk.add}, None)


def fused():
    def silu_mul(x, y):
        return F.silu(x.float()).mul(y.float()).to(x.dtype)

    def chain(x, scale, bias, residual):
        return (F.gelu(x.float() * scale.float() + bias.float()) + residual.float()).to(x.dtype)

    for dtype in (BF16, F32):
        size = size_of(dtype)
        for rows in (1, 16, 512, 8192):
            n = 14336
            yield Case("fused", "silu_and_mul", text(rows, n), dtype, 3 * rows * n * size,
                       lambda r=rows, n=n, d=dtype: [random(r, n, dtype=d), random(r, n, dtype=d),
                                                     empty(r, n, dtype=d)],
                       ("silu_and_mul", ()), 1, lambda x, y: F.silu(x) * y,
                       {"torch": lambda x, y, o: torch.mul(F.silu(x), y, out=o)}, silu_mul if dtype == BF16 else None)
        for rows in (16, 512, 4096, 32768):
            n = 4096
            yield Case("fused", "gelu(x*s+b)+r", text(rows, n), dtype, (3 * rows * n + 2 * n) * size,
                       lambda r=rows, n=n, d=dtype: [random(r, n, dtype=d), random(n, dtype=d), random(n, dtype=d),
                                                     random(r, n, dtype=d), empty(r, n, dtype=d)],
                       ("chain", ()), 1, lambda x, s, b, r: F.gelu(x * s + b) + r,
                       {"torch": lambda x, s, b, r, o: torch.add(F.gelu(torch.addcmul(b, x, s)), r, out=o)},
                       chain if dtype == BF16 else None)


# ---- what moves elements

def moved(op, shape, dtype, sizes, permutation, to=None):
    to = to or dtype
    n = math.prod(sizes)

    def make():
        x = random(*sizes, dtype=dtype).permute(permutation)
        return [x, empty(*x.shape, dtype=to)]

    peers = {"torch": lambda x, o: o.copy_(x)}
    compiled = None
    if op not in ("copy", "cast") and dtype == BF16:
        compiled = lambda x: x.to(to, memory_format=torch.contiguous_format, copy=True)  # noqa: E731
    if op == "transpose":
        peers["triton"] = tk.transpose
    if op == "copy":
        peers["triton"] = tk.copy
    return Case("copy", op, shape, dtype, n * (size_of(dtype) + size_of(to)), make, ("copy", ()), 1,
                lambda x: x, peers, compiled)


def copies():
    for dtype in (BF16, F32):
        for size in (64 * KIB, MIB, 16 * MIB, 512 * MIB):
            yield moved("copy", tensor_bytes(size), dtype, (size // size_of(dtype),), (0,))
        for rows, columns in ((512, 512), (2048, 2048), (8192, 8192), (5003, 4999), (16384, 4096), (64, 262144)):
            yield moved("transpose", text(rows, columns), dtype, (rows, columns), (1, 0))
        for b, t, h, d in ((1, 128, 32, 128), (4, 2048, 32, 128), (8, 8192, 32, 128)):
            yield moved("heads first", text(b, t, h, d), dtype, (b, t, h, d), (0, 2, 1, 3))
        yield moved("heads first", "4x2048x32x64", dtype, (4, 2048, 32, 64), (0, 2, 1, 3))
        yield moved("heads back", "4x32x2048x128", dtype, (4, 32, 2048, 128), (0, 2, 1, 3))
        yield moved("nchw to nhwc", "64x256x56x56", dtype, (64, 256, 56, 56), (0, 2, 3, 1))
        yield moved("reverse dims", "256x512x256", dtype, (256, 512, 256), (2, 1, 0))
    yield moved("cast", "64 MiB", BF16, (32 * MIB,), (0,), F32)
    yield moved("cast", "128 MiB", F32, (32 * MIB,), (0,), BF16)


def lookups():
    def rows_of(op, table, width, count, dtype):
        eager = {"embedding": lambda w, i, o: aten.embedding.out(w, i, out=o),
                 "index_select": lambda w, i, o: torch.index_select(w, 0, i, out=o)}[op]
        return Case("lookup", op, f"{count} of {text(table, width)}", dtype,
                    2 * count * width * size_of(dtype) + 8 * count,
                    lambda: [random(table, width, dtype=dtype), integers(table, count),
                             empty(count, width, dtype=dtype)],
                    (op, () if op == "embedding" else (0,)), 1, lambda w, i: w[i], {"torch": eager},
                    (lambda w, i: F.embedding(i, w)) if count >= 2048 and dtype == BF16 else None)

    for count in (1, 64, 2048, 32768):
        yield rows_of("embedding", 128256, 4096, count, BF16)
    yield rows_of("embedding", 128256, 4096, 8192, F32)
    for table, width, count in ((1 << 20, 128, 1 << 20), (1 << 20, 100, 1 << 19), (1 << 18, 1024, 1 << 16)):
        yield rows_of("index_select", table, width, count, BF16)
    yield rows_of("index_select", 1 << 20, 128, 1 << 19, F32)
    yield Case("lookup", "index_select", "dim 1, 4096 of 8192x16384", BF16, 2 * 8192 * 4096 * 2 + 8 * 4096,
               lambda: [random(8192, 16384), integers(16384, 4096), empty(8192, 4096)],
               ("index_select", (1,)), 1, lambda x, i: x[:, i],
               {"torch": lambda x, i, o: torch.index_select(x, 1, i, out=o)}, lambda x, i: torch.index_select(x, 1, i))


def rope():
    def rotate(q, k, cos, sin):
        def one(x):
            half = x.shape[-1] // 2
            a, b = x[..., :half].float(), x[..., half:].float()
            c, s = cos[:, None, :].float(), sin[:, None, :].float()
            return torch.cat((a * c - b * s, b * c + a * s), -1).to(x.dtype)
        return one(q), one(k)

    for dtype in (BF16, F32):
        for tokens in (1, 16, 512, 16384):
            h, kh, d = 32, 8, 128
            n = tokens * (h + kh) * d

            def make(t=tokens, dtype=dtype):
                angles = uniform(t, d // 2, dtype=F32) * 6
                return [random(t, h, d, dtype=dtype), random(t, kh, d, dtype=dtype), angles.cos().to(dtype),
                        angles.sin().to(dtype), empty(t, h, d, dtype=dtype), empty(t, kh, d, dtype=dtype)]
            yield Case("rope", "apply_rotary_pos_emb", text(tokens, f"({h}+{kh})", d), dtype,
                       (2 * n + tokens * d) * size_of(dtype), make, ("rope", ()), 2, rotate,
                       {"torch": lambda q, k, c, s, *_: rotate(q, k, c, s), "triton": tk.rope},
                       rotate if dtype == BF16 else None)


def cats():
    for dtype in (BF16, F32):
        for a, b, dim in (((8192, 4096), (8192, 4096), 0), ((8192, 4096), (8192, 4096), 1),
                          ((65536, 100), (65536, 27), 1),
                          ((16, 8, 1, 128), (16, 8, 1023, 128), 2), ((64, 1024), (64, 1024), 1)):
            n = math.prod(a) + math.prod(b)

            def make(a=a, b=b, dim=dim, dtype=dtype):
                sizes = list(a)
                sizes[dim] += b[dim]
                return [random(*a, dtype=dtype), random(*b, dtype=dtype), empty(*sizes, dtype=dtype)]
            yield Case("cat", "cat", f"{text(*a)} + {text(*b)}, dim {dim}", dtype, 2 * n * size_of(dtype), make,
                       ("cat", (dim,)), 1, lambda x, y, d=dim: torch.cat((x, y), d),
                       {"torch": lambda x, y, o, d=dim: torch.cat((x, y), d, out=o)},
                       (lambda x, y, d=dim: torch.cat((x, y), d)) if dtype == BF16 else None)


# ---- rows

def row_case(op, rows, n, dtype, compiles=False):
    size = size_of(dtype)
    fused_add = op == "fused_add_rms_norm"
    weights = {"layer_norm": 2, "rms_norm": 1, "fused_add_rms_norm": 1}.get(op, 0)
    moved_bytes = ((4 if fused_add else 2) * rows * n + weights * n) * size

    def make():
        x = random(rows, n, dtype=dtype)
        w = [random(n, dtype=dtype) for _ in range(weights)]
        if fused_add:
            return [*w, x, random(rows, n, dtype=dtype)]
        return [x, *w, empty(rows, n, dtype=dtype)]

    def add_norm(w, x, r):
        s = (x.float() + r.float()).to(x.dtype)
        return F.rms_norm(s, (n,), w, 1e-5), s

    reference = {"softmax": lambda x: torch.softmax(x, -1), "log_softmax": lambda x: torch.log_softmax(x, -1),
                 "layer_norm": lambda x, w, b: F.layer_norm(x, (n,), w, b),
                 "rms_norm": lambda x, w: F.rms_norm(x, (n,), w, 1e-5),
                 "fused_add_rms_norm": add_norm}[op]
    eager = {"softmax": lambda x, o: aten._softmax.out(x, -1, False, out=o),
             "log_softmax": lambda x, o: aten._log_softmax.out(x, -1, False, out=o),
             "layer_norm": lambda x, w, b, o: F.layer_norm(x, (n,), w, b),
             "rms_norm": lambda x, w, o: F.rms_norm(x, (n,), w, 1e-5),
             "fused_add_rms_norm": lambda w, x, r: F.rms_norm(r.add_(x), (n,), w, 1e-5)}[op]
    peers = {"torch": eager}
    if n <= 65536:
        peers["triton"] = getattr(tk, op)
    def compiled_add(w, x, r):
        s = x + r
        x.copy_(F.rms_norm(s, (n,), w, 1e-5))
        r.copy_(s)
    compiled = compiled_add if fused_add else reference
    return Case("rows", op, text(rows, n), dtype, moved_bytes, make, (op, ()), 2 if fused_add else 1, reference, peers,
                compiled if compiles else None, in_place=fused_add)


def rows():
    long = (8, 32, 128, 256, 1024, 1023, 4096, 4099, 8192, 16384, 32768, 65536, 131072, 262144)
    for op in ("softmax", "log_softmax", "layer_norm", "rms_norm", "fused_add_rms_norm"):
        for n in long:
            yield row_case(op, 2**26 // n, n, BF16, n in (32, 256, 1024, 4096, 16384, 65536, 262144))
        for n in (32, 256, 1024, 4096, 4099, 16384, 65536, 262144):
            yield row_case(op, 2**25 // n, n, F32, n in (1024, 16384))
        for n in (33, 127) if op != "fused_add_rms_norm" else ():
            yield row_case(op, 2**26 // n, n, BF16, n == 127)
            yield row_case(op, 2**25 // n, n, F32)
        for r, n in ((1, 4096), (16, 4096), (256, 4096), (2048, 1024)):
            yield row_case(op, r, n, BF16, r == 256)


# ---- gradients, norms as training needs them, losses

def gradient_case(op, rows, n, dtype):
    size, kept = size_of(dtype), 4 * rows
    moved = rows * n * size

    def statistics(x):
        x = x.float()
        m = x.mean(-1, keepdim=True)
        return m, (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt(), (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt()

    def make():
        g, x, w = random(rows, n, dtype=dtype), random(rows, n, dtype=dtype), random(n, dtype=dtype)
        out, of_w = empty(rows, n, dtype=dtype), empty(n, dtype=dtype)
        mean, rstd, inverse_rms = statistics(x)
        column = functools.partial(empty, rows, 1, dtype=F32)
        return {"softmax_backward": lambda: [g, torch.softmax(x.float(), -1).to(dtype), out],
                "log_softmax_backward": lambda: [g, torch.log_softmax(x.float(), -1).to(dtype), out],
                "native_layer_norm": lambda: [x, w, w.flip(0), out, column(), column()],
                "native_layer_norm_backward": lambda: [g, x, mean, rstd, w, out, of_w, torch.empty_like(of_w)],
                "fused_rms_norm_backward": lambda: [g, x, inverse_rms, w, out, of_w]}[op]()

    def layer_gradients(g, x, m, r, w):
        y, h = (x - m) * r, g * w
        return (r * (h - h.mean(-1, keepdim=True) - y * (h * y).mean(-1, keepdim=True)), (g * y).sum(0), g.sum(0))

    def rms_gradients(g, x, r, w):
        y, h = x * r, g * w
        return r * (h - y * (h * y).mean(-1, keepdim=True)), (g * y).sum(0)

    types = {"softmax_backward": (3, 1, lambda g, y: y * (g - (g * y).sum(-1, keepdim=True)),
                                  lambda g, y, o: aten._softmax_backward_data.out(g, y, -1, dtype, grad_input=o)),
             "log_softmax_backward": (3, 1, lambda g, y: g - y.exp() * g.sum(-1, keepdim=True),
                                      lambda g, y, o: aten._log_softmax_backward_data.out(g, y, -1, dtype, out=o)),
             "native_layer_norm": (2, 3, lambda x, w, b: (F.layer_norm(x, (n,), w, b), *statistics(x)[:2]),
                                   lambda x, w, b, *_: aten.native_layer_norm(x, (n,), w, b, 1e-5)),
             "native_layer_norm_backward": (
                 3, 3, layer_gradients, lambda g, x, m, r, w, *_: aten.native_layer_norm_backward(
                     g, x, (n,), m, r, w, w, (True, True, True))),
             "fused_rms_norm_backward": (
                 3, 2, rms_gradients, lambda g, x, r, w, *_: aten._fused_rms_norm_backward(
                     g, x, (n,), r, w, (True, True)))}
    passes, results, reference, eager = types[op]
    return Case("training", op, text(rows, n), dtype, passes * moved + kept, make, (op, ()), results, reference,
                {"torch": eager})


def training():
    for op in ("softmax_backward", "log_softmax_backward", "native_layer_norm", "native_layer_norm_backward",
               "fused_rms_norm_backward"):
        for rows, n in ((2**16, 1024), (2**14, 4096), (2**12, 16384), (256, 4096)):
            yield gradient_case(op, rows, n, BF16)
        yield gradient_case(op, 2**13, 4096, F32)
    for dtype in (BF16, F32):
        for sizes, groups in (((16, 320, 64, 64), 32), ((8, 512, 32, 32), 32), ((2, 128, 512, 512), 32),
                              ((16, 64, 7, 7), 8)):
            def make(sizes=sizes, d=dtype):
                return [random(*sizes, dtype=d), random(sizes[1], dtype=d), random(sizes[1], dtype=d),
                        empty(*sizes, dtype=d)]
            yield Case("training", "group_norm", f"{text(*sizes)}, {groups} groups", dtype,
                       2 * math.prod(sizes) * size_of(dtype), make, ("group_norm", (groups,)), 1,
                       lambda x, w, b, g=groups: F.group_norm(x, g, w, b),
                       {"torch": lambda x, w, b, o, g=groups: F.group_norm(x, g, w, b)})
        for rows, n in ((8192, 4096), (8192, 32000), (4096, 128256), (1024, 262144), (256, 50257)):
            yield Case("training", "cross_entropy_loss", text(rows, n), dtype, rows * n * size_of(dtype),
                       lambda r=rows, n=n, d=dtype: [random(r, n, dtype=d), integers(n, r), empty(dtype=d)],
                       ("cross_entropy_loss", ()), 1, F.cross_entropy,
                       {"torch": lambda x, t, o: F.cross_entropy(x, t)}, roof="read")


# ---- reductions

def reductions():
    layouts = {"last": ((65536, 1024), 1), "first": ((32768, 2048), 0), "middle": ((64, 1024, 1024), 1),
               "all": ((2**26,), None), "last long": ((64, 2**20), 1), "last short": ((2**22, 16), 1),
               "last odd": ((65536, 1023), 1), "last small": ((256, 4096), 1), "all small": ((2**20,), None)}

    def some(*sizes, dtype):  # products stay finite, and differ
        x = integers(2, *sizes, dtype=torch.int8).to(dtype) * 2 - 1
        x.view(-1)[integers(x.numel(), 16)] *= 1.5
        return x

    for op in ("sum", "mean", "amax", "argmax", "prod"):
        for dtype in (BF16, F32):
            for name, (sizes, dim) in layouts.items():
                if op in ("mean", "prod") and (" " in name or dtype == F32 and name != "last"):
                    continue
                n = math.prod(sizes)
                left = () if dim is None else tuple(s for d, s in enumerate(sizes) if d != dim)
                result = torch.int64 if op == "argmax" else dtype

                def make(op=op, sizes=sizes, left=left, dtype=dtype, result=result):
                    data = {"prod": some, "amax": random, "argmax": random}.get(op, uniform)
                    return [data(*sizes, dtype=dtype), empty(*left, dtype=result)]
                exact = None
                if dim is None:
                    formula = {"sum": torch.sum, "mean": torch.mean, "amax": torch.amax, "argmax": torch.argmax,
                               "prod": torch.prod}[op]
                    eager = lambda x, o, f=formula: f(x)  # noqa: E731
                    if op == "argmax":
                        exact = lambda t: bool(t[0][t[1]] == t[0].max())  # noqa: E731
                else:
                    formula = lambda x, f=getattr(torch, op), d=dim: f(x, d)  # noqa: E731
                    eager = lambda x, o, f=getattr(torch, op), d=dim: f(x, d, out=o)  # noqa: E731
                    if op in ("argmax", "prod"):
                        eager = lambda x, o, f=formula: f(x)  # noqa: E731
                    if op == "argmax":
                        exact = lambda t, d=dim: torch.equal(  # noqa: E731
                            t[0].gather(d, t[1].unsqueeze(d)), t[0].amax(d, True))
                yield Case("reduce", op, f"{text(*sizes)} {name.split()[0]}", dtype,
                           n * size_of(dtype) + math.prod(left) * size_of(result), make,
                           (op, () if dim is None else (dim,)), 1, formula, {"torch": eager},
                           formula if " " not in name and (dtype == BF16 or op == "sum") else None, roof="read",
                           exact=exact)


# ---- order

def order():
    for dtype in (BF16, F32):
        for r, n, k in ((1, 128256, 50), (64, 128256, 64), (8192, 4096, 8), (16384, 256, 8), (16, 2**20, 256)):
            def top_right(t, k=k):
                expected = t[0].topk(k).values
                return torch.equal(t[1], expected) and torch.equal(t[0].gather(1, t[2]), expected)
            yield Case("topk", "topk", f"{text(r, n)}, k {k}", dtype,
                       r * n * size_of(dtype) + r * k * (size_of(dtype) + 8),
                       lambda r=r, n=n, k=k, d=dtype: [random(r, n, dtype=d), empty(r, k, dtype=d),
                                                       empty(r, k, dtype=torch.int64)],
                       ("topk", (k,)), 2, None, {"torch": lambda x, v, i, k=k: torch.topk(x, k, out=(v, i))},
                       roof="read", exact=top_right)
        for r, n in ((65536, 128), (2048, 8192), (16, 131072), (1, 2**20), (1, 2**24)):
            def order_right(t):
                return torch.equal(t[1], torch.sort(t[0], stable=True).indices)
            yield Case("sort", "argsort", text(r, n), dtype, r * n * (size_of(dtype) + 8),
                       lambda r=r, n=n, d=dtype: [random(r, n, dtype=d), empty(r, n, dtype=torch.int64)],
                       ("argsort", ()), 1, None, {"torch": lambda x, i: torch.argsort(x)}, exact=order_right)


# ---- products

def products():
    for dtype in (BF16, F32):
        for m, n in ((4096, 4096), (14336, 4096), (28672, 8192)):
            yield Case("linear", "mv", text(m, n), dtype, (m * n + m + n) * size_of(dtype),
                       lambda m=m, n=n, d=dtype: [random(m, n, dtype=d), random(n, dtype=d), empty(m, dtype=d)],
                       ("mv", ()), 1, torch.mv, {"torch": lambda a, x, o: torch.mv(a, x, out=o)},
                       torch.mv if dtype == BF16 else None, roof="read")
        for rows in (1, 2, 4, 8, 16):
            for n, k in ((4096, 4096), (28672, 4096), (4096, 14336), (128256, 4096)):
                if dtype == F32 and (rows not in (1, 8) or n != 4096) or rows == 2 and n != 28672:
                    continue
                yield Case("linear", "linear", f"{rows} x {k} to {n}", dtype, (n * k + rows * (n + k)) * size_of(dtype),
                           lambda r=rows, n=n, k=k, d=dtype: [random(r, k, dtype=d), random(n, k, dtype=d),
                                                              empty(r, n, dtype=d)],
                           ("linear", ()), 1, F.linear, {"torch": lambda x, w, o: torch.mm(x, w.t(), out=o)},
                           F.linear if rows == 1 and dtype == BF16 else None, roof="read")


def gemm():
    """Products of many rows: squares, shapes of models, other layouts, rows that are no whole vectors."""
    def operand(rows, columns, transposed, dtype):
        return random(columns, rows, dtype=dtype).t() if transposed else random(rows, columns, dtype=dtype)

    squares = [(x, x, x) for x in (512, 1024, 2048, 4096, 8192)]
    models = [(128, 7168, 2048), (128, 2112, 7168), (4096, 2112, 7168), (4096, 7168, 2048), (8192, 8192, 512),
              (512, 512, 16384), (64, 7168, 7168), (2048, 576, 1536)]
    odd = [(2047, 2047, 2047), (4096, 4095, 4096), (4096, 4096, 4095)]
    for dtype, layouts, shapes in ((BF16, ("NT",), squares + models + odd), (BF16, ("NN", "TN", "TT"), squares[2:4]),
                                   (F32, ("NT",), squares[:4] + models[2:4]), (F32, ("NN",), squares[2:3])):
        for layout in layouts:
            for m, n, k in shapes:
                yield Case("gemm", f"mm {layout}", text(m, n, k), dtype, (m * k + n * k + m * n) * size_of(dtype),
                           lambda m=m, n=n, k=k, x=layout, d=dtype: [
                               operand(m, k, x[0] == "T", d), operand(k, n, x[1] == "T", d), empty(m, n, dtype=d)],
                           ("mm", ()), 1, torch.mm, {"torch": lambda a, b, o: torch.mm(a, b, out=o)}, roof="read")


def attention():
    def make(b, h, kh, q, keys, d, dtype):
        return [random(b, h, q, d, dtype=dtype), random(b, kh, keys, d, dtype=dtype),
                random(b, kh, keys, d, dtype=dtype), empty(b, h, q, d, dtype=dtype)]

    def plain(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    def grouped(q, k, v, *_):  # the heads that share keys as rows of queries
        b, h, _, d = q.shape
        return F.scaled_dot_product_attention(q.view(b, k.shape[1], h // k.shape[1], d), k, v).reshape(b, h, 1, d)

    for b, keys, dtype in ((1, 1024, BF16), (1, 8192, BF16), (8, 8192, BF16), (64, 8192, BF16), (1, 65536, BF16),
                           (8, 8192, F32)):
        h, kh, d = 32, 8, 128
        yield Case("attention", "decode", f"{b} x {h}/{kh} heads, {keys} keys", dtype,
                   (2 * b * kh * keys * d + 2 * b * h * d) * size_of(dtype),
                   lambda b=b, n=keys, dtype=dtype: make(b, 32, 8, 1, n, 128, dtype), ("attention", (0,)), 1, plain,
                   {"torch": lambda q, k, v, o: plain(q, k, v), "torch, grouped": grouped}, roof="read")

    def by(backend, causal):
        def call(q, k, v, *_):
            with torch.nn.attention.sdpa_kernel([backend]):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] > k.shape[1])
        return call

    backends = torch.nn.attention.SDPBackend
    shapes = [(16384 // n, 2048 // d, 2048 // d, n, d) for d in (64, 128)
              for n in (512, 1024, 2048, 4096, 8192, 16384)]
    others = [(4, 32, 8, 4096, 128), (4, 21, 21, 4096, 96), (4, 10, 10, 4096, 192), (4, 8, 8, 4096, 256)]
    for causal in (False, True):
        for b, h, kh, n, d in shapes + others:
            heads = f"{h}/{kh}" if h > kh else f"{h}"
            yield Case("attention", "causal prefill" if causal else "prefill", f"{b} x {heads} heads of {d}, {n}", BF16,
                       2 * b * (h + kh) * n * d * size_of(BF16),
                       lambda b=b, h=h, kh=kh, n=n, d=d: make(b, h, kh, n, n, d, BF16), ("attention", (int(causal),)), 1,
                       lambda q, k, v, c=causal: F.scaled_dot_product_attention(q, k, v, is_causal=c, enable_gqa=True),
                       {"cudnn": by(backends.CUDNN_ATTENTION, causal), "flash": by(backends.FLASH_ATTENTION, causal)})

    aten = torch.ops.aten

    def make_gradients(b, h, kh, n, d, causal):
        q, k, v, grad = (random(b, heads, n, d) for heads in (h, kh, kh, h))
        out, logs = aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal)[:2]
        return [q, k, v, grad, out, logs, *(empty(b, heads, n, d, dtype=BF16) for heads in (h, kh, kh))]

    def gradients(causal):
        def call(q, k, v, grad, *_):
            inputs = [x.requires_grad_() for x in (q, k, v)]
            out = F.scaled_dot_product_attention(*inputs, is_causal=causal, enable_gqa=q.shape[1] > k.shape[1])
            return torch.autograd.grad(out, inputs, grad)
        return call

    def gradients_by_flash(causal):
        def call(q, k, v, grad, out, logs, *_):
            none, n = torch.empty(0, dtype=torch.int64, device="cuda"), q.shape[2]
            return aten._scaled_dot_product_flash_attention_backward(grad, q, k, v, out, logs, None, None, n, n, 0.0,
                                                                     causal, none, none)
        return call

    def gradients_by_cudnn(causal):
        def call(q, k, v, grad, out, logs, *_):
            none, n = torch.empty(0, dtype=torch.int64, device="cuda"), q.shape[2]
            return aten._scaled_dot_product_cudnn_attention_backward(grad, q, k, v, out, logs.unsqueeze(-1), none, none,
                                                                     None, None, None, n, n, 0.0, causal)
        return call

    for causal in (False, True):
        for b, h, kh, n, d in [*shapes, others[0]]:
            heads = f"{h}/{kh}" if h > kh else f"{h}"
            yield Case("attention", "causal backward" if causal else "backward", f"{b} x {heads} heads of {d}, {n}", BF16,
                       4 * b * (h + kh) * n * d * size_of(BF16),
                       lambda b=b, h=h, kh=kh, n=n, d=d, c=causal: make_gradients(b, h, kh, n, d, c),
                       ("attention_backward", (int(causal),)), 3, gradients(causal),
                       {"cudnn": gradients_by_cudnn(causal), "flash": gradients_by_flash(causal)})

    def masked(q, k, v, mask, *_):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def masked_by(backend):
        def call(*tensors):
            with torch.nn.attention.sdpa_kernel([backend]):
                return masked(*tensors)
        return call

    for is_bool in (True, False):
        for b, h, n, d in ((4, 16, 4096, 128), (4, 32, 4096, 64)):
            def make_masked(b=b, h=h, n=n, d=d, is_bool=is_bool):
                *inputs, out = make(b, h, h, n, n, d, BF16)
                mask = random(1, 1, n, n)
                return [*inputs, mask > -1 if is_bool else mask, out]
            yield Case("attention", "prefill, bool mask" if is_bool else "prefill, added mask",
                       f"{b} x {h} heads of {d}, {n}", BF16, (4 * b * h * n * d + n * n) * size_of(BF16), make_masked,
                       ("masked_attention", (int(is_bool),)), 1, masked,
                       {"cudnn": masked_by(backends.CUDNN_ATTENTION), "efficient":
                        masked_by(backends.EFFICIENT_ATTENTION)})
    yield from varlen_attention()
    yield from latent_attention()


def latent_attention():
    """Over latent keys in pages of 64, as DeepSeek's models decode and prefill; beside two products and a softmax."""
    d, dv, page = 576, 512, 64

    def make(batch, queries, heads, keys):
        pages = batch * keys // page
        table = torch.randperm(pages, generator=torch.Generator().manual_seed(1)).to(torch.int32).cuda()
        return [random(batch, queries, heads, d), random(pages, page, 1, d), table.view(batch, keys // page),
                torch.full((batch,), keys, device="cuda", dtype=torch.int32), empty(batch, queries, heads, dv)]

    def plain(q, cache, table, _):
        keys = cache[table.long()].flatten(1, 2).squeeze(2)  # [batch, keys, d]
        batch, queries, heads, _ = q.shape
        scores = torch.matmul(q.flatten(1, 2), keys.mT).float() * d ** -0.5
        if queries > 1:
            n = keys.shape[1]
            own = torch.arange(queries, device="cuda").repeat_interleave(heads) + n - queries
            scores = scores.masked_fill(torch.arange(n, device="cuda") > own[:, None], -torch.inf)
        return torch.matmul(scores.softmax(-1).to(keys.dtype), keys[..., :dv]).view(batch, queries, heads, dv)

    for heads in (128, 16):
        for batch, queries, keys in ((1, 1, 4096), (1, 1, 65536), (16, 1, 4096), (64, 1, 8192), (128, 1, 4096),
                                     (64, 2, 8192), (1, 2048, 2048)):
            if batch * queries * heads * keys > 2**30:  # of scores in memory
                continue
            yield Case("attention", "latent", f"{batch} x {queries} x {heads} heads, {keys} keys", BF16,
                       2 * (batch * keys * d + batch * queries * heads * (d + dv)),
                       lambda b=batch, n=queries, h=heads, k=keys: make(b, n, h, k), ("latent_attention", (1,)), 1, plain,
                       {"torch": lambda q, c, t, n, o: plain(q, c, t, n)}, roof="read")


def varlen_attention():
    uneven = [4096, 100, 2048, 300, 3000, 512, 1500, 200, 1000, 777, 128, 640, 411, 900, 350, 422]
    of_lengths = {"16 of 100 to 4096": uneven, "8 of 2048": [2048] * 8,
                  "64 of 64 to 448": [64 + 128 * (k % 4) for k in range(64)]}

    def make(lengths, h, kh, d):
        starts = torch.tensor([0, *lengths], device="cuda").cumsum(0).to(torch.int32)
        n = sum(lengths)
        return [random(n, h, d), random(n, kh, d), random(n, kh, d), starts, empty(n, h, d)]

    def reference(lengths, causal):
        def call(q, k, v, _):
            parts = [x.transpose(0, 1).split(lengths, 1) for x in (q, k, v)]
            return torch.cat([F.scaled_dot_product_attention(*x, is_causal=causal, enable_gqa=True)
                              for x in zip(*parts)], 1).transpose(0, 1)
        return call

    # (By cuDNN, PyTorch 2.11 makes a plan in each call, which takes 50 ms.)
    def by_flash(most, causal):
        return lambda q, k, v, starts, _: aten._flash_attention_forward(q, k, v, starts, starts, most, most, 0.0, causal,
                                                                        False)

    for causal in (False, True):
        for h, kh, d in ((32, 32, 64), (16, 16, 128), (32, 8, 128)):
            for name, lengths in of_lengths.items():
                heads, n, most = f"{h}/{kh}" if h > kh else f"{h}", sum(lengths), max(lengths)
                yield Case("attention", "causal varlen" if causal else "varlen", f"{heads} x {d}: {name}", BF16,
                           2 * n * (h + kh) * d * size_of(BF16),
                           lambda x=lengths, h=h, kh=kh, d=d: make(x, h, kh, d),
                           ("varlen_attention", (int(causal), most, -1, 0)), 1, reference(lengths, causal),
                           {"flash": by_flash(most, causal)})

    def make_gradients(lengths, h, kh, d, causal, left):
        q, k, v, starts, _ = make(lengths, h, kh, d)
        most = max(lengths)
        window = {"window_size_left": left, "window_size_right": 0} if left >= 0 else {}
        out, logs = aten._flash_attention_forward(q, k, v, starts, starts, most, most, 0.0, causal and left < 0, False,
                                                  **window)[:2]
        return [q, k, v, random(*q.shape), out, logs, starts, *(torch.full_like(x, math.nan) for x in (q, k, v))]

    def gradients(lengths, causal, left):  # by the definition
        def one(q, k, v):
            at = torch.arange(q.shape[1], device="cuda")
            away = at[:, None] - at
            k, v = (x.repeat_interleave(q.shape[0] // k.shape[0], 0) for x in (k, v))
            scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
            if causal:
                scores = scores.masked_fill((away < 0) | (away > (left if left >= 0 else len(at))), -math.inf)
            return scores.softmax(-1) @ v

        def call(q, k, v, grad, *_):
            each = zip(*(x.transpose(0, 1).split(lengths, 1) for x in (q, k, v, grad)))
            found = []
            for *inputs, g in each:
                inputs = [x.detach().requires_grad_() for x in inputs]
                found.append(torch.autograd.grad(one(*inputs), inputs, g))
            return tuple(torch.cat(x, 1).transpose(0, 1) for x in zip(*found))
        return call

    def gradients_by_flash(most, causal, left):
        window = {"window_size_left": left, "window_size_right": 0} if left >= 0 else {}

        def call(q, k, v, grad, out, logs, starts, *_):
            none = torch.empty(0, dtype=torch.int64, device="cuda")
            return aten._flash_attention_backward(grad, q, k, v, out, logs, starts, starts, most, most, 0.0,
                                                  causal and left < 0, none, none, **window)
        return call

    for causal, left in ((False, -1), (True, -1), (True, 512)):
        for h, kh, d in ((32, 32, 64), (16, 16, 128), (32, 8, 128)):
            for name, lengths in of_lengths.items():
                heads, n, most = f"{h}/{kh}" if h > kh else f"{h}", sum(lengths), max(lengths)
                if left >= 0:
                    name += ", window 512"
                yield Case("attention", "causal varlen backward" if causal else "varlen backward", f"{heads} x {d}: {name}",
                           BF16, 4 * n * (h + kh) * d * size_of(BF16),
                           lambda x=lengths, h=h, kh=kh, d=d, c=causal, w=left: make_gradients(x, h, kh, d, c, w),
                           ("varlen_backward", (int(causal), most, left)), 3, gradients(lengths, causal, left),
                           {"flash": gradients_by_flash(most, causal, left)})

    def scored(left, cap):  # causal, by the definition
        def one(q, k, v):
            at = torch.arange(q.shape[1], device="cuda")
            away = at[:, None] - at
            scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
            scores = cap * torch.tanh(scores / cap) if cap else scores
            return scores.masked_fill((away < 0) | (away > left), -math.inf).softmax(-1) @ v

        def call(q, k, v, _):
            parts = [x.transpose(0, 1).split(uneven, 1) for x in (q, k, v)]
            return torch.cat([one(*x) for x in zip(*parts)], 1).transpose(0, 1)
        return call

    most = max(uneven)

    def flash_window(left):
        return lambda q, k, v, x, _: aten._flash_attention_forward(q, k, v, x, x, most, most, 0.0, False, False,
                                                                   window_size_left=left, window_size_right=0)

    for name, left, cap in (("window 512", 512, 0), ("capped", most, 30), ("window 512, capped", 512, 30)):
        for h, d in ((32, 64), (16, 128)):
            yield Case("attention", "causal varlen", f"{h} x {d}: uneven, {name}", BF16, 4 * sum(uneven) * h * d * 2,
                       lambda h=h, d=d: make(uneven, h, h, d), ("varlen_attention", (1, most, left, cap)), 1,
                       scored(left, cap), {} if cap else {"flash": flash_window(left)})


GENERATORS = {"pointwise": pointwise, "fused": fused, "copy": copies, "lookup": lookups, "rope": rope, "cat": cats,
              "rows": rows, "training": training, "reduce": reductions, "order": order, "linear": products,
              "gemm": gemm, "attention": attention, "surface": surface.surface}


def select(families, match=None):
    found = [c for name, generate in GENERATORS.items() if not families or name in families for c in generate()]
    return [c for c in found if not match or all(m in c.key() for m in match)]
