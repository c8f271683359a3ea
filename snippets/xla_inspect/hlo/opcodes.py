"""The opcodes of HLO, each in one category, as the compiler's own enumeration lists them."""

from __future__ import annotations

import re

# jaxlib 0.12.0.1, `jaxlib._hlo.HloOpcode`; a test compares the two.
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
"""Every opcode."""

IDLE: frozenset[str] = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
"""What a computation holds besides work: sources, packing and renaming."""

_ASYNC = ("-start", "-update", "-done")

# Members of jaxlib's enumeration that HLO text spells otherwise (`HLO_OPCODE_LIST` in xla/hlo/ir/hlo_opcode.h).
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
    """The category of an opcode, one of `CATEGORIES`; an asynchronous form has that of the opcode it wraps.

    Raises:
        ValueError: No such opcode.
    """
    plain, wrapped = resolve(opcode)
    return CATEGORY[wrapped or plain]


def spell(member: str) -> str:
    """Return how HLO text spells a member of jaxlib's `HloOpcode`: `all-gather-start` for `kAllGatherStart`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", member.removeprefix("k"))
    return SPELLED.get(member, words.lower())


def resolve(written: str) -> tuple[str, str | None]:
    """Return the opcode for a name in HLO text, and the opcode that it wraps if it is asynchronous.

    Text shortens an `async-start` around one instruction to that instruction's opcode: `slice-start` is
    `("async-start", "slice")`. `copy-start`, `all-reduce-start` and some others are opcodes of their own
    (`HloInstruction::PrintWithCanonicalNameMap` in xla/hlo/ir/hlo_instruction.cc).

    Raises:
        ValueError: No such opcode.
    """
    if written in OPCODES:
        return written, None
    for ending in _ASYNC:
        wrapped = written.removesuffix(ending)
        if wrapped != written and wrapped in OPCODES:
            return f"async{ending}", wrapped
    message = f"unknown opcode {written!r}"
    raise ValueError(message)
