// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/outer.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class vector_products : public ::testing::Test {};
TYPED_TEST_SUITE(vector_products, all_devices);

TYPED_TEST(vector_products, all) {
  using D = TypeParam;
  using at = std::vector<i64>;
  const auto& s = test_stream<D>();
  for (const layout in : input_layouts) {
    SCOPED_TRACE(to_string(in));
    test_tensor<f32, D> x({5}, in, random_integers({5}, -4, 4)),
        y({3}, in, random_integers({3}, -4, 4)), z({5}, in, random_integers({5}, -4, 4)),
        m({5, 3}, in, random_integers({5, 3}, -4, 4)),
        out({5, 3}, in == layout::broadcast ? layout::contiguous : in), row({5}, layout::strided);
    const auto &a = x.values(), &b = y.values(), &c = z.values();
    const grid g{m.sizes(), m.values()};
    const auto product = [&](const at& i) {
      return a[static_cast<std::size_t>(i[0])] * b[static_cast<std::size_t>(i[1])];
    };
    fg::outer(s, x.in(), y.in(), out.view());
    expect_equal(out.read(), filled_by({5, 3}, product));
    EXPECT_TRUE(out.gaps_untouched());
    double sum = 0;
    for (std::size_t k = 0; k < 5; ++k)
      sum += a[static_cast<std::size_t>(k)] * c[static_cast<std::size_t>(k)];
    expect_equal(values_of(fg::dot(s, x.in(), z.in())), {sum});
    expect_equal(values_of(fg::vdot(s, x.in(), z.in())), {sum});
    expect_equal(values_of(fg::linalg_vecdot(s, x.in(), z.in())), {sum});
    expect_equal(values_of(fg::linalg_vecdot(s, m.in(), x.in().unsqueeze(1), 0)),
                 filled_by({3}, [&](const at& i) {
                   double v = 0;
                   for (i64 k = 0; k < 5; ++k)
                     v += g.at({k, i[0]}) * a[static_cast<std::size_t>(k)];
                   return v;
                 }));
    expect_equal(values_of(fg::addr(s, m.in(), x.in(), y.in(), {.beta = 2, .alpha = 3})),
                 filled_by({5, 3}, [&](const at& i) { return 2 * g.at(i) + 3 * product(i); }));
    fg::addmv(s, x.in(), m.in(), y.in(), row.view(), {.beta = 1, .alpha = 2});
    expect_equal(row.read(), filled_by({5}, [&](const at& i) {
                   double v = a[static_cast<std::size_t>(i[0])];
                   for (i64 k = 0; k < 3; ++k)
                     v += 2 * g.at({i[0], k}) * b[static_cast<std::size_t>(k)];
                   return v;
                 }));
    const auto big = fg::kron(s, m.in(), y.in());
    EXPECT_EQ(big.shape_of(), (shape{5, 9}));
    expect_equal(values_of(big), filled_by({5, 9}, [&](const at& i) {
                   return g.at({i[0], i[1] / 3}) * b[static_cast<std::size_t>(i[1] % 3)];
                 }));
  }
  test_tensor<f32, D> none({0}), x({2}, layout::contiguous, {1, 2});
  EXPECT_EQ(fg::outer(s, none.in(), x.in()).shape_of(), (shape{0, 2}));
  EXPECT_EQ(fg::kron(s, none.in(), x.in()).shape_of(), (shape{0}));
  expect_equal(values_of(fg::dot(s, none.in(), none.in())), {0});
}

// A factor that is the same along a row stands in a vector of any element size; rows end in a rest.
template <class T, class D>
void check_long_rows() {
  const auto& s = test_stream<D>();
  for (const i64 n : {3, 16, 133, 300}) {
    const i64 m = n == 300 ? 61 : 7;  // more rows than a tile has
    test_tensor<T, D> x({m}, layout::strided, random_integers({m}, 0, 3)),
        y({n}, layout::contiguous, random_integers({n}, 0, 3)), out({m, n}, layout::offset);
    const auto &a = x.values(), &b = y.values();
    fg::outer(s, x.in(), y.in(), out.view());
    expect_equal(out.read(), filled_by({m, n}, [&](const std::vector<i64>& i) {
                   return a[static_cast<std::size_t>(i[0])] * b[static_cast<std::size_t>(i[1])];
                 }));
    EXPECT_TRUE(out.gaps_untouched());
  }
}
TYPED_TEST(vector_products, long_rows) {
  using D = TypeParam;
  at_every_level<D>([&] {
    check_long_rows<f32, D>();
    check_long_rows<bf16, D>();
    check_long_rows<fg::u8, D>();
    check_long_rows<fg::i64, D>();
    check_long_rows<f64, D>();
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(outer, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3}), y({4}), m({3, 4}), five({1, 1, 1, 1, 1}), out({3, 3});
  EXPECT_RAISES(fg::outer(s, m.in(), x.in()), invalid_argument, "outer");
  EXPECT_RAISES(fg::outer(s, x.in(), y.in(), out.view()), shape_mismatch, "outer");
  EXPECT_RAISES(fg::dot(s, x.in(), y.in()), shape_mismatch, "dot");
  EXPECT_RAISES(fg::addr(s, m.in(), m.in(), y.in()), invalid_argument, "addr");
  EXPECT_RAISES(fg::addmv(s, x.in(), m.in(), m.in()), invalid_argument, "addmv");
  EXPECT_RAISES(fg::kron(s, five.in(), x.in()), invalid_argument, "kron");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
