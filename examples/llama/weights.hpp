// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The weights of a GGUF file on a device: matrices in the file's blocks or as numbers, vectors.
#pragma once

#include "gguf.hpp"
#include "options.hpp"
#include "tokenizer.hpp"

#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/embedding.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/quantized_linear.hpp>
#include <flaggems/tensor/view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace llama {

namespace fg = flaggems;
using fg::i64;

namespace detail {

/// Raises bad_file unless the tensor has these sizes (rows first, as PyTorch writes them).
inline void check_dims(const gguf& file, const tensor_info& tensor, const fg::shape& sizes) {
  bool same = tensor.rank == static_cast<std::uint32_t>(sizes.rank());
  for (int d = 0; same && d < sizes.rank(); ++d)
    same = tensor.dims[static_cast<std::size_t>(sizes.rank() - 1 - d)] ==
           static_cast<std::uint64_t>(sizes[d]);
  if (same) return;
  fg::shape got;
  for (std::uint32_t d = tensor.rank; d > 0; --d)
    got.push_back(static_cast<i64>(tensor.dims[d - 1]));
  file.refuse("the tensor " + gguf::quoted(tensor.name) + " of sizes " + fg::to_string(sizes),
              "sizes " + fg::to_string(got));
}

/// Bytes of the file where the device can use them: in place if they may be read there as elements
/// of this alignment, else a copy that `kept` owns.
template <class Device>
const std::uint8_t* place(const fg::stream_ref<Device>& stream, std::span<const std::byte> bytes,
                          std::size_t alignment, fg::tensor<std::uint8_t, Device>& kept) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if constexpr (fg::host_accessible<Device>)
    if (reinterpret_cast<std::uintptr_t>(data) % alignment == 0) return data;
  kept = fg::from_values<std::uint8_t>(stream, std::span(data, bytes.size()),
                                       {static_cast<i64>(bytes.size())});
  return kept.data();
}

/// Calls f(T{}) for the element type T of an unquantised tensor, f(Format{}) for a format in
/// blocks. The type is a supported one.
template <class F>
decltype(auto) with_type(tensor_type type, F&& f) {
  switch (type) {
    case tensor_type::f16: return f(fg::f16{});
    case tensor_type::bf16: return f(fg::bf16{});
    case tensor_type::q4_0: return f(fg::kernels::q4_0{});
    case tensor_type::q4_1: return f(fg::kernels::q4_1{});
    case tensor_type::q8_0: return f(fg::kernels::q8_0{});
    case tensor_type::f32: break;
  }
  return f(float{});
}

}  // namespace detail

/// A matrix of weights. It is used in the file's bytes where that is possible, so the file must
/// outlive it.
template <class Device>
class matrix {
 public:
  template <class T>
  using view = fg::tensor_view<T, Device>;

  /// The tensor `name` of [rows, columns], held as the file has it (weight_dtype::q4) or converted
  /// to bf16 or f32; what is left in blocks is multiplied with such `activations`. Raises bad_file.
  matrix(const gguf& file, std::string_view name, i64 rows, i64 columns, weight_dtype hold,
         activation_dtype activations, const fg::stream_ref<Device>& stream);

  /// out [n, rows] = x [n, columns] * matrix^T.
  void apply(const fg::stream_ref<Device>& stream, const view<const float>& x,
             const view<float>& out) const;
  /// out [n, columns] = the rows `ids` [n].
  void rows(const fg::stream_ref<Device>& stream, const view<const token_id>& ids,
            const view<float>& out) const;

 private:
  template <class V>
  static constexpr bool is_view = fg::tensor_like<V>;
  template <class T, class From>
  void convert(const fg::stream_ref<Device>& stream, const From& from);

  std::variant<view<const float>, view<const fg::f16>, view<const fg::bf16>,
               fg::quantized_matrix<fg::kernels::q4_0, Device>,
               fg::quantized_matrix<fg::kernels::q4_1, Device>,
               fg::quantized_matrix<fg::kernels::q8_0, Device>>
      values_;
  fg::tensor<std::uint8_t, Device> kept_;  // what values_ views, unless that is the file
  fg::quantized_linear_options options_;
};

