# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# An overlay port of the checkout that it lies in.
set(VCPKG_BUILD_TYPE release) # headers alone
cmake_path(ABSOLUTE_PATH CMAKE_CURRENT_LIST_DIR NORMALIZE OUTPUT_VARIABLE port)
cmake_path(SET SOURCE_PATH NORMALIZE "${port}/../../..")

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DFLAGGEMS_BUILD_TESTS=OFF
          -DFLAGGEMS_BUILD_EXAMPLES=OFF
          -DFLAGGEMS_BUILD_TOOLS=OFF
          -DFLAGGEMS_BUILD_BENCH=OFF
          -DFLAGGEMS_BUILD_PYTHON=OFF
          -DFLAGGEMS_INSTALL_CMAKEDIR=share/flaggems
          -DFLAGGEMS_INSTALL_PKGCONFIGDIR=lib/pkgconfig)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
