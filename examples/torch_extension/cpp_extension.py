#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""swish_product.cpp built by PyTorch's own tool, without CMake.

Exit status 77: PyTorch is not installed.
"""
import pathlib
import sys

try:
    import torch
    from torch.utils import cpp_extension
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)

here = pathlib.Path(__file__).resolve().parent
root = here.parents[1]

# [load]
cpp_extension.load(
    name="mine",
    sources=[str(here / "swish_product.cpp")],
    extra_include_paths=[str(root / "include"), str(root / "adapters")],
    extra_cflags=["-std=c++20", "-O2"],
    is_python_module=False,
)
# [/load]

x, gate = torch.randn(4, 6).t(), torch.randn(6, 1)
y = torch.ops.mine.swish_product(x, gate)
torch.testing.assert_close(y, x * gate * torch.sigmoid(gate))
print("swish_product: as PyTorch computes it")
