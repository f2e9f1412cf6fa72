// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention over sequences of several lengths, with and without pages.
#include <flaggems/ops/attention_varlen.hpp>
#include <support/attention.hpp>

#include <numeric>
#include <optional>

namespace flaggems_test {
namespace {

using fg::i32;

/// Sequences and the options that tests vary.
struct sequences {
  std::vector<i64> queries{1, 5, 0, 7, 3}, keys{9, 6, 4, 0, 21};
  i64 heads = 4, key_heads = 2, e = 16, ev = 24, page = 0;
  bool causal = false, says_used = false, has_slopes = false, slopes_differ = false;
  i64 left = -1, right = -1;
  double softcap = 0;
  std::optional<double> scale{};
  layout how = layout::contiguous;
  i64 behind = 0;  // rows behind the last sequence's

  i64 count() const { return static_cast<i64>(queries.size()); }
  i64 rows() const { return std::accumulate(queries.begin(), queries.end(), behind); }
  /// Where rows or keys of each begin; those of keys have one between them if `says_used`.
  static std::vector<double> starts(const std::vector<i64>& lengths, i64 between = 0) {
    std::vector<double> r{0};
    for (const i64 n : lengths) r.push_back(r.back() + static_cast<double>(n + between));
    return r;
  }
};

struct found {
  std::vector<double> out, logs;
};
/// The definition. k and v are [key rows, heads, size], those of sequence s from first[s] on.
found reference(const sequences& p, const std::vector<double>& q, const std::vector<double>& k,
                const std::vector<double>& v, const std::vector<double>& first,
                const std::vector<double>& slopes, std::vector<double> before) {
  found r{std::move(before), std::vector<double>(index(p.heads * p.rows()), 0)};
  const double scale = p.scale.value_or(1 / std::sqrt(static_cast<double>(p.e)));
  i64 row = 0;
  for (i64 s = 0; s < p.count(); ++s) {
    const i64 n = p.queries[index(s)], m = p.keys[index(s)];
    for (i64 i = 0; i < n; ++i, ++row)
      for (i64 h = 0; h < p.heads; ++h) {
        std::vector<double> weights(index(m), -infinity);
        double largest = -infinity, sum = 0;
        const auto key = [&](i64 j, i64 size) {
          return index(((static_cast<i64>(first[index(s)]) + j) * p.key_heads +
                        h / (p.heads / p.key_heads)) *
                       size);
        };
        for (i64 j = 0; j < m; ++j) {
          const i64 away = j - i - (m - n);
          if ((p.causal && away > 0) || (p.right >= 0 && away > p.right) ||
              (p.left >= 0 && away < -p.left))
            continue;
          double x = 0;
          for (i64 d = 0; d < p.e; ++d)
            x += q[index((row * p.heads + h) * p.e + d)] * k[key(j, p.e) + index(d)];
          x *= scale;
          if (p.softcap > 0) x = p.softcap * std::tanh(x / p.softcap);
          if (p.has_slopes)
            x -= slopes[index(p.slopes_differ ? s * p.heads + h : h)] *
                 std::abs(static_cast<double>(away));
          weights[index(j)] = x;
          largest = std::fmax(largest, x);
        }
        if (largest > -infinity)
          for (double& x : weights) sum += x = std::exp(x - largest);
        r.logs[index(h * p.rows() + row)] = sum > 0 ? largest + std::log(sum) : -infinity;
        for (i64 d = 0; d < p.ev; ++d) {
          double& to = r.out[index((row * p.heads + h) * p.ev + d)] = 0;
          for (i64 j = 0; sum > 0 && j < m; ++j)
            to += weights[index(j)] / sum * v[key(j, p.ev) + index(d)];
        }
      }
  }
  return r;
}

template <class T>
constexpr double tolerance = std::is_same_v<T, f64> ? 1e-12
                             : sizeof(T) == 4       ? 2e-5
                                                    : 0.02;

void expect_near(const std::vector<double>& got, const std::vector<double>& want, double most) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i] == want[i] || std::abs(got[i] - want[i]) <= most * (1 + std::abs(want[i])))
        << i << ": " << got[i] << ", expected " << want[i];
}

