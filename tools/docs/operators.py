#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The operators, and what everybody uses before them, read from the headers' doc comments.

    operators.py --markdown docs/operators.md     the operator reference
    operators.py --markdown docs/operators.md --check   fails if that file is out of date
    operators.py --include build/operators.inc    X(name, header, schema, type) lines for flaggems-info
    operators.py --json -                         names, headers, signatures, comments
"""
import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = pathlib.Path("include/flaggems")
ROW = re.compile(r"(UNARY|PREDICATE|BINARY|PAIR|TERNARY|LOSS|SLOPE)(\d?)\((\w+),\s*(\w+),\s*(.*)\)\s*\\?$")
ALIAS = re.compile(r"(?:FLAGGEMS_)?ALSO\w*\((\w+),\s*(\w+)\)")


# Names that another operator does the work of, and names that are no operators.
DONE_BY = {"clone": "copy_", "to_copy": "copy_", "contiguous": "copy_", "to": "copy_", "full": "fill_", "full_like": "fill_",
           "ones": "fill_", "ones_like": "fill_", "zeros": "fill_", "zeros_like": "fill_",
           "zero_": "fill_", "scalar_tensor": "fill_", "new_full": "fill_", "new_zeros": "fill_",
           "new_ones": "fill_", "eye": "fill_", "linspace": "copy_", "logspace": "copy_", "range": "arange",
           **dict.fromkeys(("hann_window", "hamming_window", "blackman_window", "bartlett_window"), "copy_"),
           "gemma_rms_norm": "rms_norm", "mm": "gemm", "addmm": "gemm", "bmm": "gemm",
           "baddbmm": "gemm", "linear": "gemm", "mv": "gemm", "int_mm": "gemm", "scaled_mm": "gemm", "fp8_matmul": "gemm",
           **dict.fromkeys(("scaled_dot_product_attention_math", "scaled_dot_product_efficient_attention",
                            "scaled_dot_product_attention_forward", "scaled_dot_product_cudnn_attention", "cudnn_attention_forward",
                            "scaled_dot_product_fused_attention_overrideable"), "scaled_dot_product_flash_attention"),
           **dict.fromkeys(("scaled_dot_product_attention_backward", "scaled_dot_product_cudnn_attention_backward",
                            "scaled_dot_product_efficient_attention_backward", "efficient_attention_backward",
                            "scaled_dot_product_fused_attention_overrideable_backward"), "scaled_dot_product_flash_attention_backward"),
           "flash_mla": "flash_attn_varlen_func",
           **dict.fromkeys(("flash_mla_with_kvcache", "triton_sparse_mla_fwd_interface", "sparse_attn_triton"), "flash_mla_sparse_fwd"),
           **dict.fromkeys(("fp8_mqa_logits", "fp8_fp4_mqa_logits", "bf16_paged_mqa_logits", "fp8_paged_mqa_logits",
                            "fp8_fp4_paged_mqa_logits"), "gemm"),
           "flash_attention_forward": "flash_attn_varlen_func", "rms_norm_forward": "fused_rms_norm",
           "fused_indexer_q_rope_quant_mxfp4": "fused_indexer_q_rope_quant",
           "fused_inv_rope_fp8_quant_packed": "fused_inv_rope_fp8_quant", "mrope": "apply_rotary_pos_emb",
           "bucket_sort_topk": "topk", "beam_search_score": "add",
           "rsub": "sub_scaled",
           "add_relu": "relu", "prelu": "prelu_kernel", "prelu_kernel_backward": "where",
           "log_sigmoid_forward": "log_sigmoid", "log_sigmoid_backward": "mul",
           "rrelu_with_noise_backward": "leaky_relu_backward", "glu": "mul", "swiglu": "silu_and_mul",
           "geglu": "mul", "reglu": "mul", "glu_backward": "mul", "dswiglu": "silu_backward",
           "dgeglu": "gelu_backward", "dreglu": "threshold_backward", "floor_divide": "div_floor", "addcmul": "add_scaled",
           "addcdiv": "add_scaled", "masked_fill": "where",
           **dict.fromkeys(("stack", "hstack", "vstack"), "cat"),
           **dict.fromkeys(("flip", "roll", "fft_fftshift", "fft_ifftshift", "rot90", "repeat", "tile", "repeat_interleave", "block_diag", "diag",
                            "diag_embed", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle",
                            "constant_pad_nd", "pad", "slice_scatter", "select_scatter", "diagonal_scatter",
                            "as_strided_scatter", "slice_backward", "select_backward",
                            "diagonal_backward"), "copy_"),
           **dict.fromkeys(("scatter_add", "scatter_reduce", "index_add", "index_copy", "index_fill",
                            "index_reduce"), "scatter"),
           **dict.fromkeys(("count_nonzero", "nansum", "logsumexp", "var", "stddev", "var_mean", "norm",
                            "linalg_vector_norm", "trace", "dot", "vdot",
                            "linalg_vecdot", "dist", "pairwise_distance", "cdist", "cdist_backward", "pdist", "renorm", "renorm_",
                            "linalg_matrix_norm"), "sum"),
           "max": "argmax", "min": "argmin", "aminmax": "amin", "equal": "all", "allclose": "all",
           **dict.fromkeys(("conv1d", "conv2d", "conv3d", "conv_depthwise2d"), "gemm"), "rwkv_ka_fusion": "sum", "rwkv_mm_sparsity": "sum",
           "outer": "mul", "kron": "mul", "addr": "gemm", "addmv": "gemm",
           **dict.fromkeys(("addbmm", "bilinear", "matmuladd"), "gemm"), "linalg_cross": "sub", "hadamard_transform": "add",
           **{f"hadamard_transform_{n}n": "add" for n in (12, 20, 28, 40)}, "cholesky_solve_helper": "cholesky_solve",
           **dict.fromkeys(("linalg_lu_factor", "linalg_lu", "linalg_det", "linalg_slogdet"), "linalg_lu_factor_ex"),
           **dict.fromkeys(("cholesky_backward", "cholesky_inverse_backward", "cholesky_solve_backward", "linalg_solve_triangular_backward",
                            "linalg_lu_backward", "linalg_lu_factor_ex_backward", "linalg_slogdet_backward"), "linalg_solve_triangular"),
           **dict.fromkeys(("linalg_svd_backward", "linalg_det_backward", "linalg_lstsq_backward"), "gemm"),
           "linalg_cholesky": "linalg_cholesky_ex", "linalg_ldl_factor": "linalg_ldl_factor_ex", "fft": "fft_fft",
           **dict.fromkeys(("linalg_svdvals", "svd"), "linalg_svd"),
           **dict.fromkeys(("rand", "rand_like"), "uniform"), **dict.fromkeys(("randn", "randn_like"), "normal"),
           **dict.fromkeys(("random_", "randint", "randint_like"), "random"), "randperm": "argsort",
           **dict.fromkeys(("dropout", "native_dropout"), "masked_scale"),
           **dict.fromkeys(("feature_dropout", "alpha_dropout", "feature_alpha_dropout"), "bernoulli"),
           "rrelu": "mul", "rrelu_with_noise": "mul",
           **dict.fromkeys(("index_select_backward", "gather_backward", "value_selecting_reduction_backward"), "scatter"),
           "masked_scatter_backward": "masked_select", "topk_softmax": "topk", "normed_cumsum": "cumsum", "moe_sum": "sum",
           **{f"nll_loss{kind}": "gather" for kind in ("_forward", "2d_forward", "_nd")},
           **{f"nll_loss{kind}_backward": "scatter" for kind in ("", "2d", "_nd")}, "diff": "sub", "safe_softmax": "softmax",
           "native_group_norm_backward": "native_layer_norm_backward", "rms_norm_backward": "fused_rms_norm_backward",
           **{f"avg_pool{n}d": "avg_pool" for n in (1, 2, 3)},
           **{f"avg_pool{n}d_backward": "avg_pool_backward" for n in (2, 3)},
           **{f"max_pool{n}d_{kind}": f"max_pool_{kind}" for n in (2, 3)
              for kind in ("with_indices", "with_indices_backward")},
           **{f"{kind}_pad{n}d_backward": "pad_backward" for n in (1, 2, 3) for kind in ("reflection", "replication")},
           **{f"upsample_nearest{kind}{n}d{way}": f"upsample_nearest{way}" for n in (1, 2, 3)
              for kind in ("", "_exact") for way in ("", "_backward")},
           **dict.fromkeys(("batch_norm", "native_batch_norm_legit", "native_batch_norm_legit_no_training",
                            "native_batch_norm_legit_functional", "batch_norm_with_update",
                            "batch_norm_with_update_functional", "batch_norm_no_update", "cudnn_batch_norm",
                            "miopen_batch_norm"), "native_batch_norm"),
           **dict.fromkeys(("grouped_topk", "topk_softplus_sqrt"), "topk"), "router_gemm": "gemm",
           **dict.fromkeys(("moe_align_block_size", "moe_align_block_size_triton"), "argsort"),
           **dict.fromkeys(("dispatch_fused_moe_kernel", "invoke_fused_moe_triton_kernel"), "expert_product"),
           **dict.fromkeys(("fused_experts_impl", "inplace_fused_experts", "fused_marlin_moe", "fused_marlin_moe_w4a16_int4",
                            "fused_marlin_moe_w4a16_mxfp4", "fused_moe", "fp8_fp4_mega_moe", "fp8_fp4_mega_moe_torch_ref"),
                           "fused_experts"),
           "scaled_grouped_mm": "grouped_mm", "stage_deepseek_v4_mega_moe_inputs": "amax",
           **{f"adaptive_{kind}_pool{n}d{way}": f"adaptive_{kind}_pool{way}" for n in (1, 2, 3)
              for kind in ("avg", "max") for way in ("", "_backward")},
           **{f"upsample_{kind}{way}": f"upsample_linear{way}" for way in ("", "_backward")
              for kind in ("linear1d", "bilinear2d", "trilinear3d", "bicubic2d", "bilinear2d_aa", "bicubic2d_aa")},
           "max_pool2d_backward": "max_pool_with_indices_backward",
           "max_pool3d_backward": "max_pool_with_indices_backward",
           **{f"conv_transpose{n}d": "conv_transpose" for n in (1, 2, 3)},
           **{f"grid_sampler_{n}d{way}": f"grid_sampler{way}" for n in (2, 3) for way in ("", "_backward")},
           "max_unpool2d": "scatter", "max_unpool3d": "scatter",
           "cudnn_batch_norm_backward": "native_batch_norm_backward",
           "batch_norm_impl_index": "native_batch_norm", "batch_norm_impl_index_backward": "native_batch_norm_backward",
           **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu", "chunk_gated_delta_rule", "chunk_gated_delta_rule_fwd",
                            "linear_backward", "convolution_mode", "cudnn_convolution", "convolution_double_backward"), "gemm"),
           "thnn_fused_lstm_cell": "lstm_cell", "thnn_fused_lstm_cell_backward_impl": "lstm_cell_backward",
           "fused_recurrent_gated_delta_rule_fwd": "gated_delta_rule", "ctc_loss_forward": "ctc_loss",
           "embedding_bag_dense_backward": "embedding_dense_backward", "embedding_bag_per_sample_weights_backward": "sum",
           "pdist_backward": "sum", "fractional_max_pool2d_backward": "scatter",
           "miopen_batch_norm_backward": "native_batch_norm_backward", "weight_norm": "weight_norm_interface",
           **dict.fromkeys(("add_rms_norm", "rmsnorm", "fused_q_kv_rmsnorm"), "rms_norm"),
           "te_rmsnorm_fwd": "fused_rms_norm", "te_rmsnorm_bwd": "fused_rms_norm_backward",
           **dict.fromkeys(("kthvalue", "median", "nanmedian", "mode", "quantile", "nanquantile", "unique2", "unique_dim",
                            "unique_consecutive"), "sort"), "bucketize": "searchsorted",
           **dict.fromkeys(("bincount", "histc", "cummaxmin_backward"), "scatter"),
           "is_all_true": "all", "is_any_true": "any", "functional_assert_async": "copy_", "nonzero_numpy": "masked_select",
           "index_put_impl": "index_put", "nll_loss_nd_forward": "gather", "scaled_softmax_forward": "softmax",
           "scaled_softmax_backward": "softmax_backward", "rrelu_with_noise_functional": "mul",
           **dict.fromkeys(("chunk_cat", "resize", "resize_as", "resize_output"), "copy_"),
           **dict.fromkeys(("jagged_to_padded_dense_forward", "pack_seq", "unpack_seq",
                            "apply_repetition_penalties"), "where"),
           **dict.fromkeys(("top_k_per_row_prefill", "top_k_per_row_decode"), "topk"),
           "fused_adam": "mul", "amp_update_scale": "where", "amp_foreach_non_finite_check_and_unscale": "mul",
           **dict.fromkeys(("fake_quantize_per_channel_affine", "fake_quantize_per_channel_affine_cachemask",
                            "fake_quantize_learnable_per_tensor_affine"), "mul"),
           **dict.fromkeys(("einsum", "compute_linear_combination", "matmul_bias_activation", "w8a8_block_fp8_matmul"), "gemm"),
           "fp8_einsum": "w8a8_block_fp8_bmm", "convert_weight_to_int4pack": "bitwise_or",
           "unsafe_masked_index": "index", "unsafe_masked_index_put_accumulate": "index_put",
           **dict.fromkeys(("dyn_quant_pack_4bit_weight", "functional_sym_constrain_range", "empty_permuted",
                            "functional_sym_constrain_range_for_size", "list_to_tensor", "make_dep_token"), "copy_"),
           "per_token_group_quant_fp8": "act_quant", "weight_int8pack_mm": "gemm", "segment_reduce": "scatter",
           "segment_reduce_backward": "scatter", "cummax_helper": "cummax", "cummin_helper": "cummin",
           "nonzero": "masked_select", "nonzero_static": "masked_select", "masked_fill": "where",
           "masked_scatter": "where", "embedding_backward": "embedding_dense_backward"}
HELPERS = {"checks.hpp", "forms.hpp", "index_list.hpp", "iteration.hpp", "moves.hpp", "nodes.hpp",
           "promotion.hpp", "rows.hpp"}  # headers for authors of operators
VOCABULARY = {"allow_tf32", "also_store", "apply", "as_scalar", "assert_async", "assign", "cast", "epilogue", "evaluate", "is_nonzero", "pack_matrix",
              "with_bias", "with_mask", "with_score"}
VIEWS = {"alias", "as_strided", "broadcast_tensors", "broadcast_to", "chunk", "diagonal", "expand", "expand_as", "flatten", "imag",
         "lift", "lift_fresh", "movedim", "narrow", "permute", "real", "reshape", "reshape_alias",
         "resolve_conj", "resolve_neg", "select", "split", "split_with_sizes", "squeeze", "t", "tensor_split",
         "transpose", "unbind", "unflatten", "unfold", "unsafe_chunk", "unsafe_view", "unsqueeze", "view",
         "view_as_complex", "view_as_real"}  # they launch nothing
VOCABULARY |= VIEWS

# What a program needs around its operators; every name must be found, with a doc comment.
BASICS = {
    "device/tensor.hpp": ("empty", "empty_strided", "empty_like", "from_values", "from_host", "to_host",
                          "tensor::record_stream"),
    "tensor/any_view.hpp": ("any_view::as", "visit"),
    "tensor/npy.hpp": ("load_npy", "save_npy", "npy_array::view"),
    "tensor/safetensors.hpp": ("load_safetensors", "save_safetensors", "safetensors::at",
                               "safetensors::find", "safetensors::tensors"),
}


def is_copy(name):
    """Whether an operator is a copy of a view or a padding, by their names."""
    return name.endswith("_copy") or bool(re.fullmatch(r"(reflection|replication)_pad\dd", name))


def operator_type(name):
    """The type in namespace operators that stands for `name`, which must be declared."""
    if not hasattr(operator_type, "declared"):
        text = "".join(h.read_text() for h in (ROOT / INCLUDE / "ops").rglob("*.hpp"))
        bodies = re.findall(r"^namespace operators {\n(.*?)^}", text, re.S | re.M)
        operator_type.declared = set(re.findall(r"^(?:struct|using) (\w+)", "".join(bodies), re.M))
        operator_type.declared |= {entry["name"] for entry in pointwise(ROOT)}
        operator_type.of_a_dtype = set(re.findall(r"^template <class \w+>\nusing (\w+)", "".join(bodies), re.M))
    if is_copy(name):
        return "copy_"
    plain = name.removesuffix("_")
    kinds = [DONE_BY.get(name), name, DONE_BY.get(plain), plain]
    for kind in kinds:
        if kind in operator_type.declared:
            return f"{kind}<flaggems::f32>" if kind in operator_type.of_a_dtype else kind
    sys.exit(f"{name}: no type in namespace operators, nor an operator it is done by")


def with_options(name):
    """(which option, type) of the forms of `name` that a type of their own stands for."""
    if not hasattr(with_options, "found"):
        text = "".join(h.read_text() for h in (ROOT / INCLUDE / "ops").rglob("*.hpp"))
        with_options.found = re.findall(r"^using (\w+) = .*///< (\w+) (with .*)$", text, re.M)
    return [(option, kind) for kind, of, option in with_options.found if of == name]


def without_private(text):
    """The text with the bodies of `namespace detail { ... }` left out."""
    out, skipping = [], 0
    for line in text.splitlines():
        if re.match(r"namespace (flaggems::)?detail {", line):
            skipping = 1
        if not skipping:
            out.append(line)
        if re.match(r"}  // namespace (flaggems::)?detail", line):
            skipping = 0
    return out


def in_words(formula):
    """A formula of the pointwise table as the page has it."""
    text = re.sub(r"\bV\((-?\w+)\)", r"\1", formula.strip())
    wraps = "wrapping_" in text or "negative(" in text
    for function, sign in (("add", "+"), ("sub", "-"), ("mul", "*")):
        text = re.sub(rf"wrapping_{function}\((\w+), (\w+)\)", rf"\1 {sign} \2", text)
    text = re.sub(r"negative\((\w+)\)", r"-\1", text)
    text = re.sub(r"^mask_of<V>\((.*)\)$", r"\1", text)
    return f"`{text}`, element by element" + ("; integers wrap around" if wraps else "")


def tables(root):
    """(text, header of its operators) of each pointwise table."""
    folder = root / INCLUDE / "kernel" / "family" / "pointwise" / "tables"
    for table in sorted(folder.glob("*.hpp")) if folder.is_dir() else ():
        yield table.read_text(), f"ops/{table.name}"


def of_complex(root):
    """{row: what complex operands give}, of the rows that take them."""
    texts = "".join(h.read_text() for h in sorted((root / INCLUDE / "ops").glob("*.hpp")))
    facts = set(re.findall(r"^FLAGGEMS_COMPLEX\((\w+), (\w+)_fn\)", texts, re.M))
    return {row: "; complex numbers give real ones" if ("gives_real", row) in facts else "; complex numbers are taken"
            for fact, row in facts if fact == "takes_complex"}


def pointwise(root):
    complexes = of_complex(root)
    rules = {"numeric": "the promoted dtype", "arithmetic": "the promoted dtype; bool refused",
             "integral": "the promoted dtype; bool becomes i64",
             "whole_number": "the promoted dtype, of integers only",
             "bits": "the promoted dtype, of integers and bool only",
             "to_float": "the promoted dtype; integers and bool become f32", "to_f64": "f64",
             "floating": "floating-point only", "to_bool": "bool", "parts": "complex numbers, of f32 or f64"}
    count = {"UNARY": "x", "PREDICATE": "x", "BINARY": "a, b", "PAIR": "a, b", "TERNARY": "a, b, c",
             "LOSS": "a, b", "SLOPE": "grad, a, b"}
    for text, header in tables(root):
        for line in text.splitlines():
            match = ROW.match(line.strip())
            if not match:
                continue
            kind, options, name, rule, formula = match.groups()
            defaults = []
            for _ in range(int(options or 0)):
                option, default, formula = re.split(r",\s*", formula, maxsplit=2)
                defaults.append(option + (f" {default}" if default else ""))
            arguments = count[kind]
            first = arguments.split(",")[0]
            after = "".join(f", {d}" for d in defaults)
            if kind in ("LOSS", "SLOPE"):
                reduced = ", reduced = reduction::mean" if kind == "LOSS" else ", reduced"
                yield {"name": name, "kind": kind + options, "header": header, "schema": "",
                       "signatures": [f"{name}(stream, {arguments}{reduced}{after}) -> tensor",
                                      f"{name}(stream, {arguments}, out{reduced}{after})"],
                       "comment": f"{in_words(formula)}, "
                                  + ("and their mean or sum" if kind == "LOSS" else
                                     "times grad; divided by the elements for a mean")
                                  + f". Result: {rules[rule]}."}
                continue
            signatures = [f"{name}({arguments}{after})  // an expression",
                          f"{name}(stream, {arguments}{after}) -> tensor",
                          f"{name}(stream, {arguments}, out{after})"]
            if kind not in ("PAIR", "PREDICATE"):
                signatures.append(f"{name}_(stream, {arguments}{after})  // into {first}")
            yield {"name": name, "kind": kind + options, "header": header, "schema": "",
                   "signatures": signatures,
                   "comment": f"{in_words(formula)}. Result: {rules[rule]}{complexes.get(name, '')}."}


def kinds(root, stem):
    """The parameters of a table's macro: the kinds of its rows, in order."""
    table = root / INCLUDE / "kernel" / "family" / "pointwise" / "tables" / f"{stem}.hpp"
    return re.search(r"_TABLE\(([^)]*)\)", table.read_text())[1].split(", ")


