// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/device/memory_pool.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <support/forks.hpp>
#include <support/mock_device.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace {

using flaggems::host;
using flaggems::i64;
using support::mock;
using support::mock_device;
using mock_stream = flaggems::stream<mock_device>;

template <i64 Alignment>
void check_size_classes() {
  using classes = flaggems::detail::size_classes<Alignment>;
  i64 before = 0;
  for (int i = 0; i < 300; ++i) {
    const i64 size = classes::size_of(i);
    EXPECT_GT(size, before);
    EXPECT_EQ(size % Alignment, 0);
    EXPECT_EQ(classes::index_of(size), i);
    EXPECT_EQ(classes::index_of(before + 1), i);
    // What is lost is less than an eighth of the block, or than the alignment.
    EXPECT_LE(size - (before + 1), (std::max)(Alignment, size / 8)) << size;
    before = size;
  }
  EXPECT_LT(classes::index_of(classes::largest) + 2, classes::count);
  EXPECT_GE(classes::size_of(classes::index_of(classes::largest)), classes::largest);
}

TEST(size_classes, cover_every_size_with_little_loss) {
  check_size_classes<64>();
  check_size_classes<256>();
}

class memory_pool : public testing::Test {
 protected:
  void SetUp() override {
    flaggems::empty_cache<mock_device>(0);
    flaggems::empty_cache<mock_device>(1);
    mock().waits.clear();
  }
  void TearDown() override {
    flaggems::empty_cache<mock_device>(0);
    flaggems::empty_cache<mock_device>(1);
    EXPECT_TRUE(mock().live.empty());
    EXPECT_TRUE(mock().events.empty());
    EXPECT_TRUE(mock().mistakes.empty()) << mock().mistakes.front();
    mock().mistakes.clear();
    mock().capacity = i64{1} << 40;
  }
};

TEST_F(memory_pool, gives_aligned_memory) {
  flaggems::stream<host> h;
  mock_stream m;
  for (const i64 bytes : {i64{1}, i64{63}, i64{64}, i64{65}, i64{1000}, i64{1} << 20}) {
    auto a = flaggems::pool_allocate(bytes, h);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0u);
    EXPECT_EQ(a.bytes(), bytes);
    std::memset(a.data(), 1, static_cast<std::size_t>(bytes));
    auto b = flaggems::pool_allocate(bytes, m);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 64, 0u);
  }
}

TEST_F(memory_pool, reuses_a_block_in_the_order_of_its_stream) {
  mock_stream s;
  void* first = nullptr;
  {
    auto a = flaggems::pool_allocate(1000, s);
    first = a.data();
    mock().busy.insert(s.handle());
  }
  EXPECT_EQ(flaggems::pool_allocate(990, s).data(), first);  // the same class
  EXPECT_EQ(flaggems::pool_allocate(900, s).data(), first);  // a block a little too large
  EXPECT_NE(flaggems::pool_allocate(500, s).data(), first);
  EXPECT_TRUE(mock().waits.empty());
}

TEST_F(memory_pool, does_not_share_unfinished_blocks_between_streams) {
  mock_stream a, b;
  void* first = nullptr;
  {
    auto x = flaggems::pool_allocate(1000, a);
    first = x.data();
    mock().busy.insert(a.handle());
  }
  EXPECT_NE(flaggems::pool_allocate(1000, b).data(), first);
  EXPECT_EQ(mock().live.size(), 2u);
  mock().busy.erase(a.handle());
  auto y = flaggems::pool_allocate(1000, b);
  auto z = flaggems::pool_allocate(1000, b);  // a is idle now
  EXPECT_TRUE(y.data() == first || z.data() == first);
  EXPECT_EQ(mock().live.size(), 2u);
  EXPECT_TRUE(mock().waits.empty());
}

TEST_F(memory_pool, waits_by_event_when_memory_is_exhausted) {
  mock_stream a, b;
  mock().capacity = 1024;
  void* first = nullptr;
  {
    auto x = flaggems::pool_allocate(1000, a);
    first = x.data();
    mock().busy.insert(a.handle());
  }
  const int synchronized = mock().synchronized;
  auto y = flaggems::pool_allocate(1000, b);
  EXPECT_EQ(y.data(), first);
  ASSERT_EQ(mock().waits.size(), 1u);
  EXPECT_EQ(mock().waits[0], std::pair(b.handle(), a.handle()));
  EXPECT_EQ(mock().synchronized, synchronized);
}

