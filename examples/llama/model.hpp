// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The Llama architecture out of flaggems' operators, for any device.
#pragma once

#include "decode_kernels.hpp"
#include "gguf.hpp"
#include "hyperparameters.hpp"
#include "options.hpp"
#include "token_product.hpp"
#include "tokenizer.hpp"
#include "weights.hpp"

#include <flaggems/device/graph.hpp>
#include <flaggems/device/stream.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/rotary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace llama {

/// A model with its key-value cache. Weights are used in the file's bytes where that is possible,
/// so the file must outlive the model.
///
/// On a SIMT device a step of one token is a fixed list of launches: where it is stands in device
/// memory, and the attention reads whole groups of positions, of which those not begun yet are
/// masked.
template <class Device>
class model {
 public:
  using view = fg::tensor_view<float, Device>;
  /// Whether a step of one token is queued without the host's taking part.
  static constexpr bool queues_steps = !fg::host_accessible<Device>;
  /// Tokens of a prompt that run together: as many as fill a GPU's matrix units.
  static constexpr i64 usual_batch = queues_steps ? 2048 : 128;

  /// Loads the weights of `file`. `batch`: tokens that run together at most; `activations`: what
  /// the layers' weights in blocks are multiplied with. Raises bad_file for a file that is not of
  /// this architecture, or has tensors that would be ignored.
  model(const gguf& file, const fg::stream_ref<Device>& stream,
        weight_dtype hold = weight_dtype::q4, cache_dtype cache = cache_dtype::f16,
        i64 batch = usual_batch, activation_dtype activations = activation_dtype::f32)
      : model(hyperparameters::read(file), weight_source<Device>(file, hold, stream), stream, cache,
              batch, activations) {
    const auto used =
        static_cast<std::size_t>(2 + sizes_.own_output + sizes_.rope_divisors + 9 * sizes_.layers);
    if (used != file.tensors().size()) refuse_strangers(file);
  }
  /// The same of any source.
  model(const hyperparameters& sizes, const weight_source<Device>& source,
        const fg::stream_ref<Device>& stream, cache_dtype cache = cache_dtype::f16,
        i64 batch = usual_batch, activation_dtype activations = activation_dtype::f32);

  [[nodiscard]] const hyperparameters& sizes() const noexcept { return sizes_; }
  /// Tokens run, or queued, since the last `reset`.
  [[nodiscard]] i64 past() const noexcept { return past_; }
  /// Positions the cache has room for.
  [[nodiscard]] i64 capacity() const noexcept { return capacity_; }
  /// The bytes of weights that a step reads.
  [[nodiscard]] i64 step_bytes() const;

  /// Makes room for `positions` tokens in all. What has been run stays.
  void reserve(i64 positions);

  /// Forgets all but the first `count` of the tokens that have been run.
  void rewind(i64 count);
  /// Forgets what has been run.
  void reset() { rewind(0); }

  /// Runs `ids`, at least one, behind those run before. Returns the logits of the token that comes
  /// next, [vocabulary], valid until the next run. Raises invalid_argument for no ids, out_of_range
  /// for more than there is room for (see `reserve`) and for ids outside the vocabulary.
  fg::tensor_view<const float, Device> run(std::span<const token_id> ids);

  /// Queues a step with the best token for the last logits; those of the next one are in their
  /// place then. Raises out_of_range if there is no room.
  void step() requires(queues_steps) {
    check_room(1);
    fg::argmax(stream_, logits_.select(0, 0), token_.select(0, 0));
    run_step();
  }
  /// Where the token of `position` stands once its step is done.
  [[nodiscard]] fg::tensor_view<const i64, Device> token_at(i64 position) const
      requires(queues_steps) {
    return step_tokens_.narrow(0, position, 1);
  }

 private:
  // What some matrices are multiplied with, whatever is asked for. With the others' activations in
  // 8 bits the perplexity of tests/llama/data moves by 0.07 % (perplexity.py); with those of q, k
  // and v too by 0.21 %, with those of ffn_down by 0.12 %, with the output matrix's by 0.4 % more.
  // Perplexity may not show what is lost: with q, k and v rounded the model, like llama.cpp, which
  // rounds all, answers one question of five in another language; it is where attention looks.
  static constexpr activation_dtype exact = activation_dtype::f32;

