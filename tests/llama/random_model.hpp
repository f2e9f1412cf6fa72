// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A small random model as a file's bytes, and its forward pass in double.
#pragma once

#include <llama/gguf_builder.hpp>
#include <llama/tokenizer.hpp>

#include <flaggems/tensor/view.hpp>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace llama::test {

namespace fg = flaggems;
using fg::i64;
using values = std::vector<double>;

struct small_sizes {
  std::size_t layers = 2, width = 64, hidden = 96, heads = 4, kv_heads = 2, head = 16, rotary = 16;
  std::size_t vocabulary = 40;
  double rope_factor = 1, rope_base = 500, eps = 1e-5F;
  bool own_output = false, divisors = false;
};

enum : std::uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q4_1 = 3, q8_0 = 8, bf16 = 30, q6_k = 14 };

/// Random tensors as the file's bytes and, decoded here, as numbers.
class random_model {
 public:
  explicit random_model(const small_sizes& sizes, unsigned seed = 1)
      : sizes_(sizes), random_(seed) {
    const auto count = [&](const char* key, std::size_t n) {
      file.u32(key, static_cast<std::uint32_t>(n));
    };
    file.string("general.architecture", "llama");
    count("llama.block_count", sizes.layers);
    count("llama.embedding_length", sizes.width);
    count("llama.feed_forward_length", sizes.hidden);
    count("llama.context_length", 64);
    count("llama.attention.head_count", sizes.heads);
    count("llama.attention.head_count_kv", sizes.kv_heads);
    count("llama.attention.key_length", sizes.head);
    count("llama.rope.dimension_count", sizes.rotary);
    file.number("llama.attention.layer_norm_rms_epsilon", 12, sizes.eps);
    file.number("llama.rope.freq_base", 12, sizes.rope_base);
    if (sizes.rope_factor != 1) {
      file.string("llama.rope.scaling.type", "linear");
      file.f32("llama.rope.scaling.factor", static_cast<float>(sizes.rope_factor));
    }
    const std::size_t q = sizes.heads * sizes.head, kv = sizes.kv_heads * sizes.head;
    add("token_embd.weight", sizes.vocabulary, sizes.width, sizes.own_output ? f16 : q8_0);
    if (sizes.own_output) add("output.weight", sizes.vocabulary, sizes.width, q4_0);
    if (sizes.divisors) add("rope_freqs.weight", 0, sizes.rotary / 2, f32);
    add("output_norm.weight", 0, sizes.width, f32);
    for (std::size_t i = 0; i < sizes.layers; ++i) {
      const std::string blk = "blk." + std::to_string(i) + ".";
      add(blk + "attn_norm.weight", 0, sizes.width, f32);
      add(blk + "ffn_norm.weight", 0, sizes.width, i == 0 ? f16 : bf16);
      add(blk + "attn_q.weight", q, sizes.width, q4_0);
      add(blk + "attn_k.weight", kv, sizes.width, q4_1);
      add(blk + "attn_v.weight", kv, sizes.width, q8_0);
      add(blk + "attn_output.weight", sizes.width, q, f16);
      add(blk + "ffn_gate.weight", sizes.hidden, sizes.width, bf16);
      add(blk + "ffn_up.weight", sizes.hidden, sizes.width, f32);
      add(blk + "ffn_down.weight", sizes.width, sizes.hidden, q4_1);
    }
  }

  gguf_builder file;

  /// The logits behind the last of `ids`.
  [[nodiscard]] values logits(const std::vector<token_id>& ids) const {
    const std::size_t n = ids.size(), width = sizes_.width, head = sizes_.head;
    std::vector<values> x;
    for (const token_id id : ids) {
      const auto row = at("token_embd.weight").begin() + static_cast<long>(width) * id;
      x.emplace_back(row, row + static_cast<long>(width));
    }
    for (std::size_t i = 0; i < sizes_.layers; ++i) {
      const std::string blk = "blk." + std::to_string(i) + ".";
      std::vector<values> q, k, v;
      for (std::size_t p = 0; p < n; ++p) {
        const values h = norm(x[p], at(blk + "attn_norm.weight"));
        q.push_back(rotated(product(at(blk + "attn_q.weight"), h), p));
        k.push_back(rotated(product(at(blk + "attn_k.weight"), h), p));
        v.push_back(product(at(blk + "attn_v.weight"), h));
      }
      for (std::size_t p = 0; p < n; ++p) {
        values mixed(sizes_.heads * head, 0);
        for (std::size_t a = 0; a < sizes_.heads; ++a) {
          const std::size_t b = a * sizes_.kv_heads / sizes_.heads;
          values weights(p + 1);
          double sum = 0;
          for (std::size_t j = 0; j <= p; ++j) {
            double dot = 0;
            for (std::size_t e = 0; e < head; ++e) dot += q[p][a * head + e] * k[j][b * head + e];
            sum += weights[j] = std::exp(dot / std::sqrt(static_cast<double>(head)));
          }
          for (std::size_t j = 0; j <= p; ++j)
            for (std::size_t e = 0; e < head; ++e)
              mixed[a * head + e] += weights[j] / sum * v[j][b * head + e];
        }
        add_to(x[p], product(at(blk + "attn_output.weight"), mixed));
        const values h = norm(x[p], at(blk + "ffn_norm.weight"));
        values gate = product(at(blk + "ffn_gate.weight"), h);
        const values up = product(at(blk + "ffn_up.weight"), h);
        for (std::size_t e = 0; e < gate.size(); ++e) gate[e] *= up[e] / (1 + std::exp(-gate[e]));
        add_to(x[p], product(at(blk + "ffn_down.weight"), gate));
      }
    }
    return product(at(sizes_.own_output ? "output.weight" : "token_embd.weight"),
                   norm(x.back(), at("output_norm.weight")));
  }

