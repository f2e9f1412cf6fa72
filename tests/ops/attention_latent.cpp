// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention over latent keys, in pages and by lists, against its definition in double.
#include <flaggems/ops/attention_latent.hpp>
#include <support/attention.hpp>

#include <functional>

namespace flaggems_test {
namespace {

using values = std::vector<double>;
using fg::i32;
using fg::u8;

template <class Device>
class attention_latent : public testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(attention_latent, devices);

/// What the definition gives for the rows of queries: results, largest scores and logarithms.
struct found {
  values out, largest, logs;
};

/// Row r of q (of e numbers) sees the keys of keys_of(r), lines of e numbers whose first ev are
/// values; `sink(r)` is added to the sum of exponentials.
found attend(const values& q, i64 e, i64 ev, double scale,
             const std::function<std::vector<const double*>(i64)>& keys_of,
             const std::function<double(i64)>& sink) {
  found r;
  for (i64 row = 0; row < static_cast<i64>(q.size()) / e; ++row) {
    const auto keys = keys_of(row);
    values scores;
    double largest = -infinity, sum = 0;
    for (const double* const key : keys) {
      double x = 0;
      for (i64 d = 0; d < e; ++d) x += q[index(row * e + d)] * key[d];
      scores.push_back(x * scale);
      largest = std::fmax(largest, x * scale);
    }
    values out(index(ev));
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const double weight = std::exp(scores[j] - largest);
      sum += weight;
      for (i64 d = 0; d < ev; ++d) out[index(d)] += weight * keys[j][d];
    }
    const double whole = sum + (keys.empty() ? 1 : std::exp(sink(row) - largest));
    for (const double x : out) r.out.push_back(x / whole);
    r.largest.push_back(largest);
    r.logs.push_back(keys.empty() ? -infinity : largest + std::log(sum));
  }
  return r;
}
double no_sink(i64) { return -infinity; }

template <class T>
void expect_near(const char* what, const values& got, const values& want, double much = 1) {
  constexpr double step = std::is_same_v<T, f64>   ? 1e-12
                          : std::is_same_v<T, f32> ? 2e-5
                          : std::is_same_v<T, f16> ? 0x1p-9
                                                   : 0x1p-6;
  ASSERT_EQ(got.size(), want.size()) << what;
  int shown = 0;
  for (std::size_t i = 0; i < got.size() && shown < 5; ++i) {
    if (got[i] == want[i] || std::abs(got[i] - want[i]) <= much * step * (1 + std::abs(want[i])))
      continue;
    ADD_FAILURE() << what << ", element " << i << ": " << got[i] << ", expected " << want[i];
    ++shown;
  }
}

/// A paged cache: sizes, the pages of each sequence, and how many keys it has.
struct paging {
  i64 batch, queries, heads, key_heads, page, pages, most_pages, e, ev;
  std::vector<double> table, lengths;
};

/// flash_mla and flash_mla_with_kvcache of all keys.
template <class D, class T>
void check_pages(const paging& p, bool causal, layout how = layout::contiguous) {
  SCOPED_TRACE(std::to_string(p.queries) + " queries, " + std::to_string(p.e) + " numbers, " +
               to_string(how) + (causal ? ", causal" : ""));
  const auto& s = test_stream<D>();
  const shape q_sizes{p.batch, p.queries, p.heads, p.e},
      out_sizes{p.batch, p.queries, p.heads, p.ev}, cache_sizes{p.pages, p.page, p.key_heads, p.e};
  test_tensor<T, D> q(q_sizes, how, random_values(q_sizes)),
      cache(cache_sizes, how, random_values(cache_sizes)), out(out_sizes, how);
  test_tensor<i32, D> table({p.batch, p.most_pages}, layout::strided, p.table),
      lengths({p.batch}, layout::strided, p.lengths);
  test_tensor<fg::attention_log_type<T>, D> lse({p.batch, p.heads, p.queries}, how);
  const auto keys_of = [&](i64 row) {
    const i64 h = row % p.heads, i = row / p.heads % p.queries, b = row / p.heads / p.queries;
    const i64 n = static_cast<i64>(p.lengths[index(b)]);
    std::vector<const double*> keys;
    for (i64 j = 0; j < (causal ? std::min(n, i + n - p.queries + 1) : n); ++j) {
      const i64 page = static_cast<i64>(p.table[index(b * p.most_pages + j / p.page)]);
      const i64 line = (page * p.page + j % p.page) * p.key_heads + h / (p.heads / p.key_heads);
      keys.push_back(cache.values().data() + line * p.e);
    }
    return keys;
  };
  const auto logs_first = [&](const values& x) {
    values r;  // [batch, queries, heads] as [batch, heads, queries]
    for (i64 b = 0; b < p.batch; ++b)
      for (i64 h = 0; h < p.heads; ++h)
        for (i64 i = 0; i < p.queries; ++i)
          r.push_back(x[index((b * p.queries + i) * p.heads + h)]);
    return r;
  };
  found want =
      attend(q.values(), p.e, p.ev, 1 / std::sqrt(static_cast<double>(p.e)), keys_of, no_sink);
  fg::flash_mla(s, q.in(), table.in(), cache.in(), p.most_pages * p.page, p.page, p.batch,
                p.queries, lengths.in(), p.heads, p.key_heads, p.e, p.ev, causal, out.view());
  expect_near<T>("out", out.read(), want.out);
  EXPECT_TRUE(out.gaps_untouched());
  const auto made =
      fg::flash_mla(s, q.in(), table.in(), cache.in(), p.most_pages * p.page, p.page, p.batch,
                    p.queries, lengths.in(), p.heads, p.key_heads, p.e, p.ev, causal);
  expect_equal(values_of(made), out.read());
  want = attend(q.values(), p.e, p.ev, 0.3, keys_of, no_sink);
  fg::flash_mla_with_kvcache(s, q.in(), cache.in(), std::optional(table.in()), lengths.in(), p.ev,
                             out.view(), lse.view(), {.softmax_scale = 0.3, .causal = causal});
  expect_near<T>("out", out.read(), want.out);
  expect_near<T>("lse", lse.read(), logs_first(want.logs));
  EXPECT_TRUE(out.gaps_untouched() && lse.gaps_untouched());
  const auto both =
      fg::flash_mla_with_kvcache(s, q.in(), cache.in(), std::optional(table.in()), lengths.in(),
                                 p.ev, {.softmax_scale = 0.3, .causal = causal});
  expect_equal(values_of(both.first), out.read());
  expect_equal(values_of(both.second), lse.read());
}

TYPED_TEST(attention_latent, in_pages) {
  using D = TypeParam;
  paging p{.batch = 3,
           .queries = 1,
           .heads = 4,
           .key_heads = 1,
           .page = 4,
           .pages = 5,
           .most_pages = 3,
           .e = 24,
           .ev = 16,
           .table = {3, 1, 0, 2, 4, 0, 0, 2, 1},
           .lengths = {9, 0, 12}};
  check_pages<D, f32>(p, true);
  check_pages<D, f64>(p, false);
  p.queries = 3;
  p.lengths = {9, 2, 12};  // a query of the second has no key under causal
  for (const layout how : {layout::contiguous, layout::strided, layout::negative})
    check_pages<D, f32>(p, true, how);
  check_pages<D, bf16>(p, false);
  p.key_heads = 2;
  check_pages<D, f16>(p, true);
}

int launches_of_tiles = 0, launches_of_merges = 0;

// The sizes of DeepSeek's models: values of 512 numbers among 576.
TYPED_TEST(attention_latent, of_the_size_of_models) {
  using D = TypeParam;
  launches_of_tiles = launches_of_merges = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launches_of_merges += e.kernel.find("decode_merge") != e.kernel.npos;
    launches_of_tiles += e.rejected.empty() && e.kernel.find("prefill_tiles") != e.kernel.npos;
  });
  check_pages<D, bf16>({.batch = 1,
                        .queries = 2,
                        .heads = 16,
                        .key_heads = 1,
                        .page = 64,
                        .pages = 2,
                        .most_pages = 2,
                        .e = 576,
                        .ev = 512,
                        .table = {1, 0},
                        .lengths = {70}},
                       true);
  // More rows than a small tile has, pages of fewer keys than a tile, and a sequence without keys.
  check_pages<D, f16>({.batch = 2,
                       .queries = 1,
                       .heads = 40,
                       .key_heads = 1,
                       .page = 16,
                       .pages = 3,
                       .most_pages = 3,
                       .e = 576,
                       .ev = 512,
                       .table = {2, 0, 1, 0, 0, 0},
                       .lengths = {37, 0}},
                      false);
  // Fewer elements than tiles have.
  check_pages<D, bf16>({.batch = 1,
                        .queries = 3,
                        .heads = 5,
                        .key_heads = 1,
                        .page = 8,
                        .pages = 3,
                        .most_pages = 3,
                        .e = 328,
                        .ev = 264,
                        .table = {2, 0, 1},
                        .lengths = {21}},
                       true);
  // A cache for many keys is cut into parts, most of which have none here.
  check_pages<D, bf16>({.batch = 2,
                        .queries = 2,
                        .heads = 4,
                        .key_heads = 2,
                        .page = 64,
                        .pages = 3,
                        .most_pages = 30,
                        .e = 328,
                        .ev = 264,
                        .table =
                            [] {
                              values pages(60);
                              pages[0] = 2, pages[1] = 0, pages[2] = 1, pages[30] = 1;
                              return pages;
                            }(),
                        .lengths = {150, 1}},
                       true);
  fg::set_launch_hook(before);
  if constexpr (fg::matrix_instructions_of<D> == fg::matrix_instructions::mma) {
    EXPECT_TRUE(launches_of_tiles >= 16 && launches_of_merges >= 4)
        << launches_of_tiles << ", " << launches_of_merges;
  }
}

