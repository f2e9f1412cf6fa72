#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The operators, read from the headers' doc comments.

    operators.py --markdown docs/operators.md     the operator reference
    operators.py --markdown docs/operators.md --check   fails if that file is out of date
    operators.py --include build/operators.inc    X(name, header, schema, type) lines for flaggems-info
    operators.py --json -                         names, headers, signatures, comments
"""
import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPS = ROOT / "include" / "flaggems" / "ops"
TABLE = ROOT / "include" / "flaggems" / "kernels" / "pointwise_table.hpp"
ROW = re.compile(r"(UNARY|BINARY|TERNARY)\((\w+),\s*(\w+),\s*(.*)\)\s*\\?$")


# Names that another operator does the work of, and names that are no operators.
DONE_BY = {"clone": "copy_", "contiguous": "copy_", "to": "copy_", "full": "fill_", "ones": "fill_",
           "zeros": "fill_", "zero_": "fill_", "mm": "gemm", "addmm": "gemm", "bmm": "gemm",
           "baddbmm": "gemm", "linear": "gemm", "mv": "gemm"}
HELPERS = {"iteration.hpp", "rows.hpp"}  # headers for authors of operators
VOCABULARY = {"apply", "assign", "cast", "evaluate", "with_bias"}


def operator_type(name):
    """The type in namespace operators that stands for `name`, which must be declared."""
    if not hasattr(operator_type, "declared"):
        text = "".join(h.read_text() for h in OPS.glob("*.hpp"))
        bodies = re.findall(r"^namespace operators {\n(.*?)^}", text, re.S | re.M)
        operator_type.declared = set(re.findall(r"^(?:struct|using) (\w+)", "".join(bodies), re.M))
        operator_type.declared |= {entry["name"] for entry in pointwise()}
    kinds = [DONE_BY.get(name), name, name.removesuffix("_")]
    for kind in kinds:
        if kind in operator_type.declared:
            return kind
    sys.exit(f"{name}: no type in namespace operators, nor an operator it is done by")


def without_private(text):
    """The text with the bodies of `namespace detail { ... }` left out."""
    out, depth, skipping = [], 0, 0
    for line in text.splitlines():
        if re.match(r"namespace (flaggems::)?detail {", line):
            skipping = 1
        if not skipping:
            out.append(line)
        if re.match(r"}  // namespace (flaggems::)?detail", line):
            skipping = 0
    return out


def pointwise():
    rules = {"numeric": "the promoted dtype", "arithmetic": "the promoted dtype; bool refused",
             "integral": "the promoted dtype; bool becomes i64",
             "to_float": "the promoted dtype; integers and bool become f32",
             "floating": "floating-point only", "to_bool": "bool"}
    count = {"UNARY": "x", "BINARY": "a, b", "TERNARY": "a, b, c"}
    for line in TABLE.read_text().splitlines():
        match = ROW.match(line.strip())
        if match:
            kind, name, rule, formula = match.groups()
            arguments = count[kind]
            first = arguments.split(",")[0]
            yield {"name": name, "header": "ops/pointwise.hpp", "schema": "",
                   "comment": f"`{formula.strip()}`, element by element. Result: {rules[rule]}.",
                   "signatures": [f"{name}({arguments})  // an expression",
                                  f"{name}(stream, {arguments}) -> tensor",
                                  f"{name}(stream, {arguments}, out)",
                                  f"{name}_(stream, {arguments})  // into {first}"]}


def declaration(lines, start):
    """The declaration that begins at `start`, on one line, up to its body."""
    text = ""
    for line in lines[start:start + 14]:
        text += " " + line.split("//")[0].strip()
        if "{" in line or line.rstrip().endswith(";"):
            break
    return re.sub(r"\s+", " ", text).strip()


def function(text):
    """The name and parameters of a declaration, or None if it is no function of namespace flaggems."""
    match = re.search(r"(?:void|auto) (\w+)\(", text)
    if not match:
        return None
    depth, end = 1, match.end()
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return match.group(1), text[match.end():end - 1]


def from_headers():
    for header in sorted(OPS.glob("*.hpp")):
        if header.name in HELPERS:
            continue
        lines = without_private(header.read_text())
        comment = []
        for index, line in enumerate(lines):
            if line.startswith("///"):
                comment.append(line[3:].strip())
                continue
            macro = re.match(r"FLAGGEMS_(?:INDEX_)?REDUCTION\((\w+),", line)
            name = macro.group(1) if macro else None
            signature = f"{name}(stream, x[, out], dims = {{}}, keepdim = false)" if macro else ""
            if macro and "INDEX" in line:
                signature = f"{name}(stream, x[, out], dim = none, keepdim = false)"
            if line.startswith("template <"):
                text = declaration(lines, index)
                found = function(text)
                public = comment or "const S& stream" in text
                if found and public and not found[0].startswith("operator"):
                    name = found[0]
                    result = " -> tensor" if "nodiscard" in text and "const S& stream" in text else ""
                    signature = f"{name}({found[1]}){result}"
            if name:
                yield {"name": name, "header": f"ops/{header.name}", "comment": " ".join(comment),
                       "schema": "", "signatures": [signature]}
            if line.strip():
                comment = []


def operators():
    """One entry a name, in order of header and place; comments of the overloads joined."""
    merged = {}
    for entry in [*pointwise(), *from_headers()]:
        entry["comment"] = entry["comment"].strip()
        key = entry["name"]
        if key not in merged:
            merged[key] = entry
        else:
            old = merged[key]
            old["signatures"] += [s for s in entry["signatures"] if s not in old["signatures"]]
            if entry["comment"] and entry["comment"] not in old["comment"]:
                old["comment"] = (old["comment"] + "\n\n" + entry["comment"]).strip()
    for entry in merged.values():
        schemas = re.findall(r"aten::\S+\(.*?\)(?=\s|$|\.)", entry["comment"])
        entry["schema"] = schemas[0] if schemas else ""
        if not entry["comment"]:
            sys.exit(f"{entry['header']}: {entry['name']} has no doc comment")
    return list(merged.values())


def markdown(entries):
    out = ["<!-- Generated by tools/docs/operators.py from the headers; do not edit. -->",
           "# Operators", "",
           f"{len(entries)} names. `stream` decides the device; operands are views, owning tensors or, "
           "where marked, expressions and numbers. Every operator raises `flaggems::error` before "
           "anything is written.", ""]
    header = None
    for entry in sorted(entries, key=lambda e: (e["header"], e["name"])):
        if entry["header"] != header:
            header = entry["header"]
            out += [f"## `flaggems/{header}`", ""]
        out += [f"### {entry['name']}", "", entry["comment"], "", "```cpp", *entry["signatures"],
                "```", ""]
    return "\n".join(out)


def write(path, text, check):
    if path == "-":
        print(text)
        return 0
    file = pathlib.Path(path)
    if check:
        if not file.exists() or file.read_text() != text:
            print(f"{path} is out of date: run tools/docs/operators.py --markdown {path}")
            return 1
        return 0
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown")
    parser.add_argument("--include")
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    entries = operators()
    status = 0
    if args.markdown:
        status |= write(args.markdown, markdown(entries), args.check)
    if args.include:
        quoted = [f"X({json.dumps(e['name'])}, {json.dumps(e['header'])}, {json.dumps(e['schema'])}, "
                  f"{operator_type(e['name'])})"
                  for e in entries if e["name"] not in VOCABULARY]
        status |= write(args.include, "\n".join(quoted) + "\n", args.check)
    if args.json:
        status |= write(args.json, json.dumps(entries, indent=1), args.check)
    return status


if __name__ == "__main__":
    sys.exit(main())
