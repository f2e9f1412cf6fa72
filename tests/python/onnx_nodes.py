#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX's tests of single operators by the Python package: onnx_nodes.py [FOLDER]. Needs onnx and its test data
(Debian: python3-onnx, libonnx-testdata). Each graph is run node by node, by the functions below. Exit status 1: a result
is wrong, or a node of an operator that is listed was refused for another reason than its dtype; 77: something is missing."""
import collections
import functools
import pathlib
import sys

try:
    import numpy
    import onnx
    from onnx import numpy_helper
    import tvm_ffi
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

from flaggems import ops

DATA = "/usr/share/libonnx-testdata/data/node"
NODES = {}


class NotHere(Exception):
    """An operator, form or type that the package does not have."""


def node(*names):
    def add(function):
        for name in names:
            NODES[name] = function
        return function
    return add


def dtype_of(element_type):
    return str(onnx.helper.tensor_dtype_to_np_dtype(element_type)
               if hasattr(onnx.helper, "tensor_dtype_to_np_dtype")
               else onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[element_type])


def integers(x):
    """A list of an attribute, or of a tensor of any sizes."""
    return [int(v) for v in numpy.asarray(x).reshape(-1)]


def axes_of(a, axes, rank):
    """From an attribute or an input; all where there is none."""
    axes = a.get("axes") if axes is None else integers(axes)
    return list(range(rank)) if not axes else [int(d) % rank for d in axes]


# ---- element by element

for names in """Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor IsNaN Log Neg Reciprocal Relu Round
                Sigmoid Sign Sin Sinh Softplus Sqrt Tan Tanh HardSwish Not=logical_not Identity=clone""".split():
    name, _, ours = names.partition("=")
    NODES[name] = lambda a, x, ours=ours or name.lower(): getattr(ops, ours)(x)
for names in """Add Sub Mul And=logical_and Or=logical_or Xor=logical_xor Equal=eq Greater=gt GreaterOrEqual=ge Less=lt
                LessOrEqual=le""".split():
    name, _, ours = names.partition("=")
    NODES[name] = lambda a, x, y, ours=ours or name.lower(): getattr(ops, ours)(x, y)
for name, ours in (("Max", "maximum"), ("Min", "minimum"), ("Sum", "add")):
    NODES[name] = lambda a, *x, ours=ours: functools.reduce(getattr(ops, ours), x)
NODES["Mean"] = lambda a, *x: ops.div(functools.reduce(ops.add, x), len(x))
NODES["Where"] = lambda a, c, x, y: ops.where(c, x, y)
NODES["Selu"] = lambda a, x: ops.elu(x, a.get("alpha", 1.67326324), a.get("gamma", 1.05070102))
NODES["Elu"] = lambda a, x: ops.elu(x, a.get("alpha", 1.0))
NODES["Celu"] = lambda a, x: ops.celu(x, a.get("alpha", 1.0))
NODES["LeakyRelu"] = lambda a, x: ops.leaky_relu(x, a.get("alpha", 0.01))
NODES["ThresholdedRelu"] = lambda a, x: ops.threshold(x, a.get("alpha", 1.0), 0.0)
NODES["HardSigmoid"] = lambda a, x: ops.clamp(ops.add(ops.mul(x, a.get("alpha", 0.2)), a.get("beta", 0.5)), 0.0, 1.0)
NODES["Softsign"] = lambda a, x: ops.div(x, ops.add(ops.abs(x), 1.0))
NODES["PRelu"] = lambda a, x, slope: ops.where(ops.gt(x, 0), x, ops.mul(x, slope))
NODES["Pow"] = lambda a, x, y: ops.pow(x, y).astype(x.dtype)
NODES["Mod"] = lambda a, x, y: (ops.fmod if a.get("fmod") else ops.remainder)(x, y)
NODES["Div"] = lambda a, x, y: ops.div(x, y) if x.dtype.kind == "f" else ops.div(x, y, rounding_mode="trunc")
NODES["Cast"] = lambda a, x: ops._to_copy(x, dtype=dtype_of(a["to"]))
NODES["CastLike"] = lambda a, x, y: ops._to_copy(x, dtype=str(y.dtype))
NODES["Dropout"] = lambda a, x, ratio=None, training=None: ops.clone(x) if not training else absent("training")
NODES["BitShift"] = lambda a, x, y: getattr(ops, f"bitwise_{a['direction'].decode().lower()}_shift")(x, y)


def absent(what):
    raise NotHere(what)


@node("Clip")
def clip(a, x, low=None, high=None):
    bounds = [None if b is None else b.item() for b in (low, high)]
    return ops.clone(x) if bounds == [None, None] else ops.clamp(x, *bounds)


@node("Shrink")
def shrink(a, x):
    by, bias = a.get("lambd", 0.5), a.get("bias", 0.0)
    return ops.where(ops.lt(x, -by), ops.add(x, bias), ops.where(ops.gt(x, by), ops.sub(x, bias), ops.zeros_like(x)))


@node("IsInf")
def is_inf(a, x):
    negative, positive = a.get("detect_negative", 1), a.get("detect_positive", 1)
    return (ops.isinf if negative and positive else ops.isneginf if negative else ops.isposinf)(x)


@node("DequantizeLinear")
def dequantize(a, x, scale, zero=None):
    per_axis = [-1 if d == a.get("axis", 1) % x.ndim else 1 for d in range(x.ndim)] if scale.ndim else []
    x = ops._to_copy(x, dtype="float32")
    if zero is not None:
        x = ops.sub(x, ops._to_copy(zero, dtype="float32").reshape(per_axis))
    return ops.mul(x, scale.reshape(per_axis))


# ---- reductions, sums of rows, order


def reduction(name, finish):
    def run(a, x, axes=None):
        empty = axes is None and not a.get("axes") or axes is not None and not axes.size
        if a.get("noop_with_empty_axes") and empty:
            return ops.clone(x)
        return finish(x, axes_of(a, axes, x.ndim), bool(a.get("keepdims", 1)))
    NODES[name] = run


def product(x, dims, keep):
    for d in sorted(dims, reverse=True):
        x = ops.prod(x, d, keep)
    return x


reduction("ReduceSum", lambda x, d, keep: ops.sum(x, d, keep))
reduction("ReduceMean", lambda x, d, keep: ops.mean(x, d, keep))
reduction("ReduceMax", lambda x, d, keep: ops.amax(x, d, keep))
reduction("ReduceMin", lambda x, d, keep: ops.amin(x, d, keep))
reduction("ReduceProd", product)
reduction("ReduceL1", lambda x, d, keep: ops.sum(ops.abs(x), d, keep))
reduction("ReduceL2", lambda x, d, keep: ops.linalg_vector_norm(x, 2, d, keep))
reduction("ReduceLogSum", lambda x, d, keep: ops.log(ops.sum(x, d, keep)))
reduction("ReduceLogSumExp", lambda x, d, keep: ops.logsumexp(x, d, keep))
reduction("ReduceSumSquare", lambda x, d, keep: ops.sum(ops.square(x), d, keep))
NODES["GlobalAveragePool"] = lambda a, x: ops.mean(x, list(range(2, x.ndim)), True)
NODES["GlobalMaxPool"] = lambda a, x: ops.amax(x, list(range(2, x.ndim)), True)
NODES["Softmax"] = lambda a, x: ops.softmax(x, a.get("axis", -1))
NODES["LogSoftmax"] = lambda a, x: ops.log_softmax(x, a.get("axis", -1))


@node("ArgMax", "ArgMin")
def arg(a, x):
    dim, keep = a.get("axis", 0), bool(a.get("keepdims", 1))
    find = ops.argmax if a["op"] == "ArgMax" else ops.argmin
    if not a.get("select_last_index"):
        return find(x, dim, keep)
    return ops.rsub(find(ops.flip(x, [dim]), dim, keep), x.shape[dim] - 1)


@node("Hardmax")
def hardmax(a, x):
    dim = a.get("axis", -1)
    return ops.scatter(ops.zeros_like(x), dim, ops.argmax(x, dim, True), 1.0)


@node("CumSum")
def cumsum(a, x, axis):
    axis = int(axis)
    x = ops.flip(x, [axis]) if a.get("reverse") else x
    sums = ops.cumsum(x, axis)
    sums = ops.sub(sums, x) if a.get("exclusive") else sums
    return ops.flip(sums, [axis]) if a.get("reverse") else sums


@node("TopK")
def topk(a, x, k):
    return ops.topk(x, int(k[0]), a.get("axis", -1), bool(a.get("largest", 1)), bool(a.get("sorted", 1)))


@node("LayerNormalization")
def layer_norm(a, x, scale, bias=None):
    first = a.get("axis", -1) % x.ndim
    return ops.native_layer_norm(x, list(x.shape[first:]), scale.reshape(x.shape[first:]),
                                 None if bias is None else bias.reshape(x.shape[first:]), a.get("epsilon", 1e-5))


@node("InstanceNormalization")
def instance_norm(a, x, scale, bias):
    n, c = x.shape[:2]
    return ops.native_group_norm(x, scale, bias, n, c, x.size // (n * c), c, a.get("epsilon", 1e-5))[0]


@node("BatchNormalization")
def batch_norm(a, x, scale, bias, mean, var):
    if a.get("training_mode"):
        raise NotHere("training")
    channel = [1, -1] + [1] * (x.ndim - 2)
    scale = ops.mul(scale, ops.rsqrt(ops.add(var, a.get("epsilon", 1e-5))))
    return ops.add(ops.mul(ops.sub(x, mean.reshape(channel)), scale.reshape(channel)), bias.reshape(channel))


def padded(a, x, sizes, strides, dilations, value):
    """x with its pads, for auto_pad as well; the pads."""
    n = x.ndim - 2
    pads = a.get("pads", [0] * 2 * n)
    mode = a.get("auto_pad", b"NOTSET").decode()
    if mode.startswith("SAME"):
        reach = [(w - 1) * d + 1 for w, d in zip(sizes, dilations)]
        both = [max((-(-s // t) - 1) * t + r - s, 0) for s, t, r in zip(x.shape[2:], strides, reach)]
        before = [b // 2 if mode == "SAME_UPPER" else b - b // 2 for b in both]
        pads = before + [b - f for b, f in zip(both, before)]
    return ops.constant_pad_nd(x, [p for d in reversed(range(n)) for p in (pads[d], pads[n + d])], value), pads


@node("AveragePool")
def average_pool(a, x):
    n, sizes = x.ndim - 2, list(a["kernel_shape"])
    strides = list(a.get("strides", [1] * n))
    if a.get("ceil_mode"):
        raise NotHere("AveragePool with ceil_mode")
    pool = getattr(ops, f"avg_pool{n}d")
    wide, pads = padded(a, x, sizes, strides, [1] * n, 0)
    means = pool(wide, sizes, strides, [0] * n)
    if a.get("count_include_pad") or not any(pads):
        return means
    ones, _ = padded(a, ops.ones_like(x), sizes, strides, [1] * n, 0)
    return ops.div(means, pool(ones, sizes, strides, [0] * n))


@node("MaxPool")
def max_pool(a, x):
    n, sizes = x.ndim - 2, list(a["kernel_shape"])
    strides, dilations = list(a.get("strides", [1] * n)), list(a.get("dilations", [1] * n))
    if n == 1 or a.get("ceil_mode") or len(a["results"]) > 1:
        raise NotHere("MaxPool of one dimension, with ceil_mode or with indices")
    least = -numpy.inf if x.dtype.kind == "f" else int(numpy.iinfo(x.dtype).min)
    wide, _ = padded(a, x, sizes, strides, dilations, least)
    return getattr(ops, f"max_pool{n}d_with_indices")(wide, sizes, strides, [0] * n, dilations)[0]


@node("NegativeLogLikelihoodLoss")
def nll_loss(a, x, target, weight=None):
    how = {"none": 0, "mean": 1, "sum": 2}[a.get("reduction", b"mean").decode()]
    target, ignored = target.astype("int64"), a.get("ignore_index", -100)
    sizes = target.shape
    if x.ndim == 2:
        return ops.nll_loss_forward(x, target, weight, how, ignored)[0]
    loss = ops.nll_loss2d_forward(x.reshape(*x.shape[:2], 1, -1), target.reshape(sizes[0], 1, -1), weight, how, ignored)[0]
    return loss.reshape(sizes) if how == 0 else loss


@node("SoftmaxCrossEntropyLoss")
def cross_entropy(a, x, target, weight=None):
    how = {"none": 0, "mean": 1, "sum": 2}[a.get("reduction", b"mean").decode()]
    loss = ops.cross_entropy_loss(x, target.astype("int64"), weight, how, a.get("ignore_index", -100))
    return (loss, ops.log_softmax(x, 1)) if len(a["results"]) > 1 else loss


# ---- shapes

NODES["Transpose"] = lambda a, x: ops.permute(x, a.get("perm", list(range(x.ndim))[::-1]))
NODES["Concat"] = lambda a, *x: ops.cat(list(x), a["axis"])
NODES["Expand"] = lambda a, x, sizes: ops.expand(x, numpy.broadcast_shapes(x.shape, tuple(integers(sizes))))
NODES["Tile"] = lambda a, x, repeats: ops.repeat(x, integers(repeats))
NODES["Shape"] = lambda a, x: numpy.array(x.shape[a.get("start", 0):a.get("end")], "int64")
NODES["Size"] = lambda a, x: numpy.array(x.size, "int64")
CONSTANTS = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
NODES["Constant"] = lambda a: next((numpy.array(a[name], dtype) for name, dtype in CONSTANTS.items() if name in a),
                                   a.get("value"))
NODES["Squeeze"] = lambda a, x, axes=None: numpy.squeeze(x, tuple(integers(axes)) if axes is not None else None)
NODES["Flatten"] = lambda a, x: x.reshape(int(numpy.prod(x.shape[:a.get("axis", 1)])), -1)
NODES["Range"] = lambda a, start, limit, step: ops.arange(start.item(), limit.item(), step.item(), dtype=str(start.dtype))
NODES["NonZero"] = lambda a, x: ops.nonzero(x).T
NODES["HannWindow"] = lambda a, n: ops.hann_window(int(n), bool(a.get("periodic", 1)))
NODES["BlackmanWindow"] = lambda a, n: ops.blackman_window(int(n), bool(a.get("periodic", 1)))
NODES["HammingWindow"] = lambda a, n: ops.hamming_window(int(n), bool(a.get("periodic", 1)), 25 / 46, 21 / 46)


@node("Reshape")
def reshape(a, x, sizes):
    sizes = integers(sizes)
    if not a.get("allowzero"):
        sizes = [x.shape[k] if s == 0 else s for k, s in enumerate(sizes)]
    return ops.clone(x).reshape(sizes)


@node("Unsqueeze")
def unsqueeze(a, x, axes=None):
    return numpy.expand_dims(x, tuple(integers(a["axes"] if axes is None else axes)))


@node("Slice")
def slice_(a, x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else integers(axes)
    steps = [1] * len(starts) if steps is None else integers(steps)
    for start, end, d, step in zip(integers(starts), integers(ends), axes, steps):
        if step < 0:  # the same elements from the other end
            first, last, _ = slice(start, end, step).indices(x.shape[d])
            x, start, end, step = ops.flip(x, [d]), x.shape[d] - 1 - first, x.shape[d] - 1 - last, -step
        x = ops.slice(x, d, start, end, step)
    return ops.clone(x)


@node("Split")
def split(a, x, sizes=None):
    d, parts = a.get("axis", 0), len(a["results"])
    size = -(-x.shape[d] // parts)
    return ops.split_copy(x, size, d) if sizes is None else ops.split_with_sizes_copy(x, integers(sizes), d)


@node("Trilu")
def trilu(a, x, k=None):
    return (ops.triu if a.get("upper", 1) else ops.tril)(x, 0 if k is None else int(k))


@node("EyeLike")
def eye_like(a, x):
    dtype = dtype_of(a["dtype"]) if "dtype" in a else str(x.dtype)
    return ops.tril(ops.triu(ops.ones_like(x, dtype=dtype), a.get("k", 0)), a.get("k", 0))


def from_the_end(at, size):
    """Indices of int64, the negative ones counted from the end."""
    at = at.astype("int64")
    return ops.where(ops.lt(at, 0), ops.add(at, size), at)


@node("GatherElements")
def gather_elements(a, x, at):
    d = a.get("axis", 0) % x.ndim
    return ops.gather(x, d, from_the_end(at, x.shape[d]))


@node("Gather")
def gather(a, x, at):
    d = a.get("axis", 0) % x.ndim
    flat = from_the_end(at, x.shape[d]).reshape(-1)
    return ops.index_select(x, d, flat).reshape(x.shape[:d] + at.shape + x.shape[d + 1:])


@node("GatherND")
def gather_nd(a, x, at):
    batch = [numpy.arange(n).reshape([-1 if k == d else 1 for k in range(at.ndim - 1)])
             for d, n in enumerate(x.shape[:a.get("batch_dims", 0)])]
    return ops.index(x, batch + [at[..., k].copy() for k in range(at.shape[-1])])


@node("ScatterElements")
def scatter(a, x, at, values):
    how = a.get("reduction", b"none").decode()
    d = a.get("axis", 0)
    at = from_the_end(at, x.shape[d])
    if how == "none":
        return ops.scatter(x, d, at, values)
    return ops.scatter_reduce(x, d, at, values, {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[how])


@node("ScatterND")
def scatter_nd(a, x, at, values):
    how = a.get("reduction", b"none").decode()
    if how not in ("none", "add"):
        raise NotHere(f"reduction {how}")
    return ops.index_put(x, [at[..., k].copy() for k in range(at.shape[-1])], values, how == "add")


@node("Pad")
def pad(a, x, pads, value=None):
    n = x.ndim
    pairs = [p for d in reversed(range(n)) for p in (integers(pads)[d], integers(pads)[n + d])]
    mode = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}[a.get("mode", b"constant").decode()]
    if mode == "constant":
        return ops.constant_pad_nd(x, pairs, 0 if value is None else value.item())
    while len(pairs) > 2 and pairs[-2:] == [0, 0]:
        pairs = pairs[:-2]
    return ops.pad(x, pairs, mode)


@node("DepthToSpace")
def depth_to_space(a, x):
    b = a["blocksize"]
    if a.get("mode", b"DCR") == b"CRD":
        return ops.pixel_shuffle(x, b)
    n, c, h, w = x.shape
    x = ops.permute(x.reshape(n, b, b, c // b**2, h, w), [0, 3, 4, 1, 5, 2])
    return ops.clone(x).reshape(n, c // b**2, h * b, w * b)


@node("SpaceToDepth")
def space_to_depth(a, x):
    b = a["blocksize"]
    n, c, h, w = x.shape
    x = ops.permute(x.reshape(n, c, h // b, b, w // b, b), [0, 3, 5, 1, 2, 4])
    return ops.clone(x).reshape(n, c * b**2, h // b, w // b)


@node("OneHot")
def one_hot(a, at, depth, values):
    depth = int(depth.reshape(-1)[0])
    d = a.get("axis", -1) % (at.ndim + 1)
    at = ops.remainder(ops._to_copy(at, dtype="int64"), depth)
    sizes = list(at.shape[:d]) + [depth] + list(at.shape[d:])
    off = numpy.from_dlpack(ops.full(sizes, values[0].item(), dtype=str(values.dtype)))
    return ops.scatter(off, d, numpy.expand_dims(at, d), values[1].item())


@node("ConstantOfShape")
def constant_of_shape(a, sizes):
    value = a.get("value", numpy.zeros(1, "float32"))
    return ops.full(integers(sizes), value.item(), dtype=str(value.dtype))


@node("Compress")
def compress(a, x, condition):
    at = ops.nonzero(condition).reshape(-1)
    return ops.index_select(x.reshape(-1) if "axis" not in a else x, a.get("axis", 0), at)


# ---- products


@node("MatMul")
def matmul(a, x, y):
    if x.ndim == 1 or y.ndim == 1 or x.ndim == y.ndim == 2:
        return ops.mv(x, y) if y.ndim == 1 and x.ndim == 2 else ops.mm(x, y)
    batch = numpy.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = ops.clone(ops.expand(x, batch + x.shape[-2:])).reshape(-1, *x.shape[-2:])
    y = ops.clone(ops.expand(y, batch + y.shape[-2:])).reshape(-1, *y.shape[-2:])
    return ops.bmm(x, y).reshape(*batch, x.shape[-2], y.shape[-1])


@node("Gemm")
def gemm(a, x, y, c=None):
    x, y = x.T if a.get("transA") else x, y.T if a.get("transB") else y
    if c is None:
        return ops.mul(ops.mm(x, y), a.get("alpha", 1.0))
    return ops.addmm(c, x, y, beta=a.get("beta", 1.0), alpha=a.get("alpha", 1.0))


@node("Conv")
def conv(a, x, weight, bias=None):
    n = x.ndim - 2
    strides, dilations = list(a.get("strides", [1] * n)), list(a.get("dilations", [1] * n))
    x, _ = padded(a, x, weight.shape[2:], strides, dilations, 0)
    return getattr(ops, f"conv{n}d")(x, weight, bias, strides, [0] * n, dilations, a.get("group", 1))


# ---- the tests


def attributes(n):
    found = {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}
    found = {k: numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v for k, v in found.items()}
    return {**found, "op": n.op_type, "results": [r for r in n.output if r]}


def run(graph, values):
    for n in graph.node:
        if n.op_type not in NODES:
            raise NotHere(n.op_type)
        got = NODES[n.op_type](attributes(n), *(values[name] if name else None for name in n.input))
        got = got if isinstance(got, (list, tuple)) else [got]
        got = [numpy.from_dlpack(g) if isinstance(g, tvm_ffi.Tensor) else g for g in got]  # of no tensor
        if len([r for r in n.output if r]) > len(got):
            raise NotHere(f"{n.op_type} with {len(n.output)} results")
        values.update(zip(n.output, got))


def tensor(path):
    proto = onnx.TensorProto()
    proto.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(proto)


def judge(folder):
    """None, or what is wrong."""
    model = onnx.load(folder / "model.onnx")
    if any(not v.type.HasField("tensor_type") for v in (*model.graph.input, *model.graph.output)):
        raise NotHere("values that are no tensors")
    if any(v.type.tensor_type.elem_type in (onnx.TensorProto.STRING, onnx.TensorProto.BFLOAT16)
           for v in (*model.graph.input, *model.graph.output)):
        raise NotHere("strings, or bfloat16, which NumPy lacks")
    data = folder / "test_data_set_0"
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    values.update((v.name, tensor(data / f"input_{k}.pb")) for k, v in enumerate(model.graph.input))
    run(model.graph, values)
    for k, v in enumerate(model.graph.output):
        got, expected = numpy.asarray(values[v.name]), tensor(data / f"output_{k}.pb")
        if got.shape != expected.shape or got.dtype != expected.dtype:
            return f"{v.name}: {got.dtype}{list(got.shape)}, not {expected.dtype}{list(expected.shape)}"
        tolerance = {"float16": 2e-3}.get(str(got.dtype), 1e-5 if got.dtype.kind == "f" else 0)
        if "window" in folder.name:
            tolerance = 1e-4  # the data of ONNX 1.12 were made with 3.1415 for pi
        if not numpy.allclose(got, expected, rtol=10 * tolerance, atol=tolerance, equal_nan=True):
            return f"{v.name} differs"
    return None


def main():
    data = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else DATA)
    if not data.is_dir():
        print(f"skipped: no folder {data}")
        return 77
    passed, wrong, missing = [], {}, collections.Counter()
    folders = sorted(f.parent for f in data.glob("*/model.onnx"))
    for folder in folders:
        try:
            problem = judge(folder)
        except NotHere as reason:
            missing[str(reason)] += 1
        except (TypeError, NotImplementedError) as refused:  # a dtype, or a form that is not supported
            first = str(refused).splitlines()[0]
            missing["dtypes" if "dtype" in first else f"refused: {first}"] += 1
        except BufferError:  # of NumPy
            missing["booleans, which NumPy gives since 1.25"] += 1
        except (ValueError, IndexError, RuntimeError, AttributeError) as refused:
            if "Unsupported dtype in DLTensor" in str(refused):  # of NumPy
                missing["booleans, which NumPy takes since 1.25"] += 1
                continue
            wrong[folder.name] = f"{type(refused).__name__}: {str(refused).splitlines()[0]}"
        else:
            if problem is None:
                passed.append(folder.name)
            else:
                wrong[folder.name] = problem
    print(f"{len(folders)} tests: {len(passed)} passed, {len(wrong)} wrong, {missing.total()} not ours")
    for name, problem in wrong.items():
        print(f"  wrong: {name}: {problem}")
    print("not ours: " + ", ".join(f"{name} {count}" for name, count in missing.most_common()))
    return int(bool(wrong) or not passed)


if __name__ == "__main__":
    sys.exit(main())
