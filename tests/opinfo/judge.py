#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Judges the operators by PyTorch's OpInfo: runs its samples on the CPU, calls the operators of the
Python package with what ATen was called with, and compares with ATen in float64.

    judge.py                   all OpInfos; exit status 1: an operator gave a wrong result, refused all samples
                               that ATen takes, but for those of REFUSED, or laid a new result out otherwise than
                               ATen, but for those of OWN_LAYOUT
    judge.py --only REGEX      OpInfos whose names match
    judge.py --reference       their reference inputs: more sizes, large and small values, NaN, infinities
    judge.py --report FILE     writes operators, samples, passes, refusals and failures with reasons
    judge.py --mutate          plants wrong results and refusals: exit status 1 if one of them passes
    judge.py --device NAME=LIB  beside the host a device type, by the library that tests/opinfo/device.cpp makes;
                               of meta only sizes, strides and dtypes are compared
    judge.py --partial         libraries of devices may lack families: what they do not have is not asked of them,
                               and what none of them has of nobody
    judge.py --share N         of each overload's calls the first eight and each Nth
    judge.py --part K/N        the K-th of N parts of the OpInfos and of the rows
    judge.py --jobs N          all parts at once, in N processes
    judge.py --besides REPORT  without the operators of which an earlier report has samples, on any of its devices
Exit status 77: PyTorch or the package is not installed.
"""
import argparse
import collections
import functools
import itertools
import math
import pickle
import platform
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo.core import SampleInput
    from torch.utils._pytree import tree_leaves, tree_map_only
    from flaggems import ops
    from flaggems._library import Library
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

import compare
import fused_rows
import moments
import rows
from capture import Call, Recorder, is_ours, overload_of, snapshot, stop_at_composites

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8,
          torch.bool, torch.complex64, torch.float8_e4m3fn)
# They are called everywhere inside of other operators: as their own OpInfos call them.
NOT_COMPOSED = {"contiguous", "to.dtype", "clone"}
# Of a dtype that the library is not compiled for.
NOT_COMPILED = re.compile(r"expected (dtype|a dtype of) |that (it|the program) was compiled for")
# What is of no account for a tensor on the host.
PLACEMENT = {"layout", "device", "pin_memory"}
# What ATen's batch norms write, although not all of their schemas say so.
WRITTEN = {"running_mean", "running_var"}
# Integers that depend on the device's units.
OF_UNITS = {"flaggems::get_scheduler_metadata"}
# Operators all of whose samples may be refused, and why.
REFUSED = {}
# Those whose new results need not have ATen's strides, and why.
OWN_LAYOUT = {
    **dict.fromkeys(("avg_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d"),
                    "ATen's are those of an image, whose channels may come last"),
    "mvlgamma": "ATen's are those of a sum",
    "native_batch_norm": "on the CPU ATen saves nothing by running statistics",
    "nonzero": "ATen's are those of columns, but on its device meta",
    "_convolution_double_backward": "ATen's are those of the convolutions that it is made of",
    "fft_fft": "ATen's have the transformed dimension last",
    **dict.fromkeys(("quantile", "nanquantile"), "ATen's have the quantiles last"),
    "kron": "ATen's are those of a product of more dimensions",
    "stack": "ATen asks for a format of five dimensions",
    "_scaled_dot_product_flash_attention_for_cpu": "ATen's logsumexp has heads within positions",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "ATen's gradients have heads within positions",
}


# Overloads with a number for `other`, of which the OpInfos have few samples.
NUMBER_FORMS = {"Tensor": "Scalar", "Tensor_mode": "Scalar_mode", "out": "Scalar_out", "Tensor_out": "Scalar_out",
                "out_mode": "Scalar_mode_out"}


class NoCounterpart(Exception):
    """The call has arguments that no overload of ours stands for."""


class Overwritten(Exception):
    """An input was written."""


def number_form(call):
    """The call with an element of `other` in its place, or None."""
    name, _, overload = call.key.partition(".")
    key = f"{name}.{NUMBER_FORMS.get(overload)}"
    given = {p.name: v for p, v in call.arguments()}
    other, out = given.get("other"), given.get("out")
    if key not in KEYS or not isinstance(other, torch.Tensor) or other.numel() == 0 \
            or not isinstance(given["self"], torch.Tensor) \
            or (out is not None and out.shape != given["self"].shape):
        return None
    return Call(key, overload_of(key), (), {**given, "other": other.flatten()[0].item()})


def other_forms(call, expected):
    """The same call in place and into outputs, by overloads that the OpInfos, or ATen, may not have."""
    if call.key.startswith("as_strided"):
        return  # of other strides, other elements
    if any(str(p.type) == "Tensor" and not isinstance(v, torch.Tensor) for p, v in call.arguments()):
        return  # a number in a tensor's place, for which the forms have another overload
    given = {p.name: v for p, v in call.arguments()}
    parameters = [(p.name, str(p.type)) for p in call.overload._schema.arguments]
    for key, overload in FORMS[call.key.partition(".")[0]]:
        schema = overload._schema
        outputs = [p.name for p in schema.arguments if p.is_out]
        if key == call.key or [(p.name, str(p.type)) for p in schema.arguments if not p.is_out] != parameters:
            continue
        if outputs and len(outputs) == len(expected) and None not in expected:
            yield Call(key, overload, (), given | dict(zip(outputs, map(torch.empty_like, expected))))
        elif not outputs and schema.name.endswith("_") and isinstance(given["self"], torch.Tensor) \
                and given["self"].dtype == expected[0].dtype and given["self"].shape == expected[0].shape:
            yield Call(key, overload, (), given)


def counterpart(call):
    """The call of our overload, whose key may be another; raises NoCounterpart."""
    name, _, overload = call.key.partition(".")
    for parameter, value in call.arguments():
        if str(parameter.type) == "Tensor" and not isinstance(value, torch.Tensor):
            if parameter.name != "other" or overload != "Tensor" or f"{name}.Scalar" not in KEYS:
                raise NoCounterpart("a number in a tensor's place")
            overload = "Scalar"  # a number that PyTorch had made a tensor
        if isinstance(value, complex) or (isinstance(value, torch.dtype) and value.is_complex):
            raise NoCounterpart("complex numbers")
    args, kwargs = call.args, call.kwargs
    if name.startswith("as_strided") and (start := args[0].storage_offset()) != 0:
        # ATen's offset is from the first element of the memory, ours from that of the tensor.
        given = {p.name: v for p, v in call.arguments()}
        if given.get("storage_offset") is not None:
            if given["storage_offset"] < start:
                raise NoCounterpart("elements in front of the tensor's, which no device has")
            args, kwargs = (), given | {"storage_offset": given["storage_offset"] - start}
    return Call(f"{name}.{overload}" if overload else name, call.overload, args, kwargs)


def resized(call, expected):
    """The call with outputs of its results' sizes: the adapters resize them (torch_operators/outputs.hpp)."""
    outputs = [p.name for p in call.overload._schema.arguments if p.is_out]
    given = {p.name: v for p, v in call.arguments()} if outputs else {}
    others = {name: torch.empty_like(result) for name, result in zip(outputs, expected)
              if result is not None and given[name].shape != result.shape}
    return Call(call.key, call.overload, (), given | others) if others else call


