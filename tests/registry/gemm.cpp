// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/registry/families/attention.hpp>
#include <flaggems/registry/families/gemm.hpp>
#include <registry/support.hpp>

#include <span>
#include <tuple>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::attention, flaggems::host, flaggems::f32);
FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::gemm, flaggems::host, flaggems::f32,
                         flaggems::bf16, flaggems::i8, flaggems::f8e4m3, flaggems::c64);

namespace flaggems_test {
namespace {

TEST(registry_gemm, groups) {
  const auto& s = stream_of<host>();
  const auto a = numbers({5, 8}), b = numbers({2, 8, 4}), c = numbers({2, 3, 8});
  const auto ends = fg::from_values<fg::i32>(s, {2, 5});
  const view<host> x(a), y(b), z(c), offsets(ends);
  check("_grouped_mm", {x, y, offsets}, [&] { return fg::grouped_mm(s, a, b, ends); });
  check("_grouped_mm", {z, y}, [&] { return fg::grouped_mm(s, c, b); });
  const auto codes = [&](const auto& v) { return fg::evaluate(s, fg::cast<fg::f8e4m3>(v)); };
  const auto p = codes(a), q = codes(b);
  const auto m = numbers({5}, 0.5, 2), n = numbers({2, 4}, 0.5, 2);
  const view<host> first(p), second(q), rows(m), columns(n);
  check("_scaled_grouped_mm", {first, second, rows, columns, offsets},
        [&] { return fg::scaled_grouped_mm(s, p, q, m, n, ends); });
  check("_scaled_grouped_mm",
        {first, second, rows, columns, offsets, std::nullopt, std::nullopt, fg::dtype::f32},
        [&] { return fg::scaled_grouped_mm<f32>(s, p, q, m, n, ends); });
  EXPECT_ERROR(fg::registry<host>::at("_scaled_grouped_mm")(
                   s, {first, second, rows, columns, offsets, std::nullopt, std::nullopt,
                       fg::dtype::f8e4m3}),
               dtype_mismatch, "_scaled_grouped_mm", "f8e4m3");
}

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
  check("flaggems::matmul_bias_activation", {x, y, added},
        [&] { return fg::matmul_bias_activation(s, a, b, c); });
  check("_compute_linear_combination", {y, x},
        [&] { return fg::compute_linear_combination(s, b, a); });
  check("flaggems::hadamard_transform_12N", {x, 0.5},
        [&] { return fg::hadamard_transform_12n(s, a, 0.5); });
  check("flaggems::hadamard_transform_20N", {x, 0.5},
        [&] { return fg::hadamard_transform_20n(s, a, 0.5); });
  check("flaggems::hadamard_transform_28N", {x, 0.5},
        [&] { return fg::hadamard_transform_28n(s, a, 0.5); });
  check("flaggems::hadamard_transform_40N", {x, 0.5},
        [&] { return fg::hadamard_transform_40n(s, a, 0.5); });
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
  check("_convolution_mode", {x2, weight2, bias, one, "same", two, 1},
        [&] { return fg::convolution_mode(s, a2, w2, b, {1}, fg::conv_padding::same, {2}, 1); });
  check("cudnn_convolution", {x, weight, one, two, one, 2, false, true, false},
        [&] { return fg::cudnn_convolution(s, a, w, {1}, {2}, {1}, 2); });
  const auto from = numbers({3, 5}), grad = numbers({3, 4}, -1, 1, 2),
             by = numbers({4, 5}, -1, 1, 3);
  const bool all[] = {true, true, true};
  check("linear_backward",
        {view<host>(from), view<host>(grad), view<host>(by), std::span<const bool>(all)},
        [&] { return fg::linear_backward(s, from, grad, by); });
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

TEST(registry_attention, fused_forms) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 4, 3, 8}), k = numbers({2, 2, 5, 8}), v = numbers({2, 2, 5, 8}, -1);
  const auto m = numbers({3, 5});
  const view<host> query(a), key(k), value(v), mask(m);
  // Tensors and integers.
  const auto check_fused = [&](const char* name, const arguments<host>& given, auto&& want) {
    const auto& op = fg::registry<host>::at(name);
    note(op);
    fg::any_results<host> got;
    op.call(s, given, got);
    ASSERT_EQ(got.tensors.size(), 7U);
    expect_same(got.tensors[0].view(), view<host>(want.out), name);
    expect_same(got.tensors[1].view(), view<host>(want.logsumexp), name);
    for (const std::size_t absent : {2, 3, 6}) EXPECT_FALSE(got.tensors[absent].has_value());
    expect_same(got.tensors[4].view(), view<host>(want.philox_seed), name);
    expect_same(got.tensors[5].view(), view<host>(want.philox_offset), name);
    EXPECT_EQ(got.integers, (std::vector<i64>{3, 5}));
  };
  check_fused("_scaled_dot_product_cudnn_attention", {query, key, value, mask, true, 0.0, false},
              fg::scaled_dot_product_cudnn_attention(s, a, k, v, m, true));
  check_fused("_cudnn_attention_forward",
              {query, key, value, std::nullopt, std::nullopt, std::nullopt, 3, 5, false, 0.0, true},
              fg::scaled_dot_product_cudnn_attention(s, a, k, v, std::nullopt, false, 0, true));
  const char* const overrideable = "_scaled_dot_product_fused_attention_overrideable";
  const auto made =
      fg::scaled_dot_product_fused_attention_overrideable(s, a, k, v, m, 0, false, 0.5);
  check_fused(overrideable, {query, key, value, mask, 0.0, false, false, 0.5},
              fg::scaled_dot_product_fused_attention_overrideable(s, a, k, v, m, 0, false, 0.5));
  fg::any_results<host> got;
  const arguments<host> with_debug_mask{query, key, value, mask, 0.0, false, true};
  EXPECT_ERROR(fg::registry<host>::at(overrideable).call(s, with_debug_mask, got), not_supported,
               "return_debug_mask = False");
  EXPECT_ERROR(fg::registry<host>::at(overrideable)(s, {query, key, value}), invalid_argument,
               "any_results");

  const auto g = numbers({2, 4, 3, 8}, -1, 1, 3);
  const view<host> grad(g), out(made.out), logs(made.logsumexp), seed(made.philox_seed);
  const bool all[] = {true, true, true, true}, some[] = {true, false, true, false};
  check("_scaled_dot_product_efficient_attention_backward",
        {grad, query, key, value, mask, out, logs, seed, seed, 0.0, std::span<const bool>(all),
         false, 0.5},
        [&] {
          return fg::scaled_dot_product_efficient_attention_backward(
              s, g, a, k, v, m, made.out, made.logsumexp, 0, {true, true, true, true}, false, 0.5);
        });
  check("_scaled_dot_product_fused_attention_overrideable_backward",
        {grad, query, key, value, mask, std::span<const bool>(some), out, logs, std::nullopt,
         std::nullopt, 3, 5, 0.0, false, seed, seed, 0.5},
        [&] {
          return fg::scaled_dot_product_fused_attention_overrideable_backward(
              s, g, a, k, v, m, {true, false, true, false}, made.out, made.logsumexp, std::nullopt,
              std::nullopt, 3, 5, 0, false, 0.5);
        });
  check("_scaled_dot_product_cudnn_attention_backward",
        {grad, query, key, value, out, logs, seed, seed, mask, std::nullopt, std::nullopt, 3, 5,
         0.0, false, 0.5},
        [&] {
          return fg::scaled_dot_product_cudnn_attention_backward(s, g, a, k, v, made.out,
                                                                 made.logsumexp, m, std::nullopt,
                                                                 std::nullopt, 3, 5, 0, false, 0.5);
        });
  // Heads behind positions.
  const auto a4 = numbers({2, 3, 4, 8}), k4 = numbers({2, 5, 4, 8}), l4 = numbers({2, 4, 32}, 1, 3);
  const view<host> q4(a4), keys4(k4), sums(l4);
  check("_efficient_attention_backward",
        {q4, q4, keys4, keys4, mask, q4, std::nullopt, std::nullopt, 3, 5, sums, 0.0, seed, seed, 0,
         true},
        [&] {
          return fg::efficient_attention_backward(s, a4, a4, k4, k4, m, a4, std::nullopt,
                                                  std::nullopt, 3, 5, l4, 0, 0, true);
        });
}

