#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles the device subset with the compilers of chips: nvrtc, opencl, hip or dialect.

Every header of include/flaggems/kernel alone, then every tests/device_compile/<stem>.cpp (see
kernel/block/simt/entry.hpp), whose instances must come out as code; with --part a share of the files.
`hip` compiles each for one of HIP_TARGETS and LATER_TARGETS in turn, what is for matrix units always for one of each;
`opencl` also makes images, as the driver's LLVM must read them; `dialect`, by clang and for 32 and 64 lanes in turn, a share of the
files of instances that the commit chooses; with --all everything. As `declarations`, compares our declarations
of drivers with the vendors' own headers. As `linked`, compiles linked.cu with nvcc and
runs it, where there is a GPU to use. As `instances`, compiles kernels that test programs may launch
on flaggems::cuda to machine code: an eighth that the commit chooses, each for one of TARGETS in turn;
with --all every one for all of them, which takes 24 times as long. As `contract`, compiles those
of every operator with every element type that it takes (contract/): a share that the commit chooses,
each for one of CONTRACT_TARGETS in turn; with --all everything, which takes 270 times as long. Exit
status 77: the compiler or the headers are not here.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from instances import names, operators

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
SKIP = 77


def is_host_only(header):
    """The host's own side of a kernel: vector types of the host's instruction sets."""
    return header.parent.name == "vector"


def sources(build):
    """The headers, each wrapped in a file of its own, and the files of instances."""
    build.mkdir(parents=True, exist_ok=True)
    include = ROOT / "include"
    files = []
    headers = [h for room in ("kernel", "kernels") for h in (include / "flaggems" / room).rglob("*.hpp")]
    for header in sorted(headers):
        if is_host_only(header):
            continue
        name = header.relative_to(include).as_posix()
        file = build / ("header_" + name.replace("/", "_").replace(".hpp", ".cpp"))
        file.write_text(f"#include <{name}>\n#include <{name}>\n")
        files.append(file)
    return files, sorted(HERE.glob("*.cpp"))


def found(*arguments, tool="fetch_nvrtc.py"):
    """What a tool finds, or None."""
    done = subprocess.run([sys.executable, str(ROOT / "tools" / tool), "--find", *arguments],
                          capture_output=True, text=True)
    if done.returncode:
        print(done.stderr.strip())
    return None if done.returncode else done.stdout.strip()


def folder_with(header):
    """The folder of a vendor's headers, Debian's or the vendor's own; None without them."""
    roots = [os.environ.get("ROCM_PATH"), "/usr", "/opt/rocm"]
    return next((f"{root}/include" for root in roots if root and os.path.exists(f"{root}/include/{header}")), None)


OPTIONAL_HEADERS = {"ascend"}  # tools/fetch_acl.py may not reach a wheel of 44 MB


def declarations(cxx):
    folders = {"cuda": found("--headers"), "hip": folder_with("hip/hiprtc.h"), "ascend": found(tool="fetch_acl.py"),
               "opencl": folder_with("CL/cl.h"), "level_zero": folder_with("level_zero/ze_api.h")}
    failed, missing = [], []
    for vendor, folder in folders.items():
        source = str(HERE / "declarations" / f"{vendor}.cpp")
        if not folder:
            missing.append(vendor)
        # (-isystem /usr/include would put C's headers before C++'s.)
        elif subprocess.run([cxx, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I",
                             str(ROOT / "include"), "-idirafter", folder, source]).returncode:
            failed.append(vendor)
    print(f"declarations of {', '.join(v for v in folders if v not in missing) or 'none'} compared;",
          f"no headers of {', '.join(missing) or 'none'} here; different: {', '.join(failed) or 'none'}")
    return 1 if failed else SKIP if set(missing) - OPTIONAL_HEADERS else 0