def ours(device, call):
    """Calls our operator: its results, outputs and what is written in place among them."""
    name, _, overload = call.key.partition(".")
    args, kwargs = snapshot(call.args), snapshot(call.kwargs)
    kwargs = {n: None if n in PLACEMENT else v for n, v in kwargs.items()}
    results = device.operator(name.split("::")[-1]).overload(overload)(*args, **kwargs)
    after = dict(zip((p.name for p in call.overload._schema.arguments), args)) | kwargs
    for parameter, before in call.arguments():
        if isinstance(before, torch.Tensor) and not (parameter.alias_info and parameter.alias_info.is_write) \
                and parameter.name not in WRITTEN and not compare.equal(before, after[parameter.name]):
            raise Overwritten(parameter.name)
    return [t if t is None or isinstance(t, torch.Tensor) else torch.from_dlpack(t) for t in compare.as_list(results)]


def draws(call):
    """Whether a generator decides about the results."""
    kinds = {str(p.type) for p in call.overload._schema.arguments}
    return bool(kinds & {"Generator", "Optional[Generator]"}) or compare.named(call, "dropout_p", 0) > 0


def theirs(call, in_float64=False):
    args, kwargs = snapshot(call.args), snapshot(call.kwargs)
    if in_float64:
        args, kwargs = compare.in_float64(args), compare.in_float64(kwargs)
    if call.key.startswith("_segment_reduce_backward"):
        # ATen divides positive gradients alone among equal elements; the function is linear in them.
        given = dict(zip((p.name for p in call.overload._schema.arguments), args)) | kwargs
        parts = [call.overload(**given | {"grad": (sign * given["grad"]).clamp(min=0)}).clone() for sign in (1, -1)]
        return [parts[0] - parts[1]]
    return compare.as_list(call.overload(*args, **kwargs))


