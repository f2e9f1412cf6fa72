# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of recurrent networks and of gradients whose ATen operators no OpInfo calls, or have no kernel for the CPU.
(reference, samples, dtypes) as rows.Row has them."""
import torch

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
EXACT = (torch.float32, torch.float64)


# ---- recurrent networks


def parameters(gates, hidden, width, layers, directions, biases, dtype, projected=None):
    state = projected or hidden
    for layer in range(layers):
        for _ in range(directions):
            yield torch.randn(gates * hidden, width if layer == 0 else directions * state, dtype=dtype) / 4
            yield torch.randn(gates * hidden, state, dtype=dtype) / 4
            if biases:
                yield torch.randn(gates * hidden, dtype=dtype)
                yield torch.randn(gates * hidden, dtype=dtype)
            if projected:
                yield torch.randn(projected, hidden, dtype=dtype) / 4


def network_samples(gates, packed):
    """Of an LSTM (four gates), with projections, or another network."""
    def samples(dtype):
        for layers, both, biases, first, projected in ((1, False, True, False, None), (2, True, False, True, None),
                                                       (3, False, True, True, None), (2, True, True, False, 3)):
            if projected and gates != 4:
                continue
            directions, hidden, width, batch = 1 + both, 5, 4, 3
            states = [torch.randn(layers * directions, batch, size, dtype=dtype)
                      for size in ((projected or hidden, hidden) if gates == 4 else (hidden,))]
            weights = list(parameters(gates, hidden, width, layers, directions, biases, dtype, projected))
            rest = (states if gates == 4 else states[0], weights, biases, layers, 0.0, layers == 3, both)
            if packed:
                yield (torch.randn(9, width, dtype=dtype), torch.tensor([3, 2, 2, 1, 1]), *rest)
            else:
                yield (torch.randn(batch, 6, width, dtype=dtype), *rest, first) if first else \
                    (torch.randn(6, batch, width, dtype=dtype), *rest, first)
    return samples


def lstm_cell(gates, more, cx, bias=None, other=None):
    kept = cx.dtype if cx.dtype == torch.float64 else torch.float32
    total = gates.to(kept) + more.to(kept)
    if bias is not None:
        total = total + bias.to(kept) + other.to(kept)
    i, f, g, o = total.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx.to(kept) + i * g
    return (o * cy.tanh()).to(cx.dtype), cy.to(cx.dtype), torch.cat((i, f, g, o), 1).to(cx.dtype)


def lstm_cell_samples(dtype):
    for batch, hidden in ((3, 5), (1, 300), (0, 4)):
        gates, more = (torch.randn(batch, 4 * hidden, dtype=dtype) for _ in range(2))
        cx = torch.randn(batch, hidden, dtype=dtype)
        yield (gates, more, cx)
        yield (gates, more, cx, torch.randn(4 * hidden, dtype=dtype), torch.randn(4 * hidden, dtype=dtype))


def lstm_cell_gradients(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    """By the definition: cy is what was given, the gates are those of the workspace."""
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    bent = cy.tanh()
    by_h = torch.zeros_like(cx) if grad_hy is None else grad_hy
    by_c = by_h * o * (1 - bent.square()) + (0 if grad_cy is None else grad_cy)
    grads = torch.cat((by_c * g * (1 - i) * i, by_c * cx * (1 - f) * f, by_c * i * (1 - g.square()),
                       by_h * bent * (1 - o) * o), 1)
    return grads, by_c * f, grads.sum(0) if has_bias else None


def lstm_cell_gradients_samples(dtype):
    for gates, more, cx in (s for s in lstm_cell_samples(dtype) if len(s) == 3):
        hy, cy, workspace = lstm_cell(gates, more, cx)
        by_h, by_c = torch.randn_like(hy), torch.randn_like(cy)
        yield (by_h, by_c, cx, cy, workspace, True)
        yield (by_h, None, cx, cy, workspace, False)
        yield (None, by_c, cx, cy, workspace, True)


# ---- the gated delta rule, token by token


def kept(x):
    return x if x.dtype == torch.float64 else x.float()


def unit(x):
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


def fading(q, k, v, g, beta, state):
    """The outputs of a sequence [T, H, ...] and the states after all of its tokens."""
    out, states = [], []
    for t in range(len(q)):
        state = state * g[t].exp()[:, None, None]
        change = beta[t] * (v[t] - torch.einsum("hk,hkv->hv", k[t], state))
        state = state + torch.einsum("hk,hv->hkv", k[t], change)
        out.append(torch.einsum("hk,hkv->hv", q[t], state))
        states.append(state)
    return torch.stack(out) if out else v, states


def prepared(q, k, v, g, beta, scale, normalizes):
    more = v.shape[2] // q.shape[2]
    q, k, v, beta = kept(q), kept(k), kept(v), kept(beta)
    if normalizes:
        q, k = unit(q), unit(k)
    beta = beta.unsqueeze(-1) if beta.dim() == 3 else beta
    return (q * scale).repeat_interleave(more, 2), k.repeat_interleave(more, 2), v, kept(g), beta


def pieces(q, starts):
    if starts is None:
        return [(b, 0, q.shape[1]) for b in range(len(q))]
    return [(0, int(a), int(b)) for a, b in zip(starts[:-1], starts[1:])]


def delta_rule(q, k, v, g, beta, scale, state, keeps, starts=None, normalizes=False):
    new = prepared(q, k, v, g, beta, scale, normalizes)
    out, last = torch.empty_like(new[2]), []
    for n, (b, begin, end) in enumerate(pieces(q, starts)):
        first = kept(state[n]) if state is not None else new[2].new_zeros(v.shape[2], q.shape[3], v.shape[3])
        out[b, begin:end], states = fading(*(x[b, begin:end] for x in new), first)
        last.append([first, *states][-1])
    return out.to(q.dtype), torch.stack(last) if keeps else None


def delta_rule_by_heads(q, k, v, beta, g, _chunk, state=None, keeps=False, starts=None, head_first=True, scale=None,
                        normalizes=False):
    if head_first:
        q, k, v, beta, g = (x.transpose(1, 2) for x in (q, k, v, beta, g))
    out, last = delta_rule(q, k, v, g, beta, q.shape[-1] ** -0.5 if scale is None else scale, state, keeps, starts, normalizes)
    return out.transpose(1, 2).contiguous() if head_first else out, last


def delta_rule_in_slots(q, k, v, g, beta, scale, state, in_place=True, starts=None, slots=None, accepted=None,
                        normalizes=False):
    new = prepared(q, k, v, g, beta, scale, normalizes)
    out, all_states, before = torch.empty_like(new[2]), [], state.clone()
    for n, (b, begin, end) in enumerate(pieces(q, starts)):
        own = [n] * (end - begin) if slots is None else slots[n].tolist() if slots.dim() == 2 else [int(slots[n])] * (end - begin)
        out[b, begin:end], states = fading(*(x[b, begin:end] for x in new),
                                           kept(before[own[0 if accepted is None else int(accepted[n]) - 1]]))
        all_states += states
        if in_place:
            for slot, after in zip(own, states):
                state[slot] = after
    return out.to(q.dtype), None if in_place else torch.stack(all_states).to(state.dtype)


def delta_operands(dtype, batch, tokens, heads, more, keys, values):
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    q, k = (unit(torch.randn(batch, tokens, heads, keys)).to(dtype) for _ in range(2))
    v, beta = torch.randn(batch, tokens, heads * more, values, dtype=dtype), torch.rand(batch, tokens, heads * more).to(dtype)
    g = -torch.rand(batch, tokens, heads * more, dtype=wide)
    return q, k, v, g, beta, lambda n: torch.randn(n, heads * more, keys, values, dtype=wide)


def delta_rule_samples(dtype):
    q, k, v, g, beta, states = delta_operands(dtype, 2, 70, 2, 1, 5, 7)
    yield (q, k, v, g, beta, 0.5, None, False)
    yield (q, k, v, g, beta, 0.5, states(2), True)
    q, k, v, g, beta, states = delta_operands(dtype, 1, 80, 1, 2, 8, 3)
    yield (q, k, v, g, beta, 1.0, states(3), True, torch.tensor([0, 9, 9, 80]))


def delta_rule_by_heads_samples(dtype):
    for first in (True, False):
        q, k, v, g, beta, states = delta_operands(dtype, 2, 21, 2, 1, 5, 4)
        given = [x.transpose(1, 2) if first else x for x in (q, k * 3, v, beta, g)]
        yield (*given, 8, states(2), True, None, first, 0.3, True)
        yield (*given, 64, None, False, None, first, None, True)


def delta_rule_in_slots_samples(dtype):
    q, k, v, g, beta, states = delta_operands(dtype, 3, 2, 2, 2, 6, 70)
    yield (q, k, v, g, beta, 0.5, states(3))
    yield (q, k, v, g, beta, 0.5, states(3), False)
    yield (q, k * 2, v, g, beta, 0.5, states(5), True, None, torch.tensor([4, 0, 2]), None, True)
    yield (q, k, v, g, torch.rand_like(v), 0.5, states(7), True, None, torch.tensor([[4, 0], [2, 3], [1, 6]]),
           torch.tensor([1, 2, 1]))
    q, k, v, g, beta, states = delta_operands(dtype, 1, 7, 1, 1, 4, 3)
    yield (q, k, v, g, beta, 1.0, states(2), True, torch.tensor([0, 3, 7]))


# ---- alignments of labels to steps


def sequences(dtype):
    """log_probs, targets padded and one behind the other, lengths of inputs and targets."""
    for steps, classes, inputs, labels in ((9, 5, [9, 9, 9], [3, 0, 4]), (4, 3, [4, 4], [2, 4]), (1, 4, [1, 1], [1, 0])):
        x = torch.randn(steps, len(inputs), classes, dtype=dtype).log_softmax(-1)
        padded = torch.randint(1, classes, (len(labels), max(labels)))
        padded[0, 1:3] = padded[0, 0]
        yield x, padded, torch.cat([row[:n] for row, n in zip(padded, labels)]), inputs, labels


def alignments(backward, tensors=False):
    """(Of inputs of all steps: what ATen has behind a sequence's end is not written.)"""
    def samples(dtype):
        for x, padded, joined, inputs, labels in sequences(dtype):
            lengths = [torch.tensor(n) if tensors else n for n in (inputs, labels)]
            for targets in (padded, joined):
                if backward:
                    losses, alpha = torch._ctc_loss(x, targets, inputs, labels, 0)
                    yield (torch.randn_like(losses), x, targets, *lengths, losses, alpha, 0, True)
                elif len(set(labels)) == 1 or len(labels) == 2 and max(labels) == 4:
                    yield (x[:, 1:], padded[1:], *(n[1:] for n in lengths), 0)
    return samples


def reduced_alignments(tensors):
    def samples(dtype):
        for x, padded, joined, inputs, labels in sequences(dtype):
            inputs = [max(1, n - k) for k, n in enumerate(inputs)]
            lengths = [torch.tensor(n) if tensors else n for n in (inputs, labels)]
            for targets in (padded, joined):
                for reduction in (0, 1, 2):
                    yield (x, targets, *lengths, 0, reduction, reduction != 1)
    return samples


# ---- gradients, and other names of convolutions and norms


def linear_gradients(x, grad, weight, mask):
    flat = x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
    return (grad @ weight if mask[0] else None, flat[1].t() @ flat[0] if mask[1] else None,
            flat[1].sum(0) if mask[2] else None)


def linear_gradients_samples(dtype):
    for sizes in ((4,), (2, 3), (7,), ()):
        x, grad = torch.randn(*sizes, 5, dtype=dtype), torch.randn(*sizes, 6, dtype=dtype)
        weight = torch.randn(6, 5, dtype=dtype)
        yield (x, grad, weight, [True, True, True])
        yield (x, grad, weight, [len(sizes) == 1, False, True])
    yield (torch.randn(3, 5, dtype=dtype).t(), torch.randn(6, 5, dtype=dtype).t(), torch.randn(6, 3, dtype=dtype),
           [True, True, True])


def convolutions(dtype):
    """x, weight, bias, stride, padding, dilation, groups."""
    for x, weight, numbers in (((2, 4, 7, 6), (6, 2, 3, 2), ([2, 1], [1, 0], [1, 2], 2)),
                               ((2, 3, 9), (4, 3, 3), ([2], [1], [1], 1)), ((1, 2, 4, 5, 4), (2, 2, 2, 3, 1), ([1, 2, 1], [0, 1, 0], [1, 1, 2], 1)),
                               ((2, 4, 5, 5), (4, 1, 3, 3), ([1, 1], [1, 1], [1, 1], 4))):
        yield torch.randn(x, dtype=dtype), torch.randn(weight, dtype=dtype), torch.randn(weight[0], dtype=dtype), *numbers


def convolved_samples(dtype):
    for x, weight, _, stride, padding, dilation, groups in convolutions(dtype):
        yield (x, weight, padding, stride, dilation, groups, False, True, False)


def modes_samples(dtype):
    for x, weight, bias, stride, _, dilation, groups in convolutions(dtype):
        yield (x, weight, bias, stride, "valid", dilation, groups)
        yield (x, weight, None, [1] * len(stride), "same", dilation, groups)


def second_gradients_samples(dtype):
    for x, weight, bias, stride, padding, dilation, groups in convolutions(dtype):
        for transposed in (False, True):
            more = [0 if s == 1 else 1 for s in stride] if transposed else [0] * len(stride)
            if transposed:
                x = torch.randn(x.shape[0], weight.shape[0], *x.shape[2:], dtype=dtype)
            out = torch.convolution(x, weight, None, stride, padding, dilation, transposed, more, groups)
            given = torch.randn_like(x), torch.randn_like(weight), torch.randn(out.shape[1], dtype=dtype)
            for wanted in ((1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)):
                yield (*(g if w else None for g, w in zip(given, wanted)), torch.randn_like(out), weight, x, stride, padding,
                       dilation, transposed, more, groups, [True, False, True])


def pairs_samples(dtype):
    for sizes in ((5, 3), (2, 4), (1, 3), (6, 1)):
        x = torch.randn(sizes, dtype=dtype)
        if sizes[0] == 5:
            x[3] = x[1]
        for p in (2.0, 1.0, 3.0, 0.0, 1.5, float("inf")):
            distances = torch.pdist(x, p)
            yield (torch.randn_like(distances), x, p, distances)


def bags(dtype):
    """weight, indices, offsets, offset2bag, bag_size, maximum_indices of a mode, and weights of samples."""
    for mode in (0, 1, 2):
        for padding in (-1, 2):
            weight, indices = torch.randn(6, 5, dtype=dtype), torch.tensor([1, 2, 4, 4, 0, 2, 5, 1])
            offsets = torch.tensor([0, 3, 3, 7])
            by = torch.rand(8, dtype=dtype) if mode == 0 else None
            out, bag_of, sizes, most = torch._embedding_bag(weight, indices, offsets, False, mode, False, by, False, padding)
            if not bag_of.numel():
                bag_of = torch.tensor([0, 0, 0, 2, 2, 2, 2, 3])
            yield mode, padding, weight, indices, offsets, bag_of, sizes, most, by, torch.randn_like(out)


def bag_samples(dtype):
    for mode, padding, weight, indices, _, bag_of, sizes, most, by, grad in bags(dtype):
        for scaled in ((False, True) if mode < 2 else (False,)):
            yield (grad, indices, bag_of, sizes, most, len(weight), scaled, mode, by, padding)


def bag_weights_samples(dtype):
    for mode, padding, weight, indices, offsets, bag_of, _, _, _, grad in bags(dtype):
        if mode == 0:
            yield (grad, weight, indices, offsets, bag_of, mode, padding)
            yield (grad, weight, indices, offsets, torch.empty(0, dtype=torch.int64), mode, padding)


def fractional_samples(dtype):
    for sizes, kernel, output in (((2, 3, 7, 9), [2, 3], [4, 5]), ((3, 6, 5), [3, 1], [1, 5])):
        x, samples = torch.randn(sizes, dtype=dtype), torch.rand(1 if len(sizes) == 3 else 2, 3, 2, dtype=dtype)
        out, indices = torch.ops.aten.fractional_max_pool2d(x, kernel, output, samples)
        yield (torch.randn_like(out), x, kernel, output, indices)


def norms(dtype):
    """input, weight, bias, mean, variance, training."""
    for sizes in ((4, 3), (2, 3, 5), (2, 3, 4, 2)):
        for training in (True, False):
            yield (torch.randn(sizes, dtype=dtype), torch.randn(3, dtype=dtype), torch.randn(3, dtype=dtype),
                   torch.randn(3, dtype=dtype), torch.rand(3, dtype=dtype) + 0.5, training)


def norm_with_reserve(x, weight, bias, mean, variance, training, momentum, eps, _cudnn):
    r = torch.native_batch_norm(x, weight, bias, mean, variance, training, momentum, eps)
    if not training:
        r = r[0], mean, torch.rsqrt(variance + eps)
    return *r, torch.empty(0, dtype=torch.uint8)


def norm_gradients_samples(dtype):
    for x, weight, bias, mean, variance, training in norms(dtype):
        _, kept, inverse = torch.native_batch_norm(x, weight, bias, mean.clone(), variance.clone(), training, 0.1, 1e-5)
        if not training:
            kept, inverse = mean, variance  # which are not read
        for mask in ([True, True, True], [False, True, False]):
            yield (0, x, torch.randn_like(x), weight, mean, variance, kept, inverse, training, 1e-5, mask,
                   torch.empty(0, dtype=torch.uint8))


NETWORKS = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}

