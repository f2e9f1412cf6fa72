#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the operators on the host with those of other libraries, side by side in one run.

    bench/compare/run.py --name epyc-avx2                 all families, some minutes
    bench/compare/run.py --quick                          a minute, a few sizes; writes no result
    bench/compare/run.py --family gemm --threads 1 2
    bench/compare/run.py --report                         tables, charts and docs of bench/results anew

Builds one program a family (families/*.cpp) with whichever peers there are: libtorch (Debian's
libtorch-dev, or a Python's package with --python), OpenBLAS (Debian's, or --openblas FILE), oneDNN
(libdnnl-dev), Eigen (libeigen3-dev, or --eigen FOLDER) and ggml (of a Python's llama-cpp-python, --ggml
PYTHON). A peer that is not there is named so in the table. Ends with 1 if a result
is wrong, or a side uses more threads than asked.
"""
import argparse
import ctypes
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import report  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FAMILIES = ["pointwise", "fused", "copy", "reduce", "softmax", "norm", "rope", "embedding", "cat", "sort",
            "topk", "small", "gemm", "int8", "quantized", "attention", "scaling"]


class Peer:
    """How a peer is compiled and linked, or why it is missing."""

    def __init__(self, name, missing=None, compile=(), link=(), environment=None):
        self.name, self.missing = name, missing
        self.compile, self.link, self.environment = list(compile), list(link), environment or {}
        self.source = HERE / "peers" / f"{name.lower()}.cpp"


def find_torch(arguments):
    system = pathlib.Path("/usr/include/torch/csrc/api/include")
    if not arguments.python and system.is_dir():
        return Peer("torch", compile=["-isystem", str(system)], link=["-ltorch", "-ltorch_cpu", "-lc10"])
    python = arguments.python or sys.executable
    ask = "import torch, os; print(os.path.dirname(torch.__file__)); print(int(torch._C._GLIBCXX_USE_CXX11_ABI))"
    found = subprocess.run([python, "-c", ask], capture_output=True, text=True)
    if found.returncode != 0:
        return Peer("torch", missing=f"neither libtorch-dev nor a torch of {python}")
    folder, abi = found.stdout.split()
    libraries = pathlib.Path(folder) / "lib"
    return Peer("torch",
                compile=["-isystem", f"{folder}/include", "-isystem", f"{folder}/include/torch/csrc/api/include",
                         f"-D_GLIBCXX_USE_CXX11_ABI={abi}"],
                link=[f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10",
                      "-Wl,--allow-shlib-undefined"])


def blas_core(path, environment):
    """The processor whose kernels an OpenBLAS would use."""
    ask = ("import ctypes, sys\nb = ctypes.CDLL(sys.argv[1])\nfor n in ('openblas_get_corename', "
           "'scipy_openblas_get_corename', 'scipy_openblas_get_corename64_', 'openblas_get_corename64_'):\n"
           " f = getattr(b, n, None)\n if f: f.restype = ctypes.c_char_p; print(f().decode()); break")
    run = subprocess.run([sys.executable, "-c", ask, path], capture_output=True, text=True,
                         env={**os.environ, **environment})
    return run.stdout.strip()


def find_openblas(arguments):
    path = arguments.openblas or "libopenblas.so.0"
    try:
        ctypes.CDLL(path)
    except OSError as error:
        return Peer("OpenBLAS", missing=str(error))
    environment = {"FLAGGEMS_OPENBLAS": path}
    # It does not know every processor, and would take kernels of 2004 then.
    words = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    best = "SkylakeX" if "avx512bw" in words else "Haswell" if "avx2" in words else None
    if best and blas_core(path, {}).lower() in ("prescott", "core2", "nehalem", "sandybridge"):
        environment["OPENBLAS_CORETYPE"] = best
    return Peer("OpenBLAS", environment=environment)


def find_onednn(_):
    if not pathlib.Path("/usr/include/oneapi/dnnl/dnnl.hpp").exists():
        return Peer("oneDNN", missing="no dnnl.hpp (libdnnl-dev)")
    return Peer("oneDNN", compile=["-fopenmp"], link=["-ldnnl"])


def find_eigen(arguments):
    folder = pathlib.Path(arguments.eigen or "/usr/include/eigen3")
    if not (folder / "Eigen" / "Core").exists():
        return Peer("Eigen", missing=f"no Eigen/Core in {folder} (libeigen3-dev)")
    return Peer("Eigen", compile=["-O3", "-march=native", "-fopenmp", "-isystem", str(folder)])


def find_ggml(arguments):
    if not arguments.ggml:
        return Peer("ggml", missing="not asked for (--ggml)")
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = pathlib.Path(subprocess.run([arguments.ggml, "-c", ask], check=True, capture_output=True,
                                           text=True).stdout.strip())
    libraries = packages / "llama_cpp" / "lib"
    if not (packages / "include" / "ggml.h").exists() or not libraries.is_dir():
        return Peer("ggml", missing=f"no llama-cpp-python of {arguments.ggml}")
    return Peer("ggml", compile=["-isystem", str(packages / "include")],
                link=[f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lggml-cpu", "-lggml-base"])


def find_peers(arguments):
    finders = (find_torch, find_openblas, find_onednn, find_eigen, find_ggml)
    peers = [find(arguments) for find in finders]
    for peer in peers:
        if not peer.missing and peer.name in arguments.without:
            peer.missing = "left out"
        if not peer.missing and not peer.source.exists():
            peer.missing = "no translation unit"
    return peers


class Builder:
    def __init__(self, arguments):
        self.folder, self.cxx, self.jobs = arguments.build, arguments.cxx, arguments.jobs
        self.folder.mkdir(parents=True, exist_ok=True)
        self.running = []

    def wait(self, most):
        while len(self.running) > most:
            process, target = self.running.pop(0)
            if process.wait() != 0:
                target.unlink(missing_ok=True)

    def compile(self, source, *flags):
        """The object file of a source, compiled unless it is newer than all it is made of. There is none once
        all compilers have ended if it could not be compiled."""
        target = self.folder / (source.parent.name + "_" + source.stem + ".o")
        command = [self.cxx, "-std=c++20", "-O2", "-I", str(ROOT / "include"), *flags, "-MMD", "-MF",
                   str(target) + ".d", "-c", str(source), "-o", str(target)]
        line = " ".join(command)
        note = target.with_suffix(".cmd")
        made = target.exists() and note.exists() and note.read_text() == line
        if made:
            needs = (self.folder / (target.name + ".d")).read_text().replace("\\\n", " ").split()[1:]
            age = target.stat().st_mtime
            made = all(os.path.exists(n) and os.stat(n).st_mtime <= age for n in needs)
        if not made:
            target.unlink(missing_ok=True)
            note.write_text(line)
            self.wait(self.jobs - 1)
            self.running.append((subprocess.Popen(command), target))
        return target

    def programs(self, families, peers):
        """The program of each family that could be compiled, with the peers that could."""
        made = {peer.name: self.compile(peer.source, *peer.compile) for peer in peers if not peer.missing}
        common = [self.compile(HERE / "compare.cpp"), self.compile(HERE / "roofs.cpp")]
        objects = {family: self.compile(HERE / "families" / f"{family}.cpp") for family in families}
        self.wait(0)
        for peer in peers:
            if not peer.missing and not made[peer.name].exists():
                peer.missing = "does not compile"
        if not all(part.exists() for part in common):
            raise SystemExit("the comparison itself does not compile")
        there = [peer for peer in peers if not peer.missing]
        common += [made[peer.name] for peer in there]
        link = [flag for peer in there for flag in peer.link]
        result = {}
        for family, own in objects.items():
            if not own.exists():
                continue
            program = self.folder / f"compare_{family}"
            parts = [own, *common]
            if not program.exists() or any(p.stat().st_mtime > program.stat().st_mtime for p in parts):
                command = [self.cxx, "-o", str(program), *map(str, parts), *link, "-fopenmp", "-pthread", "-ldl"]
                subprocess.run(command, check=True)
            result[family] = program
        return result


def git_commit(arguments):
    built = arguments.build / "commit"
    if arguments.as_built and built.exists():
        return built.read_text().strip()
    run = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True)
    return run.stdout.strip() or "unknown"


def run_family(program, arguments, peers, trust):
    """The lines that the program of a family prints, as they come."""
    environment = dict(os.environ)
    # Threads that wait for the next work of their library would disturb the other sides: they sleep sooner
    # than by default, but still spin longer than the calls of one side are apart.
    environment.update({"GOMP_SPINCOUNT": "20000", "OPENBLAS_THREAD_TIMEOUT": "20"})
    for peer in peers:
        environment.update(peer.environment)
    command = [str(program)] + ["--quick"] * arguments.quick + ["--trust"] * trust
    for n in arguments.threads:
        command += ["--threads", str(n)]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for text in process.stdout:
            try:
                line = json.loads(text)
            except json.JSONDecodeError:  # a library's last words
                line = {"error": text.strip()[:120], "family": program.name}
            lines.append(line)
            if "op" in line and "seconds" in line:
                print(report.row(line), flush=True)
            elif "error" in line:
                print("ERROR", text.strip(), flush=True)
    if process.returncode not in (0, 1):
        lines.append({"error": f"the program ended with {process.returncode}", "family": program.name})
    return lines


def llama(arguments, result):
    """The model against llama.cpp: bench/compare/llama.py in the Python that has llama-cpp-python."""
    python, program, model = arguments.llama
    output = arguments.build / "llama.json"
    command = [python, str(HERE / "llama.py"), "--program", program, "--model", model, "--threads",
               str(max(arguments.threads)), "--output", str(output)]
    if subprocess.run(command).returncode == 0:
        result["llama"] = json.loads(output.read_text(encoding="utf-8"))
    else:
        result["errors"].append({"error": "llama.py failed", "family": "llama"})


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", help="writes bench/results/compare-NAME.json, the charts and the docs")
    parser.add_argument("--output", type=pathlib.Path, help="writes the result here instead")
    parser.add_argument("--family", nargs="+", choices=FAMILIES, help="only these")
    parser.add_argument("--add", action="store_true",
                        help="keeps the other families of the result that is there, which another run measured")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--quick", action="store_true", help="about a minute: fewer rows, fewer repeats")
    parser.add_argument("--report", action="store_true", help="only makes charts and docs of the results there are")
    parser.add_argument("--table", type=pathlib.Path, help="writes the table here, too")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "compare")
    parser.add_argument("--jobs", type=int, default=1, help="compilers at once")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--python", help="whose torch package is the peer, instead of Debian's")
    parser.add_argument("--openblas", help="the library, instead of Debian's")
    parser.add_argument("--eigen", help="the folder of its headers, instead of Debian's")
    parser.add_argument("--ggml", help="a Python that has llama-cpp-python")
    parser.add_argument("--without", nargs="+", default=[], metavar="PEER")
    parser.add_argument("--as-built", action="store_true",
                        help="compiles nothing: the programs are there (and the file 'commit' says of what)")
    parser.add_argument("--limit", type=float, default=1e9, help="starts no family after so many seconds")
    parser.add_argument("--llama", nargs=3, metavar=("PYTHON", "PROGRAM", "MODEL"),
                        help="also compares the model program with llama.cpp (llama.py)")
    return parser.parse_args()


def main():
    start = time.monotonic()
    arguments = parse()
    if arguments.report:
        report.write_all(ROOT)
        return 0
    there = [f for f in FAMILIES if (HERE / "families" / f"{f}.cpp").exists()]
    families = [f for f in arguments.family or there if f in there]
    peers = find_peers(arguments)
    for peer in peers:
        print(f"{peer.name}: " + (f"missing ({peer.missing})" if peer.missing else "found"))
    if arguments.as_built:
        programs = {family: arguments.build / f"compare_{family}" for family in families
                    if (arguments.build / f"compare_{family}").exists()}
    else:
        programs = Builder(arguments).programs(families, peers)
    print(f"built in {time.monotonic() - start:.0f} s")
    version = subprocess.run([arguments.cxx, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    result = {"benchmark": "compare", "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
              "commit": git_commit(arguments), "compiler": version, "flags": "-std=c++20 -O2", "quick": arguments.quick,
              "load_before": os.getloadavg()[0],
              "missing": {peer.name: peer.missing for peer in peers if peer.missing},
              "environment": {k: v for peer in peers for k, v in peer.environment.items() if k.isupper()
                              and not k.startswith("FLAGGEMS")},
              "threads_used": [], "errors": [], "streams": [], "rows": []}
    print(report.HEAD)
    for family in families:
        if time.monotonic() - start > arguments.limit:
            result["errors"].append({"error": "no time left", "family": family})
            continue
        if family not in programs:
            result["errors"].append({"error": "no program", "family": family})
            continue
        trust, began = bool(result["threads_used"]), time.monotonic()
        for line in run_family(programs[family], arguments, peers, trust):
            if "processor" in line:
                result.update(line)
            elif "check" in line:
                if line not in result["threads_used"]:
                    result["threads_used"].append(line)
            elif "error" in line:
                result["errors"].append(line)
            elif "streams" in line:
                result["streams"].append(line)
            else:
                result["rows"].append(line)
        print(f"({family}: {time.monotonic() - began:.1f} s)")
    if arguments.llama:
        llama(arguments, result)
    result["load_after"] = os.getloadavg()[0]
    summary = report.summary(result)
    print("\n" + summary)
    if arguments.table:
        arguments.table.parent.mkdir(parents=True, exist_ok=True)
        rows = [report.row(r) for r in result["rows"]]
        arguments.table.write_text("\n".join([report.HEAD, *rows, "", summary]) + "\n", encoding="ascii")
    output = arguments.output
    if arguments.name and not output:
        output = ROOT / "bench" / "results" / f"compare-{arguments.name}.json"
    if output:
        if arguments.add and output.exists():
            old = json.loads(output.read_text(encoding="utf-8"))
            for key in ("rows", "errors"):
                result[key] = [r for r in old[key] if r.get("family") not in families] + result[key]
            result["rows"].sort(key=lambda r: FAMILIES.index(r["family"]))
            result["streams"] = result["streams"] or old["streams"]
            result["threads_used"] = result["threads_used"] or old["threads_used"]
        report.save(result, output)
        if arguments.name:
            report.write_all(ROOT)
    wrong = [c for c in result["threads_used"] if c["used"] > c["asked"]]
    for line in [*result["errors"], *wrong]:
        print("ERROR", json.dumps(line))
    return 1 if result["errors"] or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
