// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests that fork, under tools that do not survive it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

/// Begins a test that forks, or dies in a child: skipped where FLAGGEMS_TEST_NO_FORKS is set, as
/// tests/on_device.py does under a sanitizer. (compute-sanitizer 13.0 itself crashes at such a
/// child of a program that has used a device.)
#define FLAGGEMS_TEST_FORKS()                                      \
  if (std::getenv("FLAGGEMS_TEST_NO_FORKS") != nullptr) {          \
    GTEST_SKIP() << "forks, which FLAGGEMS_TEST_NO_FORKS forbids"; \
  }                                                                \
  static_assert(true, "a semicolon follows")
