// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace flaggems_test {
namespace {

using std::int32_t, std::int8_t, std::uint8_t;

template <class D>
class copy_devices : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(copy_devices, devices);

TYPED_TEST(copy_devices, layouts) {
  using D = TypeParam;
  at_every_level<D>([&] {
    for (const shape& sizes :
         {shape{}, shape{0, 3}, shape{1}, shape{3, 5, 18}, shape{2, 2, 2, 2, 2, 2, 2, 2}})
      for (const layout in : input_layouts)
        for (const layout to : output_layouts) {
          test_tensor<f32, D> x(sizes, in, random_values(sizes)), out(sizes, to);
          fg::copy_(test_stream<D>(), out.view(), x.in());
          expect_equal(out.read(), x.values());
          EXPECT_TRUE(out.gaps_untouched());
        }
    test_tensor<f32, D> row({1, 7}, layout::strided, random_values({1, 7})), out({3, 7});
    fg::copy_(test_stream<D>(), out.view(), row.in());  // broadcasts
    for (std::size_t k = 0; k < 21; ++k) EXPECT_EQ(out.read()[k], row.values()[k % 7]);
  });
}

/// Transpositions whose tiles are whole and cut off, of lines that begin at packs and elsewhere,
/// and rows; the part of a tensor from element `first` of each dimension on.
template <class T, class D>
void check_permuted(const shape& sizes, const shape& order, i64 first = 0) {
  SCOPED_TRACE(fg::to_string(sizes));
  test_tensor<T, D> x(sizes, layout::contiguous, random_integers(sizes, 0, 100));
  auto part = x.in();
  for (int d = 0; d < part.rank(); ++d) part = part.narrow(d, first, part.size(d) - first);
  const auto permuted = part.permute(order);
  test_tensor<T, D> out(shape(permuted.sizes()));
  fg::copy_(test_stream<D>(), out.view(), permuted);
  std::vector<double> want;
  for_each_offset(shape(permuted.sizes()), shape(permuted.strides()), [&](i64 offset) {
    want.push_back(x.values()[static_cast<std::size_t>(permuted.data() - x.in().data() + offset)]);
  });
  expect_equal(out.read(), want);
  EXPECT_TRUE(out.gaps_untouched());
  if constexpr (!fg::host_accessible<D>) {  // the way of large ones
    const fg::detail::memory_layout layouts[] = {fg::detail::layout_of(out.view()),
                                                 fg::detail::layout_of(permuted)};
    const fg::detail::iteration it = fg::detail::plan_copy(layouts[0], layouts[1]);
    if (!fg::detail::is_transposed<D>(it, sizeof(T))) return;
    using kernel =
        fg::kernels::transposed_shifted<fg::kernels::uint_of_size<static_cast<int>(sizeof(T))>>;
    fg::fill_(test_stream<D>(), out.view(), 0);
    fg::detail::copy_transposed<kernel>(test_stream<D>(), {.op = "copy_"}, it, layouts);
    expect_equal(out.read(), want);
    EXPECT_TRUE(out.gaps_untouched());
  }
}
TYPED_TEST(copy_devices, permuted) {
  using D = TypeParam;
  check_permuted<uint8_t, D>({144, 160}, {1, 0});
  check_permuted<bf16, D>({80, 136}, {1, 0});
  check_permuted<bf16, D>({67, 2, 69}, {2, 1, 0});
  check_permuted<f32, D>({72, 3, 44}, {2, 1, 0});
  check_permuted<f32, D>({33, 131}, {1, 0});
  check_permuted<f64, D>({2, 40, 38}, {0, 2, 1});
  check_permuted<uint8_t, D>({194, 163}, {1, 0}, 3);
  check_permuted<bf16, D>({112, 203}, {1, 0}, 1);
  check_permuted<f32, D>({3, 121, 131}, {0, 2, 1}, 2);
  check_permuted<f64, D>({35, 67}, {1, 0}, 1);
  check_permuted<bf16, D>({2, 5, 3, 64}, {0, 2, 1, 3});
}

/// How often the kernel of a few rows in turns has been launched.
int interleaved = 0;

/// Matrices of a few rows transposed, of lines that begin at vectors and elsewhere.
template <class T, class D>
void check_few_rows() {
  const auto width = static_cast<i64>(16 / sizeof(T));
  for (const i64 rows : {2, 3, 4, 5}) {
    for (const i64 n : {i64{1}, width - 1, width, width + 1, 2 * width, 5 * width + 2})
      if (n > 0) check_permuted<T, D>({rows, n}, {1, 0});
    check_permuted<T, D>({rows + 1, 3 * width + 1}, {1, 0}, 1);
    check_permuted<T, D>({3, rows, 4 * width}, {0, 2, 1});
    check_permuted<T, D>({2, rows, 3, 2 * width}, {0, 2, 3, 1});
    check_permuted<T, D>({3, rows, 4 * width + 1}, {0, 2, 1});
    const shape sizes{2, rows, 4 * width};
    test_tensor<T, D> x(sizes, layout::contiguous, random_integers(sizes, 0, 100)),
        out({2, 4 * width, rows});
    fg::copy_(test_stream<D>(), out.view(), x.in().flip({0, 1}).transpose(1, 2));
    std::vector<double> want;
    for (i64 b = 1; b >= 0; --b)
      for (i64 i = 0; i < 4 * width; ++i)
        for (i64 k = rows - 1; k >= 0; --k)
          want.push_back(x.values()[static_cast<std::size_t>((b * rows + k) * 4 * width + i)]);
    expect_equal(out.read(), want);
  }
}
TYPED_TEST(copy_devices, few_rows) {
  using D = TypeParam;
  interleaved = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    interleaved += e.kernel.find("interleave_rows") != e.kernel.npos;
  });
  check_few_rows<uint8_t, D>();
  check_few_rows<bf16, D>();
  check_few_rows<f32, D>();
  check_few_rows<f64, D>();
  fg::set_launch_hook(before);
  EXPECT_EQ(interleaved > 50, fg::has_simt<D>) << interleaved;
}

