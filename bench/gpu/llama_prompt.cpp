// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Prompts of examples/llama with random weights, for llama.py, which alternates them with PyTorch's
// in one process.
#include <llama/instances.hpp>
#include <llama/synthetic.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <vector>

namespace {

using device = llama::fg::cuda;

struct prompt {
  llama::fg::stream<device> stream;
  llama::model<device> network;
  std::vector<llama::token_id> ids;

  prompt(const llama::hyperparameters& sizes, int tokens)
      : network(sizes, llama::weight_source<device>(0, llama::weight_dtype::bf16, stream), stream) {
    for (llama::i64 i = 0; i < tokens; ++i)
      ids.push_back(static_cast<llama::token_id>((31 * i + 7) % sizes.vocabulary));
    network.reserve(tokens);
  }
};

}  // namespace

/// A model of the shapes of a known one, or null.
extern "C" void* llama_prompt_new(const char* name, int tokens) try {
  const auto sizes = llama::hyperparameters::named(name);
  return sizes ? new prompt(*sizes, tokens) : nullptr;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "llama_prompt: %s\n", problem.what());
  return nullptr;
}
extern "C" void llama_prompt_delete(void* of) { delete static_cast<prompt*>(of); }

/// Runs the prompt: the seconds until the host has queued all of it, and until it is done; 0: not
/// run.
extern "C" void llama_prompt_run(void* of, double* queued, double* done) try {
  auto& p = *static_cast<prompt*>(of);
  *queued = *done = 0;
  p.network.reset();
  p.stream.synchronize();
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  p.network.run(p.ids);
  const double host = seconds();
  p.stream.synchronize();
  *done = seconds();
  *queued = host;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "llama_prompt: %s\n", problem.what());
}
