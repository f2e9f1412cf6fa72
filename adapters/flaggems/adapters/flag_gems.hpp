// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// FlagGems' C++ interface, functions on at::Tensor in the namespace flag_gems, over the registry
// that a program is linked with: what is written for flag_gems/operators.h needs neither Triton nor
// Python. For libtorch 1.13 and later.
//
// Tensors may be of the devices in FLAGGEMS_FLAG_GEMS_DEVICES, flaggems::host if that is not
// defined; the header of another device is FLAGGEMS_FLAG_GEMS_VENDOR.
#pragma once

#include <flaggems/adapters/torch_operators.hpp>
#include <flaggems/vendors/host.hpp>
#ifdef FLAGGEMS_FLAG_GEMS_VENDOR
#include FLAGGEMS_FLAG_GEMS_VENDOR
#endif
#ifndef FLAGGEMS_FLAG_GEMS_DEVICES
#define FLAGGEMS_FLAG_GEMS_DEVICES flaggems::host
#endif

#include <ATen/ATen.h>

#include <atomic>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace flaggems::detail {

/// A call of an operator with values as PyTorch boxes them; its new results.
class flag_gems_call {
 public:
  using values = std::initializer_list<c10::IValue>;

  /// Calls `key` on the device of the first tensor. Raises not_supported in the name of `function`
  /// if the program has no such operator, or none for the device, and as that operator.
  flag_gems_call(const char* function, const char* key, values arguments)
      : flag_gems_call(function, key, arguments, device_of_first(arguments)) {}
  flag_gems_call(const char* function, const char* key, values arguments, c10::DeviceType type) {
    choose<FLAGGEMS_FLAG_GEMS_DEVICES>(
        function, key, c10::ArrayRef<c10::IValue>(arguments.begin(), arguments.size()), type);
  }

  [[nodiscard]] at::Tensor one() { return std::move(results_[0]); }
  template <std::size_t N>
  [[nodiscard]] auto all() {
    return [this]<std::size_t... K>(std::index_sequence<K...>) {
      return std::tuple(std::move(results_[K])...);
    }
    (std::make_index_sequence<N>{});
  }

  /// Whether the program has the operator for a tensor's device.
  static bool exists(const char* key, const at::Tensor& x) {
    return exists_for<FLAGGEMS_FLAG_GEMS_DEVICES>(key, x.device().type());
  }
  [[noreturn]] FLAGGEMS_COLD static void raise_missing(const char* function, const char* key) {
    raise(errc::not_supported, function, text("the operator ") + key + " in the program's registry",
          "none");
  }

 private:
  static c10::DeviceType device_of_first(values arguments) {
    for (const c10::IValue& v : arguments) {
      if (v.isTensor()) return v.toTensor().device().type();
      if (v.isTensorList() && !v.toListRef().empty())
        return v.toListRef()[0].toTensor().device().type();
    }
    return c10::DeviceType::CPU;
  }
  template <class... Devices>
  static bool exists_for(const char* key, c10::DeviceType type) {
    return ((torch_device<Devices>::type == type && registry<Devices>::find(key) != nullptr) ||
            ...);
  }
  template <class... Devices>
  void choose(const char* function, const char* key, c10::ArrayRef<c10::IValue> arguments,
              c10::DeviceType type) {
    const bool found =
        ((torch_device<Devices>::type == type && (run<Devices>(function, key, arguments), true)) ||
         ...);
    if (!found) [[unlikely]]
      raise(errc::not_supported, function, "tensors of a device in FLAGGEMS_FLAG_GEMS_DEVICES",
            c10::DeviceTypeName(type, true).c_str());
  }
  template <class Device>
  void run(const char* function, const char* key, c10::ArrayRef<c10::IValue> given) {
    const auto* const op = registry<Device>::find(key);
    if (op == nullptr) [[unlikely]]
      raise_missing(function, key);
    const torch_arguments<Device> arguments(op->schema(), given);
    if (arguments.obstructed != nullptr) [[unlikely]]
      raise_obstacle<Device>(arguments.obstacle, *arguments.obstructed, arguments.device_index());
    if (!arguments.left_because.empty()) [[unlikely]]
      raise(errc::invalid_argument, function, "arguments as the operator has them",
            arguments.left_because);
    const bool makes = op->form() == bindings::form::functional;
    const auto n = static_cast<std::size_t>(makes ? op->schema().new_results() : 0);
    any_tensor<Device> made[max_results];
    op->call(torch_stream<Device>(arguments.device_index()), arguments.list(given.size()),
             std::span(made, n));
    for (std::size_t k = 0; k < n; ++k)
      results_[k] = to_torch(std::move(made[k]), arguments.device_index());
  }

