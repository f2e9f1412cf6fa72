# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# flaggems::compiled, an optional library in the place of flaggems::flaggems: what is no template, and
# the kernels of f32 of common operators, are compiled once, not in each file that uses them. It is built
# with the project that links it, by its compiler and flags, and only if a target does. A program gets
# those of its objects that it calls.
include_guard(GLOBAL)
get_property(flaggems_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("CXX" IN_LIST flaggems_languages)
  set(flaggems_objects functions pointwise reductions rows products order attention)
  list(TRANSFORM flaggems_objects REPLACE "(.+)" "${CMAKE_CURRENT_LIST_DIR}/compiled/\\1.cpp")
  add_library(flaggems_compiled STATIC EXCLUDE_FROM_ALL ${flaggems_objects})
  add_library(flaggems::compiled ALIAS flaggems_compiled)
  target_link_libraries(flaggems_compiled PUBLIC flaggems::flaggems)
  target_compile_definitions(flaggems_compiled INTERFACE FLAGGEMS_COMPILED=1)
  set_target_properties(flaggems_compiled PROPERTIES POSITION_INDEPENDENT_CODE ON) # for shared libraries
endif()
