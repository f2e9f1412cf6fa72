#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""What including the library costs: user time of `g++ -O2 -c`, median of several runs.

    run.py              prints the table
    run.py --check      fails when a time is over its budget by more than 20 %
    run.py --markdown docs/use.md   measures by level, and writes the table of that page anew

Seconds differ between machines, and on one machine from minute to minute, so a budget is checked as
a ratio to a fixed program of the standard library only, of the same kind: most of reference.cpp's
time goes by reading headers, most of reference_code.cpp's by making code. (A machine may do the one
twice as fast as another and the other 1.4 times.) It is the median over runs, each divided by the
mean of the reference's times right before and after it. What is over is compiled several times
more, and the median of all its runs decides.
"""
import argparse
import atexit
import functools
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
# Their user seconds on the machine the budgets were set for (2 cores, Zen 4, g++ 12.2); the second
# by what they take on another, so that as much growth is allowed as when the first was for all.
REFERENCES = {"reference.cpp": 1.1, "reference_code.cpp": 2.75}
# file: (what it is, budget in seconds on that machine, reference)
BUDGETS = {
    "view.cpp": ("view header", 0.3, "reference.cpp"),
    "operator.cpp": ("one operator", 0.5, "reference.cpp"),
    "umbrella.cpp": ("umbrella", 2.1, "reference.cpp"),
    "pointwise.cpp": ("program with an addition", 1.6, "reference_code.cpp"),
    "rows.cpp": ("program with a softmax", 2.2, "reference_code.cpp"),
    "reduction.cpp": ("program with a sum", 2.3, "reference_code.cpp"),
    "ten_operators.cpp": ("program that calls 10 operators", 5.4, "reference_code.cpp"),
    "product.cpp": ("program with a product", 3.8, "reference_code.cpp"),
    "attention.cpp": ("program with attention", 3.9, "reference_code.cpp"),
    "topk.cpp": ("program with a topk", 2.75, "reference_code.cpp"),
    "model.cpp": ("program with files, norm, linear, gelu, softmax, topk", 10.3, "reference_code.cpp"),
}
# The same with flaggems::compiled, which has most of what these programs call, and with the umbrella precompiled.
COMPILED = "compiled "
PRECOMPILED = "precompiled "
WITH_LIBRARY = {"pointwise.cpp": 0.65, "rows.cpp": 0.65, "reduction.cpp": 0.8, "ten_operators.cpp": 2.3,
                "product.cpp": 1.0, "attention.cpp": 1.25, "topk.cpp": 1.0, "model.cpp": 3.1}
CHECKED = BUDGETS | {COMPILED + name: (BUDGETS[name][0] + ", compiled", budget, BUDGETS[name][2])
                     for name, budget in WITH_LIBRARY.items()}
CHECKED[PRECOMPILED + "umbrella.cpp"] = ("umbrella, precompiled", 0.3, "reference.cpp")


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr[:3000]}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@functools.cache
def precompiled(compiler, *options):
    """The options that take the umbrella from a precompiled header, which lives as long as this program."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    header = pathlib.Path(folder.name) / "umbrella.hpp"
    header.write_text("#include <flaggems/flaggems.hpp>\n")
    subprocess.run([compiler, "-std=c++20", "-O2", *options, "-I", str(ROOT / "include"), "-x", "c++-header",
                    str(header), "-o", f"{header}.gch"], check=True)
    return [*options, "-Winvalid-pch", "-Werror", "-include", str(header)]


def source_of(name):
    return HERE / name.removeprefix(COMPILED).removeprefix(PRECOMPILED)


def measure(compiler, reference, groups, runs):
    """Compiles groups of files, their reference around each; runs[name] gets (seconds, ratio)."""
    def seconds(name):
        flags = ["-DFLAGGEMS_COMPILED=1"] if name.startswith(COMPILED) else []
        if name.startswith(PRECOMPILED):
            flags = precompiled(compiler)
        with tempfile.TemporaryDirectory() as folder:
            return user_seconds([compiler, "-std=c++20", "-O2", *flags, "-I", str(ROOT / "include"), "-c",
                                 str(source_of(name)), "-o", str(pathlib.Path(folder) / "out.o")])

    before = seconds(reference)
    for group in groups:
        times = [(name, seconds(name)) for name in group]
        after = seconds(reference)
        for name, time in times:
            runs[name].append((time, 2 * time / (before + after)))
        runs[reference].append((after, 1.0))
        before = after


