// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/gather.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class gathers : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(gathers, devices);

template <class D, class T, class J>
void check_gather(int dim, layout in, layout of_index, layout to, i64 columns = 17) {
  SCOPED_TRACE(std::string(to_string(in)) + ", index " + to_string(of_index) + ", to " +
               to_string(to) + ", dim " + std::to_string(dim));
  const shape sizes{3, 5, 19};
  shape picked{2, 4, columns};
  picked[dim] = columns + 6;
  test_tensor<T, D> x(sizes, in, random_integers(sizes, 0, 100)), out(picked, to);
  test_tensor<J, D> index(picked, of_index, random_integers(picked, 0, sizes[dim] - 1));
  fg::gather(test_stream<D>(), x.in(), dim - 3, index.in(), out.view());
  const grid from{sizes, x.values()}, at{picked, index.values()};
  expect_equal(out.read(), filled_by(picked, [&](std::vector<i64> i) {
                 i[static_cast<std::size_t>(dim)] = static_cast<i64>(at.at(i));
                 return from.at(i);
               }));
  EXPECT_TRUE(out.gaps_untouched());
}

TYPED_TEST(gathers, layouts) {
  using D = TypeParam;
  at_every_level<D>([] {
    for (const int dim : {0, 1, 2}) {
      for (const layout in : input_layouts)
        check_gather<D, f32, i64>(dim, in, layout::contiguous, layout::contiguous);
      for (const layout of_index : input_layouts)
        check_gather<D, f32, i64>(dim, layout::contiguous, of_index, layout::contiguous);
      for (const layout to : output_layouts)
        check_gather<D, f32, i64>(dim, layout::contiguous, layout::contiguous, to);
    }
    check_gather<D, bf16, fg::i32>(1, layout::strided, layout::offset, layout::negative);
    for (const int dim : {0, 1, 2}) {  // whole vectors of indices
      check_gather<D, f32, i64>(dim, layout::negative, layout::contiguous, layout::contiguous, 18);
      check_gather<D, bf16, fg::i32>(dim, layout::contiguous, layout::contiguous,
                                     layout::contiguous, 10);
    }
    check_gather<D, f64, i64>(1, layout::strided, layout::contiguous, layout::contiguous, 2);
  });
}

TYPED_TEST(gathers, take) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout in : input_layouts) {
    test_tensor<f32, D> x({3, 5}, in, random_integers({3, 5}, 0, 100)),
        out({2, 4}, layout::strided);
    test_tensor<i64, D> index({2, 4}, layout::transposed, random_integers({2, 4}, -15, 14));
    fg::take(s, x.in(), index.in(), out.view());
    std::vector<double> want;
    for (const double k : index.values())
      want.push_back(x.values()[static_cast<std::size_t>(k < 0 ? k + 15 : k)]);
    expect_equal(out.read(), want);
    EXPECT_TRUE(out.gaps_untouched());
  }
}

