#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""A network trains on torch.device("gxu"), a chip that PyTorch does not know, and does as well as on the CPU:
torch_device.py libtorch_gxu.so [--small]. Exit status 1: it does not; 77: PyTorch is not installed."""
import pathlib
import sys

try:
    import torch
    from torch import nn
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "adapters/python"))
import flaggems_torch

small = "--small" in sys.argv  # the chip is simulated, a thread at a time
sizes, batch, steps = ((64, 96, 48, 10), 16, 4) if small else ((512, 1024, 512, 10), 64, 3)

# [load]
gxu = flaggems_torch.load(sys.argv[1])
print(f"{gxu.device_count()} of {gxu.get_device_name()}")

x = torch.randn(3, 4, device="gxu")
print((x @ x.t()).softmax(-1))
# [/load]


def train(device):
    torch.manual_seed(0)
    a, b, c, d = sizes
    model = nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, c), nn.ReLU(), nn.Linear(c, d))
    inputs, targets = torch.randn(batch, a), torch.randint(d, (batch,))
    # [train]
    model, inputs, targets = model.to(device), inputs.to(device), targets.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    # [/train]
    return torch.tensor(losses)


gxu.count_calls()
expected, losses = train("cpu"), train("gxu")
calls = gxu.take_calls()
print(f"losses {losses.tolist()}, on the CPU {expected.tolist()}")
print(f"{len(calls)} operators, {sum(here for here, _ in calls.values())} calls on the chip, "
      f"{sum(left for _, left in calls.values())} on the CPU")
torch.testing.assert_close(losses, expected, rtol=1e-3, atol=1e-4)
assert losses[-1] < losses[0] and "aten::addmm" in calls and not any(left for _, left in calls.values())

# Numbers of Python are f64, which this library was not compiled for: they take the dtype of the tensors.
y = x.cpu()
for ours, theirs in ((0.5 * x + 0.25, 0.5 * y + 0.25), ((x - 0.5) / 4.0, (y - 0.5) / 4.0), (x.clone().mul_(0.1), y * 0.1)):
    torch.testing.assert_close(ours.cpu(), theirs)

m, k, n = (48, 40, 56) if small else (1024, 512, 2048)
a, b = torch.randn(m, k), torch.randn(k, n)
torch.testing.assert_close((a.to("gxu") @ b.to("gxu")).cpu(), a @ b, rtol=1e-4, atol=1e-3)
torch.testing.assert_close(a.to("gxu").softmax(-1).cpu(), a.softmax(-1))

# What the chip does not have says so, unless it may run on the CPU.
try:
    torch.special.i0(x)
    sys.exit(1)
except NotImplementedError as problem:
    print(problem)
gxu.set_fallback(["i0"])
torch.testing.assert_close(torch.special.i0(x).cpu(), torch.special.i0(x.cpu()))
