// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's thread pool: fork and join in about a microsecond while threads spin; idle threads
// park on a futex.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/detail/processors.hpp>
#include <flaggems/detail/stay_loaded.hpp>
#include <flaggems/detail/waiting.hpp>
#include <flaggems/error.hpp>

#include <pthread.h>
#include <signal.h>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <type_traits>

namespace flaggems::detail {

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

/// Threads that run a function together with the caller. Concurrent callers share them: each active
/// caller has a worker group, an equal part of the threads; a single caller has all.
class thread_pool {
 public:
  /// 0: `default_num_threads()`, at first use.
  explicit thread_pool(int num_threads = 0) : num_threads_(num_threads) { count_forks(); }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool() { stop(); }

  /// The threads of a `run`, including the caller.
  [[nodiscard]] int num_threads() {
    const int n = num_threads_.load(memory_order::relaxed);
    if (n > 0) [[likely]]
      return n;
    num_threads_.store(default_num_threads(), memory_order::relaxed);
    return num_threads_.load(memory_order::relaxed);
  }
  /// Raises invalid_argument unless n is in [1, 1024]. Takes effect with the next `run`; surplus
  /// threads stay parked.
  void set_num_threads(int n) {
    if (n < 1 || n > max_pool_threads)
      raise(errc::invalid_argument, "set_num_threads", "a number of threads in [1, 1024]", text(n));
    num_threads_.store(n, memory_order::relaxed);
  }

  /// Nanoseconds to spin before yielding the processor.
  [[nodiscard]] long long patience() const noexcept {
    return patience_.load(memory_order::relaxed);
  }

  /// Calls f(worker, count) once for each worker = 0 .. count - 1, 0 on the calling thread; returns
  /// when all are done. count is `workers` or less: at most num_threads(), fewer if other callers
  /// use the pool or the system refuses threads (reported once on stderr), 1 in a nested `run`. If
  /// `concurrent`, workers may wait for each other, as each has a thread; else no more threads than
  /// processors are used. Rethrows the first exception of a worker once all have ended. After
  /// fork() the child's pool starts its own threads; f must not fork, except to exec.
  template <class F>
  void run(int workers, F&& f, bool concurrent = true) {
    using function = std::remove_reference_t<F>;
    const int wanted = workers < num_threads() ? workers : num_threads();
    if (wanted <= 1 || inside()) {
      f(0, 1);
      return;
    }
    fork_join(
        wanted,
        [](const void* context, int worker, int n) {
          (*static_cast<function*>(const_cast<void*>(context)))(worker, n);
        },
        static_cast<const void*>(&f), concurrent);
  }

 private:
  using work_function = void (*)(const void* context, int worker, int count);

  // A run: its number, its first worker and its number of participants, including the caller.
  // Numbers are wide enough that a ticket never repeats while a thread sleeps.
  using ticket_type = unsigned long long;
  static constexpr int bits_of_count = 11, bits_of_first = 10;
  static constexpr int bits_of_range = bits_of_count + bits_of_first;
  static_assert(max_pool_threads < 1 << bits_of_count && max_pool_threads <= 1 << bits_of_first);
  // Further callers run alone.
  static constexpr int max_groups = 32;
  static constexpr int no_group = -1, quit = -2;
  // How long a worker spins for the next run, and a caller for the last worker; shorter with more
  // threads than processors.
  static constexpr long long spin_ns = 20000, crowded_spin_ns = 1000;
  // A late worker may need the processor its caller spins on; waking the caller costs more than
  // yielding this long.
  static constexpr long long yield_ns = 200000;
  // How long after the system refused a thread to retry.
  static constexpr long long refused_ns = 1000000000;
  // After what idle time a caller has left, and how often others check.
  static constexpr long long gone_ns = 500000, look_ns = 100000;

  // 128: adjacent cache lines are prefetched in pairs.
  struct alignas(128) worker_slot {
    atomic<ticket_type> begun{0};  // the last run in which this worker's part was begun, and
    atomic<ticket_type> done{0};   // the last that its thread has finished
    // Read by spinning threads, rarely written.
    alignas(128) atomic<int> group{no_group};
    atomic<unsigned> parked{0};  // 1: asleep, or about to sleep
    thread_pool* pool = nullptr;
    int index = 0;
    pthread_t thread{};
  };

