# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets flaggems_isa_levels to the values of FLAGGEMS_ISA that this machine can run. The highest is
# left out: it is what runs when FLAGGEMS_ISA is not set. flaggems_max_isa is the highest's number, as
# for FLAGGEMS_MAX_ISA; empty if unknown.
set(flaggems_isa_levels "")
set(flaggems_max_isa "")
if(NOT CMAKE_CROSSCOMPILING
   AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64"
   AND EXISTS "/proc/cpuinfo")
  file(STRINGS "/proc/cpuinfo" cpu REGEX "^flags" LIMIT_COUNT 1)
  set(cpu "${cpu} ")
  set(flaggems_isa_levels baseline)
  foreach(level_and_flag IN ITEMS avx2:bmi2 avx512:avx512vl avx512_bf16:avx512_bf16 amx:amx_tile)
    string(REPLACE ":" ";" level_and_flag "${level_and_flag}")
    list(GET level_and_flag 0 level)
    list(GET level_and_flag 1 flag)
    if(cpu MATCHES " ${flag} ")
      list(APPEND flaggems_isa_levels ${level})
    else()
      break()
    endif()
  endforeach()
  list(LENGTH flaggems_isa_levels flaggems_max_isa)
  math(EXPR flaggems_max_isa "${flaggems_max_isa} - 1")
  list(POP_BACK flaggems_isa_levels)
endif()