  // Up to this width products of one token normalise what they read themselves, again and again, as
  // a launch costs more; what is wider is normalised once.
  static constexpr i64 widest_normed = 1024;

  // Positions by which a step's attention grows: its launches are the same in between.
  static constexpr i64 step_group = 256;

  struct layer {
    fg::tensor<float, Device> attention_norm, feed_forward_norm;
    stacked<Device> qkv, output, gate_up, down;
    // Keys and values, [2, kv heads, capacity, head], of the one type that is in use.
    fg::tensor<fg::f16, Device> cache_f16{};
    fg::tensor<fg::bf16, Device> cache_bf16{};  // on SIMT devices
    fg::tensor<float, Device> cache_f32{};
  };

  [[noreturn]] void refuse_strangers(const gguf& file) const;
  void check_room(i64 count) const;
  // Calls f(cache) with the layer's cache.
  template <class Layer, class F>
  void with_cache(Layer& l, F&& f) const {
    if constexpr (queues_steps)
      if (cache_dtype_ == cache_dtype::bf16) return f(l.cache_bf16);
    if (cache_dtype_ == cache_dtype::f16)
      f(l.cache_f16);
    else
      f(l.cache_f32);
  }
  [[nodiscard]] const stacked<Device>& output() const { return output_ ? *output_ : embedding_; }
  [[nodiscard]] i64 queries() const { return sizes_.heads * sizes_.head_size; }
  [[nodiscard]] i64 keys() const { return sizes_.kv_heads * sizes_.head_size; }
  [[nodiscard]] auto by_head(const auto& all) const {
    return all.unflatten(1, {-1, sizes_.head_size});
  }
  // Runs up to batch_ ids; `last`: the logits of the last one are wanted.
  void run_batch(std::span<const token_id> ids, bool last);
  // Runs the layers over n rows of x_, which are at the positions behind past_; and, if the logits
  // are wanted, the output matrix over the last one. attend(layer, out) attends from the last rows
  // of the layer's q, as many as out has.
  template <class Attend>
  void run_layers(i64 n, bool logits, Attend&& attend) {
    if constexpr (queues_steps)
      if (!halves_.h.empty()) return run_layers_in(halves_, n, logits, attend);
    run_layers_in(floats_, n, logits, attend);
  }
  // What the matrices of the layers are multiplied with and some of their results, of one type.
  template <class T>
  struct activations_of {
    fg::tensor<T, Device> h{}, attended{}, gate_up{};
  };
  template <class T, class Attend>
  void run_layers_in(activations_of<T>& between, i64 n, bool logits, Attend&& attend);
  // Where a SIMT device has n rotated queries, of the cache's type.
  template <class T>
  [[nodiscard]] fg::tensor_view<T, Device> queries_as(i64 n) {
    return {reinterpret_cast<T*>(queries_.data()), {n, queries()}};
  }
  // Rotates q and k of qkv_ and puts keys and values behind those in the layer's cache.
  void store_keys(layer& l, i64 n);
  // Of n rows of q, as many of the last as out has attend to the first `seen` positions, the last
  // row being at the last; or, if `masked`, to those of them that are visible.
  template <class T>
  void attend(layer& l, i64 n, i64 seen, const fg::tensor_view<T, Device>& out, bool masked);
  // A step with the token in token_; its launches, which read the first `seen` positions.
  void run_step();
  void launch_step(i64 seen);
  // The layers of a step and the logits, where all matrices are of T, in few launches.
  template <class T>
  void launch_token(i64 seen);
  // to(weights * in), where `in` has k elements.
  template <class In, class To>
  void multiply(const stacked<Device>& weights, i64 k, const In& in, const To& to);

