// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/registry/families/attention.hpp>
#include <flaggems/registry/families/gemm.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::attention, flaggems::host, flaggems::f32);
FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::gemm, flaggems::host, flaggems::f32,
                         flaggems::bf16, flaggems::i8, flaggems::f8e4m3, flaggems::c64);

namespace flaggems_test {
namespace {

TEST(registry_gemm, products) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 5}), b = numbers({5, 4}), c = numbers({4}), v = numbers({5});
  const auto a3 = numbers({2, 3, 5}), b3 = numbers({2, 5, 4}), w = numbers({4, 5});
  const view<host> x(a), y(b), added(c), vector(v), x3(a3), y3(b3), weight(w);
  check("mm", {x, y}, [&] { return fg::mm(s, a, b); });
  check("bmm", {x3, y3}, [&] { return fg::bmm(s, a3, b3); });
  check("mv", {x, vector}, [&] { return fg::mv(s, a, v); });
  check("addbmm", {added, x3, y3, 2, 0.25},
        [&] { return fg::addbmm(s, c, a3, b3, {.beta = 2, .alpha = 0.25}); });
  check("flaggems::matmuladd", {x, y, added}, [&] { return fg::matmuladd(s, a, b, c); });
  const auto w3 = numbers({2, 5, 4}), p = numbers({3, 5}), q = numbers({3, 4}), r = numbers({2});
  const auto v3 = numbers({4, 3}), u3 = numbers({4, 3}, -1, 1, 5);
  const view<host> first(p), second(q), weights(w3), bias(r), cross(v3), other(u3);
  check("bilinear", {first, second, weights, bias}, [&] { return fg::bilinear(s, p, q, w3, r); });
  check("bilinear", {first, second, weights}, [&] { return fg::bilinear(s, p, q, w3); });
  check("linalg_cross", {cross, other}, [&] { return fg::linalg_cross(s, v3, u3); });
  check("flaggems::hadamard_transform", {x, 0.5},
        [&] { return fg::hadamard_transform(s, a, 0.5); });
  check("addmm", {added, x, y}, [&] { return fg::addmm(s, c, a, b); });
  check("addmm", {added, x, y, 0.5, 3},
        [&] { return fg::addmm(s, c, a, b, {.beta = 0.5, .alpha = 3}); });
  check("baddbmm", {added, x3, y3, 2, 0.25},
        [&] { return fg::baddbmm(s, c, a3, b3, {.beta = 2, .alpha = 0.25}); });
  check("linear", {x3, weight, added}, [&] { return fg::linear(s, a3, w, fg::with_bias(c)); });
  check("linear", {x, weight}, [&] { return fg::linear(s, a, w); });
  EXPECT_ERROR(fg::registry<host>::at("mm")(s, {x, x}), shape_mismatch, "mm");
}

TEST(registry_gemm, quantized_products) {
  const auto& s = stream_of<host>();
  const auto a = numbers<fg::i8>({3, 5}, 0, 3), b = numbers<fg::i8>({5, 4}, 0, 3);
  const view<host> x(a), y(b);
  check("_int_mm", {x, y}, [&] { return fg::int_mm(s, a, b); });
  const auto c = numbers<fg::f8e4m3>({3, 16}), d = numbers<fg::f8e4m3>({16, 4});
  const auto e = numbers<fg::f8e4m3>({4, 16});
  const auto one = numbers({1}, 1, 2), rows = numbers({3, 1}), columns = numbers({1, 4}),
             bias = numbers({4});
  const view<host> first(c), second(d), lines(e), scale(one), of_rows(rows), of_columns(columns),
      added(bias);
  const char* const name = "_scaled_mm";
  check(name, {first, second, scale, scale}, [&] { return fg::scaled_mm(s, c, d, one, one); });
  check(name, {first, second, of_rows, of_columns, added, {}, fg::dtype::f32},
        [&] { return fg::scaled_mm<f32>(s, c, d, rows, columns, bias); });
  check(name, {first, second, of_rows, scale, {}, scale, fg::dtype::bf16, true},
        [&] { return fg::scaled_mm<fg::bf16>(s, c, d, rows, one, std::nullopt, one, true); });
  for (const char* const product : {"flaggems::fp8_matmul", "flaggems::fp8_matmul_direct"})
    check(product, {first, of_rows, lines, view<host>(one.view().unsqueeze(0))},
          [&] { return fg::fp8_matmul(s, c, rows, e, one.view().unsqueeze(0)); });
  EXPECT_ERROR(fg::registry<host>::at(name)(s, {x, y, scale, scale}), dtype_mismatch, "f8e4m3");
}

