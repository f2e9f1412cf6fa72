// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/scatter.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

using reduction = fg::scatter_reduction;
using join = std::function<double(double, double)>;
const join last = [](double, double b) { return b; };
const join add = [](double a, double b) { return a + b; };
const join multiply = [](double a, double b) { return a * b; };
const join larger = [](double a, double b) { return std::max(a, b); };
const join smaller = [](double a, double b) { return std::min(a, b); };

std::size_t place(const shape& sizes, const std::vector<i64>& at) {
  i64 k = 0;
  for (int d = 0; d < sizes.rank(); ++d) k = k * sizes[d] + at[static_cast<std::size_t>(d)];
  return static_cast<std::size_t>(k);
}
/// x after the source's elements, in row-major order, have joined it at the indices.
std::vector<double> reference(const grid& x, int dim, const grid& index, const grid& source,
                              const join& how, bool include_self = true) {
  std::vector<double> y = x.values;
  std::vector<int> count(y.size(), include_self ? 1 : 0);
  static_cast<void>(filled_by(index.sizes, [&](const std::vector<i64>& at) {
    std::vector<i64> to = at;
    to[static_cast<std::size_t>(dim)] = static_cast<i64>(index.at(at));
    const std::size_t k = place(x.sizes, to);
    y[k] = count[k]++ == 0 ? source.at(at) : how(y[k], source.at(at));
    return 0.0;
  }));
  return y;
}

/// Indices without an element twice along `dim`, for what chips write in any order.
std::vector<double> permuted(const shape& sizes, int dim, i64 n) {
  return filled_by(sizes, [&](const std::vector<i64>& at) {
    i64 sum = 1;
    for (const i64 k : at) sum += k;
    static_cast<void>(dim);
    return static_cast<double>((sum * 3) % n);
  });
}

template <class Device>
class scatters : public ::testing::Test {};
TYPED_TEST_SUITE(scatters, all_devices);

/// One scatter and its forms: `run(x, dim, index, src)` and with an output before what follows.
template <class D, class T, class Make, class Write, class InPlace>
void check(const char* name, int dim, layout in, layout of_index, layout to, const join& how,
           bool include_self, bool unique, const Make& make, const Write& write,
           const InPlace& in_place) {
  SCOPED_TRACE(std::string(name) + ": " + to_string(in) + ", index " + to_string(of_index) +
               ", to " + to_string(to) + ", dim " + std::to_string(dim));
  const shape sizes{4, 7, 5};
  shape picked{3, 6, 4}, given{4, 6, 5};
  if (!unique) picked[dim] = 9, given[dim] = 10;
  const layout own = in == layout::broadcast ? layout::contiguous : in;
  test_tensor<T, D> x(sizes, in, random_integers(sizes, -4, 4)), out(sizes, to),
      changed(sizes, own, x.values()), src(given, in, random_integers(given, -3, 3));
  const auto places =
      unique ? permuted(picked, dim, sizes[dim]) : random_integers(picked, 0, sizes[dim] - 1);
  test_tensor<i64, D> index(
      picked, unique && of_index == layout::broadcast ? layout::contiguous : of_index, places);
  const auto want = reference({sizes, x.values()}, dim, {picked, index.values()},
                              {given, src.values()}, how, include_self);
  write(x.in(), dim, index.in(), src.in(), out.view());
  expect_equal(out.read(), want);
  EXPECT_TRUE(out.gaps_untouched());
  expect_equal(values_of(make(x.in(), dim - 3, index.in(), src.in())), want);
  in_place(changed.view(), dim, index.in(), src.in());
  expect_equal(changed.read(), want);
  EXPECT_TRUE(changed.gaps_untouched());
  EXPECT_TRUE(x.untouched());
}

