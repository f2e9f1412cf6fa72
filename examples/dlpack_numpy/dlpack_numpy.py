#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy's arrays in a library that uses flaggems, and its tensors as NumPy's arrays, without a copy.

    dlpack_numpy.py LIBRARY    of dlpack_numpy.cpp; exit status 77: NumPy is not installed
"""
import ctypes
import gc
import sys

try:
    import numpy
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

NAMES = {b"dltensor": 0, b"dltensor_versioned": 1}  # of capsules that nobody has taken over
USED = {0: b"used_dltensor", 1: b"used_dltensor_versioned"}  # they must live as long as the program
python = ctypes.pythonapi
# A capsule is a void* here, not a py_object: its destructor must not count references to it.
destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, destructor]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
python.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.c_void_p, ctypes.c_char_p]

library = ctypes.CDLL(sys.argv[1])
for function in (library.example_softmax, library.example_pass_through):
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_void_p, ctypes.c_int]
library.example_drop.argtypes = [ctypes.c_void_p, ctypes.c_int]
library.example_error.restype = ctypes.c_char_p
library.example_tensors.restype = ctypes.c_longlong


def version_of(capsule):
    """The version of a capsule that nobody has taken over; None of another one."""
    return next((v for name, v in NAMES.items() if python.PyCapsule_IsValid(capsule, name)), None)


@destructor
def end_capsule(capsule):
    version = version_of(capsule)
    if version is not None:
        name = list(NAMES)[version]
        library.example_drop(python.PyCapsule_GetPointer(capsule, name), version)


class Tensor:
    """A tensor of the library's, until somebody takes it over."""

    def __init__(self, pointer, version):
        self.name = list(NAMES)[version]
        self.capsule = python.PyCapsule_New(pointer, self.name, end_capsule)

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)  # kDLCPU


def call(function, array, **how):
    """A function of the library's with an array: the result as NumPy's array."""
    capsule = array.__dlpack__(**how)
    address = id(capsule)  # of the object, in CPython
    version = version_of(address)
    pointer = python.PyCapsule_GetPointer(address, list(NAMES)[version])
    python.PyCapsule_SetName(address, USED[version])  # from here on the pointer is the library's
    result = function(pointer, version)
    if not result:
        raise ValueError(library.example_error().decode())
    return numpy.from_dlpack(Tensor(result, version))


def versions():
    """The arguments of __dlpack__ for each version that this NumPy has."""
    yield {}
    try:
        numpy.zeros(1).__dlpack__(max_version=(1, 0))
    except TypeError:
        return
    yield {"max_version": (1, 0)}


def address_of(array):
    return array.__array_interface__["data"][0]


def arrays():
    for dtype in ("f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "c8", "c16", "?"):
        yield (numpy.arange(24) % 11).astype(dtype).reshape(2, 3, 4)
    x = numpy.arange(120, dtype="f4").reshape(4, 5, 6)
    yield x.T
    yield x[1:, ::2, 3]  # an offset and steps
    yield x[::-1, :, ::-2]
    yield x[1, 2, 3:4].reshape(())
    yield x[:, 5:]  # no elements
    yield numpy.zeros((3, 0, 2), "i8")
    yield numpy.lib.stride_tricks.as_strided(x, (7, 6), (0, 4))  # stride 0


def round_trips(how):
    count = 0
    for x in arrays():
        try:
            x.__dlpack__(**how)
        except (BufferError, RuntimeError, TypeError) as refused:
            # NumPy before 1.25 has no bool here; nothing else may be refused.
            assert x.dtype == bool, (x.dtype, refused)
            continue
        before = sys.getrefcount(x)
        y = call(library.example_pass_through, x, **how)
        assert y.dtype == x.dtype and y.shape == x.shape, (x.dtype, y.dtype, x.shape, y.shape)
        assert numpy.array_equal(x, y), (x, y)
        assert x.size == 0 or address_of(x) == address_of(y), "a copy"
        assert sys.getrefcount(x) == before + 1, "x is not kept by y"
        del y
        gc.collect()
        assert sys.getrefcount(x) == before, "x is kept for ever, or was let go twice"
        count += 1
    return count


def results(how):
    assert library.example_tensors() == 0
    x = numpy.random.default_rng(1).normal(size=(7, 33)).astype("f4")
    y = call(library.example_softmax, x[:, ::-1], **how)
    expected = numpy.exp(x) / numpy.exp(x).sum(axis=1, keepdims=True)
    assert numpy.allclose(y, expected[:, ::-1], rtol=1e-5)
    assert library.example_tensors() == 1
    part = y[2:, 1]
    del y
    gc.collect()
    assert library.example_tensors() == 1, "part is of memory that was freed"
    assert numpy.allclose(part, expected[2:, ::-1][:, 1], rtol=1e-5)
    del part
    gc.collect()
    assert library.example_tensors() == 0, "a leak"


def never_taken(how):
    """A capsule that nobody takes over lets its tensor go."""
    x = numpy.ones((2, 2), "f4").__dlpack__(**how)
    version = version_of(id(x))
    pointer = python.PyCapsule_GetPointer(id(x), list(NAMES)[version])
    python.PyCapsule_SetName(id(x), USED[version])
    y = Tensor(library.example_softmax(pointer, version), version)
    assert library.example_tensors() == 1
    del y
    gc.collect()
    assert library.example_tensors() == 0, "a leak"


def mistakes(how):
    """Errors arrive, and what was refused is let go once."""
    for wrong, message in ((numpy.zeros((2, 2)), "f64"), (numpy.zeros((1,) * 9, "f4"), "8 dimensions")):
        before = sys.getrefcount(wrong)
        try:
            call(library.example_softmax, wrong, **how)
        except ValueError as error:
            assert message in str(error), error
        else:
            raise AssertionError("not refused")
        gc.collect()
        assert sys.getrefcount(wrong) == before, "the refused array was not let go once"
    read_only = numpy.arange(3, dtype="f4")
    read_only.flags.writeable = False
    if how:  # DLPack 1 can say that elements are not written
        y = call(library.example_pass_through, read_only, **how)
        assert not y.flags.writeable
        assert numpy.array_equal(y, read_only)


def main():
    for how in versions():
        count = round_trips(how)
        results(how)
        never_taken(how)
        mistakes(how)
        print(f"NumPy {numpy.__version__}, DLPack {how.get('max_version', (0,))[0]}: "
              f"{count} arrays there and back, without a copy")


if __name__ == "__main__":
    main()