/// Lists of keys.
struct listing {
  i64 batch, queries, heads, key_heads, keys, count, e, ev;
  values lists() const {
    return random_integers({batch, queries, key_heads, count}, -1, keys);  // -1 and `keys`: none
  }
};

template <class D, class T>
void check_lists(const listing& p, bool with_sink, bool with_lengths,
                 layout how = layout::contiguous) {
  SCOPED_TRACE(std::to_string(p.heads) + " heads, " + std::to_string(p.count) + " keys, " +
               to_string(how) + (with_sink ? ", sink" : "") + (with_lengths ? ", lengths" : ""));
  const auto& s = test_stream<D>();
  const i64 rows = p.batch * p.queries;
  const shape q_sizes{rows, p.heads, p.e}, kv_sizes{p.keys, p.key_heads, p.e},
      list_sizes{rows, p.key_heads, p.count};
  test_tensor<T, D> q(q_sizes, how, random_values(q_sizes)),
      kv(kv_sizes, how, random_values(kv_sizes));
  test_tensor<i32, D> lists(list_sizes, how, p.lists());
  test_tensor<f32, D> sinks({p.heads}, how, random_values({p.heads}));
  test_tensor<i32, D> lengths({rows}, how, random_integers({rows}, 0, p.count + 1));
  const auto run = [&](const auto& sink, const auto& length) {
    const auto keys_of = [&](i64 row) {
      const i64 query = row / p.heads, g = row % p.heads / (p.heads / p.key_heads);
      std::vector<const double*> keys;
      for (i64 j = 0; j < p.count; ++j) {
        const double at = lists.values()[index((query * p.key_heads + g) * p.count + j)];
        if (with_lengths && static_cast<double>(j) >= lengths.values()[index(query)]) break;
        if (at < 0 || at >= static_cast<double>(p.keys)) continue;
        keys.push_back(kv.values().data() + (static_cast<i64>(at) * p.key_heads + g) * p.e);
      }
      return keys;
    };
    const found want = attend(q.values(), p.e, p.ev, 0.4, keys_of, [&](i64 row) {
      return with_sink ? sinks.values()[index(row % p.heads)] : -infinity;
    });
    const auto r =
        fg::flash_mla_sparse_fwd(s, q.in(), kv.in(), lists.in(), 0.4, p.ev, sink, length);
    expect_near<T>("out", values_of(r.out), want.out);
    expect_near<T>("max_logits", values_of(r.max_logits), want.largest);
    values logs = want.logs;
    for (double& x : logs)
      if (x == -infinity) x = infinity;
    expect_near<T>("lse", values_of(r.lse), logs);
  };
  if (with_sink && with_lengths)
    run(sinks.in(), lengths.in());
  else if (with_sink)
    run(sinks.in(), std::nullopt);
  else if (with_lengths)
    run(std::nullopt, lengths.in());
  else
    run(std::nullopt, std::nullopt);
}