  fg::stream_ref<Device> stream_;
  hyperparameters sizes_;
  cache_dtype cache_dtype_;
  i64 batch_, past_ = 0, capacity_ = 0;
  stacked<Device> embedding_;
  std::optional<stacked<Device>> output_;  // none: the embedding's
  fg::tensor<float, Device> output_norm_, rope_divisors_;
  std::vector<layer> layers_;
  fg::tensor<float, Device> cos_, sin_;
  fg::tensor<i64, Device> positions_;
  fg::tensor<float, Device> x_, qkv_, logits_;
  // Whether the rows of all matrices of the layers are vector-aligned of bf16.
  bool reads_vectors_ = false;
  // Of these two, the one in use: where weights are of bf16, SIMT devices multiply with bf16.
  activations_of<float> floats_;
  activations_of<fg::bf16> halves_;
  // What decode_kernels.hpp has as step_state, where steps are queued.
  fg::tensor<i64, Device> count_, token_, step_tokens_;
  fg::tensor<bool, Device> visible_;
  fg::tensor<float, Device> queries_;  // room for those of any type
  fg::tensor<float, Device> angles_;   // of the last position
  // The launches of a step that reads so many positions; 0: not captured.
  struct none {};
  std::conditional_t<fg::device_graphs<Device>, fg::graph<Device>, none> step_graph_;
  i64 step_graph_seen_ = 0;
};