def in_rows(call):
    """The call with row-major tensors, or None if it is such a one, writes, or depends on strides."""
    if call.key.startswith("as_strided") or call.overload._schema.is_mutable \
            or all(t.is_contiguous() for t in call.tensors()):
        return None
    args, kwargs = tree_map_only(torch.Tensor, lambda t: t.contiguous(), (call.args, dict(call.kwargs)))
    return Call(call.key, call.overload, args, kwargs)


def theirs_on_meta(call):
    """ATen's results without elements, or none where it does not say."""
    def without_elements(t):
        return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
    args, kwargs = tree_map_only(torch.Tensor, without_elements, (call.args, dict(call.kwargs)))
    try:
        return compare.as_list(call.overload(*args, **kwargs))
    except Exception:
        return []


@functools.lru_cache(1 << 16)
def bessel(kind, order, x):
    """Correctly rounded; None where ATen's is as good: of no number, and at the ends of the domain."""
    import mpmath  # installed with PyTorch
    if not math.isfinite(x) or (kind == "y" and x <= 0):
        return None
    return float((mpmath.besselj if kind == "j" else mpmath.bessely)(order, x).real)


def precise(call, results):
    """ATen's results in float64, without what it computes to 7 digits alone."""
    found = re.match(r"special_bessel_([jy])([01])(\.|$)", call.key)
    if not found:
        return results
    x = compare.in_float64(call.args)[0].expand_as(results[0])
    exact = [bessel(found[1], int(found[2]), v) for v in x.flatten().tolist()]
    values = [t if e is None else e for e, t in zip(exact, results[0].flatten().tolist())]
    return [torch.tensor(values, dtype=torch.float64).reshape(results[0].shape)]


def reference(call, expected):
    """ATen's results in float64, or None where it has none."""
    if not any(e is not None and compare.is_inexact(e) for e in expected) or call.key.startswith("as_strided"):
        return None  # (or the strides would be others)
    try:
        results = precise(call, theirs(call, in_float64=True))
    except (RuntimeError, TypeError, IndexError, ValueError):  # none of f8 has one
        return None
    return results if all(e is None or r.shape == e.shape for r, e in zip(results, expected)) else None


# ---- wrong results, planted


def one_element(result):
    flat = result.flatten().clone()
    middle = flat.numel() // 2
    if result.dtype == torch.bool:
        flat[middle] = ~flat[middle]
    elif result.is_complex():
        flat[middle] = flat[middle].abs().nan_to_num(1.0, 1.0, 1.0) * 2 + 1e4
    elif result.is_floating_point():
        value = flat[middle].double().nan_to_num(1.0, 1.0, 1.0)
        flat[middle] = value.abs() * 2 + 1e4 if result.dtype != torch.float16 else (-999 if value > 0 else 999)
    else:
        flat[middle] += 1
    return flat.reshape(result.shape)


def other_dtype(result):
    if result.is_complex():
        return result.to(torch.complex128 if result.dtype != torch.complex128 else torch.complex64)
    return result.to(torch.float64 if result.dtype != torch.float64 else torch.float32)


def other_sizes(result):
    return result.unsqueeze(0)


def first_result(change):
    def changed(results):
        first = next(i for i, r in enumerate(results) if r is not None)
        return [*results[:first], change(results[first]), *results[first + 1:]]
    return changed


MUTATIONS = {"an element": first_result(one_element), "the dtype": first_result(other_dtype),
             "the sizes": first_result(other_sizes), "a result too few": lambda results: results[:-1]}


