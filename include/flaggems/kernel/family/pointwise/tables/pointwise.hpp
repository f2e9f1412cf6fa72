// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The basic pointwise operators, one line each; the tables beside this one have the others, by
// kind. A line yields the functor, the expression form, the eager, out and in-place forms, the
// scalar overloads, the test, the benchmark and the rows of the generated pages. To add one: the
// line, a reference in double of the same name in tests/support/pointwise_reference.hpp (without it
// the tests do not compile), and the pages (docs/tutorial.md, "A pointwise operator").
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>

// name, promotion rule, result as a formula over a, b, c
//
// In a formula V is the type of a, b and c: a number of the compute type, or a vector of them.
//   constants     V(1) of small integers, V(element_of<V>(0.5)) of others; an option is V(option)
//   conditions    select(mask_of<V>(a > b), x, y), as a comparison of vectors gives a mask
//   functions     those of flaggems::kernels (kernel/math/), which are not the operators: a square
//                 is a * a
// A longer formula is a function of a, b, c above its table, as in activation.hpp.
//
// Rules:  numeric        the promoted type; bool operands give bool
//         arithmetic     the same, bool alone refused (as ATen refuses neg and sub of bool)
//         integral       the same, bool becomes i64 (as ATen's powers with an integer exponent)
//         whole_number   the same, integers only
//         bits           the same, integers and bool only
//         to_float       the promoted type, integers and bool become f32
//         to_f64         f64
//         floating       floating-point operands only
//         to_bool        computed in the promoted type, result bool
// clang-format off
#define FLAGGEMS_POINTWISE_TABLE(UNARY, BINARY, TERNARY)   \
  UNARY(neg,         arithmetic, negative(a))              \
  UNARY(abs,         numeric,    abs(a))                   \
  UNARY(square,      integral,   wrapping_mul(a, a))       \
  UNARY(relu,        arithmetic, relu(a))                  \
  UNARY(exp,         to_float,   exp(a))                   \
  UNARY(exp2,        to_float,   exp2(a))                  \
  UNARY(expm1,       to_float,   expm1(a))                 \
  UNARY(log,         to_float,   log(a))                   \
  UNARY(log1p,       to_float,   log1p(a))                 \
  UNARY(log2,        to_float,   log2(a))                  \
  UNARY(sqrt,        to_float,   sqrt(a))                  \
  UNARY(rsqrt,       to_float,   rsqrt(a))                 \
  UNARY(reciprocal,  to_float,   V(1) / a)                 \
  UNARY(sin,         to_float,   sin(a))                   \
  UNARY(cos,         to_float,   cos(a))                   \
  UNARY(tanh,        to_float,   tanh(a))                  \
  UNARY(erf,         to_float,   erf(a))                   \
  UNARY(sigmoid,     to_float,   sigmoid(a))               \
  UNARY(silu,        floating,   silu(a))                  \
  UNARY(gelu_none,   floating,   gelu(a))                  \
  UNARY(gelu_tanh,   floating,   gelu_tanh(a))             \
  UNARY(logical_not, to_bool,    a == V(0))                \
  BINARY(add,        numeric,    wrapping_add(a, b))       \
  BINARY(sub,        arithmetic, wrapping_sub(a, b))       \
  BINARY(mul,        numeric,    wrapping_mul(a, b))       \
  BINARY(div,        to_float,   a / b)                    \
  BINARY(pow,        arithmetic, pow(a, b))                \
  BINARY(maximum,    numeric,    maximum(a, b))            \
  BINARY(minimum,    numeric,    minimum(a, b))            \
  BINARY(eq,         to_bool,    a == b)                   \
  BINARY(ne,         to_bool,    a != b)                   \
  BINARY(lt,         to_bool,    a < b)                    \
  BINARY(le,         to_bool,    a <= b)                   \
  BINARY(gt,         to_bool,    a > b)                    \
  BINARY(ge,         to_bool,    a >= b)                   \
  BINARY(logical_and, to_bool,   mask_of<V>((a != V(0)) & (b != V(0)))) \
  BINARY(logical_or, to_bool,    mask_of<V>((a != V(0)) | (b != V(0)))) \
  BINARY(logical_xor, to_bool,   mask_of<V>((a != V(0)) ^ (b != V(0)))) \
  TERNARY(clamp,     numeric,    minimum(maximum(a, b), c))

// Other names of these operators, and of those in ops/arithmetic.hpp.
#define FLAGGEMS_POINTWISE_ALIASES(ALSO) \
  ALSO(absolute,      abs)               \
  ALSO(negative,      neg)               \
  ALSO(greater,       gt)                \
  ALSO(greater_equal, ge)                \
  ALSO(less,          lt)                \
  ALSO(less_equal,    le)                \
  ALSO(not_equal,     ne)                \
  ALSO(subtract,      sub)               \
  ALSO(multiply,      mul)               \
  ALSO(divide,        div)               \
  ALSO(true_divide,   div)
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_UNARY_FUNCTOR, FLAGGEMS_BINARY_FUNCTOR, FLAGGEMS_TERNARY_FUNCTOR)
FLAGGEMS_UNARY_NARROW(exp)
FLAGGEMS_UNARY_NARROW(expm1)
FLAGGEMS_UNARY_NARROW(log)
FLAGGEMS_UNARY_NARROW(log1p)
FLAGGEMS_UNARY_NARROW(log2)
FLAGGEMS_UNARY_NARROW(tanh)
FLAGGEMS_UNARY_NARROW(erf)
FLAGGEMS_UNARY_NARROW(silu)
FLAGGEMS_UNARY_NARROW(gelu_none)

/// gelu by erf or tanh. The choice is uniform, so compilers hoist the branch out of the loop.
struct gelu_fn {
  bool by_tanh;
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a) const {
    if (by_tanh) {
      stay_in_branch();
      return gelu_tanh(a);
    }
    stay_in_branch();
    return gelu(a);
  }
};
template <class Next>
FLAGGEMS_INLINE auto with_choice(gelu_fn f, Next next) {
  if (f.by_tanh) {
    stay_in_branch();
    return next(gelu_tanh_fn{});
  }
  stay_in_branch();
  return next(gelu_none_fn{});
}
struct gelu_and_mul_fn {
  gelu_fn gelu;
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return gelu(a) * b;
  }
};
struct silu_and_mul_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return silu(a) * b;
  }
};
FLAGGEMS_INLINE f32 silu_and_mul_narrow(f32 a, f32 b) { return silu_narrow(a) * b; }
FLAGGEMS_BINARY_NARROW(silu_and_mul)

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/pointwise.hpp");
