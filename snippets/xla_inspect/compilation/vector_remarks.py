"""LLVM's optimization remarks about the loops in a CPU's kernels, which LLVM prints if its options request them."""

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
"""The passes whose remarks each option of LLVM requests: about applied, missed and analyzed optimizations."""

SOURCE, PIPELINE = "llvm_remarks", "llvm"
"""The names that stand for an XLA file and a pass pipeline in the log event of a remark."""

_REMARK = re.compile(r"^remark: \S+:\d+:\d+: (?P<text>.*)$", re.MULTILINE)
_INLINED = re.compile(r"'[^']*' inlined into '(?P<kernel>[^']*)' with")
_END = re.compile(r"(?P<bytes>\d+) stack bytes in function '(?P<kernel>[^']*)'")

# These are field numbers from xla/pjrt/proto/compile_options.proto and xla/xla.proto, and the wire type of bytes.
_BUILD_OPTIONS, _DEBUG_OPTIONS, _EXTRA_OPTIONS = 3, 3, 500
_BYTES = 2
_SEVEN_BITS = 0x7F


def ask_remarks(call: CompileCall) -> CompileCall:
    """Return a request for the same compile with LLVM's remarks on.

    XLA passes the entries of `xla_backend_extra_options`, a map that JAX's options cannot set, to LLVM. Serialized
    protobuf messages that are concatenated merge, so the entries are appended to the request.
    """
    extra = b"".join(
        _field(
            _BUILD_OPTIONS,
            _field(
                _DEBUG_OPTIONS,
                # Protobuf encodes an entry of a map as a message with the key as field 1 and the value as field 2.
                _field(_EXTRA_OPTIONS, _field(1, option.encode()) + _field(2, f"({passes})".encode())),
            ),
        )
        for option, passes in SPEAKING.items()
    )
    return replace(call, options=call.options + extra)


def read_remarks(log: str) -> tuple[LogEvent, ...]:
    """Return the remarks in a log as events with texts `KERNEL: REMARK (N times)`, sorted by kernel.

    LLVM generates a kernel's code after optimizing it, and reports its stack size then, so all remarks since the
    previous kernel's report belong to this kernel. Remarks about inlining are left out.

    Args:
        log: The output of a single-threaded compile.
    """
    remarks: dict[str, Counter[str]] = {}
    waiting: list[str] = []
    for match in _REMARK.finditer(log):
        text = match["text"].strip()
        if end := _END.fullmatch(text):
            remarks.setdefault(end["kernel"], Counter()).update([*waiting, f"{end['bytes']} stack bytes"])
            waiting = []
        elif not _INLINED.match(text):
            waiting.append(text)
    return tuple(
        LogEvent(-1, PIPELINE, "", kernel, SOURCE, 0, f"{kernel}: {text}{f' ({number} times)' if number > 1 else ''}")
        for kernel, texts in sorted(remarks.items())
        for text, number in texts.items()
    )


def _field(number: int, data: bytes) -> bytes:
    """Return a bytes field in protobuf's encoding."""
    # The lowest three bits of a field's tag are its wire type.
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """Return a number in protobuf's encoding: seven bits per byte, lowest bits first."""
    encoded = bytearray()
    while number > _SEVEN_BITS:
        encoded.append(number & _SEVEN_BITS | (_SEVEN_BITS + 1))
        number >>= 7
    return bytes([*encoded, number])
