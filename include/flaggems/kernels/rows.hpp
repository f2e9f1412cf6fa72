// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The name that kernel/expr/rows.hpp had: for kernels of others.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>

FLAGGEMS_TEXT("flaggems/kernels/rows.hpp");