def other_names(root):
    """{operator: its other names}, from the lists of the tables and the lines of headers."""
    found = {}
    texts = [text for text, _ in tables(root)]
    texts += [h.read_text() for h in sorted((root / INCLUDE / "ops").glob("*.hpp"))]
    for other, name in ALIAS.findall("\n".join(t for text in texts for t in text.splitlines()
                                               if not t.startswith("#define"))):
        found.setdefault(name, []).append(f"flaggems::{other}")
    # And what ATen calls them, where lines of the registry say something else.
    folder = root / INCLUDE / "registry" / "families"
    for family in sorted(folder.glob("*.hpp")) if folder.is_dir() else ():
        text = family.read_text()
        bound = re.findall(r'FLAGGEMS_BIND\w*\(flaggems::(\w+),[^"\n]*"(\w+)[.(]', text)
        for other, name in re.findall(r"FLAGGEMS_PYTHON_LINES\((\w+), (\w+), \w+\)\n", text):
            bound += [(name, f"__{other}__"), (name, f"__i{other}__")]
        bound += re.findall(r'FLAGGEMS_BIND\w*\(\(?flaggems::(\w+).*\.also\("(\w+)"\)', text)
        for name, other in bound:
            names = found.setdefault(name, [])
            if other.strip("_") != name.strip("_") \
                    and not {f"aten::{other}", f"flaggems::{other}"} & set(names):
                names.append(f"aten::{other}")
    return {name: others for name, others in found.items() if others}


