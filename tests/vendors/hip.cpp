// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels by AMD's own runtime compiler, where it is installed: it needs no GPU.
#include <flaggems/ops/gemm.hpp>
#include <flaggems/vendors/hip.hpp>
#include <support/user_kernels.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace fd = flaggems::detail;
namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f32;
using flaggems::i32;
using flaggems::i64;

template <class Kernel, class... Args>
void expect_compiled(const char* target) {
  SCOPED_TRACE(target);
  auto& compiler = fd::runtime_compiler<fd::amd_api<flaggems::hip, 64>>::get();
  const fd::kernel_instance& instance = fd::instance_of<Kernel, Args...>;
  const std::string image = compiler.compile("test", instance.types(), fd::kernel_texts::embedded(),
                                             fd::source_of(instance, fd::entry_name), target);
  EXPECT_EQ(image.substr(1, 3), "ELF");
  EXPECT_NE(image.find(fd::entry_name), image.npos);
}

TEST(hip, kernels_compile_with_hiprtc) {
#if FLAGGEMS_ASAN || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "AMD's libraries are compiled without";
#endif
  auto& compiler = fd::runtime_compiler<fd::amd_api<flaggems::hip, 64>>::get();
  if (compiler.version().empty()) GTEST_SKIP() << compiler.reason();
  for (const char* target : {"gfx90a", "gfx1030"}) {
    expect_compiled<flaggems_test::add_one, i32*, i64>(target);
    expect_compiled<flaggems_test::note_threads, i32*>(target);
    expect_compiled<flaggems_test::row_sums, fk::row_space, fk::row_arg<f32>, fk::row_target<f32>>(
        target);
  }
  // Instructions of matrix units, of which no option of the compiler tells it.
  expect_compiled<fk::gemm_tiles<bf16, bf16, fk::no_bias, fk::mma_tile<64, 64, 32, 2, 2, 2, 2, 64>,
                                 fk::major::along, fk::major::across, fk::mfma_unit<bf16>>,
                  fk::gemm_space, fk::gemm_arg<bf16>, fk::gemm_arg<bf16>, fk::gemm_out<bf16, f32>,
                  fk::no_bias, fk::sum_parts<f32>>("gfx90a");
}

}  // namespace
