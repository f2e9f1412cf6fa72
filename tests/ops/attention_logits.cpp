// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The logits of an indexer against their definition in double, and plans of work.
#include <flaggems/ops/attention_logits.hpp>
#include <support/ops.hpp>

#include <functional>

namespace flaggems_test {
namespace {

using values = std::vector<double>;
using fg::f8e4m3;
using fg::i32;
using fg::u8;
constexpr double infinity = std::numeric_limits<double>::infinity();
std::size_t index(i64 i) { return static_cast<std::size_t>(i); }

template <class Device>
class attention_logits : public testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(attention_logits, devices);

/// The sum over heads for one row of q (heads lines of `size` numbers) and one key.
double logit(const double* q, i64 heads, i64 size, const double* key, double scale,
             const double* weights) {
  double sum = 0;
  for (i64 h = 0; h < heads; ++h) {
    double x = 0;
    for (i64 d = 0; d < size; ++d) x += q[h * size + d] * key[d];
    sum += std::fmax(x * scale, 0) * weights[h];
  }
  return sum;
}
void expect_logits(const values& got, const values& want) {
  ASSERT_EQ(got.size(), want.size());
  int shown = 0;
  for (std::size_t i = 0; i < got.size() && shown < 5; ++i) {
    if (got[i] == want[i] || std::abs(got[i] - want[i]) <= 1e-4 * (1 + std::abs(want[i]))) continue;
    ADD_FAILURE() << "element " << i << ": " << got[i] << ", expected " << want[i];
    ++shown;
  }
}
/// Numbers of four bits in bytes, exponents of their scales, and what they are.
struct four_bits {
  values bytes, scales, numbers;
  four_bits(i64 lines, i64 size) {
    constexpr double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    bytes = random_integers({lines, size / 2}, 0, 255);
    for (i64 line = 0; line < lines; ++line) {
      i64 packed = 0;
      for (i64 k = 0; k < size; ++k) {
        const i64 exponent = 124 + (line + k / 32) % 6;
        if (k % 32 == 0) packed |= exponent << (k / 32 * 8);
        const int both = static_cast<int>(bytes[index((line * size + k) / 2)]);
        const int one = k % 2 == 0 ? both & 15 : both >> 4;
        numbers.push_back((one & 8 ? -1 : 1) * magnitudes[one & 7] *
                          std::exp2(static_cast<double>(exponent - 127)));
      }
      scales.push_back(static_cast<double>(static_cast<i32>(static_cast<fg::u32>(packed))));
    }
  }
};

TYPED_TEST(attention_logits, of_all_keys) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 rows = 5, heads = 3, size = 64, n = 9;
  const four_bits packed(rows * heads, size);
  for (const layout how : {layout::contiguous, layout::strided, layout::negative}) {
    SCOPED_TRACE(to_string(how));
    test_tensor<f8e4m3, D> q({rows, heads, size}, how, random_values({rows, heads, size})),
        k({n, size}, how, random_values({n, size}));
    test_tensor<u8, D> bytes({rows, heads, size / 2}, how, packed.bytes);
    test_tensor<i32, D> exponents({rows, heads}, how, packed.scales);
    test_tensor<f32, D> scales({n}, how, random_values({n}, 0.1, 2)),
        weights({rows, heads}, how, random_values({rows, heads})), out({rows, n}, how);
    test_tensor<i32, D> starts({rows}, how, {0, 2, 5, 9, 3}), ends({rows}, how, {9, 4, 4, 9, 30});
    for (const bool is_clean : {false, true}) {
      const auto want = [&](const values& of) {
        values r;
        for (i64 m = 0; m < rows; ++m)
          for (i64 j = 0; j < n; ++j) {
            const double at = static_cast<double>(j);
            const bool is_shown = at >= starts.values()[index(m)] && at < ends.values()[index(m)];
            r.push_back(is_clean && !is_shown
                            ? -infinity
                            : logit(of.data() + m * heads * size, heads, size,
                                    k.values().data() + j * size, scales.values()[index(j)],
                                    weights.values().data() + m * heads));
          }
        return r;
      };
      fg::fp8_mqa_logits(s, q.in(), k.in(), scales.in(), weights.in(), starts.in(), ends.in(),
                         out.view(), is_clean);
      expect_logits(out.read(), want(q.values()));
      EXPECT_TRUE(out.gaps_untouched());
      expect_equal(values_of(fg::fp8_mqa_logits(s, q.in(), k.in(), scales.in(), weights.in(),
                                                starts.in(), ends.in(), is_clean)),
                   out.read());
      expect_equal(
          values_of(fg::fp8_fp4_mqa_logits(s, q.in(), std::nullopt, k.in(), scales.in(),
                                           weights.in(), starts.in(), ends.in(), is_clean)),
          out.read());
      expect_logits(
          values_of(fg::fp8_fp4_mqa_logits(s, bytes.in(), exponents.in(), k.in(), scales.in(),
                                           weights.in(), starts.in(), ends.in(), is_clean)),
          want(packed.numbers));
    }
  }
}

/// A cache of bytes, its scales behind lines or behind pages, and its numbers.
struct byte_pages {
  values bytes, keys, scales;
  byte_pages(i64 pages, i64 page, i64 size, bool in_pages) {
    bytes = random_integers({pages, page, 1, size + 4}, 0, 255);
    for (i64 p = 0; p < pages; ++p)
      for (i64 j = 0; j < page; ++j) {
        double* const first = bytes.data() + p * page * (size + 4);
        double* const line = first + j * (in_pages ? size : size + 4);
        double* const four = in_pages ? first + page * size + j * 4 : line + size;
        for (i64 d = 0; d < size; ++d) {
          if (static_cast<int>(line[d]) % 128 == 127) line[d] -= 1;  // no NaN
          keys.push_back(
              static_cast<double>(static_cast<float>(f8e4m3::from_bits(static_cast<u8>(line[d])))));
        }
        const float scale = 0.001F * static_cast<float>(1 + p * page + j);
        const auto bits = fg::kernels::bit_cast<fg::u32>(scale);
        for (int b = 0; b < 4; ++b) four[b] = bits >> (8 * b) & 255u;
        scales.push_back(static_cast<double>(scale));
      }
  }
};

/// What paged logits are, for numbers of q and keys.
values paged(const values& q, i64 sequences, i64 queries, i64 heads, i64 size, const values& keys,
             const values& scales, i64 page, const values& weights, const values& table,
             i64 most_pages, const std::function<double(i64, i64)>& end, i64 most, double hidden) {
  values r;
  for (i64 b = 0; b < sequences; ++b)
    for (i64 i = 0; i < queries; ++i)
      for (i64 j = 0; j < most; ++j) {
        const i64 row = b * queries + i;
        if (static_cast<double>(j) >= end(b, i) || j >= most_pages * page) {
          r.push_back(hidden);
          continue;
        }
        const i64 at = static_cast<i64>(table[index(b * most_pages + j / page)]) * page + j % page;
        r.push_back(logit(q.data() + row * heads * size, heads, size, keys.data() + at * size,
                          scales.empty() ? 1 : scales[index(at)], weights.data() + row * heads));
      }
  return r;
}

TYPED_TEST(attention_logits, in_pages) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 sequences = 3, queries = 2, heads = 3, size = 32, page = 4, pages = 6, most_pages = 3,
            most = 14;
  const values pages_of{5, 0, 2, 1, 1, 3, 4, 2, 0};
  test_tensor<i32, D> table({sequences, most_pages}, layout::strided, pages_of),
      lengths({sequences}, layout::strided, {10, 1, 12}),
      each({sequences, queries}, layout::strided, {10, 7, 0, 3, 12, 20});
  test_tensor<f32, D> weights({sequences * queries, heads}, layout::strided,
                              random_values({sequences * queries, heads}));
  const auto of_all = [&](i64 b, i64 i) {
    return lengths.values()[index(b)] - static_cast<double>(queries - 1 - i);
  };
  const auto of_each = [&](i64 b, i64 i) { return each.values()[index(b * queries + i)]; };
  const shape q_sizes{sequences, queries, heads, size};
  const auto check_numbers = [&]<class T>(std::type_identity<T>) {
    test_tensor<T, D> q(q_sizes, layout::strided, random_values(q_sizes)),
        cache({pages, page, 1, size}, layout::negative, random_values({pages, page, 1, size}));
    for (const bool is_clean : {false, true})
      expect_logits(
          values_of(fg::bf16_paged_mqa_logits(s, q.in(), cache.in(), weights.in(), each.in(),
                                              table.in(), most, is_clean)),
          paged(q.values(), sequences, queries, heads, size, cache.values(), {}, page,
                weights.values(), pages_of, most_pages, of_each, most, is_clean ? -infinity : 0));
    expect_logits(values_of(fg::bf16_paged_mqa_logits(s, q.in(), cache.in(), weights.in(),
                                                      lengths.in(), table.in(), 5, true)),
                  paged(q.values(), sequences, queries, heads, size, cache.values(), {}, page,
                        weights.values(), pages_of, most_pages, of_all, 5, -infinity));
  };
  check_numbers(std::type_identity<fg::bf16>{});
  check_numbers(std::type_identity<f32>{});
  test_tensor<f8e4m3, D> q(q_sizes, layout::strided, random_values(q_sizes));
  const four_bits packed(sequences * queries * heads, size);
  test_tensor<u8, D> bytes({sequences, queries, heads, size / 2}, layout::strided, packed.bytes);
  test_tensor<i32, D> exponents({sequences, queries, heads}, layout::strided, packed.scales);
  for (const bool in_pages : {false, true}) {
    const byte_pages given(pages, page, size, in_pages);
    test_tensor<u8, D> cache({pages, page, 1, size + 4}, layout::contiguous, given.bytes);
    const auto want = [&](const values& of, double hidden) {
      return paged(of, sequences, queries, heads, size, given.keys, given.scales, page,
                   weights.values(), pages_of, most_pages, of_all, most, hidden);
    };
    if (!in_pages) {
      expect_logits(values_of(fg::fp8_paged_mqa_logits(s, q.in(), cache.in(), weights.in(),
                                                       lengths.in(), table.in(), most)),
                    want(q.values(), -infinity));
      continue;
    }
    expect_logits(
        values_of(fg::fp8_fp4_paged_mqa_logits(s, q.in(), std::nullopt, cache.in(), weights.in(),
                                               lengths.in(), table.in(), most, true)),
        want(q.values(), -infinity));
    expect_logits(
        values_of(fg::fp8_fp4_paged_mqa_logits(s, bytes.in(), exponents.in(), cache.in(),
                                               weights.in(), lengths.in(), table.in(), most)),
        want(packed.numbers, 0));
  }
}

