// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What other operands have at the elements that a thread holds of a row
// (expr/simt/register_rows.hpp).
#pragma once

#include <flaggems/kernel/expr/simt/register_rows.hpp>
#include <flaggems/kernel/family/row/contract.hpp>

namespace flaggems::kernels {

/// The words from `Words` on of two vectors side by side, less `bits`, which begin the first one.
template <int Words, class Vec>
FLAGGEMS_INLINE Vec shift_across(const Vec& first, const Vec& second, int bits) {
  constexpr int count = static_cast<int>(sizeof(Vec) / 4);
  u32 w[2 * count + 1] = {};
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k < count; ++k) {
    w[k] = first.at[k];
    w[count + k] = second.at[k];
  }
  Vec r;
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k < count; ++k)
    r.at[k] = static_cast<u32>((static_cast<u64>(w[Words + k + 1]) << 32 | w[Words + k]) >> bits);
  return r;
}
/// f(constant) of i, which is one of First .. First + Count, a power of two.
template <int Count, int First = 0, class F>
FLAGGEMS_INLINE void with_constant(int i, const F& f) {
  if constexpr (Count == 1) {
    f(int_constant<First>{});
  } else {
    if ((i & Count / 2) != 0)
      with_constant<Count / 2, First + Count / 2>(i, f);
    else
      with_constant<Count / 2, First>(i, f);
  }
}
/// The vector that begins at element i of n, of which one at least exists; others have any value.
/// (SIMT devices may read all of an aligned access with an element of the row in it.)
template <int Width, class T>
FLAGGEMS_INLINE vec_words<T, Width> load_touching(global_ptr<const T> row, int i, int n) {
  if (FLAGGEMS_DEVICE_CODE || (i >= 0 && i + Width <= n)) return load_vec_words<Width>(row + i);
  vec<T, Width> some{};
  FLAGGEMS_SIMT_UNROLL
  for (int j = 0; j < Width; ++j)
    if (i + j >= 0 && i + j < n) some.at[j] = number_cast<T>(row[i + j]);
  return bit_cast<vec_words<T, Width>>(some);
}

/// What another operand has at the elements that a thread holds of a row. `Access` says how it is
/// read. `resident`: into registers as well, so that it is on its way while the row is; else when
/// it is asked for, `group` windows at once. `hoisted`: as in fetch_window. `batched`: of windows
/// that begin anywhere, all are on their way before the first one's accesses are combined.
/// `pipelined`: the first window is on its way while the row is, each other one while the one
/// before is used.
template <class T, class Share, class Access>
class row_operand {
 public:
  /// `fill` where the thread holds nothing, or where `row` is null.
  FLAGGEMS_INLINE void load(const Share& x, global_ptr<const T> row, T fill) {
    row_ = row;
    fill_ = fill;
    if constexpr (Access::resident) {
      if constexpr (Access::batched && !Share::is_aligned && sizeof(T) * window::piece >= 4) {
        load_batched(x);
      } else {
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < Share::vectors; ++k)
          resident_[k] = fetch<Share::width>(x, x.at(k), x.has(k));
      }
      FLAGGEMS_SIMT_UNROLL
      for (int e = 0; e < Share::edges; ++e) edge_[e] = fetch<1>(x, x.edge_at(e), x.has_edge(e));
    }
    if constexpr (Access::pipelined) next_ = fetch<Share::width>(x, x.at(0), x.has(0));
  }
  /// Before window k is read; in turn.
  FLAGGEMS_INLINE void prepare(const Share& x, int k) {
    if constexpr (Access::pipelined) {
      resident_[0] = next_;
      if (k + 1 < Share::vectors) next_ = fetch<Share::width>(x, x.at(k + 1), x.has(k + 1));
    } else if constexpr (!Access::resident) {
      if (k % Share::group != 0) return;
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < Share::group; ++j)
        resident_[j] = fetch<Share::width>(x, x.at(k + j), x.has(k + j));
    }
  }
  template <class C>
  FLAGGEMS_INLINE window_values<C, Share::width> read(int k) const {
    return resident_[Access::pipelined  ? 0
                     : Access::resident ? k
                                        : k % Share::group]
        .template values<C>();
  }
  template <class C>
  FLAGGEMS_INLINE window_values<C, 1> read_edge(const Share& x, int e) const {
    if constexpr (Access::resident)
      return edge_[e].template values<C>();
    else
      return fetch<1>(x, x.edge_at(e), x.has_edge(e)).template values<C>();
  }
  /// A window of the rest.
  template <class C>
  FLAGGEMS_INLINE window_values<C, Share::width> read_rest(const Share& x, int at) const {
    return fetch<Share::width>(x, at, true).template values<C>();
  }

 private:
  using window = register_window<T, Share::width>;

  FLAGGEMS_INLINE void load_batched(const Share& x) {
    constexpr int piece = window::piece, count = Share::width / piece;
    if (row_ == nullptr || x.last() < 0) {
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Share::vectors; ++k) resident_[k] = window::all(fill_);
      return;
    }
    const int off = static_cast<int>(reinterpret_cast<u64>(row_ + x.at(0)) / sizeof(T) % piece);
    const int behind = off == 0 ? (count - 1) * piece : count * piece;
    vec_words<T, piece> some[Share::vectors][count + 1];
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Share::vectors; ++k) {
      const int at = min_of(x.at(k), x.last()) - off;  // there is one
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < count; ++j)
        some[k][j] = load_touching<piece>(row_, at + j * piece, x.length());
      some[k][count] = load_touching<piece>(row_, at + behind, x.length());
    }
    // Where they begin is the same for all: as a constant it leaves little to do.
    constexpr int size = static_cast<int>(sizeof(T)), words = piece * size / 4;
    const int bits = off * size % 4 * 8;
    with_constant<words>(off * size / 4, [&](auto first) FLAGGEMS_LAMBDA {
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Share::vectors; ++k) {
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < count; ++j)
          resident_[k].at[j] = shift_across<first>(some[k][j], some[k][j + 1], bits);
      }
    });
  }
  template <int Width>
  FLAGGEMS_INLINE register_window<T, Width> fetch(const Share& x, int at, bool inside) const {
    return fetch_window < Share::is_aligned && (Width > 1), Width,
           Access::hoisted > (row_, at, x.length(), inside && row_ != nullptr, fill_);
  }

  global_ptr<const T> row_;
  T fill_;
  window resident_[Access::resident ? Share::vectors : Share::group], next_;
  register_window<T, 1> edge_[Access::resident ? Share::edges + 1 : 1];
};

