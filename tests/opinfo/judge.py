#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Judges the operators by PyTorch's OpInfo: runs its samples on the CPU, calls the operators of the
Python package with what ATen was called with, and compares with ATen in float64.

    judge.py                   all OpInfos; exit status 1: an operator gave a wrong result
    judge.py --only REGEX      OpInfos whose names match
    judge.py --reference       their reference inputs: more sizes, large and small values, NaN, infinities
    judge.py --report FILE     writes operators, samples, passes, refusals and failures with reasons
    judge.py --mutate          plants wrong results: exit status 1 if one of them passes
Exit status 77: PyTorch or the package is not installed.
"""
import argparse
import collections
import itertools
import platform
import re
import sys
import time
import warnings

try:
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo.core import SampleInput
    from flaggems import ops
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

import compare
from capture import Call, Recorder, is_ours, overload_of, snapshot, stop_at_composites

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8,
          torch.bool)
# They are called everywhere inside of other operators: as their own OpInfos call them.
NOT_COMPOSED = {"contiguous", "to.dtype", "clone"}
# What is of no account for a tensor on the host.
PLACEMENT = {"layout", "device", "pin_memory"}


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


def ours(call):
    """Calls our operator: its results, outputs and what is written in place among them."""
    name, _, overload = call.key.partition(".")
    args, kwargs = snapshot(call.args), snapshot(call.kwargs)
    for place, parameter in enumerate(call.overload._schema.arguments[:len(args)]):
        if str(parameter.type) == "Tensor" and not isinstance(args[place], torch.Tensor):
            if parameter.name != "other" or overload != "Tensor" or f"{name}.Scalar" not in KEYS:
                raise NoCounterpart("a number in a tensor's place")
            overload = "Scalar"  # a number that PyTorch had made a tensor
            call.key = f"{name}.Scalar"
        if isinstance(args[place], complex):
            raise NoCounterpart("a complex number")
    kwargs = {n: None if n in PLACEMENT else v for n, v in kwargs.items()}
    results = getattr(ops, name).overload(overload)(*args, **kwargs)
    after = dict(zip((p.name for p in call.overload._schema.arguments), args)) | kwargs
    for parameter, before in call.arguments():
        if isinstance(before, torch.Tensor) and not (parameter.alias_info and parameter.alias_info.is_write) \
                and not compare.equal(before, after[parameter.name]):
            raise Overwritten(parameter.name)
    return [t if isinstance(t, torch.Tensor) else torch.from_dlpack(t) for t in compare.as_list(results)]


def theirs(call, in_float64=False):
    args, kwargs = snapshot(call.args), snapshot(call.kwargs)
    if in_float64:
        args, kwargs = compare.in_float64(args), compare.in_float64(kwargs)
    return compare.as_list(call.overload(*args, **kwargs))


def reference(call, expected):
    """ATen's results in float64, or None where it has none."""
    if not any(e.is_floating_point() for e in expected):
        return None
    try:
        results = theirs(call, in_float64=True)
    except (RuntimeError, TypeError, IndexError):
        return None
    return results if all(r.shape == e.shape for r, e in zip(results, expected)) else None


# ---- wrong results, planted


def one_element(result):
    flat = result.flatten().clone()
    middle = flat.numel() // 2
    if result.dtype == torch.bool:
        flat[middle] = ~flat[middle]
    elif result.is_floating_point():
        value = flat[middle].double().nan_to_num(1.0)
        flat[middle] = value.abs() * 2 + 1e4 if result.dtype != torch.float16 else (-999 if value > 0 else 999)
    else:
        flat[middle] += 1
    return flat.reshape(result.shape)


def other_dtype(result):
    return result.to(torch.float64 if result.dtype != torch.float64 else torch.float32)


def other_sizes(result):
    return result.unsqueeze(0)


def first_result(change):
    return lambda results: [change(results[0]), *results[1:]]


MUTATIONS = {"an element": first_result(one_element), "the dtype": first_result(other_dtype),
             "the sizes": first_result(other_sizes), "a result too few": lambda results: results[:-1]}