TYPED_TEST(attention_latent, by_lists) {
  using D = TypeParam;
  const listing p{.batch = 1,
                  .queries = 3,
                  .heads = 6,
                  .key_heads = 2,
                  .keys = 11,
                  .count = 7,
                  .e = 24,
                  .ev = 16};
  for (const layout how : {layout::contiguous, layout::strided, layout::negative})
    check_lists<D, f32>(p, true, true, how);
  check_lists<D, f64>(p, true, false);
  check_lists<D, bf16>(p, false, true);
  check_lists<D, f16>(p, false, false);
  listing other = p;
  other.count = 70;  // more than a tile
  check_lists<D, f32>(other, true, true);
  other.key_heads = 1;
  check_lists<D, f32>(other, false, true);
  for (i64 listing::*size : {&listing::keys, &listing::count, &listing::queries}) {
    other = p;
    other.*size = 0;
    check_lists<D, f32>(other, true, false);
  }
}

TYPED_TEST(attention_latent, causal_lists) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 batch = 2, queries = 4, heads = 4, groups = 2, n = 4, count = 5, e = 20, ev = 12;
  const shape q_sizes{batch, queries, heads, e}, kv_sizes{batch, n, groups, e},
      list_sizes{batch, queries, groups, count};
  test_tensor<f32, D> q(q_sizes, layout::strided, random_values(q_sizes)),
      kv(kv_sizes, layout::contiguous, random_values(kv_sizes));
  test_tensor<i32, D> lists(list_sizes, layout::contiguous, random_integers(list_sizes, -1, n));
  for (const bool has_scale : {false, true}) {
    const auto keys_of = [&](i64 row) {
      const i64 b = row / heads / queries, i = row / heads % queries, g = row % heads / 2;
      std::vector<const double*> keys;
      for (i64 j = 0; j < count; ++j) {
        const auto at =
            static_cast<i64>(lists.values()[index(((b * queries + i) * groups + g) * count + j)]);
        if (at >= 0 && at < n && at <= i)
          keys.push_back(kv.values().data() + ((b * n + at) * groups + g) * e);
      }
      return keys;
    };
    const found want =
        attend(q.values(), e, ev, has_scale ? 0.7 : 1 / std::sqrt(20.0), keys_of, no_sink);
    const auto r = fg::triton_sparse_mla_fwd_interface(
        s, q.in(), kv.in(), lists.in(), has_scale ? std::optional(0.7) : std::nullopt, ev);
    values logs;
    for (const double x : want.logs) logs.push_back(x * std::log2(std::exp(1.0)));
    expect_near<f32>("out", values_of(r.first), want.out);
    expect_near<f32>("lse", values_of(r.second), logs);
  }
}

