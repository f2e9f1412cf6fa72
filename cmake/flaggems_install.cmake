# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

# Nothing installed depends on the machine: the package goes where architecture-independent ones go.
set(FLAGGEMS_INSTALL_CMAKEDIR
    "${CMAKE_INSTALL_DATADIR}/cmake/flaggems"
    CACHE STRING "Where flaggemsConfig.cmake is installed")
set(FLAGGEMS_INSTALL_PKGCONFIGDIR
    "${CMAKE_INSTALL_DATADIR}/pkgconfig"
    CACHE STRING "Where flaggems.pc is installed")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/flaggems" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")
if(flaggems_adapter_headers)
  install(FILES ${flaggems_adapter_headers}
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/flaggems/adapters")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/adapters/flaggems/adapters/torch_operators"
                    "${PROJECT_SOURCE_DIR}/adapters/flaggems/adapters/torch_device"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/flaggems/adapters")
  install(FILES "${PROJECT_SOURCE_DIR}/adapters/python/flaggems_torch.py"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/flaggems/python")
  # The name of another library's header, for programs that are written for it.
  install(FILES "${PROJECT_SOURCE_DIR}/adapters/flag_gems/operators.h"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/flag_gems")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(TARGETS ${flaggems_targets} EXPORT flaggemsTargets)
install(EXPORT flaggemsTargets NAMESPACE flaggems:: DESTINATION "${FLAGGEMS_INSTALL_CMAKEDIR}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/flaggemsConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/flaggemsConfig.cmake" INSTALL_DESTINATION "${FLAGGEMS_INSTALL_CMAKEDIR}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# SemVer: below 1.0 a minor version may break, from 1.0 on a major one.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/flaggemsConfigVersion.cmake" COMPATIBILITY ${compatibility}
  ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/flaggemsConfig.cmake"
              "${PROJECT_BINARY_DIR}/flaggemsConfigVersion.cmake"
        DESTINATION "${FLAGGEMS_INSTALL_CMAKEDIR}")
# flaggems_precompile, the program that it builds, flaggems_registry, flaggems::compiled, and how TVM-FFI and Python's
# PyTorch are found.
install(FILES "${PROJECT_SOURCE_DIR}/cmake/flaggems_precompile.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/flaggems_registry.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/flaggems_compiled.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/flaggems_tvm_ffi.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/flaggems_python_torch.cmake"
              "${PROJECT_SOURCE_DIR}/tools/flaggems_compile.cpp"
        DESTINATION "${FLAGGEMS_INSTALL_CMAKEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/cmake/compiled" DESTINATION "${FLAGGEMS_INSTALL_CMAKEDIR}")

# The prefix is written relative to the .pc file, so that an installed tree can be moved.
cmake_path(ABSOLUTE_PATH FLAGGEMS_INSTALL_PKGCONFIGDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
           NORMALIZE OUTPUT_VARIABLE pc_dir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${pc_dir}" OUTPUT_VARIABLE
           flaggems_pc_prefix)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
           NORMALIZE OUTPUT_VARIABLE include_dir)
cmake_path(RELATIVE_PATH include_dir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE
           flaggems_pc_include)
configure_file("${PROJECT_SOURCE_DIR}/cmake/flaggems.pc.in" "${PROJECT_BINARY_DIR}/flaggems.pc"
               @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/flaggems.pc" DESTINATION "${FLAGGEMS_INSTALL_PKGCONFIGDIR}")
