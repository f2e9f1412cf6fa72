// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The name that kernel/lang/vector_access.hpp had: for kernels of others.
#pragma once

#include <flaggems/kernel/lang/vector_access.hpp>

FLAGGEMS_TEXT("flaggems/kernels/pack.hpp");
