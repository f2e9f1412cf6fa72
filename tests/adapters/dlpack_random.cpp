// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Random managed tensors, most of them malformed, against a second reading of what is valid. Seeds
// are fixed; sanitizers see reads outside the arrays of sizes and strides, and of the elements.
#include <flaggems/adapters/dlpack.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace flaggems;
__extension__ using i128 = __int128;

constexpr i64 largest = (std::numeric_limits<i64>::max)();
constexpr i64 memory_bytes = 4096;

class generator {
 public:
  explicit generator(unsigned seed) : bits_(seed) {}
  i64 below(i64 n) { return static_cast<i64>(bits_() % static_cast<u64>(n)); }
  bool one_in(i64 n) { return below(n) == 0; }
  template <std::size_t Size>
  i64 one_of(const i64 (&list)[Size]) {
    return list[below(Size)];
  }
  i64 any() { return static_cast<i64>(bits_()) >> below(64); }

 private:
  std::mt19937_64 bits_;
};

/// A managed tensor whose sizes and strides are arrays of exactly as many numbers as are its.
template <class Managed>
struct random_tensor {
  std::unique_ptr<i64[]> sizes, strides;
  Managed managed{};
  int deleted = 0;

  random_tensor(generator& random, unsigned char* memory) {
    dl_tensor& t = managed.dl_tensor;
    const int rank = static_cast<int>(random.below(max_rank + 1));
    const auto count = static_cast<std::size_t>(rank);
    sizes = std::make_unique<i64[]>(count);
    strides = std::make_unique<i64[]>(count);
    const dl_data_type type = detail::to_dl(static_cast<dtype>(random.below(dtype_count)));
    i64 room = memory_bytes / 2 / (type.bits / 8);  // well-formed ones stay in the memory
    for (int i = rank - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      sizes[at] = random.one_in(20) ? 0 : 1 + random.below(4);
      strides[at] = random.below(room / 4 + 1) - room / 8;
      room -= (strides[at] < 0 ? -strides[at] : strides[at]) * sizes[at];
      if (room < 0) strides[at] = 0, room = 0;
    }
    t = {memory + memory_bytes / 2, {dl_cpu, 0}, rank, type, sizes.get(), strides.get(), 0};
    if (random.one_in(4)) t.byte_offset = static_cast<u64>(16 * random.below(8));
    if (random.one_in(4)) t.strides = nullptr;
    managed.manager_ctx = this;
    if (!random.one_in(8))
      managed.deleter = [](Managed* m) { ++static_cast<random_tensor*>(m->manager_ctx)->deleted; };
    if constexpr (dlpack_versioned<Managed>) {
      managed.version = {1, static_cast<u32>(random.below(9))};
      managed.flags = static_cast<u64>(random.below(8));
    }
    for (i64 wrong = random.below(4); wrong > 0; --wrong) spoil(random, rank);
  }

 private:
  void spoil(generator& random, int rank) {
    dl_tensor& t = managed.dl_tensor;
    const i64 extreme =
        random.one_of({0, 1, -1, 2, largest, -largest - 1, largest / 2, i64{1} << 31, i64{1} << 32,
                       i64{1} << 61, i64{1} << 62, random.any()});
    const auto at = static_cast<std::size_t>(random.below(rank + 1));
    switch (random.below(12)) {
      case 0:
        // More dimensions than the arrays have only where nobody may look at them.
        t.ndim = static_cast<i32>(random.one_of({-1, 9, 64, (std::numeric_limits<i32>::max)(),
                                                 (std::numeric_limits<i32>::min)(), rank}));
        break;
      case 1: t.shape = nullptr; break;
      case 2:
        if (at < static_cast<std::size_t>(rank)) sizes[at] = extreme;
        break;
      case 3:
        if (at < static_cast<std::size_t>(rank)) strides[at] = extreme;
        break;
      case 4: t.data = std::bit_cast<void*>(random.one_in(2) ? i64{0} : extreme); break;
      case 5: t.byte_offset = static_cast<u64>(extreme); break;
      case 6: t.byte_offset += static_cast<u64>(random.below(16)); break;
      case 7: t.dtype.code = static_cast<u8>(random.any()); break;
      case 8: t.dtype.bits = static_cast<u8>(random.any()); break;
      case 9: t.dtype.lanes = static_cast<u16>(random.any()); break;
      case 10:
        t.device = {static_cast<i32>(random.below(18)), static_cast<i32>(random.below(4) - 1)};
        break;
      default:
        if constexpr (dlpack_versioned<Managed>) managed.version.major = static_cast<u32>(extreme);
    }
  }
};

bool has_type(dl_data_type type) {
  const auto is_one_of = [&](std::initializer_list<int> bits) {
    for (const int b : bits)
      if (type.bits == b) return true;
    return false;
  };
  switch (type.code) {
    case 0:
    case 1: return type.lanes == 1 && is_one_of({8, 16, 32, 64});
    case 2: return type.lanes == 1 && is_one_of({16, 32, 64});
    case 4: return type.lanes == 1 && is_one_of({16});
    case 5: return type.lanes == 1 && is_one_of({64, 128});
    case 6:
    case 10:
    case 12: return type.lanes == 1 && is_one_of({8});
    default: return false;
  }
}