TYPED_TEST(gathers, index) {
  using D = TypeParam;
  using at = std::vector<i64>;
  const auto& s = test_stream<D>();
  for (const layout in : input_layouts) {
    SCOPED_TRACE(to_string(in));
    test_tensor<f32, D> x({3, 4, 5}, in, random_integers({3, 4, 5}, 0, 100));
    test_tensor<i64, D> a({2}, layout::negative, {-1, 1}), b({3, 1}, layout::strided, {0, 2, -3});
    test_tensor<fg::i32, D> c({2}, layout::contiguous, {4, -5});
    test_tensor<bool, D> rows({3}, layout::contiguous, {1, 0, 1}),
        some({3, 4}, layout::contiguous, {0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1});
    const grid g{x.sizes(), x.values()};
    const i64 ia[] = {2, 1}, ib[] = {0, 2, 1}, ic[] = {4, 0}, row[] = {0, 2},
              pairs[][2] = {{0, 1}, {2, 0}, {2, 3}};
    const auto check = [&](const auto& got, const shape& sizes, const auto& want) {
      EXPECT_EQ(got.shape_of(), sizes);
      expect_equal(values_of(got), filled_by(sizes, want));
    };
    check(fg::index(s, x.in(), std::tuple(a.in())), {2, 4, 5}, [&](const at& i) {
      return g.at({ia[i[0]], i[1], i[2]});
    });
    check(fg::index(s, x.in(), std::tuple(std::nullopt, b.in())), {3, 3, 1, 5}, [&](const at& i) {
      return g.at({i[0], ib[i[1]], i[3]});
    });
    check(fg::index(s, x.in(), std::tuple(a.in(), b.in())), {3, 2, 5}, [&](const at& i) {
      return g.at({ia[i[1]], ib[i[0]], i[2]});
    });
    check(fg::index(s, x.in(), std::tuple(a.in(), std::nullopt, c.in())), {2, 4}, [&](const at& i) {
      return g.at({ia[i[0]], i[1], ic[i[0]]});
    });
    check(fg::index(s, x.in(), std::tuple(a.in(), a.in(), c.in())), {2}, [&](const at& i) {
      return g.at({ia[i[0]], i[0] == 0 ? 3 : 1, ic[i[0]]});
    });
    check(fg::index(s, x.in(), std::tuple(rows.in())), {2, 4, 5}, [&](const at& i) {
      return g.at({row[i[0]], i[1], i[2]});
    });
    check(fg::index(s, x.in(), std::tuple(some.in())), {3, 5}, [&](const at& i) {
      return g.at({pairs[i[0]][0], pairs[i[0]][1], i[1]});
    });
  }
  test_tensor<f32, D> x({3, 4}, layout::contiguous, random_integers({3, 4}, 0, 100)),
      out({4, 2}, layout::negative);
  test_tensor<i64, D> index({2}, layout::contiguous, {1, -1}), none({0});
  using entry = std::optional<fg::tensor_view<const i64, D>>;
  fg::index(s, x.in(), std::vector<entry>{entry(), entry(index.in())}, out.view().narrow(0, 0, 3));
  const auto& v = x.values();
  const auto got = out.read();
  expect_equal({got.begin(), got.begin() + 6}, {v[1], v[3], v[5], v[7], v[9], v[11]});
  EXPECT_EQ(fg::index(s, x.in(), std::tuple(none.in())).shape_of(), (shape{0, 4}));
  // Masks without dimensions give x one of size 1 or 0.
  test_tensor<bool, D> yes({}, layout::contiguous, {1}), no({}, layout::contiguous, {0});
  const auto all = fg::index(s, x.in(), std::tuple(yes.in()));
  EXPECT_EQ(all.shape_of(), (shape{1, 3, 4}));
  expect_equal(values_of(all), v);
  EXPECT_EQ(fg::index(s, x.in(), std::tuple(no.in())).shape_of(), (shape{0, 3, 4}));
  expect_equal(values_of(fg::index(s, x.in(), std::tuple(std::nullopt, yes.in(), index.in()))),
               {v[1], v[3], v[5], v[7], v[9], v[11]});
  test_tensor<f32, D> one({}, layout::contiguous, {5});
  expect_equal(values_of(fg::index(s, one.in(), std::tuple(yes.in()))), {5});
  EXPECT_EQ(fg::index(s, one.in(), std::tuple(no.in())).shape_of(), (shape{0}));
}

TYPED_TEST(gathers, special_cases) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> one({}, layout::contiguous, {5}), none({0, 3});
  test_tensor<i64, D> zero(shape{}), twice({2}), empty({0, 2});
  expect_equal(values_of(fg::gather(s, one.in(), 0, zero.in())), {5});
  expect_equal(values_of(fg::gather(s, one.in(), -1, twice.in())), {5, 5});
  expect_equal(values_of(fg::take(s, one.in(), zero.in())), {5});
  EXPECT_EQ(fg::gather(s, none.in(), 1, empty.in()).shape_of(), (shape{0, 2}));
}

#if FLAGGEMS_TEST_CHIPS
TEST(gather, bad_indices_on_a_chip_give_zeros) {
  const auto& s = test_stream<chip32>();
  test_tensor<f32, chip32> x({3}, layout::contiguous, {7, 8, 9});
  test_tensor<i64, chip32> index({4}, layout::contiguous, {-4, 1, 3, -1});
  expect_equal(values_of(fg::gather(s, x.in(), 0, index.in())), {0, 8, 0, 0});
  expect_equal(values_of(fg::gather(s, x.in(), 0, index.in().narrow(0, 0, 3))), {0, 8, 0});
  expect_equal(values_of(fg::take(s, x.in(), index.in())), {0, 8, 0, 9});
  expect_equal(values_of(fg::index(s, x.in(), std::tuple(index.in()))), {0, 8, 0, 9});
}
#endif