class Device:
    """The operators of a device type, and what became of the calls that it was given."""

    def __init__(self, name, operator, library=None):
        self.name, self.operator, self.library = name, operator, library
        self.computes = name != "meta"
        self.has_units = name == "cuda"  # matrix units, which round what they take
        self.keys = set() if library is None else {text.split("(")[0] for text in library.schemas()}
        self.samples, self.passes, self.not_compiled = (collections.Counter() for _ in range(3))
        self.refused, self.failed, self.accepted = (collections.Counter() for _ in range(3))
        self.decided = collections.Counter()  # of meta: calls whose elements decide
        self.laid_out, self.otherwise = collections.Counter(), collections.Counter()
        self.examples, self.seconds = {}, 0.0
        self.launched = None  # by other processes

    FINDINGS = ("samples", "passes", "not_compiled", "refused", "failed", "accepted", "decided", "laid_out", "otherwise",
                "examples")

    def findings(self):
        return {name: getattr(self, name) for name in self.FINDINGS} | {"seconds": self.seconds, "launches": self.launches()}

    def add(self, found):
        """What another process found."""
        for name in self.FINDINGS:
            getattr(self, name).update(found[name])
        self.seconds += found["seconds"]
        if found["launches"] is not None:
            self.launched = (self.launched or 0) + found["launches"]

    def note(self, counter, call, reason):
        reason = reason.splitlines()[0][:240]
        group = (call.key, re.sub(r"-?\d[\d.e+-]*", "#", reason))
        counter[group] += 1
        self.examples.setdefault(group, f"{reason}; {describe(call)}")

    def note_strides(self, call, expected, got):
        """Whether results are laid out as ATen's on the CPU or on its device meta."""
        strides = compare.strides(got)
        if strides == compare.strides(expected) or strides == compare.strides(theirs_on_meta(call)):
            self.laid_out[call.key] += 1
            return
        self.otherwise[call.key] += 1
        self.examples.setdefault(("strides", call.key),
                                 f"{strides}, not {compare.strides(expected)}; {describe(call)}")

    def refused_always(self):
        """The operators that took none of their samples, for other reasons than wrong results."""
        wrong = {key for key, _ in self.failed}
        return sorted(key for key in self.samples if not self.passes[key] and key not in wrong)

    def units(self):
        return self.library.module.units() if self.library is not None else 128

    def launches(self):
        return self.library.module.launches() if self.library is not None and self.launched is None else self.launched


def host():
    return Device("host", lambda name: getattr(ops, name))


def keys_of_report(path):
    """The operators of which a report has samples."""
    lines = path.read_text(encoding="utf-8").partition("\n## operators: samples and passed on ")[2].partition("\n\n")[0]
    return {line.split()[-1] for line in lines.splitlines()[1:]}


def refusing():
    """A device type that refuses every call: planted, to be noticed."""
    def operator(_name):
        raise NotImplementedError("all")
    return Device("refusing", operator)


def other_device(text):
    name, _, path = text.partition("=")
    library = Library(pathlib.Path(path), f"flaggems_{name}.")
    return Device(name, library.__getitem__, library)


