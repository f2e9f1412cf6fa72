# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch calls ATen with when an OpInfo's samples run on the CPU."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only


def snapshot(values):
    """Arguments whose tensors have memory of their own, with the same sizes, strides and offset."""
    def copied(t):
        storage = t.untyped_storage().clone()
        return torch.empty(0, dtype=t.dtype).set_(storage, t.storage_offset(), t.size(), t.stride())
    return tree_map_only(torch.Tensor, lambda t: copied(t.detach()), values)


def is_ours(tensor):
    return (tensor.device.type == "cpu" and tensor.layout == torch.strided and not tensor.is_quantized
            and not tensor.is_conj() and not tensor.is_neg())


def overload_of(key):
    """torch.ops.aten's overload of a key of the registry, or None."""
    name, _, overload = key.partition(".")
    try:
        return getattr(getattr(torch.ops.aten, name), overload or "default")
    except AttributeError:
        return None


def key_of(overload):
    name = overload._schema.name.removeprefix("aten::")
    return f"{name}.{overload._schema.overload_name}" if overload._schema.overload_name else name


class Call:
    def __init__(self, key, overload, args, kwargs):
        self.key, self.overload, self.args, self.kwargs = key, overload, args, kwargs

    def arguments(self):
        """(parameter of ATen's schema, value) of what is given."""
        for place, parameter in enumerate(self.overload._schema.arguments):
            if place < len(self.args):
                yield parameter, self.args[place]
            elif parameter.name in self.kwargs:
                yield parameter, self.kwargs[parameter.name]

    def tensors(self):
        for _, value in self.arguments():
            if isinstance(value, torch.Tensor):
                yield value
            elif isinstance(value, (list, tuple)):
                yield from (v for v in value if isinstance(v, torch.Tensor))

    def signature(self):
        def of(value):
            if isinstance(value, torch.Tensor):
                return (value.dtype, tuple(value.shape), value.stride())
            if isinstance(value, (list, tuple)):
                return tuple(of(v) for v in value)
            return repr(value)
        return (self.key, *((p.name, of(v)) for p, v in self.arguments()))


class Recorder(TorchDispatchMode):
    """Notes the calls of `wanted` operators, each form of arguments once, before they run.

    `composed` are those that stop_at_composites has let in: what they are composed of is noted, too.
    """

    def __init__(self, wanted, composed, seen):
        super().__init__()
        self.wanted, self.composed, self.calls, self.seen = wanted, composed, [], seen

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function._schema.name.startswith("aten::") and (key := key_of(function)) in self.wanted:
            call = Call(key, function, args, kwargs)
            if all(map(is_ours, call.tensors())) and (signature := call.signature()) not in self.seen:
                self.seen.add(signature)
                call.args, call.kwargs = snapshot(args), snapshot(kwargs)
                self.calls.append(call)
            if key in self.composed:
                with self:
                    return compose(function, args, kwargs)
        return function(*args, **kwargs)


def compose(overload, args, kwargs):
    return overload._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)


def stop_at_composites(keys):
    """Lets operators that are composed of others, such as layer_norm, reach the mode under their name.

    They get a kernel for the CPU, which composes them. Gives what must be kept meanwhile, and their keys.
    """
    library, stopped = torch.library.Library("aten", "IMPL"), set()
    for key in keys:
        overload = overload_of(key)
        # Not overload.has_kernel_for_dispatch_key, which counts PyTorch's functions in Python as well.
        if torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), "CompositeImplicitAutograd"):
            stopped.add(key)
            library.impl(key, lambda *args, _overload=overload, **kwargs: compose(_overload, args, kwargs), "CPU")
    return library, stopped