template <class D, class T, class Key = T>
void check(const sequences& p) {
  SCOPED_TRACE(std::string(D::name) + (p.causal ? " causal" : "") + " page " +
               std::to_string(p.page) + " " + to_string(p.how));
  const auto& stream = test_stream<D>();
  const i64 between = p.says_used ? 1 : 0;
  const auto first = sequences::starts(p.keys, between);
  const auto key_rows = static_cast<i64>(first.back());
  const shape q_sizes{p.rows(), p.heads, p.e}, out_sizes{p.rows(), p.heads, p.ev};
  test_tensor<T, D> q(q_sizes, p.how, random_values(q_sizes)),
      out(out_sizes, p.how, random_values(out_sizes));
  test_tensor<fg::attention_log_type<T>, D> logs({p.heads, p.rows()}, p.how);
  const auto all_k = random_values({key_rows, p.key_heads, p.e}),
             all_v = random_values({key_rows, p.key_heads, p.ev});
  // Pages in an order of their own, with others between them.
  i64 most_pages = 0, pages = 0;
  shape k_sizes{key_rows, p.key_heads, p.e}, v_sizes{key_rows, p.key_heads, p.ev};
  std::vector<double> table;
  auto of_k = all_k, of_v = all_v;
  if (p.page > 0) {
    for (const i64 n : p.keys) most_pages = std::max(most_pages, (n + p.page - 1) / p.page);
    pages = 2 * p.count() * most_pages + 1;
    k_sizes = {pages, p.page, p.key_heads, p.e};
    v_sizes = {pages, p.page, p.key_heads, p.ev};
    of_k.assign(index(k_sizes.numel()), 7);
    of_v.assign(index(v_sizes.numel()), 7);
    for (i64 s = 0; s < p.count(); ++s)
      for (i64 b = 0; b < most_pages; ++b) {
        const i64 page = pages - 1 - 2 * (b * p.count() + s);
        table.push_back(static_cast<double>(page));
        for (i64 j = b * p.page; j < std::min(p.keys[index(s)], (b + 1) * p.page); ++j) {
          const auto put = [&](std::vector<double>& to, const std::vector<double>& from, i64 size) {
            const auto line = [&](i64 at) { return at * p.key_heads * size; };
            std::copy_n(from.begin() + line(static_cast<i64>(first[index(s)]) + j), line(1),
                        to.begin() + line(page * p.page + j % p.page));
          };
          put(of_k, all_k, p.e);
          put(of_v, all_v, p.ev);
        }
      }
  }
  test_tensor<Key, D> k(k_sizes, p.how, of_k), v(v_sizes, p.how, of_v);
  test_tensor<i32, D> starts({p.count() + 1}, p.how, sequences::starts(p.queries)),
      key_starts({p.count() + 1}, p.how, first),
      used({p.count()}, p.how, std::vector<double>(p.keys.begin(), p.keys.end())),
      pages_of({p.count(), most_pages}, p.how, table);
  const shape slope_sizes = p.slopes_differ ? shape{p.count(), p.heads} : shape{p.heads};
  test_tensor<f32, D> slopes(slope_sizes, p.how, random_values(slope_sizes));
  fg::varlen_attention_options<D> options{.softmax_scale = p.scale,
                                          .causal = p.causal,
                                          .window_left = p.left,
                                          .window_right = p.right,
                                          .softcap = p.softcap};
  if (p.has_slopes) options.alibi_slopes = slopes.in();
  if (p.page > 0) options.block_table = pages_of.in();
  std::optional<fg::tensor_view<const i32, D>> lengths, begins;
  if (p.says_used) lengths = used.in();
  if (p.page == 0 || !p.says_used) begins = key_starts.in();
  // (Numbers of the wrong length would show.)
  fg::flash_attn_varlen_func(stream, q.in(), k.in(), v.in(), 1, starts.in(), 1, begins, lengths,
                             out.view(), logs.view(), options);
  // What a cache of fewer bits holds.
  test_tensor<Key, D> rounded_k({key_rows, p.key_heads, p.e}, layout::contiguous, all_k),
      rounded_v({key_rows, p.key_heads, p.ev}, layout::contiguous, all_v);
  const found want = reference(p, q.values(), rounded_k.values(), rounded_v.values(), first,
                               slopes.values(), out.values());
  expect_near(out.read(), want.out, tolerance<T>);
  expect_near(logs.read(), want.logs, std::is_same_v<T, f64> ? 1e-12 : 3e-5);
  EXPECT_TRUE(out.gaps_untouched() && logs.gaps_untouched());
  test_tensor<T, D> again(out_sizes, p.how, out.values());
  fg::flash_attn_varlen_func(stream, q.in(), k.in(), v.in(), 1, starts.in(), 1, begins, lengths,
                             again.view(), std::nullopt, options);
  expect_near(again.read(), want.out, tolerance<T>);
  EXPECT_TRUE(again.gaps_untouched());
}

