// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Recurrent networks: layers of LSTM, GRU and plain cells. A layer is one product of the inputs of
// all steps; a step is one product of the hidden state, and a cell.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/dropout.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/lstm_cell.hpp>
#include <flaggems/ops/nonzero.hpp>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace flaggems {

/// What lstm gives: the hidden states of all steps, and the last states.
template <class T, class D>
struct lstm_results {
  tensor<T, D> out, hy, cy;
  [[nodiscard]] auto tie() { return std::tie(out, hy, cy); }
};
/// What the other recurrent networks give.
template <class T, class D>
struct rnn_results {
  tensor<T, D> out, hy;
  [[nodiscard]] auto tie() { return std::tie(out, hy); }
};
/// What the dropout between layers draws from: a generator, or nothing, without which there is
/// none.
struct dropout_source {
  philox_generator* generator = nullptr;
  dropout_source() = default;
  dropout_source(philox_generator& given) : generator(&given) {}
};

namespace detail {

/// What is asked of a recurrent network.
struct recurrent_request {
  const char* name;
  bool has_biases;
  i64 layers;
  f64 dropout;
  bool train, bidirectional;
  [[nodiscard]] i64 directions() const { return bidirectional ? 2 : 1; }
};

/// The steps of a batch: how many sequences each has, which never grow, and where their rows begin.
struct recurrent_steps {
  std::vector<i64> sizes, begins;
  i64 rows = 0, batch = 0;

  recurrent_steps(i64 steps, i64 each) : batch(each) {
    for (i64 t = 0; t < steps; ++t) add_step(each);
  }
  /// Reads the sizes, for which it waits. Raises unless they are those of `total` rows.
  template <class S, class D>
  recurrent_steps(const char* op, const S& stream, const tensor_view<const i64, D>& list,
                  i64 total) {
    if (list.rank() != 1 || list.empty()) [[unlikely]]
      raise_sizes(op, "batch_sizes, a vector with elements", list.sizes());
    const std::vector<i64> given = read_vector(op, stream, list);
    batch = given.front();
    i64 left = total;
    for (const i64 n : given) {
      const i64 most = kernels::min_of(sizes.empty() ? batch : sizes.back(), left);
      if (n < 1 || n > most) [[unlikely]]
        raise(errc::invalid_argument, op,
              "batch_sizes that are positive, do not grow, and sum to " + text(total), text(n));
      left -= n;
      add_step(n);
    }
    if (left != 0) [[unlikely]]
      raise(errc::invalid_argument, op, "batch_sizes that sum to " + text(total),
            text(total - left));
  }

 private:
  void add_step(i64 n) {
    sizes.push_back(n);
    begins.push_back(rows);
    rows += n;
  }
};

/// The weights of a layer in one direction; a projection w_hr may be absent.
template <class T, class D>
struct recurrent_weights {
  tensor_view<const T, D> w_ih, w_hh;
  std::optional<tensor_view<const T, D>> b_ih, b_hh, w_hr;
};

/// A network: its sizes and weights, checked.
template <class Cell, class T, class D>
struct recurrent_network {
  recurrent_request ask;
  i64 hidden = 0, projected = 0;                // sizes of the cell state and the hidden state
  std::vector<recurrent_weights<T, D>> layers;  // layer by layer, a direction each

