// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory from a caching pool in stream order: one pool for each device, and what it tells.
#pragma once

#include <flaggems/device/pool_block.hpp>
#include <flaggems/device/pool_cache.hpp>
#include <flaggems/device/pools.hpp>
