# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# The target python_torch: the PyTorch of Python, for libraries that it loads; python_torch_FOUND. Its own
# CMake package asks for the CUDA that it was built with.
if(TARGET python_torch)
  set(python_torch_FOUND TRUE)
  return()
endif()
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
execute_process(
  COMMAND "${Python3_EXECUTABLE}" -c
          "from torch.utils.cpp_extension import include_paths, library_paths; print(';'.join(include_paths()), library_paths()[0], sep='\\n')"
  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
set(python_torch_FOUND FALSE)
if(status EQUAL 0)
  set(python_torch_FOUND TRUE)
  string(REGEX MATCH "^([^\n]*)\n(.*)$" found "${found}")
  set(libraries "${CMAKE_MATCH_2}")
  add_library(python_torch INTERFACE IMPORTED GLOBAL)
  target_include_directories(python_torch SYSTEM INTERFACE ${CMAKE_MATCH_1})
  foreach(library IN ITEMS c10 torch_cpu torch)
    target_link_libraries(python_torch INTERFACE "${libraries}/lib${library}.so")
  endforeach()
endif()
