#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The support table, from what passing tests launched (FLAGGEMS_SUPPORT_LOG of the operators' tests).

    support_table.py LOG... --markdown docs/support.md
    support_table.py LOG... --markdown docs/support.md --check   fails if a mark differs
    support_table.py LOG... --merge                 adds to the page what these logs have

With --merge, marks that the page has stay: a log of one operator's tests is enough to bring its row
in (docs/tutorial.md has the commands). Only a log of all tests takes marks away.

The marks say how much is known: run on the hardware, run on the emulator (for cuda through a
simulated driver), or only compiled. What ran on hardware that CI has not counts as well: logs
bench/results/support-NAME.json, of a build with FLAGGEMS_TEST_DEVICE=flaggems::cuda. Of other
vendors' device types the columns of bench/results/opinfo-NAME.txt say what has run. The ISA
levels in the heading are those of the machine that made the logs, and it names the rows that ran at
fewer; --check compares the rows alone. `compiled` needs an instance in tests/device_compile named
after the operator or the one whose kernel it shares.
"""
import argparse
import collections
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "docs"), str(ROOT / "tests" / "device_compile")]
import instances  # noqa: E402
import operators  # noqa: E402

LEVELS = ["baseline", "avx2", "avx512", "avx512_bf16", "amx"]
CHIPS = ("cuda", "simt64")
# Device types of other vendors that PyTorch's samples ran on (tests/opinfo/judge.py), and by what.
JUDGED = {**dict.fromkeys(("hip", "musa", "maca", "corex", "gcu"), "simulated"), "opencl": "driver"}
# What ATen calls an operator, where a page's name is another one.
ATEN_NAMES = {"complex_of": "complex", "int_mm": "_int_mm", "log_softmax_backward": "_log_softmax_backward_data",
              "softmax_backward": "_softmax_backward_data", "stddev": "std", "xlog1py": "special_xlog1py",
              "scaled_dot_product_flash_attention": "_scaled_dot_product_flash_attention_for_cpu",
              "scaled_dot_product_flash_attention_backward": "_scaled_dot_product_flash_attention_for_cpu_backward"}
# Conveniences that launch under the name of the operator they call.
SAME_LAUNCH = {"zero_": "fill_", "full": "fill_", "zeros": "fill_", "ones": "fill_",
               "full_like": "fill_", "zeros_like": "fill_", "ones_like": "fill_",
               "clone": "copy_", "contiguous": "copy_", "to_copy": "copy_",
               **dict.fromkeys(("new_full", "new_ones", "new_zeros", "scalar_tensor"), "fill_"),
               "embedding_backward": "embedding_dense_backward", "cumsum_": "cumsum", "cumprod_": "cumprod",
               "index_add_": "index_add", "index_reduce_": "index_reduce", "addmv": "addmm", "addr": "addmm",
               **dict.fromkeys(("batch_norm", "batch_norm_no_update", "batch_norm_with_update", "cudnn_batch_norm",
                                "miopen_batch_norm", "batch_norm_impl_index", "native_batch_norm_legit", "native_batch_norm_legit_no_training"),
                               "native_batch_norm"),
               **dict.fromkeys(("cudnn_batch_norm_backward", "miopen_batch_norm_backward", "batch_norm_impl_index_backward"),
                               "native_batch_norm_backward"),
               **{f"max_pool{n}d_backward": f"max_pool{n}d_with_indices_backward" for n in (2, 3)},
               "weight_norm": "weight_norm_interface", "rmsnorm": "rms_norm", "fused_q_kv_rmsnorm": "rms_norm",
               "matmuladd": "addmm", "router_gemm": "mm", "grid_sampler": "grid_sampler_2d",
               "moe_align_block_size_triton": "moe_align_block_size", "cummax_helper": "cummax", "cummin_helper": "cummin",
               "index_put_impl_": "index_put_", "is_all_true": "all", "is_any_true": "any", "assert_async": "functional_assert_async",
               "moe_sum": "sum", "invoke_fused_moe_triton_kernel": "dispatch_fused_moe_kernel",
               **dict.fromkeys(("fused_experts_impl", "inplace_fused_experts"), "fused_experts"),
               **dict.fromkeys(("fused_marlin_moe_w4a16_int4", "fused_marlin_moe_w4a16_mxfp4"), "fused_marlin_moe"),
               "fp8_fp4_mega_moe_torch_ref": "fp8_fp4_mega_moe", "rms_norm_forward": "fused_rms_norm", "rms_norm_backward": "fused_rms_norm_backward",
               "fused_indexer_q_rope_quant_mxfp4": "fused_indexer_q_rope_quant",
               "fused_inv_rope_fp8_quant_packed": "fused_inv_rope_fp8_quant", "beam_search_score": "add", "beam_search_score_": "add",
               "matmul_bias_activation": "linear",
               "cholesky_solve_helper": "cholesky_solve", "fft": "fft_fft",
               "scaled_dot_product_attention_backward": "scaled_dot_product_flash_attention_backward"}
# Those whose kernel on a chip is another operator's, besides operators.DONE_BY.
SAME_KERNEL = {"concat_and_cache_mla": "scatter", "reshape_and_cache": "scatter", "reshape_and_cache_flash": "scatter", "gather": "index_select", "take": "index_select", "index": "index_select", "isin": "any",
               "index_put": "scatter", "masked_select": "scatter", "embedding_dense_backward": "scatter",
               "im2col": "copy", "unfold_backward": "col2im", "argsort": "sort", "cat": "copy", "embedding": "index_select",
               **dict.fromkeys(("native_batch_norm", "native_batch_norm_backward", "instance_norm", "weight_norm_interface",
                                "weight_norm_interface_backward"), "sum"),
               **{f"adaptive_max_pool{n}d_backward": "max_pool_with_indices_backward" for n in (2, 3)},
               **dict.fromkeys(("fused_deepseek_v4_qnorm_rope_kv_rope_insert", "fused_inv_rope_fp8_quant",
                                "fused_inv_rope_fp8_quant_packed"), "indexer_k_quant_and_cache"),
               "hc_head_fused_kernel": "mhc_pre",
               **dict.fromkeys(("cholesky_solve", "cholesky_solve_helper", "cholesky_inverse"), "linalg_solve_triangular"),
               "linalg_householder_product": "ormqr", "linalg_lstsq": "linalg_svd",
               **dict.fromkeys(("w8a8_block_fp8_bmm", "fp8_einsum", "cutlass_scaled_mm"), "gemm"),
               **dict.fromkeys(("weight_int4pack_mm_with_scales_and_zeros", "gather_block_quantized"), "mul"),
               "fused_moving_avg_obs_fq_helper": "where",
               "affine_grid_generator": "mul", "assert_async": "copy", "polygamma": "special_zeta", "mvlgamma": "lgamma",
               "evaluate": "assign", "gelu": "gelu_none", "pack_matrix": "copy"}
# Pieces of expressions and of calls: they launch nothing themselves.
NO_LAUNCH = {"allow_tf32", "also_store", "cast", "apply", "as_scalar", "is_nonzero", "with_bias", "with_mask", "with_score", "epilogue",
             "empty_permuted", "list_to_tensor", "make_dep_token", "functional_sym_constrain_range",
             "functional_sym_constrain_range_for_size"} | operators.VIEWS


def compiled_operators():
    """The operators that an instance in tests/device_compile is named after: `exp_f32`. CI has the
    chips' compilers make code of each."""
    names = {kernel_of(entry["name"]) for entry in operators.operators()}
    found = set()
    for instance in instances.all_names():
        words = instance.split("_")
        heads = ["_".join(words[:n]) for n in range(len(words), 0, -1)]
        # The longest: log_softmax_f32 is no instance of log.
        found.update(next(([h] for h in heads if h in names), []))
    return found


