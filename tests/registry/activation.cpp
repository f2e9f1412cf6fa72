// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/activation.hpp>
#include <flaggems/registry/families/activation_backward.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::activation, flaggems::host, flaggems::f32);
FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::activation_backward, flaggems::host,
                         flaggems::f32);

namespace flaggems_test {
namespace {

struct registry_activation : testing::Test {
  const fg::stream<host>& s = stream_of<host>();
  fg::tensor<f32> a = numbers({3, 4}), b = numbers({3, 4}, -2, 2, 7), c = numbers({3, 8});
  view<host> x{a}, y{b}, z{c};
};

#define NONE(...)
#define KEY(name) fg::bindings::is_own(#name) ? "flaggems::" #name : #name
#define CHECK(name, ...) check(KEY(name), {x}, [&] { return fg::name(s, a); });
#define CHECK1(name, ...) check(KEY(name), {x, 0.75}, [&] { return fg::name(s, a, 0.75); });
#define CHECK2(name, ...) check(KEY(name), {x, 0.75, 2}, [&] { return fg::name(s, a, 0.75, 2); });
#define CHECK3(name, ...) \
  check(KEY(name), {x, 0.75, 2, 0.5}, [&] { return fg::name(s, a, 0.75, 2, 0.5); });

TEST_F(registry_activation, of_the_table) {
  FLAGGEMS_ACTIVATION_TABLE(CHECK, CHECK1, CHECK2, CHECK3, NONE, NONE)
  // ATen has no such forms, so that no names of its own are given to ours.
  for (const char* const name : {"squared_relu", "squared_relu_", "hardshrink_", "softshrink_",
                                 "softplus_", "log_sigmoid_", "special_logit_"})
    EXPECT_EQ(fg::registry<host>::find(name), nullptr) << name;
  check("leaky_relu", {x}, [&] { return fg::leaky_relu(s, a); });
  check("softplus", {x}, [&] { return fg::softplus(s, a); });
  check("elu", {x, 2}, [&] { return fg::elu(s, a, 2); });
}

TEST_F(registry_activation, others) {
  const auto w = numbers({4});
  const view<host> weight(w);
  check("_prelu_kernel", {x, y}, [&] { return fg::prelu_kernel(s, a, b); });
  check("prelu", {x, weight}, [&] { return fg::prelu(s, a, w); });
  check("flaggems::silu_and_mul_with_clamp", {x, y, 1.5},
        [&] { return fg::silu_and_mul_with_clamp(s, a, b, 1.5); });
  for (const char* const name : {"logit", "special_logit"}) {
    check(name, {x}, [&] { return fg::logit(s, a); });
    check(name, {x, 0.25}, [&] { return fg::logit(s, a, 0.25); });
  }
  check("nan_to_num", {x, 1, {}, 3}, [&] { return fg::nan_to_num(s, a, 1, std::nullopt, 3); });
  check("log_sigmoid_forward", {x}, [&] { return fg::log_sigmoid_forward(s, a); });
  check("glu", {z, 1}, [&] { return fg::glu(s, c, 1); });
  check("flaggems::swiglu", {z}, [&] { return fg::swiglu(s, c); });
  check("flaggems::geglu", {z}, [&] { return fg::geglu(s, c); });
  check("flaggems::reglu", {z}, [&] { return fg::reglu(s, c); });
}

TEST_F(registry_activation, gradients) {
  check("sigmoid_backward", {x, y}, [&] { return fg::sigmoid_backward(s, a, b); });
  check("tanh_backward", {x, y}, [&] { return fg::tanh_backward(s, a, b); });
  check("silu_backward", {x, y}, [&] { return fg::silu_backward(s, a, b); });
  check("mish_backward", {x, y}, [&] { return fg::mish_backward(s, a, b); });
  check("threshold_backward", {x, y, 0.5}, [&] { return fg::threshold_backward(s, a, b, 0.5); });
  check("softplus_backward", {x, y, 2, 1.5},
        [&] { return fg::softplus_backward(s, a, b, 2, 1.5); });
  check("gelu_backward", {x, y}, [&] { return fg::gelu_backward(s, a, b); });
  check("gelu_backward", {x, y, "tanh"},
        [&] { return fg::gelu_backward(s, a, b, fg::gelu_approximate::tanh); });
  check("elu_backward", {x, 0.75, 1.25, 0.5, false, y},
        [&] { return fg::elu_backward(s, a, 0.75, 1.25, 0.5, false, b); });
  check("leaky_relu_backward", {x, y, 0.125, true},
        [&] { return fg::leaky_relu_backward(s, a, b, 0.125, true); });
  check("logit_backward", {x, y, 0.125}, [&] { return fg::logit_backward(s, a, b, 0.125); });
  check("log_sigmoid_backward", {x, y, y}, [&] { return fg::log_sigmoid_backward(s, a, b, b); });
  check("rrelu_with_noise_backward", {x, y, y, 0.25, 0.5, true, false},
        [&] { return fg::rrelu_with_noise_backward(s, a, b, b, 0.25, 0.5, true, false); });
  check("_prelu_kernel_backward", {x, y, y}, [&] { return fg::prelu_kernel_backward(s, a, b, b); });
  check("glu_backward", {x, z, -1}, [&] { return fg::glu_backward(s, a, c, -1); });
  check("flaggems::dswiglu", {x, z}, [&] { return fg::dswiglu(s, a, c); });
  check("flaggems::dgeglu", {x, z}, [&] { return fg::dgeglu(s, a, c); });
  check("flaggems::dreglu", {x, z}, [&] { return fg::dreglu(s, a, c); });
}

}  // namespace
}  // namespace flaggems_test
