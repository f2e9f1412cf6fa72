// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators of the registry in PyTorch's dispatcher, against ATen's own.
#include <flaggems/adapters/torch_operators.hpp>
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/scatter.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/statistics.hpp>
#include <flaggems/ops/topk.hpp>
#include <flaggems/ops/views.hpp>
#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/device.hpp>
#include <flaggems/registry/families/copy.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/meta.hpp>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace fg = flaggems;
using fg::host;

namespace {

/// As the library's families have them, but fewer.
struct few {
  static constexpr auto lines() {
    using namespace flaggems;
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND_IN_PLACE(flaggems::add, floating_types, line("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor").promotes().out("out")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::mul, floating_types, line("mul.Tensor(Tensor self, Tensor other) -> Tensor").promotes().out("out")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::exp, floating_types, line("exp(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::clamp, floating_types, line("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::mm, floating_types, "mm(Tensor self, Tensor mat2) -> Tensor"),
        FLAGGEMS_BIND_RESULT(flaggems::sum, floating_types, line("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor").out("IntList_out")),
        FLAGGEMS_BIND(flaggems::topk, floating_types, line("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)").out("values").outputs_after(2)),
        FLAGGEMS_BIND_RESULT(flaggems::softmax, floating_types, "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::softmax, floating_types, "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"),
        FLAGGEMS_BIND(flaggems::softmax_backward, floating_types, "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"),
        FLAGGEMS_BIND(flaggems::index, floating_types, "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::index_put, floating_types, "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"),
        FLAGGEMS_BIND_RESULT(flaggems::zeros_like, floating_types, line("zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor").sized_as("self").without_out().none_is(memory_format::preserve_format)),
        FLAGGEMS_BIND_RESULT(flaggems::new_zeros, floating_types, line("new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").sized_as("self").without_out()),
        FLAGGEMS_BIND(flaggems::as_strided_copy, floating_types, "as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor"),
        FLAGGEMS_BIND_VIEW(x.permute(a...), "permute(Tensor(a) self, int[] dims) -> Tensor(a)"),
        FLAGGEMS_BIND(flaggems::split_copy, floating_types, "split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"),
        FLAGGEMS_BIND(flaggems::equal, floating_types, "equal(Tensor self, Tensor other) -> bool"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::gelu_none, floating_types, "flaggems::gelu_none(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::silu_and_mul, floating_types, line("flaggems::silu_and_mul(Tensor x, Tensor y) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::native_layer_norm_backward, floating_types, line("native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)").keeps("mean", "rstd").without_out()));
    // clang-format on
  }
};

}  // namespace

FLAGGEMS_REGISTRY_FAMILY(few, flaggems::host, flaggems::f32);
// f64, too: numbers of C++ and Python are tensors of it.
FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::copy, flaggems::host, flaggems::f32,
                         flaggems::f64);
FLAGGEMS_REGISTRY(flaggems::host, few, flaggems::operator_families::copy);
FLAGGEMS_REGISTRY_FAMILY(few, flaggems::meta, flaggems::f32);
FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::copy, flaggems::meta, flaggems::f32);
FLAGGEMS_REGISTRY(flaggems::meta, few, flaggems::operator_families::copy);

