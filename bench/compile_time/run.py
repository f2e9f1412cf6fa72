#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""What including the library costs: user time of `g++ -O2 -c`, median of several runs.

    run.py              prints the table
    run.py --check      fails when a time is over its budget by more than 20 %

Seconds differ between machines, so a budget is checked as a ratio to reference.cpp, a fixed program
of the standard library only, compiled in the same run, interleaved with the others.
"""
import argparse
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SLACK = 1.2
# User seconds of reference.cpp on the machine the budgets were set for (2 cores, Zen 4, g++ 12.2).
REFERENCE_SECONDS = 1.1
# file: (what it is, budget in seconds on that machine)
BUDGETS = {
    "view.cpp": ("view header", 0.35),
    "operator.cpp": ("one operator", 0.8),
    "umbrella.cpp": ("umbrella", 1.0),
    "ten_operators.cpp": ("program that calls 10 operators", 6.0),
}


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr[:3000]}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def measure(compiler, names, repeat):
    times = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.o"
        for _ in range(repeat):
            for name in names:
                times[name].append(user_seconds([
                    compiler, "-std=c++20", "-O2", "-I", str(ROOT / "include"), "-c",
                    str(HERE / name), "-o", str(out)]))
    return {name: statistics.median(values) for name, values in times.items()}


def lines_of(compiler, name):
    done = subprocess.run([compiler, "-std=c++20", "-I", str(ROOT / "include"), "-E", "-P",
                           str(HERE / name)], capture_output=True, text=True, check=True)
    return len(re.findall(r"\n", done.stdout))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    names = [name for name in BUDGETS if (HERE / name).exists()]
    median = measure(options.cxx, ["reference.cpp", *names], options.repeat)
    reference = median["reference.cpp"]
    print(f"{'':34}{'user s':>8}{'ratio':>8}{'budget':>8}{'limit':>8}{'lines':>9}")
    print(f"{'reference (std only)':34}{reference:8.2f}{1:8.2f}{'':16}"
          f"{lines_of(options.cxx, 'reference.cpp'):9}")
    over = []
    for name in names:
        what, budget = BUDGETS[name]
        ratio, allowed = median[name] / reference, budget / REFERENCE_SECONDS
        late = ratio > allowed * SLACK
        if late:
            over.append(what)
        print(f"{what:34}{median[name]:8.2f}{ratio:8.2f}{allowed:8.2f}{allowed * SLACK:8.2f}"
              f"{lines_of(options.cxx, name):9}{'  OVER' if late else ''}")
    if over:
        print(f"over budget: {', '.join(over)}")
    return 1 if over and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
