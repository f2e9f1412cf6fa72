#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The model program on a GPU against PyTorch, at the sizes of known models, in one run.

    llama.py --program PATH/llama [--model llama-3-8b] [--model smollm2-135m] [--tokens 200] [--prompt 2048] [--output FILE]

Both sides run random weights in bf16: a long prompt at once, and one token at a time, greedily, behind a prompt of 16
tokens; PyTorch with a static cache of keys and values and q, k, v and gate, up in one matrix each, as eager calls and
compiled with mode="reduce-overhead". Of a prompt all layers run for all its tokens, and the output matrix for the last
one; the sides alternate in one process (llama_prompt.cpp, compiled here), so that they find the same clocks, and the
medians count. Tokens one at a time are of a process each. How many of the tokens of PyTorch's two ways agree is in the
result (bf16 rounds differently once fused); the model program's are compared with its host's in tests. `copy` is the
device's copy, read and written bytes counted, in each process; fractions are of the rate at which it would move the
weights once a token.
"""

import argparse
import ctypes
import datetime
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = {
    "llama-3-8b": dict(layers=32, width=4096, hidden=14336, heads=32, kv_heads=8, head=128, vocabulary=128256,
                       rope=500000.0, tied=False),
    "smollm2-135m": dict(layers=30, width=576, hidden=1536, heads=9, kv_heads=3, head=64, vocabulary=49152,
                         rope=100000.0, tied=True),
}
PROMPT = 16


def make_model(torch, sizes, positions, prompt):
    """The weights, and step(token [1], position [1]) -> the next token [1], in place in the caches."""
    from torch.nn import functional as F
    device, dtype = "cuda", torch.bfloat16
    width, head = sizes["width"], sizes["head"]
    queries, keys = sizes["heads"] * head, sizes["kv_heads"] * head

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            def matrix(rows, columns):
                return torch.nn.Parameter(torch.randn(rows, columns, device=device, dtype=dtype) / columns ** 0.5,
                                          requires_grad=False)
            def vector():
                return torch.nn.Parameter(torch.rand(width, device=device, dtype=dtype) + 0.5, requires_grad=False)
            self.norm, self.next_norm = vector(), vector()
            self.qkv, self.output = matrix(queries + 2 * keys, width), matrix(width, queries)
            self.gate_up, self.down = matrix(2 * sizes["hidden"], width), matrix(width, sizes["hidden"])
            for name in ("keys", "values"):
                for prefix, room in (("", positions), ("prompt_", prompt)):
                    self.register_buffer(prefix + name, torch.zeros(1, sizes["kv_heads"], room, head, device=device,
                                                                    dtype=dtype))

        def rotate(self, x, cos, sin):  # [heads, head]
            pairs = x.float().view(x.shape[0], head // 2, 2)
            a, b = pairs[..., 0], pairs[..., 1]
            return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).view(x.shape).to(dtype)

        def forward(self, x, position, mask, cos, sin):
            h = F.rms_norm(x, (width,), self.norm, 1e-5)
            q, k, v = F.linear(h, self.qkv).split((queries, keys, keys), dim=-1)
            q = self.rotate(q.view(-1, head), cos, sin)
            k = self.rotate(k.view(-1, head), cos, sin)
            self.keys.index_copy_(2, position, k.view(1, -1, 1, head))
            self.values.index_copy_(2, position, v.view(1, -1, 1, head))
            mixed = F.scaled_dot_product_attention(q.view(1, -1, 1, head), self.keys, self.values, attn_mask=mask,
                                                   enable_gqa=True)
            x = x + F.linear(mixed.view(1, queries), self.output)
            gate, up = F.linear(F.rms_norm(x, (width,), self.next_norm, 1e-5), self.gate_up).chunk(2, dim=-1)
            return x + F.linear(F.silu(gate) * up, self.down)

        def prompt(self, x, cos, sin):
            """The layer for the first positions, all at once."""
            n = x.shape[0]
            h = F.rms_norm(x, (width,), self.norm, 1e-5)
            q, k, v = (t.view(n, -1, head) for t in F.linear(h, self.qkv).split((queries, keys, keys), dim=-1))
            turned = lambda t: self.rotate(t.reshape(-1, head), cos.repeat_interleave(t.shape[1], 0),
                                           sin.repeat_interleave(t.shape[1], 0)).view(n, -1, head)
            q, k, v = (t.transpose(0, 1)[None] for t in (turned(q), turned(k), v))
            self.prompt_keys.copy_(k)
            self.prompt_values.copy_(v)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + F.linear(mixed[0].transpose(0, 1).reshape(n, queries), self.output)
            gate, up = F.linear(F.rms_norm(x, (width,), self.next_norm, 1e-5), self.gate_up).chunk(2, dim=-1)
            return x + F.linear(F.silu(gate) * up, self.down)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Parameter(
                torch.randn(sizes["vocabulary"], width, device=device, dtype=dtype) / width ** 0.5, requires_grad=False)
            self.out = self.embedding if sizes["tied"] else torch.nn.Parameter(
                torch.randn(sizes["vocabulary"], width, device=device, dtype=dtype) / width ** 0.5, requires_grad=False)
            self.norm = torch.nn.Parameter(torch.ones(width, device=device, dtype=dtype), requires_grad=False)
            self.layers = torch.nn.ModuleList(Layer() for _ in range(sizes["layers"]))
            frequency = sizes["rope"] ** (-torch.arange(0, head, 2, device=device).double() / head)
            angle = torch.arange(max(positions, prompt), device=device).double()[:, None] * frequency
            self.register_buffer("cos", angle.cos().float())
            self.register_buffer("sin", angle.sin().float())
            self.register_buffer("at", torch.arange(positions, device=device))

        def forward(self, token, position):
            x = F.embedding(token, self.embedding)
            mask = (self.at <= position)[None, None, None]
            cos, sin = self.cos[position], self.sin[position]
            for layer in self.layers:
                x = layer(x, position, mask, cos, sin)
            return F.linear(F.rms_norm(x, (width,), self.norm, 1e-5), self.out).argmax(-1)

        def prompt(self, tokens):
            n = tokens.shape[0]
            x = F.embedding(tokens, self.embedding)
            for layer in self.layers:
                x = layer.prompt(x, self.cos[:n], self.sin[:n])
            return F.linear(F.rms_norm(x[-1:], (width,), self.norm, 1e-5), self.out)

    model = Model()
    matrices = [model.out] + [m for l in model.layers for m in (l.qkv, l.output, l.gate_up, l.down)]
    return model, sum(m.numel() * m.element_size() for m in matrices)


def generate(torch, model, step, tokens):
    """Tokens a second, and the tokens, of a fixed prompt's continuation."""
    for layer in model.layers:
        layer.keys.zero_(), layer.values.zero_()
    positions = torch.arange(PROMPT + tokens, device="cuda")
    ids = [torch.tensor([(31 * i + 7) % model.embedding.shape[0]], device="cuda") for i in range(PROMPT)]
    for i in range(PROMPT):
        token = step(ids[i], positions[i:i + 1]).clone()
    torch.cuda.synchronize()
    result, start = [token], time.perf_counter()
    for i in range(PROMPT, PROMPT + tokens - 1):
        token = step(token, positions[i:i + 1]).clone()
        result.append(token)
    torch.cuda.synchronize()
    rate = (tokens - 1) / (time.perf_counter() - start)
    return rate, torch.cat(result).tolist()


