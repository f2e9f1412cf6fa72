// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The Llama architecture out of flaggems' operators, for any device.
#pragma once

#include "gguf.hpp"
#include "options.hpp"
#include "tokenizer.hpp"
#include "weights.hpp"

#include <flaggems/device/stream.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/rotary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llama {

/// The numbers that describe a model.
struct hyperparameters {
  i64 layers = 0, width = 0, hidden = 0;  ///< `hidden`: of the feed-forward network
  i64 heads = 0, kv_heads = 0, head_size = 0;
  i64 rotary = 0;      ///< the first elements of a head that are rotated
  i64 context = 0;     ///< positions the model was trained for
  i64 vocabulary = 0;  ///< rows of the embedding
  double eps = 0, rope_base = 0, rope_factor = 1;

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
    return h;
  }
};

/// A model with its key-value cache. Weights are used in the file's bytes where that is possible,
/// so the file must outlive the model.
template <class Device>
class model {
 public:
  using view = fg::tensor_view<float, Device>;

  /// Loads the weights of `file`. `batch`: tokens that run together at most; `activations`: what
  /// the layers' weights in blocks are multiplied with. Raises bad_file for a file that is not of
  /// this architecture, or has tensors that would be ignored.
  model(const gguf& file, const fg::stream_ref<Device>& stream,
        weight_dtype hold = weight_dtype::q4, cache_dtype cache = cache_dtype::f16, i64 batch = 128,
        activation_dtype activations = activation_dtype::f32);

  [[nodiscard]] const hyperparameters& sizes() const noexcept { return sizes_; }
  /// Tokens run since the last `reset`.
  [[nodiscard]] i64 past() const noexcept { return past_; }
  /// Positions the cache has room for.
  [[nodiscard]] i64 capacity() const noexcept { return capacity_; }

  /// Makes room for `positions` tokens in all. What has been run stays.
  void reserve(i64 positions);

  /// Forgets what has been run.
  void reset() noexcept { past_ = 0; }

  /// Runs `ids`, at least one, behind those run before. Returns the logits of the token that comes
  /// next, [vocabulary], valid until the next run. Raises invalid_argument for no ids, out_of_range
  /// for more than there is room for (see `reserve`) and for ids outside the vocabulary.
  fg::tensor_view<const float, Device> run(std::span<const token_id> ids);

 private:
  // What some matrices are multiplied with, whatever is asked for. With the others' activations in
  // 8 bits the perplexity of tests/llama/data moves by 0.07 % (perplexity.py); with those of q, k
  // and v too by 0.21 %, with those of ffn_down by 0.12 %, with the output matrix's by 0.4 % more.
  // Perplexity may not show what is lost: with q, k and v rounded the model, like llama.cpp, which
  // rounds all, answers one question of five in another language; it is where attention looks.
  static constexpr activation_dtype exact = activation_dtype::f32;

  struct layer {
    fg::tensor<float, Device> attention_norm, feed_forward_norm;
    matrix<Device> q, k, v, output, gate, up, down;
    // Keys and values, [2, kv heads, capacity, head], of the one type that is in use.
    fg::tensor<fg::f16, Device> cache_f16{};
    fg::tensor<float, Device> cache_f32{};
  };

  matrix<Device> load(const gguf& file, std::string_view name, i64 rows, i64 columns,
                      weight_dtype hold, activation_dtype activations) const {
    return {file, name, rows, columns, hold, activations, stream_};
  }

  [[noreturn]] void refuse_strangers(const gguf& file) const;
  // Calls f(cache) with the layer's cache.
  template <class Layer, class F>
  void with_cache(Layer& l, F&& f) const {
    if (cache_dtype_ == cache_dtype::f16)
      f(l.cache_f16);
    else
      f(l.cache_f32);
  }
  // Runs up to batch_ ids; returns what the last one leaves before the output matrix, [1, width].
  view run_batch(std::span<const token_id> ids);
  // Puts the keys and values of kv_ behind those in the layer's cache; attends from q.
  void attend(layer& l, i64 n, const view& q, const view& out);

  fg::stream_ref<Device> stream_;
  hyperparameters sizes_;
  cache_dtype cache_dtype_;
  i64 batch_, past_ = 0, capacity_ = 0;
  matrix<Device> embedding_;
  std::optional<matrix<Device>> output_;  // none: the embedding's
  fg::tensor<float, Device> output_norm_, rope_divisors_;
  std::vector<layer> layers_;
  fg::tensor<float, Device> cos_, sin_;
  fg::tensor<i64, Device> positions_;
  fg::tensor<float, Device> x_, h_, q_, kv_, attended_, gate_, up_, logits_;
};

