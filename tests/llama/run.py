#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The model program from outside, and the unit tests that need the real model, which is fetched first.

    run.py --program PATH/llama [--unit PATH/flaggems_test_llama] [--model FILE]

Exit status 0: all passed; 77: skipped, the model cannot be fetched; 1: something failed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
failures = 0


def expect(condition, what, result):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {what}\n  arguments {result.args[1:]}\n  exit status {result.returncode}\n"
              f"  stdout {result.stdout!r}\n  stderr {result.stderr!r}")


class Program:
    def __init__(self, path, model=None):
        self.path, self.model = path, model

    def run(self, *arguments, stdin="", environment=None):
        first = ["--model", self.model] if self.model else []
        return subprocess.run([self.path, *first, *arguments], input=stdin.encode(), capture_output=True,
                              timeout=300, env={**os.environ, **(environment or {})}, check=False)

    def refused(self, text, *arguments, output=b"", **options):
        result = self.run(*arguments, **options)
        expect(result.returncode == 2, "exit status 2", result)
        lines = result.stderr.decode().splitlines()
        expect(len(lines) == 1 and lines[0].startswith("llama: ") and text in lines[0],
               f"one line on stderr with {text!r}", result)
        if output is not None:
            expect(result.stdout == output, f"stdout {output!r}", result)
        return result

    def answers(self, *arguments, **options):
        result = self.run(*arguments, **options)
        expect(result.returncode == 0, "exit status 0", result)
        return result


def without_model(path):
    program = Program(path)
    result = program.answers("--help")
    expect(result.stdout.startswith(b"usage: llama"), "the usage", result)
    program.refused("--see", "--see", "1")
    program.refused("--n takes", "--n", "-1")
    with tempfile.TemporaryDirectory() as folder:
        program.refused("fetch_model.py", "--prompt", "x", environment={"FLAGGEMS_MODEL_DIR": folder})
        program.refused("No such file", "--prompt", "x", "--model", folder + "/none.gguf")
        program.refused("regular file", "--prompt", "x", "--model", folder)
        for content, text in ((b"", "0 bytes"), (b"GIF89a", "GGUF"), (b"GGUF\x03\0\0\0", "end of the file")):
            bad = pathlib.Path(folder, "bad.gguf")
            bad.write_bytes(content)
            program.refused(text, "--prompt", "x", "--model", str(bad))