  // A caller's workers: [first, last) are its own; it may take free ones of [begin, end). Members
  // that are not atomic belong to the thread that has `owner`.
  struct group {
    // Read by spinning workers, written once per run.
    alignas(128) atomic<ticket_type> ticket{0};
    atomic<unsigned> caller_waits{0};  // 1: the caller sleeps, or is about to
    work_function function = nullptr;
    const void* context = nullptr;
    atomic<int> sent_for{0};  // the workers that the run needs

    alignas(128) atomic<unsigned> owner{0};  // 0: free; else the owner's fork generation
    int first = 0, last = 0, begin = 0, end = 0;
    int groups = 0, threads = 0;  // for which begin and end were computed
    ticket_type number = 0;
    atomic<long long> used{0};  // last use, while there are several groups
#if FLAGGEMS_EXCEPTIONS
    atomic<bool> has_exception{false};
    std::exception_ptr exception;
#endif
  };

  static bool& inside() noexcept {
    static thread_local bool value = false;
    return value;
  }
  // The group that this thread used last.
  static int& place() noexcept {
    static thread_local int value = 0;
    return value;
  }

  // ---- exclusive ownership
  static bool acquire(atomic<unsigned>& owner) noexcept {
    const unsigned mine = fork_generation().load(memory_order::relaxed);
    unsigned expected = 0;
    if (owner.compare_exchange_strong(expected, mine, memory_order::acquire)) return true;
    // Owned by the parent at the fork: its threads do not exist here.
    return expected != mine && owner.compare_exchange_strong(expected, mine, memory_order::acquire);
  }
  struct ownership {
    atomic<unsigned>& owner;
    ~ownership() { owner.store(0, memory_order::release); }
  };

  // A free group, or null. A caller returns to its own.
  group* find_group() noexcept {
    const int groups = groups_in_use_.load(memory_order::relaxed);
    int& mine = place();
    if (mine >= groups) mine = 0;
    if (acquire(groups_[mine].owner)) [[likely]]
      return &groups_[mine];
    // A new one, rather than that of a caller that may return.
    for (int i = 0; i < max_groups; ++i) {
      const int t = (groups + i) % max_groups;
      if (!acquire(groups_[t].owner)) continue;
      mine = t;
      return &groups_[t];
    }
    return nullptr;
  }

  FLAGGEMS_ONCE void fork_join(int wanted, work_function function, const void* context,
                               bool concurrent) {
    group* const found = find_group();
    if (found == nullptr) {
      function(context, 0, 1);
      return;
    }
    struct session {
      ownership own;
      group& mine;
      bool shared = false;
      ~session() {
        if (shared) mine.used.store(monotonic_ns(), memory_order::relaxed);
        inside() = false;
      }
    };
    session now{{found->owner}, *found};
    group& mine = *found;
    const int count = gather(mine, wanted, now.shared);
    inside() = true;
    if (count <= 1) {
      function(context, 0, 1);
      return;
    }

    mine.function = function;
    mine.context = context;
    int sent_for = count - 1;
    if (!concurrent && is_crowded()) {
      const int most = processors_.load(memory_order::relaxed) / mine.groups;
      sent_for = most < 2 ? 1 : most < count ? most - 1 : count - 1;
    }
    mine.sent_for.store(sent_for, memory_order::relaxed);
    const ticket_type ticket = next_ticket(mine, count);
    // Sequentially consistent with `parked`: either the worker sees the ticket, or this thread sees
    // it parked.
    mine.ticket.store(ticket, memory_order::seq_cst);
    worker_slot* const* const slots = slots_ + mine.first;
    for (int i = 0; i < sent_for; ++i) wake(*slots[i]);

    call(mine, 0, count);
    // Missing workers may be asleep or without a processor.
    for (int i = 0; i < count - 1; ++i)
      if (begin_part(*slots[i], ticket)) {
        call(mine, i + 1, count);
        slots[i]->done.store(ticket, memory_order::relaxed);
      }
    for (int i = 0; i < count - 1; ++i) join(mine, *slots[i], ticket);
#if FLAGGEMS_EXCEPTIONS
    if (mine.has_exception.load(memory_order::relaxed)) [[unlikely]] {
      mine.has_exception.store(false, memory_order::relaxed);
      std::exception_ptr first = mine.exception;
      mine.exception = nullptr;
      std::rethrow_exception(first);
    }
#endif
  }

  [[nodiscard]] bool is_crowded() const noexcept {
    return num_threads_.load(memory_order::relaxed) > processors_.load(memory_order::relaxed);
  }