/// From every type of a list to T.
template <class T, class... From>
void check_conversions() {
  const auto check = [](auto from) {
    using F = typename decltype(from)::type;
    std::vector<double> values =
        random_integers({37}, std::is_signed_v<F> && std::is_signed_v<T> ? -100 : 0, 100);
    if constexpr (fg::detail::kind_of<F> == fg::detail::kind::floating && std::is_signed_v<T>)
      for (double& v : values) v += 0.375;  // truncated toward zero by integers
    if constexpr (std::is_same_v<F, bool>)
      for (double& v : values) v = v > 50 ? 1 : 0;
    test_tensor<F> x({37}, layout::contiguous, values);
    test_tensor<T> out({37}, layout::offset);
    fg::copy_(test_stream<host>(), out.view(), x.in());
    std::vector<double> want;
    for (const double v : x.values())
      want.push_back(fg::kernels::number_cast<f64>(std::is_integral_v<T> && !std::is_same_v<T, bool>
                                                       ? static_cast<T>(static_cast<i64>(v))
                                                       : fg::kernels::number_cast<T>(v)));
    SCOPED_TRACE(std::string(fg::to_string(fg::dtype_of<F>)) + " to " +
                 std::string(fg::to_string(fg::dtype_of<T>)));
    expect_equal(out.read(), want);
    EXPECT_TRUE(out.gaps_untouched());
  };
  at_every_level<host>([&] { (check(std::type_identity<From>{}), ...); });
}

