// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The expected texts are what NumPy 2.4 prints for the same arrays.
#include <flaggems/tensor/print.hpp>

#include <limits>
#include <numeric>
#include <sstream>
#include <vector>

#include "test_support.hpp"

namespace {

using namespace flaggems;

template <class T>
std::string text(std::vector<T> values, int_list sizes, const print_options& options = {}) {
  return to_string(tensor_view<T>(values.data(), sizes), options);
}

constexpr f64 nan = std::numeric_limits<f64>::quiet_NaN();
constexpr f64 inf = std::numeric_limits<f64>::infinity();

TEST(print, floats) {
  EXPECT_EQ(text<f32>({1, 2.5f, -3, 0.1f, 100, 7}, {2, 3}),
            "[[  1.    2.5  -3. ]\n [  0.1 100.    7. ]]");
  EXPECT_EQ(text<f64>({1, nan, -inf, 0.25}, {4}), "[1.    nan -inf 0.25]");
  EXPECT_EQ(text<f64>({1e-5, 1, 1e5}, {3}), "[1.e-05 1.e+00 1.e+05]");
  EXPECT_EQ(text<f64>({1.0 / 3, 2.0 / 3, 1e-3}, {3}), "[0.33333333 0.66666667 0.001     ]");
  EXPECT_EQ(text<f64>({1.0 / 3, 2.0 / 3}, {2}, {.precision = 3}), "[0.333 0.667]");
  EXPECT_EQ(text<f16>({f16(1.0 / 3), f16(65504.0)}, {2}), "[3.333e-01 6.550e+04]");
  EXPECT_EQ(text<f64>({nan, nan}, {2}), "[nan nan]");
  EXPECT_EQ(text<f64>({0.0, -0.0}, {2}), "[ 0. -0.]");
  // Types NumPy lacks: the fewest digits that tell their values apart.
  EXPECT_EQ(text<bf16>({bf16(0.1f), bf16(3.14159f)}, {2}), "[0.1  3.14]");
  EXPECT_EQ(text<f8e4m3>({f8e4m3(0.5f), f8e4m3(448.0f)}, {2}), "[  0.5 450. ]");
}

TEST(print, complex) {
  EXPECT_EQ(text<c64>({{1, 2}, {-0.0f, -0.5f}}, {2}), "[ 1.+2.j  -0.-0.5j]");
  EXPECT_EQ(text<c128>({{1, 2}}, {}), "(1+2j)");
}

TEST(print, integers_and_booleans) {
  EXPECT_EQ(text<i8>({-128, 127}, {2}), "[-128  127]");
  EXPECT_EQ(text<u64>({18446744073709551615u, 0}, {2}),
            "[18446744073709551615                    0]");
  EXPECT_EQ(text<i32>({-4, -3, -2, -1, 0, 1, 2, 3}, {2, 2, 2}),
            "[[[-4 -3]\n  [-2 -1]]\n\n [[ 0  1]\n  [ 2  3]]]");
  const bool booleans[] = {true, false, true, true};
  EXPECT_EQ(to_string(tensor_view<const bool>(booleans, {2})), "[ True False]");
  EXPECT_EQ(to_string(tensor_view<const bool>(booleans + 2, {2})), "[ True  True]");
  EXPECT_EQ(to_string(tensor_view<const bool>(booleans, {})), "True");
}

TEST(print, scalars_and_nothing) {
  EXPECT_EQ(text<f64>({3.14159265358979}, {}), "3.14159265358979");
  EXPECT_EQ(text<f32>({0.1f}, {}), "0.1");
  EXPECT_EQ(text<f32>({1}, {}), "1.0");
  EXPECT_EQ(text<f32>({1e6f}, {}), "1e+06");
  EXPECT_EQ(text<f64>({-1.5e-5}, {}), "-1.5e-05");
  EXPECT_EQ(text<i64>({-7}, {}), "-7");
  EXPECT_EQ(text<f32>({0}, {2, 0}), "[]");
}

TEST(print, long_lines_and_large_tensors) {
  std::vector<i32> values(1200);
  std::iota(values.begin(), values.end(), 0);
  EXPECT_EQ(to_string(tensor_view<i32>(values.data(), {40})),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
            " 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39]");
  EXPECT_EQ(to_string(tensor_view<i32>(values.data() + 1, {30, 39})),
            "[[   1    2    3 ...   37   38   39]\n"
            " [  40   41   42 ...   76   77   78]\n"
            " [  79   80   81 ...  115  116  117]\n"
            " ...\n"
            " [1054 1055 1056 ... 1090 1091 1092]\n"
            " [1093 1094 1095 ... 1129 1130 1131]\n"
            " [1132 1133 1134 ... 1168 1169 1170]]");
  EXPECT_EQ(to_string(tensor_view<i32>(values.data(), {9}), {.threshold = 5, .edge_items = 2}),
            "[0 1 ... 7 8]");
  constexpr i64 all = (std::numeric_limits<i64>::max)();
  EXPECT_EQ(to_string(tensor_view<i32>(values.data(), {4}), {.threshold = 0, .edge_items = all}),
            "[0 1 2 3]");
  constexpr int narrowest = (std::numeric_limits<int>::min)();
  EXPECT_EQ(to_string(tensor_view<i32>(values.data(), {2, 1}), {.line_width = narrowest}),
            "[[0]\n [1]]");
  std::vector<f32> steps(2000);
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps[i] = static_cast<f32>(static_cast<f64>(i) / 1999.0);
  EXPECT_EQ(to_string(tensor_view<f32>(steps.data(), {2000})),
            "[0.0000000e+00 5.0025014e-04 1.0005003e-03 ... 9.9899948e-01 9.9949974e-01\n"
            " 1.0000000e+00]");
}

TEST(print, views_of_any_strides_and_type) {
  i32 a[6] = {0, 1, 2, 3, 4, 5};
  const tensor_view<i32> v(a, {2, 3});
  EXPECT_EQ(to_string(v.t()), "[[0 3]\n [1 4]\n [2 5]]");
  EXPECT_EQ(to_string(v.flip({1})), "[[2 1 0]\n [5 4 3]]");
  EXPECT_EQ(to_string(tensor_view<i32>(a, {1}).expand({3})), "[0 0 0]");
  EXPECT_EQ(to_string(any_view<>(v)), "[[0 1 2]\n [3 4 5]]");
  std::ostringstream out;
  out << v << any_view<>(v.select(0, 1));
  EXPECT_EQ(out.str(), "[[0 1 2]\n [3 4 5]][3 4 5]");
  EXPECT_RAISES(to_string(v, {.precision = -1}), invalid_argument, "to_string");
}

}  // namespace
