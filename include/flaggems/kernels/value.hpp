// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The name that kernel/lang/value.hpp had: for kernels of others.
#pragma once

#include <flaggems/kernel/lang/value.hpp>

FLAGGEMS_TEXT("flaggems/kernels/value.hpp");
