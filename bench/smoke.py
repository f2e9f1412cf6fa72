#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Runs each benchmark once at its smallest size: every one must compare its result with a
reference, and find it right; with a planted error in the result, it must find it wrong.

    smoke.py PROGRAM
"""
import json
import math
import os
import re
import subprocess
import sys


def run(program, *arguments, **environment):
    done = subprocess.run([program, *arguments], capture_output=True, text=True,
                          env={**os.environ, **environment})
    if done.returncode:
        raise SystemExit(f"{program} {' '.join(arguments)[:200]}: exit status {done.returncode}\n"
                         f"{done.stderr[-3000:]}")
    return done.stdout


def smallest_of_each(names):
    """family/10/20/real_time: the instance of each family with the least product of sizes."""
    best = {}
    for name in names:
        parts = name.split("/")
        sizes = [int(p) for p in parts if p.isdigit()]
        family = "/".join(p for p in parts if not p.isdigit())
        work = math.prod(size + 1 for size in sizes)
        if family not in best or work < best[family][0]:
            best[family] = (work, name)
    return [name for _, name in best.values()]


def results(program, names, **environment):
    wanted = "|".join(re.sub(r"([.+*?()\[\]{}|^$\\])", r"\\\1", name) for name in names)
    text = run(program, f"--benchmark_filter=^({wanted})$", "--benchmark_min_time=0",
               "--benchmark_format=json", **environment)
    return {r["name"]: r for r in json.loads(text)["benchmarks"]}


def main():
    program = sys.argv[1]
    names = smallest_of_each(run(program, "--benchmark_list_tests").split("\n")[:-1])
    problems = []
    usual = results(program, names)
    spoilt = results(program, names, FLAGGEMS_BENCH_PLANT="1")
    for name in names:
        if name not in usual or name not in spoilt:
            problems.append(f"{name}: did not run")
        elif usual[name].get("error_occurred"):
            problems.append(f"{name}: {usual[name]['error_message']}")
        elif usual[name].get("checked") != 1:
            problems.append(f"{name}: does not check its result")
        elif not spoilt[name].get("error_occurred"):
            problems.append(f"{name}: does not notice a wrong result")
    print("\n".join(problems) or f"{len(names)} benchmarks run, and check their results")
    return 1 if problems or not names else 0


if __name__ == "__main__":
    sys.exit(main())
