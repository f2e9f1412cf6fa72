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
WORDS = [
    "the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "model", "weights", "attention",
    "doesn't", "can't", "we'll", "I'm", "they've", "Tokenizer", "HTTPServer", "getElementById",
    "snake_case_name", "photosynthesis", "antidisestablishmentarianism", "Monday", "revenue", "quarter",
    "galaxy", "whale", "piano", "I'D", "WE'LL", "don'T", "she's", "'tis", "o'clock", "rock'n'roll",
]
ACCENTS = [
    "caf\xe9", "na\xefve", "\xdcbergr\xf6\xdfentr\xe4ger", "se\xf1or", "fa\xe7ade", "\xc6r\xf8sk\xf8bing",
    "\u017elu\u0165ou\u010dk\xfd", "k\u016f\u0148", "\u041f\u0440\u0438\u0432\u0435\u0442",
    "\u043c\u0438\u0440", "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac", "\u05e9\u05dc\u05d5\u05dd",
    "\u0645\u0631\u062d\u0628\u0627", "\u0939\u093f\u0928\u094d\u0926\u0940",
    "\u0e44\u0e17\u0e22\u0e20\u0e32\u0e29\u0e32", "\u0110\u1eb7ng", "cr\xe8me", "br\xfbl\xe9e",
    "e\u0301te\u0301", "\u0131", "\u0130", "\xdf", "\ufb01", "\u2167", "\xbd", "\xb2", "\u0663\u0664",
    "\u096a\u096b", "\U0001d7d9\U0001d7da", "K", "\u017ft",
]
CJK = (
    "\u4eca\u5929\u5929\u6c14\u5f88\u597d\u6211\u4eec\u53bb\u516c\u56ed\u65e5\u672c\u8a9e\u306e\u30c6"
    "\u30ad\u30b9\u30c8\u3067\u3059\u3002\u30ab\u30bf\u30ab\u30ca\ud55c\uad6d\uc5b4\ubb38\uc7a5\uc785"
    "\ub2c8\ub2e4\u7e41\u9ad4\u4e2d\u6587\u6e2c\u8a66\uff0c\u300c\u5f15\u865f\u300d\uff01\uff10\uff11"
    "\uff12"
)
EMOJI = [
    "\U0001f600", "\U0001f389", "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f44d\U0001f3fd", "\u2764\ufe0f", "\U0001f1e9\U0001f1ea",
    "\U0001f937\u200d\u2642\ufe0f", "\u2603", "\u2705", "\u2192", "\u20ac", "\u2122", "\u200b", "\ufeff",
]
CODE = [
    "for (int i = 0; i < n; ++i) { a[i] += b[i] * c; }", "def f(x, *args, **kw):\n\treturn x if x else None",
    "std::vector<std::pair<int, float>> v{{1, 2.5f}};",
    "SELECT id, COUNT(*) FROM t WHERE a != 'x' GROUP BY 1;", "<div class=\"a b\">&nbsp;</div>",
    "#include <cstdio>\r\nint main() {}\r\n", "x=0xDEADBEEF;y=1e-5;z=~x&y|3",
    "{\"key\": [1, 2.0, null], \"k2\": \"v\\n\"}", "git commit -m \"fix: #123\" && ./run.sh | tee log_2.txt",
    "lambda x: x**2 # comment", "$\\frac{a}{b} \\leq \\sum_{i=0}^{n} x_i$",
    "\t\tif err != nil {\n\t\t\treturn err\n\t\t}",
]
SPACES = [
    " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", " \n", "\n ", "        ", "\xa0", "\u3000", "\u2003\u2003",
    "\x0b", "\x0c", "\x85", "\x85", "\u2028",
]
BROKEN = [
    b'\xff', b'\xc3', b'\xe2\x82', b'\xf0\x9f\x98', b'\x80\x80', b'\xc0\x80', b'\xed\xa0\x80', b'\xfe\xff',
    b'\xc3(', b'\xe2(\xa1', b'\xf8\x88\x80\x80\x80', b'\x00', b'\x04\x06', b'\xe0\x80\xaf', b'\xbf',
    b'\xc1\xbf', b'\xf0\x80\x80A',
]
CONTROLS = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<jupyter_code>", "<|im_start|", "im_end|>",
]


def piece(rng):
    """A few bytes of one kind."""
    kind = rng.randrange(11)
    if kind <= 2:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 7))).encode()
    if kind == 3:
        return rng.choice(CODE).encode()
    if kind == 4:
        digits = "".join(rng.choice("0123456789") for _ in range(rng.randint(1, 9)))
        forms = ["{}", "-{}", "{}.5", "${},000", " {}", "v{}"]
        return rng.choice(forms).format(digits).encode()
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
            p = rng.choice([rng.randrange(0x80, 0x800), rng.randrange(0x800, 0x10000), rng.randrange(0x10000,
            0x20000),
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
