#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the headers of Huawei's ACL, or fetches them from PyPI; prints the folder that acl/acl_rt.h is in.

They are in the wheel of torch-npu (44 MB), of which only they are kept, in $XDG_CACHE_HOME/flaggems/acl (~/.cache by
default). With --find nothing is fetched and the exit status is 1 when there are none.
"""
import argparse
import os
import subprocess
import sys

import wheels

# Its wheels have a Python's version in their names.
OPTIONS = ["--python-version", "3.11"]
CACHE = wheels.cache_dir("acl")
WITHIN = "torch_npu/include/"


def find():
    """The folder, or None."""
    folders = [*(f"{folder}/torch_npu/include" for folder in sys.path), CACHE / WITHIN]
    home = os.environ.get("ASCEND_HOME_PATH")
    folders += [f"{home}/include"] if home else []
    return next((str(f) for f in folders if os.path.exists(f"{f}/acl/acl_rt.h")), None)


def fetch():
    wheels.unpack(["torch-npu==2.14.0"], OPTIONS, lambda n: n.startswith(WITHIN + "acl/"), CACHE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--find", action="store_true", help="do not fetch")
    if not parser.parse_args().find and not find():
        print("fetching torch-npu from PyPI, for its headers of ACL ...", file=sys.stderr)
        try:
            fetch()
        except (subprocess.CalledProcessError, OSError) as failure:
            print(f"could not fetch them: {failure}", file=sys.stderr)
            return 1
    path = find()
    print(path or "no headers of ACL found; run tools/fetch_acl.py", file=sys.stdout if path else sys.stderr)
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main())
