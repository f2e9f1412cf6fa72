// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Weights that are packed once: the same bits as without.
#include <flaggems/ops/gemm_packed.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <support/ops.hpp>

#include <string>
#include <utility>
#include <vector>

namespace flaggems_test {
namespace {

namespace fk = flaggems::kernels;
using fg::epilogue, fg::product;
using fg::i32, fg::i8, fg::u8;

template <class T>
std::vector<double> values_for(const shape& sizes) {
  if constexpr (std::is_same_v<T, i8>)
    return random_integers(sizes, -128, 127);
  else if constexpr (std::is_same_v<T, u8>)
    return random_integers(sizes, 0, 255);
  else
    return random_values(sizes);
}

/// Plain, with a bias, with an epilogue; `exact`: the product without packing packs its operands,
/// so that its bits are the same.
template <class D, class T, class Out>
void check_packed(i64 m, i64 n, i64 k, layout lw, bool exact) {
  SCOPED_TRACE(fg::to_string(shape{m, n, k}) + ", weight " + to_string(lw));
  const auto& s = test_stream<D>();
  test_tensor<T, D> x({m, k}, layout::contiguous, values_for<T>({m, k}));
  test_tensor<T, D> w({n, k}, lw, values_for<T>({n, k}));
  test_tensor<Out, D> bias({n}, layout::strided, random_integers({n}, -9, 9));
  const auto packed = fg::pack_matrix(s, w.in());
  EXPECT_EQ(packed.rows(), n);
  EXPECT_EQ(packed.columns(), k);
  test_tensor<Out, D> want({m, n}), got({m, n}, layout::strided);
  const auto same_values = [&](const std::vector<double>& values) {
    if (exact || fk::is_byte<T>) {
      expect_equal(values, want.read());
    } else {
      tolerance tol = tolerance_of<Out>();
      tol.atol = 1e-6 * static_cast<double>(k + 1) + (sizeof(Out) == 2 ? 0.02 : 0);
      expect_close<Out>(values, want.read(), tol);
    }
  };
  const auto same = [&] {
    same_values(got.read());
    EXPECT_TRUE(got.gaps_untouched());
  };
  fg::linear(s, x.in(), w.in(), want.view());
  fg::linear(s, x.in(), packed, got.view());
  same();
  fg::linear(s, x.in(), w.in(), bias.in(), want.view());
  fg::linear(s, x.in(), packed, bias.in(), got.view());
  same();
  if constexpr (std::is_same_v<Out, T>)
    same_values(values_of(fg::linear(s, x.in(), packed, fg::with_bias(bias.in()))));
  if constexpr (std::is_same_v<Out, f32>) {
    fg::linear(s, x.in(), w.in(), want.view(), epilogue(product * bias.in() + 1));
    fg::linear(s, x.in(), packed, got.view(), epilogue(product * bias.in() + 1));
    same();
    same_values(values_of(fg::linear(s, x.in(), packed, epilogue(product * bias.in() + 1))));
  }
}

#if FLAGGEMS_TEST_HOST  // what is packed is the host's
TEST(gemm_packed, same_bits_on_the_host) {
  at_every_level<host>([] {
    for (const int threads : {1, 3}) {
      host::set_num_threads(threads);
      for (const layout lw : {layout::contiguous, layout::transposed, layout::negative}) {
        check_packed<host, f32, f32>(70, 110, 90, lw, true);
        check_packed<host, f32, f32>(70, 200, 1100, lw, true);
        check_packed<host, bf16, bf16>(70, 110, 700, lw, true);
        check_packed<host, i8, i32>(70, 110, 700, lw, true);
      }
      check_packed<host, f32, f32>(150, 1, 500, layout::contiguous, false);
      check_packed<host, f32, f32>(1, 150, 500, layout::contiguous, false);
      check_packed<host, f32, f32>(5, 6, 7, layout::contiguous, false);
      check_packed<host, f32, f32>(4, 3, 0, layout::contiguous, true);
      check_packed<host, i8, i32>(1, 150, 2500, layout::contiguous, true);
    }
  });
}
TEST(gemm_packed, other_types) {
  check_packed<host, double, double>(70, 90, 600, layout::contiguous, true);
  check_packed<host, fg::f16, f32>(70, 90, 600, layout::contiguous, true);
  check_packed<host, u8, i32>(70, 90, 600, layout::contiguous, true);
}
#endif

template <class Device>
class gemm_packed_devices : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(gemm_packed_devices, devices);
TYPED_TEST(gemm_packed_devices, elsewhere_it_is_a_copy) {
  check_packed<TypeParam, f32, f32>(7, 19, 30, layout::contiguous, false);
  check_packed<TypeParam, f32, f32>(7, 19, 30, layout::transposed, false);
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host
TEST(gemm_packed, rows_do_not_depend_on_their_number) {
  const auto& s = test_stream<host>();
  test_tensor<f32> w({75, 300}, layout::contiguous, random_values({75, 300}));
  test_tensor<f32> x({2, 3, 300}, layout::contiguous, random_values({2, 3, 300}));
  const auto packed = fg::pack_matrix(s, w.in());
  const auto all = values_of(fg::linear(s, x.in(), packed));
  const auto last = values_of(fg::linear(s, x.in().select(0, 1).select(0, 2), packed));
  expect_equal(last, std::vector<double>(all.end() - 75, all.end()));
}

TEST(gemm_packed, bad_input) {
  const auto& s = test_stream<host>();
  test_tensor<f32> w({5, 4}), x({3, 4}), out({3, 5}), wrong({3, 3}), bias({4}), cube({1, 5, 4});
  const auto packed = fg::pack_matrix(s, w.in());
  const auto mismatch = fg::errc::shape_mismatch;
  EXPECT_EQ(code_of([&] { (void)fg::pack_matrix(s, cube.in()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::linear(s, wrong.in(), packed, out.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::linear(s, x.in(), packed, wrong.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::linear(s, x.in(), packed, bias.in(), out.view()); }), mismatch);
  if (fg::isa() > fg::isa_level::baseline) {
    const fg::isa_guard guard(fg::isa_level::baseline);
    EXPECT_EQ(code_of([&] { fg::linear(s, x.in(), packed, out.view()); }), fg::errc::not_supported);
  }
  auto source = fg::pack_matrix(s, w.in());
  const auto target = std::move(source);
  EXPECT_EQ(target.rows(), 5);
  EXPECT_EQ(source.rows(), 0);  // NOLINT(bugprone-use-after-move): what it is then
  EXPECT_EQ(source.columns(), 0);
  try {
    fg::linear(s, x.in(), source, out.view());
    ADD_FAILURE();
  } catch (const fg::error& e) {
    EXPECT_EQ(e.code(), fg::errc::invalid_argument);
    EXPECT_EQ(e.op(), "linear");
    EXPECT_NE(std::string(e.what()).find("packed matrix"), std::string::npos);
  }
  EXPECT_TRUE(out.untouched());
  fg::linear(s, x.in(), target, out.view());
  source = fg::pack_matrix(s, w.in());
  expect_equal(values_of(fg::linear(s, x.in(), source)), out.read());
}
#endif

}  // namespace
}  // namespace flaggems_test
