# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Operators that draw random numbers: samples, and what their results have to be like. Another generator gives other
numbers than ATen's, so ranges, means and variances are compared with those of the distribution."""
import math
import typing

import torch

COUNT = 20000
SIGMAS = 6  # of a mean of COUNT numbers
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
NUMBERS = (*FLOATS, torch.int64, torch.int32)


class Expected(typing.NamedTuple):
    """A distribution: None where it has no such moment, or is not bounded."""
    mean: float | None
    variance: float | None
    low: float | None = None
    high: float | None = None
    whole: bool = False
    median: float | None = None


def unlike(values, expected):
    """Why numbers are none of a distribution, or None."""
    x = values.double().flatten()
    if not torch.isfinite(x).all():
        return "a number that is not finite"
    if expected.low is not None and x.min() < expected.low:
        return f"{x.min().item()} below {expected.low}"
    if expected.high is not None and x.max() > expected.high:
        return f"{x.max().item()} above {expected.high}"
    if expected.whole and not torch.equal(x, x.round()):
        return "a fraction"
    digits = 4 * torch.finfo(values.dtype).eps if values.is_floating_point() else 0.0
    root = math.sqrt(len(x))
    if expected.mean is not None:
        off = SIGMAS * math.sqrt(expected.variance or 0) / root + digits * (1 + abs(expected.mean))
        if abs(x.mean().item() - expected.mean) > off:
            return f"a mean of {x.mean().item():.6g}, not {expected.mean:.6g}"
    if expected.variance is not None:
        # Of heavy tails, too, the variance of COUNT numbers is within a third.
        if not 0.67 * expected.variance <= x.var().item() <= 1.5 * expected.variance + 1e-12:
            return f"a variance of {x.var().item():.6g}, not {expected.variance:.6g}"
    if expected.median is not None:
        share = (x <= expected.median).double().mean().item()
        if abs(share - 0.5) > SIGMAS * 0.5 / root + digits:
            return f"{share:.4f} of the numbers up to the median"
    return None


def drawn(expected, sizes=(COUNT,)):
    """A check of results: their sizes and dtype, and, if they have `values`, the distribution."""
    def check(results, dtype, values):
        result = results[0]
        if list(result.shape) != list(sizes):
            return f"sizes {list(result.shape)}, not {list(sizes)}"
        if result.dtype != dtype:
            return f"dtype {result.dtype}, not {dtype}"
        return unlike(result, expected) if values else None
    return check


def uniform(low, high):
    return Expected((low + high) / 2, (high - low) ** 2 / 12, low, high)


def integers(low, high):
    """Of [low, high)."""
    return Expected((low + high - 1) / 2, ((high - low) ** 2 - 1) / 12, low, high - 1, whole=True)


def bernoulli(p):
    return Expected(p, p * (1 - p), 0, 1, whole=True)


NORMAL = Expected(2.0, 9.0, median=2.0)
CAUCHY = Expected(None, None, median=1.0)
EXPONENTIAL = Expected(0.5, 0.25, low=0, median=math.log(2) / 2)
GEOMETRIC = Expected(2.5, 0.6 / 0.16, low=1, whole=True)
LOG_NORMAL = Expected(math.exp(0.125), (math.exp(0.25) - 1) * math.exp(0.25), low=0, median=1.0)


def new(dtype):
    return torch.zeros(COUNT, dtype=dtype)


def with_options(expected, *options):
    """A sample of a tensor that gives the sizes, or is written, and options."""
    def samples(dtype):
        yield (new(dtype), *options), {}, drawn(expected)
    return samples


