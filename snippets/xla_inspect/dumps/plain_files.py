"""Modules in files that have other names than XLA gives: HLO text, of one module or several, and `HloProto`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.dumps.dump_module import DumpedModule
from xla_inspect.dumps.entry_arguments import list_arguments
from xla_inspect.dumps.files import is_gzip, unpack
from xla_inspect.dumps.target_name import add_devices, count_devices, find_by_text
from xla_inspect.errors import InspectError
from xla_inspect.hlo_proto import read_hlo_proto
from xla_inspect.plural import plural
from xla_inspect.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

from xla_inspect.dumps.files import Files

_ENDINGS = (".hlo", ".txt", ".pb", ".hlotxt", ".gz", ".log")
_START = re.compile(r"^[ \t]*HloModule[ \t]+([^\s,]+)", re.MULTILINE)
_BARE = re.compile(r"^[ \t]*(?:ENTRY\b|%?[\w.-]+ (?:\([^\n]*\) -> [^\n]*)?\{)", re.MULTILINE)
_MLIR = re.compile(r"^[ \t]*(?:module\b.*\{|func\.func|#loc)|stablehlo\.|\bmhlo\.", re.MULTILINE)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LOOK = 64 << 10


def list_plain(files: Files) -> list[DumpedModule]:
    """Return the modules of files, each of which holds one or several.

    Raises:
        InspectError: None does.
    """
    single = len(files.names) == 1
    wanted = [name for name in files.names if single or name.lower().endswith(_ENDINGS)]
    found: list[DumpedModule] = []
    seen: list[str] = []
    for name, data in files.read_many(wanted):
        listed = list(_describe(name, data))
        found += listed
        if not listed:
            seen.append(describe_content(data))
    if not found:
        raise InspectError(_explain(files, seen))
    return found


def find_texts(text: str) -> list[str]:
    """Return the texts of the modules that a text holds: PyTorch/XLA writes one behind the other."""
    starts = [match.start() for match in _START.finditer(text)]
    if len(starts) < 2:  # noqa: PLR2004 - several
        return [text] if starts or _BARE.search(text) else []
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def describe_content(data: bytes) -> str:
    """Return what a file that holds no HLO holds instead, as far as its beginning tells."""
    if not data:
        return "is empty"
    if _BINARY.search(data[:_LOOK]):
        return "is binary, and no HloProto"
    if _MLIR.search(data[:_LOOK].decode("utf-8", "replace")):
        return "is MLIR, as StableHLO is, and no HLO"
    return "is a text without an HLO module"


def _describe(name: str, data: bytes) -> Iterator[DumpedModule]:
    """Yield the modules of a file, none where it holds none."""
    folder, _, file = name.rpartition("/")
    try:
        data = unpack(data) if is_gzip(data) else data
        if _BINARY.search(data[:_LOOK]):
            kind, texts = "after_optimizations.hlo.pb", [read_hlo_proto(data).text]
        else:
            kind, texts = "after_optimizations.txt", find_texts(data.decode("utf-8", "replace"))
    except InspectError:
        return
    for part, each in enumerate(texts):
        named, devices = _START.search(each), count_devices(each.partition("\n")[0])
        yield DumpedModule(
            name=printable(named[1] if named else file),
            number=None,
            folder=printable(folder),
            target=add_devices(find_by_text(each), devices),
            title="",
            devices=devices,
            bytes=len(each) if len(texts) > 1 else len(data),
            kernels=None,
            files={kind: name},
            arguments=list_arguments(each.partition("\n")[0]),
            part=part,
        )


def _explain(files: Files, seen: list[str]) -> str:
    if files.names == (files.title,):
        what = f"{files.title} {seen[0] if seen else 'is empty'}"
    elif not files.names:
        what = f"{files.title} holds no file"
    else:
        what = f"{files.title} holds {plural(len(files.names), 'file')}, and none that XLA dumped"
        what += f": {files.names[0][:80]} {seen[0]}" if len(files.names) == 1 and seen else ""
    left_out = "".join(f"\n  left out: {name}: {reason}" for name, reason in [*files.left_out.items()][:3])
    return f"{what}\nwhat --xla_dump_to writes is read, and files of HLO as text or HloProto{left_out}"
