// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The execution model chooses kernels, not where memory is: a GPU whose memory the host shares runs
// the kernels of GPUs, as does one whose warps have one lane.
#include <flaggems/device/execution.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/index_select.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/scan.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/topk.hpp>
#include <support/ops.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace flaggems_test {
namespace {

/// An integrated GPU: threads in warps, memory that the host reads.
struct integrated : fg::simt32 {
  static constexpr const char* name = "integrated";
  struct capabilities : fg::simt32::capabilities {
    static constexpr bool host_accessible = true;
  };
};
static_assert(fg::check_device<integrated>());
static_assert(fg::execution_model<integrated> == fg::execution::simt);
static_assert(fg::execution_model<host> == fg::execution::vector_workers);
static_assert(fg::execution_model<fg::simt64> == fg::execution::simt);

/// One that says nothing, as device types before there were execution models.
struct says_nothing : host {
  struct capabilities {
    static constexpr bool host_accessible = true;
  };
};
static_assert(fg::execution_model<says_nothing> == fg::execution::vector_workers);
static_assert(fg::has_vectors<says_nothing> && !fg::has_simt<says_nothing>);

std::string launched;
TEST(execution, chooses_kernels_where_memory_is_shared) {
  const fg::stream<integrated> s;
  const auto values = fg::from_values<f32>(s, {3, 1, 2, 0, 5, 4}, {2, 3});
  EXPECT_EQ(values(1, 1), 5);  // the host reads it
  fg::set_launch_hook([](const fg::launch_event& e) { launched += std::string(e.kernel) + "\n"; });
  const auto twice = fg::mul(s, values, 2);
  const auto p = fg::softmax(s, values, 1);
  const auto sums = fg::sum(s, values, 0);
  const auto sorted = fg::sort(s, values, 1);
  const auto best = fg::topk(s, values, 1, 1);
  const auto normed = fg::rms_norm(s, values, {3});
  const auto index = fg::from_values<i64>(s, {1});
  const auto picked = fg::index_select(s, values, 0, index);
  fg::set_launch_hook(nullptr);
  EXPECT_EQ(twice(1, 2), 8);
  EXPECT_NEAR(p(0, 0), std::exp(3.0) / (std::exp(3.0) + std::exp(1.0) + std::exp(2.0)), 1e-6);
  EXPECT_EQ(sums(1), 6);
  EXPECT_EQ(sorted.values(0, 0), 1);
  EXPECT_EQ(best.values(1, 0), 5);
  EXPECT_NEAR(normed(0, 1), 1 / std::sqrt(14.0 / 3), 1e-5);
  EXPECT_EQ(picked(0, 2), 4);
  for (const char* kernel : {"pointwise_vectors", "sort_short", "topk_groups"})
    EXPECT_NE(launched.find(kernel), std::string::npos) << kernel << " in\n" << launched;
  EXPECT_EQ(launched.find("pointwise_flat"), std::string::npos) << launched;
}

/// Results of kernels that shuffle, one behind the other.
template <class D>
std::vector<f32> shuffled_results() {
  const fg::stream<D> s;
  std::vector<f32> numbers(3 * 50), all;
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = f32((k * 37) % 101) / 20;
  const auto x = fg::from_values<f32>(s, numbers, {3, 50});
  const auto take = [&](const auto& result) {
    const auto h = fg::to_host(s, result);
    all.insert(all.end(), h.data(), h.data() + h.numel());
  };
  take(fg::softmax(s, x, 1));
  take(fg::sum(s, x));
  take(fg::cumsum(s, x, 1));
  take(fg::sort(s, x, 1).values);
  take(fg::topk(s, x, 3, 1).values);
  take(fg::mm(s, x, x.view().t()));
  return all;
}
TEST(execution, threads_that_exchange_values_through_memory_alone_compute_the_same) {
  static_assert(fg::execution_model<fg::simt1> == fg::execution::simt);
  const std::vector<f32> expected = shuffled_results<host>(), got = shuffled_results<fg::simt1>();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], expected[k], 1e-3) << k;
}

}  // namespace
}  // namespace flaggems_test
