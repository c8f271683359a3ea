"""The opcodes of HLO from the compiler's own enumeration, each in one category."""

from __future__ import annotations

import re

# The names are those of `jaxlib._hlo.HloOpcode` in jaxlib 0.12.0.1; a test compares the two.
_NAMES = {
    "element-wise": """
        abs acos acosh add and asin asinh atan2 atanh bitcast-convert cbrt ceil clamp compare complex
        convert cosh cosine count-leading-zeros divide erf exp2 exponential exponential-minus-one floor imag
        is-finite log log-plus-one log2 logistic map maximum minimum mulhi multiply negate not or popcnt
        power real reduce-precision remainder round-nearest-afz round-nearest-even rsqrt select shift-left
        shift-right-arithmetic shift-right-logical sign sine sinh sqrt stochastic-convert subtract tan tanh
        xor
    """,
    "reduction": """
        reduce reduce-window scan select-and-scatter
    """,
    "data movement": """
        bitcast broadcast concatenate copy copy-done copy-start dynamic-reshape dynamic-slice
        dynamic-update-slice gather get-dimension-size pad reshape reverse scatter set-dimension-size
        shuffle slice sort topk transpose
    """,
    "linear algebra": """
        cholesky convolution dot fft ragged-dot scaled-dot triangular-solve
    """,
    "control flow and ordering": """
        add-dependency after-all async-done async-start async-update call conditional domain opt-barrier
        while
    """,
    "communication": """
        all-gather all-gather-done all-gather-start all-reduce all-reduce-done all-reduce-start all-to-all
        collective-broadcast collective-permute collective-permute-done collective-permute-start
        collective-reduce infeed outfeed partition-id ragged-all-to-all recv recv-done reduce-scatter
        replica-id send send-done
    """,
    "random": """
        rng rng-bit-generator rng-get-and-update-state
    """,
    "batch norm": """
        batch-norm-grad batch-norm-inference batch-norm-training
    """,
    "custom": """
        custom-call
    """,
    "structure": """
        constant fusion get-tuple-element iota parameter tuple
    """,
}

CATEGORIES: tuple[str, ...] = tuple(_NAMES)
"""The categories, in the order in which pages show them."""

CATEGORY: dict[str, str] = {opcode: category for category, names in _NAMES.items() for opcode in names.split()}
"""The category of each opcode."""

OPCODES: frozenset[str] = frozenset(CATEGORY)
"""All opcodes of HLO."""

IDLE: frozenset[str] = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
"""Opcodes that do no work: sources of values, packing and renaming."""

_ASYNC = ("-start", "-update", "-done")

# Members of jaxlib's enumeration that HLO text spells differently (`HLO_OPCODE_LIST` in xla/hlo/ir/hlo_opcode.h).
SPELLED = {
    "kClz": "count-leading-zeros",
    "kCos": "cosine",
    "kExp": "exponential",
    "kExpm1": "exponential-minus-one",
    "kLog1p": "log-plus-one",
    "kOptimizationBarrier": "opt-barrier",
    "kPopulationCount": "popcnt",
    "kSin": "sine",
    "kTopK": "topk",
}


def categorise(opcode: str) -> str:
    """Return the category of an opcode; an asynchronous form has the category of the opcode that it wraps.

    Raises:
        ValueError: The opcode is unknown.
    """
    plain, wrapped = resolve(opcode)
    return CATEGORY[wrapped or plain]


def spell(member: str) -> str:
    """Return the spelling in HLO text of a member of jaxlib's `HloOpcode`: `all-gather-start` for `kAllGatherStart`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", member.removeprefix("k"))
    return SPELLED.get(member, words.lower())


def resolve(text: str) -> tuple[str, str | None]:
    """Return the opcode for a name in HLO text, and the opcode that it wraps if the name shortens `async-*`, or None.

    Text shortens an `async-start` around one instruction to that instruction's opcode: `slice-start` is
    `("async-start", "slice")`. `copy-start`, `all-reduce-start` and some others are separate opcodes
    (`HloInstruction::PrintWithCanonicalNameMap` in xla/hlo/ir/hlo_instruction.cc).

    Raises:
        ValueError: The opcode is unknown.
    """
    if text in OPCODES:
        return text, None
    # Opcodes such as `copy-start` were found above, so only shortened forms of `async-start` reach this loop.
    for ending in _ASYNC:
        wrapped = text.removesuffix(ending)
        if wrapped != text and wrapped in OPCODES:
            return f"async{ending}", wrapped
    message = f"unknown opcode {text!r}"
    raise ValueError(message)
