// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <support/devices.hpp>
#include <support/mock_device.hpp>
#include <support/user_kernels.hpp>

#include <vector>

namespace {

using support::mock_device;

static_assert(flaggems::device<flaggems::host> && flaggems::device<mock_device>);
static_assert(!flaggems::device<int>);

struct hidden {};

// A member that cannot be reached is as good as missing.
#define LACKING(member)                         \
  class lacking_##member : public mock_device { \
    using mock_device::member;                  \
  };                                            \
  static_assert(!flaggems::device<lacking_##member>, "the concept does not ask for " #member);
SUPPORT_FOR_EACH_DEVICE_MEMBER(LACKING)

#define COUNT(member) +1
static_assert(SUPPORT_FOR_EACH_DEVICE_MEMBER(COUNT) == support_device_member_count);

// Every constant of a policy is asked for, too.
#define POLICY_LACKING(policy, member)           \
  struct policy##_lacks_##member : mock_device { \
    struct policy : mock_device::policy {        \
      static constexpr hidden member{};          \
    };                                           \
  };                                             \
  static_assert(!flaggems::device<policy##_lacks_##member>, #policy " " #member);
POLICY_LACKING(geometry, warp_size)
POLICY_LACKING(geometry, preferred_warps)
POLICY_LACKING(geometry, max_grid)
POLICY_LACKING(geometry, grid_quantum)
POLICY_LACKING(geometry, cap_grid_to_units)
POLICY_LACKING(argument_abi, kind)
POLICY_LACKING(argument_abi, alignment)
POLICY_LACKING(images, providers)
POLICY_LACKING(capabilities, matrix_units)
POLICY_LACKING(capabilities, async_copy)
POLICY_LACKING(capabilities, clusters)
POLICY_LACKING(capabilities, fp64)
POLICY_LACKING(capabilities, fp8)
POLICY_LACKING(capabilities, host_accessible)

// Modules are asked for only where an image must be loaded.
struct with_bundles : mock_device {
  struct images {
    static constexpr flaggems::image_provider providers[] = {flaggems::image_provider::linked,
                                                             flaggems::image_provider::bundle};
  };
};
static_assert(!flaggems::device<with_bundles>);
struct with_modules : with_bundles {
  using module_handle = int;
  using function_handle = int;
  static module_handle load_module(const void*, flaggems::i64);
  static void unload_module(module_handle) noexcept;
  static function_handle find_function(module_handle, const char*);
};
static_assert(flaggems::device<with_modules>);
static_assert(flaggems::check_device<with_modules>());

// A function of another form does not do.
struct allocates_ints : mock_device {
  static int* allocate(flaggems::i64, int);
};
static_assert(!flaggems::device<allocates_ints>);
struct throwing_deallocate : mock_device {
  static void deallocate(void*, flaggems::i64, int);
};
static_assert(!flaggems::device<throwing_deallocate>);

template <class D>
class every_device : public testing::Test {};
using devices = flaggems_test::devices_and_own<flaggems::host, mock_device>;
TYPED_TEST_SUITE(every_device, devices);

/// Memory of a device in the order of its default stream.
template <class D>
class device_bytes {
 public:
  explicit device_bytes(flaggems::i64 bytes)
      : bytes_(bytes), data_(D::allocate(bytes, D::default_stream())) {}
  device_bytes(const device_bytes&) = delete;
  device_bytes& operator=(const device_bytes&) = delete;
  ~device_bytes() { D::deallocate(data_, bytes_, D::default_stream()); }
  void* data() const { return data_; }
  template <class T>
  std::vector<T> read() const {
    std::vector<T> values(static_cast<std::size_t>(bytes_) / sizeof(T));
    const auto s = D::default_stream();
    D::copy(values.data(), data_, bytes_, flaggems::copy_kind::device_to_host, s);
    D::synchronize(s);
    return values;
  }

 private:
  flaggems::i64 bytes_;
  void* data_;
};

TYPED_TEST(every_device, launches_a_kernel_on_every_tile_once) {
  constexpr flaggems::i64 tiles = 1000, n = tiles * flaggems_test::add_one::tile;
  const device_bytes<TypeParam> memory(n * 4);
  const auto s = TypeParam::default_stream();
  TypeParam::fill(memory.data(), 0, n * 4, s);
  flaggems::launch_config config;
  config.op = "count";
  config.tiles = tiles;
  config.work = 1 << 30;
  TypeParam::template launch<flaggems_test::add_one>(s, config, static_cast<int*>(memory.data()),
                                                     n);
  EXPECT_EQ(memory.template read<int>(), std::vector<int>(n, 1));
}

TYPED_TEST(every_device, has_identity_and_properties) {
  EXPECT_NE(std::string(TypeParam::name), "");
  EXPECT_GE(TypeParam::device_count(), 1);
  EXPECT_EQ(std::string(TypeParam::unavailable_reason()), "");
  const flaggems::device_properties p = TypeParam::properties(0);
  EXPECT_FALSE(p.name.empty());
  EXPECT_FALSE(p.arch.empty());
  EXPECT_GE(p.compute_units, 0);  // 0: not told
  EXPECT_GE(p.total_memory, 0);
  EXPECT_GE(p.free_memory, 0);
  if (p.total_memory != 0) {
    EXPECT_LE(p.free_memory, p.total_memory);
  }
  EXPECT_FALSE(std::string(TypeParam::error_text(1)).empty());
}

TEST(host_device, tells_its_numbers) {
  const flaggems::device_properties p = flaggems::host::properties(0);
  EXPECT_GE(p.compute_units, 1);
  EXPECT_GT(p.total_memory, 0);
  EXPECT_GT(p.free_memory, 0);
}

TYPED_TEST(every_device, copies_and_fills) {
  const auto s = TypeParam::default_stream();
  const device_bytes<TypeParam> from(100), to(100);
  TypeParam::fill(from.data(), 0xab, 100, s);
  TypeParam::fill(to.data(), 0, 100, s);
  TypeParam::copy(to.data(), from.data(), 99, flaggems::copy_kind::device_to_device, s);
  const auto values = to.template read<unsigned char>();
  EXPECT_EQ(values[98], 0xab);
  EXPECT_EQ(values[99], 0);
}

}  // namespace
