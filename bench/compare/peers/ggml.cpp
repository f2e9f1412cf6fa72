// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// ggml, the library under llama.cpp: its products with quantised weights (it rounds activations to
// 8 bits) and its attention of one token. Graphs of one operator, over the given memory.
#include "../peers.hpp"

#include <ggml-cpu.h>
#include <ggml.h>

#include <cmath>
#include <memory>

namespace compare {
namespace {

/// Threads that wait for work between the calls, as llama.cpp has them.
struct threads_of_ggml {
  int count = 0;
  ggml_threadpool* pool = nullptr;
  void set(int n) {
    if (n == count) return;
    if (pool != nullptr) ggml_threadpool_free(pool);
    ggml_threadpool_params params = ggml_threadpool_params_default(n);
    params.poll = 1;  // they spin for milliseconds only: other sides need the processors
    pool = ggml_threadpool_new(&params);
    count = n;
  }
} threads;

struct graph {
  ggml_context* context;
  ggml_cgraph* nodes = nullptr;
  ggml_cplan plan{};
  std::vector<unsigned char> work;

  graph() : context(ggml_init({std::size_t{1} << 20, nullptr, true})) {}
  ~graph() { ggml_free(context); }
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;

  /// A tensor over memory that is there; sizes from the innermost on.
  ggml_tensor* tensor(ggml_type type, void* data, std::int64_t a, std::int64_t b,
                      std::int64_t c = 1) {
    ggml_tensor* t = ggml_new_tensor_4d(context, type, a, b, c, 1);
    t->data = data;
    return t;
  }
  void finish(ggml_tensor* result, void* data) {
    result->data = data;
    nodes = ggml_new_graph(context);
    ggml_build_forward_expand(nodes, result);
    plan = ggml_graph_plan(nodes, threads.count, threads.pool);
    work.resize(plan.work_size);
    plan.work_data = work.data();
  }
};

offer run_of(std::shared_ptr<graph> g, const char* note) {
  return {[g] { ggml_graph_compute(g->nodes, &g->plan); }, note};
}

offer offer_for(const request& r) {
  if (r.op == "quantized_linear") {
    const auto type = static_cast<ggml_type>(static_cast<int>(r.numbers[0]));
    const auto n = static_cast<std::int64_t>(r.numbers[1]),
               k = static_cast<std::int64_t>(r.numbers[2]);
    auto g = std::make_shared<graph>();
    ggml_tensor* w = g->tensor(type, r.in[1].data, k, n);
    ggml_tensor* x = g->tensor(GGML_TYPE_F32, r.in[0].data, k, r.in[0].sizes[0]);
    g->finish(ggml_mul_mat(g->context, w, x), r.out[0].data);
    return run_of(g, "8-bit activations");
  }
  if (r.op == "attention" && r.in[0].type == dtype::f32 && r.in[0].sizes[2] == 1 &&
      r.numbers[0] == 0) {
    const auto &q = r.in[0].sizes, &k = r.in[1].sizes;
    auto g = std::make_shared<graph>();
    const float scale = 1 / std::sqrt(static_cast<float>(q[3]));
    g->finish(ggml_flash_attn_ext(
                  g->context, g->tensor(GGML_TYPE_F32, r.in[0].data, q[3], q[2], q[1]),
                  g->tensor(GGML_TYPE_F32, r.in[1].data, k[3], k[2], k[1]),
                  g->tensor(GGML_TYPE_F32, r.in[2].data, k[3], k[2], k[1]), nullptr, scale, 0, 0),
              r.out[0].data);
    return run_of(g, "");
  }
  return {};
}

const registered here([] {
  ggml_cpu_init();
  return library{"ggml", ggml_version(), [](int n) { threads.set(n); }, offer_for};
}());

}  // namespace
}  // namespace compare