TYPED_TEST(attention_logits, pages_that_are_not_there) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> q({1, 1, 1, 2}, layout::contiguous, {1, 2}),
      cache({2, 2, 1, 2}, layout::contiguous, {1, 1, 2, 2, 3, 3, 4, 4}),
      weights({1, 1}, layout::contiguous, {1});
  test_tensor<i32, D> table({1, 3}, layout::contiguous, {-1, 1, 7}),
      lengths({1}, layout::contiguous, {6});
  expect_equal(values_of(fg::bf16_paged_mqa_logits(s, q.in(), cache.in(), weights.in(),
                                                   lengths.in(), table.in(), 6)),
               values{0, 0, 9, 12, 0, 0});
}

TYPED_TEST(attention_logits, nothing) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> q({2, 1, 3, 4}), cache({0, 2, 1, 4}), weights({2, 3});
  test_tensor<i32, D> table({2, 0}), lengths({2}), none({0});
  const auto r = fg::bf16_paged_mqa_logits(s, q.in(), cache.in(), weights.in(), lengths.in(),
                                           table.in(), 2, true);
  expect_equal(values_of(r), values(4, -infinity));
  test_tensor<f8e4m3, D> rows({0, 3, 4}), keys({5, 4});
  test_tensor<f32, D> of_keys({5}), no_weights({0, 3});
  const auto empty = fg::fp8_mqa_logits(s, rows.in(), keys.in(), of_keys.in(), no_weights.in(),
                                        none.in(), none.in(), true);
  EXPECT_EQ(empty.view().shape_of(), (shape{0, 5}));
}