class Judge:
    def __init__(self, devices, options):
        self.devices, self.share, self.mutate = devices, options.share, options.mutate
        self.all_samples, self.partial = options.reference, options.partial
        self.judged_before = set().union(*map(keys_of_report, options.besides))
        self.planted, self.missed = 0, []
        self.seen, self.met = set(), collections.Counter()
        self.composed = set()

    def judge(self, call):
        if draws(call):
            return  # another generator's numbers: moments.py
        self.met[call.key] += 1
        if self.met[call.key] > 8 and self.met[call.key] % self.share != 0:
            return
        try:
            expected = theirs(call)
        except Exception as problem:
            return self.judge_refusal(call, problem)
        if not all(e is None or (isinstance(e, torch.Tensor) and is_ours(e)) for e in expected):
            return
        try:
            call = resized(counterpart(call), expected)
        except NoCounterpart:
            return
        wanted = reference(call, expected)

        def is_wrong(results, device, one=call):
            how = device.computes, device.has_units
            why = compare.difference(one, expected, results, wanted, *how)
            if why is not None and (rows := in_rows(call)) is not None:
                # Some of ATen's take strides for those of rows, and read what is beside the elements.
                expected_of_rows = theirs(rows)
                why = compare.difference(one, expected_of_rows, results, reference(rows, expected_of_rows), *how)
            return why
        lays_out = isinstance(call.overload, torch._ops.OpOverload) and not call.overload._schema.is_mutable
        for device in self.devices:
            if call.key in OF_UNITS:
                fused_rows.units = device.units()
                expected = theirs(call)
            got = self.judge_device(device, call, is_wrong)
            if got is not None and lays_out:
                device.note_strides(call, expected, got)
        if not call.overload._schema.is_mutable:
            for other in other_forms(call, expected):
                self.met[other.key] += 1
                if self.met[other.key] <= 8:
                    for device in self.devices:
                        self.judge_device(device, other, functools.partial(is_wrong, one=other))

    def judge_random(self, key, dtype):
        """An operator that draws, twice from one seed, and its out= forms."""
        schema = overload_of(key)._schema if overload_of(key) else torch._C.parse_schema(SCHEMAS[key])
        for args, named, check in moments.ROWS[key].samples(dtype):
            generator = next(p.name for p in schema.arguments if "Generator" in str(p.type))
            call = Call(key, rows.Reference(schema, None), args, {**named, generator: 2})
            given, counts = {p.name: v for p, v in call.arguments()}, {}

            def is_wrong(results, device, key=key):
                if len(results) != counts.setdefault(key, max(1, len(results))):
                    return f"{len(results)} results"
                return check(results, dtype, device.computes)
            made = next(filter(None, [self.judge_device(device, call, is_wrong) for device in self.devices]), None)
            for form, overload in FORMS[key.partition(".")[0]] if made else ():
                outputs = [p.name for p in overload._schema.arguments if p.is_out]
                if outputs and [p.name for p in overload._schema.arguments if not p.is_out] == \
                        [p.name for p in schema.arguments]:
                    into = Call(form, overload, (), given | dict(zip(outputs, map(torch.empty_like, made))))
                    for device in self.devices:
                        self.judge_device(device, into, functools.partial(is_wrong, key=form))

    def judge_device(self, device, call, is_wrong):
        """The results, if they are right."""
        if call.key in self.judged_before:
            return None
        start = time.monotonic()
        try:
            got = ours(device, call)
        except Overwritten as problem:
            device.samples[call.key] += 1
            device.note(device.failed, call, f"the input {problem} was written")
            return
        except Exception as problem:
            text = f"{type(problem).__name__}: {problem}"
            if self.partial and isinstance(problem, KeyError):
                return
            if isinstance(problem, TypeError) and NOT_COMPILED.search(text):
                device.not_compiled[call.key] += 1
                return
            if device.name == "meta" and "sizes and types alone" in text:
                device.decided[call.key] += 1
                return
            device.samples[call.key] += 1
            device.note(device.refused, call, text)
            return
        finally:
            device.seconds += time.monotonic() - start
        device.samples[call.key] += 1
        why = is_wrong(got, device)
        if why is not None:
            device.note(device.failed, call, why)
            return
        device.passes[call.key] += 1
        if self.mutate and device.computes:
            self.plant(device, call, got, is_wrong)
        return got

    def judge_refusal(self, call, problem):
        """What ATen refuses: for the report alone, as it lacks dtypes and sizes that we have."""
        for device in self.devices:
            try:
                ours(device, counterpart(call))
            except Exception:
                continue
            device.note(device.accepted, call, f"{type(problem).__name__}: {problem}")

    def plant(self, device, call, got, is_wrong):
        first = next((g for g in got if g is not None), None)
        if first is None:  # nothing was asked for
            return
        for what, change in MUTATIONS.items():
            if what == "an element" and (first.numel() == 0
                                         or call.key.split(".")[0] in compare.UNINITIALISED):
                continue
            if what == "an element" and draws(call):
                what, change = "one number everywhere", first_result(lambda r: torch.full_like(r, 77))
            self.planted += 1
            if is_wrong(change(got), device) is None:
                self.missed.append(f"{what} of {call.key}: {describe(call)}")

    def run_gradients(self, info, dtype, limit):
        """What autograd calls for the gradients of the samples."""
        recorder = Recorder({key for key in KEYS if "backward" in key}, set(), self.seen)
        torch.manual_seed(0)
        try:
            samples = list(itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=True), limit))
        except Exception:
            return
        for sample in samples:
            for one in variants(sample):
                try:
                    with recorder, torch.enable_grad():
                        differentiate(info, one)
                except Exception:
                    pass  # a sample without gradients
        for call in recorder.calls:
            self.judge(call)

    def run_rows(self, key, dtype):
        for reference, args, named in rows.calls(key, SCHEMAS[key], dtype, overload_of(key)):
            self.judge(Call(key, reference, args, named))

    def run(self, info, dtype, limit):
        recorder = Recorder(KEYS, self.composed, self.seen)
        torch.manual_seed(0)
        try:
            take = info.reference_inputs if self.all_samples else info.sample_inputs
            samples = list(itertools.islice(take("cpu", dtype, requires_grad=False), limit))
        except Exception:
            return
        if info.error_inputs_func is not None:
            samples += [e.sample_input for e in info.error_inputs("cpu")
                        if isinstance(e.sample_input, SampleInput)]
        for sample in samples:
            # One by one: what a form calls is known until the next is asked for.
            runs = (run for one in variants(sample) for run in forms(info, one))
            for run in itertools.chain(runs, (next(forms(info, one)) for one in permuted(sample))):
                try:
                    with recorder:
                        run()
                except Exception:
                    pass  # a sample that PyTorch refuses
        for call in recorder.calls:
            self.judge(call)
            other = number_form(call)
            if other is not None and other.signature() not in self.seen:
                self.seen.add(other.signature())
                self.judge(other)