TEST_F(memory_pool, empties_the_cache_before_it_gives_up) {
  mock_stream s;
  mock().capacity = 1 << 20;
  const auto before = flaggems::memory_stats<mock_device>();
  { auto x = flaggems::pool_allocate(1 << 19, s); }
  { auto y = flaggems::pool_allocate(3 << 18, s); }  // fits once x is given back
  auto stats = flaggems::memory_stats<mock_device>();
  EXPECT_EQ(stats.num_alloc_retries - before.num_alloc_retries, 1);
  EXPECT_EQ(stats.num_ooms - before.num_ooms, 0);
  EXPECT_EQ(stats.num_device_free - before.num_device_free, 1);
  auto z = flaggems::pool_allocate(1 << 19, s);  // not even once y is given back: it is cached
  try {
    static_cast<void>(flaggems::pool_allocate(1 << 20, s));
    ADD_FAILURE();
  } catch (const flaggems::error& e) {
    EXPECT_EQ(e.code(), flaggems::errc::out_of_memory);
    EXPECT_EQ(e.expected(), "1048576 bytes (a block of 1048576) on mock:0");
    EXPECT_EQ(e.got(), "524288 of 1048576 bytes free, 524288 in use and 0 cached by the pool");
  }
  mock().tells_memory = false;
  try {
    static_cast<void>(flaggems::pool_allocate(1 << 20, s));
    ADD_FAILURE();
  } catch (const flaggems::error& e) {
    EXPECT_EQ(e.got(), "524288 in use and 0 cached by the pool");
  }
  mock().tells_memory = true;
  stats = flaggems::memory_stats<mock_device>();
  EXPECT_EQ(stats.num_ooms - before.num_ooms, 2);
}

// Its deallocate is queued: the memory is there again once the stream has got so far.
TEST_F(memory_pool, waits_for_the_deallocations_before_it_tries_again) {
  mock_stream s, other;
  mock().capacity = 1 << 20;
  mock().frees_late = true;
  { auto x = flaggems::pool_allocate(1 << 18, s), y = flaggems::pool_allocate(1 << 18, other); }
  { auto z = flaggems::pool_allocate(1 << 20, s); }
  flaggems::empty_cache<mock_device>();
  EXPECT_TRUE(mock().live.empty());
  mock().freed.clear();
  mock().frees_late = false;
}

template <class F>
flaggems::errc code_of(F&& f) {
  try {
    f();
  } catch (const flaggems::error& e) {
    return e.code();
  }
  return flaggems::errc::bad_file;
}

TEST_F(memory_pool, empty_cache_raises_and_keeps_what_failed) {
  mock_stream a, b;
  { auto x = flaggems::pool_allocate(1000, a), y = flaggems::pool_allocate(5000, b); }
  const auto before = flaggems::memory_stats<mock_device>();
  mock().failing = {a.handle()};
  EXPECT_EQ(code_of([] { flaggems::empty_cache<mock_device>(); }), flaggems::errc::driver_error);
  EXPECT_EQ(mock().live.size(), 1u);  // that of b was given back
  const auto after = flaggems::memory_stats<mock_device>();
  EXPECT_EQ(after.num_device_free - before.num_device_free, 1);
  EXPECT_EQ(after.reserved_bytes.current, mock().used(0));
  flaggems::empty_cache<mock_device>();  // the stream works again
  EXPECT_TRUE(mock().live.empty());
}

TEST_F(memory_pool, a_stream_does_not_end_while_the_cache_waits_for_it) {
  mock_stream kept;
  std::optional<mock_stream> ends(std::in_place);
  for (const mock_stream* s : {&kept, &*ends})
    for (const i64 bytes : {1000, 5000}) static_cast<void>(flaggems::pool_allocate(bytes, *s));
  std::future<void> ended;
  mock().meanwhile = [&] {
    ended = std::async(std::launch::async, [&] { ends.reset(); });
    ended.wait_for(std::chrono::milliseconds(50));
  };
  flaggems::empty_cache<mock_device>();  // TearDown looks for mistakes
  ended.get();
  EXPECT_TRUE(mock().live.empty());
}

