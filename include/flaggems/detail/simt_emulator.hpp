// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A chip's block on the host: each thread is a fiber, so barriers, shuffles and block-local memory
// behave as on a chip, and every use of them is checked. Threads change places at barriers and
// shuffles only, in a fixed order: a run is deterministic, and a mistake is reported wherever the
// order would have hidden it.
#pragma once

#include <flaggems/detail/fiber.hpp>
#include <flaggems/kernels/simt_block.hpp>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flaggems::detail {

/// The name of a type as its compiler spells it.
template <class Kernel>
std::string simt_kernel_name() {
  const std::string text = __PRETTY_FUNCTION__;
  const std::string key = "Kernel = ";
  const std::size_t begin = text.find(key) + key.size();
  std::size_t end = text.rfind(']');
  const std::size_t other = text.find("; std::string = ", begin);  // g++ explains its aliases
  if (other != std::string::npos) end = other;
  return text.substr(begin, end - begin);
}

/// The threads of one block, their barriers, and their memory with a record of who touched what.
/// One object an OS thread, used again by every launch.
class simt_team {
 public:
  static constexpr int max_threads = 1024;
  static constexpr i64 exchange_bytes = 2 * 32 * 16;
  enum class access { read, write, update };
  enum class state { ready, barrier, shuffle_xor, shuffle_up, shuffle_from, ballot, returned };

  /// What one launch runs: `body(context, thread)` for each thread of each block.
  struct job {
    const char* op;
    std::string (*kernel)();
    int warp_size;
    int threads;
    i64 blocks;
    i64 scratch;
    void (*body)(const void* context, simt_team& team, int thread);
    const void* context;
  };

  simt_team() = default;
  simt_team(const simt_team&) = delete;
  simt_team& operator=(const simt_team&) = delete;

  static simt_team& of_this_thread() {
    static thread_local simt_team team;
    return team;
  }

  /// Runs all blocks, one after another. Raises the first mistake found; the threads of its block
  /// are then dropped where they stand, without unwinding.
  void run(const job& work) {
    if (job_ != nullptr)
      raise(errc::not_supported, name_of(work), "a launch from outside kernels",
            "a launch from within one");
    if (work.threads <= 0 || work.threads > max_threads || work.threads % work.warp_size != 0)
      raise(errc::invalid_argument, name_of(work),
            "threads a block: a multiple of " + std::to_string(work.warp_size) + " up to " +
                std::to_string(max_threads),
            std::to_string(work.threads));
    stacks_.reserve(work.threads);
    if (static_cast<int>(threads_.size()) < work.threads)
      threads_.resize(static_cast<std::size_t>(work.threads));
    reserve_memory(exchange_bytes + work.scratch);
    struct scope {
      simt_team& team;
      ~scope() { team.job_ = nullptr; }
    } leave{*this};
    job_ = &work;
    for (block_ = 0; block_ < work.blocks; ++block_) run_block();
  }

  // ---- what a thread asks
  [[nodiscard]] int threads() const noexcept { return job_->threads; }
  [[nodiscard]] i64 block() const noexcept { return block_; }
  [[nodiscard]] i64 blocks() const noexcept { return job_->blocks; }

  void sync(int thread, int line) { wait(thread, state::barrier, line); }

  u64 shuffle(int thread, state kind, u32 x, int argument, int line) {
    lane& self = at(thread);
    self.value = x;
    self.argument = argument;
    wait(thread, kind, line);
    return self.value;
  }

  /// The bytes of an element, after the checks. Does not return if one fails.
  unsigned char* touch(access kind, i64 offset, i64 size, i64 count, i64 i, int thread, int line) {
    if (i < 0 || i >= count) [[unlikely]]
      refuse_index(i, count, thread, line);
    const i64 first = offset + i * size;
    for (i64 k = 0; k < size; ++k) {
      record& r = records_.get()[first + k];
      if (r.epoch != epoch_) r = {epoch_, r.block, {}, {-1, -1, -1, -1, -1}};
      const int other = conflict(r, kind, thread);
      if (other >= 0) [[unlikely]]
        refuse_race(r, other, kind, i, size, thread, line);
      if (kind != access::write && r.block != block_stamp_) [[unlikely]]
        refuse_uninitialised(i, size, thread, line);
      if (kind != access::read) r.block = block_stamp_;
      note(r, kind, thread, line);
    }
    return memory_.data() + first;
  }