def declaration(lines, start):
    """The declaration that begins at `start`, on one line, up to its body, and with its "{"."""
    text, depth = "", 0
    for line in lines[start:start + 24]:
        code = line.split("//")[0].replace("[[maybe_unused]] ", "").strip()
        text += " "
        for char in code:
            depth += {"(": 1, ")": -1}.get(char, 0)
            text += char
            if char in "{;" and depth == 0:  # not those of a default, "= {}"
                return re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\s+", " ", text).strip()


def closing(text, start, brackets):
    """The place behind the bracket that closes the one before `start`."""
    depth = 1
    while depth and start < len(text):
        depth += {brackets[0]: 1, brackets[1]: -1}.get(text[start], 0)
        start += 1
    return start


def explicit_arguments(template, parameters):
    """`<T = f32>`: the template parameters that no argument of the call tells."""
    parts = [""]
    for char in template:
        if char == "," and parts[-1].count("<") == parts[-1].count(">"):
            parts.append("")
        else:
            parts[-1] += char
    # A list of T is also what a vector or braces become, which do not tell T.
    telling = re.sub(r"std::(?:span|initializer_list)<(?:const )?\w+>", "", parameters)
    given = []
    for part in filter(None, map(str.strip, parts)):
        head, _, default = part.partition(" = ")
        kind, name = head.rsplit(" ", 1)
        if not re.search(rf"\b{name}\b", telling):
            if kind.endswith("..."):
                name += "..."
            elif kind in ("bool", "int", "i64"):
                name = head  # a value
            given.append(f"{name} = {default}" if default else name)
    return f"<{', '.join(given)}>" if given else ""