  template <class Params>
  recurrent_network(const recurrent_request& given, i64 input, i64 cell_size, i64 state_size,
                    const Params& params)
      : ask(given), hidden(cell_size), projected(state_size) {
    const char* op = ask.name;
    check_probability(op, ask.dropout);
    const i64 count = (ask.has_biases ? 4 : 2) + (is_projected() ? 1 : 0);
    const i64 all = static_cast<i64>(std::size(params));
    i64 expected = 0;
    if (ask.layers < 1 || !multiply(ask.layers, ask.directions() * count, expected) ||
        all != expected) [[unlikely]]
      raise(errc::invalid_argument, op,
            text(count) + " parameters of each of " + text(ask.layers) + " layers and " +
                text(ask.directions()) + " directions",
            text(all));
    for (i64 k = 0; k < ask.layers * ask.directions(); ++k) {
      const auto param = [&](i64 j) {
        return tensor_view<const T, D>(
            as_view(std::begin(params)[static_cast<std::ptrdiff_t>(k * count + j)]));
      };
      const i64 from = k < ask.directions() ? input : ask.directions() * projected;
      const i64 gates = Cell::gates * hidden;
      recurrent_weights<T, D> w{param(0), param(1), {}, {}, {}};
      check_cell_sizes(op, "a weight of the input", w.w_ih, {gates, from});
      check_cell_sizes(op, "a weight of the hidden state", w.w_hh, {gates, projected});
      if (ask.has_biases) {
        w.b_ih = param(2), w.b_hh = param(3);
        check_cell_sizes(op, "a bias", *w.b_ih, {gates});
        check_cell_sizes(op, "a bias", *w.b_hh, {gates});
      }
      if (is_projected()) {
        w.w_hr = param(count - 1);
        check_cell_sizes(op, "a projection", *w.w_hr, {projected, hidden});
      }
      layers.push_back(w);
    }
  }
  [[nodiscard]] bool is_projected() const { return projected != hidden; }
  /// The sizes of the states of `batch` sequences.
  [[nodiscard]] shape states(i64 batch, i64 size) const {
    return {ask.layers * ask.directions(), batch, size};
  }
};

/// Runs a layer in one direction: h [B, P] and c [B, H] are the states before it, and then those
/// after the last step of each sequence; out [rows, P].
template <class Cell, class S, class T, class D, class K>
void run_direction(const char* op, const S& stream, const recurrent_weights<T, D>& w,
                   const recurrent_steps& steps, bool reversed, const tensor_view<const T, D>& x,
                   const tensor_view<T, D>& h, const tensor_view<K, D>& c,
                   const tensor_view<T, D>& out) {
  using C = arithmetic_t<T>;
  const i64 hidden = w.w_hh.size(0) / Cell::gates, gates = w.w_hh.size(0);
  auto of_inputs = empty<C>(stream, {steps.rows, gates}, op);
  shape by_step = x.shape_of();
  by_step[by_step.rank() - 1] = gates;
  linear(stream, x, w.w_ih, w.b_ih, of_inputs.view().view(by_step));
  auto of_state = empty<C>(stream, {steps.batch, gates}, op);
  tensor<T, D> unprojected;
  if (w.w_hr) unprojected = empty<T>(stream, {steps.batch, hidden}, op);
  const std::size_t count = steps.sizes.size();
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t t = reversed ? count - 1 - k : k;
    const i64 n = steps.sizes[t];
    const auto state = h.narrow(0, 0, n), to = out.narrow(0, steps.begins[t], n);
    const auto from_state = of_state.view().narrow(0, 0, n);
    linear(stream, tensor_view<const T, D>(state), w.w_hh, w.b_hh, from_state);
    const auto made = w.w_hr ? unprojected.view().narrow(0, 0, n) : state;
    kernels::cell_step<C, T, K> step{n,
                                     hidden,
                                     cell_input_of(of_inputs.view().narrow(0, steps.begins[t], n)),
                                     cell_input_of(from_state),
                                     {nullptr, 0, 0},
                                     {nullptr, 0, 0},
                                     {nullptr, 0, 0},
                                     {nullptr, 0, 0},
                                     cell_output_of(made),
                                     {nullptr, 0, 0},
                                     {nullptr, 0, 0},
                                     {nullptr, 0, 0}};
    if (!w.w_hr) step.h = cell_input_of(state), step.output = cell_output_of(to);
    if constexpr (Cell::has_cell_state) {
      step.c = cell_input_of(c.narrow(0, 0, n));
      step.next_c = cell_output_of(c.narrow(0, 0, n));
    }
    launch_cell<Cell>(op, stream, step);
    if (!w.w_hr) continue;
    linear(stream, tensor_view<const T, D>(made), *w.w_hr, state);
    copy_into(op, stream, to, tensor_view<const T, D>(state));
  }
}

