// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The weights of a GGUF file on a device: matrices in the file's blocks or as numbers, vectors.
#pragma once

#include "decode_kernels.hpp"
#include "gguf.hpp"
#include "options.hpp"
#include "tokenizer.hpp"

#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/embedding.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/quantized_linear.hpp>
#include <flaggems/tensor/view.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

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

/// Rows of a matrix: a tensor's name, and how many they are.
struct part {
  std::string name;
  i64 rows;
};

/// A matrix of weights in one representation. It may be used in a file's bytes, so the file must
/// outlive it.
template <class Device>
class matrix {
 public:
  template <class T>
  using view = fg::tensor_view<T, Device>;
  using stream_type = fg::stream_ref<Device>;

  /// The tensor `name` of [rows, columns] as the file has it; what is in blocks is multiplied with
  /// such `activations`. Raises bad_file.
  matrix(const gguf& file, std::string_view name, i64 rows, i64 columns,
         activation_dtype activations, const stream_type& stream);
  /// A matrix of numbers of T, written by fill(view).
  template <class T, class F>
  static matrix of(i64 rows, i64 columns, const stream_type& stream, F&& fill) {
    matrix result;
    result.rows_ = rows;
    result.kept_ = fg::empty<std::uint8_t>(stream, {rows * columns * static_cast<i64>(sizeof(T))});
    const view<T> to(reinterpret_cast<T*>(result.kept_.data()), {rows, columns});
    fill(to);
    result.values_ = view<const T>(to);
    return result;
  }

  [[nodiscard]] i64 rows() const noexcept { return rows_; }
  /// The bytes that a product reads.
  [[nodiscard]] i64 bytes() const;
  /// The numbers of T, or null if it holds something else.
  template <class T>
  [[nodiscard]] const view<const T>* numbers() const noexcept {
    return std::get_if<view<const T>>(&values_);
  }

  /// out [n, rows] = x [n, columns] * matrix^T. x and out are of f32; or x is of bf16, and the
  /// matrix too.
  template <class X, class Out>
  void apply(const stream_type& stream, const view<const X>& x, const view<Out>& out) const;
  /// out [n, columns] = the rows `ids` [n], of i32 or i64.
  template <class Id>
  void rows_at(const stream_type& stream, const view<const Id>& ids, const view<float>& out) const;
  /// Writes the numbers of the tensor into `to`.
  template <class T>
  void convert(const stream_type& stream, const view<T>& to) const;

 private:
  template <class V>
  static constexpr bool is_view = fg::tensor_like<V>;
  matrix() : values_(view<const float>(nullptr, {0, 0})) {}

  i64 rows_ = 0;
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
                       activation_dtype activations, const stream_type& stream)
    : matrix() {
  rows_ = rows;
  if (activations == activation_dtype::q8) options_.activations = fg::activation_format::q8;
  const tensor_info& tensor = file.tensor(name);
  detail::check_dims(file, tensor, {rows, columns});
  detail::with_type(tensor.type, [&](auto type) {
    using stored = decltype(type);
    using element = std::conditional_t<fg::element<stored>, stored, std::uint8_t>;
    const auto* data = detail::place(stream, tensor.bytes, alignof(element), kept_);
    if constexpr (fg::element<stored>)
      values_ = view<const stored>(reinterpret_cast<const stored*>(data), {rows, columns});
    else
      values_ = fg::quantized_matrix<stored, Device>(data, rows, columns);
  });
}

template <class Device>
template <class T>
void matrix<Device>::convert(const stream_type& stream, const view<T>& to) const {
  std::visit(
      [&](const auto& values) {
        if constexpr (is_view<decltype(values)>)
          fg::copy_(stream, to, values);
        else
          fg::dequantize(stream, values, to);
      },
      values_);
}

template <class Device>
i64 matrix<Device>::bytes() const {
  return std::visit(
      [](const auto& values) -> i64 {
        if constexpr (is_view<decltype(values)>)
          return values.numel() * static_cast<i64>(sizeof(fg::value_t<decltype(values)>));
        else
          return values.bytes();
      },
      values_);
}

template <class Device>
template <class X, class Out>
void matrix<Device>::apply(const stream_type& stream, const view<const X>& x,
                           const view<Out>& out) const {
  if constexpr (std::is_same_v<X, float>)
    std::visit(
        [&](const auto& values) {
          if constexpr (is_view<decltype(values)>)
            fg::linear(stream, x, values, out);
          else
            fg::quantized_linear(stream, x, values, out, options_);
        },
        values_);
  else
    fg::linear(stream, x, std::get<view<const X>>(values_), out);
}