TYPED_TEST(attention_logits, shares_of_units) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const values given{1000, 0, 300, 256, 5000};
  test_tensor<i32, D> lengths({5}, layout::strided, given),
      pairs({5, 2}, layout::contiguous, {1, 1000, 1, 0, 1, 300, 1, 256, 1, 5000});
  for (const i64 units : {1, 3, 7, 100}) {
    std::vector<i64> parts;
    i64 all = 0;
    for (const double n : given) all += parts.emplace_back((static_cast<i64>(n) + 255) / 256);
    values want;
    for (i64 u = 0; u <= units; ++u) {
      const i64 first = u * (all / units) + std::min(u, all % units);
      i64 sequence = 0, before = 0;
      while (sequence < 5 && before + parts[index(sequence)] <= first)
        before += parts[index(sequence++)];
      want.push_back(static_cast<double>(sequence));
      want.push_back(static_cast<double>(first - before));
    }
    expect_equal(values_of(fg::get_paged_mqa_logits_metadata(s, lengths.in(), 64, units)), want);
    expect_equal(values_of(fg::get_paged_mqa_logits_metadata(s, pairs.in(), 64, units)), want);
  }
}

TYPED_TEST(attention_logits, splits_of_sequences) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  constexpr i64 units = fg::tuning<fg::families::any, D>::units;
  const values given{100000, 50, 0, 3000};
  test_tensor<i32, D> lengths({4}, layout::strided, given),
      starts({5}, layout::strided, {0, 1, 300, 300, 310});
  const auto want = [&](const values& queries, i64 heads, i64 group, i64 columns, i64 most) {
    i64 all = 0;
    const auto columns_of = [&](std::size_t k) {
      return (static_cast<i64>(given[k]) + columns - 1) / columns;
    };
    for (std::size_t k = 0; k < 4; ++k)
      all += (static_cast<i64>(queries[k]) * group + 127) / 128 * columns_of(k);
    const i64 share = std::max<i64>(1, (all * heads * 11 + units * 10 - 1) / (units * 10));
    values r{0};
    for (std::size_t k = 0; k < 4; ++k)
      r.push_back(static_cast<double>(
          std::max<i64>(1, std::min(most, (columns_of(k) + share - 1) / share))));
    return r;
  };
  expect_equal(values_of(fg::get_scheduler_metadata(s, 4, 1, 100000, 8, 2, 128, 128, lengths.in())),
               want({1, 1, 1, 1}, 2, 4, 128, 128));
  expect_equal(values_of(fg::get_scheduler_metadata(
                   s, 4, 1, 100000, 8, 2, 128, 256, lengths.in(),
                   {.cu_seqlens_q = starts.in(), .num_splits = 5, .pack_gqa = false})),
               want({1, 299, 0, 10}, 8, 1, 64, 5));
}

