// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What every device type must do, yours too (docs/device-guide.md, Then test it): order in and
// between streams, events, current devices, copies, threads. That the checks find what they are for
// is shown on types with a defect.
#include <flaggems/device/graph.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>
#include "../../examples/03_device_type.hpp"

#include <gtest/gtest.h>

#include <support/devices.hpp>
#include <support/mock_device.hpp>
#include <support/queued_device.hpp>
#include <support/user_kernels.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

namespace {

using flaggems::copy_kind;
using flaggems::i32;
using flaggems::i64;
using flaggems_test::add_one;
using flaggems_test::note_count;
using flaggems_test::note_threads;

/// Whether a device's launches compile.
template <class D>
inline constexpr bool has_kernels =
    flaggems::execution_model<D> != flaggems::execution::vector_core;

/// Where they do not, the host adds, in the order of the stream.
template <class D>
void launch_add_one(const flaggems::stream_ref<D>& s, i32* x, i64 n) {
  if constexpr (has_kernels<D>) {
    flaggems::launch_config config;
    config.op = "add_one";
    config.tiles = (n + add_one::tile - 1) / add_one::tile;
    flaggems::launch<add_one>(s, config, x, n);
  } else {
    const flaggems::detail::on_device<D> scope(s.device_index());
    std::vector<i32> there(static_cast<std::size_t>(n));
    D::copy(there.data(), x, n * 4, copy_kind::device_to_host, s.handle());
    D::synchronize(s.handle());
    for (i32& value : there) ++value;
    D::copy(x, there.data(), n * 4, copy_kind::host_to_device, s.handle());
    D::synchronize(s.handle());
  }
}

/// Whether a device tells the times of events.
template <class D>
inline constexpr bool has_times = true;
template <class D>
requires requires { D::capabilities::event_times; }
inline constexpr bool has_times<D> = D::capabilities::event_times;

/// Memory of the pool and its elements.
template <class D>
struct array {
  flaggems::tensor<i32, D> memory;
  flaggems::stream_ref<D> stream;
  array(const flaggems::stream_ref<D>& s, i64 n, i32 value = 0)
      : memory(flaggems::from_values<i32>(s, std::vector<i32>(static_cast<std::size_t>(n), value),
                                          {n})),
        stream(s) {}
  [[nodiscard]] std::vector<i32> values(const flaggems::stream_ref<D>& s) const {
    const auto h = flaggems::to_host(s, memory);
    return std::vector<i32>(h.data(), h.data() + h.numel());
  }
};

constexpr i64 large = i64{1} << 19;  // elements

/// Queues a long row of work on `s`, and behind it a copy of `value` to x.
template <class D>
void set_late(const flaggems::stream_ref<D>& s, array<D>& busy, array<D>& x,
              const array<D>& value) {
  const flaggems::detail::on_device<D> scope(s.device_index());
  for (int i = 0; i < 16; ++i)
    D::copy(busy.memory.data() + large / 2, busy.memory.data(), large / 2 * 4,
            copy_kind::device_to_device, s.handle());
  D::copy(x.memory.data(), value.memory.data(), x.memory.bytes(), copy_kind::device_to_device,
          s.handle());
}

/// Whether what is queued in b after a wait sees what was queued in a before the record; with
/// `and_then` between the wait and the work.
template <class D, class F>
bool wait_orders(F&& and_then) {
  flaggems::stream<D> a, b;
  array<D> busy(a, large), x(a, 100, 1), seven(a, 100, 7);
  std::optional<flaggems::event<D>> e(std::in_place);
  set_late<D>(a, busy, x, seven);
  e->record(a);
  b.wait(*e);
  and_then(e, b);
  launch_add_one<D>(b, x.memory.data(), 100);
  const bool good = x.values(b) == std::vector<i32>(100, 8);
  a.synchronize();
  return good;
}
template <class D>
bool wait_orders() {
  return wait_orders<D>([](auto&, auto&) {});
}
template <class D>
bool wait_outlives_event() {
  return wait_orders<D>([](auto& e, auto&) { e.reset(); });
}
/// The wait is for the mark of its time: one that comes later, in b itself behind the wait, would
/// never come.
template <class D>
bool wait_is_for_the_last_mark() {
  return wait_orders<D>([](auto& e, auto& b) { e->record(b); });
}
template <class D>
bool current_device_is_the_threads() {
  if (D::device_count() < 2) return true;
  const flaggems::device_guard<D> guard(1);
  int other = -1;
  std::thread([&] {
    other = D::current_device();
    D::set_device(0);
  }).join();
  return other == 0 && D::current_device() == 1;
}

template <class D>
class conformance : public testing::Test {
 protected:
  void SetUp() override {
    if (D::device_count() < 1) GTEST_SKIP() << std::string(D::unavailable_reason());
    D::set_device(0);
  }
  void TearDown() override {
    EXPECT_TRUE(D::device_count() < 1 || D::current_device() == 0);
    EXPECT_TRUE(support::mock().mistakes.empty()) << support::mock().mistakes.front();
    support::mock().mistakes.clear();
  }
};
using devices = flaggems_test::devices_and_own<flaggems::host, flaggems::simt32, flaggems::simt1,
                                               toy, support::mock_device, support::queued_device>;
TYPED_TEST_SUITE(conformance, devices);

TYPED_TEST(conformance, one_stream_waits_for_another) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(wait_orders<TypeParam>());
}
TYPED_TEST(conformance, a_wait_outlives_its_event) {
  EXPECT_TRUE(wait_outlives_event<TypeParam>());
}
TYPED_TEST(conformance, a_wait_is_for_the_last_mark) {
  EXPECT_TRUE(wait_is_for_the_last_mark<TypeParam>());
}
TYPED_TEST(conformance, a_later_mark_replaces_an_earlier_one) {
  using D = TypeParam;
  flaggems::stream<D> a, b;
  array<D> busy(a, large), x(a, 100, 1), seven(a, 100, 7);
  flaggems::event<D> e;
  e.record(a);
  set_late<D>(a, busy, x, seven);
  e.record(a);
  b.wait(e);
  launch_add_one<D>(b, x.memory.data(), 100);
  EXPECT_EQ(x.values(b), std::vector<i32>(100, 8));
  EXPECT_TRUE(e.query());
}