#define SCATTER_FORMS(name, ...)                                                         \
  [](auto... a) { return fg::name(test_stream<D>(), a... __VA_OPT__(, ) __VA_ARGS__); }, \
      [](auto... a) { fg::name(test_stream<D>(), a... __VA_OPT__(, ) __VA_ARGS__); },    \
      [](auto... a) { fg::name##_(test_stream<D>(), a... __VA_OPT__(, ) __VA_ARGS__); }

template <class D, class T>
void check_all(int dim, layout in, layout of_index, layout to) {
  check<D, T>("scatter", dim, in, of_index, to, last, true, true, SCATTER_FORMS(scatter));
  check<D, T>("scatter_add", dim, in, of_index, to, add, true, false, SCATTER_FORMS(scatter_add));
}

TYPED_TEST(scatters, layouts) {
  using D = TypeParam;
  at_every_level<D>([] {
    for (const int dim : {0, 1, 2}) {
      for (const layout in : input_layouts)
        check_all<D, f32>(dim, in, layout::contiguous, layout::contiguous);
      for (const layout of_index : input_layouts)
        check_all<D, f32>(dim, layout::contiguous, of_index, layout::contiguous);
      for (const layout to : output_layouts)
        check_all<D, f32>(dim, layout::contiguous, layout::contiguous, to);
    }
  });
}

TYPED_TEST(scatters, reductions) {
  using D = TypeParam;
  const auto c = layout::contiguous, n = layout::negative;
  check<D, f32>("add", 1, c, c, n, add, true, false, SCATTER_FORMS(scatter, reduction::sum));
  check<D, f32>("multiply", 0, n, c, c, multiply, true, false,
                SCATTER_FORMS(scatter, reduction::prod));
  check<D, f32>("sum", 2, c, n, c, add, false, false,
                SCATTER_FORMS(scatter_reduce, reduction::sum, false));
  check<D, f32>("prod", 1, c, c, c, multiply, false, false,
                SCATTER_FORMS(scatter_reduce, reduction::prod, false));
  check<D, f32>("amax", 0, c, c, n, larger, true, false,
                SCATTER_FORMS(scatter_reduce, reduction::amax));
  check<D, f32>("amin", 1, n, c, c, smaller, false, false,
                SCATTER_FORMS(scatter_reduce, reduction::amin, false));
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({3}, layout::contiguous, {6, 3, 1}),
      src({4}, layout::contiguous, {0, 2, 4, 9});
  test_tensor<i64, D> index({4}, layout::contiguous, {0, 0, 1, 0}),
      whole({2}, layout::contiguous, {-7, 5});
  expect_equal(values_of(fg::scatter_reduce(s, x.in(), 0, index.in(), src.in(), reduction::mean)),
               {4.25, 3.5, 1});
  expect_equal(values_of(fg::scatter_reduce(s, x.in(), 0, index.in().narrow(0, 0, 3), src.in(),
                                            reduction::mean, false)),
               {1, 4, 1});
  expect_equal(values_of(fg::index_reduce(s, whole.in(), 0, index.in().narrow(0, 0, 1),
                                          whole.in().narrow(0, 1, 1), reduction::mean)),
               {-1, 5});  // -2 / 2
  test_tensor<i64, D> less({1}, layout::contiguous, {4});
  expect_equal(values_of(fg::index_reduce(s, whole.in(), 0, index.in().narrow(0, 0, 1), less.in(),
                                          reduction::mean)),
               {-2, 5});  // -3 / 2, rounded down
}

TYPED_TEST(scatters, extremes_of_bools) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<bool, D> x({4}, layout::contiguous, {1, 1, 0, 1}),
      given({3}, layout::contiguous, {0, 1, 0});
  test_tensor<i64, D> index({3}, layout::contiguous, {0, 2, 1});
  const auto reduced = [&](reduction how) {
    return values_of(fg::scatter_reduce(s, x.in(), 0, index.in(), given.in(), how, false));
  };
  expect_equal(reduced(reduction::amax), {0, 0, 1, 1});
  expect_equal(reduced(reduction::amin), {0, 0, 1, 1});
}