#if FLAGGEMS_TEST_HOST  // conversions on the host
#if FLAGGEMS_TEST_REDUCED
TEST(copy, to_f32) { check_conversions<f32, f64, bf16, int32_t>(); }
TEST(copy, to_bf16) { check_conversions<bf16, f32>(); }
#else
TEST(copy, to_f32) {
  check_conversions<f32, f64, f16, bf16, int8_t, int32_t, i64, uint8_t, bool>();
}
TEST(copy, to_bf16) { check_conversions<bf16, f64, f32, f16, bf16, int32_t, i64, bool>(); }
TEST(copy, to_f16) { check_conversions<f16, f64, f32, bf16, i64, uint8_t>(); }
TEST(copy, to_f64) { check_conversions<f64, f32, f16, bf16, i64, bool>(); }
TEST(copy, to_i32) { check_conversions<int32_t, f64, f32, bf16, i64, int8_t, bool>(); }
TEST(copy, to_i64) { check_conversions<i64, f64, f32, f16, int32_t, uint8_t, bool>(); }
TEST(copy, to_i8) { check_conversions<int8_t, f32, int32_t, i64>(); }
TEST(copy, to_bool) { check_conversions<bool, f32, f64, bf16, int32_t, i64, uint8_t>(); }
#endif

TEST(copy, bits_survive) {
  // A copy within a type changes nothing: denormals, NaN and zeros of both signs.
  auto x = fg::empty<bf16>(test_stream<host>(), {65536});
  for (int k = 0; k < 65536; ++k) x.data()[k] = bf16::from_bits(static_cast<std::uint16_t>(k));
  at_every_level<host>([&] {
    const auto y = fg::clone(test_stream<host>(), x);
    int changed = 0;
    for (int k = 0; k < 65536; ++k) {
      const bool nan = (k & 0x7fff) > 0x7f80;
      const int got = y.data()[k].bits;
      changed += got != k && !(nan && (got & 0x7fff) > 0x7f80);
    }
    EXPECT_EQ(changed, 0);
  });
}

TEST(copy, rounds_once) {
  // Just above the middle of two neighbours: through f32 it would fall on the middle.
  const double above = 1 + 0x1p-8 + 0x1p-40, above_half = 1 + 0x1p-11 + 0x1p-40;
  const double integer = 16777216.0 * 256 * (1 + 0x1p-8) + 1;
  at_every_level<host>([&] {
    test_tensor<f64> x({35}, layout::contiguous, std::vector<double>(35, above));
    test_tensor<f64> h({35}, layout::contiguous, std::vector<double>(35, above_half));
    test_tensor<i64> n({35}, layout::contiguous, std::vector<double>(35, integer));
    test_tensor<bf16> out({35});
    test_tensor<f16> half_out({35});
    fg::copy_(test_stream<host>(), out.view(), x.in());
    expect_equal(out.read(), std::vector<double>(35, 1 + 0x1p-7));
    fg::copy_(test_stream<host>(), half_out.view(), h.in());
    expect_equal(half_out.read(), std::vector<double>(35, 1 + 0x1p-10));
    fg::copy_(test_stream<host>(), out.view(), n.in());
    expect_equal(out.read(), std::vector<double>(35, 16777216.0 * 256 * (1 + 0x1p-7)));
  });
}

/// Floats around the ends of all integer ranges, and those in none.
template <class F>
std::vector<F> difficult_floats() {
  const F inf = std::numeric_limits<F>::infinity();
  std::vector<F> values{inf,
                        -inf,
                        std::numeric_limits<F>::quiet_NaN(),
                        F(0),
                        F(-0.0),
                        F(0.5),
                        F(-0.5),
                        F(-0.99),
                        F(1e30),
                        F(-1e30),
                        std::numeric_limits<F>::denorm_min()};
  for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64})
    for (const F sign : {F(1), F(-1)})
      for (const F add : {F(-1), F(-0.5), F(0), F(0.5), F(1)}) {
        const F x = sign * std::ldexp(F(1), bits) + add;
        values.insert(values.end(), {std::nextafter(x, -inf), x, std::nextafter(x, inf)});
      }
  return values;
}