TYPED_TEST(conformance, an_event_never_recorded_is_waited_for_by_nobody) {
  flaggems::stream<TypeParam> s;
  flaggems::event<TypeParam> never, once;
  EXPECT_TRUE(never.query());
  never.synchronize();
  s.wait(never);
  s.synchronize();
  once.record(s);
  once.synchronize();
  EXPECT_THROW(static_cast<void>(elapsed_ms(never, once)), flaggems::error);
  EXPECT_THROW(static_cast<void>(elapsed_ms(once, never)), flaggems::error);
}

TYPED_TEST(conformance, events_tell_time_and_when_work_is_done) {
  using D = TypeParam;
  flaggems::stream<D> s;
  array<D> busy(s, large), x(s, 100, 1), seven(s, 100, 7);
  flaggems::event<D> begin, end;
  begin.record(s);
  set_late<D>(s, busy, x, seven);
  end.record(s);
  end.synchronize();
  EXPECT_TRUE(end.query() && begin.query());
  if constexpr (has_times<D>) {
    EXPECT_GT(elapsed_ms(begin, end), 0);
    EXPECT_LT(elapsed_ms(end, begin), 0);
  } else {
    EXPECT_THROW(static_cast<void>(elapsed_ms(begin, end)), flaggems::error);
  }
  flaggems::stream<D> other;
  EXPECT_EQ(x.values(other), std::vector<i32>(100, 7));  // done: any stream sees it
}