// Many lines with indices of their own: chips join them in block-local memory, in the same order.
TYPED_TEST(scatters, many_lines) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const int dim : {1, 2}) {
    const shape sizes{13, 12, 13};
    shape picked{13, 11, 12};
    picked[dim] = 40;
    test_tensor<f32, D> x(sizes, layout::contiguous, random_integers(sizes, -4, 4));
    auto values = random_integers(picked, 0, 2);
    for (double& v : values) v = v == 0 ? 1e8 : v == 1 ? -1e8 : 1;  // sums depend on their order
    auto places = random_integers(picked, 0, sizes[dim] - 1);
    for (std::size_t k = 0; k < places.size(); ++k)
      if (k % 3 == 0) places[k] = 5;
    test_tensor<f32, D> src(picked, layout::contiguous, values);
    test_tensor<i64, D> index(picked, layout::contiguous, places);
    auto want = x.values(), largest = want;
    for (i64 i = 0; i < picked[0]; ++i)
      for (i64 j = 0; j < picked[1]; ++j)
        for (i64 k = 0; k < picked[2]; ++k) {
          const auto e = static_cast<std::size_t>((i * picked[1] + j) * picked[2] + k);
          const i64 at = static_cast<i64>(places[e]), row = dim == 1 ? at : j,
                    column = dim == 2 ? at : k;
          const auto to = static_cast<std::size_t>((i * sizes[1] + row) * sizes[2] + column);
          want[to] = static_cast<f32>(want[to]) + static_cast<f32>(values[e]);
          largest[to] = (std::max)(largest[to], values[e]);
        }
    expect_equal(values_of(fg::scatter_add(s, x.in(), dim, index.in(), src.in())), want);
    expect_equal(
        values_of(fg::scatter_reduce(s, x.in(), dim, index.in(), src.in(), reduction::amax)),
        largest);
  }
}

TYPED_TEST(scatters, numbers) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2, 3}, layout::transposed, {1, 2, 3, 4, 5, 6}),
      out({2, 3}, layout::strided);
  test_tensor<i64, D> index({2, 1}, layout::contiguous, {2, 0}),
      row({2}, layout::contiguous, {2, 0});
  fg::scatter(s, x.in(), 1, index.in(), out.view(), 9);
  expect_equal(out.read(), {1, 2, 9, 9, 5, 6});
  expect_equal(values_of(fg::scatter(s, x.in(), 1, index.in(), 2.5, reduction::prod)),
               {1, 2, 7.5, 10, 5, 6});
  expect_equal(values_of(fg::index_fill(s, x.in(), -1, row.in(), 0)), {0, 2, 0, 0, 5, 0});
  test_tensor<f32, D> value({}, layout::contiguous, {8});
  fg::index_fill_(s, x.view(), 1, row.in(), value.in());
  expect_equal(x.read(), {8, 2, 8, 8, 5, 8});
  test_tensor<fg::i32, D> narrow({2}, layout::strided, {-1, -3});
  expect_equal(values_of(fg::index_fill(s, x.in(), 1, narrow.in(), 7)), {7, 2, 7, 7, 5, 7});
}

TYPED_TEST(scatters, by_one_dimension) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout in : input_layouts)
      for (const int dim : {0, 1}) {
        SCOPED_TRACE(std::string(to_string(in)) + std::to_string(dim));
        const shape sizes{5, 6};
        shape given = sizes;
        given[dim] = 3;
        const layout own = in == layout::broadcast ? layout::contiguous : in;
        test_tensor<f32, D> x(sizes, own, random_integers(sizes, 0, 9)), out(sizes, own),
            src(given, in, random_integers(given, 0, 9));
        test_tensor<fg::i32, D> index({3}, layout::strided, {4, 1, 4}),
            other({3}, layout::strided, {0, 3, 1});
        const auto along = [&](const auto& one) {
          return grid{
              given, filled_by(given, [&](const std::vector<i64>& at) {
                return one.values()[static_cast<std::size_t>(at[static_cast<std::size_t>(dim)])];
              })};
        };
        const grid from{sizes, x.values()}, with{given, src.values()};
        fg::index_add(s, x.in(), dim, index.in(), src.in(), out.view());
        expect_equal(out.read(), reference(from, dim, along(index), with, add));
        auto doubled = with;
        for (double& v : doubled.values) v *= 2;
        expect_equal(values_of(fg::index_add(s, x.in(), dim, index.in(), src.in(), 2)),
                     reference(from, dim, along(index), doubled, add));
        expect_equal(values_of(fg::index_copy(s, x.in(), dim, other.in(), src.in())),
                     reference(from, dim, along(other), with, last));
        expect_equal(
            values_of(fg::index_reduce(s, x.in(), dim, index.in(), src.in(), reduction::amax)),
            reference(from, dim, along(index), with, larger));
        fg::index_copy_(s, x.view(), dim, other.in(), src.in());
        expect_equal(x.read(), reference(from, dim, along(other), with, last));
        EXPECT_TRUE(x.gaps_untouched() && out.gaps_untouched());
      }
  });
}

