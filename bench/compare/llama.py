#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The model program against llama.cpp on the same file, interleaved in one run.

    CMAKE_ARGS=-DGGML_NATIVE=ON pip install llama-cpp-python
    llama.py --program PATH/llama --model FILE [--threads 2] [--repeats 3] [--output bench/results/llama.json]

Measured are tokens a second of a prompt (512 tokens), of generation behind it and in a short context, the
milliseconds until the first token of a short prompt (16 tokens), and the peak memory of the process; medians of
the repeats, each side in a process of its own. Peak memory of llama.cpp is also given without the interpreter's
own. The roof of generation is what the processors read in a second, divided by the bytes of the file. Numbers
are of a quiet machine only: the load before and after is in the result.
"""

import argparse
import concurrent.futures
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import time

TEXT = ("The keeper of the lighthouse counted the ships that passed and wrote their names into a book. "
        "In winter, when 3 or 4 came in a week, he drew the clouds instead; nobody had asked him to. ")
BETTER_HIGH = ("prompt_rate", "generation_rate", "generation_rate_behind_prompt")


def prompt_of(tokenize, count):
    """A text of exactly `count` tokens."""
    text = TEXT * (count // 20 + 2)
    for end in range(len(text) // 8, len(text)):
        if len(tokenize(text[:end])) == count:
            return text[:end]
    raise SystemExit(f"no text of {count} tokens")


class Peer:
    """llama.cpp through its C interface."""

    def __init__(self, arguments):
        import llama_cpp
        import numpy
        self.api, self.numpy = llama_cpp, numpy
        self.interpreter = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.model = llama_cpp.Llama(arguments.model, n_ctx=arguments.prompt + arguments.tokens + 64,
                                     n_threads=arguments.threads, n_threads_batch=arguments.threads,
                                     n_batch=512, verbose=False)

    def tokenize(self, text):
        return self.model.tokenize(text.encode(), add_bos=False)

    def run(self, ids):
        array = (self.api.llama_token * len(ids))(*ids)
        status = self.api.llama_decode(self.model.ctx, self.api.llama_batch_get_one(array, len(ids)))
        assert status == 0, f"llama_decode: {status}"
        logits = self.api.llama_get_logits_ith(self.model.ctx, -1)
        return int(self.numpy.argmax(self.numpy.ctypeslib.as_array(logits, (self.model.n_vocab(),))))

    def answer(self, text, tokens):
        self.api.llama_memory_clear(self.api.llama_get_memory(self.model.ctx), True)
        ids = self.tokenize(text)
        start = time.perf_counter()
        last = self.run(ids)
        middle = time.perf_counter()
        for _ in range(tokens - 1):
            last = self.run([last])
        end = time.perf_counter()
        return len(ids) / (middle - start), (tokens - 1) / (end - middle)


def peer_process(arguments):
    peer = Peer(arguments)
    long, short = prompt_of(peer.tokenize, arguments.prompt), prompt_of(peer.tokenize, 16)
    peer.answer(short, 4)  # its pages are read, its threads started
    result = {}
    rate, result["generation_rate"] = peer.answer(short, arguments.tokens)
    result["first_token_ms"] = 16 / rate * 1000
    result["prompt_rate"], result["generation_rate_behind_prompt"] = peer.answer(long, arguments.tokens)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result["peak_memory_mb"] = peak / 1000
    result["peak_memory_less_interpreter_mb"] = (peak - peer.interpreter) / 1000
    print(json.dumps({"result": result, "long": long, "short": short,
                      "system": peer.api.llama_print_system_info().decode()}))


def our_process(arguments, long, short):
    def run(text, expected):
        # The program's own clocks: loading is not in them. The peak is that of this child alone.
        before = time.perf_counter()
        process = subprocess.Popen([arguments.program, "--model", arguments.model, "--threads",
                                    str(arguments.threads), "--n", str(arguments.tokens), "--json", "--raw",
                                    "--prompt", text, *arguments.option],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        answer = json.loads(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        assert status == 0 and answer["prompt_tokens"] == expected, (status, answer, before)
        return answer, usage.ru_maxrss / 1000

    run(short, 16)
    first, _ = run(short, 16)
    second, peak = run(long, arguments.prompt)
    return {"generation_rate": first["generation_tokens_per_second"],
            "first_token_ms": 16 / first["prompt_tokens_per_second"] * 1000,
            "prompt_rate": second["prompt_tokens_per_second"],
            "generation_rate_behind_prompt": second["generation_tokens_per_second"],
            "peak_memory_mb": peak}


def read_rate(threads, size):
    """GB a second that `threads` read of memory."""
    import numpy
    parts = [numpy.ones(size // 8 // threads, numpy.int64) for _ in range(threads)]
    best = 0
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for _ in range(10):
            start = time.perf_counter()
            list(pool.map(numpy.bitwise_or.reduce, parts))
            best = max(best, size / (time.perf_counter() - start) / 1e9)
    return best


def cpu_name():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="our model program")
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--prompt", type=int, default=512, help="tokens of the long prompt")
    parser.add_argument("--tokens", type=int, default=64, help="tokens to generate")
    parser.add_argument("--option", action="append", default=[], help="passed to our program")
    parser.add_argument("--output", type=pathlib.Path, help="where to write the result as JSON")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        peer_process(arguments)
        return 0

    load = os.getloadavg()
    runs = {"flaggems": [], "llama.cpp": []}
    system = ""
    for _ in range(arguments.repeats):
        child = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--peer"], stdout=subprocess.PIPE,
                               check=True)
        answer = json.loads(child.stdout.splitlines()[-1])
        system = answer["system"]
        runs["llama.cpp"].append(answer["result"])
        runs["flaggems"].append(our_process(arguments, answer["long"], answer["short"]))

    median = {side: {key: round(statistics.median(run[key] for run in rows), 3) for key in rows[0]}
              for side, rows in runs.items()}
    size = os.path.getsize(arguments.model)
    roof = read_rate(arguments.threads, size) * 1e9 / size
    result = {
        "benchmark": "llama", "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
        "cpu": cpu_name(), "processors": os.cpu_count(), "threads": arguments.threads,
        "model": os.path.basename(arguments.model), "model_bytes": size,
        "prompt_tokens": arguments.prompt, "generated_tokens": arguments.tokens, "options": arguments.option,
        "load_before": load[0], "load_after": os.getloadavg()[0], "generation_roof": round(roof, 1),
        "versions": {"python": platform.python_version(), "kernel": platform.release(),
                     "llama-cpp-python": importlib.metadata.version("llama-cpp-python")},
        "peer_system": system.strip(), "median": median, "runs": runs}
    print(f"{'':34}{'flaggems':>12}{'llama.cpp':>12}{'ratio':>8}")
    for key, ours in median["flaggems"].items():
        theirs = median["llama.cpp"][key]
        ratio = ours / theirs if key in BETTER_HIGH else theirs / ours
        print(f"{key:34}{ours:12.1f}{theirs:12.1f}{ratio:8.2f}")
    print(f"load {load[0]:.1f}; reading all weights once a token: {roof:.0f} tokens/s at most")
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
