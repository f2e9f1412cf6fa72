#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Disassembles a plain -O2 build: wide registers must occur in the entries of the wide levels, and
nowhere else, and the instructions of AVX-512-BF16, VNNI and AMX in the entries of those. A compiler that drops a target attribute, or lets wide code leak into a function that any
machine may run, fails here.
"""
import argparse
import collections
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENTRY = re.compile(r"detail::host_entry<.*>::(baseline|avx2|avx512|avx512_bf16|amx)\(")
# Parts of kernels that are compiled once a level, out of line.
PARTS = {"avx2": r"kernels::outlined<flaggems::kernels::isa_avx2>::|kernels::avx2_pair_tile<"
                 r"|kernels::level_code<32>::",
         "avx512": r"kernels::outlined<flaggems::kernels::isa_avx512>::|kernels::avx512_pair_tile<"
                   r"|kernels::transpose_panels<|kernels::level_code<64>::",
         "avx512_bf16": r"kernels::bf16_dot_kernel<flaggems::kernels::isa_avx512>::tile"
                        r"|kernels::vnni_tile<",
         "amx": r"kernels::amx_tiles<"}
# Kernels of a few scalars, which have nothing to do in vectors, or leave that to parts of theirs.
SCALAR = ("kernels::gemm_blocked<",
          # the next ones move words of 16 bytes
          "kernels::pack_pairs<", "kernels::pack_bytes<", "kernels::pack_byte_tiles<")
# Kernels of one entry, which runs the parts of whatever level the launch is at.
CHOOSING = ("kernels::pointwise<", "kernels::pointwise_flat<", "kernels::reduce_inner<",
            "kernels::reduce_rows<", "kernels::reduce_outer<", "kernels::gemm_blocked<",
            "kernels::gemm_few_rows<", "kernels::gemm_small<", "kernels::gemm_small_matrix<",
            "kernels::gemm_along<")
WIDE = {"avx2": "ymm", "avx512": "zmm", "avx512_bf16": "zmm", "amx": "zmm"}
# The levels in which an instruction may occur, and one of which must have it.
SPECIAL = {"vdpbf16ps": {"avx512_bf16"}, "vpdpbusd": {"avx512_bf16"},
           "tdpbf16ps": {"amx"}, "tdpbssd": {"amx"}}


def functions(binary):
    """{function: register classes, special instructions, and `part of LEVEL` for the parts it refers to}."""
    text = subprocess.run(["objdump", "-d", "-r", "-C", "--no-show-raw-insn", str(binary)], check=True,
                          capture_output=True, text=True).stdout
    found = collections.defaultdict(set)
    name = None
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if head:
            name = head.group(1)
            found[name]
        elif name:
            found[name].update(re.findall(r"%(xmm|ymm|zmm)", line))
            found[name].update(i for i in SPECIAL if i in line)
            if "R_X86_64_" in line:
                found[name].update(f"part of {level}" for level in PARTS if re.search(PARTS[level], line))
    return found


def check(compiler, flags, build):
    """What is wrong, as lines."""
    binary = build / f"entries-{pathlib.Path(compiler).name}"
    subprocess.run([compiler, "-std=c++20", "-O2", *flags, "-I", str(ROOT / "include"), "-c",
                    str(HERE / "entries.cpp"), "-o", str(binary)], check=True)
    problems = []
    entries, special, parts = collections.Counter(), collections.Counter(), collections.Counter()
    for name, contents in functions(binary).items():
        match = ENTRY.search(name)
        level = match.group(1) if match else next(
            (p for p in PARTS if re.search(PARTS[p], name)), None)
        wide = WIDE.get(level)
        if match:
            entries[level] += 1
        scalar = any(kernel in name for kernel in SCALAR)
        # An entry may leave its loops to parts of its level, which must be wide there.
        part = "kernels::outlined<" in name and "[clone" not in name
        parts[level] += part
        leaves_to_parts = match and f"part of {level}" in contents
        if (match or part) and not (scalar or leaves_to_parts) and wide and wide not in contents:
            problems.append(f"no {wide} register in {name}")
        chooses = any(kernel in name.partition(">::")[0] for kernel in CHOOSING)
        for other in WIDE.keys() - {level}:
            if match and not chooses and level in ("baseline", "avx2", "avx512") and f"part of {other}" in contents:
                problems.append(f"a part of level {other} in {name}")
        allowed = {"ymm", "zmm"} if wide == "zmm" else {wide}
        for register in sorted((contents & {"ymm", "zmm"}) - allowed):
            problems.append(f"{register} register in {name}")
        for instruction, levels in SPECIAL.items():
            if instruction in contents:
                special[instruction] += 1
                if level not in levels:
                    problems.append(f"{instruction} in {name}")
    for instruction in SPECIAL:
        if not special[instruction]:
            problems.append(f"no {instruction} anywhere")
    for level in ("avx2", "avx512"):
        if parts[level] < 8:
            problems.append(f"{parts[level]} parts of level {level}, expected at least 8")
    for level in ("baseline", "avx2", "avx512"):
        if entries[level] < 4:
            problems.append(f"{entries[level]} entries of level {level}, expected at least 4")
    print(f"{compiler} {' '.join(flags)}: {dict(entries)}, {dict(special)}, {len(problems)} problems")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cxx", action="append", required=True)
    args = parser.parse_args()
    if platform.machine() != "x86_64":
        print("the levels are those of x86-64")
        return 77
    compilers = [c for c in args.cxx if shutil.which(c)]
    if len(compilers) != len(args.cxx) or not shutil.which("objdump"):
        print("missing:", *[c for c in [*args.cxx, "objdump"] if not shutil.which(c)])
        return 77
    args.build.mkdir(parents=True, exist_ok=True)
    results = [check(c, [], args.build) for c in compilers]
    for problem in sum(results, []):
        print(problem)
    # The check itself: wide code everywhere must be seen.
    planted = check(compilers[0], ["-mavx512f", "-DFEW_ENTRIES=1"], args.build)
    seen = any(re.match(r"[yz]mm register in ", problem) for problem in planted)
    if not seen:
        print("a build with -mavx512f passes: the check sees nothing")
    return 0 if not any(results) and seen else 1


if __name__ == "__main__":
    sys.exit(main())
