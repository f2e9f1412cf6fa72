#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the operators on an NVIDIA GPU with PyTorch (eager and torch.compile) and Triton, in one process and run.

    bench/gpu/run.py --quick rows               one family (or several), no torch.compile, seconds; writes no result
    bench/gpu/run.py --quick rows --match softmax bf16    only what has these words in its name
    bench/gpu/run.py --quick rows --base ../before        beside the operators of another checkout, not the peers
    bench/gpu/run.py --list                     families and cases
    bench/gpu/run.py --name h200                everything: bench/results/gpu-h200.json, tables and charts
    bench/gpu/run.py --prepare 12               before that: fills the caches of NVRTC, Triton and torch.compile,
                                                12 processes at once
    bench/gpu/run.py --report                   docs/performance.md and charts of bench/results anew

Our side is operators/*.cpp, compiled by g++ into a shared library (folder: --build). Times are by the device's
events around replays of captured launches over rotated operands; see docs/performance.md.
"""
import argparse
import datetime
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))


def build(arguments, root, folder):
    """The shared library of a checkout, compiled where a source or header is newer."""
    library = folder / "libflaggems_bench.so"
    if arguments.share:
        return library
    folder.mkdir(parents=True, exist_ok=True)
    operators = root / "bench/gpu/operators"
    newest = max(p.stat().st_mtime for p in (root / "include").rglob("*.hpp"))
    newest = max(newest, (operators / "bridge.hpp").stat().st_mtime)
    running, objects = [], []
    for source in sorted(operators.glob("*.cpp")):
        target = folder / (source.stem + ".o")
        objects.append(str(target))
        if not target.exists() or target.stat().st_mtime < max(newest, source.stat().st_mtime):
            running.append((target, subprocess.Popen(
                [arguments.cxx, "-std=c++20", "-O2", "-fPIC", "-fno-gnu-unique",  # two in a process share nothing
                 "-DFLAGGEMS_MAX_ISA=0", "-I", str(root / "include"), "-c", str(source), "-o", str(target)])))
            if len(running) >= arguments.jobs:
                finish(running)
    finish(running)
    program, source = folder / "host_cost", HERE / "host_cost.cpp"
    if arguments.host and (not program.exists() or program.stat().st_mtime < max(newest, source.stat().st_mtime)):
        subprocess.run([arguments.cxx, "-std=c++20", "-O2", "-DFLAGGEMS_MAX_ISA=0", "-I", str(root / "include"),
                        str(source), "-o", str(program), "-ldl", "-lpthread"], check=True)
    subprocess.run([arguments.cxx, "-shared", *objects, "-o", str(library), "-ldl", "-lpthread"], check=True)
    return library


def finish(running):
    for target, process in running:
        if process.wait() != 0:
            target.unlink(missing_ok=True)
            sys.exit(f"{target.stem} could not be compiled")
    running.clear()


def environment(arguments):
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(arguments.build / "inductor"))
    os.environ.setdefault("TRITON_CACHE_DIR", str(arguments.build / "triton"))
    os.environ.setdefault("FLAGGEMS_CACHE_DIR", str(arguments.build / "flaggems"))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")


def prepare(arguments):
    """Child processes, each with a share of the cases."""
    command = [sys.executable, str(HERE / "run.py"), *arguments.families, "--build", str(arguments.build)]
    command += ["--match", *arguments.match] if arguments.match else []
    command += ["--base", str(arguments.base)] if arguments.base else []
    command += [] if arguments.compile else ["--no-compile"]
    command += ["--every", str(arguments.every)]
    shares = [subprocess.Popen([*command, "--share", str(k), str(arguments.prepare)]) for k in range(arguments.prepare)]
    return max(p.wait() for p in shares)


def versions(torch):
    import triton
    found = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "triton": triton.__version__,
             "cudnn": str(torch.backends.cudnn.version())}
    smi = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                         text=True)
    found["driver"] = smi.stdout.strip().splitlines()[0] if smi.returncode == 0 else ""
    found["cxx"] = subprocess.run(["g++", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    try:
        import ctypes
        for name in ("libnvrtc.so.13", "libnvrtc.so.12"):
            try:
                nvrtc = ctypes.CDLL(name)
            except OSError:
                continue
            major, minor = ctypes.c_int(), ctypes.c_int()
            nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
            found["nvrtc"] = f"{major.value}.{minor.value}"
            break
    except AttributeError:
        pass
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--quick", action="store_true", help="no torch.compile, fewer rounds, no result file")
    parser.add_argument("--match", nargs="+", help="words in the names of the cases")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--name", help="of the machine: writes bench/results/gpu-NAME.json")
    parser.add_argument("--prepare", type=int, default=0)
    parser.add_argument("--share", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="without torch.compile")
    parser.add_argument("--no-triton", dest="triton", action="store_false")
    parser.add_argument("--no-host", dest="host", action="store_false", help="without what calls cost the host")
    parser.add_argument("--without-peers", action="store_true", help="ours only")
    parser.add_argument("--base", type=pathlib.Path, help="another checkout: the only peer is what it has of ours")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=pathlib.Path, help="writes the result there as well")
    parser.add_argument("--every", type=int, default=1, help="only each so-manieth case")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after so long")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/gpu")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    if arguments.quick:
        arguments.compile, arguments.host, arguments.rounds = False, False, 3
    if arguments.base:
        if arguments.name:
            parser.error("--base: a result's peers are others")
        arguments.compile, arguments.host, arguments.without_peers = False, False, True
    environment(arguments)

    import report
    if arguments.report:
        return report.write(ROOT)
    library_path = build(arguments, ROOT, arguments.build)
    base_path = arguments.base and build(arguments, arguments.base, arguments.build / "base")
    try:
        import torch
    except ImportError as error:
        sys.exit(f"no PyTorch: {error}")
    if not torch.cuda.is_available():
        sys.exit("no device")
    if arguments.prepare:
        return prepare(arguments)
    import cases
    import measure
    chosen = cases.select(arguments.families, arguments.match)[::arguments.every]
    if arguments.list:
        print("\n".join(c.key() for c in chosen))
        return 0
    library = measure.Library(library_path)
    base = measure.Library(base_path) if base_path else None
    for opened in filter(None, (library, base)):
        if opened.reason:
            sys.exit(opened.reason)
    if arguments.share:
        index, count = arguments.share
        for case in (c for k, c in enumerate(chosen) if k // 6 % count == index):  # neighbours share kernels
            measure.warm(case, library, base, arguments)
            torch.cuda.empty_cache()
        return 0

    begun = time.monotonic()
    sides = {}
    if arguments.host:
        import host
        sides = host.ours(arguments.build / "host_cost")
        sides["host_peers"] = host.peers()
    torch.backends.cuda.matmul.allow_tf32 = False
    words = [w for k, w in enumerate(sys.argv) if "--out" not in sys.argv[max(1, k - 1):k + 1]]
    result = {"date": datetime.date.today().isoformat(), "command": "bench/gpu/run.py " + " ".join(words[1:]),
              **versions(torch), **sides, "roofs": measure.roofs(arguments), "rows": []}
    print(report.HEAD)
    for case in chosen:
        if time.monotonic() - begun > arguments.seconds:
            print(f"stopped after {arguments.seconds} s", flush=True)
            break
        row = measure.measure(case, library, base, arguments)
        if row["seconds"]:
            row["share"] = measure.roof_seconds(result["roofs"], row["roof"], row["bytes"]) / row["seconds"]
        result["rows"].append(row)
        print(report.row(row), flush=True)
        if arguments.out and len(result["rows"]) % 20 == 0:
            report.save(result, arguments.out)
    result["wall_seconds"] = round(time.monotonic() - begun)
    print(report.summary(result))
    print("\n".join(report.host_lines(result)))
    if arguments.out:
        report.save(result, arguments.out)
    if arguments.name:
        report.save(result, ROOT / f"bench/results/gpu-{arguments.name}.json")
        report.write(ROOT)
    return 1 if any(r["error"] for r in result["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
