# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The operators of libraries, one a kind of device, by ATen's names, on whatever has __dlpack__."""
import contextlib
import importlib
import sys
import warnings

import tvm_ffi

from ._schema import Schema, is_tensor, value_at


# ---- arguments, as TVM-FFI takes them


def _dtype(value):
    """A string, or a type such as numpy.float32 or bool, by its name."""
    if isinstance(value, type):
        name = value.__name__.removesuffix("_")
        value = {"float": "float64", "int": "int64"}.get(name, name)
    return tvm_ffi.dtype(value)


def _readable(value):
    """NumPy's read-only arrays say that they are so in DLPack 1 only."""
    if value.flags.writeable:
        return value
    try:
        return tvm_ffi.from_dlpack(value.__dlpack__(max_version=(1, 0)))
    except TypeError:  # a NumPy that has DLPack 0 alone
        return value.copy()


def _is_array(value):
    return hasattr(getattr(value, "flags", None), "writeable")


def _in_memory(tensor):
    """PyTorch may keep in a bit of a tensor that its elements are to be negated or conjugated. DLPack has no such bit."""
    if tensor.is_neg() or tensor.is_conj():
        raise ValueError("expected a tensor with its elements in memory, got one that is still to be negated or "
                         "conjugated (resolve_neg, resolve_conj) [invalid_argument]")
    return tensor


def _is_pytorchs(value):
    return hasattr(value, "is_neg")


def _tensor(value):
    return _readable(value) if _is_array(value) else _in_memory(value) if _is_pytorchs(value) else value


def _tensors(values):
    return [v if v is None else tvm_ffi.from_dlpack(_tensor(v)) for v in values]


def _conversion(schema, parameter, value):
    """What makes an argument of the type of `value` one of TVM-FFI's, or None."""
    if value is None:
        return None
    if schema.gives_views and parameter.type == "Tensor":
        return lambda value: _tensors([value])[0]  # which the views keep
    if parameter.type == "Tensor" and _is_array(value):
        if not parameter.written:
            return _readable

        def writable(array):
            if not array.flags.writeable:
                raise ValueError(f"{schema.key}: expected elements that may be written for argument "
                                 f"{parameter.name}, got a read-only array [invalid_argument]")
            return array
        return writable
    if parameter.type == "Tensor" and _is_pytorchs(value):
        return _in_memory
    if parameter.type in ("Tensor[]", "Tensor?[]"):
        return _tensors
    if parameter.type == "ScalarType" and isinstance(value, (str, type)):
        return _dtype
    if type(value).__module__ == "numpy" and type(value).__name__ != "ndarray" and hasattr(value, "item"):
        return lambda value: value.item()  # numbers and bools of NumPy's
    if parameter.type == "MemoryFormat":
        return lambda value: str(value).removeprefix("torch.")
    return None


# ---- results


def _from_dlpack_of(value):
    """from_dlpack of the library of a tensor; None for TVM-FFI's own, and for libraries without one."""
    if isinstance(value, tvm_ffi.Tensor):
        return None
    library = type(value).__module__.split(".")[0]
    if library in ("numpy", "torch", "cupy"):
        return importlib.import_module(library).from_dlpack
    return value.__array_namespace__().from_dlpack if hasattr(value, "__array_namespace__") else None


def _lists_and_tensors(args, kwargs):
    for value in (*args, *kwargs.values()):
        yield from value if isinstance(value, (list, tuple)) else (value,)


def _stream_of(args, kwargs):
    """PyTorch's current stream on the device of a list's tensors."""
    device = next(v.device for v in _lists_and_tensors(args, kwargs) if _is_pytorchs(v))
    if device.type == "cpu":
        return contextlib.nullcontext()
    stream = importlib.import_module("torch").cuda.current_stream(device)
    return tvm_ffi.use_raw_stream(tvm_ffi.device(str(device)), stream.cuda_stream)


def _give(outputs, results):
    """Writes results into PyTorch's tensors, which get the sizes of these; with a warning if they had elements, as ATen's."""
    torch = importlib.import_module("torch")
    for output, result in zip(outputs, results):
        if not torch.can_cast(result.dtype, output.dtype):
            raise TypeError(f"expected an output that takes {result.dtype}, got {output.dtype} [dtype_mismatch]")
    for output, result in zip(outputs, results):
        if output.shape != result.shape:
            if output.numel() > 0:
                warnings.warn(f"an output of sizes {list(output.shape)} was resized to {list(result.shape)}; give one of "
                              "no elements, or of the right sizes", stacklevel=5)
            output.resize_(result.shape)
        output.copy_(result)


def _is_read_only(value):
    return _is_array(value) and not value.flags.writeable


def _read_only(made, wrapped):
    """Views of an array that may not be written; DLPack's tensors of TVM-FFI forget that."""
    if not isinstance(made, tvm_ffi.Tensor):
        return [_read_only(one, wrapped) for one in made]
    view = wrapped(made).view()
    view.flags.writeable = False
    return view


