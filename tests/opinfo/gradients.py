#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients of the operators that ATen lacks, on a device of PyTorch's: gradients.py LIBRARY [--few]. They are
compared with those of the references in rows.py, and with differences in f64. --few: the operators have f32 alone.
Exit status 77: PyTorch is not installed."""
import collections
import itertools
import pathlib
import sys
import unittest

try:
    import torch
    from torch.testing import assert_close
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "adapters/python"))
import flaggems_torch
import rows

few = False
# The places of the arguments that have gradients.
PLACES = {"gelu_none": (0,), "gelu_tanh": (0,), "squared_relu": (0,), "swiglu": (0,), "geglu": (0,), "reglu": (0,),
          "silu_and_mul": (0, 1), "gelu_and_mul": (0, 1), "silu_and_mul_with_clamp": (0, 1),
          "rms_norm_forward": (0, 2), "fused_rms_norm_forward": (0, 2), "gemma_rms_norm": (0, 1),
          "skip_layer_norm": (0, 1, 3, 4), "apply_rotary_pos_emb": (0, 1),
          "scaled_dot_product_attention_forward": (0, 1, 2)}
IN_PLACE = {"fused_add_rms_norm": (0, 1, 2), "apply_rotary_pos_emb_": (0, 1)}


def there(x):
    where = torch._C._get_privateuse1_backend_name()
    return x.detach().to(where).requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x


def as_tuple(results):
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def called(name):
    """The operator as a function; one in place on copies, which it gives."""
    function = getattr(torch.ops.flaggems, name)

    def on_copies(*args, **named):
        copies = [a * 1 for a in args[:2]]
        function(*copies, *args[2:], **named)
        return tuple(copies)
    return on_copies if name in IN_PLACE else function


def samples(name, places, dtype):
    """Arguments, of which tensors at the places require gradients, those with names, and the reference."""
    overload = getattr(torch.ops.flaggems, name).default
    for reference, args, named in rows.calls(f"flaggems::{name}", str(overload._schema), dtype, None):
        args = [a.detach().clone().requires_grad_() if k in places and isinstance(a, torch.Tensor) else a
                for k, a in enumerate(args)]
        if all(not isinstance(a, torch.Tensor) or 0 < a.numel() < 200 for a in args):
            yield args, named, reference


def differentiable(results):
    return [r for r in as_tuple(results) if r.requires_grad]


class Gradients(unittest.TestCase):
    def test_as_references(self):
        judged = 0
        for name, places in (PLACES | IN_PLACE).items():
            for args, named, reference in samples(name, places, torch.float32):
                with self.subTest(operator=name, sample=[getattr(a, "shape", a) for a in args]):
                    moved = [there(a) for a in args]
                    with torch.enable_grad():
                        got = differentiable(called(name)(*moved, **named))
                        expected = as_tuple(reference.function(*args, **named))[:len(got)]
                    self.assertGreater(len(got), 0)
                    seeds = [torch.randn_like(e) for e in expected]
                    wanted = [k for k in places if k < len(args) and isinstance(args[k], torch.Tensor)]
                    for g, e in zip(
                            (*got, *torch.autograd.grad(got, [moved[k] for k in wanted], [there(s) for s in seeds])),
                            (*expected, *torch.autograd.grad(expected, [args[k] for k in wanted], seeds))):
                        self.assertEqual(g.device.type, torch._C._get_privateuse1_backend_name())
                        assert_close(g.detach().cpu(), e.detach(), rtol=1e-4, atol=1e-4)
                    judged += 1
        self.assertGreater(judged, 60)

    def test_by_differences(self):
        if few:
            return
        judged = collections.Counter()
        for name, places in (PLACES | IN_PLACE).items():
            for args, named, _ in itertools.islice(samples(name, places, torch.float64), 4):
                judged[name] += 1
                with self.subTest(operator=name, sample=[getattr(a, "shape", a) for a in args]):
                    self.assertTrue(torch.autograd.gradcheck(
                        lambda *a: tuple(differentiable(called(name)(*a, **named))), [there(a) for a in args],
                        fast_mode=True))
        self.assertEqual(judged.keys(), (PLACES | IN_PLACE).keys())

    def test_all_others_lose_none_in_silence(self):
        q, angle = torch.randn(3, 2, 4), torch.randn(3, 2, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "gradients.*cos"):
            torch.ops.flaggems.apply_rotary_pos_emb(there(q), there(q), there(angle), there(angle))
        with torch.no_grad():
            torch.ops.flaggems.apply_rotary_pos_emb(there(q), there(q), there(angle), there(angle))
        x, weight = torch.randn(3, 4, requires_grad=True), torch.randn(4)
        with self.assertRaisesRegex(RuntimeError, "leaf"):
            torch.ops.flaggems.fused_add_rms_norm(there(x), there(x), there(weight), 1e-5)

    def test_second_derivatives(self):
        x, y = (torch.randn(3, 4, requires_grad=True) for _ in range(2))
        results = []
        for a, b, f in ((x, y, rows.silu_and_mul), (there(x), there(y), torch.ops.flaggems.silu_and_mul)):
            first = torch.autograd.grad(f(a, b).square().sum(), (a, b), create_graph=True)
            results.append(torch.autograd.grad(first[0].sum() + first[1].sum(), (a, b)))
        for e, g in zip(*results):
            assert_close(g.cpu(), e, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    library = sys.argv.pop(1)
    few = "--few" in sys.argv
    flaggems_torch.load(library).set_fallback(True)
    unittest.main(argv=[a for a in sys.argv if a != "--few"])
