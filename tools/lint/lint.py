#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house, each a function that yields one line for every violation.

    lint.py             runs every check
    lint.py NAME...     runs these
    lint.py --list      names them
Exit status 0: clean; 1: violations, printed; 77: a tool that the check needs is not installed.
"""
import argparse
import collections
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/compile_time"))
import barriers  # noqa: E402
import operators  # noqa: E402
import run as compile_time  # noqa: E402
import snippets  # noqa: E402
import support_table  # noqa: E402

CODE = (".hpp", ".cpp", ".h", ".cu")
TEXT = CODE + (".py", ".cmake", ".txt", ".in", ".sh")
MAX_LINES = 600
FOLDERS = ("include", "adapters", "examples", "tests", "bench", "tools", "cmake", "docs", ".ci")
CHECKS = {}


class MissingTool(Exception):
    pass


def check(function):
    CHECKS[function.__name__] = function
    return function


def tool(*names):
    for name in names:
        if shutil.which(name):
            return name
    raise MissingTool(f"none of {', '.join(names)} is installed")


class Tree:
    """The files of a source tree that the checks look at."""

    def __init__(self, root, turn=None):
        self.root, self.turn = pathlib.Path(root), turn

    def files(self, suffixes=TEXT, folders=FOLDERS):
        found = []
        for folder in folders:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and path.suffix in suffixes \
                        and not {"__pycache__", "data"} & set(path.parts[len(self.root.parts):]):
                    found.append(path)
        if suffixes == TEXT:
            found += [self.root / n for n in ("CMakeLists.txt", ".ci/run")
                      if (self.root / n).is_file()]
        return found

    def headers(self):
        return self.files((".hpp",), ("include", "adapters"))

    def own_headers(self):
        """Those that need no other library; what needs one is compiled by its tests, where there is that."""
        texts = {h: h.read_text() for h in self.headers()}
        others = {h for h, text in texts.items() if re.search(r"^\s*#\s*include <(ATen|c10|torch)/", text, re.M)}
        size = 0
        while size != len(others):
            size = len(others)
            names = "|".join(re.escape(self.include_name(h)) for h in others)
            others |= {h for h, text in texts.items()
                       if names and re.search(rf"^\s*#\s*include <({names})>", text, re.M)}
        return [h for h in texts if h not in others]

    def name(self, path):
        return path.relative_to(self.root).as_posix()

    def include_name(self, path):
        name = self.name(path)
        return name[name.index("flaggems/"):]

    def stems(self, folder, suffix):
        return {p.stem for p in (self.root / folder).glob("*" + suffix)}


def run_all(commands):
    """Runs commands on all cores; yields (key, output) of the failed ones."""
    def one(item):
        key, command = item
        done = subprocess.run(command, capture_output=True, text=True)
        return key, done.returncode, (done.stdout + done.stderr).strip()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for key, code, output in pool.map(one, commands):
            if code:
                yield key, output


# ---- text


@check
def ascii_only(tree):
    """Source is ASCII."""
    for path in tree.files():
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            if not line.isascii():
                yield f"{tree.name(path)}:{number}: a byte that is not ASCII"


@check
def license_lines(tree):
    """The first two lines (after a #! line) are the SPDX lines."""
    for path in tree.files():
        lines = path.read_text(errors="replace").splitlines()
        lines = lines[1:] if lines and lines[0].startswith("#!") else lines
        wanted = ("SPDX-FileCopyrightText: 2026 The flaggems authors",
                  "SPDX-License-Identifier: Apache-2.0")
        for number, text in enumerate(wanted):
            got = lines[number] if number < len(lines) else ""
            if got.lstrip("/# ").strip() != text:
                yield f"{tree.name(path)}: line {number + 1} is not '{text}'"
                break


@check
def line_count(tree):
    """A header or source file has at most 600 lines."""
    for path in tree.files(CODE):
        count = len(path.read_text(errors="replace").splitlines())
        if count > MAX_LINES:
            yield f"{tree.name(path)}: {count} lines, at most {MAX_LINES}"


@check
def pragma_once(tree):
    """Every header has `#pragma once` as its first directive."""
    for path in tree.files((".hpp",)):
        directives = re.findall(r"^\s*#\s*(\w+[^\n]*)", path.read_text(errors="replace"), re.M)
        # A test or example header may be an X-macro list, which says so by its name.
        if (not directives or directives[0].split() != ["pragma", "once"]) \
                and not path.stem.endswith("_list"):
            yield f"{tree.name(path)}: the first directive is not #pragma once"


@check
def machine_paths(tree):
    """No path of a developer's machine."""
    for path in tree.files():
        if path.parent.name == "lint":
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if re.search(r"(?<![\w.])/(work|home|root|tmp)/\w", line):
                yield f"{tree.name(path)}:{number}: a path of one machine: {line.strip()}"


@check
def vendor_macros(tree):
    """Compiler and vendor macros are looked at in config.hpp only."""
    macro = re.compile(
        r"\b(__GNUC__|__clang__|_MSC_VER|__CUDA\w*|__HIP\w*|__MUSA\w*|__MACA\w*|__OPENCL\w*|"
        r"__NVCC__|__AMD\w*|__INTEL\w*|__x86_64__|__aarch64__|__AVX\w*|__SSE\w*|__ARM_\w*|__AMX\w*|"
        r"__SANITIZE_\w+__|__has_feature|__cpp_exceptions|__EXCEPTIONS|BACKEND_\w+|"
        r"USE_(CUDA|HIP|MUSA|NPU))\b")
    for path in tree.headers():
        if path.name == "config.hpp":
            continue
        for number, line in enumerate(path.read_text().replace("\\\n", "  ").splitlines(), 1):
            if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line) and macro.search(line):
                yield f"{tree.name(path)}:{number}: {macro.search(line)[0]} outside config.hpp"


