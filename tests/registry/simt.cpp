// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A share of the registry on the emulated device; flaggems_registry (CMakeLists.txt) compiles it.
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/simt.hpp>
#include <registry/support.hpp>

namespace flaggems_test {
namespace {

using fg::simt32;

TEST(registry_simt, rows_and_reductions) {
  const auto& s = stream_of<simt32>();
  const auto a = numbers<f32, simt32>({3, 40});
  const view<simt32> x(a);
  check<simt32>("softmax.int", {x, 1}, [&] { return fg::softmax(s, a, 1); });
  check<simt32>("sum.dim_IntList", {x, 0}, [&] { return fg::sum(s, a, 0); });
  check<simt32>("argmax", {x, 1}, [&] { return fg::argmax(s, a, 1); });
}

TEST(registry_simt, absent) {
  EXPECT_EQ(fg::registry<simt32>::find("exp"), nullptr);
  EXPECT_NE(fg::registry<simt32>::find("copy_"), nullptr);
  const auto& s = stream_of<simt32>();
  const auto a = numbers<i64, simt32>({3, 4});
  EXPECT_ERROR(fg::registry<simt32>::at("amax")(s, {view<simt32>(a)}), dtype_mismatch, "amax",
               "i64");
}

}  // namespace
}  // namespace flaggems_test
