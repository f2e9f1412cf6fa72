# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# tvm_ffi::header and tvm_ffi::shared of PyPI's apache-tvm-ffi, if it is installed: tvm_ffi_FOUND. Its
# CMake package lies in the Python package, and asks a Python for the rest.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
if(NOT tvm_ffi_ROOT)
  execute_process(COMMAND "${Python3_EXECUTABLE}" -m tvm_ffi.config --cmakedir
                  OUTPUT_VARIABLE tvm_ffi_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(Python_EXECUTABLE "${Python3_EXECUTABLE}")
if(tvm_ffi_ROOT AND NOT TARGET tvm_ffi::shared)
  find_package(tvm_ffi CONFIG QUIET)
endif()
