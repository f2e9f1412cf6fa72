// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/sequence_batches.hpp>
#include <support/ops.hpp>

#include <array>

namespace flaggems_test {
namespace {

const double nan = std::nan("");

template <class Device>
class sequence_batches : public ::testing::Test {};
TYPED_TEST_SUITE(sequence_batches, all_devices);

TYPED_TEST(sequence_batches, pad_and_join) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({4, 2}, how, {1, 2, 3, 4, 5, 6, 7, 8});
      test_tensor<fg::i32, D> lengths({3}, how, {1, 0, 3});
      const auto packed = fg::pack_seq(s, x.in(), lengths.in(), -1);
      EXPECT_EQ(packed.shape_of(), (shape{3, 3, 2}));
      expect_equal(values_of(packed),
                   {1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 3, 4, 5, 6, 7, 8});
      expect_equal(values_of(fg::unpack_seq(s, packed, lengths.in())), x.values());
      // Two levels: two lists, of one and two rows of values.
      test_tensor<i64, D> outer({3}, how, {0, 1, 3}), inner({4}, how, {0, 1, 2, 4});
      const std::array list{outer.in(), inner.in()};
      const auto deep = fg::jagged_to_padded_dense_forward(s, x.in(), list, {2, 1}, 9);
      EXPECT_EQ(deep.shape_of(), (shape{2, 2, 1, 2}));
      expect_equal(values_of(deep), {1, 2, 9, 9, 3, 4, 5, 6});
    }
  });
  test_tensor<f32, D> none({0}), batch({1, 2}, layout::contiguous, {1, 2});
  test_tensor<i64, D> nothing({0}), zero({1});
  EXPECT_EQ(fg::pack_seq(s, none.in(), nothing.in()).shape_of(), (shape{0, 0}));
  EXPECT_EQ(fg::pack_seq(s, none.in(), zero.in()).shape_of(), (shape{1, 0}));
  EXPECT_EQ(fg::unpack_seq(s, batch.in(), zero.in()).shape_of(), (shape{0}));
}

