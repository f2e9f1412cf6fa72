// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A device type that is chosen when the program runs, among those that it was compiled for. What is
// done with it is compiled once for each; a call costs a jump.
#pragma once

#include <flaggems/device/stream.hpp>
#include <flaggems/error.hpp>

#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <utility>

namespace flaggems {

/// A device of one of the types `Devices`.
template <device... Devices>
class any_device {
  static_assert(sizeof...(Devices) > 0, "flaggems: any_device of no device type");

 public:
  /// The one that $FLAGGEMS_DEVICE names ("opencl", "cuda:1") or, if that is not set, the first of
  /// the first type that has one. Raises invalid_argument for another name, with those that there
  /// are, and device_unavailable with the type's reason.
  [[nodiscard]] static any_device chosen() {
    const char* const name = std::getenv("FLAGGEMS_DEVICE");
    if (name != nullptr && *name != '\0') return named(name);
    any_device found;
    const bool any = first_of([&]<class D>(std::type_identity<D>, int number) {
      found.type_ = number;
      return D::device_count() > 0;
    });
    if (any) return found;
    found.type_ = 0;
    found.visit(
        []<class D>(std::type_identity<D>, int) { detail::raise_no_device<D>("any_device", 0); });
    return found;
  }
  /// The device of this name, as `chosen` has it.
  [[nodiscard]] static any_device named(std::string_view name) {
    any_device found;
    const std::string_view type = name.substr(0, name.find(':'));
    const bool known = first_of([&]<class D>(std::type_identity<D>, int number) {
      found.type_ = number;
      return type == D::name;
    });
    const bool numbered =
        type.size() == name.size() || found.take_index(name.substr(type.size() + 1));
    if (!known || !numbered) [[unlikely]] {
      detail::text names;
      ((names += names.empty() ? "" : ", ", names += Devices::name), ...);
      raise(errc::invalid_argument, "any_device",
            detail::text("a device's name and number, of ") + names, name);
    }
    found.visit([]<class D>(std::type_identity<D>, int index) {
      if (index >= D::device_count()) detail::raise_no_device<D>("any_device", index);
    });
    return found;
  }
  /// A device of a type that is known.
  template <class D>
  requires(std::is_same_v<D, Devices> || ...) [[nodiscard]] static any_device of(int index = 0) {
    any_device found;
    first_of([&]<class Other>(std::type_identity<Other>, int number) {
      found.type_ = number;
      return std::is_same_v<Other, D>;
    });
    found.index_ = index;
    return found;
  }

  [[nodiscard]] const char* name() const {
    return visit([]<class D>(std::type_identity<D>, int) -> const char* { return D::name; });
  }
  [[nodiscard]] int index() const noexcept { return index_; }

  /// f(std::type_identity<D>{}, index) for the device's type D; all return the same type.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return visit_from<Devices...>(0, f);
  }

 private:
  // Whether f(type, number) is true for one, and then it was called for no later one.
  template <class F>
  static bool first_of(F&& f) {
    int number = 0;
    return (f(std::type_identity<Devices>{}, number++) || ...);
  }
  template <class D, class... Rest, class F>
  decltype(auto) visit_from(int number, F& f) const {
    if constexpr (sizeof...(Rest) > 0)
      if (type_ != number) return visit_from<Rest...>(number + 1, f);
    return f(std::type_identity<D>{}, index_);
  }
  bool take_index(std::string_view digits) noexcept {
    if (digits.empty() || digits.size() > 3) return false;
    for (const char c : digits) {
      if (c < '0' || c > '9') return false;
      index_ = 10 * index_ + (c - '0');
    }
    return true;
  }

  int type_ = 0, index_ = 0;
};

/// A stream of a device of one of the types, made on it. It owns the stream.
template <device... Devices>
class any_stream {
 public:
  using device_type = any_device<Devices...>;

  /// A new stream. Raises what making one of its type raises.
  explicit any_stream(const device_type& on) : on_(on) {
    on_.visit([&]<class D>(std::type_identity<D>, int index) { stream_ = new stream<D>(index); });
  }
  any_stream(any_stream&& other) noexcept
      : on_(other.on_), stream_(std::exchange(other.stream_, nullptr)) {}
  any_stream& operator=(any_stream&& other) noexcept {
    std::swap(on_, other.on_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~any_stream() {
    on_.visit(
        [&]<class D>(std::type_identity<D>, int) { delete static_cast<stream<D>*>(stream_); });
  }

  [[nodiscard]] const device_type& device() const noexcept { return on_; }
  /// f(the stream, of its own type); all return the same type.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return on_.visit([&]<class D>(std::type_identity<D>, int) -> decltype(auto) {
      return f(static_cast<const stream<D>&>(*static_cast<const stream<D>*>(stream_)));
    });
  }
  void synchronize() const {
    visit([](const auto& s) { s.synchronize(); });
  }

 private:
  device_type on_;
  void* stream_ = nullptr;
};

}  // namespace flaggems
