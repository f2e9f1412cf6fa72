# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Files of PyPI's wheels, kept in the user's cache."""
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile


def cache_dir(name):
    """$XDG_CACHE_HOME/flaggems/NAME, ~/.cache by default."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "flaggems" / name


def unpack(wheels, options, wanted, to):
    """Downloads the wheels and unpacks what is `wanted(name)` into `to`. Raises CalledProcessError or OSError."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", "--dest", folder, *options, *wheels], check=True, stdout=sys.stderr)
        files = sorted(pathlib.Path(folder).glob("*.whl"))
        if len(files) != len(wheels):
            raise FileNotFoundError("pip downloaded " + ", ".join(w.name for w in files))
        for file in files:
            with zipfile.ZipFile(file) as archive:
                archive.extractall(to, filter(wanted, archive.namelist()))