TYPED_TEST(sequence_batches, choose) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const double inf = std::numeric_limits<double>::infinity();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({2, 5}, how, {9, -inf, 3, 1, 9, nan, 2, 8, 4, 6});
      test_tensor<fg::i32, D> from({2}, how, {1, 0}), to({2}, how, {4, 2}), indices({2, 4}, how);
      fg::top_k_per_row_prefill(s, x.in(), from.in(), to.in(), indices.view());
      expect_equal(indices.read(), {1, 2, 0, -1, 1, 0, -1, -1});
      EXPECT_TRUE(indices.gaps_untouched());
      expect_equal(values_of(fg::bucket_sort_topk(s, x.in(), from.in(), to.in(), 4)),
                   {2, 3, 1, -1, 1, 0, -1, -1});
      test_tensor<f32, D> scores({2}, how, {10, 20}), joined({2, 5}, how);
      fg::beam_search_score(s, x.in(), scores.in(), joined.view());
      expect_equal(joined.read(), {19, -inf, 13, 11, 19, nan, 22, 28, 24, 26});
      expect_equal(values_of(fg::beam_search_score(s, x.in(), scores.in().unsqueeze(1))),
                   joined.read());
      fg::beam_search_score_(s, joined.view(), scores.in());
      expect_equal(joined.read(), {29, -inf, 23, 21, 29, nan, 42, 48, 44, 46});
      EXPECT_TRUE(joined.gaps_untouched());
      test_tensor<i64, D> length({1}, how, {3});
      fg::top_k_per_row_decode(s, x.in(), 2, length.in(), indices.view());
      expect_equal(indices.read(), {0, 1, -1, -1, 2, 1, 0, -1});
      test_tensor<f32, D> logits({2, 3}, how, {1, -2, 3, -4, 5, 6}), by({2}, how, {2, 4});
      test_tensor<bool, D> prompt({2, 3}, how, {1, 1, 0, 0, 0, 0}),
          output({2, 3}, how, {0, 1, 0, 1, 1, 0});
      fg::apply_repetition_penalties(s, logits.view(), prompt.in(), output.in(), by.in());
      expect_equal(logits.read(), {0.5, -4, 3, -16, 1.25, 6});
      EXPECT_TRUE(logits.gaps_untouched());
    }
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(sequence_batches_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 3}), scalar({});
  test_tensor<i64> one({1}), three({3}), wide({3, 2}), out({2, 2});
  test_tensor<bool> mask({2, 2}), right({2, 3});
  EXPECT_RAISES(fg::pack_seq(s, x.in(), wide.in()), invalid_argument, "pack_seq");
  EXPECT_RAISES(fg::unpack_seq(s, x.in(), one.in()), invalid_argument, "unpack_seq");
  const std::array list{one.in()};
  EXPECT_RAISES(fg::jagged_to_padded_dense_forward(s, x.in(), list, {1, 1}), invalid_argument,
                "jagged_to_padded_dense_forward");
  EXPECT_RAISES(fg::top_k_per_row_prefill(s, x.in(), one.in(), one.in(), out.view()),
                shape_mismatch, "top_k_per_row_prefill");
  EXPECT_RAISES(fg::top_k_per_row_decode(s, x.in(), 2, three.in(), out.view()), shape_mismatch,
                "top_k_per_row_decode");
  EXPECT_RAISES(fg::bucket_sort_topk(s, x.in(), one.in(), one.in(), 2), shape_mismatch,
                "bucket_sort_topk");
  EXPECT_RAISES(fg::bucket_sort_topk(s, x.in(), one.in(), one.in(), -1), shape_mismatch,
                "bucket_sort_topk");
  EXPECT_RAISES(
      fg::apply_repetition_penalties(s, x.view(), mask.in(), right.in(), x.in().select(1, 0)),
      shape_mismatch, "apply_repetition_penalties");
  EXPECT_TRUE(x.untouched() && out.untouched());
}

TEST(sequence_batches_host, refuses_impossible_lengths) {
  const auto& s = test_stream<host>();
  constexpr i64 most = std::numeric_limits<i64>::max();
  test_tensor<f32> batch({2, 3, 2}), three({3, 3, 2}), rows({5, 2}), scalar(shape{}),
      logits({2, 3});
  test_tensor<i64> none({0}), top({2, 2});
  const auto list = [&](std::initializer_list<i64> lengths) {
    return fg::from_values<i64>(s, lengths);
  };
  EXPECT_RAISES(fg::unpack_seq(s, batch.in(), list({-2, 3})), invalid_argument, "unpack_seq");
  EXPECT_RAISES(fg::unpack_seq(s, three.in(), list({most, most, 3})), invalid_argument,
                "unpack_seq");
  const auto longer = error_of([&] { (void)fg::unpack_seq(s, batch.in(), list({2, 4})); });
  EXPECT_EQ(longer.code(), fg::errc::invalid_argument);
  EXPECT_EQ(std::string(longer.expected()) + std::string(longer.got()), "lengths in [0, 3]4");
  EXPECT_RAISES(fg::pack_seq(s, rows.in(), list({-2, 7})), invalid_argument, "pack_seq");
  EXPECT_RAISES(fg::pack_seq(s, rows.in(), list({3, 3})), invalid_argument, "pack_seq");
  EXPECT_RAISES(fg::pack_seq(s, rows.in(), list({most, most, 7})), invalid_argument, "pack_seq");
  EXPECT_RAISES(fg::pack_seq(s, scalar.in(), none.in()), invalid_argument, "pack_seq");
  EXPECT_EQ(fg::pack_seq(s, rows.in(), list({2, 1})).shape_of(), (shape{2, 2, 2}));
  EXPECT_RAISES(fg::top_k_per_row_decode(s, logits.in(), 0, list({1, 1}), top.view()),
                invalid_argument, "top_k_per_row_decode");
}
#endif

}  // namespace
}  // namespace flaggems_test