template <class Case>
class attention_varlen : public ::testing::Test {};
using attention_varlen_cases = float_cases;
TYPED_TEST_SUITE(attention_varlen, attention_varlen_cases);

TYPED_TEST(attention_varlen, lengths) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const bool causal : {false, true}) {
      check<D, T>({.causal = causal});
      const i64 n = std::is_same_v<D, host> ? 70 : 9;
      check<D, T>({.queries = {n, 1, 0, 6},
                   .keys = {66, n + 60, 5, 6},
                   .heads = 3,
                   .key_heads = 1,
                   .e = 33,
                   .ev = 5,
                   .causal = causal,
                   .scale = 0.3,
                   .behind = 4});
    }
  });
}
TYPED_TEST(attention_varlen, pages) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 page : {1, 5, 16})
      for (const bool says_used : {false, true})
        check<D, T>({.queries = {1, 3, 0, 4},
                     .keys = {37, 6, 4, 0},
                     .page = page,
                     .causal = true,
                     .says_used = says_used});
  });
}

template <class Device>
class attention_varlen_device : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(attention_varlen_device, devices);

TYPED_TEST(attention_varlen_device, scores) {
  using D = TypeParam;
  check<D, f32>({.softcap = 0.5});
  check<D, f32>({.says_used = true, .has_slopes = true});
  check<D, f32>({.page = 4, .causal = true, .has_slopes = true, .slopes_differ = true});
  for (const auto& [left, right] : {std::pair<i64, i64>{2, 1}, {0, 0}, {-1, 3}, {4, -1}, {1000, 0}})
    check<D, f32>({.left = left, .right = right});
  check<D, f32>({.queries = {10, 3},
                 .keys = {90, 80},
                 .causal = true,
                 .has_slopes = true,
                 .left = 20,
                 .softcap = 2});
}
TYPED_TEST(attention_varlen_device, layouts) {
  using D = TypeParam;
  for (const layout how : output_layouts) {
    check<D, f32>({.says_used = true, .has_slopes = true, .slopes_differ = true, .how = how});
    check<D, f32>({.page = 4, .how = how});
  }
}
TYPED_TEST(attention_varlen_device, dtypes_of_a_cache) {
  check<TypeParam, f32, bf16>({.page = 16, .causal = true, .says_used = true});
}
// As many steps of generation, and one prompt among them.
TYPED_TEST(attention_varlen_device, decode) {
  using D = TypeParam;
  for (const i64 page : {0, 16, 48}) {
    sequences p{.queries = {1, 1, 1, 1, 1},
                .keys = {100, 1, 64, 0, 65},
                .heads = 4,
                .ev = 16,
                .page = page,
                .causal = true};
    check<D, f32>(p);
    p.queries[2] = 20;
    check<D, f32>(p);
  }
}
// Where there are matrix units, tiles of 16 bits.
TYPED_TEST(attention_varlen_device, tiles) {
  using D = TypeParam;
  const sequences p{.queries = {9, 1, 0, 34, 3},
                    .keys = {7, 70, 5, 40, 0},
                    .heads = 2,
                    .key_heads = 1,
                    .e = 64,
                    .ev = 64};
  sequences causal = p;
  causal.causal = true;
  causal.behind = 3;
  check<D, bf16>(causal);
  sequences paged = causal;
  paged.page = 16;
  paged.says_used = true;
  check<D, bf16>(paged);
  paged.page = 5;
  paged.left = 30;
  paged.softcap = 4;
  paged.has_slopes = paged.slopes_differ = true;
  check<D, f16>(paged);
  if constexpr (fg::detail::attends_by_warp_groups<D>) {
    sequences ruled = paged;  // enough rows for them
    ruled.page = 0;
    ruled.queries = {90, 0, 6};
    ruled.keys = {100, 3, 20};
    ruled.softcap = 0;
    check<D, bf16>(ruled);
    ruled.softcap = 2;
    ruled.has_slopes = false;
    check<D, bf16>(ruled);
  }
  sequences wide = p;
  wide.e = 136;
  wide.ev = 72;
  wide.right = 2;
  check<D, bf16>(wide);
}
TYPED_TEST(attention_varlen_device, nothing) {
  using D = TypeParam;
  check<D, f32>({.queries = {0, 0}, .keys = {3, 0}});
  check<D, f32>({.queries = {2, 3}, .keys = {0, 0}});
  check<D, f32>({.queries = {2, 3}, .keys = {4, 1}, .ev = 0});
  check<D, f32>({.queries = {}, .keys = {}, .behind = 3});
}