TYPED_TEST(conformance, a_stream_is_done_when_it_says_so) {
  using D = TypeParam;
  flaggems::stream<D> s, other;
  array<D> busy(s, large), x(s, 100, 1), seven(s, 100, 7);
  set_late<D>(s, busy, x, seven);
  while (!s.query()) std::this_thread::yield();
  EXPECT_EQ(x.values(other), std::vector<i32>(100, 7));
  set_late<D>(s, busy, seven, x);
  s.synchronize();
  EXPECT_TRUE(s.query());
}

TYPED_TEST(conformance, copies_fills_and_launches_keep_the_order_of_a_stream) {
  using D = TypeParam;
  flaggems::stream<D> s;
  for (const i64 n : {i64{1}, i64{63}, i64{1000}, large / 4}) {
    array<D> x(s, n), y(s, n, 5);
    {
      const flaggems::detail::on_device<D> scope(s.device_index());
      if (n <= 1000) launch_add_one<D>(s, x.memory.data(), n);  // the fill is behind it
      D::fill(x.memory.data(), 0x11, n * 4, s.handle());
      D::copy(y.memory.data(), x.memory.data(), n * 4, copy_kind::device_to_device, s.handle());
    }
    if (n <= 1000) launch_add_one<D>(s, y.memory.data(), n);
    const i32 added = n <= 1000 ? 1 : 0;
    EXPECT_EQ(x.values(s), std::vector<i32>(static_cast<std::size_t>(n), 0x11111111));
    EXPECT_EQ(y.values(s), std::vector<i32>(static_cast<std::size_t>(n), 0x11111111 + added));
  }
}

TYPED_TEST(conformance, nothing_happens_for_no_bytes_and_no_tiles) {
  using D = TypeParam;
  flaggems::stream<D> s;
  array<D> x(s, 10, 3);
  i32 value = 4;
  for (const auto kind : {copy_kind::host_to_device, copy_kind::device_to_device})
    D::copy(x.memory.data(), kind == copy_kind::host_to_device ? &value : x.memory.data() + 5, 0,
            kind, s.handle());
  D::copy(&value, x.memory.data(), 0, copy_kind::device_to_host, s.handle());
  D::fill(x.memory.data(), 1, 0, s.handle());
  launch_add_one<D>(s, x.memory.data(), 0);
  EXPECT_EQ(x.values(s), std::vector<i32>(10, 3));
  EXPECT_EQ(value, 4);
}

TYPED_TEST(conformance, a_grid_has_no_more_blocks_than_tiles) {
  using D = TypeParam;
  if constexpr (has_kernels<D>) {
    flaggems::stream<D> s;
    array<D> count(s, 1);
    for (const i64 tiles : {1, 2, 3, 50}) {
      flaggems::launch_config config;
      config.op = "note_count";
      config.tiles = tiles;
      flaggems::launch<note_count>(s, config, count.memory.data());
      EXPECT_GE(count.values(s)[0], 1);
      EXPECT_LE(count.values(s)[0], tiles);
    }
  }
}

TYPED_TEST(conformance, refuses_launches_of_negative_numbers) {
  using D = TypeParam;
  if constexpr (has_kernels<D>) {
    flaggems::stream<D> s;
    array<D> x(s, 1);
    const auto expect_refused = [&](auto member, auto value) {
      flaggems::launch_config config;
      config.op = "add_one";
      config.*member = value;
      try {
        flaggems::launch<add_one>(s, config, x.memory.data(), i64{1});
        ADD_FAILURE() << value;
      } catch (const flaggems::error& e) {
        EXPECT_EQ(e.code(), flaggems::errc::invalid_argument) << e.what();
      }
    };
    expect_refused(&flaggems::launch_config::cluster, 0);
    expect_refused(&flaggems::launch_config::cluster, -1);
    expect_refused(&flaggems::launch_config::threads, -32);
    expect_refused(&flaggems::launch_config::scratch, i64{-1});
    EXPECT_EQ(x.values(s)[0], 0);
  }
}

