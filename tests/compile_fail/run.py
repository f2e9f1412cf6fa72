#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that must not compile, and must say why.

Each .cpp file here has lines `// expect: FLAGS: TEXT`, FLAGS being -D options. It must fail to
compile with FLAGS, and every TEXT that goes with them must stand in one of the messages; without
flags it must compile, unless there are lines `// expect: TEXT`. A line `// errors: N` says that there
are no more than N errors, `// bytes: N` that all messages are no longer: one must not drown in others.
A file with a line `// without the umbrella` sees the headers that it includes only.

Exit status: 0 all as expected, 1 not, 77 a compiler is missing.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = ["-std=c++20", "-fsyntax-only", "-w", "-fno-diagnostics-color",
         f"-I{ROOT / 'include'}", f"-I{ROOT / 'adapters'}", f"-I{ROOT / 'tests'}"]
EXPECT = re.compile(r"^// expect: (?:((?:-D\S+ ?)+): )?(.+)$")
ERRORS = re.compile(r"^// errors: (\d+)$", re.M)
BYTES = re.compile(r"^// bytes: (\d+)$", re.M)


def cases(path):
    """{flags: expected texts}; no text where the file must compile."""
    found = {}
    for line in path.read_text().splitlines():
        if match := EXPECT.match(line):
            found.setdefault(tuple((match[1] or "").split()), []).append(match[2])
    if not found:
        sys.exit(f"{path.name}: no line '// expect: ...'")
    found.setdefault((), [])
    return found


def precompiled(compiler, folder):
    """Options by which the compiler takes the headers, most of the time of a program that fails, as parsed."""
    header = folder / f"{pathlib.Path(compiler).name}.hpp"
    header.write_text("#include <flaggems/flaggems.hpp>\n")
    clang = "clang" in compiler
    parsed = header.with_name(header.name + (".pch" if clang else ".gch"))
    subprocess.run([compiler, *[f for f in FLAGS if f != "-fsyntax-only"], "-x", "c++-header", str(header),
                    "-o", str(parsed)], check=True)
    return ["-include-pch", str(parsed)] if clang else ["-Winvalid-pch", "-include", str(header)]


def try_one(compiler, headers, path, flags, texts):
    """None if it went as expected, else what went wrong."""
    every_error = ["-ferror-limit=0"] if "clang" in compiler else ["-fmax-errors=0"]
    if re.search(r"^// without the umbrella$", path.read_text(), re.M):
        headers = []
    done = subprocess.run([compiler, *FLAGS, *headers, *every_error, *flags, str(path)],
                          capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    where = f"{path.name} {' '.join(flags)} ({compiler})"
    output = done.stderr
    if not texts:
        return None if done.returncode == 0 else f"{where}: does not compile\n{output}"
    if done.returncode == 0:
        return f"{where}: compiles, but must not"
    if "internal compiler error" in output:
        return f"{where}: the compiler crashed\n{output}"
    errors = [line for line in output.splitlines() if re.search(r"\b(error|note):", line)]
    absent = [text for text in texts if not any(text in line for line in errors)]
    most = ERRORS.search(path.read_text())
    count = sum("error:" in line for line in errors)
    if not absent and most and count > int(most[1]):
        return f"{where}: {count} errors, at most {most[1]} expected\n{output[:2000]}"
    longest = BYTES.search(path.read_text())
    if not absent and longest and len(output) > int(longest[1]):
        return f"{where}: messages of {len(output)} bytes, at most {longest[1]} expected\n{output[:2000]}"
    if not absent:
        return None
    return (f"{where}: expected\n  " + "\n  ".join(absent) + "\ngot\n  "
            + "\n  ".join(errors[:20]))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cxx", action="append", help="a compiler (several times for several)")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time")
    parser.add_argument("--turn", type=int, help="number of a share: every sixth case, with one of two compilers")
    parser.add_argument("--only", default="", help="only files with this in their name")
    options = parser.parse_args()

    compilers = options.cxx or ["g++", "clang++-14"]
    missing = [c for c in compilers if shutil.which(c) is None]
    present = [c for c in compilers if c not in missing]
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        taken = [(path, flags, texts) for path in sorted(HERE.glob("*.cpp")) if options.only in path.name
                 for flags, texts in cases(path).items()]
        compilers = present
        if options.turn is not None:
            taken = taken[options.turn % 6::6]
            compilers = present[options.turn // 6 % max(1, len(present)):][:1]
        headers = dict(zip(compilers, pool.map(lambda c: precompiled(c, pathlib.Path(folder)), compilers)))
        work = [(compiler, headers[compiler], *case) for case in taken for compiler in compilers]
        results = list(pool.map(lambda w: try_one(*w), work))
    failures = [r for r in results if r is not None]
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(results) - len(failures)} of {len(results)} as expected"
          + (f"; missing: {', '.join(missing)}" if missing else ""))
    if failures or not results:
        return 1
    return 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