// Without lengths: all sequences have one, and stand in a dimension.
TYPED_TEST(attention_varlen_device, as_aten) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const sequences p{.queries = {3, 3}, .keys = {5, 5}, .causal = true};
  const shape of_q{6, p.heads, p.e}, of_k{10, p.key_heads, p.e}, of_v{10, p.key_heads, p.ev};
  test_tensor<f32, D> q(of_q, layout::contiguous, random_values(of_q)),
      k(of_k, layout::contiguous, random_values(of_k)),
      v(of_v, layout::contiguous, random_values(of_v)), out({6, p.heads, p.ev}), logs({p.heads, 6}),
      slopes({2, p.heads}, layout::strided, random_values({2, p.heads}));
  test_tensor<i32, D> starts({3}, layout::contiguous, {0, 3, 6}),
      key_starts({3}, layout::contiguous, {0, 5, 10}), used({2}, layout::contiguous, {5, 4});
  const auto expect_like = [&](const fg::flash_attention_options<D>& options,
                               const sequences& want_of) {
    const found want = reference(want_of, q.values(), k.values(), v.values(), {0, 5, 10},
                                 slopes.values(), std::vector<double>(index(6 * p.heads * p.ev)));
    const auto flat = fg::flash_attention_forward(s, q.in(), k.in(), v.in(), starts.in(),
                                                  key_starts.in(), 3, 5, options);
    expect_near(values_of(flat.out), want.out, 2e-5);
    expect_near(values_of(flat.softmax_logsumexp), want.logs, 3e-5);
    if (options.seqused_k) return;
    const auto r = fg::flash_attention_forward(
        s, q.in().unflatten(0, {2, 3}), k.in().unflatten(0, {2, 5}), v.in().unflatten(0, {2, 5}),
        std::nullopt, std::nullopt, 3, 5, options);
    expect_near(values_of(r.out), want.out, 2e-5);
    EXPECT_EQ(r.softmax_logsumexp.view().shape_of(), (shape{2, p.heads, 3}));
    // [batch, heads, queries] as [heads, rows]
    const auto got = values_of(r.softmax_logsumexp);
    std::vector<double> by_heads;
    for (i64 h = 0; h < p.heads; ++h)
      for (i64 row = 0; row < 6; ++row)
        by_heads.push_back(got[index((row / 3 * p.heads + h) * 3 + row % 3)]);
    expect_near(by_heads, want.logs, 3e-5);
    EXPECT_EQ(values_of(r.rng_state), (std::vector<double>{0, 0}));
    EXPECT_TRUE(r.unused.view().empty() && r.debug_attn_mask.view().empty());
  };
  sequences want = p;
  want.causal = false;
  expect_like({}, want);
  expect_like({.is_causal = true}, p);
  want = p;
  want.has_slopes = want.slopes_differ = true;
  want.left = 1;
  expect_like({.is_causal = true, .window_size_left = 1, .alibi_slopes = slopes.in()}, want);
  want.causal = false;
  want.right = 0;
  want.keys = {5, 4};
  expect_like({.window_size_left = 1,
               .window_size_right = 0,
               .seqused_k = used.in(),
               .alibi_slopes = slopes.in()},
              want);
  const char* const op = "flash_attention_forward";
  const auto call = [&](const auto& begins, const auto& key_begins,
                        const fg::flash_attention_options<D>& options = {}) {
    fg::flash_attention_forward(s, q.in(), k.in(), v.in(), begins, key_begins, 3, 5, out.view(),
                                logs.view(), options);
  };
  // Keys and values in pages of two: those of a sequence are pages 0 and 1, or 3 and 2.
  const auto in_pages = [](const std::vector<double>& rows, i64 size) {
    std::vector<double> r;
    for (const i64 page : {0, 1, 3, 2, 4})
      r.insert(r.end(), rows.begin() + page * 2 * size, rows.begin() + (page + 1) * 2 * size);
    return r;
  };
  const i64 key_size = of_k[1] * of_k[2], value_size = of_v[1] * of_v[2];
  test_tensor<f32, D> key_pages({5, 2, of_k[1], of_k[2]}, layout::contiguous,
                                in_pages(k.values(), key_size)),
      value_pages({5, 2, of_v[1], of_v[2]}, layout::contiguous, in_pages(v.values(), value_size));
  test_tensor<i32, D> pages({2, 2}, layout::transposed, {0, 1, 3, 2}),
      lengths({2}, layout::contiguous, {3, 4});
  want = p;
  want.keys = {3, 4};
  const found of_pages = reference(want, q.values(), k.values(), v.values(), {0, 4}, {},
                                   std::vector<double>(index(6 * p.heads * p.ev)));
  const auto paged = fg::flash_attention_forward(
      s, q.in(), key_pages.in(), value_pages.in(), starts.in(),
      std::optional<fg::tensor_view<const i32, D>>(), 3, 5,
      {.is_causal = true, .seqused_k = lengths.in(), .block_table = pages.in()});
  expect_near(values_of(paged.out), of_pages.out, 2e-5);
  expect_near(values_of(paged.softmax_logsumexp), of_pages.logs, 3e-5);
  EXPECT_RAISES(call(starts.in(), std::nullopt), invalid_argument, op);
  EXPECT_RAISES(call(std::nullopt, std::nullopt), shape_mismatch, op);
  EXPECT_RAISES(call(std::nullopt, key_starts.in(), {.block_table = pages.in()}), invalid_argument,
                op);
  EXPECT_RAISES(call(starts.in(), key_starts.in(), {.dropout_p = 0.5}), not_supported, op);
  EXPECT_TRUE(out.untouched() && logs.untouched());
}

