// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators by name, called with values whose types are known at run time. The operators of a
// program are compiled by the CMake function flaggems_registry (or by the macros of bind.hpp and
// device.hpp); this header has none of them.
#pragma once

#include <flaggems/registry/boxed.hpp>

#include <initializer_list>
#include <span>
#include <string_view>

namespace flaggems {

template <class Device>
class registered_operator;

namespace bindings {

/// How operands of several dtypes meet.
enum class dtype_rule : u8 {
  same,      ///< one dtype, no conversion
  promoted,  ///< by promotion
  to_float   ///< by promotion, then integers and bool become f32
};

/// What decides the dtype of a tensor parameter.
enum class role : u8 {
  element,    ///< the operator's dtype
  index,      ///< i64
  length,     ///< i32: lengths and starts of sequences, and their pages
  condition,  ///< bool
  kept,       ///< what norms keep: f64 of f64, else f32
  encoded,    ///< f8e4m3, which is not converted: the result's dtype unless one is given
  bytes,      ///< u8, which is not converted
  choice,     ///< one of several: a choice of the line decides
  any,        ///< any, which the operator asks for
  sizes,      ///< any: only sizes and strides are read
  output,     ///< a result's dtype
  no_tensor
};

/// The dtype in which norms of another keep statistics.
constexpr dtype kept_dtype(dtype type) { return type == dtype::f64 ? type : dtype::f32; }

/// bool 0, integers 1, floating point 2, complex 3.
constexpr int kind_number(dtype d) {
  return is_complex(d) ? 3 : is_floating_point(d) ? 2 : is_integral(d) ? 1 : 0;
}
constexpr int kind_number(boxed_kind k) {
  return k == boxed_kind::complex_number ? 3
         : k == boxed_kind::floating     ? 2
         : k == boxed_kind::integer      ? 1
                                         : 0;
}

/// Which of an operator's forms an entry is.
enum class form : u8 { functional, in_place, out };

/// What an entry checks of an argument: the kinds that it takes, as bits, and its role.
struct slot {
  u32 accepts = 0;
  role plays = role::no_tensor;
  bool promotes = false;  // a number that takes part in promotion
  bool limited = false;   // alpha, whose kind must not be above the operands'
  bool is_false = false;  // what the typed operator does not have
  bool written = false;   // in place, besides the outputs
};

template <class Device>
struct call_frame {
  const stream_ref<Device>& stream;
  const boxed<Device>* arguments;
  any_tensor<Device>* results;
  bool with_dtype = false;             // the result's dtype was given
  any_results<Device>* any = nullptr;  // for integers, a list or a bool
};

/// An operator compiled for a dtype; null for forms that it does not have.
template <class Device>
struct instance {
  using function = void (*)(const call_frame<Device>&);
  function create = nullptr, in_place = nullptr, write = nullptr;
  bool may_be_given = true;                           // as the results' dtype
  flaggems::dtype results[detail::max_results] = {};  // of the new tensors
};

/// What the forms of an operator share.
template <class Device>
struct operator_facts {
  dtype_rule rule = dtype_rule::same;
  int dtype_parameter = -1;              // the place of ScalarType
  int float_if_none = -1;                // of what makes the results f32 if it is None
  int narrow_parameter = -1;             // of the bool that makes the results i32
  dtype encoded_result = dtype::f8e4m3;  // of operands that are encoded, if none is given
  int new_results = 0;
  parameter_kind gives = parameter_kind::tensor;  // what is not tensors alone, if there is such
  bool gives_views = false;   // it looks at no element, so that it takes any dtypes
  bool passes_dtype = false;  // ScalarType is the results' dtype; else that of the operands
  bool converts = true;       // operands of another dtype than the operator's
  bool same_outputs = false;  // outputs of the results' dtypes alone
  instance<Device> instances[dtype_count] = {};
};

/// A family's entries on a device, sorted by key. Defined by FLAGGEMS_REGISTRY_FAMILY.
template <class Family, class Device>
struct family_operators {
  static std::span<const registered_operator<Device>> get();
};

}  // namespace bindings

/// An entry of the registry: a schema and what it calls.
template <class Device>
class registered_operator {
 public:
  constexpr registered_operator() = default;
  constexpr registered_operator(const flaggems::schema& schema, int version, bindings::form form,
                                const bindings::slot* slots,
                                const bindings::operator_facts<Device>& facts)
      : schema_(&schema), slots_(slots), facts_(&facts), version_(version), form_(form) {}

  [[nodiscard]] constexpr const flaggems::schema& schema() const noexcept { return *schema_; }
  /// Changes with the schema, and with what the operator means by it.
  [[nodiscard]] constexpr int version() const noexcept { return version_; }
  [[nodiscard]] constexpr bindings::form form() const noexcept { return form_; }
  /// Whether operands of several dtypes, and numbers, decide the dtype together.
  [[nodiscard]] constexpr bool promotes() const noexcept {
    return facts_->rule != bindings::dtype_rule::same;
  }
  /// Whether it was compiled for an operator's dtype. Operands may be converted to one that it was.
  [[nodiscard]] constexpr bool has(dtype type) const noexcept {
    return instance_of(type) != nullptr;
  }

