# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Times the sides of a case: launches over several sets of operands, captured into a graph, replayed in turns."""
import ctypes
import gc
import functools
import math
import statistics
import time

import torch

import operands
import triton_kernels

MEMORY = 128 * 2**20   # operands of all sets together: more than the L2 cache holds
MOST_SETS = 64         # so what is smaller than 2 MiB stays in the L2 cache
GRAPH_SECONDS = 3e-4   # of work in a graph


class Operand(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int64), ("rank", ctypes.c_int64),
                ("sizes", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8)]


class Library:
    """Our operators: the shared library made of operators/*.cpp."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.find = self.library.flaggems_bench_find
        self.find.restype, self.find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        self.call = self.library.flaggems_bench_call
        self.call.restype = ctypes.c_char_p
        self.call.argtypes = [ctypes.c_void_p, ctypes.POINTER(Operand), ctypes.c_int, ctypes.POINTER(ctypes.c_double),
                              ctypes.c_int, ctypes.c_void_p]
        self.library.flaggems_bench_reason.restype = ctypes.c_char_p
        self.reason = self.library.flaggems_bench_reason().decode()

    def bind(self, case, tensors):
        """A function that queues our call on these tensors."""
        name, numbers = case.ours
        operation = self.find(name.encode())
        if not operation:
            raise KeyError(name)
        given = (Operand * len(tensors))()
        for o, t in zip(given, tensors):
            o.data, o.dtype, o.rank = t.data_ptr(), operands.DTYPES.index(t.dtype), t.dim()
            o.sizes[:t.dim()], o.strides[:t.dim()] = t.shape, t.stride()
        values = (ctypes.c_double * max(1, len(numbers)))(*numbers)

        def run(*_):
            error = self.call(operation, given, len(tensors), values, len(numbers),
                              torch.cuda.current_stream().cuda_stream)
            if error:
                raise RuntimeError(error.decode())
        return run


class Side:
    """`calls` in turn, as a graph; one after another where they cannot be captured."""

    def __init__(self, calls, stream, asks=False):
        """`asks`: the calls ask the device, so that a capture would fail, and keep the memory of its pool."""
        self.stream, self.calls, self.graph = stream, calls, None if asks else torch.cuda.CUDAGraph()
        self.note = "not captured: asks the device" if asks else ""
        torch.cuda.synchronize()
        if asks:
            return
        self.graph.capture_begin(capture_error_mode="relaxed")
        try:
            self.kept = [call() for call in calls]  # results of their own, as ours are
            self.graph.capture_end()
        except Exception as error:  # of any library
            self.note = f"not captured: {str(error).splitlines()[0][:80]}"
            try:
                self.graph.capture_end()
            except Exception:
                pass
            self.graph = None
            torch.cuda.synchronize()

    def replay(self):
        if self.graph:
            self.graph.replay()
        else:
            for call in self.calls:
                call()

    def seconds(self, times):
        """Of a call, by the device's clock, the device being busy when it begins."""
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.replay()
        begin.record()
        for _ in range(times):
            self.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / (times * len(self.calls))


class Pace:
    """Whether the device is as fast as it has been. At times all that moves much memory takes a tenth longer for a
    while, whatever the clocks say: what was timed then is timed again, `left` times in a run."""
    PAUSE, SLACK = 0.25, 1.04

    def __init__(self):
        a, b = (torch.zeros(MEMORY, dtype=torch.uint8, device="cuda") for _ in range(2))
        self.side = Side([lambda: b.copy_(a)] * 4, torch.cuda.current_stream())
        self.least, self.left = math.inf, 60

    def is_slow(self):
        seconds = min(self.side.seconds(2) for _ in range(3))
        self.least = min(self.least, seconds)
        return seconds > self.SLACK * self.least

    def may_change(self):
        """Waits, if there is time for it."""
        self.left -= 1
        if self.left >= 0:
            time.sleep(self.PAUSE)
        return self.left >= 0


@functools.cache
def pace():
    return Pace()


def rough_seconds(call):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    call()
    begin.record()
    call()
    end.record()
    end.synchronize()
    return max(begin.elapsed_time(end) * 1e-3, 2e-6)


def relative_error(got, expected):
    precise = torch.float64 if got.numel() < 2**26 else torch.float32
    got, expected = got.to(precise), expected.to(precise)
    if not bool(torch.isfinite(got).all()):
        return math.inf
    norm = float(torch.linalg.vector_norm(expected))
    return float(torch.linalg.vector_norm(got - expected)) / (norm or 1.0)


def check(case, tensors, inputs):
    """What is wrong with the results that stand in `tensors`; empty if they are right."""
    if case.exact:
        return "" if case.exact(tensors) else "differs"
    expected = case.reference(*(x.float() if x.dtype.is_floating_point else x for x in inputs))
    expected = expected if isinstance(expected, tuple) else (expected,)
    worst = max(relative_error(got, e) for got, e in zip(tensors[len(tensors) - case.results:], expected))
    allowed = 5e-3 if case.dtype == operands.BF16 or tensors[-1].dtype == operands.BF16 else 2e-5
    return "" if worst <= allowed else f"relative error {worst:.1e}"


