// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/recurrent.hpp>
#include <registry/support.hpp>

#include <vector>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::recurrent, flaggems::host, flaggems::f32);

namespace flaggems_test {
namespace {

using views = std::span<const view<host>>;

TEST(registry_recurrent, networks) {
  const auto& s = stream_of<host>();
  const auto a = numbers({4, 2, 3}), rows = numbers({5, 3}), h = numbers({1, 2, 2}, -1, 1, 2);
  const auto sizes = fg::from_values<i64>(s, {2, 2, 1});
  fg::philox_generator generator{1, 2};
  const auto each = [&](const std::string& name, i64 gates, const auto& hx, const auto& boxed_hx,
                        const auto& network) {
    const auto w = numbers({gates, 3}, -1, 1, 3), v = numbers({gates, 2}, -1, 1, 4);
    const std::vector<fg::tensor_view<const f32>> params{w.view(), v.view()};
    const view<host> list[] = {view<host>(w), view<host>(v)};
    const view<host> x(a), data(rows), lengths(sizes);
    const views weights(list);
    check((name + ".input").c_str(), {x, boxed_hx, weights, false, 1, 0.0, false, false, false},
          [&] { return network(a, hx, params, false, 1, 0.0, false, false, false); });
    check((name + ".data").c_str(), {data, lengths, boxed_hx, weights, false, 1, 0.0, false, false},
          [&] { return network(rows, sizes, hx, params, false, 1, 0.0, false, false); });
    const std::string own = "flaggems::" + name + "_with_dropout";
    check((own + ".input").c_str(),
          {x, boxed_hx, weights, false, 1, 0.5, true, false, false, generator},
          [&] { return network(a, hx, params, false, 1, 0.5, true, false, false, generator); });
    check((own + ".data").c_str(),
          {data, lengths, boxed_hx, weights, false, 1, 0.5, true, false, generator},
          [&] { return network(rows, sizes, hx, params, false, 1, 0.5, true, false, generator); });
  };
  const view<host> state(h), both[] = {state, state};
  const std::vector<fg::tensor_view<const f32>> states{h.view(), h.view()};
  each("lstm", 8, states, views(both), [&](auto&&... x) { return fg::lstm(s, x...); });
  each("gru", 6, h, state, [&](auto&&... x) { return fg::gru(s, x...); });
  each("rnn_tanh", 2, h, state, [&](auto&&... x) { return fg::rnn_tanh(s, x...); });
  each("rnn_relu", 2, h, state, [&](auto&&... x) { return fg::rnn_relu(s, x...); });
}

TEST(registry_recurrent, cells) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 12}), b = numbers({2, 12}, -1, 1, 2), c = numbers({2, 3}),
             d = numbers({12}, -1, 1, 3);
  const view<host> x(a), y(b), state(c), bias(d);
  check("_thnn_fused_lstm_cell", {x, y, state, bias, bias},
        [&] { return fg::thnn_fused_lstm_cell(s, a, b, c, d, d); });
  check("_thnn_fused_lstm_cell_backward_impl", {state, state, state, state, x, true},
        [&] { return fg::thnn_fused_lstm_cell_backward_impl(s, c, c, c, c, a, true); });
}

TEST(registry_recurrent, delta_rule) {
  const auto& s = stream_of<host>();
  const auto q = numbers({1, 5, 2, 3}, -1, 1), k = numbers({1, 5, 2, 3}, -1, 1, 2),
             v = numbers({1, 5, 2, 4}, -1, 1, 3), g = numbers({1, 5, 2}, -1, 0, 4),
             beta = numbers({1, 5, 2}, 0, 1, 5), first = numbers({1, 2, 3, 4}, -1, 1, 6);
  const view<host> a(q), b(k), c(v), gates(g), by(beta), state(first);
  check("flaggems::chunk_gated_delta_rule",
        {a, b, c, by, gates, 2, state, true, std::nullopt, false, 0.5, true}, [&] {
          return fg::chunk_gated_delta_rule(s, q, k, v, beta, g, 2, first, true, std::nullopt,
                                            false, 0.5, true);
        });
  check("flaggems::chunk_gated_delta_rule_fwd", {a, b, c, gates, by, 0.5, state, true},
        [&] { return fg::chunk_gated_delta_rule_fwd(s, q, k, v, g, beta, 0.5, first, true); });
  const auto own = copy_of(state), boxed = copy_of(state);
  const auto& op = fg::registry<host>::at("flaggems::fused_recurrent_gated_delta_rule_fwd");
  note(op);
  fg::any_tensor<host> got[2];
  op.call(s, {a, b, c, gates, by, 0.5, boxed.view()}, got);
  const auto want =
      fg::fused_recurrent_gated_delta_rule_fwd(s, q, k, v, g, beta, 0.5, own.view().as<f32>());
  expect_same(got[0], view<host>(want.out), "out");
  expect_same(boxed.view(), own.view(), "state");
}

}  // namespace
}  // namespace flaggems_test
