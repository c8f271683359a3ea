"""What LLVM says of the loops of a CPU's kernels: its optimization remarks, which it prints where its options ask."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect.captured import LogEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.jax_private import CompileCall

SPEAKING: Mapping[str, str] = {
    "-pass-remarks": "loop-vectorize|slp-vectorizer|loop-unroll|inline",
    "-pass-remarks-missed": "loop-vectorize|slp-vectorizer|loop-unroll|regalloc",
    "-pass-remarks-analysis": "loop-vectorize|prolog-epilog",
}
"""LLVM's options, and the passes that each lets speak: of what they did, what they did not, and what they found."""

SOURCE, PIPELINE = "llvm_remarks", "llvm"
"""What the event of a remark names as the file that says it, and as the pipeline."""

_REMARK = re.compile(r"^remark: \S+:\d+:\d+: (?P<text>.*)$", re.MULTILINE)
_INLINED = re.compile(r"'[^']*' inlined into '(?P<kernel>[^']*)' with")
_END = re.compile(r"(?P<bytes>\d+) stack bytes in function '(?P<kernel>[^']*)'")

# The numbers of the fields, in xla/pjrt/proto/compile_options.proto and xla/xla.proto, and of the type of their bytes.
_BUILD_OPTIONS, _DEBUG_OPTIONS, _EXTRA_OPTIONS = 3, 3, 500
_BYTES = 2
_SEVEN_BITS = 0x7F


def ask_remarks(call: CompileCall) -> CompileCall:
    """Return the request for the same compile with LLVM's remarks on.

    XLA hands LLVM the entries of `xla_backend_extra_options`, a map, which JAX's own options cannot set. A message of
    protobuf that stands after another is merged into it, so the entries are appended.
    """
    extra = b"".join(
        _field(
            _BUILD_OPTIONS,
            _field(
                _DEBUG_OPTIONS,
                _field(_EXTRA_OPTIONS, _field(1, option.encode()) + _field(2, f"({passes})".encode())),
            ),
        )
        for option, passes in SPEAKING.items()
    )
    return replace(call, options=call.options + extra)


def read_remarks(log: str) -> tuple[LogEvent, ...]:
    """Return the remarks of a log as events: the kernel, a colon and the remark, with how often it was made.

    A kernel's code is generated after it is optimized, and LLVM says there how much stack it takes: what was said since
    the kernel before is of this one. They are sorted by kernel, whose order is that in which the compiler happens to
    take them up.

    Args:
        log: What the compiler wrote, in one thread.
    """
    said: dict[str, Counter[str]] = {}
    waiting: list[str] = []
    for match in _REMARK.finditer(log):
        text = match["text"].strip()
        if end := _END.fullmatch(text):
            said.setdefault(end["kernel"], Counter()).update([*waiting, f"{end['bytes']} stack bytes"])
            waiting = []
        elif not _INLINED.match(text):
            waiting.append(text)
    return tuple(
        LogEvent(-1, PIPELINE, "", kernel, SOURCE, 0, f"{kernel}: {text}{f' ({number} times)' if number > 1 else ''}")
        for kernel, texts in sorted(said.items())
        for text, number in texts.items()
    )


def _field(number: int, data: bytes) -> bytes:
    """Return a field of bytes as protobuf writes it."""
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """Return a number as protobuf writes it, seven bits a byte, the last ones first."""
    written = bytearray()
    while number > _SEVEN_BITS:
        written.append(number & _SEVEN_BITS | (_SEVEN_BITS + 1))
        number >>= 7
    return bytes([*written, number])