# ---- structure

# What a folder of include/flaggems may include of the others. Adapters may include all.
LAYERS = {
    "kernel": {"config", "kernel"},
    "kernels": {"config", "kernel"},  # former names of what authors include
    "detail": {"config", "error", "version", "kernel", "detail", "tensor"},
    "tensor": {"config", "error", "version", "kernel", "detail", "tensor"},
    "device": {"config", "error", "version", "kernel", "detail", "tensor", "device"},
    "launch": {"config", "error", "version", "kernel", "detail", "tensor", "device", "launch"},
    "vendors": {"config", "error", "version", "kernel", "detail", "tensor", "device", "launch",
                "vendors"},
    "ops": {"config", "error", "version", "kernel", "detail", "tensor", "device", "launch",
            "ops"},
    # Included by its users only: no other folder may.
    "registry": {"config", "error", "version", "kernel", "detail", "tensor", "device", "launch",
                 "ops", "registry"},
    "error": {"config", "detail"},
    "config": set(),
    "version": {"config"},
}


@check
def include_direction(tree):
    """Includes point one way; the device subset sees no std header; a header uses <>."""
    for path in tree.headers():
        parts = path.relative_to(tree.root).parts
        layer = path.stem if len(parts) == 3 else parts[2]
        if parts[0] != "include" or path.name == "flaggems.hpp":
            continue
        if layer not in LAYERS:
            yield f"{tree.name(path)}: the folder {layer}/ has no place in the include direction"
            continue
        text = path.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)', line)
            if not found:
                continue
            place = f"{tree.name(path)}:{number}"
            if found[1] == '"':
                yield f"{place}: include {found[2]} with <>"
            elif not found[2].startswith("flaggems/"):
                # Of no file: how config.hpp ends a compilation.
                if layer in ("kernel", "kernels", "config", "version") and found[2] != "flaggems_needs_cxx20":
                    yield f"{place}: the device subset includes the std header <{found[2]}>"
            else:
                other = found[2].split("/")[1].removesuffix(".hpp")
                if other not in LAYERS[layer]:
                    yield f"{place}: {layer} includes {other} ({found[2]})"


# Adapters that add to another, whose names do not say so.
ADDING_ADAPTERS = {("flag_gems", "torch_operators"), ("torch_device", "torch_operators")}


@check
def adapters(tree):
    """An adapter includes no other but DLPack's and one that it adds to (name_more.hpp to name.hpp, and
    ADDING_ADAPTERS), and has a file of tests and a line in adapters/README.md. A folder of its name has its parts."""
    page, home = tree.root / "adapters/README.md", tree.root / "adapters/flaggems/adapters"
    text = page.read_text() if page.is_file() else ""
    for path in sorted((tree.root / "adapters").rglob("*.hpp")):
        name, stem = tree.name(path), path.stem
        is_part = path.parent.parent == home and path.parent.with_suffix(".hpp").is_file()
        if is_part:
            stem = path.parent.name
        elif path.parent != home:
            yield f"{name}: adapters are in adapters/flaggems/adapters/"
        if not any((tree.root / f"tests/adapters/{stem}{suffix}").is_file() for suffix in (".cpp", ".py")):
            yield f"{name}: no tests/adapters/{stem}.cpp"
        if f"flaggems::{stem}" not in text:
            yield f"{name}: adapters/README.md does not name flaggems::{stem}"
        for other in re.findall(r"^\s*#\s*include <(flaggems/adapters/[^>]+)>", path.read_text(), re.M):
            if other.startswith(f"flaggems/adapters/{stem}/"):
                continue
            adds = stem.startswith(pathlib.Path(other).stem + "_") or (stem, pathlib.Path(other).stem) in ADDING_ADAPTERS
            if other != "flaggems/adapters/dlpack.hpp" and not adds:
                yield f"{name}: includes another adapter ({other})"


