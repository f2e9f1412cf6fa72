# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Operands of what is compared, and what a case of it is."""
import dataclasses
import functools
from typing import Any, Callable

import torch

aten = torch.ops.aten
F32, BF16 = torch.float32, torch.bfloat16
F8, I8, F16, F64 = torch.float8_e4m3fn, torch.int8, torch.float16, torch.float64
DTYPES = [F32, BF16, torch.int64, torch.bool, F8, I8, torch.int32, F64, F16]  # as operators/bridge.hpp numbers them
NAMES = {F32: "f32", BF16: "bf16", F8: "f8", I8: "i8", F16: "f16", F64: "f64"}
KIB, MIB = 2**10, 2**20


@dataclasses.dataclass
class Case:
    family: str
    op: str                     # of the table; our operation's name unless `ours` says another
    shape: str
    dtype: Any
    bytes: int                  # each input read once and each output written once
    make: Callable              # () -> list of tensors, results last
    ours: tuple                 # (operation, numbers)
    results: int                # how many of the tensors, at the end, are written
    reference: Callable         # (*inputs in f32) -> the results
    eager: dict                 # name -> f(*tensors): torch eager, Triton
    compiled: Callable = None   # f(*inputs): what torch.compile is given; some cases of each operator
    roof: str = "copy"
    exact: Callable = None      # (tensors) -> bool, instead of comparing with the reference
    in_place: bool = False
    peers_ask: bool = False     # the device, within a call, so that calls cannot be captured

    def key(self):
        return f"{self.family} {self.op} {self.shape} {NAMES[self.dtype]}"


@functools.cache
def generator():
    """Of its own: PyTorch's takes part in captures."""
    return torch.Generator("cuda").manual_seed(1)


def random(*sizes, dtype=BF16):
    return torch.randn(sizes, device="cuda", dtype=torch.float32, generator=generator()).to(dtype)


def uniform(*sizes, dtype=BF16):
    return torch.rand(sizes, device="cuda", dtype=torch.float32, generator=generator()).to(dtype)


def integers(most, *sizes, dtype=torch.int64):
    return torch.randint(most, sizes, device="cuda", dtype=dtype, generator=generator())


def empty(*sizes, dtype=BF16):
    return torch.full(sizes, float("nan") if dtype.is_floating_point else -1, device="cuda", dtype=dtype)


def size_of(dtype):
    return torch.tensor([], dtype=dtype).element_size()


def text(*sizes):
    return "x".join(map(str, sizes))


def tensor_bytes(n):
    for unit, size in (("GiB", 2**30), ("MiB", MIB), ("KiB", KIB)):
        if n >= size:
            return f"{n // size} {unit}"
    return f"{n} B"
