# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The operators before ATen's in PyTorch, for tensors of the CPU and of the other devices that the package was built for:
below autograd, so gradients are PyTorch's."""
import contextlib
import warnings

import torch

from . import ops
from ._schema import Schema

__all__ = ["disable", "enable", "left_out", "only_enable", "register_op", "registered_ops", "use_gems"]

# Behind this key ATen's kernels stay where they are.
_KEY = "BackendSelect"
_BEHIND = torch._C._dispatch_keyset_full_after(getattr(torch._C.DispatchKey, _KEY))
_own = {}  # functions of register_op, by key


def _key_of(name):
    """"add" of "aten::add" and "add.default"."""
    return name.removeprefix("aten::").removesuffix(".default")


def _is_named(key, names):
    return any(key == n or key.partition(".")[0] == n for n in map(_key_of, names))


def _schema_of(key):
    name, _, overload = key.partition(".")
    try:
        return torch._C._get_schema(f"aten::{name}", overload)
    except RuntimeError:
        return None


_KEEPING = {f"_scaled_dot_product_{kind}_attention" for kind in ("flash", "efficient", "cudnn", "fused")} | {
    "_flash_attention_forward", "_efficient_attention_forward", "_cudnn_attention_forward"}


def _obstacle(schema):
    """Why ATen's operator stays; None if ours may stand before it."""
    kinds = {p.type for p in schema.parameters}
    if not kinds & {"Tensor", "Tensor[]", "Tensor?[]"} or "Generator" in kinds or schema.gives_views:
        return "has no tensor among its arguments, takes a generator, or gives views"
    theirs = _schema_of(schema.key)
    if theirs is None:
        return "this PyTorch does not have it"
    if [a.name for a in theirs.arguments] != [p.name for p in schema.parameters]:
        return "this PyTorch has it with other parameters"
    if schema.name.startswith("as_strided"):
        return "ATen counts from the first element of the memory, ours from that of the tensor"
    if schema.name in ("empty_like", "new_empty", "new_empty_strided"):
        return "operators of ATen's resize what it gives, which memory of ours cannot be"
    if schema.name in _KEEPING:
        return "its gradient, which is ATen's, reads what ATen's keeps, in a layout of its own"
    if schema.name == "_to_copy":
        return "ATen has a kernel of its own where ours would stand"
    return _composed(schema.key)


def _composed(key):
    if torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{key}", "CompositeImplicitAutograd"):
        return "ATen composes it of others, from which its gradients come"
    return None