TEST_F(memory_pool, allocate_raises_what_emptying_the_cache_raises) {
  mock_stream a, b;
  mock().capacity = 1 << 20;
  { auto x = flaggems::pool_allocate(1 << 19, a); }
  mock().failing = {a.handle()};
  EXPECT_EQ(code_of([&] { static_cast<void>(flaggems::pool_allocate(1 << 20, b)); }),
            flaggems::errc::driver_error);
  EXPECT_EQ(mock().live.size(), 1u);
  EXPECT_EQ(flaggems::pool_allocate(1 << 20, b).bytes(), 1 << 20);
}

TEST_F(memory_pool, a_destructor_keeps_a_block_whose_users_failed) {
  mock_stream a, b;
  void* first = nullptr;
  {
    auto x = flaggems::pool_allocate(1000, a);
    first = x.data();
    x.record_stream(b);
    mock().failing = {b.handle()};
  }
  EXPECT_TRUE(mock().waits.empty());
  mock().failing = {b.handle()};  // still
  EXPECT_EQ(code_of([&] { static_cast<void>(flaggems::pool_allocate(1000, a)); }),
            flaggems::errc::driver_error);
  EXPECT_EQ(flaggems::pool_allocate(1000, a).data(), first);
  ASSERT_EQ(mock().waits.size(), 1u);
  EXPECT_EQ(mock().waits[0], std::pair(a.handle(), b.handle()));
}

TEST_F(memory_pool, memory_of_a_stream_that_failed_in_its_destructor_is_not_used_again) {
  void *cached = nullptr, *used = nullptr, *shared = nullptr;
  const i64 lost = flaggems::memory_stats<mock_device>().lost_bytes;
  mock_stream other;
  {
    flaggems::pool_block<mock_device> outlives, recorded;
    {
      mock_stream s;
      outlives = flaggems::pool_allocate(1000, s);
      recorded = flaggems::pool_allocate(1000, other);
      recorded.record_stream(s);
      used = outlives.data();
      shared = recorded.data();
      auto x = flaggems::pool_allocate(1000, s);
      cached = x.data();
      x = {};
      mock().failing = {s.handle()};
    }
    EXPECT_TRUE(mock().failing.empty());
  }
  for (int i = 0; i < 4; ++i) {
    auto x = flaggems::pool_allocate(1000, other);
    EXPECT_TRUE(x.data() != cached && x.data() != used && x.data() != shared);
    flaggems::empty_cache<mock_device>();
  }
  flaggems::empty_cache<mock_device>();
  EXPECT_EQ(flaggems::memory_stats<mock_device>().allocation.current, 0);
  EXPECT_EQ(flaggems::memory_stats<mock_device>().reserved_bytes.current, 0);
  EXPECT_EQ(flaggems::memory_stats<mock_device>().lost_bytes - lost, 3 * 1024);
  EXPECT_EQ(mock().live.size(), 3u);
  for (void* data : {cached, used, shared}) mock().free_block(data);
}

TEST_F(memory_pool, memory_that_is_shared_is_freed_by_the_last_owner) {
  const mock_stream stream;
  const auto in_use = [] { return flaggems::memory_stats<mock_device>(0).allocation.current; };
  const i64 before = in_use();
  std::optional<flaggems::pool_block<mock_device>> last;
  {
    const auto first = flaggems::pool_allocate<mock_device>(100, stream);
    const auto second = first.share();
    last.emplace(second.share());
    EXPECT_EQ(last->data(), first.data());
    EXPECT_EQ(last->bytes(), 100);
    EXPECT_TRUE(last->stream() == flaggems::ref(stream));
  }
  EXPECT_EQ(in_use(), before + 1);
  last.reset();
  EXPECT_EQ(in_use(), before);
  const flaggems::pool_block<mock_device> nothing;
  EXPECT_EQ(nothing.share().data(), nullptr);
  // Threads that end their shares at once free it once.
  for (int n = 0; n < 200; ++n) {
    auto block = std::make_shared<flaggems::pool_block<mock_device>>(64, stream);
    auto other = std::make_shared<flaggems::pool_block<mock_device>>(block->share());
    std::thread ends([o = std::move(other)]() mutable { o.reset(); });
    block.reset();
    ends.join();
  }
  EXPECT_EQ(in_use(), before);
}