# The rooms of include/flaggems/kernel, each of which may include those before it.
ROOMS = ("lang", "math", "block", "expr", "family")
SIDES = ("simt", "vector")
# Who outside kernel/ sees one side of it: what chooses a kernel, what compiles one for the host, and
# the languages of chips.
SIDE_READERS = ("ops/dispatch/", "launch/host_launch.hpp", "launch/tensor_map.hpp", "detail/simt_thread_group.hpp",
                "vendors/driver/")


def room_of(name):
    """(room, family, side) of a header of kernel/, the latter two None where there is none."""
    parts = name.split("/")[2:-1]
    return (parts[0] if parts else None, parts[1] if len(parts) > 1 and parts[0] == "family" else None,
            next((side for side in SIDES if side in parts), None))


@check
def kernel_rooms(tree):
    """In kernel/ a room includes those before it, a side never the other, and no shared text a side;
    a family sees of another its shared text, or the same side."""
    for path in tree.headers():
        own = tree.include_name(path)
        for other in re.findall(r"^\s*#\s*include <(flaggems/kernel/[^>]+)>", path.read_text(), re.M):
            room, family, side = room_of(other)
            if not own.startswith("flaggems/kernel/"):
                if side and not own.removeprefix("flaggems/").startswith(SIDE_READERS):
                    yield f"{tree.name(path)}: sees a side of kernel/ ({other})"
                continue
            my_room, _, my_side = room_of(own)
            if my_room not in ROOMS:
                yield f"{tree.name(path)}: lies in no room of kernel/: {', '.join(ROOMS)}"
                break
            if ROOMS.index(room) > ROOMS.index(my_room):
                yield f"{tree.name(path)}: {my_room} includes {room} ({other})"
            if side and not my_side:
                yield f"{tree.name(path)}: shared text includes the side {side} ({other})"
            if side and my_side and side != my_side:
                yield f"{tree.name(path)}: {my_side} includes {side} ({other})"


# The doors of each family's folder: what may be included from outside it, besides its sides, which
# ops/dispatch/ chooses from. And what the same side of another family may include of a side.
DOORS = {
    "attention": {"attention", "backward", "logits", "rules", "sequences", "sparse"},
    "copy": {"rows", "space"},
    "gemm": {"epilogue", "gemm", "grouped", "prologue", "scaled", "sparse"},
    "index": {"embedding", "index_select", "pages", "scatter"},
    "factor": {"*"},
    "order": {"search", "sort", "topk"},
    "pointwise": {"pointwise", "functors"},
    "pointwise/tables": {"*"},
    "quantized": {"heads", "linear", "range", "scale"},
    "random": {"draw", "multinomial", "philox", "poisson"},
    "reduce": {"reduce"},
    "recurrent": {"cells", "ctc", "delta_rule"},
    "row": {"contract", "hyper_connections", "rotary", "space", "staged"},
    "scan": {"scan"},
    "window": {"fractional", "grid_sample", "window"},
    "transform": {"fourier", "hadamard"},
    "row/programs": {"cross_entropy", "norm", "norm_backward", "softmax", "statistics"},
    "copy/simt": {"gathered"},
    "copy/vector": {"rows"},
    "gemm/vector": {"amx", "micro_kernel"},
    "pointwise/simt": {"pointwise"},
}
# What a kernel is compiled for the host with has the tiles of all pointwise ones.
SIDE_GUESTS = {"launch/host_launch.hpp": {"pointwise/vector/tiles"}}


@check
def family_doors(tree):
    """From outside a family's folder, its doors are included and nothing else; its sides by ops/dispatch/ only, and
    by the same side of other families through doors of their own. Tests of kernels may include all."""
    sources = [p for p in tree.files(CODE) if not tree.name(p).startswith(("tests/kernel/", "tests/device_compile/"))]
    for path in sources:
        name = tree.name(path)
        own = name.removeprefix("include/flaggems/")
        for other in re.findall(r"^\s*#\s*include <flaggems/kernel/family/([^>]+)\.hpp>", path.read_text(), re.M):
            family, _, stem = other.partition("/")
            side, _, stem = stem.rpartition("/")
            if own.startswith(f"kernel/family/{family}/") or other in SIDE_GUESTS.get(own, ()):
                continue
            if side and own.startswith("ops/dispatch/"):
                continue
            doors = DOORS.get(family, {family}) if not side else \
                DOORS.get(f"{family}/{side}", set()) \
                if side in ("programs", "tables") or own.startswith("kernel/family/") else set()
            if stem not in doors and "*" not in doors:
                yield f"{name}: {other}.hpp is no door of {family}{'/' + side if side else ''}: " \
                      f"{', '.join(sorted(doors)) or 'ops/dispatch/ alone sees it'}"


