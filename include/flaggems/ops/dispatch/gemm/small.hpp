// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The short way of a small matrix product on the host: the few conditions under which nothing can
// be wrong, and the launch. What does not meet them takes the long way, which raises or goes on.
#pragma once

#include <flaggems/launch/host_entry.hpp>
#include <flaggems/ops/dispatch/gemm/call.hpp>

#include <type_traits>
#include <utility>

namespace flaggems::detail {

/// A matrix as kernels take it.
template <class T>
struct plain_matrix {
  T* data;
  i64 rows, columns;
  i64 row, column;  // strides

  /// Its elements lie in [data, end), if no stride is negative.
  const T* end() const { return data + ((rows - 1) * row + (columns - 1) * column + 1); }
  template <class U>
  bool is_disjoint(const plain_matrix<U>& other) const {
    return row >= 0 && column >= 0 && (data >= other.end() || other.data >= end());
  }
};

/// Reads `x` in place, without copying a view's eight sizes and strides; false if it is no matrix.
template <class T, class X>
bool read_matrix(X& x, plain_matrix<T>& to) {
  if (x.rank() != 2) return false;
  to.data = x.data();
  to.rows = x.sizes()[0];
  to.columns = x.sizes()[1];
  to.row = x.strides()[0];
  to.column = x.strides()[1];
  return true;
}
template <class X>
inline constexpr bool is_read_in_place = is_tensor_view<std::remove_cvref_t<X>>;
template <class T, class Device>
inline constexpr bool is_read_in_place<tensor<T, Device>> = true;

/// How the second factor of a product is given.
enum class second_matrix { plain, transposed };

/// out = a * b, or a * b^T, if that is a small product without a doubt; false if nothing was done.
template <second_matrix Second, class S, class A, class B, class Out>
bool small_mm(const char* op, const S& stream, const A& a, const B& b, Out& out) {
  using C = value_t<const A&>;
  constexpr bool floats = std::is_same_v<C, f32> || std::is_same_v<C, f64>;
  constexpr bool takes =
      floats && std::is_same_v<value_t<const B&>, C> && std::is_same_v<decltype(out.data()), C*> &&
      is_read_in_place<A> && is_read_in_place<B> && is_read_in_place<Out> &&
      has_thread_pool<device_of<S>> && !has_implementation<operators::gemm, device_of<S>>;
  if constexpr (takes) {
    plain_matrix<const C> ma, mb;
    plain_matrix<C> to;
    if (!read_matrix(a, ma) || !read_matrix(b, mb) || !read_matrix(out, to)) return false;
    if constexpr (Second == second_matrix::transposed) {
      std::swap(mb.rows, mb.columns);
      std::swap(mb.row, mb.column);
    }
    const i64 m = to.rows, n = to.columns, k = ma.columns;
    if (ma.rows != m || mb.rows != k || mb.columns != n) return false;
    if (m < 1 || n < 1 || k < 1 || !gemm_policy::is_small(m, n, k)) return false;
    if (to.column != 1 || to.row < n || !ma.is_disjoint(to) || !mb.is_disjoint(to)) return false;
    launch_config config;
    config.op = op;
    launch<kernels::gemm_small_matrix<C>>(
        stream, config,
        kernels::small_arguments<C>{m, n, k, ma.data, ma.row, ma.column, mb.data, mb.column, mb.row,
                                    to.data, to.row, C(1)});
    return true;
  } else {
    return false;
  }
}

// Products of f32 that flaggems::compiled has: without and with a bias.
using matrix_f32 = kernels::gemm_arg<f32>;
using product_f32 = kernels::gemm_out<f32, f32>;
using bias_f32 = kernels::gemm_bias<f32, f32>;
#define FLAGGEMS_PRODUCT_ONCE(kernel, bias)                                                        \
  FLAGGEMS_KERNEL_ONCE(kernels::kernel<f32, f32, f32, f32, bias>, kernels::gemm_space, matrix_f32, \
                       matrix_f32, product_f32, bias)
#define FLAGGEMS_PRODUCTS_ONCE(bias)                                                   \
  FLAGGEMS_PRODUCT_ONCE(gemm_along, bias);                                             \
  FLAGGEMS_PRODUCT_ONCE(gemm_few_rows, bias);                                          \
  FLAGGEMS_PRODUCT_ONCE(gemm_small, bias);                                             \
  FLAGGEMS_KERNEL_ONCE(kernels::gemm_blocked<f32, f32, f32, f32, bias, matrix_f32>,    \
                       kernels::gemm_space, matrix_f32, matrix_f32, product_f32, bias, \
                       kernels::gemm_plan, meeting)
FLAGGEMS_KERNEL_ONCE(kernels::gemm_small_matrix<f32>, kernels::small_arguments<f32>);
FLAGGEMS_PRODUCTS_ONCE(kernels::no_bias);
FLAGGEMS_PRODUCTS_ONCE(bias_f32);

}  // namespace flaggems::detail
