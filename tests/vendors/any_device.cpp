// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/device/tensor.hpp>
#include <flaggems/vendors/any_device.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>

#include <support/errors.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace {

using flaggems::cuda;
using flaggems::host;
using flaggems::simt32;
using flaggems_test::error_of;
using either = flaggems::any_device<simt32, host>;

struct named_device {  // $FLAGGEMS_DEVICE for a scope
  explicit named_device(const char* name) { ::setenv("FLAGGEMS_DEVICE", name, 1); }
  ~named_device() { ::unsetenv("FLAGGEMS_DEVICE"); }
};

TEST(any_device, is_the_first_that_there_is) {
  ::unsetenv("FLAGGEMS_DEVICE");
  EXPECT_EQ(either::chosen().name(), std::string_view("simt32"));
  if (cuda::device_count() > 0) return;
  EXPECT_EQ((flaggems::any_device<cuda, host>::chosen().name()), std::string_view("host"));
}

TEST(any_device, is_the_one_that_is_named) {
  EXPECT_EQ(either::named("host").name(), std::string_view("host"));
  EXPECT_EQ(either::named("host:0").index(), 0);
  EXPECT_EQ(either::of<host>().name(), std::string_view("host"));
  const named_device name("host");
  EXPECT_EQ(either::chosen().name(), std::string_view("host"));
}

TEST(any_device, refuses_other_names) {
  for (const char* name : {"hos", "host:", "host:x", "host:0x", "hostage", ":", "host:1234"}) {
    SCOPED_TRACE(name);
    const flaggems::error refused = error_of([&] { (void)either::named(name); });
    EXPECT_EQ(refused.code(), flaggems::errc::invalid_argument);
    EXPECT_NE(std::string(refused.expected()).find("simt32, host"), std::string::npos);
  }
  EXPECT_EQ(error_of([] { (void)either::named("host:1"); }).code(),
            flaggems::errc::device_unavailable);
}

TEST(any_device, says_why_there_is_none) {
  if (cuda::device_count() > 0) GTEST_SKIP() << "there is one";
  ::unsetenv("FLAGGEMS_DEVICE");
  const flaggems::error refused = error_of([] { (void)flaggems::any_device<cuda>::chosen(); });
  EXPECT_EQ(refused.code(), flaggems::errc::device_unavailable);
  EXPECT_EQ(std::string(refused.got()), std::string(cuda::unavailable_reason().view()));
}

TEST(any_stream, has_a_stream_of_its_type) {
  for (const char* name : {"simt32", "host"}) {
    flaggems::any_stream<simt32, host> s(either::named(name));
    const std::string_view found = s.visit([](const auto& own) {
      using D = flaggems::device_of<std::remove_cvref_t<decltype(own)>>;
      flaggems::tensor<float, D> x(own, {3});
      EXPECT_EQ(x.numel(), 3);
      return std::string_view(D::name);
    });
    EXPECT_EQ(found, name);
    auto moved = std::move(s);
    moved.synchronize();
    EXPECT_EQ(moved.device().name(), found);
  }
}

}  // namespace