 private:
  [[nodiscard]] const values& at(const std::string& name) const { return tensors_.at(name); }
  static void add_to(values& x, const values& y) {
    for (std::size_t e = 0; e < x.size(); ++e) x[e] += y[e];
  }
  static values product(const values& matrix, const values& x) {
    values y(matrix.size() / x.size(), 0);
    for (std::size_t e = 0; e < matrix.size(); ++e) y[e / x.size()] += matrix[e] * x[e % x.size()];
    return y;
  }
  static values norm(values x, const values& weight) {
    double squares = 0;
    for (const double e : x) squares += e * e;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5F);
    for (std::size_t e = 0; e < x.size(); ++e) x[e] *= scale * weight[e];
    return x;
  }
  [[nodiscard]] values rotated(values x, std::size_t position) const {
    for (std::size_t first = 0; first < x.size(); first += sizes_.head)
      for (std::size_t j = 0; j < sizes_.rotary / 2; ++j) {
        double angle =
            static_cast<double>(position) *
            std::pow(500.0, -2.0 * static_cast<double>(j) / static_cast<double>(sizes_.rotary)) /
            sizes_.rope_factor;
        if (sizes_.divisors) angle /= at("rope_freqs.weight")[j];
        double &a = x[first + 2 * j], &b = x[first + 2 * j + 1];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
      }
    return x;
  }

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  template <class T>
  double put(std::string& bytes, T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof value);
    return fg::kernels::number_cast<double>(value);
  }
  template <class T>
  T stored(double value) {
    return fg::kernels::number_cast<T>(value);
  }

  /// rows = 0: a vector.
  void add(const std::string& name, std::size_t rows, std::size_t columns, std::uint32_t type) {
    values numbers;
    std::string bytes;
    const std::size_t count = (rows == 0 ? 1 : rows) * columns;
    const double low = rows == 0 ? 0.5 : -0.5, high = rows == 0 ? 2 : 0.5;
    while (numbers.size() < count) {
      if (type == f32) {
        numbers.push_back(put(bytes, static_cast<float>(uniform(low, high))));
      } else if (type == f16) {
        numbers.push_back(put(bytes, stored<fg::f16>(uniform(low, high))));
      } else if (type == bf16) {
        numbers.push_back(put(bytes, stored<fg::bf16>(uniform(low, high))));
      } else if (type == q8_0) {
        const double d = put(bytes, stored<fg::f16>(uniform(0.001, 0.005)));
        for (int e = 0; e < 32; ++e)
          numbers.push_back(d * put(bytes, static_cast<std::int8_t>(random_() % 256)));
      } else {
        const double d = put(bytes, stored<fg::f16>(uniform(0.02, 0.08)));
        const double m = type == q4_1 ? put(bytes, stored<fg::f16>(uniform(-0.6, -0.2))) : -8 * d;
        unsigned packed[16];
        for (unsigned& byte : packed) bytes += static_cast<char>(byte = random_() % 256);
        for (const unsigned byte : packed) numbers.push_back(d * (byte % 16) + m);
        for (const unsigned byte : packed) numbers.push_back(d * (byte / 16) + m);
      }
    }
    if (rows == 0)
      file.tensor(name, {columns}, type, bytes);
    else
      file.tensor(name, {columns, rows}, type, bytes);
    tensors_[name] = std::move(numbers);
  }

  small_sizes sizes_;
  std::mt19937 random_;
  std::map<std::string, values> tensors_;
};

}  // namespace llama::test
