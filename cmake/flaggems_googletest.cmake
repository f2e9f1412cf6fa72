# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# GTest::gtest and GTest::gtest_main: the system's library, or, where that has another architecture or
# standard library (cross builds, libc++), the system's sources compiled here.
set(FLAGGEMS_GOOGLETEST_SOURCE "" CACHE PATH "Build GoogleTest from this source tree")

if(FLAGGEMS_GOOGLETEST_SOURCE)
  set(INSTALL_GTEST OFF)
  set(BUILD_GMOCK OFF)
  add_subdirectory("${FLAGGEMS_GOOGLETEST_SOURCE}" "${PROJECT_BINARY_DIR}/googletest"
                   EXCLUDE_FROM_ALL SYSTEM)
  if(NOT TARGET GTest::gtest_main)
    add_library(GTest::gtest ALIAS gtest)
    add_library(GTest::gtest_main ALIAS gtest_main)
  endif()
else()
  find_package(GTest REQUIRED)
endif()
