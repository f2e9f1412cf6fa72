#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy's arrays through the operators of the library, by the Python package of adapters/python.

Exit status 77: NumPy is not installed.
"""
import sys

try:
    import numpy
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

# [call]
from flaggems import ops

x = numpy.random.default_rng(1).normal(size=(4, 8)).astype("float32")

p = ops.softmax(x, -1)  # a new numpy.ndarray, which shares the memory of the library's tensor
values, indices = ops.topk(p, k=2)
y = ops.layer_norm(x, [8], weight=numpy.ones(8, "float32"), eps=1e-6)
z = ops.mm(x, y.T)  # any strides

ops.add_(x, 1.5)  # in place
ops.mul(x, x, out=numpy.empty_like(x))  # into an array
total = ops.sum(x, dim=[0], keepdim=True, dtype="float32")

try:
    ops.topk(x, 9)
except IndexError as error:
    print(error)  # topk: expected ... [out_of_range]
# [/call]

x = x.astype("float64") - 1.5
e = numpy.exp(x - x.max(axis=-1, keepdims=True))
e /= e.sum(axis=-1, keepdims=True)
assert isinstance(p, numpy.ndarray) and numpy.allclose(p, e, rtol=1e-5)

order = numpy.argsort(-p, axis=-1, kind="stable")[:, :2]
assert indices.dtype == numpy.int64 and (indices == order).all()
assert (values == numpy.take_along_axis(p, order, -1)).all()

centred = x - x.mean(axis=-1, keepdims=True)
expected = centred / numpy.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-6)
assert numpy.allclose(y, expected, rtol=1e-4, atol=1e-5)
assert numpy.allclose(z, x @ expected.T, rtol=1e-4, atol=1e-4)
assert total.shape == (1, 8) and numpy.allclose(total, (x + 1.5).sum(axis=0), rtol=1e-5, atol=1e-5)

out = numpy.zeros((4, 4), "float32")
assert ops.mm(p, y.T, out=out) is out and numpy.allclose(out, e @ expected.T, rtol=1e-4, atol=1e-4)
print("softmax, layer_norm, mm, topk: as NumPy")
