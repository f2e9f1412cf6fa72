#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles callables.cpp at every optimisation level, without a diagnostic, and runs it at every
level of the host that this machine has: a callable that is not inlined must give the same numbers.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OPTIMISATIONS = ["-O0", "-Og", "-Os", "-O1", "-O2", "-O3"]
LEVELS = ["baseline", "avx2", "avx512", "avx512_bf16", "amx"]


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def check(compiler, optimisation, build):
    """What is wrong, as lines."""
    name = f"{pathlib.Path(compiler).name} {optimisation}"
    binary = build / name.replace(" ", "")
    made = run([compiler, "-std=c++20", optimisation, "-Wall", "-Wextra", "-DFLAGGEMS_EMBED=0", "-pthread",
                "-I", str(ROOT / "include"), str(HERE / "callables.cpp"), "-o", str(binary)])
    if made.returncode or made.stdout:
        return [f"{name}: {line}" for line in made.stdout.splitlines()[:20] or ["no program"]]
    problems, levels = [], []
    for level in LEVELS:
        ran = run([str(binary)], env={**os.environ, "FLAGGEMS_ISA": level})
        if "FLAGGEMS_ISA" in ran.stdout:
            continue  # a level that the processor lacks
        levels.append(level)
        if ran.returncode or ran.stdout:
            problems += [f"{name}, {level}: {line}"
                         for line in ran.stdout.splitlines() or [f"exit status {ran.returncode}"]]
    if not levels:
        problems.append(f"{name}: ran at no level")
    print(f"{name}: {' '.join(levels)}, {len(problems)} problems", flush=True)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cxx", action="append", required=True)
    args = parser.parse_args()
    missing = [c for c in args.cxx if not shutil.which(c)]
    if missing:
        print("missing:", *missing)
        return 77
    args.build.mkdir(parents=True, exist_ok=True)
    problems = [p for c in args.cxx for o in OPTIMISATIONS for p in check(c, o, args.build)]
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
