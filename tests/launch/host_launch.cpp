// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory of a launch's workers: each has its own, and nobody begins before all have theirs.
#include <flaggems/config.hpp>
#include <flaggems/launch/host_launch.hpp>
#include <support/forks.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <cstdio>
#include <cstring>

namespace flaggems_test {
namespace {

namespace fg = flaggems;
using fg::i64;

struct shares {
  i64 bytes;
  fg::detail::atomic<int> begun{0};
  unsigned char* memory[8] = {};

  void run(int workers) {
    fg::launch_config config;
    config.op = "shares";
    config.scratch = bytes;
    fg::detail::run_host_workers(
        config, workers,
        [](const void* context, int worker, int, unsigned char* scratch) {
          auto& mine = *static_cast<shares*>(const_cast<void*>(context));
          mine.begun.fetch_add(1);
          mine.memory[worker] = scratch;
          if (scratch != nullptr)
            std::memset(scratch, worker, static_cast<std::size_t>(mine.bytes));
        },
        this, true);
  }
};

struct threads {
  int before = fg::detail::host_thread_pool().num_threads();
  explicit threads(int n) { fg::detail::host_thread_pool().set_num_threads(n); }
  ~threads() { fg::detail::host_thread_pool().set_num_threads(before); }
};

TEST(host_launch, every_worker_has_memory_of_its_own) {
  const threads four(4);
  for (const i64 bytes : {i64{0}, i64{1}, i64{5000}, i64{1} << 20}) {
    shares s{bytes};
    s.run(4);
    const int count = s.begun.load();  // other threads may use the pool
    ASSERT_GE(count, 1);
    for (int w = 0; w < count; ++w) {
      EXPECT_EQ(s.memory[w] == nullptr, bytes == 0);
      EXPECT_EQ(reinterpret_cast<fg::u64>(s.memory[w]) % 64, 0u);
      for (i64 k = 0; k < bytes; ++k) ASSERT_EQ(s.memory[w][k], w) << bytes;
    }
  }
}

#if FLAGGEMS_EXCEPTIONS
int shares_begun(i64 bytes, int workers) {
  shares s{bytes};
  try {
    s.run(workers);
  } catch (const fg::error& e) {
    if (e.code() != fg::errc::out_of_memory) return -1;
    return s.begun.load();
  }
  return -2;
}

TEST(host_launch, more_than_can_be_counted) {
  const threads four(4);
  for (const i64 bytes : {(std::numeric_limits<i64>::max)(), i64{1} << 62, i64{1} << 60})
    EXPECT_EQ(shares_begun(bytes, 4), 0) << bytes;
}

#if !FLAGGEMS_ASAN && !defined(__SANITIZE_THREAD__)
constexpr int cannot_tell = 77;
// The address space ends where some of the workers have what they need.
int with_little_memory() {
  const threads four(4);
  shares{0}.run(4);  // the threads are there
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  const bool known = file != nullptr && std::fscanf(file, "%ld", &pages) == 1;
  if (file != nullptr) std::fclose(file);
  if (!known) return cannot_tell;
  const rlim_t now = static_cast<rlim_t>(pages) * 4096, more = rlim_t{80} << 20;
  const rlimit limit{now + more, now + more};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return cannot_tell;
  // Emulators of processors do not obey.
  if (mmap(nullptr, std::size_t{1} << 32, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
      MAP_FAILED)
    return cannot_tell;
  return shares_begun(i64{32} << 20, 4);
}
TEST(host_launch, nobody_begins_without_memory_for_all) {
  FLAGGEMS_TEST_FORKS();
  bool is_told = true;
  const auto nobody_began = [&](int status) {
    is_told = !WIFEXITED(status) || WEXITSTATUS(status) != cannot_tell;
    return !is_told || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
  };
  EXPECT_EXIT(_exit(with_little_memory()), nobody_began, "");
  if (!is_told) GTEST_SKIP() << "the address space cannot be limited here";
}
#endif
#endif

}  // namespace
}  // namespace flaggems_test
