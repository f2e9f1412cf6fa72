// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention with windows, and of sequences of several lengths.
#include <flaggems/launch/hooks.hpp>
#include <flaggems/ops/attention_varlen_backward.hpp>
#include <support/attention_gradients.hpp>

#include <numeric>
#include <optional>

namespace flaggems_test {
namespace {

using fg::i32;

/// Sequences, and the options that tests vary.
struct sequences {
  std::vector<i64> queries{1, 5, 0, 7, 3}, keys{9, 6, 4, 0, 21};
  i64 heads = 4, key_heads = 2, e = 16, ev = 24;
  bool causal = false;
  i64 left = -1, right = -1;
  std::optional<double> scale{};
  layout how = layout::contiguous;
  i64 behind = 0;   // rows behind the last sequence's, which are NaN
  i64 spoilt = -1;  // a sequence of NaN

  i64 count() const { return static_cast<i64>(queries.size()); }
  i64 rows() const { return std::accumulate(queries.begin(), queries.end(), behind); }
  i64 key_rows() const { return std::accumulate(keys.begin(), keys.end(), behind); }
  static values starts(const std::vector<i64>& lengths) {
    values r{0};
    for (const i64 n : lengths) r.push_back(r.back() + static_cast<double>(n));
    return r;
  }
  /// Random numbers for rows of so many, NaN behind the sequences and in the spoilt one.
  values numbers(const std::vector<i64>& lengths, const shape& sizes) const {
    values r = random_values(sizes);
    const auto spoil = [&](double from, double to) {
      const auto line = static_cast<double>(sizes[1] * sizes[2]);
      std::fill(r.begin() + static_cast<std::ptrdiff_t>(from * line),
                r.begin() + static_cast<std::ptrdiff_t>(to * line), std::nan(""));
    };
    const values first = starts(lengths);
    spoil(first.back(), static_cast<double>(sizes[0]));
    if (spoilt >= 0) spoil(first[index(spoilt)], first[index(spoilt + 1)]);
    return r;
  }
  /// What windows hide of a sequence: added to its scores.
  values window(i64 n, i64 m) const {
    values r;
    for (i64 i = 0; i < heads * n; ++i)
      for (i64 j = 0; j < m; ++j) {
        const i64 away = j - i % n - (m - n);
        r.push_back((left >= 0 && away < -left) || (right >= 0 && away > right) ? -infinity : 0);
      }
    return r;
  }
};

/// Rows [first, first + n) of [rows, heads, size] as [heads, n, size].
values part_of(const values& x, i64 first, i64 n, i64 heads, i64 size) {
  values r;
  for (i64 h = 0; h < heads; ++h)
    for (i64 i = first; i < first + n; ++i)
      for (i64 d = 0; d < size; ++d) r.push_back(x[index((i * heads + h) * size + d)]);
  return r;
}

template <class T, class D>
struct operands {
  sequences p;
  test_tensor<T, D> q, k, v, grad, out, grad_q, grad_k, grad_v;
  test_tensor<fg::attention_log_type<T>, D> logs;
  test_tensor<i32, D> starts, key_starts;