def _broadcast_size(inputs):
    """How many elements the tensors among the inputs broadcast to; without a limit if they do not."""
    torch = importlib.import_module("torch")
    try:
        shapes = [v.shape for v in inputs if _is_pytorchs(v)]
        return torch.broadcast_shapes(*shapes).numel() if shapes else sys.maxsize
    except RuntimeError:
        return sys.maxsize


class _Call:
    """An overload for arguments of certain types. `twin`: of one with outputs, the function that gives new results instead."""

    def __init__(self, schema, function, twin, places, args, kwargs):
        values = [p if p is None else value_at(p, args, kwargs) for p in places]
        self.function, self.places = function, places
        self.twin = twin if all(_is_pytorchs(v) for p, v in zip(schema.parameters, values) if p.written) else None
        self.conversions = [_conversion(schema, p, v) for p, v in zip(schema.parameters, values)]
        self.written = [place for p, place in zip(schema.parameters, places) if p.written]
        self.results, self.gives_list, self.gives_views = schema.new_results, schema.gives_list, schema.gives_views
        lists = (v if isinstance(v, (list, tuple)) else [v] for v in values)
        tensors = (v for one in lists for v in one if is_tensor(v))
        self.wrap = next(map(_from_dlpack_of, tensors), None)
        # Of arguments that are tensors TVM-FFI asks PyTorch for its stream itself.
        self.in_stream = any(p.type in ("Tensor[]", "Tensor?[]") and any(map(_is_pytorchs, v or ()))
                             for p, v in zip(schema.parameters, values))

    def __call__(self, args, kwargs):
        values = []
        for place, conversion in zip(self.places, self.conversions):
            if place is None:
                values.append(tvm_ffi.core.MISSING)
                continue
            value = args[place] if type(place) is int else value_at(place, args, kwargs)
            values.append(value if conversion is None else conversion(value))
        with _stream_of(args, kwargs) if self.in_stream else contextlib.nullcontext():
            made = self.function(*values) if self.twin is None else self._resizing(values)
        if self.gives_views and _is_read_only(value_at(self.places[0], args, kwargs)):
            return _read_only(made, self._wrapped)
        if self.gives_list:
            return list(map(self._wrapped, made))
        if self.results == 1:
            return self._wrapped(made)
        if self.results == 0:
            written = tuple(value_at(place, args, kwargs) for place in self.written)
            for value in filter(_is_pytorchs, written):  # so that gradients which need what was there are refused
                sys.modules["torch"].autograd.graph.increment_version(value)
            return written[0] if len(written) == 1 else written
        return tuple(map(self._wrapped, made))

    def _resizing(self, values):
        """Writes into outputs, of which those of other sizes are resized, as ATen's functions do."""
        inputs, outputs = values[:-len(self.written)], values[-len(self.written):]
        most = _broadcast_size(inputs)  # results may broadcast to a larger output here, not in PyTorch
        if all(0 < output.numel() <= most for output in outputs):
            try:
                return self.function(*values)
            except ValueError as problem:
                if "[shape_mismatch]" not in str(problem):
                    raise
        made = self.twin(*inputs)
        _give(outputs, list(map(self._wrapped, [made] if len(outputs) == 1 else made)))

    def _wrapped(self, value):
        # Where an argument was PyTorch's, TVM-FFI has made its tensor already.
        return self.wrap(value) if self.wrap is not None and isinstance(value, tvm_ffi.Tensor) else value


def _kind(value):
    """What decides whether a parameter takes a value."""
    kind = type(value)
    return (kind, tuple(dict.fromkeys(map(type, value))), len(value)) if kind is list or kind is tuple else kind


def _check_device(name, device, kinds):
    """DLPack's number of the device that an argument names, one of `kinds`; None for None."""
    if device is None:
        return None
    kind = _kind_named(str(device)) if str(device) != "cpu" else _HOST
    if kind not in kinds:
        raise ValueError(f"{name}: expected a device that the package was built for, got {device} [device_mismatch]")
    return kind


class Operator:
    """An operator and its overloads; calling it chooses one, by the types of the arguments."""

    def __init__(self, name, overloads, prefix, kind, family=None):
        self.__name__, self._kind = name, kind
        self.overloads, self._prefix = overloads, prefix
        self._family = overloads if family is None else family  # all overloads of the name
        self.__doc__ = "\n".join(s.text for s in overloads)
        self._calls = {}

    def __repr__(self):
        return f"<flaggems operator {self.__name__}>"

    def __call__(self, /, *args, **kwargs):
        if "device" in kwargs:
            _check_device(self.__name__, kwargs.pop("device"), [self._kind])
        key = (*map(_kind, args), *((name, _kind(value)) for name, value in kwargs.items()))
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = self._chosen(args, kwargs)
        return call(args, kwargs)

    def _chosen(self, args, kwargs):
        refused = []
        for schema in self.overloads:
            places = schema.bind(args, kwargs)
            if not isinstance(places, str):
                twin = schema.twin_among(self._family)
                functions = [s and tvm_ffi.get_global_func(self._prefix + s.key) for s in (schema, twin)]
                return _Call(schema, *functions, places, args, kwargs)
            refused.append(f"  {schema.text}: {places}")
        raise TypeError(f"{self.__name__}: expected the arguments of an overload\n" + "\n".join(refused))

    def overload(self, name):
        """The overload of this name alone ("" is the one without)."""
        for schema in self.overloads:
            if schema.key.partition(".")[2] == name:
                return self.__dict__.setdefault(f".{name}", Operator(schema.key, [schema], self._prefix, self._kind, self._family))
        raise AttributeError(f"{self.__name__} has no overload {name!r}")


