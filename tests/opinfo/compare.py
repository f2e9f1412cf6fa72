# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Whether results are right: exact where they must be, else close to what PyTorch gives in float64."""
import torch
from torch.utils._pytree import tree_map_only

# rtol by the result's dtype, and atol for each element that a result is reduced from.
TOLERANCE = {torch.float64: (1e-7, 1e-10), torch.float32: (1.3e-6, 1e-5), torch.float16: (1e-3, 1e-4),
             torch.bfloat16: (1.6e-2, 1e-4), torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-10)}
BYTES = {torch.float8_e4m3fn, torch.float8_e5m2}  # ATen compares none
SMALL_FLOATS = {torch.bfloat16, torch.float16}
# Matrix products reduce the last dimension of the first matrix.
PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "linear": 0, "addmm": 1, "baddbmm": 1,
            "scaled_dot_product_attention": 0, "_scaled_mm": 0, "flaggems::fp8_matmul": 0,
            "_weight_int4pack_mm_with_scales_and_zeros": 0}
# Factors of matrices, whose entries are sums along a line.
FACTORS = {"linalg_ldl_factor", "linalg_ldl_factor_ex"}
# Networks, which round their states at each step.
RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
# Whose results behind the first are f32 for 16-bit floats, as ATen's are on CUDA but not on the CPU.
BATCH_NORMS = {"native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training",
               "_native_batch_norm_legit_functional", "_batch_norm_with_update", "_batch_norm_with_update_functional",
               "_batch_norm_no_update", "miopen_batch_norm", "cudnn_batch_norm"}
STATISTICS = {"native_layer_norm", "native_group_norm"} | BATCH_NORMS
# Of which only dtype and sizes are of account.
UNINITIALISED = {"empty", "empty_like", "empty_strided", "empty_permuted", "_make_dep_token"}
# Whose indices may differ among equal values: (dimension, what the indices are of).
INDICES = {"topk", "sort", "argsort"}
ONE_INDEX = {"kthvalue", "mode"}
# Whose values in float32 are beyond the tolerance in ATen as well: of rounded coordinates, or by recurrences.
COARSE = {"grid_sampler_2d_backward", "grid_sampler_3d_backward", "_upsample_bilinear2d_aa",
          "special_hermite_polynomial_h", "special_hermite_polynomial_he", "_ctc_loss_backward"}
# Singular vectors, whose signs may differ: (U, S, V), and whether V is transposed.
SINGULAR = {"linalg_svd": True, "svd": False}
# Whose results come in any order along the last dimension.
UNORDERED = {"linalg_eigvals", "_linalg_eigvals"}


def is_inexact(x):
    """Of a tensor: whether results are compared within a tolerance."""
    return x.is_floating_point() or x.is_complex()


def wide(t):
    """A tensor in float64, or in complex128."""
    return t.to(torch.complex128) if t.is_complex() else t.double()


def in_float64(values):
    """Arguments in float64, where they are floating-point or complex: tensors, outputs and dtypes."""
    values = tree_map_only(torch.Tensor, lambda t: wide(t) if is_inexact(t) else t, values)
    return tree_map_only(torch.dtype, lambda d: torch.complex128 if d.is_complex else
                         torch.float64 if d.is_floating_point else d, values)


def as_list(results):
    """Results as tensors, also a list of them, integers or a bool."""
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    return [torch.tensor(r) if isinstance(r, (bool, int)) else r for r in results]


def strides(results):
    """Of the dimensions in which results have more than one element; without the gaps that some of ATen's keep."""
    dense = [t if t is None else torch.empty_like(t, device="meta") for t in results]
    return [None if t is None or t.numel() == 0 else
            [stride for size, stride in zip(t.shape, t.stride()) if size > 1] for t in dense]


def named(call, name, default=None):
    return next((v for p, v in call.arguments() if p.name == name), default)


