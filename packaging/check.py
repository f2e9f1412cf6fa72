#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The recipes: vcpkg's has the version of the headers, and Conan makes a package, which a program finds and uses. Exit
status 77: conan (PyPI) is not installed. vcpkg itself is not run."""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PACKAGING = pathlib.Path(__file__).resolve().parent


def main():
    header = (PACKAGING.parent / "include/flaggems/version.hpp").read_text(encoding="utf-8")
    version = ".".join(re.search(rf"VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))
    port = json.loads((PACKAGING / "vcpkg/flaggems/vcpkg.json").read_text(encoding="utf-8"))
    if port["version"] != version:
        print(f"packaging/vcpkg/flaggems/vcpkg.json: version {port['version']}, that of the headers is {version}")
        return 1
    if importlib.util.find_spec("conans") is None:  # "conan" is a folder here
        print("skipped: conan is not installed")
        return 77
    with tempfile.TemporaryDirectory() as home:
        conan = [sys.executable, "-m", "conans.conan"]
        environment = {**os.environ, "CONAN_HOME": home}
        subprocess.run([*conan, "profile", "detect"], env=environment, check=True, capture_output=True)
        subprocess.run([*conan, "create", str(PACKAGING / "conan"), "-s", "compiler.cppstd=20",
                        "-c", "tools.cmake.cmaketoolchain:generator=Ninja",
                        "-c", f"tools.cmake.cmake_layout:test_folder={home}/test"], env=environment, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
