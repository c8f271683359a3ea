"""The modules inside a binary file: an `HloProto`, a profile, or a serialized executable, pickled or not."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from xla_inspect.dumps.target_name import UNKNOWN
from xla_inspect.errors import InspectError
from xla_inspect.hlo_proto import read_hlo_proto
from xla_inspect.traces import is_profile, read_programs
from xla_inspect.wire import read_varint

if TYPE_CHECKING:
    from collections.abc import Iterator

# An `HloModuleProto` begins with its name, the name of its entry, and a computation, which begins with its own name.
_MODULE = re.compile(rb"\n[\x01-\x7f][\w.\-]+\x12[\x01-\x7f][\w.\-]+\x1a[\x80-\xff]{0,4}[\x01-\x7f]\n")
# The last byte of a number is below 128, and all others are above.
_LENGTH = re.compile(rb"[\x00-\x7f]([\x80-\xff]{0,4}[\x01-\x7f])\Z")
_NEAR = 18  # The last position at which the module of an `HloProto` or an `HloSnapshot` begins.
_NUMBER = re.compile(r"\((\d{1,20})\)$")
_TRACE = "; to match it with its program, run: xla-inspect kernels FILE.py:FUNCTION --trace {unpacked}"
_CODE = "is code that XLA generated; pass the function instead, as FILE.py:FUNCTION"
_LOADED = "load it with {} in a Python file, and pass FILE.py:NAME"
_KINDS = {
    rb"\A\s*\{\s*\"(?:displayTimeUnit|traceEvents)": f"is a Chrome trace without HLO{_TRACE}",
    rb"(?m)^\W*Start \(ns\),": f"is a table of Nsight without HLO{_TRACE}",
    rb"\A\s*(?:strict )?(?:di)?graph\b[^{\n]*\{": "is a graph in DOT, not HLO; --xla_dump_hlo_as_text writes HLO",
    rb"\A\s*(?:hlo_module|hlo) \{": "is an HloProto as text; write the module with as_text()",
    rb"\A\x89HDF": f"is an HDF5 file, as Keras writes; {_LOADED.format('keras.saving.load_model')}",
    rb"cumulative_size; ": "is a binary memory usage report; pass the file that ends in .txt",
    rb"pjrt_ifrt|xla::ifrt": "is a serialized executable without readable HLO; save as_text() too",
}
_NAMED = {
    "saved_model.pb": "is a SavedModel, which needs a compiler; run on its folder: xla-inspect summary {folder}",
    ".onnx": "is an ONNX model; convert it to StableHLO with torch-mlir, or pass the original model, as FILE.py:MODEL",
    ".keras": f"is a Keras model; {_LOADED.format('keras.saving.load_model')}",
    ".pt2": f"is a program of torch.export; {_LOADED.format('torch.export.load')}",
    ".ll": _CODE,
    ".ptx": _CODE,
    ".tflite": "is a TFLite model, which XLA cannot compile; pass the original model instead, as FILE.py:MODEL",
}
"""The predicates of files that are recognized by the ends of their names."""
_LOOK = 1 << 10


class InnerModule(NamedTuple):
    """A module inside a binary file: its protobuf, and in a profile the program's name, number and kind of device."""

    data: bytes | memoryview
    name: str = ""
    number: int | None = None
    target: str = UNKNOWN


def list_inner(data: bytes) -> Iterator[InnerModule]:
    """Yield the modules inside a binary file, or the whole file if nothing else is recognized.

    The bytes are only searched: a pickle is never loaded, because loading one runs its code.

    Raises:
        InspectError: The file is a profile that is cut off or damaged.
    """
    if is_profile(data):
        try:
            for kind, name, proto in read_programs(memoryview(data)):
                digits = _NUMBER.search(name)
                yield InnerModule(proto, name, int(digits[1]) if digits else None, kind or UNKNOWN)
        except (EOFError, ValueError, TypeError) as error:
            message = f"it is a profile that is {'cut off' if isinstance(error, EOFError) else f'damaged: {error}'}"
            raise InspectError(message) from error
        return
    end, modules = 0, list[InnerModule]()
    for match in _MODULE.finditer(data):
        if match.start() <= _NEAR:
            break
        if match.start() >= end and (inner := _read_module(data, match.start())):
            # The executables of TPUs hold their module twice.
            yield from [] if inner in modules else [inner]
            end, modules = match.start() + len(inner.data), [*modules, inner]
    if not modules:
        yield InnerModule(data)


def _find_length(data: bytes, start: int) -> tuple[int, int]:
    """Return the length of the message that starts at a position, and the position of its tag, or 0 and 0."""
    match = _LENGTH.search(data, max(start - 6, 0), start)
    size = read_varint(match[1], 0)[0] if match else 0
    return (size, match.start()) if match and size <= len(data) - start else (0, 0)


def _read_module(data: bytes, start: int) -> InnerModule | None:
    """Return the module at a position of an executable, with the memory plan after it, or None if there is none."""
    size, tag = _find_length(data, start)
    protos, plan = [data[start : start + size]], tag + _find_length(data, tag)[0]
    # XLA's clients for CPUs and GPUs store a message with the module and its settings, and then the memory plan.
    with suppress(EOFError, ValueError):
        if plan > tag and data[plan : plan + 1] == b"\x12":
            length, at = read_varint(data, plan + 1)
            protos.insert(0, b"\n" + data[tag + 1 : start + size] + b"\x1a" + data[plan + 1 : at + length])
    for proto in protos:
        with suppress(InspectError):
            return InnerModule(proto, number=read_hlo_proto(proto).id)
    return None


def name_kind(data: bytes, name: str = "") -> str:
    """Return a predicate for a file without readable HLO, or an empty string if its kind is unknown."""
    if kind := next((text for ending, text in _NAMED.items() if name.lower().endswith(ending)), ""):
        return kind
    if is_profile(data):
        return f"is a profile without the HLO of its programs{_TRACE}"
    if (match := _MODULE.search(data)) and match.start() <= _NEAR:
        return "is an HloProto that is cut off or damaged"
    return next((text for form, text in _KINDS.items() if re.search(form, data[:_LOOK])), "")
