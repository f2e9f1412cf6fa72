# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
#   flaggems_precompile(<target> ARCHS sm_80 sm_90a.. [MATCHING <regex>] [WITH <file or target>..]
#                       [ALLOW_NAMELESS])
#
# compiles every kernel that the program or shared library <target> may launch on flaggems::cuda to
# machine code for these chips (spir64: on flaggems::opencl, by clang; compute_80: on flaggems::opencl with
# NVIDIA's driver, for that capability and later ones; spirv64: on flaggems::level_zero) when it is linked,
# and links that in: it needs no compiler where it runs on one of them. The kernels are found in the target's object files; WITH names archives and
# targets to look into besides. MATCHING leaves out kernels whose types do not match. NVRTC is needed
# to build (FLAGGEMS_NVRTC_LIBRARY, a CMake variable, where it is not found by name), a GPU is not.
# A kernel of types without names (lambdas, those of unnamed namespaces) is an error; ALLOW_NAMELESS
# leaves it out. Called in the folder that <target> is made in. What has been compiled stays in the
# disk cache.
#
# FLAGGEMS_COMPILE_PROGRAM is a flaggems-compile that runs here, for cross builds; else it is built.
include_guard(GLOBAL)
set(FLAGGEMS_COMPILE_PROGRAM "" CACHE FILEPATH "flaggems-compile; empty: it is built")
set(FLAGGEMS_NVRTC_LIBRARY "" CACHE FILEPATH "NVRTC, for flaggems_precompile; empty: found by name")

function(flaggems_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALLOW_NAMELESS" "MATCHING" "ARCHS;WITH")
  if(NOT arg_ARCHS OR arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "flaggems_precompile(<target> ARCHS sm_90a.. [MATCHING <regex>] [WITH ..]"
                        " [ALLOW_NAMELESS])")
  endif()
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "flaggems_precompile: there is no target ${target}, or not yet")
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
    message(FATAL_ERROR "flaggems_precompile: ${target} is not linked; name what it is linked into")
  endif()
  set(program "${FLAGGEMS_COMPILE_PROGRAM}")
  if(NOT program)
    if(NOT TARGET flaggems-compile)
      # Beside this file once installed.
      set(source "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/flaggems_compile.cpp")
      if(NOT EXISTS "${source}")
        set(source "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../tools/flaggems_compile.cpp")
      endif()
      add_executable(flaggems-compile EXCLUDE_FROM_ALL "${source}")
      target_link_libraries(flaggems-compile PRIVATE flaggems::flaggems)
    endif()
    add_dependencies(${target} flaggems-compile)
    set(program "$<TARGET_FILE:flaggems-compile>")
  endif()

  set(object "${CMAKE_CURRENT_BINARY_DIR}/${target}_images.o")
  set(command "${program}" --object "${object}")
  if(arg_MATCHING)
    list(APPEND command --match "${arg_MATCHING}")
  endif()
  if(arg_ALLOW_NAMELESS)
    list(APPEND command --allow-nameless)
  endif()
  foreach(arch IN LISTS arg_ARCHS)
    list(APPEND command --target "${arch}")
  endforeach()
  # CMake counts precompiled headers among the objects.
  set(no_header "EXCLUDE,\\.[gp]ch$")
  set(files "$<FILTER:$<TARGET_OBJECTS:${target}>,${no_header}>")
  foreach(more IN LISTS arg_WITH)
    if(NOT TARGET "${more}")
      list(APPEND files "${more}")
      continue()
    endif()
    get_target_property(type ${more} TYPE)
    if(type STREQUAL "OBJECT_LIBRARY")
      list(APPEND files "$<FILTER:$<TARGET_OBJECTS:${more}>,${no_header}>")
    else()
      list(APPEND files "$<TARGET_FILE:${more}>")
    endif()
  endforeach()
  if(FLAGGEMS_NVRTC_LIBRARY)
    list(PREPEND command "${CMAKE_COMMAND}" -E env
         "FLAGGEMS_NVRTC_LIBRARY=${FLAGGEMS_NVRTC_LIBRARY}")
  endif()
  add_custom_command(
    TARGET ${target}
    PRE_LINK
    COMMAND ${command} ${files}
    COMMAND_EXPAND_LISTS VERBATIM)
  # An option, not a library: a build tool would ask where the file comes from.
  target_link_options(${target} PRIVATE "${object}")
endfunction()
