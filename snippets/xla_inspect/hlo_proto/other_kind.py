"""Detection of the kind of bytes that are not an XLA module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.wire import Field, lay_out, read_message

if TYPE_CHECKING:
    from collections.abc import Mapping

_STARTS = {
    b"\x1f\x8b": "compressed (gzip)",
    b"PK\x03\x04": "a ZIP archive",
    b"(\xb5/\xfd": "compressed (Zstandard)",
    b"\x7fELF": "an object file",
    b"MLM\xefR": "MLIR bytecode",
    b"ML\xefR": "MLIR bytecode",
    b"SQLite format 3": "a database of SQLite",
}
_TEXTS = {"HloModule": "HLO text", "module ": "MLIR text", "hlo_module {": "an HloProto as text"}
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_SAMPLE = 1 << 12
# Kinds of messages with the number of a field, the number of its inner field with a name, and the pattern of the name.
_MESSAGES = (
    ("a profile (XSpace)", 1, 2, re.compile(r"/(?:host|device):.*|Task Environment", re.DOTALL)),
    ("a record of passes (HloModuleMetadataProto)", 5, 2, re.compile(r"[\w.+\-]+")),
    ("a graph of TensorFlow (GraphDef)", 1, 2, re.compile(r"[A-Z]\w+")),
)


def name_kind(data: bytes) -> str:
    """Return the kind of bytes that are not an XLA module, such as `a ZIP archive`; empty if it is unknown."""
    if not data:
        return "empty"
    for start, name in _STARTS.items():
        if data.startswith(start):
            return name
    # The sample may cut a character at its end, so a replacement character there does not count as binary data.
    sample = data[:_SAMPLE].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not _CONTROL.search(sample) and "\ufffd" not in sample[:-4]:
        return next((name for start, name in _TEXTS.items() if sample.startswith(start)), "text")
    return next((name for name, field, inner, form in _MESSAGES if _holds(data, field, inner, form)), "")


def _holds(data: bytes, field: int, inner: int, form: re.Pattern[str]) -> bool:
    """Return whether the first message in field `field` has, in its own field `inner`, a name that matches `form`."""
    try:
        parts: Mapping[str, list[bytes]] = read_message(
            data, lay_out([Field(field, "parts", "message", repeated=True)])
        )
        name = read_message(parts["parts"][0], lay_out([Field(inner, "name", "string", repeated=False)]))["name"]
    # Arbitrary bytes may fail to decode in any of these ways, which only means that they are of another kind.
    except (EOFError, ValueError, LookupError):
        return False
    return form.fullmatch(name) is not None