  void check_scratch(i64 offset, i64 count, i64 size) {
    if (offset < 0 || count < 0 || offset > job_->scratch ||
        count > (job_->scratch - offset) / size) [[unlikely]]
      refuse_scratch(offset, count, size);
  }
  void check_exchange(i64 size) {
    if (size > 16) [[unlikely]]
      refuse_exchange(size);
  }
  void check_view(i64 i, i64 count, int thread, int line) {
    if (i < 0 || i > count) [[unlikely]]
      refuse_index(i, count, thread, line);
  }
  void check_distance(int distance, int warp_size, int line) {
    if (distance < 0 || distance >= warp_size) [[unlikely]]
      refuse_distance(distance, warp_size, line);
  }

 private:
  struct lane {
    fiber point;
    state now = state::ready;
    int line = 0;
    int argument = 0;
    u64 value = 0;
  };

  /// Who touched a byte since the last barrier. Two different readers and two different updaters
  /// are enough to know whether anybody but a given thread is among them.
  enum slot { writer, reader, other_reader, updater, other_updater, slots };
  struct record {
    u64 epoch;  // the interval between two barriers that the rest is about
    u64 block;  // the block that wrote the byte last
    int line[slots];
    short thread[slots];
  };

  lane& at(int thread) { return threads_[static_cast<std::size_t>(thread)]; }

  void reserve_memory(i64 bytes) {
    const std::size_t n = static_cast<std::size_t>(bytes);
    if (memory_.size() >= n) return;
    memory_.resize(n + 64);
    records_.reset(static_cast<record*>(std::calloc(n + 64, sizeof(record))));
    check(records_ != nullptr, errc::out_of_memory, "simt", "memory to record accesses");
  }

  // ---- running
  void run_block() {
    ++block_stamp_;
    ++epoch_;
    for (int t = 0; t < job_->threads; ++t) {
      at(t).now = state::ready;
      at(t).point.start(stacks_.stack(t), stack_pool::bytes, &simt_team::entry);
    }
    for (;;) {
      for (int first = 0; first < job_->threads; first += job_->warp_size) run_warp(first);
      // Now every thread waits at a barrier or has returned.
      for (int t = 1; t < job_->threads; ++t)
        if (at(t).now != at(0).now || (at(t).now == state::barrier && at(t).line != at(0).line))
          refuse_divergence("all threads of a block at the same barrier", 0, job_->threads);
      if (at(0).now == state::returned) return;
      ++epoch_;
      for (int t = 0; t < job_->threads; ++t) at(t).now = state::ready;
    }
  }

  /// Runs the threads of a warp until each waits at a barrier or has returned.
  void run_warp(int first) {
    const int size = job_->warp_size;
    for (;;) {
      int shuffling = 0;
      bool same = true;
      for (int t = first; t < first + size; ++t) {
        if (at(t).now == state::ready) resume(t);
        if (at(t).now >= state::shuffle_xor && at(t).now <= state::ballot) ++shuffling;
        same = same && at(t).now == at(first).now && at(t).line == at(first).line &&
               (at(t).argument == at(first).argument || at(t).now == state::shuffle_from);
      }
      if (shuffling == 0) return;
      if (shuffling != size || !same)
        refuse_divergence("all lanes of a warp in the same shuffle", first, first + size);
      const state kind = at(first).now;
      u64 sent[64], all = 0;
      for (int k = 0; k < size; ++k) {
        sent[k] = at(first + k).value;
        all |= (sent[k] & 1) << k;
      }
      for (int k = 0; k < size; ++k) {
        const int argument = at(first + k).argument;
        const int from = kind == state::shuffle_xor    ? k ^ argument
                         : kind == state::shuffle_from ? argument
                                                       : k - argument;
        at(first + k).value = kind == state::ballot ? all : sent[from < 0 ? k : from];
      }
      for (int t = first; t < first + size; ++t) at(t).now = state::ready;
    }
  }

  void resume(int thread) {
    running_ = thread;
    current() = this;
    scheduler_.switch_to(at(thread).point);
    if (failed_) raise_failure();
#if FLAGGEMS_EXCEPTIONS
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
#endif
  }

  static simt_team*& current() {
    static thread_local simt_team* team = nullptr;
    return team;
  }

