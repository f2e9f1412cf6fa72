// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The name under which programs include FlagGems' C++ interface.
#pragma once

#include <flaggems/adapters/flag_gems.hpp>
#include <flaggems/adapters/flag_gems_attention.hpp>

#include <torch/torch.h>  // as FlagGems' header does