def differentiate(info, sample):
    inputs = [t for t in tree_leaves((sample.input, sample.args, sample.kwargs))
              if isinstance(t, torch.Tensor) and t.requires_grad]
    results = [t for t in tree_leaves(info.op(sample.input, *sample.args, **sample.kwargs))
               if isinstance(t, torch.Tensor) and t.requires_grad]
    torch.autograd.grad(results, inputs, [torch.randn_like(r) for r in results], allow_unused=True)


def variants(sample):
    yield sample
    try:
        yield sample.noncontiguous()
    except Exception:
        pass


def permuted(sample):
    """The sample with tensors whose dimensions are in another order in memory."""
    def backwards(t):
        return t.detach().mT.contiguous().mT if t.dim() > 1 else t

    def channels_last(t):
        return t.detach().contiguous(memory_format=torch.channels_last) if t.dim() == 4 else backwards(t)
    for order in (backwards, channels_last):
        try:
            if any(isinstance(t, torch.Tensor) and t.dim() > 1 and (order == backwards or t.dim() == 4)
                   for t in tree_leaves((sample.input, sample.args, sample.kwargs))):
                yield sample.transform(lambda t: order(t) if isinstance(t, torch.Tensor) else t)
        except Exception:
            pass


def forms(info, sample):
    """The sample as a function's call, in place, by its other names, and into outputs."""
    functions = [info.op, *(alias.op for alias in info.aliases)]
    in_place = [info.inplace_variant, *(alias.inplace_variant for alias in info.aliases)]
    for function in functions:
        yield lambda: function(sample.input, *sample.args, **sample.kwargs)
    for function in in_place:
        if function is not None and isinstance(sample.input, torch.Tensor):
            yield lambda: function(snapshot(sample.input), *sample.args, **sample.kwargs)
    if info.supports_out:
        def into_outputs():
            made = info.op(sample.input, *sample.args, **sample.kwargs)
            for function in functions:
                outputs = tuple(map(torch.empty_like, made)) if isinstance(made, tuple) else torch.empty_like(made)
                function(sample.input, *sample.args, **sample.kwargs, out=outputs)
        yield into_outputs


def judge_no_others(keys):
    for known in (KEYS, OWN_FORMS):
        known &= keys
    for name, known in FORMS.items():
        FORMS[name] = [form for form in known if form[0] in keys]
    for key in SCHEMAS.keys() - keys:
        del SCHEMAS[key]


def describe(call):
    def of(value):
        if isinstance(value, torch.Tensor):
            strides = "" if value.is_contiguous() else f" strides {list(value.stride())}"
            return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{strides}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(of, value)) + "]"
        return repr(value)
    return ", ".join(f"{p.name}={of(v)}" for p, v in call.arguments())


def judge_in_parts(judge, jobs):
    """What `jobs` processes find, each of a part; raises if one of them ends without."""
    given, taken = [], iter(sys.argv[1:])
    for word in taken:
        if word in ("--jobs", "--report"):
            next(taken)
        elif not word.startswith(("--jobs=", "--report=")):
            given.append(word)
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, str(k)) for k in range(jobs)]
        processes = [subprocess.Popen([sys.executable, __file__, *given, "--part", f"{k}/{jobs}", "--findings", file],
                                      stdout=subprocess.DEVNULL) for k, file in enumerate(files)]
        for k, (process, file) in enumerate(zip(processes, files)):
            if process.wait() != 0 or not file.exists():
                raise RuntimeError(f"part {k} of {jobs} ended with {process.returncode}")
            found, planted, missed = pickle.loads(file.read_bytes())
            for device, one in zip(judge.devices, found):
                device.add(one)
            judge.planted += planted
            judge.missed += missed


