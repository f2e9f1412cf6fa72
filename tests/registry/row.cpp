// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/row.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::row, flaggems::host, flaggems::f32);

namespace flaggems_test {
namespace {

struct registry_row : testing::Test {
  const fg::stream<host>& s = stream_of<host>();
  fg::tensor<f32> a = numbers({3, 8}), b = numbers({3, 8}, -1, 1, 4);
  fg::tensor<f32> w = numbers({8}, 0.5, 2), c = numbers({8});
  view<host> x{a}, y{b}, weight{w}, bias{c};
  const i64 eight[1] = {8};
};

TEST_F(registry_row, softmax) {
  const auto i = numbers<i64>({3, 8}, -4, 4);
  const view<host> integers(i);
  check("softmax.int", {x, -1}, [&] { return fg::softmax(s, a, -1); });
  check("softmax.int", {integers, 0, fg::dtype::f32}, [&] { return fg::softmax<f32>(s, i, 0); });
  check("log_softmax.int", {x, 0}, [&] { return fg::log_softmax(s, a, 0); });
  check("_softmax", {x, 1, false}, [&] { return fg::softmax(s, a, 1); });
  check("_log_softmax", {x, 1, false}, [&] { return fg::log_softmax(s, a, 1); });
  check("_softmax_backward_data", {x, y, 1, fg::dtype::f32},
        [&] { return fg::softmax_backward(s, a, b, 1); });
  check("_log_softmax_backward_data", {x, y, 0, fg::dtype::f32},
        [&] { return fg::log_softmax_backward(s, a, b, 0); });
  check("flaggems::scaled_softmax_forward", {x, 0.5},
        [&] { return fg::scaled_softmax_forward(s, a, 0.5); });
  check("flaggems::scaled_softmax_backward", {x, y, 0.5},
        [&] { return fg::scaled_softmax_backward(s, a, b, 0.5); });
  const auto& softmax = fg::registry<host>::at("_softmax");
  EXPECT_ERROR(softmax(s, {x, 1, true}), not_supported, "half_to_float");
  EXPECT_ERROR(fg::registry<host>::at("_softmax_backward_data")(s, {x, y, 1, fg::dtype::f16}),
               dtype_mismatch, "_softmax_backward_data");
  EXPECT_ERROR(softmax(s, {x, 5, false}), out_of_range, "softmax");
}

TEST_F(registry_row, norms) {
  const fg::int_list sizes(eight);
  for (const char* const name : {"flaggems::rms_norm_forward", "flaggems::fused_rms_norm_forward"})
    check(name, {x, sizes, weight, 1e-3}, [&] { return fg::rms_norm_forward(s, a, {8}, w, 1e-3); });
  check("layer_norm", {x, sizes, weight, bias, 1e-3},
        [&] { return fg::layer_norm(s, a, {8}, w, c, 1e-3); });
  check("layer_norm", {x, sizes}, [&] { return fg::layer_norm(s, a, {8}); });
  check("rms_norm", {x, sizes, weight}, [&] { return fg::rms_norm(s, a, {8}, w); });
  check("rms_norm", {x, sizes, std::nullopt, 0.1},
        [&] { return fg::rms_norm(s, a, {8}, std::nullopt, 0.1); });

  const auto in = copy_of(x), residual = copy_of(y), in_typed = copy_of(x),
             residual_typed = copy_of(y);
  const auto& op = fg::registry<host>::at("flaggems::fused_add_rms_norm");
  note(op);
  op(s, {in, residual, weight, 1e-5});
  fg::fused_add_rms_norm(s, in_typed.as<f32>(), residual_typed.as<f32>(), w, 1e-5);
  expect_same(in.view(), in_typed.view(), "input");
  expect_same(residual.view(), residual_typed.view(), "residual");
}

TEST_F(registry_row, norms_with_statistics) {
  const fg::int_list sizes(eight);
  check("native_layer_norm", {x, sizes, weight, bias, 1e-3},
        [&] { return fg::native_layer_norm(s, a, {8}, w, c, 1e-3); });
  check("_fused_rms_norm", {x, sizes, weight, 1e-3},
        [&] { return fg::fused_rms_norm(s, a, {8}, w, 1e-3); });
  const auto kept = fg::native_layer_norm(s, a, {8}, w, c, 1e-3);
  const view<host> mean(kept.mean), rstd(kept.rstd);
  const bool all[] = {true, true, true}, some[] = {true, false};
  check("native_layer_norm_backward",
        {y, x, sizes, mean, rstd, weight, bias, std::span<const bool>(all)},
        [&] { return fg::native_layer_norm_backward(s, b, a, {8}, kept.mean, kept.rstd, w, c); });
  const auto& backward = fg::registry<host>::at("_fused_rms_norm_backward");
  note(backward);
  fg::any_tensor<host> results[2];
  backward.call(s, {y, x, sizes, rstd, weight, std::span<const bool>(some)}, results);
  const auto want = fg::fused_rms_norm_backward(s, b, a, {8}, kept.rstd, w, {true, false});
  expect_same(results[0].view(), view<host>(*want.input), "input");
  EXPECT_EQ(results[1].numel(), 0);
  EXPECT_ERROR(backward.call(s, {y, x, sizes, rstd, weight, std::span<const bool>(all)}, results),
               invalid_argument, "2 flags");
  check("group_norm", {x, 4}, [&] { return fg::group_norm(s, a, 4); });
  check("native_group_norm", {x, weight, bias, 3, 8, 1, 2, 1e-3},
        [&] { return fg::native_group_norm(s, a, w, c, 3, 8, 1, 2, 1e-3); });
}

TEST_F(registry_row, cross_entropy) {
  const auto classes = fg::from_values<i64>(s, {4, 0, -100});
  const view<host> target(classes);
  check("cross_entropy_loss", {x, target, weight},
        [&] { return fg::cross_entropy_loss(s, a, classes, w); });
  check("cross_entropy_loss", {x, target, std::nullopt, 0, -100, 0.25}, [&] {
    return fg::cross_entropy_loss(s, a, classes, std::nullopt, {fg::reduction::none, -100, 0.25});
  });
  check("cross_entropy_loss", {x, y, weight, 2},
        [&] { return fg::cross_entropy_loss(s, a, b, w, {fg::reduction::sum}); });
  const auto& op = fg::registry<host>::at("cross_entropy_loss");
  EXPECT_ERROR(op(s, {x, target, weight, 3}), invalid_argument, "reduction");
  EXPECT_ERROR(op(s, {x, target, weight, 1, 4}), out_of_range, "cross_entropy_loss");
}

TEST_F(registry_row, gradients_and_other_names) {
  const auto a = numbers({2, 6, 5}), g = numbers({2, 6, 5}, -1, 1, 2),
             w = numbers({6}, 0.5, 1.5, 3);
  const view<host> in(a), grad(g), by(w);
  const auto kept = fg::native_group_norm(s, a, w, std::nullopt, 2, 6, 5, 3, 1e-5);
  const bool all[] = {true, true, true};
  check(
      "native_group_norm_backward",
      {grad, in, view<host>(kept.mean), view<host>(kept.rstd), by, 2, 6, 5, 3,
       std::span<const bool>(all)},
      [&] { return fg::native_group_norm_backward(s, g, a, kept.mean, kept.rstd, w, 2, 6, 5, 3); });
  const auto rows = numbers({4, 6}), of = numbers({4, 6}, -1, 1, 2);
  const auto rms = fg::rms_norm_forward(s, rows, {6}, w);
  check("flaggems::rms_norm_backward",
        {view<host>(of), view<host>(rows), view<host>(rms.rstd), fg::int_list{6}, by},
        [&] { return fg::rms_norm_backward(s, of, rows, rms.rstd, {6}, w); });
  check("_safe_softmax", {in, 1}, [&] { return fg::safe_softmax(s, a, 1); });
  check("special_log_softmax", {in, 1}, [&] { return fg::log_softmax(s, a, 1); });
}

TEST_F(registry_row, batch_norms) {
  const auto a = numbers({3, 4, 5}), g = numbers({3, 4, 5}, -1, 1, 2),
             w = numbers({4}, 0.5, 1.5, 3), b = numbers({4}, -1, 1, 4);
  const auto means = numbers({4}), vars = numbers({4}, 0.5, 2, 5);
  const view<host> in(a), grad(g), by(w), shift(b), mean(means), var(vars);
  // Each call steps them; results of training do not depend on them.
  const auto m = copy_of(mean), v = copy_of(var), m2 = copy_of(mean), v2 = copy_of(var);
  const auto to_m = m2.as<f32>(), to_v = v2.as<f32>();
  const view<host> running(m.view()), running_var(v.view());
  const auto want = [&] { return fg::native_batch_norm(s, a, w, b, to_m, to_v, true, 0.25, 1e-3); };
  check("native_batch_norm", {in, by, shift, running, running_var, true, 0.25, 1e-3}, want);
  expect_same(m.view(), m2.view(), "running_mean");
  expect_same(v.view(), v2.view(), "running_var");
  check("batch_norm", {in, by, shift, running, running_var, true, 0.25, 1e-3, false},
        [&] { return fg::batch_norm(s, a, w, b, to_m, to_v, true, 0.25, 1e-3); });
  check("_native_batch_norm_legit", {in, by, shift, running, running_var, true, 0.25, 1e-3}, want);
  check("_native_batch_norm_legit.no_stats", {in, by, shift, true, 0.25, 1e-3}, want);
  check("_native_batch_norm_legit_no_training", {in, by, shift, mean, var, 0.25, 1e-3}, [&] {
    return fg::native_batch_norm_legit_no_training(s, a, w, b, means, vars, 0.25, 1e-3);
  });
  check("_native_batch_norm_legit_functional", {in, by, shift, mean, var, true, 0.25, 1e-3}, [&] {
    return fg::native_batch_norm_legit_functional(s, a, w, b, means, vars, true, 0.25, 1e-3);
  });
  check("_batch_norm_with_update", {in, by, shift, running, running_var, 0.25, 1e-3},
        [&] { return fg::batch_norm_with_update(s, a, w, b, to_m, to_v, 0.25, 1e-3); });
  check("_batch_norm_with_update_functional", {in, by, shift, mean, var, 0.25, 1e-3},
        [&] { return fg::batch_norm_with_update_functional(s, a, w, b, means, vars, 0.25, 1e-3); });
  check("_batch_norm_no_update", {in, by, shift, mean, var, 0.25, 1e-3},
        [&] { return fg::batch_norm_no_update(s, a, w, b, means, vars, 0.25, 1e-3); });
  check("cudnn_batch_norm", {in, by, shift, running, running_var, true, 0.25, 1e-3},
        [&] { return fg::cudnn_batch_norm(s, a, w, b, to_m, to_v, true, 0.25, 1e-3); });
  check("flaggems::batch_norm_impl_index",
        {in, by, shift, running, running_var, true, 0.25, 1e-3, false},
        [&] { return fg::batch_norm_impl_index(s, a, w, b, to_m, to_v, true, 0.25, 1e-3); });
  check("miopen_batch_norm", {in, by, shift, running, running_var, true, 0.25, 1e-3}, want);
  check("instance_norm", {in, by, shift, running, running_var, true, 0.25, 1e-3, false},
        [&] { return fg::instance_norm(s, a, w, b, to_m, to_v, true, 0.25, 1e-3); });
  const auto kept = want();
  const view<host> save_mean(kept.mean), save_rstd(kept.rstd);
  const bool all[] = {true, true, true};
  const std::nullopt_t none = std::nullopt;
  const auto gradients = [&] {
    return fg::native_batch_norm_backward(s, g, a, w, none, none, kept.mean, kept.rstd, true, 1e-3);
  };
  check("native_batch_norm_backward",
        {grad, in, by, none, none, save_mean, save_rstd, true, 1e-3, std::span<const bool>(all)},
        gradients);
  const auto bytes = fg::empty<fg::u8>(s, {0});
  check("cudnn_batch_norm_backward",
        {in, grad, by, none, none, save_mean, save_rstd, 1e-3, view<host>(bytes)}, gradients);
  check("_batch_norm_impl_index_backward",
        {0, in, grad, by, none, none, save_mean, save_rstd, true, 1e-3, std::span<const bool>(all),
         view<host>(bytes)},
        gradients);
  check("miopen_batch_norm_backward", {in, grad, by, none, none, save_mean, save_rstd, 1e-3},
        gradients);
}

TEST_F(registry_row, weight_norms) {
  const auto g = numbers({3, 1}, 0.5, 2, 3);
  const view<host> length(g);
  check("_weight_norm", {x, length}, [&] { return fg::weight_norm(s, a, g); });
  check("_weight_norm_interface", {x, length}, [&] { return fg::weight_norm_interface(s, a, g); });
  const auto norms = fg::weight_norm_interface(s, a, g).second;
  check("_weight_norm_interface_backward", {y, x, length, view<host>(norms), 0},
        [&] { return fg::weight_norm_interface_backward(s, b, a, g, norms, 0); });
  check("flaggems::te_rmsnorm_fwd", {x, weight, 1e-3, true},
        [&] { return fg::te_rmsnorm_fwd(s, a, w, 1e-3, true); });
  const auto kept = fg::te_rmsnorm_fwd(s, a, w, 1e-3);
  check("flaggems::te_rmsnorm_bwd", {y, x, view<host>(kept.rstd), weight},
        [&] { return fg::te_rmsnorm_bwd(s, b, a, kept.rstd, w); });
}

TEST_F(registry_row, rotary) {
  const auto q = numbers({2, 3, 2, 8}), k = numbers({2, 3, 1, 8});
  const auto cos = numbers({5, 4}), sin = numbers({5, 4}, -1, 1, 3);
  const auto ids = fg::from_values<i64>(s, {4, 0, 2});
  const view<host> vq(q), vk(k), vcos(cos), vsin(sin), positions(ids);
  check("flaggems::apply_rotary_pos_emb", {vq, vk, vcos, vsin},
        [&] { return fg::apply_rotary_pos_emb(s, q, k, cos, sin); });
  check("flaggems::apply_rotary_pos_emb", {vq, vk, vcos, vsin, positions, true},
        [&] { return fg::apply_rotary_pos_emb(s, q, k, cos, sin, ids, true); });
  const auto q2 = copy_of(vq), k2 = copy_of(vk);
  const auto& op = fg::registry<host>::at("flaggems::apply_rotary_pos_emb_");
  note(op);
  op(s, {q2, k2, vcos, vsin, positions});
  const auto want = boxed_results(fg::apply_rotary_pos_emb(s, q, k, cos, sin, ids));
  expect_same(q2.view(), want[0], "q");
  expect_same(k2.view(), want[1], "k");
}

}  // namespace
}  // namespace flaggems_test
