// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators replaced on one device: who runs, with what, and what the report says.
#include <flaggems/launch/implementation.hpp>
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm_packed.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

using flaggems::f32;
using flaggems::i64;
using flaggems::shape;

/// The host under another name, so that what is replaced here stays here.
struct chip : flaggems::host {
  static constexpr const char* name = "chip";
};
using chip_stream = flaggems::stream_ref<chip>;

std::vector<std::string> calls;

}  // namespace

template <>
struct flaggems::implementation<flaggems::operators::softmax, chip> {
  /// Takes rows of at most 4 elements, and only f32.
  template <class X, class Out>
  requires std::is_same_v<typename X::value_type, f32>
  static const char* run(chip_stream, const X& x, const Out& out, int dim) {
    if (x.size(dim) > 4) return "rows longer than 4";
    calls.push_back("softmax along " + std::to_string(dim));
    out.data()[0] = 42;
    return nullptr;
  }
};

template <>
struct flaggems::implementation<flaggems::operators::add, chip> {
  template <class A, class B, class Out>
  static const char* run(chip_stream, const A&, const B&, const Out&) {
    calls.push_back(std::is_arithmetic_v<B> ? "add a number" : "add");
    return nullptr;
  }
};

template <>
struct flaggems::implementation<flaggems::operators::gelu, chip> {
  template <class X, class Out>
  static const char* run(chip_stream, const X&, const Out&, const operators::gelu& options) {
    calls.push_back(options.by_tanh ? "gelu by tanh" : "gelu");
    return nullptr;
  }
};

template <>
struct flaggems::implementation<flaggems::operators::sum, chip> {
  template <class X, class Out>
  static const char* run(chip_stream, const X&, const Out&, const shape& dims, bool keepdim) {
    calls.push_back("sum over " + to_string(dims) + (keepdim ? ", kept" : ""));
    return nullptr;
  }
};

template <>
struct flaggems::implementation<flaggems::operators::gemm, chip> {
  template <class A, class B, class Bias, class Out>
  static const char* run(chip_stream, const A& a, const B& b, const Bias&, const Out&, f32 alpha,
                         f32 beta) {
    calls.push_back("gemm " + to_string(a.shape_of()) + to_string(b.shape_of()) +
                    (std::is_same_v<Bias, std::nullopt_t> ? "" : " with bias") + ", " +
                    std::to_string(static_cast<int>(alpha)) + " " +
                    std::to_string(static_cast<int>(beta)));
    return nullptr;
  }
};

template <>
struct flaggems::implementation<flaggems::operators::fill_, chip> {
  template <class V, class Out>
  static const char* run(chip_stream, V value, const Out&) {
    if (value != V(7)) return "other numbers than 7";
    calls.push_back("fill_");
    return nullptr;
  }
};

namespace {

using strings = std::vector<std::string>;
strings take_calls() { return std::exchange(calls, {}); }

strings reports;
void note(const flaggems::launch_event& e) {
  const bool portable = e.kernel.find("flaggems::kernels::") == 0;
  reports.push_back(std::string(e.op) + " on " + std::string(e.device) + ": " +
                    (portable ? "portable" : "own") +
                    (e.rejected.empty() ? "" : ", rejected: " + std::string(e.rejected)));
}

class implementation_test : public ::testing::Test {
 protected:
  void SetUp() override {
    take_calls();
    reports.clear();
    before_ = flaggems::set_launch_hook(note);
  }
  void TearDown() override { flaggems::set_launch_hook(before_); }
  auto tensor(const shape& sizes) { return flaggems::empty<f32>(stream, sizes); }

  flaggems::stream<chip> stream;

