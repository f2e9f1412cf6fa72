#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""The reference for the model program: a float64 NumPy forward pass on the dequantised weights.

Independent of the C++ code: own GGUF reader, no library but NumPy.

    reference.py MODEL.gguf logits 1 2 3          the logits behind the ids, one line a position
    reference.py MODEL.gguf greedy 64 1 2 3       64 greedy ids behind the ids
    reference.py MODEL.gguf golden data/golden.json    writes the committed golden data; needs
                                                  llama-cpp-python for the prompts' ids and a cross-check
"""

import json
import mmap
import struct
import sys
import time

import numpy as np

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
PROMPTS = [
    # (name, chat, text)
    ("capital", True, "What is the capital of France?"),
    ("gravity", True, "Explain in two sentences why things fall to the ground."),
    ("code", False, "def fibonacci(n):\n    "),
    ("story", False, "Once upon a time, in a small village by the sea, there lived"),
    ("count", False, "1, 2, 3, 4, 5, 6,"),
]
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


class Gguf:
    """Metadata and tensors of a GGUF file (version 2 or 3)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, tensors, entries = struct.unpack_from("<4sIQQ", self.data, 0)
        assert magic == b"GGUF" and version in (2, 3), "not a GGUF file of version 2 or 3"
        self.at = 24
        self.meta = {}
        for _ in range(entries):
            key = self.string().decode()
            self.meta[key] = self.value(self.number("I"))
        infos = []
        for _ in range(tensors):
            name = self.string().decode()
            dims = [self.number("Q") for _ in range(self.number("I"))]
            infos.append((name, dims, self.number("I"), self.number("Q")))
        alignment = self.meta.get("general.alignment", 32)
        start = -(-self.at // alignment) * alignment
        self.tensors = {name: (dims, kind, start + offset) for name, dims, kind, offset in infos}

    def number(self, code):
        value = struct.unpack_from("<" + code, self.data, self.at)[0]
        self.at += struct.calcsize("<" + code)
        return value

    def string(self):
        length = self.number("Q")
        self.at += length
        return self.data[self.at - length:self.at]

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            inner, count = self.number("I"), self.number("Q")
            return [self.value(inner) for _ in range(count)]
        return self.number(SCALARS[kind])

    def tensor(self, name):
        """The tensor in float64, in NumPy's order (rows first), dequantised as ggml does it."""
        dims, kind, offset = self.tensors[name]
        count = int(np.prod(dims))

        def raw(dtype, items):
            return np.frombuffer(self.data, dtype, items, offset)

        if kind == 0:
            values = raw("<f4", count).astype(np.float64)
        elif kind == 1:
            values = raw("<f2", count).astype(np.float64)
        elif kind == 30:
            values = (raw("<u2", count).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        elif kind == 8:  # d, 32 x int8: d * q
            blocks = raw([("d", "<f2"), ("q", "i1", 32)], count // 32)
            values = blocks["d"].astype(np.float64)[:, None] * blocks["q"]
        elif kind in (2, 3):  # nibbles: the low ones are elements 0-15, the high ones 16-31
            fields = [("d", "<f2"), ("m", "<f2"), ("q", "u1", 16)] if kind == 3 else [("d", "<f2"), ("q", "u1", 16)]
            blocks = raw(fields, count // 32)
            q = np.concatenate([blocks["q"] & 15, blocks["q"] >> 4], axis=1).astype(np.float64)
            d = blocks["d"].astype(np.float64)[:, None]
            # Q4_0: d * (q - 8). Q4_1: d * q + m.
            values = d * (q - 8) if kind == 2 else d * q + blocks["m"].astype(np.float64)[:, None]
        else:
            raise ValueError(f"tensor {name} has type {kind}, which this reference does not read")
        return values.reshape(dims[::-1])


class Model:
    """A Llama model with a key-value cache, all in float64."""

    def __init__(self, path):
        self.file = Gguf(path)
        meta = self.file.meta
        assert meta["general.architecture"] == b"llama"
        self.layers = meta["llama.block_count"]
        self.width = meta["llama.embedding_length"]
        self.heads = meta["llama.attention.head_count"]
        self.kv_heads = meta.get("llama.attention.head_count_kv", self.heads)
        self.head = self.width // self.heads
        self.eps = meta["llama.attention.layer_norm_rms_epsilon"]
        self.rotary = meta.get("llama.rope.dimension_count", self.head)
        base = meta.get("llama.rope.freq_base", 10000.0)
        self.frequencies = float(base) ** (-np.arange(0, self.rotary, 2) / self.rotary)
        self.embedding = self.file.tensor("token_embd.weight")
        tied = "output.weight" not in self.file.tensors
        self.output = self.embedding if tied else self.file.tensor("output.weight")
        self.output_norm = self.file.tensor("output_norm.weight")
        names = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")
        self.blocks = [{n: self.file.tensor(f"blk.{i}.{n}.weight") for n in names} for i in range(self.layers)]
        self.reset()

    def reset(self):
        empty = np.zeros((0, self.kv_heads, self.head))
        self.cache = [[empty, empty] for _ in range(self.layers)]

    def rms_norm(self, x, weight):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.eps) * weight

    def rope(self, x, positions):
        # GGUF files of the llama architecture hold Q and K permuted so that the pairs that rotate
        # together are neighbours: (0, 1), (2, 3), ...
        angle = positions[:, None, None] * self.frequencies
        cos, sin = np.cos(angle), np.sin(angle)
        even, odd = x[..., 0:self.rotary:2], x[..., 1:self.rotary:2]
        result = x.copy()
        result[..., 0:self.rotary:2] = even * cos - odd * sin
        result[..., 1:self.rotary:2] = even * sin + odd * cos
        return result

    def forward(self, ids, last_only=False):
        """The logits behind each of `ids`, which continue what was given since `reset`."""
        past = self.cache[0][0].shape[0]
        positions = np.arange(past, past + len(ids), dtype=np.float64)
        x = self.embedding[list(ids)]
        for block, cache in zip(self.blocks, self.cache):
            h = self.rms_norm(x, block["attn_norm"])
            q = self.rope((h @ block["attn_q"].T).reshape(len(ids), self.heads, self.head), positions)
            k = self.rope((h @ block["attn_k"].T).reshape(len(ids), self.kv_heads, self.head), positions)
            v = (h @ block["attn_v"].T).reshape(len(ids), self.kv_heads, self.head)
            cache[0] = np.concatenate([cache[0], k])
            cache[1] = np.concatenate([cache[1], v])
            group = self.heads // self.kv_heads
            keys, values = (np.repeat(part, group, axis=1) for part in cache)
            scores = np.einsum("qhd,khd->hqk", q, keys) / np.sqrt(self.head)
            hidden = np.arange(past + len(ids))[None, :] > positions[:, None]
            scores = np.where(hidden[None], -np.inf, scores)
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            scores /= scores.sum(axis=-1, keepdims=True)
            mixed = np.einsum("hqk,khd->qhd", scores, values).reshape(len(ids), -1)
            x = x + mixed @ block["attn_output"].T
            h = self.rms_norm(x, block["ffn_norm"])
            gate = h @ block["ffn_gate"].T
            x = x + (gate / (1 + np.exp(-gate)) * (h @ block["ffn_up"].T)) @ block["ffn_down"].T
        if last_only:
            x = x[-1:]
        return self.rms_norm(x, self.output_norm) @ self.output.T

    def greedy(self, ids, count):
        """`count` greedy ids (no stop), the logits behind `ids`, and the smallest lead of a winner."""
        self.reset()
        first = logits = self.forward(ids, last_only=True)[-1]
        result, lead = [], np.inf
        for _ in range(count):
            two = np.partition(logits, -2)[-2:]
            lead = min(lead, two[1] - two[0])
            result.append(int(np.argmax(logits)))
            if len(result) < count:
                logits = self.forward(result[-1:])[-1]
        return result, first, lead


def render(chat, text):
    if not chat:
        return text
    return (f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n")


def golden(path, target):
    import llama_cpp

    other = llama_cpp.Llama(path, n_ctx=256, n_threads=1, logits_all=True, verbose=False)
    model = Model(path)
    rng = np.random.default_rng(20261121)
    sample = np.sort(rng.choice(model.embedding.shape[0], 512, replace=False))
    rows = []
    for name, chat, text in PROMPTS:
        ids = other.tokenize(render(chat, text).encode(), add_bos=False, special=True)
        start = time.time()
        tokens, logits, lead = model.greedy(ids, 64)
        # llama.cpp rounds activations to 8 bits, so free-running texts part at near ties; given the
        # reference's text, its choices must agree but for those.
        other.reset()
        other.eval(ids + tokens)
        theirs = np.asarray(other.scores[len(ids) - 1:len(ids) + 63], dtype=np.float64)
        agree = int(np.sum(np.argmax(theirs, axis=1) == tokens))
        distance = np.linalg.norm(theirs[0] - logits) / np.linalg.norm(logits)
        print(f"{name}: {len(ids)} ids, {time.time() - start:.1f} s, smallest lead {lead:.4g}; llama.cpp: {agree} of "
              f"64 choices, logits {distance:.3g} away: {other.detokenize(tokens)!r}", file=sys.stderr)
        top = np.argsort(-logits, kind="stable")[:64]
        rows.append({
            "name": name, "chat": chat, "text": text, "ids": ids, "greedy": tokens,
            "smallest_lead": float(f"{lead:.6g}"), "norm": float(np.linalg.norm(logits)),
            "top_ids": top.tolist(), "top_logits": [float(f"{v:.9g}") for v in logits[top]],
            "sample_logits": [float(f"{v:.9g}") for v in logits[sample]],
        })
    with open(target, "w", encoding="ascii") as file:
        file.write("{\n")
        file.write('"model": "SmolLM2-135M-Instruct.Q4_1.gguf",\n')
        file.write('"made_by": "tests/llama/reference.py golden (float64)",\n')
        file.write(f'"sample_ids": {json.dumps(sample.tolist(), separators=(",", ":"))},\n"prompts": [\n')
        file.write(",\n".join(json.dumps(row, separators=(",", ":")) for row in rows))
        file.write("\n]\n}\n")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    path, command, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    if command == "golden":
        golden(path, rest[0])
        return
    model = Model(path)
    if command == "logits":
        for row in model.forward([int(i) for i in rest]):
            print(*(f"{v:.9g}" for v in row))
    elif command == "greedy":
        print(*model.greedy([int(i) for i in rest[1:]], int(rest[0]))[0])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
