// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A model of random weights: what a token costs at the sizes of a known one, without its file.
#pragma once

#include "generate.hpp"
#include "model.hpp"
#include "options.hpp"
#include "report.hpp"
#include "sampler.hpp"
#include "weights.hpp"

#include <flaggems/device/stream.hpp>
#include <flaggems/device/tensor.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <vector>

namespace llama {

/// Bytes a second that the device copies in its own memory, read and written ones counted, by the
/// copy of its driver.
template <class Device>
[[nodiscard]] double copy_bandwidth(const fg::stream_ref<Device>& stream) {
  const i64 bytes = i64{1} << (fg::host_accessible<Device> ? 26 : 30);
  constexpr int times = 8;
  const auto from = fg::zeros<fg::u8>(stream, {bytes});
  auto to = fg::empty<fg::u8>(stream, {bytes});
  fg::event<Device> begin, end;
  double best = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    begin.record(stream);
    for (int i = 0; i < times; ++i)
      Device::copy(to.data(), from.data(), bytes, fg::copy_kind::device_to_device, stream.handle());
    end.record(stream);
    end.synchronize();
    best = (std::max)(best, 2e3 * times * static_cast<double>(bytes) / fg::elapsed_ms(begin, end));
  }
  return best;
}

/// Runs a model of the shapes of `sizes` and reports its rate.
template <class Device>
void run_synthetic(const hyperparameters& sizes, const options& chosen, std::ostream& out) {
  using clock = std::chrono::steady_clock;
  const auto seconds_since = [](clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  // Of the prompt, of which the fastest counts: a device that was idle is slow at first.
  constexpr int attempts = 3;
  constexpr double least_seconds = 0.4;
  const fg::stream<Device> owner;
  const fg::stream_ref<Device> stream = owner;
  synthetic_report report;
  report.model = chosen.synthetic;
  report.device = Device::name;
  auto start = clock::now();
  model<Device> network(sizes, weight_source<Device>(chosen.seed, chosen.dtype, stream), stream,
                        chosen.kv);
  stream.synchronize();
  report.run.load_seconds = seconds_since(start);
  report.step_bytes = network.step_bytes();
  report.copy_bandwidth = copy_bandwidth(stream);

  std::vector<token_id> prompt;
  for (i64 i = 0; i < chosen.prompt_tokens; ++i)
    prompt.push_back(static_cast<token_id>((31 * i + 7) % sizes.vocabulary));
  const i64 limit = static_cast<i64>(prompt.size()) + chosen.n;
  sampler<Device> best(stream, {}, sizes.vocabulary);
  generator<Device> generates(stream, network, best);
  network.reserve(limit);
  const auto generate = [&](i64 count) {
    report.ids.clear();
    report.run.prompt_tokens = static_cast<i64>(prompt.size());
    report.run.prompt_seconds = 0;
    fg::tensor_view<const float, Device> logits(nullptr, {0});
    const auto begun = clock::now();
    for (int attempt = 0; attempt < attempts || seconds_since(begun) < least_seconds; ++attempt) {
      network.reset();
      stream.synchronize();
      start = clock::now();
      logits = network.run(prompt);
      stream.synchronize();
      const double seconds = seconds_since(start);
      if (attempt == 0 || seconds < report.run.prompt_seconds) report.run.prompt_seconds = seconds;
    }
    start = clock::now();
    const generated result = generates.run(logits, count, limit, [&](token_id id) {
      report.ids.push_back(id);
      return true;
    });
    report.run.step_seconds = seconds_since(start);
    report.run.steps = result.steps;
    report.run.generated_tokens = static_cast<i64>(report.ids.size());
  };
  generate((std::min)(chosen.n, 4));  // kernels are compiled, a graph is captured
  generate(chosen.n);
  if (chosen.json)
    print_json(out, report);
  else
    print_line(out, report);
}

}  // namespace llama
