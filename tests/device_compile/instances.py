# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The names of the instances in a file: what must come out of a chip's compiler as code."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))
import operators  # noqa: E402


def names(file):
    text = file.read_text()
    found = re.findall(r"^FLAGGEMS_INSTANCE\(\s*(\w+)", text, re.M)
    found += [f"{row}_row" for row in re.findall(r"^FLAGGEMS_ROW\((\w+)", text, re.M)]
    for table in re.findall(r"^FLAGGEMS_(\w+)_TABLE\(", text, re.M):  # one for each row (rows.hpp)
        header = f"ops/{table.lower()}.hpp"
        found += [f"{row['name']}_row" for row in operators.pointwise(ROOT) if row["header"] == header]
    return found


def all_names():
    return {n for file in pathlib.Path(__file__).resolve().parent.glob("*.cpp") for n in names(file)}