#if FLAGGEMS_TEST_HOST  // about the host
// Many indices are checked by vectors: the first, the last, one in between, below and above.
template <class J>
void check_wrong_among_many() {
  const auto& s = test_stream<host>();
  const shape sizes{3, 331};
  const i64 n = sizes.numel();
  at_every_level<host>([&] {
    for (const i64 at : {i64{0}, i64{500}, n - 1})
      for (const double wrong : {-1.0, 331.0, 2147483647.0, 0x1p32, 0x1p40 + 7, -0x1p32, 0x1p62}) {
        if (sizeof(J) < sizeof(i64) && std::abs(wrong) > 0x1p31) continue;
        auto places = random_integers(sizes, 0, 330);
        test_tensor<J> good(sizes, layout::contiguous, places);
        places[static_cast<std::size_t>(at)] = wrong;
        test_tensor<J> bad(sizes, layout::contiguous, places);
        test_tensor<f32> x(sizes), out(sizes);
        EXPECT_RAISES(fg::gather(s, x.in(), 1, bad.in(), out.view()), out_of_range, "gather");
        EXPECT_TRUE(out.untouched());
        fg::gather(s, x.in(), 1, good.in(), out.view());
        EXPECT_EQ(out.read()[0], x.values()[static_cast<std::size_t>(good.values()[0])]);
      }
  });
}
TEST(gather, finds_a_wrong_index_among_many) {
  check_wrong_among_many<i64>();
  check_wrong_among_many<fg::i32>();
}
// The same of a dimension that has more elements than 32 bits count.
TEST(gather, finds_a_wrong_index_among_many_of_a_long_dimension) {
  const auto& s = test_stream<host>();
  const shape sizes{3, 331};
  const i64 size = (i64{1} << 31) + 5;
  test_tensor<f32> one({3, 1}), out(sizes);
  const auto x = one.in().expand({3, size});
  auto places = random_integers(sizes, 0, 330);
  places[7] = static_cast<double>(size - 1);
  test_tensor<i64> good(sizes, layout::contiguous, places);
  at_every_level<host>([&] {
    for (const i64 wrong : {size, i64{-1}, i64{1} << 32}) {
      auto others = places;
      others[500] = static_cast<double>(wrong);
      test_tensor<i64> bad(sizes, layout::contiguous, others);
      test_tensor<f32> kept(sizes);
      EXPECT_RAISES(fg::gather(s, x, 1, bad.in(), kept.view()), out_of_range, "gather");
      EXPECT_TRUE(kept.untouched());
    }
    fg::gather(s, x, 1, good.in(), out.view());
    EXPECT_EQ(out.read()[7], one.values()[0]);
  });
}

TEST(gather, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 4}), out({2, 4});
  test_tensor<i64> good({2, 4}), high({2, 4}, layout::contiguous, {4}), row({4}), long_row({5}),
      tall({4, 4});
  EXPECT_RAISES(fg::gather(s, x.in(), 1, high.in(), out.view()), out_of_range, "gather");
  EXPECT_RAISES(fg::gather(s, x.in(), 2, good.in()), out_of_range, "gather");
  EXPECT_RAISES(fg::gather(s, x.in(), 1, row.in()), shape_mismatch, "gather");
  EXPECT_RAISES(fg::gather(s, x.in(), 1, tall.in()), shape_mismatch, "gather");
  EXPECT_RAISES(fg::gather(s, x.in(), 1, good.in(), out.view().narrow(0, 0, 1)), shape_mismatch,
                "gather");
  EXPECT_RAISES(fg::gather(s, x.in(), 1, good.in(), x.view().narrow(0, 0, 2)), overlap, "gather");
  test_tensor<i64> far({1}, layout::contiguous, {12}), three({3});
  EXPECT_RAISES(fg::take(s, x.in(), far.in()), out_of_range, "take");
  EXPECT_RAISES(fg::index(s, x.in(), std::tuple(far.in())), out_of_range, "index");
  EXPECT_RAISES(fg::index(s, x.in(), std::tuple(row.in(), three.in())), shape_mismatch, "index");
  EXPECT_RAISES(fg::index(s, x.in(), std::tuple(row.in(), row.in(), row.in())), invalid_argument,
                "index");
  EXPECT_RAISES(fg::index(s, x.in(), std::tuple(std::nullopt)), invalid_argument, "index");
  test_tensor<bool> mask({4});
  EXPECT_RAISES(fg::index(s, x.in(), std::tuple(mask.in())), shape_mismatch, "index");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