TYPED_TEST(attention_latent, with_sinks) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 batch = 2, queries = 3, heads = 5, n = 9, count = 6, e = 12;
  const shape q_sizes{batch, queries, heads, e}, kv_sizes{batch, n, e},
      list_sizes{batch, queries, count};
  test_tensor<bf16, D> q(q_sizes, layout::strided, random_values(q_sizes)),
      kv(kv_sizes, layout::contiguous, random_values(kv_sizes)), out(q_sizes, layout::negative);
  values given = random_integers(list_sizes, -1, n - 1);
  for (i64 j = 0; j < count; ++j) given[index(j)] = -1;  // the first query has no key
  test_tensor<i32, D> lists(list_sizes, layout::contiguous, given);
  test_tensor<f32, D> sinks({heads}, layout::contiguous, {-infinity, 0, infinity, 2, -2});
  const auto keys_of = [&](i64 row) {
    std::vector<const double*> keys;
    for (i64 j = 0; j < count; ++j) {
      const auto at = static_cast<i64>(given[index(row / heads * count + j)]);
      if (at >= 0) keys.push_back(kv.values().data() + (row / heads / queries * n + at) * e);
    }
    return keys;
  };
  const found want = attend(q.values(), e, e, 0.5, keys_of,
                            [&](i64 row) { return sinks.values()[index(row % heads)]; });
  fg::sparse_attn_triton(s, q.in(), kv.in(), sinks.in(), lists.in(), 0.5, out.view());
  expect_near<bf16>("out", out.read(), want.out);
  EXPECT_TRUE(out.gaps_untouched());
  expect_equal(values_of(fg::sparse_attn_triton(s, q.in(), kv.in(), sinks.in(), lists.in(), 0.5)),
               out.read());
}