  /// Calls the operator. Arguments are in the order of the schema, outputs among them; those at the
  /// end, and ones that are `{}`, have their defaults. New tensors come into `results`, as many as
  /// the schema has that are not `(a!)`. Operands are converted where the operator promotes. Raises
  /// invalid_argument for a wrong kind of argument or an operator that gives more than new tensors,
  /// dtype_mismatch for dtypes that it was not compiled for, and what the operator raises.
  void call(const stream_ref<Device>& stream, std::span<const boxed<Device>> arguments,
            std::span<any_tensor<Device>> results) const;
  void call(const stream_ref<Device>& stream, std::initializer_list<boxed<Device>> arguments,
            std::span<any_tensor<Device>> results) const {
    call(stream, std::span<const boxed<Device>>(arguments.begin(), arguments.size()), results);
  }
  /// The same for any operator.
  void call(const stream_ref<Device>& stream, std::span<const boxed<Device>> arguments,
            any_results<Device>& results) const;
  /// The same for an operator with one new tensor or none, which gives an empty one.
  any_tensor<Device> operator()(const stream_ref<Device>& stream,
                                std::span<const boxed<Device>> arguments) const {
    any_tensor<Device> result;
    call(stream, arguments, std::span(&result, wanted_results() > 0 ? 1u : 0u));
    return result;
  }
  any_tensor<Device> operator()(const stream_ref<Device>& stream,
                                std::initializer_list<boxed<Device>> arguments) const {
    return (*this)(stream, std::span<const boxed<Device>>(arguments.begin(), arguments.size()));
  }

 private:
  [[nodiscard]] constexpr typename bindings::instance<Device>::function function_of(
      const bindings::instance<Device>& one) const noexcept {
    return form_ == bindings::form::functional ? one.create
           : form_ == bindings::form::in_place ? one.in_place
                                               : one.write;
  }
  [[nodiscard]] constexpr typename bindings::instance<Device>::function instance_of(
      dtype type) const noexcept {
    const auto at = static_cast<unsigned>(type);
    return at < static_cast<unsigned>(dtype_count) ? function_of(facts_->instances[at]) : nullptr;
  }
  /// How many outputs are among the arguments, and where they begin.
  [[nodiscard]] constexpr int outputs() const noexcept {
    return form_ == bindings::form::out        ? facts_->new_results
           : form_ == bindings::form::in_place ? 1
                                               : 0;
  }
  [[nodiscard]] constexpr int first_output() const noexcept {
    return form_ == bindings::form::out
               ? static_cast<int>(schema_->parameters.size()) - facts_->new_results
               : 0;
  }
  /// How many results a call gives that are no arguments.
  [[nodiscard]] constexpr int wanted_results() const noexcept {
    return form_ == bindings::form::functional ? facts_->new_results : 0;
  }
  void call_with_defaults(const stream_ref<Device>& stream, std::span<const boxed<Device>> given,
                          any_tensor<Device>* results, any_results<Device>* any) const;
  void call_complete(const stream_ref<Device>& stream, const boxed<Device>* arguments,
                     any_tensor<Device>* results, any_results<Device>* any) const;
  dtype result_dtype(const bindings::instance<Device>& one, const boxed<Device>* arguments,
                     bool with_dtype, dtype type, int k) const;
  void call_converted(const bindings::instance<Device>& one,
                      const bindings::call_frame<Device>& frame, dtype type,
                      bool same_outputs) const;

  const flaggems::schema* schema_ = nullptr;
  const bindings::slot* slots_ = nullptr;
  const bindings::operator_facts<Device>* facts_ = nullptr;
  int version_ = 0;
  bindings::form form_ = bindings::form::functional;
};

/// The operators of a device that a program was linked with.
template <class Device = host>
class registry {
 public:
  /// A family's entries, sorted by key.
  using family = std::span<const registered_operator<Device>> (*)();
  /// The families, in the order in which they were named.
  [[nodiscard]] static std::span<const family> families();

  /// The operator "name", "name.overload" or "namespace::name.overload"; null if there is none. A
  /// search by name: keep what it gives.
  [[nodiscard]] static const registered_operator<Device>* find(std::string_view key) {
    if (key.starts_with("aten::")) key.remove_prefix(6);
    for (const family one : families()) {
      const auto all = one();
      std::size_t low = 0, high = all.size();
      while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (all[middle].schema().key() < key)
          low = middle + 1;
        else
          high = middle;
      }
      if (low < all.size() && all[low].schema().key() == key) return &all[low];
    }
    return nullptr;
  }
  /// The same; raises not_supported if there is none.
  [[nodiscard]] static const registered_operator<Device>& at(std::string_view key) {
    const auto* const found = find(key);
    if (found == nullptr) [[unlikely]]
      raise_absent(key);
    return *found;
  }

 private:
  [[noreturn]] FLAGGEMS_COLD static void raise_absent(std::string_view key) {
    const detail::text own = detail::text("flaggems::") + key;
    raise(errc::not_supported, "registry",
          find(own.c_str()) != nullptr
              ? own
              : detail::text("an operator of a family that the program was linked with"),
          key);
  }
};

}  // namespace flaggems