def function(text, result=r"(?:void|auto|bool)", name=r"\w+"):
    """(name, name with explicit template arguments, parameters, result) of a declaration, or None
    if it is no function of such a name and result. The result is "" for void and a deduced one."""
    template = ""
    if text.startswith("template <"):
        end = closing(text, len("template <"), "<>")
        template, text = text[len("template <"):end - 1], text[end:]
    match = re.search(rf"({result}) ({name})\(", text)
    if not match:
        return None
    parameters = text[match.end():closing(text, match.end(), "()") - 1]
    parameters = re.sub(r"typename \S+::value\b", "number", parameters)  # tells no type
    called = match[2] + explicit_arguments(template, parameters)
    before = text[:match.end(1)]
    start = len(before)  # of the result's type, which may have spaces in its angle brackets
    while start and (before[start - 1] != " "
                     or before[start:].count("<") != before[start:].count(">")):
        start -= 1
    if before[:start].endswith("const "):
        start -= len("const ")
    kind = "" if before[start:] in ("void", "auto", "decltype(auto)") else before[start:]
    return match[2], called, parameters, kind


def structs(root):
    """The public structs and enumerations of ops/ by name, each on one line without its functions."""
    found = {}
    ops = root / INCLUDE / "ops"
    for header in sorted([*ops.glob("*.hpp"), *ops.glob("plan/convolution.hpp"), *ops.glob("plan/indices.hpp")]):
        text = "\n".join(without_private(header.read_text()))
        text = re.sub(r"\s*//.*|^#.*|\[\[no_unique_address\]\] ?", "", text, flags=re.M)
        for match in re.finditer(r"^(struct|enum class) (\w+)(?: : \w+)? {", text, re.M):
            body = text[match.end():closing(text, match.end(), "{}") - 1]
            members = re.sub(r"\s+", " ", body).strip()
            if match[1] == "struct":
                members = " ".join(f"{m.strip()};" for m in members.split(";") if m.strip() and "(" not in m
                                   and not m.strip().startswith("}"))
            found[match[2]] = f"{match[1]} {match[2]} {{ {members} }};"
    return found


