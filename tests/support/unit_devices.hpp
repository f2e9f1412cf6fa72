// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Emulated devices with AMD's matrix units, besides simt64, which has MFMA.
#pragma once

#include <flaggems/vendors/simt.hpp>

namespace flaggems_test {

/// The emulator with WMMA.
struct wmma_chip : flaggems::simt32 {
  static constexpr const char* name = "wmma_chip";
  struct capabilities : flaggems::simt32::capabilities {
    static constexpr flaggems::matrix_instructions matrix = flaggems::matrix_instructions::wmma;
  };
};
/// A device of a type with MFMA, but without these units itself.
struct chip_without_units : flaggems::simt64 {
  static constexpr const char* name = "chip_without_units";
  static bool has_matrix_units(int) { return false; }
};

}  // namespace flaggems_test

template <>
inline constexpr bool flaggems::host_accessible<flaggems_test::wmma_chip> = false;
template <>
inline constexpr bool flaggems::host_accessible<flaggems_test::chip_without_units> = false;