/// Bytes of a cache: numbers, and the keys that they stand for.
struct byte_cache {
  values bytes, keys;
  byte_cache(i64 pages, i64 page) {
    using layout = fg::kernels::latent_cache;
    bytes = random_integers({pages, page, 1, layout::bytes}, 0, 255);
    for (double& x : bytes)  // no NaN of f8e4m3
      if (static_cast<int>(x) % 128 == 127) x -= 1;
    for (i64 p = 0; p < pages; ++p) {
      double* const first = bytes.data() + p * page * layout::bytes;
      for (i64 j = 0; j < page; ++j) {
        double* const line = first + j * layout::line;
        double* const scales = first + page * layout::line + j * layout::scales;
        for (int k = 0; k < layout::scales; ++k) scales[k] = 120 + static_cast<int>(scales[k]) % 7;
        for (int k = 0; k < layout::narrow; ++k) {
          const auto x = fg::f8e4m3::from_bits(static_cast<u8>(line[k]));
          keys.push_back(static_cast<double>(static_cast<float>(x)) *
                         std::exp2(scales[k / 64] - 127));
        }
        for (int k = 0; k < layout::wide; ++k) {
          double* const two = line + layout::narrow + 2 * k;
          const double x = -2 + static_cast<double>((p * 7 + j * 3 + k) % 64) / 16;
          const auto bits = fg::kernels::bit_cast<fg::u16>(fg::kernels::number_cast<bf16>(x));
          two[0] = bits & 255, two[1] = bits >> 8;
          keys.push_back(x);
        }
      }
    }
  }
};