/// From a float that has the values of F to an integer, on device D.
template <class D, class F, class T, class Storage = F>
void check_saturation() {
  const auto& stream = test_stream<D>();
  std::vector<Storage> values;
  for (const F x : difficult_floats<F>()) values.push_back(static_cast<Storage>(x));
  std::vector<T> want;
  for (const Storage x : values) {
    const auto v = static_cast<long double>(static_cast<F>(x));  // holds all values of F and T
    const long double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    want.push_back(
        std::isnan(v) ? T(0) : static_cast<T>((std::min)((std::max)(std::trunc(v), low), high)));
  }
  const i64 n = static_cast<i64>(values.size());
  const auto x = fg::from_values<Storage>(stream, std::span<const Storage>(values), {n});
  at_every_level<D>([&] {
    const auto all = fg::to_host(stream, fg::to<T>(stream, x));
    const auto apart = fg::to_host(stream, fg::to<T>(stream, x.view().slice(0, 0, n, 3)));
    for (i64 k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const auto from = static_cast<double>(static_cast<F>(values[at]));
      // One alone is a tail, the number of a fill is converted by itself.
      ASSERT_EQ(all(k), want[at]) << std::hexfloat << from;
      ASSERT_EQ(fg::kernels::number_cast<T>(values[at]), want[at]) << std::hexfloat << from;
      if (k % 3 == 0) {
        ASSERT_EQ(apart(k / 3), want[at]) << std::hexfloat << from;
        const auto one = fg::to_host(stream, fg::to<T>(stream, x.view().narrow(0, k, 1)));
        ASSERT_EQ(one(0), want[at]) << std::hexfloat << from;
      }
    }
  });
}

TEST(copy, floats_that_no_integer_holds) {
  check_saturation<host, f32, int8_t>();
  check_saturation<host, f64, i64>();
#if !FLAGGEMS_TEST_REDUCED
  check_saturation<host, f32, uint8_t>();
  check_saturation<host, f32, std::int16_t>();
  check_saturation<host, f32, int32_t>();
  check_saturation<host, f32, std::uint32_t>();
  check_saturation<host, f32, i64>();
  check_saturation<host, f32, std::uint64_t>();
  check_saturation<host, f64, uint8_t>();
  check_saturation<host, f64, int32_t>();
  check_saturation<host, f32, uint8_t, bf16>();
  check_saturation<host, f32, int32_t, f16>();
  check_saturation<chip32, f32, int32_t>();
  check_saturation<simt64, f64, uint8_t>();
#endif
}

TEST(copy, new_tensors) {
  test_tensor<f32> x({3, 4}, layout::transposed, random_values({3, 4}));
  const auto a = fg::clone(test_stream<host>(), x.in());
  const auto b = fg::contiguous(test_stream<host>(), x.in());
  const auto c = fg::to<f64>(test_stream<host>(), x.in());
  EXPECT_TRUE(a.view().is_contiguous());
  expect_equal(values_of(a), x.values());
  expect_equal(values_of(b), x.values());
  expect_equal(values_of(c), x.values());
  static_assert(std::is_same_v<fg::value_t<decltype(c)>, f64>);
}

