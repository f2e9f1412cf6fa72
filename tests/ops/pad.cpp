// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/pad.hpp>
#include <support/moves.hpp>

#include <random>

namespace flaggems_test {
namespace {

template <class Device>
class padding : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(padding, devices);

TYPED_TEST(padding, modes) {
  using D = TypeParam;
  using at = std::vector<i64>;
  using fg::pad_mode;
  static const i64 one[] = {2, 1}, two[] = {2, 1, 1, 3}, three[] = {1, 2, 2, 1, 1, 1},
                   less[] = {-1, 2, 1, -1};
  const auto mirrored = [](i64 i, i64 n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; };
  const auto edge = [](i64 i, i64 n) { return i < 0 ? 0 : i >= n ? n - 1 : i; };
  const auto inside = [](const grid& x, i64 r, i64 c) {
    return r >= 0 && r < x.sizes[0] && c >= 0 && c < x.sizes[1] ? x.at({r, c}) : 7;
  };
  const auto wrapped = [](i64 i, i64 n) { return (i + n) % n; };
  const move_case<f32, D> table[] = {
      {"constant_pad_nd",
       {4, 5},
       {8, 8},
       [=](const grid& x, const at& i) { return inside(x, i[0] - 1, i[1] - 2); },
       FLAGGEMS_MOVE_CASE(constant_pad_nd, two, 7)},
      {"constant_pad_nd of less",
       {4, 5},
       {4, 6},
       [=](const grid& x, const at& i) {
         return i[0] == 0 || i[1] == 4 || i[1] == 5 ? 7 : x.at({i[0] - 1, i[1] + 1});
       },
       FLAGGEMS_MOVE_CASE(constant_pad_nd, less, 7.0)},
      {"pad by zero",
       {4, 5},
       {4, 8},
       [](const grid& x, const at& i) {
         return i[1] < 2 || i[1] >= 7 ? 0 : x.at({i[0], i[1] - 2});
       },
       FLAGGEMS_MOVE_CASE(pad, one)},
      {"pad by reflection",
       {4, 5},
       {8, 8},
       [=](const grid& x, const at& i) {
         return x.at({mirrored(i[0] - 1, 4), mirrored(i[1] - 2, 5)});
       },
       FLAGGEMS_MOVE_CASE(pad, two, pad_mode::reflect)},
      {"pad by the edge",
       {4, 5},
       {8, 8},
       [=](const grid& x, const at& i) {
         return x.at({edge(i[0] - 1, 4), edge(i[1] - 2, 5)});
       },
       FLAGGEMS_MOVE_CASE(pad, two, pad_mode::replicate)},
      {"pad by the other end",
       {4, 5},
       {8, 8},
       [=](const grid& x, const at& i) {
         return x.at({wrapped(i[0] - 1, 4), wrapped(i[1] - 2, 5)});
       },
       FLAGGEMS_MOVE_CASE(pad, two, pad_mode::circular)},
      {"reflection_pad1d",
       {2, 5},
       {2, 8},
       [=](const grid& x, const at& i) {
         return x.at({i[0], mirrored(i[1] - 2, 5)});
       },
       FLAGGEMS_MOVE_CASE(reflection_pad1d, one)},
      {"reflection_pad2d",
       {2, 4, 5},
       {2, 8, 8},
       [=](const grid& x, const at& i) {
         return x.at({i[0], mirrored(i[1] - 1, 4), mirrored(i[2] - 2, 5)});
       },
       FLAGGEMS_MOVE_CASE(reflection_pad2d, two)},
      {"reflection_pad3d",
       {2, 3, 4, 5},
       {2, 5, 7, 8},
       [=](const grid& x, const at& i) {
         return x.at({i[0], mirrored(i[1] - 1, 3), mirrored(i[2] - 2, 4), mirrored(i[3] - 1, 5)});
       },
       FLAGGEMS_MOVE_CASE(reflection_pad3d, three)},
      {"replication_pad1d",
       {2, 5},
       {2, 8},
       [=](const grid& x, const at& i) {
         return x.at({i[0], edge(i[1] - 2, 5)});
       },
       FLAGGEMS_MOVE_CASE(replication_pad1d, one)},
      {"replication_pad2d",
       {2, 4, 5},
       {2, 8, 8},
       [=](const grid& x, const at& i) {
         return x.at({i[0], edge(i[1] - 1, 4), edge(i[2] - 2, 5)});
       },
       FLAGGEMS_MOVE_CASE(replication_pad2d, two)},
      {"replication_pad3d",
       {2, 3, 4, 5},
       {2, 5, 7, 8},
       [=](const grid& x, const at& i) {
         return x.at({i[0], edge(i[1] - 1, 3), edge(i[2] - 2, 4), edge(i[3] - 1, 5)});
       },
       FLAGGEMS_MOVE_CASE(replication_pad3d, three)},
  };
  at_every_level<D>([&] {
    for (const auto& one_case : table) check_move(one_case);
  });
}

/// How often the kernel of gathered vectors has been launched.
int gathered = 0;

/// x padded at random, or rolled, which is padding by the other end, in rows longer than a vector.
template <class T, class D>
void check_long_rows(std::mt19937& random) {
  const auto below = [&](i64 n) {
    return static_cast<i64>(random() % static_cast<unsigned long>(n));
  };
  const auto least = static_cast<i64>(16 / sizeof(T));
  const i64 rows = below(4) + 1, columns = least + below(30);
  const auto mode = static_cast<fg::pad_mode>(below(4));
  i64 pad[6] = {};
  for (int k = 0; k < 4; ++k) pad[k] = below(k < 2 ? 6 : rows + 1) - (k < 2 ? 2 : 0);
  if (mode == fg::pad_mode::reflect) pad[2] = rows > 1, pad[3] = 0;
  const auto place = [mode](i64 i, i64 n) {
    switch (mode) {
      case fg::pad_mode::reflect: return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
      case fg::pad_mode::replicate: return i < 0 ? 0 : i >= n ? n - 1 : i;
      default: return (i + n) % n;
    }
  };
  const auto cut = [](i64 k) { return k < 0 ? -k : 0; };
  const i64 kept = columns - cut(pad[0]) - cut(pad[1]);
  const auto want = [=](const grid& x, const std::vector<i64>& at) {
    const i64 r = at[1] - pad[2], c = at[2] - pad[0] - cut(pad[0]);  // within what is kept
    const bool inside = r >= 0 && r < rows && c >= 0 && c < kept;
    if (mode == fg::pad_mode::constant && !inside) return 9.0;
    return x.at({at[0], place(r, rows), place(c, kept) + cut(pad[0])});
  };
  std::vector<i64> four(pad, pad + 4);
  const f64 value = mode == fg::pad_mode::constant ? 9 : 0;
  const shape sizes{2, rows, columns}, wide{2, rows + pad[2] + pad[3], columns + pad[0] + pad[1]};
  check_move<T, D>({"pad", sizes, wide, want, FLAGGEMS_MOVE_CASE(pad, four, mode, value)});
}

TYPED_TEST(padding, of_long_rows) {
  using D = TypeParam;
  std::mt19937 random(1);
  gathered = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    gathered += e.kernel.find("gather_vectors") != e.kernel.npos;
  });
  for (int k = 0; k < 8; ++k) {
    check_long_rows<fg::u8, D>(random);
    check_long_rows<bf16, D>(random);
    check_long_rows<f32, D>(random);
    check_long_rows<f64, D>(random);
  }
  fg::set_launch_hook(before);
  EXPECT_EQ(gathered > 100, fg::has_simt<D>) << gathered;
}

