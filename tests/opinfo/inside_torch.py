#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's OpInfos with our operators in PyTorch, what they refuse left to ATen: forward and backward on the
CPU, compared with ATen before they are there. Run by hand.

    inside_torch.py COMPILER OBJECT...    OBJECTs have a registry of the host, as a build of the Python package:
                                          build/adapters/python/CMakeFiles/flaggems_operators.dir/*_registry/*.o
    --only REGEX                          OpInfos whose names match
    --dtypes float32,int64,bool           of their samples
Exit status 1: a result differs, or ours never ran; 77: PyTorch is not installed.
"""
import argparse
import collections
import ctypes
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.utils._pytree import tree_leaves
    from torch.utils.cpp_extension import include_paths, library_paths
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = """
#include <flaggems/adapters/torch_operators.hpp>
#include <flaggems/vendors/host.hpp>
static long calls = 0;
static void count(const flaggems::torch_call& call) { calls += call.left_because.empty() ? 1 : 0; }
FLAGGEMS_TORCH_LIBRARY(flaggems::host, .fall_back = true, .log = &count);
extern "C" long calls_of_ours() { return calls; }
"""


def load(compiler, objects):
    folder = pathlib.Path(tempfile.mkdtemp())
    source, library = folder / "library.cpp", folder / "liboperators.so"
    source.write_text(SOURCE, encoding="utf-8")
    subprocess.run([compiler, "-std=c++20", "-O0", "-shared", "-fPIC", *(f"-I{ROOT / p}" for p in ("include", "adapters")),
                    *(part for path in include_paths() for part in ("-isystem", path)), source, *objects,
                    "-o", library, *(f"-L{path}" for path in library_paths()), "-lc10", "-ltorch_cpu", "-ltorch"],
                   check=True)
    torch.ops.load_library(str(library))
    return ctypes.CDLL(str(library)).calls_of_ours


def samples(info, dtype, limit):
    torch.manual_seed(0)
    gradients = info.supports_autograd and dtype.is_floating_point
    try:
        yield from itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=gradients), limit)
    except Exception:
        return


def results(info, sample):
    """What the OpInfo's function gives, and its gradients; or why it gives nothing."""
    torch.manual_seed(1)
    try:
        made = info.op(sample.input, *sample.args, **sample.kwargs)
        given = [t for t in tree_leaves((sample.input, sample.args, sample.kwargs))
                 if isinstance(t, torch.Tensor) and t.requires_grad]
        made = [t for t in tree_leaves(made) if isinstance(t, torch.Tensor)]
        wanted = [t for t in made if t.requires_grad]
        gradients = torch.autograd.grad(wanted, given, [torch.ones_like(t) for t in wanted], allow_unused=True) \
            if wanted and given else []
        return [t.detach().clone() for t in made] + [None if g is None else g.clone() for g in gradients]
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


def as_array(t):
    t = t.resolve_conj().resolve_neg()
    if t.is_complex():
        return t.to(torch.complex128).numpy()
    return (t.double() if t.is_floating_point() else t).numpy()


def difference(got, expected, of_largest=0.0):
    """Why results are not equal, or None. By NumPy: PyTorch's comparisons may be ours. `of_largest`: what elements may
    be off by, as a part of the largest."""
    if isinstance(got, str) or isinstance(expected, str):
        return None if isinstance(got, str) and isinstance(expected, str) else f"{got}, not {expected}"
    if len(got) != len(expected):
        return f"{len(got)} results, not {len(expected)}"
    for g, e in zip(got, expected):
        if g is None or e is None:
            if g is not e:
                return "a gradient that is not there"
            continue
        if g.dtype != e.dtype or g.shape != e.shape:
            return f"{g.dtype}{list(g.shape)}, not {e.dtype}{list(e.shape)}"
        if g.layout != torch.strided or g.is_quantized:
            continue  # never ours
        rtol, atol = (1.3e-6, 1e-5) if g.is_floating_point() or g.is_complex() else (0, 0)
        g, e = as_array(g), as_array(e)
        if of_largest > 0 and atol > 0:
            atol += of_largest * numpy.abs(e, where=numpy.isfinite(e), out=numpy.zeros(e.shape)).max(initial=0)
        if not numpy.allclose(g, e, rtol, atol, equal_nan=True):
            off = numpy.nan_to_num(numpy.abs(g.astype("complex128") - e), nan=numpy.inf)
            return f"elements off by {off.max():.3g}, of at most {numpy.abs(e).max():.3g}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("compiler")
    parser.add_argument("objects", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--dtypes", default="float32,int64,bool")
    parser.add_argument("--samples", type=int, default=100, help="at most, of an OpInfo and a dtype")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    # (Of what is new and empty no elements are expected.)
    chosen = [(info, dtype) for info in op_db if re.search(options.only, info.name) and "empty" not in info.name
              for dtype in (getattr(torch, d) for d in options.dtypes.split(","))
              if dtype in info.supported_dtypes("cpu")]
    # One of ATen's that differs from itself has no result. Samples are made before ours, which would make others,
    # are there; and anew for each call, as some write their arguments.
    expected = [[(kept, results(info, one), results(info, other)) for kept, one, other in
                 zip(*(list(samples(info, dtype, options.samples)) for _ in range(3)))] for info, dtype in chosen]
    calls = load(options.compiler, options.objects)
    counts, failed = collections.Counter(), collections.defaultdict(list)
    for (info, dtype), wanted in zip(chosen, expected):
        for sample, one, other in wanted:
            if isinstance(one, str) or difference(one, other) is not None:
                counts["without a result of ATen's"] += 1
                continue
            why = difference(results(info, sample), one)
            counts["as ATen's" if why is None else "other"] += 1
            if why is not None:
                failed[info.name].append(f"{dtype}, {why.splitlines()[0][:200]}")
    for name, reasons in sorted(failed.items()):
        print(f"{len(reasons)} {name}: {reasons[0]}")
    print(f"PyTorch {torch.__version__}, {dict(counts)}; calls of ours: {calls()}")
    return 1 if failed or calls() == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
