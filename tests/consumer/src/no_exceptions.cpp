// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Built with -fno-exceptions: the error goes to the handler, which must not return.
#include "consumer.hpp"

#include <cstdlib>

static_assert(!FLAGGEMS_EXCEPTIONS);

int main() {
  if (consumer::use() != 0) return 1;
  flaggems::set_error_handler([](const flaggems::error& failure) {
    std::printf("handler: %s\n", failure.what());
    std::fflush(stdout);
    std::_Exit(failure.code() == flaggems::errc::shape_mismatch ? 0 : 1);
  });
  consumer::provoke();
  return 1;  // the handler was not called
}