TYPED_TEST(attention_logits, errors) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f8e4m3, D> q({2, 3, 8}), k({4, 8}), q4({2, 1, 3, 8});
  test_tensor<u8, D> bytes({2, 3, 4}), cache({3, 2, 1, 12}), wide({2, 3, 80});
  test_tensor<f32, D> scales({4}), weights({2, 3}), out({2, 4}), wrong({2, 5});
  test_tensor<i32, D> starts({2}), ends({2}), table({2, 2}), exponents({2, 3});
  const auto dense = [&](const auto& keys, const auto& to) {
    fg::fp8_mqa_logits(s, q.in(), keys, scales.in(), weights.in(), starts.in(), ends.in(), to,
                       true);
  };
  EXPECT_RAISES(dense(k.in(), wrong.view()), shape_mismatch, "fp8_mqa_logits");
  EXPECT_RAISES(dense(k.in().narrow(1, 0, 7), out.view()), shape_mismatch, "fp8_mqa_logits");
  const auto four = [&](const auto& x, const auto& given) {
    return fg::fp8_fp4_mqa_logits(s, x, given, k.in(), scales.in(), weights.in(), starts.in(),
                                  ends.in());
  };
  EXPECT_RAISES(four(bytes.in(), std::nullopt), invalid_argument, "fp8_fp4_mqa_logits");
  EXPECT_RAISES(four(q.in(), std::optional(exponents.in())), invalid_argument,
                "fp8_fp4_mqa_logits");
  EXPECT_RAISES(four(wide.in(), std::optional(exponents.in())), shape_mismatch,
                "fp8_fp4_mqa_logits");
  const auto paged_of = [&](const auto& pages, i64 most) {
    return fg::fp8_paged_mqa_logits(s, q4.in(), pages, weights.in(), ends.in(), table.in(), most);
  };
  EXPECT_RAISES(paged_of(cache.in().narrow(3, 0, 11), 4), shape_mismatch, "fp8_paged_mqa_logits");
  EXPECT_RAISES(paged_of(cache.in(), -1), invalid_argument, "fp8_paged_mqa_logits");
  EXPECT_RAISES(fg::get_paged_mqa_logits_metadata(s, ends.in(), 64, 0), invalid_argument,
                "get_paged_mqa_logits_metadata");
  EXPECT_RAISES(fg::get_scheduler_metadata(s, 3, 1, 1, 4, 2, 64, 64, ends.in()), shape_mismatch,
                "get_scheduler_metadata");
  EXPECT_RAISES(fg::get_scheduler_metadata(s, 2, 1, 1, 4, 3, 64, 64, ends.in()), invalid_argument,
                "get_scheduler_metadata");
  EXPECT_TRUE(out.untouched() && wrong.untouched());
}

}  // namespace
}  // namespace flaggems_test
