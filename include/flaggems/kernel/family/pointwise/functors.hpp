// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a row of a pointwise table becomes in a kernel:
// FLAGGEMS_<table>_TABLE(FLAGGEMS_UNARY_FUNCTOR,
// ...) declares `<row>_fn` for each. A digit in a row's kind counts its options: numbers that the
// formula names, which the host holds as f64 and a kernel in the type that it computes in (C).
#pragma once

#include <flaggems/kernel/math/narrow.hpp>

namespace flaggems::kernels {
/// Whether elements at consecutive places share work: then F::group of them from a multiple of that
/// on are computed together (drawn_fn).
template <class F>
inline constexpr bool has_group_form = false;

/// Whether F of numbers with few bits, as those of bf16 in f32, has no more bits than they.
template <class F>
inline constexpr bool keeps_precision = false;
#define FLAGGEMS_KEEPS_PRECISION(name) \
  template <>                          \
  inline constexpr bool keeps_precision<name##_fn> = true;

/// What F is of floats' bits, given the sign's: a functor of words, if it `exists`.
template <class F>
struct word_form {
  static constexpr bool exists = false;
};

/// The functor that SIMT devices take for results of 16 bits.
template <class F>
FLAGGEMS_INLINE F narrow_form(F f) {
  return f;
}
/// Whether most results of a narrow form come from f.attempt(operands..., succeeds), without a
/// branch, so that a vector branches once.
template <class F>
inline constexpr bool has_attempt = false;
/// Calls `next` with f, or with what a uniform branch of f chooses.
template <class F, class Next>
FLAGGEMS_INLINE auto with_choice(F f, Next next) {
  return next(f);
}
}  // namespace flaggems::kernels

#define FLAGGEMS_UNARY_FUNCTOR(name, rule, ...)                  \
  struct name##_fn {                                             \
    template <class V>                                           \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a) const { \
      return __VA_ARGS__;                                        \
    }                                                            \
  };
#define FLAGGEMS_BINARY_FUNCTOR(name, rule, ...)                                      \
  struct name##_fn {                                                                  \
    template <class V>                                                                \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const { \
      return __VA_ARGS__;                                                             \
    }                                                                                 \
  };
#define FLAGGEMS_TERNARY_FUNCTOR(name, rule, ...)                             \
  struct name##_fn {                                                          \
    template <class V>                                                        \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b, \
                                    FLAGGEMS_VALUE(V) c) const {              \
      return __VA_ARGS__;                                                     \
    }                                                                         \
  };

// The narrow form of a row: kernel/math/narrow.hpp has the function.
#define FLAGGEMS_UNARY_NARROW(name)                                          \
  struct name##_narrow_fn {                                                  \
    FLAGGEMS_INLINE f32 operator()(f32 a) const { return name##_narrow(a); } \
  };                                                                         \
  FLAGGEMS_INLINE name##_narrow_fn narrow_form(name##_fn) { return {}; }
#define FLAGGEMS_BINARY_NARROW(name)                                                   \
  struct name##_narrow_fn {                                                            \
    FLAGGEMS_INLINE f32 operator()(f32 a, f32 b) const { return name##_narrow(a, b); } \
  };                                                                                   \
  FLAGGEMS_INLINE name##_narrow_fn narrow_form(name##_fn) { return {}; }

/// With an attempt, name##_attempt.
#define FLAGGEMS_BINARY_ATTEMPT(name)                                                  \
  struct name##_narrow_fn {                                                            \
    FLAGGEMS_INLINE f32 operator()(f32 a, f32 b) const { return name##_narrow(a, b); } \
    FLAGGEMS_INLINE f32 attempt(f32 a, f32 b, bool& succeeds) const {                  \
      return name##_attempt(a, b, succeeds);                                           \
    }                                                                                  \
  };                                                                                   \
  template <>                                                                          \
  inline constexpr bool has_attempt<name##_narrow_fn> = true;                          \
  FLAGGEMS_INLINE name##_narrow_fn narrow_form(name##_fn) { return {}; }

#define FLAGGEMS_UNARY1_FUNCTOR(name, rule, p, p0, ...)          \
  template <class C>                                             \
  struct name##_fn {                                             \
    C p;                                                         \
    template <class To>                                          \
    FLAGGEMS_HD name##_fn<To> in() const {                       \
      return {number_cast<To>(p)};                               \
    }                                                            \
    template <class V>                                           \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a) const { \
      return __VA_ARGS__;                                        \
    }                                                            \
  };
#define FLAGGEMS_UNARY2_FUNCTOR(name, rule, p, p0, q, q0, ...)   \
  template <class C>                                             \
  struct name##_fn {                                             \
    C p, q;                                                      \
    template <class To>                                          \
    FLAGGEMS_HD name##_fn<To> in() const {                       \
      return {number_cast<To>(p), number_cast<To>(q)};           \
    }                                                            \
    template <class V>                                           \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a) const { \
      return __VA_ARGS__;                                        \
    }                                                            \
  };
#define FLAGGEMS_UNARY3_FUNCTOR(name, rule, p, p0, q, q0, r, r0, ...)      \
  template <class C>                                                       \
  struct name##_fn {                                                       \
    C p, q, r;                                                             \
    template <class To>                                                    \
    FLAGGEMS_HD name##_fn<To> in() const {                                 \
      return {number_cast<To>(p), number_cast<To>(q), number_cast<To>(r)}; \
    }                                                                      \
    template <class V>                                                     \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a) const {           \
      return __VA_ARGS__;                                                  \
    }                                                                      \
  };
#define FLAGGEMS_BINARY1_FUNCTOR(name, rule, p, p0, ...)                              \
  template <class C>                                                                  \
  struct name##_fn {                                                                  \
    C p;                                                                              \
    template <class To>                                                               \
    FLAGGEMS_HD name##_fn<To> in() const {                                            \
      return {number_cast<To>(p)};                                                    \
    }                                                                                 \
    template <class V>                                                                \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const { \
      return __VA_ARGS__;                                                             \
    }                                                                                 \
  };
#define FLAGGEMS_BINARY2_FUNCTOR(name, rule, p, p0, q, q0, ...)                       \
  template <class C>                                                                  \
  struct name##_fn {                                                                  \
    C p, q;                                                                           \
    template <class To>                                                               \
    FLAGGEMS_HD name##_fn<To> in() const {                                            \
      return {number_cast<To>(p), number_cast<To>(q)};                                \
    }                                                                                 \
    template <class V>                                                                \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const { \
      return __VA_ARGS__;                                                             \
    }                                                                                 \
  };

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/functors.hpp");
