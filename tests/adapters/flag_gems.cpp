// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// FlagGems' C++ interface, included as its users do: each function against ATen.
#include <flag_gems/operators.h>

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace {

using tensors = std::vector<at::Tensor>;

/// A function's call, and what ATen gives; `expected` is left out where results are looked at in
/// another test, or there are none.
struct function {
  const char* name;
  std::function<tensors()> call, expected;
};

template <class... T>
tensors list(const std::tuple<T...>& all) {
  return std::apply([](const auto&... x) { return tensors{x...}; }, all);
}

constexpr bool has_f8 =
    flaggems::detail::scalar_type_of[static_cast<std::size_t>(flaggems::dtype::f8e4m3)] !=
    c10::ScalarType::Undefined;

struct flag_gems_functions : testing::Test {
  at::Tensor x = at::randn({4, 8}), y = at::randn({4, 8}) + 3, w = at::randn({8, 5});
  at::Tensor row = at::randn({8}), batch = at::randn({3, 4, 8}), other = at::randn({3, 8, 5});
  at::Tensor indices = at::arange(0, 4), integers = at::arange(0, 12).view({3, 4});
  at::Tensor q = at::randn({6, 3, 8}), k = at::randn({6, 1, 8});
  at::Tensor cos = at::randn({16, 4}), sin = at::randn({16, 4});

  at::Tensor normed(const at::Tensor& t, const at::Tensor& weight, double eps = 1e-5) {
    return t * at::rsqrt(t.square().mean({-1}, true) + eps) * weight;
  }
  at::Tensor rotated(const at::Tensor& t) {
    const at::Tensor c = cos.narrow(0, 0, 6).unsqueeze(1), s = sin.narrow(0, 0, 6).unsqueeze(1);
    const at::Tensor a = t.narrow(2, 0, 4), b = t.narrow(2, 4, 4);
    return at::cat({a * c - b * s, b * c + a * s}, 2);
  }
  /// f(copy of x), and the copy.
  template <class F>
  std::function<tensors()> in_place(F f) {
    return [f, this] {
      at::Tensor copy = x.clone();
      f(copy);
      return tensors{copy};
    };
  }
  std::vector<function> functions();
};

std::vector<function> flag_gems_functions::functions() {
  namespace fg = flag_gems;
  const auto one = [](auto f) -> std::function<tensors()> { return [f] { return tensors{f()}; }; };
  // Integers, whose sums bf16 holds.
  const auto small = [](const at::Tensor& t) {
    constexpr auto f8 =
        flaggems::detail::scalar_type_of[static_cast<std::size_t>(flaggems::dtype::f8e4m3)];
    const at::Tensor whole = (t * 2).round().clamp(-5, 5);
    return has_f8 ? whole.to(f8) : whole;
  };
  const at::Tensor x8 = small(x), w8 = small(w.t().contiguous());
  const at::Tensor row_scales = at::full({4, 1}, 0.5), fp8_scale = at::full({1, 1}, 4);
  const auto fp8_product = one(
      [=] { return (at::matmul(x8.to(at::kFloat), w8.to(at::kFloat).t()) * 2).to(at::kBFloat16); });
  return {
      {"zeros", one([] {
         return fg::zeros({2, 3});
       }),
       one([] {
         return at::zeros({2, 3});
       })},
      {"fill_scalar", one([&] { return fg::fill_scalar(x, 2.5); }),
       one([&] { return at::full_like(x, 2.5); })},
      {"fill_tensor", one([&] { return fg::fill_tensor(x, row[0]); }),
       one([&] { return x.clone().fill_(row[0]); })},
      {"fill_scalar_", in_place([](at::Tensor& t) { fg::fill_scalar_(t, -1); }),
       in_place([](at::Tensor& t) { t.fill_(-1); })},
      {"fill_tensor_", in_place([this](at::Tensor& t) { fg::fill_tensor_(t, row[1]); }),
       in_place([this](at::Tensor& t) { t.fill_(row[1]); })},
      {"exponential_", in_place([](at::Tensor& t) { fg::exponential_(t, 2.0); }), {}},
      {"copy_", in_place([this](at::Tensor& t) { fg::copy_(t, y); }), one([&] { return y; })},
      {"to_copy", one([&] { return fg::to_copy(x, at::kLong); }),
       one([&] { return x.to(at::kLong); })},
      {"contiguous", one([&] { return fg::contiguous(x.t()); }),
       one([&] { return x.t().contiguous(); })},
      {"cat", one([&] {
         return fg::cat(tensors{x, y}, 1);
       }),
       one([&] {
         return at::cat({x, y}, 1);
       })},

      {"add_tensor", one([&] { return fg::add_tensor(x, row, 2); }),
       one([&] { return at::add(x, row, 2); })},
      {"add_scalar", one([&] { return fg::add_scalar(integers, 1.5); }),
       one([&] { return at::add(integers, 1.5); })},
      {"add_tensor_inplace", in_place([this](at::Tensor& t) { fg::add_tensor_inplace(t, y, 0.5); }),
       in_place([this](at::Tensor& t) { t.add_(y, 0.5); })},
      {"add_scalar_inplace", in_place([](at::Tensor& t) { fg::add_scalar_inplace(t, 3); }),
       in_place([](at::Tensor& t) { t.add_(3); })},
      {"true_div", one([&] { return fg::true_div(x, y); }), one([&] { return at::div(x, y); })},
      {"true_div_", in_place([this](at::Tensor& t) { fg::true_div_(t, y); }),
       in_place([this](at::Tensor& t) { t.div_(y); })},
      {"trunc_div", one([&] { return fg::trunc_div(x, y); }),
       one([&] { return at::div(x, y, "trunc"); })},
      {"trunc_div_", in_place([this](at::Tensor& t) { fg::trunc_div_(t, y); }),
       in_place([this](at::Tensor& t) { t.div_(y, "trunc"); })},
      {"floor_div", one([&] { return fg::floor_div(integers, integers + 1); }),
       one([&] { return at::div(integers, integers + 1, "floor"); })},
      {"floor_div_", in_place([this](at::Tensor& t) { fg::floor_div_(t, y); }),
       in_place([this](at::Tensor& t) { t.div_(y, "floor"); })},
      {"div_mode", one([&] { return fg::div_mode(x, y, c10::nullopt); }),
       one([&] { return at::div(x, y); })},
      {"div_mode_", in_place([this](at::Tensor& t) { fg::div_mode_(t, y, std::string("floor")); }),
       in_place([this](at::Tensor& t) { t.div_(y, "floor"); })},
      {"remainder", one([&] { return fg::remainder(x, y); }),
       one([&] { return at::remainder(x, y); })},
      {"remainder_", in_place([this](at::Tensor& t) { fg::remainder_(t, y); }),
       in_place([this](at::Tensor& t) { t.remainder_(y); })},
      {"remainder_tt", one([&] { return fg::remainder_tt(x, y); }),
       one([&] { return at::remainder(x, y); })},
      {"remainder_ts", one([&] { return fg::remainder_ts(x, 0.75); }),
       one([&] { return at::remainder(x, 0.75); })},
      {"remainder_st", one([&] { return fg::remainder_st(2.5, y); }),
       one([&] { return at::remainder(2.5, y); })},

      {"mm_tensor", one([&] { return fg::mm_tensor(x, w); }), one([&] { return at::mm(x, w); })},
      {"mm_out_tensor", one([&] {
         at::Tensor out = at::empty({4, 5});
         return fg::mm_out_tensor(x, w, out);
       }),
       one([&] { return at::mm(x, w); })},
      {"addmm", one([&] { return fg::addmm(w[0], x, w, 0.5, 2); }),
       one([&] { return at::addmm(w[0], x, w, 0.5, 2); })},
      {"addmm_out", one([&] {
         at::Tensor out = at::empty({4, 5});
         return fg::addmm_out(w[0], x, w, 1, -1, out);
       }),
       one([&] { return at::addmm(w[0], x, w, 1, -1); })},
      {"bmm", one([&] { return fg::bmm(batch, other); }),
       one([&] { return at::bmm(batch, other); })},

      {"sum_dim", one([&] {
         return fg::sum_dim(batch, at::IntArrayRef{0, 2}, true);
       }),
       one([&] {
         return at::sum(batch, at::IntArrayRef{0, 2}, true);
       })},
      {"sum", one([&] { return fg::sum(integers, at::kFloat); }),
       one([&] { return at::sum(integers, at::kFloat); })},
      {"max_dim", [&] { return list(fg::max_dim(x, 1, true)); },
       [&] { return list(at::max(x, 1, true)); }},
      {"max_dim_max",
       [&] {
         at::Tensor values = at::empty({8}), where = at::empty({8}, at::kLong);
         fg::max_dim_max(x, 0, false, values, where);
         return tensors{values, where};
       },
       [&] { return list(at::max(x, 0, false)); }},
      {"max", one([&] { return fg::max(x); }), one([&] { return at::max(x); })},
      {"argmax", one([&] { return fg::argmax(x); }), one([&] { return at::argmax(x); })},
      {"topk", [&] { return list(fg::topk(x, 3)); }, [&] { return list(at::topk(x, 3)); }},
      {"sort", [&] { return list(fg::sort(x, 0, true)); },
       [&] { return list(at::sort(x, 0, true)); }},
      {"sort_stable", [&] { return list(fg::sort_stable(x.round(), true, 1)); },
       [&] { return list(at::sort(x.round(), c10::optional<bool>(true), 1)); }},
      {"nonzero", one([&] { return fg::nonzero(integers); }),
       one([&] { return at::nonzero(integers); })},
      {"embedding", one([&] { return fg::embedding(w, indices); }),
       one([&] { return at::embedding(w, indices); })},
      {"embedding_backward", one([&] { return fg::embedding_backward(x, indices, 9); }),
       one([&] { return at::embedding_dense_backward(x, indices, 9, -1, false); })},

      {"softmax", one([&] { return fg::softmax(x, -1, false); }),
       one([&] { return at::softmax(x, -1); })},
      {"softmax_backward", one([&] { return fg::softmax_backward(y, x, 1, at::kFloat); }),
       one([&] { return at::_softmax_backward_data(y, x, 1, at::kFloat); })},
      {"rms_norm", one([&] { return fg::rms_norm(x, row, 1e-3); }),
       one([&] { return normed(x, row, 1e-3); })},
      {"gemma_rms_norm", one([&] { return fg::gemma_rms_norm(x, row); }),
       one([&] { return normed(x, row + 1); })},
      {"fused_add_rms_norm",
       [&] {
         at::Tensor input = x.clone(), residual = y.clone();
         fg::fused_add_rms_norm(input, residual, row);
         return tensors{input, residual};
       },
       [&] {
         return tensors{normed(x + y, row), x + y};
       }},
      {"rotary_embedding", [&] { return list(fg::rotary_embedding(q, k, cos, sin)); },
       [&] {
         return tensors{rotated(q), rotated(k)};
       }},
      {"rotary_embedding_inplace",
       [&] {
         at::Tensor a = q.clone(), b = k.clone();
         fg::rotary_embedding_inplace(a, b, cos, sin, at::arange(0, 6));
         return tensors{a, b};
       },
       [&] {
         return tensors{rotated(q), rotated(k)};
       }},

      {"set_aten_patch_installed",
       [] {
         fg::set_aten_patch_installed(true);
         return tensors{};
       },
       {}},
      {"aten_patch_installed",
       [] {
         fg::set_aten_patch_installed(true);
         EXPECT_TRUE(fg::aten_patch_installed());
         fg::set_aten_patch_installed(false);
         EXPECT_FALSE(fg::aten_patch_installed());
         return tensors{};
       },
       {}},

      {"act_quant_triton",
       [&] {
         const tensors r = fg::act_quant_triton(x, 4);
         const at::Tensor blocks = r[0].to(at::kFloat).view({4, 2, 4}) * r[1].unsqueeze(-1);
         EXPECT_TRUE(at::allclose(blocks.view({4, 8}), x, 1.0 / 16, 1e-3)) << blocks << x;
         return tensors{r[1]};
       },
       one([&] {
         return at::amax(x.abs().view({4, 2, 4}), -1).clamp_min(1e-4) / 448;
       })},
      {"fp8_matmul", one([&] { return fg::fp8_matmul(x8, row_scales, w8, fp8_scale); }),
       fp8_product},
      {"fp8_matmul_direct",
       one([&] { return fg::fp8_matmul_direct(x8, row_scales, w8, fp8_scale); }), fp8_product},
  };
}

TEST_F(flag_gems_functions, equal_atens) {
  // What needs 8-bit floats; the others must be there.
  std::set<std::string> lacking;
  if (!has_f8) lacking = {"act_quant_triton", "fp8_matmul", "fp8_matmul_direct"};
  int ran = 0;
  std::string missing;
  const auto all = functions();
  for (const function& f : all) {
    SCOPED_TRACE(f.name);
    tensors got;
    try {
      got = f.call();
    } catch (const flaggems::error& e) {
      EXPECT_EQ(e.code(), flaggems::errc::not_supported) << e.what();
      EXPECT_EQ(lacking.count(f.name), 1u) << e.what();
      EXPECT_TRUE(std::string(e.what()).starts_with("flag_gems::")) << e.what();
      (missing += ' ') += f.name;
      continue;
    }
    EXPECT_EQ(lacking.count(f.name), 0u);
    ++ran;
    if (!f.expected) continue;
    const tensors want = f.expected();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(got[i].sizes(), want[i].sizes());
      EXPECT_EQ(got[i].scalar_type(), want[i].scalar_type());
      EXPECT_TRUE(at::allclose(got[i], want[i], 1e-5, 1e-5)) << got[i] << "\n" << want[i];
    }
  }
  std::cout << "flag_gems: " << ran << " of " << all.size()
            << " functions, and 4 of flag_gems_attention.cpp; not there:" << missing << "\n";
}

