// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Cells of recurrent networks: what a step makes of its gates, all outputs of an element in one
// pass. A cell is its mathematics alone; one kernel runs all of them.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// What a cell makes of an element: its hidden state, and its cell state where it has one.
template <class V>
struct cell_state {
  V h, c;
};

// A cell has `gates`, in ATen's order, which come from the input and from the state before; the
// two parts are summed but where a cell says otherwise. `step` leaves the gates' values in `from`.

/// c' = f c + i g, h' = o tanh(c') of the gates i, f, g, o.
struct lstm_cell {
  static constexpr int gates = 4;
  static constexpr bool has_cell_state = true;
  template <class V, class Gates>
  FLAGGEMS_INLINE static cell_state<V> step(Gates& from, const Gates& state, const V&, const V& c) {
    for (int k = 0; k < 4; ++k) {
      const V x = from[k] + state[k];
      from[k] = k == 2 ? tanh(x) : sigmoid(x);
    }
    const V next = fma(from[1], c, from[0] * from[2]);
    return {from[3] * tanh(next), next};
  }
};
/// h' = n + z (h - n), n = tanh(the input's part + r the state's), of the gates r, z, n.
struct gru_cell {
  static constexpr int gates = 3;
  static constexpr bool has_cell_state = false;
  template <class V, class Gates>
  FLAGGEMS_INLINE static cell_state<V> step(Gates& from, const Gates& state, const V& h,
                                            const V& c) {
    for (int k = 0; k < 2; ++k) from[k] = sigmoid(from[k] + state[k]);
    from[2] = tanh(fma(from[0], state[2], from[2]));
    return {fma(from[1], h - from[2], from[2]), c};
  }
};
/// h' = tanh of its one gate.
struct rnn_tanh_cell {
  static constexpr int gates = 1;
  static constexpr bool has_cell_state = false;
  template <class V, class Gates>
  FLAGGEMS_INLINE static cell_state<V> step(Gates& from, const Gates& state, const V&, const V& c) {
    from[0] = tanh(from[0] + state[0]);
    return {from[0], c};
  }
};
/// h' = relu of its one gate.
struct rnn_relu_cell {
  static constexpr int gates = 1;
  static constexpr bool has_cell_state = false;
  template <class V, class Gates>
  FLAGGEMS_INLINE static cell_state<V> step(Gates& from, const Gates& state, const V&, const V& c) {
    from[0] = relu(from[0] + state[0]);
    return {from[0], c};
  }
};

/// A matrix that is read; null where it is absent.
template <class T>
struct cell_input {
  global_ptr<const T> data;
  i64 row, column;  // from an element to the next
  FLAGGEMS_INLINE bool exists() const { return data != nullptr; }
  FLAGGEMS_INLINE row_in<T> at(i64 i, i64 j) const { return {data + i * row + j * column, column}; }
};
/// A matrix that is written; null where it is absent.
template <class T>
struct cell_output {
  global_ptr<T> data;
  i64 row, column;
  FLAGGEMS_INLINE bool exists() const { return data != nullptr; }
  FLAGGEMS_INLINE row_out<T> at(i64 i, i64 j) const {
    return {data + i * row + j * column, column};
  }
};

/// The operands of a step for `rows` sequences of `length` elements; G is the gates' type, T the
/// hidden state's, K the cell state's. Gate k has the columns from k length on.
template <class G, class T, class K>
struct cell_step {
  i64 rows, length;
  cell_input<G> from_input, from_state;
  cell_input<G> input_bias, state_bias;  // rows of stride 0, or absent
  cell_input<T> h;                       // those before; h may be absent
  cell_input<K> c;
  cell_output<T> next_h, output;  // the new hidden state, twice
  cell_output<K> next_c;
  cell_output<G> kept;  // the gates' values
};

inline constexpr i64 cell_columns = 256;  // of a tile
/// f(row, first column, lane) for all columns of all rows, a tile of some columns of a row at a
/// time.
template <class Block, class F>
FLAGGEMS_INLINE void for_each_cell(Block& block, i64 rows, i64 length, const F& f) {
  const i64 shares = ceil_div(length, cell_columns);
  block.for_each_tile(rows * shares, [&](i64 k) FLAGGEMS_LAMBDA {
    const i64 row = k / shares, first = (k - row * shares) * cell_columns;
    block.for_each_lane(min_of(cell_columns, length - first),
                        [&](auto lane) FLAGGEMS_LAMBDA { f(row, first, lane); });
  });
}

