// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Element types as run-time values, and dispatch from values to types.
#pragma once

#include <flaggems/error.hpp>
#include <flaggems/kernel/lang/number.hpp>
#include <flaggems/tensor/limits.hpp>

#include <string_view>
#include <type_traits>

namespace flaggems {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // g++ 12 warns of scoped names that shadow nothing
/// The element type of a tensor, as a value.
enum class dtype : u8 {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3,
  f8e5m2,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  bool_,
  c64,
  c128
};
#pragma GCC diagnostic pop

/// The number of enumerators of `dtype`; their values are 0 .. dtype_count - 1.
inline constexpr int dtype_count = 17;

/// A list of types, for `visit`.
template <class... Ts>
struct type_list {
  static constexpr int size = static_cast<int>(sizeof...(Ts));
};

/// Every element type, in the order of `dtype`.
using all_types = type_list<f64, f32, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, u8, u16, u32,
                            u64, bool, c64, c128>;
/// PyTorch's floating-point types without the 8-bit ones, which few operators support.
using floating_types = type_list<f64, f32, f16, bf16>;
/// The integers, without bool.
using integer_types = type_list<i8, i16, i32, i64, u8, u16, u32, u64>;

namespace detail {

template <class T, class List>
inline constexpr int index_in = -1;
template <class T, class... Ts>
inline constexpr int index_in<T, type_list<Ts...>> = [] {
  int found = -1, i = 0;
  ((found = std::is_same_v<T, Ts> ? i : found, ++i), ...);
  return found;
}();

template <int Index, class List>
struct type_at;
template <int Index, class First, class... Rest>
struct type_at<Index, type_list<First, Rest...>> : type_at<Index - 1, type_list<Rest...>> {};
template <class First, class... Rest>
struct type_at<0, type_list<First, Rest...>> {
  using type = First;
};

struct dtype_fact {
  const char* name;
  u8 size;
  char kind;  // f floating point, i signed, u unsigned integer, b bool, c complex
};
inline constexpr dtype_fact dtype_facts[dtype_count + 1] = {
    {"f64", 8, 'f'},    {"f32", 4, 'f'},     {"f16", 2, 'f'},  {"bf16", 2, 'f'},
    {"f8e4m3", 1, 'f'}, {"f8e5m2", 1, 'f'},  {"i8", 1, 'i'},   {"i16", 2, 'i'},
    {"i32", 4, 'i'},    {"i64", 8, 'i'},     {"u8", 1, 'u'},   {"u16", 2, 'u'},
    {"u32", 4, 'u'},    {"u64", 8, 'u'},     {"bool", 1, 'b'}, {"c64", 8, 'c'},
    {"c128", 16, 'c'},  {"unknown", 0, ' '},
};
constexpr const dtype_fact& fact(dtype d) noexcept {
  const int i = static_cast<int>(d);
  return dtype_facts[i < dtype_count ? i : dtype_count];
}

}  // namespace detail

/// Any type a tensor may hold; const is allowed.
template <class T>
concept element = detail::index_in<std::remove_const_t<T>, all_types>
>= 0;

/// The dtype of the element type T (const or not).
template <class T>
requires element<T>
inline constexpr dtype dtype_of =
    static_cast<dtype>(detail::index_in<std::remove_const_t<T>, all_types>);

/// The element type of dtype D.
template <dtype D>
using type_of = typename detail::type_at<static_cast<int>(D), all_types>::type;

/// Bytes per element; 0 for an invalid dtype.
[[nodiscard]] constexpr i64 size_of(dtype d) noexcept { return detail::fact(d).size; }

/// The name of the enumerator; "bool" for `bool_`, "unknown" for an invalid dtype.
[[nodiscard]] constexpr std::string_view to_string(dtype d) noexcept {
  return detail::fact(d).name;
}

/// f64 f32 f16 bf16 f8e4m3 f8e5m2.
[[nodiscard]] constexpr bool is_floating_point(dtype d) noexcept {
  return detail::fact(d).kind == 'f';
}
/// c64 c128.
[[nodiscard]] constexpr bool is_complex(dtype d) noexcept { return detail::fact(d).kind == 'c'; }
/// The integers; with `include_bool` bool too (ATen's isIntegralType).
[[nodiscard]] constexpr bool is_integral(dtype d, bool include_bool = false) noexcept {
  const char kind = detail::fact(d).kind;
  return kind == 'i' || kind == 'u' || (include_bool && kind == 'b');
}
/// Whether the type has negative values.
[[nodiscard]] constexpr bool is_signed(dtype d) noexcept {
  return !(detail::fact(d).kind == 'u' || detail::fact(d).kind == 'b');
}

/// The dtype called `name`: our names, or PyTorch's ("float32", "bfloat16", "half", "long", ...).
/// Raises invalid_argument for any other.
[[nodiscard]] inline dtype parse_dtype(std::string_view name) {
  struct entry {
    const char* name;
    dtype value;
  };
  constexpr entry aliases[] = {
      {"float64", dtype::f64},        {"double", dtype::f64},
      {"float32", dtype::f32},        {"float", dtype::f32},
      {"float16", dtype::f16},        {"half", dtype::f16},
      {"bfloat16", dtype::bf16},      {"float8_e4m3fn", dtype::f8e4m3},
      {"float8_e5m2", dtype::f8e5m2}, {"int8", dtype::i8},
      {"int16", dtype::i16},          {"short", dtype::i16},
      {"int32", dtype::i32},          {"int", dtype::i32},
      {"int64", dtype::i64},          {"long", dtype::i64},
      {"uint8", dtype::u8},           {"uint16", dtype::u16},
      {"uint32", dtype::u32},         {"uint64", dtype::u64},
      {"bool_", dtype::bool_},        {"complex64", dtype::c64},
      {"complex128", dtype::c128},
  };
  for (int i = 0; i < dtype_count; ++i)
    if (name == detail::dtype_facts[i].name) return static_cast<dtype>(i);
  for (const entry& alias : aliases)
    if (name == alias.name) return alias.value;
  raise(errc::invalid_argument, "parse_dtype", "the name of a dtype", name);
}

// ---- promotion

namespace detail {

inline constexpr int no_promotion = -1;

/// The rule of torch.promote_types; -1 where PyTorch refuses. Tests compare it with PyTorch's
/// table.
constexpr int promoted(dtype a, dtype b) noexcept {
  if (a == b) return static_cast<int>(a);
  const auto is_f8 = [](dtype d) { return d == dtype::f8e4m3 || d == dtype::f8e5m2; };
  if (is_f8(a) || is_f8(b)) return no_promotion;
  // In PyTorch the wide unsigned types are for storage: they promote with floating types only.
  const auto is_barebones = [](dtype d) {
    return d == dtype::u16 || d == dtype::u32 || d == dtype::u64;
  };
  if (is_barebones(a) || is_barebones(b)) {
    if (is_floating_point(a)) return static_cast<int>(a);
    if (is_floating_point(b)) return static_cast<int>(b);
    return no_promotion;
  }
  const auto category = [](dtype d) {
    return is_complex(d) ? 3 : is_floating_point(d) ? 2 : is_integral(d) ? 1 : 0;
  };
  const int ca = category(a), cb = category(b);
  if (ca == 3 || cb == 3) {
    const bool wide = a == dtype::c128 || b == dtype::c128 || a == dtype::f64 || b == dtype::f64;
    return static_cast<int>(wide ? dtype::c128 : dtype::c64);
  }
  if (ca != cb) return static_cast<int>(ca > cb ? a : b);
  if (ca == 2) {
    if (size_of(a) != size_of(b)) return static_cast<int>(size_of(a) > size_of(b) ? a : b);
    return static_cast<int>(dtype::f32);  // f16 with bf16
  }
  if (a == dtype::u8 || b == dtype::u8) {  // u8 with a signed type
    const dtype other = a == dtype::u8 ? b : a;
    return static_cast<int>(other == dtype::i8 ? dtype::i16 : other);
  }
  return static_cast<int>(size_of(a) > size_of(b) ? a : b);
}

[[noreturn]] FLAGGEMS_COLD_ONCE void raise_promotion(dtype a, dtype b) {
  raise(errc::dtype_mismatch, "promote", "two dtypes with a common one",
        text(to_string(a)) + " and " + to_string(b));
}

[[noreturn]] FLAGGEMS_COLD_ONCE void raise_dtype(const char* op, const dtype* expected, int n,
                                                 dtype got) {
  text list(n == 1 ? "dtype " : "a dtype of ");
  for (int i = 0; i < n; ++i) {
    if (i != 0) list += i + 1 == n ? " or " : ", ";
    list += to_string(expected[i]);
  }
  raise(errc::dtype_mismatch, op, list, to_string(got));
}

}  // namespace detail

/// Whether `promote(a, b)` exists.
[[nodiscard]] constexpr bool can_promote(dtype a, dtype b) noexcept {
  return detail::promoted(a, b) >= 0;
}

/// The common dtype of a and b, by torch.promote_types. Raises dtype_mismatch for pairs that
/// PyTorch refuses (8-bit floats with others; u16, u32 and u64 with other integers or bool).
[[nodiscard]] constexpr dtype promote(dtype a, dtype b) {
  const int r = detail::promoted(a, b);
  if (r < 0) [[unlikely]]
    detail::raise_promotion(a, b);
  return static_cast<dtype>(r);
}

/// `promote` on types. A pair without a common type does not compile (and is SFINAE-friendly).
template <class A, class B>
requires element<A> && element<B> &&
    (detail::promoted(dtype_of<A>, dtype_of<B>) >=
     0) using promote_t = type_of<static_cast<dtype>(detail::promoted(dtype_of<A>, dtype_of<B>))>;

// ---- dispatch from values to types

namespace detail {
template <class Result, class First, class... Rest, class F>
constexpr Result visit_one_of(type_list<First, Rest...>, dtype d, F& f, const char* op,
                              const dtype* expected, int n) {
  if (d == dtype_of<First>) return f(std::type_identity<First>{});
  if constexpr (sizeof...(Rest) > 0)
    return visit_one_of<Result>(type_list<Rest...>{}, d, f, op, expected, n);
  else
    raise_dtype(op, expected, n, d);
}
}  // namespace detail

/// Calls `f(std::type_identity<T>{})` for the type T of `d` if it is in the list, and returns its
/// result. Otherwise raises dtype_mismatch that names `op` and the dtypes of the list.
template <class First, class... Rest, class F>
constexpr decltype(auto) visit(type_list<First, Rest...> types, dtype d, F&& f, const char* op) {
  using result = decltype(f(std::type_identity<First>{}));
  static_assert((std::is_same_v<result, decltype(f(std::type_identity<Rest>{}))> && ...),
                "visit: the function must return the same type for every dtype");
  constexpr dtype expected[] = {dtype_of<First>, dtype_of<Rest>...};
  return detail::visit_one_of<result>(types, d, f, op, expected,
                                      1 + static_cast<int>(sizeof...(Rest)));
}

/// Calls `f(std::type_identity<T>{})` for the type T of `d`, one of Ts, and returns its result.
/// Otherwise raises dtype_mismatch that names `op` and Ts.
template <class... Ts, class F>
requires(sizeof...(Ts) > 0) constexpr decltype(auto) visit(dtype d, F&& f, const char* op) {
  return visit(type_list<Ts...>{}, d, static_cast<F&&>(f), op);
}

/// Calls `f(std::type_identity<T>{})` for the type T of `d`, any element type.
template <class F>
constexpr decltype(auto) visit(dtype d, F&& f) {
  return visit(all_types{}, d, static_cast<F&&>(f), "visit");
}

}  // namespace flaggems
