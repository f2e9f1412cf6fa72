// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of FlagGems' C++ interface that are made of others, against ATen.
#include <flag_gems/operators.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

namespace {

flaggems::errc code_of(const auto& call) {
  try {
    static_cast<void>(call());
  } catch (const flaggems::error& e) {
    return e.code();
  }
  ADD_FAILURE() << "no error";
  return {};
}

struct sequences {
  std::vector<int64_t> queries{1, 5, 7}, keys{9, 6, 4};
  at::Tensor starts = at::tensor({0, 1, 6, 13}, at::kInt);
  at::Tensor key_starts = at::tensor({0, 9, 15, 19}, at::kInt);
  at::Tensor used = at::tensor({9, 6, 4}, at::kInt);
};

/// One sequence in f64: q [n, heads, size], k and v [keys, heads, size].
struct reference {
  bool causal = false;
  int64_t left = -1, right = -1;
  double softcap = 0;
  at::Tensor slopes{};  // [heads]

  std::pair<at::Tensor, at::Tensor> operator()(const at::Tensor& q, at::Tensor k,
                                               at::Tensor v) const {
    k = k.repeat_interleave(q.size(1) / k.size(1), 1),
    v = v.repeat_interleave(q.size(1) / v.size(1), 1);
    const at::Tensor a = q.to(at::kDouble).transpose(0, 1), b = k.to(at::kDouble).transpose(0, 1);
    at::Tensor scores = at::matmul(a, b.transpose(1, 2)) / std::sqrt(double(q.size(2)));
    if (softcap > 0) scores = softcap * at::tanh(scores / softcap);
    const double none = -std::numeric_limits<double>::infinity();
    const int64_t shift = k.size(0) - q.size(0);
    for (int64_t i = 0; i < q.size(0); ++i)
      for (int64_t j = 0; j < k.size(0); ++j) {
        const int64_t away = j - i - shift;
        if (slopes.defined())
          scores.select(1, i).select(1, j).sub_(slopes * static_cast<double>(std::abs(away)));
        const bool sees =
            !(causal && away > 0) && !(right >= 0 && away > right) && !(left >= 0 && away < -left);
        if (!sees) scores.select(1, i).select(1, j).fill_(none);
      }
    const at::Tensor p = at::nan_to_num(at::softmax(scores, -1), 0.0);
    return {at::matmul(p, v.to(at::kDouble).transpose(0, 1)).transpose(0, 1),
            at::logsumexp(scores, -1)};
  }
};

struct flag_gems_attention : testing::Test, sequences {
  at::Tensor q = at::randn({13, 4, 8}), k = at::randn({19, 2, 8}), v = at::randn({19, 2, 8});

