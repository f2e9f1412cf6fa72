#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Code shown in docs/ is cut out of programs that CI builds and runs.

A page names the part before the block:

    <!-- examples/08_moe_gate.hpp [kernel] -->
    ```cpp
    ...
    ```

and the program marks it by the lines `// [kernel]` and `// [/kernel]`, in Python `# [kernel]`, in C `/* [kernel] */`.

    snippets.py            fills every block of docs/*.md, and those of README.md that name a program
    snippets.py --check    fails if a block differs from its program, or names none
"""
import argparse
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATED = {"operators.md", "support.md"}
BLOCK = re.compile(r"^(?P<source><!-- (?P<file>\S+) \[(?P<part>\w+)\] -->\n)?"
                   r"```(?P<language>cpp|c|python)\n(?P<code>.*?)^```$", re.M | re.S)
MARK = r"(?://|#|/\*) \[{}\](?: \*/)?\n"
MARKER = re.compile(r"^\s*" + MARK.format(r"/?\w+"), re.M)


def part_of(text, part):
    """The lines between the markers of a part, without the markers of others; None if missing."""
    found = re.search(rf"^[ ]*{MARK.format(part)}(.*?)^[ ]*{MARK.format('/' + part)}", text, re.M | re.S)
    return textwrap.dedent(MARKER.sub("", found[1])) if found else None


def pages(root):
    return [*(p for p in sorted((root / "docs").glob("*.md")) if p.name not in GENERATED), *root.glob("README.md")]


def wanted(root, block):
    """(code, None), or (None, what is wrong with the block's source)."""
    if not block["source"]:
        return None, f"a ```{block['language']} block without the <!-- FILE [PART] --> it is cut out of"
    file = root / block["file"]
    if not file.is_file():
        return None, f"no file {block['file']}"
    code = part_of(file.read_text(), block["part"])
    if code is None:
        return None, f"{block['file']} has no part [{block['part']}]"
    return code, None


def problems(root):
    """One line for every block that is not the part it names."""
    for page in pages(root):
        text = page.read_text()
        for block in BLOCK.finditer(text):
            if page.name == "README.md" and not block["source"]:
                continue  # its first block is a whole program (lint's readme_example)
            code, wrong = wanted(root, block)
            if wrong is None and code != block["code"]:
                wrong = f"differs from {block['file']} [{block['part']}]"
            if wrong:
                line = text.count("\n", 0, block.start()) + 1
                yield f"{page.relative_to(root).as_posix()}:{line}: {wrong}"


def fill(root):
    def replace(block):
        code, wrong = wanted(root, block)
        return block[0] if wrong else f"{block['source']}```{block['language']}\n{code}```"
    for page in pages(root):
        before = page.read_text()
        after = BLOCK.sub(replace, before)
        if after != before:
            page.write_text(after)
            print(f"{page.relative_to(root).as_posix()}: filled")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.check:
        fill(ROOT)
    found = list(problems(ROOT))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
