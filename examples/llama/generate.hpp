// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Token after token out of a model.
#pragma once

#include "model.hpp"
#include "report.hpp"
#include "sampler.hpp"
#include "tokenizer.hpp"

#include <flaggems/device/stream.hpp>
#include <flaggems/device/tensor.hpp>

#include <algorithm>
#include <optional>

namespace llama {

/// How a text ended: why, after how many steps of the model, and with which token that was taken,
/// but has not been run.
struct generated {
  ending end = ending::length;
  i64 steps = 0;
  std::optional<token_id> waiting{};
};

/// Generates behind what a model has run.
template <class Device>
class generator {
 public:
  generator(const fg::stream_ref<Device>& stream, model<Device>& of, sampler<Device>& chooses)
      : stream_(stream), model_(of), sampler_(chooses) {}

  /// Chooses up to `count` tokens behind `logits`, in a context of `limit` positions, until
  /// take(id) is false: that one is not run.
  template <class Take>
  generated run(fg::tensor_view<const float, Device> logits, i64 count, i64 limit, Take&& take) {
    if constexpr (model<Device>::queues_steps)
      if (sampler_.is_greedy()) return run_ahead(logits, count, limit, take);
    generated result;
    for (i64 n = 0; n < count; ++n) {
      if (result.waiting) {
        if (model_.past() == limit) {
          result.end = ending::context;
          break;
        }
        logits = model_.run({&*result.waiting, 1});
        result.waiting.reset();
        ++result.steps;
      }
      const token_id id = sampler_.next(logits);
      if (!take(id)) {
        result.end = ending::stop_token;
        break;
      }
      result.waiting = id;
    }
    return result;
  }

 private:
  // The best tokens: what the next step runs is known on the device, so it is queued before the
  // host has seen the last one.
  template <class Take>
  generated run_ahead(const fg::tensor_view<const float, Device>& logits, i64 count, i64 limit,
                      Take&& take) {
    generated result;
    const i64 first = model_.past(), steps = (std::min)(count - 1, limit - first);
    i64 queued = 0;
    for (i64 n = 0; n < count; ++n) {
      if (n > steps) {
        result.end = ending::context;
        break;
      }
      for (; queued < (std::min)(n + 2, steps); ++queued) {
        model_.step();
        done_[queued % 2].record(stream_);
      }
      token_id id = 0;
      if (n < steps) {
        reader_.wait(done_[n % 2]);  // not for the step behind it
        id = static_cast<token_id>(fg::to_host(reader_, model_.token_at(first + n))(0));
      } else {
        id = sampler_.next(logits);
      }
      result.steps = (std::min)(n + 1, steps);
      result.waiting.reset();
      if (!take(id)) {
        model_.rewind(first + n);
        result.end = ending::stop_token;
        break;
      }
      if (n == steps) result.waiting = id;
    }
    return result;
  }

  fg::stream_ref<Device> stream_;
  model<Device>& model_;
  sampler<Device>& sampler_;
  fg::stream<Device> reader_;
  fg::event<Device> done_[2];
};

}  // namespace llama