TEST(registry_gemm, convolutions) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 4, 9}), w = numbers({4, 2, 3}), b = numbers({4}),
             a2 = numbers({2, 2, 5, 6}), w2 = numbers({4, 2, 2, 3}), a3 = numbers({1, 2, 3, 4, 5}),
             w3 = numbers({4, 2, 1, 2, 2});
  const view<host> x(a), weight(w), bias(b), x2(a2), weight2(w2), x3(a3), weight3(w3);
  const i64 ones[] = {1}, twos[] = {2};
  const fg::int_list one(ones), two(twos);
  check("conv1d", {x, weight, bias, two, one, one, 2},
        [&] { return fg::conv1d(s, a, w, b, {2}, {1}, {1}, 2); });
  check("conv1d.padding", {x, weight, std::nullopt, one, "same", two, 2},
        [&] { return fg::conv1d(s, a, w, std::nullopt, {1}, fg::conv_padding::same, {2}, 2); });
  check("conv2d", {x2, weight2, bias}, [&] { return fg::conv2d(s, a2, w2, b); });
  check("conv2d.padding", {x2, weight2, bias, one, "valid"},
        [&] { return fg::conv2d(s, a2, w2, b, {1}, fg::conv_padding::valid); });
  const auto w4 = numbers({4, 1, 2, 3});
  check("_conv_depthwise2d", {x2, view<host>(w4), fg::int_list{2, 3}, bias, two, one, one}, [&] {
    return fg::conv_depthwise2d(s, a2, w4, {2, 3}, b, {2}, {1}, {1});
  });
  check("conv3d", {x3, weight3, std::nullopt, two},
        [&] { return fg::conv3d(s, a3, w3, std::nullopt, {2}); });
  check("conv3d.padding", {x3, weight3, bias, one, "same"},
        [&] { return fg::conv3d(s, a3, w3, b, {1}, fg::conv_padding::same); });
  EXPECT_ERROR(fg::registry<host>::at("conv1d.padding")(s, {x, weight, bias, one, "full"}),
               invalid_argument, "valid or same");
}

TEST(registry_attention, masks_and_options) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 4, 3, 8}), k = numbers({2, 2, 5, 8}),
             v = numbers({2, 2, 5, 8}, -1, 1, 2);
  const auto m = numbers({3, 5});
  const auto t = fg::gt(s, m, -1);
  const view<host> query(a), key(k), value(v), mask(m), truths(t);
  const fg::attention_options shared{.enable_gqa = true};
  const char* const name = "scaled_dot_product_attention";
  check(name, {query, key, value, std::nullopt, 0.0, false, std::nullopt, true},
        [&] { return fg::scaled_dot_product_attention(s, a, k, v, shared); });
  check(name, {query, key, value, mask, 0.0, false, 0.3, true}, [&] {
    return fg::scaled_dot_product_attention(s, a, k, v, fg::with_mask(m),
                                            {.scale = 0.3, .enable_gqa = true});
  });
  check(name, {query, key, value, truths, {}, {}, {}, true},
        [&] { return fg::scaled_dot_product_attention(s, a, k, v, fg::with_mask(t), shared); });
  check(name, {query, key, value, {}, {}, true, {}, true}, [&] {
    return fg::scaled_dot_product_attention(s, a, k, v, {.is_causal = true, .enable_gqa = true});
  });
  EXPECT_ERROR(fg::registry<host>::at(name)(s, {query, key, value, {}, 0.5}), not_supported,
               "dropout");
  const auto k4 = numbers({2, 4, 5, 8}), v4 = numbers({2, 4, 5, 8}, -1, 1, 2);
  const view<host> keys(k4), values(v4);
  const char* const with_logs = "_scaled_dot_product_flash_attention_for_cpu";
  check(with_logs, {query, keys, values, {}, true},
        [&] { return fg::scaled_dot_product_flash_attention(s, a, k4, v4, 0, true); });
  check(with_logs, {query, keys, values, 0.0, false, mask, 0.3},
        [&] { return fg::scaled_dot_product_flash_attention(s, a, k4, v4, 0, false, m, 0.3); });
  const auto g = numbers({2, 4, 3, 8}, -1, 1, 3);
  const auto [o, l] = fg::scaled_dot_product_flash_attention(s, a, k4, v4, 0, false, m);
  const view<host> grad(g), out(o), logs(l);
  check("_scaled_dot_product_flash_attention_for_cpu_backward",
        {grad, query, keys, values, out, logs, 0.0, false, mask, {}}, [&] {
          return fg::scaled_dot_product_flash_attention_backward(s, g, a, k4, v4, o, l, 0, false,
                                                                 m);
        });
}