TEST(freed_memory, shows) {
  const flaggems::stream<host> stream;
  const unsigned char* data = nullptr;
  {
    const auto block = flaggems::pool_allocate<host>(100, stream);
    data = static_cast<const unsigned char*>(block.data());
    std::memset(block.data(), 1, 100);
#if FLAGGEMS_ASAN
    EXPECT_FALSE(__asan_address_is_poisoned(data + 99));
    EXPECT_TRUE(__asan_address_is_poisoned(data + 104));
#endif
  }
#if FLAGGEMS_ASAN
  EXPECT_TRUE(__asan_address_is_poisoned(data));
#elif FLAGGEMS_FILL_FREED
  EXPECT_EQ(data[99], 0xFF);
#else
  EXPECT_EQ(data[99], 1);
#endif
}

#if FLAGGEMS_FILL_FREED && !FLAGGEMS_ASAN
TEST(freed_memory, was_not_written_behind) {
  const flaggems::stream<host> stream;
  const auto write = [&](i64 at) {
    const auto block = flaggems::pool_allocate<host>(100, stream);
    static_cast<unsigned char*>(block.data())[at] = 1;
  };
  write(99);
  EXPECT_DEATH(write(100), "byte 100 of a block of 100 bytes was written");
}
#endif

TEST_F(memory_pool, refuses_impossible_sizes) {
  flaggems::stream<host> s;
  const auto code = [&](i64 bytes) {
    try {
      static_cast<void>(flaggems::pool_allocate(bytes, s));
    } catch (const flaggems::error& e) {
      return e.code();
    }
    return flaggems::errc::bad_file;
  };
  EXPECT_EQ(code(-1), flaggems::errc::invalid_argument);
  EXPECT_EQ(code(i64{1} << 50), flaggems::errc::out_of_memory);
  EXPECT_EQ(code((std::numeric_limits<i64>::max)()), flaggems::errc::out_of_memory);
  EXPECT_EQ(flaggems::pool_allocate(0, s).data(), nullptr);
  EXPECT_THROW(static_cast<void>(flaggems::pool<host>(1)), flaggems::error);
  EXPECT_THROW(static_cast<void>(flaggems::pool<host>(-1)), flaggems::error);
}

TEST_F(memory_pool, counts) {
  mock_stream s(1);
  flaggems::reset_peak_memory_stats<mock_device>(1);
  const auto start = flaggems::memory_stats<mock_device>(1);
  EXPECT_EQ(start.allocated_bytes.current, 0);
  EXPECT_EQ(start.reserved_bytes.current, 0);
  EXPECT_EQ(start.allocated_bytes.peak, 0);
  {
    auto a = flaggems::pool_allocate(1000, s);
    auto b = flaggems::pool_allocate(100, s);
    const auto now = flaggems::memory_stats<mock_device>(1);
    EXPECT_EQ(now.allocation.current, 2);
    EXPECT_EQ(now.requested_bytes.current, 1100);
    EXPECT_EQ(now.allocated_bytes.current,
              flaggems::memory_pool<mock_device>::rounded_size(1000) +
                  flaggems::memory_pool<mock_device>::rounded_size(100));
    EXPECT_EQ(now.reserved_bytes.current, now.allocated_bytes.current);
    EXPECT_EQ(now.segment.current, 2);
    EXPECT_EQ(now.cached_bytes(), 0);
    EXPECT_EQ(mock().used(1), now.reserved_bytes.current);
    EXPECT_EQ(mock().used(0), 0);
  }
  auto end = flaggems::memory_stats<mock_device>(1);
  EXPECT_EQ(end.allocation.current, 0);
  EXPECT_EQ(end.allocation.peak, 2);
  EXPECT_EQ(end.allocated_bytes.current, 0);
  EXPECT_EQ(end.cached_bytes(), end.reserved_bytes.current);
  EXPECT_EQ(end.allocation.allocated - start.allocation.allocated, 2);
  EXPECT_EQ(end.allocation.freed - start.allocation.freed, 2);
  EXPECT_EQ(end.num_device_alloc - start.num_device_alloc, 2);
  { auto again = flaggems::pool_allocate(1000, s); }
  EXPECT_EQ(flaggems::memory_stats<mock_device>(1).num_device_alloc, end.num_device_alloc);
  flaggems::empty_cache<mock_device>(1);
  end = flaggems::memory_stats<mock_device>(1);
  EXPECT_EQ(end.reserved_bytes.current, 0);
  EXPECT_GT(end.reserved_bytes.peak, 0);
  EXPECT_TRUE(mock().live.empty());
  // The other device's pool is another one.
  EXPECT_EQ(flaggems::memory_stats<mock_device>(0).reserved_bytes.current, 0);
}

