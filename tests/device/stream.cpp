// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/device/stream.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <support/mock_device.hpp>

#include <set>
#include <thread>

namespace {

using flaggems::host;
using support::mock;
using support::mock_device;

static_assert(flaggems::stream_like<flaggems::stream<host>>);
static_assert(flaggems::stream_like<flaggems::stream_ref<host>>);
static_assert(flaggems::stream_like<const flaggems::stream<mock_device>&>);
static_assert(!flaggems::stream_like<int> && !flaggems::stream_like<host>);
static_assert(std::is_same_v<flaggems::device_of<const flaggems::stream<host>&>, host>);
static_assert(std::is_convertible_v<flaggems::stream<host>, flaggems::stream_ref<host>>);
static_assert(!std::is_convertible_v<host::stream_handle, flaggems::stream_ref<host>>);
static_assert(!std::is_copy_constructible_v<flaggems::stream<host>>);
static_assert(std::is_nothrow_move_constructible_v<flaggems::stream<host>>);
static_assert(std::is_nothrow_move_assignable_v<flaggems::stream<host>>);
static_assert(!std::is_copy_constructible_v<flaggems::event<host>>);
static_assert(std::is_trivially_copyable_v<flaggems::stream_ref<host>>);

class stream : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(mock().streams.size(), 1u);
    EXPECT_TRUE(mock().events.empty());
    EXPECT_TRUE(mock().mistakes.empty()) << mock().mistakes.front();
    mock().mistakes.clear();
    EXPECT_EQ(mock_device::current_device(), 0);
  }
};

TEST_F(stream, owns_its_handle) {
  flaggems::stream<mock_device> a;
  EXPECT_EQ(mock().streams.size(), 2u);
  const int handle = a.handle();
  flaggems::stream<mock_device> b = std::move(a);
  EXPECT_EQ(b.handle(), handle);
  flaggems::stream<mock_device> c;
  EXPECT_EQ(mock().streams.size(), 3u);
  c = std::move(b);
  EXPECT_EQ(mock().streams.size(), 2u);
  EXPECT_EQ(c.handle(), handle);
}

TEST_F(stream, reference_owns_nothing) {
  {
    flaggems::stream_ref<mock_device> r;
    EXPECT_EQ(r.handle(), 0);
    flaggems::stream<mock_device> s;
    r = s;
    EXPECT_EQ(r.handle(), s.handle());
    EXPECT_TRUE(r == flaggems::ref(s));
    EXPECT_FALSE(r == flaggems::stream_ref<mock_device>());
    EXPECT_FALSE(r == flaggems::stream_ref<mock_device>(s.handle(), 1));
  }
  EXPECT_EQ(mock().streams.size(), 1u);
}

TEST_F(stream, is_made_on_the_device_asked_for) {
  flaggems::stream<mock_device> s(1);
  EXPECT_EQ(s.device_index(), 1);
  EXPECT_EQ(mock_device::current_device(), 0);
  try {
    flaggems::stream<mock_device> none(2);
    FAIL();
  } catch (const flaggems::error& e) {
    EXPECT_EQ(e.code(), flaggems::errc::device_unavailable);
    EXPECT_NE(std::string(e.what()).find("a mock device in [0, 1], got 2"), std::string::npos)
        << e.what();
  }
}

TEST_F(stream, has_events_of_devices_that_exist) {
  for (const int index : {2, -1}) {
    try {
      const flaggems::event<mock_device> none(index);
      ADD_FAILURE() << index;
    } catch (const flaggems::error& e) {
      EXPECT_EQ(e.code(), flaggems::errc::device_unavailable);
    }
  }
}

TEST_F(stream, tells_why_there_is_no_device) {
  mock().count = 0;
  try {
    flaggems::stream<mock_device> none;
    ADD_FAILURE();
  } catch (const flaggems::error& e) {
    EXPECT_EQ(e.code(), flaggems::errc::device_unavailable);
    EXPECT_EQ(e.got(), "the mock device is switched off");
  }
  mock().count = 2;
}

TEST_F(stream, synchronizes_and_queries) {
  flaggems::stream<mock_device> s;
  EXPECT_TRUE(s.query());
  mock().busy.insert(s.handle());
  EXPECT_FALSE(s.query());
  flaggems::synchronize(s);
  EXPECT_TRUE(s.query());
}