  static void entry() {
    simt_team& team = *current();
    const int thread = team.running_;
    team.at(thread).point.entered(team.scheduler_);
#if FLAGGEMS_EXCEPTIONS
    try {
      team.job_->body(team.job_->context, team, thread);
    } catch (...) {
      team.thrown_ = std::current_exception();
    }
#else
    team.job_->body(team.job_->context, team, thread);
#endif
    team.at(thread).now = state::returned;
    team.at(thread).point.switch_to(team.scheduler_, true);
  }

  void wait(int thread, state kind, int line) {
    lane& self = at(thread);
    self.now = kind;
    self.line = line;
    self.point.switch_to(scheduler_);
  }

  // ---- the record of accesses
  static int conflict(const record& r, access kind, int thread) {
    const auto foreign = [&](int s) { return r.thread[s] >= 0 && r.thread[s] != thread; };
    if (foreign(writer)) return writer;
    if (kind != access::read)
      for (int s : {reader, other_reader})
        if (foreign(s)) return s;
    if (kind != access::update)
      for (int s : {updater, other_updater})
        if (foreign(s)) return s;
    return -1;
  }

  static void note(record& r, access kind, int thread, int line) {
    int s = kind == access::write ? writer : kind == access::read ? reader : updater;
    if (s != writer && r.thread[s] >= 0 && r.thread[s] != thread) ++s;
    r.thread[s] = static_cast<short>(thread);
    r.line[s] = line;
  }

  // ---- mistakes
  static std::string name_of(const job& work) {
    const std::string kernel = work.kernel();
    return *work.op == '\0' ? kernel : std::string(work.op) + " (kernel " + kernel + ")";
  }

  // The texts are built by functions that return before the fiber is dropped, so
  // that no string is left on its stack.
  static std::string at_line(int line) {
    return line == 0 ? std::string("an unknown line") : "line " + std::to_string(line);
  }
  static const char* verb(access kind) {
    return kind == access::read ? "reads" : kind == access::write ? "writes" : "atomically updates";
  }

  FLAGGEMS_COLD void set_failure(errc code, std::string expected, std::string got) {
    failed_ = true;
    code_ = code;
    expected_ = std::move(expected);
    got_ = std::move(got);
  }
  [[noreturn]] FLAGGEMS_COLD void raise_failure() {
    failed_ = false;
    raise(code_, name_of(*job_), std::exchange(expected_, {}), std::exchange(got_, {}));
  }
  /// Leaves the running thread for good; the scheduler raises the failure.
  [[noreturn]] FLAGGEMS_COLD void abandon() {
    at(running_).point.switch_to(scheduler_, true);
    std::abort();
  }

  [[noreturn]] FLAGGEMS_COLD void refuse_index(i64 i, i64 count, int thread, int line) {
    describe_index(i, count, thread, line);
    abandon();
  }
  FLAGGEMS_COLD void describe_index(i64 i, i64 count, int thread, int line) {
    set_failure(errc::out_of_range,
                "an index below " + std::to_string(count) + " into block-local memory",
                "index " + std::to_string(i) + " by thread " + std::to_string(thread) + " at " +
                    at_line(line));
  }

  [[noreturn]] FLAGGEMS_COLD void refuse_race(const record& r, int s, access kind, i64 i, i64 size,
                                              int thread, int line) {
    describe_race(r, s, kind, i, size, thread, line);
    abandon();
  }
  FLAGGEMS_COLD void describe_race(const record& r, int s, access kind, i64 i, i64 size, int thread,
                                   int line) {
    const access before = s == writer                        ? access::write
                          : s == reader || s == other_reader ? access::read
                                                             : access::update;
    set_failure(errc::driver_error,
                "a barrier between accesses of two threads to one element of block-local memory",
                "a race: thread " + std::to_string(r.thread[s]) + " " + verb(before) + " at " +
                    at_line(r.line[s]) + ", thread " + std::to_string(thread) + " " + verb(kind) +
                    " at " + at_line(line) + ", element " + std::to_string(i) + " of " +
                    std::to_string(size) + " bytes");
  }

  [[noreturn]] FLAGGEMS_COLD void refuse_uninitialised(i64 i, i64 size, int thread, int line) {
    describe_uninitialised(i, size, thread, line);
    abandon();
  }
  FLAGGEMS_COLD void describe_uninitialised(i64 i, i64 size, int thread, int line) {
    set_failure(errc::driver_error, "block-local memory that is written before it is read",
                "thread " + std::to_string(thread) + " reads uninitialised element " +
                    std::to_string(i) + " of " + std::to_string(size) + " bytes at " +
                    at_line(line));
  }

