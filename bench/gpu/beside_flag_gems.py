#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the operators on an NVIDIA GPU with FlagGems (PyPI: flag-gems), in one process and run.

    bench/gpu/beside_flag_gems.py [--build FOLDER] [--seconds S]

On the device: times as in run.py, FlagGems' calls captured into graphs like ours. On the host: what a call of few
elements costs, FlagGems' function called directly (not through PyTorch's dispatcher) and ours from the same Python, by ctypes.
"""
import argparse
import math
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import run  # noqa: E402


def functions(fg):
    """Operator of a case: the call of FlagGems on the case's operands."""
    def reduction(name):
        whole, dims = getattr(fg, name), getattr(fg, f"{name}_dim", None)

        def bind(dim=None):
            if dim is None:
                return lambda x, o: whole(x)
            return (lambda x, o: dims(x, [dim])) if dims else (lambda x, o: whole(x, dim))
        return bind

    return {
        "add": lambda: lambda x, y, o: fg.add(x, y), "silu": lambda: lambda x, o: fg.silu(x),
        "gelu": lambda: lambda x, o: fg.gelu(x), "exp": lambda: lambda x, o: fg.exp(x),
        "silu_and_mul": lambda: lambda x, y, o: fg.silu_and_mul(x, y),
        "apply_rotary_pos_emb": lambda: lambda q, k, c, s, *_: fg.apply_rotary_pos_emb(q[None], k[None], c, s),
        "softmax": lambda: lambda x, o: fg.softmax(x, -1), "log_softmax": lambda: lambda x, o: fg.log_softmax(x, -1),
        "layer_norm": lambda: lambda x, w, b, o: fg.layer_norm(x, w.shape, w, b, 1e-5),
        "rms_norm": lambda: lambda x, w, o: fg.rms_norm(x, w.shape, w, 1e-5),
        "fused_add_rms_norm": lambda: lambda w, x, r: fg.fused_add_rms_norm(x, r, w.shape, w, 1e-5),
        "cat": lambda dim: lambda x, y, o: fg.cat((x, y), dim),
        "embedding": lambda: lambda w, i, o: fg.embedding(w, i),
        "index_select": lambda dim: lambda x, i, o: fg.index_select(x, dim, i),
        "topk": lambda k: lambda x, v, i: fg.topk(x, k),
        "mv": lambda: lambda a, x, o: fg.mv(a, x),
        "mm NT": lambda: lambda a, b, o: fg.mm(a, b),
        **{name: reduction(name) for name in ("sum", "mean", "amax", "argmax")},
    }


def chosen(cases, operands, names):
    """Of each operator a few cases of bf16 from small to large."""
    for name in names:
        of_name = [c for c in cases.select(None, None) if c.op == name and c.dtype == operands.BF16 and
                   c.bytes <= 600 * operands.MIB]
        of_name.sort(key=lambda c: c.bytes)
        places = {0, len(of_name) // 3, 2 * len(of_name) // 3, len(of_name) - 1} if of_name else set()
        yield from (of_name[k] for k in sorted(places))


def host_seconds(torch, call, tensors):
    times = []
    for _ in range(7):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(100):
            call(*tensors)
        times.append((time.perf_counter() - begin) / 100)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=run.ROOT / "build/gpu")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after so long")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--jobs", type=int, default=16)
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    arguments.share, arguments.host, arguments.compile, arguments.triton = None, False, False, True
    arguments.without_peers, arguments.rounds = False, 5
    run.environment(arguments)
    library_path = run.build(arguments, run.ROOT, arguments.build)
    try:
        import flag_gems as fg
        import torch
    except ImportError as error:
        sys.exit(f"skipped: {error}")
    import cases
    import operands
    import measure
    library = measure.Library(library_path)
    if library.reason:
        sys.exit(library.reason)
    table = functions(fg)
    print(f"{run.versions(torch)}, flag_gems {getattr(fg, '__version__', '?')}")
    print("operator              shape                                us  FlagGems us  ratio | host us  FlagGems us  ratio")
    begun, device, host, wrong = time.monotonic(), [], [], 0
    for case in chosen(cases, operands, table):
        if time.monotonic() - begun > arguments.seconds:
            print(f"stopped after {arguments.seconds} s")
            break
        numbers = case.ours[1]
        case.eager = {"flag_gems": table[case.op](*numbers)}
        row = measure.measure(case, library, None, arguments)
        peer = row["peers"]["flag_gems"]
        wrong += bool(row["error"])
        line = f"{case.op:21} {case.shape:28}"
        if row["error"] or not row["seconds"] or not peer["seconds"]:
            print(f"{line} {row['error'] or peer['note']}", flush=True)
            continue
        device.append(peer["seconds"] / row["seconds"])
        line += f" {row['seconds'] * 1e6:10.2f} {peer['seconds'] * 1e6:12.2f} {device[-1]:6.2f}"
        if case.bytes <= 64 * operands.MIB and peer["note"] == "":
            tensors = case.make()
            ours = host_seconds(torch, library.bind(case, tensors), tensors)
            theirs = host_seconds(torch, case.eager["flag_gems"], tensors)
            if peer["seconds"] < 0.5 * ours:  # else the queue fills, and the host waits for the device
                host.append(theirs / ours)
                line += f" | {ours * 1e6:7.2f} {theirs * 1e6:12.2f} {host[-1]:6.1f}"
        print(line, flush=True)
    for name, ratios in (("device", device), ("host", host)):
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            print(f"# {name}: geometric mean of {len(ratios)} ratios {mean:.2f}, least {min(ratios):.2f}")
    return int(wrong > 0 or not device)


if __name__ == "__main__":
    sys.exit(main())