# Parts of mangled names: arange, the two lambdas of main and softmax, in each form that the
# operators choose from when they run.
LINKED = [f"pointwise_{form}I.*{what}" for form in ("vectors", "strided")
          for what in ("identity_fn", "Z4mainEUlfE_J", "Z4mainEUlfE0_J")]
LINKED += ["20register_row_programI", "18staged_row_programI"]
TARGETS = ["sm_90a", "sm_80", "sm_100", "sm_120"]
DIALECT_SHARE = 16


def commit_number():
    """What chooses the share that is compiled; 0 for what is no clone, or has no git beside it."""
    commit = ""
    if shutil.which("git"):
        commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True,
                                text=True).stdout.strip()
    return int(commit or "0", 16)


def environment_of(library):
    return {**os.environ, "FLAGGEMS_NVRTC_LIBRARY": library, "FLAGGEMS_CACHE_MIB": "0"}


def instances_of(programs, every, build, cxx):
    library = found()
    if not library:
        return SKIP
    # (The test of what types without names are refused with is among the programs.)
    command = [*map(str, programs), "--check", "--allow-nameless", "-j", str(os.cpu_count() or 1)]
    if not every:  # which of them for which chips is the commit's choice
        command += ["--every", "8", "--from", str(commit_number() % (8 * len(TARGETS)))]
    for target in TARGETS:
        command += ["--target", target]
    environment = environment_of(library)
    return (subprocess.run(command, env=environment).returncode
            or refusals(programs[0].resolve(), environment, build, cxx))


# A share of the contract has one part of each list of types, of which the longest simple one has as
# many: the part of every operator is about one type.
CONTRACT_PARTS = 15
CONTRACT_TARGETS = ["sm_80", "sm_90a"]
# What only NVRTC refuses, and of one type: words that are aligned less than they are.
PLANTED = """#pragma once
#include <flaggems/kernels/math.hpp>
struct planted {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) x) const {
    if constexpr (flaggems::kernels::is_same<V, flaggems::i16>) {
      struct words {
        alignas(V) flaggems::u32 at[1];
      };
      return static_cast<V>(words{}.at[0]);
    } else {
      return x;
    }
  }
};
FLAGGEMS_TEXT("planted.hpp");
"""
PLANTED_CALLS = """#include <flaggems/ops/expr.hpp>
#include "contract.hpp"
#include "planted.hpp"
namespace contract {
void f() { each(types<f32, i16>{}, [](const auto& x) { (void)fg::evaluate(s, fg::apply(planted{}, x)); }); }
}
"""


def contract_objects(sources, part, parts, build, cxx):
    """A part of each source, compiled just so far that its kernels have names."""
    build.mkdir(parents=True, exist_ok=True)
    objects = [build / (source.stem + ".o") for source in sources]

    def compile_one(source, to):
        return subprocess.run([cxx, "-std=c++20", "-O0", "-DFLAGGEMS_FORCE_INLINE=0",
                               "-DFLAGGEMS_MAX_ISA=0", f"-DCONTRACT_PARTS={parts}", f"-DCONTRACT_PART={part}",
                               "-I", str(ROOT / "include"), "-I", str(HERE / "contract"), "-I", str(build),
                               "-c", str(source), "-o", str(to)]).returncode

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return None if any(pool.map(compile_one, sources, objects)) else objects


def uncalled(sources):
    """The operators that no source of the contract calls, in any form."""
    def kind(name):
        plain = name.removesuffix("_")
        return "copy" if operators.is_copy(name) else operators.DONE_BY.get(
            name, operators.DONE_BY.get(plain, plain)).removesuffix("_")
    text = "".join(source.read_text() for source in sources)
    called = {kind(name) for name in re.findall(r"\bfg::(\w+)", text)}
    called |= {row["name"] for row in operators.pointwise(ROOT)}  # by FLAGGEMS_POINTWISE_TABLE
    return [entry["name"] for entry in operators.operators()
            if entry["name"] not in operators.VOCABULARY and kind(entry["name"]) not in called]


