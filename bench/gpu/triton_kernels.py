# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels as a user of Triton writes them, after its tutorials: a program a row, the row in registers."""
import torch
import triton
import triton.language as tl


@triton.jit
def _add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


def add(x, y, out):
    n = x.numel()
    _add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)


@triton.jit
def _copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


def copy(x, out):
    n = x.numel()
    _copy[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)


@triton.jit
def _gate(x, out, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(1).to(tl.int64), tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(x + row * 2 * n + at, mask=at < n).to(tl.float32)
    up = tl.load(x + row * 2 * n + n + at, mask=at < n).to(tl.float32)
    tl.store(out + row * n + at, (gate * tl.sigmoid(gate) * up).to(out.dtype.element_ty), mask=at < n)


def gate(x, out):
    """silu of the first half of each row times the second."""
    rows, n = out.shape
    _gate[(triton.cdiv(n, 1024), rows)](x, out, n, BLOCK=1024)


@triton.jit
def _softmax(x, out, n, LOG: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row + at, mask=at < n, other=-float("inf")).to(tl.float32)
    v = v - tl.max(v, 0)
    e = tl.exp(v)
    s = tl.sum(e, 0)
    tl.store(out + row + at, v - tl.log(s) if LOG else e / s, mask=at < n)


@triton.jit
def _norm(x, weight, bias, out, residual, n, LAYER: tl.constexpr, ADD: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    at = tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        v += tl.load(residual + row + at, mask=inside, other=0.0).to(tl.float32)
        v = v.to(out.dtype.element_ty)
        tl.store(residual + row + at, v, mask=inside)
        v = v.to(tl.float32)
    if LAYER:
        v = tl.where(inside, v - tl.sum(v, 0) / n, 0.0)
    v *= tl.rsqrt(tl.sum(v * v, 0) / n + 1e-5)
    v *= tl.load(weight + at, mask=inside).to(tl.float32)
    if LAYER:
        v += tl.load(bias + at, mask=inside).to(tl.float32)
    tl.store(out + row + at, v, mask=inside)


def _launch(n):
    block = triton.next_power_of_2(n)
    return {"BLOCK": block, "num_warps": 1 if block <= 256 else 4 if block <= 2048 else 8 if block <= 8192 else 16 if
            block <= 16384 else 32}


def softmax(x, out):
    rows, n = x.shape
    _softmax[(rows,)](x, out, n, LOG=False, **_launch(n))


def log_softmax(x, out):
    rows, n = x.shape
    _softmax[(rows,)](x, out, n, LOG=True, **_launch(n))


def layer_norm(x, weight, bias, out):
    rows, n = x.shape
    _norm[(rows,)](x, weight, bias, out, x, n, LAYER=True, ADD=False, **_launch(n))


def rms_norm(x, weight, out):
    rows, n = x.shape
    _norm[(rows,)](x, weight, weight, out, x, n, LAYER=False, ADD=False, **_launch(n))


def fused_add_rms_norm(weight, x, residual):
    rows, n = x.shape
    _norm[(rows,)](x, weight, weight, x, residual, n, LAYER=False, ADD=True, **_launch(n))


@triton.jit
def _rope(q, k, cos, sin, q_out, k_out, heads: tl.constexpr, key_heads: tl.constexpr, HALF: tl.constexpr,
          HEADS: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, HALF)[None, :]
    c = tl.load(cos + token * HALF + at).to(tl.float32)
    s = tl.load(sin + token * HALF + at).to(tl.float32)
    head = tl.arange(0, HEADS)[:, None]
    here = token * heads * 2 * HALF + head * 2 * HALF + at
    a = tl.load(q + here, mask=head < heads).to(tl.float32)
    b = tl.load(q + here + HALF, mask=head < heads).to(tl.float32)
    tl.store(q_out + here, a * c - b * s, mask=head < heads)
    tl.store(q_out + here + HALF, b * c + a * s, mask=head < heads)
    here = token * key_heads * 2 * HALF + head * 2 * HALF + at
    a = tl.load(k + here, mask=head < key_heads).to(tl.float32)
    b = tl.load(k + here + HALF, mask=head < key_heads).to(tl.float32)
    tl.store(k_out + here, a * c - b * s, mask=head < key_heads)
    tl.store(k_out + here + HALF, b * c + a * s, mask=head < key_heads)


def rope(q, k, cos, sin, q_out, k_out):
    tokens, heads, size = q.shape
    _rope[(tokens,)](q, k, cos, sin, q_out, k_out, heads, k.shape[1], size // 2, triton.next_power_of_2(heads))


@triton.jit
def _transpose(x, out, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + r[:, None] * columns + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < columns))
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(v), mask=(c[:, None] < columns) & (r[None, :] < rows))


def transpose(x, out):
    columns, rows = x.shape  # x is the transposed view
    _transpose[(triton.cdiv(columns, 64), triton.cdiv(rows, 64))](x, out, rows, columns, BLOCK=64)


def _product_tiles():
    """What the tutorial on products tries, and some larger tiles."""
    for m, n, k, stages, warps in ((128, 256, 64, 3, 8), (128, 256, 64, 4, 8), (256, 128, 64, 3, 8), (128, 128, 64, 4, 4),
                                   (128, 128, 64, 3, 8), (128, 128, 32, 4, 4), (64, 256, 32, 4, 4), (128, 64, 64, 4, 4),
                                   (64, 128, 64, 4, 4)):
        yield triton.Config({"M": m, "N": n, "K": k}, num_stages=stages, num_warps=warps)


@triton.autotune(configs=list(_product_tiles()), key=["m", "n", "k"])
@triton.jit
def _product(a, b, out, m, n, k, a_row, b_row, out_row, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    # Eight tiles of rows at a time, so that those at work share tiles of b.
    id = tl.program_id(0)
    columns = tl.cdiv(n, N)
    first = id // (8 * columns) * 8
    lines = min(tl.cdiv(m, M) - first, 8)
    row = first + id % (8 * columns) % lines
    column = id % (8 * columns) // lines
    rows, across, along = row * M + tl.arange(0, M), column * N + tl.arange(0, N), tl.arange(0, K)
    left = a + rows[:, None] * a_row + along[None, :]
    right = b + along[:, None] * b_row + across[None, :]
    sums = tl.zeros((M, N), tl.float32)
    for _ in range(0, tl.cdiv(k, K)):
        sums = tl.dot(tl.load(left), tl.load(right), sums)
        left += K
        right += K * b_row
    tl.store(out + rows[:, None] * out_row + across[None, :], sums.to(out.dtype.element_ty))


def product(a, b, out):
    """out = a b of rows, whose sizes are multiples of all tiles."""
    (m, k), n = a.shape, b.shape[1]
    _product[lambda tile: (triton.cdiv(m, tile["M"]) * triton.cdiv(n, tile["N"]),)](
        a, b, out, m, n, k, a.stride(0), b.stride(0), out.stride(0))


@triton.jit
def _read(x, sums, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK * STEPS
    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(STEPS):
        at = start + k * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(sums + tl.program_id(0), tl.sum(total, 0))


def read(x, sums):
    """Reads all of x (f32): what reading costs."""
    block, steps = 2048, 4
    _read[(triton.cdiv(x.numel(), block * steps),)](x, sums, x.numel(), BLOCK=block, STEPS=steps, num_warps=8)


def read_sums(n):
    return torch.empty(triton.cdiv(n, 8192), device="cuda")
