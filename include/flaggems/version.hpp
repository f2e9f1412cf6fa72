// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/config.hpp>

// The one version source (SemVer). CMake parses the three numbers.
#define FLAGGEMS_VERSION_MAJOR 0
#define FLAGGEMS_VERSION_MINOR 1
#define FLAGGEMS_VERSION_PATCH 0