TYPED_TEST(scatters, index_put) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout in : output_layouts) {
    SCOPED_TRACE(to_string(in));
    const shape sizes{3, 4, 5};
    test_tensor<f32, D> x(sizes, in, random_integers(sizes, 0, 9)), out(sizes, in),
        values({2, 5}, layout::transposed, random_integers({2, 5}, 0, 9)),
        one({}, layout::contiguous, {4});
    test_tensor<i64, D> a({2}, layout::negative, {-1, 2}), b({2}, layout::strided, {3, 3}),
        c({2}, layout::contiguous, {0, 1});
    const grid from{sizes, x.values()}, v{values.sizes(), values.values()};
    const auto after = [&](const auto& change) {
      return filled_by(sizes, [&](const std::vector<i64>& at) { return change(at, from.at(at)); });
    };
    fg::index_put(s, x.in(), std::tuple(a.in(), b.in()), values.in(), out.view(), true);
    expect_equal(
        out.read(), after([&](const std::vector<i64>& at, double old) {
          return at[0] == 2 && at[1] == 3 ? old + v.at({0, at[2]}) + v.at({1, at[2]}) : old;
        }));
    EXPECT_TRUE(out.gaps_untouched());
    expect_equal(values_of(fg::index_put(s, x.in(), std::tuple(c.in(), b.in()), values.in())),
                 after([&](const std::vector<i64>& at, double old) {
                   return at[0] < 2 && at[1] == 3 ? v.at({at[0], at[2]}) : old;
                 }));
    expect_equal(values_of(fg::index_put(s, x.in(), std::tuple(a.in(), std::nullopt, c.in()),
                                         one.in(), true)),
                 after([&](const std::vector<i64>& at, double old) {
                   return at[0] == 2 && at[2] < 2 ? old + 4 : old;
                 }));
    test_tensor<bool, D> mask(sizes, layout::contiguous, random_integers(sizes, 0, 1));
    const grid m{sizes, mask.values()};
    fg::index_put_(s, x.view(), std::tuple(mask.in()), one.in());
    expect_equal(x.read(), after([&](const std::vector<i64>& at, double old) {
                   return m.at(at) != 0 ? 4 : old;
                 }));
    EXPECT_TRUE(x.gaps_untouched());
  }
}

// Rows of whole vectors, at the indices of one and of two dimensions.
TYPED_TEST(scatters, index_put_of_rows) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const shape sizes{5, 3, 16}, rows{7, 3, 16}, few{7, 16};
  for (const layout in : output_layouts)
    for (const bool accumulate : {true, false}) {
      SCOPED_TRACE(to_string(in) + std::string(accumulate ? ", added" : ""));
      // Of what only replaces, several for one place are the same.
      const auto some = [&](const shape& like) {
        return accumulate ? random_integers(like, 0, 9)
                          : filled_by(like, [](const std::vector<i64>& at) {
                              return static_cast<double>(at.back());
                            });
      };
      test_tensor<f32, D> x(sizes, in, random_integers(sizes, 0, 9)), both(sizes, in, x.values()),
          values(rows, layout::contiguous, some(rows)), pairs(few, layout::contiguous, some(few));
      test_tensor<i64, D> a({7}, layout::contiguous, {4, 0, -1, 2, 4, 4, 0}),
          b({7}, layout::strided, {0, 1, 0, -1, 0, 2, 1});
      const grid v{rows, values.values()}, p{few, pairs.values()};
      std::vector<double> expected = x.values(), paired = expected;
      const auto put = [&](std::vector<double>& to, std::vector<i64> at, double value) {
        double& old = to[place(sizes, at)];
        old = accumulate ? old + value : value;
      };
      for (i64 i = 0; i < 7; ++i)
        for (i64 k = 0; k < 16; ++k) {
          const i64 first = (static_cast<i64>(a.values()[static_cast<std::size_t>(i)]) + 5) % 5,
                    second = (static_cast<i64>(b.values()[static_cast<std::size_t>(i)]) + 3) % 3;
          put(paired, {first, second, k}, p.at({i, k}));
          for (i64 j = 0; j < 3; ++j) put(expected, {first, j, k}, v.at({i, j, k}));
        }
      fg::index_put_(s, x.view(), std::tuple(a.in()), values.in(), accumulate);
      expect_equal(x.read(), expected);
      fg::index_put_impl_(s, both.view(), std::tuple(a.in(), b.in()), pairs.in(), accumulate);
      expect_equal(both.read(), paired);
      EXPECT_TRUE(x.gaps_untouched() && both.gaps_untouched());
    }
}

