// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// An accelerator that nobody has heard of (examples/new_vendor) as a device of PyTorch's.
// [library]
#include <flaggems/adapters/torch_device.hpp>
#include <new_vendor/simulated_gxu.hpp>

FLAGGEMS_TORCH_DEVICE(gxu);
// [/library]
