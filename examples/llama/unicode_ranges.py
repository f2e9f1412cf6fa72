#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Writes unicode_ranges.hpp: the code points of categories L* and N*, Unicode 15.1.

Unicode 15.1 because llama.cpp's tables are of that version, and the tokenizer must split as it does.
Run: pip install unicodedata2==15.1.0 && ./unicode_ranges.py > unicode_ranges.hpp
"""

import sys

import unicodedata2

WANTED = "15.1.0"


def ranges(initial):
    """Maximal ranges (first, last) of code points whose category begins with `initial`."""
    result, start = [], None
    for point in range(0x110001):
        inside = point < 0x110000 and unicodedata2.category(chr(point))[0] == initial
        if inside and start is None:
            start = point
        elif not inside and start is not None:
            result.append((start, point - 1))
            start = None
    return result


def emit(name, what, initial):
    rows = [f"{{{first:#x}, {last:#x}}}," for first, last in ranges(initial)]
    print(f"/// {what}, as sorted, disjoint, inclusive ranges.")
    print(f"inline constexpr code_point_range {name}[] = {{")
    line = "   "
    for row in rows:
        if len(line) + 1 + len(row) > 100:
            print(line)
            line = "   "
        line += " " + row
    print(line)
    print("};\n")


def main():
    if unicodedata2.unidata_version != WANTED:
        sys.exit(f"unicode_ranges: unicodedata2 {WANTED} wanted, {unicodedata2.unidata_version} found")
    print("// SPDX-FileCopyrightText: 2026 The flaggems authors")
    print("// SPDX-License-Identifier: Apache-2.0")
    print("//")
    print(f"// Written by unicode_ranges.py from the Unicode Character Database {WANTED}; do not edit.")
    print("// clang-format off")
    print("#pragma once\n")
    print("#include <cstdint>\n")
    print("namespace llama::detail {\n")
    print("struct code_point_range {\n  std::uint32_t first, last;\n};\n")
    emit("letters", "Category L", "L")
    emit("numbers", "Category N", "N")
    print("}  // namespace llama::detail")


if __name__ == "__main__":
    main()