TEST_F(stream, waits_for_an_event_of_another) {
  mock().waits.clear();
  flaggems::stream<mock_device> a, b;
  flaggems::event<mock_device> e;
  e.record(a);
  b.wait(e);
  ASSERT_EQ(mock().waits.size(), 1u);
  EXPECT_EQ(mock().waits[0], std::pair(b.handle(), a.handle()));
  mock().busy.insert(a.handle());
  EXPECT_FALSE(e.query());
  e.synchronize();
  EXPECT_TRUE(e.query());
}

TEST_F(stream, events_move_and_measure_time) {
  flaggems::stream<mock_device> s;
  flaggems::event<mock_device> a, b;
  a.record(s);
  b.record(s);
  EXPECT_DOUBLE_EQ(elapsed_ms(a, b), 1.5);
  flaggems::event<mock_device> c = std::move(a);
  EXPECT_DOUBLE_EQ(elapsed_ms(c, b), 1.5);
  b = std::move(c);
  EXPECT_DOUBLE_EQ(elapsed_ms(b, b), 0);
}

template <class D>
void check_moved_from() {
  const auto refuses = [](auto f, const char* who) {
    try {
      f();
      ADD_FAILURE() << "nothing was raised";
    } catch (const flaggems::error& e) {
      EXPECT_EQ(e.code(), flaggems::errc::invalid_argument) << e.what();
      EXPECT_EQ(e.op(), who) << e.what();
    }
  };
  flaggems::stream<D> s, other;
  flaggems::event<D> e, unmoved;
  flaggems::event<D> last(std::move(e));
  flaggems::stream<D> own(std::move(s));
  unmoved.record(own);
  // NOLINTBEGIN(bugprone-use-after-move): what a moved-from object does is specified
  refuses([&] { e.record(own); }, "event");
  refuses([&] { e.synchronize(); }, "event");
  refuses([&] { static_cast<void>(e.query()); }, "event");
  refuses([&] { static_cast<void>(e.handle()); }, "event");
  refuses([&] { own.wait(e); }, "event");
  refuses([&] { static_cast<void>(elapsed_ms(unmoved, e)); }, "event");
  refuses([&] { static_cast<void>(elapsed_ms(e, unmoved)); }, "event");
  refuses([&] { s.synchronize(); }, "stream");
  refuses([&] { static_cast<void>(s.query()); }, "stream");
  refuses([&] { static_cast<void>(s.handle()); }, "stream");
  refuses([&] { static_cast<void>(s.device_index()); }, "stream");
  refuses([&] { s.wait(unmoved); }, "stream");
  refuses([&] { unmoved.record(s); }, "stream");
  refuses([&] { synchronize(s); }, "stream");
  refuses([&] { static_cast<void>(flaggems::pool_allocate(8, s)); }, "stream");
  // Assigned to, they are as good as new.
  s = std::move(other);
  s.synchronize();
  e = std::move(last);
  e.record(s);
  EXPECT_TRUE(e.query());
  // NOLINTEND(bugprone-use-after-move)
}
TEST_F(stream, moved_from_objects_are_refused) {
  check_moved_from<support::mock_device>();
  check_moved_from<flaggems::host>();
}

TEST_F(stream, guard_restores_the_device) {
  {
    flaggems::device_guard<mock_device> g(1);
    EXPECT_EQ(mock_device::current_device(), 1);
    flaggems::device_guard<mock_device> same(1);
    EXPECT_EQ(mock_device::current_device(), 1);
    // The current device is a thread's own.
    int other = -1;
    std::thread([&] { other = mock_device::current_device(); }).join();
    EXPECT_EQ(other, 0);
  }
  EXPECT_EQ(mock_device::current_device(), 0);
  EXPECT_THROW(flaggems::device_guard<mock_device>(-1), flaggems::error);
  EXPECT_THROW(flaggems::device_guard<host>(1), flaggems::error);
}

template <class F>
void expect_mismatch(F&& f, const char* op, const char* expected, const char* got) {
  try {
    f();
    ADD_FAILURE() << "nothing was raised";
  } catch (const flaggems::error& e) {
    EXPECT_EQ(e.code(), flaggems::errc::device_mismatch) << e.what();
    EXPECT_EQ(e.op(), op);
    EXPECT_EQ(e.expected(), expected);
    EXPECT_EQ(e.got(), got);
  }
}