TEST_F(memory_pool, blocks_outlive_their_stream) {
  flaggems::pool_block<mock_device> kept;
  {
    mock_stream s;
    kept = flaggems::pool_allocate(1000, s);
    { auto cached = flaggems::pool_allocate(5000, s); }
    mock().busy.insert(s.handle());
  }
  mock_stream other;
  void* data = kept.data();
  kept = {};  // its stream is gone: nothing may be asked of it
  EXPECT_EQ(flaggems::pool_allocate(1000, other).data(), data);
  auto five = flaggems::pool_allocate(5000, other);
  EXPECT_EQ(mock().live.size(), 2u);
  EXPECT_TRUE(mock().waits.empty());
}

TEST_F(memory_pool, waits_for_the_streams_recorded) {
  mock_stream a, b;
  {
    auto x = flaggems::pool_allocate(1000, a);
    x.record_stream(a);
    x.record_stream(b);
    x.record_stream(b);
    EXPECT_TRUE(mock().waits.empty());
  }
  ASSERT_EQ(mock().waits.size(), 1u);
  EXPECT_EQ(mock().waits[0], std::pair(a.handle(), b.handle()));
  // A recorded stream that ends before the block does.
  auto y = flaggems::pool_allocate(1000, a);
  {
    mock_stream c;
    y.record_stream(c);
  }
  y = {};
  EXPECT_EQ(mock().waits.size(), 1u);
}

// An allocator in the place of the device's.
struct other_source final : flaggems::memory_source<mock_device> {
  bool keeps = false;
  std::vector<i64> given, returned;         // bytes
  std::vector<std::pair<void*, int>> back;  // what came back, in the order of which stream

  void* allocate(i64 bytes, const flaggems::stream_ref<mock_device>& stream) override {
    EXPECT_EQ(mock_device::current_device(), stream.device_index());
    void* const data = mock_device::allocate(bytes, stream.handle());
    if (data != nullptr) given.push_back(bytes);
    return data;
  }
  void deallocate(void* data, i64 bytes,
                  const flaggems::stream_ref<mock_device>& stream) noexcept override {
    returned.push_back(bytes);
    back.emplace_back(data, stream.handle());
    const flaggems::device_guard<mock_device> guard(stream.device_index());
    mock_device::deallocate(data, bytes, stream.handle());
  }
  bool keeps_freed() const noexcept override { return keeps; }
};

TEST_F(memory_pool, takes_memory_from_another_source) {
  auto& pool = flaggems::pool<mock_device>(1);
  mock_stream s(1);
  other_source source;
  auto own = flaggems::pool_allocate(1000, s);
  pool.set_source(&source);
  void* first = nullptr;
  {
    auto x = flaggems::pool_allocate(1000, s);
    first = x.data();
    EXPECT_EQ(source.given,
              std::vector<i64>{flaggems::memory_pool<mock_device>::rounded_size(1000)});
  }
  EXPECT_TRUE(source.returned.empty());
  auto again = flaggems::pool_allocate(1000, s);
  EXPECT_EQ(again.data(), first) << "kept by the pool";
  pool.set_source(nullptr);
  again = {};
  own = {};
  { auto x = flaggems::pool_allocate(1 << 20, s); }
  EXPECT_EQ(source.given.size(), 1u);
  EXPECT_TRUE(source.returned.empty());
  flaggems::empty_cache<mock_device>(1);
  EXPECT_EQ(source.returned, source.given) << "each block goes back to where it came from";
  EXPECT_EQ(mock().live.size(), 0u);
}