// Sums of small floats are rounded once; of bool they are whether any is true.
TYPED_TEST(scatters, masks_without_dimensions) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2, 2}, layout::strided, {1, 2, 3, 4}), value({}, layout::contiguous, {9}),
      one({}, layout::contiguous, {5});
  test_tensor<bool, D> yes({}, layout::contiguous, {1}), no({}, layout::contiguous, {0});
  expect_equal(values_of(fg::index_put(s, x.in(), std::tuple(yes.in()), value.in())), {9, 9, 9, 9});
  expect_equal(values_of(fg::index_put(s, x.in(), std::tuple(no.in()), value.in())), {1, 2, 3, 4});
  expect_equal(values_of(fg::index_put(s, one.in(), std::tuple(yes.in()), value.in(), true)), {14});
}

TYPED_TEST(scatters, small_types) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<bf16, D> x({2}, layout::contiguous, {256, 1}),
      ones({300}, layout::contiguous, std::vector<double>(300, 1));
  test_tensor<i64, D> index({300});
  expect_equal(values_of(fg::index_add(s, x.in(), 0, index.in(), ones.in())), {556, 1});
  test_tensor<bool, D> flags({3}, layout::contiguous, {0, 1, 0}),
      more({3}, layout::contiguous, {1, 1, 0});
  test_tensor<i64, D> zero({3}, layout::contiguous, {2, 1, 1});
  expect_equal(values_of(fg::scatter_add(s, flags.in(), 0, zero.in(), more.in())), {0, 1, 1});
  EXPECT_EQ(values_of(fg::index_add(s, flags.in(), 0, zero.in(), more.in(), i64{1} << 32)),
            (std::vector<double>{0, 1, 1}));
  test_tensor<fg::u8, D> bytes({1}, layout::contiguous, {250}),
      some({3}, layout::contiguous, {3, 3, 3});
  test_tensor<i64, D> first({3});
  expect_equal(values_of(fg::scatter_add(s, bytes.in(), 0, first.in(), some.in())), {3});
}

TYPED_TEST(scatters, empty) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2}, layout::contiguous, {1, 2}), none({0}),
      one({}, layout::contiguous, {3}), two({}, layout::contiguous, {5});
  test_tensor<i64, D> nothing({0}), zero(shape{});
  expect_equal(values_of(fg::scatter(s, x.in(), 0, nothing.in(), none.in())), {1, 2});
  expect_equal(values_of(fg::index_add(s, x.in(), 0, nothing.in(), none.in())), {1, 2});
  expect_equal(values_of(fg::scatter_add(s, one.in(), 0, zero.in(), two.in())), {8});
  expect_equal(values_of(fg::index_put(s, x.in(), std::tuple(nothing.in()), one.in())), {1, 2});
  EXPECT_EQ(fg::scatter(s, none.in(), 0, nothing.in(), none.in()).shape_of(), (shape{0}));
}

#if FLAGGEMS_TEST_CHIPS
TEST(scatter, bad_indices_on_a_chip_write_nothing) {
  const auto& s = test_stream<chip32>();
  test_tensor<f32, chip32> x({3}, layout::contiguous, {7, 8, 9}),
      src({3}, layout::contiguous, {1, 2, 3});
  test_tensor<i64, chip32> index({3}, layout::contiguous, {-1, 1, 3});
  expect_equal(values_of(fg::scatter(s, x.in(), 0, index.in(), src.in())), {7, 2, 9});
  expect_equal(values_of(fg::scatter_add(s, x.in(), 0, index.in(), src.in())), {7, 10, 9});
}
#endif

