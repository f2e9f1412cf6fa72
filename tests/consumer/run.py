#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs a small program in every way a user may take the library in.

Nothing but the build folder is written. Exit status 77: all built, but for those whose tool (clang,
libc++, pkg-config, apache-tvm-ffi) is not installed.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SRC = HERE / "src"
WARNINGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
# What a user's project may ask for: the targets' headers are system ones, which are not warned about.
STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wold-style-cast", "-Werror"]

HOST_OBJECT_BYTES = 60000  # at most, of a softmax on the host: 44 KB with g++ 12, 49 with clang 14


class MissingTool(Exception):
    pass


class Driver:
    def __init__(self, options):
        self.build = options.build
        self.cmake = options.cmake
        self.cxx = options.cxx
        self.tools = options.tools

    def run(self, *command, **more):
        done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, **more)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}"
                               f"exit status {done.returncode}")
        return done.stdout

    def folder(self, name):
        path = self.build / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def install(self):
        """Installs the library once and moves it, since an installed tree may be moved."""
        prefix = self.build / "moved"
        if not prefix.exists():
            tree, first = self.folder("install-build"), self.folder("installed")
            self.run(self.cmake, "-S", ROOT, "--preset", "install", "-B", tree,
                     f"-DCMAKE_CXX_COMPILER={self.cxx}")
            self.run(self.cmake, "--install", tree, "--prefix", first)
            first.rename(prefix)
        return prefix

    def with_cmake(self, name, *settings, options=()):
        tree = self.folder(name)
        self.run(self.cmake, "-S", HERE / "cmake", "-B", tree, f"-DHOW={name}",
                 f"-DFLAGGEMS_TREE={ROOT}", f"-DCMAKE_CXX_COMPILER={self.cxx}", f"-DCMAKE_CXX_FLAGS={' '.join([*STRICT, *options])}", *settings)
        self.run(self.cmake, "--build", tree)
        self.run(tree / "adapters")
        return self.run(tree / "consumer")

    def with_compiler(self, name, compiler, options, *files):
        program = self.folder(name) / "consumer"
        self.run(compiler, *options, *[SRC / f for f in files], "-o", program, "-pthread")
        return self.run(program)

    # ---- the consumers
    def find_package(self):
        prefix = self.install()
        tree = self.build / "find_package"
        out = self.with_cmake("find_package", f"-DCMAKE_PREFIX_PATH={prefix}", options=["-DFLAGGEMS_MAX_ISA=0"])
        for program in ("mixed", "compiled", "kernels"):
            self.run(tree / program)
        for target, has_pool in (("compiled", False), ("headers_only", True)):
            made = next((tree / f"CMakeFiles/{target}.dir").rglob("*.o"))
            if ("thread_pool::fork_join" in self.run("nm", "-C", "--defined-only", made)) != has_pool:
                raise RuntimeError(f"{made} {'lacks' if has_pool else 'has'} code of the thread pool")
        for target, has_kernels in (("kernels", False), ("headers_only", True)):
            made = next((tree / f"CMakeFiles/{target}.dir").rglob("*.o"))
            own = re.findall(r"host_entry<(.*)>::baseline\(", self.run("nm", "-C", "--defined-only", made))
            if bool(own) != has_kernels:
                raise RuntimeError(f"{made} has other kernels than it should: {own[:3]}")
        for file in prefix.rglob("*"):
            if file.suffix in (".cmake", ".pc") and str(ROOT) in file.read_text():
                raise RuntimeError(f"{file} names the source tree")
        return out

    def tvm_ffi(self):
        """The recipe of adapters/README.md with the installed library, called from Python."""
        if not importlib.util.find_spec("tvm_ffi"):
            raise MissingTool("apache-tvm-ffi")
        recipe = (ROOT / "adapters/README.md").read_text().split("makes a library of operators")[1]
        build, source = re.findall(r"\n\n((?:    .*\n)+)", recipe)[:2]
        project, tree = self.folder("tvm_ffi"), self.build / "tvm_ffi" / "build"
        (project / "operators.cpp").write_text(textwrap.dedent(source))
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.21)\n"
                                                "project(operators LANGUAGES CXX)\n" + textwrap.dedent(build))
        configure = [self.cmake, "-S", project, "-B", tree, f"-DCMAKE_PREFIX_PATH={self.install()}",
                     f"-DCMAKE_CXX_COMPILER={self.cxx}", f"-DPython3_EXECUTABLE={sys.executable}",
                     "-DCMAKE_CXX_FLAGS=-O0 -DFLAGGEMS_MAX_ISA=0 -DFLAGGEMS_FORCE_INLINE=0"]
        done = subprocess.run([str(c) for c in [*configure, "-Dtvm_ffi_ROOT=/nowhere"]], capture_output=True, text=True)
        if done.returncode == 0 or "needs PyPI's apache-tvm-ffi" not in done.stderr:
            raise RuntimeError(f"configured without apache-tvm-ffi:\n{done.stdout}{done.stderr}")
        shutil.rmtree(tree)
        self.run(*configure)
        self.run(self.cmake, "--build", tree)
        self.run(sys.executable, "-c",
                 "import sys, numpy, tvm_ffi\n"
                 "module = tvm_ffi.load_module(sys.argv[1])\n"
                 "module.register_operators('flaggems.')\n"
                 "x = tvm_ffi.from_dlpack(numpy.zeros((2, 4), 'float32'))\n"
                 "p = numpy.from_dlpack(tvm_ffi.get_global_func('flaggems.softmax.int')(x, -1))\n"
                 "assert (p == 0.25).all(), p\n", tree / "liboperators.so")

    def installed_tools(self):
        """The programs of --tools, a build that is there."""
        prefix = self.folder("tools")
        self.run(self.cmake, "--install", self.tools, "--prefix", prefix)
        absent = [n for n in ("flaggems-info", "flaggems-compile") if not (prefix / "bin" / n).exists()]
        if absent:
            raise RuntimeError(f"not installed, or not built: {', '.join(absent)}")
        json.loads(self.run(prefix / "bin/flaggems-info", "--json"))
        self.run(prefix / "bin/flaggems-compile", "--help")

    def add_subdirectory(self):
        out = self.with_cmake("add_subdirectory")
        if list((self.build / "add_subdirectory").rglob("VerifyGlobs.cmake")):
            raise RuntimeError("each build of a user's project lists our files again")
        return out

    def fetch_content(self):
        return self.with_cmake("FetchContent")

    def missing_target(self):
        """What flaggems_precompile says of a target that is not there."""
        script = self.folder("missing_target") / "call.cmake"
        script.write_text(f'include("{ROOT / "cmake/flaggems_precompile.cmake"}")\n'
                          "flaggems_precompile(absent ARCHS sm_80)\n")
        done = subprocess.run([self.cmake, "-P", str(script)], capture_output=True, text=True)
        if done.returncode == 0 or "there is no target absent" not in done.stderr:
            raise RuntimeError(f"not refused: {done.stdout}{done.stderr}")

    def own_device(self):
        """The tests on a device type of the user's, as docs/device-guide.md says."""
        tree, header = self.folder("own_device"), ROOT / "tests/support/queued_device.hpp"
        on_device = [sys.executable, ROOT / "tests/on_device.py", "--build", tree, "--areas", "device"]
        out = self.run(*on_device, "--device", "support::queued_device", "--header", header,
                       "--define", f"CMAKE_CXX_COMPILER={self.cxx}",
                       "--define", "FLAGGEMS_TEST_ONLY=device/tensor.cpp")
        if not re.search(r"tests: [1-9]\d* passed, \d+ skipped, 0 failed, 1 of 1 shares", out):
            raise RuntimeError("the tests were not counted\n" + out)
        out = self.run(tree / "tests/flaggems_test_device")
        if "TypeParam = support::queued" not in out or "from 1 test suite" not in out:
            raise RuntimeError("the tests did not run on the device type alone\n" + out)
        # A tool that finds something (in each of four shares), says nothing or watched nothing must
        # not pass. Four arguments are its own.
        tool = self.folder("sanitizer") / "compute-sanitizer"
        for words, found in (("ERROR SUMMARY: 2 errors", "8 found"), ("", "no summary"),
                             ("terminated before first instrumented API call",
                              "no summary of any share")):
            tool.write_text(f'#!/bin/sh\nshift 4\n"$@"\necho "{words}"\n')
            tool.chmod(0o755)
            done = subprocess.run([*on_device, "--no-build", "--tools", "memcheck"], text=True,
                                  capture_output=True,
                                  env={**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"})
            if done.returncode != 1 or found not in done.stdout:
                raise RuntimeError(f"passed under a tool that said '{words}'\n{done.stdout}")
        # Nor one that does not end, and cannot be asked to.
        tool.write_text("#!/bin/sh\ntrap '' TERM\nsetsid sleep 1000 &\nwait\n")
        begun = time.monotonic()
        done = subprocess.run([*on_device, "--no-build", "--tools", "memcheck", "--seconds", "5"],
                              text=True, capture_output=True, timeout=60,
                              env={**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"})
        if done.returncode != 1 or "0 of 4 shares ended" not in done.stdout:
            raise RuntimeError(f"a tool that does not end:\n{done.stdout}{done.stderr}")
        if time.monotonic() - begun > 30:
            raise RuntimeError("a tool that does not end was waited for")
        return out

    def pkg_config(self):
        tool = shutil.which("pkg-config") or shutil.which("pkgconf")
        if not tool:
            raise MissingTool("pkg-config")
        path = next(self.install().rglob("flaggems.pc")).parent
        env = {**os.environ, "PKG_CONFIG_PATH": str(path)}
        flags = self.run(tool, "--cflags", "--libs", "flaggems", env=env).split()
        return self.with_compiler("pkg_config", self.cxx, [*WARNINGS, *flags], "main.cpp")

    def copied_headers(self):
        folder = self.folder("copy")
        shutil.copytree(ROOT / "include" / "flaggems", folder / "flaggems")
        return self.with_compiler("copied_headers", self.cxx, [*WARNINGS, "-I", folder],
                                  "main.cpp")

    def two_units(self):
        return self.with_compiler("two_units", self.cxx, [*WARNINGS, "-I", ROOT / "include"],
                                  "two.cpp", "other.cpp")

    def no_exceptions(self):
        out = self.with_compiler("no_exceptions", self.cxx,
                                 [*WARNINGS, "-fno-exceptions", "-I", ROOT / "include"],
                                 "no_exceptions.cpp")
        if "handler: " not in out:
            raise RuntimeError("the error handler was not called")
        return out

    def no_rtti(self):
        return self.with_compiler("no_rtti", self.cxx,
                                  [*WARNINGS, "-fno-rtti", "-I", ROOT / "include"], "main.cpp")

    def debug_build(self):
        """CMake's Debug: nothing is warned about where g++ removes no branch."""
        return self.with_compiler("debug_build", self.cxx,
                                  [*WARNINGS, "-O0", "-DFLAGGEMS_MAX_ISA=0", "-I", ROOT / "include"], "debug.cpp")

    def closed_library(self):
        """A shared library that uses the library may be closed, whatever it shows of it."""
        tree = self.folder("closed_library")
        self.run(self.cxx, *WARNINGS, SRC / "opens_library.cpp", "-o", tree / "opens", "-pthread")
        compilers = [self.cxx] + [c for c in ["clang++-14"] if shutil.which(c)]
        for compiler in compilers:
            for visibility in ("hidden", "default"):
                library = tree / f"lib{pathlib.Path(compiler).name}_{visibility}.so"
                self.run(compiler, *WARNINGS, f"-fvisibility={visibility}", "-DFLAGGEMS_MAX_ISA=0",
                         "-I", ROOT / "include", "-fPIC", "-shared", SRC / "opened_library.cpp",
                         "-o", library, "-pthread")
                self.run(tree / "opens", library, timeout=60)

    def texts_of_kernels(self):
        """An object has the texts of kernels if a device in it compiles at run time, and else not."""
        tree, section = self.folder("texts_of_kernels"), b"flaggems/kernel/family/row/programs/softmax.hpp\0// SPDX"
        compilers = [self.cxx] + [c for c in ["clang++-14"] if shutil.which(c)]
        for compiler in compilers:
            for device, first in (("host", True), ("cuda", True), ("cuda", False)):
                made = tree / "launches.o"
                self.run(compiler, *WARNINGS, "-O2", "-I", ROOT / "include", f"-DDEVICE={device}",
                         f"-DVENDOR_FIRST={int(first)}", "-c", SRC / "launches.cpp", "-o", made)
                times = made.read_bytes().count(section)
                if times != (device == "cuda"):
                    raise RuntimeError(f"{compiler}, {device}: {times} texts of one header")
                # .text, .rodata and .data: debug information and relocations are not loaded.
                size = sum(map(int, self.run("size", made).splitlines()[1].split()[:2]))
                if device == "host" and size > HOST_OBJECT_BYTES:
                    raise RuntimeError(f"{compiler}: the object has {size} bytes of {HOST_OBJECT_BYTES}")

    def libcxx(self):
        clang = shutil.which("clang++-14") or shutil.which("clang++")
        if not clang:
            raise MissingTool("clang++")
        probe = subprocess.run([clang, "-stdlib=libc++", "-x", "c++", "-fsyntax-only", "-"],
                               input="#include <version>\n", text=True, capture_output=True)
        if probe.returncode:
            raise MissingTool("libc++")
        return self.with_compiler("libcxx", clang,
                                  [*WARNINGS, "-stdlib=libc++", "-I", ROOT / "include"],
                                  "main.cpp")


CONSUMERS = ["find_package", "installed_tools", "add_subdirectory", "fetch_content", "missing_target",
             "own_device", "pkg_config", "copied_headers", "two_units", "no_exceptions", "no_rtti",
             "debug_build", "closed_library", "texts_of_kernels", "tvm_ffi", "libcxx"]
# Of CI, which the commit chooses: one of the longest, and every other one of those that are not run always.
LONG = ["own_device", "texts_of_kernels", "tvm_ffi"]
ALWAYS = ["find_package", "missing_target", "copied_headers"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CONSUMERS))
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--tools", type=pathlib.Path, help="a build of the library with its tools")
    parser.add_argument("--turn", type=int, help="number of a share")
    options = parser.parse_args()
    # As the build that this test belongs to: CMake's default wants make, which need not be here.
    if shutil.which("ninja"):
        os.environ.setdefault("CMAKE_GENERATOR", "Ninja")
    shutil.rmtree(options.build, ignore_errors=True)
    driver, failed, missing = Driver(options), 0, 0
    all_names = [n for n in CONSUMERS if options.tools or n != "installed_tools"]
    if options.turn is not None:
        in_turns = [n for n in all_names if n not in LONG and n not in ALWAYS]
        all_names = [*ALWAYS, *in_turns[options.turn // len(LONG) % 2::2], LONG[options.turn % len(LONG)]]
    for name in options.names or all_names:
        start = time.monotonic()
        try:
            getattr(driver, name)()
            print(f"{name}: ok, {time.monotonic() - start:.1f} s")
        except MissingTool as tool:
            missing += 1
            print(f"{name}: skipped, no {tool}")
        except RuntimeError as failure:
            failed += 1
            print(f"{name}: FAILED\n{failure}")
        sys.stdout.flush()
    return 1 if failed else 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
