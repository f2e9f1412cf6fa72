// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Each allocation of an operator fails in turn: an error comes out or the result is right, nothing
// is lost, and the same call succeeds afterwards. In a program of its own, whose file sees the
// library's calls of the C library's allocation under other names.
#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

namespace {

// Of this thread: allocations up to the one that fails; 0: it has failed; -1: none fails. Whether
// all that follow fail, too.
thread_local long allocations_left = -1;
thread_local bool rest_fails = false;
long live_objects = 0;

bool fails() {
  if (allocations_left < 0) return false;
  if (allocations_left == 0) return rest_fails;
  return --allocations_left == 0;
}

std::mutex& blocks_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
// Blocks of the library from the C library.
std::map<void*, std::size_t>& blocks() {
  static auto& all = *new std::map<void*, std::size_t>;
  return all;
}

void* tracked_alloc(std::size_t alignment, std::size_t bytes) {
  if (fails()) return nullptr;
  void* const p = std::aligned_alloc(alignment, bytes);
  const long left = allocations_left;
  allocations_left = -1;  // what the test itself allocates
  if (p != nullptr) {
    const std::lock_guard lock(blocks_mutex());
    blocks()[p] = bytes;
  }
  allocations_left = left;
  return p;
}
void tracked_free(void* p) {
  {
    const std::lock_guard lock(blocks_mutex());
    blocks().erase(p);
  }
  std::free(p);
}

void* new_object(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  void* p = nullptr;
  if (posix_memalign(&p, alignment, bytes) != 0) return nullptr;
  __atomic_fetch_add(&live_objects, 1, __ATOMIC_RELAXED);
  return p;
}
void delete_object(void* p) noexcept {
  if (p != nullptr) __atomic_fetch_sub(&live_objects, 1, __ATOMIC_RELAXED);
  std::free(p);
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* const p = new_object(bytes, alignof(std::max_align_t))) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* const p = new_object(bytes, static_cast<std::size_t>(alignment))) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return new_object(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_object(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { delete_object(p); }
void operator delete(void* p, std::size_t) noexcept { delete_object(p); }
void operator delete(void* p, std::align_val_t) noexcept { delete_object(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { delete_object(p); }

namespace std {
using ::tracked_alloc;
using ::tracked_free;
}  // namespace std
#define aligned_alloc tracked_alloc
#define free tracked_free
#include <flaggems/flaggems.hpp>
#undef aligned_alloc
#undef free

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace {

namespace fg = flaggems;
using fg::bf16, fg::host, fg::i64;
using values = std::vector<double>;

template <class T>
values read(const fg::tensor<T, host>& x) {
  values all;
  for (i64 i = 0; i < x.numel(); ++i) all.push_back(static_cast<double>(x.data()[i]));
  return all;
}
/// f's result, without failures of what only the test needs.
template <class T>
void keep(values& all, const fg::tensor<T, host>& x) {
  const long left = std::exchange(allocations_left, -1);
  const values more = read(x);
  all.insert(all.end(), more.begin(), more.end());
  allocations_left = left;
}

struct state {
  i64 blocks_in_use, bytes_in_use, requested, reserved, lost;
  std::size_t taken;  // blocks from the C library, less what threads keep
  long objects;
  bool operator==(const state&) const = default;
};
/// What is in use once the cache of the pool is empty.
state now() {
  fg::empty_cache<host>();
  const auto s = fg::memory_stats<host>();
  return {s.allocation.current,
          s.allocated_bytes.current,
          s.requested_bytes.current,
          s.reserved_bytes.current,
          s.lost_bytes,
          blocks().size(),
          live_objects};
}
std::string to_string(const state& s) {
  std::string all;
  for (const i64 n : {s.blocks_in_use, s.bytes_in_use, s.requested, s.reserved, s.lost,
                      static_cast<i64>(s.taken), static_cast<i64>(s.objects)})
    all += std::to_string(n) + ' ';
  return all;
}

/// Runs f with its first allocation failing, its second, and so on, until it needs no more.
void check(const char* what, const std::function<void(values&)>& f) {
  for (const int how : {0, 1, 2, 3}) {
    const int threads = 1 + how / 2;
    host::set_num_threads(threads);
    rest_fails = how % 2 == 1;
    values want, got;
    f(want);
    got.reserve(2 * want.size());
    sigset_t mask, later;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    int failures = 0;
    for (long n = 1;; ++n) {
      SCOPED_TRACE(std::string(what) + ", " + std::to_string(threads) + " threads, allocation " +
                   std::to_string(n) + (rest_fails ? " and all that follow" : ""));
      ASSERT_LT(n, 1000);
      const state before = now();
      got.clear();
      bool raised = false;
      allocations_left = n;
      try {
        f(got);
      } catch (const fg::error& e) {
        allocations_left = -1;
        raised = true;
        EXPECT_EQ(e.code(), fg::errc::out_of_memory) << e.what();
      } catch (const std::bad_alloc&) {
        allocations_left = -1;
        raised = true;
      }
      const bool has_failed = allocations_left == 0 || raised;
      allocations_left = -1;
      failures += has_failed ? 1 : 0;
      if (!raised) {
        EXPECT_EQ(got, want);
      }
      pthread_sigmask(SIG_SETMASK, nullptr, &later);
      for (int signal = 1; signal < SIGRTMAX; ++signal)
        EXPECT_EQ(sigismember(&mask, signal), sigismember(&later, signal)) << signal;
      got.clear();
      f(got);
      EXPECT_EQ(got, want);
      const state after = now();
      EXPECT_EQ(after, before) << to_string(after) << "after, before " << to_string(before);
      if (!has_failed) break;
    }
    EXPECT_GT(failures, 0) << what;
  }
}

TEST(allocation, whichever_fails_nothing_is_lost) {
  const fg::stream<host> s;
  const auto elements = fg::arange(s, 120 * 100.0F);
  const auto x = elements.view().reshape({120, 100});
  const auto w = fg::full<float>(s, {90, 100}, 0.5);
  const auto long_row = fg::arange(s, 70000.0F);
  const auto narrow = fg::full<bf16>(s, {70, 100}, 0.5);
  const auto indices = fg::full<i64>(s, {7}, 3);
  const auto q = fg::full<float>(s, {1, 4, 1, 64}, 0.25),
             kv = fg::full<float>(s, {1, 4, 600, 64}, 0.5);
  const auto many = fg::full<float>(s, {1, 4, 70, 64}, 0.25);

  check("sum", [&](values& v) {
    keep(v, fg::sum(s, x, {0}));
    keep(v, fg::sum(s, x, {1}));
    keep(v, fg::sum(s, long_row));
  });
  check("argmax", [&](values& v) {
    keep(v, fg::argmax(s, x, 0));
    keep(v, fg::argmax(s, x, 1));
  });
  check("topk", [&](values& v) {
    const auto out = fg::topk(s, x, 5);
    keep(v, out.values);
    keep(v, out.indices);
  });
  check("sort", [&](values& v) {
    const auto out = fg::sort(s, x);
    keep(v, out.values);
    keep(v, out.indices);
  });
  check("sort of long rows", [&](values& v) {
    const auto out = fg::sort(s, long_row, 0, true);
    keep(v, out.values);
    keep(v, out.indices);
  });
  check("softmax", [&](values& v) {
    keep(v, fg::softmax(s, x, 0));
    keep(v, fg::softmax(s, x, 1));
  });
  check("mm", [&](values& v) { keep(v, fg::mm(s, x, w.view().t())); });
  check("linear", [&](values& v) {
    keep(v, fg::linear(s, x, w));
    keep(v, fg::linear(s, narrow, narrow));
  });
  check("packed", [&](values& v) {
    const auto packed = fg::pack_matrix(s, w);
    keep(v, fg::linear(s, x, packed));
  });
  check("multinomial", [&](values& v) {
    fg::philox_generator generator(1);
    keep(v, fg::multinomial(s, x, 4, false, generator));
    keep(v, fg::multinomial(s, x, 4, true, generator));
  });
  check("embedding", [&](values& v) { keep(v, fg::embedding(s, w, indices)); });
  check("attention", [&](values& v) {
    keep(v, fg::scaled_dot_product_attention(s, q, kv, kv));
    keep(v, fg::scaled_dot_product_attention(s, many, kv, kv));
  });
}

}  // namespace
