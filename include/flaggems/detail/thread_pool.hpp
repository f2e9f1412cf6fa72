// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The threads of the host device: fork and join in about a microsecond while they spin, parked on a
// futex when nothing comes for some time.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/error.hpp>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <type_traits>

#if __has_include(<linux/futex.h>) && __has_include(<sys/syscall.h>)
#include <linux/futex.h>
#include <sys/syscall.h>
#define FLAGGEMS_HAS_FUTEX 1
#else
#define FLAGGEMS_HAS_FUTEX 0
#endif

namespace flaggems::detail {

// ---- waiting
inline void cpu_pause() noexcept {
#if FLAGGEMS_ARCH_X86
  __builtin_ia32_pause();
#elif FLAGGEMS_ARCH_ARM64
  __asm__ __volatile__("isb" ::: "memory");
#endif
}

/// Nanoseconds of a clock that never goes back.
[[nodiscard]] inline long long monotonic_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<long long>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

/// Sleeps while `word` is `value`, unless woken; may return early.
inline void futex_wait(atomic<unsigned>& word, unsigned value) noexcept {
#if FLAGGEMS_HAS_FUTEX
  static_assert(sizeof(word) == sizeof(unsigned));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
#else
  if (word.load() == value) sched_yield();
#endif
}
inline void futex_wake(atomic<unsigned>& word) noexcept {
#if FLAGGEMS_HAS_FUTEX
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
#else
  static_cast<void>(word);
#endif
}

/// Spins until `done()` or `ns` nanoseconds are over; whether it is done.
template <class Done>
bool spin_until(long long ns, const Done& done) noexcept {
  // The clock costs as much as several pauses, so it is read now and then only.
  long long end = 0;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      cpu_pause();
    }
    const long long now = monotonic_ns();
    if (end == 0)
      end = now + ns;
    else if (now >= end)
      return false;
  }
}

/// The same, but lets other threads have the processor.
template <class Done>
bool yield_until(long long ns, const Done& done) noexcept {
  const long long end = monotonic_ns() + ns;
  do {
    sched_yield();
    if (done()) return true;
  } while (monotonic_ns() < end);
  return false;
}

// ---- how many threads
/// The processors' worth of time that a container may use, rounded up; a large number without
/// limit. Threads beyond it would spin away what the others need.
[[nodiscard]] inline long container_processors() noexcept {
  long quota = 0, period = 0;
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    const bool limited = std::fscanf(file, "%ld %ld", &quota, &period) == 2;
    std::fclose(file);
    if (limited && quota > 0 && period > 0) return (quota + period - 1) / period;
  }
  return LONG_MAX;
}

/// Processors that this process may use, by affinity and by its container.
[[nodiscard]] inline int usable_processors() noexcept {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) n = CPU_COUNT(&set);
#endif
  const long limit = container_processors();
  if (limit < n) n = limit;
  return n > 0 ? static_cast<int>(n) : 1;
}

/// The most threads a pool may have.
inline constexpr int max_pool_threads = 1024;

/// FLAGGEMS_NUM_THREADS if set, else the usable processors. Raises invalid_argument if it is set to
/// something else than a number in [1, 1024].
[[nodiscard]] inline int default_num_threads() {
  if (const char* text = std::getenv("FLAGGEMS_NUM_THREADS"); text != nullptr && *text != '\0') {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    if (*end != '\0' || n < 1 || n > max_pool_threads)
      raise(errc::invalid_argument, "FLAGGEMS_NUM_THREADS", "a number of threads in [1, 1024]",
            text);
    return static_cast<int>(n);
  }
  const int n = usable_processors();
  return n < max_pool_threads ? n : max_pool_threads;
}

// ---- fork: the child has none of its parent's threads
inline atomic<unsigned>& fork_generation() noexcept {
  static atomic<unsigned> generation{1};
  return generation;
}
inline void count_forks() noexcept {
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { fork_generation().fetch_add(1, memory_order::relaxed); });
  static_cast<void>(registered);
}

/// Threads that run a function together with the thread that asks. One caller at a time has them;
/// another one meanwhile, or a nested call, runs alone.
class thread_pool {
 public:
  /// 0: `default_num_threads()`, asked when first needed.
  explicit thread_pool(int num_threads = 0) : num_threads_(num_threads) { count_forks(); }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool() { stop(); }

  /// Threads that `run` may use, the caller's among them.
  [[nodiscard]] int num_threads() {
    const int n = num_threads_.load(memory_order::relaxed);
    if (n > 0) [[likely]]
      return n;
    num_threads_.store(default_num_threads(), memory_order::relaxed);
    return num_threads_.load(memory_order::relaxed);
  }
  /// Raises invalid_argument unless n is in [1, 1024]. Takes effect with the next `run`; threads
  /// that are too many then stay parked.
  void set_num_threads(int n) {
    if (n < 1 || n > max_pool_threads)
      raise(errc::invalid_argument, "set_num_threads", "a number of threads in [1, 1024]", text(n));
    num_threads_.store(n, memory_order::relaxed);
  }