def _tensors(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


_DEVICE_TYPES = ops._libraries.device_types()


def _is_ours(tensor):
    """Whether its memory has the elements: not where PyTorch keeps that they are to be conjugated or negated."""
    return (tensor.layout is torch.strided and type(tensor) in (torch.Tensor, torch.nn.Parameter) and
            not tensor.is_conj() and not tensor.is_neg())


def _device_of(tensors):
    """The device of all of them; None where they are not on one of ours, or ours do not take one."""
    device = None
    for tensor in tensors:
        if not _is_ours(tensor) or (device is not None and tensor.device != device):
            return None
        device = tensor.device
    return device if device is None or device.type in _DEVICE_TYPES else None


# What says that a new tensor is an ordinary one.
_ORDINARY = {"layout": torch.strided, "pin_memory": False}


def _taken_options(kwargs, device):
    """The options that ours have, or None where they ask for another device or layout."""
    taken = {}
    for name, value in kwargs.items():
        if name in _ORDINARY:
            if value is not None and value != _ORDINARY[name]:
                return None
        elif name == "device":
            if value is not None and (value.type != device.type or value.index not in (None, device.index)):
                return None
        else:
            taken[name] = value
    return taken


def _category(dtype):
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype is torch.bool else 1


# Of Python's numbers, by the category of their type.
_WIDEST = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def _as_tensors(values, places, device):
    """PyTorch gives numbers as Python's where the schema has tensors; here they are 0-dim tensors again. Their dtype is the
    widest, or PyTorch's for the result where the widest would decide it."""
    numbers = [k for k in places if k < len(values) and type(values[k]) in _WIDEST]
    if not numbers:
        return values
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    highest = max((_category(t.dtype) for t in tensors if t.dim()), default=-1)
    values = list(values)
    for k in numbers:
        dtype = _WIDEST[type(values[k])]
        if tensors and _category(dtype) > highest:
            dtype = torch.result_type(tensors[0], values[k])
        # (torch.tensor of a device would wait for its copy.)
        values[k] = (torch.tensor(values[k], dtype=dtype) if device.type == "cpu" else
                     torch.full((), values[k], dtype=dtype, device=device))
    return values


class _Kernel:
    """Ours before ATen's of one overload."""

    def __init__(self, key, function, fallback, log):
        name, _, overload = key.partition(".")
        self.tensors = [k for k, a in enumerate(_schema_of(key).arguments) if str(a.type) == "Tensor"]
        self.name, self.function = f"aten::{key}", function
        self.theirs = getattr(getattr(torch.ops.aten, name), overload or "default")
        self.fallback, self.log, self.warned = fallback and key not in _own, log, False

    def __call__(self, keys, *args, **kwargs):
        device = _device_of(_tensors((*args, *kwargs.values())))
        options = None if device is None else _taken_options(kwargs, device)
        if options is None:
            return self.leave(keys, args, kwargs, "tensors of another device, layout or class, of several devices, or elements "
                                                  "that are not in memory")
        try:
            made = self.function(*_as_tensors(args, self.tensors, device), **options)
        except MemoryError:
            raise
        except Exception as problem:
            # Nothing is written before an operator of ours raises. (A user's own function may have written: its errors are
            # the caller's.)
            if not self.fallback:
                # Of a TypeError PyTorch says only that its operator does not take the types.
                if isinstance(problem, TypeError):
                    raise RuntimeError(str(problem)) from problem
                raise
            if not self.warned:
                self.warned = True
                warnings.warn(f"{self.name} was left to ATen, which is said once: {problem}", stacklevel=2)
            return self.leave(keys, args, kwargs, str(problem))
        if self.log is not None:
            self.log(self.name, args, None)
        return made

    def leave(self, keys, args, kwargs, reason):
        if self.log is not None:
            self.log(self.name, args, reason)
        args = _as_tensors(args, self.tensors, torch.device("cpu"))  # which are all that PyTorch takes here
        return self.theirs.redispatch(keys & _BEHIND, *args, **kwargs)


def _candidates():
    """(key, function, why not) of the user's operators, and of all that have a name of ATen's."""
    for key, function in _own.items():
        yield key, function, _composed(key)
    for text in ops.schemas():
        schema = Schema(text)
        if "::" not in schema.key and schema.key not in _own:
            overload = schema.key.partition(".")[2]
            yield schema.key, getattr(ops, schema.name).overload(overload), _obstacle(schema)


class _Registration:
    """What stands before ATen's until `end`."""

    def __init__(self, include, exclude, fallback, log):
        self.names, self.left_out = [], {}
        chosen = []
        for key, function, obstacle in _candidates():
            if (include is not None and not _is_named(key, include)) or _is_named(key, exclude):
                continue
            if obstacle is None:
                chosen.append((key, function))
            else:
                self.left_out[key] = obstacle
        self.names = [key for key, _ in chosen]
        for name in include or ():
            if not any(_is_named(key, [name]) for key in self.names):
                reasons = [reason for key, reason in self.left_out.items() if _is_named(key, [name])]
                raise NotImplementedError(f"flaggems: expected an operator that may stand before ATen's, got {name!r}: "
                                          f"{reasons[0] if reasons else 'there is none of this name'} [not_supported]")
        self.library = torch.library.Library("aten", "IMPL")
        for key, function in chosen:
            self.library.impl(key, _Kernel(key, function, fallback, log), _KEY, with_keyset=True)

    def end(self):
        self.library._destroy()


_in_force = None


def _replace(*options):
    """What these options say is in force, or nothing without options; gives the options of before."""
    global _in_force
    before = _in_force
    if before is not None:
        before[1].end()
        _in_force = None
    try:
        if options:
            _in_force = (options, _Registration(*options))
    except Exception:
        if before is not None:
            _in_force = (before[0], _Registration(*before[0]))
        raise
    return before[0] if before is not None else ()


def enable(exclude=(), *, fallback=False, log=None):
    """Puts all operators but those of `exclude` before ATen's, in the place of those in force.

    Names are "add", with all its overloads, or "add.Tensor". What an operator does not take (a dtype) raises; with `fallback` it is
    ATen's, with a warning at the first time. Outputs are resized as ATen's are. Tensors of other devices and layouts, of several
    devices, of subclasses, and those that PyTorch has still to conjugate or negate are ATen's. `log(name, arguments, why)` is called
    of each call; `why` is None where ours ran. No other thread may be in a call of ATen's meanwhile.
    """
    _replace(None, tuple(exclude), fallback, log)


def only_enable(include, *, fallback=False, log=None):
    """As enable, of the operators that are named alone; NotImplementedError if one cannot be."""
    _replace(tuple(include), (), fallback, log)


def disable():
    """ATen's operators alone."""
    _replace()


@contextlib.contextmanager
def use_gems(include=None, exclude=(), *, fallback=False, log=None):
    """The same for a with block, after which what was in force before is so again."""
    before = _replace(None if include is None else tuple(include), tuple(exclude), fallback, log)
    try:
        yield
    finally:
        _replace(*before)


def registered_ops():
    """The names that are in force."""
    return list(_in_force[1].names) if _in_force is not None else []


def left_out():
    """Operators of ours that do not stand before ATen's while enabled, with the reason of each."""
    return dict(_in_force[1].left_out) if _in_force is not None else {}


def register_op(name, function=None):
    """The user's function(*arguments of the schema) for ATen's operator `name`, from the next enabling on; a decorator
    without `function`. It gets tensors of one device of the package's, below autograd; what it raises is never left to ATen."""
    if function is None:
        return lambda f: register_op(name, f)
    key = _key_of(name)
    if _schema_of(key) is None:
        raise ValueError(f"register_op: expected the name of an operator of ATen's, got {name!r} [invalid_argument]")
    _own[key] = function
    return function