/// Runs all layers. x: [rows, F] or [steps, B, F]; h and c [layers, B, ...], first the states
/// before; out [rows, directions P].
template <class Cell, class S, class T, class D, class K>
void run_layers(const recurrent_network<Cell, T, D>& net, const S& stream,
                const recurrent_steps& steps, tensor_view<const T, D> x, const tensor_view<T, D>& h,
                const tensor_view<K, D>& c, const tensor_view<T, D>& out,
                const dropout_source& source) {
  const char* op = net.ask.name;
  const i64 directions = net.ask.directions(), count = net.ask.layers;
  const bool drops = net.ask.train && net.ask.dropout > 0 && count > 1;
  if (drops && source.generator == nullptr) [[unlikely]]
    raise(errc::invalid_argument, op, "a generator for dropout in training", "none");
  tensor<T, D> kept[2];  // outputs of the layers below, in turn
  for (i64 layer = 0; layer < count; ++layer) {
    const bool is_last = layer + 1 == count;
    tensor<T, D>& own = kept[layer % 2];
    if (!is_last && own.empty()) own = empty<T>(stream, out.shape_of(), op);
    const tensor_view<T, D> to = is_last ? out : own.view();
    for (i64 d = 0; d < directions; ++d) {
      const i64 k = layer * directions + d;
      tensor_view<K, D> cell;
      if constexpr (Cell::has_cell_state) cell = c.select(0, k);
      run_direction<Cell>(op, stream, net.layers[static_cast<std::size_t>(k)], steps, d == 1, x,
                          h.select(0, k), cell, to.narrow(1, d * net.projected, net.projected));
    }
    if (drops && !is_last)
      drop_elements<plain_kind>(op, stream, to, net.ask.dropout, true, *source.generator, to);
    x = to;
  }
}

/// The sizes of padded sequences: [steps, B, F].
template <class T, class D>
tensor_view<const T, D> by_steps(const char* op, const tensor_view<const T, D>& input,
                                 bool batch_first) {
  if (input.rank() != 3) [[unlikely]]
    raise_sizes(op, "an input of three dimensions", input.sizes());
  return batch_first ? input.transpose(0, 1) : input;
}
/// A new output [steps, B, n], or with those exchanged as ATen lays it out.
template <class T, class S, class X>
auto empty_steps(const char* op, const S& stream, const X& x, i64 n, bool batch_first) {
  const i64 steps = x.size(0), batch = x.size(1);
  const i64 row = kernels::max_of(n, i64{1}), step = row * kernels::max_of(batch, i64{1});
  if (!batch_first) return empty<T>(stream, {steps, batch, n}, op);
  return tensor<T, device_of<S>>(ref(stream), shape{batch, steps, n}, shape{row, step, 1}, op);
}
/// The same as rows, steps in order.
template <class T, class D>
tensor_view<T, D> step_rows(const tensor_view<T, D>& out, bool batch_first, i64 rows) {
  const auto steps = batch_first ? out.transpose(0, 1) : out.view();
  return steps.view({rows, steps.size(2)});
}

template <class S, class T, class D>
tensor<T, D> copied_state(const char* op, const S& stream, const tensor_view<const T, D>& x) {
  auto r = empty<T>(stream, x.shape_of(), op);
  copy_into(op, stream, r.view(), x);
  return r;
}
/// The size of a state's last dimension.
template <class X>
i64 state_size(const char* op, const X& x) {
  if (x.rank() != 3) [[unlikely]]
    raise_sizes(op, "a state [layers, B, size]", x.sizes());
  return x.size(2);
}

