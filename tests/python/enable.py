#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""flaggems.enable() and its like in PyTorch. Exit status 77: PyTorch is not installed."""
import collections
import sys
import unittest
import warnings

try:
    import torch
    from torch import nn
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

import flaggems


class Enable(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.calls = collections.Counter()
        self.left = {}

    def tearDown(self):
        flaggems.disable()

    def log(self, name, _, why):
        if why is None:
            self.calls[name] += 1
        else:
            self.left[name] = why

    def test_all_and_none(self):
        self.assertEqual(flaggems.registered_ops(), [])
        flaggems.enable(log=self.log)
        self.assertGreater(len(flaggems.registered_ops()), 400)
        x = torch.randn(3, 4)
        y = torch.exp(x) @ torch.exp(x).t()
        self.assertEqual(self.calls, {"aten::exp": 2, "aten::mm": 1})
        self.assertIn("gives views", flaggems.left_out()["permute"])
        self.assertIn("composes", flaggems.left_out()["layer_norm"])
        flaggems.disable()
        self.assertTrue(torch.allclose(y, torch.exp(x) @ torch.exp(x).t()))
        self.assertEqual(self.calls.total(), 3)
        self.assertEqual(flaggems.registered_ops(), [])

    def test_gradients_are_pytorchs(self):
        x = torch.randn(5, 6, requires_grad=True)
        norm = nn.LayerNorm(6)

        def gradients():
            loss = torch.softmax(norm(x) * 2 + 1, -1).log().square().mean()
            return torch.autograd.grad(loss, [x, *norm.parameters()])

        expected = gradients()
        with flaggems.use_gems(log=self.log):
            got = gradients()
        for g, e in zip(got, expected):
            torch.testing.assert_close(g, e)
        for name in ("aten::native_layer_norm", "aten::native_layer_norm_backward", "aten::_softmax_backward_data"):
            self.assertIn(name, self.calls)

    def test_outputs_that_a_result_broadcasts_to(self):
        out = torch.zeros(5, 2)
        with warnings.catch_warnings(), flaggems.use_gems(include=["add"], log=self.log):
            warnings.simplefilter("ignore")
            torch.add(torch.ones(2), torch.ones(2), out=out)
        self.assertEqual(out.tolist(), [2, 2])
        self.assertTrue(self.calls)

    def test_saved_tensors_are_not_written(self):
        w = torch.ones(3, requires_grad=True)
        loss = (w * w).sum()
        flaggems.ops.mul_(w.detach(), 5.0)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()

    def test_names(self):
        x = torch.randn(4)
        flaggems.only_enable(["exp", "aten::add.Tensor"], log=self.log)
        self.assertEqual(set(flaggems.registered_ops()), {"exp", "exp.out", "add.Tensor"})
        torch.log(torch.exp(x) + x)
        self.assertEqual(self.calls, {"aten::exp": 1, "aten::add.Tensor": 1})
        flaggems.enable(exclude=["exp"])
        self.assertNotIn("exp", flaggems.registered_ops())
        self.assertIn("exp_", flaggems.registered_ops())
        with self.assertRaisesRegex(NotImplementedError, "'layer_norm'.*composes"):
            flaggems.only_enable(["layer_norm"])
        with self.assertRaisesRegex(NotImplementedError, "'no_such'.*none of this name"):
            flaggems.only_enable(["exp", "no_such"])
        self.assertIn("exp_", flaggems.registered_ops())  # what was in force stays

    def test_scopes(self):
        x = torch.randn(4)
        flaggems.only_enable(["exp"], log=self.log)
        with flaggems.use_gems(include=["log"], log=self.log):
            torch.exp(x)
            torch.log(x)
        torch.exp(x)
        self.assertEqual(self.calls, {"aten::log": 1, "aten::exp": 1})

    def test_numbers(self):
        """A number counts for less than a tensor's dtype, a 0-dim tensor of its own dtype for more."""
        i, x = torch.arange(4), torch.randn(3)
        for a, b in ((i, 2), (i, 2.5), (i[1], 2.5), (x, 2), (x[0], 2.5), (x[0], i[1]), (i, x[0]),
                     (i, torch.tensor(2.5, dtype=torch.float64)), (x, torch.tensor(2.5, dtype=torch.float64))):
            for f in (torch.add, torch.mul, torch.true_divide, lambda p, q: torch.sub(q, p, alpha=2)):
                if f not in (torch.add, torch.mul, torch.true_divide) and not isinstance(b, torch.Tensor):
                    continue
                expected = f(a, b)
                with flaggems.use_gems(log=self.log):
                    got = f(a, b)
                self.assertEqual(got.dtype, expected.dtype, (a, b))
                torch.testing.assert_close(got, expected)
        self.assertGreater(self.calls.total(), 20)

    def test_other_tensors_are_atens(self):
        with flaggems.use_gems(log=self.log):
            torch.exp(torch.empty(3, device="meta"))
            torch.ones(3).to_sparse().sum()
        self.assertIn("another device", self.left["aten::exp"])

    def test_elements_to_be_negated(self):
        """The imaginary part of a conjugate has its sign in a bit of the tensor, not in memory."""
        x = torch.randn(3, dtype=torch.complex64).conj().imag
        self.assertTrue(x.is_neg())

        def results():
            return torch.exp(x), x.clone(), torch.empty(3).copy_(x), torch.add(torch.ones(3), x)

        expected = results()
        with flaggems.use_gems(log=self.log):
            got = results()
        for g, e in zip(got, expected):
            torch.testing.assert_close(g, e)
        self.assertIn("not in memory", self.left["aten::clone"])
        for call in (lambda: flaggems.ops.exp(x), lambda: flaggems.ops.cat([x, x]), lambda: flaggems.ops.t(x)):
            with self.assertRaisesRegex(ValueError, "negated or conjugated"):
                call()

    def test_refusals(self):
        wide, x = torch.zeros(3, dtype=torch.complex64), torch.randn(3)
        with flaggems.use_gems():
            with self.assertRaisesRegex(RuntimeError, "dtype_mismatch"):
                torch.sin(wide)
        with flaggems.use_gems(fallback=True, log=self.log), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                torch.sin(wide)
        self.assertEqual(len([w for w in said if "left to ATen" in str(w.message)]), 1)
        self.assertIn("dtype_mismatch", self.left["aten::sin"])

    def test_outputs_are_resized(self):
        x, y = torch.randn(3, 4), torch.randn(4)
        for make, call in [(lambda: torch.empty(0), lambda out: torch.exp(x, out=out)),
                           (lambda: torch.empty(2, 5), lambda out: torch.exp(x, out=out)),
                           (lambda: torch.empty(0, dtype=torch.float64), lambda out: torch.mul(x, y, out=out)),
                           (lambda: torch.empty(0, 3, 4), lambda out: torch.mul(x, y, out=out)),
                           (lambda: (torch.empty(0), torch.empty(0, dtype=torch.int64)),
                            lambda out: torch.sort(x, out=out))]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected, got = call(make()), make()
                with flaggems.use_gems(log=self.log):
                    call(got)
            for g, e in zip(got if isinstance(got, tuple) else [got], expected if isinstance(got, tuple) else [expected]):
                torch.testing.assert_close(g, e)
        self.assertEqual({"aten::exp.out", "aten::mul.out", "aten::sort.values"} & set(self.left), set())
        with flaggems.use_gems(), self.assertRaisesRegex(RuntimeError, "dtype_mismatch"):
            torch.exp(x, out=torch.empty(0, dtype=torch.int64))

    def test_in_place_and_out(self):
        x, out = torch.rand(3, 4).t(), torch.empty(4, 3)
        expected = x.exp()
        with flaggems.use_gems(log=self.log):
            self.assertIs(torch.exp(x, out=out), out)
            version = x._version
            self.assertIs(x.exp_(), x)
        self.assertGreater(x._version, version)
        torch.testing.assert_close(out, expected)
        torch.testing.assert_close(x, expected)

    def test_users_own(self):
        @flaggems.register_op("aten::silu")
        def silu(x):
            self.calls["mine"] += 1
            return x * torch.sigmoid(x)

        x = torch.randn(4)
        expected = nn.functional.silu(x)
        with flaggems.use_gems(include=["silu"]):
            torch.testing.assert_close(nn.functional.silu(x), expected)
        self.assertEqual(self.calls["mine"], 1)
        with self.assertRaisesRegex(ValueError, "no_such"):
            flaggems.register_op("no_such", silu)

        @flaggems.register_op("aten::silu")
        def wrong(x):
            raise ValueError("mine")

        with flaggems.use_gems(fallback=True), self.assertRaisesRegex(ValueError, "mine"):
            nn.functional.silu(x)


if __name__ == "__main__":
    unittest.main(verbosity=1)