namespace {

/// What ran, and what was left to ATen.
struct calls {
  std::vector<std::string> ran, left;
  fg::torch_operator_options options(std::vector<std::string> include = {}) {
    return {.include = std::move(include), .log = [this](const fg::torch_call& c) {
              (c.left_because.empty() ? ran : left).push_back(c.to_string());
            }};
  }
};

/// How often a text has another.
int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

bool contains(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

struct torch_operators : testing::Test {
  at::Tensor x = at::randn({4, 8}), y = at::randn({4, 8}), w = at::randn({8, 5});
};

TEST_F(torch_operators, equal_atens_results) {
  const auto all = [&] {
    at::Tensor in_place = x.clone(), out = at::empty({4, 8});
    in_place.add_(y, 0.5).exp_();
    at::mul_out(out, x, y);
    const auto [values, indices] = at::topk(x, 3);
    return std::vector<at::Tensor>{at::add(x, y, 2),
                                   x + 1.5,
                                   x.t() * y.t(),
                                   at::exp(x),
                                   at::clamp(x, -1, 0.5),
                                   at::mm(x, w),
                                   at::mm(y.t(), x),
                                   at::cat({x, y}, 1),
                                   at::sum(x, {1}, true),
                                   at::sum(x, {0}),
                                   at::softmax(x, -1),
                                   values,
                                   indices,
                                   in_place,
                                   out};
  };
  const auto expected = all();
  calls log;
  std::vector<at::Tensor> ours;
  {
    const fg::torch_operators<host> registered(log.options());
    ours = all();
  }
  EXPECT_EQ(log.left, std::vector<std::string>());
  for (const char* one :
       {"aten::add.Tensor(Float[4, 8], Float[4, 8], 2)", "aten::exp(Float[4, 8])",
        "aten::add_.Tensor(Float[4, 8], Float[4, 8], 0.500000)", "aten::exp_(Float[4, 8])",
        "aten::mul.out(Float[4, 8], Float[4, 8], Float[4, 8])",
        "aten::add.Tensor(Float[4, 8], Double[], 1)", "aten::mm(Float[4, 8], Float[8, 5])",
        "aten::_softmax(Float[4, 8], -1, False)", "aten::cat(Float[4, 8] Float[4, 8] , 1)"})
    EXPECT_TRUE(contains(log.ran, one)) << one << " is not among\n"
                                        << testing::PrintToString(log.ran);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(ours[i].sizes(), expected[i].sizes());
    EXPECT_EQ(ours[i].scalar_type(), expected[i].scalar_type());
    EXPECT_TRUE(at::allclose(ours[i], expected[i], 1e-5, 1e-6)) << i;
  }
  // ATen's again.
  const auto count = log.ran.size();
  EXPECT_TRUE(at::exp(x).equal(expected[3]));
  EXPECT_EQ(log.ran.size(), count);
}

TEST_F(torch_operators, autograd_goes_through) {
  const auto gradients = [&] {
    const at::Tensor a = x.detach().clone().requires_grad_();
    const at::Tensor b = w.detach().clone().requires_grad_();
    const at::Tensor loss = (at::softmax(at::mm(a, b), -1) * at::exp(at::mm(a, b))).sum();
    loss.backward();
    return std::pair(a.grad(), b.grad());
  };
  const auto expected = gradients();
  calls log;
  auto options = log.options();
  options.fall_back = true;  // allclose multiplies bools
  const fg::torch_operators<host> registered(std::move(options));
  const auto ours = gradients();
  EXPECT_TRUE(at::allclose(ours.first, expected.first, 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(ours.second, expected.second, 1e-4, 1e-5));
  EXPECT_TRUE(contains(log.ran, "aten::_softmax_backward_data(Float[4, 5], Float[4, 5], -1, 6)"))
      << testing::PrintToString(log.ran);
  // In place on what autograd needs is still found.
  const at::Tensor a = x.detach().clone().requires_grad_();
  at::Tensor e = at::exp(a);
  e.add_(y);
  EXPECT_ANY_THROW(e.sum().backward());
}

TEST_F(torch_operators, what_ours_do_not_take_is_atens) {
  const at::Tensor c = at::randn({3}, at::TensorOptions(at::kComplexFloat));
  const at::Tensor d = x.to(at::kDouble), ones = at::ones({4, 8}, at::TensorOptions(at::kLong));
  const auto all = [&] {
    at::Tensor out = at::empty({0});
    at::exp_out(out, x);  // resized
    at::Tensor larger = at::empty({0, 4, 8});
    at::mul_out(larger, x, x);  // not into it, as x is repeated no times
    return std::vector<at::Tensor>{at::exp(c),
                                   at::exp(c.conj()),
                                   at::exp(d),
                                   at::exp(x.to(at::kBFloat16)),
                                   ones + 0.5,
                                   x.to(at::kBFloat16) * 0.1,
                                   at::add(at::ones({}), 2.5),
                                   (x.to_sparse() * x.to_sparse()).to_dense(),
                                   at::add(ones, ones),
                                   larger,
                                   out};
  };
  const auto expected = all();
  calls log;
  auto options = log.options();
  options.fall_back = true;
  const fg::torch_operators<host> registered(std::move(options));
  testing::internal::CaptureStderr();  // PyTorch's warnings
  const auto ours = all();
  static_cast<void>(at::exp(d));
  // Once an operator, be there several reasons; a sparse tensor was never ours.
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(said, "aten::exp was left to ATen, which is said once: exp: expected"), 1)
      << said;
  EXPECT_EQ(count(said, "aten::add.Tensor was left to ATen"), 1) << said;
  EXPECT_EQ(count(said, "aten::mul.Tensor was left to ATen, which is said once: a number"), 1);
  EXPECT_EQ(count(said, "layout"), 0) << said;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(ours[i].scalar_type(), expected[i].scalar_type()) << i;
    EXPECT_EQ(ours[i].sizes(), expected[i].sizes()) << i;
    EXPECT_TRUE(at::allclose(ours[i], expected[i])) << i;
  }
  const auto left = [&](const std::string& call, const char* reason) {
    for (const std::string& one : log.left)
      if (one.starts_with(call + ", left to ATen: ") && one.find(reason) != std::string::npos)
        return;
    ADD_FAILURE() << call << " is not among\n" << testing::PrintToString(log.left);
  };
  left("aten::exp(ComplexFloat[3])", "got c64");
  left("aten::exp(Double[4, 8])", "got f64");
  left("aten::exp(BFloat16[4, 8])", "got bf16");
  left("aten::add.Tensor(Long[4, 8], Double[], 1)", "decides the dtype");
  left("aten::mul.Tensor(BFloat16[4, 8], Double[])", "would round");
  left("aten::add.Tensor(Float[], Double[], 1)", "decides the dtype");
  left("aten::add.Tensor(Long[4, 8], Long[4, 8], 1)", "got i64");
  left("aten::mul.Tensor(Float[4, 8], Float[4, 8])", "layout");
  // Resized, as the log sees them.
  for (const char* one : {"aten::exp.out(Float[4, 8], Float[4, 8])",
                          "aten::mul.out(Float[4, 8], Float[4, 8], Float[4, 8])"})
    EXPECT_TRUE(contains(log.ran, one)) << one << " is not among\n"
                                        << testing::PrintToString(log.ran);
  // What is wrong is said by ATen.
  EXPECT_THROW(static_cast<void>(at::mm(x, x)), c10::Error);
  // Meta tensors have shapes alone.
  const at::Tensor meta = at::exp(at::empty({2, 3}, at::TensorOptions(c10::DeviceType::Meta)));
  EXPECT_EQ(meta.size(1), 3);
}