TEST(registry_attention, latent_keys) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 1, 4, 12}), cache = numbers({3, 4, 1, 12}), sink = numbers({4});
  const auto table = fg::from_values<fg::i32>(s, {2, 0, 1, 2}),
             used = fg::from_values<fg::i32>(s, {6, 3}),
             list = fg::from_values<fg::i32>(s, {0, 5, -1, 11, 3, 3});
  const auto pages = table.view().unflatten(0, {2, 2}), lists = list.view().unflatten(0, {2, 1, 3});
  const view<host> q(a), keys(cache), blocks(pages), lengths(used), indices(lists), sinks(sink);
  check("flaggems::flash_mla", {q, blocks, keys, 8, 4, 2, 1, lengths, 4, 1, 12, 8, true},
        [&] { return fg::flash_mla(s, a, pages, cache, 8, 4, 2, 1, used, 4, 1, 12, 8, true); });
  const char* const name = "flaggems::flash_mla_with_kvcache";
  const std::optional<fg::tensor_view<const fg::i32>> none, of_table(pages), of_used(used.view());
  check(name, {q, keys, blocks, lengths, 8, lengths, lengths, 0.5, true}, [&] {
    return fg::flash_mla_with_kvcache(s, a, cache, of_table, of_used, 8,
                                      {.softmax_scale = 0.5, .causal = true});
  });
  check(
      name,
      {q, keys, std::nullopt, std::nullopt, 8, {}, {}, {}, {}, {}, indices, sinks, {}, {}, lengths},
      [&] {
        return fg::flash_mla_with_kvcache(
            s, a, cache, none, none, 8,
            {.indices = lists, .attn_sink = sink.view(), .topk_length = used.view()});
      });
  const auto b = numbers({1, 1, 2, 512});
  const auto byte = numbers<fg::u8>({2, 3, 1, 584}, 0, 100);
  const auto first = list.view().narrow(0, 0, 3).unflatten(0, {1, 1, 3});
  const view<host> wide(b), bytes(byte), own(first);
  check(name,
        {wide, bytes, std::nullopt, std::nullopt, 512, {}, {}, {}, {}, true, own, {}, bytes, own},
        [&] {
          return fg::flash_mla_with_kvcache(s, b, byte, none, none, 512,
                                            {.is_fp8_kvcache = true,
                                             .indices = first,
                                             .extra_k_cache = byte.view(),
                                             .extra_indices_in_kvcache = first});
        });
  const auto q3 = a.view().select(1, 0), kv = cache.view().flatten(0, 1);
  const view<host> rows(q3), lines(kv);
  check("flaggems::flash_mla_sparse_fwd", {rows, lines, indices, 0.5, 8, sinks, lengths},
        [&] { return fg::flash_mla_sparse_fwd(s, q3, kv, lists, 0.5, 8, sink, used); });
  const auto q4 = q3.unsqueeze(0), kv4 = kv.unsqueeze(0), kv3 = kv4.select(2, 0);
  const auto lists4 = lists.unsqueeze(0), lists3 = lists4.select(2, 0);
  const view<host> batch(q4), keys4(kv4), indices4(lists4), keys3(kv3), indices3(lists3);
  check("flaggems::triton_sparse_mla_fwd_interface", {batch, keys4, indices4, 0.5, false, 8},
        [&] { return fg::triton_sparse_mla_fwd_interface(s, q4, kv4, lists4, 0.5, 8); });
  check("flaggems::sparse_attn_triton", {batch, keys3, sinks, indices3, 0.5},
        [&] { return fg::sparse_attn_triton(s, q4, kv3, sink, lists3, 0.5); });
  fg::any_tensor<host> two[2];
  EXPECT_ERROR(
      fg::registry<host>::at(name).call(
          s, {q, keys, std::nullopt, std::nullopt, 8, {}, {}, {}, {}, true, indices, {}, keys},
          two),
      dtype_mismatch, "u8 for argument extra_k_cache");
}

