// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/latent_cache.hpp>
#include <support/latent.hpp>

#include <limits>

namespace flaggems_test {
namespace {

using values = std::vector<double>;
using fg::u8;

template <class Case>
class latent_cache : public ::testing::Test {};
using head_cases = cases<on_host<f32, bf16, f16>, on_chips<bf16>, on_wide<f32>>;
TYPED_TEST_SUITE(latent_cache, head_cases);

TYPED_TEST(latent_cache, keys_of_an_indexer) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 blocks = 3, page = 4;
  const values slot = {7, -1, 0, 11};
  at_every_level<D>([&] {
    for (const auto& [size, group] : {std::pair<i64, i64>{32, 8}, {64, 64}, {12, 12}})
      for (const bool ue8m0 : {false, true})
        for (const layout in : input_layouts) {
          const i64 groups = size / group, bytes = size + 4 * groups;
          test_tensor<T, D> k({5, size}, in, random_values({5, size}, -9, 9));
          test_tensor<u8, D> cache({blocks, page, bytes}, layout::contiguous,
                                   random_integers({blocks, page, bytes}, 0, 255));
          test_tensor<i64, D> slots({4}, layout::strided, slot);
          fg::indexer_k_quant_and_cache(s, k.in(), cache.view(), slots.in(), group,
                                        ue8m0 ? fg::index_scales::ue8m0 : fg::index_scales::number);
          values want = cache.values();
          for (std::size_t t = 0; t < slot.size(); ++t) {
            if (slot[t] < 0) continue;
            const auto at = static_cast<std::size_t>(slot[t]);
            const auto all = static_cast<std::size_t>(size), each = static_cast<std::size_t>(group);
            const std::size_t first = at / 4 * 4 * static_cast<std::size_t>(bytes);
            for (std::size_t g = 0; g < all / each; ++g) {
              const auto x = part_of(k.values(), t * all + g * each, each);
              const float scale = scale_of_f8(x, 1e-4F, ue8m0);
              for (std::size_t e = 0; e < each; ++e)
                want[first + at % 4 * all + g * each + e] = f8_byte(x[e] / scale);
              put_bytes(want, first + 4 * all + (at % 4 * (all / each) + g) * 4, scale);
            }
          }
          expect_equal(cache.read(), want);
          EXPECT_TRUE(k.untouched());
        }
  });
}

TYPED_TEST(latent_cache, numbers) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const values slot = {5, -1, 0};
  at_every_level<D>([&] {
    for (const auto& [size, rotary] : {std::pair<i64, i64>{40, 8}, {6, 6}, {4, 0}})
      for (const layout how : output_layouts) {
        const shape of_q{4, 3, size}, of_cache{2, 3, size}, of_table{9, rotary};
        test_tensor<T, D> q(of_q, how, random_values(of_q)),
            kv({4, size}, how, coarse_values({4, size})),
            cache(of_cache, how, random_values(of_cache));
        test_tensor<i64, D> slots({3}, how, slot), ids({4}, how, {3, 0, 8, 1});
        test_tensor<f32, D> table(of_table, how, quarter_turns(of_table));
        values want_q, want = cache.values();
        const auto all = static_cast<std::size_t>(size), turned = static_cast<std::size_t>(rotary);
        for (std::size_t t = 0; t < 4; ++t) {
          const double* angles =
              table.values().data() + static_cast<std::size_t>(ids.values()[t]) * turned;
          for (std::size_t h = 0; h < 3; ++h) {
            auto x = part_of(q.values(), (t * 3 + h) * all, all);
            double squares = 0;
            for (const float v : x) squares += double(v) * v;
            const double root = std::sqrt(squares / static_cast<double>(size) + 1e-6);
            for (float& v : x) v = static_cast<float>(v / root);
            for (const float v : turned_head(x, angles, turned)) want_q.push_back(v);
          }
          if (t < slot.size() && slot[t] >= 0) {
            const auto row = turned_head(part_of(kv.values(), t * all, all), angles, turned);
            std::copy(row.begin(), row.end(),
                      want.begin() +
                          static_cast<std::ptrdiff_t>(static_cast<std::size_t>(slot[t]) * all));
          }
        }
        fg::fused_deepseek_v4_qnorm_rope_kv_rope_insert(s, q.view(), kv.in(), cache.view(),
                                                        slots.in(), ids.in(), table.in(), 1e-6, 3);
        expect_close<T>(q.read(), want_q,
                        sizeof(T) == 4 ? tolerance{1e-5, 1e-6} : tolerance_of<T>());
        expect_close<T>(cache.read(), want);
        EXPECT_TRUE(q.gaps_untouched() && cache.gaps_untouched() && kv.untouched());
      }
  });
}