@check
def operators_choose_nothing(tree):
    """Headers of operators name no device and ask for no execution model: ops/dispatch/ chooses."""
    asked = re.compile(r"\b(has_simt|has_vectors|execution_model|host_accessible)\b|"
                       r"is_same_v<[^;]*?, (?:host|cuda)>")
    for path in sorted((tree.root / "include/flaggems/ops").glob("*.hpp")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if asked.search(line):
                yield f"{tree.name(path)}:{number}: chooses by {asked.search(line)[0]}"


# Who chooses by numbers that are no tuning: the host's products by its caches, and what is rewritten.
TUNED_ELSEWHERE = {"gemm/policy.hpp", "short_rows.hpp"}


@check
def tuned_numbers(tree):
    """ops/dispatch/ has no number of one device: from 64 on, and powers of two from 2^6 to 2^27, they come
    from launch/tuning.hpp, by a name. What a kernel can count to is not tuned, and says `// limit`."""
    number = re.compile(r"(?<![\w.'])(\d+)(?![\w.'])")
    shift = re.compile(r"(?:1\}? << |>> )(\d+)\b")
    folder = tree.root / "include/flaggems/ops/dispatch"
    for path in sorted(folder.rglob("*.hpp")):
        if str(path.relative_to(folder)) in TUNED_ELSEWHERE:
            continue
        for at, line in enumerate(path.read_text().splitlines(), 1):
            if "// limit" in line:
                continue
            # Estimates of work are no choice, and words have 64 bits.
            code = re.sub(r"//.*|\bwork = .*|[iuf]\d+\b|64 - (static_cast<u32>\()?__builtin_clzll", "", line)
            large = [n for n in number.findall(code) if int(n) >= 64]
            large += [f"2^{n}" for n in shift.findall(code) if 6 <= int(n) < 28]
            if large:
                yield f"{tree.name(path)}:{at}: {large[0]} belongs into launch/tuning.hpp, with a name"


@check
def room_sizes(tree):
    """No folder of headers has more than twelve side by side."""
    count = collections.Counter(p.parent for p in tree.headers())
    for folder, n in sorted(count.items()):
        name = tree.name(folder)
        if n > ROOM_SIZES.get(name.removeprefix("include/flaggems").strip("/"), 12):
            yield f"{name}: {n} headers side by side"


# Rooms where one header a public name is what a reader looks for.
ROOM_SIZES = {"ops": 140, "registry/families": 32, "ops/dispatch": 24, "ops/plan": 14, "device": 16, "tensor": 16,
              "vendors": 16, "vendors/driver": 14, "detail": 18}


@check
def include_cycles(tree):
    """No header includes itself by way of others."""
    graph = {tree.include_name(p): re.findall(r"^\s*#\s*include <([^>]+)>", p.read_text(), re.M)
             for p in tree.headers()}
    done, path = set(), []

    def visit(name):
        if name in path:
            yield f"{' -> '.join(path[path.index(name):] + [name])}"
        elif name in graph and name not in done:
            path.append(name)
            for other in graph[name]:
                yield from visit(other)
            path.pop()
            done.add(name)

    for name in sorted(graph):
        yield from visit(name)


# What the umbrella includes: these headers, and all of these folders.
UMBRELLA = ("error.hpp", "version.hpp", "vendors/host.hpp")
UMBRELLA_FOLDERS = ("device", "launch", "ops", "tensor")


# Reading and writing files needs heavy std headers, and few programs do it: included on their own.
FILE_FORMATS = {"tensor/npy.hpp", "tensor/safetensors.hpp", "tensor/json.hpp", "tensor/file.hpp",
                "tensor/file_source.hpp"}


@check
def umbrella(tree):
    """flaggems.hpp includes every public header, the host as the only vendor, and nothing else."""
    base = tree.root / "include/flaggems"
    if not (base / "flaggems.hpp").is_file():
        yield "include/flaggems/flaggems.hpp is missing"
        return
    wanted = {n for n in UMBRELLA if (base / n).is_file()}
    wanted |= {f"{f}/{p.name}" for f in UMBRELLA_FOLDERS for p in (base / f).glob("*.hpp")}
    wanted -= FILE_FORMATS
    found = re.findall(r"^#include <flaggems/([^>]+)>", (base / "flaggems.hpp").read_text(), re.M)
    for name in sorted(wanted - set(found)):
        yield f"include/flaggems/flaggems.hpp: does not include <flaggems/{name}>"
    for name in sorted(set(found) - wanted):
        yield f"include/flaggems/flaggems.hpp: includes <flaggems/{name}>, which is no part of it"


@check
def compiled_once(tree):
    """What flaggems::compiled is to have is in headers that its sources include: functions in one, kernels in others."""
    graph = {tree.include_name(p): p.read_text() for p in tree.headers()}

    def included(source):
        found, new = set(), [source.read_text()]
        while new:
            names = set(re.findall(r"^#include <(flaggems/[^>]+)>", new.pop(), re.M)) & graph.keys()
            new += [graph[name] for name in names - found]
            found |= names
        return found

    of_functions, of_kernels = set(), set()
    for source in sorted((tree.root / "cmake/compiled").glob("*.cpp")):
        (of_functions if source.stem == "functions" else of_kernels).update(included(source))
    for name in sorted(graph):
        if name not in of_functions and re.search(r"FLAGGEMS_(NOINLINE_|COLD_)?ONCE\b", graph[name]):
            yield f"include/{name}: cmake/compiled/functions.cpp does not include it"
        if name not in of_kernels and re.search(r"^FLAGGEMS_\w+_ONCE\(", graph[name], re.M):
            yield f"include/{name}: no source of kernels in cmake/compiled includes it"


# Headers in ops/ that are machinery of several operators, not operators.
OPS_MACHINERY = {"checks", "expr", "forms", "gemm_call", "gemm_short", "index_list", "moves", "nodes", "promotion", "rows"}


@check
def stems(tree):
    """An operator has the same stem in ops/, tests/ops/, bench/ops/, instances of its kernels for
    the chips' compilers, and a row in the support table."""
    if not (tree.root / "include/flaggems/ops").is_dir():
        return
    ops = tree.stems("include/flaggems/ops", ".hpp") - OPS_MACHINERY
    tests = tree.stems("tests/ops", ".cpp")
    benches = tree.stems("bench/ops", ".cpp")
    for stem in sorted(ops - tests):
        yield f"include/flaggems/ops/{stem}.hpp: no tests/ops/{stem}.cpp"
    for stem in sorted(ops - benches):
        yield f"include/flaggems/ops/{stem}.hpp: no bench/ops/{stem}.cpp"
    for stem in sorted(benches - ops):
        yield f"bench/ops/{stem}.cpp: no include/flaggems/ops/{stem}.hpp"
    # Somebody includes each header of kernel/, and instances each family's kernels of an operator.
    kernel = tree.root / "include/flaggems/kernel"
    texts = {p: p.read_text() for p in tree.headers()}
    instances = "".join(p.read_text() for p in (tree.root / "tests/device_compile").glob("*.cpp"))
    for path in sorted(p for p in texts if kernel in p.parents):
        include = f"<{tree.include_name(path)}>"
        if include not in instances and not any(include in t for q, t in texts.items() if q != path):
            yield f"{tree.name(path)}: nobody includes it"
        shared = path.parent.parent == kernel / "family" or path.parent.name in ("programs", "tables")
        if shared and path.stem in ops and include not in instances:
            yield f"{tree.name(path)}: no tests/device_compile/{path.stem}.cpp includes it"
    table = tree.root / "docs/support.md"
    # With the header and the columns that every operator has marks in: host, cuda, simt64, compilers.
    rows = dict(re.findall(r"^\| (\w+) \|((?:[^|\n]*\|){1,5})", table.read_text() if table.is_file() else "", re.M))
    how = ("run its tests, on the simulated driver too, with FLAGGEMS_SUPPORT_LOG=LOG, then "
           "tools/docs/support_table.py LOG --merge (docs/tutorial.md has the commands)")
    for entry in operators.operators(tree.root):
        name = entry["name"]
        if name not in rows and name not in support_table.NO_LAUNCH:
            yield f"docs/support.md: no row for {name} of {entry['header']}: {how}"
        elif " - " in rows.get(name, ""):
            columns = ("header", "host", "cuda", "simt64", "compilers")
            lacks = ", ".join(c for c, mark in zip(columns, rows[name].split("|")) if mark == " - ")
            yield f"docs/support.md: {name} of {entry['header']} was not run or compiled for {lacks}: {how}"


# Public names without a line in the registry: those of expressions, and weights that are no tensors.
NOT_REGISTERED = {"allow_tf32", "also_store", "apply", "as_scalar", "assign", "cast", "epilogue", "evaluate", "with_bias", "with_mask",
                  "with_score", "dequantize", "pack_matrix", "quantized_embedding", "quantized_linear",
                  # Views, lists of tensors, and bools, which the registry's results are not.
                  "allclose", "equal", *operators.VIEWS, "split_copy", "split_with_sizes_copy", "unbind_copy"}


@check
def registered(tree):
    """Every public operator has a line in a family of the registry."""
    folder = tree.root / "include/flaggems/registry/families"
    lines = "".join(p.read_text() for p in sorted(folder.glob("*.hpp")))
    bound = set(re.findall(r"FLAGGEMS_BIND\w*\(\(?flaggems::(\w+)", lines))
    bound |= set(re.findall(r"FLAGGEMS_\w+_LINE\((\w+), ", lines))
    # A family that expands a table has its rows, but those of a kind that it skips.
    for row in operators.pointwise(tree.root):
        stem = pathlib.Path(row["header"]).stem
        for found in re.findall(rf"FLAGGEMS_{stem.upper()}_TABLE\(([^)]*)\)", lines):
            kind = operators.kinds(tree.root, stem).index(row["kind"])
            if found.split(", ")[kind] != "FLAGGEMS_NO_LINE":
                bound.add(row["name"])
    bound |= {name + "_" for name in re.findall(r"FLAGGEMS_BIND_IN_PLACE\(flaggems::(\w+)", lines)}
    for entry in operators.operators(tree.root):
        if entry["name"] not in bound | NOT_REGISTERED:
            yield f"include/flaggems/registry/families: no line binds {entry['name']} of {entry['header']}"


# Folders of tests/ and bench/ that are not about a folder of include/flaggems: what is shared, programs that
# compile or run all of it in some other way, and examples.
OTHER_TESTS = {
    "tests": {"allocation", "callables", "compile_fail", "consumer", "cuda", "cuda_precompiled", "device_compile",
              "dialects", "fuzz", "headers", "isa_entries", "llama", "opencl", "opinfo", "simulated", "support"},
    "bench": {"compare", "compile_time", "gpu", "instructions"},
}


@check
def mirrored_folders(tree):
    """A folder of tests/ or bench/ with code has the name of one of include/flaggems, or of adapters/flaggems, whose
    headers it is about."""
    for top, others in OTHER_TESTS.items():
        folders = {p.parent.relative_to(tree.root / top) for p in tree.files(CODE, (top,))}
        for folder in sorted(folders - {pathlib.Path(".")}):
            if folder.parts[0] not in others and not any(
                    (tree.root / home / folder).is_dir() for home in ("include/flaggems", "adapters/flaggems")):
                yield f"{top}/{folder.as_posix()}: there is no include/flaggems/{folder.as_posix()}"


@check
def barriers_for_all(tree):
    """No barrier, nor what has one, stands under a condition that depends on the thread's index."""
    for path in tree.files((".hpp",), ("include", "examples")):
        if "/vector/" in str(path):
            continue
        for line, called, condition in barriers.violations(path.read_text()):
            yield f"{tree.name(path)}:{line}: {called} under line {condition}, which not all threads of a block follow"


@check
def texts(tree):
    """Kernels of operators are in a header that ends with its text, and texts have the header's name."""
    family = tree.root / "include/flaggems/kernel/family"
    carried = set()
    for header in [*tree.headers(), *sorted((tree.root / "examples").glob("*.hpp"))]:
        for name in re.findall(r'^FLAGGEMS_TEXT\("(.*)"\);', header.read_text(), re.M):
            carried.add(header)
            own = header.name if header.parent.name == "examples" else tree.include_name(header)
            if name != own:
                yield f"{tree.name(header)}: FLAGGEMS_TEXT names {name}"
    for header in sorted(family.rglob("*.hpp")):
        if header.parent.name != "vector" and header not in carried:
            yield f"{tree.name(header)}: no FLAGGEMS_TEXT at its end"


@check
def readme_example(tree):
    """README.md shows examples/01_hello.cpp as it is, in 15 lines or so."""
    readme, example = tree.root / "README.md", tree.root / "examples/01_hello.cpp"
    if not readme.is_file() or not example.is_file():
        yield "README.md or examples/01_hello.cpp is missing"
        return
    shown = re.search(r"```cpp\n(.*?)```", readme.read_text(), re.S)
    code = "\n".join(line for line in example.read_text().splitlines()
                     if not line.startswith("// SPDX")) + "\n"
    if not shown or shown[1] != code:
        yield "README.md: the first ```cpp block differs from examples/01_hello.cpp"
    if len([line for line in code.splitlines() if line.strip()]) > 18:
        yield "examples/01_hello.cpp: the README's example has more than 18 lines of code"


@check
def docs_snippets(tree):
    """The code in docs/ is that of the programs it is cut out of (tools/docs/snippets.py)."""
    yield from snippets.problems(tree.root)


@check
def docs_operators(tree):
    """docs/operators.md is what tools/docs/operators.py makes of the headers."""
    page = tree.root / "docs/operators.md"
    if not page.is_file() or page.read_text() != operators.markdown(tree.root):
        yield ("docs/operators.md is out of date: run tools/docs/operators.py --markdown "
               "docs/operators.md")


@check
def docs_compile_times(tree):
    """Compile times stand in one table, with a row for every program of bench/compile_time."""
    yield from compile_time.problems(tree.root)


@check
def docs_operator_counts(tree):
    """Only the generated reference says how many operators there are."""
    for page in [tree.root / "README.md", *sorted((tree.root / "docs").rglob("*.md"))]:
        if page.name == "operators.md" or not page.is_file():
            continue
        for said in re.findall(r"\b[89]\d (?:public )?(?:operators|names|rows)\b", page.read_text()):
            yield f"{tree.name(page)}: '{said}': docs/operators.md alone has that number, generated"


@check
def docs_links(tree):
    """Every relative link of README.md and docs/ leads to a file."""
    for page in [tree.root / "README.md", *sorted((tree.root / "docs").rglob("*.md"))]:
        text = page.read_text() if page.is_file() else ""
        text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in link and not (page.parent / link).exists():
                yield f"{tree.name(page)}: no file {link}"


@check
def docs_paths(tree):
    """Every path of this repository in a shell block of README.md and docs/ is there, but for what the
    reader writes (foo)."""
    folders = "adapters|bench|cmake|docs|examples|include|tests|tools"
    for page in [tree.root / "README.md", *sorted((tree.root / "docs").rglob("*.md"))]:
        text = page.read_text() if page.is_file() else ""
        for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S):
            code = re.sub(r"#.*", "", block)
            for path in re.findall(rf"(?<![\w./$-])(?:{folders})/[\w./{{}},-]*\w", code):
                if path.count("{") != path.count("}"):
                    continue  # a pattern
                names = [path]
                while found := re.search(r"\{([^{}]*)\}", names[0]):
                    names = [name.replace(found[0], part, 1) for name in names for part in found[1].split(",")]
                for name in names:
                    if "foo" not in name and not (tree.root / name).exists():
                        yield f"{tree.name(page)}: no file {name}"


