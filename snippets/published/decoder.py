"""Training steps of decoders whose times others published, and one layer of such a decoder.

`docs/data/published-times.toml` has the times and their sources.
"""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp

from published.transformer import PROJECTED, Decoder, Layer, Step

type Choices = dict[str, Any]


def scale_maxtext(scale: int, batch: int, **choices: Any) -> Step:  # noqa: ANN401 - fields of a Decoder
    """Return MaxText's step at 2^`scale` times the parameters of its base model, as published in December 2023.

    The base has 16 layers of 2,560, 8 heads of 256 and a hidden size of 8,192. Doublings of the heads and the hidden
    size, of the width, and of the layers take turns.
    """
    turns, rest = divmod(scale, 3)
    wide, widest = turns + (rest > 1), turns + (rest > 0)
    sizes = {"gated": False, "tied": True, "vocabulary": 32_768, "batch": batch, "length": 2048}
    choices = {**sizes, "attention": "splash", "remat": "full", "between": "width", **choices}
    return Step(Decoder(16 << turns, 2560 << wide, 8 << widest, 256, 8192 << widest, **choices))


LLAMA2_7B = Decoder(32, 4096, 32, 128, 11_008, 32_000, batch=16, length=4096)
LLAMA2_70B = Decoder(80, 8192, 64, 128, 28_672, 32_000, batch=768, length=4096, kv_heads=8)
LLAMA3_8B = Decoder(32, 4096, 32, 128, 14_336, 128_256, batch=24, length=8192, kv_heads=8)
LLAMA3_70B = replace(LLAMA2_70B, vocabulary=128_256, batch=64, length=8192)
GPT: Choices = {"gated": False, "tied": True, "gpt": True, "length": 2048}
GPT_126M = Decoder(12, 768, 12, 64, 3072, 50_304, batch=256, split=False, unrolled=True, **GPT)
GPT_5B = Decoder(24, 4096, 32, 128, 16_384, 50_304, batch=2048, remat="dots", attention="triton", **GPT)
GPT_175B = Decoder(96, 12_288, 96, 128, 49_152, 50_304, batch=768, positions=16_384, **GPT)
LAYER_22B = Decoder(1, 6144, 64, 96, 24_576, 51_200, batch=4, **GPT)
OFFLOAD: Choices = {"attention": "splash", "remat": "offload", "names": ("input", *PROJECTED)}
SAVE: Choices = {"attention": "splash", "remat": "save", "names": ("input", "context", *PROJECTED)}
OLD: Choices = {"gated": False, "tied": True, "attention": "splash", "remat": "full"}


def scale_mpt(layers: int, width: int, batch: int, **choices: Any) -> Step:  # noqa: ANN401 - fields of a Decoder
    """Return the step of an MPT model of LLM Foundry, whose heads have the size 128."""
    choices = {**GPT, "attention": "triton", "remat": "around", **choices}
    return Step(Decoder(layers, width, width // 128, 128, 4 * width, 50_368, batch, **choices))


PROGRAMS = {
    "v5e_16b": scale_maxtext(4, 6 * 256),
    "v5e_32b": scale_maxtext(5, 4 * 256),
    "v5e_64b": scale_maxtext(6, 2 * 256),
    "v5e_128b": scale_maxtext(7, 256),
    "v5p_32b": scale_maxtext(5, 8 * 64, remat="dots"),
    "v5p_64b": scale_maxtext(6, 4 * 64, remat="dots"),
    "v5p_128b": scale_maxtext(7, 2 * 128, remat="dots"),
    "v5p_128b_512": scale_maxtext(7, 2 * 256, remat="dots"),
    "v5p_256b": scale_maxtext(8, 2 * 512, remat="dots"),
    "v5p_512b": scale_maxtext(9, 2 * 512),
    "v4_22b": Step(Decoder(48, 6144, 24, 256, 24_576, 32_768, 16 * 64, 2048, **OLD)),
    "v4_52b": Step(Decoder(32, 12_288, 32, 256, 49_152, 32_768, 10 * 192, 2048, **OLD)),
    "v6e_llama3_8b_8": Step(replace(LLAMA3_8B, batch=3 * 8, **OFFLOAD)),
    "v6e_llama3_8b_64": Step(replace(LLAMA3_8B, batch=5 * 64, **OFFLOAD)),
    "v6e_mistral_7b_8": Step(replace(LLAMA3_8B, vocabulary=32_000, batch=6 * 8, **OFFLOAD)),
    "v6e_llama3_70b_32": Step(replace(LLAMA3_70B, batch=2 * 32, dtypes=(jnp.bfloat16,) * 3, **OFFLOAD)),
    "v6e_llama3_70b_64": Step(replace(LLAMA3_70B, batch=2 * 64, **OFFLOAD)),
    "v6e_llama3_70b_128": Step(replace(LLAMA3_70B, batch=4 * 128, **OFFLOAD)),
    "v6e_llama2_70b_256": Step(
        replace(LLAMA2_70B, batch=2 * 256, attention="splash", remat="offload", names=PROJECTED)
    ),
    "v6e_gpt3_175b_256": Step(replace(GPT_175B, attention="splash", remat="full")),
    "tpu7x_llama3_70b_64": Step(
        replace(LLAMA3_70B, batch=2 * 128, dtypes=(jnp.float32, jnp.bfloat16, jnp.float32), **SAVE)
    ),
    "h100_llama2_7b": Step(replace(LLAMA2_7B, attention="triton", remat="around")),
    "llama2_7b_tuned": Step(replace(LLAMA2_7B, batch=2 * 16, remat="dots", attention="triton")),
    "h200_llama3_70b": Step(
        replace(LLAMA3_70B, batch=2 * 256, attention="triton", remat="around", names=(*PROJECTED, "out"))
    ),
    "gpt_126m": Step(GPT_126M),
    "gpt_5b": Step(GPT_5B),
    "mpt_1b_8": scale_mpt(24, 2048, 14 * 8),
    "mpt_1b_64": scale_mpt(24, 2048, 20 * 64),
    "mpt_1b_128": scale_mpt(24, 2048, 12 * 128),
    "mpt_1b_512": scale_mpt(24, 2048, 12 * 512),
    "mpt_7b_8": scale_mpt(32, 4096, 6 * 8),
    "mpt_7b_128": scale_mpt(32, 4096, 6 * 128),
    "mpt_13b_8": scale_mpt(40, 5120, 2 * 8),
    "mpt_30b_128": scale_mpt(48, 7168, 8 * 128, remat="full"),
    "layer_22b": Layer(LAYER_22B),
    "layer_22b_remat": Layer(replace(LAYER_22B, remat="full")),
    "layer_22b_selective": Layer(replace(LAYER_22B, remat="core")),
    "layer_22b_sequence": Layer(replace(LAYER_22B, between="sequence")),
}