  at::Tensor results_[max_results];
};

inline c10::IValue flag_gems_ints(at::IntArrayRef list) {
  c10::List<int64_t> r;
  for (const int64_t x : list) r.push_back(x);
  return r;
}
template <class Enum>
c10::IValue flag_gems_optional(const Enum& value) {
  return value.has_value() ? c10::IValue(static_cast<int64_t>(*value)) : c10::IValue();
}
inline c10::IValue flag_gems_optional(const std::optional<at::Tensor>& x) {
  return x.has_value() && x->defined() ? c10::IValue(*x) : c10::IValue();
}

/// A seed that PyTorch's generator gives, the default one if there is none.
inline int64_t flag_gems_seed(const c10::optional<at::Generator>& generator) {
  return at::empty({}, at::TensorOptions(at::kLong)).random_(generator).item<int64_t>();
}

inline std::atomic<bool>& flag_gems_patch() {
  static std::atomic<bool> installed{false};
  return installed;
}

}  // namespace flaggems::detail

/// FlagGems' functions: they compute as ATen's of the names beside them, raise flaggems::error, and
/// not_supported in their name where the program has no such operator. Tensors that require
/// gradients are refused while PyTorch records them.
namespace flag_gems {

using flaggems_call = flaggems::detail::flag_gems_call;

// ---- new tensors, and what is in them

/// aten::zeros; of another layout than strided it raises not_supported.
inline at::Tensor zeros(at::IntArrayRef size, c10::optional<at::ScalarType> dtype = c10::nullopt,
                        c10::optional<at::Layout> layout = c10::nullopt,
                        c10::optional<at::Device> device = c10::nullopt,
                        c10::optional<bool> = c10::nullopt) {
  flaggems::check(!layout.has_value() || *layout == c10::kStrided, flaggems::errc::not_supported,
                  "flag_gems::zeros", "the layout strided");
  const auto type = dtype.has_value() ? *dtype : c10::get_default_dtype_as_scalartype();
  return flaggems_call("flag_gems::zeros", "zeros",
                       {flaggems::detail::flag_gems_ints(size), static_cast<int64_t>(type)},
                       device.has_value() ? device->type() : c10::DeviceType::CPU)
      .one();
}
/// aten::fill_.Scalar
inline at::Tensor& fill_scalar_(at::Tensor& input, const c10::Scalar& value) {
  flaggems_call("flag_gems::fill_scalar_", "fill_.Scalar", {input, value});
  return input;
}
/// aten::fill_.Tensor
inline at::Tensor& fill_tensor_(at::Tensor& input, const at::Tensor& value) {
  flaggems_call("flag_gems::fill_tensor_", "fill_.Tensor", {input, value});
  return input;
}
/// aten::fill.Scalar
inline at::Tensor fill_scalar(const at::Tensor& input, const c10::Scalar& value) {
  at::Tensor r = flaggems_call("flag_gems::fill_scalar", "empty_like", {input}).one();
  return fill_scalar_(r, value);
}
/// aten::fill.Tensor
inline at::Tensor fill_tensor(const at::Tensor& input, const at::Tensor& value) {
  at::Tensor r = flaggems_call("flag_gems::fill_tensor", "empty_like", {input}).one();
  return fill_tensor_(r, value);
}
/// aten::exponential_, seeded by a number that PyTorch's generator gives: other numbers than
/// ATen's.
inline at::Tensor& exponential_(at::Tensor& self, double lambd = 1.0,
                                c10::optional<at::Generator> gen = c10::nullopt) {
  flaggems_call("flag_gems::exponential_", "exponential_",
                {self, lambd, flaggems::detail::flag_gems_seed(gen)});
  return self;
}
/// aten::copy_
inline at::Tensor& copy_(at::Tensor& dst, const at::Tensor& src, bool non_blocking = false) {
  flaggems_call("flag_gems::copy_", "copy_", {dst, src, non_blocking});
  return dst;
}
/// aten::_to_copy; to another device, or layout, it raises not_supported.
inline at::Tensor to_copy(const at::Tensor& self,
                          c10::optional<at::ScalarType> dtype = c10::nullopt,
                          c10::optional<at::Layout> layout = c10::nullopt,
                          c10::optional<at::Device> device = c10::nullopt,
                          c10::optional<bool> = c10::nullopt, bool non_blocking = false,
                          c10::optional<at::MemoryFormat> memory_format = c10::nullopt) {
  const bool stays = (!device.has_value() || device->type() == self.device().type()) &&
                     (!layout.has_value() || *layout == self.layout());
  flaggems::check(stays, flaggems::errc::not_supported, "flag_gems::to_copy",
                  "the tensor's own device and layout");
  const auto type = dtype.has_value() ? *dtype : self.scalar_type();
  return flaggems_call("flag_gems::to_copy", "to.dtype",
                       {self, static_cast<int64_t>(type), non_blocking, true,
                        flaggems::detail::flag_gems_optional(memory_format)})
      .one();
}
/// aten::contiguous: self where it is that already.
inline at::Tensor contiguous(const at::Tensor& self,
                             at::MemoryFormat memory_format = c10::MemoryFormat::Contiguous) {
  if (self.is_contiguous(memory_format)) return self;
  return flaggems_call("flag_gems::contiguous", "contiguous",
                       {self, static_cast<int64_t>(memory_format)})
      .one();
}
/// aten::cat
inline at::Tensor cat(const at::TensorList& tensors, int64_t dim = 0) {
  return flaggems_call("flag_gems::cat", "cat", {c10::List<at::Tensor>(tensors), dim}).one();
}

// ---- element by element

/// aten::add.Tensor
inline at::Tensor add_tensor(const at::Tensor& self, const at::Tensor& other,
                             const at::Scalar& alpha = 1) {
  return flaggems_call("flag_gems::add_tensor", "add.Tensor", {self, other, alpha}).one();
}
/// aten::add.Scalar
inline at::Tensor add_scalar(const at::Tensor& self, const at::Scalar& other,
                             const at::Scalar& alpha = 1) {
  return flaggems_call("flag_gems::add_scalar", "add.Scalar", {self, other, alpha}).one();
}
/// aten::add_.Tensor
inline at::Tensor& add_tensor_inplace(at::Tensor& self, const at::Tensor& other,
                                      const at::Scalar& alpha = 1) {
  flaggems_call("flag_gems::add_tensor_inplace", "add_.Tensor", {self, other, alpha});
  return self;
}
/// aten::add_.Scalar
inline at::Tensor& add_scalar_inplace(at::Tensor& self, const at::Scalar& other,
                                      const at::Scalar& alpha = 1) {
  flaggems_call("flag_gems::add_scalar_inplace", "add_.Scalar", {self, other, alpha});
  return self;
}
/// aten::div.Tensor_mode
inline at::Tensor div_mode(const at::Tensor& a, const at::Tensor& b,
                           const c10::optional<std::string>& rounding_mode) {
  return flaggems_call("flag_gems::div_mode", "div.Tensor_mode", {a, b, rounding_mode}).one();
}
/// aten::div_.Tensor_mode
inline at::Tensor div_mode_(at::Tensor& a, const at::Tensor& b,
                            const c10::optional<std::string>& rounding_mode) {
  flaggems_call("flag_gems::div_mode_", "div_.Tensor_mode", {a, b, rounding_mode});
  return a;
}
/// aten::div.Tensor, and with the rounding modes trunc and floor
inline at::Tensor true_div(const at::Tensor& a, const at::Tensor& b) {
  return flaggems_call("flag_gems::true_div", "div.Tensor", {a, b}).one();
}
inline at::Tensor true_div_(at::Tensor& a, const at::Tensor& b) {
  flaggems_call("flag_gems::true_div_", "div_.Tensor", {a, b});
  return a;
}
inline at::Tensor trunc_div(const at::Tensor& a, const at::Tensor& b) {
  return div_mode(a, b, std::string("trunc"));
}
inline at::Tensor trunc_div_(at::Tensor& a, const at::Tensor& b) {
  return div_mode_(a, b, std::string("trunc"));
}
inline at::Tensor floor_div(const at::Tensor& a, const at::Tensor& b) {
  return div_mode(a, b, std::string("floor"));
}
inline at::Tensor floor_div_(at::Tensor& a, const at::Tensor& b) {
  return div_mode_(a, b, std::string("floor"));
}
/// aten::remainder.Tensor, .Scalar, .Scalar_Tensor
inline at::Tensor remainder_tt(const at::Tensor& a, const at::Tensor& b) {
  return flaggems_call("flag_gems::remainder_tt", "remainder.Tensor", {a, b}).one();
}
inline at::Tensor remainder_ts(const at::Tensor& a, double b_scalar) {
  return flaggems_call("flag_gems::remainder_ts", "remainder.Scalar", {a, b_scalar}).one();
}
inline at::Tensor remainder_st(double a_scalar, const at::Tensor& b) {
  return flaggems_call("flag_gems::remainder_st", "remainder.Scalar_Tensor", {a_scalar, b}).one();
}
inline at::Tensor remainder(const at::Tensor& a, const at::Tensor& b) { return remainder_tt(a, b); }
/// aten::remainder_.Tensor
inline at::Tensor remainder_(at::Tensor& a, const at::Tensor& b) {
  flaggems_call("flag_gems::remainder_", "remainder_.Tensor", {a, b});
  return a;
}

// ---- matrices

/// aten::mm
inline at::Tensor mm_tensor(const at::Tensor& mat1, const at::Tensor& mat2) {
  return flaggems_call("flag_gems::mm_tensor", "mm", {mat1, mat2}).one();
}
/// aten::mm.out
inline at::Tensor& mm_out_tensor(const at::Tensor& mat1, const at::Tensor& mat2, at::Tensor& out) {
  flaggems_call("flag_gems::mm_out_tensor", "mm.out", {mat1, mat2, out});
  return out;
}
/// aten::addmm
inline at::Tensor addmm(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2,
                        const at::Scalar& beta = 1, const at::Scalar& alpha = 1) {
  return flaggems_call("flag_gems::addmm", "addmm", {self, mat1, mat2, beta, alpha}).one();
}
/// aten::addmm.out
inline at::Tensor& addmm_out(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2,
                             const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  flaggems_call("flag_gems::addmm_out", "addmm.out", {self, mat1, mat2, beta, alpha, out});
  return out;
}
/// aten::bmm
inline at::Tensor bmm(const at::Tensor& a, const at::Tensor& b) {
  return flaggems_call("flag_gems::bmm", "bmm", {a, b}).one();
}

// ---- reductions, order, indices

/// aten::sum.dim_IntList
inline at::Tensor sum_dim(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim = false,
                          std::optional<at::ScalarType> dtype = std::nullopt) {
  return flaggems_call(
             "flag_gems::sum_dim", "sum.dim_IntList",
             {self, dim.has_value() ? flaggems::detail::flag_gems_ints(*dim) : c10::IValue(),
              keepdim, flaggems::detail::flag_gems_optional(dtype)})
      .one();
}
/// aten::sum
inline at::Tensor sum(const at::Tensor& self, std::optional<at::ScalarType> dtype = std::nullopt) {
  return flaggems_call("flag_gems::sum", "sum", {self, flaggems::detail::flag_gems_optional(dtype)})
      .one();
}
/// aten::max.dim
inline std::tuple<at::Tensor, at::Tensor> max_dim(const at::Tensor& self, int64_t dim,
                                                  bool keepdim) {
  return flaggems_call("flag_gems::max_dim", "max.dim", {self, dim, keepdim}).all<2>();
}
/// aten::max.dim_max
inline std::tuple<at::Tensor&, at::Tensor&> max_dim_max(const at::Tensor& self, int64_t dim,
                                                        bool keepdim, at::Tensor& out_value,
                                                        at::Tensor& out_index) {
  flaggems_call("flag_gems::max_dim_max", "amax.out",
                {self, flaggems::detail::flag_gems_ints(dim), keepdim, out_value});
  flaggems_call("flag_gems::max_dim_max", "argmax.out", {self, dim, keepdim, out_index});
  return {out_value, out_index};
}
/// aten::max
inline at::Tensor max(const at::Tensor& self) {
  return flaggems_call("flag_gems::max", "amax", {self, flaggems::detail::flag_gems_ints({})})
      .one();
}
/// aten::argmax
inline at::Tensor argmax(const at::Tensor& self, std::optional<int64_t> dim = std::nullopt,
                         bool keepdim = false) {
  return flaggems_call("flag_gems::argmax", "argmax",
                       {self, flaggems::detail::flag_gems_optional(dim), keepdim})
      .one();
}
/// aten::topk
inline std::tuple<at::Tensor, at::Tensor> topk(const at::Tensor& x, int64_t k, int64_t dim = -1,
                                               bool largest = true, bool sorted = true) {
  return flaggems_call("flag_gems::topk", "topk", {x, k, dim, largest, sorted}).all<2>();
}
/// aten::sort
inline std::tuple<at::Tensor, at::Tensor> sort(const at::Tensor& self, int64_t dim = -1,
                                               bool descending = false) {
  return flaggems_call("flag_gems::sort", "sort", {self, dim, descending}).all<2>();
}
/// aten::sort.stable
inline std::tuple<at::Tensor, at::Tensor> sort_stable(const at::Tensor& inp,
                                                      c10::optional<bool> stable, int64_t dim = -1,
                                                      bool descending = false) {
  return flaggems_call(
             "flag_gems::sort_stable", "sort.stable",
             {inp, stable.has_value() ? c10::IValue(*stable) : c10::IValue(), dim, descending})
      .all<2>();
}
/// aten::nonzero
inline at::Tensor nonzero(const at::Tensor& inp) {
  return flaggems_call("flag_gems::nonzero", "nonzero", {inp}).one();
}
/// aten::embedding
inline at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices,
                            int64_t padding_idx = -1, bool scale_grad_by_freq = false,
                            bool sparse = false) {
  return flaggems_call("flag_gems::embedding", "embedding",
                       {weight, indices, padding_idx, scale_grad_by_freq, sparse})
      .one();
}
/// aten::embedding_dense_backward; a sparse gradient is refused.
inline at::Tensor embedding_backward(const at::Tensor& grad_outputs, const at::Tensor& indices,
                                     int64_t num_weights, int64_t padding_idx = -1,
                                     bool scale_grad_by_freq = false, bool sparse = false) {
  flaggems::check(!sparse, flaggems::errc::not_supported, "flag_gems::embedding_backward",
                  "a gradient that is not sparse");
  return flaggems_call("flag_gems::embedding_backward", "embedding_dense_backward",
                       {grad_outputs, indices, num_weights, padding_idx, scale_grad_by_freq})
      .one();
}

