// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::ascend over a simulated ACL: what is its own besides what every device type does
// (device/conformance.cpp), and launches of kernels of modules.
#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/vendors/ascend.hpp>
#include <flaggems/vendors/host.hpp>

#include <support/errors.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fg = flaggems;
using fg::ascend;
using fg::ascend_cores;
using fg::copy_kind;
using fg::i32;
using fg::i64;
using flaggems_test::contains;
using flaggems_test::error_of;

template <class F>
F* simulated(const char* name) {
  void* const library = dlopen(std::getenv("FLAGGEMS_ASCEND_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F*>(library != nullptr ? dlsym(library, name) : nullptr);
}
long live(const char* what) {
  return simulated<decltype(flaggems_sim_live)>("flaggems_sim_live")(what);
}
class ascend_device : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(ascend::device_count(), 2) << ascend::unavailable_reason();
    ascend::set_device(0);
  }
  void TearDown() override {
    fg::empty_cache<ascend>(0);
    fg::empty_cache<ascend>(1);
    for (const char* what : {"bytes", "streams", "events", "pinned", "modules"})
      EXPECT_EQ(live(what), 0) << what;
  }
};

TEST_F(ascend_device, is_a_vector_core_with_properties) {
  static_assert(fg::execution_model<ascend> == fg::execution::vector_core);
  const fg::device_properties p = ascend::properties(1);
  EXPECT_EQ(p.arch, "Ascend910B3");
  EXPECT_EQ(p.compute_units, 20);
  EXPECT_EQ(p.total_memory, i64{8} << 30);
  EXPECT_EQ(ascend::current_device(), 0);
  EXPECT_EQ(error_of([] { (void)ascend::properties(2); }).code(), fg::errc::device_unavailable);
  int other = -1;
  std::thread([&] { other = ascend::current_device(); }).join();
  EXPECT_EQ(other, 0);  // a thread that has set none works on the first
}

TEST_F(ascend_device, copies_in_all_directions_are_in_the_order_of_a_stream) {
  for (const int device : {0, 1}) {
    const fg::stream<ascend> s(device);
    const auto x = fg::from_values<i32>(s, {1, 2, 3, 4}, {4});
    auto y = x.clone(s);
    {
      const fg::detail::on_device<ascend> scope(device);
      ascend::fill(y.data(), 0x11, 8, s.handle());
    }
    const auto there = fg::to_host(s, y);
    EXPECT_EQ(std::vector<i32>(there.data(), there.data() + 4),
              (std::vector<i32>{0x11111111, 0x11111111, 3, 4}));
  }
}

TEST_F(ascend_device, streams_wait_for_events) {
  const fg::stream<ascend> a, b;
  const auto x = fg::from_values<i32>(a, {7}, {1});
  auto y = fg::empty<i32>(b, {1});
  fg::event<ascend> never, begin, end;
  EXPECT_TRUE(never.query());  // ACL says that it is not complete
  never.synchronize();
  b.wait(never);
  begin.record(a);
  ascend::fill(x.clone(a).data(), 0, 4, a.handle());
  end.record(a);
  b.wait(end);
  ascend::copy(y.data(), x.data(), 4, copy_kind::device_to_device, b.handle());
  EXPECT_EQ(fg::to_host(b, y).data()[0], 7);
  end.synchronize();
  EXPECT_TRUE(end.query());
  EXPECT_GT(elapsed_ms(begin, end), 0);
  EXPECT_THROW((void)elapsed_ms(never, end), fg::error);
  while (!a.query()) std::this_thread::yield();
}

TEST_F(ascend_device, errors_have_acls_words_and_exhaustion_its_code) {
  const fg::stream<ascend> s;
  EXPECT_EQ(error_of([&] { (void)fg::empty<i32>(s, {i64{1} << 40}); }).code(),
            fg::errc::out_of_memory);
  i32 here[4] = {};
  const fg::error e =
      error_of([&] { ascend::copy(here, here, 16, copy_kind::host_to_device, s.handle()); });
  EXPECT_NE(
      std::string(e.what()).find("success of aclrtMemcpyAsync, got ACL result 107000: simulated"),
      std::string::npos)
      << e.what();
}

// ---- kernels of modules

fg::ascend_module module_of(const std::string& types, ascend_cores cores,
                            flaggems_sim_entry entry = nullptr) {
  if (entry != nullptr)
    simulated<decltype(flaggems_sim_register)>("flaggems_sim_register")(types.c_str(), entry);
  const std::string image = "flaggems simulated image of ascend\n" + types;
  return ascend::load_module(image.c_str(), static_cast<i64>(image.size()), cores);
}
template <class T>
T argument(void** arguments, std::size_t at) {
  T value;
  std::memcpy(&value, static_cast<const unsigned char*>(arguments[0]) + at, sizeof(T));
  return value;
}