  std::pair<at::Tensor, at::Tensor> expected(const reference& one) const {
    std::vector<at::Tensor> rows, sums;
    int64_t at_query = 0, at_key = 0;
    for (std::size_t s = 0; s < queries.size(); ++s) {
      const auto [o, l] = one(q.narrow(0, at_query, queries[s]), k.narrow(0, at_key, keys[s]),
                              v.narrow(0, at_key, keys[s]));
      rows.push_back(o), sums.push_back(l);
      at_query += queries[s], at_key += keys[s];
    }
    return {at::cat(rows).to(at::kFloat), at::cat(sums, 1).to(at::kFloat)};
  }
};

TEST_F(flag_gems_attention, sequences_of_several_lengths) {
  struct options {
    reference of;
    c10::optional<at::IntArrayRef> window{};
    std::optional<at::Tensor> slopes{};
  };
  const at::Tensor slopes = at::rand({4});
  const std::vector<int64_t> window{2, 1};
  std::vector<options> all(5);
  all[1].of.causal = true;
  all[2].of.left = 2, all[2].of.right = 1, all[2].window = at::IntArrayRef(window);
  all[3].of.softcap = 3, all[3].of.causal = true;
  all[4].of.slopes = slopes.to(at::kDouble), all[4].of.causal = true, all[4].slopes = slopes;
  for (const options& o : all) {
    const auto [want, sums] = expected(o.of);
    const auto [got, lse] = flag_gems::flash_attn_varlen_func(
        q, k, v, 7, starts, 9, key_starts, std::nullopt, std::nullopt, 0.0, std::nullopt,
        o.of.causal, o.window, o.of.softcap, o.slopes, false, false, std::nullopt, true);
    EXPECT_EQ(got.sizes(), q.sizes());
    EXPECT_TRUE(at::allclose(got, want, 1e-4, 1e-5)) << got << want;
    EXPECT_TRUE(at::allclose(lse, sums, 1e-4, 1e-5)) << lse << sums;
  }
}

TEST_F(flag_gems_attention, blocks_of_a_cache) {
  // The keys of each sequence in blocks of 4, in any order.
  const at::Tensor table = at::tensor({7, 2, 5, 1, 0, 6, 4, 3, 3}, at::kLong).view({3, 3});
  at::Tensor keys_in = at::randn({8, 4, 2, 8}), values_in = at::randn({8, 4, 2, 8});
  std::vector<int64_t> slots;
  for (int64_t s = 0; s < 3; ++s)
    for (int64_t j = 0; j < keys[static_cast<std::size_t>(s)]; ++j)
      slots.push_back(table[s][j / 4].item<int64_t>() * 4 + j % 4);
  slots.push_back(-1);
  const at::Tensor mapping = at::tensor(slots, at::kLong), nothing = at::randn({1, 2, 8});
  const at::Tensor before = keys_in.clone();
  flag_gems::reshape_and_cache_flash(at::cat({k, nothing}), at::cat({v, nothing}), keys_in,
                                     values_in, mapping, "auto", std::nullopt, std::nullopt);
  for (int64_t i = 0; i < 19; ++i) {
    EXPECT_TRUE(keys_in.view({32, 2, 8})[slots[static_cast<std::size_t>(i)]].equal(k[i])) << i;
    EXPECT_TRUE(values_in.view({32, 2, 8})[slots[static_cast<std::size_t>(i)]].equal(v[i])) << i;
  }
  EXPECT_EQ(keys_in.ne(before).sum().item<int64_t>(), 19 * 16);

  reference causal;
  causal.causal = true;
  at::Tensor out = at::empty_like(q);
  const auto [got, lse] = flag_gems::flash_attn_varlen_func(
      q, keys_in, values_in, 7, starts, 9, std::nullopt, used, std::nullopt, 0.0,
      1 / std::sqrt(8.0), true, c10::nullopt, 0.0, std::nullopt, false, false, table, false, out);
  EXPECT_TRUE(got.is_same(out));
  EXPECT_FALSE(lse.defined());
  EXPECT_TRUE(at::allclose(got, expected(causal).first, 1e-4, 1e-5));
}

TEST_F(flag_gems_attention, refusals) {
  using enum flaggems::errc;
  EXPECT_EQ(code_of([&] {
              return flag_gems::flash_attn_varlen_func(q, k, v, 7, starts, 9, key_starts,
                                                       std::nullopt, std::nullopt, 0.5);
            }),
            not_supported);
  EXPECT_EQ(code_of([&] { return flag_gems::flash_attn_varlen_func(q, k, v, 7, starts, 9); }),
            invalid_argument);
  at::Tensor cache = at::zeros({2, 4, 2, 8}), other = cache.clone();
  EXPECT_EQ(code_of([&] {
              flag_gems::reshape_and_cache_flash(k, v, cache, other, at::arange(0, 19), "auto",
                                                 std::nullopt, std::nullopt);
              return 0;
            }),
            out_of_range);
  EXPECT_EQ(cache.count_nonzero().item<int64_t>(), 0);
  EXPECT_EQ(code_of([&] {
              flag_gems::reshape_and_cache_flash(k, v, cache, other, at::arange(0, 4), "fp8",
                                                 std::nullopt, std::nullopt);
              return 0;
            }),
            not_supported);
}

TEST_F(flag_gems_attention, what_is_read_is_there) {
  using enum flaggems::errc;
  using ints = std::vector<int64_t>;
  struct arguments {
    at::Tensor starts;
    std::optional<at::Tensor> key_starts{}, used{};
    c10::optional<at::IntArrayRef> window{};
    std::optional<at::Tensor> slopes{}, table{};
  };
  const at::Tensor untouched = at::full_like(q, 7);
  at::Tensor out = untouched.clone(), blocks = at::randn({8, 4, 2, 8});
  const auto code = [&](const arguments& a) {
    const at::Tensor &keys_in = a.table ? blocks : k, &values_in = a.table ? blocks : v;
    return code_of([&] {
      return flag_gems::flash_attn_varlen_func(
          q, keys_in, values_in, 7, a.starts, 9, a.key_starts, a.used, std::nullopt, 0.0,
          std::nullopt, true, a.window, 0.0, a.slopes, false, false, a.table, false, out);
    });
  };
  const auto list = [](const ints& x) { return at::tensor(x, at::kInt); };
  // As many entries as sequences.
  EXPECT_EQ(code({.starts = list({})}), invalid_argument);
  EXPECT_EQ(code({.starts = list({}), .key_starts = key_starts}), shape_mismatch);
  EXPECT_EQ(code({.starts = starts, .key_starts = list({0, 9})}), shape_mismatch);
  EXPECT_EQ(code({.starts = starts, .key_starts = key_starts, .used = list({9, 6})}),
            shape_mismatch);
  // Within the rows, one after another.
  EXPECT_EQ(code({.starts = list({0, 1, 6, 14}), .key_starts = key_starts}), out_of_range);
  EXPECT_EQ(code({.starts = list({0, 6, 1, 13}), .key_starts = key_starts}), out_of_range);
  EXPECT_EQ(code({.starts = list({-1, 1, 6, 13}), .key_starts = key_starts}), out_of_range);
  EXPECT_EQ(code({.starts = starts, .key_starts = list({0, 9, 15, 20})}), out_of_range);
  EXPECT_EQ(code({.starts = starts, .key_starts = key_starts, .used = list({9, 6, 5})}),
            out_of_range);
  EXPECT_EQ(code({.starts = starts, .key_starts = key_starts, .used = list({9, 6, -1})}),
            out_of_range);
  // Blocks of the cache, as many as the keys need.
  const at::Tensor table = at::tensor({7, 2, 5, 1, 0, 6, 4, 3, 3}, at::kLong).view({3, 3});
  EXPECT_EQ(code({.starts = starts, .used = used, .table = table.narrow(0, 0, 2)}), shape_mismatch);
  EXPECT_EQ(code({.starts = starts, .used = used, .table = table.narrow(1, 0, 2)}), out_of_range);
  EXPECT_EQ(code({.starts = starts, .used = used, .table = table + 1}), out_of_range);
  EXPECT_EQ(code({.starts = starts, .used = used, .table = table - 1}), out_of_range);
  const ints one{2};
  EXPECT_EQ(code({.starts = starts, .key_starts = key_starts, .window = at::IntArrayRef(one)}),
            shape_mismatch);
  EXPECT_EQ(code({.starts = starts, .key_starts = key_starts, .slopes = at::rand({3})}),
            shape_mismatch);
  EXPECT_TRUE(out.equal(untouched));
}

TEST(flag_gems_rwkv, as_aten) {
  const at::Tensor row = at::relu(at::randn({16})), matrix = at::randn({16, 5});
  EXPECT_TRUE(
      at::allclose(flag_gems::rwkv_mm_sparsity(row, matrix), at::matmul(row, matrix), 1e-5, 1e-5));
  const at::Tensor k = at::randn({3, 8}), kk = at::randn({8}), a = at::randn({3, 8});
  const at::Tensor ka = at::randn({8});
  const auto [gated, normal, times] = flag_gems::rwkv_ka_fusion(k, kk, a, ka, 2, 4);
  const at::Tensor heads = (k * kk).view({3, 2, 4});
  const at::Tensor want = (heads / heads.norm(2, -1, true).clamp_min(1e-12)).view({3, 8});
  EXPECT_TRUE(at::allclose(gated, k * (1 + (a - 1) * ka), 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(normal, want, 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(times, want * a, 1e-5, 1e-5));
}

}  // namespace