#if FLAGGEMS_TEST_HOST  // about the host
TEST(scatter, multiplies_integers_exactly) {
  const auto& s = test_stream<host>();
  test_tensor<i64> zero({1}), index({1}), one({1}, layout::contiguous, {1});
  EXPECT_EQ(fg::index_add(s, zero.in(), 0, index.in(), one.in(), (i64{1} << 53) + 1).data()[0],
            (i64{1} << 53) + 1);
  test_tensor<fg::i32> small({1}), four({1}, layout::contiguous, {4}), out({1});
  expect_equal(values_of(fg::index_add(s, small.in(), 0, index.in(), four.in(), 1.5)), {4});
  EXPECT_RAISES(fg::index_add(s, small.in(), 0, index.in(), four.in(), 3'000'000'000),
                invalid_argument, "index_add");
  EXPECT_RAISES(fg::index_add(s, small.in(), 0, index.in(), four.in(), out.view(), 3e9),
                invalid_argument, "index_add");
  EXPECT_TRUE(out.untouched());
}

// Sums of small floats are of a copy in f32, or of sorted elements where out is much larger.
TEST(scatter, rounds_once_in_small_and_large_outputs) {
  const auto& s = test_stream<host>();
  constexpr i64 places = 16, count = 96, far = 4096;
  std::vector<double> index(count), source(count);
  for (i64 i = 0; i < count; ++i) {
    index[static_cast<std::size_t>(i)] = static_cast<double>(i * 7 % places);
    source[static_cast<std::size_t>(i)] = static_cast<double>(i % 11) / 256 - 1.0 / 64;
  }
  test_tensor<i64> at({count}, layout::contiguous, index);
  test_tensor<bf16> values({count}, layout::contiguous, source);
  test_tensor<bf16> few({places}, layout::contiguous, std::vector<double>(places, 1)),
      many({far}, layout::contiguous, std::vector<double>(far, 1));
  const auto sums = values_of(fg::scatter_add(s, few.in(), 0, at.in(), values.in()));
  auto first = values_of(fg::scatter_add(s, many.in(), 0, at.in(), values.in()));
  first.resize(places);
  EXPECT_EQ(first, sums);
  std::vector<float> precise(places, 1);
  for (std::size_t i = 0; i < count; ++i)
    precise[static_cast<std::size_t>(index[i])] += static_cast<float>(source[i]);
  for (std::size_t k = 0; k < places; ++k)
    EXPECT_EQ(sums[k], static_cast<double>(static_cast<float>(bf16(precise[k]))));
}
TEST(scatter, adds_rows_of_vectors_and_a_rest) {
  const auto& s = test_stream<host>();
  constexpr i64 width = 37;
  std::vector<double> rows(4 * width), start(3 * width);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i % 23);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<double>(i % 5);
  test_tensor<i64> index({4}, layout::contiguous, {2, 0, 2, 2});
  test_tensor<f32> x({3, width}, layout::contiguous, start),
      source({4, width}, layout::contiguous, rows);
  auto expected = start;
  const i64 of[] = {2, 0, 2, 2};
  for (i64 r = 0; r < 4; ++r)
    for (i64 k = 0; k < width; ++k)
      expected[static_cast<std::size_t>(of[r] * width + k)] +=
          rows[static_cast<std::size_t>(r * width + k)];
  expect_equal(values_of(fg::index_add(s, x.in(), 0, index.in(), source.in())), expected);
}