// out[tile] = the block that strides to it, from `first` on.
int note_blocks(long blocks, int, int, long tiles, void** arguments) {
  if (blocks < 0) return 20;                                         // i32, pointer, i32
  if (arguments[1] != nullptr || arguments[2] != nullptr) return 1;  // it needs none
  const auto first = argument<i32>(arguments, 0), factor = argument<i32>(arguments, 16);
  auto* const out = argument<i32*>(arguments, 8);
  for (i32 block = 0; block < blocks; ++block)
    for (long tile = block; tile < tiles; tile += blocks) out[tile] = first + factor * block;
  return 0;
}

TEST_F(ascend_device, modules_are_loaded_by_the_kind_of_their_cores) {
  const auto module = module_of("mixed 3 add", ascend_cores::mixed);
  EXPECT_THROW((void)ascend::find_function(module, "missing"), fg::error);
  ascend::unload_module(module);
  EXPECT_THROW((void)ascend::load_module("flaggems simulated image of hip\n", 32), fg::error);
  EXPECT_TRUE(contains(error_of([] { (void)module_of("vector 3 add", ascend_cores::mixed); }),
                       "success of aclrtBinaryLoadFromData, got ACL result 107000"));
  EXPECT_THROW((void)module_of("mixed 3 add", ascend_cores::vector), fg::error);
  EXPECT_THROW((void)module_of("cube 3 add", ascend_cores::vector), fg::error);
}

TEST_F(ascend_device, launches_have_a_block_for_each_tile_and_at_most_one_a_core) {
  struct {
    const char* types;
    ascend_cores cores;
    i32 count;
  } const kinds[] = {{"mixed 3 note", ascend_cores::mixed, 20},
                     {"vector 3 note", ascend_cores::vector, 40},
                     {"cube 3 note", ascend_cores::cube, 20},
                     {"vector 2 note", ascend_cores::vector, 40}};
  for (const int device : {0, 1}) {
    const fg::detail::on_device<ascend> scope(device);
    const fg::stream<ascend> s(device);
    for (const auto& [types, cores, count] : kinds) {
      const auto module = module_of(types, cores, &note_blocks);
      fg::ascend_kernel kernel = ascend::find_function(module, "flaggems_entry");
      EXPECT_TRUE(kernel.syncs);
      kernel.syncs = std::string(types).find('3') != std::string::npos;
      for (const i32 tiles : {1, 5, 97}) {
        auto out =
            fg::from_values<i32>(s, std::vector<i32>(static_cast<std::size_t>(tiles), -1), {tiles});
        if (device == 1 && cores == ascend_cores::cube) {  // of which it counts none
          EXPECT_EQ(
              error_of([&] { ascend::invoke(s.handle(), kernel, tiles, 1, out.data(), 1); }).code(),
              fg::errc::not_supported);
          continue;
        }
        ascend::invoke(s.handle(), kernel, tiles, i32{100}, out.data(), i32{3});
        const auto there = fg::to_host(s, out);
        for (i32 k = 0; k < tiles; ++k) ASSERT_EQ(there.data()[k], 100 + 3 * (k % count)) << types;
      }
      ascend::unload_module(module);
    }
  }
}

// Checks that all locks are as `initial` says and takes them; out[block] = where the workspace is,
// which it fills.
int use_workspace(long blocks, int, int, long, void** arguments) {
  if (blocks < 0) return 24;  // i64, pointer, i32, 4 bytes unused
  auto* const locks = static_cast<i64*>(arguments[1]);
  auto* const words = static_cast<i64*>(arguments[2]);
  for (i32 k = 0; k < argument<i32>(arguments, 16); ++k)
    if (locks[k]++ != argument<i64>(arguments, 0)) return 1;
  for (long k = 0; k < blocks * 64; ++k) words[k] = k;
  auto* const out = argument<i64*>(arguments, 8);
  for (long k = 0; k < blocks; ++k) out[k] = reinterpret_cast<i64>(words);
  return 0;
}

