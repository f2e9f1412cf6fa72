// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The dtype in which the operands of an expression meet: PyTorch's rules (torch.result_type).
// Tensors with dimensions decide, then those without, then numbers: a later group changes the
// result only by a higher kind (bool < integer < float < complex).
#pragma once

#include <flaggems/kernel/family/pointwise/pointwise.hpp>
#include <flaggems/tensor/dtype.hpp>

#include <type_traits>

namespace flaggems {

/// A real number in an expression with tensors: it takes part in promotion only by its kind (bool <
/// integer < float < complex). Arithmetic of integers is modulo 2^n, so any integer is allowed;
/// where a number is compared, selected or stored (eq ... ge, maximum, minimum, clamp, where,
/// assign, fill_, full), an integer that the dtype cannot hold raises invalid_argument.
template <class X>
concept scalar_operand = std::is_arithmetic_v<X> || kernels::is_small_float<X>;
/// A real or complex number.
template <class X>
concept number_operand = scalar_operand<X> || kernels::is_complex<X>;

namespace detail {

// ---- promotion
enum class kind { boolean, integer, floating, complex_number };

template <class T>
inline constexpr kind kind_of = std::is_same_v<T, bool>  ? kind::boolean
                                : std::is_integral_v<T>  ? kind::integer
                                : kernels::is_complex<T> ? kind::complex_number
                                                         : kind::floating;
/// The kind of a dtype.
constexpr kind kind_of_dtype(dtype d) noexcept {
  return is_complex(d)          ? kind::complex_number
         : is_floating_point(d) ? kind::floating
         : is_integral(d)       ? kind::integer
                                : kind::boolean;
}

/// The largest finite number of a floating-point dtype; 0 for others.
template <class T>
constexpr f64 greatest_number() {
  if constexpr (std::is_same_v<T, f64>)
    return __DBL_MAX__;
  else if constexpr (std::is_same_v<T, f32>)
    return static_cast<f64>(__FLT_MAX__);
  else if constexpr (kernels::is_small_float<T>)
    return kernels::number_cast<f64>(
        T::from_bits(static_cast<typename T::format::storage>(T::format::limit - 1)));
  else
    return 0;
}

/// The functors of operators that return a number or compare with it, and their names. They need
/// numbers that the dtype can hold; arithmetic is modulo 2^n.
template <class F>
inline constexpr const char* keeps_numbers = nullptr;
#define FLAGGEMS_KEEPS(name) \
  template <>                \
  inline constexpr const char* keeps_numbers<kernels::name##_fn> = #name;
FLAGGEMS_KEEPS(eq)
FLAGGEMS_KEEPS(ne)
FLAGGEMS_KEEPS(lt)
FLAGGEMS_KEEPS(le)
FLAGGEMS_KEEPS(gt)
FLAGGEMS_KEEPS(ge)
FLAGGEMS_KEEPS(maximum)
FLAGGEMS_KEEPS(minimum)
FLAGGEMS_KEEPS(clamp)
FLAGGEMS_KEEPS(logical_and)
FLAGGEMS_KEEPS(logical_or)
FLAGGEMS_KEEPS(logical_xor)
#undef FLAGGEMS_KEEPS

template <class T>
[[noreturn]] FLAGGEMS_COLD void raise_number(const char* op, const text& got) {
  raise(errc::invalid_argument, op, "a number that " + text(to_string(dtype_of<T>)) + " can hold",
        got);
}
/// Raises unless dtype T can hold the integer `value`; other kinds of T or V pass.
template <class T, class V>
void check_integer(const char* op, V value) {
  if constexpr (kernels::is_integer<T> && std::is_integral_v<V> && !std::is_same_v<V, bool>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    constexpr bool always = is_signed == std::is_signed_v<V> ? sizeof(V) <= sizeof(T)
                                                             : is_signed && sizeof(V) < sizeof(T);
    if constexpr (!always) {
      const auto as_element = static_cast<T>(value);
      bool fits = static_cast<V>(as_element) == value;
      if constexpr (is_signed != std::is_signed_v<V>) {
        if constexpr (is_signed)
          fits = fits && as_element >= 0;
        else
          fits = fits && value >= 0;
      }
      if (!fits) [[unlikely]]
        raise_number<T>(op, text(value));
    }
  }
}

template <kind K>
using default_type = std::conditional_t<
    K == kind::boolean, bool,
    std::conditional_t<K == kind::integer, i64,
                       std::conditional_t<K == kind::floating, f32, complex<f32>>>>;

/// `promote_t` that says what is wrong; the letters are those of the message.
template <class A, class B>
constexpr auto common_type() {
  static_assert(can_promote(dtype_of<A>, dtype_of<B>),
                "flaggems: no common type of element types A and B: cast one of them");
  if constexpr (can_promote(dtype_of<A>, dtype_of<B>))
    return std::type_identity<promote_t<A, B>>{};
  else
    return std::type_identity<A>{};
}

/// The type of complex numbers whose parts are of T.
template <class T>
constexpr auto complex_type() {
  constexpr bool exists = std::is_same_v<T, f32> || std::is_same_v<T, f64>;
  static_assert(exists,
                "flaggems: there are complex numbers of f32 and f64 alone: cast an operand");
  return std::type_identity<complex<std::conditional_t<exists, T, f32>>>{};
}

/// Whether the type of a node says that its values have no dimensions.
template <class Node>
inline constexpr bool has_no_dims = false;

/// The dtype of complex numbers whose parts have a floating-point dtype; -1 where there is none.
constexpr int complex_dtype(dtype parts) noexcept {
  return parts == dtype::f32   ? static_cast<int>(dtype::c64)
         : parts == dtype::f64 ? static_cast<int>(dtype::c128)
                               : no_promotion;
}
/// The dtype of tensors of dtype `a` with dimensions and ones of dtype `b` without; -1 where
/// PyTorch refuses.
constexpr int promoted_without_dims(dtype a, dtype b) noexcept {
  if (is_floating_point(a) && is_complex(b)) return complex_dtype(a);
  const bool counts = a == dtype::bool_ || kind_of_dtype(b) > kind_of_dtype(a);
  return counts ? promoted(a, b) : static_cast<int>(a);
}

/// The promoted dtype of a list of nodes: tensors by `promote_t`, then numbers by their kind.
template <class... Nodes>
struct promoted_type {
  /// Of the tensors that have dimensions, or of those whose types say that they have none.
  template <bool Dims, class Acc>
  static auto tensors(std::type_identity<Acc> acc) {
    return acc;
  }
  template <bool Dims, class Acc, class First, class... Rest>
  static auto tensors(std::type_identity<Acc> acc, const First*, const Rest*... rest) {
    if constexpr (First::is_scalar || has_no_dims<First> == Dims)
      return tensors<Dims>(acc, rest...);
    else if constexpr (std::is_void_v<Acc>)
      return tensors<Dims>(std::type_identity<typename First::element>{}, rest...);
    else
      return tensors<Dims>(common_type<Acc, typename First::element>(), rest...);
  }
  template <bool Dims>
  using group = typename decltype(tensors<Dims>(std::type_identity<void>{},
                                                static_cast<const Nodes*>(nullptr)...))::type;
  template <class A, class B>
  static auto both(std::type_identity<A>, std::type_identity<B>) {
    if constexpr (std::is_void_v<A>)
      return std::type_identity<B>{};
    else if constexpr (std::is_void_v<B>)
      return std::type_identity<A>{};
    else if constexpr (kind_of<A> == kind::floating && kind_of<B> == kind::complex_number)
      return complex_type<A>();
    else if constexpr (promoted_without_dims(dtype_of<A>, dtype_of<B>) == int(dtype_of<A>))
      return std::type_identity<A>{};
    else
      return common_type<A, B>();
  }
  using base = typename decltype(both(std::type_identity<group<true>>{},
                                      std::type_identity<group<false>>{}))::type;
  template <class Node>
  static constexpr kind scalar_kind() {
    if constexpr (Node::is_scalar)
      return kind_of<typename Node::element>;
    else
      return kind::boolean;
  }
  static constexpr kind highest = [] {
    kind k = kind::boolean;
    ((k = scalar_kind<Nodes>() > k ? scalar_kind<Nodes>() : k), ...);
    return k;
  }();
  /// Numbers alone (the branches of a `where`) have the default type of their kind.
  template <class Base>
  static auto with_numbers(std::type_identity<Base> base) {
    if constexpr (std::is_void_v<Base>)
      return std::type_identity<default_type<highest>>{};
    else if constexpr (highest == kind::complex_number && kind_of<Base> == kind::floating)
      return complex_type<Base>();
    else if constexpr (highest > kind_of<Base>)
      return std::type_identity<default_type<highest>>{};
    else
      return base;
  }
  using type = typename decltype(with_numbers(std::type_identity<base>{}))::type;
};

// ---- tensors that turn out to have no dimensions
/// An operand as the check of promotion sees it: its dtype, or -1 for a number.
struct promoted_operand {
  int type;
  bool has_dims;
};
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_no_dims(const char* op, dtype without, dtype with,
                                                   dtype right, dtype used) {
  raise(errc::dtype_mismatch, op,
        "as_scalar(x), cast<T>(x) or x() for a tensor of another dtype without dimensions",
        text(to_string(without)) + " without dimensions with " + to_string(with) +
            ": the result would be " + to_string(used) + ", by PyTorch's rules " +
            to_string(right));
}
/// The dtype of an expression of these operands and of numbers of kind `numbers` at most:
/// torch.result_type; -1 where PyTorch refuses.
FLAGGEMS_NOINLINE_ONCE int result_dtype(const promoted_operand* operands, int n, kind numbers) {
  int with = no_promotion, without = no_promotion;
  for (int i = 0; i < n; ++i) {
    const int type = operands[i].type;
    if (type < 0) continue;
    int& group = operands[i].has_dims ? with : without;
    group = group < 0 ? type : promoted(static_cast<dtype>(group), static_cast<dtype>(type));
    if (group < 0) return no_promotion;
  }
  const int tensors =
      with < 0      ? without
      : without < 0 ? with
                    : promoted_without_dims(static_cast<dtype>(with), static_cast<dtype>(without));
  if (tensors < 0) return no_promotion;
  const dtype right = static_cast<dtype>(tensors);
  const kind own = kind_of_dtype(right);
  if (numbers <= own) return tensors;
  if (numbers == kind::complex_number)
    return own == kind::floating ? complex_dtype(right) : static_cast<int>(dtype::c64);
  return static_cast<int>(numbers == kind::floating ? dtype::f32 : dtype::i64);
}
/// Raises dtype_mismatch if operands without dimensions made the promoted dtype, `used`, another
/// one than PyTorch's. Numbers are of kind `numbers` at most.
FLAGGEMS_NOINLINE_ONCE void check_promotion(const char* op, const promoted_operand* operands, int n,
                                            kind numbers, dtype used) {
  int with = no_promotion, without = no_promotion;
  for (int i = 0; i < n; ++i)
    if (operands[i].type >= 0) (operands[i].has_dims ? with : without) = operands[i].type;
  if (with < 0 || without < 0) return;
  const int right = result_dtype(operands, n, numbers);
  if (right >= 0 && right != static_cast<int>(used)) [[unlikely]]
    raise_no_dims(op, static_cast<dtype>(without), static_cast<dtype>(with),
                  static_cast<dtype>(right), used);
}

}  // namespace detail
}  // namespace flaggems
