// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// FLAGGEMS_TEST_DEVICE as a device of PyTorch's under an invented name, without some operators,
// which the tests of the fallback call.
#include <flaggems/adapters/torch_device.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>

FLAGGEMS_TORCH_DEVICE(FLAGGEMS_TEST_DEVICE, .name = "lab",
                      .exclude = {"i0", "special_i0", "igamma", "digamma"});
