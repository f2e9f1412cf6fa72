#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's OpInfos on a device of ours, what it lacks left to the CPU: forward and backward, compared with the CPU.

    on_device.py LIBRARY          which says FLAGGEMS_TORCH_DEVICE
    --share K/N                   the K-th of N shares of the OpInfos
    --only REGEX                  those whose names match
    --report FILE                 a line an OpInfo: samples that pass, calls here, calls on the CPU
Exit status 1: a result differs that DIFFERENT does not explain, or no call was ours; 77: PyTorch is not installed.
"""
import argparse
import collections
import pathlib
import re
import sys
import warnings

from inside_torch import as_array, difference, numpy, op_db, results, samples, torch  # exits if there is no PyTorch
from torch.utils._pytree import tree_map

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "adapters/python"))
import flaggems_torch

# Generators of the device give other numbers than those of the CPU; and what is new and empty has none.
RANDOM = re.compile(r"empty|rand|normal|bernoulli|multinomial|dropout|cauchy|exponential|geometric|poisson|uniform|rrelu"
                    r"|svd_lowrank|pca_lowrank|fractional_max_pool")
# OpInfos with results that differ, all or of one dtype, and why.
SPARSE, MOVED = "the device has strided tensors alone", "the sample is another one when it has moved"
TIES, ROUNDING = "indices of equal elements, of which any is right", "a gradient is rounding alone, or sums are in another order"
DIFFERENT = {
    "argsort bool": TIES,
    "cov": ROUNDING,
    "native_batch_norm": "on the CPU ATen saves nothing by running statistics",
    "native_layer_norm": ROUNDING,
    "nn_functional_layer_norm": ROUNDING,
    "sort bool": TIES,
    "sparse_mm_reduce": SPARSE,
    "sparse_sampled_addmm": SPARSE,
    "tensor_split": MOVED,  # sections are to stay on the CPU
    "to_sparse": SPARSE,
    "topk int64": TIES,
    "torch_ops_aten__scaled_dot_product_flash_attention_for_cpu": ROUNDING,
}


def moved(sample, device):
    """The sample, of tensors that share no memory with those of another."""
    def one(x):
        if isinstance(x, torch.Tensor):
            return x.detach().to(device, copy=True).requires_grad_(x.requires_grad)
        if isinstance(x, torch.device) or (isinstance(x, str) and x == "cpu"):
            return torch.device(device)
        return x

    sample.input, sample.args, sample.kwargs = (tree_map(one, v) for v in (sample.input, sample.args, sample.kwargs))
    return sample


def widened(sample):
    """The sample in float64."""
    def one(x):
        if isinstance(x, torch.Tensor) and x.is_floating_point():
            return x.detach().double().requires_grad_(x.requires_grad)
        return torch.float64 if isinstance(x, torch.dtype) and x.is_floating_point else x

    sample.input, sample.args, sample.kwargs = (tree_map(one, v) for v in (sample.input, sample.args, sample.kwargs))
    return sample


def is_no_worse(got, expected, precise):
    """Whether each element is the CPU's, or no further from what float64 gives."""
    if any(isinstance(made, str) for made in (got, expected, precise)) or not len(got) == len(expected) == len(precise):
        return False
    for g, e, p in zip(got, expected, precise):
        if difference([g], [e], 3e-6) is None:
            continue
        if g is None or e is None or p is None or not g.shape == e.shape == p.shape or g.dtype != e.dtype:
            return False
        g, e, p = map(as_array, (g, e, p))
        near = numpy.isclose(g, e, 1.3e-6, 1e-5, equal_nan=True)
        if not (near | ((numpy.abs(g - p) <= numpy.abs(e - p)) & numpy.isfinite(e))).all():
            return False
    return True


def on_cpu(made):
    return made if isinstance(made, str) else [None if t is None else t.cpu() for t in made]


def judge(info, dtype, limit, device):
    """How many samples passed, and why others did not."""
    passed, reasons = 0, []
    for kept, other, given, wide in zip(*(list(samples(info, dtype, limit)) for _ in range(4))):
        expected = results(info, moved(kept, "cpu"))
        if isinstance(expected, str) or difference(results(info, moved(other, "cpu")), expected) is not None:
            continue  # none of ATen's, or not always the same
        got = on_cpu(results(info, moved(given, device)))
        why = difference(got, expected, 3e-6)
        if why is None or (dtype.is_floating_point and is_no_worse(got, expected, results(info, widened(wide)))):
            passed += 1
        else:
            reasons.append(why.splitlines()[0][:200])
    return passed, reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--share", default="0/1")
    parser.add_argument("--only", default="")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--samples", type=int, default=8, help="at most, of an OpInfo and a dtype")
    parser.add_argument("--report")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    device = flaggems_torch.load(options.library)
    device.set_fallback(True)
    device.count_calls()
    name = torch._C._get_privateuse1_backend_name()
    part, parts = (int(x) for x in options.share.split("/"))
    chosen = [i for i in op_db if re.search(options.only, i.name) and not RANDOM.search(i.name)][part::parts]
    totals, lines, unexplained = collections.Counter(), [], []
    for info in chosen:
        for dtype in (getattr(torch, d) for d in options.dtypes.split(",")):
            if dtype not in info.supported_dtypes("cpu"):
                continue
            passed, reasons = judge(info, dtype, options.samples, name)
            calls = device.take_calls()
            here, left = (sum(n[k] for n in calls.values()) for k in (0, 1))
            totals.update({"OpInfos": 1, "samples passed": passed, "differ": len(reasons), "calls here": here,
                           "calls on the CPU": left, "OpInfos that call ours": here > 0})
            name_and_type = f"{info.formatted_name} {str(dtype)[6:]}"
            lines.append(f"{name_and_type}: {passed} of {passed + len(reasons)}, calls {here} here, "
                         f"{left} on the CPU" + (f"; {reasons[0]}" if reasons else ""))
            if reasons and not {info.formatted_name, name_and_type} & DIFFERENT.keys():
                unexplained.append(lines[-1])
    if options.report:
        pathlib.Path(options.report).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(unexplained))
    print(f"PyTorch {torch.__version__}, {dict(totals)}")
    return 1 if unexplained or totals["calls here"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
