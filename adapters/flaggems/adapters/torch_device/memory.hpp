// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Our pool as PyTorch's allocator of a device type, pinned memory, random generators, and the hooks
// by which PyTorch finds them. Part of torch_device.hpp.
#pragma once

#include <flaggems/adapters/torch_device/streams.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/kernel/family/random/philox.hpp>
#include <flaggems/registry/boxed.hpp>

#include <ATen/core/Generator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/empty.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace flaggems::detail {

template <class Device>
void delete_pool_block(void* block) {
  delete static_cast<pool_block<Device>*>(block);
}
/// PyTorch's owner of memory from the pool.
template <class Device>
c10::DataPtr torch_data(pool_block<Device>&& memory, int device_index) {
  auto* const kept = new pool_block<Device>(std::move(memory));
  return {kept->data(), kept, &delete_pool_block<Device>, torch_device_of<Device>(device_index)};
}

/// Memory in the order of PyTorch's current stream of the current device.
template <class Device>
class torch_allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const int index = Device::current_device();
    if (bytes == 0) return {nullptr, torch_device_of<Device>(index)};
    try {
      return torch_data(
          pool_block<Device>(static_cast<i64>(bytes), torch_stream<Device>(index), "allocate"),
          index);
    } catch (const error& e) {
      TORCH_CHECK_WITH(OutOfMemoryError, e.code() != errc::out_of_memory, e.what());
      throw;
    }
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    Device::copy(to, from, static_cast<i64>(bytes), copy_kind::device_to_device,
                 torch_stream<Device>().handle());
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {
    for (int i = 0; i < Device::device_count(); ++i) empty_cache<Device>(i);
  }
  void recordStream(const c10::DataPtr& data, c10::Stream s) override {
    if (data.get_deleter() == &delete_pool_block<Device> && data.get_context() != nullptr)
      static_cast<pool_block<Device>*>(data.get_context())
          ->record_stream(torch_streams<Device>::get(s.id(), s.device_index()));
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override {
    const memory_statistics s = memory_stats<Device>(index);
    c10::CachingDeviceAllocator::DeviceStats r;
    const auto put = [](auto& to, const memory_stat& from) {
      auto& all = to[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
      all.current = from.current, all.peak = from.peak;
      all.allocated = from.allocated, all.freed = from.freed;
    };
    put(r.allocation, s.allocation), put(r.active, s.allocation);
    put(r.allocated_bytes, s.allocated_bytes), put(r.active_bytes, s.allocated_bytes);
    put(r.requested_bytes, s.requested_bytes);
    put(r.segment, s.segment), put(r.reserved_bytes, s.reserved_bytes);
    r.num_alloc_retries = s.num_alloc_retries, r.num_ooms = s.num_ooms;
    r.num_device_alloc = s.num_device_alloc, r.num_device_free = s.num_device_free;
    return r;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {
    raise(errc::not_supported, "reset_accumulated_memory_stats", "reset_peak_memory_stats",
          "sums, which the pool keeps for good");
  }
  void resetPeakStats(c10::DeviceIndex index) override { reset_peak_memory_stats<Device>(index); }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex index) override {
    const device_properties p = Device::properties(torch_device_of<Device>(index).index());
    return {static_cast<std::size_t>(p.free_memory), static_cast<std::size_t>(p.total_memory)};
  }

  static torch_allocator& get() {
    static auto* const one = new torch_allocator;  // never destroyed, as storages outlive it
    return *one;
  }
};

/// A new result as a tensor of PyTorch's; undefined if it has none.
template <class Device>
at::Tensor torch_result(any_tensor<Device>&& x, int device_index) {
  if (!x.has_value()) return {};
  const c10::ScalarType type = to_torch(x.dtype());
  const shape sizes(int_list(x.sizes())), strides(int_list(x.strides()));
  auto memory = std::move(x).release();
  const auto bytes = static_cast<std::size_t>(memory.bytes());
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                       torch_data(std::move(memory), device_index),
                                                       &torch_allocator<Device>::get(), true);
  auto r = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(storage)), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::scalarTypeToTypeMeta(type));
  const auto list = [](const shape& s) {
    return c10::IntArrayRef(s.begin(), static_cast<std::size_t>(s.rank()));
  };
  r.unsafeGetTensorImpl()->set_sizes_and_strides(list(sizes), list(strides));
  return r;
}

/// Page-locked memory of the host, of devices that have it. PyTorch asks of addresses whether they
/// are in it.
template <class Device>
class torch_pinned_allocator final : public c10::Allocator {
  struct blocks {
    std::mutex mutex;
    std::map<const char*, std::size_t> sizes;
  };
  static blocks& all() {
    static auto* const one = new blocks;
    return *one;
  }
  static void free(void* p) {
    {
      const std::lock_guard lock(all().mutex);
      all().sizes.erase(static_cast<const char*>(p));
    }
    deallocate_pinned<Device>(p);
  }

 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device here(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, here};
    void* const p = allocate_pinned<Device>(static_cast<i64>(bytes));
    TORCH_CHECK_WITH(OutOfMemoryError, p != nullptr, "no pinned memory left");
    const std::lock_guard lock(all().mutex);
    all().sizes[static_cast<const char*>(p)] = bytes;
    return {p, p, &free, here};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  [[nodiscard]] static bool holds(const void* p) {
    const std::lock_guard lock(all().mutex);
    const auto after = all().sizes.upper_bound(static_cast<const char*>(p));
    if (after == all().sizes.begin()) return false;
    const auto& [begin, size] = *std::prev(after);
    return static_cast<const char*>(p) < begin + size;
  }
};

