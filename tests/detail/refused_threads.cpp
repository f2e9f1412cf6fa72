// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A pool that the system refuses threads.
#include <flaggems/detail/thread_pool.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <string>

namespace {

using flaggems::detail::thread_pool;

// While it lives no thread can be started: nobody has so much memory for a stack.
class no_new_threads {
 public:
  no_new_threads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 50);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~no_new_threads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  no_new_threads(const no_new_threads&) = delete;
  no_new_threads& operator=(const no_new_threads&) = delete;

 private:
  pthread_attr_t before_;
};

TEST(refused_threads, goes_on_with_the_threads_there_are_and_says_so_once) {
  sigset_t set, now;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  pthread_sigmask(SIG_SETMASK, nullptr, &set);
  thread_pool pool(2);
  const auto count_of = [&](int workers) {
    std::atomic<int> parts{0};
    int count = 0;
    pool.run(workers, [&](int worker, int n) {
      ++parts;
      if (worker == 0) count = n;
    });
    EXPECT_EQ(parts, count);
    return count;
  };
  EXPECT_EQ(count_of(2), 2);
  pool.set_num_threads(5);
  testing::internal::CaptureStderr();
  {
    const no_new_threads refused;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(count_of(5), 2);
    usleep(1100000);  // asked again
    EXPECT_EQ(count_of(5), 2);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("goes on with 2 of 5 threads"), said.npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  for (int signal = 1; signal < SIGRTMAX; ++signal)
    EXPECT_EQ(sigismember(&set, signal), sigismember(&now, signal)) << signal;
  usleep(1100000);
  EXPECT_EQ(count_of(5), 5);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

TEST(refused_threads, a_pool_without_any_thread_runs_on_the_caller) {
  thread_pool pool(3);
  const no_new_threads refused;
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    int count = 0;
    pool.run(3, [&](int, int n) { count = n; });
    EXPECT_EQ(count, 1);
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("1 of 3 threads"), std::string::npos);
}

}  // namespace
