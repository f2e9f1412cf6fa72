// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The schemas of all families, from their lines alone: compiles without the operators, so that the
// list is quickly written anew. registry.cpp compares the list with what programs are linked with.
#include <flaggems/registry/families/activation.hpp>
#include <flaggems/registry/families/activation_backward.hpp>
#include <flaggems/registry/families/arithmetic.hpp>
#include <flaggems/registry/families/arrange.hpp>
#include <flaggems/registry/families/attention.hpp>
#include <flaggems/registry/families/bitwise.hpp>
#include <flaggems/registry/families/comparison.hpp>
#include <flaggems/registry/families/copy.hpp>
#include <flaggems/registry/families/creation.hpp>
#include <flaggems/registry/families/experts.hpp>
#include <flaggems/registry/families/fused.hpp>
#include <flaggems/registry/families/gemm.hpp>
#include <flaggems/registry/families/higher.hpp>
#include <flaggems/registry/families/index.hpp>
#include <flaggems/registry/families/linalg.hpp>
#include <flaggems/registry/families/loss.hpp>
#include <flaggems/registry/families/order.hpp>
#include <flaggems/registry/families/pointwise.hpp>
#include <flaggems/registry/families/random.hpp>
#include <flaggems/registry/families/recurrent.hpp>
#include <flaggems/registry/families/reduce.hpp>
#include <flaggems/registry/families/rounding.hpp>
#include <flaggems/registry/families/row.hpp>
#include <flaggems/registry/families/scan.hpp>
#include <flaggems/registry/families/scatter.hpp>
#include <flaggems/registry/families/serving.hpp>
#include <flaggems/registry/families/special.hpp>
#include <flaggems/registry/families/statistics.hpp>
#include <flaggems/registry/families/trigonometric.hpp>
#include <flaggems/registry/families/unary.hpp>
#include <flaggems/registry/families/views.hpp>
#include <flaggems/registry/families/window.hpp>
#include <registry/schema_list.hpp>

#include <string_view>
#include <tuple>

namespace flaggems_test {
namespace {

namespace fb = flaggems::bindings;
namespace of = flaggems::operator_families;

template <class Bound>
void add_line(schema_list& all) {
  constexpr fb::line_facts line = Bound::facts();
  const auto add = [&](fb::form form, int alias) {
    const auto text = fb::text_of(line, form, alias);
    const std::string schema(text.view());
    EXPECT_TRUE(
        all.emplace(schema.substr(0, schema.find('(')), std::pair(line.number, schema)).second)
        << schema;
  };
  const auto add_forms = [&]<int Alias>(std::integral_constant<int, Alias>) {
    add(fb::form::functional, Alias);
    if (fb::has_in_place<Bound, Alias>) add(fb::form::in_place, Alias);
    if (fb::plan<Bound>::has_out) add(fb::form::out, Alias);
  };
  [&]<int... K>(std::integer_sequence<int, K...>) {
    (add_forms(std::integral_constant<int, K - 1>()), ...);
  }
  (std::make_integer_sequence<int, 1 + fb::alias_count<Bound>>());
}

template <class... Family>
schema_list schemas_of() {
  schema_list all;
  const auto add = [&]<class... Bound>(std::type_identity<std::tuple<Bound...>>) {
    (add_line<Bound>(all), ...);
  };
  (add(std::type_identity<decltype(Family::lines())>()), ...);
  return all;
}

TEST(schemas, list) {
  check_schemas(
      schemas_of<of::activation, of::activation_backward, of::arithmetic, of::arrange,
                 of::attention, of::bitwise, of::comparison, of::copy, of::creation, of::experts,
                 of::fused, of::gemm, of::higher, of::index, of::linalg, of::loss, of::order,
                 of::pointwise, of::random, of::recurrent, of::reduce, of::rounding, of::row,
                 of::scan, of::scatter, of::serving, of::special, of::statistics, of::trigonometric,
                 of::unary, of::views, of::window>());
}

}  // namespace
}  // namespace flaggems_test
