// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The dialects of CUDA over simulated drivers of their vendors: what is a device's own, what
// drivers refuse, what fails, what is left. device/conformance.cpp has what all devices do.
#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/vendors/host.hpp>
#include <support/errors.hpp>
#include <support/user_kernels.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <vector>

namespace {

namespace fg = flaggems;
using fg::errc;
using fg::f32;
using fg::i32;
using fg::i64;
using flaggems_test::contains;
using flaggems_test::error_of;

template <class D>
struct api_of;
template <class Api>
struct named {
  using type = Api;
};
template <>
struct api_of<fg::hip> : named<flaggems_test::hip_api> {};
template <>
struct api_of<fg::musa> : named<fg::detail::musa_api> {};
template <>
struct api_of<fg::maca> : named<fg::detail::maca_api> {};
template <>
struct api_of<fg::corex> : named<fg::detail::corex_api> {};
template <>
struct api_of<fg::gcu> : named<fg::detail::gcu_api> {};

template <class D>
class dialect : public testing::Test {
 protected:
  using api = typename api_of<D>::type;

  static void fail(const char* function, int nth, int result) {
    flaggems_test::simulated_of<api, decltype(flaggems_sim_fail)>("flaggems_sim_fail")(function,
                                                                                       nth, result);
  }
  static long live(const char* what) {
    return flaggems_test::simulated_of<api, decltype(flaggems_sim_live)>("flaggems_sim_live")(what);
  }
  static long calls(const char* function) {
    return flaggems_test::simulated_of<api, decltype(flaggems_sim_calls)>("flaggems_sim_calls")(
        function);
  }
  void SetUp() override {
    ASSERT_EQ(D::device_count(), 2) << D::unavailable_reason();
    bytes_before_ = live("bytes");
  }
  void TearDown() override {
    fail("", 0, 0);
    fg::empty_cache<D>(0);
    fg::empty_cache<D>(1);
    EXPECT_TRUE(keeps_blocks_ || live("bytes") == bytes_before_) << live("bytes");
    for (const char* what : {"streams", "events", "pinned"}) EXPECT_EQ(live(what), 0) << what;
  }
  bool keeps_blocks_ = false;  // as the pool does with those of a stream that failed
  long bytes_before_ = 0;
  /// The name of a fault, without the driver's prefix.
  static std::string fault(const char* name) {
    return (api::functions.context_retain.exists() ? std::string(api::functions.init.name, 2)
                                                   : std::string("driver")) +
           name;
  }
  static fg::tensor<f32, D> numbers(const fg::stream<D>& s, i64 rows, i64 columns) {
    return fg::from_host(s, numbers_on_host(rows, columns));
  }
  static fg::tensor<f32> numbers_on_host(i64 rows, i64 columns) {
    std::vector<f32> values;
    for (i64 k = 0; k < rows * columns; ++k) values.push_back(std::sin(static_cast<f32>(3 * k)));
    return fg::from_values<f32>(fg::stream<fg::host>(), std::span<const f32>(values),
                                {rows, columns});
  }
  template <class X, class Y>
  static void expect_near(const fg::stream<D>& s, const X& x, const Y& y, f32 most) {
    const auto got = fg::to_host(s, x);
    ASSERT_EQ(got.numel(), y.numel());
    for (i64 k = 0; k < y.numel(); ++k) ASSERT_NEAR(got.data()[k], y.data()[k], most) << k;
  }
};
using dialects = testing::Types<fg::hip, fg::musa, fg::maca, fg::corex, fg::gcu>;
TYPED_TEST_SUITE(dialect, dialects);

TYPED_TEST(dialect, has_its_own_properties) {
  using D = TypeParam;
  const fg::device_properties p = D::properties(1);
  EXPECT_EQ(p.warp_size, D::geometry::warp_size);
  EXPECT_EQ(p.compute_units, 2);
  EXPECT_EQ(p.max_cluster, 1);
  EXPECT_EQ(p.total_memory, i64{8} << 30);
  const std::string_view arch = p.arch.view(), name = D::name;
  EXPECT_EQ(arch, name == "hip"     ? "gfx90a"
                  : name == "musa"  ? "mp_31"
                  : name == "maca"  ? "xcore1000"
                  : name == "corex" ? "ivcore11"
                                    : "gcu400");
  EXPECT_EQ(error_of([] { D::set_device(2); }).code(), errc::device_unavailable);
}

TYPED_TEST(dialect, operators_agree_with_the_host) {
  using D = TypeParam;
  const fg::stream<D> s;
  const fg::stream<fg::host> h;
  const auto x = this->numbers(s, 7, 133);
  const auto y = this->numbers_on_host(7, 133);
  this->expect_near(s, fg::add(s, x, x), fg::add(h, y, y), 0);
  this->expect_near(s, fg::add(s, x.view().t(), x.view().t()),
                    fg::add(h, y.view().t(), y.view().t()), 0);
  this->expect_near(s, fg::softmax(s, x, -1), fg::softmax(h, y, -1), 1e-6F);
  this->expect_near(s, fg::sum(s, x, -1), fg::sum(h, y, -1), 1e-4F);
  const auto [sorted, at] = fg::sort(s, x, -1);
  const auto [expected, from] = fg::sort(h, y, -1);
  this->expect_near(s, sorted, expected, 0);
}

// A grid of its geometry, whatever the tiles are: the driver would refuse others.
TYPED_TEST(dialect, any_number_of_tiles_comes_out_right) {
  using D = TypeParam;
  const fg::stream<D> s;
  for (const i64 tiles : {1, 47, 48, 49, 57, 95, 96, 97, 300}) {
    const i64 n = tiles * flaggems_test::add_one::tile - 3;
    auto x = fg::full<i32>(s, {n}, 5);
    fg::launch_config config;
    config.op = "add_one";
    config.tiles = tiles;
    config.threads = 32;
    fg::launch<flaggems_test::add_one>(s, config, x.data(), n);
    const auto there = fg::to_host(s, x);
    for (i64 k = 0; k < n; ++k) ASSERT_EQ(there.data()[k], 6) << tiles << ' ' << k;
  }
}

TYPED_TEST(dialect, scratch_beyond_shared_memory_is_in_a_workspace) {
  using D = TypeParam;
  const fg::stream<D> s;
  const auto x = this->numbers(s, 2, 40000);
  const auto [sorted, at] = fg::sort(s, x, -1);
  const auto [expected, from] =
      fg::sort(fg::stream<fg::host>(), this->numbers_on_host(2, 40000), -1);
  this->expect_near(s, sorted, expected, 0);
}

// Each call of each function, by itself: the error names it, and the program works the next time.
// (Not among them: functions that give something back.)
TYPED_TEST(dialect, each_call_in_turn_may_fail) {
  using D = TypeParam;
  const auto program = [&] {
    const fg::stream<D> s(0), side(0);
    const auto x = this->numbers(s, 1, 9);
    fg::event<D> done;
    done.record(s);
    side.wait(done);
    auto y = fg::add(side, x, fg::zeros<f32>(side, {1, 9}));
    const auto z = fg::clone(side, fg::add(side, y, 1));
    done.record(side);
    (void)side.query();
    done.synchronize();
    if constexpr (fg::device_peer_copies<D>) {
      const fg::stream<D> there(1);
      EXPECT_EQ(fg::to_host(there, fg::to_device(there, z, side)).data()[0], 1);
    }
    EXPECT_EQ(fg::to_host(side, z).data()[0], 1);
  };
  program();  // its kernels are loaded
  this->keeps_blocks_ = true;
  int functions = 0, raised = 0;
  for (const char* function :
       {"MemAlloc_v2", "MemcpyHtoDAsync_v2", "MemcpyDtoHAsync_v2", "MemcpyDtoDAsync_v2",
        "MemcpyPeerAsync", "MemsetD8Async", "StreamCreateWithPriority", "StreamSynchronize",
        "StreamQuery", "StreamWaitEvent", "EventCreate", "EventRecord", "EventSynchronize",
        "LaunchKernel"}) {
    SCOPED_TRACE(function);
    const std::string name = this->fault(function);
    fg::empty_cache<D>();
    fg::empty_cache<D>(1);
    const long before = this->calls(name.c_str());
    program();
    const long n = this->calls(name.c_str()) - before;
    functions += n > 0 ? 1 : 0;
    for (int nth = 1; nth <= n; ++nth) {
      SCOPED_TRACE(nth);
      fg::empty_cache<D>();
      fg::empty_cache<D>(1);
      this->fail(name.c_str(), nth, 719);
      try {
        program();  // it may do without, as for a query
      } catch (const fg::error& e) {
        raised += 1;
        EXPECT_EQ(e.code(), errc::driver_error) << e.what();
        EXPECT_TRUE(contains(e, "(719): simulated")) << e.what();
      }
      this->fail("", 0, 0);
      program();
    }
  }
  EXPECT_GE(functions, 8);
  EXPECT_GE(raised, functions);
}

TYPED_TEST(dialect, exhausted_memory_is_named) {
  using D = TypeParam;
  const fg::stream<D> s;
  const fg::error e = error_of([&] { (void)fg::empty<f32>(s, {i64{1} << 40}); });
  EXPECT_EQ(e.code(), errc::out_of_memory) << e.what();
}

TYPED_TEST(dialect, refuses_images_of_others_and_handles_that_are_gone) {
  using D = TypeParam;
  const fg::device_guard<D> guard(0);
  const char image[] = "flaggems simulated image of another\n";
  const fg::error bad = error_of([&] { (void)D::load_module(image, sizeof(image)); });
  EXPECT_TRUE(contains(bad, "(200)")) << bad.what();
  const auto stream = D::create_stream(0);
  D::destroy_stream(stream);
  EXPECT_TRUE(contains(error_of([&] { D::synchronize(stream); }), "(400)"));
  const auto event = D::create_event();
  D::destroy_event(event);
  EXPECT_TRUE(contains(error_of([&] { D::record(event, D::default_stream()); }), "(400)"));
}

TYPED_TEST(dialect, the_driver_refuses_what_is_out_of_bounds) {
  using D = TypeParam;
  const fg::stream<D> s;
  auto x = fg::zeros<i32>(s, {4});
  i32 there[16] = {};
  EXPECT_THROW(D::copy(x.data(), there, 64 << 10, fg::copy_kind::host_to_device, s.handle()),
               fg::error);
  EXPECT_THROW(D::copy(there, there, 16, fg::copy_kind::device_to_host, s.handle()), fg::error);
  EXPECT_THROW(D::fill(there, 0, 16, s.handle()), fg::error);
}

// Drivers of one vendor with the names of another's: told by their warps.
TEST(dialects, devices_of_another_type_are_none) {
  EXPECT_EQ(fg::hip32::device_count(), 0);
  EXPECT_NE(std::string(fg::hip32::unavailable_reason()).find("have warps of 64 lanes, not 32"),
            std::string::npos)
      << fg::hip32::unavailable_reason();
  EXPECT_EQ(fg::hygon::device_count(), 2);
  EXPECT_EQ(fg::hygon::properties(0).arch, "gfx90a");
}

TEST(dialects, an_architecture_is_found_in_a_structure_of_any_layout) {
  using fg::detail::name_within;
  EXPECT_EQ(name_within(std::string_view("gfx, gfx\0\1gfx942:xnack-\0gfx1", 28), "gfx"), "gfx942");
  EXPECT_EQ(name_within("dtu-enflame-tops--gcu300", "gcu"), "gcu300");
  EXPECT_EQ(name_within("gfx", "gfx"), "");
  EXPECT_EQ(name_within("", "gfx"), "");
}

}  // namespace