class OurPrompt:
    """Calls that run the prompt by the model program's code, and tell the seconds."""

    def __init__(self, library, name, tokens):
        self.library = ctypes.CDLL(library)
        self.library.llama_prompt_new.restype = ctypes.c_void_p
        self.library.llama_prompt_new.argtypes = [ctypes.c_char_p, ctypes.c_int]
        self.library.llama_prompt_run.argtypes = [ctypes.c_void_p, *[ctypes.POINTER(ctypes.c_double)] * 2]
        self.model = self.library.llama_prompt_new(name.encode(), tokens)
        self.queued = []

    def __call__(self):
        queued, done = ctypes.c_double(), ctypes.c_double()
        self.library.llama_prompt_run(self.model, queued, done)
        if not done.value:
            sys.exit("our prompt did not run")
        self.queued.append(queued.value)
        return done.value


def compile_prompt(cxx, folder):
    """The shared library of llama_prompt.cpp."""
    root = pathlib.Path(__file__).resolve().parents[2]
    sources = [root / "bench/gpu/llama_prompt.cpp", root / "examples/llama/cuda.cpp"]
    running = [subprocess.Popen([cxx, "-std=c++20", "-O2", "-fPIC", "-DFLAGGEMS_MAX_ISA=0", "-I", root / "include", "-I",
                                 root / "examples", "-c", source, "-o", folder / (source.stem + ".o")])
               for source in sources]
    if any(process.wait() for process in running):
        sys.exit("llama_prompt.cpp could not be compiled")
    library = folder / "libllama_prompt.so"
    subprocess.run([cxx, "-shared", *(folder / (s.stem + ".o") for s in sources), "-o", library, "-ldl", "-lpthread"],
                   check=True)
    return str(library)


