// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/detail/cpu.hpp>
#include <support/forks.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

namespace {

using flaggems::isa_level;

#if FLAGGEMS_ARCH_X86
TEST(cpu, level_agrees_with_the_kernel) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0) {
  }
  if (line.empty()) GTEST_SKIP() << "no /proc/cpuinfo";
  const auto has = [&line](const char* words) {
    std::istringstream in(words);
    for (std::string word; in >> word;)
      if ((line + ' ').find(' ' + word + ' ') == std::string::npos) return false;
    return true;
  };
  isa_level expected = isa_level::baseline;
  const char* needed[] = {"avx2 fma f16c bmi1 bmi2 abm popcnt",
                          "avx512f avx512bw avx512dq avx512vl", "avx512_vnni avx512_bf16",
                          "amx_tile amx_bf16 amx_int8"};
  for (int i = 0; i < FLAGGEMS_MAX_ISA && has(needed[i]); ++i)
    expected = static_cast<isa_level>(i + 1);
  EXPECT_EQ(to_string(flaggems::detected_isa()), to_string(expected));
}
#else
TEST(cpu, has_one_level) { EXPECT_EQ(flaggems::detected_isa(), isa_level::baseline); }
#endif

TEST(cpu, guard_forces_a_level) {
  const isa_level before = flaggems::isa();
  EXPECT_LE(before, flaggems::detected_isa());
  for (int i = 0; i <= static_cast<int>(flaggems::detected_isa()); ++i) {
    flaggems::isa_guard guard(static_cast<isa_level>(i));
    EXPECT_EQ(flaggems::isa(), static_cast<isa_level>(i));
  }
  EXPECT_EQ(flaggems::isa(), before);
  for (int i = static_cast<int>(flaggems::detected_isa()) + 1; i < flaggems::isa_level_count; ++i) {
    EXPECT_THROW(flaggems::force_isa(static_cast<isa_level>(i)), flaggems::error);
    EXPECT_EQ(flaggems::isa(), before);
  }
}

TEST(cpu, values_that_are_no_level_are_refused) {
  const isa_level before = flaggems::isa();
  for (const int value : {-2147483647 - 1, -1, flaggems::isa_level_count, 77, 2147483647}) {
    const isa_level level{value};
    EXPECT_EQ(to_string(level), "unknown");
    try {
      flaggems::force_isa(level);
      ADD_FAILURE() << value;
    } catch (const flaggems::error& e) {
      EXPECT_EQ(e.code(), flaggems::errc::invalid_argument);
      EXPECT_EQ(e.op(), "force_isa");
    }
    EXPECT_THROW(flaggems::isa_guard{level}, flaggems::error);
    EXPECT_EQ(flaggems::isa(), before);
  }
}

// In a child, because the environment is read once.
std::string isa_with(const char* value) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    flaggems::detail::isa_slot() = -1;
    setenv("FLAGGEMS_ISA", value, 1);
    std::string text;
    try {
      text = to_string(flaggems::isa());
    } catch (const flaggems::error& e) {
      text = e.what();
    }
    const auto written = write(pipe_ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(pipe_ends[1]);
  char text[512] = {};
  const ssize_t n = read(pipe_ends[0], text, sizeof(text) - 1);
  close(pipe_ends[0]);
  waitpid(child, nullptr, 0);
  return std::string(text, n > 0 ? static_cast<std::size_t>(n) : 0);
}

TEST(cpu, environment_lowers_the_level) {
  FLAGGEMS_TEST_FORKS();
  EXPECT_EQ(isa_with(""), to_string(flaggems::detected_isa()));
  const std::string available = flaggems::detail::available_isa_levels();
  for (int i = 0; i < flaggems::isa_level_count; ++i) {
    const std::string name(to_string(static_cast<isa_level>(i)));
    if (i <= static_cast<int>(flaggems::detected_isa()))
      EXPECT_EQ(isa_with(name.c_str()), name);
    else
      EXPECT_EQ(isa_with(name.c_str()), "FLAGGEMS_ISA: expected a level that this machine has (" +
                                            available + "), got " + name + " [not_supported]");
  }
  EXPECT_EQ(isa_with("sse9"),
            "FLAGGEMS_ISA: expected one of " + available + ", got sse9 [invalid_argument]");
}

TEST(cpu, caches_have_plausible_sizes) {
  const flaggems::cache_sizes& c = flaggems::caches();
  EXPECT_GE(c.l1d, 8 * 1024);
  EXPECT_LE(c.l1d, 1024 * 1024);
  EXPECT_GE(c.l2, c.l1d);
  EXPECT_TRUE(c.l3 == 0 || c.l3 >= c.l1d);
  EXPECT_EQ(&c, &flaggems::caches());
}

TEST(cpu, processor_has_a_name) { EXPECT_FALSE(flaggems::detail::processor_name().empty()); }

#if __has_include(<execinfo.h>)
// support/backtrace.cpp, or a sanitizer.
TEST(test_program, says_where_it_dies) {
  FLAGGEMS_TEST_FORKS();
  // Others of the program have threads; but one that runs under qemu cannot be started by itself.
  GTEST_FLAG_SET(death_test_style, FLAGGEMS_ARCH_ARM64 ? "fast" : "threadsafe");
  EXPECT_DEATH(static_cast<void>(std::raise(SIGSEGV)), "died of a signal in:|SEGV");
}
#endif

}  // namespace
