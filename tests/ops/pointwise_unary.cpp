// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every unary row of the pointwise table in f32: layouts, shapes, special values, in place, errors
// in units in the last place, on every device.
#include <support/math_functions.hpp>
#include <support/pointwise.hpp>

#include <bit>
#include <string_view>

namespace flaggems_test {
namespace {

/// The greatest error of a row in f32 on D, in units in the last place.
template <class D>
double units_allowed(std::string_view row) {
  if (!std::is_same_v<D, host>) {  // a chip's instruction for 2^x errs by 1.5 of its own
    if (row == "exp" || row == "exp2") return 2.25;
    if (row == "sigmoid" || row == "silu") return 4;
  }
  if (row == "gelu_none") row = "gelu";
#define FLAGGEMS_UNITS(name, reference, in_f32, in_f64) \
  if (row == #name) return in_f32;
  MATH_TEST_FUNCTIONS(FLAGGEMS_UNITS)
#undef FLAGGEMS_UNITS
  return 0.5;
}

template <class D>
class pointwise_unary : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(pointwise_unary, devices);

TYPED_TEST(pointwise_unary, layouts) {
  using D = TypeParam;
  const shape sizes{2, 3, 19};
  at_every_level<D>([&] {
    unary_rows::for_each([&](auto row) {
      using Row = decltype(row);
      SCOPED_TRACE(Row::name);
      const auto values = operand_values<Row, f32>(sizes, 0);
      for (const layout in : input_layouts)
        for (const layout to : output_layouts) {
          SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to));
          test_tensor<f32, D> x(sizes, in, values);
          row_check<Row, f32, D>::run(sizes, to, x);
        }
    });
  });
}

TYPED_TEST(pointwise_unary, shapes) {
  using D = TypeParam;
  at_every_level<D>([&] {
    unary_rows::for_each([&](auto row) {
      using Row = decltype(row);
      SCOPED_TRACE(Row::name);
      for (const shape& sizes :
           {shape{}, shape{0}, shape{3, 0, 2}, shape{1}, shape{1, 1, 1}, shape{7}, shape{16},
            shape{31}, shape{257}, shape{16385}, shape{2, 1, 2, 1, 2, 1, 2, 3}}) {
        SCOPED_TRACE(fg::to_string(sizes));
        test_tensor<f32, D> x(sizes, layout::contiguous, operand_values<Row, f32>(sizes, 0));
        row_check<Row, f32, D>::run(sizes, layout::contiguous, x);
      }
      test_tensor<f32, D> x({3, 1}, layout::strided, operand_values<Row, f32>({3, 1}, 0));
      row_check<Row, f32, D>::run({2, 3, 5}, layout::contiguous, x);  // the input broadcasts
    });
  });
}

TYPED_TEST(pointwise_unary, special_values) {
  using D = TypeParam;
  const std::vector<double> values = special_values();
  const shape sizes{static_cast<i64>(values.size())};
  at_every_level<D>([&] {
    unary_rows::for_each([&](auto row) {
      using Row = decltype(row);
      SCOPED_TRACE(Row::name);
      test_tensor<f32, D> x(sizes, layout::contiguous, values);
      row_check<Row, f32, D>::run(sizes, layout::contiguous, x);
    });
  });
}

TYPED_TEST(pointwise_unary, errs_by_few_units) {
  using D = TypeParam;
  std::vector<double> values;  // of every sign, exponent and last bits
  for (std::uint32_t k = 0; k < 1U << 17; ++k)
    values.push_back(static_cast<double>(std::bit_cast<f32>(k * 32769U)));
  const shape sizes{static_cast<i64>(values.size())};
  at_every_level<D>([&] {
    unary_rows::for_each([&](auto row) {
      using Row = decltype(row);
      test_tensor<f32, D> x(sizes, layout::contiguous, values);
      const auto y = Row::eager(test_stream<D>(), x.in());
      if constexpr (std::is_same_v<fg::value_t<decltype(y)>, f32>) {
        const std::vector<double> got = values_of(y);
        double worst = 0, at = 0;
        for (std::size_t k = 0; k < values.size(); ++k) {
          const double error =
              math_test::ulp_error<f32, double>(static_cast<f32>(got[k]), Row::want(values[k]));
          if (error > worst) worst = error, at = values[k];
        }
        EXPECT_LE(worst, units_allowed<D>(Row::name)) << Row::name << " of " << at;
      }
    });
  });
}

TYPED_TEST(pointwise_unary, in_place) {
  using D = TypeParam;
  const shape sizes{5, 21};
  unary_rows::for_each([&](auto row) {
    using Row = decltype(row);
    SCOPED_TRACE(Row::name);
    for (const layout how : output_layouts) {
      SCOPED_TRACE(to_string(how));
      test_tensor<f32, D> x(sizes, how, operand_values<Row, f32>(sizes, 0));
      const auto want = row_check<Row, f32, D>::want(std::array{&x}, sizes);
      Row::in_place(test_stream<D>(), x.view());
      expect_close<f32>(x.read(), want, tolerance_for<Row, f32>());
      EXPECT_TRUE(x.gaps_untouched());
    }
  });
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(pointwise_unary_errors, nothing_is_written) {
  unary_rows::for_each([&](auto row) {
    using Row = decltype(row);
    const auto& stream = test_stream<host>();
    test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6})), out({4, 6});
    EXPECT_RAISES(Row::eager(stream, x.in(), out.view().narrow(1, 0, 5)), shape_mismatch,
                  Row::name);
    EXPECT_RAISES(Row::eager(stream, x.in(), out.view().narrow(0, 0, 1).expand({4, 6})), overlap,
                  Row::name);
    EXPECT_RAISES(Row::eager(stream, x.in().narrow(0, 0, 3), x.view().narrow(0, 1, 3)), overlap,
                  Row::name);
    EXPECT_TRUE(x.untouched());
    EXPECT_TRUE(out.untouched());
  });
}

#endif

}  // namespace
}  // namespace flaggems_test
