// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Values whose type is known at run time: arguments and results of boxed calls.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/registry/schema.hpp>
#include <flaggems/tensor/any_view.hpp>
#include <flaggems/tensor/memory_format.hpp>

#include <concepts>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace flaggems {

struct philox_generator;

/// A tensor whose dtype is known at run time: an owning one, or, of an operator that gives views,
/// one in the memory of an argument, which must live as long. Move only; views must not outlive it.
template <class Device = host>
class any_tensor {
 public:
  using device_type = Device;

  /// Of a result that was not asked for: no elements, f32, sizes [0].
  any_tensor() = default;
  /// Takes a tensor's memory.
  template <class T>
  any_tensor(tensor<T, Device>&& x)
      : view_(x.view()), memory_(std::move(x).release()), has_value_(true) {}

  /// A view of memory that it takes.
  any_tensor(const any_view<Device>& x, pool_block<Device>&& memory)
      : view_(x), memory_(std::move(memory)), has_value_(true) {}

  /// In memory that somebody else owns.
  explicit any_tensor(const any_view<Device>& x) : view_(x), has_value_(true), is_view_(true) {}

  [[nodiscard]] const any_view<Device>& view() const& noexcept { return view_; }
  [[nodiscard]] any_view<Device> view() const&& = delete;
  /// Whether it is in memory that somebody else owns.
  [[nodiscard]] bool is_view() const noexcept { return is_view_; }
  /// Whether it has been given a tensor, be that empty.
  [[nodiscard]] bool has_value() const noexcept { return has_value_; }
  [[nodiscard]] flaggems::dtype dtype() const noexcept { return view_.dtype(); }
  [[nodiscard]] std::span<const i64> sizes() const noexcept { return view_.sizes(); }
  [[nodiscard]] std::span<const i64> strides() const noexcept { return view_.strides(); }
  [[nodiscard]] i64 numel() const noexcept { return view_.numel(); }
  /// The view with its element type. Raises dtype_mismatch if the dtype is not T's.
  template <class T>
  [[nodiscard]] tensor_view<T, Device> as() const& {
    return view_.template as<T>();
  }
  template <class T>
  tensor_view<T, Device> as() const&& = delete;
  /// The memory of a tensor that ends here; none of a view.
  [[nodiscard]] pool_block<Device> release() && noexcept { return std::move(memory_); }

 private:
  any_view<Device> view_;
  pool_block<Device> memory_;
  bool has_value_ = false, is_view_ = false;
};

/// What a boxed call gives, whatever the operator: its tensors (those of a list one by one), its
/// integers, or its bool.
template <class Device = host>
struct any_results {
  std::vector<any_tensor<Device>> tensors;
  std::vector<i64> integers;
  bool truth = false;
};