template <class Device>
model<Device>::model(const gguf& file, const fg::stream_ref<Device>& stream, weight_dtype hold,
                     cache_dtype cache, i64 batch, activation_dtype activations)
    : stream_(stream),
      sizes_(hyperparameters::read(file)),
      cache_dtype_(cache),
      batch_(batch),
      embedding_(load(file, "token_embd.weight", sizes_.vocabulary, sizes_.width, hold, exact)),
      output_norm_(read_vector(file, "output_norm.weight", sizes_.width, stream)) {
  std::size_t used = 2;
  if (file.find_tensor("output.weight") != nullptr) {
    output_.emplace(load(file, "output.weight", sizes_.vocabulary, sizes_.width, hold, exact));
    ++used;
  }
  if (file.find_tensor("rope_freqs.weight") != nullptr) {
    rope_divisors_ = read_vector(file, "rope_freqs.weight", sizes_.rotary / 2, stream);
    ++used;
  }
  const i64 q = sizes_.heads * sizes_.head_size, kv = sizes_.kv_heads * sizes_.head_size;
  for (i64 i = 0; i < sizes_.layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    const auto norm = [&](const char* name) {
      return read_vector(file, prefix + name, sizes_.width, stream);
    };
    const auto weight = [&](const char* name, i64 rows, i64 columns, activation_dtype with) {
      return load(file, prefix + name, rows, columns, hold, with);
    };
    layers_.push_back({norm("attn_norm.weight"), norm("ffn_norm.weight"),
                       weight("attn_q.weight", q, sizes_.width, exact),
                       weight("attn_k.weight", kv, sizes_.width, exact),
                       weight("attn_v.weight", kv, sizes_.width, exact),
                       weight("attn_output.weight", sizes_.width, q, activations),
                       weight("ffn_gate.weight", sizes_.hidden, sizes_.width, activations),
                       weight("ffn_up.weight", sizes_.hidden, sizes_.width, activations),
                       weight("ffn_down.weight", sizes_.width, sizes_.hidden, exact)});
    used += 9;
  }
  if (used != file.tensors().size()) refuse_strangers(file);
  x_ = fg::empty<float>(stream, {batch_, sizes_.width});
  h_ = fg::empty<float>(stream, {batch_, sizes_.width});
  q_ = fg::empty<float>(stream, {batch_, q});
  kv_ = fg::empty<float>(stream, {2, batch_, kv});
  attended_ = fg::empty<float>(stream, {batch_, q});
  gate_ = fg::empty<float>(stream, {batch_, sizes_.hidden});
  up_ = fg::empty<float>(stream, {batch_, sizes_.hidden});
  logits_ = fg::empty<float>(stream, {1, sizes_.vocabulary});
}

// Some tensor is none of ours (a bias, an adapter): the text would come out wrong without it.
template <class Device>
void model<Device>::refuse_strangers(const gguf& file) const {
  for (const tensor_info& tensor : file.tensors()) {
    std::string_view name = tensor.name;
    if (name.substr(0, 4) == "blk.") name = name.substr((std::min)(name.find('.', 4), name.size()));
    bool known = false;
    for (const std::string_view one :
         {"token_embd.weight", "output_norm.weight", "output.weight", "rope_freqs.weight",
          ".attn_norm.weight", ".ffn_norm.weight", ".attn_q.weight", ".attn_k.weight",
          ".attn_v.weight", ".attn_output.weight", ".ffn_gate.weight", ".ffn_up.weight",
          ".ffn_down.weight"})
      known = known || name == one;
    if (!known) file.refuse("only tensors that this program uses", gguf::quoted(tensor.name));
  }
  file.refuse("the tensors of " + std::to_string(sizes_.layers) + " layers",
              std::to_string(file.tensors().size()) + " tensors");
}

template <class Device>
void model<Device>::reserve(i64 positions) {
  if (positions <= capacity_) return;
  // Layer by layer: what is needed besides is one layer's cache.
  for (layer& l : layers_)
    with_cache(l, [&](auto& cache) {
      using T = fg::value_t<decltype(cache)>;
      auto grown = fg::empty<T>(stream_, {2, sizes_.kv_heads, positions, sizes_.head_size});
      if (past_ > 0) fg::copy_(stream_, grown.narrow(2, 0, past_), cache.narrow(2, 0, past_));
      cache = std::move(grown);
    });
  // The angle of pair j at position p is p * base^(-2 j / rotary), in f64.
  const auto at = fg::arange<double>(stream_, static_cast<double>(positions));
  const auto pair = fg::arange<double>(stream_, static_cast<double>(sizes_.rotary / 2));
  auto frequency = fg::evaluate(
      stream_, fg::pow(sizes_.rope_base, pair * (-2.0 / static_cast<double>(sizes_.rotary))) *
                   (1 / sizes_.rope_factor));
  if (!rope_divisors_.empty()) fg::div_(stream_, frequency, rope_divisors_);
  cos_ = fg::empty<float>(stream_, {positions, sizes_.rotary / 2});
  sin_ = fg::empty<float>(stream_, {positions, sizes_.rotary / 2});
  fg::assign(stream_, cos_, fg::cos(at.unsqueeze(1) * frequency));
  fg::assign(stream_, sin_, fg::sin(at.unsqueeze(1) * frequency));
  positions_ = fg::arange<i64>(stream_, positions);
  capacity_ = positions;
}