TEST_F(flag_gems_functions, errors_are_the_operators) {
  const auto refused = [](auto&& call, flaggems::errc code, const char* part) {
    try {
      static_cast<void>(call());
      ADD_FAILURE() << "no error: " << part;
    } catch (const flaggems::error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  using enum flaggems::errc;
  refused([&] { return flag_gems::mm_tensor(x, x); }, shape_mismatch, "mm: ");
  refused([&] { return flag_gems::add_tensor(x, x.to_sparse()); }, not_supported, "strided");
  refused([&] { return flag_gems::topk(x, 9); }, out_of_range, "topk: ");
  refused([&] { return flag_gems::mm_tensor(x.to(at::kHalf), w.to(at::kHalf)); }, dtype_mismatch,
          "got f16");
  refused([&] { return flag_gems::max(at::empty({2}, at::TensorOptions(at::kMeta))); },
          not_supported, "flag_gems::max: expected tensors of a device");
  at::Tensor needs = x.clone().requires_grad_();
  refused([&] { return flag_gems::softmax(needs, 0, false); }, not_supported, "gradients");
  refused([&] { return flag_gems::zeros({2}, at::kFloat, c10::Layout(c10::kSparse)); },
          not_supported, "strided");
  refused([&] { return flag_gems::to_copy(x, c10::nullopt, c10::nullopt, at::Device(at::kMeta)); },
          not_supported, "own device");
}

TEST_F(flag_gems_functions, contiguous_is_itself) {
  EXPECT_TRUE(flag_gems::contiguous(x).is_same(x));
  EXPECT_FALSE(flag_gems::contiguous(x.t()).is_same(x));
}

TEST_F(flag_gems_functions, seeds_come_from_pytorch) {
  const auto draw = [&] {
    return flaggems::detail::flag_gems_call(
               "test", "multinomial",
               {at::ones({50}), int64_t{20}, true, flaggems::detail::flag_gems_seed(c10::nullopt)})
        .one();
  };
  at::manual_seed(7);
  const at::Tensor a = draw(), b = draw();
  at::manual_seed(7);
  EXPECT_TRUE(draw().equal(a));
  EXPECT_FALSE(b.equal(a));
}

}  // namespace
