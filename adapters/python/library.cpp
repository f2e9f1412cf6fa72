// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The operators for a device type as functions of TVM-FFI.
#include FLAGGEMS_PYTHON_HEADER
#include <flaggems/adapters/tvm_ffi.hpp>

FLAGGEMS_TVM_FFI_MODULE(FLAGGEMS_PYTHON_DEVICE);
