// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/tensor/memory_format.hpp>
#include <flaggems/tensor/view.hpp>
#include <tensor/test_support.hpp>

#include <algorithm>
#include <array>

namespace flaggems_test {
namespace {

using flaggems::i64, flaggems::memory_format, flaggems::shape;
namespace detail = flaggems::detail;

shape strides_in(memory_format format, const shape& sizes, const shape& strides = {}) {
  return detail::strides_in(format, sizes, strides, "test");
}

// Of sizes whose product is beyond 64 bits there are strides, and no overflow of signed numbers.
static_assert(contiguous_strides(shape{i64{1} << 40, i64{1} << 40, 2})[0] == i64{1} << 41);
static_assert(detail::dense_strides(shape{i64{1} << 40, i64{1} << 40, 2}, shape{0, 0, 0})[0] ==
              i64{1} << 41);

TEST(memory_format, strides_of_channels) {
  EXPECT_EQ(strides_in(memory_format::contiguous_format, {2, 3, 4, 5}), (shape{60, 20, 5, 1}));
  EXPECT_EQ(strides_in(memory_format::channels_last, {2, 3, 4, 5}), (shape{60, 1, 15, 3}));
  EXPECT_EQ(strides_in(memory_format::channels_last_3d, {2, 3, 4, 5, 6}),
            (shape{360, 1, 90, 18, 3}));
  EXPECT_RAISES(strides_in(memory_format::channels_last, {2, 3, 4}), invalid_argument, "test");
  EXPECT_RAISES(strides_in(memory_format::channels_last, {2, 3, 4, 5, 6}), invalid_argument,
                "test");
  EXPECT_RAISES(strides_in(memory_format::channels_last_3d, {2, 3, 4, 5}), invalid_argument,
                "test");
}

TEST(memory_format, of_views) {
  const auto view = [](const shape& sizes, const shape& strides) {
    static float memory[400];
    return flaggems::tensor_view<float>(memory, sizes, strides);
  };
  const auto is = [&](const shape& sizes, const shape& strides, bool rows, bool last,
                      bool last_3d) {
    const auto v = view(sizes, strides);
    EXPECT_EQ(v.is_contiguous(memory_format::contiguous_format), rows);
    EXPECT_EQ(v.is_contiguous(memory_format::preserve_format), rows);
    EXPECT_EQ(v.is_contiguous(memory_format::channels_last), last);
    EXPECT_EQ(v.is_contiguous(memory_format::channels_last_3d), last_3d);
  };
  is({2, 3, 4, 5}, {60, 20, 5, 1}, true, false, false);
  is({2, 3, 4, 5}, {60, 1, 15, 3}, false, true, false);
  is({2, 1, 4, 5}, {20, 20, 5, 1}, true, true, false);  // one channel: both
  is({2, 3, 1, 1}, {3, 1, 1, 1}, true, true, false);
  is({2, 3, 4, 5}, {120, 2, 30, 6}, false, false, false);
  is({2, 3, 2, 4, 5}, {120, 40, 20, 5, 1}, true, false, false);
  is({2, 3, 2, 4, 5}, {120, 1, 60, 15, 3}, false, false, true);
  is({3, 4, 5}, {20, 5, 1}, true, false, false);
}

TEST(memory_format, preserved) {
  const auto kept = [](const shape& sizes, const shape& strides) {
    return strides_in(memory_format::preserve_format, sizes, strides);
  };
  EXPECT_EQ(kept({}, {}), (shape{}));
  EXPECT_EQ(kept({4}, {3}), (shape{1}));
  EXPECT_EQ(kept({3, 4}, {1, 3}), (shape{1, 3}));
  EXPECT_EQ(kept({3, 4}, {2, 6}), (shape{1, 3}));  // gaps go, the order stays
  EXPECT_EQ(kept({3, 4}, {0, 1}), (shape{4, 1}));  // as at::infer_dense_strides
  EXPECT_EQ(kept({3, 4}, {-4, -1}), (shape{4, 1}));
  EXPECT_EQ(kept({1, 4}, {77, 1}), (shape{77, 1}));  // dense: strides as they are
  EXPECT_EQ(kept({2, 3, 4, 5}, {60, 1, 15, 3}), (shape{60, 1, 15, 3}));
  EXPECT_EQ(kept({2, 3, 4, 5}, {120, 2, 30, 6}), (shape{60, 1, 15, 3}));
}

// All orders of dimensions, some of size 1 with any stride.
TEST(memory_format, dense_in_any_order) {
  for (const shape& sizes : {shape{2, 3, 4, 5}, shape{2, 1, 4, 1}, shape{1, 1, 3, 2}})
    for (const i64 odd : {0, 1, 7, 1000}) {
      std::array<int, 4> order{0, 1, 2, 3};
      do {
        shape strides = sizes;
        i64 step = 1;
        for (const int d : order) {
          strides[d] = sizes[d] == 1 ? odd : step;
          step *= sizes[d];
        }
        EXPECT_TRUE(detail::is_dense(sizes, strides)) << to_string(sizes) << to_string(strides);
        for (int d = 0; d < 4; ++d)
          if (sizes[d] != 1) {
            shape other = strides;
            other[d] = 2 * other[d] + 1;
            EXPECT_FALSE(detail::is_dense(sizes, other)) << to_string(sizes) << to_string(other);
          }
      } while (std::next_permutation(order.begin(), order.end()));
    }
}

}  // namespace
}  // namespace flaggems_test
