// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The SIMT emulator's threads: fibers, their barriers and shuffles, and their memory.
#pragma once

#include <flaggems/detail/simt_lane.hpp>
#include <flaggems/detail/simt_warp_groups.hpp>
#include <flaggems/kernel/block/simt/warp_group.hpp>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flaggems::detail {

/// The threads of a block, or of a cluster of blocks, with their barriers and their memory, whose
/// accesses are recorded. One object per OS thread, reused by every launch.
class simt_thread_group {
 public:
  static constexpr int max_threads = 1024, max_cluster = 8;
  static constexpr i64 exchange_bytes = 2 * 32 * 16;
  enum class access { read, write, update };
  using state = simt_state;
  using job = simt_job;
  using source_line = kernels::source_line;

  simt_thread_group() = default;
  simt_thread_group(const simt_thread_group&) = delete;
  simt_thread_group& operator=(const simt_thread_group&) = delete;

  static simt_thread_group& of_this_thread() {
    static thread_local simt_thread_group group;
    return group;
  }

  /// Runs all blocks in turn. Raises the first error found; the block's threads are then abandoned
  /// without unwinding.
  void run(const job& work) {
    if (job_ != nullptr)
      raise(errc::not_supported, name_of(work), "a launch from outside kernels",
            "a launch from within one");
    if (work.threads <= 0 || work.threads > max_threads || work.threads % work.block_warp != 0)
      raise(errc::invalid_argument, name_of(work),
            "threads a block: a multiple of " + std::to_string(work.block_warp) + " up to " +
                std::to_string(max_threads),
            std::to_string(work.threads));
    if (work.cluster <= 0 || work.cluster > max_cluster)
      raise(errc::invalid_argument, name_of(work),
            "blocks a cluster: up to " + std::to_string(max_cluster), std::to_string(work.cluster));
    const int all = work.threads * work.cluster;
    stacks_.reserve(all);
    if (static_cast<int>(threads_.size()) < all) threads_.resize(static_cast<std::size_t>(all));
    stride_ = kernels::round_up(exchange_bytes + work.scratch + work.states, 64);
    reserve_memory(stride_ * work.cluster, work.cluster > 1);
    struct scope {
      simt_thread_group& group;
      ~scope() { group.job_ = nullptr; }
    } leave{*this};
    job_ = &work;
    for (block_ = 0; block_ < work.blocks; block_ += work.cluster) run_cluster();
  }

  // ---- a thread's interface
  [[nodiscard]] int threads() const noexcept { return job_->threads; }
  [[nodiscard]] int cluster() const noexcept { return job_->cluster; }
  [[nodiscard]] i64 first_block() const noexcept { return block_; }
  [[nodiscard]] i64 blocks() const noexcept { return job_->blocks; }
  /// The bytes of each block's memory.
  [[nodiscard]] i64 stride() const noexcept { return stride_; }

  /// The cluster's warp groups, and block-local memory at their addresses.
  simt_warp_groups& warp_groups() noexcept { return warp_groups_; }
  unsigned char* bytes_at(u32 address, i64 bytes, int line) {
    if (!is_within(address, bytes)) [[unlikely]]
      refuse("an address in block-local memory", "one that is outside", line);
    return memory_.data() + byte_at(address);
  }
  unsigned char* written_bytes(u32 address, i64 bytes, int line) {
    unsigned char* const p = bytes_at(address, bytes, line);
    if (!are_initialised(address, bytes)) [[unlikely]]
      refuse("block-local memory that has been written and is not waited for",
             "a read of other memory", line);
    return p;
  }
  void set_initialised(u32 address, i64 bytes, bool is) {
    record* const r = records_.get() + byte_at(address);
    for (i64 k = 0; k < bytes; ++k) r[k].block = is ? block_stamp_ : 0;
  }
  void await_phase(int thread, u32 bar, u32 parity, int line) {
    at(thread).argument = static_cast<int>(parity);
    at(thread).value = bar;
    wait(thread, state::phase, line);
  }
  void sync_named(int thread, u32 id, u32 threads, int line) {
    at(thread).argument = static_cast<int>(id);
    at(thread).value = warp_groups_.completions(thread / job_->threads, id);
    arrive_named(thread, id, threads, line);
    wait(thread, state::named_barrier, line);
  }
  void arrive_named(int thread, u32 id, u32 threads, int line) {
    if (!warp_groups_.arrive_named(thread / job_->threads, id, threads)) [[unlikely]]
      refuse("one number of threads at a named barrier", "another", line);
  }
  void await_products(int thread, int left, int line) {
    at(thread).argument = left;
    wait(thread, state::products, line);
  }
  [[noreturn]] FLAGGEMS_COLD void refuse(const char* expected, const char* got, int line) {
    describe_use(expected, got, line);
    abandon();
  }