def named(signatures, types):
    """The types that signatures name, and those that these name, in order."""
    lines, text = [], " ".join(signatures)
    for _ in range(2):
        for name, line in types.items():
            if line not in lines and re.search(rf"\b{name}\b", text) and not re.search(r"{  }|using |\+\+", line):
                lines.append(line)
        text += " ".join(lines)
    return lines


def results(root):
    """{operator: what it gives}, of those whose schema in the registry gives several tensors."""
    found = {}
    for family in sorted((root / INCLUDE / "registry" / "families").glob("*.hpp")):
        text = re.sub(r'"\s*\n\s*"', "", family.read_text())  # of schemas on several lines
        for name, given in re.findall(r'FLAGGEMS_BIND\w*\(\(?flaggems::(\w+)[^"]*"[^"\n]* -> (\([^)"]*\)|Tensor\[\])', text):
            parts = [part.split() for part in given.strip("()").split(",")]
            if given == "Tensor[]":
                found.setdefault(name, "a std::vector of tensors")
            elif len(parts) > 1:
                named = all(len(part) == 2 for part in parts)
                kind = "tensors" if all(part[0] == "Tensor" for part in parts) else "results"
                found[name] = f"{kind} {', '.join(part[1] for part in parts)}" if named else f"{len(parts)} {kind}"
    return found


def result_of(name, body, types, several):
    """What a function that makes tensors gives: a struct, pair or tuple of them that its body names, what
    the registry says, or a tensor."""
    for kind, line in types.items():
        if "tensor<" in line and (kind == f"{name}_results" or re.search(rf"\b{kind}\b", body)):
            return kind
    if (made := re.search(r"std::(pair|tuple)(?:_cat)?(?: \w+)?[(<{]", body)):
        return f"std::{made[1]} of " + several.get(name, "tensors")
    return several.get(name, "tensor")