# The table of the documentation, the only place with seconds of these programs.
PAGE = "docs/use.md"
TABLE = re.compile(r"(<!-- bench/compile_time/run.py --markdown -->\n)(.*?)(<!-- end -->\n)", re.S)
LEVELS = {"all levels": [], "`FLAGGEMS_MAX_ISA=1`": ["-DFLAGGEMS_MAX_ISA=1"],
          "`FLAGGEMS_MAX_ISA=0`": ["-DFLAGGEMS_MAX_ISA=0"], "`flaggems::compiled`": ["-DFLAGGEMS_COMPILED=1"],
          "and precompiled": ["-DFLAGGEMS_COMPILED=1"]}


def markdown(page, compiler, repeat):
    """Writes the table into the page: the least of alternating runs, as others' work only adds to it."""
    levels = [precompiled(compiler, *flags) if level == "and precompiled" else flags for level, flags in LEVELS.items()]
    lines = [f"| seconds | {' | '.join(LEVELS)} |", "|---|" + "---|" * len(LEVELS)]
    for name, (what, _, _) in BUDGETS.items():
        runs = [[user_seconds([compiler, "-std=c++20", "-O2", *options, "-I", str(ROOT / "include"),
                               "-c", str(HERE / name), "-o", "/dev/null"]) for options in levels]
                for _ in range(repeat)]
        times = [min(of_level) for of_level in zip(*runs)]
        lines.append(f"| {what} | {' | '.join(f'{time:.1f}' for time in times)} |")
    text = page.read_text()
    page.write_text(TABLE.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[3], text))


def problems(root):
    """What is wrong with the table, one line each: it has a row for every program, and no page other seconds."""
    page = root / PAGE
    found = TABLE.search(page.read_text()) if page.is_file() else None
    rows = re.findall(r"^\| (.*?) \| \d", found[2], re.M) if found else []
    if rows != [what for what, _, _ in BUDGETS.values()]:
        yield f"{PAGE}: the table of compile times has other rows than bench/compile_time/run.py: --markdown {PAGE}"
    for other in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        text = other.read_text() if other.is_file() else ""
        for said in re.findall(r"(?:ten|10) operators[^.|]{0,40}? \d+(?:\.\d+)? s\b", text):
            yield f"{other.name}: '{said}': seconds stand in the table of {PAGE} alone"


def ratio_of(runs):
    return statistics.median(ratio for _, ratio in runs)


def lines_of(compiler, name):
    done = subprocess.run([compiler, "-std=c++20", "-I", str(ROOT / "include"), "-E", "-P",
                           str(source_of(name))], capture_output=True, text=True, check=True)
    return len(re.findall(r"\n", done.stdout))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--repeat", type=int, default=6)
    parser.add_argument("--turn", type=int, help="number of a share: every other program that makes code")
    options = parser.parse_args()
    if options.markdown:
        markdown(options.markdown, options.cxx, options.repeat)
        return 0
    runs = {}
    for reference in REFERENCES:
        group = [name for name, (_, _, its) in CHECKED.items() if its == reference]
        if options.turn is not None and reference == "reference_code.cpp":
            group = group[options.turn % 2::2]
        runs |= {name: [] for name in (reference, *group)}
        measure(options.cxx, reference, [group] * options.repeat, runs)

    limit = {name: SLACK * budget / REFERENCES[its] for name, (_, budget, its) in CHECKED.items()}
    for name in CHECKED.keys() & runs.keys():
        reference = CHECKED[name][2]
        if ratio_of(runs[name]) > limit[name]:
            measure(options.cxx, reference, [[name]] * (2 * len(runs[name])), runs)

    print(f"{'':64}{'user s':>8}{'ratio':>8}{'budget':>8}{'limit':>8}{'runs':>6}{'lines':>9}")
    over = []
    for name, of_name in runs.items():
        what, budget, its = CHECKED.get(name, (name, REFERENCES.get(name), name))
        ratio = ratio_of(of_name)
        late = name in limit and ratio > limit[name]
        if late:
            over.append(what)
        print(f"{what:64}{statistics.median(time for time, _ in of_name):8.2f}{ratio:8.2f}"
              f"{budget / REFERENCES[its]:8.2f}{limit.get(name, 1):8.2f}{len(of_name):6}"
              f"{lines_of(options.cxx, name):9}{'  OVER' if late else ''}")
    if over:
        print(f"over budget: {', '.join(over)}")
    return 1 if over and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
