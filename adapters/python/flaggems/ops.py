# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The operators by ATen's names: ops.NAME(...) chooses the overload whose schema takes the arguments.

Tensors are whatever has __dlpack__, and results come as what the first of them is. In-place operators
(`add_`) and outputs (`out=`, or by the schema's names) write into the memory given, and give it back.
A dtype is a string or one of NumPy's or PyTorch's; a generator is a seed.
"""
import importlib
import pathlib

import tvm_ffi

from ._schema import Schema, is_tensor

_PREFIX = "flaggems."


def _load():
    library, = pathlib.Path(__file__).parent.glob("libflaggems_operators.*")
    module = tvm_ffi.load_module(str(library))
    found = {}
    for text in module.register_operators(_PREFIX).splitlines():
        schema = Schema(text)
        found.setdefault(schema.name, []).append(schema)
    return found


_SCHEMAS = _load()


def schemas(name=None):
    """The schemas of the operator `name`, or of all."""
    return [s.text for n, overloads in _SCHEMAS.items() if name in (None, n) for s in overloads]


def _dtype(value):
    """A type, such as numpy.float32 or bool, by its name; the rest TVM-FFI converts."""
    if isinstance(value, type):
        name = value.__name__.removesuffix("_")
        return tvm_ffi.dtype({"float": "float64", "int": "int64"}.get(name, name))
    return tvm_ffi.dtype(value) if isinstance(value, str) else value


def _readable(value):
    """A tensor that is not written: NumPy's read-only arrays say so in DLPack 1 only."""
    flags = getattr(value, "flags", None)
    if getattr(flags, "writeable", True):
        return value
    try:
        return tvm_ffi.from_dlpack(value.__dlpack__(max_version=(1, 0)))
    except TypeError:  # a NumPy that has DLPack 0 alone
        return value.copy()


def _argument(schema, parameter, value):
    if value is None or value is tvm_ffi.core.MISSING:
        return value
    if parameter.type == "Tensor":
        if not parameter.written:
            return _readable(value)
        if not getattr(getattr(value, "flags", None), "writeable", True):
            raise ValueError(f"{schema.key}: expected elements that may be written for argument "
                             f"{parameter.name}, got a read-only array [invalid_argument]")
    elif parameter.type == "Tensor[]":
        return [tvm_ffi.from_dlpack(_readable(v)) for v in value]
    elif parameter.type == "ScalarType":
        return _dtype(value)
    elif parameter.type == "MemoryFormat":
        return str(value).removeprefix("torch.")
    return value


def _first_tensor(arguments):
    for value in arguments:
        if is_tensor(value):
            return value
        if isinstance(value, (list, tuple)) and value and is_tensor(value[0]):
            return value[0]
    return None


def _result(value, like):
    """A new tensor as one of the library that `like` is of."""
    if not isinstance(value, tvm_ffi.Tensor) or like is None or isinstance(like, tvm_ffi.Tensor):
        return value
    if type(like).__module__.split(".")[0] in ("numpy", "torch", "cupy"):
        return importlib.import_module(type(like).__module__.split(".")[0]).from_dlpack(value)
    if hasattr(like, "__array_namespace__"):
        return like.__array_namespace__().from_dlpack(value)
    return value


class Operator:
    """An operator and its overloads; calling it chooses one."""

    def __init__(self, name):
        self.__name__ = name
        # What writes into given outputs takes nothing without them, so the order is of no account there.
        self.overloads = [(s, tvm_ffi.get_global_func(_PREFIX + s.key)) for s in _SCHEMAS[name]]
        self.__doc__ = "\n".join(s.text for s, _ in self.overloads)

    def __repr__(self):
        return f"<flaggems operator {self.__name__}>"

    def __call__(self, /, *args, **kwargs):
        refused = []
        for schema, function in self.overloads:
            bound = schema.bind(args, kwargs)
            if not isinstance(bound, str):
                return self._call(schema, function, bound)
            refused.append(f"  {schema.text}: {bound}")
        raise TypeError(f"{self.__name__}: expected the arguments of an overload\n" + "\n".join(refused))

    def overload(self, name):
        """The overload of this name alone ("" is the one without), as a function."""
        for schema, function in self.overloads:
            if schema.key.partition(".")[2] == name:
                return lambda *args, **kwargs: self._one(schema, function, args, kwargs)
        raise AttributeError(f"{self.__name__} has no overload {name!r}")

    def _one(self, schema, function, args, kwargs):
        bound = schema.bind(args, kwargs)
        if isinstance(bound, str):
            raise TypeError(f"{schema.text}: {bound}")
        return self._call(schema, function, bound)

    @staticmethod
    def _call(schema, function, bound):
        made = function(*(_argument(schema, p, v) for p, v in zip(schema.parameters, bound)))
        if schema.new_results == 0:
            written = [v for p, v in zip(schema.parameters, bound) if p.written]
            return written[0] if len(written) == 1 else tuple(written)
        like = _first_tensor(bound)
        if schema.new_results == 1:
            return _result(made, like)
        return tuple(_result(value, like) for value in made)


def __getattr__(name):
    if name not in _SCHEMAS:
        raise AttributeError(f"flaggems has no operator {name!r}")
    return globals().setdefault(name, Operator(name))


def __dir__():
    return sorted([*_SCHEMAS, "schemas"])