  [[nodiscard]] i64& step_of(int thread) { return at(thread).step; }
  void sync(int thread, source_line line) { wait(thread, state::barrier, line); }
  void sync_cluster(int thread, source_line line) { wait(thread, state::cluster_barrier, line); }

  u64 shuffle(int thread, state kind, u32 x, int argument, source_line line) {
    lane& self = at(thread);
    self.value = x;
    self.argument = argument;
    wait(thread, kind, line);
    return self.value;
  }

  /// The address of an element, after the checks. Does not return if one fails.
  unsigned char* touch(access kind, i64 offset, i64 size, i64 count, i64 i, int thread, int line) {
    if (i < 0 || i >= count) [[unlikely]]
      refuse_index(i, count, thread, line);
    const i64 first = offset + i * size;
    const int own = job_->cluster == 1 ? 0 : thread / job_->threads;
    const bool is_own = job_->cluster == 1 || touch_in_cluster(kind, first, size, i, own, line);
    for (i64 k = 0; k < size; ++k) {
      record& r = records_.get()[first + k];
      if (is_own) note(r, kind, epochs_[own], thread, i, size, line);
      if (kind != access::write && r.block != block_stamp_) [[unlikely]]
        refuse_uninitialised(i, size, thread, line);
      if (kind != access::read) r.block = block_stamp_;
    }
    return memory_.data() + first;
  }

  /// Copies to element i when the thread waits for the copy's group.
  void copy_async(simt_lane::copy one, int thread) {
    one.group = at(thread).groups;
    at(thread).copies.push_back(one);
  }
  void commit_copies(int thread) { ++at(thread).groups; }
  void wait_copies(int left, int thread, source_line line) {
    std::vector<simt_lane::copy>& copies = at(thread).copies;
    std::size_t arrived = 0;
    for (; arrived < copies.size() && copies[arrived].group + left < at(thread).groups; ++arrived) {
      const simt_lane::copy& c = copies[arrived];
      unsigned char* const to =
          touch(access::write, c.offset, c.size, c.count, c.i, thread, c.line);
      const auto bytes = static_cast<std::size_t>(c.size);
      std::memset(to, 0, bytes);
      if (c.from != nullptr) std::memcpy(to, c.from, bytes);
    }
    copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(arrived));
    sync(thread, line);
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
  using lane = simt_lane;

  /// The accesses to a byte since the last barrier: by threads since one of their block, by blocks
  /// since one of the cluster. Two different readers and updaters suffice to know whether any
  /// thread but a given one is among them.
  enum slot { writer, reader, other_reader, updater, other_updater, slots };
  struct record {
    u64 epoch;  // the interval between two barriers that the record is of
    u64 block;  // the block, or cluster, that last wrote the byte
    int line[slots];
    short who[slots];
  };

  struct release {
    void operator()(record* p) const noexcept { std::free(p); }
  };

  lane& at(int thread) { return threads_[static_cast<std::size_t>(thread)]; }

  void reserve_memory(i64 bytes, bool is_shared) {
    const std::size_t n = static_cast<std::size_t>(bytes) + 64;
    if (memory_.size() < n) {
      memory_.resize(n);
      make_records(records_);
      cluster_records_.reset();
    }
    if (is_shared && cluster_records_ == nullptr) make_records(cluster_records_);
  }

