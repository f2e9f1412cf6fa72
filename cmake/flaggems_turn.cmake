# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# CI takes a share of what is long, and the commit chooses which, so that the next commits take the rest.
include_guard(GLOBAL)
set(FLAGGEMS_TEST_TURN "" CACHE STRING "Number that chooses what a build takes a share of; empty: the commit does")
set(flaggems_turn "${FLAGGEMS_TEST_TURN}")
if(flaggems_turn STREQUAL "")
  execute_process(
    COMMAND git -C "${PROJECT_SOURCE_DIR}" rev-parse HEAD
    OUTPUT_VARIABLE flaggems_commit
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(SUBSTRING "0${flaggems_commit}" 0 8 flaggems_commit)
  math(EXPR flaggems_turn "0x${flaggems_commit}")
endif()

# What the commit changed is taken whatever the turn, unless that is much. A clone of one commit knows of no changes.
execute_process(
  COMMAND git -C "${PROJECT_SOURCE_DIR}" diff --name-only HEAD~1
  OUTPUT_VARIABLE flaggems_changed
  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\n" ";" flaggems_changed "${flaggems_changed}")
list(TRANSFORM flaggems_changed PREPEND "${PROJECT_SOURCE_DIR}/")

# Leaves a list every `parts`-th item, of which `turn` chooses the first.
function(flaggems_take_share list parts turn)
  set(taken "")
  math(EXPR until_next "${turn} % ${parts}")
  foreach(item IN LISTS ${list})
    if(until_next EQUAL 0)
      list(APPEND taken "${item}")
      set(until_next ${parts})
    endif()
    math(EXPR until_next "${until_next} - 1")
  endforeach()
  set(${list}
      "${taken}"
      PARENT_SCOPE)
endfunction()
