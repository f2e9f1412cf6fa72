#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Plants violations of each check of lint.py, one by one, in a small tree that is otherwise clean."""
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import lint  # noqa: E402
from lint import compile_time, operators  # noqa: E402

SPDX = ("// SPDX-FileCopyrightText: 2026 The flaggems authors\n"
        "// SPDX-License-Identifier: Apache-2.0\n")
HEADER = SPDX + "#pragma once\n"
HELLO = "int main() { return 0; }\n"
TIMES = ("<!-- bench/compile_time/run.py --markdown -->\n"
         + "".join(f"| {what} | 1.0 |\n" for what, _, _ in compile_time.BUDGETS.values()) + "<!-- end -->\n")
CLEAN = {
    "include/flaggems/config.hpp": HEADER + """#if __cplusplus < 202002L
#error "flaggems needs C++20: compile with -std=c++20 or later"
#include <flaggems_needs_cxx20>
#endif
#define FLAGGEMS_TEXT(name) static_assert(true)
""",
    "include/flaggems/error.hpp": HEADER + "\n#include <flaggems/config.hpp>\n",
    "include/flaggems/kernel/family/row/programs/softmax.hpp": HEADER + "\n#include <flaggems/config.hpp>\n\n"
                                            'FLAGGEMS_TEXT("flaggems/kernel/family/row/programs/softmax.hpp");\n',
    "include/flaggems/ops/softmax.hpp": HEADER + """
#include <flaggems/kernel/family/row/programs/softmax.hpp>

/// out = softmax(x).
template <class S, class X, class Out>
void softmax(const S& stream, const X& x, Out&& out);
""",
    "include/flaggems/flaggems.hpp": HEADER + "\n#include <flaggems/error.hpp>\n"
                                     "#include <flaggems/ops/softmax.hpp>\n",
    "include/flaggems/registry/families/row.hpp": HEADER + "\n#include <flaggems/config.hpp>\n\n"
                                                  "// FLAGGEMS_BIND(flaggems::softmax, types, schema)\n",
    "tests/ops/softmax.cpp": SPDX,
    "tests/device_compile/softmax.cpp": SPDX + "#include <flaggems/kernel/family/row/programs/softmax.hpp>\n",
    "bench/ops/softmax.cpp": SPDX,
    "docs/support.md": "| operator | host |\n| softmax | yes |\n",
    "examples/01_hello.cpp": SPDX + HELLO,
    "examples/02_part.cpp": SPDX + "// [part]\nint part();\n// [/part]\n",
    "docs/device-guide.md": "# Devices\n",  # docs/operators.md has a link to it
    "docs/use.md": TIMES,
    "docs/page.md": "<!-- examples/02_part.cpp [part] -->\n```cpp\nint part();\n```\n",
    "cmake/compiled/functions.cpp": SPDX + "#include <flaggems/flaggems.hpp>\n",
    "README.md": "# flaggems\n\n```cpp\n" + HELLO + "```\n",
    "adapters/README.md": "flaggems::a\n",
    "adapters/flaggems/adapters/a.hpp": HEADER + "\n#include <flaggems/error.hpp>\n",
    "tests/adapters/a.cpp": SPDX,
}
SOFTMAX_OF_THREADS = "include/flaggems/kernel/family/row/simt/softmax.hpp"


def in_kernel(body):
    return HEADER + "template <class Block> void run(Block& block, i64 n) {\n" + body + "\n}\n"