template <class Device>
template <class Id>
void matrix<Device>::rows_at(const stream_type& stream, const view<const Id>& ids,
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

/// Matrices of the same activations, one below the other: one matrix where they are numbers, so
/// that a SIMT device reads them in one launch; those in blocks stay where and what they are.
template <class Device>
class stacked {
 public:
  using stream_type = fg::stream_ref<Device>;
  explicit stacked(std::vector<matrix<Device>> parts) : parts_(std::move(parts)) {}

  [[nodiscard]] const matrix<Device>& only() const { return parts_.front(); }
  [[nodiscard]] i64 bytes() const {
    i64 sum = 0;
    for (const auto& one : parts_) sum += one.bytes();
    return sum;
  }
  /// out [n, all rows] = x [n, columns] * matrices^T.
  template <class X, class Out>
  void apply(const stream_type& stream, const fg::tensor_view<X, Device>& x,
             const fg::tensor_view<Out, Device>& out) const {
    i64 first = 0;
    for (const auto& one : parts_) {
      one.template apply<X, Out>(stream, x, out.narrow(1, first, one.rows()));
      first += one.rows();
    }
  }

 private:
  std::vector<matrix<Device>> parts_;
};

/// Where the weights come from: a file, or a seed.
template <class Device>
class weight_source {
 public:
  using stream_type = fg::stream_ref<Device>;
  weight_source(const gguf& file, weight_dtype hold, const stream_type& stream)
      : file_(&file), hold_(hold), stream_(stream) {}
  /// Numbers without a meaning; weight_dtype::q4 is not among what they can be held as.
  weight_source(std::uint64_t seed, weight_dtype hold, const stream_type& stream)
      : hold_(hold), seed_(seed), stream_(stream) {
    fg::check(hold != weight_dtype::q4, fg::errc::invalid_argument, "llama::weight_source",
              "numbers for random weights");
  }

  [[nodiscard]] weight_dtype hold() const noexcept { return hold_; }
  /// The tensors of [part.rows, columns], held as asked for. Raises bad_file.
  [[nodiscard]] stacked<Device> matrices(
      const std::vector<part>& parts, i64 columns,
      activation_dtype activations = activation_dtype::f32) const;
  /// The vector `name` of `size` elements (of F32, F16 or BF16) as f32. Raises bad_file.
  [[nodiscard]] fg::tensor<float, Device> vector(std::string_view name, i64 size) const;

 private:
  template <class T>
  matrix<Device> numbers(const std::vector<part>& parts, i64 columns) const;
  // The numbers of a tensor are the same however it is held and whatever stands around it.
  template <class T>
  void draw(std::string_view name, float offset, float scale,
            const fg::tensor_view<T, Device>& to) const;

  const gguf* file_ = nullptr;
  weight_dtype hold_;
  std::uint64_t seed_ = 0;
  stream_type stream_;
};

template <class Device>
stacked<Device> weight_source<Device>::matrices(const std::vector<part>& parts, i64 columns,
                                                activation_dtype activations) const {
  std::vector<matrix<Device>> result;
  if (hold_ == weight_dtype::f32)
    result.push_back(numbers<float>(parts, columns));
  else if (hold_ == weight_dtype::bf16)
    result.push_back(numbers<fg::bf16>(parts, columns));
  else
    for (const part& one : parts)
      result.push_back({*file_, one.name, one.rows, columns, activations, stream_});
  return stacked<Device>(std::move(result));
}

template <class Device>
template <class T>
matrix<Device> weight_source<Device>::numbers(const std::vector<part>& parts, i64 columns) const {
  const auto stored = [&](const part& one) {
    return matrix<Device>(*file_, one.name, one.rows, columns, activation_dtype::f32, stream_);
  };
  if (file_ != nullptr && parts.size() == 1)
    if (auto only = stored(parts[0]); only.template numbers<T>() != nullptr) return only;
  i64 rows = 0;
  for (const part& one : parts) rows += one.rows;
  return matrix<Device>::template of<T>(rows, columns, stream_, [&](const auto& to) {
    i64 first = 0;
    for (const part& one : parts) {
      const auto here = to.narrow(0, first, one.rows);
      if (file_ != nullptr)
        stored(one).convert(stream_, here);
      else  // about as large as keeps the length of what it is multiplied with
        draw(one.name, 0,
             static_cast<float>(
                 std::exp2(std::round(std::log2(3 / static_cast<double>(columns)) / 2))),
             here);
      first += one.rows;
    }
    stream_.synchronize();  // what was converted goes away
  });
}

template <class Device>
template <class T>
void weight_source<Device>::draw(std::string_view name, float offset, float scale,
                                 const fg::tensor_view<T, Device>& to) const {
  fg::philox_generator generator{seed_};
  for (const char c : name)  // FNV-1a
    generator.seed = (generator.seed ^ static_cast<unsigned char>(c)) * 1099511628211U;
  using kernel = random_weights<T>;
  fg::launch_config config;
  config.op = "random_weights";
  config.tiles = fg::kernels::ceil_div(to.numel(), kernel::tile);
  config.work = fg::work_of(16, to.numel());
  fg::launch<kernel>(stream_, config, to.numel(), generator, offset, scale, to.data());
}

template <class Device>
fg::tensor<float, Device> weight_source<Device>::vector(std::string_view name, i64 size) const {
  auto result = fg::empty<float>(stream_, {size});
  if (file_ == nullptr) {
    draw(name, 1, 0.5F, result.view());
    return result;
  }
  const tensor_info& tensor = file_->tensor(name);
  detail::check_dims(*file_, tensor, {size});
  detail::with_type(tensor.type, [&](auto type) {
    using stored = decltype(type);
    if constexpr (fg::element<stored>) {
      fg::tensor<std::uint8_t, Device> kept;
      const auto* data = detail::place(stream_, tensor.bytes, alignof(stored), kept);
      fg::copy_(
          stream_, result,
          fg::tensor_view<const stored, Device>(reinterpret_cast<const stored*>(data), {size}));
      stream_.synchronize();
    } else {
      file_->refuse("F32, F16 or BF16 elements of " + gguf::quoted(name),
                    describe(tensor.type)->name);
    }
  });
  return result;
}

}  // namespace llama