TEST(copy, new_tensors_in_a_format) {
  const auto& stream = test_stream<host>();
  using fg::memory_format;
  const shape sizes{2, 3, 4, 5};
  test_tensor<f32> x(sizes, layout::strided, random_values(sizes));
  const auto check = [&](const auto& made, const shape& strides) {
    EXPECT_EQ(shape(made.strides()), strides);
    const auto rows = fg::contiguous(stream, made);
    EXPECT_TRUE(rows.is_contiguous());
    expect_equal(values_of(rows), x.values());
  };
  const shape last{60, 1, 15, 3}, rows{60, 20, 5, 1};
  const auto c = fg::contiguous(stream, x.in(), memory_format::channels_last);
  check(c, last);
  check(fg::clone(stream, c), rows);
  check(fg::clone(stream, c, memory_format::preserve_format), last);
  check(fg::clone(stream, x.in(), memory_format::channels_last), last);
  check(fg::clone(stream, x.in(), memory_format::preserve_format), rows);
  check(fg::to<f64>(stream, c), last);
  check(fg::to<f32>(stream, c), last);
  check(fg::to<f64>(stream, c, memory_format::preserve_format), last);
  check(fg::to<f32>(stream, c, memory_format::preserve_format), last);
  check(fg::to<f64>(stream, x.in(), memory_format::channels_last), last);
  auto out = fg::empty<f64>(stream, sizes, memory_format::channels_last);
  fg::copy_(stream, out, x.in());
  check(out, last);
  // Operators take it as any view, and as an output.
  auto twice = fg::empty<f32>(stream, sizes, memory_format::channels_last);
  fg::assign(stream, twice, fg::cast<f32>(c));
  check(twice, last);
  test_tensor<f32> volume({2, 3, 4, 5, 2}, layout::negative, random_values({2, 3, 4, 5, 2}));
  const auto v = fg::contiguous(stream, volume.in(), memory_format::channels_last_3d);
  EXPECT_TRUE(v.is_contiguous(memory_format::channels_last_3d));
  expect_equal(values_of(fg::contiguous(stream, v)), volume.values());
  const auto plane = x.in().select(0, 0);
  EXPECT_RAISES(fg::clone(stream, plane, memory_format::channels_last), invalid_argument, "clone");
  EXPECT_RAISES(fg::to<f64>(stream, plane, memory_format::channels_last), invalid_argument, "to");
  EXPECT_RAISES(fg::contiguous(stream, plane, memory_format::channels_last_3d), invalid_argument,
                "contiguous");
  EXPECT_RAISES(fg::contiguous(stream, plane, memory_format::preserve_format), invalid_argument,
                "contiguous");
  EXPECT_RAISES(fg::clone(stream, plane, static_cast<memory_format>(9)), invalid_argument, "clone");
}