template <class Device>
model<Device>::model(const hyperparameters& sizes, const weight_source<Device>& source,
                     const fg::stream_ref<Device>& stream, cache_dtype cache, i64 batch,
                     activation_dtype activations)
    : stream_(stream),
      sizes_(sizes),
      cache_dtype_(cache),
      batch_(batch),
      embedding_(source.matrices({{"token_embd.weight", sizes_.vocabulary}}, sizes_.width, exact)),
      output_norm_(source.vector("output_norm.weight", sizes_.width)) {
  // Processors have no instructions for it: it would be neither faster nor more exact than f16.
  if constexpr (!queues_steps)
    fg::check(cache != cache_dtype::bf16, fg::errc::invalid_argument, "llama::model",
              "a cache in f16 or f32 on the host");
  if (sizes_.own_output)
    output_ = source.matrices({{"output.weight", sizes_.vocabulary}}, sizes_.width, exact);
  if (sizes_.rope_divisors) rope_divisors_ = source.vector("rope_freqs.weight", sizes_.rotary / 2);
  for (i64 i = 0; i < sizes_.layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    const auto norm = [&](const char* name) { return source.vector(prefix + name, sizes_.width); };
    const auto load = [&](const std::vector<part>& parts, i64 columns, activation_dtype with) {
      std::vector<part> named;
      for (const part& one : parts) named.push_back({prefix + one.name, one.rows});
      return source.matrices(named, columns, with);
    };
    layers_.push_back(
        {norm("attn_norm.weight"), norm("ffn_norm.weight"),
         load({{"attn_q.weight", queries()}, {"attn_k.weight", keys()}, {"attn_v.weight", keys()}},
              sizes_.width, exact),
         load({{"attn_output.weight", sizes_.width}}, queries(), activations),
         load({{"ffn_gate.weight", sizes_.hidden}, {"ffn_up.weight", sizes_.hidden}}, sizes_.width,
              activations),
         load({{"ffn_down.weight", sizes_.width}}, sizes_.hidden, exact)});
  }
  x_ = fg::empty<float>(stream, {batch_, sizes_.width});
  qkv_ = fg::empty<float>(stream, {batch_, queries() + 2 * keys()});
  const auto make = [&](auto& between) {
    using T = fg::value_t<decltype(between.h)>;
    between = {fg::empty<T>(stream, {batch_, sizes_.width}),
               fg::empty<T>(stream, {batch_, queries()}),
               fg::empty<T>(stream, {batch_, 2 * sizes_.hidden})};
  };
  if (queues_steps && source.hold() == weight_dtype::bf16)
    make(halves_);
  else
    make(floats_);
  logits_ = fg::empty<float>(stream, {1, sizes_.vocabulary});
  reads_vectors_ =
      (sizes_.width | sizes_.hidden | queries()) % fg::kernels::vec_size<fg::bf16> == 0 &&
      sizes_.head_size % 2 == 0;  // and pairs of results are of one head
  if constexpr (queues_steps) {
    count_ = fg::empty<i64>(stream, {1});
    token_ = fg::empty<i64>(stream, {1});
    queries_ = fg::empty<float>(stream, {batch_, queries()});
    angles_ = fg::empty<float>(stream, {sizes_.rotary});
  }
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
i64 model<Device>::step_bytes() const {
  i64 sum = output().bytes();
  for (const layer& l : layers_)
    sum += l.qkv.bytes() + l.output.bytes() + l.gate_up.bytes() + l.down.bytes();
  return sum;
}

template <class Device>
void model<Device>::reserve(i64 positions) {
  if (positions <= capacity_) return;
  // Steps read whole groups of positions.
  if constexpr (queues_steps) positions = fg::kernels::round_up(positions, step_group);
  // Layer by layer: what is needed besides is one layer's cache.
  for (layer& l : layers_)
    with_cache(l, [&](auto& cache) {
      using T = fg::value_t<decltype(cache)>;
      auto grown = fg::empty<T>(stream_, {2, sizes_.kv_heads, positions, sizes_.head_size});
      if (past_ > 0) fg::copy_(stream_, grown.narrow(2, 0, past_), cache.narrow(2, 0, past_));
      // What is masked must be numbers, as it is multiplied with 0.
      if constexpr (queues_steps) fg::zero_(stream_, grown.narrow(2, past_, positions - past_));
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
  if constexpr (queues_steps) {
    auto tokens = fg::zeros<i64>(stream_, {positions});
    if (past_ > 0) fg::copy_(stream_, tokens.narrow(0, 0, past_), step_tokens_.narrow(0, 0, past_));
    step_tokens_ = std::move(tokens);
    step_graph_seen_ = 0;  // it has the addresses of what was replaced
    visible_ = fg::zeros<bool>(stream_, {positions});
  } else {
    positions_ = fg::arange<i64>(stream_, positions);
  }
  capacity_ = positions;
  rewind(past_);
}

template <class Device>
void model<Device>::rewind(i64 count) {
  past_ = count;
  if constexpr (queues_steps) {
    if (capacity_ == 0) return;
    fg::fill_(stream_, count_, past_);
    fg::fill_(stream_, visible_.narrow(0, 0, past_), true);
    fg::fill_(stream_, visible_.narrow(0, past_, capacity_ - past_), false);
  }
}

template <class Device>
void model<Device>::check_room(i64 count) const {
  if (count > capacity_ - past_)
    fg::raise(fg::errc::out_of_range, "llama::model::run",
              "at most " + std::to_string(capacity_ - past_) + " ids more", std::to_string(count));
}

template <class Device>
fg::tensor_view<const float, Device> model<Device>::run(std::span<const token_id> ids) {
  const auto count = static_cast<i64>(ids.size());
  fg::check(count > 0, fg::errc::invalid_argument, "llama::model::run", "at least one id");
  check_room(count);
  for (const token_id id : ids)
    if (id < 0 || id >= sizes_.vocabulary)
      fg::raise(fg::errc::out_of_range, "llama::model::run",
                "ids in [0, " + std::to_string(sizes_.vocabulary - 1) + "]", std::to_string(id));
  if constexpr (queues_steps)
    if (count == 1) {
      fg::fill_(stream_, token_, i64{ids[0]});
      run_step();
      return logits_.select(0, 0);
    }
  for (i64 first = 0; first < count; first += batch_) {
    const i64 n = (std::min)(batch_, count - first);
    run_batch(ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n)),
              first + n == count);
    past_ += n;
  }
  return logits_.select(0, 0);
}

template <class Device>
void model<Device>::run_step() {
  const i64 seen = (std::min)(fg::kernels::round_up(past_ + 1, step_group), capacity_);
  if constexpr (fg::device_graphs<Device>) {
    if (step_graph_seen_ != seen) {
      step_graph_ = fg::capture(stream_, [&] { launch_step(seen); });
      step_graph_seen_ = seen;
    }
    step_graph_.launch(stream_);
  } else {
    launch_step(seen);
  }
  ++past_;
}

template <class Device>
void model<Device>::launch_step(i64 seen) {
  const auto x = x_.narrow(0, 0, 1);
  const step_state state{count_.data(), token_.data(), visible_.data(), step_tokens_.data()};
  const auto begin = [&](const auto* table) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(table)>>;
    fg::launch_config config;
    config.op = "begin_step";
    fg::launch<begin_step<T>>(stream_, config, state, static_cast<const float*>(cos_.data()),
                              static_cast<const float*>(sin_.data()), sizes_.rotary / 2,
                              angles_.data(), table, sizes_.width, x.data());
  };
  const matrix<Device>& table = embedding_.only();
  if (const auto* numbers = table.template numbers<fg::bf16>()) {
    begin(numbers->data());
  } else if (const auto* floats = table.template numbers<float>()) {
    begin(floats->data());
  } else {
    begin(static_cast<const float*>(nullptr));
    table.rows_at(stream_, fg::tensor_view<const i64, Device>(token_), x);
  }
  if constexpr (queues_steps)
    if (reads_vectors_ && !halves_.h.empty()) return launch_token<fg::bf16>(seen);
  run_layers(1, true, [&](layer& l, const auto& out) { attend(l, 1, seen, out, true); });
}