  // ---- a run
  static ticket_type next_ticket(group& mine, int count) noexcept {
    mine.number += 1;
    return (mine.number << bits_of_range) |
           (static_cast<ticket_type>(mine.first) << bits_of_count) |
           static_cast<ticket_type>(count);
  }
  static bool is_later(ticket_type a, ticket_type b) noexcept {
    return static_cast<long long>(a - b) > 0;
  }

  // Whether the calling thread gets to run a worker's part: the worker or the run's caller,
  // whichever is first. Stale tickets get none.
  static bool begin_part(worker_slot& slot, ticket_type ticket) noexcept {
    ticket_type last = slot.begun.load(memory_order::relaxed);
    return is_later(ticket, last) &&
           slot.begun.compare_exchange_strong(last, ticket, memory_order::relaxed);
  }

  FLAGGEMS_NOINLINE_ONCE static void call(group& mine, int worker,
                                          int count) noexcept(!FLAGGEMS_EXCEPTIONS) {
#if FLAGGEMS_EXCEPTIONS
    try {  // the others use the context until they are done
      mine.function(mine.context, worker, count);
    } catch (...) {
      if (!mine.has_exception.exchange(true, memory_order::relaxed))
        mine.exception = std::current_exception();
    }
#else
    mine.function(mine.context, worker, count);
#endif
  }

  static void wake(worker_slot& slot) noexcept {
    if (slot.parked.load(memory_order::seq_cst) != 0 &&
        slot.parked.exchange(0, memory_order::seq_cst) != 0)
      futex_wake(slot.parked);
  }

  FLAGGEMS_ONCE void join(group& mine, worker_slot& slot, ticket_type ticket) noexcept {
    const auto is_done = [&] { return slot.done.load(memory_order::acquire) == ticket; };
    if (is_done() || spin_until(patience(), is_done) || yield_until(yield_ns, is_done)) return;
    for (;;) {
      mine.caller_waits.store(1, memory_order::seq_cst);
      if (slot.done.load(memory_order::seq_cst) == ticket) break;
      futex_wait(mine.caller_waits, 1);
    }
    mine.caller_waits.store(0, memory_order::relaxed);
  }

  // ---- the workers
  FLAGGEMS_ONCE void work(worker_slot& slot) noexcept {
    inside() = true;
    ticket_type last = 0;
    int last_group = no_group;
    long long patience = spin_ns;
    for (;;) {
      const int number = await(slot, patience, last_group, last);
      if (number == quit) return;
      patience = this->patience();
      group& mine = groups_[number];
      const int first = static_cast<int>(last >> bits_of_count) & (max_pool_threads - 1);
      const int count = static_cast<int>(last) & ((1 << bits_of_count) - 1);
      const int worker = slot.index - first + 1;
      // Of that run or a later one, in which case all parts of the former have begun.
      const int sent_for = mine.sent_for.load(memory_order::relaxed);
      // Not needed by this run: nothing of it may be accessed.
      if (worker < 1 || worker >= count || worker > sent_for) continue;
      if (begin_part(slot, last)) do_part(mine, slot, last, worker, count);
      if (sent_for >= count - 1) continue;
      for (int i = 0; i < count - 1; ++i) {
        const int other = (worker + sent_for - 1 + i) % (count - 1);
        worker_slot& its = *slots_[first + other];
        if (begin_part(its, last)) do_part(mine, its, last, other + 1, count);
      }
      patience = spin_ns;  // no more than processors
    }
  }

  FLAGGEMS_NOINLINE_ONCE void do_part(group& mine, worker_slot& slot, ticket_type ticket,
                                      int worker, int count) noexcept {
    call(mine, worker, count);
    slot.done.store(ticket, memory_order::seq_cst);
    if (mine.caller_waits.load(memory_order::seq_cst) != 0) {
      mine.caller_waits.store(0, memory_order::seq_cst);
      futex_wake(mine.caller_waits);
    }
  }

