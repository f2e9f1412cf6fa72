// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What operators do before a kernel runs, on a device that runs none: the work that they estimate
// for sizes as large as numbers go, the names that errors of allocation have, and arithmetic on
// sizes and strides of any magnitude.
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

#include <limits>
#include <random>

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
                                   std::nullopt, output({large, 64})),
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
  fg::philox_generator generator{1};
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
  EXPECT_NAMED(fg::arange(s, 0, n * 65536), "arange");
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
  EXPECT_NAMED(fg::mv(s, input({n * 65536, 8}), input({8})), "mv");
  EXPECT_NAMED(fg::scaled_dot_product_attention(s, x, x, x), "scaled_dot_product_attention");
  EXPECT_NAMED(fg::apply_rotary_pos_emb(s, input({n, 8, 64}), input({n, 8, 64}), input({9, 32}),
                                        input({9, 32})),
               "apply_rotary_pos_emb");
  EXPECT_NAMED(fg::multinomial(s, input({n * 1024, 64}), 64, true, generator), "multinomial");
  // 2^63 bytes and more.
  const auto most = input<std::uint8_t>({n, n, 4});
  EXPECT_NAMED(fg::exp(s, most), "exp");
  EXPECT_NAMED(fg::to<double>(s, most), "to");
  EXPECT_NAMED(fg::argsort(s, most), "argsort");
}

TEST(planning, errors_of_full_name_it) {
  EXPECT_RAISES(fg::full<std::int8_t>(stream(), {3}, 1e3), invalid_argument, "full");
}

/// Sizes and strides as large as they go.
class extremes {
 public:
  explicit extremes(unsigned seed) : random_(seed) {}
  i64 pick(i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random_); }
  i64 size() {
    const i64 sizes[] = {0,
                         1,
                         1,
                         2,
                         3,
                         31,
                         64,
                         4096,
                         i64{1} << 20,
                         (i64{1} << 31) + 1,
                         i64{1} << 40,
                         i64{1} << 59,
                         i64{1} << 61,
                         (i64{1} << 62) - 1,
                         (std::numeric_limits<i64>::max)()};
    return sizes[pick(0, pick(0, 2) == 0 ? 14 : 9)];
  }
  i64 stride() {
    const i64 strides[] = {0,
                           0,
                           0,
                           1,
                           1,
                           -1,
                           2,
                           -3,
                           4096,
                           i64{1} << 31,
                           -(i64{1} << 40),
                           i64{1} << 58,
                           (std::numeric_limits<i64>::max)(),
                           (std::numeric_limits<i64>::min)()};
    return strides[pick(0, 13)];
  }
  /// A view that a pointer could have: of addresses between 1 and 2^63.
  template <class T>
  fg::tensor_view<T, D> view(int rank) {
    for (;;) {
      shape sizes, strides;
      for (int d = 0; d < rank; ++d) sizes.push_back(size()), strides.push_back(stride());
      const bool packed = pick(0, 1) == 0;
      const i64 first = pick(0, 1) == 0 ? i64{1} << 62 : 64;
      double low = static_cast<double>(first), high = low + 64, step = sizeof(T);
      for (int d = rank - 1; d >= 0; --d) {
        const double stride = packed ? step : static_cast<double>(strides[d]) * sizeof(T);
        const double reach = stride * static_cast<double>(sizes[d]);
        (reach < 0 ? low : high) += reach;
        step *= static_cast<double>(sizes[d]);
      }
      if (low < 1 || high > 9.2e18) continue;
      try {
        T* const p = reinterpret_cast<T*>(first);
        if (packed) return {p, sizes};
        return {p, sizes, strides};
      } catch (const fg::error&) {
      }
    }
  }
  template <class F>
  void attempt(F f) {
    try {
      f();
      ++passed;
    } catch (const fg::error&) {
      ++refused;
    }
  }
  int passed = 0, refused = 0;

 private:
  std::mt19937_64 random_;
};