// ---- rows

/// aten::_softmax
inline at::Tensor softmax(const at::Tensor& input, int64_t dim, bool half_to_float) {
  return flaggems_call(
             "flag_gems::softmax", "softmax.int",
             {input, dim,
              half_to_float ? c10::IValue(static_cast<int64_t>(c10::kFloat)) : c10::IValue()})
      .one();
}
/// aten::_softmax_backward_data
inline at::Tensor softmax_backward(const at::Tensor& grad_output, const at::Tensor& output,
                                   int64_t dim, at::ScalarType input_dtype) {
  at::Tensor r =
      flaggems_call("flag_gems::softmax_backward", "_softmax_backward_data",
                    {grad_output, output, dim, static_cast<int64_t>(grad_output.scalar_type())})
          .one();
  return r.scalar_type() == input_dtype ? r : to_copy(r, input_dtype);
}
/// aten::rms_norm over the dimensions of the weight
inline at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight,
                           double epsilon = 1e-5) {
  return flaggems_call("flag_gems::rms_norm", "rms_norm",
                       {input, flaggems::detail::flag_gems_ints(weight.sizes()), weight, epsilon})
      .one();
}
/// flaggems::gemma_rms_norm: the same with 1 + weight
inline at::Tensor gemma_rms_norm(const at::Tensor& input, const at::Tensor& weight,
                                 double epsilon = 1e-5) {
  return flaggems_call("flag_gems::gemma_rms_norm", "flaggems::gemma_rms_norm",
                       {input, weight, epsilon})
      .one();
}
/// residual += input, input = rms_norm(residual, weight)
inline void fused_add_rms_norm(at::Tensor& input, at::Tensor& residual, const at::Tensor& weight,
                               double epsilon = 1e-5) {
  flaggems_call("flag_gems::fused_add_rms_norm", "flaggems::fused_add_rms_norm",
                {input, residual, weight, epsilon});
}
/// flaggems::apply_rotary_pos_emb
inline std::tuple<at::Tensor, at::Tensor> rotary_embedding(
    const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos, const at::Tensor& sin,
    const std::optional<at::Tensor>& position_ids = std::nullopt, bool rotary_interleaved = false) {
  return flaggems_call("flag_gems::rotary_embedding", "flaggems::apply_rotary_pos_emb",
                       {q, k, cos, sin, flaggems::detail::flag_gems_optional(position_ids),
                        rotary_interleaved})
      .all<2>();
}
/// flaggems::apply_rotary_pos_emb_
inline void rotary_embedding_inplace(at::Tensor& q, at::Tensor& k, const at::Tensor& cos,
                                     const at::Tensor& sin,
                                     const std::optional<at::Tensor>& position_ids = std::nullopt,
                                     bool rotary_interleaved = false) {
  flaggems_call(
      "flag_gems::rotary_embedding_inplace", "flaggems::apply_rotary_pos_emb_",
      {q, k, cos, sin, flaggems::detail::flag_gems_optional(position_ids), rotary_interleaved});
}

