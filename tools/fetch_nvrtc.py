#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Finds NVRTC, CUDA's run-time compiler, or fetches it from PyPI; prints the library's path, with
--headers the folder of cuda.h and nvrtc.h instead.

Places, in order: $FLAGGEMS_NVRTC (the library), a CUDA toolkit, the user's cache. The wheels
nvidia-cuda-nvrtc and nvidia-cuda-runtime are unpacked into $XDG_CACHE_HOME/flaggems/nvrtc (~/.cache
by default). With --find nothing is fetched and the exit status is 1 when there is none.
"""
import argparse
import glob
import os
import subprocess
import sys

import wheels

CACHE = wheels.cache_dir("nvrtc")


def roots():
    return [r for r in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")
            if r]


def find_headers():
    """The folder that has cuda.h and nvrtc.h, or None."""
    folders = [os.path.join(r, "include") for r in roots()]
    folders += [os.path.dirname(h)
                for h in glob.glob(str(CACHE / "**" / "cuda.h"), recursive=True)]
    return next((f for f in folders
                 if all(os.path.exists(os.path.join(f, h)) for h in ("cuda.h", "nvrtc.h"))), None)


def find():
    """The path of libnvrtc, or None."""
    given = os.environ.get("FLAGGEMS_NVRTC")
    if given:
        return given if os.path.exists(given) else None
    patterns = [os.path.join(r, "lib64", "libnvrtc.so.[0-9]*") for r in roots()]
    patterns.append(str(CACHE / "**" / "libnvrtc.so.[0-9]*"))
    for pattern in patterns:
        hits = [h for h in sorted(glob.glob(pattern, recursive=True)) if ".alt." not in h]
        if hits:
            return hits[-1]
    return None


def fetch():
    """Downloads the wheels and unpacks the compiler's libraries and the headers into the cache."""
    wheels.unpack(["nvidia-cuda-nvrtc", "nvidia-cuda-runtime"], [],
                  lambda n: n.endswith(".h") or ("libnvrtc" in n and ".alt." not in n), CACHE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--find", action="store_true", help="do not fetch")
    parser.add_argument("--headers", action="store_true", help="the folder of cuda.h and nvrtc.h")
    options = parser.parse_args()
    wanted = find_headers if options.headers else find
    if not options.find and not (find() and find_headers()):
        print("fetching nvidia-cuda-nvrtc and nvidia-cuda-runtime from PyPI ...", file=sys.stderr)
        try:
            fetch()
        except (subprocess.CalledProcessError, OSError) as failure:
            print(f"could not fetch NVRTC: {failure}", file=sys.stderr)
            return 1
    path = wanted()
    if not path:
        print("no NVRTC found; run tools/fetch_nvrtc.py", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
