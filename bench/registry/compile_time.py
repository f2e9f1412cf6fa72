#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""What it costs to compile each family of the registry for f32: user seconds of one file, by device and options.

    compile_time.py                             prints the table
    compile_time.py --markdown docs/registry.md     writes the table of that page anew
    compile_time.py --jobs 2                    two at once, which adds to each
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = ROOT / "include/flaggems/registry/families"
TABLE = re.compile(r"(<!-- bench/registry/compile_time.py --markdown -->\n)(.*?)(<!-- end -->\n)", re.S)
WAYS = {"host -Og": ("host", "host", ["-Og", "-DFLAGGEMS_MAX_ISA=1"]),
        "host -O2": ("host", "host", ["-O2", "-DFLAGGEMS_MAX_ISA=1"]),
        "simt32 -Og": ("simt", "simt32", ["-Og"])}


def seconds(compiler, family, way):
    header, device, options = WAYS[way]
    text = (f"#include <flaggems/vendors/{header}.hpp>\n#include <flaggems/registry/families/{family}.hpp>\n"
            "#include <flaggems/registry/bind.hpp>\n"
            f"FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::{family}, flaggems::{device}, flaggems::f32);\n")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "family.cpp"
        source.write_text(text)
        command = [compiler, "-std=c++20", *options, "-I", str(ROOT / "include"), "-c", str(source), "-o", f"{source}.o"]
        _, status, used = os.wait4(os.posix_spawnp(compiler, command, os.environ), 0)
    if status:
        sys.exit(f"{family}, {way}: the compiler failed")
    return used.ru_utime


def lines_of(compiler, families):
    """How many lines each family has, by a program."""
    text = "".join(f"#include <flaggems/registry/families/{family}.hpp>\n" for family in families)
    text += "#include <cstdio>\n#include <tuple>\nint main() {\n"
    for family in families:
        text += f'  std::printf("%zu\\n", std::tuple_size_v<decltype(flaggems::operator_families::{family}::lines())>);\n'
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "lines.cpp"
        source.write_text(text + "}\n")
        subprocess.run([compiler, "-std=c++20", "-I", str(ROOT / "include"), str(source), "-o", f"{source}.out", "-ldl", "-pthread"],
                       check=True)
        return map(int, subprocess.run([f"{source}.out"], check=True, capture_output=True, text=True).stdout.split())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    families = sorted(path.stem for path in FAMILIES.glob("*.hpp"))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        times = {family: [pool.submit(seconds, options.cxx, family, way) for way in WAYS] for family in families}
        rows = [(family, lines, [future.result() for future in of_family])
                for (family, of_family), lines in zip(times.items(), lines_of(options.cxx, families))]
    rows.append(("all", sum(row[1] for row in rows), [sum(each) for each in zip(*(row[2] for row in rows))]))
    table = "\n".join([f"| family | lines | {' | '.join(WAYS)} |", "|---|---|" + "---|" * len(WAYS),
                       *(f"| {family} | {lines} | {' | '.join(f'{t:.1f}' for t in of_family)} |"
                         for family, lines, of_family in rows)])
    print(table)
    if options.markdown:
        text = options.markdown.read_text()
        options.markdown.write_text(TABLE.sub(lambda found: f"{found[1]}{table}\n{found[3]}", text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