  // ---- running
  void run_cluster() {
    const int all = job_->threads * job_->cluster;
    ++block_stamp_;
    begin_epochs(0, job_->cluster);
    has_met_ = false;
    for (int t = 0; t < all; ++t) {
      at(t).begin();
      at(t).point.start(stacks_.stack(t), stack_pool::bytes, &simt_thread_group::entry);
    }
    warp_groups_.begin(all);
    for (;;) {
      // Threads may wait for other blocks, so until none of any block runs.
      for (bool ran = true; ran;) {
        ran = false;
        for (int block = 0; block < job_->cluster; ++block) ran = run_block(block) || ran;
      }
      for (int t = 0; t < all; ++t)
        if (is_waiting(t) || (at(t).now == state::returned && warp_groups_.has_stores(t)))
          refuse_divergence("an end to what each thread waits for", 0, all);
      require_same("all threads of a cluster at the same barrier", 0, all);
      if (at(0).now == state::returned) return;
      has_met_ = true;
      begin_epochs(0, job_->cluster);
      for (int t = 0; t < all; ++t) at(t).now = state::ready;
    }
  }
  /// Runs the threads of a block of the cluster until they wait for other blocks or have returned;
  /// whether any ran.
  bool run_block(int block) {
    const int begin = block * job_->threads, end = begin + job_->threads;
    bool ran = false;
    for (;;) {
      for (int first = begin; first < end; first += job_->warp_size) ran = run_warp(first) || ran;
      if (wake(begin, end)) continue;
      for (int t = begin; t < end; ++t)
        if (is_waiting(t)) return ran;
      // Now every thread waits at a barrier or has returned.
      require_same("all threads of a block at the same barrier", begin, end);
      if (at(begin).now != state::barrier) return ran;
      begin_epochs(block, block + 1);
      for (int t = begin; t < end; ++t) at(t).now = state::ready;
    }
  }
  bool is_waiting(int t) { return at(t).now >= state::phase && at(t).now <= state::products; }
  /// Makes threads ready whose wait has ended.
  bool wake(int begin, int end) {
    bool woke = false;
    const u32 block = static_cast<u32>(begin / job_->threads) << simt_warp_groups::block_shift;
    for (int t = begin; t < end; ++t) {
      lane& self = at(t);
      bool ended = false;
      if (self.now == state::phase) {
        ended = warp_groups_.has_ended(
            static_cast<u32>(self.value), static_cast<u32>(self.argument),
            [&](u32 to, const std::vector<unsigned char>& data) {
              std::memcpy(memory_.data() + byte_at(to), data.data(), data.size());
              set_initialised(to, static_cast<i64>(data.size()), true);
            });
      } else if (self.now == state::named_barrier) {
        ended = warp_groups_.completions(begin / job_->threads, static_cast<u32>(self.argument)) !=
                self.value;
      } else if (self.now == state::products &&
                 (t - begin) % simt_warp_groups::group_threads == 0) {
        const int last = t + simt_warp_groups::group_threads;
        int together = t;
        while (together < last && together < end && at(together).now == state::products &&
               at(together).line == self.line && at(together).argument == self.argument)
          ++together;
        if (together != last) continue;
        int line = self.line;
        bool is_written = true;
        const auto read = [&](u32 byte, int bytes, int at_product) {
          line = at_product;
          const bool is_inside = is_within(block + byte, bytes);
          is_written = is_written && is_inside && are_initialised(block + byte, bytes);
          return memory_.data() + byte_at(is_inside ? block + byte : block);
        };
        if (!warp_groups_.multiply(t, self.argument, line, read))
          fail("the same products by all threads of a warp group", "others", line);
        if (!is_written)
          fail("block-local memory that has been written and is not waited for",
               "a product of other memory", line);
        for (int k = t; k < last; ++k) at(k).now = state::ready, woke = true;
      }
      if (ended) self.now = state::ready, woke = true;
    }
    return woke;
  }
  i64 byte_at(u32 address) const {
    return (address >> simt_warp_groups::block_shift) * stride_ +
           (address & simt_warp_groups::byte_mask);
  }
  bool is_within(u32 address, i64 bytes) const {
    return static_cast<i64>(address & simt_warp_groups::byte_mask) + bytes <= stride_ &&
           static_cast<int>(address >> simt_warp_groups::block_shift) < job_->cluster;
  }
  bool are_initialised(u32 address, i64 bytes) const {
    for (i64 k = 0; k < bytes; ++k)
      if (records_.get()[byte_at(address) + k].block != block_stamp_) return false;
    return true;
  }
  void require_same(const char* expected, int begin, int end) {
    for (int t = begin + 1; t < end; ++t)
      if (!at(t).is_with(at(begin))) refuse_divergence(expected, begin, end);
  }
  void begin_epochs(int begin, int end) {
    for (int block = begin; block < end; ++block) epochs_[block] = ++last_epoch_;
    if (end - begin == job_->cluster) cluster_epoch_ = last_epoch_;
  }

