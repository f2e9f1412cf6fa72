// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What flaggems::compiled has besides kernels: the bodies of functions marked FLAGGEMS_ONCE.
#define FLAGGEMS_COMPILED 2
#include <flaggems/flaggems.hpp>
#include <flaggems/tensor/npy.hpp>
#include <flaggems/tensor/safetensors.hpp>
