#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Compares matrix products with OpenBLAS: builds gemm.cpp, runs both sides in turn in one process on the
same random buffers, prints one table, and writes bench/results/gemm-<name>.json.

    bench/compare/gemm.py --name epyc-avx2 --threads 1 2

The peer is a CBLAS library (Debian's libopenblas0-pthread). Where it does not know the processor, name its
kernels (OPENBLAS_CORETYPE=SKYLAKEX): it would fall back to those of 2004. With one thread the thread's
processor time counts, else the wall clock; on a busy machine the best times tell more than the medians.
"""
import argparse
import datetime
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def table(rows):
    print(f"{'type':5} {'form':4} {'m x n x k':>18} {'threads':>7} {'GFLOP/s':>9} {'best':>8} "
          f"{'of roof':>7} {'peer best':>9} {'ratio':>6}")
    for r in rows:
        size = f"{r['m']}x{r['n']}x{r['k']}"
        peer = r.get("peer_best_gflops")
        print(f"{r['type']:5} {r['form']:4} {size:>18} {r['threads']:7} {r['gflops']:9.1f} "
              f"{r['best_gflops']:8.1f} {r['share_of_roof']:7.0%} {peer or '':>9} "
              f"{r.get('ratio', ''):>6}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, help="of the result file")
    parser.add_argument("--peer", default="libopenblas.so.0")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--output", type=pathlib.Path,
                        help="lines that the program printed elsewhere, instead of running it")
    args = parser.parse_args()
    if args.output:
        text = args.output.read_text()
    else:
        with tempfile.TemporaryDirectory() as build:
            program = pathlib.Path(build) / "gemm"
            subprocess.run([args.cxx, "-std=c++20", "-O2", "-I", str(ROOT / "include"),
                            str(HERE / "gemm.cpp"), "-o", str(program), "-pthread", "-ldl"], check=True)
            text = subprocess.run([str(program), args.peer, *map(str, args.threads)], check=True,
                                  capture_output=True, text=True).stdout
    lines = [json.loads(line) for line in text.splitlines()]
    result = {"date": datetime.date.today().isoformat(), **lines[0],
              "roofs": [r for r in lines if "fma_roof_gflops" in r],
              "products": [r for r in lines if "type" in r]}
    table(result["products"])
    path = ROOT / "bench" / "results" / f"gemm-{args.name}.json"
    parts = [json.dumps(result["products"][k]) for k in range(len(result["products"]))]
    head = json.dumps({k: v for k, v in result.items() if k != "products"})
    path.write_text(head[:-1] + ', "products": [\n' + ",\n".join(parts) + "\n]}\n")


if __name__ == "__main__":
    main()
