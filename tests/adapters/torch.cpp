// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Views of libtorch's tensors and ours as its, lifetimes and streams.
#include <flaggems/adapters/torch.hpp>
#include <flaggems/vendors/host.hpp>
#include <support/queued_device.hpp>

#include <ATen/core/ivalue.h>  // what the headers of operators need, and not all include
#include <ATen/ops/_efficientzerotensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/quantize_per_tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace fg = flaggems;
using fg::any_view;
using fg::host;
using fg::i64;
using support::queued_device;

// Streams of the queued device in PyTorch: as its guard would tell them.
namespace {
struct current_of_torch {
  int device = 0;
  queued_device::stream_handle streams[2] = {};
};
current_of_torch torch_now;
}  // namespace
template <>
struct flaggems::torch_device<queued_device> {
  static constexpr c10::DeviceType type = c10::DeviceType::PrivateUse1;
  static constexpr c10::DispatchKey key = c10::DispatchKey::PrivateUse1;
  static int current_device() { return torch_now.device; }
  static queued_device::stream_handle current_stream(int device_index) {
    return torch_now.streams[device_index];
  }
};

namespace {

const fg::stream_ref<host> s;

template <class F>
void expect_error(fg::errc code, const std::string& part, const F& f) {
  try {
    static_cast<void>(f());
    ADD_FAILURE() << "no error, expected " << part;
  } catch (const fg::error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

i64 tensors_in_use() { return fg::memory_stats<host>().allocation.current; }

// What PyTorch's allocator tells a profiler. (Its totals are of other types in later versions.)
template <class F>
struct total_of;
template <class Data, class Size, class Total, class... Rest>
struct total_of<void (*)(Data, Size, Total, Rest...)> {
  using type = Total;
};
using total = total_of<decltype(&c10::reportMemoryUsageToProfiler)>::type;
struct memory_reports final : c10::MemoryReportingInfoBase {
  i64 taken = 0, returned = 0;
  void reportMemoryUsage(void*, int64_t bytes, total, total, c10::Device) override {
    (bytes > 0 ? taken : returned) += bytes;
  }
  bool memoryProfilingEnabled() const override { return true; }
};

TEST(torch, memory_of_pytorchs_allocator) {
  const auto reports = std::make_shared<memory_reports>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, reports);
  auto& pool = fg::pool<host>(0);
  pool.set_source(&fg::torch_memory<host>());
  {
    const auto x = fg::from_values<float>(s, {1, 2, 3}, {3});
    EXPECT_EQ(reports->taken, fg::memory_pool<host>::rounded_size(12));
    EXPECT_EQ(x.data()[2], 3);
    EXPECT_EQ(reports->returned, 0);
  }
  EXPECT_EQ(reports->returned, -reports->taken) << "the pool keeps nothing";
#if !FLAGGEMS_ASAN  // which ends a program that asks for so much
  expect_error(fg::errc::out_of_memory, "in use",
               [] { return fg::empty<float>(s, {i64{1} << 50}); });
#endif
  pool.set_source(nullptr);
  const i64 before = reports->taken;
  static_cast<void>(fg::empty<float>(s, {3}));
  EXPECT_EQ(reports->taken, before);
}

TEST(torch_views, every_dtype_there_and_back) {
  int with = 0;
  for (int k = 0; k < fg::dtype_count; ++k) {
    const auto type = static_cast<fg::dtype>(k);
    const auto theirs = fg::detail::scalar_type_of[static_cast<std::size_t>(k)];
    if (theirs == c10::ScalarType::Undefined) {
      expect_error(fg::errc::dtype_mismatch, std::string(to_string(type)),
                   [&] { return fg::to_torch(type); });
      continue;
    }
    ++with;
    EXPECT_EQ(fg::from_torch(fg::to_torch(type)), type);
    EXPECT_EQ(static_cast<i64>(c10::elementSize(theirs)), fg::size_of(type));
    const at::Tensor x = at::empty({3, 2}, at::TensorOptions(theirs));
    const any_view<> v = fg::from_torch(s, x);
    EXPECT_EQ(v.dtype(), type);
    EXPECT_EQ(v.data(), x.data_ptr());
    const at::Tensor y = fg::to_torch(v, 0, x);
    EXPECT_EQ(y.scalar_type(), theirs);
    EXPECT_EQ(y.data_ptr(), x.data_ptr());
  }
  EXPECT_GE(with, 12);
  expect_error(fg::errc::dtype_mismatch, "QInt8", [] { return fg::from_torch(c10::kQInt8); });
}

TEST(torch_views, random_layouts_there_and_back) {
  std::mt19937 random(7);
  const auto pick = [&](i64 low, i64 high) {
    return std::uniform_int_distribution<i64>(low, high)(random);
  };
  const at::Tensor memory = at::arange(4096, at::TensorOptions(c10::kInt));
  for (int round = 0; round < 10000; ++round) {
    const auto rank = static_cast<std::size_t>(pick(0, fg::max_rank));
    std::vector<i64> sizes(rank), strides(rank);
    i64 last = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      sizes[d] = pick(0, 20) == 0 ? 0 : pick(1, 4);
      strides[d] = pick(0, 80);
      last += sizes[d] > 0 ? (sizes[d] - 1) * strides[d] : 0;
    }
    const i64 offset = pick(0, 4095 - last);
    const at::Tensor x = memory.as_strided(sizes, strides, offset);
    const auto v = fg::from_torch<const int>(s, x);
    ASSERT_TRUE(std::ranges::equal(v.sizes(), sizes) && std::ranges::equal(v.strides(), strides));
    if (v.numel() > 0) {
      ASSERT_EQ(v.data(), memory.data_ptr<int>() + offset);
      i64 at = offset;
      std::vector<i64> index(rank);
      const int* element = v.data();
      for (std::size_t d = 0; d < rank; ++d) {
        const i64 i = pick(0, sizes[d] - 1);
        at += i * strides[d];
        element += i * v.strides()[d];
      }
      ASSERT_EQ(*element, at);
    }
    const at::Tensor y = fg::to_torch(fg::from_torch(s, x), 0, memory);
    ASSERT_EQ(y.sizes(), x.sizes());
    ASSERT_EQ(y.is_contiguous(), x.is_contiguous());
    if (x.numel() == 0) continue;
    ASSERT_EQ(y.data_ptr(), x.data_ptr());
    ASSERT_TRUE(y.equal(x));
    for (i64 d = 0; d < x.dim(); ++d)
      if (x.size(d) > 1) {
        ASSERT_EQ(y.stride(d), x.stride(d));
      }
    // PyTorch checks views against the storage: it is large enough, and no larger than needed.
    i64 reach = 1;
    for (i64 d = 0; d < x.dim(); ++d) reach += (x.size(d) - 1) * x.stride(d);
    ASSERT_EQ(static_cast<i64>(y.storage().nbytes()), reach * 4);
  }
}

TEST(torch_views, refusals) {
  using fg::errc;
  const auto refused = [](errc code, const char* part, const at::Tensor& x) {
    expect_error(code, part, [&] { return fg::from_torch(s, x); });
  };
  const at::Tensor x = at::ones({2, 3});
  refused(errc::invalid_argument, "undefined", at::Tensor());
  refused(errc::not_supported, "sparse", x.to_sparse());
  refused(errc::not_supported, "quantized",
          at::quantize_per_tensor(x, 0.1, 0, c10::ScalarType::QUInt8));
  refused(errc::device_mismatch, "meta", at::empty({2}, at::TensorOptions(c10::DeviceType::Meta)));
  const at::Tensor c = at::ones({2}, at::TensorOptions(c10::kComplexFloat));
  refused(errc::not_supported, "conjugate", c.conj());
  refused(errc::not_supported, "negative", at::imag(c.conj()));
  refused(errc::invalid_argument, "9", at::ones({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  refused(errc::not_supported, "zeros", at::_efficientzerotensor({2}, x.options()));
  refused(errc::not_supported, "sparse", x.to_mkldnn());
  EXPECT_EQ(fg::from_torch(s, c).dtype(), fg::dtype::c64);

  expect_error(errc::dtype_mismatch, "f32", [&] { return fg::from_torch<const double>(s, x); });
  // A view of the host's memory as a device's, and an index of another device.
  const fg::stream<queued_device> other(1);
  expect_error(errc::device_mismatch, "queued:1, for PyTorch privateuseone",
               [&] { return fg::from_torch(other, x); });
  auto ours = fg::empty<float>(fg::stream<queued_device>(0), {2});
  torch_now = {0, {ours.stream().handle(), {}}};
  const at::Tensor there = fg::to_torch(ours);
  expect_error(errc::device_mismatch, ":0", [&] { return fg::from_torch(other, there); });
  expect_error(errc::device_mismatch, "host", [&] { return fg::from_torch(s, there); });

  auto t = fg::from_values<float>(s, {1, 2, 3}, {3});
  expect_error(errc::not_supported, "strides of at least 0",
               [&] { return fg::to_torch(t.flip({0}), 0); });
  const any_view<> constant(std::as_const(t));
  expect_error(errc::not_supported, "const", [&] { return fg::to_torch(constant, 0); });
}

TEST(torch_views, gradients_are_not_lost_unasked) {
  const at::Tensor x = at::ones({2}).requires_grad_();
  expect_error(fg::errc::not_supported, "gradients", [&] { return fg::from_torch(s, x); });
  const at::Tensor y = x.mul(2);
  expect_error(fg::errc::not_supported, "detach", [&] { return fg::from_torch(s, y); });
  EXPECT_EQ(fg::from_torch(s, x, fg::torch_gradients::ignored).data(), x.data_ptr());
  const at::Tensor detached = x.detach();
  EXPECT_EQ(fg::from_torch(s, detached).data(), x.data_ptr());
  const at::NoGradGuard none;
  EXPECT_EQ(fg::from_torch(s, x).data(), x.data_ptr());
}

TEST(torch_views, elements_are_shared) {
  const at::Tensor x = at::ones({2, 3});
  const auto v = fg::from_torch<float>(s, x);
  v(1, 2) = 7;
  EXPECT_EQ(x[1][2].item<float>(), 7);
  EXPECT_TRUE(fg::from_torch<const void>(s, x).is_const());
  auto ours = fg::from_values<float>(s, {1, 2, 3, 4}, {2, 2});
  const at::Tensor y = fg::to_torch(ours);
  y.mul_(2);
  EXPECT_EQ(ours(1, 1), 8);
  const at::Tensor column = fg::to_torch(ours.select(1, 0), 0, ours.share_memory());
  EXPECT_EQ(column.sum().item<float>(), 8);
}

TEST(torch_lifetime, ours_is_freed_with_the_last_owner) {
  const i64 before = tensors_in_use();
  at::Tensor part;
  {
    at::Tensor y = fg::to_torch(fg::from_values<float>(s, {1, 2, 3, 4}, {4}));
    EXPECT_EQ(tensors_in_use(), before + 1);
    part = y.slice(0, 2);
  }
  EXPECT_EQ(tensors_in_use(), before + 1);
  EXPECT_EQ(part[0].item<float>(), 3);
  part = at::Tensor();
  EXPECT_EQ(tensors_in_use(), before);

  {  // with both: ours may end first
    at::Tensor y;
    {
      auto ours = fg::from_values<float>(s, {5, 6}, {2});
      y = fg::to_torch(ours);
    }
    EXPECT_EQ(tensors_in_use(), before + 1);
    EXPECT_EQ(y[1].item<float>(), 6);
    y.resize_({100}).fill_(1);  // PyTorch's memory from here on
    EXPECT_EQ(tensors_in_use(), before);
    EXPECT_EQ(y.sum().item<float>(), 100);
  }
  const at::Tensor none = fg::to_torch(fg::empty<float>(s, {0, 3}));
  EXPECT_EQ(none.numel(), 0);
  EXPECT_EQ(none.size(1), 3);
}

TEST(torch_lifetime, an_owner_is_kept_and_let_go_once) {
  struct owner {
    std::shared_ptr<int> count;
  };
  const auto count = std::make_shared<int>(0);
  std::vector<float> memory(6, 2.0f);
  const any_view<> v(memory.data(), fg::dtype::f32, {2, 3});
  {
    const at::Tensor y = fg::to_torch(v, 0, owner{count});
    const at::Tensor z = y.transpose(0, 1);
    EXPECT_EQ(count.use_count(), 2);
    EXPECT_EQ(z.sum().item<float>(), 12);
    EXPECT_ANY_THROW(static_cast<void>(y.resize_({100})));  // its memory is somebody's
  }
  EXPECT_EQ(count.use_count(), 1);
  expect_error(fg::errc::not_supported, "strides",
               [&] { return fg::to_torch(v.flip({1}), 0, owner{count}); });
  EXPECT_EQ(count.use_count(), 1);
}

TEST(torch_streams, host) {
  EXPECT_TRUE(fg::torch_stream() == fg::stream_ref<host>());
  EXPECT_EQ(fg::torch_device<host>::type, c10::DeviceType::CPU);
  EXPECT_EQ(fg::torch_device<host>::key, c10::DispatchKey::CPU);
}

TEST(torch_streams, current_device_and_stream) {
  const fg::stream<queued_device> zero(0), one(1);
  torch_now = {1, {zero.handle(), one.handle()}};
  EXPECT_TRUE(fg::torch_stream<queued_device>() == fg::ref(one));
  EXPECT_TRUE(fg::torch_stream<queued_device>(0) == fg::ref(zero));
}

TEST(torch_streams, memory_is_handed_over_and_freed_in_stream_order) {
  const fg::stream<queued_device> ours(0), theirs(0);
  torch_now = {0, {theirs.handle(), {}}};
  constexpr i64 n = 1000;
  void* data = nullptr;
  std::vector<float> seen(n);
  {
    at::Tensor y;
    {
      auto x = fg::empty<float>(ours, {n});
      data = x.data();
      queued_device::fill(data, 0x3f, n * 4, ours.handle());
      y = fg::to_torch(std::move(x));
      EXPECT_EQ(y.device(), c10::Device(c10::DeviceType::PrivateUse1, 0));
      EXPECT_EQ(y.unsafeGetTensorImpl()->data(), data);
    }
    // In PyTorch's stream, without a wait of the host: the fill is seen, also much later.
    for (int k = 0; k < 20; ++k) queued_device::fill(seen.data(), 0, 4, theirs.handle());
    queued_device::copy(seen.data(), data, n * 4, fg::copy_kind::device_to_host, theirs.handle());
  }
  // The memory is free in the order of our stream, but not before PyTorch's has read it.
  auto next = fg::empty<float>(ours, {n});
  queued_device::fill(next.data(), 0, n * 4, ours.handle());
  theirs.synchronize();
  ours.synchronize();
  const float expected = std::bit_cast<float>(0x3f3f3f3fu);
  for (const float f : seen) ASSERT_EQ(f, expected);
}

}  // namespace