  [[noreturn]] FLAGGEMS_COLD void refuse_scratch(i64 offset, i64 count, i64 size) {
    describe_scratch(offset, count, size);
    abandon();
  }
  FLAGGEMS_COLD void describe_scratch(i64 offset, i64 count, i64 size) {
    set_failure(errc::out_of_range,
                "at most the " + std::to_string(job_->scratch) +
                    " bytes of block-local memory that the launch asked for",
                std::to_string(count) + " elements of " + std::to_string(size) +
                    " bytes from byte " + std::to_string(offset));
  }

  [[noreturn]] FLAGGEMS_COLD void refuse_exchange(i64 size) {
    set_failure(errc::invalid_argument, "a state of at most 16 bytes", "");
    got_ = std::to_string(size);
    abandon();
  }
  [[noreturn]] FLAGGEMS_COLD void refuse_distance(int distance, int warp_size, int line) {
    describe_distance(distance, warp_size, line);
    abandon();
  }
  FLAGGEMS_COLD void describe_distance(int distance, int warp_size, int line) {
    set_failure(errc::out_of_range,
                "a shuffle over less than the " + std::to_string(warp_size) + " lanes of a warp",
                std::to_string(distance) + " at " + at_line(line));
  }

  static std::string describe(const lane& t) {
    switch (t.now) {
      case state::barrier: return " at the barrier of " + at_line(t.line);
      case state::shuffle_xor:
        return " in shuffle_xor(" + std::to_string(t.argument) + ") at " + at_line(t.line);
      case state::shuffle_up:
        return " in shuffle_up(" + std::to_string(t.argument) + ") at " + at_line(t.line);
      case state::returned: return " returned";
      case state::shuffle_from: return " in shuffle_from at " + at_line(t.line);
      case state::ballot: return " in ballot at " + at_line(t.line);
      default: return " running";
    }
  }

  /// Raises with what the threads [first, last) do, as ranges of threads that do the same.
  [[noreturn]] FLAGGEMS_COLD void refuse_divergence(const char* expected, int first, int last) {
    std::string got;
    int ranges = 0;
    for (int t = first; t < last;) {
      const std::string does = describe(at(t));
      int end = t + 1;
      while (end < last && describe(at(end)) == does) ++end;
      if (!got.empty()) got += ", ";
      if (++ranges > 8) {
        got += "...";
        break;
      }
      got += end - t == 1 ? "thread " + std::to_string(t)
                          : "threads " + std::to_string(t) + "-" + std::to_string(end - 1);
      got += does;
      t = end;
    }
    raise(errc::driver_error, name_of(*job_), expected, std::move(got));
  }

  struct release {
    void operator()(record* p) const noexcept { std::free(p); }
  };

  const job* job_ = nullptr;
  i64 block_ = 0;
  int running_ = 0;
  u64 epoch_ = 0, block_stamp_ = 0;
  fiber scheduler_;
  std::vector<lane> threads_;
  stack_pool stacks_;
  std::vector<unsigned char> memory_;
  std::unique_ptr<record, release> records_;

  bool failed_ = false;
  errc code_ = errc::driver_error;
  std::string expected_, got_;
#if FLAGGEMS_EXCEPTIONS
  std::exception_ptr thrown_;
#endif
};

}  // namespace flaggems::detail

namespace flaggems::kernels {

/// Block-local memory of the emulator: elements [0, count) at a byte offset, each access checked.
template <class T>
struct emulated_array {
  static constexpr bool is_scratch = true;
  using value_type = T;
  detail::simt_team* team;
  int thread;
  i64 offset, count;