/// PyTorch's generator of a device: a seed and an offset of Philox.
template <class Device>
class torch_generator final : public c10::GeneratorImpl {
 public:
  explicit torch_generator(int index)
      : GeneratorImpl(torch_device_of<Device>(index),
                      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}
  void set_current_seed(std::uint64_t seed) override { philox = {seed, 0}; }
  void set_offset(std::uint64_t offset) override { philox.offset = offset; }
  std::uint64_t get_offset() const override { return philox.offset; }
  std::uint64_t current_seed() const override { return philox.seed; }
  std::uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return philox.seed;
  }
  void set_state(const c10::TensorImpl& state) override {
    check(state.numel() == bytes && state.dtype() == caffe2::TypeMeta::Make<std::uint8_t>() &&
              state.device_type() == c10::DeviceType::CPU && state.is_contiguous(),
          errc::invalid_argument, "set_state", "16 bytes in a tensor of the host");
    std::memcpy(&philox, state.data(), bytes);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    const at::Tensor r = at::empty({bytes}, at::TensorOptions(at::kByte));
    std::memcpy(r.data_ptr(), &philox, bytes);
    return r.getIntrusivePtr();
  }
  static c10::DeviceType device_type() { return c10::DeviceType::PrivateUse1; }

  philox_generator philox;

 private:
  static constexpr int bytes = sizeof(philox_generator);
  torch_generator* clone_impl() const override {
    auto* const r = new torch_generator(this->device_.index());
    r->philox = philox;
    return r;
  }
};
/// The default generator of a device.
template <class Device>
const at::Generator& torch_default_generator(int index) {
  static auto* const all = [] {
    auto* const r = new std::array<at::Generator, max_devices>;
    for (int i = 0; i < max_devices; ++i)
      (*r)[static_cast<std::size_t>(i)] = at::make_generator<torch_generator<Device>>(i);
    return r;
  }();
  return (*all)[static_cast<std::size_t>(torch_device_of<Device>(index).index())];
}

/// Calls f(generator) with the default one of a device, locked.
template <class Device, class F>
void with_generator(std::int64_t index, F&& f) {
  at::Generator g = torch_default_generator<Device>(static_cast<int>(index));
  const std::lock_guard lock(g.mutex());
  f(*static_cast<torch_generator<Device>*>(g.unsafeGetGeneratorImpl()));
}

template <class Device>
class torch_hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return Device::device_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return isAvailable(); }
  void init() const override {}
  c10::DeviceIndex deviceCount() const override {
    return static_cast<c10::DeviceIndex>(Device::device_count());
  }
  void setCurrentDevice(c10::DeviceIndex d) const override { Device::set_device(d); }
  c10::DeviceIndex getCurrentDevice() const override {
    return static_cast<c10::DeviceIndex>(Device::current_device());
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex d) const override {
    const auto before = getCurrentDevice();
    if (d >= 0 && d != before) Device::set_device(d);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex d) const override {
    return exchangeDevice(d);
  }
  at::Device getDeviceFromPtr(void*) const override { return torch_device_of<Device>(-1); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex d) const override {
    return torch_default_generator<Device>(d);
  }
  at::Generator getNewGenerator(c10::DeviceIndex d) const override {
    return at::make_generator<torch_generator<Device>>(d);
  }
  bool isPinnedPtr(const void* p) const override {
    if constexpr (device_pinned_memory<Device>) return torch_pinned_allocator<Device>::holds(p);
    return false;
  }
  at::Allocator* getPinnedMemoryAllocator() const override {
    if constexpr (device_pinned_memory<Device>) {
      static auto* const one = new torch_pinned_allocator<Device>;
      return one;
    } else {
      raise(errc::not_supported, "pin_memory", "a device type with pinned memory", Device::name);
    }
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    resize(*storage.unsafeGetStorageImpl(), bytes);
  }
  static void resize(c10::StorageImpl& storage, std::size_t bytes) {
    TORCH_CHECK(storage.resizable(), "Trying to resize storage that is not resizable");
    const on_device<Device> scope(storage.device().index());
    auto data = torch_allocator<Device>::get().allocate(bytes);
    if (const auto n = (std::min)(bytes, storage.nbytes()); n > 0)
      torch_allocator<Device>::get().copy_data(data.get(), storage.data(), n);
    storage.set_data_ptr_noswap(std::move(data));
    storage.set_nbytes(bytes);
  }
};

}  // namespace flaggems::detail
