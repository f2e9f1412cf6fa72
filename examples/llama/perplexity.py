#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""How much activations of 8 bits move the perplexity of a text.

    perplexity.py --program PATH/llama [--model FILE] [--text FILE] [--limit 0.5]

Runs the model program over the text, token by token, with activations in f32 and in 8 bits, and prints both
perplexities and the change in per cent. Exit status 1 if it is more than the limit.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the model program")
    parser.add_argument("--model", help="a GGUF file; without it, the one that fetch_model.py keeps")
    parser.add_argument("--text", type=pathlib.Path, default=ROOT / "tests/llama/data/perplexity.txt",
                        help="default: 13 KB of Ambrose Bierce, The Devil's Dictionary (1911)")
    parser.add_argument("--limit", type=float, default=0.5, help="of the change, in per cent")
    arguments = parser.parse_args()
    text = arguments.text.read_bytes()
    found = {}
    for activations in ("f32", "q8"):
        command = [arguments.program, "--score", "--activations", activations]
        command += ["--model", arguments.model] if arguments.model else []
        found[activations] = float(subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout)
        print(f"{activations}: perplexity {found[activations]:.4f}", flush=True)
    change = (found["q8"] / found["f32"] - 1) * 100
    print(f"change {change:+.3f} %")
    return 1 if abs(change) > arguments.limit else 0


if __name__ == "__main__":
    sys.exit(main())