TEST_F(ascend_device, workspaces_and_locks_are_in_the_order_of_the_stream) {
  const auto module = module_of("vector 3 workspace", ascend_cores::vector, &use_workspace);
  fg::ascend_kernel kernel = ascend::find_function(module, "flaggems_entry");
  kernel.workspace = 64 * 8;
  const fg::stream<ascend> a, b;
  auto x = fg::empty<i64>(a, {2, 40}), y = fg::empty<i64>(b, {40});
  const i64 before = fg::memory_stats<ascend>(0).allocated_bytes.current;
  const auto run = [&](const fg::stream<ascend>& s, i64* out) {
    ascend::invoke(s.handle(), kernel, 57, kernel.initial_lock, out, static_cast<i32>(kernel.locks),
                   i32{0});
  };
  for (const auto& [count, initial] : {std::pair<i64, i64>(0, 0), {3, 0}, {5, -1}, {4, 7}}) {
    kernel.locks = count;
    kernel.initial_lock = initial;
    run(a, x.data());
    run(b, y.data());  // while what is queued on `a` may use its own
    run(a, x.data() + 40);
    EXPECT_EQ(fg::memory_stats<ascend>(0).allocated_bytes.current, before);
    const auto of_a = fg::to_host(a, x), of_b = fg::to_host(b, y);
    EXPECT_EQ(of_a.data()[0], of_a.data()[40]);
    EXPECT_NE(of_a.data()[0], of_b.data()[0]);
    EXPECT_EQ(of_a.data()[39], of_a.data()[0]);
  }
  kernel.workspace = i64{1} << 40;
  EXPECT_EQ(error_of([&] { run(a, x.data()); }).code(), fg::errc::out_of_memory);
  ascend::unload_module(module);
}

TEST_F(ascend_device, a_launch_that_cannot_be_is_refused_before_it_is_queued) {
  const auto module = module_of("mixed 3 note", ascend_cores::mixed, &note_blocks);
  const fg::ascend_kernel kernel = ascend::find_function(module, "flaggems_entry");
  const fg::stream<ascend> s;
  auto out = fg::from_values<i32>(s, {-1}, {1});
  const auto code_of = [&](const fg::ascend_kernel& k, i64 tiles) {
    return error_of([&] { ascend::invoke(s.handle(), k, tiles, 1, out.data(), 1); }).code();
  };
  for (const i64 tiles : {i64{-1}, i64{0}, i64{1} << 31})
    EXPECT_EQ(code_of(kernel, tiles), fg::errc::invalid_argument);
  fg::ascend_kernel other;
  EXPECT_EQ(code_of(other, 1), fg::errc::invalid_argument);
  other = kernel;
  other.workspace = -1;
  EXPECT_EQ(code_of(other, 1), fg::errc::invalid_argument);
  other = kernel;
  other.locks = i64{1} << 62;
  EXPECT_EQ(code_of(other, 1), fg::errc::invalid_argument);
  const auto refused = [](const fg::error& e, const char* result) {
    return contains(e, "success of aclrtLaunchKernelWithHostArgs, got ACL result ") &&
           contains(e, result);
  };
  EXPECT_TRUE(refused(error_of([&] { ascend::invoke(s.handle(), kernel, 1, 1, out.data()); }),
                      "107000"));  // an argument too few
  EXPECT_TRUE(refused(error_of([&] { ascend::invoke(s.handle(), kernel, 1, out.data(), 1, 1); }),
                      "107000"));  // and in another order, 4 bytes shorter
  other = kernel;
  other.cores = ascend_cores::vector;  // not as it was loaded
  EXPECT_TRUE(refused(error_of([&] { ascend::invoke(s.handle(), other, 21, 1, out.data(), 1); }),
                      "107000"));
  other = kernel;
  other.syncs = false;
  EXPECT_TRUE(
      refused(error_of([&] { ascend::invoke(s.handle(), other, 1, 1, out.data(), 1); }), "107000"));
  simulated<decltype(flaggems_sim_fail)>("flaggems_sim_fail")("aclrtLaunchKernelWithHostArgs", 1,
                                                              719);
  EXPECT_TRUE(refused(error_of([&] { ascend::invoke(s.handle(), kernel, 1, 1, out.data(), 1); }),
                      "500003"));
  ascend::unload_module(module);
  EXPECT_TRUE(refused(error_of([&] { ascend::invoke(s.handle(), kernel, 1, 1, out.data(), 1); }),
                      "107003"));
  EXPECT_EQ(fg::to_host(s, out).data()[0], -1);
}

