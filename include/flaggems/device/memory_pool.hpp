// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Stream-ordered memory from each device's caching pool, and its statistics.
#pragma once

#include <flaggems/device/pool_block.hpp>
#include <flaggems/device/pool_cache.hpp>
#include <flaggems/device/pools.hpp>