TYPED_TEST(attention_latent, of_bytes) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 batch = 2, queries = 2, heads = 3, count = 5, more = 3, e = 512;
  const byte_cache one(2, 3), other(3, 2);
  const shape q_sizes{batch, queries, heads, e};
  test_tensor<f32, D> q(q_sizes, layout::contiguous, random_values(q_sizes, -0.1, 0.1)),
      out(q_sizes, layout::contiguous), lse({batch, heads, queries}, layout::strided);
  test_tensor<u8, D> cache({2, 3, 1, 584}, layout::contiguous, one.bytes),
      extra({3, 1168}, layout::contiguous, other.bytes);
  test_tensor<i32, D> lists({batch, queries, count}, layout::strided,
                            random_integers({batch, queries, count}, -1, 6)),
      extra_lists({batch, queries, more}, layout::contiguous,
                  random_integers({batch, queries, more}, 0, 5)),
      lengths({batch}, layout::contiguous, {5, 3}),
      extra_lengths({batch}, layout::contiguous, {0, 3});
  test_tensor<f32, D> sinks({heads}, layout::contiguous, {-infinity, 0, 1});
  for (const bool has_extra : {false, true}) {
    const auto keys_of = [&](i64 row) {
      const i64 query = row / heads, b = query / queries;
      std::vector<const double*> keys;
      const auto put = [&](const values& list, const byte_cache& from, i64 n, double length) {
        for (i64 j = 0; j < n && static_cast<double>(j) < length; ++j) {
          const auto at = static_cast<i64>(list[index(query * n + j)]);
          if (at >= 0 && at < 6) keys.push_back(from.keys.data() + at * e);
        }
      };
      put(lists.values(), one, count, lengths.values()[index(b)]);
      if (has_extra) put(extra_lists.values(), other, more, extra_lengths.values()[index(b)]);
      return keys;
    };
    const found want = attend(q.values(), e, e, 1 / std::sqrt(512.0), keys_of,
                              [&](i64 row) { return sinks.values()[index(row % heads)]; });
    fg::latent_attention_options<D> options{.is_fp8_kvcache = true,
                                            .indices = lists.in(),
                                            .attn_sink = sinks.in(),
                                            .topk_length = lengths.in()};
    if (has_extra) {
      options.extra_k_cache = extra.in();
      options.extra_indices_in_kvcache = extra_lists.in();
      options.extra_topk_length = extra_lengths.in();
    }
    fg::flash_mla_with_kvcache(s, q.in(), cache.in(), std::nullopt, std::nullopt, e, out.view(),
                               lse.view(), options);
    expect_near<f32>("out", out.read(), want.out, 4);
    values logs;
    for (i64 b = 0; b < batch; ++b)
      for (i64 h = 0; h < heads; ++h)
        for (i64 i = 0; i < queries; ++i)
          logs.push_back(want.logs[index((b * queries + i) * heads + h)]);
    expect_near<f32>("lse", lse.read(), logs);
  }
}

// Lists over a cache of numbers are lists over its lines.
TYPED_TEST(attention_latent, lists_in_pages) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 batch = 2, queries = 2, heads = 3, count = 5, e = 20, ev = 16;
  const shape q_sizes{batch, queries, heads, e}, cache_sizes{3, 4, 1, e};
  test_tensor<f32, D> q(q_sizes, layout::contiguous, random_values(q_sizes)),
      cache(cache_sizes, layout::strided, random_values(cache_sizes));
  test_tensor<i32, D> lists({batch, queries, count}, layout::contiguous,
                            random_integers({batch, queries, count}, -1, 12)),
      lengths({batch}, layout::contiguous, {5, 2});
  const auto keys_of = [&](i64 row) {
    std::vector<const double*> keys;
    const i64 n = static_cast<i64>(lengths.values()[index(row / heads / queries)]);
    for (i64 j = 0; j < n; ++j) {
      const auto at = static_cast<i64>(lists.values()[index(row / heads * count + j)]);
      if (at >= 0 && at < 12) keys.push_back(cache.values().data() + at * e);
    }
    return keys;
  };
  const found want = attend(q.values(), e, ev, 0.6, keys_of, no_sink);
  const auto r = fg::flash_mla_with_kvcache(
      s, q.in(), cache.in(), std::nullopt, std::nullopt, ev,
      {.softmax_scale = 0.6, .indices = lists.in(), .topk_length = lengths.in()});
  expect_near<f32>("out", values_of(r.first), want.out);
}

