// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A linear layer whose weights are blocks of 4 and 8 bits: one row, a few, a prompt.
#include "../compare.hpp"

#include <flaggems/ops/quantized_linear.hpp>

namespace compare {

const char* const family_name = "quantized";

namespace {

/// Blocks of small numbers: their scale (and least value) in f16, the rest random bits.
template <class Format>
std::vector<fg::u8> blocks(i64 count) {
  std::vector<fg::u8> bytes(static_cast<std::size_t>(count * Format::bytes));
  fg::u32 state = 1;
  for (auto& b : bytes) {
    state = state * 1664525U + 1013904223U;
    b = static_cast<fg::u8>(state >> 24);
  }
  const bool offset = Format::bytes == 20;
  for (i64 i = 0; i < count; ++i) {
    fg::u8* block = bytes.data() + i * Format::bytes;
    block[0] = static_cast<fg::u8>(i), block[1] = 0x1c;  // 2^-8 and a little
    if (offset) block[2] = 0, block[3] = 0x9c;
  }
  return bytes;
}

/// `q8`: activations rounded to 8 bits, as in language models.
template <class Format>
void line(session& s, std::string type, i64 m, i64 n, i64 k, bool q8 = false) {
  const auto x = s.random<fg::f32>({m, k});
  auto bytes = blocks<Format>(n * k / 32);
  const fg::quantized_matrix<Format> w(bytes.data(), n, k);
  auto out = s.random<fg::f32>({m, n});
  // ggml's type number; its activations are rounded to 8 bits, which its result shows.
  const double number = Format::bytes == 18 ? 2 : Format::bytes == 20 ? 3 : 8;
  const operand weights{bytes.data(), dtype::u8, {w.bytes()}, {1}};
  fg::quantized_linear_options options;
  if (q8) options.activations = fg::activation_format::q8;
  s.measure({q8 ? type + " by 8 bits" : type,
             text({m, n, k}),
             {"quantized_linear",
              {of(x), weights},
              {of(out)},
              {number, static_cast<double>(n), static_cast<double>(k)}},
             [&] { fg::quantized_linear(s.stream, x, w, out, options); },
             static_cast<double>(w.bytes()),
             2.0 * static_cast<double>(m * n) * static_cast<double>(k),
             m <= 2 ? roof::read
             : q8   ? roof::bf16
                    : roof::f32,
             0.1,
             0.05 * std::sqrt(static_cast<double>(k))});
}

template <class Format>
void all(session& s, const char* type) {
  line<Format>(s, type, 1, 4096, 4096);
  if (s.options.quick) return;
  line<Format>(s, type, 1, 576, 1536);
  line<Format>(s, type, 1, 49152, 576);
  line<Format>(s, type, 1, 32768, 4096);
  line<Format>(s, type, 4, 4096, 4096);
  line<Format>(s, type, 512, 1536, 576);
  line<Format>(s, type, 512, 2048, 2048);
  line<Format>(s, type, 1, 4096, 4096, true);
  line<Format>(s, type, 1, 49152, 576, true);
  line<Format>(s, type, 512, 1536, 576, true);
  line<Format>(s, type, 512, 2048, 2048, true);
}

}  // namespace

void family(session& s) {
  all<fg::kernels::q4_0>(s, "Q4_0");
  all<fg::kernels::q4_1>(s, "Q4_1");
  all<fg::kernels::q8_0>(s, "Q8_0");
}

}  // namespace compare
