// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/recurrent.hpp>
#include <support/ops.hpp>

#include <cmath>
#include <functional>
#include <memory>

namespace flaggems_test {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
using numbers = std::vector<double>;

/// x w^T + b for one row.
numbers product(const numbers& x, const numbers& w, const numbers& b, std::size_t rows) {
  numbers r(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    r[i] = b.empty() ? 0 : b[i];
    for (std::size_t k = 0; k < x.size(); ++k) r[i] += w[i * x.size() + k] * x[k];
  }
  return r;
}

enum class cell { lstm, gru, tanh, relu };
std::size_t gates_of(cell kind) { return kind == cell::lstm ? 4 : kind == cell::gru ? 3 : 1; }
/// The states after a step of one sequence.
void advance(cell kind, const numbers& in, const numbers& hid, numbers& h, numbers& c) {
  const std::size_t n = kind == cell::lstm ? c.size() : h.size();
  numbers next(n);
  for (std::size_t k = 0; k < n; ++k) {
    const auto sum = [&](std::size_t g) { return in[g * n + k] + hid[g * n + k]; };
    if (kind == cell::lstm) {
      c[k] = sigmoid(sum(1)) * c[k] + sigmoid(sum(0)) * std::tanh(sum(2));
      next[k] = sigmoid(sum(3)) * std::tanh(c[k]);
    } else if (kind == cell::gru) {
      const double candidate = std::tanh(in[2 * n + k] + sigmoid(sum(0)) * hid[2 * n + k]);
      next[k] = candidate + sigmoid(sum(1)) * (h[k] - candidate);
    } else {
      next[k] = kind == cell::tanh ? std::tanh(sum(0)) : std::max(0.0, sum(0));
    }
  }
  h = next;
}

/// A network with random weights, and what it has to give.
template <class T, class D>
struct network {
  cell kind;
  std::size_t layers, directions, hidden, width, projected;
  bool biased;
  std::vector<std::unique_ptr<test_tensor<T, D>>> memory;
  std::vector<fg::tensor_view<const T, D>> params;

  network(cell k, std::size_t n, bool both, std::size_t h, std::size_t w, bool b, std::size_t p = 0)
      : kind(k),
        layers(n),
        directions(both ? 2 : 1),
        hidden(h),
        width(w),
        projected(p ? p : h),
        biased(b) {
    const auto add = [&](const shape& sizes) {
      const layout how = memory.size() % 3 == 0 ? layout::transposed : layout::contiguous;
      memory.push_back(
          std::make_unique<test_tensor<T, D>>(sizes, how, random_values(sizes, -0.5, 0.5)));
      params.push_back(memory.back()->in());
    };
    const i64 rows = static_cast<i64>(gates_of(kind) * hidden);
    for (std::size_t l = 0; l < layers * directions; ++l) {
      add({rows, static_cast<i64>(l < directions ? width : directions * projected)});
      add({rows, static_cast<i64>(projected)});
      if (biased) add({rows}), add({rows});
      if (p) add({static_cast<i64>(projected), static_cast<i64>(hidden)});
    }
  }
  std::size_t count() const { return (biased ? 4 : 2) + (projected != hidden ? 1 : 0); }

