#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""A network of PyTorch's trains by our operators, which stand before ATen's.

Exit status 77: PyTorch is not installed.
"""
import sys

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)


def loss_after(steps):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.randn(128, 20)
    labels = x[:, :4].argmax(1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
    return loss.item()


expected = loss_after(20)
ran = set()

# [enable]
import flaggems


def log(name, arguments, why):
    if why is None:  # ours ran; else why ATen did
        ran.add(name)


flaggems.enable(exclude=["copy_"], fallback=True, log=log)  # for the process
loss = loss_after(20)
flaggems.disable()

with flaggems.use_gems(include=["softmax", "_softmax"]):  # for a block
    torch.softmax(torch.randn(3, 4), -1)
# [/enable]

print(f"loss {loss:.6f}, by ATen {expected:.6f}; ours ran: {', '.join(sorted(ran))}")
assert abs(loss - expected) < 1e-3 and "aten::addmm" in ran and "aten::native_layer_norm_backward" in ran