  /// Runs the threads of a warp until each waits or has returned; whether any ran.
  bool run_warp(int first) {
    const int size = job_->warp_size;
    for (bool ran = false;;) {
      int shuffling = 0;
      bool same = true, is_late = false;
      for (int t = first; t < first + size; ++t) {
        if (at(t).now == state::ready) resume(t), ran = true;
        is_late = is_late || is_waiting(t);
        if (at(t).now >= state::shuffle_xor && at(t).now <= state::ballot_match) ++shuffling;
        same = same && at(t).is_with(at(first)) &&
               (at(t).argument == at(first).argument || at(t).now == state::shuffle_from);
      }
      if (shuffling == 0 || is_late) return ran;
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
        at(first + k).value = kind == state::ballot_match ? all : sent[from < 0 ? k : from];
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

  static simt_thread_group*& current() {
    static thread_local simt_thread_group* group = nullptr;
    return group;
  }

  static void entry() {
    simt_thread_group& group = *current();
    const int thread = group.running_;
    group.at(thread).point.entered(group.scheduler_);
#if FLAGGEMS_EXCEPTIONS
    try {
      group.job_->body(group.job_->context, group, thread);
    } catch (...) {
      group.thrown_ = std::current_exception();
    }
#else
    group.job_->body(group.job_->context, group, thread);
#endif
    group.at(thread).now = state::returned;
    group.at(thread).point.switch_to(group.scheduler_, true);
  }

  void wait(int thread, state kind, source_line line) {
    lane& self = at(thread);
    self.now = kind;
    self.line = line;
    self.point.switch_to(scheduler_);
  }

  // ---- recording of accesses
  void make_records(std::unique_ptr<record, release>& records) {
    records.reset(static_cast<record*>(std::calloc(memory_.size(), sizeof(record))));
    check(records != nullptr, errc::out_of_memory, "simt", "memory to record accesses");
  }

  /// Checks an access against those of other blocks; returns whether it is to the block's own
  /// memory.
  FLAGGEMS_NOINLINE bool touch_in_cluster(access kind, i64 first, i64 size, i64 i, int block,
                                          int line) {
    const int owner = static_cast<int>(first / stride_);
    if (owner != block && (!has_met_ || at(owner * job_->threads).now == state::returned))
      refuse_reach(owner, block, line);
    for (i64 k = 0; k < size; ++k)
      note(cluster_records_.get()[first + k], kind, cluster_epoch_, block, i, size, line, true);
    return owner == block;
  }

  static int conflict(const record& r, access kind, int who) {
    const auto foreign = [&](int s) { return r.who[s] >= 0 && r.who[s] != who; };
    if (foreign(writer)) return writer;
    if (kind != access::read)
      for (int s : {reader, other_reader})
        if (foreign(s)) return s;
    if (kind != access::update)
      for (int s : {updater, other_updater})
        if (foreign(s)) return s;
    return -1;
  }

  /// Records an access by a thread or, if `is_block`, a block. Does not return if it races.
  void note(record& r, access kind, u64 epoch, int who, i64 i, i64 size, int line,
            bool is_block = false) {
    if (r.epoch != epoch) r = {epoch, r.block, {}, {-1, -1, -1, -1, -1}};
    const int other = conflict(r, kind, who);
    if (other >= 0) [[unlikely]]
      refuse_race(r, other, kind, i, size, who, line, is_block);
    int s = kind == access::write ? writer : kind == access::read ? reader : updater;
    if (s != writer && r.who[s] >= 0 && r.who[s] != who) ++s;
    r.who[s] = static_cast<short>(who);
    r.line[s] = line;
  }

  // ---- errors
  static std::string name_of(const job& work) {
    const std::string kernel = work.kernel();
    return *work.op == '\0' ? kernel : std::string(work.op) + " (kernel " + kernel + ")";
  }

  // Texts are built by functions that return before the fiber is abandoned, and leave it no string.
  static const char* verb(access kind) {
    return kind == access::read ? "reads" : kind == access::write ? "writes" : "atomically updates";
  }

  FLAGGEMS_COLD void set_failure(errc code, std::string expected, std::string got) {
    failed_ = true;
    code_ = code;
    expected_ = std::move(expected);
    got_ = std::move(got);
  }
  FLAGGEMS_COLD void describe_use(const char* expected, const char* got, int line) {
    set_failure(errc::driver_error, expected, std::string(got) + " at " + simt_line_text(line));
  }
  [[noreturn]] FLAGGEMS_COLD void fail(const char* expected, const char* got, int line) {
    describe_use(expected, got, line);
    raise_failure();
  }
  [[noreturn]] FLAGGEMS_COLD void raise_failure() {
    failed_ = false;
    raise(code_, name_of(*job_), std::exchange(expected_, {}), std::exchange(got_, {}));
  }
  /// Abandons the running thread; the scheduler raises the failure.
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
                    simt_line_text(line));
  }

