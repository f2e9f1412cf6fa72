// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The name that kernel/math/math.hpp had: for kernels of others.
#pragma once

#include <flaggems/kernel/math/math.hpp>

FLAGGEMS_TEXT("flaggems/kernels/math.hpp");
