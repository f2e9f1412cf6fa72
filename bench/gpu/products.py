#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Compares matrix products of many rows with PyTorch's (cuBLAS), in one process and run: TFLOP/s and their ratio.

    bench/gpu/products.py                     prints a table
    bench/gpu/products.py --match linear      only what has these words in its name
    bench/gpu/products.py --prepare 12        before that: fills NVRTC's cache, 12 processes at once
    bench/gpu/products.py --name h100         and writes bench/results/products-h100.txt

    bench/gpu/products.py --experts           products by groups of rows, and mixtures of experts
    bench/gpu/products.py --tutorial --name h100    f16 beside Triton's tutorial as well: results/tutorial-h100.txt

bf16, f32 and f64 in full precision, and 8-bit integers and floats. NT: a is [m, k], b [n, k]; N and T say whether a is
as it is and b transposed, as BLAS does. Scales: of tensors, of rows and columns, of blocks of 128; "fast" where sums may
be the matrix unit's alone.
"""
import argparse
import datetime
import math
import os
import pathlib
import subprocess
import sys

import run

ROOT = run.ROOT
SQUARES = (512, 1024, 2048, 4096, 8192)
# What models multiply: few and many rows, narrow results, short and long sums.
SHAPES = ((64, 7168, 7168), (128, 576, 7168), (128, 2112, 7168), (128, 7168, 2048), (128, 7168, 16384),
          (256, 256, 8192), (512, 512, 16384), (512, 4096, 4096), (4096, 576, 7168), (4096, 2112, 7168),
          (4096, 4096, 7168), (4096, 7168, 2048), (4096, 7168, 16384), (4096, 24576, 1536), (4096, 32768, 512),
          (4096, 1536, 24576), (4096, 512, 32768), (4096, 7168, 256), (7168, 4096, 16384), (8192, 8192, 512))
LAYOUTS = ("NT", "NN", "TN", "TT")
# In full precision, and of bf16 by warps alone, as before sm_90.
FILLED = ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (512, 4096, 4096),
          (4096, 2112, 7168), (4096, 7168, 2048), (8192, 8192, 512))
# Of gated layers: the second size is that of their results.
GATED = ((512, 14336, 4096), (2048, 14336, 4096), (4096, 14336, 4096), (2048, 4864, 896), (4096, 2048, 7168))
# Of 8 bits.
SMALL = ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (128, 7168, 16384),
         (512, 4096, 4096), (4096, 2112, 7168), (4096, 7168, 2048))


def products(operands, torch):
    import torch.nn.functional as F
    dtype = operands.BF16

    def case(op, m, n, k, layout="NT", batch=(), operation="mm", added=None, reference=None, peer=None, dtype=dtype):
        def make():
            a = operands.random(*batch, *((m, k) if layout[0] == "N" else (k, m)), dtype=dtype)
            b = operands.random(*batch, *((k, n) if layout[1] == "N" else (n, k)), dtype=dtype)
            a = a if layout[0] == "N" else a.mT
            b = b if layout[1] == "N" or operation.startswith("linear") else b.mT
            return [a, b, *([operands.random(*added)] if added else []), operands.empty(*batch, m, n, dtype=dtype)]
        size = math.prod(batch) * operands.size_of(dtype) * (m * k + n * k + m * n)
        found = operands.Case("products", op, f"{operands.text(*batch, m, n, k)} {layout}", dtype, size, make, (operation, ()),
                           1, reference, {"torch": peer})
        found.operations = 2 * math.prod(batch) * m * n * k
        return found

    def mm(m, n, k, layout, op="mm", operation="mm", dtype=dtype):
        found = case(op, m, n, k, layout, operation=operation, reference=torch.mm, dtype=dtype,
                     peer=lambda a, b, o: torch.mm(a, b, out=o))
        if dtype != operands.BF16:
            found.exact = lambda t: float((t[2] - t[0].double() @ t[1].double()).norm() / t[2].double().norm()) < (
                1e-5 if dtype == operands.F32 else 1e-13)
        return found

    def stored(m, n, k):  # and what gelu is given, as training needs it
        found = case("gelu, sums stored", m, n, k, operation="linear_gelu_stored",
                     reference=lambda x, w, b: (F.linear(x, w, b), F.gelu(F.linear(x, w, b))),
                     peer=lambda x, w, b, h, o: torch.ops.aten.gelu.out(torch.addmm(b, x, w.t(), out=h), out=o))
        found.make = lambda: [operands.random(m, k), operands.random(n, k), operands.random(n), operands.empty(m, n),
                              operands.empty(m, n)]
        found.results = 2
        return found

    def gated(m, n, k):  # of n pairs of columns; the other side's are halves of a row, which its second kernel likes best
        import triton_kernels
        found = case("silu(gate) * up", m, n, k, operation="linear_gated",
                     reference=lambda x, w: F.silu(F.linear(x, w[::2])) * F.linear(x, w[1::2]),
                     peer=lambda x, w, o: triton_kernels.gate(torch.mm(x, w.t()), o))
        found.make = lambda: [operands.random(m, k), operands.random(2 * n, k), operands.empty(m, n)]
        found.bytes, found.operations = 2 * (m * k + 2 * n * k + m * n), 4 * m * n * k
        return found

    for size in SQUARES:
        for layout in LAYOUTS:
            yield mm(size, size, size, layout)
    for shape in SHAPES:
        yield mm(*shape, "NT")
    for shape in ((4096, 1536, 24576), (7168, 4096, 16384), (4096, 7168, 2048), (1024, 4096, 4096)):
        for layout in LAYOUTS[1:]:
            yield mm(*shape, layout)
    # A result whose rows are not whole vectors, and one that is transposed.
    yield mm(4096, 4095, 4096, "NT")
    for b, m, n, k in ((32, 512, 512, 512), (16, 2048, 2048, 128), (64, 128, 2048, 256)):
        yield case("bmm", m, n, k, "NN", (b,), "bmm", None, torch.bmm, lambda x, y, o: torch.bmm(x, y, out=o))
    for m, n, k in ((512, 4096, 4096), (2048, 2048, 2048), (4096, 4096, 4096), (4096, 7168, 2048), (8192, 8192, 512)):
        yield case("linear + bias", m, n, k, operation="linear_bias", added=(n,), reference=F.linear,
                   peer=lambda x, w, b, o: torch.addmm(b, x, w.t(), out=o))
        yield case("gelu(linear + bias)", m, n, k, operation="linear_gelu", added=(n,),
                   reference=lambda x, w, b: F.gelu(F.linear(x, w, b)),
                   peer=lambda x, w, b, o: torch.ops.aten.gelu.out(torch.addmm(b, x, w.t()), out=o))
        yield case("addmm", m, n, k, operation="addmm", added=(m, n), reference=lambda a, b, c: torch.addmm(c, a, b),
                   peer=lambda a, b, c, o: torch.addmm(c, a, b, out=o))
        yield case("linear + residual", m, n, k, operation="linear_residual", added=(m, n),
                   reference=lambda x, w, r: F.linear(x, w) + r,
                   peer=lambda x, w, r, o: torch.add(torch.mm(x, w.t()), r, out=o))
        yield stored(m, n, k)
    for shape in GATED:
        yield gated(*shape)
    for m, n, k in FILLED:
        yield mm(m, n, k, "NT", "mm by mma.sync", "mm_by_warps")
    for op, operation, dtype in (("mm f32", "mm", operands.F32), ("mm f64", "mm_f64", operands.F64)):
        for m, n, k in FILLED:
            yield mm(m, n, k, "NT", op, operation, dtype)
        for layout in LAYOUTS[1:]:
            yield mm(4096, 4096, 4096, layout, op, operation, dtype)
    yield from quantized(operands, torch)


def quantized(operands, torch):
    def case(op, m, n, k, dtype, make, operation, numbers, reference, peer):
        found = operands.Case("products", op, f"{operands.text(m, n, k)} NT", dtype, m * k + n * k + 2 * m * n, make,
                           (operation, numbers), 1, reference, {"torch": peer} if peer else {})
        found.operations = 2 * m * n * k
        return found

    def tf32(a, b, out):
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.mm(a, b, out=out)
        torch.backends.cuda.matmul.allow_tf32 = False

    def near(tensors):
        a, b, out = tensors
        return float((out - a.double() @ b.double()).norm() / out.double().norm()) < 1e-3

    for m, n, k in SMALL:
        found = case("mm tf32", m, n, k, operands.F32,
                     lambda m=m, n=n, k=k: [operands.random(m, k, dtype=operands.F32), operands.random(n, k, dtype=operands.F32).t(),
                                            operands.empty(m, n, dtype=operands.F32)],
                     "mm_tf32", (), torch.mm, tf32)
        found.bytes, found.exact = 4 * (m * k + n * k + m * n), near
        yield found

    def scale(*sizes):
        return operands.uniform(*sizes, dtype=operands.F32) + 0.5

    def scaled(a, b, by_a, by_b):
        return (a @ b) * by_a * by_b

    def blocks(a, by_a, b, by_b):
        def each(x, by, lines):
            return x * by.repeat_interleave(lines, 0)[:x.shape[0]].repeat_interleave(128, 1)[:, :x.shape[1]]
        return each(a, by_a, 1) @ each(b, by_b, 128).t()

    def elements(*sizes):
        return operands.random(*sizes, dtype=operands.F8)

    for m, n, k in SMALL:
        for rows in (False, True):
            for fast in (False, True):
                yield case(f"scaled_mm {'rows' if rows else 'tensor'}{' fast' if fast else ''}", m, n, k, operands.F8,
                           lambda m=m, n=n, k=k, r=rows: [elements(m, k), elements(n, k).t(), scale(m if r else 1, 1),
                                                          scale(1, n if r else 1), operands.empty(m, n)],
                           "scaled_mm", (float(fast),), scaled,
                           lambda a, b, s, t, o, f=fast: torch._scaled_mm(a, b, s, t, out_dtype=operands.BF16,
                                                                          use_fast_accum=f, out=o))
        yield case("fp8_matmul", m, n, k, operands.F8,
                   lambda m=m, n=n, k=k: [elements(m, k), scale(m, k // 128), elements(n, k),
                                          scale(-(-n // 128), k // 128), operands.empty(m, n)],
                   "fp8_matmul", (), blocks, None)
        yield case("int_mm", m, n, k, operands.I8,
                   lambda m=m, n=n, k=k: [operands.integers(255, m, k).sub(127).to(operands.I8),
                                          operands.integers(255, n, k).sub(127).to(operands.I8).t(),
                                          operands.empty(m, n, dtype=torch.int32)],
                   "int_mm", (), lambda a, b: a.double() @ b.double(), lambda a, b, o: torch._int_mm(a, b, out=o))


# Experts as models have them: how many, those of a token, hidden elements, and those between the products.
EXPERTS = ((32, 8, 7168, 2048), (128, 8, 4096, 1536), (64, 6, 2048, 1408))


def experts(operands, torch):
    """Products by groups of rows, beside PyTorch's own, and whole mixtures of experts, beside a loop over experts."""
    import torch.nn.functional as F

    def ends_of(groups, rows):  # of uneven groups
        shares = torch.rand(groups, generator=torch.Generator().manual_seed(1)) + 0.1
        ends = (shares.cumsum(0) / shares.sum() * rows).to(torch.int32)
        ends[-1] = rows
        return ends.cuda()

    def by_group(a, b, ends):
        return torch.cat([x @ y for x, y in zip(a.tensor_split(ends[:-1].long().cpu()), b)])

    def case(op, shape, dtype, size, operations, make, operation, reference, peers, peers_ask=False):
        found = operands.Case("products", op, shape, dtype, size, make, (operation, ()), 1, reference, peers,
                              peers_ask=peers_ask)
        found.operations = operations
        return found

    def elements(*sizes):
        return operands.random(*sizes, dtype=operands.F8)

    def scale(*sizes):
        return (operands.uniform(*sizes, dtype=operands.F32) + 0.5) / 16

    for groups, _, k, n in EXPERTS:
        for rows in (16 * groups, 64 * groups, 256 * groups):
            shape, work = f"{groups} groups of {rows // groups}x{n}x{k}", 2 * rows * n * k
            yield case("grouped_mm", shape, operands.BF16, 2 * (rows * k + groups * n * k + rows * n), work,
                       lambda r=rows, g=groups, n=n, k=k: [operands.random(r, k), operands.random(g, n, k).mT, ends_of(g, r),
                                                           operands.empty(r, n)],
                       "grouped_mm", by_group, {"torch": lambda a, b, ends, o: torch._grouped_mm(a, b, offs=ends)})
            yield case("scaled_grouped_mm", shape, operands.F8, rows * k + groups * n * k + 2 * rows * n, work,
                       lambda r=rows, g=groups, n=n, k=k: [elements(r, k), elements(g, n, k).mT, scale(r), scale(g, n),
                                                           ends_of(g, r), operands.empty(r, n)],
                       "scaled_grouped_mm",
                       lambda a, b, s, t, ends: by_group(a * s[:, None], b * t[:, None], ends),
                       {"torch": lambda a, b, s, t, ends, o: torch._scaled_grouped_mm(a, b, s, t, offs=ends,
                                                                                      out_dtype=operands.BF16)})

    def each_expert(x, w1, w2, weights, ids):
        out = torch.zeros_like(x)
        for e in range(len(w1)):
            tokens, which = torch.where(ids == e)
            gate, up = (x[tokens] @ w1[e].t()).chunk(2, -1)
            out.index_add_(0, tokens, (F.silu(gate) * up @ w2[e].t() * weights[tokens, which][:, None]).to(out.dtype))
        return out

    def numbers(w, by):  # of weights with scales of blocks
        by = by.repeat_interleave(128, 1)[:, :w.shape[1]].repeat_interleave(128, 2)[:, :, :w.shape[2]]
        return (w.float() * by).to(operands.BF16)

    for count, chosen, k, n in EXPERTS:
        for tokens in (16, 256, 4096):
            def routing(tokens=tokens, count=count, chosen=chosen):
                found = torch.rand(tokens, count, device="cuda", generator=operands.generator()).topk(chosen)
                return found.values, found.indices.to(torch.int32)

            def make(tokens=tokens, count=count, k=k, n=n, routing=routing):
                return [operands.random(tokens, k) / 8, operands.random(count, 2 * n, k) / 32,
                        operands.random(count, k, n) / 32, *routing(), operands.empty(tokens, k)]

            def make_f8(tokens=tokens, count=count, k=k, n=n, routing=routing):
                return [operands.random(tokens, k) / 8, elements(count, 2 * n, k), elements(count, k, n), *routing(),
                        scale(count, 2 * n // 128, k // 128), scale(count, k // 128, n // 128), operands.empty(tokens, k)]

            shape, work = f"{tokens} tokens, {chosen} of {count}, {k}, {n}", 6 * tokens * chosen * k * n
            used = min(count, tokens * chosen) * 3 * k * n
            yield case("fused_experts", shape, operands.BF16, 2 * (used + 2 * tokens * k), work, make, "fused_experts",
                       each_expert, {"torch": lambda x, w1, w2, w, ids, o: each_expert(x, w1, w2, w, ids)}, peers_ask=True)
            found = case("fused_experts f8", shape, operands.F8, used + 4 * tokens * k, work, make_f8, "fused_experts_f8",
                         None, {"torch": lambda x, w1, w2, w, ids, s1, s2, o: each_expert(
                             x, numbers(w1, s1), numbers(w2, s2), w, ids)}, peers_ask=True)

            def near(tensors):  # activations are rounded to 8 bits, so errors are those of e4m3
                x, w1, w2, w, ids, s1, s2, out = tensors
                want = each_expert(x, numbers(w1, s1), numbers(w2, s2), w, ids).float()
                return float((out.float() - want).norm() / want.norm()) < 0.06

            found.exact = near
            yield found


def tutorial(operands, torch):
    """Of each square: TFLOP/s and the largest error of ours, Triton's and cuBLAS's."""
    import triton_kernels
    for n in (1024, 2048, 4096):
        found = operands.Case("products", "mm f16", f"{operands.text(n, n, n)} NN", operands.F16, 6 * n * n,
                           lambda n=n: [operands.random(n, n, dtype=operands.F16),
                                        operands.random(n, n, dtype=operands.F16),
                                        operands.empty(n, n, dtype=operands.F16)], ("mm_f16", ()), 1, torch.mm,
                           {"triton": triton_kernels.product, "torch": lambda a, b, o: torch.mm(a, b, out=o)},
                           exact=lambda t: bool((t[2].double() - t[0].double() @ t[1].double()).abs().max() < 0.5))
        found.operations = 2 * n ** 3
        yield found


def tutorial_lines(operands, torch, measure, library, arguments):
    yield f"{'m = n = k':>9} | {'ours':>7} {'Triton':>7} {'cuBLAS':>7} TFLOP/s | {'ours':>8} {'Triton':>8} {'cuBLAS':>8} largest error"
    arguments.triton = True
    for case in tutorial(operands, torch):
        row = measure.measure(case, library, None, arguments)
        seconds = [row["seconds"], *(row["peers"][k]["seconds"] for k in ("triton", "torch"))]
        rates = [case.operations / s * 1e-12 if s else math.nan for s in seconds]
        a, b, out = case.make()
        precise, errors = a.double() @ b.double(), []
        for call in (library.bind(case, [a, b, out]), *(lambda k=k: case.eager[k](a, b, out) for k in ("triton", "torch"))):
            out.fill_(math.nan)
            call()
            torch.cuda.synchronize()
            errors.append(float((out.double() - precise).abs().max()))
        yield (f"{a.shape[0]:9} | " + " ".join(f"{x:7.1f}" for x in rates) + "         | "
               + " ".join(f"{x:8.4f}" for x in errors) + f"  {row['error']}")


def line(case, row):
    ours, peer = row["seconds"], row["peers"].get("torch", {}).get("seconds")
    rate = [case.operations / s * 1e-12 if s else math.nan for s in (ours, peer)]
    return (f"{case.op:20} {case.shape:24} {(ours or math.nan) * 1e6:9.2f} us {rate[0]:6.1f} | {rate[1]:6.1f} "
            f"{rate[0] / rate[1]:6.3f}  {row['error']}"), rate[0] / rate[1]


def save(name, lines):
    if name:
        (ROOT / "bench/results" / name).write_text(
            "\n".join(["# SPDX-FileCopyrightText: 2026 The flaggems authors", "# SPDX-License-Identifier: Apache-2.0",
                       *lines]) + "\n")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--match", nargs="+", help="words in the names of the cases")
    parser.add_argument("--quantized", action="store_true", help="only what is of 8 bits, and tf32")
    parser.add_argument("--experts", action="store_true", help="only products by experts")
    parser.add_argument("--tutorial", action="store_true", help="only f16, beside Triton's kernel")
    parser.add_argument("--name", help="of the machine: writes bench/results/products-NAME.txt")
    parser.add_argument("--prepare", type=int, default=0)
    parser.add_argument("--share", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/gpu")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    arguments.host, arguments.compile, arguments.triton, arguments.without_peers = False, False, False, False
    run.environment(arguments)
    path = run.build(arguments, ROOT, arguments.build)
    import torch
    import operands
    import measure
    torch.backends.cuda.matmul.allow_tf32 = False
    which = (tutorial if arguments.tutorial else experts if arguments.experts
             else quantized if arguments.quantized else products)
    chosen = [c for c in which(operands, torch) if not arguments.match or all(m in c.key() for m in arguments.match)]
    if arguments.prepare:
        command = [sys.executable, __file__, "--build", str(arguments.build)]
        command += ["--match", *arguments.match] if arguments.match else []
        command += ["--quantized"] if arguments.quantized else []
        command += ["--experts"] if arguments.experts else []
        shares = [subprocess.Popen([*command, "--share", str(k), str(arguments.prepare)])
                  for k in range(arguments.prepare)]
        return max(p.wait() for p in shares)
    library = measure.Library(path)
    if library.reason:
        sys.exit(library.reason)
    if arguments.share:
        index, count = arguments.share
        for case in chosen[index::count]:
            measure.warm(case, library, None, arguments)
            torch.cuda.empty_cache()
        return 0
    versions = run.versions(torch)
    head = [f"# bench/gpu/products.py, {datetime.date.today().isoformat()}.",
            f"# {versions['gpu']}, driver {versions['driver']}, NVRTC {versions.get('nvrtc', '?')}, {versions['cxx']}, "
            f"torch {versions['torch']}.",
            "# Columns: operator, m x n x k, ours: us, TFLOP/s | PyTorch's TFLOP/s, ours over its."]
    if arguments.tutorial:
        head = [head[0].replace(".py", ".py --tutorial"), head[1] + f", Triton {versions['triton']}",
                "# f16, random normal numbers; errors are of a product in f64."]
    print("\n".join(head), flush=True)
    if arguments.tutorial:
        found = []
        for text in tutorial_lines(operands, torch, measure, library, arguments):
            found.append(text)
            print(text, flush=True)
        return save(arguments.name and f"tutorial-{arguments.name}.txt", [*head, *found])
    lines, ratios, failed = [], [], False
    for case in chosen:
        row = measure.measure(case, library, None, arguments)
        text, ratio = line(case, row)
        lines.append(text)
        failed = failed or bool(row["error"])
        if math.isfinite(ratio):
            ratios.append(ratio)
        print(text, flush=True)
    if ratios:
        lines.append(f"# Geometric mean of {len(ratios)} ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
        print(lines[-1])
    return save(arguments.name and f"products-{arguments.name}.txt", [*head, *lines]) or int(failed)


if __name__ == "__main__":
    sys.exit(main())