def with_model(path, model):
    program = Program(path, model)
    story = "Once upon a time, in a small village by the sea, there lived"
    golden = json.loads(pathlib.Path(ROOT, "tests/llama/data/golden.json").read_text(encoding="ascii"))
    expected = next(row for row in golden["prompts"] if row["text"] == story)["greedy"]

    # The same text from --prompt, from standard input, and as JSON.
    exact = ("--activations", "f32", "--raw")
    result = program.answers("--prompt", story, "--n", "20", *exact)
    again = program.answers("--n", "20", *exact, stdin=story + "\n")
    expect(again.stdout == result.stdout, "the text of --prompt for a prompt from standard input", again)
    expect(b"tokens/s" in result.stderr, "tokens/s on stderr", result)
    answer = program.answers("--prompt", story, "--n=20", "--json", "--threads", "1", *exact)
    parsed = json.loads(answer.stdout)
    expect(parsed["ids"] == expected[:20], "the reference's tokens", answer)
    expect(parsed["text"] + "\n" == result.stdout.decode(), "the text that was printed", answer)
    expect(parsed["generated_tokens"] == 20 and parsed["end"] == "length", "counts", answer)
    expect(parsed["generation_tokens_per_second"] > 0, "a rate", answer)
    for hold in ("bf16", "f32"):
        other = json.loads(program.answers("--prompt", story, "--n", "4", "--json", "--raw", "--dtype", hold).stdout)
        expect(other["ids"] == expected[:4], f"the same tokens with {hold} weights", answer)

    # Activations of 8 bits: another text at most; the perplexity of half a page moves by less than 1 %.
    rounded = json.loads(program.answers("--prompt", story, "--n", "4", "--json", "--raw").stdout)
    expect(rounded["ids"] == expected[:4], "the same first tokens with activations of 8 bits", answer)
    page = pathlib.Path(ROOT, "tests/llama/data/perplexity.txt").read_text(encoding="ascii")[:1200]
    scores = [program.answers("--score", *choice, stdin=page) for choice in (exact, ())]
    first, second = (float(score.stdout) for score in scores)
    expect(5 < first < 200 and first != second and abs(second / first - 1) < 0.01, "a perplexity near the first's",
           scores[1])

    # Sampling repeats itself for a seed.
    sampled = [program.answers("--prompt", story, "--n", "12", "--temperature", "1", "--top-p", "0.95", "--top-k",
                               "50", "--seed", seed, "--raw") for seed in ("1", "1", "2")]
    expect(sampled[0].stdout == sampled[1].stdout, "the same text for the same seed", sampled[1])
    expect(sampled[0].stdout != sampled[2].stdout, "another text for another seed", sampled[2])

    # A conversation remembers; one question is the same as --prompt.
    question = "What is the capital of France?"
    one = program.answers("--chat", "--prompt", question)
    expect(b"Paris" in one.stdout, "an answer", one)
    expect(b"cut at" not in one.stderr, "an answer that was not cut", one)
    plain = program.answers("--prompt", question)
    expect(plain.stdout == one.stdout, "the template without --chat, as the file has one", plain)
    raw = program.answers("--prompt", story, "--n", "1", "--raw")
    expect(b"cut at 1 token (--n" in raw.stderr and b"generation 1 token," in raw.stderr,
           "that the text was cut, after one token", raw)
    talk = program.answers("--chat", "--n", "48", stdin=f"{question}\n\nAnd which country is it in?\n")
    expect(talk.stdout.startswith(one.stdout), "the same first answer", talk)
    expect(talk.stdout.count(b"\n") >= 2 and b"France" in talk.stdout[len(one.stdout):],
           "an answer that knows the question before", talk)

    # What does not fit, and what is nothing.
    for plain in ((), ("--raw",)):
        program.refused("prompt is empty", "--prompt", "", *plain)
    program.refused("do not fit in 3 positions", "--prompt", story, "--raw", "--ctx", "3")
    program.refused("more than the 8192 positions", "--prompt", story, "--ctx", "9000")
    program.refused("context is full", "--prompt", "1, 2, 3, 4, 5, 6,", "--raw", "--ctx", "19", output=None)
    result = program.answers("--prompt", story, "--n", "0")
    expect(result.stdout == b"\n", "no text for --n 0", result)
    full = program.run("--prompt", "a b c", "--n", "1", stdin="")
    with open("/dev/full", "wb") as sink:
        status = subprocess.run([path, "--model", model, "--prompt", "a", "--n", "1"], stdout=sink,
                                stderr=subprocess.PIPE, timeout=300, check=False)
    status.stdout = b""
    expect(full.returncode == 0 and status.returncode == 2, "exit status 2 for a full disk", status)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--unit", help="run this program's tests that need the model, too")
    parser.add_argument("--model", help="instead of the one that fetch_model.py gets")
    arguments = parser.parse_args()
    without_model(arguments.program)
    model = arguments.model
    if not model:
        fetched = subprocess.run([sys.executable, ROOT / "examples/llama/fetch_model.py"], stdout=subprocess.PIPE,
                                 text=True, check=False)
        if fetched.returncode != 0:
            return 1 if failures else 77
        model = fetched.stdout.strip()
    with_model(arguments.program, model)
    status = 0
    if arguments.unit:
        status = subprocess.run([arguments.unit, "--gtest_brief=1", "--gtest_filter=*Golden*:*Real*"],
                                env={**os.environ, "FLAGGEMS_TEST_MODEL": model}, check=False).returncode
    print(f"{failures} failures")
    return 1 if failures or status else 0


if __name__ == "__main__":
    sys.exit(main())
