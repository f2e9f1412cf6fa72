# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# What tests, examples, tools and benchmarks share. Nothing of this reaches a user of the library.
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(FLAGGEMS_WERROR "Warnings are errors in tests, examples, tools and benchmarks" ON)
set(FLAGGEMS_SANITIZE "" CACHE STRING "Sanitizers of everything built here, as for -fsanitize=")

# flaggems::development: the library plus what this repository compiles its own programs with.
add_library(flaggems_development INTERFACE)
add_library(flaggems::development ALIAS flaggems_development)
target_link_libraries(flaggems_development INTERFACE flaggems::flaggems)
target_compile_options(flaggems_development INTERFACE -Wall -Wextra -Wpedantic -Wconversion)
if(FLAGGEMS_WERROR)
  target_compile_options(flaggems_development INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # clang drops a whole target attribute when it does not know one word of it.
  target_compile_options(flaggems_development INTERFACE -Werror=ignored-attributes)
endif()
if(FLAGGEMS_SANITIZE)
  target_compile_options(flaggems_development INTERFACE -fsanitize=${FLAGGEMS_SANITIZE} -g1
                                                        -fno-omit-frame-pointer)
  target_link_options(flaggems_development INTERFACE -fsanitize=${FLAGGEMS_SANITIZE})
  if(FLAGGEMS_SANITIZE MATCHES "undefined")
    target_compile_options(flaggems_development INTERFACE -fno-sanitize-recover=all)
  endif()
endif()

# The FLAGGEMS_MAX_ISA of a program is its property of that name. Without one it has all levels, but
# in a build with tests those of this machine: half of the compile time would be for others.
set(FLAGGEMS_TEST_MAX_ISA "" CACHE STRING
    "FLAGGEMS_MAX_ISA of a build with tests; empty: the highest level that this machine can run")
set(max_isa "")
if(FLAGGEMS_BUILD_TESTS)
  include(flaggems_isa_levels)
  set(max_isa "${FLAGGEMS_TEST_MAX_ISA}")
  if(max_isa STREQUAL "")
    set(max_isa "${flaggems_max_isa}")
  endif()
endif()
set(own "$<TARGET_PROPERTY:FLAGGEMS_MAX_ISA>")
set(level "$<IF:$<STREQUAL:${own},>,${max_isa},${own}>")
target_compile_definitions(flaggems_development
                           INTERFACE "$<$<NOT:$<STREQUAL:${level},>>:FLAGGEMS_MAX_ISA=${level}>")