TYPED_TEST(conformance, has_a_default_stream) {
  using D = TypeParam;
  const flaggems::stream_ref<D> s;
  EXPECT_TRUE(s == (flaggems::stream_ref<D>(D::default_stream(), D::current_device())));
  array<D> x(s, 100, 1);
  launch_add_one<D>(s, x.memory.data(), 100);
  flaggems::event<D> e;
  e.record(s);
  flaggems::stream<D> other;
  other.wait(e);
  EXPECT_EQ(x.values(other), std::vector<i32>(100, 2));
  s.synchronize();
  EXPECT_TRUE(s.query());
}

TYPED_TEST(conformance, memory_is_used_again_in_the_order_of_its_stream) {
  using D = TypeParam;
  flaggems::stream<D> s, other;
  array<D> busy(s, large), seven(s, 1000, 7);
  for (int i = 0; i < 5; ++i) {
    array<D> x(s, 1000, i);
    set_late<D>(s, busy, x, seven);  // x ends before its work does
  }
  array<D> y(other, 1000, 1);
  array<D> z(s, 1000, 2);
  s.synchronize();
  EXPECT_EQ(y.values(other), std::vector<i32>(1000, 1));
  EXPECT_EQ(z.values(s), std::vector<i32>(1000, 2));
  // The device's own, without the pool before it.
  for (int i = 0; i < 8; ++i) {
    void* const block = D::allocate(4096, s.handle());
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % flaggems::pool_alignment<D>, 0u);
    D::fill(block, i, 4096, s.handle());
    D::deallocate(block, 4096, s.handle());
  }
  s.synchronize();
}