  // Waits until the worker's group has another ticket, or the worker another group, and returns the
  // group. A group that releases workers first issues a ticket without them (`keep`), so a ticket
  // found in a new group either excludes this worker or is new.
  FLAGGEMS_ONCE int await(worker_slot& slot, long long patience, int& last_group,
                          ticket_type& last) const noexcept {
    int number = no_group;
    ticket_type ticket = 0;
    const auto is_new = [&] {
      number = slot.group.load(memory_order::seq_cst);
      if (number < 0) return number == quit;
      ticket = groups_[number].ticket.load(memory_order::seq_cst);
      return ticket != last || number != last_group;
    };
    if (!spin_until(patience, is_new))
      for (;;) {
        slot.parked.store(1, memory_order::seq_cst);
        if (is_new()) {
          slot.parked.store(0, memory_order::relaxed);
          break;
        }
        while (slot.parked.load(memory_order::acquire) != 0) futex_wait(slot.parked, 1);
        if (is_new()) break;
      }
    last_group = number;
    last = ticket;
    return number;
  }

  // ---- groups; `mine` is acquired
  // The number of threads of a run of the group, at most `wanted`.
  FLAGGEMS_ONCE int gather(group& mine, int wanted, bool& shared) {
    const unsigned generation = fork_generation().load(memory_order::relaxed);
    if (generation_.load(memory_order::acquire) != generation) [[unlikely]]
      if (!renew(generation)) return 1;
    const int index = static_cast<int>(&mine - groups_), threads = num_threads();
    int groups = groups_in_use_.load(memory_order::relaxed);
    shared = groups > 1 || index > 0;
    if (shared) [[unlikely]] {
      groups = look_around(mine, index);
      if (index >= groups) return 1;
    }
    if (mine.groups != groups || mine.threads != threads) [[unlikely]] {
      mine.groups = groups;
      mine.threads = threads;
      // The caller is the first thread of its group's part.
      mine.begin = threads * index / groups - index;
      mine.end = threads * (index + 1) / groups - index - 1;
      if (mine.end < mine.begin || mine.begin < 0) mine.begin = mine.end = 0;
      keep(mine, mine.begin, mine.end);
      if (processors_.load(memory_order::relaxed) == 0)
        processors_.store(usable_processors(), memory_order::relaxed);
      patience_.store(is_crowded() ? crowded_spin_ns : spin_ns, memory_order::relaxed);
    }
    if (mine.last - mine.first < wanted - 1) {
      while (mine.last - mine.first < wanted - 1 && mine.last < mine.end && take(mine, mine.last))
        ++mine.last;
      while (mine.last - mine.first < wanted - 1 && mine.first > mine.begin &&
             take(mine, mine.first - 1))
        --mine.first;
    }
    const int have = mine.last - mine.first + 1;
    return have < wanted ? have : wanted;
  }

  // The group keeps its workers in [begin, end) and frees the others.
  FLAGGEMS_NOINLINE_ONCE void keep(group& mine, int begin, int end) noexcept {
    const int first = mine.first, last = mine.last;
    mine.first = first > begin ? first : begin;
    mine.last = last < end ? last : end;
    if (mine.first >= mine.last) mine.first = mine.last = begin;
    if (mine.first <= first && last <= mine.last) return;
    mine.ticket.store(next_ticket(mine, 0), memory_order::seq_cst);
    for (int i = first; i < last; ++i)
      if (i < mine.first || i >= mine.last) slots_[i]->group.store(no_group, memory_order::release);
  }

  // Adds a worker to the group if it is free.
  FLAGGEMS_NOINLINE_ONCE bool take(group& mine, int i) {
    if (i >= started_.load(memory_order::acquire) && !start(i + 1)) return false;
    worker_slot& slot = *slots_[i];
    int nobody = no_group;
    if (slot.group.load(memory_order::relaxed) != no_group ||
        !slot.group.compare_exchange_strong(nobody, static_cast<int>(&mine - groups_)))
      return false;
    // Tickets that a worker sees increase, whatever their group.
    const ticket_type begun = slot.begun.load(memory_order::relaxed);
    if (is_later(begun, mine.number << bits_of_range)) mine.number = begun >> bits_of_range;
    return true;
  }

