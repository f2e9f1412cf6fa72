# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# flaggems::compiled, an optional library in the place of flaggems::flaggems: what is no template is
# compiled once, not in each file that includes it. It is built with the project that links it, by its
# compiler and flags, and only if a target does.
include_guard(GLOBAL)
get_property(flaggems_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("CXX" IN_LIST flaggems_languages)
  add_library(flaggems_compiled STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/flaggems_compiled.cpp")
  add_library(flaggems::compiled ALIAS flaggems_compiled)
  target_link_libraries(flaggems_compiled PUBLIC flaggems::flaggems)
  target_compile_definitions(flaggems_compiled PRIVATE FLAGGEMS_COMPILED=2 INTERFACE FLAGGEMS_COMPILED=1)
  set_target_properties(flaggems_compiled PROPERTIES POSITION_INDEPENDENT_CODE ON) # for shared libraries
endif()