# The lines of macros that make an operator: the arguments, if not the line's own, and its forms.
FORMS = {"VIEW": ("", ["{name}(x{given}) -> view"]), "OTHER_VIEW": ("", ["{name}(x{given}) -> view"]),
         "VIEW_COPY": ("", ["{name}(stream, x, out{given})", "{name}(stream, x{given}) -> tensor"]),
         "MOVE": ("", ["{name}(stream, x, out{given})", "{name}(stream, x{given}) -> tensor"]),
         "EDGE_PAD": ("int_list padding", ["{name}(stream, x, out{given})", "{name}(stream, x{given}) -> tensor"]),
         "SCAN": ("", ["{name}(stream, x, out, i64 dim)", "{name}<T = void>(stream, x, i64 dim) -> tensor",
                       "{name}_(stream, x, i64 dim)"]),
         "RUNNING_EXTREME": ("", ["{name}(stream, x, values, indices, i64 dim)",
                                  "{name}(stream, x, i64 dim) -> values and indices"]),
         "EXTREME": ("", ["{name}(stream, x) -> tensor",
                          "{name}(stream, x, values, indices, i64 dim, bool keepdim = false)",
                          "{name}(stream, x, i64 dim, bool keepdim = false) -> values and indices"]),
         "CHOICE": ("", ["{name}(stream, x, values, indices{given}, bool keepdim = false)",
                         "{name}(stream, x{given}, bool keepdim = false) -> values and indices"]),
         "MEDIAN": ("", ["{name}(stream, x, out)", "{name}(stream, x) -> tensor"]),
         "QUANTILE": ("std::optional<i64> dim = {}, bool keepdim = false, quantile_interpolation interpolation = "
                      "quantile_interpolation::linear",
                      ["{name}(stream, x, q, out{given})", "{name}(stream, x, q{given}) -> tensor"]),
         "HADAMARD": ("f64 scale = 1", ["{name}(stream, x, out{given})", "{name}(stream, x{given}) -> tensor"]),
         "STATISTIC": ("", ["{name}(stream, x, out{given})", "{name}(stream, x{given}) -> tensor"]),
         "WINDOW": ("", ["{name}<T = f32>(stream, i64 window_length, bool periodic = true{given}) -> tensor"]),
         "CONVOLUTION": ("int_list stride = {1}, int_list or conv_padding padding = {0}, int_list dilation = {1}, "
                         "i64 groups = 1",
                         ["{name}(stream, input, weight, bias, out{given})",
                          "{name}(stream, input, weight, bias = std::nullopt{given}) -> tensor"]),
         "MEAN_POOL": ("int_list kernel_size, int_list stride = {}, int_list padding = {0}, bool ceil_mode = false, "
                       "bool count_include_pad = true, std::optional<i64> divisor_override = {}",
                       ["{name}(stream, x, out{given})", "{name}(stream, x{given}) -> tensor"]),
         "MEAN_POOL_BACKWARD": ("int_list kernel_size, int_list stride, int_list padding, bool ceil_mode, "
                                "bool count_include_pad, std::optional<i64> divisor_override",
                                ["{name}(stream, grad_output, x, grad_input{given})",
                                 "{name}(stream, grad_output, x{given}) -> tensor"]),
         "MAX_POOL": ("int_list kernel_size, int_list stride = {}, int_list padding = {0}, int_list dilation = {1}, "
                      "bool ceil_mode = false",
                      ["{name}(stream, x, values, indices{given})", "{name}(stream, x{given}) -> values and indices"]),
         "MAX_POOL_BACKWARD": ("int_list kernel_size, int_list stride, int_list padding, int_list dilation, "
                               "bool ceil_mode",
                               ["{name}(stream, grad_output, x{given}, indices, grad_input)",
                                "{name}(stream, grad_output, x{given}, indices) -> tensor"]),
         "PAD_BACKWARD": ("int_list padding", ["{name}(stream, grad_output, x, grad_input{given})",
                                               "{name}(stream, grad_output, x{given}) -> tensor"]),
         "UPSAMPLE": ("", ["{name}(stream, x, out, int_list output_size{given})",
                           "{name}(stream, x, int_list output_size{given}) -> tensor"]),
         "UPSAMPLE_BACKWARD": ("", ["{name}(stream, grad_output, grad_input, int_list output_size, "
                                    "int_list input_size{given})",
                                    "{name}(stream, grad_output, int_list output_size, int_list input_size{given})"
                                    " -> tensor"]),
         "INTERPOLATED": ("", ["{name}(stream, x, out, int_list output_size, bool align_corners{given})",
                               "{name}(stream, x, int_list output_size, bool align_corners{given}) -> tensor"]),
         "INTERPOLATED_BACKWARD": ("", ["{name}(stream, grad_output, grad_input, int_list output_size, "
                                        "int_list input_size, bool align_corners{given})",
                                        "{name}(stream, grad_output, int_list output_size, int_list input_size, "
                                        "bool align_corners{given}) -> tensor"]),
         "ADAPTIVE_MEAN": ("int_list output_size", ["{name}(stream, x, out{given})",
                                                    "{name}(stream, x{given}) -> tensor"]),
         "ADAPTIVE_MEAN_BACKWARD": (" ", ["{name}(stream, grad_output, x, grad_input)",
                                          "{name}(stream, grad_output, x) -> tensor"]),
         "ADAPTIVE_MAX": ("int_list output_size", ["{name}(stream, x, values, indices{given})",
                                                   "{name}(stream, x{given}) -> values and indices"]),
         "ADAPTIVE_MAX_BACKWARD": (" ", ["{name}(stream, grad_output, x, indices, grad_input)",
                                         "{name}(stream, grad_output, x, indices) -> tensor"]),
         "RECURRENT": ("bool has_biases, i64 num_layers, f64 dropout, bool train, bool bidirectional",
                       ["{name}(stream, input, hx, params{given}, bool batch_first, generator = {{}}) -> rnn_results",
                        "{name}(stream, data, batch_sizes, hx, params{given}, generator = {{}}) -> rnn_results"]),
         "CONV_TRANSPOSE": ("int_list stride = {1}, int_list padding = {0}, int_list output_padding = {0}, "
                            "i64 groups = 1, int_list dilation = {1}",
                            ["{name}(stream, input, weight, bias, out{given})",
                             "{name}(stream, input, weight, bias = std::nullopt{given}) -> tensor"]),
         "GRID_SAMPLER_BACKWARD": ("i64 interpolation_mode, i64 padding_mode, bool align_corners, "
                                   "gradient_mask<2> output_mask = {true, true}",
                                   ["{name}(stream, grad_output, input, grid{given}) -> grid_gradients"]),
         "GRID_SAMPLER": ("i64 interpolation_mode, i64 padding_mode, bool align_corners",
                          ["{name}(stream, input, grid, out{given})", "{name}(stream, input, grid{given}) -> tensor"]),
         "NLL_FORWARD": ("loss_reduction reduced, i64 ignore_index",
                         ["{name}(stream, x, target, weight, output, total_weight{given})",
                          "{name}(stream, x, target, weight{given}) -> std::pair of tensors"]),
         "NLL_BACKWARD": ("loss_reduction reduced, i64 ignore_index",
                          ["{name}(stream, grad_output, x, target, weight{given}, total_weight, grad_input)",
                           "{name}(stream, grad_output, x, target, weight{given}, total_weight) -> tensor"]),
         "DOT": ("", ["{name}(stream, x, y, out)", "{name}(stream, x, y) -> tensor"]),
         "SCATTER": ("", ["{name}(stream, x, i64 dim, index, source, out{given})",
                          "{name}(stream, x, i64 dim, index, source{given}) -> tensor",
                          "{name}_(stream, x, i64 dim, index, source{given})"]),
         "SCATTER_VALUE": ("", ["{name}(stream, x, i64 dim, index, out, value{given})",
                                "{name}(stream, x, i64 dim, index, value{given}) -> tensor",
                                "{name}_(stream, x, i64 dim, index, value{given})"]),
         "VIEW_SCATTER": ("", ["{name}(stream, x, src, out{given})", "{name}(stream, x, src{given}) -> tensor"]),
         "VIEW_BACKWARD": ("", ["{name}(stream, grad_output, out, int_list input_sizes{given})",
                                "{name}(stream, grad_output, int_list input_sizes{given}) -> tensor"]),
         **{kind: ("", ["{name}(stream, x{given}, generator, out)",
                        "{name}(stream, x{given}, generator) -> tensor", "{name}_(stream, x{given}, generator)"])
            for kind in ("DRAW1", "DRAW2")},
         "DROPOUT": ("f64 p, bool train", ["{name}(stream, x{given}, generator, out)",
                                           "{name}(stream, x{given}, generator) -> tensor",
                                           "{name}_(stream, x{given}, generator)"]),
         "TRIANGLE": ("i64 diagonal = 0", ["{name}(stream, x, out{given})", "{name}(stream, x{given}) -> tensor",
                                          "{name}_(stream, x{given})"])}