TYPED_TEST(attention_varlen_device, not_a_number) {
  using D = TypeParam;
  // A NaN in a query or key of one sequence stays in that one.
  test_tensor<f32, D> q({3, 1, 8}, layout::contiguous, random_values({3, 1, 8})), out({3, 1, 8}),
      starts_only({3});
  auto values = random_values({4, 1, 8});
  values[3] = std::numeric_limits<double>::quiet_NaN();
  test_tensor<f32, D> k({4, 1, 8}, layout::contiguous, values),
      v({4, 1, 8}, layout::contiguous, random_values({4, 1, 8}));
  test_tensor<i32, D> starts({3}, layout::contiguous, {0, 1, 3}),
      key_starts({3}, layout::contiguous, {0, 2, 4});
  fg::flash_attn_varlen_func(test_stream<D>(), q.in(), k.in(), v.in(), 2, starts.in(), 2,
                             key_starts.in(), std::nullopt, out.view(), std::nullopt);
  const auto got = out.read();
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(std::isnan(got[i]), i < 8) << i;
}

TYPED_TEST(attention_varlen_device, windows_without_end) {
  using D = TypeParam;
  constexpr i64 most = std::numeric_limits<i64>::max();
  test_tensor<f32, D> q({6, 2, 8}, layout::contiguous, random_values({6, 2, 8}));
  test_tensor<f32, D> k({9, 2, 8}, layout::contiguous, random_values({9, 2, 8}));
  test_tensor<i32, D> starts({3}, layout::contiguous, {0, 2, 6}),
      key_starts({3}, layout::contiguous, {0, 5, 9});
  const auto attend = [&](i64 left, i64 right) {
    test_tensor<f32, D> out({6, 2, 8});
    fg::flash_attn_varlen_func(test_stream<D>(), q.in(), k.in(), k.in(), 4, starts.in(), 5,
                               key_starts.in(), std::nullopt, out.view(), std::nullopt,
                               {.window_left = left, .window_right = right});
    return out.read();
  };
  const auto all = attend(-1, -1);
  expect_near(attend(-1, most), all, 1e-6);
  expect_near(attend(most, -1), all, 1e-6);
  expect_near(attend(most, most), all, 1e-6);
}

