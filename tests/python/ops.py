#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The Python package with NumPy. Exit status 77: NumPy or apache-tvm-ffi is not installed."""
import gc
import pathlib
import sys
import unittest

try:
    import numpy
    import tvm_ffi
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

import flaggems
from flaggems import ops
from flaggems._library import _OnDevices
from flaggems._schema import Schema


def numbers(*sizes, dtype="float32"):
    return (numpy.arange(numpy.prod(sizes)) * 7 % 11 - 4).astype(dtype).reshape(sizes)


class Schemas(unittest.TestCase):
    def test_parts(self):
        s = Schema("mine::f.out(Tensor self, int[1]? dim=[0, 1], Tensor?[] at=[], *, str? mode, "
                   "Tensor(a!) out) -> Tensor(a!)")
        self.assertEqual((s.key, s.name, s.new_results, s.positional), ("mine::f.out", "f", 0, 3))
        self.assertEqual([p.name for p in s.parameters], ["self", "dim", "at", "mode", "out"])
        self.assertEqual([p.type for p in s.parameters], ["Tensor", "int[]", "Tensor?[]", "str", "Tensor"])
        self.assertEqual([p.required for p in s.parameters], [True, False, False, True, True])
        self.assertEqual([p.optional for p in s.parameters], [False, True, False, True, False])
        self.assertEqual([p.name for p in s.outputs], ["out"])

    def test_all_parse(self):
        for text in ops.schemas():
            s = Schema(text)
            self.assertTrue(text.startswith(s.key + "("))
        self.assertEqual(ops.schemas("mm")[0], "mm(Tensor self, Tensor mat2) -> Tensor")

    def test_committed(self):
        """The package has the operators of tests/registry/schemas.txt, so that none goes in silence."""
        committed = pathlib.Path(__file__).parents[1] / "registry" / "schemas.txt"
        lines = [line for line in committed.read_text().splitlines() if not line.startswith("#")]
        self.assertEqual(sorted(line.partition(" ")[2] for line in lines), sorted(ops.schemas()))

    def test_load(self):
        """A library of operators beside the package's: its own, by another name."""
        path = next(pathlib.Path(ops.__file__).parent.glob("libflaggems_operators.*"))
        again = flaggems.load(path, "again.")
        x = numbers(3, 5)
        numpy.testing.assert_array_equal(again.relu(x), ops.relu(x))
        self.assertEqual(again.schemas("mm"), ops.schemas("mm"))
        with self.assertRaisesRegex(AttributeError, "no operator 'nothing'"):
            again.nothing