TEST(copy, errors) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6})), out({4, 5});
  EXPECT_RAISES(fg::copy_(stream, out.view(), x.in()), shape_mismatch, "copy_");
  EXPECT_RAISES(fg::copy_(stream, x.view().narrow(0, 1, 3), x.in().narrow(0, 0, 3)), overlap,
                "copy_");
  EXPECT_RAISES(fg::copy_(stream, out.view().narrow(0, 0, 1).expand({4, 5}), out.in()), overlap,
                "copy_");
  EXPECT_TRUE(x.untouched());
  EXPECT_TRUE(out.untouched());
  fg::copy_(stream, x.view(), x.in());  // onto itself: nothing happens
  EXPECT_TRUE(x.untouched());
}
#endif

}  // namespace
#if FLAGGEMS_TEST_HOST  // the rest is about the host
/// A view of a random layout into a buffer that it does not leave, and how large that must be.
struct random_layout {
  shape sizes, strides;
  i64 first = 0, elements = 0;
  template <class Engine>
  random_layout(Engine& engine, const shape& given, bool input) : sizes(given), strides(given) {
    const auto pick = [&](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
    std::vector<int> order;
    for (int d = 0; d < sizes.rank(); ++d)
      order.insert(order.begin() + pick(static_cast<int>(order.size()) + 1), d);
    i64 next = pick(4) == 0 ? 2 : 1;
    for (const int d : order) {
      strides[d] = next;
      next *= sizes[d];
      if (pick(4) == 0) next += pick(5);
      if (input && pick(8) == 0) strides[d] = 0;  // broadcasts
      if (pick(6) == 0) {
        first += (sizes[d] - 1) * strides[d];
        strides[d] = -strides[d];
      }
    }
    elements = next + 1;
  }
};

template <class T>
void check_random_layouts(unsigned seed) {
  std::mt19937 engine(seed);
  const i64 lengths[] = {1, 2, 3, 4, 7, 8, 12, 16, 17, 31, 64, 65, 130, 300, 5000};
  const flaggems::stream<flaggems::host> stream;
  for (int round = 0; round < 150; ++round) {
    i64 n[4], all = 1;
    const int rank = 1 + static_cast<int>(engine() % 4);
    for (int d = 0; d < rank; ++d) {
      n[d] = lengths[engine() % std::size(lengths)];
      while (all * n[d] > 40000) n[d] = (n[d] + 1) / 2 - (n[d] == 2);
      all *= n[d];
    }
    const shape sizes(std::span<const i64>(n, static_cast<std::size_t>(rank)));
    const random_layout from(engine, sizes, true), to(engine, sizes, false);
    const auto misplaced = static_cast<i64>(engine() % 3);  // elements from where memory is aligned
    std::vector<T> x(static_cast<std::size_t>(from.elements + misplaced));
    std::vector<T> out(static_cast<std::size_t>(to.elements + misplaced), T(0x55)), want = out;
    for (T& e : x) e = static_cast<T>(engine());
    const T* const source = x.data() + misplaced + from.first;
    T* const target = out.data() + misplaced + to.first;
    for (i64 k = 0; k < all; ++k) {
      i64 rest = k, a = to.first + misplaced, b = from.first;
      for (int d = rank - 1; d >= 0; rest /= n[d], --d) {
        a += rest % n[d] * to.strides[d];
        b += rest % n[d] * from.strides[d];
      }
      want[static_cast<std::size_t>(a)] = x[static_cast<std::size_t>(misplaced + b)];
    }
    flaggems::copy_(stream, flaggems::tensor_view<T>(target, sizes, to.strides),
                    flaggems::tensor_view<const T>(source, sizes, from.strides));
    ASSERT_TRUE(out == want) << "seed " << seed << ", round " << round << ": "
                             << fg::to_string(sizes) << ", strides " << fg::to_string(to.strides)
                             << " from " << fg::to_string(from.strides);
  }
}

TEST(copy_layouts, OfEverySizeOfElements) {
  at_every_level<host>([&] {
    for (const unsigned seed : {1u, 2u, 3u}) {
      check_random_layouts<uint8_t>(seed);
      check_random_layouts<std::uint16_t>(seed);
      check_random_layouts<std::uint32_t>(seed);
      check_random_layouts<std::uint64_t>(seed);
    }
    // Past the caches, which otherwise large copies do only.
    fg::detail::is_streamed<host>(0);
    const i64 known = fg::detail::stream_threshold.load(fg::detail::memory_order::relaxed);
    fg::detail::stream_threshold.store(1, fg::detail::memory_order::relaxed);
    check_random_layouts<uint8_t>(4);
    check_random_layouts<std::uint16_t>(5);
    check_random_layouts<std::uint32_t>(6);
    check_random_layouts<std::uint64_t>(7);
    fg::detail::stream_threshold.store(known, fg::detail::memory_order::relaxed);
  });
}

/// Every permutation of four dimensions, of sizes around those of the host's transposed tiles
/// (16 rows of 64): each element is where it belongs.
TEST(copy_permuted, EveryPermutationOfFourDimensions) {
  const flaggems::stream<flaggems::host> stream;
  const flaggems::shape sizes{3, 17, 2, 65};
  auto x = flaggems::empty<flaggems::i32>(stream, sizes);
  for (i64 i = 0; i < x.numel(); ++i) x.data()[i] = static_cast<flaggems::i32>(i);
  i64 order[4] = {0, 1, 2, 3};
  do {
    const auto v = x.view().permute(order);
    const auto out = flaggems::contiguous(stream, v);
    const auto sum = flaggems::add(stream, out, v);  // a contiguous and a transposed operand
    auto back = flaggems::empty<flaggems::i32>(stream, sizes);
    flaggems::copy_(stream, back.view().permute(order), out);  // into a transposed output
    i64 k = 0, wrong = 0;
    for (i64 a = 0; a < v.size(0); ++a)
      for (i64 b = 0; b < v.size(1); ++b)
        for (i64 c = 0; c < v.size(2); ++c)
          for (i64 d = 0; d < v.size(3); ++d, ++k)
            wrong += out.data()[k] != v(a, b, c, d) || sum.data()[k] != 2 * v(a, b, c, d);
    for (i64 i = 0; i < x.numel(); ++i) wrong += back.data()[i] != x.data()[i];
    EXPECT_EQ(wrong, 0) << order[0] << order[1] << order[2] << order[3];
  } while (std::next_permutation(order, order + 4));
}
#endif

}  // namespace flaggems_test
