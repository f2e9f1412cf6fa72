#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Names of ours in torch.compile and torch.export: compiles examples/torch_extension with COMPILER against the
PyTorch that Python has, and traces a function that calls it. Exit status 77: PyTorch is not installed."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
    from torch.utils.cpp_extension import include_paths, library_paths
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = ("mine::operators", "flaggems::operator_families::copy", "flaggems::operator_families::unary")
SOURCE = """
#include <09_registry.hpp>
#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/device.hpp>
#include <flaggems/registry/families/copy.hpp>
#include <flaggems/registry/families/unary.hpp>
#include <torch_extension/torch_extension.cpp>
"""


def load_extension(compiler, folder):
    source, library = folder / "extension.cpp", folder / "libextension.so"
    text = SOURCE
    for device in ("flaggems::host", "flaggems::meta"):
        text += "".join(f"FLAGGEMS_REGISTRY_FAMILY({f}, {device}, flaggems::f32);\n" for f in FAMILIES)
        text += f"FLAGGEMS_REGISTRY({device}, {', '.join(FAMILIES)});\n"
    source.write_text(text)
    subprocess.run([compiler, "-std=c++20", "-O0", "-shared", "-fPIC", "-DFLAGGEMS_MAX_ISA=0",
                    *(f"-I{ROOT / part}" for part in ("include", "adapters", "examples")),
                    *(part for path in include_paths() for part in ("-isystem", path)),
                    source, "-o", library, *(f"-L{path}" for path in library_paths()),
                    "-lc10", "-ltorch_cpu", "-ltorch"], check=True)
    torch.ops.load_library(str(library))


def called(x, gate):
    return torch.ops.flaggems.silu_and_mul(torch.ops.mine.soft_limit(x.relu() + 1, 0.5), gate) * 2


class Module(torch.nn.Module):
    def forward(self, x, gate):
        return called(x, gate)


class Tracing(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.x, self.gate = torch.randn(4, 8), torch.randn(8)

    def test_compile(self):
        for backend in ("eager", "aot_eager"):
            compiled = torch.compile(called, fullgraph=True, backend=backend)
            for rows in (4, 3, 2):  # the second time PyTorch tries symbols
                with self.subTest(backend=backend, rows=rows):
                    x = self.x[:rows]
                    torch.testing.assert_close(compiled(x, self.gate), called(x, self.gate))

    def test_gradients(self):
        def gated(x, gate):
            return torch.ops.flaggems.silu_and_mul(x.relu() + 1, gate) * 2

        def of_aten(x, gate):
            return torch.nn.functional.silu(x.relu() + 1) * gate * 2
        x, gate = self.x.requires_grad_(), self.gate.requires_grad_()
        expected = torch.autograd.grad(of_aten(x, gate).square().sum(), (x, gate))
        for backend in ("eager", "aot_eager"):
            with self.subTest(backend=backend):
                made = torch.compile(gated, fullgraph=True, backend=backend)(x, gate)
                torch.testing.assert_close(torch.autograd.grad(made.square().sum(), (x, gate)), expected)

    def test_export(self):
        exported = torch.export.export(Module(), (self.x, self.gate))
        self.assertIn("torch.ops.flaggems.silu_and_mul.default", exported.graph_module.code)
        torch.testing.assert_close(exported.module()(self.x, self.gate), called(self.x, self.gate))

    def test_errors_while_tracing(self):
        with self.assertRaisesRegex(Exception, "silu_and_mul.*shape_mismatch"):
            torch.export.export(Module(), (self.x, torch.randn(3)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        load_extension(sys.argv.pop(1), pathlib.Path(folder))
        unittest.main()