TYPED_TEST(conformance, every_device_works) {
  using D = TypeParam;
  for (int index = 0; index < D::device_count(); ++index) {
    EXPECT_FALSE(D::properties(index).name.empty());
    flaggems::stream<D> s(index);  // while 0 is current
    array<D> x(s, 100, index);
    EXPECT_EQ(x.memory.device_index(), index);
    flaggems::event<D> begin(index), end(index);
    begin.record(s);
    launch_add_one<D>(s, x.memory.data(), 100);
    end.record(s);
    flaggems::stream<D> other(index);
    other.wait(end);
    EXPECT_EQ(x.values(other), std::vector<i32>(100, index + 1));
    if constexpr (has_times<D>) {
      EXPECT_GE(elapsed_ms(begin, end), 0);
    }
    const flaggems::stream_ref<D> by_default(D::default_stream(), index);
    EXPECT_EQ(array<D>(by_default, 10, 4).values(by_default), std::vector<i32>(10, 4));
    EXPECT_EQ(D::current_device(), 0);
    flaggems::empty_cache<D>(index);
  }
  EXPECT_THROW(flaggems::stream<D>{D::device_count()}, flaggems::error);
}
TYPED_TEST(conformance, a_stream_waits_for_an_event_of_another_device) {
  using D = TypeParam;
  const int last = D::device_count() - 1;
  flaggems::stream<D> a(last), b(0);
  flaggems::event<D> e(last);
  e.record(a);
  b.wait(e);
  b.synchronize();
  EXPECT_TRUE(e.query());
}
TYPED_TEST(conformance, copies_to_another_device_are_in_the_order_of_both_streams) {
  using D = TypeParam;
  if constexpr (flaggems::detail::has_one_device<D> || flaggems::device_peer_copies<D>) {
    for (int index = 0; index < D::device_count(); ++index) {
      flaggems::stream<D> from(0), to(index);
      array<D> busy(from, large), x(from, 100, 1), seven(from, 100, 7);
      set_late<D>(from, busy, x, seven);
      auto y = flaggems::to_device(to, x.memory, from);
      EXPECT_EQ(y.device_index(), index);
      launch_add_one<D>(from, x.memory.data(), 100);  // not before x has been read
      launch_add_one<D>(to, y.data(), 100);
      const auto there = flaggems::to_host(to, y);
      EXPECT_EQ(std::vector<i32>(there.data(), there.data() + 100), std::vector<i32>(100, 8));
      EXPECT_EQ(x.values(from), std::vector<i32>(100, 8));
      EXPECT_EQ(flaggems::to_device(to, y, to).numel(), 100);
      EXPECT_TRUE(flaggems::to_device(to, flaggems::tensor<i32, D>(), from).empty());
      flaggems::empty_cache<D>(index);
    }
  }
}
TYPED_TEST(conformance, pinned_memory_is_copied_in_stream_order) {
  using D = TypeParam;
  flaggems::stream<D> s;
  flaggems::pinned<i32, D> in({1000}), out({1000}), none;
  EXPECT_EQ(none.numel(), 0);
  for (int k = 0; k < 1000; ++k) in[k] = k;
  auto x = flaggems::empty<i32>(s, {1000}), y = flaggems::empty<i32>(s, {1000});
  copy_async(s, x, in);
  launch_add_one<D>(s, x.data(), 1000);
  copy_async(s, y, x);
  copy_async(s, out, y);
  s.synchronize();
  for (int k = 0; k < 1000; ++k) ASSERT_EQ(out[k], k + 1);
  none = std::move(out);
  EXPECT_EQ(none[999], 1000);
  EXPECT_EQ(out.numel(), 0);
  const std::vector<i32> pageable(1000, 3);
  copy_async(s, x, flaggems::tensor_view<const i32>(pageable.data(), {1000}));
  copy_async(s, none, x);
  s.synchronize();
  EXPECT_EQ(none[500], 3);
  EXPECT_THROW(copy_async(s, x, in.view().slice(0, 0, 10)), flaggems::error);
  EXPECT_THROW(copy_async(s, x.view().slice(0, 0, 1000, 2), in.view().slice(0, 0, 500)),
               flaggems::error);
  EXPECT_THROW((flaggems::pinned<i32, D>({-1})), flaggems::error);
}
TYPED_TEST(conformance, streams_have_priorities) {
  using D = TypeParam;
  for (const int priority : {-100, -1, 0, 1, 100}) {
    flaggems::stream<D> s(0, priority);
    array<D> x(s, 100, 1);
    launch_add_one<D>(s, x.memory.data(), 100);
    EXPECT_EQ(x.values(s), std::vector<i32>(100, 2));
  }
}
TYPED_TEST(conformance, graphs_do_their_work_when_they_are_launched) {
  using D = TypeParam;
  if constexpr (flaggems::device_graphs<D>) {
    flaggems::stream<D> s;
    array<D> x(s, 100, 1);
    flaggems::pinned<i32, D> in({100}), out({100});
    flaggems::graph<D> g = flaggems::capture(s, [&] {
      flaggems::tensor<i32, D> between = x.memory.clone(s);
      launch_add_one<D>(s, between.data(), 100);
      copy_async(s, x.memory, between);
      copy_async(s, out, x.memory);
    });
    EXPECT_EQ(x.values(s), std::vector<i32>(100, 1));
    for (int k = 0; k < 3; ++k) g.launch(s);
    s.synchronize();
    EXPECT_EQ(out[99], 4);
    EXPECT_EQ(x.values(s), std::vector<i32>(100, 4));
  }
}
TYPED_TEST(conformance, warming_up_does_no_work) {
  using D = TypeParam;
  if constexpr (has_kernels<D>) {
    flaggems::stream<D> s;
    array<D> x(s, 100, 1);
    flaggems::warm_up(s, [&] { launch_add_one<D>(s, x.memory.data(), 100); });
    EXPECT_EQ(x.values(s), std::vector<i32>(100, 1));
    launch_add_one<D>(s, x.memory.data(), 100);
    EXPECT_EQ(x.values(s), std::vector<i32>(100, 2));
  }
}
TYPED_TEST(conformance, the_current_device_is_a_threads_own) {
  EXPECT_TRUE(current_device_is_the_threads<TypeParam>());
}

TYPED_TEST(conformance, blocks_have_the_threads_that_a_launch_asks_for) {
  using D = TypeParam;
  if constexpr (flaggems::execution_model<D> == flaggems::execution::simt) {
    flaggems::stream<D> s;
    for (const int threads : {32, 100, 512}) {
      array<D> seen(s, 1);
      flaggems::launch_config config;
      config.op = "note_threads";
      config.threads = threads;
      flaggems::launch<note_threads>(s, config, seen.memory.data());
      EXPECT_GE(seen.values(s)[0], threads);
    }
  }
}

