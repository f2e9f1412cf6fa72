// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// References of rotated and encoded heads, and the bytes that caches keep of them.
#pragma once

#include <support/ops.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace flaggems_test {

/// The elements of a head: pairs of neighbours among the last ones are rotated by rows of cosines
/// and sines.
inline std::vector<float> turned_head(std::vector<float> x, const double* angles,
                                      std::size_t rotary, bool back = false) {
  const std::size_t first = x.size() - rotary, pairs = rotary / 2;
  for (std::size_t j = 0; j < pairs; ++j) {
    const auto cos = static_cast<float>(angles[j]);
    const auto sin = static_cast<float>(angles[pairs + j]) * (back ? -1.0F : 1.0F);
    const float a = x[first + 2 * j], b = x[first + 2 * j + 1];
    x[first + 2 * j] = a * cos - b * sin;
    x[first + 2 * j + 1] = b * cos + a * sin;
  }
  return x;
}
/// The scale of f8e4m3 codes of numbers.
inline float scale_of_f8(const std::vector<float>& x, float floor, bool power_of_two) {
  float most = floor;
  for (const float v : x) most = std::max(most, std::fabs(v));
  const float scale = most / 448;
  return power_of_two ? std::exp2(std::ceil(std::log2(scale))) : scale;
}
inline unsigned char f8_byte(float x) {
  const fg::f8e4m3 code(x);
  unsigned char byte;
  std::memcpy(&byte, &code, 1);
  return byte;
}
template <class T>
void put_bytes(std::vector<double>& to, std::size_t at, const T& x) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &x, sizeof(T));
  for (const unsigned char b : bytes) to[at++] = b;
}
inline std::vector<float> part_of(const std::vector<double>& x, std::size_t first,
                                  std::size_t count) {
  std::vector<float> r;
  for (std::size_t k = first; k < first + count; ++k) r.push_back(static_cast<float>(x[k]));
  return r;
}
/// Numbers of few bits, of which products with `quarter_turns` are exact.
inline std::vector<double> coarse_values(const shape& sizes) {
  std::vector<double> r = random_integers(sizes, -40, 40);
  for (double& x : r) x /= 8;
  return r;
}
inline std::vector<double> quarter_turns(const shape& sizes) {
  std::vector<double> r = random_integers(sizes, -2, 2);
  for (double& x : r) x /= 2;
  return r;
}

}  // namespace flaggems_test
