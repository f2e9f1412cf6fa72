// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::cuda over the simulated driver: what the driver refuses, what fails, what is left.
#include <flaggems/launch/hooks.hpp>
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/softmax.hpp>
#include <support/user_kernels.hpp>

#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cmath>
#include <thread>

#include "fixture.hpp"

namespace {

using namespace flaggems_test;  // NOLINT(google-build-using-namespace)

struct nameless {
  template <class V>
  FLAGGEMS_INLINE auto operator()(const V& a) const {
    return a;
  }
};

TEST_F(cuda_driver, properties_are_the_devices) {
  const fg::device_properties p = cuda::properties(1);
  EXPECT_EQ(p.name, "simulated GPU 1");
  EXPECT_EQ(p.arch, "sm_90a");
  EXPECT_EQ(p.warp_size, 32);
  EXPECT_EQ(p.compute_units, 2);
  EXPECT_EQ(p.shared_memory_per_block, 227 * 1024);
  EXPECT_EQ(p.max_cluster, 8);
  EXPECT_EQ(cuda::current_device(), 0);
  EXPECT_EQ(error_of([] { (void)cuda::properties(2); }).code(), errc::device_unavailable);
}

TEST_F(cuda_driver, a_thread_that_names_no_device_works_on_the_first) {
  fg::stream<cuda> s;
  std::thread([&] { expect_works(s); }).join();
}

// As the vendor's runtime or PyTorch in the same thread may at any time.
TEST_F(cuda_driver, the_current_device_is_the_one_that_others_made_current) {
  const auto& functions = fg::detail::driver<fg::detail::cuda_api>::get().functions();
  std::array<void*, 2> contexts = {};
  for (const int index : {0, 1}) {
    const fg::device_guard<cuda> guard(index);
    ASSERT_EQ(functions.context_get.call(&contexts[static_cast<std::size_t>(index)]), 0);
  }
  for (const int index : {1, 0, 1, 1}) {
    ASSERT_EQ(functions.context_set.call(contexts[static_cast<std::size_t>(index)]), 0);
    EXPECT_EQ(cuda::current_device(), index);
    expect_works(fg::stream<cuda>(1 - index));
    EXPECT_EQ(cuda::current_device(), index);
  }
  ASSERT_EQ(functions.context_set.call(nullptr), 0);
  EXPECT_EQ(cuda::current_device(), 0);
  expect_works(fg::stream<cuda>(1));
}

TEST_F(cuda_driver, every_device_has_its_kernels) {
  for (const int index : {0, 1}) {
    const fg::device_guard<cuda> guard(index);
    EXPECT_EQ(cuda::current_device(), index);
    const fg::stream<cuda> s(index);
    expect_works(s);
  }
}

TEST_F(cuda_driver, exhausted_memory_is_asked_for_twice_and_named) {
  const fg::stream<cuda> s;
  fail("cuMemAlloc_v2", 1, 2);
  expect_works(s);  // the second attempt has it
  fg::empty_cache<cuda>();
  const fg::error e = error_of([&] { (void)fg::empty<f32>(s, {i64{1} << 40}); });
  EXPECT_EQ(e.code(), errc::out_of_memory) << e.what();
  expect_works(s);
}

TEST_F(cuda_driver, a_launch_that_fails_names_operator_function_and_result) {
  const fg::stream<cuda> s;
  expect_works(s);
  fail("cuLaunchKernelEx", 1, 1);
  const fg::error e = error_of([&] { (void)ones_plus_one(s, 33); });
  EXPECT_EQ(e.code(), errc::driver_error);
  EXPECT_EQ(e.op(), "add");
  EXPECT_TRUE(contains(e, "success of cuLaunchKernelEx")) << e.what();
  EXPECT_TRUE(contains(e, "CUDA_ERROR_INVALID_VALUE (1): simulated")) << e.what();
  expect_works(s);
}

TEST_F(cuda_driver, work_that_fails_is_told_of_by_the_call_that_waits) {
  const fg::stream<cuda> s;
  expect_works(s);
  {
    const auto x = fg::from_values<f32>(s, {1, 2, 3, 4}, {4});
    fail("cuLaunchKernelEx later", 1, 719);
    const auto y = fg::add(s, x, 1);
    const fg::error e = error_of([&] { s.synchronize(); });
    EXPECT_EQ(e.code(), errc::driver_error);
    EXPECT_TRUE(contains(e, "CUDA_ERROR_LAUNCH_FAILED (719)")) << e.what();
    // The real driver answers so until the process ends.
    EXPECT_TRUE(contains(error_of([&] { s.synchronize(); }), "719"));
    EXPECT_TRUE(contains(error_of([&] { (void)fg::add(s, x, 1); }), "719"));
    fail("", 0, 0);
  }
  expect_works(s);
}

// Every function in turn answers once that it failed: an error comes out, or the call succeeded by
// another way; then all works again.
TEST_F(cuda_driver, any_function_may_fail) {
  for (const char* function :
       {"cuStreamCreateWithPriority", "cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuLaunchKernelEx",
        "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"}) {
    SCOPED_TRACE(function);
    fg::empty_cache<cuda>();
    fail(function, 1, 999);
    const fg::error e = error_of([] {
      const fg::stream<cuda> s;
      (void)ones_plus_one(s, 9);
      s.synchronize();
    });
    EXPECT_EQ(e.code(), errc::driver_error) << e.what();
    EXPECT_TRUE(contains(e, function)) << e.what();
    const fg::stream<cuda> s;
    expect_works(s);
  }
}

TEST_F(cuda_driver, a_kernel_that_does_not_compile_is_named_with_the_reason) {
  const fg::stream<cuda> s;
  const auto x = fg::from_values<f32>(s, {3, 4}, {2});
  fail("nvrtcCompileProgram", 1, 6);
  const auto hypot = [&] {
    return fg::evaluate(s, fg::apply(flaggems_test::hypot_like{1.0F}, x, x));
  };
  const fg::error e = error_of(hypot);
  EXPECT_EQ(e.code(), errc::driver_error);
  EXPECT_TRUE(contains(e, "hypot_like")) << e.what();
  EXPECT_TRUE(contains(e, "NVRTC_ERROR_COMPILATION: flaggems_instance.cu(1): error: simulated"))
      << e.what();
  (void)hypot();
}

TEST_F(cuda_driver, types_without_names_are_refused_before_they_are_compiled) {
  const fg::stream<cuda> s;
  const auto x = fg::from_values<f32>(s, {3, 4}, {2});
  const long before = calls("nvrtcCompileProgram");
  const fg::error e = error_of([&] { (void)fg::evaluate(s, fg::apply(nameless{}, x)); });
  EXPECT_EQ(e.code(), errc::not_supported);
  EXPECT_TRUE(contains(e, "FLAGGEMS_TEXT")) << e.what();
  EXPECT_TRUE(e.got() == "{anonymous}::nameless" || e.got() == "(anonymous namespace)::nameless")
      << e.got();
  EXPECT_EQ(calls("nvrtcCompileProgram"), before);
}

TEST_F(cuda_driver, two_texts_of_one_name_are_refused) {
  using namespace std::string_view_literals;
  fg::detail::kernel_texts texts;
  const auto add = [&](std::string_view section) {
    texts.add_section(section.data(), section.data() + section.size());
  };
  add("a\0one\0b\0two\0a\0one\0"sv);
  EXPECT_EQ(texts.names.size(), 2U);
  EXPECT_EQ(texts.ambiguous, nullptr);
  add("b\0else\0"sv);
  const fg::error e = error_of([&] {
    (void)fg::detail::runtime_compiler<fg::detail::cuda_api>::get().image_of(
        "test", fg::detail::instance_of<flaggems_test::note_threads, fg::i32*>, "sm_1", texts);
  });
  EXPECT_EQ(e.got(), "two different texts named b");
}

TEST_F(cuda_driver, images_come_from_the_disk_the_second_time) {
  auto& compiler = fg::detail::runtime_compiler<fg::detail::cuda_api>::get();
  ASSERT_EQ(compiler.cache().reason(), "");
  const auto& instance =
      fg::detail::instance_of<flaggems_test::row_sums, fg::kernels::row_space,
                              fg::kernels::row_arg<f32>, fg::kernels::row_target<f32>>;
  const std::string target = "sm_1";  // of no other test
  const long before = calls("nvrtcCompileProgram");
  const std::string first = compiler.image_of("test", instance, target);
  EXPECT_EQ(calls("nvrtcCompileProgram"), before + 1);
  EXPECT_EQ(compiler.image_of("test", instance, target), first);
  EXPECT_EQ(calls("nvrtcCompileProgram"), before + 1);
}

TEST(cuda_api, compilers_are_told_options_that_they_know) {
  const auto options = [](int major_number, int minor_number, bool kept) {
    std::string words;
    for (const char* word : fg::detail::cuda_api::other_options(major_number, minor_number, kept))
      words += std::string(word) + ' ';
    return words;
  };
  EXPECT_EQ(options(12, 3, true), "");
  EXPECT_EQ(options(12, 4, true), "--minimal ");
  EXPECT_EQ(options(12, 9, true), "--minimal --no-cache ");
  EXPECT_EQ(options(13, 0, true), "--minimal --no-cache ");
  EXPECT_EQ(options(13, 0, false), "--minimal ");
}

TEST_F(cuda_driver, scratch_beyond_shared_memory_lies_in_a_workspace) {
  const fg::stream<cuda> s;
  const i64 n = 1 << 17;
  // Rows whose elements are not contiguous are kept there.
  const auto y = fg::softmax(s, fg::zeros<f32>(s, {n, 2}), 0);
  EXPECT_EQ(values_of(s, y),
            std::vector<f32>(static_cast<std::size_t>(2 * n), 1.0F / static_cast<f32>(n)));
}

TEST_F(cuda_driver, tensor_maps_are_encoded_once) {
  const fg::stream<cuda> s;
  const auto x = fg::zeros<f32>(s, {10, 20});
  const auto encoded = [&] { return calls("cuTensorMapEncodeTiled"); };
  const long before = encoded();
  const std::array<i64, 2> box{4, 8}, other{4, 4};
  const fg::tensor_map map = fg::tensor_map_of(s, x.view(), box);
  EXPECT_EQ(map.encoded[0], 0xEEEEEEEEEEEEEEEEU);
  EXPECT_EQ(map.encoded[15], 0xEEEEEEEEEEEEEEEEU);
  EXPECT_EQ(fg::tensor_map_of(s, x.view(), box).encoded[0], map.encoded[0]);
  EXPECT_EQ(encoded(), before + 1);
  (void)fg::tensor_map_of(s, x.view(), other);
  (void)fg::tensor_map_of(s, x.view().narrow(1, 4, 12), box);
  (void)fg::tensor_map_of(s, x.view().narrow(0, 0, 3), box);
  (void)fg::tensor_map_of(s, x.view(), box, fg::box_swizzle::pieces_2);
  EXPECT_EQ(encoded(), before + 5);
  // What is refused by the driver is told, and not kept.
  const auto y = fg::zeros<f32>(s, {10, 20});
  fail("cuTensorMapEncodeTiled", 1, 1);
  const auto map_of_y = [&] { (void)fg::tensor_map_of(s, y.view(), box); };
  EXPECT_TRUE(contains(error_of(map_of_y), "success of cuTensorMapEncodeTiled"));
  map_of_y();
  EXPECT_EQ(encoded(), before + 7);
}

TEST_F(cuda_driver, tells_how_many_blocks_run_at_once) {
  const fg::stream<cuda> s;
  const auto at_once = [&](int threads, i64 scratch, i64 tiles = 1000) {
    fg::launch_config config;
    config.tiles = tiles;
    config.threads = threads;
    config.scratch = scratch;
    return fg::resident_blocks<flaggems_test::row_sums>(s, config, fg::kernels::row_space{},
                                                        fg::kernels::row_arg<f32>{},
                                                        fg::kernels::row_target<f32>{});
  };
  EXPECT_EQ(at_once(256, 0), 2 * 8);  // by threads, on two units
  EXPECT_EQ(at_once(250, 0), 2 * 8);
  EXPECT_EQ(at_once(5000, 0), 2 * 2);
  EXPECT_EQ(at_once(64, 54 << 10), 2 * 4);  // by shared memory
  EXPECT_EQ(at_once(64, 1 << 20), 2 * 2);   // which a workspace of few blocks stands in for
  EXPECT_EQ(at_once(64, 0, 3), 3);
  EXPECT_EQ(fg::most_cluster<flaggems_test::row_sums>(s, {}, fg::kernels::row_space{},
                                                      fg::kernels::row_arg<f32>{},
                                                      fg::kernels::row_target<f32>{}),
            8);
}

TEST_F(cuda_driver, long_rows_are_shared_by_clusters_where_code_knows_them) {
  const fg::stream<cuda> s;
  const i64 n = 33000;
  const auto x = fg::zeros<f32>(s, {2, n});
  const auto all = [&](f32 value) {
    return std::vector<f32>(static_cast<std::size_t>(2 * n), value);
  };
  const long before = calls("launches of clusters");
  EXPECT_EQ(values_of(s, fg::softmax(s, x, 1)), all(1.0F / static_cast<f32>(n)));
  EXPECT_EQ(calls("launches of clusters"), before + 1);
  fail("a function's target", 1, 80);
  EXPECT_EQ(values_of(s, fg::log_softmax(s, x, 1)), all(-std::log(static_cast<f32>(n))));
  EXPECT_EQ(calls("launches of clusters"), before + 1);
}

// As that compiled for sm_90, without wgmma, has on a device of sm_90a.
TEST_F(cuda_driver, products_have_other_tiles_where_code_has_no_warp_groups) {
  const fg::stream<cuda> s;
  const auto ones = fg::full<fg::f16>(s, {40, 64}, 1);
  auto out = fg::zeros<fg::f16>(s, {40, 40});
  static std::string launched;
  launched.clear();
  const auto before = fg::set_launch_hook(
      [](const fg::launch_event& e) { launched += std::string(e.kernel) + " "; });
  fail("a function's threads", 1, 32);
  fg::linear(s, ones, ones, out);
  fg::set_launch_hook(before);
  EXPECT_NE(launched.find("gemm_tiles"), std::string::npos) << launched;
  EXPECT_EQ(launched.find("gemm_warp_groups"), std::string::npos) << launched;
  EXPECT_EQ(values_of(s, fg::to<f32>(s, out)), std::vector<f32>(40 * 40, 64));
}

TEST_F(cuda_driver, a_kernel_that_begins_early_finds_memory_shut_until_it_awaits) {
  const fg::stream<cuda> s;
  auto x = fg::zeros<fg::i32>(s, {3});
  const auto note = [&](i64 n, awaiting when) {
    fg::launch_config config;
    config.tiles = 3;
    fg::launch<note_blocks>(s, config, x.data(), n, when);
    s.synchronize();
  };
  note(3, awaiting::before);
  EXPECT_EQ(fg::to_host(s, x).data()[2], 3);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(note(3, awaiting::after), "");
  EXPECT_DEATH(note(3, awaiting::never), "");
  EXPECT_TRUE(contains(error_of([&] { note(0, awaiting::before); }), "719"));  // nothing awaits
}

TEST_F(cuda_driver, after_a_fork_the_child_is_told) {
  const fg::stream<cuda> s;
  expect_works(s);
  const pid_t child = ::fork();
  if (child == 0) {
    const fg::error e = error_of([&] { s.synchronize(); });
    ::_exit(contains(e, "forked after the driver was opened") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect_works(s);
}

TEST_F(cuda_driver, many_threads_first_launch_at_once) {
  std::vector<std::thread> threads;
  for (int k = 0; k < 8; ++k)
    threads.emplace_back([] {
      const fg::stream<cuda> s;
      for (int r = 0; r < 4; ++r) {
        const auto x = fg::full<f32>(s, {64}, 3);
        const auto y = fg::sub(s, x, 1);
        EXPECT_EQ(values_of(s, y), std::vector<f32>(64, 2));
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