/// An argument of a boxed call. It owns nothing: views, lists, strings and generators must live
/// until the call has returned. `{}` leaves the argument out, std::nullopt is None.
template <class Device>
class boxed {
 public:
  constexpr boxed() = default;
  constexpr boxed(std::nullopt_t) : kind_(boxed_kind::none) {}
  boxed(const any_view<Device>& x) : kind_(boxed_kind::tensor), view_(&x) {}
  boxed(const any_tensor<Device>& x) : boxed(x.view()) {}
  boxed(std::span<const any_view<Device>> list)
      : kind_(boxed_kind::tensors), size_(static_cast<int>(list.size())), view_(list.data()) {}
  template <class V>
  requires std::integral<V>
  constexpr boxed(V value)
      : kind_(std::is_same_v<V, bool> ? boxed_kind::boolean : boxed_kind::integer),
        integer_(static_cast<i64>(value)) {
    if constexpr (std::is_same_v<std::make_unsigned_t<i64>, V>)
      if (integer_ < 0) [[unlikely]]
        raise(errc::invalid_argument, "boxed", "an integer that i64 can hold", detail::text(value));
  }
  template <class V>
  requires std::floating_point<V>
  constexpr boxed(V value) : kind_(boxed_kind::floating), number_(static_cast<f64>(value)) {}
  /// A complex number, which must live until the call as well.
  constexpr boxed(const c128& value) : kind_(boxed_kind::complex_number), complex_(&value) {}
  constexpr boxed(flaggems::dtype value)
      : kind_(boxed_kind::dtype), integer_(static_cast<i64>(value)) {}
  constexpr boxed(flaggems::memory_format value)
      : kind_(boxed_kind::memory_format), integer_(static_cast<i64>(value)) {}
  constexpr boxed(std::string_view value)
      : kind_(boxed_kind::string), size_(static_cast<int>(value.size())), text_(value.data()) {}
  constexpr boxed(const char* value) : boxed(std::string_view(value)) {}
  constexpr boxed(int_list list)
      : kind_(boxed_kind::integers), size_(list.size()), integers_(list.data()) {}
  constexpr boxed(std::span<const f64> list)
      : kind_(boxed_kind::numbers), size_(static_cast<int>(list.size())), numbers_(list.data()) {}
  constexpr boxed(std::span<const bool> list)
      : kind_(boxed_kind::booleans), size_(static_cast<int>(list.size())), bools_(list.data()) {}
  boxed(philox_generator& generator) : kind_(boxed_kind::generator), generator_(&generator) {}
  template <class V>
  requires std::constructible_from<boxed, const V&>
  constexpr boxed(const std::optional<V>& value)
      : boxed(value ? boxed(*value) : boxed(std::nullopt)) {}
  /// Deleted: name an any_view of a typed tensor, which lives until the call.
  template <tensor_like X>
  boxed(const X&) = delete;

  [[nodiscard]] constexpr boxed_kind kind() const noexcept { return kind_; }
  [[nodiscard]] constexpr bool is_none() const noexcept { return kind_ == boxed_kind::none; }

  // ---- what it holds; the kind must be right
  [[nodiscard]] const any_view<Device>& view() const noexcept { return *view_; }
  [[nodiscard]] std::span<const any_view<Device>> views() const noexcept {
    const bool one = kind_ == boxed_kind::tensor;
    return {view_, one ? std::size_t{1} : static_cast<std::size_t>(size_)};
  }
  [[nodiscard]] constexpr i64 integer() const noexcept { return integer_; }
  /// Of an integer, a floating-point number or bool.
  [[nodiscard]] constexpr f64 number() const noexcept {
    return kind_ == boxed_kind::floating ? number_ : static_cast<f64>(integer_);
  }
  /// Of a complex number, or of what `number` takes.
  [[nodiscard]] constexpr c128 complex_number() const noexcept {
    return kind_ == boxed_kind::complex_number ? *complex_ : c128(number(), 0);
  }
  [[nodiscard]] constexpr bool boolean() const noexcept { return integer_ != 0; }
  [[nodiscard]] constexpr flaggems::dtype dtype() const noexcept {
    return static_cast<flaggems::dtype>(integer_);
  }
  [[nodiscard]] constexpr flaggems::memory_format memory_format() const noexcept {
    return static_cast<flaggems::memory_format>(integer_);
  }
  [[nodiscard]] constexpr std::string_view text() const noexcept {
    return {text_, static_cast<std::size_t>(size_)};
  }
  /// A list of integers; an integer is a list of one, None an empty one.
  [[nodiscard]] constexpr int_list integers() const noexcept {
    if (kind_ == boxed_kind::integer) return {&integer_, 1};
    return kind_ == boxed_kind::integers ? int_list(integers_, size_) : int_list();
  }
  [[nodiscard]] constexpr std::span<const f64> numbers() const noexcept {
    return {numbers_, static_cast<std::size_t>(size_)};
  }
  [[nodiscard]] constexpr std::span<const bool> booleans() const noexcept {
    return {bools_, static_cast<std::size_t>(size_)};
  }
  [[nodiscard]] philox_generator& generator() const noexcept { return *generator_; }

 private:
  boxed_kind kind_ = boxed_kind::unset;
  int size_ = 0;  // of a list or text
  union {
    i64 integer_ = 0;
    f64 number_;
    const char* text_;
    const i64* integers_;
    const f64* numbers_;
    const c128* complex_;
    const bool* bools_;
    const any_view<Device>* view_;
    philox_generator* generator_;
  };
};

}  // namespace flaggems
