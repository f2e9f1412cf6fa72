// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// To be run under the thread sanitizer, too.
#include <flaggems/detail/thread_pool.hpp>
#include <support/forks.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <fstream>
#include <initializer_list>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using flaggems::detail::thread_pool;

TEST(thread_pool, calls_every_worker_once) {
  thread_pool pool(4);
  for (int workers = 0; workers <= 6; ++workers) {
    std::vector<int> calls(8);
    std::atomic<int> count{0};
    pool.run(workers, [&](int worker, int n) {
      ++calls[static_cast<std::size_t>(worker)];
      count = n;
    });
    const int expected = workers < 1 ? 1 : workers > 4 ? 4 : workers;
    EXPECT_EQ(count, expected);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(calls[static_cast<std::size_t>(i)], i < expected) << i;
  }
}

// Returns once `count` workers have come.
void meet(std::atomic<int>& arrivals, int count) {
  ++arrivals;
  while (arrivals < count) std::this_thread::yield();
}

TEST(thread_pool, worker_0_is_the_caller) {
  thread_pool pool(3);
  std::thread::id ids[3];
  pool.run(3, [&](int worker, int) { ids[worker] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
}

TEST(thread_pool, workers_that_wait_for_each_other_have_threads) {
  thread_pool pool(5);
  for (int i = 0; i < 200; ++i) {
    if (i % 50 == 0) usleep(2000);  // asleep
    std::thread::id ids[5];
    std::atomic<int> arrivals{0};
    pool.run(5, [&](int worker, int count) {
      ids[worker] = std::this_thread::get_id();
      meet(arrivals, count);
    });
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    for (int a = 0; a < 5; ++a)
      for (int b = 0; b < a; ++b) ASSERT_NE(ids[a], ids[b]) << a << ' ' << b;
  }
}

TEST(thread_pool, results_are_visible_after_many_runs) {
  thread_pool pool(2);
  long long sums[2] = {};  // not atomic: the sanitizer sees a missing synchronisation
  for (int i = 0; i < 20000; ++i) pool.run(2, [&](int worker, int) { sums[worker] += i; });
  EXPECT_EQ(sums[0], 20000LL * 19999 / 2);
  EXPECT_EQ(sums[1], sums[0]);
}

TEST(thread_pool, results_of_other_threads_are_visible) {
  thread_pool pool(2);
  long long sums[2] = {};
  for (int i = 0; i < 1000; ++i) {
    std::atomic<int> arrivals{0};
    pool.run(2, [&](int worker, int count) {
      meet(arrivals, count);
      sums[worker] += i;
    });
  }
  EXPECT_EQ(sums[0], 1000LL * 999 / 2);
  EXPECT_EQ(sums[1], sums[0]);
}

TEST(thread_pool, wakes_parked_workers) {
  thread_pool pool(3);
  std::atomic<int> calls{0};
  for (int i = 0; i < 50; ++i) {
    usleep(i % 5 == 0 ? 2000 : 25);  // parked, and about to park
    pool.run(3, [&](int, int) { ++calls; });
  }
  EXPECT_EQ(calls, 150);
}

TEST(thread_pool, caller_sleeps_while_a_worker_is_slow) {
  thread_pool pool(2);
  std::atomic<int> calls{0};
  for (int i = 0; i < 5; ++i) {
    std::atomic<int> arrivals{0};
    pool.run(2, [&](int worker, int count) {
      meet(arrivals, count);
      if (worker == 1) usleep(3000);
      ++calls;
    });
  }
  EXPECT_EQ(calls, 10);
}

TEST(thread_pool, caller_does_what_sleeping_workers_have_not_begun) {
  thread_pool pool(2);
  int own = 0;
  for (int i = 0; i < 300; ++i) {
    usleep(100);
    std::thread::id ids[2];
    pool.run(2, [&](int worker, int) { ids[worker] = std::this_thread::get_id(); });
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    own += ids[1] == ids[0];
  }
  EXPECT_GT(own, 0);
}

TEST(thread_pool, every_part_is_run_once_by_whoever_is_first) {
  thread_pool pool(4);
  for (int i = 0; i < 3000; ++i) {
    if (i % 500 == 0) usleep(1000);
    int parts[4] = {};  // not atomic: the sanitizer sees a missing synchronisation
    pool.run(4, [&](int worker, int) {
      if (i % 3 == 1) usleep(worker == 0 ? 0 : 1);
      ++parts[worker];
    });
    for (int w = 0; w < 4; ++w) ASSERT_EQ(parts[w], 1) << w;
  }
}

TEST(thread_pool, nested_runs_are_serial) {
  thread_pool pool(2);
  std::atomic<int> inner{0}, wrong{0};
  pool.run(2, [&](int, int) {
    pool.run(2, [&](int worker, int count) {
      wrong += worker != 0 || count != 1;
      ++inner;
    });
  });
  EXPECT_EQ(inner, 2);
  EXPECT_EQ(wrong, 0);
  int count = 0;  // and afterwards it is parallel again
  pool.run(2, [&](int worker, int n) {
    if (worker == 0) count = n;
  });
  EXPECT_EQ(count, 2);
}

TEST(thread_pool, several_callers_never_wait_for_each_other) {
  thread_pool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> complete{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        int done[3] = {}, count = 0;
        pool.run(3, [&](int worker, int n) {
          done[worker] = 1;
          if (worker == 0) count = n;
        });
        complete += done[0] + done[1] + done[2] == count;
      }
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(complete, 8000);
}

TEST(thread_pool, second_caller_runs_alone_while_the_pool_is_busy) {
  thread_pool pool(2);
  std::atomic<bool> first_runs{false}, second_done{false};
  std::thread first([&] {
    pool.run(2, [&](int, int) {
      first_runs = true;
      while (!second_done) std::this_thread::yield();
    });
  });
  while (!first_runs) std::this_thread::yield();
  int count = 0;
  pool.run(2, [&](int, int n) { count = n; });
  second_done = true;
  first.join();
  EXPECT_EQ(count, 1);
  // One that came once takes nothing away.
  pool.run(2, [&](int worker, int n) {
    if (worker == 0) count = n;
  });
  EXPECT_EQ(count, 2);
}

// Calls run(threads, a part of some microseconds) from `callers` threads until each has had
// `enough` runs of more than one worker, and says how often each called; -1 after 20 seconds.
std::vector<int> share_pool(thread_pool& pool, int callers, int threads, int enough) {
  std::vector<std::thread> all;
  std::vector<int> calls(static_cast<std::size_t>(callers));
  std::atomic<int> satisfied{0}, wrong{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (int t = 0; t < callers; ++t)
    all.emplace_back([&, t] {
      int n = 0, teams = 0;
      bool late = false;
      while (satisfied < callers && !late) {
        std::vector<int> parts(static_cast<std::size_t>(threads));
        int count = 0;
        pool.run(threads, [&](int worker, int workers) {
          for (int i = 0; i < 2000; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
          ++parts[static_cast<std::size_t>(worker)];
          if (worker == 0) count = workers;
        });
        for (int w = 0; w < threads; ++w)
          wrong += parts[static_cast<std::size_t>(w)] != (w < count ? 1 : 0);
        ++n;
        if (count > 1 && ++teams == enough) ++satisfied;
        late = std::chrono::steady_clock::now() > end;
      }
      calls[static_cast<std::size_t>(t)] = late ? -1 : n;
    });
  for (auto& t : all) t.join();
  EXPECT_EQ(wrong, 0);
  return calls;
}

TEST(thread_pool, callers_at_the_same_time_all_get_workers) {
  for (const int callers : {1, 2, 3, 4}) {
    thread_pool pool(8);
    for (const int calls : share_pool(pool, callers, 8, 300)) EXPECT_GE(calls, 300) << callers;
  }
}

TEST(thread_pool, more_callers_than_threads_all_finish) {
  thread_pool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> parts{0}, runs{0};
  for (int t = 0; t < 40; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        pool.run(3, [&](int worker, int) {
          ++parts;
          runs += worker == 0;
        });
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(runs, 8000);
  EXPECT_GE(parts, runs);
}

TEST(thread_pool, threads_of_a_caller_that_left_come_back) {
  thread_pool pool(6);
  share_pool(pool, 3, 6, 50);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int count = 0;
  while (count < 6 && std::chrono::steady_clock::now() < end)
    pool.run(6, [&](int worker, int n) {
      if (worker == 0) count = n;
    });
  EXPECT_EQ(count, 6);
}

TEST(thread_pool, workers_of_each_caller_may_wait_for_each_other) {
  thread_pool pool(6);
  std::vector<std::thread> callers;
  std::atomic<int> teams{0};
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        std::atomic<int> arrivals{0};
        pool.run(6, [&](int worker, int count) {
          meet(arrivals, count);
          if (worker == 0 && count > 1) ++teams;
        });
      }
    });
  for (auto& t : callers) t.join();
  EXPECT_GT(teams, 0);
}

TEST(thread_pool, resizes_while_callers_share_it) {
  thread_pool pool(2);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 2; ++t)
    callers.emplace_back([&] {
      while (!stop) {
        std::atomic<int> parts{0};
        int count = 0;
        pool.run(9, [&](int worker, int n) {
          ++parts;
          if (worker == 0) count = n;
        });
        wrong += parts != count;
      }
    });
  for (int i = 0; i < 60; ++i) {
    pool.set_num_threads(1 + i * 5 % 9);
    usleep(500);
  }
  stop = true;
  for (auto& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(thread_pool, throws_the_exception_of_a_worker_once_all_are_done) {
  thread_pool pool(3);
  for (int thrower = 0; thrower < 3; ++thrower) {
    std::atomic<int> others{0};
    try {
      pool.run(3, [&](int worker, int) {
        if (worker == thrower) throw std::runtime_error(std::to_string(worker));
        usleep(500);
        ++others;
      });
      ADD_FAILURE();
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(e.what(), std::to_string(thrower));
    }
    EXPECT_EQ(others, 2);
  }
  // All of them: one arrives, the pool stays usable.
  EXPECT_THROW(pool.run(3, [](int, int) { throw 1; }), int);
  std::atomic<int> calls{0};
  pool.run(3, [&](int, int) { ++calls; });
  EXPECT_EQ(calls, 3);
}

TEST(thread_pool, resizes) {
  thread_pool pool(1);
  for (const int n : {1, 4, 2, 3, 1, 5}) {
    pool.set_num_threads(n);
    EXPECT_EQ(pool.num_threads(), n);
    std::atomic<int> calls{0};
    pool.run(100, [&](int, int) { ++calls; });
    EXPECT_EQ(calls, n);
  }
  EXPECT_THROW(pool.set_num_threads(0), flaggems::error);
  EXPECT_THROW(pool.set_num_threads(1025), flaggems::error);
  EXPECT_EQ(pool.num_threads(), 5);
}

TEST(thread_pool, starts_no_thread_before_it_is_needed) {
  thread_pool pool(1000);
  pool.run(1, [](int, int) {});
  std::atomic<int> calls{0};
  pool.run(2, [&](int, int) { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST(thread_pool, many_pools_come_and_go) {
  for (int i = 0; i < 50; ++i) {
    thread_pool pool(3);
    std::atomic<int> calls{0};
    if (i % 3 != 0) pool.run(3, [&](int, int) { ++calls; });
    if (i % 3 == 1) usleep(100);
    EXPECT_EQ(calls, i % 3 != 0 ? 3 : 0);
  }
}

// The sanitizer cannot follow a child that starts threads.
#if !defined(__SANITIZE_THREAD__)
TEST(thread_pool, works_in_a_forked_child) {
  FLAGGEMS_TEST_FORKS();
  thread_pool pool(3);
  std::atomic<int> calls{0};
  pool.run(3, [&](int, int) { ++calls; });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    std::atomic<int> mine{0};
    for (int i = 0; i < 100; ++i) pool.run(3, [&](int, int) { ++mine; });
    _exit(mine == 300 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  pool.run(3, [&](int, int) { ++calls; });
  EXPECT_EQ(calls, 6);
}

TEST(thread_pool, works_in_a_child_forked_while_another_thread_has_it) {
  FLAGGEMS_TEST_FORKS();
  thread_pool pool(2);
  std::atomic<bool> runs{false}, stop{false};
  std::thread other([&] {
    pool.run(2, [&](int, int) {
      runs = true;
      while (!stop) std::this_thread::yield();
    });
  });
  while (!runs) std::this_thread::yield();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    std::atomic<int> mine{0};
    pool.run(2, [&](int, int) { ++mine; });
    _exit(mine == 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  stop = true;
  other.join();
}

// In a child the slots of its parent's threads stay as they were, referred to by nobody: for the
// leak checker, which asks this function.
bool leaks_are_the_parents = false;
}  // namespace
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return leaks_are_the_parents ? 1 : 0; }
namespace {

TEST(thread_pool, exit_is_safe_while_the_threads_live) {
  FLAGGEMS_TEST_FORKS();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    leaks_are_the_parents = true;
    alarm(20);
    auto& pool = flaggems::detail::host_thread_pool();
    pool.set_num_threads(3);
    std::atomic<int> mine{0};
    pool.run(3, [&](int, int) { ++mine; });
    std::exit(mine == 3 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

TEST(thread_pool, spins_only_where_each_thread_has_a_processor) {
  const int processors = flaggems::detail::usable_processors();
  thread_pool pool(2 * processors + 1);
  pool.run(2, [](int, int) {});
  const long long crowded = pool.patience();
  if (processors > 1) {
    pool.set_num_threads(processors);
    pool.run(2, [](int, int) {});
    EXPECT_GT(pool.patience(), 2 * crowded);
  }
  pool.set_num_threads(processors + 1);
  pool.run(2, [](int, int) {});
  EXPECT_EQ(pool.patience(), crowded);
}

TEST(thread_pool, parts_that_do_not_wait_take_no_more_threads_than_processors) {
  const int processors = flaggems::detail::usable_processors();
  const int threads = 2 * processors + 3;
  const auto size = static_cast<std::size_t>(threads);
  thread_pool pool(threads);
  std::set<std::thread::id> all;
  for (int i = 0; i < 500; ++i) {
    if (i % 100 == 0) usleep(1000);
    std::vector<std::thread::id> ids(size);
    std::vector<int> parts(size);  // not atomic: the sanitizer sees a missing synchronisation
    pool.run(
        threads,
        [&](int worker, int count) {
          EXPECT_EQ(count, threads);
          ids[static_cast<std::size_t>(worker)] = std::this_thread::get_id();
          ++parts[static_cast<std::size_t>(worker)];
        },
        false);
    for (const int n : parts) ASSERT_EQ(n, 1);
    all.insert(ids.begin(), ids.end());
  }
  EXPECT_LE(static_cast<int>(all.size()), processors < 2 ? 2 : processors);
  // In turns with workers that wait for each other.
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> arrivals{0}, parts{0};
    pool.run(threads, [&](int, int count) { meet(arrivals, count); });
    pool.run(
        threads, [&](int, int) { ++parts; }, false);
    ASSERT_EQ(arrivals, threads);
    ASSERT_EQ(parts, threads);
  }
  EXPECT_THROW(pool.run(
                   threads, [](int, int) { throw 1; }, false),
               int);
}

TEST(thread_pool, processors_are_limited_by_the_control_group) {
  std::string at = testing::TempDir() + "flaggems_quota_XXXXXX";
  ASSERT_NE(mkdtemp(at.data()), nullptr);
  const auto quota = [&](std::initializer_list<std::pair<const char*, const char*>> files) {
    for (const auto& [name, text] : files) std::ofstream(at + "/" + name) << text;
    const long result = flaggems::detail::quota_of(at.c_str());
    for (const auto& [name, text] : files) unlink((at + "/" + name).c_str());
    return result;
  };
  EXPECT_EQ(quota({}), LONG_MAX);
  EXPECT_EQ(quota({{"cpu.max", "max 100000\n"}}), LONG_MAX);
  EXPECT_EQ(quota({{"cpu.max", "200000 100000\n"}}), 2);
  EXPECT_EQ(quota({{"cpu.max", "250000 100000\n"}}), 3);
  EXPECT_EQ(quota({{"cpu.max", ""}}), LONG_MAX);
  EXPECT_EQ(quota({{"cpu.cfs_quota_us", "-1\n"}, {"cpu.cfs_period_us", "100000\n"}}), LONG_MAX);
  EXPECT_EQ(quota({{"cpu.cfs_quota_us", "50000\n"}, {"cpu.cfs_period_us", "100000\n"}}), 1);
  EXPECT_EQ(quota({{"cpu.cfs_quota_us", "400000\n"}, {"cpu.cfs_period_us", "100000\n"}}), 4);
  rmdir(at.c_str());
  EXPECT_GE(flaggems::detail::container_processors(), flaggems::detail::usable_processors());
}

TEST(thread_pool, default_comes_from_the_environment) {
  const char* before = std::getenv("FLAGGEMS_NUM_THREADS");
  const std::string saved = before != nullptr ? before : "";
  setenv("FLAGGEMS_NUM_THREADS", "7", 1);
  EXPECT_EQ(flaggems::detail::default_num_threads(), 7);
  thread_pool pool;
  EXPECT_EQ(pool.num_threads(), 7);
  for (const char* wrong :
       {"0", "-1", "two", "3x", "4 ", " 4", "+4", "1025", "99999999999999999999"}) {
    setenv("FLAGGEMS_NUM_THREADS", wrong, 1);
    try {
      static_cast<void>(flaggems::detail::default_num_threads());
      ADD_FAILURE() << wrong;
    } catch (const flaggems::error& e) {
      EXPECT_EQ(e.op(), "FLAGGEMS_NUM_THREADS");
      EXPECT_EQ(e.got(), wrong);
    }
  }
  unsetenv("FLAGGEMS_NUM_THREADS");
  EXPECT_EQ(flaggems::detail::default_num_threads(), flaggems::detail::usable_processors());
  EXPECT_GE(flaggems::detail::usable_processors(), 1);
  if (before != nullptr) setenv("FLAGGEMS_NUM_THREADS", saved.c_str(), 1);
}

}  // namespace