// The mock counts a call with a stream or event of a device that is not current as a mistake.
TEST_F(stream, every_call_is_made_with_its_device_current) {
  flaggems::stream<mock_device> zero, one(1);
  flaggems::event<mock_device> begin(1), end(1), mark(0);
  EXPECT_EQ(begin.device_index(), 1);
  begin.record(one);
  mark.record(zero);
  one.wait(mark);  // of the other device
  zero.wait(begin);
  auto x = flaggems::from_values<float>(one, {-1, 2, 3});
  EXPECT_EQ(x.device_index(), 1);
  auto y = x.clone(one);
  flaggems::relu(one, x, y);  // launch
  EXPECT_EQ(flaggems::to_host(one, y)(0), 0);
  EXPECT_EQ(flaggems::from_host(one, flaggems::to_host(one, x)).device_index(), 1);
  end.record(one);
  end.synchronize();
  EXPECT_TRUE(end.query() && one.query());
  EXPECT_GT(flaggems::elapsed_ms(begin, end), 0);
  one.synchronize();
  {
    flaggems::stream<mock_device> brief(1);
    y.record_stream(brief);
    y.record_stream(zero);
    mock().busy = {brief.handle(), one.handle()};
  }
  EXPECT_EQ(mock().busy, std::set<int>{one.handle()});
  const int waited = static_cast<int>(mock().waits.size());
  y = {};
  ASSERT_EQ(static_cast<int>(mock().waits.size()), waited + 1);
  EXPECT_EQ(mock().waits.back(), std::pair(one.handle(), zero.handle()));
  flaggems::empty_cache<mock_device>(1);
  EXPECT_EQ(mock_device::current_device(), 0);
}

// Both devices have a default stream, with one handle.
TEST_F(stream, streams_of_two_devices_with_one_handle_are_two) {
  flaggems::stream_ref<mock_device> zero(0, 0), one(0, 1);
  mock().waits.clear();
  {
    auto x = flaggems::pool_allocate(1000, zero);
    x.record_stream(one);
    x.record_stream(zero);
  }
  EXPECT_EQ(mock().waits.size(), 1u);
  flaggems::empty_cache<mock_device>(0);
}

TEST_F(stream, another_device_is_refused_where_both_are_known) {
  flaggems::stream<mock_device> zero, one(1);
  flaggems::event<mock_device> a, b(1);
  expect_mismatch([&] { a.record(one); }, "event", "mock:0", "mock:1");
  a.record(zero);
  b.record(one);
  expect_mismatch([&] { static_cast<void>(elapsed_ms(a, b)); }, "elapsed_ms", "mock:0", "mock:1");
  const auto x = flaggems::from_values<float>(one, {1, 2, 3});
  expect_mismatch([&] { static_cast<void>(x.clone(zero)); }, "clone", "mock:1", "mock:0");
  expect_mismatch([&] { static_cast<void>(flaggems::clone(zero, x)); }, "clone", "mock:1",
                  "mock:0");
  expect_mismatch([&] { static_cast<void>(flaggems::to_host(zero, x)); }, "to_host", "mock:1",
                  "mock:0");
}

TEST_F(stream, host_streams_differ_and_are_idle) {
  flaggems::stream<host> a, b;
  EXPECT_FALSE(flaggems::ref(a) == flaggems::ref(b));
  EXPECT_FALSE(flaggems::ref(a) == flaggems::stream_ref<host>());
  EXPECT_TRUE(a.query());
  a.synchronize();
}

TEST_F(stream, host_events_carry_the_time) {
  flaggems::stream<host> s;
  flaggems::event<host> a, b, never;
  a.record(s);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  b.record(s);
  s.wait(b);
  EXPECT_TRUE(b.query());
  EXPECT_GE(elapsed_ms(a, b), 5.0);
  EXPECT_LT(elapsed_ms(a, b), 5000.0);
  EXPECT_LE(elapsed_ms(b, a), -5.0);
  EXPECT_THROW(static_cast<void>(elapsed_ms(a, never)), flaggems::error);
}

}  // namespace
