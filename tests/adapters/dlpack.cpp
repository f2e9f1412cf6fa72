// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/adapters/dlpack.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "../tensor/test_support.hpp"
#include "dlpack_devices.hpp"

// A header of another library that has DLPack's layout, with enumerations as dlpack.h has them.
namespace other {

enum device_kind { cpu = 1, gpu = 2 };
struct device {
  device_kind device_type;
  int device_id;
};
struct type {
  unsigned char code, bits;
  unsigned short lanes;
};
struct array {
  void* data;
  other::device device;
  int ndim;
  type dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct managed {
  array dl_tensor;
  void* manager_ctx;
  void (*deleter)(managed*);
};
struct version {
  std::uint32_t major, minor;
};
struct managed_versioned {
  other::version version;
  void* manager_ctx;
  void (*deleter)(managed_versioned*);
  std::uint64_t flags;
  array dl_tensor;
};

}  // namespace other

namespace {

using namespace flaggems;

static_assert(dlpack_managed<dl_managed_tensor> && !dlpack_versioned<dl_managed_tensor>);
static_assert(dlpack_versioned<dl_managed_tensor_versioned>);
static_assert(dlpack_managed<other::managed> && !dlpack_versioned<other::managed>);
static_assert(dlpack_versioned<other::managed_versioned>);
static_assert(!dlpack_managed<other::array> && dlpack_tensor_struct<other::array>);
static_assert(!std::is_copy_constructible_v<dlpack_tensor<>>);
static_assert(std::is_nothrow_move_constructible_v<dlpack_tensor<>>);
static_assert(std::is_nothrow_move_assignable_v<dlpack_tensor<>>);

/// A producer of one matrix of i32, whose members a test changes.
template <class Managed = dl_managed_tensor_versioned>
struct producer {
  producer() {
    managed.dl_tensor.data = values;
    managed.dl_tensor.device = {dl_cpu, 0};
    managed.dl_tensor.ndim = 2;
    managed.dl_tensor.dtype = {dl_int, 32, 1};
    managed.dl_tensor.shape = sizes;
    managed.dl_tensor.strides = strides;
    managed.manager_ctx = this;
    managed.deleter = [](Managed* m) { ++static_cast<producer*>(m->manager_ctx)->deleted; };
    if constexpr (dlpack_versioned<Managed>) managed.version = {1, 0};
  }
  alignas(16) i32 values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  i64 sizes[16] = {3, 4}, strides[16] = {4, 1};
  Managed managed{};
  int deleted = 0;
};

const stream_ref<host> on_host;

/// As what comes from another library is taken over.
template <class Managed>
dlpack_ptr<Managed> owned(Managed& m) {
  return dlpack_ptr<Managed>(&m);
}

TEST(dlpack, codes_are_dlpacks) {
  // From the specification, in the order of `dtype`.
  const int expected[dtype_count][2] = {{2, 64}, {2, 32}, {2, 16}, {4, 16}, {10, 8}, {12, 8},
                                        {0, 8},  {0, 16}, {0, 32}, {0, 64}, {1, 8},  {1, 16},
                                        {1, 32}, {1, 64}, {6, 8},  {5, 64}, {5, 128}};
  alignas(16) unsigned char memory[64] = {};
  for (int k = 0; k < dtype_count; ++k) {
    const dtype type = static_cast<dtype>(k);
    const auto m = to_dlpack(any_view<>(static_cast<void*>(memory), type, {2, 2}), 0);
    EXPECT_EQ(m->dl_tensor.dtype.code, expected[k][0]) << to_string(type);
    EXPECT_EQ(m->dl_tensor.dtype.bits, expected[k][1]) << to_string(type);
    EXPECT_EQ(m->dl_tensor.dtype.lanes, 1);
    const any_view<> back = dlpack_view(on_host, m->dl_tensor);
    EXPECT_EQ(back.dtype(), type);
    EXPECT_EQ(back.data(), memory);
  }
}

TEST(dlpack, imports_both_versions) {
  const auto check = [](auto& p) {
    {
      const auto t = from_dlpack(on_host, owned(p.managed));
      EXPECT_EQ(t.view().dtype(), dtype::i32);
      EXPECT_EQ(shape(t.view().sizes()), shape({3, 4}));
      EXPECT_EQ(t.view().template as<i32>()(2, 1), 9);
      EXPECT_EQ(t.view().data(), p.values);
      EXPECT_FALSE(t.view().is_const());
      EXPECT_FALSE(t.is_copied());
      EXPECT_EQ(t.device_index(), 0);
      EXPECT_EQ(p.deleted, 0);
    }
    EXPECT_EQ(p.deleted, 1);
  };
  producer<dl_managed_tensor> p0;
  check(p0);
  producer<dl_managed_tensor_versioned> p1;
  check(p1);
  p1.managed.version.minor = 99;  // adds codes only
  p1.deleted = 0;
  check(p1);
}

TEST(dlpack, flags) {
  producer<> p;
  p.managed.flags = dl_read_only | dl_is_copied;
  {
    const auto t = from_dlpack(on_host, owned(p.managed));
    EXPECT_TRUE(t.view().is_const());
    EXPECT_TRUE(t.is_copied());
    EXPECT_EQ(t.view().as<const i32>()(1, 1), 5);
    EXPECT_RAISES(t.view().as<i32>(), invalid_argument, "any_view::as");
  }
  p.managed.flags = ~u64{3};  // those we do not know
  const auto t = from_dlpack(on_host, owned(p.managed));
  EXPECT_FALSE(t.view().is_const());
  EXPECT_FALSE(t.is_copied());
}

TEST(dlpack, strides_and_offsets) {
  producer<> p;
  dl_tensor& t = p.managed.dl_tensor;
  const auto view = [&] { return dlpack_view(on_host, t).as<const i32>(); };
  t.strides = nullptr;  // row-major
  EXPECT_EQ(view()(1, 3), 7);
  t.byte_offset = 8;
  p.sizes[0] = 2;
  EXPECT_EQ(view()(0, 0), 2);
  EXPECT_EQ(view()(1, 3), 9);
  t.strides = p.strides;
  p.strides[0] = 0;  // broadcast
  EXPECT_EQ(view()(1, 3), 5);
  p.strides[0] = -4;  // backwards
  t.byte_offset = 4 * sizeof(i32);
  EXPECT_EQ(view()(1, 3), 3);
  p.strides[1] = 4;
  p.strides[0] = 1;
  p.sizes[1] = 2;
  EXPECT_EQ(view()(1, 1), 9);
  t.ndim = 0;
  EXPECT_EQ(view().rank(), 0);
  EXPECT_EQ(view()(), 4);
  t.shape = nullptr;  // which then has nothing to say
  t.strides = nullptr;
  EXPECT_EQ(view()(), 4);
}

TEST(dlpack, no_elements) {
  producer<> p;
  dl_tensor& t = p.managed.dl_tensor;
  t.data = nullptr;
  t.byte_offset = 3;
  for (const i64 other : {i64{0}, i64{4}, (std::numeric_limits<i64>::max)()}) {
    p.sizes[0] = 0;
    p.sizes[1] = other;
    p.strides[0] = (std::numeric_limits<i64>::min)();
    EXPECT_EQ(dlpack_view(on_host, t).numel(), 0);
    t.strides = nullptr;
    EXPECT_EQ(dlpack_view(on_host, t).size(1), other);
    t.strides = p.strides;
  }
}

TEST(dlpack, sizes_of_one_have_any_stride) {
  producer<> p;
  p.sizes[0] = 1;
  p.strides[0] = (std::numeric_limits<i64>::min)();
  EXPECT_EQ(dlpack_view(on_host, p.managed.dl_tensor).as<const i32>()(0, 2), 2);
}

/// Changes a producer and expects an error: the owner keeps what was not taken over, and deletes it
/// once, as does one that nobody else has.
template <class Managed = dl_managed_tensor_versioned, class Change>
void refused(errc code, const Change& change, const char* got = "") {
  producer<Managed> p;
  change(p);
  const int deletions = p.managed.deleter == nullptr ? 0 : 1;
  {
    auto owner = owned(p.managed);
    const auto told =
        flaggems_test::error_of([&] { (void)from_dlpack(on_host, std::move(owner)); });
    EXPECT_EQ(told.code(), code) << told.what();
    EXPECT_EQ(told.op(), "from_dlpack");
    EXPECT_NE(std::string(told.what()).find(got), std::string::npos) << told.what();
    EXPECT_EQ(owner.get(), &p.managed);
    EXPECT_EQ(p.deleted, 0);
  }
  EXPECT_EQ(p.deleted, deletions);
  (void)flaggems_test::error_of([&] { (void)from_dlpack(on_host, owned(p.managed)); });
  EXPECT_EQ(p.deleted, 2 * deletions);
}

TEST(dlpack, refuses_what_is_malformed) {
  const auto largest = (std::numeric_limits<i64>::max)();
  const auto bad = errc::invalid_argument;
  const auto with = [](auto change) {
    return [change](auto& p) { change(p, p.managed.dl_tensor); };
  };
  refused(
      errc::not_supported, [](auto& p) { p.managed.version.major = 0; }, "got 0");
  refused(
      errc::not_supported, [](auto& p) { p.managed.version.major = 2; }, "got 2");
  for (const i32 ndim :
       {-1, max_rank + 1, (std::numeric_limits<i32>::max)(), (std::numeric_limits<i32>::min)()})
    refused(bad, with([=](auto&, dl_tensor& t) { t.ndim = ndim; }), "expected 0 to 8 dimensions");
  refused(bad, with([](auto&, dl_tensor& t) { t.shape = nullptr; }), "sizes of 2 dimensions");
  refused(bad, with([](auto& p, dl_tensor&) { p.sizes[1] = -1; }), "not negative");
  refused(bad, with([](auto& p, dl_tensor&) { p.sizes[0] = i64{1} << 62, p.sizes[1] = 2; }),
          "2^63");
  refused(bad, with([](auto&, dl_tensor& t) { t.data = nullptr; }), "got null");
  for (const u64 offset : {1u, 2u, 3u})
    refused(bad, with([=](auto&, dl_tensor& t) { t.byte_offset = offset; }), "multiple");
  refused(bad, with([](auto&, dl_tensor& t) { t.byte_offset = ~u64{0} - 3; }), "offset");
  const auto layout = errc::shape_mismatch;
  refused(layout, with([=](auto& p, dl_tensor&) { p.strides[0] = largest; }), "2^63");
  refused(layout, with([=](auto& p, dl_tensor&) { p.strides[0] = -largest - 1; }), "2^63");
  refused(layout, with([=](auto& p, dl_tensor&) { p.strides[1] = largest / 4; }), "2^63");
  refused(layout, with([](auto& p, dl_tensor& t) { p.sizes[0] = i64{1} << 61, t.ndim = 1; }),
          "2^63");
  const auto type = errc::dtype_mismatch;
  refused(type, with([](auto&, dl_tensor& t) { t.dtype.lanes = 4; }), "4 lanes");
  refused(type, with([](auto&, dl_tensor& t) { t.dtype.lanes = 0; }), "0 lanes");
  refused(type, with([](auto&, dl_tensor& t) { t.dtype.bits = 12; }), "12 bits");
  refused(type, with([](auto&, dl_tensor& t) { t.dtype.code = 3; }), "code 3");
  for (int code : {7, 8, 9, 11, 13, 14, 15, 16, 17, 255})  // small floats that we have not
    refused(type, with([=](auto&, dl_tensor& t) { t.dtype = {static_cast<u8>(code), 8, 1}; }));
  const auto device = errc::device_mismatch;
  refused(device, with([](auto&, dl_tensor& t) { t.device.device_id = 1; }), "id 1");
  refused(device, with([](auto&, dl_tensor& t) { t.device.device_id = -1; }), "id -1");
  for (const i32 kind : {0, 2, 4, 7, 8, 10, 12, 14, -1, 1 << 30})
    refused(device, with([=](auto&, dl_tensor& t) { t.device.device_type = kind; }), "got type ");
  // The same without a version, and where nobody deletes.
  refused<dl_managed_tensor>(bad, with([](auto&, dl_tensor& t) { t.ndim = 9; }), "8 dimensions");
  refused(bad, with([](auto& p, dl_tensor& t) { t.ndim = 9, p.managed.deleter = nullptr; }));
  EXPECT_RAISES(from_dlpack(on_host, dlpack_ptr<dl_managed_tensor>()), invalid_argument,
                "from_dlpack");
  EXPECT_RAISES(from_dlpack(on_host, dlpack_ptr<>()), invalid_argument, "from_dlpack");
}

TEST(dlpack, the_deleter_is_called_once) {
  producer<> p, q;
  {
    auto a = from_dlpack(on_host, owned(p.managed));
    auto b = std::move(a);
    EXPECT_EQ(a.view().numel(), 0);  // NOLINT(bugprone-use-after-move): it has no elements then
    EXPECT_EQ(b.view().numel(), 12);
    auto c = from_dlpack(on_host, owned(q.managed));
    c = std::move(b);
    EXPECT_EQ(q.deleted, 1);
    EXPECT_EQ(p.deleted, 0);
    auto& itself = c;
    c = std::move(itself);
    EXPECT_EQ(p.deleted, 0);
    EXPECT_EQ(c.view().data(), p.values);
  }
  EXPECT_EQ(p.deleted, 1);
  EXPECT_EQ(q.deleted, 1);
  p.managed.deleter = nullptr;  // nobody to call
  { const auto a = from_dlpack(on_host, owned(p.managed)); }
  { const dlpack_ptr<> never_taken(&p.managed); }
  EXPECT_EQ(p.deleted, 1);
}

TEST(dlpack, kinds_of_memory) {
  producer<> p;
  dl_device& device = p.managed.dl_tensor.device;
  // The host reads pinned and managed memory, whatever device they name.
  for (const i32 kind : {dl_cuda_host, dl_rocm_host, dl_cuda_managed}) {
    device = {kind, 3};
    EXPECT_EQ(dlpack_view(on_host, p.managed.dl_tensor).numel(), 12);
  }
  const auto takes = [&](auto stream, dl_device from) {
    device = from;
    try {
      (void)dlpack_view(stream, p.managed.dl_tensor);
      return true;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::device_mismatch) << e.what();
      EXPECT_EQ(e.op(), "dlpack_view");
      return false;
    }
  };
  const stream_ref<cuda_like> cuda(nullptr, 1);
  EXPECT_TRUE(takes(cuda, {dl_cuda, 1}));
  EXPECT_TRUE(takes(cuda, {dl_cuda_managed, 0}));
  EXPECT_FALSE(takes(cuda, {dl_cuda, 0}));
  EXPECT_FALSE(takes(cuda, {dl_cpu, 1}));
  EXPECT_FALSE(takes(cuda, {dl_cuda_host, 1}));
  EXPECT_FALSE(takes(cuda, {dl_rocm, 1}));
  const stream_ref<rocm_like> rocm(nullptr, 0);
  EXPECT_TRUE(takes(rocm, {dl_rocm, 0}));
  EXPECT_FALSE(takes(rocm, {dl_cuda_managed, 0}));
  const stream_ref<one_api_like> one_api(nullptr, 0);
  EXPECT_TRUE(takes(one_api, {dl_one_api, 0}));
  EXPECT_TRUE(takes(one_api, {dl_cpu, 7}));
  EXPECT_FALSE(takes(one_api, {77, 0}));
  const stream_ref<opencl_like> opencl(nullptr, 0);
  EXPECT_TRUE(takes(opencl, {dl_opencl, 0}));
  p.managed.dl_tensor.byte_offset = 4;
  EXPECT_RAISES(dlpack_view(opencl, p.managed.dl_tensor), not_supported, "dlpack_view");
  i32 value = 0;
  EXPECT_EQ(to_dlpack(tensor_view<i32, one_api_like>(&value, {1}), 1)->dl_tensor.device.device_type,
            dl_one_api);
}

TEST(dlpack, exports_views) {
  std::vector<i32> values(24);
  for (int i = 0; i < 24; ++i) values[static_cast<std::size_t>(i)] = i;
  const tensor_view<i32> whole(values.data(), {2, 3, 4});
  const tensor_view<i32> views[] = {
      whole,
      whole.select(0, 1).slice(1, 1, 4, 2),               // with an offset
      whole.flip({0, 2}),                                 // negative strides
      whole.select(2, 3).unsqueeze(0).expand({5, 2, 3}),  // stride 0
      whole.permute({2, 0, 1}),
      whole.select(0, 0).select(0, 0).select(0, 2),  // rank 0
      whole.slice(1, 1, 1),                          // no elements
      whole.view({1, 1, 1, 1, 1, 1, 1, 24}),
  };
  for (const auto& v : views) {
    const auto same = [&](const any_view<>& w) {
      ASSERT_EQ(shape(w.sizes()), v.shape_of());
      EXPECT_EQ(w.data(), v.empty() ? nullptr : v.data());
      for (int i = 0; i < v.rank(); ++i)
        if (v.size(i) > 1 && !v.empty()) {
          EXPECT_EQ(w.stride(i), v.stride(i));
        }
    };
    const auto now = from_dlpack(on_host, to_dlpack(v, 0));
    same(now.view());
    const auto old = from_dlpack(on_host, to_dlpack<dl_managed_tensor>(any_view<>(v), 0));
    same(old.view());
    const auto theirs = to_dlpack<other::managed>(v, 0);
    EXPECT_EQ(theirs->dl_tensor.device.device_type, other::cpu);
    EXPECT_EQ(theirs->dl_tensor.ndim, v.rank());
    EXPECT_NE(theirs->dl_tensor.shape, nullptr);
    EXPECT_NE(theirs->dl_tensor.strides, nullptr);
    same(dlpack_view(on_host, theirs->dl_tensor));
    const auto taken = from_dlpack(on_host, to_dlpack<other::managed_versioned>(v, 0));
    same(taken.view());
  }
  const auto fixed = to_dlpack(tensor_view<i32, host, extents<4, 6>>(values.data()), 0);
  EXPECT_EQ(fixed->dl_tensor.shape[1], 6);
  EXPECT_EQ(fixed->version.major, 1u);
}

TEST(dlpack, strides_that_address_nothing_are_exported_as_row_major) {
  i32 value = 0;
  const i64 huge = (std::numeric_limits<i64>::max)();
  const auto one = to_dlpack(tensor_view<i32>(&value, {1, 1, 1}, {huge, -huge, 0}), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(one->dl_tensor.strides[i], 1);
  const auto none = to_dlpack(tensor_view<i32>(&value, {3, 0, 5}, {huge, -huge, 0}), 0);
  EXPECT_EQ(none->dl_tensor.strides[0], 5);
  EXPECT_EQ(none->dl_tensor.strides[2], 1);
}

TEST(dlpack, const_elements_are_read_only) {
  const i32 values[4] = {1, 2, 3, 4};
  const tensor_view<const i32> v(values, {2, 2});
  const auto m = to_dlpack(v, 0);
  EXPECT_EQ(m->flags, dl_read_only);
  const auto back = from_dlpack(on_host, to_dlpack(v, 0));
  EXPECT_TRUE(back.view().is_const());
  EXPECT_RAISES(to_dlpack<dl_managed_tensor>(v, 0), not_supported, "to_dlpack");
  const auto x = ones(on_host, {2});
  EXPECT_EQ(to_dlpack(x)->flags, dl_read_only);
  EXPECT_RAISES(to_dlpack<dl_managed_tensor>(x), not_supported, "to_dlpack");
}

TEST(dlpack, an_exported_view_keeps_its_owner) {
  const auto owner = std::make_shared<std::vector<f32>>(6, 2.0F);
  auto m = to_dlpack(tensor_view<f32>(owner->data(), {2, 3}), 0, owner);
  EXPECT_EQ(owner.use_count(), 2);
  {
    const auto t = from_dlpack(on_host, std::move(m));
    EXPECT_EQ(owner.use_count(), 2);
    EXPECT_EQ(t.view().as<f32>()(1, 2), 2);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(dlpack, an_exported_tensor_shares_its_memory) {
  const auto in_use = [] { return memory_stats<host>().allocation.current; };
  const i64 before = in_use();
  dlpack_ptr<> m, part;
  {
    auto x = from_values<f32>(on_host, {1, 2, 3, 4, 5, 6}, {2, 3});
    m = to_dlpack(x);
    part = to_dlpack(x.select(1, 1), x.device_index(), x.share_memory());
    EXPECT_EQ(m->flags, 0u);
    x(1, 2) = 7;
  }
  EXPECT_EQ(in_use(), before + 1);
  {
    auto t = from_dlpack(on_host, std::move(m));
    EXPECT_EQ(t.view().as<f32>()(1, 2), 7);
  }
  EXPECT_EQ(in_use(), before + 1);
  EXPECT_EQ(dlpack_view(on_host, part->dl_tensor).as<f32>()(1), 5);
  part.reset();
  EXPECT_EQ(in_use(), before);
  auto y = ones(on_host, {3});
  m = to_dlpack(std::move(y));
  EXPECT_EQ(y.numel(), 0);  // NOLINT(bugprone-use-after-move): it has no elements then
  EXPECT_EQ(in_use(), before + 1);
  m.reset();
  m = to_dlpack(ones(on_host, {0}));
  EXPECT_EQ(m->dl_tensor.data, nullptr);
  EXPECT_EQ(in_use(), before);
}

}  // namespace
