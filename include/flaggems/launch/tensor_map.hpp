// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps: arguments with which kernels load boxes of a tensor
// (kernel/block/simt/tensor_map.hpp).
#pragma once

#include <flaggems/device/stream.hpp>
#include <flaggems/error.hpp>
#include <flaggems/kernel/block/simt/tensor_map.hpp>
#include <flaggems/tensor/view.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace flaggems {

using kernels::tensor_map;

/// The number of 16-byte pieces that are permuted within each 128-byte row of a box in block-local
/// memory (kernels::swizzled).
enum class box_swizzle : u32 { none = 1, pieces_2 = 2, pieces_4 = 4, pieces_8 = 8 };

namespace detail {

/// Device types whose devices have the copy engine (TMA) for tensor maps.
template <class Device>
concept encodes_tensor_maps = requires(tensor_map& map, int device) {
  Device::encode_tensor_map(map, device);
};

FLAGGEMS_COLD_ONCE void require_map(bool holds, const char* op, const char* expected,
                                    const text& got) {
  if (!holds) raise(errc::invalid_argument, op, expected, got);
}
/// Raises for maps that no engine supports.
inline void check_tensor_map(const char* op, const tensor_map& m) {
  constexpr u64 most = u64{1} << 32, most_stride = u64{1} << 40;
  require_map(m.address % 16 == 0, op, "an address that is a multiple of 16 bytes",
              text("another one"));
  require_map(m.element <= 8, op, "elements of 1, 2, 4 or 8 bytes",
              text(static_cast<i64>(m.element)));
  require_map(m.strides[0] == m.element, op, "a last dimension of neighbouring elements",
              "a stride of " + text(static_cast<i64>(m.strides[0])) + " bytes");
  for (int d = 0; d < m.rank; ++d) {
    require_map(m.sizes[d] >= 1 && m.sizes[d] <= most, op, "sizes from 1 to 2^32",
                text(static_cast<i64>(m.sizes[d])));
    require_map(d == 0 || (m.strides[d] % 16 == 0 && m.strides[d] < most_stride), op,
                "strides of other dimensions that are multiples of 16 bytes, less than 2^40",
                text(static_cast<i64>(m.strides[d])) + " bytes");
    require_map(m.box[d] >= 1 && m.box[d] <= 256, op, "1 to 256 elements of a box a dimension",
                text(static_cast<i64>(m.box[d])));
  }
  const i64 row = i64{m.box[0]} * m.element;
  require_map(row % 16 == 0, op, "rows of a box that are a multiple of 16 bytes",
              text(row) + " bytes");
  require_map(m.swizzle == 1 || row == 16 * i64{m.swizzle}, op,
              "rows of a box of just the bytes that are swizzled", text(row) + " bytes");
}

/// A thread's most recent maps: encoding one costs as much as a launch.
class tensor_map_cache {
 public:
  static tensor_map_cache& of_this_thread() {
    static thread_local tensor_map_cache cache;
    return cache;
  }
  /// `asked`, encoded for a device by `encode(map)`, which raises or succeeds.
  template <class Encode>
  const tensor_map& get(const tensor_map& asked, int device, const Encode& encode) {
    entry& e = entries_[slot_of(asked, device)];
    if (e.device != device || !is_same(e.map, asked)) {
      e.device = -1;
      e.map = asked;
      encode(e.map);
      e.device = device;
    }
    return e.map;
  }

 private:
  static constexpr u64 count = 32;
  struct entry {
    tensor_map map{};
    int device = -1;
  };
  static u64 slot_of(const tensor_map& m, int device) {
    u64 h = m.address >> 4;
    for (int d = 0; d < m.rank; ++d) h = h * 31 + m.sizes[d] * 7 + m.strides[d] + m.box[d];
    return ((h * 0x9E3779B97F4A7C15U >> 32) + static_cast<u64>(device)) % count;
  }
  static bool is_same(const tensor_map& a, const tensor_map& b) {
    // Trailing padding is indeterminate.
    constexpr std::size_t own = offsetof(tensor_map, address),
                          end = offsetof(tensor_map, element) + sizeof(tensor_map::element);
    return std::memcmp(reinterpret_cast<const char*>(&a) + own,
                       reinterpret_cast<const char*>(&b) + own, end - own) == 0;
  }

  entry entries_[count];
};

}  // namespace detail

/// The map of x, with which a kernel in the stream loads boxes of so many elements per dimension. x
/// has 1 to 5 dimensions, the last one contiguous, and other strides and its address are multiples
/// of 16 bytes. The memory must be valid when the kernel runs. Raises invalid_argument, or
/// not_supported if the driver cannot encode it.
template <stream_like S, class T>
[[nodiscard]] tensor_map tensor_map_of(const S& stream, const tensor_view<T, device_of<S>>& x,
                                       std::span<const i64> box,
                                       box_swizzle swizzle = box_swizzle::none) {
  using device = device_of<S>;
  constexpr const char* op = "tensor_map_of";
  const int rank = x.rank();
  detail::require_map(rank >= 1 && rank <= 5, op, "1 to 5 dimensions", detail::text(rank));
  detail::require_map(static_cast<int>(box.size()) == rank, op,
                      "a box of as many dimensions as the tensor",
                      detail::text(static_cast<i64>(box.size())));
  tensor_map map{};
  map.address = reinterpret_cast<std::uintptr_t>(x.data());
  map.rank = rank;
  map.swizzle = static_cast<u32>(swizzle);
  map.element = sizeof(T);
  for (int d = 0; d < rank; ++d) {
    const int from = rank - 1 - d;
    const i64 extent = box[static_cast<std::size_t>(from)];
    map.sizes[d] = static_cast<u64>(x.size(from));
    map.strides[d] = static_cast<u64>(x.stride(from)) * sizeof(T);
    map.box[d] = extent < 0 || extent > 256 ? 0 : static_cast<u32>(extent);
  }
  const int index = ref(stream).device_index();
  return detail::tensor_map_cache::of_this_thread().get(map, index, [&](tensor_map& m) {
    detail::check_tensor_map(op, m);
    if constexpr (detail::encodes_tensor_maps<device>) device::encode_tensor_map(m, index);
  });
}

}  // namespace flaggems
