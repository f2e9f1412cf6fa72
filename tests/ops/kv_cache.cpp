// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/kv_cache.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class caches : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(caches, devices);

using at = std::vector<i64>;

TYPED_TEST(caches, both_orders) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 tokens = 6, heads = 2, size = 8, blocks = 3, each = 4, pack = 4;
  const double slot[] = {7, 0, -1, 11, 4};
  at_every_level<D>([&] {
    for (const layout in : input_layouts)
      for (const layout to : {layout::contiguous, layout::strided}) {
        SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to));
        const shape given{tokens, heads, size};
        test_tensor<bf16, D> key(given, in, random_integers(given, 1, 99)),
            value(given, in, random_integers(given, 1, 99));
        test_tensor<i64, D> slots({5}, layout::strided, {slot, slot + 5});
        const shape flat{blocks, each, heads, size}, packed{blocks, heads, size / pack, each, pack},
            across{blocks, heads, size, each};
        test_tensor<bf16, D> k(flat, to), v(flat, to), k2(packed, to), v2(across, to);
        fg::reshape_and_cache_flash(s, key.in(), value.in(), k.view(), v.view(), slots.in());
        fg::reshape_and_cache(s, key.in(), value.in(), k2.view(), v2.view(), slots.in());
        const grid keys{given, key.values()}, values{given, value.values()};
        const auto element = [&](const grid& x, i64 block, i64 place, i64 head, i64 e) {
          for (i64 t = 0; t < 5; ++t)
            if (slot[t] == static_cast<double>(block * each + place)) return x.at({t, head, e});
          return 0.0;
        };
        expect_equal(k.read(), filled_by(flat, [&](const at& i) {
                       return element(keys, i[0], i[1], i[2], i[3]);
                     }));
        expect_equal(v.read(), filled_by(flat, [&](const at& i) {
                       return element(values, i[0], i[1], i[2], i[3]);
                     }));
        expect_equal(k2.read(), filled_by(packed, [&](const at& i) {
                       return element(keys, i[0], i[3], i[1], i[2] * pack + i[4]);
                     }));
        expect_equal(v2.read(), filled_by(across, [&](const at& i) {
                       return element(values, i[0], i[3], i[1], i[2]);
                     }));
        EXPECT_TRUE(k.gaps_untouched() && v2.gaps_untouched() && k2.gaps_untouched());
      }
  });
}

TYPED_TEST(caches, latent) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout how : output_layouts) {
    test_tensor<f32, D> latent({3, 2}, how, {1, 2, 3, 4, 5, 6}), rotary({3, 1}, how, {7, 8, 9}),
        cache({2, 2, 3}, how);
    test_tensor<i64, D> slots({3}, how, {3, -1, 0});
    fg::concat_and_cache_mla(s, latent.in(), rotary.in(), cache.view(), slots.in());
    expect_equal(cache.read(), {5, 6, 9, 0, 0, 0, 0, 0, 0, 1, 2, 7});
    EXPECT_TRUE(cache.gaps_untouched());
  }
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(kv_cache, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 1, 4}), cache({2, 2, 1, 4}), other({2, 2, 1, 4}), wide({2, 2, 1, 5}),
      packed({2, 1, 2, 2, 3}), across({2, 1, 4, 2});
  test_tensor<i64> good({2}, layout::contiguous, {1, -1}), far({2}, layout::contiguous, {4, 0}),
      low({2}, layout::contiguous, {-2, 0}), many({3});
  const auto put = [&](auto slots, auto to, auto values) {
    fg::reshape_and_cache_flash(s, x.in(), x.in(), to, values, slots);
  };
  constexpr const char* op = "reshape_and_cache_flash";
  EXPECT_RAISES(put(far.in(), cache.view(), other.view()), out_of_range, op);
  EXPECT_RAISES(put(low.in(), cache.view(), other.view()), out_of_range, op);
  EXPECT_RAISES(put(many.in(), cache.view(), other.view()), shape_mismatch, op);
  EXPECT_RAISES(put(good.in(), cache.view(), wide.view()), shape_mismatch, op);
  EXPECT_RAISES(put(good.in(), cache.view(), cache.view()), overlap, op);
  EXPECT_RAISES(fg::reshape_and_cache(s, x.in(), x.in(), packed.view(), across.view(), good.in()),
                shape_mismatch, "reshape_and_cache");
  test_tensor<f32> latent({2, 3}), rotary({2, 2}), rows({2, 2, 5}), narrow({2, 2, 4});
  const auto put_rows = [&](auto places, auto to) {
    fg::concat_and_cache_mla(s, latent.in(), rotary.in(), to, places);
  };
  EXPECT_RAISES(put_rows(far.in(), rows.view()), out_of_range, "concat_and_cache_mla");
  EXPECT_RAISES(put_rows(many.in(), rows.view()), shape_mismatch, "concat_and_cache_mla");
  EXPECT_RAISES(put_rows(good.in(), narrow.view()), shape_mismatch, "concat_and_cache_mla");
  EXPECT_TRUE(cache.untouched() && other.untouched() && rows.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
