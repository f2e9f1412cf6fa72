// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// oneDNN, called directly: its primitives are made once, outside of what is timed.
#include "../peers.hpp"

#include <oneapi/dnnl/dnnl.hpp>

#include <omp.h>

#include <memory>
#include <optional>
#include <unordered_map>

namespace compare {
namespace {

using dnnl::memory;
using tag = memory::format_tag;

const dnnl::engine& engine() {
  static const dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}

std::optional<memory::data_type> type_of(dtype t) {
  switch (t) {
    case dtype::f32: return memory::data_type::f32;
    case dtype::bf16: return memory::data_type::bf16;
    case dtype::f16: return memory::data_type::f16;
    case dtype::i8: return memory::data_type::s8;
    case dtype::u8: return memory::data_type::u8;
    case dtype::i32: return memory::data_type::s32;
    default: return {};
  }
}

memory::desc desc_of(const operand& o) {
  return memory::desc(memory::dims(o.sizes.begin(), o.sizes.end()), *type_of(o.type),
                      memory::dims(o.strides.begin(), o.strides.end()));
}

/// A primitive with the memory of its arguments.
offer runs(const dnnl::primitive& p, std::unordered_map<int, memory> arguments) {
  auto stream = std::make_shared<dnnl::stream>(engine());
  return {[=] {
            p.execute(*stream, arguments);
            stream->wait();
          },
          ""};
}
memory at(const operand& o) { return memory(desc_of(o), engine(), o.data); }

// Version 3 describes a primitive in one step, version 2 in two.
template <class Primitive, class... Args>
auto described(const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine(), args...);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(args...), engine());
#endif
}

constexpr auto forward = dnnl::prop_kind::forward_inference;

offer product(const request& r) {
  const auto p = described<dnnl::matmul>(desc_of(r.in[0]), desc_of(r.in[1]), desc_of(r.out[0]));
  return runs(
      dnnl::matmul(p),
      {{DNNL_ARG_SRC, at(r.in[0])}, {DNNL_ARG_WEIGHTS, at(r.in[1])}, {DNNL_ARG_DST, at(r.out[0])}});
}

offer eltwise(const request& r, dnnl::algorithm a, float alpha = 0, float beta = 0) {
#if DNNL_VERSION_MAJOR >= 3
  const auto p = described<dnnl::eltwise_forward>(forward, a, desc_of(r.in[0]), desc_of(r.out[0]),
                                                  alpha, beta);
#else
  const auto p = described<dnnl::eltwise_forward>(forward, a, desc_of(r.in[0]), alpha, beta);
#endif
  return runs(dnnl::eltwise_forward(p),
              {{DNNL_ARG_SRC, at(r.in[0])}, {DNNL_ARG_DST, at(r.out[0])}});
}

offer binary(const request& r) {
  const auto p = described<dnnl::binary>(dnnl::algorithm::binary_add, desc_of(r.in[0]),
                                         desc_of(r.in[1]), desc_of(r.out[0]));
  return runs(
      dnnl::binary(p),
      {{DNNL_ARG_SRC_0, at(r.in[0])}, {DNNL_ARG_SRC_1, at(r.in[1])}, {DNNL_ARG_DST, at(r.out[0])}});
}

offer softmax(const request& r) {
  const int axis = static_cast<int>(r.in[0].sizes.size()) - 1;
#if DNNL_VERSION_MAJOR >= 3
  const auto a =
      r.op == "softmax" ? dnnl::algorithm::softmax_accurate : dnnl::algorithm::softmax_log;
  const auto p =
      described<dnnl::softmax_forward>(forward, a, desc_of(r.in[0]), desc_of(r.out[0]), axis);
  const dnnl::primitive made = dnnl::softmax_forward(p);
#else
  const auto a =
      r.op == "softmax" ? dnnl::algorithm::softmax_accurate : dnnl::algorithm::softmax_log;
  const auto p =
      described<dnnl::softmax_v2_forward>(forward, a, desc_of(r.in[0]), desc_of(r.out[0]), axis);
  const dnnl::primitive made = dnnl::softmax_v2_forward(p);
#endif
  return runs(made, {{DNNL_ARG_SRC, at(r.in[0])}, {DNNL_ARG_DST, at(r.out[0])}});
}

offer layer_norm(const request& r) {
  if (r.in[1].type != dtype::f32) return {};  // it takes scales of f32 alone
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
#if DNNL_VERSION_MAJOR >= 3
  const auto p = described<dnnl::layer_normalization_forward>(forward, desc_of(r.in[0]),
                                                              desc_of(r.out[0]), 1e-5F, flags);
#else
  const auto p =
      described<dnnl::layer_normalization_forward>(forward, desc_of(r.in[0]), 1e-5F, flags);
#endif
  return runs(dnnl::layer_normalization_forward(p), {{DNNL_ARG_SRC, at(r.in[0])},
                                                     {DNNL_ARG_SCALE, at(r.in[1])},
                                                     {DNNL_ARG_SHIFT, at(r.in[2])},
                                                     {DNNL_ARG_DST, at(r.out[0])}});
}

offer reorder(const request& r) {
  const memory from = at(r.in[0]), to = at(r.out[0]);
  const dnnl::reorder p(from, to);
  return runs(p, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

/// Over the dimensions of `numbers`, all if there are none.
offer reduction(const request& r, dnnl::algorithm a) {
  operand out = r.out[0];
  out.sizes.clear(), out.strides.clear();
  const std::size_t rank = r.in[0].sizes.size();
  for (std::size_t d = 0; d < rank; ++d) {
    bool goes = r.numbers.empty();
    for (const double n : r.numbers) goes = goes || n == static_cast<double>(d);
    out.sizes.push_back(goes ? 1 : r.in[0].sizes[d]);
  }
  out.strides.resize(rank);
  std::int64_t next = 1;
  for (std::size_t d = rank; d-- > 0; next *= out.sizes[d]) out.strides[d] = next;
  const auto p = described<dnnl::reduction>(a, desc_of(r.in[0]), desc_of(out), 0.0F, 0.0F);
  return runs(dnnl::reduction(p), {{DNNL_ARG_SRC, at(r.in[0])}, {DNNL_ARG_DST, at(out)}});
}

offer offer_for(const request& r) {
  for (const auto& list : {r.in, r.out})
    for (const operand& o : list)
      if (!type_of(o.type)) return {};
  if (r.op == "mm" || r.op == "bmm" || r.op == "mm_i8") return product(r);
  if (r.op == "add") return binary(r);
  if (r.op == "exp") return eltwise(r, dnnl::algorithm::eltwise_exp);
  if (r.op == "gelu") return eltwise(r, dnnl::algorithm::eltwise_gelu_erf);
  if (r.op == "silu") return eltwise(r, dnnl::algorithm::eltwise_swish, 1.0F);
  if (r.op == "mul_scalar")
    return eltwise(r, dnnl::algorithm::eltwise_linear, static_cast<float>(r.numbers[0]));
  if (r.op == "softmax" || r.op == "log_softmax") return softmax(r);
  if (r.op == "layer_norm") return layer_norm(r);
  if (r.op == "copy") return reorder(r);
  if (r.op == "sum") return reduction(r, dnnl::algorithm::reduction_sum);
  if (r.op == "mean") return reduction(r, dnnl::algorithm::reduction_mean);
  if (r.op == "amax") return reduction(r, dnnl::algorithm::reduction_max);
  return {};
}

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

const registered here({"oneDNN", version(), [](int n) { omp_set_num_threads(n); }, offer_for});

}  // namespace
}  // namespace compare
