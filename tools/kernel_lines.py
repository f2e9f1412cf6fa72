#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Lines of code in include/flaggems/kernel, by room and side, and how many an operator takes.

Shared text runs on every execution model; simt/ and vector/ are forms for one. The more is shared,
the less a new operator or device costs.
"""
import collections
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools" / "docs"))
import operators  # noqa: E402

KERNEL = ROOT / "include/flaggems/kernel"


def code_lines(path):
    return sum(1 for line in path.read_text().splitlines()
               if line.strip() and not line.lstrip().startswith("//"))


def main():
    count = collections.Counter()
    for path in KERNEL.rglob("*.hpp"):
        folders = path.relative_to(KERNEL).parts[:-1]
        room = "/".join(f for f in folders if f not in ("simt", "vector"))
        side = next((s for s in ("simt", "vector") if s in folders), "shared")
        count[room, side] += code_lines(path)
    print(f"{'room':24}{'shared':>8}{'simt':>8}{'vector':>8}")
    for room in sorted({room for room, _ in count}):
        print(f"{room:24}" + "".join(f"{count[room, side]:8}" for side in ("shared", "simt", "vector")))
    family = {side: sum(n for (room, s), n in count.items() if room.startswith("family/") and s == side)
              for side in ("shared", "simt", "vector")}
    names = len({entry["name"].removesuffix("_") for entry in operators.operators(ROOT)}
                - set(operators.VOCABULARY))
    print(f"\nfamily/: {100 * family['shared'] / sum(family.values()):.0f} % is one text; "
          f"{sum(family.values()) / names:.0f} lines for each of {names} operators")


if __name__ == "__main__":
    main()