/// x of two outer dimensions and rows of `columns`, padded by the kernel for contiguous rows,
/// beside what the definition gives. x begins `shift` elements behind a vector, and has negative
/// strides with `is_flipped`.
template <class T, class D>
void check_shifted_rows(i64 columns, const std::vector<i64>& pad, fg::pad_mode mode, i64 shift,
                        bool is_flipped, i64 outer = 2) {
  const i64 rows = 3, gap = 1, step = columns + gap;
  const i64 low[] = {0, pad[0], pad[2]}, n[] = {outer, rows, columns};
  const shape sizes{outer, rows + pad[0] + pad[1], columns + pad[2] + pad[3]};
  test_tensor<T, D> memory({shift + outer * rows * step}, layout::contiguous,
                           random_integers({shift + outer * rows * step}, 0, 100));
  const fg::tensor_view<const T, D> all = memory.in();
  auto x =
      all.narrow(0, shift, outer * rows * step).view({outer, rows, step}).narrow(2, 0, columns);
  if (is_flipped) x = x.flip({0, 1});
  const std::vector<double> read = memory.values();
  test_tensor<T, D> out(sizes, layout::contiguous,
                        std::vector<double>(static_cast<std::size_t>(sizes.numel()), 77));
  const auto want = filled_by(sizes, [&](const std::vector<i64>& at) -> double {
    i64 place = shift;
    for (int d = 0; d < 3; ++d) {
      const auto size = n[d];
      i64 k = at[static_cast<std::size_t>(d)] - low[d];
      if (k < 0 || k >= size) {
        if (mode == fg::pad_mode::constant) return 9;
        k = mode == fg::pad_mode::reflect     ? (k < 0 ? -k : 2 * size - 2 - k)
            : mode == fg::pad_mode::replicate ? (k < 0 ? 0 : size - 1)
                                              : (k + size) % size;
      }
      place += d == 2 ? k : (is_flipped ? size - 1 - k : k) * (d == 1 ? step : rows * step);
    }
    return read[static_cast<std::size_t>(place)];
  });
  using word = fg::kernels::uint_of_size<static_cast<int>(sizeof(T))>;
  const auto to = fg::detail::layout_of(out.view()), from = fg::detail::layout_of(x);
  const fg::detail::padded_plan plan(to, from, low, mode);
  fg::kernels::shifted_source<word> source;
  ASSERT_TRUE(plan.fill(source.rows, 1));
  source.rows.data = reinterpret_cast<const word*>(from.data);
  source.rows.filled = mode == fg::pad_mode::constant;
  source.rows.value = fg::kernels::bit_cast<word>(fg::kernels::number_cast<T>(9.0));
  if (!plan.shift(source)) {  // rows shorter than a vector
    EXPECT_LT(columns, static_cast<i64>(16 / sizeof(T)));
    return;
  }
  fg::launch_config config;
  config.op = "pad";
  fg::detail::copy_shifted(test_stream<D>(), config, sizes.numel(), source,
                           reinterpret_cast<word*>(out.view().data()));
  SCOPED_TRACE(std::to_string(columns) + " columns of " + std::to_string(sizeof(T)) +
               " bytes, pads " + std::to_string(pad[2]) + " and " + std::to_string(pad[3]) +
               ", mode " + std::to_string(static_cast<int>(mode)) + ", shift " +
               std::to_string(shift));
  expect_equal(out.read(), want);
  EXPECT_TRUE(memory.untouched());
}