@check
def device_messages(tree):
    """docs/device-guide.md has every message of check_device."""
    header = tree.root / "include/flaggems/device/check_device.hpp"
    page = tree.root / "docs/device-guide.md"
    if not header.is_file():
        return
    text = " ".join(page.read_text().split()) if page.is_file() else ""
    calls = re.findall(r"FLAGGEMS_REQUIRE\(\s*\w+,\s*((?:\"[^\"]*\"\s*)+)\)", header.read_text())
    for call in calls:
        message = "".join(re.findall(r"\"([^\"]*)\"", call))
        if f"`{message}`" not in text:
            yield f"docs/device-guide.md: lacks `{message}`"


# ---- compilers


@check
def format(tree):
    """clang-format has nothing to change."""
    clang_format = tool("clang-format-14", "clang-format")
    files = [str(p) for p in tree.files(CODE)]
    style = f"--style=file:{tree.root / '.clang-format'}"
    commands = [(f, [clang_format, "--dry-run", "-Werror", style, f]) for f in files]
    for file, output in run_all(commands):
        yield output.splitlines()[0] if output else file


def warnings_on(compiler):
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow",
             "-Werror"]
    # With the headers themselves as main files.
    return flags + (["-Wno-pragma-once-outside-header"] if "clang" in compiler else [])


