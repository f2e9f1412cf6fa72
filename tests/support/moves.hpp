// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tables of operators whose output elements are elements of the input or numbers: a case says
// which, by coordinates, and is run for all layouts of both.
#pragma once

#include <support/ops.hpp>

#include <functional>
#include <initializer_list>

namespace flaggems_test {

/// Values in row-major order with their sizes.
struct grid {
  shape sizes;
  std::vector<double> values;
  [[nodiscard]] double at(const std::vector<i64>& index) const {
    i64 k = 0;
    for (int d = 0; d < sizes.rank(); ++d) k = k * sizes[d] + index[static_cast<std::size_t>(d)];
    return values[static_cast<std::size_t>(k)];
  }
};

/// f(coordinates) for all elements in row-major order.
template <class F>
std::vector<double> filled_by(const shape& sizes, F&& f) {
  std::vector<double> values;
  std::vector<i64> at(static_cast<std::size_t>(sizes.rank()));
  const i64 n = sizes.numel();
  for (i64 k = 0; k < n; ++k) {
    i64 rest = k;
    for (int d = sizes.rank() - 1; d >= 0; --d) {
      at[static_cast<std::size_t>(d)] = rest % sizes[d];
      rest /= sizes[d];
    }
    values.push_back(f(at));
  }
  return values;
}

/// out[at] = want(x, at); `run` is the operator, with and without an output.
template <class T, class D>
struct move_case {
  const char* name;
  shape in, out;
  std::function<double(const grid&, const std::vector<i64>&)> want;
  std::function<void(const fg::tensor_view<const T, D>&, const fg::tensor_view<T, D>&)> run;
  std::function<fg::tensor<T, D>(const fg::tensor_view<const T, D>&)> make;
};

/// An operator and its parameters as both forms of a case.
#define FLAGGEMS_MOVE_CASE(name, ...)                              \
  [=](const auto& x, const auto& out) {                            \
    fg::name(test_stream<D>(), x, out __VA_OPT__(, ) __VA_ARGS__); \
  },                                                               \
      [=](const auto& x) { return fg::name(test_stream<D>(), x __VA_OPT__(, ) __VA_ARGS__); }

template <class T, class D>
void check_move(const move_case<T, D>& one) {
  const auto check = [&](layout in, layout to) {
    SCOPED_TRACE(std::string(one.name) + ", " + to_string(in) + " to " + to_string(to));
    test_tensor<T, D> x(one.in, in, random_integers(one.in, 0, 100));
    const auto want = filled_by(one.out, [&](const std::vector<i64>& at) {
      return one.want({one.in, x.values()}, at);
    });
    if (one.run) {
      test_tensor<T, D> out(one.out, to, std::vector<double>(want.size(), 77));
      one.run(x.in(), out.view());
      expect_equal(out.read(), want);
      EXPECT_TRUE(out.gaps_untouched());
    }
    const auto made = one.make(x.in());
    EXPECT_EQ(made.shape_of(), one.out);
    expect_equal(values_of(made), want);
    EXPECT_TRUE(x.untouched());
  };
  for (const layout in : input_layouts) check(in, layout::contiguous);
  for (const layout to : output_layouts) check(layout::contiguous, to);
  check(layout::negative, layout::strided);
}

}  // namespace flaggems_test
