#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Finds NVRTC, CUDA's run-time compiler, or fetches it from PyPI; prints the library's path.

Places, in order: $FLAGGEMS_NVRTC, a CUDA toolkit, the user's cache. The wheel nvidia-cuda-nvrtc is
unpacked into $XDG_CACHE_HOME/flaggems/nvrtc (~/.cache by default). With --find nothing is fetched
and the exit status is 1 when there is none.
"""
import argparse
import glob
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "flaggems" / "nvrtc"


def find():
    """The path of libnvrtc, or None."""
    given = os.environ.get("FLAGGEMS_NVRTC")
    if given:
        return given if os.path.exists(given) else None
    roots = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    patterns = [os.path.join(r, "lib64", "libnvrtc.so.[0-9]*") for r in roots if r]
    patterns.append(str(cache_dir() / "**" / "libnvrtc.so.[0-9]*"))
    for pattern in patterns:
        hits = [h for h in sorted(glob.glob(pattern, recursive=True)) if ".alt." not in h]
        if hits:
            return hits[-1]
    return None


def fetch():
    """Downloads the wheel and unpacks its libraries into the cache."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
             "--no-deps", "--only-binary=:all:", "--dest", folder, "nvidia-cuda-nvrtc"],
            check=True, stdout=sys.stderr)
        wheel = next(pathlib.Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            names = [n for n in archive.namelist() if ".so" in n and ".alt." not in n]
            archive.extractall(cache_dir(), names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--find", action="store_true", help="do not fetch")
    options = parser.parse_args()
    path = find()
    if not path and not options.find:
        print("fetching nvidia-cuda-nvrtc from PyPI ...", file=sys.stderr)
        try:
            fetch()
        except (subprocess.CalledProcessError, StopIteration) as failure:
            print(f"could not fetch NVRTC: {failure}", file=sys.stderr)
            return 1
        path = find()
    if not path:
        print("no NVRTC found; run tools/fetch_nvrtc.py", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