  explicit operands(const sequences& s)
      : p(s),
        q({s.rows(), s.heads, s.e}, s.how, s.numbers(s.queries, {s.rows(), s.heads, s.e})),
        k({s.key_rows(), s.key_heads, s.e}, s.how,
          s.numbers(s.keys, {s.key_rows(), s.key_heads, s.e})),
        v({s.key_rows(), s.key_heads, s.ev}, s.how,
          s.numbers(s.keys, {s.key_rows(), s.key_heads, s.ev})),
        grad({s.rows(), s.heads, s.ev}, s.how, s.numbers(s.queries, {s.rows(), s.heads, s.ev})),
        out({s.rows(), s.heads, s.ev}, s.how),
        grad_q({s.rows(), s.heads, s.e}, s.how),
        grad_k({s.key_rows(), s.key_heads, s.e}, s.how),
        grad_v({s.key_rows(), s.key_heads, s.ev}, s.how),
        logs({s.heads, s.rows()}, s.how),
        starts({s.count() + 1}, s.how, sequences::starts(s.queries)),
        key_starts({s.count() + 1}, s.how, sequences::starts(s.keys)) {
    fg::flash_attention_forward(test_stream<D>(), q.in(), k.in(), v.in(), starts.in(),
                                key_starts.in(), 1, 1, out.view(), logs.view(),
                                {.is_causal = p.causal,
                                 .scale = p.scale,
                                 .window_size_left = p.left,
                                 .window_size_right = p.right});
  }
  fg::flash_attention_backward_options options() const {
    return {.is_causal = p.causal,
            .scale = p.scale,
            .window_size_left = p.left,
            .window_size_right = p.right};
  }
  /// Compares the gradients of each sequence with the definition.
  void expect_right(const values& of_q, const values& of_k, const values& of_v) const {
    expect_right(of_q, of_k, of_v, k.values(), v.values());
  }
  void expect_right(const values& of_q, const values& of_k, const values& of_v, const values& b,
                    const values& c) const {
    const values a = q.values(), g = grad.values();
    for (i64 s = 0, row = 0, key = 0; s < p.count(); ++s) {
      SCOPED_TRACE("sequence " + std::to_string(s));
      const i64 n = p.queries[index(s)], m = p.keys[index(s)];
      const problem one{.heads = p.heads,
                        .key_heads = p.key_heads,
                        .queries = n,
                        .keys = m,
                        .e = p.e,
                        .ev = p.ev,
                        .options = {.is_causal = p.causal,
                                    .alignment = fg::causal_alignment::bottom_right,
                                    .scale = p.scale}};
      const gradients want =
          reference(one, part_of(g, row, n, p.heads, p.ev), part_of(a, row, n, p.heads, p.e),
                    part_of(b, key, m, p.key_heads, p.e), part_of(c, key, m, p.key_heads, p.ev),
                    p.window(n, m));
      if (s != p.spoilt) {
        expect_within<T>("query", part_of(of_q, row, n, p.heads, p.e), want.q, want.q_most);
        expect_within<T>("key", part_of(of_k, key, m, p.key_heads, p.e), want.k, want.k_most);
        expect_within<T>("value", part_of(of_v, key, m, p.key_heads, p.ev), want.v, want.v_most);
      }
      row += n;
      key += m;
    }
  }
};

template <class D, class T>
void check(const sequences& p) {
  SCOPED_TRACE(std::string(D::name) + (p.causal ? " causal " : " ") + to_string(p.how) + ", left " +
               std::to_string(p.left) + ", right " + std::to_string(p.right));
  const auto& s = test_stream<D>();
  operands<T, D> x(p);
  // (Numbers of the wrong length would show.)
  fg::flash_attention_backward(s, x.grad.in(), x.q.in(), x.k.in(), x.v.in(), x.out.in(),
                               x.logs.in(), x.starts.in(), x.key_starts.in(), 1, 1, x.grad_q.view(),
                               x.grad_k.view(), x.grad_v.view(), x.options());
  const values of_q = x.grad_q.read(), of_k = x.grad_k.read(), of_v = x.grad_v.read();
  x.expect_right(of_q, of_k, of_v);
  EXPECT_TRUE(x.grad_q.gaps_untouched() && x.grad_k.gaps_untouched() && x.grad_v.gaps_untouched());
  const auto same = [&](const auto& n) { return n == p.queries[0]; };
  if (p.how != layout::contiguous || p.count() == 0 || p.behind > 0 || p.spoilt >= 0) return;
  const auto again = fg::flash_attention_backward(s, x.grad.in(), x.q.in(), x.k.in(), x.v.in(),
                                                  x.out.in(), x.logs.in(), x.starts.in(),
                                                  x.key_starts.in(), 1, 1, x.options());
  expect_equal(values_of(again.query), of_q);  // the same bits
  expect_equal(values_of(again.key), of_k);
  expect_equal(values_of(again.value), of_v);
  // Of one length, also without starts.
  if (!std::all_of(p.queries.begin(), p.queries.end(), same) ||
      p.keys != std::vector<i64>(index(p.count()), p.keys[0]))
    return;
  const auto dense = [&](const auto& y) {
    return y.unflatten(0, {p.count(), y.size(0) / p.count()});
  };
  const auto logs = x.logs.in().unflatten(1, {p.count(), p.queries[0]}).transpose(0, 1);
  const auto of_one = fg::flash_attention_backward(
      s, dense(x.grad.in()), dense(x.q.in()), dense(x.k.in()), dense(x.v.in()), dense(x.out.in()),
      logs, std::nullopt, std::nullopt, 1, 1, x.options());
  x.expect_right(values_of(of_one.query), values_of(of_one.key), values_of(of_one.value));
}

template <class Device>
class attention_varlen_backward : public testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(attention_varlen_backward, devices);

TYPED_TEST(attention_varlen_backward, lengths) {
  using D = TypeParam;
  for (const bool causal : {false, true}) {
    check<D, f32>({.causal = causal});
    check<D, f32>({.queries = {9, 1, 0, 6},
                   .keys = {66, 69, 5, 6},
                   .heads = 3,
                   .key_heads = 1,
                   .e = 9,
                   .ev = 5,
                   .causal = causal,
                   .scale = 0.3,
                   .behind = 4});
  }
  check<D, f64>({.causal = true});
  check<D, bf16>({.causal = true});
  check<D, f16>({.heads = 2});
}
TYPED_TEST(attention_varlen_backward, windows) {
  using D = TypeParam;
  for (const auto& [left, right] : {std::pair<i64, i64>{2, 1}, {0, 0}, {-1, 3}, {4, -1}, {1000, 0}})
    check<D, f32>({.queries = {6, 6},
                   .keys = {9, 9},
                   .heads = 2,
                   .key_heads = 1,
                   .e = 8,
                   .ev = 4,
                   .left = left,
                   .right = right});
  check<D, f32>({.causal = true, .left = 3});
  check<D, f32>({.queries = {70}, .keys = {9}, .heads = 1, .key_heads = 1, .e = 4, .left = 5});
}
TYPED_TEST(attention_varlen_backward, layouts) {
  for (const layout how : output_layouts) check<TypeParam, f32>({.causal = true, .how = how});
}
TYPED_TEST(attention_varlen_backward, nothing) {
  using D = TypeParam;
  check<D, f32>({.queries = {0, 0}, .keys = {3, 0}});
  check<D, f32>({.queries = {2, 3}, .keys = {0, 0}});
  check<D, f32>({.queries = {2, 3}, .keys = {4, 1}, .ev = 0});
  check<D, f32>({.queries = {}, .keys = {}});
}
// A NaN of a sequence stays there.
TYPED_TEST(attention_varlen_backward, not_a_number) {
  check<TypeParam, f32>(
      {.queries = {3, 2, 3}, .keys = {5, 4, 6}, .causal = true, .behind = 1, .spoilt = 1});
}
TYPED_TEST(attention_varlen_backward, errors) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> q({6, 4, 8}), k({9, 2, 8}), three({9, 3, 8}), logs({4, 6}), wrong({6, 4}),
      a({6, 4, 8}), b({9, 2, 8}), c({9, 2, 8});
  test_tensor<i32, D> starts({3}, layout::contiguous, {0, 2, 6}),
      key_starts({3}, layout::contiguous, {0, 5, 9}), four({4}),
      far_end({3}, layout::contiguous, {0, 5, 10});
  const auto code = [&](const auto& key, const auto& sums, const auto& begins,
                        const auto& key_begins, const auto& to, double dropout = 0) {
    return code_of([&] {
      fg::flash_attention_backward(s, q.in(), q.in(), key, k.in(), q.in(), sums, begins, key_begins,
                                   4, 5, to, b.view(), c.view(), {.dropout_p = dropout});
    });
  };
  using fg::errc;
  const auto none = std::nullopt;
  const auto sums = logs.in();
  const auto first = starts.in(), key_first = key_starts.in();
  EXPECT_EQ(code(three.in(), sums, first, key_first, a.view()), errc::shape_mismatch);
  EXPECT_EQ(code(k.in(), wrong.in(), first, key_first, a.view()), errc::shape_mismatch);
  EXPECT_EQ(code(k.in(), sums, first, four.in(), a.view()), errc::shape_mismatch);
  EXPECT_EQ(code(k.in(), sums, first, none, a.view()), errc::invalid_argument);
  EXPECT_EQ(code(k.in(), sums, none, none, a.view()), errc::shape_mismatch);
  EXPECT_EQ(code(k.in(), sums, first, key_first, q.view()), errc::overlap);
  EXPECT_EQ(code(k.in(), sums, first, key_first, a.view(), 0.5), errc::not_supported);
  if constexpr (fg::detail::host_reads<D>) {
    EXPECT_EQ(code(k.in(), sums, first, far_end.in(), a.view()), errc::out_of_range);
  }
  EXPECT_TRUE(a.untouched() && b.untouched() && c.untouched());
}

int launches_of_warp_groups = 0;

template <class Device>
class attention_backward_of_sequences : public testing::Test {};
using devices_of_many = devices_and_own<host, chip32>;
TYPED_TEST_SUITE(attention_backward_of_sequences, devices_of_many);

// What the copy engine takes goes to warp groups on devices that have them.
TYPED_TEST(attention_backward_of_sequences, by_warp_groups_where_aligned) {
  using D = TypeParam;
  launches_of_warp_groups = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launches_of_warp_groups += e.kernel.find("attention_warp_gradients") != e.kernel.npos;
  });
  check<D, bf16>({.queries = {140, 0, 61, 3},
                  .keys = {70, 4, 130, 5},
                  .heads = 4,
                  .key_heads = 2,
                  .e = 64,
                  .ev = 40,
                  .causal = true,
                  .behind = 2});
  check<D, f16>({.queries = {30, 70, 50},
                 .keys = {100, 66, 20},
                 .heads = 1,
                 .key_heads = 1,
                 .e = 128,
                 .ev = 104,
                 .spoilt = 1});
  check<D, bf16>({.queries = {140, 20},
                  .keys = {330, 90},
                  .heads = 2,
                  .key_heads = 1,
                  .e = 64,
                  .ev = 64,
                  .left = 80,
                  .right = 10,
                  .behind = 1});
  check<D, bf16>({.queries = {200},
                  .keys = {200},
                  .heads = 1,
                  .key_heads = 1,
                  .e = 64,
                  .ev = 64,
                  .causal = true,
                  .left = 70});
  fg::set_launch_hook(before);
  if constexpr (fg::detail::differentiates_by_warp_groups<D>) {
    EXPECT_EQ(launches_of_warp_groups, D::warp_group_units(0) > 0 ? 12 : 0);
  }
}

