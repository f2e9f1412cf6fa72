// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory of an OpenCL device. Kernels take structs of pointers, which OpenCL allows for shared
// virtual memory only; a device without has an arena: one buffer, whose address a kernel tells us,
// and that every launch takes as an argument.
#pragma once

#include <flaggems/device/properties.hpp>
#include <flaggems/vendors/opencl/driver.hpp>

#include <cstdlib>
#include <map>
#include <vector>

namespace flaggems::detail {

class opencl_memory {
 public:
  /// Of the device; `queue` is one of its queues. FLAGGEMS_OPENCL_ARENA_MIB asks for an arena of
  /// that size on a device with shared virtual memory, too.
  void open(const char* op, void* context, const opencl_driver::device& device, void* queue) {
    context_ = context;
    lists_ = (device.memory_kinds & cl::device_svm_fine_grain_system) == 0;
    const char* const mib = std::getenv("FLAGGEMS_OPENCL_ARENA_MIB");
    const bool asked = mib != nullptr && *mib != '\0';
    if (!asked && (device.memory_kinds & cl::device_svm_coarse_grain_buffer) != 0) return;
    const u64 most = opencl_driver::get().number<u64>(device.id, cl::device_max_mem_alloc_size);
    make_arena(op, device.id, queue,
               asked ? (std::min)(u64{std::strtoull(mib, nullptr, 10)} << 20U, most) : most);
  }

  /// Null where memory is exhausted.
  [[nodiscard]] void* allocate(u64 bytes) {
    const pool_lock lock(mutex_);
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (arena_ != nullptr) return take(bytes);
    // Drivers align to the largest type alone, of 128 bytes.
    void* const base = calls().clSVMAlloc.call(context_, cl::mem_read_write, bytes + alignment, 0);
    if (base == nullptr) return nullptr;
    const auto address = reinterpret_cast<u64>(base);
    void* const data = pointer((address + alignment - 1) / alignment * alignment);
    bases_[data] = base;
    version_.fetch_add(1);
    return data;
  }
  /// In the order of `queue`.
  void deallocate(void* data, void* queue) noexcept {
    const pool_lock lock(mutex_);
    if (arena_ != nullptr) {
      calls().clFinish.call(queue);
      return give(reinterpret_cast<u64>(data));
    }
    const auto row = bases_.find(data);
    if (row == bases_.end()) return;
    void* base = row->second;
    bases_.erase(row);
    version_.fetch_add(1);
    if (calls().clEnqueueSVMFree.call(queue, 1, &base, nullptr, nullptr, 0, nullptr, nullptr) != 0)
      calls().clSVMFree.call(context_, base);
  }

  void copy(void* to, const void* from, std::size_t bytes, copy_kind kind, void* queue) const {
    const auto& f = calls();
    if (arena_ == nullptr)
      return opencl_call("copy", f.clEnqueueSVMMemcpy, queue, 0U, to, from, bytes, 0U, nullptr,
                         nullptr);
    switch (kind) {
      case copy_kind::host_to_device:
        return opencl_call("copy", f.clEnqueueWriteBuffer, queue, arena_, 0U, offset(to), bytes,
                           from, 0U, nullptr, nullptr);
      case copy_kind::device_to_host:
        return opencl_call("copy", f.clEnqueueReadBuffer, queue, arena_, 0U, offset(from), bytes,
                           to, 0U, nullptr, nullptr);
      case copy_kind::device_to_device:
        return opencl_call("copy", f.clEnqueueCopyBuffer, queue, arena_, arena_, offset(from),
                           offset(to), bytes, 0U, nullptr, nullptr);
    }
  }
  /// Repeats a pattern, which is copied when this is queued.
  void fill(void* to, const void* pattern, std::size_t pattern_bytes, std::size_t bytes,
            void* queue) const {
    if (arena_ == nullptr)
      opencl_call("fill", calls().clEnqueueSVMMemFill, queue, to, pattern, pattern_bytes, bytes, 0U,
                  nullptr, nullptr);
    else
      opencl_call("fill", calls().clEnqueueFillBuffer, queue, arena_, pattern, pattern_bytes,
                  offset(to), bytes, 0U, nullptr, nullptr);
  }
  /// Copies words that the caller may change at once, as patterns of powers of two of bytes.
  void write(void* to, const void* from, std::size_t bytes, void* queue) const {
    auto* const there = static_cast<unsigned char*>(to);
    const auto* const here = static_cast<const unsigned char*>(from);
    std::size_t at = 0;
    for (std::size_t piece = most_pattern_bytes; piece > 0; piece /= 2)
      for (; at + piece <= bytes; at += piece) fill(there + at, here + at, piece, piece, queue);
  }