def columns(devices, counts):
    return " ".join(f"{n:7}" for device in devices for n in counts(device))


def report(judge, dtypes, seconds, out):
    devices = judge.devices
    print("# SPDX-FileCopyrightText: 2026 The flaggems authors\n# SPDX-License-Identifier: Apache-2.0", file=out)
    print(f"# tests/opinfo/judge.py on {', '.join(d.name for d in devices)} ({platform.machine()}), "
          f"PyTorch {torch.__version__}, samples of {', '.join(str(d).removeprefix('torch.') for d in dtypes)}: "
          f"{seconds:.0f} s", file=out)
    for device in devices:
        launches = "" if device.launches() is None else f", {device.launches()} kernels launched"
        print(f"{device.name}: operators {len(device.samples)} of {len(KEYS | OWN_FORMS)}, "
              f"samples {sum(device.samples.values())}, passed {sum(device.passes.values())}, "
              f"refused {sum(device.refused.values())} (all of {len(device.refused_always())} operators), "
              f"failed {sum(device.failed.values())}, "
              f"of a dtype not compiled {sum(device.not_compiled.values())}; {device.seconds:.0f} s{launches}",
              file=out)
        laid_out = sum(device.laid_out.values())
        if device.decided:
            print(f"    decided by elements {sum(device.decided.values())}: {' '.join(sorted(device.decided))}", file=out)
        print(f"    new results with ATen's strides: {laid_out} of {laid_out + sum(device.otherwise.values())}",
              file=out)
    never = {key: [d.name for d in devices if key in d.refused_always()]
             for d in devices for key in d.refused_always()}
    if never:
        print("\n## operators that refused all their samples", file=out)
        for key, names in sorted(never.items()):
            print(f"{key}, on {', '.join(names)}: {REFUSED.get(key, 'FAILED')}", file=out)
    for device in devices:
        if others := sorted(device.not_compiled.keys() - device.samples.keys()):
            print(f"\n## met in dtypes alone that {device.name} was not compiled for\n{' '.join(others)}", file=out)
    for title, attribute in (("failed", "failed"), ("refused", "refused"),
                             ("accepted, although ATen refuses it", "accepted")):
        found = sorted({group for d in devices for group in getattr(d, attribute)})
        if found:
            print(f"\n## {title}: samples on {', '.join(d.name for d in devices)}; operator, reason, example",
                  file=out)
        for group in found:
            example = next(d.examples[group] for d in devices if group in getattr(d, attribute))
            print(f"{columns(devices, lambda d: [getattr(d, attribute)[group]])} {group[0]}: {group[1]}\n"
                  f"      e.g. {example}", file=out)
    if otherwise := sorted({key for d in devices for key in d.otherwise}):
        print(f"\n## strides other than ATen's: samples on {', '.join(d.name for d in devices)}; operator, example",
              file=out)
        for key in otherwise:
            example = next(d.examples["strides", key] for d in devices if key in d.otherwise)
            print(f"{columns(devices, lambda d: [d.otherwise[key]])} {key}: {OWN_LAYOUT.get(key, 'FAILED')}; {example}",
                  file=out)
    print(f"\n## operators: samples and passed on {', '.join(d.name for d in devices)}", file=out)
    reached = {key for d in devices for key in d.samples}
    for key in sorted(reached):
        print(f"{columns(devices, lambda d: [d.samples[key], d.passes[key]])} {key}", file=out)
    print("\n## not reached by a sample\n" + " ".join(sorted((KEYS | OWN_FORMS) - reached)), file=out)
    print("\n## unknown to ATen, and without a row in rows.py\n" + " ".join(sorted(SCHEMAS.keys() - KEYS - OWN_FORMS)), file=out)