# DLPack's kinds of memory that a device reads beside its own: pinned and managed.
_HOST, _READ_BY = 1, {3: 1, 11: 1, 13: 2}


def _kind_of(tensor):
    """DLPack's number of a tensor's device."""
    if _is_pytorchs(tensor):
        name = tensor.device.type
        return _HOST if name == "cpu" else _kind_named(name)
    kind = int(tensor.__dlpack_device__()[0])
    return _READ_BY.get(kind, kind)


def _kind_named(name):
    if name.startswith("cuda") and getattr(getattr(sys.modules.get("torch"), "version", None), "hip", None):
        name = "rocm"  # where PyTorch is built for AMD, whose devices it calls cuda
    return tvm_ffi.device(name).dlpack_device_type()


class _OnDevices:
    """An operator that several libraries have, by DLPack's number of their kind of device."""

    def __init__(self, operators):
        self._operators = operators
        first = next(iter(operators.values()))
        self.__name__, self.__doc__, self.overloads = first.__name__, first.__doc__, first.overloads

    def __repr__(self):
        return f"<flaggems operator {self.__name__}>"

    def __call__(self, /, *args, device=None, **kwargs):
        kind = _check_device(self.__name__, device, self._operators)
        if kind is None:
            tensors = (_kind_of(v) for v in _lists_and_tensors(args, kwargs) if is_tensor(v))
            kind = next(tensors, next(iter(self._operators)))
        operator = self._operators.get(kind)
        if operator is None:
            raise ValueError(f"{self.__name__}: expected a device that the package was built for, got one of DLPack's "
                             f"kind {kind} [device_mismatch]")
        return operator(*args, **kwargs)

    def overload(self, name):
        key = f".{name}"
        if key not in self.__dict__:
            self.__dict__[key] = _OnDevices({k: o.overload(name) for k, o in self._operators.items()})
        return self.__dict__[key]


class Libraries:
    """The libraries of a folder: libflaggems_operators of the host, libflaggems_operators_NAME of other devices. Calls without
    tensors are the first one's."""

    def __init__(self, folder):
        self._libraries, self._operators = {}, {}
        for path in sorted(folder.glob("libflaggems_operators*"), key=lambda path: path.stem):
            name = path.stem.removeprefix("libflaggems_operators").replace("_", "", 1)
            library = Library(path, f"flaggems.{name}." if name else "flaggems.")
            self._libraries[library.kind] = library
        if not self._libraries:
            raise ImportError(f"flaggems: no libflaggems_operators in {folder}: install the package, or take it from a build, where "
                              "it is in build/<preset>/adapters/python")
        first = next(iter(self._libraries.values()))
        self.names, self.schemas = first.names, first.schemas

    def __getitem__(self, name):
        """The operator `name`, or a KeyError."""
        if name not in self._operators:
            found = {kind: library[name] for kind, library in self._libraries.items()}
            self._operators[name] = found[_HOST] if found.keys() == {_HOST} else _OnDevices(found)
        return self._operators[name]

    def device_types(self):
        """PyTorch's names of the devices."""
        names = {_HOST: "cpu", 2: "cuda", 10: "cuda"}
        return {names[kind] for kind in self._libraries if kind in names}


class Library:
    """The operators of the library at `path`, whose functions get names that begin with `prefix`: library.NAME(...)."""

    def __init__(self, path, prefix):
        self.module, self._prefix = tvm_ffi.load_module(str(path)), prefix
        self.kind = self.module.device_type()
        self._schemas, self._operators = {}, {}
        for text in self.module.register_operators(prefix).splitlines():
            schema = Schema(text)
            self._schemas.setdefault(schema.name, []).append(schema)

    def __getitem__(self, name):
        """The operator `name`, or a KeyError."""
        if name not in self._operators:
            self._operators[name] = Operator(name, self._schemas[name], self._prefix, self.kind)
        return self._operators[name]

    def __getattr__(self, name):
        if name not in self.__dict__.get("_schemas", ()):
            raise AttributeError(f"the library has no operator {name!r}")
        return self[name]

    def names(self):
        return list(self._schemas)

    def schemas(self, name=None):
        """The schemas of the operator `name`, or of all."""
        return [s.text for n, overloads in self._schemas.items() if name in (None, n) for s in overloads]
