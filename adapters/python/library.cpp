// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The operators for the host as functions of TVM-FFI.
#include <flaggems/adapters/tvm_ffi.hpp>
#include <flaggems/vendors/host.hpp>

FLAGGEMS_TVM_FFI_MODULE(flaggems::host);