TEST(registry_attention, logits) {
  const auto& s = stream_of<host>();
  const auto q = numbers<fg::f8e4m3>({2, 3, 32}), k = numbers<fg::f8e4m3>({5, 32});
  const auto scale = numbers({5}), weight = numbers({2, 3});
  const auto from = fg::from_values<fg::i32>(s, {0, 2}), to = fg::from_values<fg::i32>(s, {3, 5}),
             exponent = fg::from_values<fg::i32>(s, {127, 126, 125, 127, 128, 126});
  const auto exponents = exponent.view().unflatten(0, {2, 3});
  const auto four = numbers<fg::u8>({2, 3, 16}, 0, 255),
             byte = numbers<fg::u8>({3, 4, 1, 36}, 0, 100);
  const view<host> queries(q), keys(k), scales(scale), weights(weight), starts(from), ends(to),
      shifts(exponents), packed(four), cache(byte);
  check("flaggems::fp8_mqa_logits", {queries, keys, scales, weights, starts, ends, true},
        [&] { return fg::fp8_mqa_logits(s, q, k, scale, weight, from, to, true); });
  const std::optional<fg::tensor_view<const fg::i32>> none, of_exponents(exponents);
  const char* const coded = "flaggems::fp8_fp4_mqa_logits";
  check(coded, {queries, std::nullopt, keys, scales, weights, starts, ends, false},
        [&] { return fg::fp8_fp4_mqa_logits(s, q, none, k, scale, weight, from, to, false); });
  check(coded, {packed, shifts, keys, scales, weights, starts, ends},
        [&] { return fg::fp8_fp4_mqa_logits(s, four, of_exponents, k, scale, weight, from, to); });
  const auto table = fg::from_values<fg::i32>(s, {2, 0, 1, 2});
  const auto pages = table.view().unflatten(0, {2, 2}), e4 = exponents.unsqueeze(1);
  const auto q4 = q.view().unsqueeze(1);
  const auto f4 = four.view().unsqueeze(1);
  const view<host> blocks(pages), of_bytes(q4), of_four(f4), shifts4(e4);
  check("flaggems::fp8_paged_mqa_logits", {of_bytes, cache, weights, ends, blocks, 7},
        [&] { return fg::fp8_paged_mqa_logits(s, q4, byte, weight, to, pages, 7); });
  const std::optional<fg::tensor_view<const fg::i32>> of_e4(e4);
  check("flaggems::fp8_fp4_paged_mqa_logits",
        {of_four, shifts4, cache, weights, ends, blocks, std::nullopt, 7, true}, [&] {
          return fg::fp8_fp4_paged_mqa_logits(s, f4, of_e4, byte, weight, to, pages, 7, true);
        });
  const auto a = numbers({2, 1, 3, 8}), kv = numbers({3, 4, 1, 8});
  const view<host> x(a), numbers_of(kv);
  check("flaggems::bf16_paged_mqa_logits",
        {x, numbers_of, weights, ends, blocks, std::nullopt, 7, true},
        [&] { return fg::bf16_paged_mqa_logits(s, a, kv, weight, to, pages, 7, true); });
  check("flaggems::get_paged_mqa_logits_metadata", {ends, 64, 3},
        [&] { return fg::get_paged_mqa_logits_metadata(s, to, 64, 3); });
  const arguments<host> planned{
      2, 1, 9, 4, 2, 64, 64, fg::dtype::f32, ends, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, 3};
  check("flaggems::get_scheduler_metadata", planned, [&] {
    return fg::get_scheduler_metadata(s, 2, 1, 9, 4, 2, 64, 64, to, {.num_splits = 3});
  });
  EXPECT_ERROR(fg::registry<host>::at("flaggems::fp8_mqa_logits")(
                   s, {weights, keys, scales, weights, starts, ends, true}),
               dtype_mismatch, "f8e4m3");
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
  for (const char* const one : {name, "flaggems::flash_attn_varlen_opt_func"})
    check(one, {q, keys, values, 4, first, 5, key_first},
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
  check("_flash_attention_forward",
        {q,
         paged,
         paged,
         first,
         std::nullopt,
         4,
         5,
         0.0,
         false,
         false,
         {},
         {},
         {},
         lengths,
         {},
         blocks,
         1},
        [&] {
          return fg::flash_attention_forward(s, a, cache, cache, starts, none, 4, 5,
                                             {.seqused_k = of_used, .block_table = pages});
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

TEST(registry_gemm, sums_by_einstein) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 5}), b = numbers({5, 4}), c = numbers({4, 2});
  const view<host> list[] = {view<host>(a), view<host>(b), view<host>(c)};
  const std::span<const view<host>> three(list), two(list, 2);
  check("einsum", {"ij,jk->ki", two}, [&] { return fg::einsum(s, "ij,jk->ki", std::tie(a, b)); });
  const i64 path[] = {1, 2, 0, 1};
  check("einsum", {"ij,jk,kl", three, fg::int_list(path)},
        [&] { return fg::einsum(s, "ij,jk,kl", std::tie(a, b, c), path); });
  EXPECT_ERROR(fg::registry<host>::at("einsum")(s, {"ij,jk->il", two}), invalid_argument, "einsum");
}

TEST(registry_gemm, scales_of_blocks) {
  const auto& s = stream_of<host>();
  const auto a = numbers<fg::f8e4m3>({3, 8}), b = numbers<fg::f8e4m3>({5, 8});
  const auto as = numbers({3, 2}), bs = numbers({2, 2}), v = numbers({5});
  const view<host> x(a), y(b), xs(as), ys(bs);
  const fg::int_list blocks{4, 4};
  const char* const matmul = "flaggems::w8a8_block_fp8_matmul";
  check(matmul, {x, y, xs, ys, blocks}, [&] {
    return fg::w8a8_block_fp8_matmul(s, a, b, as, bs, {4, 4});
  });
  check(matmul, {x, y, xs, ys, blocks, fg::dtype::f32}, [&] {
    return fg::w8a8_block_fp8_matmul<f32>(s, a, b, as, bs, {4, 4});
  });
  const view<host> x3(x.unsqueeze(0)), y3(y.unsqueeze(0)), xs3(xs.unsqueeze(0)),
      ys3(ys.unsqueeze(0));
  check("flaggems::w8a8_block_fp8_bmm", {x3, y3, xs3, ys3, blocks}, [&] {
    return fg::w8a8_block_fp8_bmm(s, a.unsqueeze(0), b.unsqueeze(0), as.unsqueeze(0),
                                  bs.unsqueeze(0), {4, 4});
  });
  check("flaggems::fp8_einsum",
        {"bhr,hdr->bhd", view<host>(x.unsqueeze(1)), view<host>(xs.unsqueeze(1)), y3, ys3, blocks,
         fg::dtype::f32},
        [&] {
          return fg::fp8_einsum<f32>(s, "bhr,hdr->bhd", a.unsqueeze(1), as.unsqueeze(1),
                                     b.unsqueeze(0), bs.unsqueeze(0), {4, 4});
        });
  const auto one = numbers({1}, 1, 2);
  auto got = fg::zeros<bf16>(s, {3, 5}), want = fg::zeros<bf16>(s, {3, 5});
  const auto& op = fg::registry<host>::at("flaggems::cutlass_scaled_mm");
  note(op);
  op.call(s,
          {view<host>(got.view()), x, view<host>(y.t()), view<host>(one), view<host>(one),
           view<host>(v)},
          {});
  fg::cutlass_scaled_mm(s, want, a, b.t(), one, one, v);
  expect_same(view<host>(got), view<host>(want), "cutlass_scaled_mm");
}

}  // namespace
}  // namespace flaggems_test