template <class Device>
template <class T>
void model<Device>::launch_token(i64 seen) {
  const view x = x_.narrow(0, 0, 1);
  const auto h = halves_.h.narrow(0, 0, 1);
  const auto attended = halves_.attended.narrow(0, 0, 1);
  T* const gated = halves_.gate_up.data();
  const auto with_norm = [&](const fg::tensor<float, Device>& weight, auto&& f) {
    if (sizes_.width <= widest_normed)
      return f(normed_input{x.data(), weight.data(), static_cast<float>(sizes_.eps)});
    fg::rms_norm(stream_, x, {sizes_.width}, weight, h, sizes_.eps);
    f(plain_input<T>{h.data()});
  };
  for (layer& l : layers_) {
    with_norm(l.attention_norm, [&](const auto& in) {
      with_cache(l, [&](auto& cache) {
        using C = fg::value_t<decltype(cache)>;
        multiply(l.qkv, sizes_.width, in,
                 rotate_to<C>{static_cast<int>(sizes_.heads), static_cast<int>(sizes_.kv_heads),
                              static_cast<int>(sizes_.head_size),
                              static_cast<int>(sizes_.rotary / 2), capacity_, count_.data(),
                              angles_.data(), queries_as<C>(1).data(), cache.data()});
      });
    });
    attend(l, 1, seen, attended, true);
    multiply(l.output, queries(), plain_input<T>{attended.data()}, add_to{x.data()});
    with_norm(l.feed_forward_norm, [&](const auto& in) {
      multiply(l.gate_up, sizes_.width, in, gate_to<T>{gated, sizes_.hidden});
    });
    multiply(l.down, sizes_.hidden, plain_input<T>{gated}, add_to{x.data()});
  }
  fg::rms_norm(stream_, x, {sizes_.width}, output_norm_, h, sizes_.eps);
  output().apply(stream_, h, logits_.view());
}

template <class Device>
template <class In, class To>
void model<Device>::multiply(const stacked<Device>& weights, i64 k, const In& in, const To& to) {
  using kernel = token_product<fg::bf16, In, To>;
  const auto matrix = *weights.only().template numbers<fg::bf16>();
  const int rows = static_cast<int>(matrix.size(0)), size = static_cast<int>(k);
  int sharing = 0;  // 2^sharing warps, so that a thread has one vector of a row, or few
  while (kernel::groups >> sharing > 1 && kernel::group_size * kernel::width << sharing < size)
    ++sharing;
  fg::launch_config config;
  config.op = "token_product";
  config.tiles = fg::kernels::ceil_div(rows, kernel::tile(sharing));
  config.threads = kernel::max_threads;
  config.scratch = fg::scratch_bytes<float>(kernel::groups * kernel::found);
  fg::launch<kernel>(stream_, config, rows, size, sharing, in, matrix.data(), to);
}

template <class Device>
void model<Device>::run_batch(std::span<const token_id> ids, bool last) {
  const auto n = static_cast<i64>(ids.size());
  const auto tokens = fg::from_values<token_id>(stream_, ids, {n});
  embedding_.only().rows_at(stream_, fg::tensor_view<const token_id, Device>(tokens),
                            x_.narrow(0, 0, n));
  if constexpr (queues_steps) {
    fg::fill_(stream_, count_, past_ + n);
    fg::fill_(stream_, visible_.narrow(0, past_, n), true);
  }
  run_layers(n, last, [&](layer& l, const auto& out) { attend(l, n, past_ + n, out, false); });
}

