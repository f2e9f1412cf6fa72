# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0

# Reads the three numbers of version.hpp, the one version source, into the variable `out`.
function(flaggems_read_version header out)
  file(STRINGS "${header}" lines REGEX "^#define FLAGGEMS_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
  set(numbers "")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    if(NOT "${lines}" MATCHES "FLAGGEMS_VERSION_${part} ([0-9]+)")
      message(FATAL_ERROR "${header} has no line '#define FLAGGEMS_VERSION_${part} <number>'")
    endif()
    list(APPEND numbers "${CMAKE_MATCH_1}")
  endforeach()
  list(JOIN numbers "." version)
  set(${out} "${version}" PARENT_SCOPE)
  # A new version number reconfigures.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
endfunction()