# check: (file, new text, part of the message), or a list of them
PLANTED = {
    "ascii_only": ("include/flaggems/error.hpp", HEADER + "// \u00e9\n", "error.hpp:4"),
    "license_lines": ("tests/ops/softmax.cpp", "// nothing\n", "tests/ops/softmax.cpp"),
    "line_count": ("include/flaggems/error.hpp", HEADER + "//\n" * 600, "603 lines"),
    "pragma_once": ("include/flaggems/error.hpp", SPDX + "#include <flaggems/config.hpp>\n",
                    "error.hpp"),
    "machine_paths": ("include/flaggems/error.hpp", HEADER + "// see /home/someone/notes\n",
                      "error.hpp:4"),
    "vendor_macros": ("include/flaggems/error.hpp", HEADER + "#ifdef __clang__\n#endif\n",
                      "__clang__"),
    "include_direction": [
        ("include/flaggems/kernel/family/row/programs/softmax.hpp",
         HEADER + "#include <flaggems/error.hpp>\n#include <vector>\n", "kernel includes error"),
        ("include/flaggems/ops/softmax.hpp", HEADER + "#include <flaggems/adapters/a.hpp>\n", "ops includes adapters")],
    "adapters": [
        ("adapters/flaggems/adapters/a.hpp", HEADER + "#include <flaggems/adapters/b.hpp>\n", "another adapter"),
        ("adapters/flaggems/adapters/b.hpp", HEADER, "no tests/adapters/b.cpp"),
        ("adapters/flaggems/adapters/b.hpp", HEADER, "does not name flaggems::b"),
        ("adapters/flaggems/b.hpp", HEADER, "are in adapters/flaggems/adapters/")],
    "kernel_rooms": [
        ("include/flaggems/kernel/lang/lanes.hpp",
         HEADER + "#include <flaggems/kernel/family/row/programs/softmax.hpp>\n", "lang includes family"),
        ("include/flaggems/kernel/family/row/programs/softmax.hpp",
         HEADER + "#include <flaggems/kernel/family/row/simt/softmax.hpp>\n", "shared text includes the side"),
        ("include/flaggems/kernel/family/row/simt/softmax.hpp",
         HEADER + "#include <flaggems/kernel/family/row/vector/softmax.hpp>\n", "simt includes vector"),
        ("include/flaggems/kernel/softmax.hpp",
         HEADER + "#include <flaggems/kernel/lang/lanes.hpp>\n", "lies in no room"),
        ("include/flaggems/device/stream.hpp",
         HEADER + "#include <flaggems/kernel/family/row/simt/softmax.hpp>\n", "sees a side")],
    "family_doors": [
        ("include/flaggems/ops/softmax.hpp",
         HEADER + "#include <flaggems/kernel/family/row/variance.hpp>\n", "row/variance.hpp is no door of row: contract"),
        ("include/flaggems/ops/plan/rows.hpp",
         HEADER + "#include <flaggems/kernel/family/row/simt/softmax.hpp>\n", "ops/dispatch/ alone sees it"),
        ("include/flaggems/kernel/family/order/vector/sort.hpp",
         HEADER + "#include <flaggems/kernel/family/copy/vector/blocks.hpp>\n", "no door of copy/vector: rows"),
        ("bench/ops/softmax.cpp",
         SPDX + "#include <flaggems/kernel/family/row/simt/softmax.hpp>\n", "no door of row/simt")],
    "operators_choose_nothing": ("include/flaggems/ops/softmax.hpp",
                                 HEADER + "\nconstexpr bool b = has_simt<D>;\n", "softmax.hpp:5: chooses by"),
    "tuned_numbers": [
        ("include/flaggems/ops/dispatch/softmax_rows.hpp",
         HEADER + "\nconstexpr int blocks = 528;\n", "softmax_rows.hpp:5: 528 belongs"),
        ("include/flaggems/ops/dispatch/softmax_rows.hpp",
         HEADER + "\nconstexpr i64 busy = i64{1} << 17;\n", "softmax_rows.hpp:5: 2^17 belongs")],
    "room_sizes": ("include/flaggems/kernel/math/", [f"f{n}.hpp" for n in range(13)], "13 headers"),
    "include_cycles": ("include/flaggems/kernel/family/row/programs/softmax.hpp",
                       HEADER + "#include <flaggems/ops/softmax.hpp>\n", "ops/softmax.hpp -> "),
    "stems": [("include/flaggems/ops/relu.hpp", HEADER, "no tests/ops/relu.cpp"),
              ("tests/device_compile/softmax.cpp", SPDX, "no tests/device_compile/softmax.cpp"),
              ("docs/support.md", "| log_softmax | yes |\n", "no row for softmax of ops/softmax"),
              ("docs/support.md", "| softmax | yes | - |\n", "softmax of ops/softmax.hpp was not run or compiled for host:")],
    "registered": ("include/flaggems/registry/families/row.hpp", HEADER + "\n#include <flaggems/config.hpp>\n",
                   "no line binds softmax of ops/softmax.hpp"),
    "mirrored_folders": [("tests/operators/softmax.cpp", SPDX, "tests/operators: there is no include/flaggems/operators"),
                         ("bench/ops/row/softmax.cpp", SPDX, "bench/ops/row: there is no")],
    "barriers_for_all": [
        (SOFTMAX_OF_THREADS, in_kernel("if (block.thread() == 0) block.sync();"), "softmax.hpp:5: sync under line 5"),
        (SOFTMAX_OF_THREADS, in_kernel("const int lane = block.thread() % 32, warp = 0;\n"
                                       "if (warp == 0) block.sync();\nif (lane > 3) return;\n"
                                       "block.template reduce_block<S>(s, s, op);"), "softmax.hpp:8: reduce_block under line 7"),
        (SOFTMAX_OF_THREADS, in_kernel("for (i64 k = block.thread(); k < n; k += 32) {\n  f(k);\n  block.sync();\n}"),
         "softmax.hpp:7: sync under line 5"),
        (SOFTMAX_OF_THREADS, in_kernel("if (n > 3) f();\nelse block.single([&] { block.any_in_warp(x); });"),
         "softmax.hpp:6: any_in_warp under line 6")],
    "texts": [("include/flaggems/kernel/family/row/programs/softmax.hpp", HEADER, "no FLAGGEMS_TEXT"),
              ("include/flaggems/kernel/family/row/programs/softmax.hpp",
               HEADER + 'FLAGGEMS_TEXT("flaggems/kernels/relu.hpp");\n', "names flaggems/kernels/relu")],
    "umbrella": ("include/flaggems/flaggems.hpp", HEADER + "\n#include <flaggems/error.hpp>\n",
                 "does not include <flaggems/ops/softmax.hpp>"),
    "compiled_once": [("include/flaggems/registry/boxed.hpp", HEADER + "\nFLAGGEMS_COLD_ONCE void f() {}\n",
                       "registry/boxed.hpp: cmake/compiled/functions.cpp does not include it"),
                      ("include/flaggems/ops/softmax.hpp", HEADER + "\nFLAGGEMS_KERNEL_ONCE(k<f32>);\n",
                       "ops/softmax.hpp: no source of kernels in cmake/compiled includes it")],
    "readme_example": ("examples/01_hello.cpp", SPDX + "int main() { return 1; }\n", "differs"),
    "docs_snippets": ("examples/02_part.cpp", SPDX + "// [part]\nint other();\n// [/part]\n",
                      "docs/page.md:1: differs"),
    "docs_operators": ("include/flaggems/ops/softmax.hpp", HEADER, "operators.md is out of date"),
    "docs_compile_times": [("docs/use.md", TIMES.replace("| umbrella | 1.0 |\n", ""), "other rows"),
                           ("docs/page.md", "A program of ten operators takes 10.3 s.\n", "10.3 s")],
    "docs_operator_counts": ("docs/page.md", "There are 88 operators.\n", "'88 operators'"),
    "docs_paths": ("docs/page.md", "```sh\npython3 tools/{nowhere,lint/lint}.py\n```\n",
                   "docs/page.md: no file tools/nowhere.py"),
    "docs_links": ("docs/page.md", "[a page](nowhere.md)\n", "docs/page.md: no file nowhere.md"),
    "device_messages": ("include/flaggems/device/check_device.hpp",
                        HEADER + 'FLAGGEMS_REQUIRE(name, "a name")\n', "lacks `a name`"),
    "format": ("include/flaggems/error.hpp", HEADER + "\nint   f( );\n", "error.hpp"),
    "older_standard": ("include/flaggems/error.hpp", HEADER + "\n#include <string_view>\n",
                       "error.hpp (g++ -std=c++17): not one error"),
    "self_contained": [("include/flaggems/error.hpp",
                        HEADER + "\ninline int f(int a) {\n  { int a = 1; return a; }\n}\n", "error.hpp"),
                       ("include/flaggems/error.hpp", HEADER + "\nstd::size_t f();\n", "error.hpp")],
    "traps": ("include/flaggems/error.hpp", HEADER + "\ntemplate <int I>\nstruct s;\n",
              "error.hpp:5"),
    "tidy": ("include/flaggems/error.hpp", HEADER + "\ninline int* f() { return 0; }\n",
             "modernize-use-nullptr"),
}


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    failures = 0
    missing = 0
    if set(PLANTED) != set(lint.CHECKS):
        print("checks without a planted violation:", set(lint.CHECKS) ^ set(PLANTED))
        failures += 1
    top = pathlib.Path(__file__).resolve().parents[2]
    plants = [(name, plant) for name, some in PLANTED.items()
              for plant in (some if isinstance(some, list) else [some])]
    for name, (file, text, wanted) in plants:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            write(root, CLEAN)
            write(root, {"docs/operators.md": operators.markdown(root)})
            for config in (".clang-format", ".clang-tidy"):
                shutil.copy(top / config, root / config)
            try:
                before = list(lint.CHECKS[name](lint.Tree(root)))
                write(root, {file: text} if isinstance(text, str) else {file + n: HEADER for n in text})
                after = list(lint.CHECKS[name](lint.Tree(root)))
            except lint.MissingTool as problem:
                print(f"{name}: skipped, {problem}")
                missing += 1
                continue
        if before:
            print(f"{name}: complains about a clean tree: {before}")
            failures += 1
        elif not any(wanted in line for line in after):
            print(f"{name}: did not find the planted violation: {after}")
            failures += 1
        else:
            print(f"{name}: found '{after[0][-100:]}'")
    return 1 if failures else 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
