// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How rows are transformed: a block each on SIMT devices; on the host several in the lanes of
// vectors, or each as a matrix.
#pragma once

#include <flaggems/detail/cpu.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/family/transform/fourier.hpp>
#include <flaggems/kernel/family/transform/vector/fourier.hpp>
#include <flaggems/launch/launch.hpp>

namespace flaggems::detail {

/// Chooses how the host transforms rows, by estimates of instructions: an element costs a stage of
/// a prime about twice that and one, a stage of eight nine; besides, its way into the lanes and
/// out.
class fourier_costs {
 public:
  fourier_costs(i64 rows, i64 lanes, bool neighbours)
      : rows_(rows), lanes_(lanes), neighbours_(neighbours) {}

  /// Whatever is cheapest for rows of n elements.
  [[nodiscard]] kernels::fourier_plan plan(i64 n) const {
    double cost;
    kernels::fourier_plan best = factored(n, cost);
    if (cost <= few_instructions * of_rows(n)) return best;
    // The least length from 2 n - 1 on that is a power of two, or 5, 6 or 7 eighths of one.
    i64 padded = 8;
    while (padded < 2 * n - 1) padded *= 2;
    for (i64 eighths = 5; eighths < 8; ++eighths)
      if (padded / 8 * eighths >= 2 * n - 1) {
        padded = padded / 8 * eighths;
        break;
      }
    // A matrix, as rows of all lanes would not stay in a cache.
    double convolution;
    kernels::fourier_plan other = matrix(padded, convolution);
    const double row = (2 * convolution + 10 * of_rows(padded)) / static_cast<double>(rows_);
    if (row * static_cast<double>(rows_ + 1) >= cost) return best;  // one to prepare the filter
    other.n = n;
    other.padded = padded;
    return other;
  }

 private:
  static constexpr int few_instructions = 150;  // limit: an element; no prime is large

  [[nodiscard]] double of_rows(i64 n) const {
    return static_cast<double>(rows_) * static_cast<double>(n);
  }
  /// Of an element in the stages of n.
  static double stages(i64 n) {
    const int twos = __builtin_ctzll(static_cast<unsigned long long>(n));
    const int eights = (twos + 2) / 3;
    double sum = 1.5 * (twos + 3 * eights);
    for (n >>= twos; n > 1;) {
      const i64 factor = kernels::least_factor(n);
      sum += 2 * static_cast<double>(factor) + 1;
      n /= factor;
    }
    return sum;
  }
  [[nodiscard]] double blocks(i64 n) const {
    return static_cast<double>(kernels::ceil_div(n, lanes_));
  }

  /// The best matrix of each row; its cost is infinite if n is a prime.
  [[nodiscard]] kernels::fourier_plan matrix(i64 n, double& cost) const {
    constexpr int turning = 10, placing = 6;
    kernels::fourier_plan best{n, n, 1, 0};
    cost = __builtin_huge_val();
    for (i64 k = 2; k <= n / k; ++k) {
      if (n % k != 0) continue;
      const i64 other = n / k;
      const double now = static_cast<double>(rows_) *
                         (blocks(other) * static_cast<double>(k) * (stages(k) + turning) +
                          blocks(k) * static_cast<double>(other) * (stages(other) + placing));
      if (now <= cost) cost = now, best = {n, k, other, 0};
    }
    return best;
  }
  /// That, or several rows in the lanes.
  [[nodiscard]] kernels::fourier_plan factored(i64 n, double& cost) const {
    const kernels::fourier_plan best = matrix(n, cost);
    if (neighbours_) cost += 20 * of_rows(n);  // elements are brought together one by one
    // Both arrays of lanes in the first cache, in the second, or beyond.
    const double distance = n <= cached_lines ? 1 : n <= more_lines ? 1.6 : 3;
    const int transposing = neighbours_ ? 4 : 12;
    const double lanes =
        blocks(rows_) * static_cast<double>(n) * distance * (stages(n) + transposing);
    if (lanes > cost) return best;
    cost = lanes;
    return {n, n, 1, 0};
  }
  static constexpr i64 cached_lines = 160, more_lines = 4096;  // limit: of 256 bytes

  i64 rows_, lanes_;
  bool neighbours_;
};

/// out = scale * the transforms of the rows of `space`, of n elements, whose first `given` are x's.
/// All checks have passed.
template <class S, class T, class Z, class C = kernels::real_of<Z>>
void launch_fourier(const char* op, const S& stream, const kernels::row_space& space, i64 n,
                    i64 given, const kernels::row_arg<T>& x, const kernels::row_target<Z>& out,
                    C scale) {
  launch_config config;
  config.op = op;
  if constexpr (has_vectors<device_of<S>>) {
    using kernel = kernels::fourier_rows<T>;
    const isa_level level = isa();
    const i64 lanes = kernels::fourier_width<C>(level >= isa_level::avx512 ? 16
                                                : level >= isa_level::avx2 ? 8
                                                                           : 4);
    const bool neighbours =
        space.rank > 0 && x.strides[space.rank - 1] == 1 && x.strides[space.rank] != 1;
    const kernels::fourier_plan plan = fourier_costs(space.rows, lanes, neighbours).plan(n);
    config.tiles = plan.rows_in_lanes() ? kernels::ceil_div(space.rows, lanes) : space.rows;
    config.work = work_of(space.rows, n, 32);
    config.scratch = kernel::scratch(plan);
    return launch<kernel>(stream, config, space, plan, given, x, out, scale);
  } else {
    auto roots = empty<Z>(stream, {n}, op);
    const kernels::global_ptr<Z> table = roots.data();
    config.tiles = kernels::ceil_div(n, kernels::fourier_roots<C>::tile);
    config.work = work_of(n, 16);
    launch<kernels::fourier_roots<C>>(stream, config, n, table);
    config.tiles = space.rows;
    config.work = work_of(space.rows, n, 32);
    config.scratch = 2 * scratch_bytes<Z>(n);
    launch<kernels::fourier<T, C>>(stream, config, space, n, given, x, out,
                                   kernels::global_ptr<const Z>(table), scale);
  }
}

}  // namespace flaggems::detail
