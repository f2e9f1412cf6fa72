#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Writes data/tokens.txt: lines of mixed text and the ids that llama.cpp gives them.

Each line of the output is `PRE SPECIAL BASE64 ID ID ...`: the pre-tokenizer, 1 if control tokens in
the text are recognised, the text, the ids. 1,000 lines use the model's own pre-tokenizer; the other
ones run llama.cpp on a copy of the vocabulary with another value of tokenizer.ggml.pre.

    CMAKE_ARGS=-DGGML_NATIVE=ON pip install llama-cpp-python==0.3.36
    ./make_golden_tokens.py MODEL.gguf > data/tokens.txt
"""

import base64
import os
import random
import struct
import sys
import tempfile

import llama_cpp

SEED = 20261121
WORDS = ("the quick brown fox jumps over lazy dog model weights attention doesn't can't we'll I'm they've "
         "Tokenizer HTTPServer getElementById snake_case_name photosynthesis antidisestablishmentarianism "
         "Monday revenue quarter galaxy whale piano I'D WE'LL don'T she's 'tis o'clock rock'n'roll").split()
ACCENTS = ("café naïve Übergrößenträger señor façade Ærøskøbing žluťoučký kůň Привет мир Ελληνικά שלום "
           "مرحبا हिन्दी ไทยภาษา Đặng crème brûlée e\u0301te\u0301 ı İ ß ﬁ Ⅷ ½ ² ٣٤ ४५ 𝟙𝟚 K ſt").split()
CJK = "今天天气很好我们去公园日本語のテキストです。カタカナ한국어문장입니다繁體中文測試，「引號」！０１２"
EMOJI = ["😀", "🎉", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "❤️", "🇩🇪", "🤷‍♂️", "☃", "✅", "→", "€", "™", "\u200b", "\ufeff"]
CODE = ["for (int i = 0; i < n; ++i) { a[i] += b[i] * c; }", "def f(x, *args, **kw):\n\treturn x if x else None",
        "std::vector<std::pair<int, float>> v{{1, 2.5f}};", "SELECT id, COUNT(*) FROM t WHERE a != 'x' GROUP BY 1;",
        "<div class=\"a b\">&nbsp;</div>", "#include <cstdio>\r\nint main() {}\r\n", "x=0xDEADBEEF;y=1e-5;z=~x&y|3",
        "{\"key\": [1, 2.0, null], \"k2\": \"v\\n\"}", "git commit -m \"fix: #123\" && ./run.sh | tee log_2.txt",
        "lambda x: x**2 # comment", "$\\frac{a}{b} \\leq \\sum_{i=0}^{n} x_i$", "\t\tif err != nil {\n\t\t\treturn err\n\t\t}"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", " \n", "\n ", "        ", "\u00a0", "\u3000", "\u2003\u2003", "\x0b", "\x0c", "\x85",
          "\u0085", "\u2028"]
BROKEN = [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xfe\xff", b"\xc3(", b"\xe2(\xa1",
          b"\xf8\x88\x80\x80\x80", b"\x00", b"\x04\x06", b"\xe0\x80\xaf", b"\xbf", b"\xc1\xbf", b"\xf0\x80\x80\x41"]
CONTROLS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<jupyter_code>", "<|im_start|", "im_end|>"]


def piece(rng):
    """A few bytes of one kind."""
    kind = rng.randrange(11)
    if kind <= 2:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 7))).encode()
    if kind == 3:
        return rng.choice(CODE).encode()
    if kind == 4:
        digits = "".join(rng.choice("0123456789") for _ in range(rng.randint(1, 9)))
        return rng.choice([digits, "-" + digits, digits + ".5", "$" + digits + ",000", " " + digits, "v" + digits]).encode()
    if kind == 5:
        return " ".join(rng.choice(ACCENTS) for _ in range(rng.randint(1, 3))).encode()
    if kind == 6:
        start = rng.randrange(len(CJK) - 8)
        return CJK[start:start + rng.randint(1, 8)].encode()
    if kind == 7:
        return "".join(rng.choice(EMOJI) for _ in range(rng.randint(1, 3))).encode()
    if kind == 8:
        return b"".join(rng.choice(SPACES).encode() for _ in range(rng.randint(1, 4)))
    if kind == 9:
        # Any code point, assigned or not, but no surrogate.
        points = []
        while len(points) < 4:
            p = rng.choice([rng.randrange(0x80, 0x800), rng.randrange(0x800, 0x10000), rng.randrange(0x10000, 0x20000),
                            rng.randrange(0x10000, 0x110000)])
            if not 0xD800 <= p < 0xE000:
                points.append(p)
        return "".join(map(chr, points)).encode()
    return rng.choice(["!?", "...", "'s", "''", "--", "_", "'", "@", " (", ")", "#!", "$$$", "==="]).encode()


def line(rng, index):
    parts = [piece(rng) for _ in range(rng.randint(1, 5))]
    if index % 7 == 0:
        parts.insert(rng.randint(0, len(parts)), rng.choice(BROKEN))
    if index % 11 == 0:
        parts.insert(rng.randint(0, len(parts)), rng.choice(CONTROLS).encode())
    joiner = rng.choice([b"", b" ", b" ", b"  ", b"\n"])
    return joiner.join(parts)


def read_header(data):
    """The metadata part of a GGUF file as a list of (key, raw value), raw including its type."""
    at = 24
    entries = []
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def skip(kind, at):
        if kind == 8:
            return at + 8 + struct.unpack_from("<Q", data, at)[0]
        if kind == 9:
            inner, count = struct.unpack_from("<IQ", data, at)
            at += 12
            if inner in sizes:
                return at + count * sizes[inner]
            for _ in range(count):
                at = skip(inner, at)
            return at
        return at + sizes[kind]

    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        length = struct.unpack_from("<Q", data, at)[0]
        key = data[at + 8:at + 8 + length]
        start = at + 8 + length
        at = skip(struct.unpack_from("<I", data, start)[0], start + 4)
        entries.append((key, data[start:at]))
    return entries


def with_pre(model, pre, directory):
    """A file with the same vocabulary, no tensors, and another pre-tokenizer."""
    with open(model, "rb") as file:
        entries = read_header(file.read(8 << 20))
    path = os.path.join(directory, pre + ".gguf")
    with open(path, "wb") as out:
        out.write(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(entries)))
        for key, value in entries:
            if key == b"tokenizer.ggml.pre":
                value = struct.pack("<IQ", 8, len(pre)) + pre.encode()
            out.write(struct.pack("<Q", len(key)) + key + value)
    return path


def emit(model, pre, lines):
    tokens = llama_cpp.Llama(model, vocab_only=True, verbose=False)
    for index, text in enumerate(lines):
        special = int(index % 2 == 0)
        ids = tokens.tokenize(text, add_bos=False, special=bool(special))
        print(pre, special, base64.b64encode(text).decode() or "=", *ids)


def main():
    model = sys.argv[1]
    rng = random.Random(SEED)
    emit(model, "smollm", [b"", b" ", b"  "] + [line(rng, i) for i in range(997)])
    with tempfile.TemporaryDirectory() as directory:
        for pre in ("gpt-2", "llama-bpe", "qwen2"):
            emit(with_pre(model, pre, directory), pre, [line(rng, i) for i in range(200)])


if __name__ == "__main__":
    main()