/// x: as run_layers; `made` gives an output of so many columns, and its rows.
template <class S, class T, class D, class States, class Params, class Made, class Rows>
lstm_results<T, D> lstm_of(const recurrent_request& ask, const S& stream,
                           const recurrent_steps& steps, const tensor_view<const T, D>& x,
                           const States& hx, const Params& params, const dropout_source& source,
                           const Made& made, const Rows& rows) {
  const char* op = ask.name;
  using C = arithmetic_t<T>;
  if (std::size(hx) != 2) [[unlikely]]
    raise(errc::invalid_argument, op, "a hidden and a cell state", text(std::size(hx)));
  const tensor_view<const T, D> h0(as_view(*std::begin(hx)));
  const tensor_view<const T, D> c0(as_view(*(std::begin(hx) + 1)));
  const recurrent_network<kernels::lstm_cell, T, D> net(ask, x.size(-1), state_size(op, c0),
                                                        state_size(op, h0), params);
  check_cell_sizes(op, "a state", h0, net.states(steps.batch, net.projected));
  check_cell_sizes(op, "a state", c0, net.states(steps.batch, net.hidden));
  lstm_results<T, D> r{made(ask.directions() * net.projected), copied_state(op, stream, h0),
                       copied_state(op, stream, c0)};
  const auto run = [&](const auto& cells) {
    run_layers(net, stream, steps, x, r.hy.view(), cells, rows(r.out.view()), source);
  };
  if constexpr (std::is_same_v<T, C>) {
    run(r.cy.view());
  } else {  // 16-bit cell states are rounded once, at the end
    auto cells = copied<C>(op, stream, c0);
    run(cells.view());
    assign(stream, r.cy, cast<T>(cells), op);
  }
  return r;
}
template <class Cell, class S, class T, class D, class Params, class Made, class Rows>
rnn_results<T, D> rnn_of(const recurrent_request& ask, const S& stream,
                         const recurrent_steps& steps, const tensor_view<const T, D>& x,
                         const tensor_view<const T, D>& hx, const Params& params,
                         const dropout_source& source, const Made& made, const Rows& rows) {
  const char* op = ask.name;
  const i64 hidden = state_size(op, hx);
  const recurrent_network<Cell, T, D> net(ask, x.size(-1), hidden, hidden, params);
  check_cell_sizes(op, "a state", hx, net.states(steps.batch, hidden));
  rnn_results<T, D> r{made(ask.directions() * hidden), copied_state(op, stream, hx)};
  run_layers(net, stream, steps, x, r.hy.view(), tensor_view<T, D>(), rows(r.out.view()), source);
  return r;
}

/// Calls f(steps, x, made, rows) for padded sequences.
template <class S, class T, class D, class F>
auto with_padded(const char* op, const S& stream, const tensor_view<const T, D>& input,
                 bool batch_first, const F& f) {
  const auto x = by_steps(op, input, batch_first);
  if (x.size(0) == 0) [[unlikely]]
    raise_sizes(op, "at least one step", input.sizes());
  return f(
      recurrent_steps(x.size(0), x.size(1)), x,
      [&](i64 n) { return empty_steps<T>(op, stream, x, n, batch_first); },
      [&](const auto& out) { return step_rows(out, batch_first, x.size(0) * x.size(1)); });
}
/// The same for packed ones.
template <class S, class T, class D, class F>
auto with_packed(const char* op, const S& stream, const tensor_view<const T, D>& data,
                 const tensor_view<const i64, D>& batch_sizes, const F& f) {
  if (data.rank() != 2) [[unlikely]]
    raise_sizes(op, "packed sequences [rows, F]", data.sizes());
  const recurrent_steps steps(op, stream, batch_sizes, data.size(0));
  return f(
      steps, data,
      [&](i64 n) {
        return empty<T>(stream, {data.size(0), n}, op);
      },
      [](const auto& out) { return out; });
}

}  // namespace detail

/// Layers of LSTM cells over sequences of equal length, in new tensors: out has the hidden states
/// of the last layer at all steps, hy and cy are the states after the last step.
///
/// input [L, B, F], or [B, L, F] with batch_first, and out with P columns a direction; hx: h [D, B,
/// P] and c [D, B, H], D = num_layers times directions; params: of each layer, then direction, w_ih
/// [4 H, F or the columns below], w_hh [4 H, P], with has_biases two [4 H], and where P is not H a
/// projection [P, H]; the gates' rows are i, f, g, o. One floating-point dtype; gates and 16-bit
/// cell states are in f32. In training the outputs of all layers but the last go through dropout,
/// which takes a generator. Raises invalid_argument or shape_mismatch before anything is written.
/// aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers,
/// float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, class States, class Params>
requires(!tensor_like<States>)
    [[nodiscard]] auto lstm(const S& stream, const X& input, const States& hx, const Params& params,
                            bool has_biases, i64 num_layers, f64 dropout, bool train,
                            bool bidirectional, bool batch_first,
                            const dropout_source& source = {}) {
  same_device<S, X>();
  using V = tensor_view<const value_t<const X&>, device_of<S>>;
  const detail::recurrent_request ask{"lstm",  has_biases, num_layers,
                                      dropout, train,      bidirectional};
  return detail::with_padded(
      "lstm", stream, V(as_view(input)), batch_first,
      [&](const auto& steps, const auto& x, const auto& made, const auto& rows) {
        return detail::lstm_of(ask, stream, steps, x, hx, params, source, made, rows);
      });
}
/// The same over packed sequences of several lengths: data [rows, F] has the elements of all at
/// step 0, then those at step 1, and so on; batch_sizes, of i64, how many sequences have each step,
/// for which it waits. out [rows, ...]; the states are those after each sequence's own last step.
/// aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases,
/// int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, tensor_like Sizes, class States, class Params>
requires(!tensor_like<States>)
    [[nodiscard]] auto lstm(const S& stream, const X& data, const Sizes& batch_sizes,
                            const States& hx, const Params& params, bool has_biases, i64 num_layers,
                            f64 dropout, bool train, bool bidirectional,
                            const dropout_source& source = {}) {
  same_device<S, X, Sizes>();
  using D = device_of<S>;
  const detail::recurrent_request ask{"lstm",  has_biases, num_layers,
                                      dropout, train,      bidirectional};
  return detail::with_packed(
      "lstm", stream, tensor_view<const value_t<const X&>, D>(as_view(data)),
      tensor_view<const i64, D>(as_view(batch_sizes)),
      [&](const auto& steps, const auto& x, const auto& made, const auto& rows) {
        return detail::lstm_of(ask, stream, steps, x, hx, params, source, made, rows);
      });
}