// ---- whether ATen's own names are overridden, as a program has said

inline void set_aten_patch_installed(bool installed) {
  flaggems::detail::flag_gems_patch() = installed;
}
inline bool aten_patch_installed() { return flaggems::detail::flag_gems_patch(); }

/// flaggems::act_quant: 8-bit floats and the scales of their blocks. Raises not_supported if this
/// Raises where libtorch has no 8-bit floats, which came with 2.1.
inline void check_f8(const char* function) {
  constexpr auto f8 = static_cast<std::size_t>(flaggems::dtype::f8e4m3);
  flaggems::check(flaggems::detail::scalar_type_of[f8] != c10::ScalarType::Undefined,
                  flaggems::errc::not_supported, function, "a libtorch that has 8-bit floats");
}
inline std::vector<at::Tensor> act_quant_triton(
    const at::Tensor& x, int block_size = 128,
    std::optional<std::string> scale_fmt = std::nullopt) {
  check_f8("flag_gems::act_quant_triton");
  auto [elements, scales] =
      flaggems_call("flag_gems::act_quant_triton", "flaggems::act_quant",
                    {x, static_cast<int64_t>(block_size), scale_fmt.value_or("none")})
          .all<2>();
  return {std::move(elements), std::move(scales)};
}

/// Scales of another dtype, as 8-bit powers of two, become f32.
inline at::Tensor fp8_matmul(const at::Tensor& a, const at::Tensor& a_s, const at::Tensor& b,
                             const at::Tensor& b_s, at::ScalarType /*scale_dtype*/ = at::kFloat) {
  check_f8("flag_gems::fp8_matmul");
  return flaggems_call("flag_gems::fp8_matmul", "flaggems::fp8_matmul",
                       {a, a_s.to(at::kFloat), b, b_s.to(at::kFloat)})
      .one();
}
inline at::Tensor fp8_matmul_direct(const at::Tensor& a, const at::Tensor& a_s, const at::Tensor& b,
                                    const at::Tensor& b_s,
                                    at::ScalarType scale_dtype = at::kFloat) {
  return fp8_matmul(a, a_s, b, b_s, scale_dtype);
}

}  // namespace flag_gems