# Of device types whose chips nobody had: what CI shows instead.
DIALECTS = """| hip | 64 lanes | by clang for gfx90a and gfx942; some by HIPRTC 5.2 | HIP 5.2 |
| hip32 | matrix units, on the emulator | by clang for gfx1030 and gfx1100; some by HIPRTC 5.2 | HIP 5.2 |
| hygon | properties, over the driver of hip | as hip | - |
| musa | 32 lanes | as a dialect of CUDA, by clang | - |
| maca | 64 lanes | as a dialect of CUDA, by clang | - |
| corex | 64 lanes | as a dialect of CUDA, by clang | - |
| gcu | 32 lanes, grids of 48 | - | - |
| ascend | all but launches of operators | - | ACL 1.17, of torch-npu 2.14 |
| mlu | all but launches of operators | - | - |
| kunlun | all but launches of operators | - | - |
| level_zero | 32 lanes | to SPIR-V by clang 15 and llvm-spirv 15 | Level Zero 1.4 |
| opencl | run on a real driver, PoCL 3.1: the suites of devices, all operators | by clang 15 for spir64 | OpenCL 3.0 |
| opencl on NVIDIA's driver | 32 lanes; all typed suites run on an H200 (bench/results/tests-h200-opencl.json) | to PTX by NVRTC for compute_80 | OpenCL 3.0 |
"""


