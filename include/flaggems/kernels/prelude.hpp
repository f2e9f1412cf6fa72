// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The name that kernel/lang/prelude.hpp had: for kernels of others.
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>

FLAGGEMS_TEXT("flaggems/kernels/prelude.hpp");
