#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that must not compile, and the words the compiler must say.

Each tests/compile_fail/<name>.cpp has lines `// expect: <regular expression>`; every one must match
the output of each compiler given, and the compiler must fail. The same file with -DFLAGGEMS_FIXED
must compile: what is refused is the mistake, not a typo in the test.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def compile_one(compiler, file, *options):
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-I", str(ROOT / "include"),
                           "-I", str(HERE.parent), *options, str(file)],
                          capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return done.returncode, done.stdout + done.stderr


def problems(compiler, file):
    expected = re.findall(r"^// expect: (.+)$", file.read_text(), re.M)
    if not expected:
        return [f"{file.name}: no line '// expect: <text>'"]
    found = []
    code, output = compile_one(compiler, file)
    if code == 0:
        found.append(f"{file.name} ({compiler}): compiles, but must not")
    for text in expected:
        if code and not re.search(text, output):
            found.append(f"{file.name} ({compiler}): no '{text}' in:\n{output[:2000]}")
    code, output = compile_one(compiler, file, "-DFLAGGEMS_FIXED")
    if code:
        found.append(f"{file.name} ({compiler}): with FLAGGEMS_FIXED it must compile:\n"
                     f"{output[:2000]}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cxx", action="append", required=True)
    options = parser.parse_args()
    compilers = list(dict.fromkeys(c for c in options.cxx if shutil.which(c)))
    files = sorted(HERE.glob("*.cpp"))
    if not files:
        print("no tests/compile_fail/*.cpp", file=sys.stderr)
        return 1
    jobs = [(c, f) for c in compilers for f in files]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = [line for lines in pool.map(lambda job: problems(*job), jobs) for line in lines]
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(jobs)} cases, {len(found)} problems")
    return 1 if found else 77 if len(compilers) < len(options.cxx) else 0


if __name__ == "__main__":
    sys.exit(main())
