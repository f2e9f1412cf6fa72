# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The operators of flaggems on anything with __dlpack__: flaggems.ops.softmax(x, -1). Where PyTorch is installed,
flaggems.enable() puts them before ATen's."""
import tvm_ffi as _tvm_ffi

from . import ops

_TORCH = ("disable", "enable", "left_out", "only_enable", "register_op", "registered_ops", "use_gems")
__all__ = ["ops", *_TORCH]

# What not_supported is; the other kinds TVM-FFI knows itself.
_tvm_ffi.register_error("NotImplementedError", NotImplementedError)


def __getattr__(name):
    if name not in _TORCH:
        raise AttributeError(f"module 'flaggems' has no attribute {name!r}")
    from . import _torch  # PyTorch is imported by who asks for it
    return globals().setdefault(name, getattr(_torch, name))