def of_sizes(expected, *before, dtypes=True):
    """A sample of sizes, behind numbers."""
    def samples(dtype):
        yield (*before, [100, COUNT // 100]), {"dtype": dtype} if dtypes else {}, drawn(expected, [100, COUNT // 100])
    return samples


def like(expected, *after):
    def samples(dtype):
        x = torch.zeros(50, COUNT // 50, dtype=dtype)
        yield (x, *after), {}, drawn(expected, x.shape)
        yield (x.t(), *after), {}, drawn(expected, x.t().shape)
    return samples


def normal_pairs(mean, std):
    def samples(dtype):
        yield tuple(v if isinstance(v, float) else torch.full((COUNT,), v[0], dtype=dtype) for v in (mean, std)), {}, \
            drawn(NORMAL)
    return samples


def probabilities(dtype):
    yield (torch.full((COUNT,), 0.25, dtype=dtype),), {}, drawn(bernoulli(0.25))


def written_probabilities(dtype):
    yield (new(dtype), torch.full((COUNT,), 0.25, dtype=dtype)), {}, drawn(bernoulli(0.25))


def rates(dtype):
    yield (torch.full((COUNT,), 3.0, dtype=dtype),), {}, drawn(Expected(3.0, 3.0, low=0, whole=True))


def permutations(dtype):
    n = 200

    def check(results, wanted, values):
        why = drawn(integers(0, n), [n])(results, wanted, False)
        if why or not values:
            return why
        order = results[0].double()
        if not torch.equal(order.sort().values, torch.arange(n).double()):
            return "no permutation"
        return "in order" if (order.diff() > 0).double().mean() > 0.7 else None
    yield (n,), {"dtype": dtype}, check


def chosen(dtype):
    """Of weights 1, 2, 0, 5, with replacement and without."""
    weights = torch.tensor([1, 2, 0, 5], dtype=dtype)

    def shares(results, _dtype, values):
        why = drawn(integers(0, 4))(results, torch.int64, False)
        if why or not values:
            return why
        if results[0].min() < 0 or results[0].max() > 3:
            return "an index outside"
        counted = results[0].bincount(minlength=4).double() / COUNT
        off = (counted - weights.double() / 8).abs().max().item()
        return f"shares of {counted.tolist()}" if off > SIGMAS * 0.5 / math.sqrt(COUNT) else None

    def each_once(results, _dtype, values):
        why = drawn(integers(0, 4), [3])(results, torch.int64, False)
        if why or not values:
            return why
        return None if results[0].sort().values.tolist() == [0, 1, 3] else f"indices {results[0].tolist()}"
    yield (weights, COUNT, True), {}, shares
    yield (weights, 3, False), {}, each_once


def dropped(by_channel, scaled):
    """Of ones, a share of 0.25 dropped."""
    def samples(dtype):
        x = torch.ones(200, COUNT // 200, 1 if not by_channel else 5, dtype=dtype)

        def check(results, wanted, values):
            why = drawn(Expected(None, None), x.shape)(results, wanted, False)
            if why or not values:
                return why
            r = results[0].double()
            if by_channel and not torch.equal(r, r[..., :1].expand_as(r)):
                return "part of a channel dropped"
            kept = r.max().item()
            if scaled and abs(kept - 4 / 3) > 0.01:
                return f"{kept} kept, not 4/3"
            share = (r[..., 0] == kept).double().mean().item()
            return None if abs(share - 0.75) < SIGMAS * 0.5 / math.sqrt(COUNT) else f"a share of {share} kept"
        def unchanged(results, wanted, values):
            why = drawn(Expected(None, None), x.shape)(results, wanted, False)
            return why or (None if not values or torch.equal(results[0], x) else "changed, though not training")
        yield (x, 0.25, True), {}, check
        yield (x, 0.25, False), {}, unchanged
    return samples


def between_layers(gates, chosen, closed, packed):
    """A network of two layers: the first gives numbers that are not 0, the second what it gets by the gate `chosen`,
    without what it kept before, for which the gate `closed` is shut."""
    def samples(dtype):
        steps, batch, hidden = 20, 10, COUNT // 200
        share, every = slice(chosen * hidden, (chosen + 1) * hidden), gates * hidden
        zeros, passes, bias, shut = (torch.zeros(every, n, dtype=dtype) for n in (hidden, hidden, 1, 1))
        passes[share], bias[share] = torch.eye(hidden, dtype=dtype), 1
        if closed is not None:
            shut[closed * hidden:(closed + 1) * hidden] = -20
        none = torch.zeros(every, dtype=dtype)
        weights = [zeros[:, :4], zeros, bias[:, 0], none, passes, zeros, shut[:, 0], none]
        state = torch.zeros(2, batch, hidden, dtype=dtype)
        lengths = [torch.full((steps,), batch)] if packed else []
        x = torch.zeros(steps, batch, 4, dtype=dtype)
        for train in (True, False):
            def check(results, wanted, values, expected=0.25 if train else 0.0):
                out = results[0]
                if out.dtype != wanted or list(out.shape) != [*([steps * batch] if packed else [steps, batch]), hidden]:
                    return f"{out.dtype} {list(out.shape)}"
                if values and not out.abs().max() < 2:  # a gate's number, by 4/3 in training
                    return f"numbers up to {out.abs().max()}"
                lost = (out.double().abs() < 1e-3).double().mean().item()
                right = not values or abs(lost - expected) < SIGMAS * 0.5 / math.sqrt(COUNT) * train + 1e-9
                return None if right else f"a share of {lost} dropped, not {expected}"
            yield (x.flatten(0, 1) if packed else x, *lengths, [state, state] if gates == 4 else state, weights, True, 2,
                   0.25, train, False, *([] if packed else [False])), {}, check
    return samples


def masked(dtype):
    x = torch.ones(COUNT, dtype=dtype)

    def check(results, wanted, values):
        why = drawn(Expected(None, None))(results[:1], wanted, False)
        if why or results[1].dtype != torch.bool:
            return why or "a mask that is not of bool"
        if not values:
            return None
        if not torch.allclose(results[0].double(), results[1].double() * 4 / 3, rtol=0.01):
            return "other elements dropped than the mask says"
        return unlike(results[1], bernoulli(0.75))
    yield (x, 0.25, True), {}, check


def leaked(noise):
    """rrelu of -1: the slope, drawn of [0.25, 0.5)."""
    def samples(dtype):
        x = torch.full((COUNT,), -1.0, dtype=dtype)
        expected = drawn(Expected(-0.375, 0.0625 / 12, -0.5, -0.25)), drawn(uniform(0.25, 0.5))

        def check(results, wanted, values):  # from the last on: in front of it is the noise, if that is given back
            return next(filter(None, (e([r], wanted, values) for e, r in zip(expected, results[::-1]))), None)
        yield (x, *([new(dtype)] if noise else []), 0.25, 0.5, True), {}, check
    return samples


def all_whole(dtype):
    """Integers that are not negative, or those that a float counts."""
    bits = 63 if dtype == torch.int64 else 31 if dtype == torch.int32 else round(1 - math.log2(torch.finfo(dtype).eps))
    yield (new(dtype),), {}, drawn(integers(0, 2.0**bits + 1))


class Random(typing.NamedTuple):
    samples: typing.Callable  # of a dtype: positional arguments, named ones, a check of the results
    dtypes: tuple = FLOATS


ROWS = {
    "bernoulli": Random(probabilities),
    "bernoulli.p": Random(with_options(bernoulli(0.3), 0.3), NUMBERS),
    "bernoulli_.Tensor": Random(written_probabilities),
    "bernoulli_.float": Random(with_options(bernoulli(0.3), 0.3), NUMBERS),
    "flaggems::alpha_dropout": Random(dropped(False, False)),
    "flaggems::alpha_dropout_": Random(dropped(False, False)),
    "flaggems::dropout": Random(dropped(False, True)),
    "flaggems::dropout_": Random(dropped(False, True)),
    "flaggems::feature_alpha_dropout": Random(dropped(True, False)),
    "flaggems::feature_alpha_dropout_": Random(dropped(True, False)),
    "flaggems::feature_dropout": Random(dropped(True, True)),
    "flaggems::feature_dropout_": Random(dropped(True, True)),
    "flaggems::native_dropout": Random(masked),
    **{f"flaggems::{name}_with_dropout.{form}": Random(between_layers(*gates, form == "data"))
       for name, gates in (("lstm", (4, 2, 1)), ("gru", (3, 2, 1)), ("rnn_tanh", (1, 0, None)), ("rnn_relu", (1, 0, None)))
       for form in ("input", "data")},
    "multinomial": Random(chosen),
    "normal.Tensor_Tensor": Random(normal_pairs((2.0,), (3.0,))),
    "normal.Tensor_float": Random(normal_pairs((2.0,), 3.0)),
    "normal.float_Tensor": Random(normal_pairs(2.0, (3.0,))),
    "normal_": Random(with_options(NORMAL, 2.0, 3.0)),
    "normal_functional": Random(with_options(NORMAL, 2.0, 3.0)),
    "poisson": Random(rates),
    "rand.generator": Random(of_sizes(uniform(0, 1))),
    "rand_like.generator": Random(like(uniform(0, 1))),
    "randint.generator": Random(of_sizes(integers(0, 50), 50), NUMBERS),
    "randint.low_generator": Random(of_sizes(integers(-20, 50), -20, 50), NUMBERS),
    "randint_like.low_generator_dtype": Random(like(integers(-20, 50), -20, 50), NUMBERS),
    "randn.generator": Random(of_sizes(Expected(0.0, 1.0, median=0.0))),
    "randn_like.generator": Random(like(Expected(0.0, 1.0, median=0.0))),
    "random_": Random(all_whole, NUMBERS),
    "random_.from": Random(with_options(integers(-20, 50), -20, 50), NUMBERS),
    "random_.to": Random(with_options(integers(0, 50), 50), NUMBERS),
    "randperm.generator": Random(permutations, (torch.float32, torch.float64, torch.int64, torch.int32)),
    "rrelu": Random(leaked(False)),
    "rrelu_with_noise": Random(leaked(True)),
    **{f"{name}{form}": Random(with_options(expected, *options), NUMBERS if name == "geometric" else FLOATS)
       for name, expected, options in (("cauchy", CAUCHY, (1.0, 2.0)), ("exponential", EXPONENTIAL, (2.0,)),
                                       ("geometric", GEOMETRIC, (0.4,)), ("log_normal", LOG_NORMAL, (0.0, 0.5)),
                                       ("uniform", uniform(-1, 3), (-1.0, 3.0)))
       for form in ("", "_")},
}
