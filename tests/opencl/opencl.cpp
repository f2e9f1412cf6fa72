// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::opencl on a real driver: what is its own besides what every device type does
// (tests/device/conformance.cpp, which this program runs, too).
#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/opencl.hpp>

#include <support/errors.hpp>

#include <gtest/gtest.h>

#include "launches.hpp"

#include <cstdlib>
#include <string>
#include <vector>

namespace {

namespace fd = flaggems::detail;
using flaggems::i64;
using flaggems::opencl;
using flaggems_test::config_of;
using flaggems_test::error_of;
using flaggems_test::launch_many_words;

class opencl_device : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GE(opencl::device_count(), 1) << opencl::unavailable_reason();
    opencl::set_device(0);
  }
};

TEST_F(opencl_device, has_properties) {
  static_assert(flaggems::execution_model<opencl> == flaggems::execution::simt);
  const flaggems::device_properties p = opencl::properties(0);
  EXPECT_FALSE(p.name.empty());
  EXPECT_EQ(p.arch, "spir64");
  EXPECT_GE(p.max_threads_per_block, 32);
  EXPECT_GT(p.total_memory, 0);
  EXPECT_GT(p.shared_memory_per_block, 0);
  EXPECT_EQ(error_of([] { (void)opencl::properties(99); }).code(),
            flaggems::errc::device_unavailable);
  EXPECT_EQ(error_of([] { opencl::set_device(-1); }).code(), flaggems::errc::device_unavailable);
}

TEST_F(opencl_device, names_results) {
  EXPECT_EQ(opencl::error_text(-54), "CL_INVALID_WORK_GROUP_SIZE (-54)");
  EXPECT_EQ(opencl::error_text(-12345), "result (-12345)");
}

TEST_F(opencl_device, scratch_is_local_or_in_a_workspace) {
  flaggems_test::sum_in_scratch_of<opencl>(
      {1000, 2 * opencl::properties(0).shared_memory_per_block / 8});
}

TEST_F(opencl_device, large_blocks_may_have_many_variables) {
  flaggems::stream<opencl> s;
  auto out = flaggems::from_values<i64>(s, std::vector<i64>{0}, {1});
  flaggems::launch_config config = config_of("many_variables", 1);
  config.threads = 1024;
  flaggems::launch<flaggems_test::many_variables>(s, config, out.data());
  EXPECT_EQ(flaggems::to_host(s, out).data()[0], i64{2048} * 1024 * 1023 / 2);
}

// By value up to most_argument_bytes, an address among them.
TEST_F(opencl_device, arguments_may_be_of_any_size) {
  launch_many_words<opencl, 100>(5);
  launch_many_words<opencl, flaggems::kernels::most_argument_bytes / 8 - 1>(5);
  launch_many_words<opencl, flaggems::kernels::most_argument_bytes / 8>(5);
  launch_many_words<opencl, 1000>(5);
}

TEST_F(opencl_device, pointers_in_memory_reach_what_was_allocated_after_the_first_launch) {
  flaggems::stream<opencl> s;
  std::vector<flaggems::tensor<i64, opencl>> numbers;
  for (int round = 0; round < 3; ++round) {
    numbers.push_back(flaggems::from_values<i64>(
        s, std::vector<i64>(std::size_t{1} << (18 + round), 40), {i64{1} << (18 + round)}));
    const auto address = reinterpret_cast<i64>(numbers.back().data());
    auto pointer = flaggems::from_values<i64>(s, std::vector<i64>{address}, {1});
    flaggems::launch<flaggems_test::add_by_pointer>(s, config_of("add_by_pointer", 1),
                                                    reinterpret_cast<i64* const*>(pointer.data()));
    EXPECT_EQ(flaggems::to_host(s, numbers.back()).data()[0], 41);
  }
}

TEST_F(opencl_device, modules_good_and_bad) {
  const std::string nonsense = "no image";
  const flaggems::error refused = error_of(
      [&] { (void)opencl::load_module(nonsense.data(), static_cast<i64>(nonsense.size())); });
  EXPECT_EQ(refused.code(), flaggems::errc::driver_error);
  EXPECT_EQ(std::string(refused.op()), "load_module");

  using compiler = fd::runtime_compiler<fd::opencl_api>;
  constexpr auto& instance = fd::instance_of<flaggems_test::add_by_pointer, i64* const*>;
  const std::string image = compiler::get().image_of("test", instance, fd::opencl_api::target);
  const auto module = opencl::load_module(image.data(), static_cast<i64>(image.size()));
  EXPECT_NE(opencl::find_function(module, fd::entry_name), nullptr);
  EXPECT_EQ(error_of([&] { (void)opencl::find_function(module, "absent"); }).code(),
            flaggems::errc::driver_error);
  opencl::unload_module(module);
}

TEST_F(opencl_device, takes_the_image_that_the_program_has) {
  constexpr auto& instance = fd::instance_of<flaggems_test::sum_in_scratch, i64*, i64, i64>;
  EXPECT_FALSE(fd::precompiled_image_of<fd::opencl_api>(instance, fd::opencl_api::target).empty());
  constexpr auto& other = fd::instance_of<flaggems_test::add_by_pointer, i64* const*>;
  EXPECT_TRUE(fd::precompiled_image_of<fd::opencl_api>(other, fd::opencl_api::target).empty());
}

TEST_F(opencl_device, what_does_not_compile_says_why) {
  using compiler = fd::runtime_compiler<fd::opencl_api>;
  const flaggems::error refused = error_of([] {
    (void)compiler::get().compile("test", "nothing known", fd::kernel_texts::embedded(),
                                  "int x = absent;\n", fd::opencl_api::target);
  });
  EXPECT_EQ(refused.code(), flaggems::errc::driver_error);
  EXPECT_NE(std::string(refused.got()).find("undeclared identifier 'absent'"), std::string::npos);
  const std::string& log = compiler::get().log();
  EXPECT_EQ(log.substr(0, log.find(':')), fd::source_name) << log;
}

TEST(opencl_source, has_each_text_in_the_place_of_its_first_include) {
  fd::kernel_texts texts;
  constexpr char section[] =
      "a.hpp\0#pragma once\n#include <b.hpp>\nint a;\n\0"
      "b.hpp\0#pragma once\nint b;";
  texts.add_section(section, section + sizeof(section));
  EXPECT_EQ(fd::flat_source(texts).of("#include <a.hpp>\n#include <b.hpp>\n#include <c.hpp>\nx\n"),
            "# 1 \"flaggems_instance.cu\"\n# 1 \"a.hpp\"\n\n# 1 \"b.hpp\"\n\nint b;\n"
            "# 3 \"a.hpp\"\nint a;\n# 2 \"flaggems_instance.cu\"\n\n#include <c.hpp>\nx\n");
}

}  // namespace