  /// The buffer that launches take; null without an arena.
  [[nodiscard]] void* const& arena() const noexcept { return arena_; }
  /// Tells the driver what memory `kernel` may reach by pointers in structs, where it must be told
  /// and that has changed since `seen`.
  void list_for(const char* op, void* kernel, u64& seen) {
    if (arena_ != nullptr || !lists_ || seen == version_.load(memory_order::acquire)) return;
    list_all(op, kernel, seen);
  }

 private:
  static constexpr u64 alignment = 256;
  static constexpr std::size_t most_pattern_bytes = 128;  // OpenCL's limit

  static const opencl_functions& calls() noexcept { return opencl_driver::get().functions(); }
  static void* pointer(u64 address) noexcept {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  }
  [[nodiscard]] std::size_t offset(const void* data) const noexcept {
    return reinterpret_cast<u64>(data) - begin_;
  }
  FLAGGEMS_COLD void list_all(const char* op, void* kernel, u64& seen) {
    const pool_lock lock(mutex_);
    std::vector<void*> all;
    for (const auto& row : bases_) all.push_back(row.second);
    if (!all.empty())
      opencl_call(op, calls().clSetKernelExecInfo, kernel, cl::kernel_exec_info_svm_ptrs,
                  all.size() * sizeof(void*), all.data());
    seen = version_.load();
  }

  void make_arena(const char* op, void* device, void* queue, u64 bytes) {
    static constexpr const char* source =
        "kernel void where(global uchar* data, global ulong* at) { *at = (ulong)data; }";
    const auto& f = calls();
    const char* lines = source;
    void* const arena =
        opencl_make(op, f.clCreateBuffer, context_, cl::mem_read_write, bytes, nullptr);
    void* const told =
        opencl_make(op, f.clCreateBuffer, context_, cl::mem_read_write, sizeof(u64), nullptr);
    void* const program =
        opencl_make(op, f.clCreateProgramWithSource, context_, 1U, &lines, nullptr);
    opencl_call(op, f.clBuildProgram, program, 1U, &device, "", nullptr, nullptr);
    void* const kernel = opencl_make(op, f.clCreateKernel, program, "where");
    opencl_call(op, f.clSetKernelArg, kernel, 0U, sizeof(arena), &arena);
    opencl_call(op, f.clSetKernelArg, kernel, 1U, sizeof(told), &told);
    const std::size_t one = 1;
    u64 address = 0;
    opencl_call(op, f.clEnqueueNDRangeKernel, queue, kernel, 1U, nullptr, &one, &one, 0U, nullptr,
                nullptr);
    opencl_call(op, f.clEnqueueReadBuffer, queue, told, 1U, std::size_t{0}, sizeof(address),
                &address, 0U, nullptr, nullptr);
    f.clReleaseKernel.call(kernel);
    f.clReleaseProgram.call(program);
    f.clReleaseMemObject.call(told);
    begin_ = address;
    unused_[(address + alignment - 1) / alignment * alignment] = address + bytes;
    arena_ = arena;
  }
  // The first piece that is large enough.
  void* take(u64 bytes) {
    for (auto piece = unused_.begin(); piece != unused_.end(); ++piece) {
      const u64 begin = piece->first, end = piece->second;
      if (end < begin || end - begin < bytes) continue;
      unused_.erase(piece);
      if (end - begin > bytes) unused_[begin + bytes] = end;
      used_[begin] = begin + bytes;
      return pointer(begin);
    }
    return nullptr;
  }
  void give(u64 begin) noexcept {
    const auto row = used_.find(begin);
    if (row == used_.end()) return;
    u64 end = row->second;
    used_.erase(row);
    const auto next = unused_.lower_bound(begin);
    if (next != unused_.begin()) {
      const auto before = std::prev(next);
      if (before->second == begin) {
        begin = before->first;
        unused_.erase(before);
      }
    }
    if (next != unused_.end() && next->first == end) {
      end = next->second;
      unused_.erase(next);
    }
    unused_[begin] = end;
  }

  pool_mutex mutex_;
  void* context_ = nullptr;
  bool lists_ = false;
  std::map<void*, void*> bases_;  // of shared virtual memory, by its aligned address
  atomic<u64> version_{1};        // of that list
  void* arena_ = nullptr;
  u64 begin_ = 0;
  std::map<u64, u64> unused_, used_;  // of the arena: from, to
};

}  // namespace flaggems::detail