# Arguments of a line before the operator's own.
MADE_OF = {"SCATTER": 5, "SCATTER_VALUE": 6, "VIEW_SCATTER": 3, "DRAW1": 2, "DRAW2": 2, "UPSAMPLE": 3,
           "UPSAMPLE_BACKWARD": 3, "INTERPOLATED": 3, "INTERPOLATED_BACKWARD": 3}


def from_headers(root):
    types, several = structs(root), results(root)
    for header in sorted((root / INCLUDE / "ops").glob("*.hpp")):
        if header.name in HELPERS:
            continue
        lines = without_private(header.read_text())
        comment = []
        for index, line in enumerate(lines):
            if line.startswith("///"):
                comment.append(line[3:].strip())
                continue
            macro = re.match(r"FLAGGEMS_(\w+)\((\w+),", line)
            if macro and macro[1] in FORMS:
                name, text = macro[2], " ".join(lines[index:index + 6])
                text = text[:closing(text, text.index("(") + 1, "()") - 1]
                # Behind the name and what the operator is made of.
                arguments = [""]
                for char in text.split("(", 1)[1]:
                    whole = all(arguments[-1].count(a) == arguments[-1].count(b) for a, b in ("()", "{}"))
                    if char == "," and whole:
                        arguments.append("")
                    else:
                        arguments[-1] += char
                if macro[1] == "MOVE":
                    arguments = ["", "", arguments[1].strip()[1:-1]]
                given = ", ".join(re.sub(r"\s+", " ", a).strip() for a in arguments[MADE_OF.get(macro[1], 2):])
                given = FORMS[macro[1]][0] or given
                given = f", {given}" if given else ""
                forms = [form.format(name=name, given=given) for form in FORMS[macro[1]][1]]
                for own, said in ((name, " ".join(comment)), (f"{name}_", f"As {name}, in place.")):
                    signatures = [form for form in forms if re.match(rf"{own}[(<]", form)]
                    if signatures:
                        yield {"name": own, "header": f"ops/{header.name}", "comment": said, "schema": "",
                               "signatures": signatures}
                comment = []
                continue
            macro = re.match(r"FLAGGEMS_(?:INDEX_)?REDUCTION\((\w+),", line)
            product = re.match(r"FLAGGEMS_PRODUCT\((\w+),", line)
            gated = re.match(r"FLAGGEMS_GATED(?:_BACKWARD)?\((\w+),", line)
            name = next((m[1] for m in (macro, product, gated) if m), None)
            signatures = []
            if gated:
                operands = "grad, x" if "BACKWARD" in line else "x"
                signatures = [f"{name}(stream, {operands}, out, dim = -1)",
                              f"{name}(stream, {operands}, dim = -1) -> tensor"]
            if product:
                signatures = [f"{name}(a, b, c, value = 1)  // an expression",
                              f"{name}(stream, a, b, c, value = 1) -> tensor",
                              f"{name}(stream, a, b, c, out, value = 1)",
                              f"{name}_(stream, a, b, c, value = 1)  // into a"]
            if macro and "INDEX" in line:
                signatures = [f"{name}(stream, x, out, dim = none, keepdim = false)",
                              f"{name}(stream, x, dim = none, keepdim = false) -> tensor"]
            elif macro:
                signatures = [f"{name}(stream, x, out, dims = {{}}, keepdim = false)",
                              f"{name}<T = void>(stream, x, dims = {{}}, keepdim = false) -> tensor"]
            if line.startswith("template <"):
                text = declaration(lines, index)
                found = function(text)
                public = comment or "const S& stream" in text
                if found and public and not found[0].startswith("operator"):
                    name, called, parameters, _ = found
                    body = "\n".join(lines[index:]).partition("\n}\n")[0]
                    makes = "nodiscard" in text and "const S& stream" in text
                    made = found[3] or result_of(name, body, types, several)
                    result = f" -> {made}" if makes else ""
                    signatures = [f"{called}({parameters}){result}"]
            if name:
                yield {"name": name, "header": f"ops/{header.name}", "comment": " ".join(comment),
                       "schema": "", "signatures": signatures}
            if line.strip():
                comment = []