/// Of further inputs.
template <class Share>
struct input_access {
  static constexpr bool resident = Share::vectors < 8, hoisted = false, batched = false,
                        pipelined = false;
};
/// What an operand by channel has at the elements that a thread holds of a row: read when it is
/// asked for, mostly one element a window, which caches have.
template <class T, class Share>
class channel_operand {
 public:
  /// `row` is null where the operand is absent.
  FLAGGEMS_INLINE void load(global_ptr<const T> row, const row_channels& channels) {
    row_ = row;
    channels_ = channels;
  }
  FLAGGEMS_INLINE void prepare(const Share& x, int k) {
    at_ = x.at(k);
    inside_ = x.has(k);
  }
  template <class C>
  FLAGGEMS_INLINE window_values<C, Share::width> read(int) const {
    return window<C, Share::width>(at_, inside_);
  }
  template <class C>
  FLAGGEMS_INLINE window_values<C, 1> read_edge(const Share& x, int e) const {
    return window<C, 1>(x.edge_at(e), x.has_edge(e));
  }
  template <class C>
  FLAGGEMS_INLINE window_values<C, Share::width> read_rest(const Share& x, int at) const {
    return window<C, Share::width>(at, at < x.length());
  }

 private:
  template <class C, int Width>
  FLAGGEMS_INLINE window_values<C, Width> window(int at, bool inside) const {
    window_values<C, Width> r;
    C v = static_cast<C>(channels_.neutral);
    int channel = 0, left = Width;  // elements of the window in this channel and those before
    const int size = static_cast<int>(channels_.size);
    const bool is_read = inside && row_ != nullptr;
    if (is_read) {
      channel = static_cast<int>(channels_.by.quotient(static_cast<u32>(at)));
      left = (channel + 1) * size - at;
      v = number_cast<C>(row_[channel * channels_.step]);
    }
    if (left >= Width) {
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < Width; ++j) r.at[j] = v;
    } else {
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < Width; ++j) {
        if (j == left) {
          v = number_cast<C>(row_[++channel * channels_.step]);
          left += size;
        }
        r.at[j] = v;
      }
    }
    return r;
  }

  global_ptr<const T> row_;
  row_channels channels_;
  int at_;
  bool inside_;
};

/// What reads a further input.
template <class X, class Share>
struct input_operand {
  using type = row_operand<typename operand_element<X>::type, Share, input_access<Share>>;
};
template <class T, class Share>
struct input_operand<by_channel<T>, Share> {
  using type = channel_operand<T, Share>;
};
/// Of a parameter of all rows. One row of aligned windows is read and reduced before: what is
/// prefetched takes registers, so occupancy. Windows that begin anywhere take longer to read, and
/// come with the row; so do those of `early` policies, where a thread holds two.
template <class Share, int Rows, class Policy>
struct parameter_access {
  /// Of several rows of aligned windows it is the same for all, and read once.
  static constexpr bool stays = Share::is_aligned && Rows > 1;
  static constexpr bool resident =
      Share::vectors < 8 && (stays || !Share::is_aligned || (Policy::early && Share::vectors == 2));
  static constexpr bool hoisted = Policy::hoisted, batched = Policy::batched,
                        pipelined = Policy::pipelined;
  static_assert(!(pipelined && resident));
};

/// What a parameter has at the elements of the rows that a thread works on at once.
template <class W, class Share, int Rows, class Policy>
class row_weights {
  using access = parameter_access<Share, Rows, Policy>;
  static constexpr bool is_common = access::stays || Policy::same_offset;
  using operand_type = row_operand<W, Share, access>;

 public:
  /// `neutral` in the place of a parameter that is absent.
  FLAGGEMS_INLINE row_weights(const row_arg<W>& weight, int neutral, i64 n, int lane, int size)
      : data_(weight.data) {
    // (As an initialiser, clang's OpenCL makes code of it that LLVM does not read.)
    neutral_ = number_cast<W>(static_cast<f32>(neutral));
    if constexpr (access::stays) {
      Share x;
      x.place(nullptr, n, lane, size);
      resident_[0].load(x, data_, neutral_);
    }
  }
  /// Before the rows x are reduced.
  FLAGGEMS_INLINE void meet(const Share (&x)[Rows]) {
    if constexpr (!access::stays) {
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < (Policy::same_offset ? 1 : Rows); ++r)
        resident_[r].load(x[r], data_, neutral_);
    }
  }
  FLAGGEMS_INLINE const operand_type& of(int r) const { return resident_[is_common ? 0 : r]; }

 private:
  global_ptr<const W> data_;
  W neutral_;
  operand_type resident_[is_common ? 1 : Rows];
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/simt/operands.hpp");