/// Whether a tensor of DLPack is one that we have, in wider arithmetic.
bool is_valid(const dl_tensor& t) {
  if (t.ndim < 0 || t.ndim > 8 || (t.ndim > 0 && t.shape == nullptr) || !has_type(t.dtype))
    return false;
  const bool on_host = t.device.device_type == 1 && t.device.device_id == 0;
  if (!on_host && t.device.device_type != 3 && t.device.device_type != 11 &&
      t.device.device_type != 13)
    return false;
  const i128 most = largest;
  i128 elements = 1;
  bool is_empty = false;
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] < 0) return false;
    is_empty = is_empty || t.shape[i] == 0;
  }
  for (int i = 0; i < t.ndim; ++i) {
    elements *= t.shape[i] == 0 ? 1 : t.shape[i];
    if (elements > most) return false;
  }
  if (is_empty) return true;
  const i128 bytes = t.dtype.bits / 8;
  if (elements * bytes > most || t.data == nullptr) return false;
  i128 reach = 1;
  for (int i = 0; t.strides != nullptr && i < t.ndim; ++i) {
    const i128 stride = t.strides[i];
    reach += (t.shape[i] - 1) * (stride < 0 ? -stride : stride);
    if (reach > most) return false;
  }
  const i128 address = static_cast<i128>(std::bit_cast<u64>(t.data)) + t.byte_offset;
  return reach * bytes <= most && address >> 64 == 0 && address % bytes == 0;
}

/// Whether all elements are in the memory, so that they can be read.
bool is_inside(const any_view<>& v, const unsigned char* memory) {
  const i128 start = static_cast<i128>(std::bit_cast<u64>(v.data())) - std::bit_cast<u64>(memory);
  i128 low = start, high = start + size_of(v.dtype());
  for (int i = 0; i < v.rank(); ++i) {
    const i128 reach = static_cast<i128>(v.size(i) - 1) * v.stride(i) * size_of(v.dtype());
    (reach < 0 ? low : high) += reach;
  }
  return low >= 0 && high <= memory_bytes && v.numel() <= memory_bytes;
}

/// The sum of all bytes of the elements.
u64 sum_of_bytes(const any_view<>& v) {
  if (v.rank() == 0) {
    std::array<unsigned char, 16> bytes{};
    std::memcpy(bytes.data(), v.data(), static_cast<std::size_t>(size_of(v.dtype())));
    u64 sum = 0;
    for (const unsigned char b : bytes) sum += b;
    return sum;
  }
  u64 sum = 0;
  for (i64 i = 0; i < v.size(0); ++i) sum += sum_of_bytes(v.select(0, i));
  return sum;
}

struct counts {
  int valid = 0, refused = 0, read = 0;
};

template <class Managed>
void one_case(generator& random, unsigned char* memory, counts& n) {
  random_tensor<Managed> x(random, memory);
  const dl_tensor& t = x.managed.dl_tensor;
  bool valid = is_valid(t);
  if constexpr (dlpack_versioned<Managed>) valid = valid && x.managed.version.major == 1;
  const int deletions = x.managed.deleter == nullptr ? 0 : 1;
  dlpack_ptr<Managed> owner(&x.managed);
  const stream_ref<host> stream;
  try {
    const auto taken = from_dlpack(stream, std::move(owner));
    ASSERT_TRUE(valid);
    ASSERT_EQ(owner.get(), nullptr);
    ++n.valid;
    const any_view<>& v = taken.view();
    ASSERT_EQ(v.rank(), t.ndim);
    for (int i = 0; i < t.ndim; ++i) ASSERT_EQ(v.size(i), t.shape[i]);
    if constexpr (dlpack_versioned<Managed>) {
      ASSERT_EQ(v.is_const(), x.managed.flags % 2 == 1);
    }
    const auto again = to_dlpack(v, 0);
    ASSERT_EQ(again->dl_tensor.dtype, t.dtype);
    if (!v.empty()) {
      ASSERT_EQ(std::bit_cast<u64>(v.data()), std::bit_cast<u64>(t.data) + t.byte_offset);
      for (int i = 0; t.strides != nullptr && i < t.ndim; ++i) ASSERT_EQ(v.stride(i), t.strides[i]);
      const any_view<> same = dlpack_view(stream, again->dl_tensor);
      ASSERT_EQ(same.data(), v.data());
      if (is_inside(v, memory)) {
        ++n.read;
        ASSERT_EQ(sum_of_bytes(same), sum_of_bytes(v));
      }
    }
    ASSERT_EQ(x.deleted, 0);
  } catch (const error& refused) {
    ASSERT_FALSE(valid) << refused.what();
    ASSERT_EQ(refused.op(), "from_dlpack");
    ASSERT_NE(owner.get(), nullptr);
    ASSERT_EQ(x.deleted, 0);
    ++n.refused;
    owner.reset();
  }
  ASSERT_EQ(x.deleted, deletions);
}

TEST(dlpack, random_structs) {
  constexpr int cases = 100000;
  alignas(16) static unsigned char memory[memory_bytes];
  for (i64 i = 0; i < memory_bytes; ++i) memory[i] = static_cast<unsigned char>(i);
  generator random(20170412);
  counts n;
  for (int k = 0; k < cases && !HasFatalFailure(); ++k) {
    SCOPED_TRACE(k);
    if (random.one_in(2))
      one_case<dl_managed_tensor>(random, memory, n);
    else
      one_case<dl_managed_tensor_versioned>(random, memory, n);
  }
  // Neither kind is rare, and many are read.
  EXPECT_GT(n.valid, cases / 5);
  EXPECT_GT(n.refused, cases / 5);
  EXPECT_GT(n.read, cases / 10);
  std::printf("%d valid, %d refused, %d read\n", n.valid, n.refused, n.read);
}

}  // namespace
