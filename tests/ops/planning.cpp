// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What operators do before a kernel runs, on a device that runs none: the work that they estimate
// for sizes as large as numbers go, and the names that errors of allocation have.
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/embedding.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/index_select.hpp>
#include <flaggems/ops/multinomial.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/quantized_linear.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/rotary.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/topk.hpp>

#include <support/mock_device.hpp>
#include <tensor/test_support.hpp>

namespace flaggems_test {

/// Has 2^40 bytes, and keeps what the first launch was asked for instead of running it.
struct planning_device : support::mock_device {
  static constexpr const char* name = "planning";
  struct capabilities : support::mock_device::capabilities {
    static constexpr bool host_accessible = false;
  };
  static flaggems::launch_config& first() {
    static flaggems::launch_config config;
    return config;
  }
  template <class Kernel, class... Args>
  static void launch(stream_handle, const flaggems::launch_config& config, const Args&...) {
    if (first().work == 0) first() = config;
  }
};

}  // namespace flaggems_test

template <>
inline constexpr bool flaggems::host_accessible<flaggems_test::planning_device> = false;

namespace flaggems_test {
namespace {

namespace fg = flaggems;
using fg::f32;
using fg::i64;
using fg::shape;
using D = planning_device;
static_assert(fg::check_device<D>());

const fg::stream<D>& stream() {
  static const fg::stream<D> s;
  return s;
}

/// Elements at one place: an input of any size.
template <class T = f32>
fg::tensor_view<const T, D> input(const shape& sizes) {
  static T one{};
  shape zeros(sizes);
  for (int d = 0; d < zeros.rank(); ++d) zeros[d] = 0;
  return {&one, sizes, zeros};
}
/// An output of any size at an address where nothing is: nobody writes it.
template <class T = f32>
fg::tensor_view<T, D> output(const shape& sizes) {
  return {reinterpret_cast<T*>(fg::u64{1} << 62), sizes};
}

constexpr i64 large = i64{1} << 30;

TEST(planning, work_does_not_overflow) {
  const auto& s = stream();
  const auto expect_most = [](const char* op) {
    EXPECT_EQ(D::first().work, i64{1} << 62) << op;
    EXPECT_EQ(std::string(D::first().op), op);
    EXPECT_GT(D::first().tiles, 0) << op;
    D::first() = {};
  };
  const shape all{large, large / 2};
  fg::add(s, input(all), input({large / 2}), output(all)), expect_most("add");
  fg::copy_(s, output(all), input(all)), expect_most("copy_");
  fg::sum(s, input({large, large}), output({})), expect_most("sum");
  fg::sum(s, input({large / 4, large, 4}), output({4}), {0, 1}), expect_most("sum");
  fg::amax(s, input({large / 4, large, 4}), output({large / 4, 4}), {1}), expect_most("amax");
  fg::softmax(s, input(all), output(all), 1), expect_most("softmax");
  fg::log_softmax(s, input(all), output(all), 0), expect_most("log_softmax");
  fg::topk(s, input({8, i64{1} << 57}), 1, output({8, 1}), output<i64>({16, 1}).narrow(0, 8, 8)),
      expect_most("topk");
  fg::index_select(s, input(all), 0, input<i64>({large}), output(all)), expect_most("index_select");
  fg::layer_norm(s, input(all), {large / 2}, std::nullopt, std::nullopt, output(all)),
      expect_most("layer_norm");
  fg::rms_norm(s, input(all), {large / 2}, std::nullopt, output(all)), expect_most("rms_norm");
  fg::mm(s, input({large, large}), input({large, large / 4}), output({large, large / 4})),
      expect_most("mm");
  fg::scaled_dot_product_attention(s, input({large, 64}), input({large, 64}), input({large, 64}),
                                   output({large, 64})),
      expect_most("scaled_dot_product_attention");
}

/// The error of a statement that makes a result of 2^42 or more bytes.
#define EXPECT_NAMED(statement, name)                              \
  do {                                                             \
    const fg::error raised = error_of([&] { (void)(statement); }); \
    EXPECT_TRUE(raised.code() == fg::errc::out_of_memory ||        \
                raised.code() == fg::errc::invalid_argument)       \
        << raised.what();                                          \
    EXPECT_EQ(std::string(raised.op()), name) << raised.what();    \
  } while (false)

TEST(planning, errors_of_allocation_name_the_operator) {
  const auto& s = stream();
  fg::philox_generator generator(1);
  const i64 n = large;
  const shape all{n, 1024, 32};
  const shape flat{n, 1024 * 32};
  const auto x = input(all);
  const auto m = input(flat);
  EXPECT_NAMED(fg::empty<f32>(s, all), "empty");
  EXPECT_NAMED(fg::empty_like(s, x), "empty_like");
  EXPECT_NAMED((fg::tensor<f32, D>(s, all)), "tensor");
  EXPECT_NAMED(fg::add(s, x, x), "add");
  EXPECT_NAMED(fg::add(s, x, x, 2), "add");
  EXPECT_NAMED(fg::exp(s, x), "exp");
  EXPECT_NAMED(fg::clamp(s, x, 0, 1), "clamp");
  EXPECT_NAMED(fg::clamp(s, x, 0, std::nullopt), "clamp");
  EXPECT_NAMED(fg::div(s, x, x, fg::rounding_mode::floor), "div");
  EXPECT_NAMED(fg::where(s, x, x, 1), "where");
  EXPECT_NAMED(fg::gelu(s, x), "gelu");
  EXPECT_NAMED(fg::silu_and_mul(s, x, x), "silu_and_mul");
  EXPECT_NAMED(fg::evaluate(s, x + x), "evaluate");
  EXPECT_NAMED(fg::clone(s, x), "clone");
  EXPECT_NAMED(fg::contiguous(s, x), "contiguous");
  EXPECT_NAMED(fg::to<double>(s, x), "to");
  EXPECT_NAMED(fg::full<f32>(s, all, 1), "full");
  EXPECT_NAMED(fg::zeros(s, all), "zeros");
  EXPECT_NAMED(fg::ones(s, all), "ones");
  EXPECT_NAMED(fg::arange(s, 0, n * 64), "arange");
  EXPECT_NAMED(fg::cat(s, {x, x}, 2), "cat");
  EXPECT_NAMED(fg::sum(s, x, {2}), "sum");
  EXPECT_NAMED(fg::argmax(s, input({n, 4096, 8}), 2), "argmax");
  EXPECT_NAMED(fg::softmax(s, x, -1), "softmax");
  EXPECT_NAMED(fg::log_softmax(s, x, -1), "log_softmax");
  EXPECT_NAMED(fg::topk(s, x, 20), "topk");
  EXPECT_NAMED(fg::sort(s, x), "sort");
  EXPECT_NAMED(fg::argsort(s, x), "argsort");
  EXPECT_NAMED(fg::layer_norm(s, x, {32}), "layer_norm");
  EXPECT_NAMED(fg::rms_norm(s, x, {32}), "rms_norm");
  EXPECT_NAMED(fg::index_select(s, x, 0, input<i64>({n})), "index_select");
  EXPECT_NAMED(fg::embedding(s, input({8, 4096}), input<i64>({n})), "embedding");
  EXPECT_NAMED(fg::mm(s, m, input({1024 * 32, 4096})), "mm");
  EXPECT_NAMED(fg::addmm(s, input({4096}), m, input({1024 * 32, 4096})), "addmm");
  EXPECT_NAMED(fg::bmm(s, x, input({n, 32, 64})), "bmm");
  EXPECT_NAMED(fg::linear(s, x, input({4096, 32})), "linear");
  EXPECT_NAMED(fg::linear(s, x, input({4096, 32}), fg::with_bias(input({4096}))), "linear");
  EXPECT_NAMED(fg::mv(s, input({n * 64, 8}), input({8})), "mv");
  EXPECT_NAMED(fg::scaled_dot_product_attention(s, x, x, x), "scaled_dot_product_attention");
  EXPECT_NAMED(fg::apply_rotary_pos_emb(s, input({n, 8, 64}), input({n, 8, 64}), input({9, 32}),
                                        input({9, 32})),
               "apply_rotary_pos_emb");
  EXPECT_NAMED(fg::multinomial(s, input({n, 64}), 64, true, generator), "multinomial");
  // 2^63 bytes and more.
  const auto most = input<std::uint8_t>({n, n, 4});
  EXPECT_NAMED(fg::exp(s, most), "exp");
  EXPECT_NAMED(fg::to<double>(s, most), "to");
  EXPECT_NAMED(fg::argsort(s, most), "argsort");
}

TEST(planning, errors_of_full_name_it) {
  EXPECT_RAISES(fg::full<std::int8_t>(stream(), {3}, 1e3), invalid_argument, "full");
}

}  // namespace
}  // namespace flaggems_test