TYPED_TEST(padding, of_contiguous_rows) {
  using D = TypeParam;
  if constexpr (fg::has_simt<D>) {
    const auto check_type = [](auto type) {
      using T = decltype(type);
      const auto width = static_cast<i64>(16 / sizeof(T));
      for (const auto mode : {fg::pad_mode::constant, fg::pad_mode::reflect,
                              fg::pad_mode::replicate, fg::pad_mode::circular}) {
        const bool mirrors = mode == fg::pad_mode::reflect;
        for (i64 shift = 0; shift < width; ++shift)
          check_shifted_rows<T, D>(2 * width + 3, {1, 2, (shift + 1) % 4, shift % 3}, mode, shift,
                                   shift % 2 != 0);
        check_shifted_rows<T, D>(2 * width + 3, {1, 2, 1, 3}, mode, 3 % width, true, 60);
        for (const i64 columns : {width - 1, width, width + 1, 2 * width, 9 * width + 1})
          for (const i64 before : {i64{0}, i64{1}, mirrors ? columns - 1 : columns})
            for (const i64 behind : {i64{0}, i64{1}, mirrors ? columns - 1 : columns})
              if (columns > 0)
                check_shifted_rows<T, D>(columns, {0, before % 3, before, behind}, mode,
                                         before % width, columns % 2 != 0);
      }
      // Rolls: rows turn, and are no longer.
      for (const i64 columns : {width, width + 1, 3 * width - 1, 4 * width})
        for (i64 by = 0; by < columns; by += by < 2 || by + 3 > columns ? 1 : 3)
          check_shifted_rows<T, D>(columns, {0, 0, by, -by}, fg::pad_mode::circular, by % width,
                                   by % 2 != 0);
    };
    check_type(fg::u8{});
    check_type(bf16{});
    check_type(f32{});
    check_type(f64{});
  }
}

/// How often the kernel for contiguous rows has been launched.
int shifted = 0;