TEST_F(torch_operators, refusals_are_errors) {
  const at::Tensor c = at::randn({3}, at::TensorOptions(at::kComplexFloat));
  const at::Tensor ones = at::ones({4, 8}, at::TensorOptions(at::kLong));
  const at::Tensor d = x.to(at::kDouble), b = x.to(at::kBFloat16), sparse = x.to_sparse();
  calls log;
  const fg::torch_operators<host> registered(log.options({"add", "exp", "mm", "mul"}));
  const auto refused = [](auto&& call, fg::errc code, const char* part) {
    try {
      static_cast<void>(call());
      ADD_FAILURE() << "no error: " << part;
    } catch (const fg::error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  using enum fg::errc;
  refused([&] { return at::exp(d); }, dtype_mismatch, "got f64");
  refused([&] { return at::exp(c); }, dtype_mismatch, "got c64");
  refused([&] { return ones + 0.5; }, not_supported, "decides the dtype");
  refused([&] { return b * 0.1; }, not_supported, "would round");
  refused([&] { return at::mm(x, x); }, shape_mismatch, "mm");
  // Outputs are resized, but not to what cannot be computed.
  at::Tensor out = at::empty({0});
  refused([&] { return at::mm_out(out, x, x); }, shape_mismatch, "mm");
  EXPECT_EQ(out.numel(), 0);
  at::exp_out(out, x);
  EXPECT_TRUE(out.equal(at::exp(x)));
  // Other devices and layouts are ATen's.
  EXPECT_TRUE((sparse * sparse).is_sparse());
  EXPECT_EQ(at::exp(at::empty({2, 3}, at::TensorOptions(c10::DeviceType::Meta))).size(1), 3);
  for (const std::string& one : log.left)
    EXPECT_TRUE(one.ends_with("layout (sparse or nested)") || one.ends_with("another device"))
        << one;
}

TEST_F(torch_operators, indices_that_may_be_absent) {
  const at::Tensor rows = at::tensor({2, -1, 0}, at::kLong),
                   columns = at::tensor({5, 0, 7}, at::kLong);
  const at::Tensor mask = x.select(1, 0) > 0, bytes = mask.to(at::kByte);
  using list = c10::List<c10::optional<at::Tensor>>;
  const auto all = [&] {
    const c10::optional<at::Tensor> none, undefined = at::Tensor();
    at::Tensor written = x.clone(), added = x.clone();
    written.index_put_({at::indexing::Slice(), columns}, y.narrow(1, 0, 3));
    added.index_put_({rows}, y.narrow(0, 0, 3), true);
    return std::vector<at::Tensor>{at::index(x, list({rows})),
                                   at::index(x, list({rows, columns})),
                                   at::index(x, list({none, columns})),
                                   at::index(x, list({undefined, columns})),
                                   x.index({at::indexing::Slice(), columns}),
                                   at::index_put(x, list({rows}), at::zeros({8})),
                                   written,
                                   added,
                                   at::index(x, list({mask})),
                                   at::index(x, list({bytes}))};
  };
  const auto expected = all();
  calls log;
  std::vector<at::Tensor> ours;
  {
    const fg::torch_operators<host> registered(log.options({"index", "index_put", "index_put_"}));
    ours = all();
  }
  ASSERT_EQ(ours.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(ours[i].equal(expected[i])) << i;
  EXPECT_EQ(log.ran.size(), 8u) << testing::PrintToString(log.ran);
  EXPECT_TRUE(contains(log.ran, "aten::index.Tensor(Float[4, 8], None Long[3] )"))
      << testing::PrintToString(log.ran);
  // Masks were never ours.
  EXPECT_EQ(
      log.left,
      (std::vector<std::string>{
          "aten::index.Tensor(Float[4, 8], Bool[4] ), left to ATen: masks among the indices",
          "aten::index.Tensor(Float[4, 8], Byte[4] ), left to ATen: masks among the indices"}));
}

TEST_F(torch_operators, places_of_new_tensors) {
  const at::TensorOptions meta(c10::DeviceType::Meta);
  calls log;
  testing::internal::CaptureStderr();
  const fg::torch_operators<host> registered(log.options());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // PyTorch tells of kernels displaced
  const auto& left = registered.left_out();
  EXPECT_TRUE(std::any_of(left.begin(), left.end(),
                          [](const auto& one) { return one.name == "aten::_to_copy"; }));
  // The tensor's own place is ours.
  EXPECT_EQ(at::zeros_like(x, x.options()).count_nonzero().item<int64_t>(), 0);
  EXPECT_EQ(x.new_zeros({2, 3}, x.options().pinned_memory(false)).sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(log.ran, (std::vector<std::string>{
                         "aten::zeros_like(Float[4, 8], 6, 0, Device, None, None)",
                         "aten::new_zeros(Float[4, 8], GenericList, 6, 0, Device, False)"}));
  EXPECT_EQ(log.left, std::vector<std::string>());
  // Others are ATen's.
  EXPECT_TRUE(at::zeros_like(x, meta).is_meta());
  EXPECT_TRUE(x.new_zeros({2}, at::TensorOptions(at::kSparse)).is_sparse());
  ASSERT_EQ(log.left.size(), 2u) << testing::PrintToString(log.left);
  EXPECT_TRUE(log.left[0].ends_with("left to ATen: a tensor of another device")) << log.left[0];
  EXPECT_TRUE(log.left[1].ends_with("another layout (sparse or nested)")) << log.left[1];
  EXPECT_TRUE(x.to(meta.device()).is_meta());
  EXPECT_EQ(x.to(at::kCPU, at::kDouble).scalar_type(), at::kDouble);
}

// Its offset is from the first element of the memory.
TEST_F(torch_operators, as_strided_is_atens) {
  const at::Tensor row = x.select(0, 2), expected = row.as_strided({3}, {8}, 1).clone();
  const fg::torch_operators<host> registered;
  EXPECT_TRUE(at::equal(at::as_strided_copy(row, {3}, {8}, 1), expected));
}

TEST_F(torch_operators, lists_of_tensors_and_bools) {
  const auto expected = at::split_copy(x, 3, 1);
  calls log;
  const fg::torch_operators<host> registered(log.options({"equal", "split_copy.Tensor"}));
  const auto parts = at::split_copy(x, 3, 1);
  ASSERT_EQ(parts.size(), expected.size());
  for (std::size_t k = 0; k < parts.size(); ++k) EXPECT_TRUE(at::equal(parts[k], expected[k]));
  EXPECT_FALSE(at::equal(x, y));
  EXPECT_EQ(log.ran.size(), 1 + expected.size() + 1);
  EXPECT_EQ(log.ran[0], "aten::split_copy.Tensor(Float[4, 8], 3, 1)");
}

TEST_F(torch_operators, views_are_atens) {  // they know what they are of
  const fg::torch_operators<host> all;
  EXPECT_TRUE(std::any_of(all.left_out().begin(), all.left_out().end(),
                          [](const auto& one) { return one.name == "aten::permute"; }));
  EXPECT_TRUE(x.permute({1, 0}).is_alias_of(x));
}

TEST_F(torch_operators, results_that_nobody_asks_for) {
  const at::Tensor weight = at::randn({8}), bias = at::randn({8});
  const auto backward = [&](bool data, bool scale, bool shift) {
    const auto [y, mean, rstd] = at::native_layer_norm(x, {8}, weight, bias, 1e-5);
    return at::native_layer_norm_backward(y, x, {8}, mean, rstd, weight, bias,
                                          {data, scale, shift});
  };
  const auto expected = backward(true, true, true);
  calls log;
  const fg::torch_operators<host> registered(log.options({"native_layer_norm_backward"}));
  const auto all = backward(true, true, true), some = backward(false, true, false);
  EXPECT_TRUE(at::allclose(std::get<0>(all), std::get<0>(expected), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(std::get<1>(all), std::get<1>(expected), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(std::get<2>(all), std::get<2>(expected), 1e-4, 1e-5));
  EXPECT_FALSE(std::get<0>(some).defined());
  EXPECT_TRUE(at::allclose(std::get<1>(some), std::get<1>(expected), 1e-4, 1e-5));
  EXPECT_FALSE(std::get<2>(some).defined());
  EXPECT_EQ(log.ran.size(), 2u);
}

TEST_F(torch_operators, own_names_without_elements) {
  const at::TensorOptions none(c10::DeviceType::Meta);
  const at::Tensor a = at::empty({4, 1, 8}, none), b = at::empty({5, 1}, none);
  const auto call = [](const char* name, std::vector<c10::IValue> stack) {
    c10::Dispatcher::singleton().findSchema({name, ""})->callBoxed(&stack);
    return stack[0].toTensor();
  };
  const fg::torch_operators<host> registered({.in_place_of_aten = false});
  EXPECT_ANY_THROW(call("flaggems::silu_and_mul", {a, b}));
  {
    const fg::torch_operators<fg::meta> functions;
    for (const std::string& name : functions.registered())
      EXPECT_EQ(name.substr(0, 10), "flaggems::") << name;
    const at::Tensor r = call("flaggems::silu_and_mul", {a, b});
    EXPECT_TRUE(r.is_meta());
    EXPECT_EQ(r.sizes(), (std::vector<int64_t>{4, 5, 8}));
    EXPECT_EQ(r.scalar_type(), at::kFloat);
    EXPECT_TRUE(call("flaggems::gelu_none_", {a}).is_same(a));
    const at::Tensor vast = at::empty({int64_t{1} << 30, int64_t{1} << 10}, none);
    EXPECT_EQ(call("flaggems::silu_and_mul", {vast, vast.narrow(0, 0, 1)}).sizes(), vast.sizes());
    // As with elements: sizes, dtypes and overlap are checked.
    const auto code = [&](auto&&... arguments) {
      try {
        call(arguments...);
      } catch (const fg::error& e) {
        return e.code();
      }
      return fg::errc{};
    };
    using stack = std::vector<c10::IValue>;
    EXPECT_EQ(code("flaggems::silu_and_mul", stack{a, at::empty({3}, none)}),
              fg::errc::shape_mismatch);
    EXPECT_EQ(code("flaggems::silu_and_mul", stack{a, at::empty({8}, none.dtype(at::kHalf))}),
              fg::errc::dtype_mismatch);
    EXPECT_EQ(code("flaggems::gelu_none_", stack{at::empty({1, 8}, none).expand({4, 8})}),
              fg::errc::overlap);
    // And the host's own.
    EXPECT_TRUE(at::allclose(call("flaggems::silu_and_mul", {x, y}), at::silu(x) * y, 1e-5, 1e-6));
  }
  EXPECT_ANY_THROW(call("flaggems::silu_and_mul", {a, b}));
}

TEST_F(torch_operators, own_names) {
  const auto find = [](const char* name) {
    return c10::Dispatcher::singleton().findSchema({name, ""});
  };
  EXPECT_FALSE(find("flaggems::silu_and_mul").has_value());
  {
    const fg::torch_operators<host> registered(
        fg::torch_operator_options{.in_place_of_aten = false});
    for (const std::string& name : registered.registered())
      EXPECT_EQ(name.substr(0, 10), "flaggems::") << name;
    const auto call = [&](const char* name, std::vector<c10::IValue> stack) {
      find(name)->callBoxed(&stack);
      return stack.empty() ? at::Tensor() : stack[0].toTensor();
    };
    const at::Tensor r = call("flaggems::silu_and_mul", {x, y});
    EXPECT_TRUE(at::allclose(r, at::silu(x) * y, 1e-5, 1e-6));
    at::Tensor z = x.clone();
    const auto version = z._version();
    const at::Tensor same = call("flaggems::gelu_none_", {z});
    EXPECT_TRUE(same.is_same(z));
    EXPECT_GT(z._version(), version);
    EXPECT_TRUE(at::allclose(z, at::gelu(x), 1e-5, 1e-6));
    try {
      static_cast<void>(call("flaggems::silu_and_mul", {x, x.to(at::kComplexFloat)}));
      ADD_FAILURE() << "complex numbers were taken";
    } catch (const fg::error& e) {
      EXPECT_EQ(e.code(), fg::errc::dtype_mismatch) << e.what();
    }
    // Gradients are those of what it stands for; operands are repeated, the gradients' sizes are
    // theirs.
    const at::Tensor row = at::randn({8});
    for (const at::Tensor& gate : {y, row}) {
      const auto gradients = [&](const auto& f) {
        const at::Tensor a = x.clone().requires_grad_(), b = gate.clone().requires_grad_();
        const at::Tensor made = f(a, b);
        EXPECT_TRUE(made.requires_grad());
        (made * made).sum().backward();
        return std::pair(a.grad(), b.grad());
      };
      const auto expected =
          gradients([](const at::Tensor& a, const at::Tensor& b) { return at::silu(a) * b; });
      const auto got = gradients([&](const at::Tensor& a, const at::Tensor& b) {
        return call("flaggems::silu_and_mul", {a, b});
      });
      EXPECT_TRUE(at::allclose(got.first, expected.first, 1e-4, 1e-5));
      EXPECT_EQ(got.second.sizes(), gate.sizes());
      EXPECT_TRUE(at::allclose(got.second, expected.second, 1e-4, 1e-5));
    }
    // Of one in place none are known: refused, or PyTorch's own warning from 2.1 on.
    const at::Tensor needs = x.clone().requires_grad_();
    try {
      const at::Tensor taken = call("flaggems::gelu_none_", {needs.mul(2)});
      EXPECT_TRUE(taken.requires_grad());
    } catch (const fg::error& e) {
      EXPECT_EQ(e.code(), fg::errc::not_supported) << e.what();
    }
  }
  EXPECT_FALSE(find("flaggems::silu_and_mul").has_value());
}

TEST_F(torch_operators, lists) {
  const auto names = [](fg::torch_operator_options o) {
    return fg::torch_operators<host>(std::move(o)).registered();
  };
  EXPECT_EQ(names({.include = {"exp", "aten::add.Tensor"}}),
            (std::vector<std::string>{"aten::add.Tensor", "aten::exp", "aten::exp.out"}));
  const auto without = names({.exclude = {"exp", "add.Tensor"}});
  EXPECT_FALSE(contains(without, "aten::exp"));
  EXPECT_TRUE(contains(without, "aten::exp_"));
  EXPECT_TRUE(contains(without, "aten::add.out"));
  EXPECT_TRUE(contains(without, "flaggems::gelu_none_"));
  EXPECT_FALSE(contains(names({.own = false}), "flaggems::gelu_none_"));
  const auto refused = [&](const char* name, const char* part) {
    try {
      static_cast<void>(names({.include = {name}}));
      ADD_FAILURE() << name;
    } catch (const fg::error& e) {
      EXPECT_EQ(e.code(), fg::errc::not_supported);
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  refused("softmax.int", "composes");
  refused("nothing", "no operator");
  // Twice, and one after another.
  calls first, second;
  {
    const fg::torch_operators<host> one(first.options({"exp"}));
    static_cast<void>(at::exp(x));
    static_cast<void>(at::mm(x, w));
  }
  const fg::torch_operators<host> other(second.options({"mm"}));
  static_cast<void>(at::exp(x));
  static_cast<void>(at::mm(x, w));
  EXPECT_EQ(first.ran, std::vector<std::string>{"aten::exp(Float[4, 8])"});
  EXPECT_EQ(second.ran, std::vector<std::string>{"aten::mm(Float[4, 8], Float[8, 5])"});
}

TEST_F(torch_operators, as_shown) {
  // [scope]
  std::vector<std::string> log;
  at::Tensor z;
  {
    const flaggems::torch_operators<flaggems::host> ours(
        {.include = {"exp", "mm"},
         .log = [&](const flaggems::torch_call& call) { log.push_back(call.to_string()); }});
    z = at::exp(at::mm(x, w));  // ours
  }
  z = at::exp(z);  // ATen's again; log[0] is "aten::mm(Float[4, 8], Float[8, 5])"
  // [/scope]
  EXPECT_EQ(log, (std::vector<std::string>{"aten::mm(Float[4, 8], Float[8, 5])",
                                           "aten::exp(Float[4, 5])"}));
}

}  // namespace
