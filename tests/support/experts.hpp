// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Mixtures of experts in double, and routings and codes to test them with.
#pragma once

#include <support/ops.hpp>

#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <vector>

namespace flaggems_test {

using numbers = std::vector<double>;

/// Which experts some tokens have chosen.
struct routing {
  i64 tokens, choices, experts;
  numbers ids;
};
/// Routings of random experts; of one expert; of one token; and of experts that do not exist.
inline std::vector<routing> some_routings() {
  std::mt19937 random(7);
  const auto drawn = [&](i64 tokens, i64 choices, i64 experts, int low) {
    routing r{tokens, choices, experts, {}};
    for (i64 k = 0; k < tokens * choices; ++k)
      r.ids.push_back(low + static_cast<int>(random() % static_cast<unsigned>(experts - low)));
    return r;
  };
  std::vector<routing> all{drawn(40, 2, 5, 0),
                           drawn(9, 3, 12, 0),
                           drawn(1, 2, 4, 0),
                           drawn(21, 2, 4, -1),
                           {37, 1, 3, numbers(37, 1)}};
  all.push_back({0, 2, 3, {}});
  return all;
}

/// Places in row-major sizes.
inline std::size_t place(i64 at) { return static_cast<std::size_t>(at); }

/// Small powers of two: products with them are exact.
inline numbers powers(const shape& sizes, unsigned seed) {
  std::mt19937 random(seed);
  numbers r;
  for (i64 k = 0; k < sizes.numel(); ++k)
    r.push_back(std::exp2(static_cast<int>(random() % 4) - 2));
  return r;
}
/// Small integers in [low, high].
inline numbers whole(i64 count, int low, int high, unsigned seed) {
  std::mt19937 random(seed);
  numbers r;
  for (i64 k = 0; k < count; ++k)
    r.push_back(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
  return r;
}

/// [choices, n]: row c / share of x [.., k] times expert ids[c] of w [E, n, k]; zeros where there
/// is no such expert.
inline numbers expert_rows(const numbers& x, const numbers& w, const numbers& ids, i64 experts,
                           i64 n, i64 k, i64 share) {
  numbers r;
  for (std::size_t c = 0; c < ids.size(); ++c)
    for (i64 j = 0; j < n; ++j) {
      double sum = 0;
      const i64 e = static_cast<i64>(ids[c]), row = static_cast<i64>(c) / share;
      for (i64 q = 0; q < k && e >= 0 && e < experts; ++q)
        sum += x[place(row * k + q)] * w[place((e * n + j) * k + q)];
      r.push_back(sum);
    }
  return r;
}

/// Codes [E, n, k] with scales and zeros of `lines` lines and `terms` terms each.
struct coded {
  i64 experts, n, k, lines, terms;
  numbers codes, scales, zeros;
  [[nodiscard]] i64 line_parts() const { return (n + lines - 1) / lines; }
  [[nodiscard]] i64 term_parts() const { return (k + terms - 1) / terms; }
  [[nodiscard]] shape of_scales() const { return {experts, line_parts(), term_parts()}; }
  coded(i64 e, i64 n_, i64 k_, i64 lines_, i64 terms_, int low, int high)
      : experts(e),
        n(n_),
        k(k_),
        lines(lines_),
        terms(terms_),
        codes(whole(e * n_ * k_, low, high, 3)),
        scales(powers(of_scales(), 5)) {}
  /// (code - zero) * scale, or code * scale + zero.
  [[nodiscard]] numbers values(double zero, bool adds = false) const {
    numbers r;
    for (i64 e = 0; e < experts; ++e)
      for (i64 j = 0; j < n; ++j)
        for (i64 q = 0; q < k; ++q) {
          const std::size_t at = place((e * line_parts() + j / lines) * term_parts() + q / terms);
          const double code = codes[r.size()], own = zeros.empty() ? zero : zeros[at];
          r.push_back(adds ? code * scales[at] + own : (code - own) * scales[at]);
        }
    return r;
  }
  /// Two neighbours of a line in a byte.
  [[nodiscard]] numbers pairs() const {
    numbers r;
    for (std::size_t k2 = 0; k2 < codes.size(); k2 += 2)
      r.push_back(codes[k2] + 16 * codes[k2 + 1]);
    return r;
  }
  /// The zeros of two neighbouring lines in a byte.
  [[nodiscard]] numbers zero_pairs() const {
    numbers r;
    for (i64 e = 0; e < experts; ++e)
      for (i64 j = 0; j < line_parts(); j += 2)
        for (i64 g = 0; g < term_parts(); ++g) {
          const auto at = [&](i64 line) {
            return line < line_parts() ? zeros[place((e * line_parts() + line) * term_parts() + g)]
                                       : 0.0;
          };
          r.push_back(at(j) + 16 * at(j + 1));
        }
    return r;
  }
};

/// The number of a code of e2m1.
inline double number_of_e2m1(double code) {
  const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const int c = static_cast<int>(code);
  return c < 8 ? magnitudes[c] : -magnitudes[c - 8];
}

inline double silu_of(double x) { return x / (1 + std::exp(-x)); }

/// What stands for each `share` of rows' elements in codes of C: multiples of their greatest
/// magnitude by `most`, or of a scale.
template <class C>
numbers encoded(const numbers& rows, std::size_t share, double most, double scale = 0) {
  numbers r;
  for (std::size_t first = 0; first < rows.size(); first += share) {
    double by = scale;
    for (std::size_t at = first; scale == 0 && at < first + share; ++at)
      by = std::max(by, std::abs(rows[at]) / most);
    for (std::size_t at = first; at < first + share; ++at) {
      const double x = rows[at] / std::max(by, 1e-30);
      const double code = std::is_same_v<C, fg::i8>
                              ? std::nearbyint(x)
                              : fg::kernels::number_cast<double>(fg::kernels::number_cast<C>(x));
      r.push_back(code * by);
    }
  }
  return r;
}

/// A mixture of experts [tokens, k] of w1 [E, 2 n, k] and w2 [E, k, n].
inline numbers mixture(const routing& r, const numbers& x, const numbers& w1, const numbers& w2,
                       const numbers& weights, i64 n, i64 k, bool weighs_first = false,
                       double limit = 0, const numbers& bias1 = {}, const numbers& bias2 = {},
                       const std::function<numbers(const numbers&)>& encode = {}) {
  numbers inner = expert_rows(x, w1, r.ids, r.experts, 2 * n, k, r.choices), active;
  const auto biased = [&](numbers& to, const numbers& bias, i64 width, bool weighs) {
    for (std::size_t c = 0; c < r.ids.size(); ++c)
      for (i64 j = 0; j < width; ++j) {
        double& v = to[c * place(width) + place(j)];
        const i64 e = static_cast<i64>(r.ids[c]);
        if (!bias.empty() && e >= 0) v += bias[place(e * width + j)];
        if (weighs) v *= weights[c];
      }
  };
  biased(inner, bias1, 2 * n, weighs_first);
  for (std::size_t c = 0; c < r.ids.size(); ++c)
    for (i64 j = 0; j < n; ++j) {
      double gate = inner[c * place(2 * n) + place(j)], up = inner[c * place(2 * n) + place(n + j)];
      if (limit > 0) {
        gate = std::min(gate, limit);
        up = std::max(std::min(up, limit), -limit);
      }
      active.push_back(silu_of(gate) * up);
    }
  if (encode) active = encode(active);
  numbers given = expert_rows(active, w2, r.ids, r.experts, k, n, 1), out(place(r.tokens * k));
  biased(given, bias2, k, !weighs_first);
  for (std::size_t c = 0; c < r.ids.size(); ++c)
    for (std::size_t j = 0; j < place(k); ++j)
      out[c / place(r.choices) * place(k) + j] += given[c * place(k) + j];
  return out;
}

}  // namespace flaggems_test
