// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// DLPack on devices that work later.
#include <flaggems/adapters/dlpack.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <support/queued_device.hpp>

#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "../tensor/test_support.hpp"
#include "dlpack_devices.hpp"

namespace {

using namespace flaggems;
using support::queued_device;

TEST(dlpack, numbers_of_streams) {
  const auto number = [](auto device, std::optional<i64> n) {
    return dlpack_stream<decltype(device)>(n, 1);
  };
  const auto address = [](const auto& stream) { return std::bit_cast<i64>(stream->handle()); };
  const std::optional<i64> none;
  EXPECT_FALSE(number(cuda_like(), -1).has_value());
  EXPECT_EQ(number(cuda_like(), none)->handle(), nullptr);
  EXPECT_EQ(number(cuda_like(), none)->device_index(), 1);
  EXPECT_EQ(number(cuda_like(), 1)->handle(), nullptr);
  EXPECT_EQ(address(number(cuda_like(), 2)), 2);  // the driver's handle of a thread's own
  EXPECT_EQ(address(number(cuda_like(), 4096)), 4096);
  for (const i64 bad : {i64{0}, i64{-2}, (std::numeric_limits<i64>::min)()})
    EXPECT_RAISES(number(cuda_like(), bad), invalid_argument, "dlpack_stream");
  EXPECT_FALSE(number(rocm_like(), -1).has_value());
  EXPECT_EQ(number(rocm_like(), none)->handle(), nullptr);
  EXPECT_EQ(number(rocm_like(), 0)->handle(), nullptr);
  EXPECT_EQ(address(number(rocm_like(), 3)), 3);
  for (const i64 bad : {1, 2, -2})
    EXPECT_RAISES(number(rocm_like(), bad), invalid_argument, "dlpack_stream");
  EXPECT_EQ(number(queued_device(), 0)->handle(), nullptr);
  EXPECT_EQ(address(number(queued_device(), 1)), 1);
  EXPECT_FALSE(number(host(), -1).has_value());
  EXPECT_EQ(number(host(), none)->handle(), host::default_stream());
  for (const i64 bad : {0, 1, 2, 4096})
    EXPECT_RAISES(number(host(), bad), invalid_argument, "dlpack_stream");

  EXPECT_EQ(dlpack_stream_number(stream_ref<cuda_like>()), 1);
  EXPECT_EQ(dlpack_stream_number(stream_ref<rocm_like>()), 0);
  EXPECT_EQ(dlpack_stream_number(stream<host>()), std::nullopt);
  const stream<queued_device> own;
  EXPECT_EQ(dlpack_stream_number(own), std::bit_cast<i64>(own.handle()));
  EXPECT_EQ(number(queued_device(), dlpack_stream_number(own))->handle(), own.handle());
}

/// The values of a tensor of a queued device, in host memory; waits for `s`.
std::vector<f32> read(const stream_ref<queued_device>& s, const f32* data, i64 n) {
  std::vector<f32> values(static_cast<std::size_t>(n));
  queued_device::copy(values.data(), data, 4 * n, copy_kind::device_to_host, s.handle());
  s.synchronize();
  return values;
}

TEST(dlpack, streams_as_documented) {
  using device = queued_device;
  const stream<device> stream, other;
  const std::optional<i64> number = dlpack_stream_number(other);
  auto x = from_values<f32>(stream, {1, 2, 3});
  // [dlpack_streams]
  // In __dlpack__(stream=number): that stream waits for ours, and x's memory for both.
  const auto consumer = flaggems::dlpack_stream<device>(number, x.device_index());
  auto shared = flaggems::to_dlpack(x, consumer);
  // As a consumer: the producer is called with our stream's number, and the deleter after our work.
  const auto ours = flaggems::dlpack_stream_number(stream);
  const auto y = flaggems::from_dlpack(stream, std::move(shared));
  // [/dlpack_streams]
  EXPECT_EQ(consumer->handle(), other.handle());
  EXPECT_EQ(ours, std::bit_cast<i64>(stream.handle()));
  EXPECT_EQ(y.view().data(), x.data());
}

TEST(dlpack, the_consumer_waits_for_the_producer) {
  const stream<queued_device> ours, theirs;
  auto x = empty<f32>(ours, {64});
  const std::vector<f32> values(64, 5.0F);
  for (int i = 0; i < 20; ++i)  // 200 us each
    queued_device::fill(x.data(), 0, x.bytes(), ours.handle());
  queued_device::copy(x.data(), values.data(), x.bytes(), copy_kind::host_to_device, ours.handle());
  const auto m = to_dlpack(x, theirs);
  EXPECT_FALSE(ours.query());  // the host did not wait
  EXPECT_EQ(read(theirs, static_cast<const f32*>(m->dl_tensor.data), 64), values);
  EXPECT_TRUE(ours.query());
  EXPECT_EQ(m->dl_tensor.device.device_type, dl_ext_dev);
  EXPECT_RAISES(to_dlpack(x, stream_ref<queued_device>(nullptr, 1)), device_mismatch,
                "dlpack_hand_over");
}

TEST(dlpack, tensors_of_another_device) {
  const stream<queued_device> ours(1);
  auto m = to_dlpack(empty<f32>(ours, {4}));
  EXPECT_EQ(m->dl_tensor.device.device_id, 1);
  EXPECT_RAISES(from_dlpack(stream_ref<queued_device>(nullptr, 0), std::move(m)), device_mismatch,
                "from_dlpack");
  const auto t = from_dlpack(ours, std::move(m));
  EXPECT_EQ(t.device_index(), 1);
}

TEST(dlpack, a_deleter_on_another_thread) {
  const auto in_use = [] { return memory_stats<queued_device>(1).allocation.current; };
  const i64 before = in_use();
  {
    const stream<queued_device> ours(1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      auto x = empty<f32>(ours, {64});
      threads.emplace_back([m = to_dlpack(x), n = to_dlpack<dl_managed_tensor>(x)]() mutable {
        n.reset();
        m.reset();  // with or after x
      });
    }
    for (std::thread& t : threads) t.join();
  }
  EXPECT_EQ(in_use(), before);
}

TEST(dlpack, memory_is_freed_after_the_consumers_work) {
  const stream<queued_device> ours, theirs;
  const std::vector<f32> values(64, 5.0F);
  std::vector<f32> seen(64);
  const void* address = nullptr;
  {
    auto x = from_values<f32>(ours, std::span<const f32>(values));
    auto m = to_dlpack(std::move(x), theirs);
    address = m->dl_tensor.data;
    std::vector<f32> elsewhere(64);
    for (int i = 0; i < 20; ++i) queued_device::fill(elsewhere.data(), 0, 256, theirs.handle());
    queued_device::copy(seen.data(), address, 256, copy_kind::device_to_host, theirs.handle());
    m.reset();  // while `theirs` still works
    EXPECT_FALSE(theirs.query());
    auto y = empty<f32>(ours, {64});  // may have the same memory, but not before
    queued_device::fill(y.data(), 0, 256, ours.handle());
    ours.synchronize();
    theirs.synchronize();
  }
  EXPECT_EQ(seen, values);
}

TEST(dlpack, an_imported_tensor_ends_after_our_work) {
  const stream<queued_device> ours;
  struct imported {
    dl_managed_tensor managed{};
    i64 size = 64;
    std::vector<f32> values = std::vector<f32>(64, 5.0F);
  };
  imported source;
  source.managed.dl_tensor = {source.values.data(), {dl_ext_dev, 0}, 1, {dl_float, 32, 1},
                              &source.size,         nullptr,         0};
  source.managed.manager_ctx = &source;
  source.managed.deleter = [](dl_managed_tensor* m) {
    for (f32& x : static_cast<imported*>(m->manager_ctx)->values) x = -1;
  };
  std::vector<f32> seen(64), elsewhere(64);
  {
    const auto t = from_dlpack(ours, dlpack_ptr<dl_managed_tensor>(&source.managed));
    for (int i = 0; i < 20; ++i) queued_device::fill(elsewhere.data(), 0, 256, ours.handle());
    queued_device::copy(seen.data(), t.view().data(), 256, copy_kind::device_to_host,
                        ours.handle());
    EXPECT_FALSE(ours.query());
  }
  EXPECT_EQ(seen, std::vector<f32>(64, 5.0F));
  EXPECT_EQ(source.values[0], -1);
}

}  // namespace
