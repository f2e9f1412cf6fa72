// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/error.hpp>
#include <flaggems/version.hpp>

#include <cstdio>

int main() {
  std::printf("flaggems %d.%d.%d\n", FLAGGEMS_VERSION_MAJOR, FLAGGEMS_VERSION_MINOR,
              FLAGGEMS_VERSION_PATCH);
  try {
    flaggems::raise(flaggems::errc::shape_mismatch, "add", "sizes [2, 3]", "[3, 2]");
  } catch (const flaggems::error& failure) {
    std::printf("%s\n", failure.what());
  }
}