TYPED_TEST(latent_cache, codes_and_numbers) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const values slot = {5, -1, 0};
  at_every_level<D>([&] {
    for (const i64 nope : {128, 64}) {
      const i64 rotary = 6, size = nope + rotary, token = nope + 2 * rotary, scales = nope / 64 + 1;
      const shape of_q{4, 2, size}, of_cache{2, 3 * (token + scales) + 5 - (token + scales) % 2};
      test_tensor<T, D> q(of_q, layout::contiguous, random_values(of_q)),
          kv({4, size}, layout::strided, coarse_values({4, size}));
      test_tensor<u8, D> cache({of_cache[0], of_cache[1] / 2 * 2}, layout::contiguous,
                               random_integers({of_cache[0], of_cache[1] / 2 * 2}, 0, 255));
      test_tensor<i64, D> slots({3}, layout::contiguous, slot),
          ids({4}, layout::contiguous, {3, 0, 8, 1});
      test_tensor<f32, D> table({9, rotary}, layout::contiguous, quarter_turns({9, rotary}));
      const auto all = static_cast<std::size_t>(size), coded = static_cast<std::size_t>(nope);
      const auto width = static_cast<std::size_t>(of_cache[1] / 2 * 2);
      values want = cache.values();
      for (std::size_t t = 0; t < slot.size(); ++t) {
        if (slot[t] < 0) continue;
        const auto at = static_cast<std::size_t>(slot[t]), row = static_cast<std::size_t>(token);
        const std::size_t first = at / 3 * width;
        const double* angles =
            table.values().data() + static_cast<std::size_t>(ids.values()[t]) * 6;
        const auto x = turned_head(part_of(kv.values(), t * all, all), angles, 6);
        const std::size_t exponents = first + 3 * row + at % 3 * static_cast<std::size_t>(scales);
        for (std::size_t g = 0; g < coded / 64; ++g) {
          const std::vector<float> own(x.begin() + static_cast<std::ptrdiff_t>(64 * g),
                                       x.begin() + static_cast<std::ptrdiff_t>(64 * g + 64));
          const float scale = scale_of_f8(own, 1e-4F, true);
          for (std::size_t e = 0; e < 64; ++e)
            want[first + at % 3 * row + 64 * g + e] = f8_byte(own[e] / scale);
          want[exponents + g] = std::log2(scale) + 127;
        }
        want[exponents + coded / 64] = 0;
        for (std::size_t e = 0; e < 6; ++e)
          put_bytes(want, first + at % 3 * row + coded + 2 * e, bf16(x[coded + e]));
      }
      fg::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert(
          s, q.view(), kv.in(), cache.view(), slots.in(), ids.in(), table.in(), 1e-6, 3);
      expect_equal(cache.read(), want);
      EXPECT_FALSE(q.untouched());
    }
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(latent_cache_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> k({2, 8}), q({2, 3, 8}), cache({2, 4, 8}), table({5, 4}), odd({5, 3});
  test_tensor<u8> bytes({2, 4, 12}), small({2, 4, 11}), pages({2, 300});
  test_tensor<i64> slots({2}, layout::contiguous, {0, -1}), far({2}, layout::contiguous, {8, 0}),
      three({3}), ids({2}, layout::contiguous, {0, 5}), good({2});
  constexpr const char* keys = "indexer_k_quant_and_cache";
  EXPECT_RAISES(fg::indexer_k_quant_and_cache(s, k.in(), bytes.view(), far.in(), 8), out_of_range,
                keys);
  EXPECT_RAISES(fg::indexer_k_quant_and_cache(s, k.in(), bytes.view(), three.in(), 8),
                shape_mismatch, keys);
  EXPECT_RAISES(fg::indexer_k_quant_and_cache(s, k.in(), small.view(), slots.in(), 8),
                shape_mismatch, keys);
  EXPECT_RAISES(fg::indexer_k_quant_and_cache(s, k.in(), bytes.view(), slots.in(), 3),
                shape_mismatch, keys);
  EXPECT_RAISES(fg::indexer_k_quant_and_cache(s, k.in(), bytes.view(), slots.in(), 0),
                shape_mismatch, keys);
  EXPECT_RAISES(
      fg::indexer_k_quant_and_cache(s, k.in(), bytes.view().transpose(0, 1), slots.in(), 8),
      shape_mismatch, keys);
  const auto insert = [&](const auto& to, const auto& where, const auto& at, const auto& by) {
    fg::fused_deepseek_v4_qnorm_rope_kv_rope_insert(s, q.view(), k.in(), to, where, at, by, 1e-6,
                                                    4);
  };
  constexpr const char* op = "fused_deepseek_v4_qnorm_rope_kv_rope_insert";
  EXPECT_RAISES(insert(cache.view(), slots.in(), ids.in(), table.in()), out_of_range, op);
  EXPECT_RAISES(insert(cache.view(), far.in(), good.in(), table.in()), out_of_range, op);
  EXPECT_RAISES(insert(cache.view(), slots.in(), good.in(), odd.in()), shape_mismatch, op);
  EXPECT_RAISES(insert(cache.view().narrow(1, 0, 3), slots.in(), good.in(), table.in()),
                shape_mismatch, op);
  const auto tokens = cache.view().select(0, 0).narrow(0, 0, 2);
  EXPECT_RAISES(fg::fused_deepseek_v4_qnorm_rope_kv_rope_insert(
                    s, q.view(), tokens, cache.view(), slots.in(), good.in(), table.in(), 1e-6, 4),
                overlap, op);
  EXPECT_RAISES(fg::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert(
                    s, q.view(), k.in(), pages.view(), slots.in(), good.in(), table.in(), 1e-6, 4),
                shape_mismatch, "fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert");
  // Blocks of so many tokens that the product with their bytes is anything.
  test_tensor<f32> wide_q({2, 1, 68}), wide_k({2, 68});
  test_tensor<u8> blocks({2, 296});
  test_tensor<i64> wild({2}, layout::contiguous, {1e12, 5e11});
  for (const i64 block : {i64{1} << 62, i64{1} << 61, i64{1} << 40,
                          (std::numeric_limits<i64>::max)(), i64{5}, i64{0}, i64{-1}})
    EXPECT_RAISES(fg::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert(
                      s, wide_q.view(), wide_k.in(), blocks.view(), wild.in(), good.in(),
                      table.in(), 1e-6, block),
                  shape_mismatch, "fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert");
  EXPECT_TRUE(blocks.untouched() && wide_q.untouched());
  EXPECT_TRUE(bytes.untouched() && cache.untouched() && q.untouched() && pages.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
