// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The name that kernel/family/reduce/reduce.hpp had: for kernels of others.
#pragma once

#include <flaggems/kernel/family/reduce/reduce.hpp>

FLAGGEMS_TEXT("flaggems/kernels/reduce.hpp");