def overloads(lines, scope, name):
    """(comment, signature) of each function `name` of a namespace, or of a class if `scope`."""
    objects = {"tensor": "x", "any_view": "view", "npy_array": "array", "safetensors": "file"}
    inside, comment, index = not scope, [], 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if scope and re.match(rf"class {scope}\b", line):
            inside = True
        elif scope and line == "};":
            inside = False
        elif line.strip().startswith("///"):
            comment.append(line.strip()[3:].strip())
            continue
        elif inside and re.match(r"  [\w\[]" if scope else r"[\w\[]", line):
            text = declaration(lines, index - 1)
            found = function(text, r"\S+", name)
            if found:
                call = f"{objects[scope]}.{found[1]}" if scope else found[1]
                result = found[3] or ("tensor" if f"[[nodiscard]] auto {name}(" in text else "")
                result = f" -> {result}" if result else ""
                yield " ".join(comment), f"{call}({found[2]}){result}"
                while not re.search(r"[{;]", lines[index - 1]):
                    index += 1
        comment = []


def basics(root):
    """An entry for each name of BASICS whose header the tree has, in that order."""
    for header, names in BASICS.items():
        file = root / INCLUDE / header
        if not file.is_file():
            continue
        lines = without_private(file.read_text())
        for name in names:
            *scope, short = name.split("::")
            found = list(overloads(lines, "".join(scope), short))
            comment = "\n\n".join(text for text, _ in found if text)
            if not comment:
                sys.exit(f"{header}: no {name} with a doc comment")
            yield {"name": name, "header": header, "comment": comment,
                   "signatures": [signature for _, signature in found]}


def operators(root=ROOT):
    """One entry a name, in order of header and place; comments of the overloads joined."""
    merged, types = {}, structs(root)
    for entry in [*pointwise(root), *from_headers(root)]:
        entry["comment"] = entry["comment"].strip()
        key = entry["name"]
        if key not in merged:
            merged[key] = entry
        else:
            old = merged[key]
            old["signatures"] += [s for s in entry["signatures"] if s not in old["signatures"]]
            if entry["comment"] and entry["comment"] not in old["comment"]:
                old["comment"] = (old["comment"] + "\n\n" + entry["comment"]).strip()
    for name, others in other_names(root).items():
        if name in merged:
            merged[name]["comment"] += f"\n\nAlso {', '.join(f'`{o}`' for o in others)}."
    for entry in merged.values():
        schemas = re.findall(r"aten::\S+\(.*?\)(?=\s|$|\.)", entry["comment"])
        entry["schema"] = schemas[0] if schemas else ""
        entry["types"] = named(entry["signatures"], types)
        if not entry["comment"]:
            sys.exit(f"{entry['header']}: {entry['name']} has no doc comment")
    return list(merged.values())


def section(entries, title, tagged=False):
    """The entries, all of one header; `tagged`: with the types that stand for them."""
    out = [f"## {title}", ""]
    for entry in entries:
        out += [f"### {entry['name']}", "", entry["comment"], "", "```cpp", *entry["signatures"],
                *entry.get("types", ()), "```", ""]
        if tagged and entry["name"] not in VOCABULARY:
            types = [f"`operators::{operator_type(entry['name'])}`"]
            types += [f"{option} `operators::{kind}`" for option, kind in with_options(entry["name"])]
            out += [f"For an implementation: {', '.join(types)}.", ""]
    return out


def markdown(root=ROOT):
    """The page."""
    entries = sorted(operators(root), key=lambda e: (e["header"], e["name"]))
    first = list(basics(root))
    out = ["<!-- Generated by tools/docs/operators.py from the headers; do not edit. -->",
           "# Operators", "",
           f"{len(entries)} names, after what a program needs around them. `stream` decides the "
           "device; operands are views, owning tensors or, where marked, expressions and numbers. "
           "Names are ATen's (`gelu_none`, `gelu_tanh`: its `gelu` with that `approximate`). "
           "Every operator raises `flaggems::error` before anything is written. In `name<T>(...)` "
           "the caller says T; `<T = f32>` is what it is otherwise, and `<T = void>` that it comes "
           "from the operands. `operators::` names the type by which a device's own implementation "
           "([device-guide.md](device-guide.md)) replaces the operator. A list of tensors is a `std::vector`, an "
           "array or a span of views, or `std::tie(a, b)`.", "",
           "What is not listed is not there under that name: `matmul` is `mm`, `bmm` and `linear`.", "",
           "| header in `flaggems/ops/` | names |", "|---|---|"]
    headers = list(dict.fromkeys(e["header"] for e in entries))
    for header in headers:
        names = " ".join(e["name"] for e in entries if e["header"] == header)
        anchor = "flaggems" + re.sub(r"[/.]", "", header)
        out.append(f"| [{header.removeprefix('ops/')}](#{anchor}) | {names} |")
    out.append("")
    for header in BASICS:
        if any(e["header"] == header for e in first):
            out += section([e for e in first if e["header"] == header],
                           f"Before operators: `flaggems/{header}`")
    for header in headers:
        out += section([e for e in entries if e["header"] == header], f"`flaggems/{header}`", True)
    return "\n".join(out)


def write(path, text, check):
    if path == "-":
        print(text)
        return 0
    file = pathlib.Path(path)
    if check:
        if not file.exists() or file.read_text() != text:
            print(f"{path} is out of date: run tools/docs/operators.py --markdown {path}")
            return 1
        return 0
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown")
    parser.add_argument("--include")
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    entries = operators()
    status = 0
    if args.markdown:
        status |= write(args.markdown, markdown(), args.check)
    if args.include:
        quoted = [f"X({json.dumps(e['name'])}, {json.dumps(e['header'])}, {json.dumps(e['schema'])}, "
                  f"{operator_type(e['name'])})"
                  for e in entries if e["name"] not in VOCABULARY]
        status |= write(args.include, "\n".join(quoted) + "\n", args.check)
    if args.json:
        status |= write(args.json, json.dumps(entries, indent=1), args.check)
    return status


if __name__ == "__main__":
    sys.exit(main())