class Calls(unittest.TestCase):
    def test_shares_memory(self):
        x = numbers(3, 5)
        y = ops.relu(x)
        self.assertIsInstance(y, numpy.ndarray)
        part = y[1:]
        del y
        gc.collect()
        ops.zeros([64])  # would lie where y was
        self.assertTrue((part == numpy.maximum(x, 0)[1:]).all())

    def test_lists_of_bools_and_absent_results(self):
        x, weight = numbers(4, 8), numbers(8)
        y, mean, rstd = ops.native_layer_norm(x, [8], weight, None, 1e-5)
        grads = ops.native_layer_norm_backward(y, x, [8], mean, rstd, weight, None, [False, True, False])
        self.assertIsNone(grads[0])
        self.assertIsNone(grads[2])
        self.assertTrue(numpy.allclose(grads[1], (y * (x - mean) * rstd).sum(0), atol=1e-4))
        with self.assertRaisesRegex(ValueError, "output_mask"):
            ops.native_layer_norm_backward(y, x, [8], mean, rstd, weight, None, [True])

    def test_absent_tensors_of_a_list(self):
        x, columns = numbers(2, 3), numpy.array([2, 0])
        numpy.testing.assert_array_equal(ops.index(x, [None, columns]), x[:, columns])
        self.assertIsInstance(ops.index(x, [None, columns]), numpy.ndarray)
        ops.index_put_(x, (None, columns), numpy.zeros((2, 2), "float32"))
        numpy.testing.assert_array_equal(x[:, columns], 0)
        with self.assertRaisesRegex(TypeError, r"argument tensors is Tensor\[\], got list"):
            ops.cat([x, None])

    def test_overloads(self):
        x = numbers(2, 3)
        for got, expected in [
                (ops.add(x, x), x + x), (ops.add(x, 2), x + 2), (ops.add(x, x, alpha=3), x + 3 * x),
                (ops.div(x, 2, rounding_mode="floor"), x // 2), (ops.sum(x), x.sum()),
                (ops.sum(x, dim=1), x.sum(1)), (ops.sum(x, [0, 1], True), x.sum(keepdims=True)),
                (ops.pow(2.0, x), 2.0 ** x), (ops.pow(x, 2), x ** 2), (ops.pow(x, x * 0), x ** 0),
                (ops.clamp(x, max=1), numpy.minimum(x, 1)), (ops.clamp(x, x, None), x),
                (ops.cat([x, x.copy()], 1), numpy.concatenate([x, x], 1)),
                (ops.mean(x, None), x.mean()), (ops.mul(x.T, x.T[:, ::-1]), x.T * x.T[:, ::-1])]:
            numpy.testing.assert_allclose(got, expected, rtol=1e-6)

    def test_dtypes(self):
        x = numbers(4)
        for dtype in ("int64", numpy.int64, numpy.dtype("int64"), int):
            self.assertEqual(ops.sum(x, dtype=dtype).dtype, numpy.int64)
        i = numbers(4, dtype="int64")
        self.assertEqual(ops.sum(i).dtype, numpy.int64)
        self.assertEqual(ops.add(i, x).dtype, numpy.float32)

    def test_writes(self):
        x = numbers(2, 4)
        before = x.copy()
        self.assertIs(ops.add_(x, 1), x)
        numpy.testing.assert_array_equal(x, before + 1)
        values, indices = numpy.zeros((2, 2), "float32"), numpy.zeros((2, 2), "int64")
        made = ops.topk(x, 2, largest=False, out=(values, indices))
        self.assertIs(made[0], values)
        numpy.testing.assert_array_equal(values, numpy.sort(x, -1)[:, :2])
        numpy.testing.assert_array_equal(numpy.take_along_axis(x, indices, -1), values)
        columns = numpy.zeros((4, 2), "float32").T
        self.assertIs(ops.exp(x, out=columns), columns)
        numpy.testing.assert_allclose(columns, numpy.exp(x), rtol=1e-6)
        self.assertIs(ops.topk(x, 1, values=values[:, :1], indices=indices[:, :1])[0].base, values)

    def test_read_only(self):
        x = numbers(3)
        x.flags.writeable = False
        numpy.testing.assert_array_equal(ops.neg(x), -x)
        numpy.testing.assert_array_equal(ops.cat([x, x]), numpy.concatenate([x, x]))
        with self.assertRaisesRegex(ValueError, "neg_: expected elements that may be written for argument self"):
            ops.neg_(x)
        with self.assertRaisesRegex(ValueError, "argument out"):
            ops.neg(x.copy(), out=x)
        for view in (ops.select(x.reshape(1, 3), 0, 0), ops.permute(x, [0]), *ops.split(x, 2)):
            self.assertFalse(view.flags.writeable)
            with self.assertRaises(ValueError):
                ops.add_(view, 1)

    def test_numbers_of_numpy(self):
        x = numbers(2, 3)
        numpy.testing.assert_allclose(ops.add(x, numpy.float32(2)), x + 2, rtol=1e-6)
        numpy.testing.assert_array_equal(ops.sum(x, [0], numpy.bool_(True)).shape, (1, 3))

    def test_named_device(self):
        numpy.testing.assert_array_equal(numpy.from_dlpack(ops.zeros([2], device="cpu")), [0, 0])
        with self.assertRaisesRegex(ValueError, r"\[device_mismatch\]"):
            ops.zeros([2], device="vulkan")

    def test_without_tensors(self):
        made = ops.full([2, 3], 1.5)
        self.assertIsInstance(made, tvm_ffi.Tensor)
        numpy.testing.assert_array_equal(numpy.from_dlpack(made), numpy.full((2, 3), 1.5, "float32"))
        numpy.testing.assert_array_equal(numpy.from_dlpack(ops.arange(1, 7, 2)), [1, 3, 5])


class Results(unittest.TestCase):
    def test_views(self):
        x = numbers(2, 6)
        row = ops.select(x, 0, 1)
        self.assertIsInstance(row, numpy.ndarray)
        self.assertTrue(numpy.shares_memory(row, x))
        numpy.testing.assert_array_equal(row, x[1])
        numpy.testing.assert_array_equal(ops.expand_as(ops.unsqueeze(x, 1), numbers(2, 3, 6)),
                                         numpy.broadcast_to(x[:, None], (2, 3, 6)))
        parts = ops.split(x, 4, dim=1)
        self.assertIsInstance(parts, list)
        self.assertEqual([p.shape for p in parts], [(2, 4), (2, 2)])
        numpy.testing.assert_array_equal(parts[1], x[:, 4:])
        del x, row
        gc.collect()
        ops.zeros([64])
        numpy.testing.assert_array_equal(parts[1], numbers(2, 6)[:, 4:])
        y = ops.permute(ops.neg(numbers(3, 4)), [1, 0])  # the library's own memory
        gc.collect()
        ops.zeros([64])
        numpy.testing.assert_array_equal(y, -numbers(3, 4).T)

    def test_lists_and_bools(self):
        x = numbers(3, 4)
        made = ops.unbind_copy(x, 1)
        self.assertEqual(len(made), 4)
        for got, expected in zip(made, x.T):
            numpy.testing.assert_array_equal(got, expected)
        self.assertIs(ops.equal(x, x.copy()), True)
        self.assertIs(ops.equal(x, x + 1), False)
        self.assertIs(ops.allclose(x, x + 1, atol=2), True)

    def test_masks(self):
        x, mask = numbers(3, 4), numpy.array([True, False, True])
        numpy.testing.assert_array_equal(ops.index(x, [mask]), x[mask])
        numpy.testing.assert_array_equal(ops.index(x, [None, numpy.array([1, -1])]), x[:, [1, -1]])
        numpy.testing.assert_array_equal(ops.index(x, [x > 0]), x[x > 0])


class Errors(unittest.TestCase):
    def test_of_the_library(self):
        x = numbers(2, 3)
        for kind, text, call in [
                (IndexError, r"softmax.int: expected .*\[out_of_range\]|softmax: expected .*\[out_of_range\]",
                 lambda: ops.softmax(x, 2)),
                (ValueError, r"mm: expected .*\[shape_mismatch\]", lambda: ops.mm(x, x)),
                (TypeError, r"mm: expected .*\[dtype_mismatch\]", lambda: ops.mm(x.astype("complex64"), x)),
                (ValueError, r"\[overlap\]", lambda: ops.neg(x[:, :2], out=x[:, 1:]))]:
            with self.assertRaisesRegex(kind, text):
                call()

    def test_of_no_overload(self):
        x = numbers(3)
        for text, call in [
                (r"mm: expected the arguments of an overload\n  mm\(.*: argument mat2 is missing",
                 lambda: ops.mm(x)),
                ("argument mat2 is Tensor, got int", lambda: ops.mm(x, 1)),
                ("there is no argument axis", lambda: ops.sum(x, axis=0)),
                ("takes 1 positional arguments, got 2", lambda: ops.exp(x, x)),
                ("argument self is given twice", lambda: ops.exp(x, self=x)),
                ("out is a tuple of 2 tensors", lambda: ops.topk(x, 1, out=x))]:
            with self.assertRaisesRegex(TypeError, text):
                call()
        with self.assertRaisesRegex(AttributeError, "flaggems has no operator 'nothing'"):
            ops.nothing
        with self.assertRaisesRegex(AttributeError, "has no overload 'nothing'"):
            ops.mm.overload("nothing")


class Elsewhere:
    """A tensor that says where it is."""

    def __init__(self, kind):
        self.kind = kind

    def __dlpack__(self, **_):
        raise BufferError

    def __dlpack_device__(self):
        return (self.kind, 0)


class Devices(unittest.TestCase):
    """Which of several libraries a call goes to; DLPack's kinds 1, 2, 3, 4, 13 are CPU, CUDA, pinned, OpenCL, managed."""

    def test_by_the_first_tensor_or_by_name(self):
        def of(kind):
            def operator(*_, **named):
                self.assertNotIn("device", named)
                return kind
            operator.overloads, operator.overload = [], lambda name: of(f"{kind} {name}")
            return operator
        op = _OnDevices({1: of("host"), 2: of("cuda")})
        for expected, arguments in [("host", [numbers(2)]), ("cuda", [Elsewhere(2), numbers(2)]), ("host", [Elsewhere(3)]),
                                    ("cuda", [1.5, [Elsewhere(13)]]), ("host", [[2, 3]]), ("host", [])]:
            self.assertEqual(op(*arguments), expected)
        self.assertEqual(op([2], device="cuda"), "cuda")
        self.assertEqual(op(Elsewhere(2), device="cpu"), "host")
        self.assertEqual(op(2, out=Elsewhere(2)), "cuda")
        self.assertEqual(op.overload("out")(Elsewhere(2)), "cuda out")
        self.assertEqual(_OnDevices({2: of("cuda")})([2]), "cuda")
        with self.assertRaisesRegex(ValueError, r"expected a device that the package was built for.*\[device_mismatch\]"):
            op(Elsewhere(4))


if __name__ == "__main__":
    unittest.main()