ROWS = {
    **{f"{name}.{form}": (None, network_samples(gates, form == "data"), FLOATS)
       for name, gates in NETWORKS.items() for form in ("input", "data")},
    "_thnn_fused_lstm_cell": (lstm_cell, lstm_cell_samples, FLOATS),
    "_thnn_fused_lstm_cell_backward_impl": (lstm_cell_gradients, lstm_cell_gradients_samples, EXACT),
    "linear_backward": (linear_gradients, linear_gradients_samples, EXACT),
    "cudnn_convolution": (lambda x, weight, padding, stride, dilation, groups, *_: torch.convolution(
        x, weight, None, stride, padding, dilation, False, [0], groups), convolved_samples, EXACT),
    "_convolution_mode": (None, modes_samples, EXACT),
    "_convolution_double_backward": (None, second_gradients_samples, EXACT),
    "_pdist_backward": (None, pairs_samples, EXACT),
    "_embedding_bag_dense_backward": (None, bag_samples, EXACT),
    "_embedding_bag_per_sample_weights_backward": (None, bag_weights_samples, EXACT),
    "fractional_max_pool2d_backward": (None, fractional_samples, FLOATS),
    "flaggems::batch_norm_impl_index": (norm_with_reserve, lambda dtype: [(*n, 0.1, 1e-5, True) for n in norms(dtype)], EXACT),
    "_batch_norm_impl_index_backward": (None, norm_gradients_samples, EXACT),
    "flaggems::chunk_gated_delta_rule_fwd": (delta_rule, delta_rule_samples, FLOATS),
    "flaggems::chunk_gated_delta_rule": (delta_rule_by_heads, delta_rule_by_heads_samples, FLOATS),
    "flaggems::fused_recurrent_gated_delta_rule_fwd": (delta_rule_in_slots, delta_rule_in_slots_samples, FLOATS),
    "_ctc_loss_backward": (None, alignments(True), EXACT),
    "_ctc_loss_backward.Tensor": (None, alignments(True, True), EXACT),
    "_ctc_loss": (None, alignments(False), EXACT),
    "_ctc_loss.Tensor": (None, alignments(False, True), EXACT),
    "ctc_loss.IntList": (None, reduced_alignments(False), EXACT),
    "ctc_loss.Tensor": (None, reduced_alignments(True), EXACT),
}