def reduced(call, result):
    """How many elements one of the result is made of, at most."""
    name = call.key.split(".")[0]
    tensors = list(call.tensors())
    if name in PRODUCTS:
        return max(1, tensors[PRODUCTS[name]].shape[-1] if tensors[PRODUCTS[name]].dim() else 1)
    if name.startswith("_scaled_dot_product"):
        queries, head = tensors[0].shape[-2:]
        return head * max(1, queries, *(t.shape[-2] for t in tensors[:4]))
    if name in FACTORS:
        return max(1, tensors[0].shape[-1])
    if name in RECURRENT:
        return max(1, tensors[0].numel())
    if name.lstrip("_").startswith("conv"):
        return max(1, tensors[1].numel() // max(1, tensors[1].shape[0]))
    most = max((t.numel() for t in tensors), default=1)
    return max(1, most // max(1, result.numel()))


def dimension(call):
    return named(call, "dim", -1)


def noise(e, r):
    """Four times ATen's greatest relative error, without those of results at another side of a step."""
    error = (e - r).abs() / r.abs().clamp(min=1)
    return 4 * torch.where(error > 1e-3, 0, error).nan_to_num(0).max().item() if error.numel() else 0


def error_of_units(call, e, r):
    """What matrix units lose: of products of 8-bit floats, which they sum with 14 bits, and of an attention's
    probabilities, which they take with 16."""
    largest = max((t.abs().nan_to_num(0, 0, 0).max().item() for t in map(wide, call.tensors())
                   if t.numel() and not t.is_complex()), default=0)
    if any(t.dtype in BYTES for t in call.tensors()):
        return 2.0 ** -12 * wide(r).abs().nan_to_num(0, 0, 0).max().item() if r.numel() else 0
    attends = "attention" in call.key or "flash_attn" in call.key
    return torch.finfo(e.dtype).eps / 2 * largest if attends and e.dtype in SMALL_FLOATS else 0


def within_sequences(call, alpha):
    """log_alpha of _ctc_loss without what ATen leaves unwritten: behind a sequence's last step and its last label."""
    steps, labels = (torch.as_tensor(named(call, f"{kind}_lengths")).view(-1, 1, 1) for kind in ("input", "target"))
    is_step = torch.arange(alpha.shape[1]).view(1, -1, 1) < steps
    return torch.where(is_step & (torch.arange(alpha.shape[2]) <= 2 * labels), alpha, 0)


def equal(a, b):
    if a.is_complex():
        return equal(torch.view_as_real(a), torch.view_as_real(b))
    if a.dtype in BYTES:
        return torch.equal(a.view(torch.uint8), b.view(torch.uint8))
    return torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) and torch.equal(a.isnan(), b.isnan()) \
        if a.is_floating_point() else torch.equal(a, b)


def singular_difference(call, got, transposed):
    """Why U, S, V are no singular vectors and values of the call's matrices, or None."""
    x, u, s, v = map(wide, (next(call.tensors()), *got))
    vh, count = v if transposed else v.mT, s.shape[-1]
    rtol, atol = TOLERANCE[got[1].dtype]
    atol *= max(1, *x.shape[-2:]) * max([1.0, *s.flatten().tolist()])
    if not torch.allclose((u[..., :count] * s.unsqueeze(-2)) @ vh[..., :count, :], x, rtol=rtol, atol=atol):
        return "the product is another matrix"
    for one in (u, vh.mT):
        if not torch.allclose(one.mT @ one, torch.eye(one.shape[-1], dtype=one.dtype), rtol=0, atol=atol):
            return "vectors that are not orthonormal"


def in_order_of(wanted, got):
    """The results in the order in which each is next to a wanted one."""
    rows = []
    for want, row in zip(wanted.reshape(-1, wanted.shape[-1]), got.reshape(-1, got.shape[-1])):
        left, chosen = row.tolist(), []
        for w in want.tolist():
            chosen.append(min(left, key=lambda x, w=w: abs(x - w)))
            left.remove(chosen[-1])
        rows.append(chosen)
    return torch.tensor(rows, dtype=got.dtype).reshape(got.shape)


def is_right(e, g, r, rtol, atol):
    """Of each element: whether it is near the reference, PyTorch's in this dtype (an overflow, a step of the function), or
    no further from the reference than that."""
    near = torch.isclose(g, r, rtol=rtol, atol=atol, equal_nan=True) | torch.isclose(g, e, rtol=rtol, atol=0, equal_nan=True)
    return near | (((g - r).abs() <= (e - r).abs()) & e.isfinite())


def difference(call, expected, got, reference, values=True, units=False):
    """Why `got` is not right, or None. `reference` are the results in float64, or None. Without `values` only sizes and
    dtypes are compared. `units`: matrix units multiply."""
    if len(expected) != len(got):
        return f"{len(got)} results, not {len(expected)}"
    name = call.key.split(".")[0]
    for number, (e, g) in enumerate(zip(expected, got)):
        if e is None or g is None:  # not asked for
            if e is not g:
                return "a result that is none" if e is None else "no result"
            continue
        if name in BATCH_NORMS and number > 0 and e.numel() == 0:
            continue  # on the CPU ATen saves nothing by running statistics
        if name in STATISTICS and number > 0 and g.dtype == torch.float32:
            e = e.float()
        if e.dtype != g.dtype:
            return f"dtype {g.dtype}, not {e.dtype}"
        if e.shape != g.shape:
            return f"sizes {list(g.shape)}, not {list(e.shape)}"
        if name in UNINITIALISED or not values:
            continue
        if name in SINGULAR and number != 1 and named(call, "compute_uv", True) and g.numel():
            if number == 0 and (why := singular_difference(call, got, SINGULAR[name])) is not None:
                return why
            continue
        if name in INDICES and e.dtype == torch.int64 and (number == 1 or name == "argsort"):
            # Positions: the values there are those expected, and none stands twice.
            x, dim = next(call.tensors()), dimension(call)
            if x.dim() == 0:
                continue
            if g.numel() and (g.min() < 0 or g.max() >= x.shape[dim]):
                return "indices outside"
            if not equal(x.gather(dim, g), x.gather(dim, e)):
                return "indices of other values"
            if g.numel() and (g.sort(dim).values.diff(dim=dim) == 0).any():
                return "an index twice"
            if named(call, "stable") and not torch.equal(e, g):
                return "not stable"
            continue
        if name in ONE_INDEX and number == 1:
            x, dim = next(call.tensors()), dimension(call)
            g, e = (i if i.dim() == x.dim() else i.unsqueeze(dim) for i in (g, e))
            if x.dim() and g.numel() and (g.min() < 0 or g.max() >= x.shape[dim] or not equal(x.gather(dim, g), x.gather(dim, e))):
                return "indices of other values"
            continue
        if e.dtype in BYTES:
            # A step apart at most: ours and the reference may round from sums in another order.
            apart = (e.view(torch.uint8).int() - g.view(torch.uint8).int()).abs()
            if (apart > 1).any() or (apart > 0).sum() > 0.02 * apart.numel():
                return f"{(apart > 0).sum().item()} of {e.numel()} elements differ"
            continue
        if not is_inexact(e):
            if not torch.equal(e, g) and (reference is None or not torch.equal(reference[number], g)):
                return f"{(e != g).sum().item()} of {e.numel()} elements differ"
            continue
        r = e if reference is None else reference[number].to(e.dtype)
        if name == "_ctc_loss" and number == 1:
            e, g, r = (within_sequences(call, x) for x in (e, g, r))
        rtol, atol = TOLERANCE[e.dtype]
        if name in UNORDERED and g.numel():
            g = in_order_of(r, g)
        steps = name in COARSE and reference is not None
        if steps:
            more = noise(wide(e), wide(r))
            rtol, atol = rtol + more, atol + more
        atol *= reduced(call, e)
        if (rstd := named(call, "rstd")) is not None and rstd.numel():
            atol *= max(1, rstd.abs().nan_to_num(1, 1, 1).max().item())  # gradients: of differences, so many times as large
        if units:
            atol += error_of_units(call, e, r)
        right = is_right(wide(e), wide(g), wide(r), rtol, atol)
        if steps:
            right |= is_right(wide(e), wide(g), wide(e), rtol, atol)
        if not right.all():
            off = torch.where(right, 0, (wide(g) - wide(r)).abs()).nan_to_num(float("inf"))
            worst = off.argmax()
            return (f"values differ: {g.flatten()[worst].item():.6g} for {r.flatten()[worst].item():.6g}, "
                    f"PyTorch {e.flatten()[worst].item():.6g}")
    return None
