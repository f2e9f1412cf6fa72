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