  /// Calls f(worker, count) for worker = 0 .. count - 1, each once, 0 on the calling thread, and
  /// returns when all are done. count is `workers`, or less: num_threads() at most, and 1 inside of
  /// another `run` or while another thread has the pool. The first exception of any worker is
  /// thrown here once all have ended. After fork() the child's pool starts threads of its own; f
  /// itself must not fork, except to exec.
  template <class F>
  void run(int workers, F&& f) {
    using function = std::remove_reference_t<F>;
    int count = workers < num_threads() ? workers : num_threads();
    if (count <= 1 || inside() || !acquire()) {
      f(0, 1);
      return;
    }
    fork_join(
        count,
        [](const void* context, int worker, int n) {
          (*static_cast<function*>(const_cast<void*>(context)))(worker, n);
        },
        static_cast<const void*>(&f));
  }

 private:
  using work_function = void (*)(const void* context, int worker, int count);

  // A run's number and, in its lower bits, how many workers take part; 0 of them: threads end. Wide
  // enough that no thread, however long it sleeps, takes a new ticket for the one it had.
  using ticket_type = unsigned long long;
  static constexpr int bits_of_count = 11;
  static constexpr ticket_type count_mask = (ticket_type{1} << bits_of_count) - 1;
  static_assert(max_pool_threads <= static_cast<int>(count_mask));
  static constexpr int quit = 0;
  // How long a worker spins for the next run, and a caller for the last worker.
  static constexpr long long spin_ns = 20000;
  // A worker that is late may be waiting for the processor that its caller spins on; waking the
  // caller costs more than this is long.
  static constexpr long long yield_ns = 200000;

  // 128: neighbouring cache lines are fetched in pairs.
  struct alignas(128) worker_slot {
    atomic<ticket_type> done{0};  // the last ticket this worker has finished
    atomic<unsigned> parked{0};   // 1: asleep, or about to be
    thread_pool* pool = nullptr;
    int index = 0;
    ticket_type ticket = 0;  // the last one when the thread was made
    pthread_t thread{};
  };

  static bool& inside() noexcept {
    static thread_local bool value = false;
    return value;
  }

  bool acquire() noexcept {
    const unsigned mine = fork_generation().load(memory_order::relaxed);
    unsigned expected = 0;
    if (owner_.compare_exchange_strong(expected, mine, memory_order::acquire)) return true;
    // A parent's run that was under way at the fork: its threads are not here.
    return expected != mine &&
           owner_.compare_exchange_strong(expected, mine, memory_order::acquire);
  }
  void release() noexcept { owner_.store(0, memory_order::release); }

  void fork_join(int count, work_function function, const void* context) {
    struct session {
      thread_pool& pool;
      ~session() {
        inside() = false;
        pool.release();
      }
    };
    session mine{*this};
    start(count - 1);
    inside() = true;

    function_ = function;
    context_ = context;
    const ticket_type ticket = next_ticket(count);
    // Sequentially consistent with `parked`: either the worker sees the ticket or we see it parked.
    ticket_.store(ticket, memory_order::seq_cst);
    if (parked_count_.load(memory_order::seq_cst) != 0)
      for (int i = 0; i < count - 1; ++i) wake(*slots_[i]);

#if FLAGGEMS_EXCEPTIONS
    try {  // the others use the context until they are done
      function(context, 0, count);
    } catch (...) {
      keep_exception();
    }
#else
    function(context, 0, count);
#endif
    for (int i = 0; i < count - 1; ++i) join(*slots_[i], ticket);
#if FLAGGEMS_EXCEPTIONS
    if (has_exception_.load(memory_order::relaxed)) [[unlikely]] {
      has_exception_.store(false, memory_order::relaxed);
      std::exception_ptr first = exception_;
      exception_ = nullptr;
      std::rethrow_exception(first);
    }
#endif
  }

  ticket_type next_ticket(int count) noexcept {
    number_ += 1;
    return (number_ << bits_of_count) | static_cast<ticket_type>(count);
  }

  void wake(worker_slot& slot) noexcept {
    if (slot.parked.load(memory_order::seq_cst) != 0 &&
        slot.parked.exchange(0, memory_order::seq_cst) != 0) {
      parked_count_.fetch_sub(1, memory_order::relaxed);
      futex_wake(slot.parked);
    }
  }

  void join(worker_slot& slot, ticket_type ticket) noexcept {
    const auto is_done = [&] { return slot.done.load(memory_order::acquire) == ticket; };
    if (is_done() || spin_until(spin_ns, is_done) || yield_until(yield_ns, is_done)) return;
    for (;;) {
      caller_waits_.store(1, memory_order::seq_cst);
      if (slot.done.load(memory_order::seq_cst) == ticket) break;
      futex_wait(caller_waits_, 1);
    }
    caller_waits_.store(0, memory_order::relaxed);
  }