def judge_part(judge, options, dtypes):
    part, parts = (int(x) for x in options.part.split("/"))
    infos = [info for info in op_db if re.search(options.only, info.name)][part::parts]
    chosen = [(info, dtype) for info in infos for dtype in dtypes if dtype in info.supported_dtypes("cpu")]
    with torch.no_grad():
        # Before composites get a kernel of their own, which autograd could not look into.
        for info, dtype in chosen:
            if info.supports_autograd and (dtype.is_floating_point or dtype.is_complex):
                judge.run_gradients(info, dtype, options.samples)
        kept, judge.composed = stop_at_composites(KEYS - NOT_COMPOSED - ROWS_ALONE)
        for info, dtype in chosen:
            judge.run(info, dtype, options.samples)
        del kept
        for run, table in ((judge.run_rows, rows.ROWS), (judge.judge_random, moments.ROWS)):
            keys = [key for key in sorted(KEYS & table.keys()) if re.search(options.only, key)]
            for key in keys[part::parts]:
                for dtype in table[key].dtypes:
                    if dtype in (*dtypes, *rows.OWN_DTYPES):
                        run(key, dtype)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=100, help="at most, of an OpInfo and a dtype")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--report")
    parser.add_argument("--mutate", action="store_true")
    parser.add_argument("--device", action="append", default=[], metavar="NAME=LIBRARY")
    parser.add_argument("--dtypes", help="of the OpInfos' samples: float32,int64")
    parser.add_argument("--partial", action="store_true")
    parser.add_argument("--share", type=int, default=1, metavar="N")
    parser.add_argument("--part", default="0/1", metavar="K/N")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--findings", type=pathlib.Path, help=argparse.SUPPRESS)  # of a part, for the process of all
    parser.add_argument("--besides", action="append", default=[], type=pathlib.Path, metavar="REPORT")
    options = parser.parse_args()
    dtypes = DTYPES if options.dtypes is None else [getattr(torch, d) for d in options.dtypes.split(",")]

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    devices = [host(), *map(other_device, options.device)]
    if options.partial and options.device:
        judge_no_others(set().union(*(device.keys for device in devices)))
    planted = [refusing()] if options.mutate else []
    judge, start = Judge(devices + planted, options), time.monotonic()
    if options.jobs > 1 and options.part != "0/1":
        parser.error("--jobs has parts of its own")
    if options.jobs > 1:
        judge_in_parts(judge, options.jobs)
    else:
        judge_part(judge, options, dtypes)
    if options.findings:
        options.findings.write_bytes(pickle.dumps(([d.findings() for d in judge.devices], judge.planted, judge.missed)))
        return 0
    seconds = time.monotonic() - start
    judge.devices = devices
    for device in planted:
        judge.planted += len(device.samples)
        judge.missed += [f"all refused of {key}" for key in device.samples.keys() - set(device.refused_always())]
    report(judge, dtypes, seconds, sys.stdout)
    if options.report:
        with open(options.report, "w", encoding="utf-8") as out:
            report(judge, dtypes, seconds, out)
    if options.mutate:
        print(f"\nplanted {judge.planted}, not noticed {len(judge.missed)}")
        print("\n".join(judge.missed[:20]))
        return 1 if judge.missed or judge.planted == 0 else 0
    return 1 if any(d.failed or not d.passes or d.launches() == 0 or set(d.refused_always()) - REFUSED.keys()
                    or d.otherwise.keys() - OWN_LAYOUT.keys()
                    for d in devices) else 0


SCHEMAS = {text.split("(")[0]: text for text in ops.schemas()}
ROWS_ALONE = (rows.ROWS.keys() - rows.OF_ATEN) | moments.ROWS.keys()
# The operators of the package that ATen has, too, and those with rows.
KEYS = {key for key in SCHEMAS if key in rows.ROWS or key in moments.ROWS
        or ("::" not in key and overload_of(key) is not None)}

# out= forms that ATen does not have.
OWN_FORMS = {key for key in SCHEMAS.keys() - KEYS if key.partition(".")[0] in {k.partition(".")[0] for k in KEYS}}
# Of a name, the overloads that write, those of its in-place form, too.
FORMS = collections.defaultdict(list)
for one in sorted(KEYS - ROWS_ALONE | OWN_FORMS):
    form = rows.Reference(SCHEMAS[one], None) if one in OWN_FORMS else overload_of(one)
    if form._schema.is_mutable:
        FORMS[one.partition(".")[0].removesuffix("_")].append((one, form))

if __name__ == "__main__":
    sys.exit(main())
