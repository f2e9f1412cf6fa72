# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""What calls cost the host: ours by host_cost.cpp, in processes of their own, and the peers'."""
import json
import os
import statistics
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F

import operands
import triton_kernels as tk


def lines_of(program, *words, folder=None):
    run = subprocess.run([str(program), *words], capture_output=True, text=True,
                         env={**os.environ, **({"FLAGGEMS_CACHE_DIR": folder} if folder else {})})
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    if run.returncode != 0:
        print(f"{program} {' '.join(words)}: {run.stdout[-300:]}{run.stderr[-300:]}")
    return found


def ours(program):
    """Of each operator: nanoseconds a call, and microseconds of its first call with and without a cache on disk."""
    with tempfile.TemporaryDirectory() as folder:
        return {"first": lines_of(program, "first", folder=folder), "cached": lines_of(program, "first", folder=folder),
                "host": lines_of(program, folder=folder)}


def cost(call):
    """Nanoseconds a call; the queue is never full."""
    times = []
    for _ in range(9):
        begin = time.perf_counter()
        for _ in range(200):
            call()
        times.append((time.perf_counter() - begin) / 200 * 1e9)
        torch.cuda.synchronize()
    return statistics.median(times)


def peers():
    n = 4096
    x, y, w, b = operands.random(1, n), operands.random(1, n), operands.random(n), operands.random(n)
    o, r, two = operands.empty(1, n), operands.random(1, n), operands.empty(2, n)
    weight, small, which = operands.random(64, n), operands.empty(1, 64), torch.ones(1, dtype=torch.int64, device="cuda")
    one, index = operands.empty(1), operands.empty(1, dtype=torch.int64)
    best, places = operands.empty(1, 8), operands.empty(1, 8, dtype=torch.int64)
    table = {
        "add": {"torch": lambda: torch.add(x, y, out=o), "triton": lambda: tk.add(x, y, o)},
        "add, new tensor": {"torch": lambda: torch.add(x, y)},
        "add_": {"torch": lambda: o.add_(x)},
        "silu": {"torch": lambda: operands.aten.silu.out(x, out=o)},
        "fill_": {"torch": lambda: o.fill_(1)},
        "copy_": {"torch": lambda: o.copy_(x)},
        "cat": {"torch": lambda: torch.cat((x, y), out=two)},
        "embedding": {"torch": lambda: F.embedding(which, weight)},
        "index_select": {"torch": lambda: torch.index_select(weight, 0, which, out=o)},
        "softmax": {"torch": lambda: operands.aten._softmax.out(x, -1, False, out=o), "triton": lambda: tk.softmax(x, o)},
        "softmax, new tensor": {"torch": lambda: torch.softmax(x, -1)},
        "log_softmax": {"torch": lambda: torch.log_softmax(x, -1), "triton": lambda: tk.log_softmax(x, o)},
        "layer_norm": {"torch": lambda: F.layer_norm(x, (n,), w, b), "triton": lambda: tk.layer_norm(x, w, b, o)},
        "rms_norm": {"torch": lambda: F.rms_norm(x, (n,), w), "triton": lambda: tk.rms_norm(x, w, o)},
        "fused_add_rms_norm": {"torch": lambda: F.rms_norm(r.add_(x), (n,), w),
                               "triton": lambda: tk.fused_add_rms_norm(w, x, r)},
        "sum": {"torch": lambda: torch.sum(x, 1, out=one)},
        "mean": {"torch": lambda: torch.mean(x, 1, out=one)},
        "amax": {"torch": lambda: torch.amax(x, 1, out=one)},
        "argmax": {"torch": lambda: torch.argmax(x, 1, out=index)},
        "topk": {"torch": lambda: torch.topk(x, 8, out=(best, places))},
        "argsort": {"torch": lambda: torch.argsort(x)},
        "mv": {"torch": lambda: torch.mv(weight, w)},
        "linear": {"torch": lambda: F.linear(x, weight)},
        "mm": {"torch": lambda: torch.mm(x, weight.t(), out=small)},
    }
    rows = []
    for op, sides in table.items():
        row = {"op": op}
        for side, call in sides.items():
            for _ in range(20):
                call()
            torch.cuda.synchronize()
            row[side] = round(cost(call))
        rows.append(row)
    return rows
