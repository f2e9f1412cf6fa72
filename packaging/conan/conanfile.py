# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""flaggems for Conan 2, of the checkout that this recipe lies in."""
import pathlib
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


class Flaggems(ConanFile):
    name = "flaggems"
    description = "Operators, tensors and launches for any accelerator, in C++20"
    license = "Apache-2.0"
    topics = ("tensor", "gpu", "operators", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    def set_version(self):
        header = (REPOSITORY / "include/flaggems/version.hpp").read_text()
        self.version = ".".join(re.search(rf"VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        for part in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "adapters/*", "tools/*"):
            copy(self, part, REPOSITORY, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def package_id(self):
        self.info.clear()  # headers: the same for all settings

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # nothing beside the sources
        for part in ("TESTS", "EXAMPLES", "TOOLS", "BENCH", "PYTHON"):
            toolchain.cache_variables[f"FLAGGEMS_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        # The package's own CMake files, which have the adapters and flaggems_registry() as well.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/flaggems"]