template <class Device>
matrix<Device>::matrix(const gguf& file, std::string_view name, i64 rows, i64 columns,
                       weight_dtype hold, activation_dtype activations,
                       const fg::stream_ref<Device>& stream)
    : values_(view<const float>(nullptr, {0, 0})) {
  if (activations == activation_dtype::q8) options_.activations = fg::activation_format::q8;
  const tensor_info& tensor = file.tensor(name);
  detail::check_dims(file, tensor, {rows, columns});
  detail::with_type(tensor.type, [&](auto type) {
    using stored = decltype(type);
    using element = std::conditional_t<fg::element<stored>, stored, std::uint8_t>;
    fg::tensor<std::uint8_t, Device> kept;
    const auto* data = detail::place(stream, tensor.bytes, alignof(element), kept);
    const auto keep = [&](const auto& values) {
      if (hold == weight_dtype::f32)
        convert<float>(stream, values);
      else if (hold == weight_dtype::bf16)
        convert<fg::bf16>(stream, values);
      else
        values_ = values;
      // What was converted is not needed any more.
      if (kept_.empty()) kept_ = std::move(kept);
    };
    if constexpr (fg::element<stored>)
      keep(view<const stored>(reinterpret_cast<const stored*>(data), {rows, columns}));
    else
      keep(fg::quantized_matrix<stored, Device>(data, rows, columns));
  });
}

template <class Device>
template <class T, class From>
void matrix<Device>::convert(const fg::stream_ref<Device>& stream, const From& from) {
  if constexpr (std::is_same_v<From, view<const T>>) {
    values_ = from;
  } else {
    fg::shape sizes;
    if constexpr (is_view<From>)
      sizes = from.shape_of();
    else
      sizes = {from.rows(), from.columns()};
    kept_ = fg::empty<std::uint8_t>(stream, {sizes.numel() * static_cast<i64>(sizeof(T))});
    const view<T> to(reinterpret_cast<T*>(kept_.data()), sizes);
    if constexpr (is_view<From>)
      fg::copy_(stream, to, from);
    else
      fg::dequantize(stream, from, to);
    stream.synchronize();
    values_ = view<const T>(to);
  }
}

template <class Device>
void matrix<Device>::apply(const fg::stream_ref<Device>& stream, const view<const float>& x,
                           const view<float>& out) const {
  std::visit(
      [&](const auto& values) {
        if constexpr (is_view<decltype(values)>)
          fg::linear(stream, x, values, out);
        else
          fg::quantized_linear(stream, x, values, out, options_);
      },
      values_);
}

template <class Device>
void matrix<Device>::rows(const fg::stream_ref<Device>& stream, const view<const token_id>& ids,
                          const view<float>& out) const {
  std::visit(
      [&](const auto& values) {
        if constexpr (!is_view<decltype(values)>)
          fg::quantized_embedding(stream, values, ids, out);
        else if constexpr (std::is_same_v<fg::value_t<decltype(values)>, float>)
          fg::embedding(stream, values, ids, out);
        else
          fg::copy_(stream, out, fg::embedding(stream, values, ids));
      },
      values_);
}

/// The vector `name` of `size` elements (of F32, F16 or BF16) as f32 on the device. Raises
/// bad_file.
template <class Device>
[[nodiscard]] fg::tensor<float, Device> read_vector(const gguf& file, std::string_view name,
                                                    i64 size,
                                                    const fg::stream_ref<Device>& stream) {
  const tensor_info& tensor = file.tensor(name);
  detail::check_dims(file, tensor, {size});
  auto result = fg::empty<float>(stream, {size});
  detail::with_type(tensor.type, [&](auto type) {
    using stored = decltype(type);
    if constexpr (fg::element<stored>) {
      fg::tensor<std::uint8_t, Device> kept;
      const auto* data = detail::place(stream, tensor.bytes, alignof(stored), kept);
      fg::copy_(
          stream, result,
          fg::tensor_view<const stored, Device>(reinterpret_cast<const stored*>(data), {size}));
      stream.synchronize();
    } else {
      file.refuse("F32, F16 or BF16 elements of " + gguf::quoted(name),
                  describe(tensor.type)->name);
    }
  });
  return result;
}

}  // namespace llama