TYPED_TEST(attention_varlen_device, errors) {
  using D = TypeParam;
  using fg::errc;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> q({6, 4, 8}), k({9, 2, 8}), three({9, 3, 8}), out({6, 4, 8}), logs({4, 6}),
      cache({3, 4, 2, 8}), slopes({3});
  test_tensor<i32, D> starts({3}, layout::contiguous, {0, 2, 6}),
      key_starts({3}, layout::contiguous, {0, 5, 9}), four({4}), used({2}),
      table({2, 2}, layout::contiguous, {0, 1, 2, 0});
  const auto code = [&](const auto& keys, const auto& begins, const auto& lengths,
                        const fg::varlen_attention_options<D>& options = {}) {
    return code_of([&] {
      fg::flash_attn_varlen_func(s, q.in(), keys, keys, 4, starts.in(), 5, begins, lengths,
                                 out.view(), logs.view(), options);
    });
  };
  EXPECT_EQ(code(three.in(), key_starts.in(), std::nullopt), errc::shape_mismatch);
  EXPECT_EQ(code(cache.in(), key_starts.in(), std::nullopt), errc::shape_mismatch);
  EXPECT_EQ(code(k.in(), four.in(), std::nullopt), errc::shape_mismatch);
  EXPECT_EQ(code(k.in(), key_starts.in(), four.in()), errc::shape_mismatch);
  EXPECT_EQ(code(k.in(), std::nullopt, used.in()), errc::invalid_argument);
  EXPECT_EQ(code(cache.in(), std::nullopt, std::nullopt, {.block_table = table.in()}),
            errc::invalid_argument);
  EXPECT_EQ(code(cache.in(), std::nullopt, used.in(), {.block_table = table.in().narrow(0, 0, 1)}),
            errc::shape_mismatch);
  EXPECT_EQ(code(k.in(), key_starts.in(), std::nullopt, {.alibi_slopes = slopes.in()}),
            errc::shape_mismatch);
  EXPECT_EQ(code(k.in(), key_starts.in(), std::nullopt, {.dropout_p = 0.5}), errc::not_supported);
  for (const double cap : {-1.0, 1e300})
    EXPECT_EQ(code(k.in(), key_starts.in(), std::nullopt, {.softcap = cap}),
              errc::invalid_argument);
  EXPECT_RAISES(fg::flash_attn_varlen_func(s, q.in(), k.in(), k.in(), 4, starts.in(), 5,
                                           key_starts.in(), std::nullopt, q.view(), std::nullopt),
                overlap, "flash_attn_varlen_func");
  EXPECT_RAISES(
      fg::flash_attn_varlen_func(s, q.in(), k.in(), k.in(), 4, starts.in(), 5, key_starts.in(),
                                 std::nullopt, out.view(), out.view().select(2, 0).transpose(0, 1)),
      overlap, "flash_attn_varlen_func");
  EXPECT_TRUE(out.untouched() && logs.untouched() && q.untouched());
}

// Where the host cannot read the numbers, wrong ones read nothing outside.
TYPED_TEST(attention_varlen_device, wrong_numbers) {
  using D = TypeParam;
  using fg::errc;
  test_tensor<f32, D> q({6, 2, 8}), k({9, 2, 8}), cache({3, 4, 2, 8}), out({6, 2, 8});
  const auto with = [&](const std::vector<double>& first, const std::vector<double>& key_first,
                        const std::vector<double>& lengths, const std::vector<double>& pages) {
    test_tensor<i32, D> starts({3}, layout::contiguous, first),
        key_starts({3}, layout::contiguous, key_first), used({2}, layout::contiguous, lengths),
        table({2, 2}, layout::contiguous, pages);
    const auto call = [&](const auto& keys, const fg::varlen_attention_options<D>& options) {
      fg::flash_attn_varlen_func(test_stream<D>(), q.in(), keys, keys, 4, starts.in(), 5,
                                 key_starts.in(), used.in(), out.view(), std::nullopt, options);
      test_stream<D>().synchronize();
    };
    const auto try_it = [&](const auto& keys, const fg::varlen_attention_options<D>& options) {
      if constexpr (fg::detail::host_reads<D>)
        EXPECT_EQ(code_of([&] { call(keys, options); }), errc::out_of_range);
      else
        call(keys, options);
      EXPECT_TRUE(out.gaps_untouched());
    };
    if (pages.empty())
      try_it(k.in(), {});
    else
      try_it(cache.in(), {.block_table = table.in()});
  };
  with({0, 4, 2}, {0, 4, 9}, {4, 4}, {});
  with({-3, 4, 6}, {0, 4, 9}, {4, 4}, {});
  with({0, 4, 1000}, {0, 4, 9}, {4, 4}, {});
  with({0, 4, 6}, {0, 4, 9}, {4, 6}, {});
  with({0, 4, 6}, {0, 4, 9}, {-4, 4}, {});
  with({0, 4, 6}, {-2, 4, 9}, {4, 4}, {});
  with({0, 4, 6}, {0, 4, 9}, {9, 4}, {0, 1, 2, 0});
  with({0, 4, 6}, {0, 4, 9}, {8, 4}, {0, 3, 2, 0});
  with({0, 4, 6}, {0, 4, 9}, {8, 4}, {0, 1, -1, 0});
}

}  // namespace
}  // namespace flaggems_test
