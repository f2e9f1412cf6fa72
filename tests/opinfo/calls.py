#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The time of a call from Python on a device of ours, beside ATen's on the CPU: calls.py LIBRARY, which says
FLAGGEMS_TORCH_DEVICE. Nanoseconds of f32 [4, 8], the best of 15 times 1,000, on one thread. Run by hand."""
import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "adapters/python"))
import flaggems_torch

CALLS = {
    "add": lambda a, b, c, m, out: a + b,
    "add.out": lambda a, b, c, m, out: torch.add(a, b, out=out),
    "add_": lambda a, b, c, m, out: a.add_(b),
    "sub": lambda a, b, c, m, out: a - b,
    "mul": lambda a, b, c, m, out: a * b,
    "mul_": lambda a, b, c, m, out: a.mul_(b),
    "div": lambda a, b, c, m, out: a / b,
    "exp": lambda a, b, c, m, out: a.exp(),
    "relu": lambda a, b, c, m, out: a.relu(),
    "sigmoid": lambda a, b, c, m, out: a.sigmoid(),
    "tanh": lambda a, b, c, m, out: a.tanh(),
    "sqrt": lambda a, b, c, m, out: a.sqrt(),
    "neg": lambda a, b, c, m, out: -a,
    "_softmax": lambda a, b, c, m, out: torch._softmax(a, -1, False),
    "_log_softmax": lambda a, b, c, m, out: torch._log_softmax(a, -1, False),
    "sum.dim": lambda a, b, c, m, out: a.sum(-1),
    "mean.dim": lambda a, b, c, m, out: a.mean(-1),
    "amax": lambda a, b, c, m, out: a.amax(-1),
    "mm": lambda a, b, c, m, out: a.mm(m),
    "addmm": lambda a, b, c, m, out: torch.addmm(c, a, m),
    "native_layer_norm": lambda a, b, c, m, out: torch.native_layer_norm(a, [8], c, c, 1e-5),
}


@torch.inference_mode()
def nanoseconds(call, device):
    given = [torch.rand(size).to(device) for size in ((4, 8), (4, 8), (8,), (8, 8), (4, 8))]
    best = float("inf")
    for _ in range(15):
        start = time.perf_counter_ns()
        for _ in range(1000):
            call(*given)
        best = min(best, (time.perf_counter_ns() - start) / 1000)
    return best


if __name__ == "__main__":
    flaggems_torch.load(sys.argv[1])
    torch.set_num_threads(1)
    for name, call in CALLS.items():
        times = [nanoseconds(call, where) for where in ("cpu", torch._C._get_privateuse1_backend_name())]
        print(f"{name:20} ATen {times[0]:5.0f}, ours {times[1]:5.0f}")
