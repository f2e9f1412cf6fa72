// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Weights that are packed once, into the layout of the host's kernels, instead of for every
// product.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>

#include <utility>

namespace flaggems {

namespace detail {
struct packed_access;
}  // namespace detail

/// A weight [rows, columns] in the layout that `linear` reads fastest, made by `pack_matrix`, for
/// inputs of the same T. On the host: the panels of the kernels of one instruction-set level.
/// Elsewhere: a contiguous copy.
template <element T, class Device = host>
class packed_matrix {
 public:
  /// Leaves `other` without a weight: its sizes are 0, and `linear` refuses it.
  packed_matrix(packed_matrix&& other) noexcept
      : storage_(std::move(other.storage_)),
        rows_(std::exchange(other.rows_, 0)),
        columns_(std::exchange(other.columns_, 0)),
        level_(other.level_),
        exists_(std::exchange(other.exists_, false)) {}
  packed_matrix& operator=(packed_matrix&& other) noexcept {
    storage_ = std::move(other.storage_);
    rows_ = std::exchange(other.rows_, 0);
    columns_ = std::exchange(other.columns_, 0);
    level_ = other.level_;
    exists_ = std::exchange(other.exists_, false);
    return *this;
  }

  [[nodiscard]] i64 rows() const { return rows_; }        ///< elements of an output of `linear`
  [[nodiscard]] i64 columns() const { return columns_; }  ///< elements of an input of `linear`
  /// The bytes it takes: more than the weight where elements were widened.
  [[nodiscard]] i64 bytes() const { return storage_.bytes(); }
  /// The level it was packed for. Products at another one raise not_supported.
  [[nodiscard]] isa_level level() const requires detail::has_thread_pool<Device> { return level_; }

 private:
  friend struct detail::packed_access;
  using storage = tensor<std::conditional_t<detail::has_thread_pool<Device>, u8, T>, Device>;

  packed_matrix(storage s, i64 rows, i64 columns, isa_level level)
      : storage_(std::move(s)), rows_(rows), columns_(columns), level_(level) {}
  storage storage_;
  i64 rows_, columns_;
  isa_level level_;
  bool exists_ = true;
};

namespace detail {

struct packed_access {
  template <class S, class W>
  static auto pack(const S& stream, const W& w) {
    using T = typename W::value_type;
    using matrix = packed_matrix<T, device_of<S>>;
    check_matrix_rank("pack_matrix", "a matrix", w, 2);
    const i64 n = w.size(0), k = w.size(1);
    if constexpr (!has_thread_pool<device_of<S>>) {
      auto copy = empty<T>(stream, shape{n, k}, "pack_matrix");
      if (!w.empty()) assign(stream, copy, w, "pack_matrix");
      return matrix(std::move(copy), n, k, isa_level{});
    } else {
      using C = sums_for_epilogue<T, T, T>;
      launch_config config;
      config.op = "pack_matrix";
      config.tiles = 1;
      const isa_level level = isa();
      const kernels::gemm_arg<T> from{w.data(), w.stride(0), w.stride(1), {}};
      kernels::packed_layout layout{};
      const i64 l1 = gemm_policy::first_cache();
      launch<kernels::gemm_layout<T, C>>(stream, config, n, k, l1, &layout);
      auto panels = empty<u8>(stream, shape{layout.bytes}, "pack_matrix");
      config.tiles = layout.panels * layout.blocks;
      config.work = work_of(2, n, k, sizeof(T));
      if (config.tiles > 0)
        launch<kernels::gemm_pack_all<T, C>>(stream, config, n, k, from, layout, panels.data());
      return matrix(std::move(panels), n, k, level);
    }
  }

  /// out = x * weight^T, with `added`. On the host from the panels; elsewhere it is any `linear`.
  template <class S, class X, class T, class Out, class Added>
  static void linear(const S& stream, const X& x, const packed_matrix<T, device_of<S>>& weight,
                     const Out& out, const Added& added) {
    static_assert(std::is_same_v<typename X::value_type, T>,
                  "flaggems: the input of a packed matrix must have the matrix's dtype");
    const u8* panels = nullptr;
    if constexpr (has_thread_pool<device_of<S>>) {
      static_assert(
          !kernels::is_byte<T> || std::is_same_v<typename Out::value_type, i32> || Added::replaces,
          "flaggems: packed 8-bit integers give i32, or what an epilogue makes of it");
      check_level(weight);
      panels = weight.storage_.data();
    }
    linear_into(stream, x, matrix_of(weight), out, added, panels);
  }

  /// A view of the weight; on the host for its sizes alone, of elements that it does not have.
  template <class T, class D>
  static tensor_view<const T, D> matrix_of(const packed_matrix<T, D>& m) {
    if (!m.exists_) [[unlikely]]
      raise(errc::invalid_argument, "linear", "a packed matrix", "one that was moved from");
    const shape sizes{m.rows_, m.columns_};
    if constexpr (has_thread_pool<D>)
      return tensor_view<const T, D>(
          static_cast<const T*>(static_cast<const void*>(m.storage_.data())), sizes);
    else
      return tensor_view<const T, D>(m.storage_.data(), sizes);
  }

