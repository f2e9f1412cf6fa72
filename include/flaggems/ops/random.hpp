// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Random numbers: the distributions of kernel/family/random/draw.hpp, into tensors and in new ones.
// An element's number depends on its row-major index and the generator's state only, so strides,
// threads and devices do not change it (but for roundings of elementary functions). Operators
// advance the generator by what they drew.
#pragma once

#include <flaggems/kernel/family/random/draw.hpp>
#include <flaggems/kernel/family/random/poisson.hpp>
#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/sort.hpp>

#include <limits>
#include <optional>
#include <type_traits>

namespace flaggems {

namespace operators {
using bernoulli = kernels::bernoulli_fn<f64>;
using geometric = kernels::geometric_fn<f64>;
using exponential = kernels::exponential_fn<f64>;
using uniform = kernels::uniform_fn<f64>;
using normal = kernels::normal_fn<f64>;
using log_normal = kernels::log_normal_fn<f64>;
using cauchy = kernels::cauchy_fn<f64>;
using random = kernels::integer_fn;
using poisson = kernels::poisson_fn;
}  // namespace operators

namespace detail {

/// What can be drawn of any distribution.
using drawn_types = type_list<f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool>;

/// The type that numbers of dtype T are drawn in.
template <class T, class F>
using drawn_in = std::conditional_t<std::is_same_v<F, kernels::integer_fn>, i64,
                                    std::conditional_t<sizeof(T) == sizeof(f64), f64, f32>>;
/// The significant digits of a dtype; 53 of one that is not floating-point.
template <class T>
inline constexpr int digits_of = [] {
  if constexpr (std::is_same_v<T, f32>)
    return 24;
  else if constexpr (kind_of<T> == kind::floating && !std::is_same_v<T, f64>)
    return T::format::mantissa + 1;
  else
    return 53;
}();

/// Numbers of a distribution F, as dtype T, for the elements in row-major order.
template <class T, class F>
struct draws {
  using element = T;
  using device = void;
  using drawn = drawn_in<T, F>;
  static constexpr bool is_scalar = false;
  static constexpr int leaves = 1;
  F f;
  philox_generator from;

  template <class G>
  void for_each_leaf(G&& g) const {
    g.position();
  }
  template <class C, class Space>
  auto build(const Space& it, int& next) const {
    kernels::position<i64> k{};
    it.copy_strides(next++, k.strides);
    using own = kernels::drawn_fn<decltype(functor_in<drawn>(f)), drawn, digits_of<T>>;
    return converted<C>(
        kernels::node<drawn, own, kernels::position<i64>>{own{functor_in<drawn>(f), from}, k});
  }
};
/// Poisson numbers with the elements of a tensor as rates.
template <class T, class D>
struct poisson_draws {
  using element = T;
  using device = D;
  static constexpr bool is_scalar = false;
  static constexpr int leaves = 2;
  leaf<T, D> rates;
  philox_generator from;