  // ---- the workers
  void work(worker_slot& slot) noexcept {
    inside() = true;
    ticket_type last = slot.ticket;
    for (;;) {
      const ticket_type ticket = await(slot, last);
      const int count = static_cast<int>(ticket & count_mask);
      if (count == quit) return;
      last = ticket;
      if (slot.index >= count) continue;  // not of this run: nothing of it may be touched
#if FLAGGEMS_EXCEPTIONS
      try {
        function_(context_, slot.index, count);
      } catch (...) {
        keep_exception();
      }
#else
      function_(context_, slot.index, count);
#endif
      slot.done.store(ticket, memory_order::seq_cst);
      if (caller_waits_.load(memory_order::seq_cst) != 0) {
        caller_waits_.store(0, memory_order::seq_cst);
        futex_wake(caller_waits_);
      }
    }
  }

  // The next ticket after `last`.
  ticket_type await(worker_slot& slot, ticket_type last) noexcept {
    ticket_type ticket = last;
    const auto is_new = [&] {
      ticket = ticket_.load(memory_order::acquire);
      return ticket != last;
    };
    if (spin_until(spin_ns, is_new)) return ticket;
    for (;;) {
      slot.parked.store(1, memory_order::seq_cst);
      parked_count_.fetch_add(1, memory_order::seq_cst);
      ticket = ticket_.load(memory_order::seq_cst);
      if (ticket == last)
        while (slot.parked.load(memory_order::acquire) != 0) futex_wait(slot.parked, 1);
      else if (slot.parked.exchange(0, memory_order::seq_cst) != 0)
        parked_count_.fetch_sub(1, memory_order::relaxed);
      if (is_new()) return ticket;
    }
  }

#if FLAGGEMS_EXCEPTIONS
  void keep_exception() noexcept {
    if (!has_exception_.exchange(true, memory_order::relaxed))
      exception_ = std::current_exception();
  }
#endif

  // ---- start and stop; only by the thread that has acquired the pool
  void start(int wanted) {
    const unsigned generation = fork_generation().load(memory_order::relaxed);
    if (generation != generation_) [[unlikely]] {
      // In a child: what the parent's threads used stays as it was and is left alone.
      slots_ = nullptr;
      started_ = capacity_ = 0;
      parked_count_.store(0, memory_order::relaxed);
#if FLAGGEMS_EXCEPTIONS
      has_exception_.store(false, memory_order::relaxed);
#endif
      caller_waits_.store(0, memory_order::relaxed);
      generation_ = generation;
    }
    if (wanted > started_) [[unlikely]]
      start_more(wanted);
  }

  FLAGGEMS_COLD void start_more(int wanted) {
    if (wanted > capacity_) {
      worker_slot** grown = new worker_slot*[static_cast<unsigned>(wanted)];
      for (int i = 0; i < started_; ++i) grown[i] = slots_[i];
      delete[] slots_;
      slots_ = grown;
      capacity_ = wanted;
    }
    // Signals are for the threads of the program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = 0;
    while (started_ < wanted && failure == 0) {
      worker_slot* slot = new worker_slot;
      slot->pool = this;
      slot->index = started_ + 1;
      slot->ticket = ticket_.load(memory_order::relaxed);
      failure = pthread_create(&slot->thread, nullptr, &entry, slot);
      if (failure == 0)
        slots_[started_++] = slot;
      else
        delete slot;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure != 0)
      raise(errc::driver_error, "thread_pool", text(wanted + 1) + " threads",
            text(started_ + 1) + " (pthread_create: error " + text(failure) + ")");
  }
  static void* entry(void* argument) {
    worker_slot* slot = static_cast<worker_slot*>(argument);
    slot->pool->work(*slot);
    return nullptr;
  }

  void stop() noexcept {
    if (generation_ == fork_generation().load(memory_order::relaxed)) {
      ticket_.store(next_ticket(quit), memory_order::seq_cst);
      for (int i = 0; i < started_; ++i) {
        wake(*slots_[i]);
        pthread_join(slots_[i]->thread, nullptr);
        delete slots_[i];
      }
    }
    delete[] slots_;
    slots_ = nullptr;
    started_ = capacity_ = 0;
  }

  // Read by spinning workers, written once a run.
  alignas(128) atomic<ticket_type> ticket_{0};
  atomic<int> parked_count_{0};
  atomic<unsigned> caller_waits_{0};  // 1: the caller sleeps, or is about to
  work_function function_ = nullptr;
  const void* context_ = nullptr;
  // Of the thread that has the pool.
  alignas(128) atomic<unsigned> owner_{0};  // 0: free; else the fork generation of the owner
  atomic<int> num_threads_;
  ticket_type number_ = 0;
  unsigned generation_ = 1;
  worker_slot** slots_ = nullptr;
  int started_ = 0, capacity_ = 0;
#if FLAGGEMS_EXCEPTIONS
  atomic<bool> has_exception_{false};
  std::exception_ptr exception_;
#endif
};

/// The pool of the host device. Never destroyed: at exit its threads sleep or spin on memory that
/// stays.
inline thread_pool& host_thread_pool() {
  static thread_pool& pool = *new thread_pool;
  return pool;
}

}  // namespace flaggems::detail
