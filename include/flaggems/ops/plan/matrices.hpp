// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Batches of matrices: checks, new results as ATen lays them out, and operands of a launch in which
// a block has a matrix, or a column of one.
#pragma once

#include <flaggems/device/checks.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/family/factor/matrices.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/ops/plan/iteration.hpp>
#include <flaggems/ops/plan/norm.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace flaggems::detail {

/// What matrices are factored in.
using factor_types = type_list<f64, f32>;

/// Does not compile unless all have the element type T of the first, f32 or f64.
template <class X, class... Others>
constexpr bool check_factor_types() {
  constexpr bool right = element_type_in<factor_types, 1, X>();
  static_assert((std::is_same_v<value_t<X>, value_t<Others>> && ...),
                "flaggems: the matrices have one element type");
  return right;
}

/// Raises unless x has matrices.
FLAGGEMS_NOINLINE_ONCE void check_matrices(const char* op, int_list sizes) {
  if (sizes.size() < 2) [[unlikely]]
    raise(errc::invalid_argument, op, "a tensor of at least two dimensions", text(sizes.size()));
}
/// Raises unless x has square matrices.
FLAGGEMS_NOINLINE_ONCE void check_square(const char* op, int_list sizes) {
  check_matrices(op, sizes);
  if (sizes[sizes.size() - 1] != sizes[sizes.size() - 2]) [[unlikely]]
    raise(errc::shape_mismatch, op, "square matrices", "sizes " + to_string(shape(sizes)));
}
/// Raises unless sizes are those expected of an operand.
FLAGGEMS_NOINLINE_ONCE void check_operand_sizes(const char* op, const char* name,
                                                const shape& expected, int_list sizes) {
  if (!same_sizes(expected, sizes)) [[unlikely]]
    raise(errc::shape_mismatch, op, text(name) + " of sizes " + to_string(expected),
          to_string(shape(sizes)));
}

/// The sizes without the last `count`.
FLAGGEMS_NOINLINE_ONCE shape batch_sizes(int_list sizes, int count = 2) {
  return shape(int_list(sizes.data(), sizes.size() - count));
}
/// A batch's sizes and those of what each has.
FLAGGEMS_NOINLINE_ONCE shape batch_of(const shape& batch, int_list own) {
  shape all(batch);
  for (const i64 n : own) all.push_back(n);
  return all;
}

/// The strides of matrices whose columns are contiguous, as ATen's factorizations give them.
FLAGGEMS_NOINLINE_ONCE shape strides_by_columns(const shape& sizes) {
  shape strides = contiguous_strides(sizes);
  const int r = sizes.rank();
  strides[r - 2] = 1;
  strides[r - 1] = sizes[r - 2] > 1 ? sizes[r - 2] : 1;
  return strides;
}
/// New matrices whose columns are contiguous.
template <class T, class S>
[[nodiscard]] tensor<T, device_of<S>> empty_by_columns(const S& stream, const shape& sizes,
                                                       const char* op) {
  return {ref(stream), sizes, strides_by_columns(sizes), op};
}

/// Batches as a launch's rows: operands are added in turn, their batches broadcast. With `columns`,
/// each column of a matrix is a row of its own.
class matrix_plan {
 public:
  FLAGGEMS_ONCE explicit matrix_plan(const shape& batch) : it_(batch) {}
  FLAGGEMS_ONCE matrix_plan(const shape& batch, i64 columns)
      : it_(batch_of(batch, {columns})), by_column_(true) {}

  /// A matrix for each of the batch.
  template <class T, class D>
  void add(const tensor_view<T, D>& v) {
    put(v.rank() - 2, v.sizes(), v.strides(), 1, 0);
  }
  /// A matrix; each row of the plan has one column of it.
  template <class T, class D>
  void add_columns(const tensor_view<T, D>& v) {
    put(v.rank() - 2, v.sizes(), v.strides(), v.size(-1), v.stride(-1));
  }
  /// A vector for each of the batch.
  template <class T, class D>
  void add_vector(const tensor_view<T, D>& v) {
    put(v.rank() - 1, v.sizes(), v.strides(), 1, 0);
  }
  /// A number for each of the batch.
  template <class T, class D>
  void add_number(const tensor_view<T, D>& v) {
    put(v.rank(), v.sizes(), v.strides(), 1, 0);
  }