class Judge:
    def __init__(self, mutate=False, all_samples=False):
        self.mutate, self.all_samples = mutate, all_samples
        self.samples, self.passes = collections.Counter(), collections.Counter()
        self.refused, self.failed, self.accepted = (collections.Counter() for _ in range(3))
        self.examples, self.planted, self.missed = {}, 0, []
        self.seen = set()
        self.kept, self.composed = stop_at_composites(KEYS - NOT_COMPOSED)

    def note(self, counter, call, reason):
        reason = reason.splitlines()[0][:240]
        group = (call.key, re.sub(r"-?\d[\d.e+-]*", "#", reason))
        counter[group] += 1
        self.examples.setdefault(group, f"{reason}; {describe(call)}")

    def judge(self, call):
        if call.key.split(".")[0] == "multinomial":
            return  # another generator's numbers: tests/ops/multinomial.cpp
        try:
            expected = theirs(call)
        except Exception as problem:
            return self.judge_refusal(call, problem)
        if not all(isinstance(e, torch.Tensor) and is_ours(e) for e in expected):
            return
        try:
            got = ours(call)
        except NoCounterpart:
            return
        except Overwritten as problem:
            self.samples[call.key] += 1
            self.note(self.failed, call, f"the input {problem} was written")
            return
        except Exception as problem:
            self.samples[call.key] += 1
            self.note(self.refused, call, f"{type(problem).__name__}: {problem}")
            return
        self.samples[call.key] += 1
        wanted = reference(call, expected)
        why = compare.difference(call, expected, got, wanted)
        if why is not None:
            self.note(self.failed, call, why)
            return
        self.passes[call.key] += 1
        if self.mutate:
            self.plant(call, expected, got, wanted)

    def judge_refusal(self, call, problem):
        """What ATen refuses: for the report alone, as it lacks dtypes and sizes that we have."""
        try:
            ours(call)
        except Exception:
            return
        self.note(self.accepted, call, f"{type(problem).__name__}: {problem}")

    def plant(self, call, expected, got, wanted):
        for what, change in MUTATIONS.items():
            if what == "an element" and (got[0].numel() == 0
                                         or call.key.split(".")[0] in compare.UNINITIALISED):
                continue
            self.planted += 1
            if compare.difference(call, expected, change(got), wanted) is None:
                self.missed.append(f"{what} of {call.key}: {describe(call)}")

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
            for one in variants(sample):
                for run in forms(info, one):
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


def variants(sample):
    yield sample
    try:
        yield sample.noncontiguous()
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


def describe(call):
    def of(value):
        if isinstance(value, torch.Tensor):
            strides = "" if value.is_contiguous() else f" strides {list(value.stride())}"
            return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{strides}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(of, value)) + "]"
        return repr(value)
    return ", ".join(f"{p.name}={of(v)}" for p, v in call.arguments())


def report(judge, seconds, out):
    print("# SPDX-FileCopyrightText: 2026 The flaggems authors\n# SPDX-License-Identifier: Apache-2.0", file=out)
    total = sum(judge.samples.values())
    print(f"# tests/opinfo/judge.py on the host ({platform.machine()}), PyTorch {torch.__version__}: {seconds:.0f} s",
          file=out)
    print(f"operators {len(judge.samples)} of {len(KEYS)}, samples {total}, passed {sum(judge.passes.values())}, "
          f"refused {sum(judge.refused.values())}, failed {sum(judge.failed.values())}", file=out)
    for title, counter in (("failed", judge.failed), ("refused", judge.refused),
                           ("accepted, although ATen refuses it", judge.accepted)):
        if counter:
            print(f"\n## {title}: samples, operator, reason, example", file=out)
        for (key, reason), count in sorted(counter.items()):
            print(f"{count:5} {key}: {reason}\n      e.g. {judge.examples[key, reason]}", file=out)
    print("\n## operators: samples, passed", file=out)
    for key in sorted(judge.samples):
        print(f"{judge.samples[key]:5} {judge.passes[key]:5} {key}", file=out)
    print("\n## not reached by a sample\n" + " ".join(sorted(KEYS - set(judge.samples))), file=out)


def keys():
    """The operators of the package that ATen has, too."""
    found = {text.split("(")[0] for text in ops.schemas()}
    return {key for key in found if "::" not in key and overload_of(key) is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=100, help="at most, of an OpInfo and a dtype")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--report")
    parser.add_argument("--mutate", action="store_true")
    options = parser.parse_args()

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    judge, start = Judge(options.mutate, options.reference), time.monotonic()
    with torch.no_grad():
        for info in op_db:
            if re.search(options.only, info.name):
                for dtype in DTYPES:
                    if dtype in info.supported_dtypes("cpu"):
                        judge.run(info, dtype, options.samples)
    seconds = time.monotonic() - start
    report(judge, seconds, sys.stdout)
    if options.report:
        with open(options.report, "w", encoding="utf-8") as out:
            report(judge, seconds, out)
    if options.mutate:
        print(f"\nplanted {judge.planted}, not noticed {len(judge.missed)}")
        print("\n".join(judge.missed[:20]))
        return 1 if judge.missed or judge.planted == 0 else 0
    return 1 if judge.failed or not judge.samples else 0


KEYS = keys()

if __name__ == "__main__":
    sys.exit(main())
