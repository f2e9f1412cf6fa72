// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Families that have a line for each row of a pointwise table.
#include <flaggems/registry/families/arithmetic.hpp>
#include <flaggems/registry/families/bitwise.hpp>
#include <flaggems/registry/families/comparison.hpp>
#include <flaggems/registry/families/rounding.hpp>
#include <registry/support.hpp>

namespace of = flaggems::operator_families;
FLAGGEMS_REGISTRY_FAMILY(of::rounding, flaggems::host, flaggems::f32);
FLAGGEMS_REGISTRY_FAMILY(of::comparison, flaggems::host, flaggems::f32);
FLAGGEMS_REGISTRY_FAMILY(of::bitwise, flaggems::host, flaggems::i64);
FLAGGEMS_REGISTRY_FAMILY(of::arithmetic, flaggems::host, flaggems::f32, flaggems::f64,
                         flaggems::i64, bool, flaggems::c64);

namespace flaggems_test {
namespace {

#define NONE(...)
#define CHECK(name, ...) check(#name, {x}, [&] { return fg::name(s, a); });
#define CHECK_ALIAS(other, name) check(#other, {x}, [&] { return fg::name(s, a); });

struct registry_tables : testing::Test {
  const fg::stream<host>& s = stream_of<host>();
  fg::tensor<f32> a = numbers({3, 4}, 0.5, 2), b = numbers({3, 4}, 0.5, 2, 7);
  fg::tensor<i64> m = numbers<i64>({6}, 1, 9), n = numbers<i64>({6}, 1, 9, 3);
  fg::tensor<bool> t = fg::gt(s, a, b);
  view<host> x{a}, y{b}, p{m}, q{n}, c{t};
};

TEST_F(registry_tables, rounding) {
  FLAGGEMS_ROUNDING_TABLE(CHECK, NONE)
  FLAGGEMS_ROUNDING_ALIASES(CHECK_ALIAS)
  EXPECT_EQ(fg::registry<host>::find("signbit_"), nullptr);
  check("copysign.Tensor", {x, y}, [&] { return fg::copysign(s, a, b); });
  check("copysign.Scalar", {x, -1}, [&] { return fg::copysign(s, a, -1); });
  check("round.decimals", {x, 1}, [&] { return fg::round(s, a, 1); });
  check("frexp.Tensor", {x}, [&] { return fg::frexp(s, a); });
  check("nextafter", {x, y}, [&] { return fg::nextafter(s, a, b); });
  check("special_round", {x}, [&] { return fg::round(s, a); });
  check("special_round", {x, 2}, [&] { return fg::round(s, a, 2); });
}

TEST_F(registry_tables, comparison) {
  FLAGGEMS_COMPARISON_TABLE(CHECK)
  check("isclose", {x, y}, [&] { return fg::isclose(s, a, b); });
  check("isclose", {x, y, 0.5, 0.125, true}, [&] {
    return fg::isclose(s, a, b, {0.5, 0.125, true});
  });
}

TEST_F(registry_tables, bitwise) {
  check("bitwise_not", {p}, [&] { return fg::bitwise_not(s, m); });
#define SCALAR_OF_bits ".Scalar"
#define SCALAR_OF_whole_number ".Tensor_Scalar"
#define CHECK_BITS(name, rule, ...)                                         \
  check(#name ".Tensor", {p, q}, [&] { return fg::name(s, m, n); });        \
  check(#name SCALAR_OF_##rule, {p, 3}, [&] { return fg::name(s, m, 3); }); \
  check(#name ".Scalar_Tensor", {3, q}, [&] { return fg::name(s, 3, n); });
  FLAGGEMS_BITWISE_TABLE(NONE, CHECK_BITS)
  const auto python = [&](const std::string& name, auto typed) {
    check("__" + name + "__.Tensor", {p, q}, [&] { return typed(m, n); });
    check("__" + name + "__.Scalar", {p, 2}, [&] { return typed(m, 2); });
    for (const bool scalar : {false, true}) {
      const auto changed = copy_of(p);
      const auto& op = fg::registry<host>::at("__i" + name + (scalar ? "__.Scalar" : "__.Tensor"));
      note(op);
      op(s, {changed, scalar ? fg::boxed<host>(2) : fg::boxed<host>(q)});
      expect_same(changed.view(), boxed_results(scalar ? typed(m, 2) : typed(m, n))[0].view(),
                  name);
    }
  };
  python("and", [&](const auto& v, const auto& w) { return fg::bitwise_and(s, v, w); });
  python("or", [&](const auto& v, const auto& w) { return fg::bitwise_or(s, v, w); });
  python("xor", [&](const auto& v, const auto& w) { return fg::bitwise_xor(s, v, w); });
  python("lshift", [&](const auto& v, const auto& w) { return fg::bitwise_left_shift(s, v, w); });
  python("rshift", [&](const auto& v, const auto& w) { return fg::bitwise_right_shift(s, v, w); });
}

TEST_F(registry_tables, arithmetic) {
  check("conj_physical", {x}, [&] { return fg::conj_physical(s, a); });
  check("_conj_copy", {x}, [&] { return fg::conj_copy(s, a); });
  check("polar", {x, y}, [&] { return fg::polar(s, a, b); });
  check("complex", {x, y}, [&] { return fg::complex_of(s, a, b); });
  check("deg2rad", {x}, [&] { return fg::deg2rad(s, a); });
  check("rad2deg", {x}, [&] { return fg::rad2deg(s, a); });
  check("fmod.Tensor", {x, y}, [&] { return fg::fmod(s, a, b); });
  check("fmod.Scalar", {p, 4}, [&] { return fg::fmod(s, m, 4); });
  check("remainder.Tensor", {p, q}, [&] { return fg::remainder(s, m, n); });
  check("remainder.Scalar", {x, 0.75}, [&] { return fg::remainder(s, a, 0.75); });
  check("remainder.Scalar_Tensor", {7, q}, [&] { return fg::remainder(s, 7, n); });
  check("fmax", {x, y}, [&] { return fg::fmax(s, a, b); });
  check("fmin", {p, q}, [&] { return fg::fmin(s, m, n); });
  check("heaviside", {x, y}, [&] { return fg::heaviside(s, a, b); });
  check("gcd", {p, q}, [&] { return fg::gcd(s, m, n); });
  check("lcm", {p, q}, [&] { return fg::lcm(s, m, n); });
  check("hypot", {x, y}, [&] { return fg::hypot(s, a, b); });
  const auto d = numbers<f64>({3, 4}, 0.5, 2), e = numbers<f64>({3, 4}, -1, 1);
  const view<host> w(d), z(e);
  check("float_power.Tensor_Tensor", {w, z}, [&] { return fg::float_power(s, d, e); });
  check("float_power.Tensor_Scalar", {w, 2}, [&] { return fg::float_power(s, d, 2); });
  // In place of f64 only.
  const auto power = [](const char* key) -> const auto& { return fg::registry<host>::at(key); };
  const auto changed = copy_of(w);
  note(power("float_power_.Tensor")), note(power("float_power_.Scalar"));
  const auto once = fg::float_power(s, d, e), twice = fg::float_power(s, once, 2);
  power("float_power_.Tensor")(s, {changed, z});
  expect_same(changed.view(), view<host>(once), "float_power_.Tensor");
  power("float_power_.Scalar")(s, {changed, 2});
  expect_same(changed.view(), view<host>(twice), "float_power_.Scalar");
  EXPECT_ERROR(power("float_power_.Scalar")(s, {copy_of(x), 2}), dtype_mismatch, "f32");
  check("float_power.Scalar", {2, y}, [&] { return fg::float_power(s, 2, b); });
  check("lerp.Tensor", {x, y, y}, [&] { return fg::lerp(s, a, b, b); });
  check("lerp.Scalar", {x, y, 0.25}, [&] { return fg::lerp(s, a, b, 0.25); });
  check("_masked_scale", {x, c, 1.25}, [&] { return fg::masked_scale(s, a, t, 1.25); });
#define CHECK_MASKED(other, name)                                                      \
  check(fg::registry<host>::find(#other) ? #other : "flaggems::" #other, {x, c, 1.25}, \
        [&] { return fg::name(s, a, t, 1.25); });
  FLAGGEMS_ARITHMETIC_ALIASES(CHECK_MASKED)
  check("rsub.Tensor", {x, y, 2}, [&] { return fg::rsub(s, a, b, 2); });
  check("rsub.Scalar", {p, 5}, [&] { return fg::rsub(s, m, 5); });
  check("_add_relu.Tensor", {x, y, -1}, [&] { return fg::add_relu(s, a, b, -1); });
  check("floor_divide", {p, q}, [&] { return fg::floor_divide(s, m, n); });
  check("floor_divide.Scalar", {x, 0.75}, [&] { return fg::floor_divide(s, a, 0.75); });
  check("addcmul", {x, x, y, 2}, [&] { return fg::addcmul(s, a, a, b, 2); });
  check("addcdiv", {x, x, y}, [&] { return fg::addcdiv(s, a, a, b); });
  check("masked_fill.Scalar", {x, c, 3}, [&] { return fg::masked_fill(s, a, t, 3); });
  // The result has self's dtype, whatever the number's kind.
  const auto larger = fg::gt(s, m, n);
  const view<host> l(larger);
  check("masked_fill.Scalar", {p, l, -2.75},
        [&] { return fg::masked_fill(s, m, larger, i64{-2}); });
  check("masked_fill.Scalar", {l, l, 0}, [&] { return fg::masked_fill(s, larger, larger, false); });
  EXPECT_ERROR(fg::registry<host>::at("masked_fill.Scalar")(s, {p, l, 1e30}), invalid_argument,
               "masked_fill", "1e+30");
  const auto value = numbers({});
  const view<host> v(value);
  check("masked_fill.Tensor", {x, c, v}, [&] { return fg::masked_fill(s, a, t, value); });
  check("clamp_min", {x, 1}, [&] { return fg::maximum(s, a, 1); });
  check("clamp_min.Tensor", {x, y}, [&] { return fg::maximum(s, a, b); });
  check("clamp_max", {p, 4}, [&] { return fg::minimum(s, m, 4); });
  check("clamp_max.Tensor", {x, y}, [&] { return fg::minimum(s, a, b); });
}

}  // namespace
}  // namespace flaggems_test
