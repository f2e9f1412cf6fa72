// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers that describe a model of the Llama architecture: a file's, or those of a known one.
#pragma once

#include "gguf.hpp"

#include <flaggems/error.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace llama {

namespace fg = flaggems;
using fg::i64;

/// The numbers that describe a model.
struct hyperparameters {
  i64 layers = 0, width = 0, hidden = 0;  ///< `hidden`: of the feed-forward network
  i64 heads = 0, kv_heads = 0, head_size = 0;
  i64 rotary = 0;      ///< the first elements of a head that are rotated
  i64 context = 0;     ///< positions the model was trained for
  i64 vocabulary = 0;  ///< rows of the embedding
  double eps = 0, rope_base = 0, rope_factor = 1;
  bool own_output = false;     ///< the output matrix is not the embedding
  bool rope_divisors = false;  ///< each pair's frequency has one

  /// Reads the metadata of `file`. Raises bad_file for another architecture and for numbers that
  /// are not those of a model this program can run.
  [[nodiscard]] static hyperparameters read(const gguf& file) {
    const auto architecture = file.get<std::string_view>("general.architecture");
    if (architecture != "llama")
      file.refuse("a model of the architecture 'llama'", gguf::quoted(architecture));
    const auto bounded = [&](std::string_view key, i64 value) {
      constexpr i64 most = i64{1} << 24;  // products of two fit everywhere
      if (value < 1 || value > most)
        file.refuse("1 to 16777216 under " + gguf::quoted(key), std::to_string(value));
      return value;
    };
    const auto count = [&](std::string_view key) { return bounded(key, file.get<i64>(key)); };
    const auto count_or = [&](std::string_view key, i64 otherwise) {
      return bounded(key, file.get_or<i64>(key, otherwise));
    };
    const auto positive = [&](std::string_view key, double value) {
      using limits = std::numeric_limits<float>;  // in which they take part
      if (!(value >= static_cast<double>((limits::min)()) &&
            value <= static_cast<double>((limits::max)())))
        file.refuse("a number above 0, in f32, under " + gguf::quoted(key),
                    std::string(fg::fixed_text(value)));
      return value;
    };
    hyperparameters h;
    h.layers = count("llama.block_count");
    h.width = count("llama.embedding_length");
    h.hidden = count("llama.feed_forward_length");
    h.context = count("llama.context_length");
    h.heads = count("llama.attention.head_count");
    h.kv_heads = count_or("llama.attention.head_count_kv", h.heads);
    if (h.heads % h.kv_heads != 0)
      file.refuse("heads that are a multiple of the key and value heads",
                  std::to_string(h.heads) + " and " + std::to_string(h.kv_heads));
    h.head_size = count_or("llama.attention.key_length", (std::max)(h.width / h.heads, i64{1}));
    if (const i64 values = count_or("llama.attention.value_length", h.head_size);
        values != h.head_size)
      file.refuse("keys and values of one length",
                  std::to_string(h.head_size) + " and " + std::to_string(values));
    h.rotary = count_or("llama.rope.dimension_count", h.head_size);
    if (h.rotary % 2 != 0 || h.rotary > h.head_size)
      file.refuse("an even llama.rope.dimension_count, " + std::to_string(h.head_size) + " at most",
                  std::to_string(h.rotary));
    h.eps = positive("llama.attention.layer_norm_rms_epsilon",
                     file.get<double>("llama.attention.layer_norm_rms_epsilon"));
    h.rope_base =
        positive("llama.rope.freq_base", file.get_or<double>("llama.rope.freq_base", 10000));
    const auto scaling = file.get_or<std::string_view>("llama.rope.scaling.type", "none");
    if (scaling == "linear")
      h.rope_factor = positive("llama.rope.scaling.factor",
                               file.get_or<double>("llama.rope.scaling.factor", 1));
    else if (scaling != "none")
      file.refuse("llama.rope.scaling.type 'none' or 'linear'", gguf::quoted(scaling));
    if (file.get_or<i64>("llama.expert_count", 0) != 0)
      file.refuse("a model without experts",
                  std::to_string(file.get<i64>("llama.expert_count")) + " of them");
    const tensor_info& embedding = file.tensor("token_embd.weight");
    h.vocabulary = bounded("token_embd.weight", static_cast<i64>(embedding.dims[1]));
    h.own_output = file.find_tensor("output.weight") != nullptr;
    h.rope_divisors = file.find_tensor("rope_freqs.weight") != nullptr;
    return h;
  }

  /// The shapes of a known model, for weights that are random; nothing for any other name.
  [[nodiscard]] static std::optional<hyperparameters> named(std::string_view name) {
    hyperparameters h;
    h.eps = 1e-5;
    h.context = 8192;
    if (name == "llama-3-8b") {
      h.layers = 32, h.width = 4096, h.hidden = 14336;
      h.heads = 32, h.kv_heads = 8, h.head_size = h.rotary = 128;
      h.vocabulary = 128256, h.rope_base = 500000, h.own_output = true;
    } else if (name == "smollm2-135m") {
      h.layers = 30, h.width = 576, h.hidden = 1536;
      h.heads = 9, h.kv_heads = 3, h.head_size = h.rotary = 64;
      h.vocabulary = 49152, h.rope_base = 100000;
    } else if (name == "tiny") {
      h.layers = 2, h.width = 64, h.hidden = 96;
      h.heads = 4, h.kv_heads = 2, h.head_size = h.rotary = 16;
      h.vocabulary = 256, h.rope_base = 10000;
    } else {
      return std::nullopt;
    }
    return h;
  }
};

}  // namespace llama