  /// One sequence: its steps, and states of all layers, which become the last ones.
  std::vector<numbers> run(std::vector<numbers> x, std::vector<numbers>& h,
                           std::vector<numbers>& c) const {
    const std::size_t rows = gates_of(kind) * hidden;
    for (std::size_t l = 0; l < layers; ++l) {
      std::vector<numbers> out(x.size());
      for (std::size_t d = 0; d < directions; ++d) {
        const std::size_t k = l * directions + d;
        const auto param = [&](std::size_t j) { return memory[k * count() + j]->values(); };
        for (std::size_t s = 0; s < x.size(); ++s) {
          const std::size_t t = d == 0 ? s : x.size() - 1 - s;
          const numbers none, in = product(x[t], param(0), biased ? param(2) : none, rows),
                              hid = product(h[k], param(1), biased ? param(3) : none, rows);
          advance(kind, in, hid, h[k], c[k]);
          if (projected != hidden) h[k] = product(h[k], param(count() - 1), none, projected);
          out[t].insert(out[t].end(), h[k].begin(), h[k].end());
        }
      }
      x = out;
    }
    return x;
  }
};

template <class T, class D>
void check(cell kind, std::size_t layers, bool both, bool biased, bool first, bool packed,
           std::size_t projected = 0) {
  const auto& s = test_stream<D>();
  const std::size_t hidden = 5, width = 3, batch = 3, steps = 4;
  const network<T, D> net(kind, layers, both, hidden, width, biased, projected);
  const std::vector<std::size_t> lengths =
      packed ? std::vector<std::size_t>{4, 3, 1} : std::vector<std::size_t>{4, 4, 4};
  const i64 all = static_cast<i64>(layers * net.directions),
            state = static_cast<i64>(net.projected);
  test_tensor<T, D> h0({all, 3, state}, layout::strided, random_values({all, 3, state})),
      c0({all, 3, 5}, layout::negative, random_values({all, 3, 5}));
  const shape sizes = packed ? shape{8, 3} : first ? shape{3, 4, 3} : shape{4, 3, 3};
  test_tensor<T, D> x(sizes, packed ? layout::strided : layout::transposed, random_values(sizes));
  /// Where a sequence's step is among rows [., width] of a result.
  const std::vector<std::size_t> begins{0, 3, 5, 7};
  const auto row = [&](std::size_t b, std::size_t t) {
    return packed ? begins[t] + b : first ? b * steps + t : t * batch + b;
  };
  numbers out(static_cast<std::size_t>(packed ? 8 : 12) * net.directions * net.projected);
  numbers hy(h0.values().size()), cy(c0.values().size());
  for (std::size_t b = 0; b < batch; ++b) {
    std::vector<numbers> rows, h, c;
    for (std::size_t t = 0; t < lengths[b]; ++t) {
      const auto at = x.values().begin() + static_cast<std::ptrdiff_t>(row(b, t) * width);
      rows.emplace_back(at, at + static_cast<std::ptrdiff_t>(width));
    }
    const auto part = [&](const numbers& from, std::size_t k, std::size_t n) {
      const auto at = from.begin() + static_cast<std::ptrdiff_t>((k * batch + b) * n);
      return numbers(at, at + static_cast<std::ptrdiff_t>(n));
    };
    for (std::size_t k = 0; k < layers * net.directions; ++k) {
      h.push_back(part(h0.values(), k, net.projected));
      c.push_back(part(c0.values(), k, hidden));
    }
    const auto made = net.run(rows, h, c);
    for (std::size_t t = 0; t < made.size(); ++t)
      std::copy(made[t].begin(), made[t].end(),
                out.begin() + static_cast<std::ptrdiff_t>(row(b, t) * made[t].size()));
    for (std::size_t k = 0; k < h.size(); ++k) {
      std::copy(h[k].begin(), h[k].end(),
                hy.begin() + static_cast<std::ptrdiff_t>((k * batch + b) * net.projected));
      std::copy(c[k].begin(), c[k].end(),
                cy.begin() + static_cast<std::ptrdiff_t>((k * batch + b) * hidden));
    }
  }
  const auto lists = fg::from_values<i64>(s, {3, 2, 2, 1});
  const i64 count = static_cast<i64>(layers);
  const tolerance tol = tolerance_of<T>(std::is_same_v<T, f32> || std::is_same_v<T, f64> ? 1 : 300);
  const auto compare = [&](const auto& r) {
    expect_close<T>(values_of(r.out), out, tol);
    expect_close<T>(values_of(r.hy), hy, tol);
  };
  const auto run = [&](auto network_of, const auto& hx) {
    if (packed)
      return network_of(x.in(), lists.view(), hx, net.params, biased, count, 0.0, false, both);
    return network_of(x.in(), hx, net.params, biased, count, 0.0, true, both, first);
  };
  if (kind == cell::lstm) {
    const std::vector<fg::tensor_view<const T, D>> hx{h0.in(), c0.in()};
    const auto r = run([&](const auto&... a) { return fg::lstm(s, a...); }, hx);
    compare(r);
    expect_close<T>(values_of(r.cy), cy, tol);
    if (!packed && first) {
      EXPECT_EQ(r.out.strides()[1], r.out.size(2) * 3);
    }
  } else if (kind == cell::gru) {
    compare(run([&](const auto&... a) { return fg::gru(s, a...); }, h0.in()));
  } else if (kind == cell::tanh) {
    compare(run([&](const auto&... a) { return fg::rnn_tanh(s, a...); }, h0.in()));
  } else {
    compare(run([&](const auto&... a) { return fg::rnn_relu(s, a...); }, h0.in()));
  }
}

template <class Case>
class recurrent : public ::testing::Test {};
TYPED_TEST_SUITE(recurrent, wide_float_cases);

TYPED_TEST(recurrent, networks) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  for (const cell kind : {cell::lstm, cell::gru, cell::tanh, cell::relu})
    for (const bool packed : {false, true}) {
      check<T, D>(kind, 1, false, true, false, packed);
      check<T, D>(kind, 2, true, false, true, packed);
      check<T, D>(kind, 3, false, true, true, packed);
      check<T, D>(kind, 1, true, true, false, packed);
    }
}
TYPED_TEST(recurrent, projections) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  for (const bool packed : {false, true}) {
    check<T, D>(cell::lstm, 2, true, true, true, packed, 3);
    check<T, D>(cell::lstm, 1, false, false, false, packed, 2);
  }
}
/// What the first layer gives is 1, and the second passes it on.
TYPED_TEST(recurrent, dropout) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> x({6, 8, 2}), h({2, 8, 16}), by({16, 2}), zeros({16, 16}), none({16}),
      ones({16}, layout::contiguous, numbers(16, 1.0)), same({16, 16}, layout::contiguous, [] {
        numbers v(256);
        for (std::size_t k = 0; k < 16; ++k) v[k * 17] = 1;
        return v;
      }());
  const std::vector<fg::tensor_view<const T, D>> params{
      by.in(), zeros.in(), ones.in(), none.in(), same.in(), zeros.in(), none.in(), none.in()};
  fg::philox_generator generator{7, 0};
  const auto run = [&](bool train) {
    return values_of(
        fg::rnn_relu(s, x.in(), h.in(), params, true, 2, 0.5, train, false, false, generator).out);
  };
  const auto first = run(true);
  std::size_t kept = 0;
  for (const double v : first) {
    EXPECT_TRUE(v == 0 || v == 2) << v;
    kept += v == 2 ? 1 : 0;
  }
  EXPECT_GT(kept, first.size() / 3);
  EXPECT_LT(kept, first.size() * 2 / 3);
  EXPECT_NE(first, run(true));  // the generator has moved on
  expect_equal(run(false), numbers(first.size(), 1.0));
  EXPECT_RAISES((void)fg::rnn_relu(s, x.in(), h.in(), params, true, 2, 0.5, true, false, false),
                invalid_argument, "rnn_relu");
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(recurrent_arguments, are_checked) {
  const auto& s = test_stream<host>();
  using view = fg::tensor_view<const f32>;
  test_tensor<f32> x({4, 2, 3}), flat({8, 3}), h({1, 2, 5}), two({2, 2, 5}), w({20, 3}), v({20, 5}),
      b({20}), no_steps({0, 2, 3});
  const std::vector<view> states{h.in(), h.in()}, one{h.in()}, params{w.in(), v.in()},
      wrong{v.in(), v.in()}, biased{w.in(), v.in(), b.in(), b.in()};
  const auto run = [&](auto& input, const auto& hx, const auto& p, bool has, i64 layers, double d) {
    (void)fg::lstm(s, input.in(), hx, p, has, layers, d, false, false, false);
  };
  EXPECT_RAISES(run(flat, states, params, false, 1, 0), invalid_argument, "lstm");
  EXPECT_RAISES(run(no_steps, states, params, false, 1, 0), invalid_argument, "lstm");
  EXPECT_RAISES(run(x, one, params, false, 1, 0), invalid_argument, "lstm");
  EXPECT_RAISES(run(x, states, biased, false, 1, 0), invalid_argument, "lstm");
  EXPECT_RAISES(run(x, states, params, false, 0, 0), invalid_argument, "lstm");
  EXPECT_RAISES(run(x, states, params, false, 1, 1.5), invalid_argument, "lstm");
  EXPECT_RAISES(run(x, states, wrong, false, 1, 0), shape_mismatch, "lstm");
  const std::vector<view> more{two.in(), two.in()};
  EXPECT_RAISES(run(x, more, params, false, 1, 0), shape_mismatch, "lstm");
  const auto pack = [&](std::initializer_list<i64> sizes) {
    const auto list = fg::from_values<i64>(s, sizes);
    (void)fg::lstm(s, flat.in(), list, states, params, false, 1, 0.0, false, false);
  };
  pack({2, 2, 2, 1, 1});
  for (const auto& sizes :
       {std::initializer_list<i64>{2, 3, 3}, {2, 2, 2}, {2, 2, 2, 2, 1}, {2, 0}})
    EXPECT_RAISES(pack(sizes), invalid_argument, "lstm");
  EXPECT_RAISES(pack({3, 3, 2}), shape_mismatch, "lstm");
}
#endif

}  // namespace
}  // namespace flaggems_test