TEST_F(memory_pool, a_source_may_keep_freed_memory_itself) {
  auto& pool = flaggems::pool<mock_device>(0);
  mock_stream a, b;
  other_source source;
  source.keeps = true;
  pool.set_source(&source);
  const auto before = pool.stats();
  auto own = flaggems::pool_allocate(500, a);
  void* const data = own.data();
  own.record_stream(b);
  mock().busy.insert(b.handle());
  own = {};
  ASSERT_EQ(source.back.size(), 1u);
  EXPECT_EQ(source.back[0], std::pair(data, static_cast<int>(a.handle())));
  ASSERT_EQ(mock().waits.size(), 1u) << "its stream waits for what used the block";
  EXPECT_EQ(mock().waits[0], std::pair(a.handle(), b.handle()));
  const auto after = pool.stats();
  EXPECT_EQ(after.reserved_bytes.current, before.reserved_bytes.current);
  EXPECT_EQ(after.segment.current, before.segment.current);
  EXPECT_EQ(after.num_device_free, before.num_device_free + 1);
  // Of a stream that has ended the memory is idle.
  std::optional<mock_stream> c(std::in_place);
  auto last = flaggems::pool_allocate(500, *c);
  c.reset();
  last = {};
  ASSERT_EQ(source.back.size(), 2u);
  EXPECT_EQ(source.back[1].second, mock_device::default_stream());
  pool.set_source(nullptr);
}

TEST_F(memory_pool, an_exhausted_source_is_reported) {
  auto& pool = flaggems::pool<mock_device>(0);
  mock_stream s;
  other_source source;
  source.keeps = true;
  pool.set_source(&source);
  mock().capacity = 1024;
  try {
    auto x = flaggems::pool_allocate(4096, s);
    ADD_FAILURE();
  } catch (const flaggems::error& e) {
    EXPECT_EQ(e.code(), flaggems::errc::out_of_memory);
  }
  pool.set_source(nullptr);
}

TEST_F(memory_pool, is_thread_safe) {
  const auto before = flaggems::memory_stats<host>();
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      std::mt19937 random(t);
      flaggems::stream<host> s;
      std::vector<flaggems::pool_block<host>> blocks(16);
      for (int i = 0; i < 3000; ++i) {
        auto& b = blocks[random() % blocks.size()];
        const auto* old = static_cast<const unsigned char*>(b.data());
        if (b.bytes() > 0) {
          ASSERT_EQ(old[0], t + 1);
          ASSERT_EQ(old[b.bytes() - 1], t + 1);
        }
        b = flaggems::pool_allocate(1 + static_cast<i64>(random() % 5000), s);
        std::memset(b.data(), static_cast<int>(t + 1), static_cast<std::size_t>(b.bytes()));
        if (i % 500 == 0) flaggems::empty_cache<host>();
      }
    });
  for (auto& t : threads) t.join();
  const auto after = flaggems::memory_stats<host>();
  EXPECT_EQ(after.allocation.current, before.allocation.current);
  EXPECT_EQ(after.allocated_bytes.current, before.allocated_bytes.current);
}

TEST_F(memory_pool, works_in_a_child_forked_while_others_allocate) {
  FLAGGEMS_TEST_FORKS();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&stop] {
      const flaggems::stream<host> s;
      while (!stop) static_cast<void>(flaggems::pool_allocate(1000, s));
    });
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // instead of waiting for ever for a lock that nobody has
      static_cast<void>(flaggems::pool_allocate(1000, flaggems::stream_ref<host>()));
      _exit(0);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    if (status != 0) break;
  }
  stop = true;
  for (auto& t : threads) t.join();
}

}  // namespace