template <class Device>
fg::tensor_view<const float, Device> model<Device>::run(std::span<const token_id> ids) {
  const auto count = static_cast<i64>(ids.size());
  fg::check(count > 0, fg::errc::invalid_argument, "llama::model::run", "at least one id");
  if (count > capacity_ - past_)
    fg::raise(fg::errc::out_of_range, "llama::model::run",
              "at most " + std::to_string(capacity_ - past_) + " ids more", std::to_string(count));
  for (const token_id id : ids)
    if (id < 0 || id >= sizes_.vocabulary)
      fg::raise(fg::errc::out_of_range, "llama::model::run",
                "ids in [0, " + std::to_string(sizes_.vocabulary - 1) + "]", std::to_string(id));
  for (i64 first = 0; first < count; first += batch_) {
    const i64 n = (std::min)(batch_, count - first);
    const auto last =
        run_batch(ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n)));
    past_ += n;
    if (first + n == count) (output_ ? *output_ : embedding_).apply(stream_, last, logits_.view());
  }
  return logits_.select(0, 0);
}

template <class Device>
auto model<Device>::run_batch(std::span<const token_id> ids) -> view {
  const auto n = static_cast<i64>(ids.size());
  const i64 width = sizes_.width, head = sizes_.head_size;
  const auto tokens = fg::from_values<token_id>(stream_, ids, {n});
  const auto at = positions_.narrow(0, past_, n);
  view x = x_.narrow(0, 0, n), h = h_.narrow(0, 0, n);
  embedding_.rows(stream_, tokens, x);
  fg::rms_norm(stream_, x, {width}, layers_[0].attention_norm, h, sizes_.eps);

  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layer& l = layers_[i];
    view q = q_.narrow(0, 0, n);
    const view kv = kv_.narrow(1, 0, n), k = kv.select(0, 0), v = kv.select(0, 1);
    l.q.apply(stream_, h, q);
    l.k.apply(stream_, h, k);
    l.v.apply(stream_, h, v);
    const auto by_head = [&](const view& all) { return all.unflatten(1, {-1, head}); };
    fg::apply_rotary_pos_emb_(stream_, by_head(q), by_head(k), cos_, sin_, at, true);

    i64 rows = n;
    if (i + 1 == layers_.size()) {  // nothing else of the others is needed
      q = q.narrow(0, n - 1, 1), x = x.narrow(0, n - 1, 1), h = h.narrow(0, n - 1, 1);
      rows = 1;
    }
    const view attended = attended_.narrow(0, 0, rows);
    attend(l, n, q, attended);
    l.output.apply(stream_, attended, h);
    fg::fused_add_rms_norm(stream_, h, x, l.feed_forward_norm, sizes_.eps);

    const view gate = gate_.narrow(0, 0, rows), up = up_.narrow(0, 0, rows);
    l.gate.apply(stream_, h, gate);
    l.up.apply(stream_, h, up);
    fg::silu_and_mul(stream_, gate, up, gate);
    l.down.apply(stream_, gate, h);
    fg::fused_add_rms_norm(stream_, h, x,
                           i + 1 < layers_.size() ? layers_[i + 1].attention_norm : output_norm_,
                           sizes_.eps);
  }
  return h;
}

template <class Device>
void model<Device>::attend(layer& l, i64 n, const view& q, const view& out) {
  const i64 head = sizes_.head_size;
  with_cache(l, [&](auto& cache) {
    fg::copy_(stream_, cache.narrow(2, past_, n).transpose(1, 2),
              kv_.narrow(1, 0, n).unflatten(2, {-1, head}));
    const auto by_head = [&](const view& all) {
      return all.unflatten(1, {-1, head}).transpose(0, 1);
    };
    const auto seen = cache.narrow(2, 0, past_ + n);
    // The last of the queries is at the last of the keys.
    fg::attention_options options;
    options.is_causal = true;
    options.alignment = fg::causal_alignment::bottom_right;
    options.enable_gqa = true;
    fg::scaled_dot_product_attention(stream_, by_head(q), seen.select(0, 0), seen.select(0, 1),
                                     by_head(out), options);
  });
}

}  // namespace llama