// What the copy engine does not take, such as keys that all heads repeat, goes by tiles where there
// are matrix units.
template <class D, class T>
void check_repeated(const sequences& p) {
  const auto& s = test_stream<D>();
  operands<T, D> x(p);
  const auto repeated = [&](auto& of) {
    return of.in().narrow(1, 0, 1).expand({of.in().size(0), p.heads, of.in().size(2)});
  };
  const auto k = repeated(x.k), v = repeated(x.v);
  fg::flash_attention_forward(
      s, x.q.in(), k, v, x.starts.in(), x.key_starts.in(), 1, 1, x.out.view(), x.logs.view(),
      {.is_causal = p.causal, .window_size_left = p.left, .window_size_right = p.right});
  fg::flash_attention_backward(s, x.grad.in(), x.q.in(), k, v, x.out.in(), x.logs.in(),
                               x.starts.in(), x.key_starts.in(), 1, 1, x.grad_q.view(),
                               x.grad_k.view(), x.grad_v.view(), x.options());
  const auto values_of_all = [&](const values& from, i64 size) {
    values r;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::size_t e = index(size), line = i / e / index(p.heads) * index(p.heads);
      r.push_back(from[line * e + i % e]);
    }
    return r;
  };
  x.expect_right(x.grad_q.read(), x.grad_k.read(), x.grad_v.read(),
                 values_of_all(x.k.values(), p.e), values_of_all(x.v.values(), p.ev));
}
int launches_of_tiles = 0;

TYPED_TEST(attention_backward_of_sequences, by_tiles_where_keys_repeat) {
  using D = TypeParam;
  launches_of_tiles = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launches_of_tiles += e.kernel.find("attention_gradient_tiles") != e.kernel.npos;
  });
  check_repeated<D, bf16>({.queries = {40, 0, 21, 3},
                           .keys = {10, 4, 40, 5},
                           .heads = 2,
                           .key_heads = 2,
                           .e = 64,
                           .ev = 40,
                           .causal = true,
                           .behind = 2,
                           .spoilt = 2});
  check_repeated<D, f16>({.queries = {20},
                          .keys = {70},
                          .heads = 2,
                          .key_heads = 2,
                          .e = 72,
                          .ev = 128,
                          .left = 20,
                          .right = 10});
  fg::set_launch_hook(before);
  if constexpr (fg::detail::differentiates_by_warp_groups<D>) {
    EXPECT_EQ(launches_of_tiles, 4);
  }
}

}  // namespace
}  // namespace flaggems_test
