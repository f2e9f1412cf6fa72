# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""A device of PyTorch's from a library that says FLAGGEMS_TORCH_DEVICE: gxu = flaggems_torch.load("libgxu.so") makes
torch.device("gxu") and the module torch.gxu, which it returns. A process has one such device type."""
import types

import torch

__all__ = ["load"]


def load(library):
    """Loads the library, unless one that was loaded before or is linked has the device (None)."""
    if library is not None:
        torch.ops.load_library(str(library))
    name = torch.ops.flaggems_device.device_name()
    torch.utils.rename_privateuse1_backend(name)
    module = _module(name)
    torch._register_device_module(name, module)
    torch.utils.generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_storage=True)
    _print_by_cpu(name)
    _compile_without_kernels(name)
    return module


def _print_by_cpu(name):
    """PyTorch formats numbers where they are, by operators that a device may lack."""
    formatted = torch._tensor_str._tensor_str
    torch._tensor_str._tensor_str = lambda x, indent: formatted(x.cpu() if x.device.type == name else x, indent)


def _compile_without_kernels(name):
    """Inductor, which makes no kernels for the device, calls its operators where a graph has tensors there: as by
    mode="lite", but for what options say."""
    inductor = torch._TorchCompileInductorWrapper
    compiled = inductor.__call__

    def is_there(values):
        return any(getattr(getattr(v, "device", None), "type", None) == name for v in values)

    def compile_graph(self, model, inputs, **more):
        chosen = self.config
        made = (node.meta.get("example_value") for node in getattr(getattr(model, "graph", None), "nodes", ()))
        if is_there(inputs) or is_there(made):
            self.config = {**torch._inductor.list_mode_options("lite"), **chosen}
        try:
            return compiled(self, model, inputs, **more)
        finally:
            self.config = chosen

    inductor.__call__ = compile_graph


def _module(name):
    """What PyTorch asks of torch.NAME, and what its users know from torch.cuda."""
    calls, accelerator = torch.ops.flaggems_device, torch.accelerator
    module = types.ModuleType(f"torch.{name}")

    def index_of(device=None):
        if device is None:
            return accelerator.current_device_index()
        if isinstance(device, int):
            return device
        index = torch.device(device).index
        return accelerator.current_device_index() if index is None else index

    class DeviceContext:
        """Makes a device current for a block."""

        def __init__(self, device):
            self.index, self.before = index_of(device), None

        def __enter__(self):
            self.before = accelerator.current_device_index()
            accelerator.set_device_index(self.index)

        def __exit__(self, *_):
            accelerator.set_device_index(self.before)

    def exchange_device(index):
        before = accelerator.current_device_index()
        if index >= 0:
            accelerator.set_device_index(index)
        return before

    def make_stream(device=None, priority=0):
        """A stream of the device, in turn one of 32."""
        return torch.Stream(torch.device(name, index_of(device)), priority=priority)

    def make_event(enable_timing=False):
        """A point in a stream."""
        return torch.Event(name, enable_timing=enable_timing)

    def set_fallback(operators):
        """Which operators that the device lacks run on the CPU: True: all; False: none; or their names."""
        calls.set_fallback(operators is True, [] if isinstance(operators, bool) else list(operators))

    def count_calls(is_on=True):
        """Counts calls from here on, for take_calls()."""
        calls.count_calls(is_on)

    def take_calls():
        """{"aten::add.Tensor": (calls on the device, calls left to the CPU)}; forgets them."""
        rows = (line.rsplit(" ", 2) for line in calls.take_calls())
        return {operator: (int(here), int(left)) for operator, here, left in rows}

    def manual_seed_all(seed):
        for index in range(calls.device_count()):
            calls.manual_seed(index, seed if seed < 2**63 else seed - 2**64)

    def get_device_properties(device=None):
        names = ("name", "arch", "multi_processor_count", "total_memory")
        return types.SimpleNamespace(**dict(zip(names, calls.properties(index_of(device)))))

    def stats(key):
        return lambda device=None: accelerator.memory_stats(index_of(device)).get(key, 0)

    functions = {
        # devices
        "is_available": lambda: calls.device_count() > 0,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "_is_in_bad_fork": lambda: False,
        "device_count": calls.device_count,
        "current_device": accelerator.current_device_index,
        "set_device": lambda device: accelerator.set_device_index(index_of(device)),
        "exchange_device": exchange_device,
        "synchronize": lambda device=None: accelerator.synchronize(index_of(device)),
        "device": DeviceContext,
        "get_device_properties": get_device_properties,
        "get_device_name": lambda device=None: calls.properties(index_of(device))[0],
        "get_amp_supported_dtype": lambda: [torch.bfloat16, torch.float16],
        # streams
        "Stream": make_stream,
        "Event": make_event,
        "current_stream": lambda device=None: accelerator.current_stream(index_of(device)),
        "set_stream": accelerator.set_stream,
        "stream": lambda stream: stream,
        # memory
        "memory_stats": lambda device=None: accelerator.memory_stats(index_of(device)),
        "memory_allocated": stats("allocated_bytes.all.current"),
        "max_memory_allocated": stats("allocated_bytes.all.peak"),
        "memory_reserved": stats("reserved_bytes.all.current"),
        "empty_cache": accelerator.empty_cache,
        "reset_peak_memory_stats": lambda device=None: accelerator.reset_peak_memory_stats(index_of(device)),
        # random numbers
        "manual_seed": lambda seed: calls.manual_seed(index_of(), seed if seed < 2**63 else seed - 2**64),
        "manual_seed_all": manual_seed_all,
        "initial_seed": lambda: calls.initial_seed(index_of()),
        "get_rng_state": lambda device=None: calls.get_rng_state(index_of(device)),
        "set_rng_state": lambda state, device=None: calls.set_rng_state(index_of(device), state),
        # what runs where
        "set_fallback": set_fallback,
        "count_calls": count_calls,
        "take_calls": take_calls,
    }
    for key, function in functions.items():
        setattr(module, key, function)
    module._inductor_backend_init = lambda: _register_with_inductor(name, module)
    return module


def _register_with_inductor(name, module):
    """What Inductor asks of a device: it calls the operators of the device, and makes no kernels for it."""
    from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device
    from torch._inductor.codegen import common
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen
    from torch._inductor.scheduler import BaseScheduling

    members = ("current_device", "set_device", "device_count", "is_available", "current_stream", "set_stream",
               "synchronize", "get_device_properties", "memory_allocated")
    interface = type(f"{name}_interface", (DeviceInterface,), {
        **{member: staticmethod(getattr(module, member)) for member in members},
        "device": module.device,
        "get_raw_stream": staticmethod(lambda index: 0),
        "is_bf16_supported": staticmethod(lambda including_emulation=False: True),
        "exchange_device": staticmethod(module.exchange_device),
        "maybe_exchange_device": staticmethod(module.exchange_device),
    })

    class Overrides(common.DeviceOpOverrides):
        def import_get_raw_stream_as(self, name_in_code):
            return f"def {name_in_code}(index):\n    return 0\n"

        def set_device(self, index):
            return f"torch.{name}.set_device({index})"

        def synchronize(self):
            return f"torch.{name}.synchronize()"

        def device_guard(self, index):
            return f"torch.{name}.device({index})"

    class Scheduling(BaseScheduling):
        def get_backend_features(self, device):
            return set()

        def can_fuse_vertical(self, node1, node2):
            return False

        def can_fuse_horizontal(self, node1, node2):
            return False

        def group_fn(self, sizes):  # of what is to become a kernel
            raise NotImplementedError(f'Inductor makes no kernels for {name}: torch.compile(f, mode="lite")')

        def ready_to_flush(self):
            return False

        def codegen_sync(self):
            pass

        def flush(self):
            pass

    register_interface_for_device(name, interface)
    common.register_device_op_overrides(name, Overrides())
    common.register_backend_for_device(name, Scheduling, PythonWrapperCodegen)
