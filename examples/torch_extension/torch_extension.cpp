// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Adds operators of the registry to torch.ops: mine::soft_limit, which 09_registry.hpp has.
#include <flaggems/adapters/torch_operators.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/meta.hpp>

// [registry]
FLAGGEMS_TORCH_LIBRARY(flaggems::host, .in_place_of_aten = false);
FLAGGEMS_TORCH_LIBRARY(flaggems::meta);  // for torch.compile and torch.export
// [/registry]