TYPED_TEST(attention_latent, errors) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> q({2, 1, 4, 8}), cache({3, 4, 1, 8}), out({2, 1, 4, 6}), lse({2, 4, 1}),
      wrong({2, 1, 4, 9}), sinks({4});
  test_tensor<u8, D> bytes({3, 4, 1, 8});
  test_tensor<i32, D> table({2, 2}), lengths({2}, layout::contiguous, {3, 4}),
      too_long({2}, layout::contiguous, {3, 9}), lists({2, 1, 5});
  const auto mla = [&](const auto& keys, const auto& used, const auto& to, i64 heads) {
    fg::flash_mla(s, q.in(), table.in(), keys, 8, 4, 2, 1, used, heads, 1, 8, 6, true, to);
  };
  EXPECT_RAISES(mla(cache.in(), lengths.in(), out.view(), 3), shape_mismatch, "flash_mla");
  EXPECT_RAISES(mla(wrong.in(), lengths.in(), out.view(), 4), shape_mismatch, "flash_mla");
  EXPECT_RAISES(mla(cache.in(), lengths.in().narrow(0, 0, 1), out.view(), 4), shape_mismatch,
                "flash_mla");
  EXPECT_RAISES(mla(cache.in(), lengths.in(), wrong.view(), 4), shape_mismatch, "flash_mla");
  EXPECT_RAISES(mla(cache.in(), lengths.in(), q.view().narrow(3, 0, 6), 4), overlap, "flash_mla");
  if constexpr (fg::detail::host_reads<D>)
    EXPECT_RAISES(mla(cache.in(), too_long.in(), out.view(), 4), out_of_range, "flash_mla");
  const auto with = [&](const auto& keys, const fg::latent_attention_options<D>& options) {
    fg::flash_mla_with_kvcache(s, q.in(), keys, std::nullopt, lengths.in(), 6, out.view(),
                               lse.view(), options);
  };
  const char* const op = "flash_mla_with_kvcache";
  EXPECT_RAISES(with(cache.in(), {}), invalid_argument, op);
  EXPECT_RAISES(with(cache.in(), {.is_fp8_kvcache = true}), invalid_argument, op);
  EXPECT_RAISES(with(bytes.in(), {.is_fp8_kvcache = true, .indices = lists.in()}), shape_mismatch,
                op);
  EXPECT_RAISES(with(cache.in(), {.indices = lists.in().narrow(0, 0, 1)}), shape_mismatch, op);
  EXPECT_RAISES(with(cache.in(), {.indices = lists.in(), .attn_sink = sinks.in().narrow(0, 0, 3)}),
                shape_mismatch, op);
  EXPECT_RAISES(with(cache.in(), {.indices = lists.in(), .extra_k_cache = bytes.in()}),
                invalid_argument, op);
  EXPECT_RAISES(
      fg::flash_mla_sparse_fwd(s, q.in().select(1, 0),
                               cache.in().select(2, 0).select(1, 0).unsqueeze(1), lists.in(), 1, 9),
      shape_mismatch, "flash_mla_sparse_fwd");
  EXPECT_RAISES(
      fg::triton_sparse_mla_fwd_interface(s, q.in(), cache.in(), lists.in().unsqueeze(2), {}, 6),
      shape_mismatch, "triton_sparse_mla_fwd_interface");
  EXPECT_RAISES(fg::sparse_attn_triton(s, q.in(), cache.in().select(2, 0).narrow(0, 0, 2),
                                       sinks.in(), lists.in(), 1, q.view()),
                overlap, "sparse_attn_triton");
  EXPECT_TRUE(out.untouched() && lse.untouched() && wrong.untouched() && q.untouched());
}

}  // namespace
}  // namespace flaggems_test