# Headers of Python packages that an adapter includes: a module that says where they are.
FOREIGN = {"tvm": ("tvm_ffi.config", "--includedir")}


@functools.cache
def foreign_folder(name):
    done = subprocess.run([sys.executable, "-m", *FOREIGN[name]], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def compiled_headers(tree):
    """The headers that can be compiled here, and the compiler's flags for them."""
    headers, flags = [], ["-I", str(tree.root / "include"), "-I", str(tree.root / "adapters")]
    for header in tree.own_headers():
        needs = set(re.findall(r"^#include <(\w+)/", header.read_text(), re.M)) & FOREIGN.keys()
        missing = [n for n in needs if foreign_folder(n) is None]
        if not missing:
            headers.append(header)
        elif os.environ.get("FLAGGEMS_TEST_REQUIRE_ALL", "OFF") == "ON":
            raise MissingTool(f"{tree.name(header)} needs the headers of {', '.join(missing)}")
        else:
            print(f"left out: {tree.name(header)}, as the headers of {', '.join(missing)} are not installed")
    for name in FOREIGN:
        if foreign_folder(name):
            flags += ["-isystem", foreign_folder(name)]
    return headers, flags


def compilers_in_turn(tree):
    """A function of a header and its number that gives its compilers: both, or of a turn one for half of the headers."""
    compilers = [c for c in ("g++", "clang++-14") if shutil.which(c)]
    if len(compilers) < 2:
        raise MissingTool("g++ and clang++-14 are needed")
    if tree.turn is None:
        return lambda header, number: compilers
    # A clone of one commit knows of no changes.
    changed = subprocess.run(["git", "-C", str(tree.root), "diff", "--name-only", "HEAD~1"], capture_output=True,
                             text=True).stdout.split()
    changed = {tree.root / name for name in changed}

    def of_turn(header, number):
        place = (number + tree.turn) % 4
        return [compilers[place % 2]] if place < 2 or header in changed else []
    return of_turn


@check
def self_contained(tree):
    """Every header compiles alone, included twice, with g++ and clang, without a warning."""
    compilers = compilers_in_turn(tree)
    with tempfile.TemporaryDirectory() as folder:
        commands = []
        headers, flags = compiled_headers(tree)
        for number, header in enumerate(headers):
            name = tree.include_name(header)
            unit = pathlib.Path(folder) / f"{number}.cpp"
            unit.write_text(f"#include <{name}>\n#include <{name}>\n")
            for compiler in compilers(header, number):
                commands.append((f"{name} ({compiler})", [
                    compiler, *warnings_on(compiler), "-fsyntax-only", *flags, str(unit)]))
        for key, output in run_all(commands):
            errors = [line for line in output.splitlines() if "error:" in line]
            yield f"{key}: {errors[0] if errors else output[:300]}"


@check
def older_standard(tree):
    """Before C++20, and by default, every header says in a few lines what it needs, and no more."""
    compilers = compilers_in_turn(tree)
    says, lines = "flaggems needs C++20: compile with -std=c++20", 30

    def problem(case):
        header, compiler, standard = case
        command = [compiler, *standard, "-fsyntax-only", "-I", str(tree.root / "include"), "-I",
                   str(tree.root / "adapters"), "-x", "c++", str(header)]
        done = subprocess.run(command, capture_output=True, text=True)
        errors = re.findall(r"error: .*", done.stderr)
        if done.returncode and len(errors) == 2 and says in errors[0] \
                and len(done.stderr.splitlines()) <= lines:
            return None
        return (f"{tree.name(header)} ({compiler} {' '.join(standard)}): not one error that says "
                f"'{says}' in at most {lines} lines")

    cases = [(header, compiler, standard) for number, header in enumerate(tree.headers())
             for compiler in compilers(header, number) for standard in ([], ["-std=c++17"])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from filter(None, pool.map(problem, cases))


def std_includes(tree):
    """The headers outside the library that the library's headers include."""
    names = set()
    for path in tree.own_headers():
        names |= set(re.findall(r"^\s*#\s*include\s*<([^>]+)>", path.read_text(), re.M))
    return sorted(n for n in names if not n.startswith("flaggems/"))


@check
def traps(tree):
    """Macros that users have (tests/headers/traps.hpp) do not break a header."""
    traps_header = pathlib.Path(__file__).resolve().parents[2] / "tests/headers/traps.hpp"
    compilers = [c for c in ("g++", "clang++-14") if shutil.which(c)]
    if not compilers:
        raise MissingTool("neither g++ nor clang++-14 is installed")
    guarded = ("arm_", "immintrin", "x86intrin")  # only where the architecture has them
    with tempfile.TemporaryDirectory() as folder:
        headers, flags = compiled_headers(tree)
        unit = pathlib.Path(folder) / "traps.cpp"
        text = "".join(f"#if __has_include(<{n}>)\n#include <{n}>\n#endif\n"
                       for n in std_includes(tree) if not n.startswith(guarded[0]))
        text += f'#include "{traps_header}"\n'
        text += "".join(f"#include <{tree.include_name(h)}>\n" for h in headers)
        unit.write_text(text)
        commands = [(c, [c, "-std=c++20", "-fsyntax-only", *flags, str(unit)]) for c in compilers]
        for key, output in run_all(commands):
            errors = [line for line in output.splitlines()
                      if re.search(r"error:|in expansion of macro", line)
                      and "traps.hpp" not in line.split(":")[0]]
            for line in errors[:10] or [output[:300]]:
                yield f"with users' macros, {key}: {line}"


@check
def tidy(tree):
    """clang-tidy over one unit that includes every header."""
    clang_tidy = tool("clang-tidy-14", "clang-tidy")
    with tempfile.TemporaryDirectory() as folder:
        headers, flags = compiled_headers(tree)
        unit = pathlib.Path(folder) / "all_headers.cpp"
        unit.write_text("".join(f"#include <{tree.include_name(h)}>\n" for h in headers))
        command = [clang_tidy, "--quiet", f"--config-file={tree.root / '.clang-tidy'}", str(unit),
                   "--", "-std=c++20", *flags]
        for _, output in run_all([("tidy", command)]):
            lines = [line for line in output.splitlines()
                     if re.search(r": (error|warning):", line)]
            yield from sorted(set(lines)) or [output[:500]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--turn", type=int, help="number of a share: half of the headers, each with one compiler")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    options = parser.parse_args()
    if options.list:
        print("\n".join(CHECKS))
        return 0
    unknown = [n for n in options.names if n not in CHECKS]
    if unknown:
        parser.error(f"no check {', '.join(unknown)}; there are {', '.join(CHECKS)}")
    tree, found, missing = Tree(options.root, options.turn), 0, 0
    for name in options.names or CHECKS:
        print(f"{name} ...", flush=True)
        start = time.monotonic()
        try:
            for line in CHECKS[name](tree):
                print(f"{name}: {line}")
                found += 1
        except MissingTool as problem:
            print(f"{name}: skipped, {problem}")
            missing += 1
        print(f"{name} took {time.monotonic() - start:.1f} s", flush=True)
    if found:
        print(f"{found} violation{'s' if found > 1 else ''}")
    return 1 if found else 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