 private:
  template <class T, class D>
  static void check_level(const packed_matrix<T, D>& weight) {
    if (weight.level_ != isa()) [[unlikely]]
      raise(errc::not_supported, "linear",
            "a matrix packed for the level " + text(to_string(isa())) + " in use",
            text(to_string(weight.level_)));
  }
};

}  // namespace detail

/// A weight packed for `linear`.
///
/// weight [n, k], any strides, f32, f16, bf16, f64, i8 or u8; it is copied. On the host the result
/// is for the instruction-set level in use (`isa`); f16 is widened to f32 there, and at levels
/// below avx512_bf16 also bf16, and 8-bit integers to 16 bits. Raises shape_mismatch.
template <stream_like S, tensor_like W>
[[nodiscard]] auto pack_matrix(const S& stream, const W& weight) {
  same_device<S, W>();
  return detail::packed_access::pack(stream, as_view(weight));
}

/// out = x * weight^T with a packed weight: `linear` without packing it again.
///
/// x [..., k] of the weight's dtype, out [..., n]. A row's bits depend neither on the number of
/// rows nor of threads, and are those of `linear` where that packs its operands. Raises what
/// `linear` does, and not_supported for a weight packed for another level than the one in use.
template <stream_like S, tensor_like X, element T, tensor_like Out>
requires(!detail::read_only<Out>) auto linear(const S& stream, const X& x,
                                              const packed_matrix<T, device_of<S>>& weight,
                                              Out&& out) -> detail::nothing_t<Out> {
  same_device<S, X, Out>();
  detail::packed_access::linear(stream, as_view(x), weight, as_view(out), detail::no_bias_view{});
  return detail::nothing<Out>;
}
/// out = x * weight^T + bias with a packed weight, bias [n].
template <stream_like S, tensor_like X, element T, tensor_like Bias, tensor_like Out>
void linear(const S& stream, const X& x, const packed_matrix<T, device_of<S>>& weight,
            const Bias& bias, Out&& out) {
  same_device<S, X, Bias, Out>();
  detail::packed_access::linear(stream, as_view(x), weight, as_view(out),
                                detail::column_bias<detail::view_of<const Bias&>>{as_view(bias)});
}
/// out = last, an expression over x * weight^T with a packed weight.
template <stream_like S, tensor_like X, element T, tensor_like Out, class Node>
void linear(const S& stream, const X& x, const packed_matrix<T, device_of<S>>& weight, Out&& out,
            const detail::epilogue_operand<Node>& last) {
  same_device<S, X, Out>();
  detail::packed_access::linear(stream, as_view(x), weight, as_view(out), last);
}
/// x * weight^T with a packed weight in a new tensor of x's dtype; of i32 for 8-bit integers.
template <stream_like S, tensor_like X, element T>
[[nodiscard]] auto linear(const S& stream, const X& x,
                          const packed_matrix<T, device_of<S>>& weight) {
  auto out = empty<std::conditional_t<kernels::is_byte<T>, i32, T>>(
      stream, detail::linear_shape(as_view(x), detail::packed_access::matrix_of(weight)), "linear");
  linear(stream, x, weight, out);
  return out;
}
/// x * weight^T + bias with a packed weight in a new tensor of x's dtype; the bias is given as
/// with_bias(b).
template <stream_like S, tensor_like X, element T, class Bias>
[[nodiscard]] auto linear(const S& stream, const X& x, const packed_matrix<T, device_of<S>>& weight,
                          const bias_operand<Bias>& bias) {
  auto out = empty<std::conditional_t<kernels::is_byte<T>, i32, T>>(
      stream, detail::linear_shape(as_view(x), detail::packed_access::matrix_of(weight)), "linear");
  linear(stream, x, weight, bias.value, out);
  return out;
}
/// The same; a const or temporary tensor is the bias.
template <stream_like S, tensor_like X, element T, detail::read_only Bias>
[[nodiscard]] auto linear(const S& stream, const X& x, const packed_matrix<T, device_of<S>>& weight,
                          Bias&& bias) {
  return linear(stream, x, weight, with_bias(bias));
}
/// The expression over x * weight^T with a packed weight in a new tensor of its dtype.
template <stream_like S, tensor_like X, element T, class Node>
[[nodiscard]] auto linear(const S& stream, const X& x, const packed_matrix<T, device_of<S>>& weight,
                          const detail::epilogue_operand<Node>& last) {
  auto out = empty<typename Node::element>(
      stream,
      detail::made_of("linear",
                      detail::linear_shape(as_view(x), detail::packed_access::matrix_of(weight)),
                      last),
      "linear");
  linear(stream, x, weight, out, last);
  return out;
}

}  // namespace flaggems
