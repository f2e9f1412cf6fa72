// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/latent_gather.hpp>
#include <support/latent.hpp>

#include <array>
#include <limits>

namespace flaggems_test {
namespace {

using values = std::vector<double>;
using fg::i32;
using fg::u8;

template <class Device>
class latent_gather : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(latent_gather, devices);

TYPED_TEST(latent_gather, keys_of_an_indexer) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const std::size_t page = 4, size = 9, bytes = 8, all = page * (size + bytes);
  const values starts{0, 6, 6, 9}, blocks{4, 0, 1, 2, 3, 0, 1, 5, 0};  // there is no block 5
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<u8, D> cache({5, 4, 17}, layout::contiguous, random_integers({5, 4, 17}, 0, 255)),
          codes({11, 9}, how), scales({11, 8}, how);
      test_tensor<i32, D> table({3, 3}, how, blocks), begins({4}, how, starts);
      fg::cp_gather_indexer_k_quant_cache(s, cache.in(), codes.view(), scales.view(), table.in(),
                                          begins.in());
      values want(11 * size, 0.0), by(11 * bytes, 0.0);
      for (std::size_t b = 0; b < 3; ++b)
        for (auto t = static_cast<std::size_t>(starts[b]);
             t < static_cast<std::size_t>(starts[b + 1]); ++t) {
          const std::size_t at = t - static_cast<std::size_t>(starts[b]);
          const auto block = static_cast<std::size_t>(blocks[b * 3 + at / page]) * all;
          for (std::size_t k = 0; k < size; ++k)
            want[t * size + k] = cache.values()[block + at % page * size + k];
          for (std::size_t k = 0; k < bytes; ++k)
            by[t * bytes + k] = cache.values()[block + page * size + at % page * bytes + k];
        }
      expect_equal(codes.read(), want);
      expect_equal(scales.read(), by);
      EXPECT_TRUE(codes.gaps_untouched() && scales.gaps_untouched());
    }
    // What indexer_k_quant_and_cache has written, as f8e4m3 and f32.
    test_tensor<bf16, D> k({3, 8}, layout::contiguous, coarse_values({3, 8}));
    test_tensor<u8, D> cache({2, 2, 12});
    test_tensor<i64, D> slots({3}, layout::contiguous, {2, 3, 0});
    fg::indexer_k_quant_and_cache(s, k.in(), cache.view(), slots.in(), 8, fg::index_scales::ue8m0);
    test_tensor<fg::f8e4m3, D> codes({3, 8});
    test_tensor<f32, D> scales({3, 1});
    test_tensor<i32, D> table({1, 2}, layout::contiguous, {1, 0}),
        begins({2}, layout::contiguous, {0, 3});
    fg::cp_gather_indexer_k_quant_cache(s, cache.in(), codes.view(), scales.view(), table.in(),
                                        begins.in());
    values back = codes.read();
    for (std::size_t e = 0; e < back.size(); ++e) back[e] *= scales.read()[e / 8];
    expect_close<f32>(back, k.values(), {1.0 / 15, 0.01});
  });
}

TYPED_TEST(latent_gather, decoded_keys) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const std::size_t page = 4;
  const values lengths{5, 3, 0}, blocks{3, 1, 0, 2, 0, 0};
  at_every_level<D>([&] {
    for (const std::size_t nope : {std::size_t{64}, std::size_t{70}})
      for (const bool has_lengths : {false, true}) {
        const std::size_t rope = 4, token = nope + 2 * rope, slots = nope == 64 ? 2 : 2;
        const std::size_t all = page * (token + slots);
        values bytes = random_integers({4, static_cast<i64>(all)}, 0, 126);
        for (std::size_t b = 0; b < 4; ++b) {
          for (std::size_t t = 0; t < page; ++t)
            for (std::size_t k = 0; k < rope; ++k)
              put_bytes(bytes, b * all + t * token + nope + 2 * k,
                        bf16(static_cast<float>(t * 5 + k) - 7));
          for (std::size_t k = page * token; k < all; ++k)
            bytes[b * all + k] = static_cast<double>(k * 7 % 3 == 0 ? 0 : 120 + k % 9);
        }
        test_tensor<u8, D> cache({4, static_cast<i64>(all)}, layout::contiguous, bytes);
        test_tensor<i32, D> table({3, 2}, layout::strided, blocks),
            ends({3}, layout::strided, lengths), gathered({3}, layout::strided, {2, 3, 0});
        const auto width = static_cast<i64>(nope + rope + 1);  // more than are written
        for (const layout how : output_layouts) {
          test_tensor<f32, D> out({4, 7, width}, how,
                                  values(static_cast<std::size_t>(4 * 7 * width), 77.0));
          std::optional<fg::tensor_view<const i32, D>> maybe;
          if (has_lengths) maybe = gathered.in();
          fg::dequantize_and_gather_k_cache(s, out.view(), cache.in(), ends.in(), maybe, table.in(),
                                            4, 1, 4, static_cast<i64>(nope), 2);
          values want(static_cast<std::size_t>(4 * 7 * width), 77.0);
          for (std::size_t b = 0; b < 3; ++b) {
            const auto length = static_cast<std::size_t>(lengths[b]);
            const std::size_t count = has_lengths && b == 0 ? 2 : length;
            for (std::size_t i = 0; i < count; ++i) {
              const std::size_t at = length - count + i;
              const auto block = static_cast<std::size_t>(blocks[b * 2 + at / page]) * all;
              double* row = want.data() + (b * 7 + 1 + i) * static_cast<std::size_t>(width);
              for (std::size_t e = 0; e < nope; ++e) {
                const double byte = bytes[block + at % page * token + e];
                const auto code = fg::f8e4m3::from_bits(static_cast<unsigned char>(byte));
                const double power = bytes[block + page * token + at % page * slots + e / 64];
                row[e] = float(code) * std::exp2(power - 127);
              }
              for (std::size_t e = 0; e < rope; ++e)
                row[nope + e] = static_cast<double>(at % page * 5 + e) - 7;
            }
          }
          expect_equal(out.read(), want);
          EXPECT_TRUE(out.gaps_untouched());
        }
      }
  });
}