def sides_of(case, library, base, options):
    """name -> f(tensors) -> a function of no arguments."""
    sides = {}
    if library:
        sides["flaggems"] = lambda t: library.bind(case, t)
    if base:
        sides["base"] = lambda t: base.bind(case, t)
    if not options.without_peers:
        for name, f in case.eager.items():
            if name != "triton" or options.triton:
                sides[name] = lambda t, f=f: lambda: f(*t)
    if options.compile and case.compiled:
        torch._dynamo.reset()
        f = torch.compile(case.compiled, dynamic=False)
        inputs = -case.results if not case.in_place else None
        sides["torch.compile"] = lambda t: lambda: f(*t[:inputs])
    return sides


def warm(case, library, base, options):
    """Runs every side once, so that what it compiles is on disk."""
    tensors = case.make()
    for name, bind in sides_of(case, library, base, options).items():
        try:
            bind(tensors)()
        except Exception as error:
            print(f"{case.key()}: {name}: {error}", flush=True)
    torch.cuda.synchronize()


def sampled(sides, options):
    """Seconds of each side's calls, in turns."""
    samples = {name: [] for name in sides}
    for k in range(options.rounds + 1):
        for name, side in sides.items():
            if k == 0:  # unmeasured; how many replays make a sample
                seconds = side.seconds(1) * len(side.calls)
                side.times = max(1, min(20, math.ceil(GRAPH_SECONDS * 1.5 / seconds)))
            else:
                samples[name].append(side.seconds(side.times))
    return samples


def measure(case, library, base, options):
    """A row of the result; `slow`: how often it was timed again, as the device was slow."""
    row = {"family": case.family, "op": case.op, "shape": case.shape, "dtype": operands.NAMES[case.dtype],
           "bytes": case.bytes, "roof": case.roof, "seconds": None, "peers": {}, "error": ""}
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        count = max(1, min(MOST_SETS, math.ceil(MEMORY / case.bytes)))
        sets = [case.make()]
        inputs = [x.clone() for x in sets[0]] if case.in_place else sets[0][:-case.results]
        measured, rough = {}, {}
        sides = sides_of(case, library, base, options)
        for name, bind in sides.items():
            try:
                if name == "flaggems":
                    bind(sets[0])()
                    row["error"] = check(case, sets[0], inputs)
                rough[name] = rough_seconds(bind(sets[0]))
            except Exception as error:
                text = str(error).splitlines()[0][:160]
                if name == "flaggems":
                    row["error"] = text
                else:
                    row["peers"][name] = {"seconds": None, "note": text}
        sets += [case.make() for _ in range(count - 1)]
        for name in rough:
            rounds = max(1, min(128 // len(sets), math.ceil(GRAPH_SECONDS / rough[name] / len(sets))))
            asks = case.peers_ask and name != "flaggems"
            measured[name] = Side([sides[name](t) for _ in range(rounds) for t in sets], stream, asks)
        samples, row["slow"] = sampled(measured, options), 0
        while pace().is_slow() and pace().may_change():
            samples, row["slow"] = sampled(measured, options), row["slow"] + 1
        for name, side in measured.items():
            found = {"seconds": statistics.median(samples[name]), "best_seconds": min(samples[name]), "note": side.note}
            if name == "flaggems":
                row.update(seconds=found["seconds"], best_seconds=found["best_seconds"], note=side.note, sets=len(sets))
            else:
                row["peers"][name] = found
    del measured, sets, sides
    if torch.cuda.memory_reserved() > 16 * 2**30:
        gc.collect()  # graphs in cycles keep their pools
        torch.cuda.empty_cache()
    return row


def copy_case(size):
    n = size // 8
    return operands.Case("roof", "copy", operands.tensor_bytes(size), operands.F32, size,
                      lambda: [operands.random(n, dtype=operands.F32), operands.empty(n, dtype=operands.F32)], ("", ()), 1, None,
                      {"torch": lambda x, o: o.copy_(x), "triton": triton_kernels.copy})


def read_case(size):
    n = size // 4
    return operands.Case("roof", "read", operands.tensor_bytes(size), operands.F32, size,
                      lambda: [operands.random(n, dtype=operands.F32), triton_kernels.read_sums(n)], ("", ()), 1, None,
                      {"triton": lambda x, o: triton_kernels.read(x, o)})


def roofs(options):
    """For kinds of traffic: [bytes, seconds], by size; of what copies, the faster of the driver's copy and a kernel
    (the first falls to two thirds from 1 GiB)."""
    class only:
        compile, triton, without_peers, rounds = False, True, False, options.rounds
    found = {}
    for kind, make in (("copy", copy_case), ("read", read_case)):
        found[kind] = []
        for size in (8 * 2**10, 2**17, 2**20, 2**22, 2**24, 2**26, 2**28, 2**30, 2**31, 2**32):
            peers = measure(make(size), None, None, only)["peers"]
            found[kind].append([size, min(p["best_seconds"] for p in peers.values() if p["seconds"])])
    return found


def roof_seconds(roofs_found, kind, size):
    """Between the sizes measured: on a line."""
    points = roofs_found[kind]
    if size <= points[0][0]:
        return points[0][1]
    for (a, s), (b, t) in zip(points, points[1:]):
        if size <= b:
            return s + (t - s) * (size - a) / (b - a)
    return points[-1][1] * size / points[-1][0]