def prompt_rates(torch, calls, count, rounds):
    """Tokens a second of a prompt by each of the calls, which return seconds: medians of alternating runs."""
    for call in calls.values():
        for _ in range(4):  # compiles, captures
            call()
    found = {name: [] for name in calls}
    start = time.perf_counter()
    while time.perf_counter() - start < 1:  # the device has been idle
        for call in calls.values():
            call()
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(call())
    return {name: count / statistics.median(times) for name, times in found.items()}


def torch_prompt(torch, run, count, vocabulary):
    ids = torch.tensor([(31 * i + 7) % vocabulary for i in range(count)], device="cuda")

    def call():
        torch.cuda.synchronize()
        start = time.perf_counter()
        run(ids)
        torch.cuda.synchronize()
        return time.perf_counter() - start
    return call


def copy_rate(torch):
    source = torch.zeros(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    best = 0.0
    for _ in range(3):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(8):
            target.copy_(source)
        end.record()
        end.synchronize()
        best = max(best, 16e3 * (1 << 30) / begin.elapsed_time(end))
    return best


def torch_process(arguments):
    import torch
    import triton
    torch.manual_seed(0)
    name = arguments.model[0]
    positions = (PROMPT + arguments.tokens + 255) // 256 * 256
    vocabulary = SIZES[name]["vocabulary"]
    with torch.no_grad():
        model, size = make_model(torch, SIZES[name], positions, arguments.prompt)
        result = {"bytes_of_weights": size, "copy_bytes_per_second": copy_rate(torch)}
        start = time.perf_counter()
        generate(torch, model, model, 4)
        result["eager"], first = generate(torch, model, model, min(arguments.tokens, arguments.eager_tokens))
        result["eager_seconds"] = time.perf_counter() - start
        ours = OurPrompt(arguments.library, name, arguments.prompt)
        rates = prompt_rates(torch, {
            "ours": ours,
            "eager": torch_prompt(torch, model.prompt, arguments.prompt, vocabulary),
            "compiled": torch_prompt(torch, torch.compile(model.prompt, mode="reduce-overhead", fullgraph=True),
                                     arguments.prompt, vocabulary)}, arguments.prompt, arguments.rounds)
        result.update({f"{side}_prompt": rate for side, rate in rates.items()})
        result["ours_queued_seconds"] = statistics.median(ours.queued[-arguments.rounds:])
        ours.library.llama_prompt_delete(ctypes.c_void_p(ours.model))
    with torch.no_grad():
        start = time.perf_counter()
        compiled = torch.compile(model, mode="reduce-overhead", fullgraph=True)
        generate(torch, model, compiled, 4)
        result["compile_seconds"] = time.perf_counter() - start
        generate(torch, model, compiled, 4)
        result["compiled"], second = max((generate(torch, model, compiled, arguments.tokens)
                                          for _ in range(2)), key=lambda x: x[0])
    same = sum(1 for a, b in zip(first, second) if a == b)
    result["tokens_that_agree"] = same
    result["versions"] = {"torch": torch.__version__, "triton": triton.__version__,
                          "python": platform.python_version(), "gpu": torch.cuda.get_device_name(0)}
    print(json.dumps(result))


def driver_version():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="our model program")
    parser.add_argument("--model", action="append", choices=SIZES, help="default: all")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--prompt", type=int, default=2048, help="tokens of the long prompt")
    parser.add_argument("--eager-tokens", type=int, default=60, help="of PyTorch's eager calls at most")
    parser.add_argument("--output", type=pathlib.Path, help="where to write the result as JSON")
    parser.add_argument("--rounds", type=int, default=30, help="of the long prompt")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--library", help=argparse.SUPPRESS)
    parser.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.model = arguments.model or list(SIZES)
    if arguments.torch:
        torch_process(arguments)
        return 0

    folder = tempfile.TemporaryDirectory()
    library = compile_prompt(arguments.cxx, pathlib.Path(folder.name))
    rows = {}
    for name in arguments.model:
        ours = json.loads(subprocess.run(
            [arguments.program, "--device", "cuda", "--synthetic", name, "--n", str(arguments.tokens), "--json"],
            stdout=subprocess.PIPE, check=True).stdout)
        peer = json.loads(subprocess.run(
            [sys.executable, __file__, "--program", arguments.program, "--torch", "--model", name, "--tokens",
             str(arguments.tokens), "--prompt", str(arguments.prompt), "--eager-tokens", str(arguments.eager_tokens),
             "--rounds", str(arguments.rounds), "--library", library],
            stdout=subprocess.PIPE, check=True).stdout.splitlines()[-1])
        prompt = peer["ours_prompt"]
        assert ours["bytes_of_weights"] == peer["bytes_of_weights"], (ours, peer)
        rate, roof = ours["generation_tokens_per_second"], ours["copy_bytes_per_second"] / ours["bytes_of_weights"]
        best = max(peer["eager"], peer["compiled"])
        rows[name] = {"flaggems": rate, "torch_eager": peer["eager"], "torch_compile": peer["compiled"],
                      "ratio_to_best": rate / best,
                      "prompt": prompt, "torch_eager_prompt": peer["eager_prompt"],
                      "torch_compile_prompt": peer["compiled_prompt"],
                      "prompt_ratio_to_best": prompt / max(peer["eager_prompt"], peer["compiled_prompt"]),
                      "prompt_queued_seconds": peer["ours_queued_seconds"], "bytes_of_weights": ours["bytes_of_weights"],
                      "copy_bytes_per_second": ours["copy_bytes_per_second"], "fraction_of_copy": rate / roof,
                      "torch_copy_bytes_per_second": peer["copy_bytes_per_second"],
                      "torch_compile_fraction_of_copy": peer["compiled"] / roof,
                      "flaggems_load_seconds": ours["load_seconds"], "torch_compile_seconds": peer["compile_seconds"],
                      "torch_tokens_that_agree": peer["tokens_that_agree"]}
        versions = peer["versions"]
        print(f"{name:14} flaggems {rate:8.1f} tokens/s ({rate / roof:5.1%} of the copy)  torch eager "
              f"{peer['eager']:8.1f}  compiled {peer['compiled']:8.1f}  ratio {rate / best:.2f}", flush=True)
        print(f"{name:14} prompt of {arguments.prompt}: flaggems {prompt:9.0f} tokens/s  torch eager "
              f"{peer['eager_prompt']:9.0f}  compiled {peer['compiled_prompt']:9.0f}  ratio "
              f"{rows[name]['prompt_ratio_to_best']:.2f}", flush=True)
    if arguments.output:
        result = {"benchmark": "llama_gpu", "date": datetime.date.today().isoformat(),
                  "command": "bench/gpu/llama.py --tokens " + str(arguments.tokens), "batch": 1, "dtype": "bf16",
                  "prompt_tokens": PROMPT, "long_prompt_tokens": arguments.prompt, "tokens": arguments.tokens, "driver": driver_version(),
                  "versions": versions, "models": rows}
        arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