TYPED_TEST(latent_gather, places) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<i32, D> local({3, 3}, how, {0, -1, 5, 7, 4, 3, -1, -1, 2}),
          sequences({3}, how, {1, 0, 1}), table({2, 2}, how, {10, 20, 30, 40});
      test_tensor<bool, D> valid({3}, how, {1, 0, 1});
      const auto all =
          fg::compute_global_topk_indices_and_lens(s, local.in(), sequences.in(), table.in(), 4);
      expect_equal(values_of(all.first), {120, -1, 161, 83, 80, 43, -1, -1, 122});
      expect_equal(values_of(all.second), {2, 3, 1});
      test_tensor<i64, D> wide({3, 3}, how, local.values());
      const auto some = fg::compute_global_topk_indices_and_lens(s, wide.in(), sequences.in(),
                                                                 table.in(), 4, valid.in());
      expect_equal(values_of(some.first), values_of(all.first));
      expect_equal(values_of(some.second), {2, 0, 1});
    }
  });
}

TYPED_TEST(latent_gather, windows) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const values starts{2, 5, 5, 9}, lengths{7, 3, 4}, gathered{6, 3, 4};
  const i64 m = 100, n = 20;
  at_every_level<D>([&] {
    for (const auto [window, ratio, topk] : {std::array<i64, 3>{4, 2, 3}, {130, 4, 5}, {0, 1, 2}}) {
      test_tensor<i64, D> chosen({8, 5}, layout::strided, random_integers({8, 5}, 0, 9));
      test_tensor<i32, D> begins({4}, layout::strided, starts), ends({3}, layout::strided, lengths),
          kept({3}, layout::strided, gathered);
      const auto got = fg::combine_topk_swa_indices(s, chosen.in(), begins.in(), ends.in(),
                                                    kept.in(), window, ratio, topk, m, n);
      const i64 width = (topk + window + 127) / 128 * 128;
      EXPECT_EQ(got.first.shape_of(), (shape{8, width}));
      values want, counts;
      for (std::size_t t = 0; t < 8; ++t) {
        const std::size_t b = t < 3 ? 0 : t < 7 ? 2 : 3;  // the last one is of none
        values row(static_cast<std::size_t>(width), -1.0);
        std::size_t used = 0;
        if (b < 3) {
          const double first = starts[b] - 2, end = starts[b + 1] - 2;
          const double at = lengths[b] - (end - first) + static_cast<double>(t) - first;
          const auto own = std::min(static_cast<i64>(at + 1) / ratio, topk);
          const auto near_by = std::min(static_cast<i64>(at + 1), window);
          for (i64 k = 0; k < own; ++k)
            row[used++] = chosen.values()[t * 5 + static_cast<std::size_t>(k)] +
                          static_cast<double>(m) * static_cast<double>(b);
          for (i64 k = 0; k < near_by; ++k)
            row[used++] = static_cast<double>(m) * static_cast<double>(b) + n + at -
                          static_cast<double>(near_by - 1 - k) - (lengths[b] - gathered[b]);
        }
        want.insert(want.end(), row.begin(), row.end());
        counts.push_back(static_cast<double>(used));
      }
      expect_equal(values_of(got.first), want);
      expect_equal(values_of(got.second), counts);
    }
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(latent_gather_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<u8> cache({2, 4, 12}), codes({3, 8}), scales({3, 4}), pages({2, 290});
  test_tensor<i32> table({1, 2}), starts({2}), wrong({3}),
      sequences({2}, layout::contiguous, {0, 1});
  test_tensor<i32> local({2, 3}, layout::contiguous, {8}), ids({2});
  test_tensor<f32> out({1, 5, 68});
  const auto gather = [&](const auto& from, const auto& by, const auto& at) {
    fg::cp_gather_indexer_k_quant_cache(s, from, codes.view(), by, table.in(), at);
  };
  constexpr const char* op = "cp_gather_indexer_k_quant_cache";
  EXPECT_RAISES(gather(cache.in(), scales.view(), wrong.in()), shape_mismatch, op);
  EXPECT_RAISES(gather(cache.in().narrow(2, 0, 11), scales.view(), starts.in()), shape_mismatch,
                op);
  EXPECT_RAISES(gather(cache.in().transpose(0, 1), scales.view(), starts.in()), shape_mismatch, op);
  EXPECT_RAISES(gather(cache.in(), codes.view().narrow(1, 0, 4), starts.in()), overlap, op);
  const auto decode = [&](i64 block, i64 offset, i64 rope) {
    fg::dequantize_and_gather_k_cache(s, out.view(), pages.in(), starts.in().narrow(0, 0, 1),
                                      std::nullopt, table.in(), block, offset, rope);
  };
  constexpr const char* other = "dequantize_and_gather_k_cache";
  EXPECT_RAISES(decode(4, 0, 4), shape_mismatch, other);  // 4 (72 + 2) bytes are 296
  EXPECT_RAISES(decode(5, 0, 4), shape_mismatch, other);
  EXPECT_RAISES(decode(0, 0, 4), shape_mismatch, other);
  EXPECT_RAISES(decode(4, 6, 4), shape_mismatch, other);
  EXPECT_RAISES(decode(4, 0, 70), shape_mismatch, other);
  constexpr i64 most = (std::numeric_limits<i64>::max)();
  for (const i64 wild : {most, -most - 1, i64{1} << 62}) {  // whose products are anything
    EXPECT_RAISES(decode(wild, 0, 4), shape_mismatch, other);
    EXPECT_RAISES(decode(4, wild, 4), shape_mismatch, other);
    EXPECT_RAISES(decode(4, 0, wild), shape_mismatch, other);
    EXPECT_RAISES(
        fg::dequantize_and_gather_k_cache(s, out.view(), pages.in(), starts.in().narrow(0, 0, 1),
                                          std::nullopt, table.in(), 4, 0, 4, wild, wild / 64),
        shape_mismatch, other);
  }
  constexpr const char* places = "compute_global_topk_indices_and_lens";
  const auto place = [&](const auto& of, const auto& by, i64 block) {
    return fg::compute_global_topk_indices_and_lens(s, of, by, table.in(), block);
  };
  EXPECT_RAISES(place(local.in(), ids.in(), 4), out_of_range, places);
  EXPECT_RAISES(place(local.in(), sequences.in(), 5), out_of_range, places);
  EXPECT_RAISES(place(local.in(), ids.in(), 0), shape_mismatch, places);
  EXPECT_RAISES(place(local.in(), ids.in(), most), shape_mismatch, places);
  EXPECT_RAISES(place(local.in(), wrong.in(), 5), shape_mismatch, places);
  constexpr const char* windows = "combine_topk_swa_indices";
  const auto join = [&](i64 ratio, i64 topk) {
    return fg::combine_topk_swa_indices(s, local.in(), starts.in(), ids.in().narrow(0, 0, 1),
                                        ids.in().narrow(0, 0, 1), 4, ratio, topk, 10, 5);
  };
  EXPECT_RAISES(join(1, 4), shape_mismatch, windows);
  EXPECT_RAISES(join(0, 3), invalid_argument, windows);
  for (const auto& [window, space, compressed] :
       {std::array<i64, 3>{most, 10, 5}, {4, most, 5}, {4, 10, i64{1} << 31}})
    EXPECT_RAISES((void)fg::combine_topk_swa_indices(
                      s, local.in(), starts.in(), ids.in().narrow(0, 0, 1),
                      ids.in().narrow(0, 0, 1), window, 1, 3, space, compressed),
                  invalid_argument, windows);
  EXPECT_TRUE(codes.untouched() && scales.untouched() && out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
