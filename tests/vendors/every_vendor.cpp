// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A program with every vendor's header: it builds without their packages, starts where none of
// their chips is, and says why each is absent.
#include <flaggems/device/tensor.hpp>
#include <flaggems/vendors/ascend.hpp>
#include <flaggems/vendors/corex.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/gcu.hpp>
#include <flaggems/vendors/hip.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/hygon.hpp>
#include <flaggems/vendors/kunlun.hpp>
#include <flaggems/vendors/level_zero.hpp>
#include <flaggems/vendors/maca.hpp>
#include <flaggems/vendors/meta.hpp>
#include <flaggems/vendors/mlu.hpp>
#include <flaggems/vendors/musa.hpp>
#include <flaggems/vendors/opencl.hpp>
#include <flaggems/vendors/simt.hpp>

#include <support/errors.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

namespace fg = flaggems;

template <class D>
class every_vendor : public testing::Test {};
using vendors = testing::Types<fg::host, fg::cuda, fg::hip, fg::hip32, fg::hygon, fg::musa,
                               fg::maca, fg::corex, fg::gcu, fg::ascend, fg::mlu, fg::kunlun,
                               fg::level_zero, fg::opencl, fg::simt32, fg::simt64, fg::meta>;
TYPED_TEST_SUITE(every_vendor, vendors);

TYPED_TEST(every_vendor, is_there_or_says_why_not) {
  using D = TypeParam;
  const std::string reason(D::unavailable_reason());
  if (D::device_count() > 0) {
    EXPECT_EQ(reason, "");
    EXPECT_FALSE(D::properties(0).name.empty());
    return;
  }
  EXPECT_NE(reason, "");
  for (const auto& use : {+[] { D::set_device(0); }, +[] { (void)D::properties(0); },
                          +[] { (void)fg::stream<D>(0); }, +[] { (void)fg::pool<D>(0); }}) {
    const fg::error e = flaggems_test::error_of(use);
    EXPECT_EQ(e.code(), fg::errc::device_unavailable) << e.what();
  }
}

TEST(all_vendors, have_names_of_their_own) {
  const std::set<std::string> names = {
      fg::host::name,   fg::cuda::name,   fg::hip::name,        fg::hip32::name,  fg::hygon::name,
      fg::musa::name,   fg::maca::name,   fg::corex::name,      fg::gcu::name,    fg::ascend::name,
      fg::mlu::name,    fg::kunlun::name, fg::level_zero::name, fg::opencl::name, fg::simt32::name,
      fg::simt64::name, fg::meta::name};
  EXPECT_EQ(names.size(), 17U);
}

}  // namespace