template <class Device>
template <class T, class Attend>
void model<Device>::run_layers_in(activations_of<T>& between, i64 n, bool logits, Attend&& attend) {
  using part_view = fg::tensor_view<T, Device>;
  view x = x_.narrow(0, 0, n);
  part_view h = between.h.narrow(0, 0, n);
  fg::rms_norm(stream_, x, {sizes_.width}, layers_[0].attention_norm, h, sizes_.eps);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layer& l = layers_[i];
    const view qkv = qkv_.narrow(0, 0, n);
    l.qkv.apply(stream_, h, qkv);
    store_keys(l, n);
    i64 rows = n;
    if (i + 1 == layers_.size()) {  // nothing else of the others is needed
      x = x.narrow(0, n - 1, 1), h = h.narrow(0, n - 1, 1);
      rows = 1;
    }
    const part_view attended = between.attended.narrow(0, 0, rows);
    attend(l, attended);
    l.output.apply(stream_, attended, h);
    fg::fused_add_rms_norm(stream_, h, x, l.feed_forward_norm, sizes_.eps);

    const part_view gate_up = between.gate_up.narrow(0, 0, rows);
    const part_view gate = gate_up.narrow(1, 0, sizes_.hidden),
                    up = gate_up.narrow(1, sizes_.hidden, sizes_.hidden);
    l.gate_up.apply(stream_, h, gate_up);
    fg::silu_and_mul(stream_, gate, up, gate);
    l.down.apply(stream_, gate, h);
    fg::fused_add_rms_norm(stream_, h, x,
                           i + 1 < layers_.size() ? layers_[i + 1].attention_norm : output_norm_,
                           sizes_.eps);
  }
  if (logits) output().apply(stream_, h, logits_.view());
}

template <class Device>
void model<Device>::store_keys(layer& l, i64 n) {
  const i64 head = sizes_.head_size;
  const view qkv = qkv_.narrow(0, 0, n);
  if constexpr (queues_steps) {
    const attention_input sizes{
        n, sizes_.heads, sizes_.kv_heads, head, sizes_.rotary / 2, qkv.stride(0), capacity_};
    fg::launch_config config;
    config.op = "rotate_and_store";
    config.tiles = n;
    config.threads = 256;
    with_cache(l, [&](auto& cache) {
      using C = fg::value_t<decltype(cache)>;
      const auto rotate = [&](auto size) {
        fg::launch<rotate_and_store<C, size>>(
            stream_, config, sizes, static_cast<const i64*>(count_.data()),
            static_cast<const float*>(qkv.data()), static_cast<const float*>(cos_.data()),
            static_cast<const float*>(sin_.data()), queries_as<C>(n).data(), cache.data());
      };
      if ((head | sizes_.rotary) % 4 == 0)  // vectors of whole pairs
        rotate(std::integral_constant<int, 4>{});
      else
        rotate(std::integral_constant<int, 1>{});
    });
  } else {
    const view q = qkv.narrow(1, 0, queries()), k = qkv.narrow(1, queries(), keys());
    fg::apply_rotary_pos_emb_(stream_, by_head(q), by_head(k), cos_, sin_,
                              positions_.narrow(0, past_, n), true);
    with_cache(l, [&](auto& cache) {
      fg::copy_(stream_, cache.narrow(2, past_, n).transpose(1, 2),
                qkv.narrow(1, queries(), 2 * keys())
                    .unflatten(1, {2, sizes_.kv_heads, head})
                    .transpose(0, 1));
    });
  }
}

template <class Device>
template <class T>
void model<Device>::attend(layer& l, i64 n, i64 seen, const fg::tensor_view<T, Device>& out,
                           bool masked) {
  const i64 rows = out.size(0);
  with_cache(l, [&](auto& cache) {
    const auto heads = [&](const auto& all) { return by_head(all).transpose(0, 1); };
    const auto all = [&] {
      if constexpr (queues_steps)
        return queries_as<fg::value_t<decltype(cache)>>(n);
      else
        return qkv_.narrow(0, 0, n).narrow(1, 0, queries());
    }();
    const auto q = all.narrow(0, n - rows, rows);
    const auto positions = cache.narrow(2, 0, seen);
    const auto k = positions.select(0, 0), v = positions.select(0, 1);
    fg::attention_options options;
    options.enable_gqa = true;
    if constexpr (queues_steps)
      if (masked)
        return fg::scaled_dot_product_attention(stream_, heads(q), k, v,
                                                visible_.narrow(0, 0, seen), heads(out), options);
    // The last of the queries is at the last of the keys.
    options.is_causal = true;
    options.alignment = fg::causal_alignment::bottom_right;
    fg::scaled_dot_product_attention(stream_, heads(q), k, v, std::nullopt, heads(out), options);
  });
}

}  // namespace llama
