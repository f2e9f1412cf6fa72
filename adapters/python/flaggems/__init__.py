# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The operators of flaggems on anything with __dlpack__: flaggems.ops.softmax(x, -1). Where PyTorch is installed,
flaggems.enable() puts them before ATen's."""
import tvm_ffi as _tvm_ffi

from . import ops
from ._library import Library

_TORCH = ("disable", "enable", "left_out", "only_enable", "register_op", "registered_ops", "use_gems")
__all__ = ["load", "ops", *_TORCH]

# What not_supported is; the other kinds TVM-FFI knows itself.
_tvm_ffi.register_error("NotImplementedError", NotImplementedError)


def load(path, prefix):
    """The operators of a library that flaggems::tvm_ffi made: load("build/liboperators.so", "mine.").snake(x, a=2.0). TVM-FFI
    knows them by names that begin with the prefix, which no other library has."""
    return Library(path, prefix)


def __getattr__(name):
    if name not in _TORCH:
        raise AttributeError(f"module 'flaggems' has no attribute {name!r}")
    from . import _torch  # PyTorch is imported by who asks for it
    return globals().setdefault(name, getattr(_torch, name))