  /// Call once, after the last operand.
  [[nodiscard]] FLAGGEMS_ONCE kernels::row_space space() {
    it_.collapse();
    kernels::row_space s{};
    s.rank = it_.rank();
    s.rows = it_.numel();
    s.length = 1;
    for (int d = 0; d < s.rank; ++d) s.sizes[d] = it_.size(d);
    return s;
  }
  /// Operand number `k`, in order of `add`.
  template <class T, class D>
  [[nodiscard]] kernels::matrices<T> operand(int k, const tensor_view<T, D>& v) const {
    return all_of<T>(k, v.data(), v.stride(-2), v.stride(-1));
  }
  template <class T, class D>
  [[nodiscard]] kernels::matrices<T> vector(int k, const tensor_view<T, D>& v) const {
    return all_of<T>(k, v.data(), v.stride(-1), 0);
  }
  template <class T, class D>
  [[nodiscard]] kernels::matrices<T> number(int k, const tensor_view<T, D>& v) const {
    return all_of<T>(k, v.data(), 0, 0);
  }

 private:
  template <class T>
  [[nodiscard]] kernels::matrices<T> all_of(int k, T* data, i64 row, i64 column) const {
    kernels::matrices<T> r{data, {}, row, column};
    it_.copy_strides(k, r.strides);
    return r;
  }
  FLAGGEMS_NOINLINE_ONCE void put(int rank, int_list sizes, int_list strides, i64 columns,
                                  i64 step) {
    shape own(int_list(sizes.data(), rank)), steps(int_list(strides.data(), rank));
    if (by_column_) own.push_back(columns), steps.push_back(step);
    it_.add(own, steps);
  }

  iteration it_;
  bool by_column_ = false;
};

/// A launch of a block for each row of a space, whose threads share `shared` elements at a time;
/// `work` is that of one row.
inline launch_config matrix_launch(const char* op, const kernels::row_space& space, i64 work,
                                   i64 shared) {
  launch_config config;
  config.op = op;
  config.tiles = space.rows;
  config.work = work_of(space.rows, work);
  config.threads = kernels::matrix_threads(shared);
  return config;
}

/// Raises unless factors, what was exchanged and info can be written for the matrices x; `factors`
/// may be x.
template <class T, class D>
void check_factors(const char* op, const tensor_view<const T, D>& x,
                   const tensor_view<T, D>& factors, const shape& exchanged,
                   const tensor_view<i32, D>& pivots, const tensor_view<i32, D>& info) {
  check_output_sizes(op, x.shape_of(), factors);
  check_output_sizes(op, exchanged, pivots);
  check_output_sizes(op, batch_sizes(x.sizes()), info);
  check_output(op, factors, x);
  check_separate(op, pivots, x, factors);
  check_separate(op, info, x, factors, pivots);
}

/// Raises unless every number of `info`, contiguous, is 0: where the first other one is, and what
/// `reason`, behind that number, says. It waits for the stream; a device whose elements cannot be
/// had raises not_supported.
template <class S, class D>
void check_info(const char* op, const S& stream, const tensor_view<const i32, D>& info,
                const char* expected, const char* reason) {
  std::vector<i32> all(static_cast<std::size_t>(info.numel()));
  copy_bytes(ref(stream), all.data(), info.data(), info.bytes(), copy_kind::device_to_host);
  ref(stream).synchronize();
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k] != 0) [[unlikely]]
      raise(errc::invalid_argument, op, expected,
            text(reason) + text(all[k]) + (all.size() > 1 ? " of matrix " + text(k) : text()));
}

}  // namespace flaggems::detail
