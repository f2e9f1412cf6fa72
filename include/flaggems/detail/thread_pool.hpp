// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The threads of the host device: fork and join in about a microsecond while they spin, parked on a
// futex when nothing comes for some time.
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

/// Threads that run a function together with the thread that asks. Threads that ask at the same
/// time share them: each of these callers has a team, an equal part of the threads, for as long as
/// it keeps coming, and a caller that is alone has all of them.
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

  /// Nanoseconds that a thread had better spin before it lets others have the processor.
  [[nodiscard]] long long patience() const noexcept {
    return patience_.load(memory_order::relaxed);
  }

  /// Calls f(worker, count) for worker = 0 .. count - 1, each once, 0 on the calling thread, and
  /// returns when all are done. count is `workers`, or less: num_threads() at most, fewer while
  /// other threads use the pool or the system refuses threads, which is said once on stderr, and 1
  /// inside of another `run`. If they are `concurrent`, workers may
  /// wait for each other: a thread runs a second one only after it has ended the first, and each
  /// has a thread that will come. If not, no more threads than processors are sent for. The first
  /// exception of any worker is thrown here once all have ended. After fork() the child's pool
  /// starts threads of its own; f itself must not fork, except to exec.
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

  // A run: its number, the first of its workers, and how many take part, the caller among them.
  // Numbers are so wide that no thread, however long it sleeps, takes a new ticket for an old one.
  using ticket_type = unsigned long long;
  static constexpr int bits_of_count = 11, bits_of_first = 10;
  static constexpr int bits_of_range = bits_of_count + bits_of_first;
  static_assert(max_pool_threads < 1 << bits_of_count && max_pool_threads <= 1 << bits_of_first);
  // Callers beyond so many run alone.
  static constexpr int max_groups = 32;
  static constexpr int no_group = -1, quit = -2;
  // How long a worker spins for the next run, and a caller for the last worker; with more threads
  // than processors, when somebody else could have that one.
  static constexpr long long spin_ns = 20000, crowded_spin_ns = 1000;
  // A worker that is late may be waiting for the processor that its caller spins on; waking the
  // caller costs more than this is long.
  static constexpr long long yield_ns = 200000;
  // How long after the system has refused a thread it is asked again.
  static constexpr long long refused_ns = 1000000000;
  // A caller that has not come for so long has left; how often the others look.
  static constexpr long long gone_ns = 500000, look_ns = 100000;

  // 128: neighbouring cache lines are fetched in pairs.
  struct alignas(128) worker_slot {
    atomic<ticket_type> begun{0};  // the last run in which this worker's part was begun, and
    atomic<ticket_type> done{0};   // the last that its thread has finished
    // Read by spinning threads, seldom written.
    alignas(128) atomic<int> group{no_group};
    atomic<unsigned> parked{0};  // 1: asleep, or about to be
    thread_pool* pool = nullptr;
    int index = 0;
    pthread_t thread{};
  };

  // A caller's workers: [first, last) are its own, and of [begin, end) it may take what is free.
  // What is not atomic belongs to the thread that has `owner`.
  struct group {
    // Read by spinning workers, written once a run.
    alignas(128) atomic<ticket_type> ticket{0};
    atomic<unsigned> caller_waits{0};  // 1: the caller sleeps, or is about to
    work_function function = nullptr;
    const void* context = nullptr;
    atomic<int> sent_for{0};  // the workers of the run that need to come

    alignas(128) atomic<unsigned> owner{0};  // 0: free; else the fork generation of the owner
    int first = 0, last = 0, begin = 0, end = 0;
    int groups = 0, threads = 0;  // for which begin and end were made
    ticket_type number = 0;
    atomic<long long> used{0};  // when, while there are several teams
#if FLAGGEMS_EXCEPTIONS
    atomic<bool> has_exception{false};
    std::exception_ptr exception;
#endif
  };

  static bool& inside() noexcept {
    static thread_local bool value = false;
    return value;
  }
  // The team that this thread had last.
  static int& place() noexcept {
    static thread_local int value = 0;
    return value;
  }

  // ---- what one thread at a time may have
  static bool acquire(atomic<unsigned>& owner) noexcept {
    const unsigned mine = fork_generation().load(memory_order::relaxed);
    unsigned expected = 0;
    if (owner.compare_exchange_strong(expected, mine, memory_order::acquire)) return true;
    // A parent's, under way at the fork: its threads are not here.
    return expected != mine && owner.compare_exchange_strong(expected, mine, memory_order::acquire);
  }
  struct ownership {
    atomic<unsigned>& owner;
    ~ownership() { owner.store(0, memory_order::release); }
  };

  // A team that nobody has, or null. Each caller comes back to its own.
  group* find_group() noexcept {
    const int groups = groups_in_use_.load(memory_order::relaxed);
    int& mine = place();
    if (mine >= groups) mine = 0;
    if (acquire(groups_[mine].owner)) [[likely]]
      return &groups_[mine];
    // A new one rather than that of a caller which will come back.
    for (int i = 0; i < max_groups; ++i) {
      const int t = (groups + i) % max_groups;
      if (!acquire(groups_[t].owner)) continue;
      mine = t;
      return &groups_[t];
    }
    return nullptr;
  }

  void fork_join(int wanted, work_function function, const void* context, bool concurrent) {
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
    // Sequentially consistent with `parked`: either the worker sees the ticket or we see it parked.
    mine.ticket.store(ticket, memory_order::seq_cst);
    worker_slot* const* const slots = slots_ + mine.first;
    for (int i = 0; i < sent_for; ++i) wake(*slots[i]);

    call(mine, 0, count);
    // Who has not come yet may come late: asleep, or without a processor.
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

  // Whether the part of a worker falls to the thread that asks: its own or the caller's, whichever
  // is first. A thread that held on to the ticket of a run long over gets none.
  static bool begin_part(worker_slot& slot, ticket_type ticket) noexcept {
    ticket_type last = slot.begun.load(memory_order::relaxed);
    return is_later(ticket, last) &&
           slot.begun.compare_exchange_strong(last, ticket, memory_order::relaxed);
  }

  static void call(group& mine, int worker, int count) noexcept(!FLAGGEMS_EXCEPTIONS) {
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

  void join(group& mine, worker_slot& slot, ticket_type ticket) noexcept {
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
  void work(worker_slot& slot) noexcept {
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
      // Of that run or a later one: then all parts of the former are begun.
      const int sent_for = mine.sent_for.load(memory_order::relaxed);
      // Not of this run: nothing of it may be touched.
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

  void do_part(group& mine, worker_slot& slot, ticket_type ticket, int worker, int count) noexcept {
    call(mine, worker, count);
    slot.done.store(ticket, memory_order::seq_cst);
    if (mine.caller_waits.load(memory_order::seq_cst) != 0) {
      mine.caller_waits.store(0, memory_order::seq_cst);
      futex_wake(mine.caller_waits);
    }
  }

  // Waits until the worker's team has another ticket, or the worker another team; which team it
  // is. A team that gives workers away lets them see a ticket without them first (`keep`), so what
  // they find when they come to a team is either not for them or new.
  int await(worker_slot& slot, long long patience, int& last_group,
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

  // ---- teams; `mine` is acquired
  // How many threads a run of the team has, at most `wanted`.
  int gather(group& mine, int wanted, bool& shared) {
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
      // Each team's part of the threads has its caller in front.
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

  // Of its workers the team keeps those in [begin, end), the others are free.
  void keep(group& mine, int begin, int end) noexcept {
    const int first = mine.first, last = mine.last;
    mine.first = first > begin ? first : begin;
    mine.last = last < end ? last : end;
    if (mine.first >= mine.last) mine.first = mine.last = begin;
    if (mine.first <= first && last <= mine.last) return;
    mine.ticket.store(next_ticket(mine, 0), memory_order::seq_cst);
    for (int i = first; i < last; ++i)
      if (i < mine.first || i >= mine.last) slots_[i]->group.store(no_group, memory_order::release);
  }

  // Makes a worker the team's if it is free.
  bool take(group& mine, int i) {
    if (i >= started_.load(memory_order::acquire) && !start(i + 1)) return false;
    worker_slot& slot = *slots_[i];
    int nobody = no_group;
    if (slot.group.load(memory_order::relaxed) != no_group ||
        !slot.group.compare_exchange_strong(nobody, static_cast<int>(&mine - groups_)))
      return false;
    // What the worker sees of runs goes up, whatever team they are of.
    const ticket_type begun = slot.begun.load(memory_order::relaxed);
    if (is_later(begun, mine.number << bits_of_range)) mine.number = begun >> bits_of_range;
    return true;
  }

  // Counts the callers that keep coming, now and then; how many teams there are. Who meets others
  // for the first time has none yet: one that comes now and then would take from them what it does
  // not use.
  FLAGGEMS_COLD int look_around(group& mine, int index) noexcept {
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
        place() = t;  // from the next time on, so that the last team is needed no longer
    }
    if (needed >= groups || !groups_in_use_.compare_exchange_strong(groups, needed)) return groups;
    for (int t = needed; t < groups; ++t)
      if (acquire(groups_[t].owner)) {  // else its caller is back, and counts itself again
        const ownership own{groups_[t].owner};
        groups_[t].groups = 0;
        keep(groups_[t], 0, 0);
      }
    return needed;
  }

  // ---- start and stop
  // In a child: what the parent's threads used stays as it was and is left alone.
  FLAGGEMS_COLD bool renew(unsigned generation) noexcept {
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

  // So many threads; false while another caller starts some, or where there are not so many.
  FLAGGEMS_COLD bool start(int wanted) noexcept {
    const long long refused = refused_.load(memory_order::relaxed);
    if (refused != 0 && monotonic_ns() - refused < refused_ns) return false;
    if (!acquire(starter_)) return false;
    const ownership own{starter_};
    stay_loaded();
    // Signals are for the threads of the program.
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
  static void* entry(void* argument) {
    worker_slot* slot = static_cast<worker_slot*>(argument);
    slot->pool->work(*slot);
    return nullptr;
  }

  void stop() noexcept {
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
  // Seldom written.
  alignas(128) atomic<int> groups_in_use_{1};
  atomic<int> num_threads_;
  atomic<int> started_{0};
  atomic<int> processors_{0};  // 0: not asked yet
  atomic<unsigned> generation_{1};
  atomic<long long> patience_{spin_ns};
  atomic<long long> refused_{0};  // when the system last refused a thread; 0: never
  atomic<unsigned> starter_{0};   // who starts threads
  worker_slot* slots_[max_pool_threads];
  alignas(128) atomic<long long> looked_{0};
};

/// The pool of the host device. Never destroyed: at exit its threads sleep or spin on memory that
/// stays.
inline thread_pool& host_thread_pool() {
  static thread_pool& pool = *new thread_pool;
  return pool;
}

}  // namespace flaggems::detail
