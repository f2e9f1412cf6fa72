#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Models of transformers with random weights, by our operators and by ATen's: BERT, Llama and Whisper, forward and
backward, in float32. Prints the calls that were ours and the largest difference of a logit and of a gradient, of the
largest, on the device of --device. Exit status 1: a difference is beyond 1e-4, or no call was ours; 77: torch or transformers is not installed."""
import argparse
import collections
import sys

try:
    import torch
    import transformers
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

import flaggems

SMALL = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 500}
TOKENS = torch.randint(0, 500, (2, 33), generator=torch.Generator().manual_seed(1))


def bert():
    model = transformers.BertForMaskedLM(transformers.BertConfig(**SMALL))
    return model, {"input_ids": TOKENS, "attention_mask": (torch.arange(33) < torch.tensor([[33], [20]])).long()}


def llama():
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, num_key_value_heads=2))
    return model, {"input_ids": TOKENS}


def whisper():
    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=128, decoder_ffn_dim=128, vocab_size=500, max_source_positions=50, num_mel_bins=80,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1))
    sound = torch.randn(2, 80, 100, generator=torch.Generator().manual_seed(2))
    return model, {"input_features": sound, "decoder_input_ids": TOKENS}


def run(model, inputs):
    model.zero_grad()
    logits = model(**inputs).logits
    logits.square().mean().backward()
    return logits.detach(), [p.grad for p in model.parameters() if p.grad is not None]


def off(got, expected, least=0.0):
    """The largest difference, of the largest element or of `least`."""
    return float((got - expected).abs().max() / max(float(expected.abs().max()), least))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    wrong = False
    for make in (bert, llama, whisper):
        torch.manual_seed(0)
        model, inputs = make()
        model.eval().to(device)  # no dropout, whose random numbers are not the same
        inputs = {name: tensor.to(device) for name, tensor in inputs.items()}
        expected = run(model, inputs)
        ours, theirs = collections.Counter(), collections.Counter()
        reasons = {}

        def log(name, _, why):
            (ours if why is None else theirs)[name] += 1
            if why is not None:
                reasons[name] = why

        with flaggems.use_gems(fallback=True, log=log):
            got = run(model, inputs)
        logits = off(got[0], expected[0])
        # The gradient of a bias of keys is zero but for rounding.
        least = 1e-3 * max(float(e.abs().max()) for e in expected[1])
        gradients = max(off(g, e, least) for g, e in zip(got[1], expected[1]))
        print(f"{make.__name__}: {ours.total()} calls of {len(ours)} operators ours, {theirs.total()} left to ATen; "
              f"logits off by {logits:.1e}, gradients by {gradients:.1e} of the largest")
        for name, count in theirs.most_common():
            print(f"  left to ATen: {name}, {count}: {reasons[name].splitlines()[0]}")
        wrong |= logits > 1e-4 or gradients > 1e-4 or not ours
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