  T read(i64 i, int line = FLAGGEMS_CALLER_LINE) const {
    T x;
    __builtin_memcpy(&x, touch(detail::simt_team::access::read, i, line), sizeof(T));
    return x;
  }
  void write(i64 i, identity<T> x, int line = FLAGGEMS_CALLER_LINE) const {
    __builtin_memcpy(touch(detail::simt_team::access::write, i, line), &x, sizeof(T));
  }
  /// The elements from i on.
  emulated_array from(i64 i, int line = FLAGGEMS_CALLER_LINE) const {
    team->check_view(i, count, thread, line);
    return {team, thread, offset + i * static_cast<i64>(sizeof(T)), count - i};
  }
  /// The same memory as elements of another type.
  template <class U>
  emulated_array<U> as() const {
    return {team, thread, offset,
            count * static_cast<i64>(sizeof(T)) / static_cast<i64>(sizeof(U))};
  }
  unsigned char* touch(detail::simt_team::access kind, i64 i, int line) const {
    return team->touch(kind, offset, static_cast<i64>(sizeof(T)), count, i, thread, line);
  }
};

/// One thread of an emulated chip with warps of `WarpSize` lanes; a `Machine` of `simt_block`.
template <int WarpSize>
struct emulated_machine {
  static constexpr int warp_size = WarpSize;
  template <class T>
  using array_type = emulated_array<T>;
  using state = detail::simt_team::state;

  detail::simt_team* team;
  int thread_index;

  int thread() const { return thread_index; }
  int threads() const { return team->threads(); }
  i64 block() const { return team->block(); }
  i64 blocks() const { return team->blocks(); }
  void sync(int line) const { team->sync(thread_index, line); }
  u32 shuffle_xor(u32 x, int mask, int line = 0) const {
    team->check_distance(mask, WarpSize, line);
    return static_cast<u32>(team->shuffle(thread_index, state::shuffle_xor, x, mask, line));
  }
  u32 shuffle_up(u32 x, int delta, int line = 0) const {
    team->check_distance(delta, WarpSize, line);
    return static_cast<u32>(team->shuffle(thread_index, state::shuffle_up, x, delta, line));
  }
  u32 shuffle_from(u32 x, int lane, int line = 0) const {
    team->check_distance(lane, WarpSize, line);
    return static_cast<u32>(team->shuffle(thread_index, state::shuffle_from, x, lane, line));
  }
  u64 ballot(bool x, int line = 0) const {
    return team->shuffle(thread_index, state::ballot, x ? 1 : 0, 0, line);
  }
  template <class T>
  array_type<T> scratch(i64 offset, i64 count) const {
    team->check_scratch(offset, count, static_cast<i64>(sizeof(T)));
    return {team, thread_index, detail::simt_team::exchange_bytes + offset, count};
  }
  template <class T>
  array_type<T> exchange(int which) const {
    team->check_exchange(static_cast<i64>(sizeof(T)));
    constexpr i64 bytes = detail::simt_team::exchange_bytes / 2;
    return {team, thread_index, which * bytes,
            min_of<i64>(32, bytes / static_cast<i64>(sizeof(T)))};
  }
  template <class T>
  T atomic_add(array_type<T> s, i64 i, identity<T> x, int line = 0) const {
    unsigned char* const p = s.touch(detail::simt_team::access::update, i, line);
    T old;
    __builtin_memcpy(&old, p, sizeof(T));
    const T sum = static_cast<T>(old + x);
    __builtin_memcpy(p, &sum, sizeof(T));
    return old;
  }
};

/// Runs `Kernel::run(block, args...)` on `blocks` blocks of `threads` threads with `scratch` bytes
/// of block-local memory each. Effects are visible on return. Raises what the checks find, naming
/// `op`, the kernel and the line. Warps have 32 or 64 threads, blocks a multiple of it up to 1024.
/// Any number of threads may call it at once. For device types of an emulated or invented chip, by
/// way of vendors/simt.hpp.
template <int WarpSize, class Kernel, class... Args>
void run_emulated(const char* op, i64 blocks, int threads, i64 scratch, const Args&... args) {
  static_assert(WarpSize == 32 || WarpSize == 64,
                "flaggems: run_emulated takes warps of 32 or 64 threads");
  const auto body = [&](detail::simt_team& team, int thread) {
    simt_block<emulated_machine<WarpSize>> block(emulated_machine<WarpSize>{&team, thread});
    Kernel::run(block, args...);
  };
  using body_type = decltype(body);
  detail::simt_team::of_this_thread().run(
      {op, &detail::simt_kernel_name<Kernel>, WarpSize, threads, blocks, scratch,
       [](const void* context, detail::simt_team& team, int thread) {
         (*static_cast<const body_type*>(context))(team, thread);
       },
       &body});
}

}  // namespace flaggems::kernels