  // Counts the active callers, periodically; returns the number of groups. A new concurrent caller
  // gets no group at once: an occasional one would hold threads that it does not use.
  FLAGGEMS_COLD_ONCE int look_around(group& mine, int index) noexcept {
    const long long now = monotonic_ns(), before = mine.used.load(memory_order::relaxed);
    mine.used.store(now, memory_order::relaxed);
    int groups = groups_in_use_.load();
    if (index >= groups && now - before > gone_ns) return groups;
    while (index >= groups)
      if (groups_in_use_.compare_exchange_strong(groups, index + 1)) {
        looked_.store(now, memory_order::relaxed);
        return index + 1;
      }
    if (now - looked_.load(memory_order::relaxed) < look_ns) return groups;
    looked_.store(now, memory_order::relaxed);
    int needed = index + 1;
    for (int t = groups - 1; t >= 0; --t) {
      if (t == index) continue;
      const bool gone = groups_[t].owner.load(memory_order::relaxed) == 0 &&
                        now - groups_[t].used.load(memory_order::relaxed) > gone_ns;
      if (!gone)
        needed = needed > t ? needed : t + 1;
      else if (t < index)
        place() = t;  // from the next time on, so that the last group is released
    }
    if (needed >= groups || !groups_in_use_.compare_exchange_strong(groups, needed)) return groups;
    for (int t = needed; t < groups; ++t)
      if (acquire(groups_[t].owner)) {  // else its caller is back and counts itself again
        const ownership own{groups_[t].owner};
        groups_[t].groups = 0;
        keep(groups_[t], 0, 0);
      }
    return needed;
  }

  // ---- start and stop
  // In a child process: state of the parent's threads is abandoned as it is.
  FLAGGEMS_COLD_ONCE bool renew(unsigned generation) noexcept {
    if (!acquire(starter_)) return false;
    const ownership own{starter_};
    if (generation_.load(memory_order::relaxed) == generation) return true;
    for (group& t : groups_) {
      t.first = t.last = t.groups = 0;
      t.ticket.store(0, memory_order::relaxed);
      t.caller_waits.store(0, memory_order::relaxed);
#if FLAGGEMS_EXCEPTIONS
      t.has_exception.store(false, memory_order::relaxed);
#endif
    }
    started_.store(0, memory_order::relaxed);
    groups_in_use_.store(1, memory_order::relaxed);
    generation_.store(generation, memory_order::release);
    return true;
  }

  // Starts so many threads; false while another caller is starting some, or if there are fewer.
  FLAGGEMS_COLD_ONCE bool start(int wanted) noexcept {
    const long long refused = refused_.load(memory_order::relaxed);
    if (refused != 0 && monotonic_ns() - refused < refused_ns) return false;
    if (!acquire(starter_)) return false;
    const ownership own{starter_};
    stay_loaded();
    // Signals are handled by the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = 0, started = started_.load(memory_order::relaxed);
    while (started < wanted && failure == 0) {
      worker_slot* const slot = new (std::nothrow) worker_slot;
      if (slot != nullptr) {
        slot->pool = this;
        slot->index = started;
      }
      failure = slot == nullptr ? ENOMEM : pthread_create(&slot->thread, nullptr, &entry, slot);
      if (failure == 0)
        slots_[started++] = slot;
      else
        delete slot;
    }
    started_.store(started, memory_order::release);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure != 0 && refused_.exchange(monotonic_ns(), memory_order::relaxed) == 0)
      std::fprintf(stderr,
                   "flaggems: goes on with %d of %d threads: the system refuses more "
                   "(pthread_create: error %d)\n",
                   started + 1, num_threads_.load(memory_order::relaxed), failure);
    return failure == 0;
  }
  FLAGGEMS_ONCE static void* entry(void* argument) {
    worker_slot* slot = static_cast<worker_slot*>(argument);
    slot->pool->work(*slot);
    return nullptr;
  }

  FLAGGEMS_ONCE void stop() noexcept {
    if (generation_.load() != fork_generation().load()) return;
    const int started = started_.load();
    for (int i = 0; i < started; ++i) {
      slots_[i]->group.store(quit, memory_order::seq_cst);
      wake(*slots_[i]);
    }
    for (int i = 0; i < started; ++i) {
      pthread_join(slots_[i]->thread, nullptr);
      delete slots_[i];
    }
  }

  group groups_[max_groups];
  // Rarely written.
  alignas(128) atomic<int> groups_in_use_{1};
  atomic<int> num_threads_;
  atomic<int> started_{0};
  atomic<int> processors_{0};  // 0: not queried yet
  atomic<unsigned> generation_{1};
  atomic<long long> patience_{spin_ns};
  atomic<long long> refused_{0};  // when the system last refused a thread; 0: never
  atomic<unsigned> starter_{0};   // the thread that starts others
  worker_slot* slots_[max_pool_threads];
  alignas(128) atomic<long long> looked_{0};
};

/// The host's pool. Never destroyed: at exit its threads still use its memory.
inline thread_pool& host_thread_pool() {
  static thread_pool& pool = *new thread_pool;
  return pool;
}

}  // namespace flaggems::detail