def judged_operators():
    """Of each device type, the names in ATen of the operators of which samples passed."""
    found = collections.defaultdict(set)
    for report in sorted((ROOT / "bench" / "results").glob("opinfo-*.txt")):
        columns, _, lines = report.read_text().partition("\n## operators: samples and passed on ")[2].partition("\n")
        for line in lines.partition("\n\n")[0].splitlines():
            *numbers, key = line.split()
            name = key.partition(".")[0].removeprefix("flaggems::")
            for column, passed in zip(columns.split(", "), numbers[1::2]):
                if int(passed):
                    found[column] |= {name, name.removeprefix("_")}
    return found


def kernel_of(name):
    """The operator whose kernel the operator `name` launches on a chip."""
    if operators.is_copy(name):
        return "copy"
    if name.removesuffix("_") in operators.DONE_BY:
        name = name.removesuffix("_")
    name = SAME_KERNEL.get(name, operators.DONE_BY.get(name, name)).removesuffix("_")
    return SAME_KERNEL.get(name, name)


def in_order(levels):
    return ", ".join(sorted(levels, key=LEVELS.index))


def chip_mark(chip, places):
    """What the places where passing tests launched say of a chip's device type: `cuda@NVIDIA H200`
    is hardware, `cuda@simulated GPU 0` is not."""
    names = [p.partition("@")[2] for p in places if p.partition("@")[0] == chip]
    if any(n and not n.startswith("simulated") for n in names):
        return "run"
    return "-" if not names else "simulated" if any(names) else "emulated"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path, default=ROOT / "docs" / "support.md")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--merge", action="store_true")
    args = parser.parse_args()
    before = args.markdown.read_text() if args.markdown.exists() else ""

    ran = collections.defaultdict(set)
    for log in [*args.logs, *sorted((ROOT / "bench" / "results").glob("support-*.json"))]:
        for op, places in json.loads(log.read_text()).items():
            ran[op].update(places)
    at = {op: {p.split("@")[1] for p in places if p.startswith("host@")}
          for op, places in ran.items()}
    gpus = {p.split("@")[1] for places in ran.values() for p in places
            if p.startswith("cuda@") and not p.startswith("cuda@simulated")}
    opencl_gpus = {p.split("@")[1] for places in ran.values() for p in places if p.startswith("opencl@NVIDIA")}
    levels, fewer = set().union(*at.values()), {}
    if args.merge:
        heading = before.partition("in these results:")[2].partition("\n## ")[0]
        levels = set(LEVELS) & set(re.findall(r"\w+", heading.partition(".")[0])) or levels
        fewer = {op: set(some.split(", ")) for some, ops in re.findall(r"^\| (\w+(?:, \w+)*) \| (.*) \|$", heading, re.M)
                 for op in ops.split(", ")}
    compiled = compiled_operators()
    judged = judged_operators()
    others = {device: mark for device, mark in JUDGED.items() if device in judged}
    rows, missing = [], []
    for entry in sorted(operators.operators(), key=lambda e: (e["header"], e["name"])):
        name = entry["name"]
        if name in NO_LAUNCH:
            continue
        places = ran.get(SAME_LAUNCH.get(name, name), set())
        marks = ["run" if any(p.startswith("host@") for p in places) else "-"]
        marks += [chip_mark(chip, places) for chip in CHIPS]
        had = None
        if args.merge:
            had = re.search(rf"^\| {name} \|[^|]*\| (.*?) \| (.*?) \| (.*?) \|", before, re.M)
            marks = [old if new == "-" else new
                     for old, new in zip(had.groups() if had else "---", marks)]
        marks.append("compiled" if kernel_of(name) in compiled else "-")
        for device, mark in others.items():
            is_on_gpu = any(p.startswith(f"{device}@NVIDIA") for p in places)
            marks.append("run" if is_on_gpu else mark if ATEN_NAMES.get(name, name) in judged[device] else "-")
        own = at.get(SAME_LAUNCH.get(name, name), set()) | fewer.get(name, set())
        if own >= levels:
            fewer.pop(name, None)
        elif own and (name in fewer or not had or had[1] == "-"):
            fewer[name] = own
        if marks[0] == "-":
            missing.append(name)
        rows.append(f"| {name} | {entry['header']} | " + " | ".join(marks) + " |")
    table = "\n".join(rows) + "\n"
    on = f" (cuda: {', '.join(sorted(gpus))})" if gpus else ""
    alike = collections.defaultdict(list)
    for name in sorted(fewer):
        if f"| {name} |" in table:
            alike[in_order(fewer[name])].append(name)
    at_fewer = ""
    if alike:
        rows_of = "\n".join(f"| {some} | {', '.join(names)} |" for some, names in sorted(alike.items()))
        at_fewer = f"\n\n| ran only at | operators |\n|---|---|\n{rows_of}"
    text = f"""<!-- Generated by tools/docs/support_table.py from test results; do not edit. -->
# Support

What is known of each operator, from passing tests: **run** on the hardware{on}, **emulated** (run on the
SIMT emulator, which checks barriers and races), **simulated** (run on flaggems::cuda over a simulated
driver, whose launches the emulator runs with warps of 32), **compiled** (an instance of its kernel in
tests/device_compile, which CI compiles to machine code or bitcode by NVRTC for sm_90a, as C++ for
OpenCL for spir64, as HIP for gfx90a, gfx942, gfx1030 or gfx1100 in turn; not run). The last columns are of device types
of other vendors, which PyTorch's samples in f32 ran on (tests/opinfo): over a simulated driver, or on a real
**driver**, PoCL. (**run** there: on {" and ".join(sorted(opencl_gpus))}, by NVIDIA's OpenCL.) The host's levels in these results:
{in_order(levels)}.{at_fewer}

## Device types of other vendors

No chip has run these but opencl. All but hip32 and hygon pass the suite of devices (tests/device/conformance.cpp) over a simulated
driver; those with lanes below also pointwise operators, reductions, softmax and sorting (tests/dialects), whose launches
the emulator runs. Those with a column below passed PyTorch's samples of the operators that it marks.

| type | simulated | kernels compiled | declarations compared with |
|---|---|---|---|
{DIALECTS}
## Operators

| operator | header | host | cuda | simt64 | CUDA, OpenCL, HIP | {" | ".join(others)} |
|---|---|---|---|---|---|{"---|" * len(others)}
{table}"""
    if missing:
        print("no passing test launched:", ", ".join(missing))
    if args.check:
        if table not in before:
            print(f"{args.markdown} is out of date: run tools/docs/support_table.py with --merge for")
            print("\n".join(row for row in rows if row not in before) or "rows that are no operator's")
            return 1
        return 1 if missing else 0
    args.markdown.write_text(text)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