// Lines of small floats are joined in f32, in pieces, and rounded once.
template <class T>
void check_small_lines() {
  const auto& s = test_stream<host>();
  constexpr i64 lines = 3, size = 41, count = 700;
  const shape sizes{lines, count};
  test_tensor<i64> index(sizes, layout::contiguous, random_integers(sizes, 0, size - 1));
  test_tensor<T> source(sizes, layout::offset, random_values(sizes, -1, 1)),
      x({lines, size}, layout::offset, random_values({lines, size}, -1, 1));
  std::vector<float> sums(x.values().begin(), x.values().end()), most = sums;
  for (i64 k = 0; k < lines * count; ++k) {
    const auto from = static_cast<std::size_t>(k);
    const auto to =
        static_cast<std::size_t>(k / count * size + static_cast<i64>(index.values()[from]));
    const auto value = static_cast<float>(source.values()[from]);
    sums[to] += value;
    most[to] = std::max(most[to], value);
  }
  const auto rounded = [](const std::vector<float>& all) {
    std::vector<double> r;
    for (const float v : all) r.push_back(static_cast<double>(static_cast<float>(T(v))));
    return r;
  };
  expect_equal(values_of(fg::scatter_add(s, x.in(), 1, index.in(), source.in())), rounded(sums));
  expect_equal(values_of(fg::scatter_reduce(s, x.in(), 1, index.in(), source.in(),
                                            fg::scatter_reduction::amax)),
               rounded(most));
}
TEST(scatter, small_lines) {
  at_every_level<host>([&] {
    check_small_lines<bf16>();
    check_small_lines<fg::f16>();
  });
}
// As do rows at one index each, which are sorted by it.
TEST(scatter, small_rows) {
  const auto& s = test_stream<host>();
  constexpr i64 width = 37, count = 90, places = 5;
  const shape sizes{count, width};
  at_every_level<host>([&] {
    test_tensor<i64> index({count}, layout::contiguous, random_integers({count}, 0, places - 1));
    test_tensor<bf16> source(sizes, layout::contiguous, random_values(sizes, -1, 1)),
        x({places, width}, layout::contiguous, random_values({places, width}, -1, 1));
    std::vector<float> sums(x.values().begin(), x.values().end());
    for (i64 k = 0; k < count * width; ++k)
      sums[static_cast<std::size_t>(
          static_cast<i64>(index.values()[static_cast<std::size_t>(k / width)]) * width +
          k % width)] += static_cast<float>(source.values()[static_cast<std::size_t>(k)]);
    std::vector<double> expected;
    for (const float v : sums) expected.push_back(static_cast<double>(static_cast<float>(bf16(v))));
    expect_equal(values_of(fg::index_add(s, x.in(), 0, index.in(), source.in())), expected);
  });
}

TEST(scatter, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 4}), src({2, 4}), small({1, 4}), out({3, 4}), row({4});
  test_tensor<i64> good({2, 4}), high({2, 4}, layout::contiguous, {4}), line({2}),
      far({2}, layout::contiguous, {-1});
  EXPECT_RAISES(fg::scatter(s, x.in(), 1, high.in(), src.in(), out.view()), out_of_range,
                "scatter");
  EXPECT_RAISES(fg::scatter(s, x.in(), 2, good.in(), src.in()), out_of_range, "scatter");
  EXPECT_RAISES(fg::scatter(s, x.in(), 1, good.in(), small.in()), shape_mismatch, "scatter");
  EXPECT_RAISES(fg::scatter(s, x.in(), 1, line.in(), src.in()), shape_mismatch, "scatter");
  EXPECT_RAISES(fg::scatter_add(s, small.in(), 1, good.in(), src.in()), shape_mismatch,
                "scatter_add");
  EXPECT_RAISES(fg::scatter_(s, x.view(), 1, good.in(), x.in().narrow(0, 0, 2)), overlap,
                "scatter_");
  EXPECT_RAISES(fg::scatter(s, x.in(), 1, good.in(), out.view().narrow(0, 0, 2), 1), shape_mismatch,
                "scatter");
  EXPECT_RAISES(fg::index_add(s, x.in(), 0, line.in(), row.in()), shape_mismatch, "index_add");
  EXPECT_RAISES(fg::index_copy(s, x.in(), 0, far.in(), src.in()), out_of_range, "index_copy");
  EXPECT_RAISES(fg::index_fill(s, x.in(), 0, good.in(), 1), invalid_argument, "index_fill");
  test_tensor<i64> below({1}, layout::contiguous, {-4});
  EXPECT_RAISES(fg::index_fill(s, x.in(), 0, below.in(), 1), out_of_range, "index_fill");
  EXPECT_RAISES(fg::index_put(s, x.in(), std::tuple(line.in()), src.in().narrow(1, 0, 3)),
                shape_mismatch, "index_put");
  EXPECT_RAISES(fg::index_put_(s, x.view(), std::tuple(line.in()), x.in().narrow(0, 0, 2)), overlap,
                "index_put_");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
