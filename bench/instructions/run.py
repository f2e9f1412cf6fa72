#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The instructions of hot kernels, counted by callgrind, against those in counts.json.

    run.py              prints the table
    run.py --check      fails when a kernel executes over 10 % more than its recorded count
    run.py --update     records the counts of this compiler
    run.py --self-test  fails unless the check finds a planted growth, and only there

One thread, at the AVX2 level (valgrind knows no higher one), so that the counts are those of the
compiler, not of the machine: the file has counts for each version of a compiler. Exit status 77:
valgrind is missing, or the file knows nothing of this compiler.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COUNTS = HERE / "counts.json"
GROWTH = 1.10
CALLS = 10
SKIPPED = 77


def build(compiler, folder):
    program = pathlib.Path(folder) / "kernels"
    subprocess.run([compiler, "-std=c++20", "-O2", "-DFLAGGEMS_MAX_ISA=1", "-I",
                    str(ROOT / "include"), str(HERE / "kernels.cpp"), "-pthread", "-o",
                    str(program)], check=True)
    return program


def lines_of(program, *arguments):
    return subprocess.run([str(program), *arguments], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def instructions(program, kernel, calls=CALLS):
    """What `calls` calls of a kernel execute, a call."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=measured",
             f"--callgrind-out-file={out}", str(program), kernel, str(calls)],
            capture_output=True, text=True,
            env={**os.environ, "FLAGGEMS_ISA": "avx2", "FLAGGEMS_NUM_THREADS": "1"})
        if done.returncode:
            raise SystemExit(f"{kernel}: {done.stderr[-2000:]}")
        total = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.M)
        if not total or int(total.group(1)) == 0:
            raise SystemExit(f"{kernel}: callgrind counted nothing\n{done.stderr[-2000:]}")
        return int(total.group(1)) // CALLS


def count_all(program, kernels):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(lambda kernel: instructions(program, kernel), kernels)
        return dict(zip(kernels, counts))


def grown(counts, recorded):
    """What is wrong with the counts, a line each."""
    problems = [f"{kernel}: no recorded count" for kernel in counts if kernel not in recorded]
    problems += [f"{kernel}: recorded, but no longer there" for kernel in recorded
                 if kernel not in counts]
    for kernel, new in counts.items():
        old = recorded.get(kernel)
        if old and new > old * GROWTH:
            problems.append(f"{kernel}: {old} instructions became {new}, {new / old - 1:+.1%} "
                            f"(at most {GROWTH - 1:+.0%})")
    return problems


def self_test(program, kernels):
    """One call more of ten is a tenth, two are a fifth more: the second must be found."""
    kernel = kernels[0]
    usual = instructions(program, kernel)
    problems = []
    if instructions(program, kernel) > usual * 1.01:
        problems.append("the same program does not give the same count")
    if grown({kernel: instructions(program, kernel)}, {kernel: usual}):
        problems.append("an unchanged kernel is said to have grown")
    said = grown({kernel: instructions(program, kernel, CALLS + 2)}, {kernel: usual})
    if len(said) != 1 or kernel not in said[0] or str(usual) not in said[0]:
        problems.append(f"a growth of 20 % is reported as {said}")
    if len(grown({kernel: usual}, {})) != 1 or len(grown({}, {kernel: usual})) != 1:
        problems.append("a kernel without a count, or a count without a kernel, goes unnoticed")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--program", help="kernels.cpp, compiled with -O2 -DFLAGGEMS_MAX_ISA=1")
    parser.add_argument("--cxx", default="g++", help="compiles it if there is no --program")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("skipped: no valgrind")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        program = options.program or build(options.cxx, folder)
        compiler, kernels = lines_of(program, "--compiler")[0], lines_of(program)
        if options.self_test:
            problems = self_test(program, kernels)
            print("\n".join(problems) or "the check finds a planted growth")
            return 1 if problems else 0
        counts = count_all(program, kernels)
    everything = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    recorded = everything.get(compiler)
    print(f"{compiler:40}{'recorded':>12}{'now':>12}")
    for kernel, new in counts.items():
        old = (recorded or {}).get(kernel)
        print(f"{kernel:40}{old or '':>12}{new:>12}{f'  {new / old - 1:+.1%}' if old else ''}")
    if options.update:
        everything[compiler] = counts
        COUNTS.write_text(json.dumps(everything, indent=2, sort_keys=True) + "\n")
        return 0
    if recorded is None:
        print(f"skipped: {COUNTS.name} has no counts of {compiler}, but of "
              f"{', '.join(everything) or 'none'}; run.py --update adds them")
        return SKIPPED if options.check else 0
    problems = grown(counts, recorded)
    if problems:
        print("\n".join(problems) + "\nIf the growth is meant: bench/instructions/run.py --update")
    return 1 if problems and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
