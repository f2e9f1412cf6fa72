// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Choosing the next token from logits.
#pragma once

#include "tokenizer.hpp"

#include <flaggems/device/stream.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/multinomial.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/topk.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace llama {

namespace fg = flaggems;
using fg::i64;

/// How the next token is chosen: among the `top_k` most probable tokens (0: all), cut to the most
/// probable ones that together have probability `top_p`, at a temperature; 0, or one too small for
/// a float, takes the best.
struct sampling {
  double temperature = 0;
  int top_k = 0;
  double top_p = 1;
  std::uint64_t seed = 0;
};

/// Chooses tokens. The same seed and logits give the same tokens.
template <class Device>
class sampler {
 public:
  sampler(const fg::stream_ref<Device>& stream, const sampling& how, i64 vocabulary)
      : stream_(stream), how_(how), generator_{how.seed}, choice_(fg::empty<i64>(stream, {1})) {
    if (is_greedy()) return;
    const bool some = how.top_k > 0 && how.top_k < vocabulary;
    // Cutting at top_p needs the order.
    ordered_ = some || how.top_p < 1;
    const i64 candidates = some ? how.top_k : vocabulary;
    weights_ = fg::empty<float>(stream, {candidates});
    if (ordered_) ids_ = fg::empty<i64>(stream, {candidates});
  }

  /// Whether it takes the best token.
  [[nodiscard]] bool is_greedy() const {
    return how_.temperature < static_cast<double>((std::numeric_limits<float>::min)());
  }
  /// The next token for logits [vocabulary].
  [[nodiscard]] token_id next(const fg::tensor_view<const float, Device>& logits);

 private:
  [[nodiscard]] i64 first(const fg::tensor_view<const i64, Device>& x) const {
    return fg::to_host(stream_, x)(0);
  }
  // How many of the falling probabilities it takes to reach top_p; one at least.
  [[nodiscard]] i64 kept(const fg::tensor_view<const float, Device>& probabilities) const {
    const auto p = fg::to_host(stream_, probabilities);
    double sum = 0;
    i64 count = 0;
    while (count < p.numel() && sum < how_.top_p) sum += p(count++);
    return (std::max)(count, i64{1});
  }

  fg::stream_ref<Device> stream_;
  sampling how_;
  bool ordered_ = false;
  fg::philox_generator generator_;
  fg::tensor<i64, Device> choice_, ids_;
  fg::tensor<float, Device> weights_;
};

template <class Device>
token_id sampler<Device>::next(const fg::tensor_view<const float, Device>& logits) {
  if (is_greedy()) {
    fg::argmax(stream_, logits, choice_.select(0, 0));
    return static_cast<token_id>(first(choice_.view()));
  }
  fg::tensor_view<float, Device> weights = weights_;
  // Before the division, so that it cannot make the largest infinite.
  const auto peak = fg::amax(stream_, logits);
  if (ordered_) {
    fg::topk(stream_, logits, weights.size(0), weights, ids_);
    fg::assign(stream_, weights, (weights - peak) / how_.temperature);
  } else {
    fg::assign(stream_, weights, (logits - peak) / how_.temperature);
  }
  fg::softmax(stream_, weights, weights, 0);
  if (how_.top_p < 1) weights = weights.narrow(0, 0, kept(weights));
  fg::multinomial(stream_, weights, 1, true, generator_, choice_);
  const i64 index = first(choice_.view());
  return static_cast<token_id>(ordered_ ? first(ids_.narrow(0, index, 1)) : index);
}

}  // namespace llama