// One line an operator: name, and its cell.
#define FLAGGEMS_RECURRENT(name, cell)                                                             \
  template <stream_like S, tensor_like X, tensor_like H, class Params>                             \
  requires(!tensor_like<Params>) [[nodiscard]] auto name(                                          \
      const S& stream, const X& input, const H& hx, const Params& params, bool has_biases,         \
      i64 num_layers, f64 dropout, bool train, bool bidirectional, bool batch_first,               \
      const dropout_source& source = {}) {                                                         \
    same_device<S, X, H>();                                                                        \
    using V = tensor_view<const value_t<const X&>, device_of<S>>;                                  \
    const detail::recurrent_request ask{#name,   has_biases, num_layers,                           \
                                        dropout, train,      bidirectional};                       \
    return detail::with_padded(                                                                    \
        #name, stream, V(as_view(input)), batch_first,                                             \
        [&](const auto& steps, const auto& x, const auto& made, const auto& rows) {                \
          return detail::rnn_of<kernels::cell>(ask, stream, steps, x, V(as_view(hx)), params,      \
                                               source, made, rows);                                \
        });                                                                                        \
  }                                                                                                \
  template <stream_like S, tensor_like X, tensor_like Sizes, tensor_like H, class Params>          \
  requires(!tensor_like<Params>) [[nodiscard]] auto name(                                          \
      const S& stream, const X& data, const Sizes& batch_sizes, const H& hx, const Params& params, \
      bool has_biases, i64 num_layers, f64 dropout, bool train, bool bidirectional,                \
      const dropout_source& source = {}) {                                                         \
    same_device<S, X, Sizes, H>();                                                                 \
    using V = tensor_view<const value_t<const X&>, device_of<S>>;                                  \
    const detail::recurrent_request ask{#name,   has_biases, num_layers,                           \
                                        dropout, train,      bidirectional};                       \
    return detail::with_packed(                                                                    \
        #name, stream, V(as_view(data)),                                                           \
        tensor_view<const i64, device_of<S>>(as_view(batch_sizes)),                                \
        [&](const auto& steps, const auto& x, const auto& made, const auto& rows) {                \
          return detail::rnn_of<kernels::cell>(ask, stream, steps, x, V(as_view(hx)), params,      \
                                               source, made, rows);                                \
        });                                                                                        \
  }

/// Layers of gated recurrent units, with two forms as lstm: gates r, z, n; n = tanh(the input's
/// part + r times the state's), h' = n + z (h - n). aten::gru.input(Tensor input, Tensor hx,
/// Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional,
/// bool batch_first) -> (Tensor, Tensor)
FLAGGEMS_RECURRENT(gru, gru_cell)
/// Layers of h' = tanh(w_ih x + w_hh h + biases), with two forms as lstm.
/// aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers,
/// float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
FLAGGEMS_RECURRENT(rnn_tanh, rnn_tanh_cell)
/// Layers of h' = relu(w_ih x + w_hh h + biases), with two forms as lstm.
/// aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers,
/// float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
FLAGGEMS_RECURRENT(rnn_relu, rnn_relu_cell)
#undef FLAGGEMS_RECURRENT

}  // namespace flaggems
