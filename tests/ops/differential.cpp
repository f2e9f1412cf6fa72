// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Random views, expressions and reductions against a naive evaluation in double. Operands are
// reached through random chains of view operations from a buffer; a model follows each chain by
// listing the buffer's elements one by one. Values are small integers and quarters, so that nearly
// every result is exact and compared as such. The instruction set level is random too.
//
//   FLAGGEMS_TEST_SEED=s    another run (printed)
//   FLAGGEMS_TEST_CASES=n   so many cases instead of 100,000
//   FLAGGEMS_TEST_CASE=k    case k of the seed alone
#include <support/differential.hpp>

namespace flaggems_test {
namespace {

// ---- the set of expressions
using test_case = void (*)(random_source&, description&);

#define POINTWISE(text, tolerance, parameters, arguments, expression, formula, ...) \
  [](random_source& random, description& what) {                                    \
    pointwise_case<__VA_ARGS__>(                                                    \
        random, what, text, tolerance, [] parameters { return expression; },        \
        [] arguments { return formula; });                                          \
  }
#define ONE (const auto& a)
#define TWO (const auto& a, const auto& b)
#define THREE (const auto& a, const auto& b, const auto& c)
#define FIVE (const auto& a, const auto& b, const auto& c, const auto& d, const auto& e)
#define D1 (double a)
#define D2 (double a, double b)
#define D3 (double a, double b, double c)
#define D5 (double a, double b, double c, double d, double e)

constexpr test_case pointwise_cases[] = {
    POINTWISE("f32 a + b", 0, TWO, D2, a + b, a + b, f32, f32, f32),
    POINTWISE("f32 a * b - c", 0, THREE, D3, a* b - c, a* b - c, f32, f32, f32, f32),
    POINTWISE("f32 where(a < b, a, c)", 0, THREE, D3, fg::where(fg::lt(a, b), a, c), a < b ? a : c,
              f32, f32, f32, f32),
    POINTWISE("f32 exp(a / 4) + b", 1e-6, TWO, D2, fg::exp(a / 4) + fg::abs(b),
              std::exp(a / 4) + std::abs(b), f32, f32, f32),
    POINTWISE("f32 maximum(|a|, b)", 0, TWO, D2, fg::maximum(fg::abs(a), b),
              std::fmax(std::abs(a), b), f32, f32, f32),
    POINTWISE("f32 a b + c d - e", 0, FIVE, D5, a* b + c * d - e, a* b + c * d - e, f32, f32, f32,
              f32, f32, f32),
    POINTWISE("f32 clamp(a, b, 2)", 0, TWO, D2, fg::clamp(a, b, 2.0), std::fmin(std::fmax(a, b), 2),
              f32, f32, f32),
    POINTWISE("bf16 a + b", 0, TWO, D2, a + b, a + b, bf16, bf16, bf16),
    POINTWISE("f16 a * b + 1", 0, TWO, D2, a* b + 1, a* b + 1, f16, f16, f16),
    POINTWISE("f32 bf16 + f32", 0, TWO, D2, a + b, a + b, f32, bf16, f32),
#if !FLAGGEMS_TEST_REDUCED
    POINTWISE("f64 a - 2 b", 0, TWO, D2, a - 2 * b, a - 2 * b, f64, f64, f64),
    POINTWISE("f64 f32 a * b", 0, TWO, D2, a* b, a* b, f64, f32, f32),
    POINTWISE("i32 a * b + c", 0, THREE, D3, a* b + c, a* b + c, int32_t, int32_t, int32_t,
              int32_t),
    POINTWISE("u8 a - b", 0, TWO, D2, a - b, a - b, uint8_t, uint8_t, uint8_t),
    POINTWISE("i64 a - b", 0, TWO, D2, a - b, a - b, i64, i64, i64),
    POINTWISE("i8 -a", 0, ONE, D1, -a, -a, int8_t, int8_t),
    POINTWISE("i16 minimum(a, b)", 0, TWO, D2, fg::minimum(a, b), std::fmin(a, b), int16_t, int16_t,
              int16_t),
    POINTWISE("bool a + b", 0, TWO, D2, a + b, a + b, bool, bool, bool),
    POINTWISE("i64 where(bool, i32, i64)", 0, THREE, D3, fg::where(a, b, c), a != 0 ? b : c, i64,
              bool, int32_t, i64),
#endif
    POINTWISE("f32 i32 + f32", 0, TWO, D2, a + b, a + b, f32, int32_t, f32),
    POINTWISE("bool i64 < i32", 0, TWO, D2, fg::lt(a, b), a < b ? 1 : 0, bool, i64, int32_t),
    POINTWISE("bool u8 == i8", 0, TWO, D2, fg::eq(a, b), a == b ? 1 : 0, bool, uint8_t, int8_t),
#if !FLAGGEMS_TEST_REDUCED
    POINTWISE("f32 i32 / 2", 0, ONE, D1, a / 2, a / 2, f32, int32_t),
    POINTWISE("i32 cast(f32)", 0, ONE, D1, fg::cast<int32_t>(a), std::trunc(a), int32_t, f32),
    POINTWISE("i64 cast(f32)", 0, ONE, D1, fg::cast<i64>(a), std::trunc(a), i64, f32),
    POINTWISE("u8 cast(bool)", 0, ONE, D1, fg::cast<uint8_t>(a), a, uint8_t, bool),
    POINTWISE("bool cast(f32)", 0, ONE, D1, fg::cast<bool>(a), a != 0 ? 1 : 0, bool, f32),
    POINTWISE("bf16 cast(f64)", 0, ONE, D1, fg::cast<bf16>(a), a, bf16, f64),
    POINTWISE("i32 number", 0, (), (), 7, 7, int32_t),
#endif
    POINTWISE("f32 a < b", 0, TWO, D2, fg::lt(a, b), a < b ? 1 : 0, f32, f32, f32),
    [](random_source& random, description& what) {
      in_place_case<f32, f32>(
          random, what, "f32 a = a * b + a", [] TWO { return a * b + a; },
          [] D2 { return a * b + a; });
    },
    [](random_source& random, description& what) {
      in_place_case<i64>(
          random, what, "i64 a = 3 - a", [] ONE { return 3 - a; }, [] D1 { return 3 - a; });
    }};

#define REDUCTION(op, needs, parameters, arguments, expression, formula, start, folded, finished, \
                  ...)                                                                            \
  [](random_source& random, description& what) {                                                  \
    reduction_case<__VA_ARGS__>(                                                                  \
        random, what, #op, false, needs,                                                          \
        [](const auto& stream, auto... x) {                                                       \
          const auto all = std::tuple(x...);                                                      \
          constexpr std::size_t n = sizeof...(x) - 3;                                             \
          const auto& out = std::get<n>(all);                                                     \
          const auto& dims = std::get<n + 1>(all);                                                \
          const bool keepdim = std::get<n + 2>(all);                                              \
          [&]<std::size_t... K>(std::index_sequence<K...>) {                                      \
            fg::op(                                                                               \
                stream, [] parameters { return expression; }(std::get<K>(all)...), out, dims,     \
                keepdim);                                                                         \
          }                                                                                       \
          (std::make_index_sequence<n>{});                                                        \
        },                                                                                        \
        [] arguments { return formula; }, start,                                                  \
        [](double& state, double&, double value, i64) { state = folded; },                        \
        [](double state, double, i64 count) {                                                     \
          (void)count;                                                                            \
          return finished;                                                                        \
        });                                                                                       \
  }
#define INDEX_REDUCTION(op, sign, T)                                                              \
  [](random_source& random, description& what) {                                                  \
    reduction_case<i64, T>(                                                                       \
        random, what, #op, true, true,                                                            \
        [](const auto& stream, const auto& x, const auto& out, const shape& dims, bool keepdim) { \
          if (dims.rank() == 0)                                                                   \
            fg::op(stream, x, out, std::nullopt, keepdim);                                        \
          else                                                                                    \
            fg::op(stream, x, out, dims[0], keepdim);                                             \
        },                                                                                        \
        [] D1 { return a; }, -1e300,                                                              \
        [](double& state, double& best, double value, i64 index) {                                \
          if (sign * value > state) {                                                             \
            state = sign * value;                                                                 \
            best = static_cast<double>(index);                                                    \
          }                                                                                       \
        },                                                                                        \
        [](double, double best, i64) { return best; });                                           \
  }
constexpr double inf = std::numeric_limits<double>::infinity();

constexpr test_case reduction_cases[] = {
    REDUCTION(sum, false, ONE, D1, a, a, 0, state + value, state, f32, f32),
    REDUCTION(sum, false, TWO, D2, a* b, a* b, 0, state + value, state, f32, f32, f32),
#if !FLAGGEMS_TEST_REDUCED
    REDUCTION(sum, false, ONE, D1, a, a, 0, state + value, state, i64, int32_t),
    REDUCTION(sum, false, ONE, D1, a, a, 0, state + value, state, i64, bool),
#endif
    REDUCTION(sum, false, ONE, D1, a, a, 0, state + value, state, bf16, bf16),
#if !FLAGGEMS_TEST_REDUCED
    REDUCTION(sum, false, ONE, D1, a, a, 0, state + value, state, f64, f64),
    REDUCTION(mean, false, ONE, D1, a, a, 0, state + value,
              static_cast<double>(static_cast<float>(state) / static_cast<float>(count)), f32, f32),
#endif
    REDUCTION(amax, true, ONE, D1, a, a, -inf, std::fmax(state, value), state, f32, f32),
    REDUCTION(amin, true, ONE, D1, a, a, inf, std::fmin(state, value), state, int32_t, int32_t),
#if !FLAGGEMS_TEST_REDUCED
    REDUCTION(amax, true, ONE, D1, a, a, -inf, std::fmax(state, value), state, uint8_t, uint8_t),
#endif
    REDUCTION(any, false, ONE, D1, a, a, 0, state != 0 || value != 0 ? 1 : 0, state, bool, bool),
    REDUCTION(all, false, ONE, D1, a, a, 1, state != 0 && value != 0 ? 1 : 0, state, bool, f32),
    REDUCTION(any, false, TWO, D2, fg::gt(a, b), a > b ? 1 : 0, 0, state != 0 || value != 0 ? 1 : 0,
              state, bool, f32, f32),
    REDUCTION(prod, false, ONE, D1, fg::where(fg::lt(a, 0), -1, 1), a < 0 ? -1 : 1, 1, state* value,
              state, i64, f32),
    INDEX_REDUCTION(argmax, 1, f32),
    INDEX_REDUCTION(argmin, -1, int32_t)};

void run_case(std::uint64_t seed, std::uint64_t number) {
  random_source random(seed, number);
  const fg::isa_guard guard(
      static_cast<fg::isa_level>(random(0, static_cast<i64>(fg::detected_isa()))));
  description what;
  const bool failed_before = ::testing::Test::HasFailure();
  const auto pick = [&](const auto& cases) {
    return cases[static_cast<std::size_t>(random(0, static_cast<i64>(std::size(cases)) - 1))];
  };
  const test_case run = random.one_in(3) ? pick(reduction_cases) : pick(pointwise_cases);
  try {
    run(random, what);
  } catch (const fg::error& e) {
    // Comparisons of two dtypes refuse an operand that turns out to have no dimensions.
    if (e.code() != fg::errc::dtype_mismatch ||
        what.text.str().find("operand: sizes [] ") == std::string::npos)
      ADD_FAILURE() << e.what();
  }
  if (::testing::Test::HasFailure() && !failed_before)
    ADD_FAILURE() << "at ISA level " << to_string(fg::isa()) << ": " << what.text.str()
                  << "alone: FLAGGEMS_TEST_SEED=" << seed << " FLAGGEMS_TEST_CASE=" << number;
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(differential, views_expressions_reductions) {
  const std::uint64_t first_seed = seed();
  const std::uint64_t only = number_from("FLAGGEMS_TEST_CASE", ~std::uint64_t{0});
  if (only != ~std::uint64_t{0}) return run_case(first_seed, only);
  const std::uint64_t cases = number_from("FLAGGEMS_TEST_CASES", 100000);
  for (std::uint64_t k = 0; k < cases; ++k) {
    run_case(first_seed, k);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace flaggems_test