TEST(registry_attention, other_forms) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 4, 3, 8}), k = numbers({2, 2, 5, 8}), v = numbers({2, 2, 5, 8}, -1);
  const auto m = numbers({3, 5});
  const view<host> query(a), key(k), value(v), mask(m);
  const fg::attention_options shared{.is_causal = true, .scale = 0.5, .enable_gqa = true};
  check("_scaled_dot_product_attention_math",
        {query, key, value, std::nullopt, 0.0, true, std::nullopt, 0.5, true}, [&] {
          return fg::scaled_dot_product_attention_math(s, a, k, v, std::nullopt, 0, true,
                                                       std::nullopt, 0.5, true);
        });
  check("_scaled_dot_product_efficient_attention", {query, key, value, mask, true, 0.0, false, 0.5},
        [&] {
          return fg::scaled_dot_product_efficient_attention(s, a, k, v, m, true, 0, false, 0.5);
        });
  check("flaggems::scaled_dot_product_attention_forward",
        {query, key, value, std::nullopt, 0.0, true, 0.5, true},
        [&] { return fg::scaled_dot_product_attention_forward(s, a, k, v, std::nullopt, shared); });
  const auto g = numbers({2, 4, 3, 8}, -1, 1, 3);
  const auto [o, l] = fg::scaled_dot_product_attention_forward(s, a, k, v, std::nullopt, shared);
  const view<host> grad(g), out(o), logs(l);
  check("flaggems::scaled_dot_product_attention_backward",
        {grad, query, key, value, out, logs, std::nullopt, 0.0, true, 0.5, true}, [&] {
          return fg::scaled_dot_product_attention_backward(s, g, a, k, v, o, l, std::nullopt,
                                                           shared);
        });
}

TEST(registry_attention, sequences) {
  const auto& s = stream_of<host>();
  const auto a = numbers({6, 4, 8}), k = numbers({9, 2, 8}), v = numbers({9, 2, 8}, -1);
  const auto cache = numbers({3, 4, 2, 8}), slopes = numbers({4});
  const auto starts = fg::from_values<fg::i32>(s, {0, 2, 6}),
             key_starts = fg::from_values<fg::i32>(s, {0, 5, 9}),
             used = fg::from_values<fg::i32>(s, {5, 4});
  const auto table = fg::from_values<fg::i32>(s, {2, 1, 0, 0});
  const auto pages = table.view().unflatten(0, {2, 2});
  const view<host> q(a), keys(k), values(v), paged(cache), first(starts), key_first(key_starts),
      lengths(used), blocks(pages), slope(slopes);
  const i64 window[] = {2, 0};
  const char* const name = "flaggems::flash_attn_varlen_func";
  check(name, {q, keys, values, 4, first, 5, key_first},
        [&] { return fg::flash_attn_varlen_func(s, a, k, v, 4, starts, 5, key_starts); });
  const std::optional<fg::tensor_view<const fg::i32>> none, of_used(used.view());
  check(name,
        {q, paged, paged, 4, first, 5, std::nullopt, lengths, std::nullopt, 0.0, 0.5, true,
         fg::int_list(window), 3.0, slope, false, false, blocks, true},
        [&] {
          return fg::flash_attn_varlen_func(s, a, cache, cache, 4, starts, 5, none, of_used,
                                            {.softmax_scale = 0.5,
                                             .causal = true,
                                             .window_left = 2,
                                             .softcap = 3,
                                             .alibi_slopes = slopes.view(),
                                             .block_table = pages});
        });
  fg::any_tensor<host> two[2];
  EXPECT_ERROR(
      fg::registry<host>::at(name).call(s, {q, keys, values, 4, first, 5, key_first, {}, q}, two),
      not_supported, "q_v");
  EXPECT_ERROR(fg::registry<host>::at(name).call(s, {q, keys, values, 4, slope, 5, key_first}, two),
               dtype_mismatch, "cu_seqlens_q");
  check("_flash_attention_forward", {q, keys, values, first, key_first, 4, 5, 0.0, true, false},
        [&] {
          return fg::flash_attention_forward(s, a, k, v, starts, key_starts, 4, 5,
                                             {.is_causal = true});
        });
  const auto q4 = a.view().unflatten(0, {2, 3}), k4 = k.view().unflatten(0, {3, 3}).narrow(0, 0, 2);
  const view<host> dense(q4), dense_keys(k4);
  check("_flash_attention_forward",
        {dense, dense_keys, dense_keys, std::nullopt, std::nullopt, 3, 3, 0.0, false, false, 0.5, 1,
         0, std::nullopt, slope},
        [&] {
          return fg::flash_attention_forward(s, q4, k4, k4, std::nullopt, std::nullopt, 3, 3,
                                             {.scale = 0.5,
                                              .window_size_left = 1,
                                              .window_size_right = 0,
                                              .alibi_slopes = slopes.view()});
        });
  const auto of = fg::flash_attention_forward(s, a, k, v, starts, key_starts, 4, 5,
                                              {.is_causal = true, .window_size_left = 2});
  const auto g = numbers({6, 4, 8}, -1);
  const view<host> grad(g), out(of.out), logs(of.softmax_logsumexp), state(of.rng_state),
      unused(of.unused);
  check("_flash_attention_backward",
        {grad, q, keys, values, out, logs, first, key_first, 4, 5, 0.0, true, state, unused,
         std::nullopt, 2},
        [&] {
          return fg::flash_attention_backward(s, g, a, k, v, of.out, of.softmax_logsumexp, starts,
                                              key_starts, 4, 5,
                                              {.is_causal = true, .window_size_left = 2});
        });
}

}  // namespace
}  // namespace flaggems_test
