# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The operators of flaggems on anything with __dlpack__: flaggems.ops.softmax(x, -1)."""
import tvm_ffi as _tvm_ffi

from . import ops

__all__ = ["ops"]

# What not_supported is; the other kinds TVM-FFI knows itself.
_tvm_ffi.register_error("NotImplementedError", NotImplementedError)