// For the undefined behaviour sanitizer: no arithmetic on sizes and strides overflows.
TEST(planning, extreme_sizes_and_strides) {
  const auto& s = stream();
  extremes r(seed());
  for (int k = 0; k < 3000; ++k) {
    const int rank = static_cast<int>(r.pick(0, 4));
    const auto x = r.view<f32>(rank), y = r.view<f32>(static_cast<int>(r.pick(0, 4))),
               out = r.pick(0, 1) == 0 ? r.view<f32>(rank) : fg::tensor_view<f32, D>(nullptr, {0});
    const auto bytes = r.view<std::uint8_t>(rank), other = r.view<std::uint8_t>(rank);
    const i64 dim = r.pick(-rank - 1, rank), n = r.size();
    const auto idx = r.view<i64>(1);
    const bool keep = r.pick(0, 1) == 1;
    r.attempt([&] { fg::add(s, x, y, out); });
    r.attempt([&] { fg::add(s, x, x, x); });
    r.attempt([&] { (void)fg::add(s, x, y); });
    r.attempt([&] { fg::copy_(s, x, y); });
    r.attempt([&] { fg::add(s, bytes, bytes, bytes); });
    r.attempt([&] { fg::copy_(s, bytes, other); });
    r.attempt([&] { (void)fg::any(s, bytes); });
    r.attempt([&] { (void)fg::sum(s, bytes, {dim}, keep); });
    r.attempt([&] { (void)fg::exp(s, bytes); });
    r.attempt([&] { (void)fg::index_select(s, bytes, dim, idx); });
    r.attempt([&] { (void)fg::sum(s, x, {dim}, keep); });
    r.attempt([&] { (void)fg::sum(s, x + y); });
    r.attempt([&] { (void)fg::amax(s, x, {dim}, keep); });
    r.attempt([&] { (void)fg::argmax(s, x, dim, keep); });
    r.attempt([&] { (void)fg::softmax(s, x, dim); });
    r.attempt([&] { fg::softmax(s, x, x, dim); });
    r.attempt([&] { (void)fg::topk(s, x, n, dim); });
    r.attempt([&] { (void)fg::sort(s, x, dim); });
    r.attempt([&] { (void)fg::cat(s, {x, x, y}, dim); });
    r.attempt([&] { fg::cat(s, {x, y}, out, dim); });
    r.attempt([&] { (void)fg::index_select(s, x, dim, idx); });
    r.attempt([&] { (void)fg::embedding(s, x, idx); });
    r.attempt([&] { (void)fg::layer_norm(s, x, {n}); });
    r.attempt([&] { fg::rms_norm(s, x, {rank > 0 ? x.size(rank - 1) : 1}, std::nullopt, x); });
    r.attempt([&] { (void)fg::mm(s, x, y); });
    r.attempt([&] { (void)fg::mm(s, x, x.t()); });
    r.attempt([&] { fg::mm(s, x, x.t(), out); });
    r.attempt([&] { (void)fg::linear(s, x, y); });
    r.attempt([&] { (void)fg::linear(s, x, x); });
    r.attempt([&] { (void)fg::scaled_dot_product_attention(s, x, x, x); });
    r.attempt([&] {
      fg::scaled_dot_product_attention(
          s, x, x, x, std::nullopt, out,
          {.is_causal = true, .alignment = fg::causal_alignment::bottom_right});
    });
    r.attempt([&] { (void)fg::arange(s, r.stride(), r.stride(), r.stride()); });
    r.attempt([&] { (void)fg::full<f32>(s, {r.size(), r.size(), r.size()}, 1); });
    r.attempt([&] { (void)x.expand({r.size(), r.size(), r.size(), r.size()}); });
    r.attempt([&] { (void)x.slice(dim, r.stride(), r.stride(), r.stride()); });
    r.attempt([&] { (void)x.narrow(dim, r.size(), r.size()); });
    r.attempt([&] { (void)x.flip({dim}); });
    r.attempt([&] { (void)x.view({r.size(), -1}); });
    r.attempt([&] { (void)x.diagonal(r.stride(), 0, 1); });
    r.attempt([&] { (void)x.flatten(); });
    r.attempt([&] { (void)x.unflatten(dim, {r.size(), -1}); });
    r.attempt([&] {
      (void)x.as_strided({r.size(), r.size()}, {r.stride(), r.stride()}, r.pick(0, 1));
    });
  }
  EXPECT_GT(r.passed, 10000) << r.refused << " refused";
  EXPECT_GT(r.refused, 10000);
}

}  // namespace
}  // namespace flaggems_test
