# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# libtorch where it is installed (Debian's libtorch-dev, or Torch_DIR): Torch_FOUND, TORCH_LIBRARIES. Its
# libraries are for this architecture and libstdc++, and ThreadSanitizer does not know what they wait for:
# flaggems_libtorch_fits.
set(Torch_FOUND FALSE)
set(flaggems_libtorch_fits TRUE)
if(CMAKE_CROSSCOMPILING
   OR CMAKE_CXX_FLAGS MATCHES "libc\\+\\+"
   OR FLAGGEMS_SANITIZE MATCHES "thread")
  set(flaggems_libtorch_fits FALSE)
endif()
if(flaggems_libtorch_fits)
  set(FPHSA_NAME_MISMATCHED ON) # no warning of what its package does
  find_package(Torch QUIET)
endif()