 private:
  flaggems::launch_hook before_ = nullptr;
};

TEST_F(implementation_test, RunsInsteadOfThePortableKernel) {
  const auto x = tensor({2, 3});
  const auto p = softmax(stream, x, -2);
  EXPECT_EQ(take_calls(), strings{"softmax along 0"});
  EXPECT_EQ(p.data()[0], 42);
  EXPECT_EQ(reports, strings{"softmax on chip: own"});
}

TEST_F(implementation_test, ARejectionIsReportedAndThePortableKernelRuns) {
  auto x = tensor({5});
  for (i64 i = 0; i < 5; ++i) x.data()[i] = 1;
  const auto p = softmax(stream, x, 0);
  EXPECT_TRUE(take_calls().empty());
  EXPECT_FLOAT_EQ(p.data()[4], 0.2f);
  EXPECT_EQ(reports, (strings{"softmax on chip: own, rejected: rows longer than 4",
                              "softmax on chip: portable"}));
}

TEST_F(implementation_test, TypesThatItCannotTakeAreARejection) {
  const auto p = softmax(stream, flaggems::from_values<double>(stream, {0, 0}, {2}), 0);
  EXPECT_EQ(p.data()[0], 0.5);
  EXPECT_EQ(reports,
            (strings{"softmax on chip: own, rejected: it does not take operands of these types",
                     "softmax on chip: portable"}));
}

TEST_F(implementation_test, ChecksComeFirstAndEmptyTensorsDoNot) {
  const auto x = tensor({2, 3});
  auto wrong = tensor({3, 2});
  EXPECT_THROW(softmax(stream, x, wrong, 0), flaggems::error);
  EXPECT_THROW((void)softmax(stream, x, 2), flaggems::error);
  (void)softmax(stream, tensor({0, 3}), 1);
  EXPECT_TRUE(take_calls().empty());
  EXPECT_TRUE(reports.empty());
}

TEST_F(implementation_test, APointwiseOperatorInEveryForm) {
  const auto a = tensor({2, 3}), b = tensor({3});
  auto out = tensor({2, 3});
  (void)add(stream, a, b);
  add(stream, a, 1.5, out);
  add_(stream, out, b);
  assign(stream, out, a + b);
  EXPECT_EQ(take_calls(), (strings{"add", "add a number", "add", "add"}));
  gelu(stream, a, out, flaggems::gelu_approximate::tanh);
  gelu_(stream, out);
  EXPECT_EQ(take_calls(), (strings{"gelu by tanh", "gelu"}));
  reports.clear();
  assign(stream, out, mul(a, 2) + b);  // a fused expression is not an addition of tensors
  EXPECT_TRUE(take_calls().empty());
  EXPECT_EQ(reports, (strings{"assign on chip: own, rejected: an operand is an expression",
                              "assign on chip: portable"}));
  reports.clear();
  sub(stream, a, b, out);  // has none of its own
  EXPECT_EQ(reports, strings{"sub on chip: portable"});
}

TEST_F(implementation_test, ReductionsProductsAndFills) {
  const auto a = tensor({2, 3, 4});
  (void)sum(stream, a, {-1, 0});
  (void)sum(stream, a, {}, true);
  EXPECT_EQ(take_calls(), (strings{"sum over [0, 2]", "sum over [0, 1, 2], kept"}));
  (void)mm(stream, a.view().select(0, 0), tensor({4, 5}));
  (void)linear(stream, a, tensor({7, 4}), with_bias(tensor({7})));
  EXPECT_EQ(take_calls(),
            (strings{"gemm [3, 4][5, 4], 1 0", "gemm [2, 3, 1, 4][2, 3, 7, 4] with bias, 1 1"}));
  (void)flaggems::full<f32>(stream, {3}, 7);
  EXPECT_EQ(take_calls(), strings{"fill_"});
  EXPECT_EQ(flaggems::full<f32>(stream, {3}, 8).data()[2], 8);
}

TEST_F(implementation_test, PackedWeightsAreOfferedAsAnyOther) {
  auto x = tensor({3, 4});
  auto w = tensor({7, 4});
  auto bias = tensor({7});
  fill_(stream, x, 2);
  fill_(stream, w, 3);
  const auto packed = pack_matrix(stream, w);
  reports.clear();
  auto out = linear(stream, x, packed);
  linear(stream, x, packed, bias, out);
  EXPECT_EQ(take_calls(), (strings{"gemm [3, 4][7, 4], 1 0", "gemm [3, 4][7, 4] with bias, 1 1"}));
  EXPECT_EQ(reports, (strings{"linear on chip: own", "linear on chip: own"}));
  reports.clear();
  linear(stream, x, packed, out, flaggems::epilogue(flaggems::product + 1));
  EXPECT_EQ(reports,
            (strings{"linear on chip: own, rejected: it does not take operands of these types",
                     "linear on chip: portable"}));
  EXPECT_EQ(out.data()[20], 25);
}

TEST(launch_log, unknown_words_are_named) {
  const char* const set = std::getenv("FLAGGEMS_LOG");
  const std::string before = set != nullptr ? set : "";
  const auto hook = [](const char* words) {
    setenv("FLAGGEMS_LOG", words, 1);
    return flaggems::detail::first_launch_hook();
  };
  testing::internal::CaptureStderr();
  EXPECT_EQ(hook(""), nullptr);
  EXPECT_NE(hook("dispatch"), nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(hook("dispach"), nullptr);
  EXPECT_NE(hook("all,dispatch"), nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "flaggems: FLAGGEMS_LOG: expected 'dispatch', got 'dispach'\n"
            "flaggems: FLAGGEMS_LOG: expected 'dispatch', got 'all'\n");
  setenv("FLAGGEMS_LOG", before.c_str(), 1);
}

}  // namespace

static_assert(flaggems::has_implementation<flaggems::operators::softmax, chip>);
static_assert(!flaggems::has_implementation<flaggems::operators::softmax, flaggems::host>);