def contract(compile_program, every, build, cxx):
    library = found()
    if not library:
        return SKIP
    sources = sorted((HERE / "contract").glob("*.cpp"))
    missing = uncalled(sources)
    if missing:
        print("tests/device_compile/contract calls no", *missing, file=sys.stderr)
        return 1
    targets = [word for target in CONTRACT_TARGETS for word in ("--target", target)]
    command = [str(compile_program), "--check", "-j", str(os.cpu_count() or 1), *targets]
    number = commit_number()
    parts = range(CONTRACT_PARTS) if every else [number % CONTRACT_PARTS]
    if not every:
        number //= CONTRACT_PARTS
        sources = sources[number % 3::3]
        command += ["--every", "3", "--from", str(number // 3 % (3 * len(CONTRACT_TARGETS)))]
    failed = 0
    for part in parts:
        print(f"part {part} of {CONTRACT_PARTS}:", flush=True)
        objects = contract_objects(sources, part, CONTRACT_PARTS, build, cxx)
        failed |= objects is None or subprocess.run(
            [*command, *map(str, objects)], env=environment_of(library)).returncode
    return failed or planted(compile_program, environment_of(library), build / "planted", cxx)


def planted(compile_program, environment, build, cxx):
    """A kernel that does not compile for a chip has to be seen, with its type, and it alone."""
    build.mkdir(parents=True, exist_ok=True)
    (build / "planted.hpp").write_text(PLANTED)
    (build / "calls.cpp").write_text(PLANTED_CALLS)
    objects = contract_objects([build / "calls.cpp"], 0, 1, build, cxx)
    if objects is None:
        return 1
    done = subprocess.run([str(compile_program), "--check", "--target", "sm_80", str(objects[0])],
                          env=environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode == 1 and "node<short int, planted, " in said \
            and "kernels: 6, pieces of machine code: 3 for sm_80; 3 could not be compiled: FAILED" in said:
        return 0
    print(f"a planted kernel of i16 that does not compile: got {done.returncode}: {said}", file=sys.stderr)
    return 1


def refusals(compile_program, environment, build, cxx):
    """What flaggems-compile must refuse, and how it says why."""
    (build / "taken").mkdir(parents=True, exist_ok=True)
    functor = ("struct %s { template <class V> FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) x) const "
               "{ return x; } };\n")
    # As a launch does: puts the texts of the file's headers into the object.
    texts = ("#include <flaggems/vendors/driver/kernel_text.hpp>\n"
             "const void* texts() { return &flaggems::detail::kernel_texts::embedded(); }\n")
    sources = {
        "with_text.hpp": "#include <flaggems/kernel/math/math.hpp>\n" + functor % "with_text"
                         + 'FLAGGEMS_TEXT("with_text.hpp");\n',
        "helper.hpp": "inline float helper(float x) { return x; }\n",
        "helped.hpp": '#include "helper.hpp"\nFLAGGEMS_TEXT("helped.hpp");\n',
        "helped.cpp": texts + '#include "helped.hpp"\n',
        "taken/with_text.hpp": '// Another.\nFLAGGEMS_TEXT("with_text.hpp");\n',
        "taken.cpp": texts + '#include "taken/with_text.hpp"\n',
        "program.cpp": """#include <flaggems/ops/expr.hpp>
#include <flaggems/vendors/cuda.hpp>
#include "with_text.hpp"
""" + functor % "textless" + "namespace own { " + functor % "textless" + "}\nnamespace { "
            + functor % "nameless" + """}
void f(const flaggems::stream<flaggems::cuda>& s, flaggems::tensor<float, flaggems::cuda>& x) {
  flaggems::assign(s, x, flaggems::apply(with_text{}, x));
  flaggems::assign(s, x, flaggems::apply(textless{}, x));
  flaggems::assign(s, x, flaggems::apply(own::textless{}, x));
  flaggems::assign(s, x, flaggems::apply(nameless{}, x));
}
"""}
    for name, text in sources.items():
        (build / name).write_text(text)
    subprocess.run([cxx, "-std=c++20", f"-I{ROOT / 'include'}", "-DFLAGGEMS_MAX_ISA=0", "-c",
                    *(name for name in sources if name.endswith(".cpp"))], cwd=build, check=True)
    # With paths that are changed (docs/use.md) a header's text is found, too.
    here = build.resolve()
    subprocess.run([cxx, "-std=c++20", f"-I{ROOT / 'include'}", f"-ffile-prefix-map={here}=.", f"-Wa,-I{here}",
                    "-c", here / "taken.cpp", "-o", "mapped.o"], cwd=build, check=True)
    subprocess.run([cxx, "-r", "-nostdlib", "program.o", "taken.o", "-o", "both.o"], cwd=build, check=True)
    failed = 0

    def expect(status, said, match, *arguments):
        nonlocal failed
        done = subprocess.run([str(compile_program), "program.o", "--check", "--target", "sm_90a",
                               "--match", match, *arguments],
                              cwd=build, env=environment, capture_output=True, text=True)
        if done.returncode != status or said not in done.stdout + done.stderr:
            failed = 1
            print(f"flaggems-compile, {match} {arguments}: expected {status} and '{said}', got "
                  f"{done.returncode}: {done.stdout}{done.stderr}", file=sys.stderr)

    # A header without a text, even where the compiler could read it: the key of the disk cache would
    # not change with it.
    expect(1, "helper.hpp", "with_text", "helped.o")
    for option in ("-j", "0"), ("-j", "x"), ("--every", "0"):
        expect(2, f"{option[0]}: expected a number from 1 on", "with_text", *option)
    for option in "--object", "-j":
        expect(2, f"{option} needs a value", "with_text", option, "--allow-nameless")
    expect(0, "kernels: 3", "with_text", "program.o")  # twice, with the same texts
    expect(1, "machine code: 3 for sm_90a; 6 could not be compiled: FAILED", "(with_text|textless)<?", "-j", "2")
    # Before any kernel, which would be named there.
    expect(1, "flaggems-compile: sm_1x:\nnvrtc: error: invalid value for --gpu-architecture (-arch)\n",
           "textless", "--target", "sm_1x")
    # PTX says of two parameters what OpenCL gives for them.
    ptx = build / "ptx.o"
    done = subprocess.run([str(compile_program), "program.o", "--target", "compute_80", "--match", " with_text",
                           "--object", ptx.name], cwd=build, env=environment, capture_output=True, text=True)
    for declared in (b".param .u64 .ptr .shared .align 16 flaggems_entry_param_1,\n",
                     b".param .u64 .ptr .global .align 16 flaggems_entry_param_2,\n"):
        if done.returncode or ptx.read_bytes().count(declared) != 3:
            failed = 1
            print(f"flaggems-compile for compute_80: no {declared}: {done.stdout}{done.stderr}", file=sys.stderr)
    for taken in "taken.o", "both.o", "mapped.o":
        expect(2, "two different texts named with_text.hpp", "with_text", taken)
    expect(1, 'does the header of "textless" end with FLAGGEMS_TEXT?', " textless")
    expect(1, 'does the header of "own::textless" end with FLAGGEMS_TEXT?', "own::textless")
    expect(2, "::nameless\nGive them names", "nameless")
    expect(0, "3 kernels left out", "nameless", "--allow-nameless")
    return failed


def linked(build):
    """A program of nvcc's: every launch in it has an entry function, and without a GPU it says so."""
    nvcc = shutil.which("nvcc")
    if not nvcc:
        print("no nvcc here")
        return SKIP
    build.mkdir(parents=True, exist_ok=True)
    command = [nvcc, "-std=c++20", "--extended-lambda", "-arch=sm_90a", "-Werror", "all-warnings",
               "-I", str(ROOT / "include"), str(HERE / "linked.cu")]
    ptx, program = build / "linked.ptx", build / "linked"
    subprocess.run([*command, "-ptx", "-o", str(ptx)], check=True)
    entries = re.findall(r"\.visible \.entry (\w+)", ptx.read_text())
    missing = [part for part in LINKED if not any(re.search(part, entry) for entry in entries)]
    if missing:
        print(f"linked.cu: no kernel for {missing} among", *entries, sep="\n", file=sys.stderr)
        return 1
    subprocess.run([*command, "-o", str(program)], check=True)
    return subprocess.run([str(program)]).returncode


BY_OPENCL_SHARE = 6  # of the instances, as NVIDIA's OpenCL driver launches them


def nvrtc(files, instances, build, cxx, every=False):
    library = found()
    if not library:
        return SKIP
    tool = build / "nvrtc-compile"
    subprocess.run([cxx, "-std=c++20", "-O1", str(ROOT / "tools" / "nvrtc_compile.cpp"), "-o",
                    str(tool), "-ldl"], check=True)
    command = [str(tool), "--lib", library, "-I", str(ROOT / "include"), "-I", str(HERE)]
    by_opencl = instances[commit_number() % BY_OPENCL_SHARE::BY_OPENCL_SHARE]
    return (subprocess.run([*command, *map(str, files + instances)]).returncode
            or subprocess.run([*command, "--arch", "sm_80", "-O", "-DFLAGGEMS_LAUNCHED_BY_OPENCL=1",
                               *map(str, every and instances or by_opencl)]).returncode)


def with_clang(files, instances, build, options, suffix, entry_line, turns=((),),
               problem_of=lambda text: "", clang=None):
    """Each file with the options, and those of one turn after the other, from the commit's on."""
    clang = clang or shutil.which("clang++-14") or shutil.which("clang-14")
    if not clang:
        print("no clang 14 here")
        return SKIP
    failed = 0
    for number, file in enumerate(files + instances, commit_number() // DIALECT_SHARE):
        start = time.monotonic()
        out = build / (file.stem + suffix)
        command = [clang, *options, *turns[number % len(turns)], "-Wall", "-Wextra", "-Werror", "-I",
                   str(ROOT / "include"), "-I", str(HERE), str(file), "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True)
        problem = done.stdout + done.stderr
        if not problem and file in instances:
            text = out.read_text()
            problem = "".join(f"no code for {n}\n" for n in names(file)
                              if entry_line(n) not in text) + problem_of(text)
        if problem or done.returncode:
            failed += 1
            print(f"{file}:\n{problem}", file=sys.stderr)
        else:
            print(f"{1e3 * (time.monotonic() - start):6.0f} ms  {file}")
    return 1 if failed else 0


# What an image may leave to the driver: OpenCL C's own functions, by their mangled names.
OPENCL_BUILTINS = re.compile(r"_Z\d+(get_(local|group)_id|get_local_size|get_num_groups|barrier|fma|sqrt)[a-z]+$|llvm\.")


def opencl_problem(text):
    """What clang lets pass and an OpenCL driver refuses: casts that LLVM does not read, from an address
    space to the same one, and functions that drivers lack."""
    casts = re.findall(r"= (addrspacecast (.+) %\S+ to \2)$", text, re.MULTILINE)
    unknown = [name for name in re.findall(r'^declare [^@]*@"?([^"(]+)', text, re.MULTILINE)
               if not OPENCL_BUILTINS.match(name)]
    return "".join(f"no cast: {cast[0]}\n" for cast in casts) + "".join(f"no function {name}\n" for name in unknown)


OPENCL = ["-x", "cl", "-cl-std=CLC++2021", "-target", "spir64"]


SPIRV_SHARE = 6


def opencl(files, instances, build, cxx, every=False):
    """The headers' and instances' language by clang 14; what images are by the clang whose LLVM reads them;
    of a share of the instances SPIR-V, which Level Zero takes."""
    del cxx
    failed = with_clang(files, instances, build, [*OPENCL, "-S", "-emit-llvm", "-O1", "-Xclang", "-disable-llvm-passes"],
                        ".ll", lambda name: f"spir_kernel void @{name}(", problem_of=opencl_problem)
    newer = shutil.which("clang-15")
    if failed or not newer:
        print("" if failed else "no clang-15 here")
        return failed or SKIP
    options = [*OPENCL, "-O0", "-Xclang", "-opaque-pointers", "-w", "-I", str(ROOT / "include"),
               "-I", str(HERE), "-c", "-emit-llvm"]
    for file in instances:
        image, text = build / (file.stem + ".bc"), build / (file.stem + ".read.ll")
        subprocess.run([newer, *options, str(file), "-o", str(image)], check=True)
        done = subprocess.run([newer, "-x", "ir", "-S", "-emit-llvm", str(image), "-o", str(text)],
                              capture_output=True, text=True)
        problem = done.stderr if done.returncode else opencl_problem(text.read_text())
        if problem:
            failed = 1
            print(f"{file}, as an image:\n{problem}", file=sys.stderr)
    share = instances if every else instances[commit_number() % SPIRV_SHARE::SPIRV_SHARE]
    return failed or spirv(share, build, newer)


def spirv(instances, build, clang):
    """As flaggems::level_zero compiles them."""
    translator, validator = shutil.which("llvm-spirv-15"), shutil.which("spirv-val")
    if not translator or not validator:
        print("no llvm-spirv-15 or no spirv-val here")
        return SKIP
    failed = 0
    for file in instances:
        code, image = build / (file.stem + ".typed.bc"), build / (file.stem + ".spv")
        commands = [[clang, *OPENCL, "-O0", "-w", "-I", str(ROOT / "include"), "-I", str(HERE), "-c", "-emit-llvm",
                     str(file), "-o", str(code)],
                    [translator, "--spirv-max-version=1.1", str(code), "-o", str(image)],
                    [validator, "--target-env", "spv1.1", str(image)]]
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                failed = 1
                print(f"{file}, as SPIR-V:\n{done.stdout}{done.stderr}", file=sys.stderr)
                break
    print(f"{len(instances)} files as SPIR-V")
    return failed


# -S -O1: machine instructions, as text; an object would need the chip's linker.
HIP = ["-x", "hip", "-std=c++17", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-Wno-cuda-compat",
       "-S", "-O1"]
# Waves of 64 lanes, and of 32. Of files in turn one half has the first, by clang 14, which knows no later
# target; the other half the second, by a later clang, which also makes what is for their matrix units.
HIP_TARGETS = ["gfx90a", "gfx1030"]
LATER_TARGETS = ["gfx942", "gfx1100"]
UNIT_INSTANCES = ["gemm_units", "attention_units"]
UNIT_INSTRUCTIONS = {"gfx90a": ["v_mfma_f32_16x16x16bf16_1k", "v_mfma_f32_16x16x4f32", "v_mfma_f64_16x16x4f64"],
                     "gfx942": ["v_mfma_f32_16x16x16_bf16", "v_mfma_i32_16x16x32_i8", "v_mfma_f64_16x16x4_f64"],
                     "gfx1100": ["v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16", "v_wmma_i32_16x16x16_iu8"]}


def unit_problem(text):
    """Whether instances for matrix units are without the instructions of their target."""
    target = re.search(r"amdhsa--(gfx\w+)", text)[1]
    if "prefill_mfma" in text and target in UNIT_INSTRUCTIONS and not re.search(r"\bv_w?mf?ma_", text):
        return f"no instruction of matrix units for {target}\n"
    wanted = UNIT_INSTRUCTIONS.get(target, []) if "gemm_mfma_" in text else []
    return "".join(f"no {name} for {target}\n" for name in wanted if name not in text)


def hip(files, instances, build, cxx, every=False):
    del cxx
    def on(targets, files, instances, clang=None):
        def one(targets):
            return with_clang(files, instances, build, HIP, ".s", lambda name: f".amdhsa_kernel {name}",
                              [[f"--offload-arch={target}"] for target in targets], unit_problem, clang)
        return max(one([target]) for target in targets) if every else one(targets)
    later = next(filter(None, (shutil.which(f"clang++-{n}") for n in range(25, 16, -1))), None)
    if not later:
        print("no clang 17 or later here, for", *LATER_TARGETS)
        return on(HIP_TARGETS, files, instances) or SKIP
    turn = commit_number() // DIALECT_SHARE // 2 % 2
    first, second = [(files, instances) if every else (files[n::2], instances[n::2]) for n in (turn, 1 - turn)]
    with_units = [file for file in instances if file.stem in UNIT_INSTANCES and file not in second[1]]
    return max(on(HIP_TARGETS, *first), on(LATER_TARGETS, *second, later), on(LATER_TARGETS, [], with_units, later))


def dialect(files, instances, build, cxx, every=False):
    """Languages with CUDA's names, of vendors whose compilers are clang's: for AMD's instructions, as
    clang has no other chip's but NVIDIA's."""
    del cxx
    def on(lanes):
        return with_clang(files, instances, build,
                          [*HIP, "--offload-arch=gfx90a", "-include", str(HERE / "dialect.hpp")], ".s",
                          lambda name: f".amdhsa_kernel {name}", [[f"-DFLAGGEMS_DIALECT_LANES={n}"] for n in lanes])
    return max(on([lanes]) for lanes in (32, 64)) if every else on((32, 64))


def main():
    compilers = {"nvrtc": nvrtc, "opencl": opencl, "hip": hip, "dialect": dialect}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("compiler", choices=[*compilers, "declarations", "linked", "instances",
                                             "contract"])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--only", metavar="STEM", help="the headers STEM.hpp and STEM's instances alone")
    parser.add_argument("--program", metavar="FILE", type=pathlib.Path, nargs="+",
                        help="instances: flaggems-compile, then the programs with the kernels; "
                             "contract: flaggems-compile")
    parser.add_argument("--part", type=int, nargs=2, metavar=("N", "PARTS"),
                        help="nvrtc, opencl, hip: one of so many parts of the files, of number N modulo PARTS")
    parser.add_argument("--all", action="store_true", help="instances, hip, dialect: for all targets; contract: everything")
    options = parser.parse_args()
    if options.compiler == "instances":
        return instances_of(options.program, options.all, options.build / "refusals", options.cxx)
    if options.compiler == "contract":
        return contract(options.program[0].resolve(), options.all, options.build / "contract", options.cxx)
    if options.compiler == "declarations":
        return declarations(options.cxx)
    if options.compiler == "linked":
        return linked(options.build / "linked")
    files, instances = sources(options.build / options.compiler)
    if options.compiler == "dialect":  # the other languages' compilers read every header alone
        files = []
        if not options.all and not options.only:
            instances = instances[commit_number() % DIALECT_SHARE::DIALECT_SHARE]
    if options.part:
        number, parts = options.part
        files, instances = files[number % parts::parts], instances[number % parts::parts]
    if options.only:
        files = [f for f in files if f.stem.endswith(f"_{options.only}")]
        instances = [f for f in instances if f.stem == options.only]
    if not files and not instances:
        print("no kernel headers or instances found", file=sys.stderr)
        return 1
    every = {"every": True} if (options.all and options.compiler in ("opencl", "hip", "dialect")) or (
        options.only and options.compiler == "opencl") else {}
    status = compilers[options.compiler](files, instances, options.build / options.compiler,
                                         options.cxx, **every)
    sys.stdout.flush()
    if status == 0:
        print(f"{len(files)} headers, {sum(len(names(f)) for f in instances)} instances")
    return status


if __name__ == "__main__":
    sys.exit(main())
