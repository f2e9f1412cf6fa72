// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// libtorch, eager, writing into given memory wherever the operator can.
#include "../peers.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <cmath>
#include <map>
#include <memory>

namespace compare {
namespace {

using at::Tensor;

at::ScalarType type_of(dtype t) {
  constexpr at::ScalarType types[] = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kChar,
                                      at::kByte,  at::kInt,    at::kLong,     at::kBool};
  return types[static_cast<int>(t)];
}
Tensor tensor_of(const operand& o) {
  return at::from_blob(o.data, o.sizes, o.strides, at::TensorOptions().dtype(type_of(o.type)));
}

struct call {
  std::vector<Tensor> in, out;
  std::vector<double> numbers;
  std::int64_t dim(std::size_t i = 0) const { return static_cast<std::int64_t>(numbers.at(i)); }
};
using make = offer (*)(call);

// An operator that is one call: `x`, `out` and `n` are its tensors and numbers.
#define FLAGGEMS_TORCH(...)                         \
  [](call c) -> offer {                             \
    return {[c]() mutable {                         \
              [[maybe_unused]] auto& x = c.in;      \
              [[maybe_unused]] auto& out = c.out;   \
              [[maybe_unused]] auto& n = c.numbers; \
              __VA_ARGS__;                          \
            },                                      \
            ""};                                    \
  }
// ... that only returns a new tensor.
#define FLAGGEMS_TORCH_RETURNING(...)                                          \
  [](call c) -> offer {                                                        \
    const auto result = std::make_shared<Tensor>();                            \
    return {[c, result]() mutable {                                            \
              [[maybe_unused]] auto& x = c.in;                                 \
              [[maybe_unused]] auto& n = c.numbers;                            \
              *result = __VA_ARGS__;                                           \
            },                                                                 \
            "returns a new tensor", [c, result] { c.out[0].copy_(*result); }}; \
  }
// ... that takes several calls, since there is no such operator.
#define FLAGGEMS_TORCH_COMPOSED(...)            \
  [](call c) -> offer {                         \
    offer o = (FLAGGEMS_TORCH(__VA_ARGS__))(c); \
    o.note = "composed";                        \
    return o;                                   \
  }

/// All dimensions when there is no number.
std::vector<std::int64_t> dims_of(const call& c) {
  std::vector<std::int64_t> dims;
  for (const double d : c.numbers) dims.push_back(static_cast<std::int64_t>(d));
  if (dims.empty())
    for (std::int64_t d = 0; d < c.in[0].dim(); ++d) dims.push_back(d);
  return dims;
}

Tensor rotated(const Tensor& x) {
  const auto half = x.size(-1) / 2;
  return at::cat({-x.slice(-1, half), x.slice(-1, 0, half)}, -1);
}

const std::map<std::string, make>& table() {
  static const std::map<std::string, make> all = {
      {"add", FLAGGEMS_TORCH(at::add_out(out[0], x[0], x[1]))},
      {"mul_scalar",  // its overload for numbers goes through a temporary
       [](call c) -> offer {
         c.in.push_back(at::scalar_tensor(c.numbers[0], c.in[0].options()));
         return {[c]() mutable { at::mul_out(c.out[0], c.in[0], c.in[1]); }, ""};
       }},
      {"silu", FLAGGEMS_TORCH(at::silu_out(out[0], x[0]))},
      {"gelu", FLAGGEMS_TORCH(at::gelu_out(out[0], x[0]))},
      {"exp", FLAGGEMS_TORCH(at::exp_out(out[0], x[0]))},
      {"where", FLAGGEMS_TORCH(at::where_out(out[0], x[0], x[1], x[2]))},
      {"copy", FLAGGEMS_TORCH(out[0].copy_(x[0]))},
      {"mul_add_silu_mul",  // silu(a * b + c) * a
       FLAGGEMS_TORCH(at::mul_out(out[0], x[0], x[1]); out[0].add_(x[2]);
                      at::silu_(out[0]); out[0].mul_(x[0]))},
      {"scale_bias_clamp_add",  // clamp(a * 1.5 + 0.25, -1, 1) + b
       [](call c) -> offer {
         c.in.push_back(at::scalar_tensor(1.5, c.in[0].options()));
         return {[c]() mutable {
                   at::mul_out(c.out[0], c.in[0], c.in[2]);
                   c.out[0].add_(0.25);
                   at::clamp_(c.out[0], -1, 1);
                   c.out[0].add_(c.in[1]);
                 },
                 ""};
       }},
      {"gelu_mul_add_tanh",  // tanh(gelu(a) * b + c)
       FLAGGEMS_TORCH(at::gelu_out(out[0], x[0]); out[0].mul_(x[1]); out[0].add_(x[2]);
                      at::tanh_(out[0]))},
      {"sum", FLAGGEMS_TORCH(at::sum_out(out[0], x[0], dims_of(c)))},
      {"mean", FLAGGEMS_TORCH(at::mean_out(out[0], x[0], dims_of(c)))},
      {"amax", FLAGGEMS_TORCH(at::amax_out(out[0], x[0], dims_of(c)))},
      {"argmax",
       FLAGGEMS_TORCH(at::argmax_out(out[0], x[0],
                                     n.empty() ? c10::optional<std::int64_t>() : c.dim()))},
      {"softmax",
       FLAGGEMS_TORCH(at::_softmax_out(out[0], x[0], c.dim(), false))},
      {"log_softmax",
       FLAGGEMS_TORCH(at::_log_softmax_out(out[0], x[0], c.dim(), false))},
      {"layer_norm",
       [](call c) -> offer {
         const auto rows = c.in[0].numel() / c.in[0].size(-1);
         c.out.push_back(at::empty({rows, 1}, c.in[0].scalar_type()));
         c.out.push_back(at::empty({rows, 1}, c.in[0].scalar_type()));
         return {[c]() mutable {
                   at::native_layer_norm_out(c.out[0], c.out[1], c.out[2], c.in[0],
                                             {c.in[0].size(-1)}, c.in[1], c.in[2], 1e-5);
                 },
                 ""};
       }},
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
      {"rms_norm",
       FLAGGEMS_TORCH_RETURNING(at::rms_norm(x[0], {x[0].size(-1)}, x[1], 1e-5))},
#else
    {"rms_norm",
     FLAGGEMS_TORCH_COMPOSED(auto s = at::mean(at::square(x[0]), {-1}, true); s.add_(1e-5).rsqrt_();
                             at::mul_out(out[0], x[0], s); out[0].mul_(x[1]))},
#endif
      {"rope",  // q and k in place of copies; cos and sin [tokens, 1, size]
       FLAGGEMS_TORCH_COMPOSED(for (std::size_t i = 0; i < 2; ++i) {
         at::mul_out(out[i], x[i], x[2]);
         out[i].addcmul_(rotated(x[i]), x[3]);
       })},
      {"embedding", FLAGGEMS_TORCH(at::index_select_out(out[0], x[0], 0, x[1]))},
      {"cat", FLAGGEMS_TORCH(at::cat_out(out[0], x, c.dim()))},
      {"sort",
       FLAGGEMS_TORCH(at::sort_out(out[0], out[1], x[0], c.dim()))},
      {"argsort", FLAGGEMS_TORCH_RETURNING(at::argsort(x[0], c.dim()))},
      {"topk", FLAGGEMS_TORCH(at::topk_out(out[0], out[1], x[0], c.dim(), -1))},
      {"mm", FLAGGEMS_TORCH(at::mm_out(out[0], x[0], x[1]))},
      {"bmm", FLAGGEMS_TORCH(at::bmm_out(out[0], x[0], x[1]))},
      {"mv", FLAGGEMS_TORCH(at::mv_out(out[0], x[0], x[1]))},
#if TORCH_VERSION_MAJOR >= 2
      {"mm_i8", FLAGGEMS_TORCH(at::_int_mm_out(out[0], x[0], x[1]))},
      {"attention",
       FLAGGEMS_TORCH_RETURNING(
           at::scaled_dot_product_attention(x[0], x[1], x[2], {}, 0.0, n[0] != 0))},
#else
    {"attention",
     FLAGGEMS_TORCH_COMPOSED(auto s = at::matmul(x[0], x[1].transpose(-1, -2));
                             s.mul_(1 / std::sqrt(static_cast<double>(x[0].size(-1))));
                             if (n[0] != 0) s.masked_fill_(x[3], -INFINITY);
                             at::_softmax_out(s, s, -1, false); at::matmul_out(out[0], s, x[2]))},
#endif
  };
  return all;
}
#undef FLAGGEMS_TORCH
#undef FLAGGEMS_TORCH_RETURNING
#undef FLAGGEMS_TORCH_COMPOSED

offer offer_for(const request& r) {
  const auto found = table().find(r.op);
  if (found == table().end()) return {};
  call c;
  for (const operand& o : r.in) c.in.push_back(tensor_of(o));
  for (const operand& o : r.out) c.out.push_back(tensor_of(o));
  c.numbers = r.numbers;
  return found->second(c);
}

/// Also of an OpenBLAS that is linked as its BLAS, which at::set_num_threads does not reach.
void set_threads(int n) {
  at::set_num_threads(n);
  if (auto* set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads")))
    set(n);
}

const c10::InferenceMode mode;
const registered here({"torch", TORCH_VERSION, set_threads, offer_for});

}  // namespace
}  // namespace compare