  template <class G>
  void for_each_leaf(G&& g) const {
    rates.for_each_leaf(g);
    g.position();
  }
  template <class C, class Space>
  auto build(const Space& it, int& next) const {
    const auto rate = rates.template build<f64>(it, next);
    kernels::position<i64> k{};
    it.copy_strides(next++, k.strides);
    using node = kernels::node<f64, kernels::poisson_fn, std::remove_const_t<decltype(rate)>,
                               kernels::position<i64>>;
    return converted<C>(node{{from}, rate, k});
  }
};
/// The generator after n numbers of `draws<T, F>`.
template <class T, class F>
philox_generator after_draws(const philox_generator& g, i64 n) {
  constexpr i64 all = 16 / static_cast<i64>(sizeof(drawn_in<T, F>));  // of a block
  return {g.seed, g.offset + static_cast<u64>(n / all + (n % all == 0 ? 0 : 1))};
}

template <class S, class Out, class T, class F>
bool offer_root(const char* op, const S& stream, const Out& out, const draws<T, F>& n) {
  return replaced<F>(op, stream, n.f, n.from, out);
}
template <class S, class Out, class T, class D>
bool offer_root(const char* op, const S& stream, const Out& out, const poisson_draws<T, D>& n) {
  return replaced<operators::poisson>(op, stream, n.rates.view, n.from, out);
}

/// Raises unless dtype T holds the options of a distribution that gives them.
template <class T, class F>
void check_held(const char*, const F&) {}
template <class T>
void check_held(const char* op, const kernels::uniform_fn<f64>& f) {
  check_range<T>(op, f.from);
  check_range<T>(op, f.to);
  check_range<T>(op, f.to - f.from);
}

/// x = numbers of a distribution.
template <class S, class X, class F>
void draw_into(const char* op, const S& stream, X&& x, const F& f, philox_generator& generator) {
  using T = value_t<X>;
  same_device<S, X>();
  const auto to = as_view(x);
  check_held<T>(op, f);
  assign_node(op, stream, to, draws<T, F>{f, generator});
  generator = after_draws<T, F>(generator, to.numel());
}

inline void check_option_of(bool fits, const char* op, const char* expected, f64 got) {
  if (!fits) [[unlikely]]
    raise(errc::invalid_argument, op, expected, text(got));
}
inline void check_probability(const char* op, f64 p) {
  check_option_of(p >= 0 && p <= 1, op, "a probability from 0 to 1", p);
}
/// The distributions, their options checked.
inline auto bernoulli_of(const char* op, f64 p) {
  check_probability(op, p);
  return kernels::bernoulli_fn<f64>{p};
}
inline auto geometric_of(const char* op, f64 p) {
  check_option_of(p > 0 && p < 1, op, "a probability between 0 and 1", p);
  return kernels::geometric_fn<f64>{1 / __builtin_log1p(-p)};
}
inline auto exponential_of(const char* op, f64 lambd) {
  check_option_of(lambd > 0, op, "a positive lambd", lambd);
  return kernels::exponential_fn<f64>{lambd};
}
inline auto uniform_of(const char* op, f64 from, f64 to) {
  if (!(from <= to && __builtin_isfinite(to - from))) [[unlikely]]
    raise(errc::invalid_argument, op, "finite bounds, from <= to, and such a difference",
          text(from) + " and " + text(to));
  return kernels::uniform_fn<f64>{from, to};
}
inline auto normal_of(const char* op, f64 mean, f64 std) {
  check_option_of(std >= 0, op, "a std that is not negative", std);
  return kernels::normal_fn<f64>{mean, std};
}
inline auto log_normal_of(const char* op, f64 mean, f64 std) {
  check_option_of(std > 0, op, "a positive std", std);
  return kernels::log_normal_fn<f64>{mean, std};
}
inline auto cauchy_of(const char* op, f64 median, f64 sigma) {
  check_option_of(sigma > 0, op, "a positive sigma", sigma);
  return kernels::cauchy_fn<f64>{median, sigma};
}

}  // namespace detail

// name_(stream, x, options, generator), name(stream, x, options, generator) of x's sizes and dtype,
// the same into `out`.
#define FLAGGEMS_DRAW_FORMS(name, dtypes, parameters, arguments)                                 \
  template <stream_like S, tensor_like X>                                                        \
  void name##_(const S& stream, X&& x FLAGGEMS_UNPACK parameters, philox_generator& generator) { \
    if constexpr (element_type_in<dtypes, 1, X>())                                               \
      detail::draw_into(#name "_", stream, x,                                                    \
                        detail::name##_of(#name "_" FLAGGEMS_UNPACK arguments), generator);      \
  }                                                                                              \
  template <stream_like S, tensor_like X, tensor_like Out>                                       \
  void name(const S& stream, const X& x FLAGGEMS_UNPACK parameters, philox_generator& generator, \
            Out&& out) {                                                                         \
    if constexpr (element_type_in<dtypes, 1, Out>()) {                                           \
      detail::check_output_sizes(#name, shape(as_view(x).sizes()), as_view(out));                \
      detail::draw_into(#name, stream, out, detail::name##_of(#name FLAGGEMS_UNPACK arguments),  \
                        generator);                                                              \
    }                                                                                            \
  }                                                                                              \
  template <stream_like S, tensor_like X>                                                        \
  [[nodiscard]] auto name(const S& stream, const X& x FLAGGEMS_UNPACK parameters,                \
                          philox_generator& generator) {                                         \
    auto out = detail::empty_in_order<value_t<const X&>>(stream, x, #name);                      \
    name(stream, x FLAGGEMS_UNPACK arguments, generator, out);                                   \
    return out;                                                                                  \
  }
#define FLAGGEMS_DRAW1(name, dtypes, p) FLAGGEMS_DRAW_FORMS(name, dtypes, (, f64 p), (, p))
#define FLAGGEMS_DRAW2(name, dtypes, p, q) \
  FLAGGEMS_DRAW_FORMS(name, dtypes, (, f64 p, f64 q), (, p, q))

/// x = numbers uniform in [from, to), each element of its own; `to` may come where the difference
/// has more digits than the dtype. Floating-point only; `name_` changes x, the others take its
/// sizes. Raises invalid_argument for bounds that are in the other order or not in the range of the
/// dtype, as their difference, and overlap if x overlaps itself, before anything is written.
/// aten::uniform_(Tensor(a!) self, float from=0, float to=1, *, Generator? generator=None)
FLAGGEMS_DRAW2(uniform, floating_types, from, to)
/// Numbers of the normal distribution; otherwise as uniform. Raises invalid_argument for a negative
/// std. aten::normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None)
FLAGGEMS_DRAW2(normal, floating_types, mean, std)
/// e to the numbers of normal; otherwise as uniform. Raises invalid_argument for a std that is not
/// positive. aten::log_normal_(Tensor(a!) self, float mean=1, float std=2, *, Generator?
/// generator=None)
FLAGGEMS_DRAW2(log_normal, floating_types, mean, std)
/// Numbers of the Cauchy distribution; otherwise as uniform. Raises invalid_argument for a sigma
/// that is not positive. aten::cauchy_(Tensor(a!) self, float median=0, float sigma=1, *,
/// Generator? generator=None)
FLAGGEMS_DRAW2(cauchy, floating_types, median, sigma)
/// Positive numbers of the exponential distribution with rate lambd; otherwise as uniform. Raises
/// invalid_argument for a lambd that is not positive. aten::exponential_(Tensor(a!) self, float
/// lambd=1, *, Generator? generator=None)
FLAGGEMS_DRAW1(exponential, floating_types, lambd)
/// How many trials of probability p it takes to succeed: 1, 2, ...; any dtype, otherwise as
/// uniform. Raises invalid_argument for p outside (0, 1).
/// aten::geometric_(Tensor(a!) self, float p, *, Generator? generator=None)
FLAGGEMS_DRAW1(geometric, detail::drawn_types, p)
/// 1 with probability p, else 0; any dtype, otherwise as uniform. Raises invalid_argument for p
/// outside [0, 1]. aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator?
/// generator=None)
FLAGGEMS_DRAW1(bernoulli, detail::drawn_types, p)
#undef FLAGGEMS_DRAW1
#undef FLAGGEMS_DRAW2
#undef FLAGGEMS_DRAW_FORMS

namespace detail {

/// What random_ draws of dtype T by itself: all integers that are not negative, or those that a
/// float counts without gaps.
template <class T>
kernels::integer_fn all_integers() {
  if constexpr (std::is_same_v<T, bool>)
    return {0, 2};
  else if constexpr (kernels::is_integer<T>)
    return {0, static_cast<u64>((std::numeric_limits<T>::max)()) + 1};
  else
    return {0, (u64(1) << digits_of<T>)+1};
}
template <class T>
kernels::integer_fn integers_of(const char* op, i64 low, i64 high) {
  if (low >= high) [[unlikely]]
    raise(errc::invalid_argument, op, "a lower bound below the upper one",
          text(low) + " and " + text(high));
  check_range<T>(op, low);
  check_range<T>(op, high - 1);
  if constexpr (std::is_same_v<T, bool>)
    check_option_of(low >= 0 && high <= 2, op, "bounds from 0 to 2 for bool",
                    static_cast<f64>(low < 0 ? low : high));
  return {low, static_cast<u64>(high) - static_cast<u64>(low)};
}
/// From `low` on up to the greatest of all_integers.
template <class T>
kernels::integer_fn integers_since(const char* op, i64 low) {
  check_range<T>(op, low);
  if constexpr (std::is_same_v<T, bool>)
    check_option_of(low >= 0, op, "a bound from 0 on for bool", static_cast<f64>(low));
  const u64 all = all_integers<T>().count;  // 0: 2^64
  if (low > 0 && all != 0 && static_cast<u64>(low) >= all) [[unlikely]]
    raise(errc::invalid_argument, op, "a lower bound below the greatest integer", text(low));
  return {low, all - static_cast<u64>(low)};
}
/// Memory for x's sizes, of its dtype if T is void.
template <class T, class S, class X>
auto empty_for(const char* op, const S& stream, const X& x, memory_format format) {
  using own = std::conditional_t<std::is_void_v<T>, value_t<const X&>, T>;
  return empty_as<own>(stream, as_view(x), format, op);
}
/// The uniform numbers that decide by probabilities of dtype P.
template <class P>
using deciding = std::conditional_t<std::is_same_v<P, f64>, f64, f32>;

}  // namespace detail

/// x = integers uniform in [from, to), of any dtype; without `to`, up to the greatest that random_
/// draws by itself. Raises invalid_argument for an empty range and for one that the dtype does not
/// hold, and overlap if x overlaps itself, before anything is written.
/// aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None)
template <stream_like S, tensor_like X>
void random_(const S& stream, X&& x, i64 from, std::optional<i64> to, philox_generator& generator) {
  using T = value_t<X>;
  if constexpr (element_type_in<detail::drawn_types, 1, X>())
    detail::draw_into("random_", stream, x,
                      to ? detail::integers_of<T>("random_", from, *to)
                         : detail::integers_since<T>("random_", from),
                      generator);
}
/// From 0 on. aten::random_.to(Tensor(a!) self, int to, *, Generator? generator=None)
template <stream_like S, tensor_like X>
void random_(const S& stream, X&& x, i64 to, philox_generator& generator) {
  random_(stream, x, 0, to, generator);
}
/// All integers of the dtype that are not negative, or up to 2^digits of a floating-point one.
/// aten::random_(Tensor(a!) self, *, Generator? generator=None)
template <stream_like S, tensor_like X>
void random_(const S& stream, X&& x, philox_generator& generator) {
  if constexpr (element_type_in<detail::drawn_types, 1, X>())
    detail::draw_into("random_", stream, x, detail::all_integers<value_t<X>>(), generator);
}

/// out = 1 with the probability that the element of `probs` says, else 0; a NaN counts as 0. probs:
/// floating-point, and broadcasts to out, with which it shares no memory or all of it. Raises
/// shape_mismatch or overlap before anything is written.
/// aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None)
template <stream_like S, tensor_like X, tensor_like P>
void bernoulli_(const S& stream, X&& x, const P& probs, philox_generator& generator) {
  if constexpr (element_type_in<floating_types, 2, P>()) {
    using unit = detail::draws<detail::deciding<value_t<P>>, kernels::unit_fn>;
    assign(stream, x, lt(expr<unit>(unit{{}, generator}), probs), "bernoulli_");
    generator = detail::after_draws<typename unit::element, kernels::unit_fn>(generator,
                                                                              as_view(x).numel());
  }
}
/// The same of x's elements as probabilities, in a new tensor of x's dtype.
/// aten::bernoulli(Tensor self, *, Generator? generator=None)
template <stream_like S, tensor_like X>
[[nodiscard]] auto bernoulli(const S& stream, const X& x, philox_generator& generator) {
  auto out = detail::empty_in_order<value_t<const X&>>(stream, x, "bernoulli");
  bernoulli_(stream, out, x, generator);
  return out;
}

/// Numbers of normal distributions whose means and standard deviations, tensors or numbers, belong
/// to the elements, in a new tensor of the sizes and the dtype that both have together.
/// Floating-point only. Raises invalid_argument for a number that is a negative std; elements are
/// not looked at. aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None)
template <stream_like S, operand Mean, operand Std>
requires(tensor_operand<Mean> || tensor_operand<Std>)
    [[nodiscard]] auto normal(const S& stream, const Mean& mean, const Std& std,
                              philox_generator& generator) {
  using P =
      typename detail::promoted_type<detail::node_t<const Mean&>, detail::node_t<const Std&>>::type;
  static_assert(detail::kind_of<P> == detail::kind::floating,
                "flaggems: the mean and std of normal are floating-point");
  if constexpr (scalar_operand<Std>)
    detail::check_option_of(std >= 0, "normal", "a std that is not negative",
                            kernels::number_cast<f64>(std));
  using numbers = detail::draws<P, kernels::standard_normal_fn>;
  auto out = evaluate(stream, add(mul(expr<numbers>(numbers{{}, generator}), std), mean), "normal");
  generator = detail::after_draws<P, kernels::standard_normal_fn>(generator, out.view().numel());
  return out;
}

/// Numbers of Poisson distributions with x's elements as rates, in a new tensor of x's dtype; NaN
/// for a negative rate. Floating-point only. aten::poisson(Tensor self, Generator? generator=None)
template <stream_like S, tensor_like X>
[[nodiscard]] auto poisson(const S& stream, const X& x, philox_generator& generator) {
  using T = value_t<const X&>;
  const auto from = as_view(x);
  auto out = empty<T>(stream, shape(from.sizes()), "poisson");
  if constexpr (element_type_in<floating_types, 1, X>()) {
    detail::assign_node("poisson", stream, out.view(),
                        detail::poisson_draws<T, device_t<const X&>>{{from}, generator});
    generator.offset += static_cast<u64>(from.numel());
  }
  return out;
}

/// A new tensor of numbers uniform in [0, 1). aten::rand.generator(SymInt[] size, *, Generator?
/// generator, ScalarType? dtype=None)
template <element T = f32, stream_like S>
[[nodiscard]] auto rand(const S& stream, const shape& sizes, philox_generator& generator) {
  auto out = empty<T>(stream, sizes, "rand");
  if constexpr (element_type_in<floating_types, 1, decltype(out)>())
    detail::draw_into("rand", stream, out, kernels::uniform_fn<f64>{0, 1}, generator);
  return out;
}
/// A new tensor of numbers of the standard normal distribution. aten::randn.generator(SymInt[]
/// size, *, Generator? generator, ScalarType? dtype=None)
template <element T = f32, stream_like S>
[[nodiscard]] auto randn(const S& stream, const shape& sizes, philox_generator& generator) {
  auto out = empty<T>(stream, sizes, "randn");
  if constexpr (element_type_in<floating_types, 1, decltype(out)>())
    detail::draw_into("randn", stream, out, kernels::normal_fn<f64>{0, 1}, generator);
  return out;
}
/// A new tensor of integers uniform in [low, high). Raises as random_.
/// aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator,
/// ScalarType? dtype=long)
template <element T = i64, stream_like S>
[[nodiscard]] auto randint(const S& stream, i64 low, i64 high, const shape& sizes,
                           philox_generator& generator) {
  const auto integers = detail::integers_of<T>("randint", low, high);
  auto out = empty<T>(stream, sizes, "randint");
  detail::draw_into("randint", stream, out, integers, generator);
  return out;
}
/// From 0 on. aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator,
/// ScalarType? dtype=long)
template <element T = i64, stream_like S>
[[nodiscard]] auto randint(const S& stream, i64 high, const shape& sizes,
                           philox_generator& generator) {
  return randint<T>(stream, 0, high, sizes, generator);
}

/// rand of x's sizes and dtype (or dtype T), in row-major order or the given memory format; the
/// numbers are those of the indices in either. aten::rand_like.generator(Tensor self, *, Generator?
/// generator, ScalarType? dtype=None, MemoryFormat? memory_format=None)
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto rand_like(const S& stream, const X& x, philox_generator& generator,
                             memory_format format = memory_format::contiguous_format) {
  auto out = detail::empty_for<T>("rand_like", stream, x, format);
  if constexpr (element_type_in<floating_types, 1, decltype(out)>())
    detail::draw_into("rand_like", stream, out, kernels::uniform_fn<f64>{0, 1}, generator);
  return out;
}
/// randn, as rand_like. aten::randn_like.generator(Tensor self, *, Generator? generator,
/// ScalarType? dtype=None, MemoryFormat? memory_format=None)
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto randn_like(const S& stream, const X& x, philox_generator& generator,
                              memory_format format = memory_format::contiguous_format) {
  auto out = detail::empty_for<T>("randn_like", stream, x, format);
  if constexpr (element_type_in<floating_types, 1, decltype(out)>())
    detail::draw_into("randn_like", stream, out, kernels::normal_fn<f64>{0, 1}, generator);
  return out;
}
/// randint, as rand_like; raises as random_. aten::randint_like.low_generator_dtype(Tensor self,
/// SymInt low, SymInt high, *, Generator? generator, ScalarType? dtype=None, MemoryFormat?
/// memory_format=None)
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto randint_like(const S& stream, const X& x, i64 low, i64 high,
                                philox_generator& generator,
                                memory_format format = memory_format::contiguous_format) {
  auto out = detail::empty_for<T>("randint_like", stream, x, format);
  using dtype_of_result = value_t<decltype(out)>;
  detail::draw_into("randint_like", stream, out,
                    detail::integers_of<dtype_of_result>("randint_like", low, high), generator);
  return out;
}

/// The integers below n in an order of which all are equally likely, in a new vector: the places of
/// n random 64-bit numbers in order. Raises invalid_argument for a negative n, or one whose
/// integers the dtype does not hold. aten::randperm.generator(SymInt n, *, Generator? generator,
/// ScalarType? dtype=long)
template <element T = i64, stream_like S>
[[nodiscard]] auto randperm(const S& stream, i64 n, philox_generator& generator) {
  constexpr const char* op = "randperm";
  if (n < 0) [[unlikely]]
    raise(errc::invalid_argument, op, "a size that is not negative", detail::text(n));
  if (n > 0) detail::check_range<T>(op, n - 1);
  auto keys = empty<i64>(stream, {n}, op);
  detail::draw_into(op, stream, keys, kernels::integer_fn{0, 0}, generator);
  auto places = argsort(stream, keys);
  if constexpr (std::is_same_v<T, i64>)
    return places;
  else
    return evaluate(stream, cast<T>(places), op);
}

}  // namespace flaggems
