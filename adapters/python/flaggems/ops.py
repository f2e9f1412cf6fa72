# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The operators by ATen's names: ops.NAME(...) chooses the overload whose schema takes the arguments.

Tensors are whatever has __dlpack__, and results come as what the first of them is. In-place operators
(`add_`) and outputs (`out=`, or by the schema's names) write into the memory given, and give it back.
A dtype is a string or one of NumPy's or PyTorch's; a generator is a seed. A call runs on the device of its first tensor, or
on that of `device=`: "cuda".
"""
import pathlib

from ._library import Libraries

_libraries = Libraries(pathlib.Path(__file__).parent)
schemas = _libraries.schemas


def __getattr__(name):
    try:
        return globals().setdefault(name, _libraries[name])
    except KeyError:
        raise AttributeError(f"flaggems has no operator {name!r}") from None


def __dir__():
    return sorted([*_libraries.names(), "schemas"])