TYPED_TEST(conformance, exhausted_memory_is_an_error_and_not_the_end) {
  using D = TypeParam;
  flaggems::stream<D> s;
  try {
    static_cast<void>(flaggems::empty<i32>(s, {i64{1} << 50}));
    ADD_FAILURE() << "4 PiB";
  } catch (const flaggems::error& e) {
    EXPECT_EQ(e.code(), flaggems::errc::out_of_memory) << e.what();
  }
  EXPECT_EQ((array<D>(s, 10, 3).values(s)), std::vector<i32>(10, 3));
}

// What work is queued for may go before it is done, in any order.
TYPED_TEST(conformance, streams_events_and_memory_end_in_any_order) {
  using D = TypeParam;
  for (int order = 0; order < 6; ++order) {
    flaggems::stream<D> other;
    array<D> result(other, 100);
    std::optional<flaggems::stream<D>> s(std::in_place);
    std::optional<flaggems::event<D>> e(std::in_place);
    std::optional<array<D>> x(std::in_place, *s, 100, order);
    launch_add_one<D>(*s, x->memory.data(), 100);
    {
      const flaggems::detail::on_device<D> scope(s->device_index());
      D::copy(result.memory.data(), x->memory.data(), 400, copy_kind::device_to_device,
              s->handle());
    }
    e->record(*s);
    other.wait(*e);
    const auto end = [&](int which) {
      if (which == 0) s.reset();
      if (which == 1) e.reset();
      if (which == 2) x.reset();
    };
    end(order / 2);
    end((order / 2 + 1 + order % 2) % 3);
    end((order / 2 + 2 - order % 2) % 3);
    EXPECT_EQ(result.values(other), std::vector<i32>(100, order + 1)) << order;
  }
}

TYPED_TEST(conformance, what_is_no_image_is_no_module) {
  using D = TypeParam;
  if constexpr (flaggems::device_modules<D>) {
    const char image[] = "this is no image of any device";
    for (int k = 0; k < 2; ++k)
      EXPECT_THROW(static_cast<void>(D::load_module(image, sizeof(image))), flaggems::error);
    flaggems::stream<D> s;
    array<D> x(s, 100, 1);
    launch_add_one<D>(s, x.memory.data(), 100);
    EXPECT_EQ(x.values(s), std::vector<i32>(100, 2));
  }
}

TYPED_TEST(conformance, threads_work_at_the_same_time) {
  using D = TypeParam;
  flaggems::stream<D> shared;
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const int index = t % D::device_count();
      for (int i = 0; i < 5; ++i) {
        flaggems::stream<D> own(index);
        array<D> x(own, 500, t), y(shared, 500, t);
        launch_add_one<D>(own, x.memory.data(), 500);
        launch_add_one<D>(shared, y.memory.data(), 500);
        good += x.values(own) == std::vector<i32>(500, t + 1);
        good += y.values(shared) == std::vector<i32>(500, t + 1);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(good, 40);
}

// A device with a defect does not pass.
template <support::defect Defect>
using defective = support::queued<Defect>;
#if !defined(__SANITIZE_THREAD__)  // a race, as is to be expected
TEST(conformance_finds, a_wait_that_does_nothing) {
  bool is_in_order = true;  // as it may be by luck, on a machine that has other work
  for (int i = 0; is_in_order && i < 20; ++i)
    is_in_order = wait_orders<defective<support::defect::wait_is_empty>>();
  EXPECT_FALSE(is_in_order);
}
#endif
TEST(conformance_finds, a_current_device_that_threads_share) {
  EXPECT_FALSE(current_device_is_the_threads<defective<support::defect::shared_current_device>>());
  defective<support::defect::shared_current_device>::set_device(0);
}

}  // namespace
