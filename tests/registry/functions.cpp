// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/higher.hpp>
#include <flaggems/registry/families/special.hpp>
#include <flaggems/registry/families/trigonometric.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::higher, flaggems::host, flaggems::f32);
FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::special, flaggems::host, flaggems::f32);
FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::trigonometric, flaggems::host, flaggems::f32);

namespace flaggems_test {
namespace {

struct registry_functions : testing::Test {
  const fg::stream<host>& s = stream_of<host>();
  fg::tensor<f32> a = numbers({3, 4}, 0.1, 0.9), b = numbers({3, 4}, 0.1, 0.9, 7);
  view<host> x{a}, y{b};
  template <class F>
  void check_either(const std::string& name, const F& f) {  // of one operand or two
    if constexpr (!requires { requires std::is_void_v<decltype(f(a, b))>; })  // b as the output
      check(name, {x, y}, [&] { return f(a, b); });
    else
      check(name, {x}, [&] { return f(a); });
  }
};

#define NONE(...)
#define CHECK(name, ...) check(#name, {x}, [&] { return fg::name(s, a); });
#define CHECK2(name, ...) check(#name, {x, y}, [&] { return fg::name(s, a, b); });
#define CHECK_ALIAS(other, name) \
  check_either(                  \
      #other, [&](const auto&... v) -> decltype(fg::name(s, v...)) { return fg::name(s, v...); });

TEST_F(registry_functions, trigonometric){FLAGGEMS_TRIGONOMETRIC_TABLE(CHECK, CHECK, CHECK2)
                                              FLAGGEMS_TRIGONOMETRIC_ALIASES(CHECK_ALIAS)}

TEST_F(registry_functions, special) {
  FLAGGEMS_SPECIAL_TABLE(CHECK, NONE)
  FLAGGEMS_SPECIAL_ALIASES(CHECK_ALIAS, CHECK_ALIAS)
  for (const char* const name : {"special_erfc_", "special_erfinv_", "special_sinc_"})
    EXPECT_EQ(fg::registry<host>::find(name), nullptr) << name;  // ATen has no such forms
  check("logaddexp", {x, y}, [&] { return fg::logaddexp(s, a, b); });
  check("logaddexp2", {x, y}, [&] { return fg::logaddexp2(s, a, b); });
  check("xlogy.Tensor", {x, y}, [&] { return fg::xlogy(s, a, b); });
  check("xlogy.Scalar_Self", {2, y}, [&] { return fg::xlogy(s, 2, b); });
  check("xlogy.Scalar_Other", {x, 3}, [&] { return fg::xlogy(s, a, 3); });
  check("special_xlog1py.self_scalar", {2, y}, [&] { return fg::xlog1py(s, 2, b); });
  check("special_xlog1py.other_scalar", {x, 3}, [&] { return fg::xlog1py(s, a, 3); });
}

#define CHECK_SERIES(name, ...)                                              \
  CHECK2(name)                                                               \
  if (std::string_view(#name) != "special_zeta") {                           \
    check(#name ".x_scalar", {0.5, y}, [&] { return fg::name(s, 0.5, b); }); \
    check(#name ".n_scalar", {x, 3}, [&] { return fg::name(s, a, 3); });     \
  }

TEST_F(registry_functions, higher) {
  FLAGGEMS_HIGHER_TABLE(CHECK, CHECK, CHECK2, CHECK_SERIES)
  FLAGGEMS_HIGHER_ALIASES(CHECK_ALIAS, CHECK_ALIAS)
  check("special_zeta.self_scalar", {2, y}, [&] { return fg::special_zeta(s, 2, b); });
  check("special_zeta.other_scalar", {x, 3}, [&] { return fg::special_zeta(s, a, 3); });
  check("polygamma", {2, x}, [&] { return fg::polygamma(s, 2, a); });
  check("special_polygamma", {2, x}, [&] { return fg::polygamma(s, 2, a); });
  check("mvlgamma", {x, 2}, [&] { return fg::mvlgamma(s, a, 2); });
  check("special_multigammaln", {x, 2}, [&] { return fg::mvlgamma(s, a, 2); });
  const auto& in_place = fg::registry<host>::at("polygamma_");  // ATen changes the order
  const auto changed = copy_of(x);
  note(in_place);
  in_place(s, {changed, 2});
  const auto want = fg::polygamma(s, 2, a);
  expect_same(changed.view(), view<host>(want), "polygamma_");
  EXPECT_EQ(fg::registry<host>::find("special_i0e_"), nullptr);  // ATen has no such form
}

}  // namespace
}  // namespace flaggems_test