/// A step of a cell. What is written may be what is read, element for element.
template <class Cell, class G, class T, class K>
struct recurrent_cell {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, cell_step<G, T, K> p) {
    for_each_cell(block, p.rows, p.length, [&](i64 row, i64 first, auto lane) FLAGGEMS_LAMBDA {
      step(p, row, first, lane);
    });
  }

 private:
  using C = compute_type<T>;
  template <class V, class M, class Lane>
  FLAGGEMS_INLINE static V read(const M& m, i64 row, i64 first, Lane lane) {
    return m.exists() ? m.at(row, first).template load<C>(lane) : V(C(0));
  }
  template <class Lane>
  FLAGGEMS_INLINE static void step(const cell_step<G, T, K>& p, i64 row, i64 first, Lane lane) {
    using V = lane_value<Lane, C>;
    V from[Cell::gates], state[Cell::gates];
    for (int g = 0; g < Cell::gates; ++g) {
      const i64 at = g * p.length + first;
      from[g] =
          p.from_input.at(row, at).template load<C>(lane) + read<V>(p.input_bias, row, at, lane);
      state[g] =
          p.from_state.at(row, at).template load<C>(lane) + read<V>(p.state_bias, row, at, lane);
    }
    const V c = read<V>(p.c, row, first, lane);
    const cell_state<V> next =
        Cell::template step<V>(from, state, read<V>(p.h, row, first, lane), c);
    p.next_h.at(row, first).store(lane, next.h);
    if (p.output.exists()) p.output.at(row, first).store(lane, next.h);
    if constexpr (Cell::has_cell_state) p.next_c.at(row, first).store(lane, next.c);
    if (p.kept.exists())
      for (int g = 0; g < Cell::gates; ++g)
        p.kept.at(row, g * p.length + first).store(lane, from[g]);
  }
};

/// The operands of an LSTM step's gradient.
template <class T>
struct lstm_cell_gradient_step {
  i64 rows, length;
  cell_input<T> grad_h, grad_c;  // absent: zeros
  cell_input<T> before, after;   // cell states
  cell_input<T> kept;            // the gates' values
  cell_output<T> grad_gates, grad_before;
};
/// The gradient of an LSTM step: those of its gates' sums, and of the cell state before.
template <class T>
struct lstm_cell_gradient {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, lstm_cell_gradient_step<T> p) {
    for_each_cell(block, p.rows, p.length, [&](i64 row, i64 first, auto lane) FLAGGEMS_LAMBDA {
      step(p, row, first, lane);
    });
  }

 private:
  using C = compute_type<T>;
  template <class Lane>
  FLAGGEMS_INLINE static void step(const lstm_cell_gradient_step<T>& p, i64 row, i64 first,
                                   Lane lane) {
    using V = lane_value<Lane, C>;
    const auto of = [&](const auto& m, i64 column)
                        FLAGGEMS_LAMBDA { return m.at(row, column).template load<C>(lane); };
    const auto put = [&](int g, const V& x) FLAGGEMS_LAMBDA {
      p.grad_gates.at(row, g * p.length + first).store(lane, x);
    };
    const V zero = V(C(0)), one = V(C(1));
    const V i = of(p.kept, first), f = of(p.kept, p.length + first);
    const V g = of(p.kept, 2 * p.length + first), o = of(p.kept, 3 * p.length + first);
    const V grad_h = p.grad_h.exists() ? of(p.grad_h, first) : zero;
    const V bent = tanh(of(p.after, first));
    V grad_c = grad_h * o * (one - bent * bent);
    if (p.grad_c.exists()) grad_c = grad_c + of(p.grad_c, first);
    put(0, grad_c * g * (one - i) * i);
    put(1, grad_c * of(p.before, first) * (one - f) * f);
    put(2, grad_c * i * (one - g * g));
    put(3, grad_h * bent * (one - o) * o);
    p.grad_before.at(row, first).store(lane, grad_c * f);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/recurrent/cells.hpp");