// What `invoke` cannot do wrong: without this, the simulated driver might not see it.
TEST_F(ascend_device, the_driver_refuses_wrong_buffers) {
  const auto module = module_of("mixed 3 note", ascend_cores::mixed, &note_blocks);
  const auto kernel = ascend::find_function(module, "flaggems_entry");
  const fg::stream<ascend> s;
  auto out = fg::from_values<i32>(s, {-1}, {1});
  void* sync = nullptr;
  ASSERT_EQ(simulated<int(void**)>("aclrtGetHardwareSyncAddr")(&sync), 0);
  struct packed {
    void *sync, *locks, *workspace;
    i32 first;
    i32* out;
    i32 factor, grid[3];
  };
  static_assert(sizeof(packed) == fg::detail::ascend_arguments<i32, i32*, i32>::bytes(true));
  const packed right{sync, nullptr, nullptr, 5, out.data(), 1, {20, 1, 1}};
  using launch =
      int(void*, unsigned, void*, const void*, void*, std::size_t, const void*, std::size_t);
  const auto with = [&](packed given, unsigned blocks = 20, std::size_t bytes = sizeof(packed),
                        std::size_t at = 0) {
    alignas(8) unsigned char buffer[2 * sizeof(packed)] = {};
    std::memcpy(buffer + at, &given, sizeof(given));
    return simulated<launch>("aclrtLaunchKernelWithHostArgs")(
        kernel.native, blocks, s.handle(), nullptr, buffer + at, bytes, nullptr, 0);
  };
  const auto changed = [&](auto change) {
    packed p = right;
    change(p);
    return with(p);
  };
  EXPECT_EQ(with(right, 21), 107000);
  EXPECT_EQ(with(right, 0), 107000);
  EXPECT_EQ(with(right, 20, sizeof(packed) - 8), 107000);
  EXPECT_EQ(with(right, 20, sizeof(packed) + 8), 107000);
  EXPECT_EQ(with(right, 20, sizeof(packed), 4), 107000);
  EXPECT_EQ(changed([](packed& p) { p.sync = nullptr; }), 107000);
  EXPECT_EQ(changed([](packed& p) { p.locks = &p; }), 107000);
  EXPECT_EQ(changed([](packed& p) { p.workspace = &p; }), 107000);
  EXPECT_EQ(changed([](packed& p) { p.grid[0] = 19; }), 107000);
  EXPECT_EQ(changed([](packed& p) { p.grid[1] = 0; }), 107000);
  EXPECT_EQ(fg::to_host(s, out).data()[0], -1);
  packed one = right;
  one.grid[0] = 1;
  EXPECT_EQ(with(one, 1), 0);
  EXPECT_EQ(fg::to_host(s, out).data()[0], 5);
  ascend::unload_module(module);
}

TEST(ascend_arguments, are_packed_as_a_structure_whose_members_are_aligned) {
  using fg::detail::acl;
  static_assert(acl::has_sync("Ascend910B3") && acl::has_sync("Ascend310P3"));
  static_assert(!acl::has_sync("Ascend910A") && !acl::has_sync("Ascend310B4"));
  static_assert(fg::detail::ascend_arguments<>::bytes(true) == 40);
  static_assert(fg::detail::ascend_arguments<>::bytes(false) == 32);
  i32 x = 0;
  fg::detail::ascend_arguments<float, i32*, i32, i64> a(9, 1.5F, &x, 7, i64{-2});
  a.set_system(&x, nullptr, &a);
  static_assert(decltype(a)::bytes(true) == 24 + 32 + 16);
  const auto at = [&](auto value, std::size_t where, bool syncs) {
    std::memcpy(&value, static_cast<const unsigned char*>(a.data(syncs)) + where, sizeof(value));
    return value;
  };
  EXPECT_EQ(at(&x, 0, true), &x);
  EXPECT_EQ(at(&a, 16, true), &a);
  EXPECT_EQ(at(&a, 8, false), &a);
  EXPECT_EQ(at(0.0F, 24, true), 1.5F);
  EXPECT_EQ(at(&x, 32, true), &x);
  EXPECT_EQ(at(&x, 24, false), &x);
  EXPECT_EQ(at(i32{0}, 40, true), 7);
  EXPECT_EQ(at(i64{0}, 48, true), -2);
  EXPECT_EQ(at(i32{0}, 56, true), 9);
  EXPECT_EQ(at(i32{0}, 60, true), 1);
  EXPECT_EQ(at(i32{0}, 64, true), 1);
}

TEST_F(ascend_device, pinned_memory_is_acls) {
  const fg::stream<ascend> s;
  fg::pinned<i32, ascend> in({3}), out({3});
  for (int k = 0; k < 3; ++k) in[k] = k + 1;
  auto x = fg::empty<i32>(s, {3});
  copy_async(s, x, in);
  copy_async(s, out, x);
  s.synchronize();
  EXPECT_EQ(out[2], 3);
}

}  // namespace
