// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What dialects.hpp has compiled once a program.
#include "dialects.hpp"

#define FLAGGEMS_DEFINED(Api)                   \
  template class flaggems::detail::driver<Api>; \
  template struct flaggems::driver_device<Api>;
FLAGGEMS_SIMULATED_DIALECTS(FLAGGEMS_DEFINED)