  [[noreturn]] FLAGGEMS_COLD void refuse_race(const record& r, int s, access kind, i64 i, i64 size,
                                              int who, int line, bool is_block) {
    describe_race(r, s, kind, i, size, who, line, is_block);
    abandon();
  }
  FLAGGEMS_COLD void describe_race(const record& r, int s, access kind, i64 i, i64 size, int who,
                                   int line, bool is_block) {
    const access before = s == writer                        ? access::write
                          : s == reader || s == other_reader ? access::read
                                                             : access::update;
    const std::string one = is_block ? "block " : "thread ";
    set_failure(errc::driver_error,
                std::string(is_block ? "a barrier of the cluster" : "a barrier") +
                    " between accesses of two " + (is_block ? "blocks" : "threads") +
                    " to one element of block-local memory",
                "a race: " + one + std::to_string(r.who[s]) + " " + verb(before) + " at " +
                    simt_line_text(r.line[s]) + ", " + one + std::to_string(who) + " " +
                    verb(kind) + " at " + simt_line_text(line) + ", element " + std::to_string(i) +
                    " of " + std::to_string(size) + " bytes");
  }
  [[noreturn]] FLAGGEMS_COLD void refuse_reach(int owner, int block, int line) {
    describe_reach(owner, block, line);
    abandon();
  }
  FLAGGEMS_COLD void describe_reach(int owner, int block, int line) {
    set_failure(errc::driver_error,
                "a barrier of the cluster before and after access to another block's memory",
                "block " + std::to_string(block) + " of it reaching block " +
                    std::to_string(owner) + " at " + simt_line_text(line) +
                    (has_met_ ? " after that has ended" : " before any barrier"));
  }

  [[noreturn]] FLAGGEMS_COLD void refuse_uninitialised(i64 i, i64 size, int thread, int line) {
    describe_uninitialised(i, size, thread, line);
    abandon();
  }
  FLAGGEMS_COLD void describe_uninitialised(i64 i, i64 size, int thread, int line) {
    set_failure(errc::driver_error, "block-local memory that is written before it is read",
                "thread " + std::to_string(thread) + " reads uninitialised element " +
                    std::to_string(i) + " of " + std::to_string(size) + " bytes at " +
                    simt_line_text(line));
  }

  [[noreturn]] FLAGGEMS_COLD void refuse_scratch(i64 offset, i64 count, i64 size) {
    describe_scratch(offset, count, size);
    abandon();
  }
  FLAGGEMS_COLD void describe_scratch(i64 offset, i64 count, i64 size) {
    set_failure(errc::out_of_range,
                "at most the " + std::to_string(job_->scratch) +
                    " bytes of block-local memory that the launch requested",
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
                std::to_string(distance) + " at " + simt_line_text(line));
  }

  /// Raises with the states of the threads [first, last), grouped into ranges.
  [[noreturn]] FLAGGEMS_COLD void refuse_divergence(const char* expected, int first, int last) {
    std::string got;
    int ranges = 0;
    const int zero = last - first > job_->threads ? 0 : first / job_->threads * job_->threads;
    for (int t = first; t < last;) {
      const std::string does = at(t).text();
      int end = t + 1;
      while (end < last && at(end).text() == does) ++end;
      if (!got.empty()) got += ", ";
      if (++ranges > 8) {
        got += "...";
        break;
      }
      got += end - t == 1
                 ? "thread " + std::to_string(t - zero)
                 : "threads " + std::to_string(t - zero) + "-" + std::to_string(end - 1 - zero);
      got += does;
      t = end;
    }
    raise(errc::driver_error, name_of(*job_), expected, std::move(got));
  }

  const job* job_ = nullptr;
  i64 block_ = 0, stride_ = 0;  // the running cluster's first block; bytes of each block
  int running_ = 0;
  bool has_met_ = false;  // since the cluster began
  u64 last_epoch_ = 0, cluster_epoch_ = 0, epochs_[max_cluster] = {}, block_stamp_ = 0;
  fiber scheduler_;
  std::vector<lane> threads_;
  simt_warp_groups warp_groups_;
  stack_pool stacks_;
  std::vector<unsigned char> memory_;
  std::unique_ptr<record, release> records_, cluster_records_;

  bool failed_ = false;
  errc code_ = errc::driver_error;
  std::string expected_, got_;
#if FLAGGEMS_EXCEPTIONS
  std::exception_ptr thrown_;
#endif
};

}  // namespace flaggems::detail