TYPED_TEST(padding, of_many_rows) {
  using D = TypeParam;
  if constexpr (fg::has_simt<D>) {
    constexpr i64 least = fg::tuning<fg::families::copy, D>::shifted_vectors * 4;
    const i64 columns = 119, rows = least / columns + 1;
    test_tensor<f32, D> x({rows, columns - 3}, layout::contiguous,
                          random_integers({rows, columns - 3}, 0, 100));
    const std::vector<double> read = x.values();
    const auto want = filled_by({rows, columns}, [&](const std::vector<i64>& at) {
      return at[1] < 1 || at[1] > columns - 3
                 ? 9
                 : read[static_cast<std::size_t>(at[0] * (columns - 3) + at[1] - 1)];
    });
    shifted = 0;
    const auto before = fg::set_launch_hook(
        [](const fg::launch_event& e) { shifted += e.kernel.find("shift_rows") != e.kernel.npos; });
    const auto made = fg::constant_pad_nd(test_stream<D>(), x.in(), {1, 2}, 9);
    fg::set_launch_hook(before);
    expect_equal(values_of(made), want);
    EXPECT_EQ(shifted, 1);
  }
}

TYPED_TEST(padding, of_nothing) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> none({0, 2}), some({2}, layout::contiguous, {1, 2}), zero({});
  expect_equal(values_of(fg::constant_pad_nd(s, none.in(), {0, 0, 1, 0}, 3)), {3, 3});
  expect_equal(values_of(fg::constant_pad_nd(s, some.in(), {})), {1, 2});
  expect_equal(values_of(fg::constant_pad_nd(s, zero.in(), {})), {0});
  EXPECT_EQ(fg::constant_pad_nd(s, some.in(), {-1, -1}).shape_of(), (shape{0}));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(padding_host, numbers_and_bits) {
  const auto& s = test_stream<host>();
  const auto whole = fg::from_values<i64>(s, {1});
  EXPECT_EQ(fg::constant_pad_nd(s, whole, {0, 1}, (i64{1} << 62) + 1).data()[1],
            (i64{1} << 62) + 1);
  test_tensor<fg::u8> bytes({2});
  EXPECT_RAISES(fg::constant_pad_nd(s, bytes.in(), {1, 1}, 300), invalid_argument,
                "constant_pad_nd");
}

TEST(padding_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 4}), out({3, 6});
  EXPECT_RAISES(fg::pad(s, x.in(), {1}), shape_mismatch, "pad");
  EXPECT_RAISES(fg::pad(s, x.in(), {1, 1, 1, 1, 1, 1}), shape_mismatch, "pad");
  EXPECT_RAISES(fg::pad(s, x.in(), {-3, -2}), shape_mismatch, "pad");
  EXPECT_RAISES(fg::pad(s, x.in(), {std::numeric_limits<i64>::min(), 0}), shape_mismatch, "pad");
  EXPECT_RAISES(fg::pad(s, x.in(), {4, 0}, fg::pad_mode::reflect), shape_mismatch, "pad");
  EXPECT_RAISES(fg::pad(s, x.in(), {5, 0}, fg::pad_mode::circular), shape_mismatch, "pad");
  // Of rows that are taken away whole, the element next to what is added is repeated, as in ATen.
  test_tensor<f32> row({3}, layout::contiguous, {1, 2, 3});
  expect_equal(values_of(fg::pad(s, row.in(), {-3, 2}, fg::pad_mode::replicate)), {3, 3});
  expect_equal(values_of(fg::pad(s, row.in(), {2, -3}, fg::pad_mode::replicate)), {1, 1});
  EXPECT_RAISES(fg::pad(s, x.in().narrow(1, 0, 0), {1, 0}, fg::pad_mode::replicate), shape_mismatch,
                "pad");
  EXPECT_RAISES(fg::pad(s, x.in(), {1, 1}, fg::pad_mode::reflect, 3.0), invalid_argument, "pad");
  EXPECT_EQ(fg::pad(s, x.in(), {1, 1}, fg::pad_mode::reflect, 0.0).shape_of(), (shape{3, 6}));
  EXPECT_RAISES(fg::reflection_pad2d(s, x.in(), {1, 1}), shape_mismatch, "reflection_pad2d");
  EXPECT_RAISES(fg::pad(s, x.in(), out.view().narrow(1, 0, 5), {1, 1}), shape_mismatch, "pad");
  EXPECT_RAISES(fg::pad(s, out.in().narrow(1, 0, 4), out.view(), {1, 1}), overlap, "pad");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
