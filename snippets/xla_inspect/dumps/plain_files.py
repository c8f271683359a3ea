"""Modules in files without XLA's dump names: HLO text, `HloProto`, profiles, executables, and parts of memory plans."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect.analysis import read_stage
from xla_inspect.dumps.dump_module import DumpedModule
from xla_inspect.dumps.entry_arguments import list_arguments
from xla_inspect.dumps.file_names import GIVEN, OPTIMIZED, PASS, split_name
from xla_inspect.dumps.files import MOST_BYTES, is_gzip, unpack
from xla_inspect.dumps.inner_modules import InnerModule, list_inner, name_kind
from xla_inspect.dumps.mlir_content import ENDINGS, is_mlir
from xla_inspect.dumps.target_name import UNKNOWN, add_devices, count_devices, find_by_text
from xla_inspect.dumps.wrapped_text import list_wrapped
from xla_inspect.errors import InspectError
from xla_inspect.hlo_proto import read_hlo_proto
from xla_inspect.plural import plural
from xla_inspect.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.analysis import StageName

from xla_inspect.dumps.files import Files

_ENDINGS = (".hlo", ".txt", ".pb", ".hlotxt", ".gz", ".log", ".mlir", ".bc")
# A module in quotation marks belongs to the table of another one that recovers the values of the given program.
_START = re.compile(r"(?<![ \t]\"\n)^[ \t]*HloModule[ \t]+([^\s,]+)", re.MULTILINE)
# The head of an entry computation, or an instruction: `%a = f32[4]{0} add(`. No other language has lines of that form.
_BARE = re.compile(
    r"^[ \t]*(?:ENTRY [^\n]*\{|(?:ROOT )?%?[\w.-]+ = \(?(?:pred|token|opaque|[a-z]{1,2}\d+\w*)\[[^\]\n]*\]"
    r"[^\n]* [\w-]+\()",
    re.MULTILINE,
)
_MLIR = "is StableHLO or other MLIR, which needs a compiler; run: xla-inspect summary {path}"
_COMMAND = "xla-inspect "
_PLANS = {
    b"BufferAssignment:": "after_optimizations-buffer-assignment.txt",
    b"HloLiveRange (max ": "after_optimizations-live-range.txt",
    b"Memory Space: ": "after_optimizations-memory-usage-report.txt",
}
"""The beginnings of the parts of a memory plan, and the ends of the names of their files."""
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LOOK = 64 << 10
_FEW = 3


def list_plain(files: Files, names: Sequence[str]) -> tuple[list[DumpedModule], dict[str, str]]:
    """Return the modules in files, each of which may have several, and the reasons that other files have none.

    Args:
        files: The set of files.
        names: The files that belong to no module by XLA's dump names.

    Returns:
        The modules, and a description of each other file, by name.
    """
    single = len(files.names) == 1
    # Users name a single file, or files in no folder, on purpose, so these are read whatever their names are.
    readable = [name for name in names if single or not files.place or name.lower().endswith(_ENDINGS)]
    modules: list[DumpedModule] = []
    unread = "it has a name with another ending; pass it alone to read it"
    others = {name: _describe_kind(files, name) or unread for name in set(names) - {*readable}}
    for name, packed in files.read_many(readable):
        before = len(modules)
        try:
            data = unpack(packed) if is_gzip(packed) else packed
            # The programs of several profiles may have the same names and numbers.
            modules += [
                replace(module, folder=printable(name)) if module.profile and not single else module
                for module in _describe(name, data, others)
            ]
        except InspectError as error:
            others[name] = str(error).partition("\n")[0]
        if files.size(name) > MOST_BYTES:
            others[name] = f"no more than {MOST_BYTES:,} of its {files.size(name):,} bytes are read"
        elif len(modules) == before and name not in others:
            others[name] = _describe_kind(files, name, data) or f"it {describe_content(data)}"
    return modules, dict(sorted(others.items()))


def find_texts(text: str) -> list[str]:
    """Return the text of each HLO module in a file's text, because PyTorch/XLA writes several to one file."""
    starts = [match.start() for match in _START.finditer(text)]
    modules, blocks = list_wrapped(text)
    if texts := modules or [block for block in blocks if not starts and _BARE.search(block)]:
        return texts
    if len(starts) < 2:  # noqa: PLR2004 - several
        return [text] if starts or _BARE.search(text) else []
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def describe_content(data: bytes) -> str:
    """Return a predicate such as "is empty" that describes a file without HLO, judged by its first bytes."""
    if not data:
        return "is empty"
    if _BINARY.search(data[:_LOOK]):
        return "is a binary file of an unknown kind"
    return "is a text without an HLO module"


def _describe_kind(files: Files, name: str, data: bytes | None = None) -> str:
    """Return a sentence about a file without HLO, with the command that reads it; '' for an unknown kind."""
    is_program = data != b"" and (name.lower().endswith(ENDINGS) or is_mlir(data or b""))
    kind = _MLIR if is_program else name_kind(data or b"", name)
    folder = files.quote(name.rpartition("/")[0] or ".", is_unpacked=True)
    paths = {"path": files.quote(name), "unpacked": files.quote(name, is_unpacked=True), "folder": folder}
    return kind and f"it {kind.format(**paths)}"


def _list_texts(name: str, data: bytes, others: dict[str, str]) -> Iterator[tuple[int, str, InnerModule | None]]:
    """Yield the index and text of each module in a file, and store why some programs of a profile cannot be read."""
    if not _BINARY.search(data[:_LOOK]):
        texts = find_texts(data.decode("utf-8", "replace").replace("\r\n", "\n"))
        yield from ((part, text, None) for part, text in enumerate(texts))
        return
    for part, inner in enumerate(list_inner(data)):
        try:
            yield part, read_hlo_proto(inner.data).text, inner
        except InspectError as error:
            others |= {f"{name}:{inner.name}": str(error).partition("\n")[0]} if inner.name else {}


def _describe(name: str, data: bytes, others: dict[str, str]) -> Iterator[DumpedModule]:
    """Yield the modules in a file; the arguments are those of `_list_texts`."""
    folder, _, file = name.rpartition("/")
    if plan := next((ending for start, ending in _PLANS.items() if data.startswith(start)), ""):
        fields = printable(file), None, printable(folder), UNKNOWN, "", 1, len(data), None
        yield DumpedModule(*fields, files={plan: name}, stage="none")
        return
    split = split_name(file)
    names: list[str] = []
    for part, module_text, inner in _list_texts(name, data, others):
        match, devices = _START.search(module_text), count_devices(module_text.partition("\n")[0])
        stage = read_stage(module_text, _name_stage(split[1]) if split else None)
        kind = {"before the optimizations": "before_optimizations", "between passes": split[1] if split else ""}
        ending = re.sub(r"\.(?:txt|hlo\.pb)(?:\.gz)?$", "", kind.get(stage, "after_optimizations"))
        target = find_by_text(module_text, file)
        names.append(printable(match[1] if match else file))
        # Stages of one program, such as its modules before and after the optimizations, have the same name.
        count = 1 if inner and inner.name else names.count(names[-1])
        yield DumpedModule(
            name=names[-1] if count == 1 else f"{names[-1]}#{count}",
            number=inner.number if inner else None,
            folder=printable(folder),
            target=add_devices(inner.target if inner and target == UNKNOWN else target, devices),
            title="",
            devices=devices,
            bytes=len(inner.data if inner else module_text),
            kernels=None,
            files={f"{ending}{'.hlo.pb' if inner else '.txt'}": name},
            arguments=list_arguments(module_text.partition("\n")[0]),
            part=part,
            stage=stage,
            profile=name if inner and inner.name else "",
        )


def _name_stage(ending: str) -> StageName | None:
    """Return the stage that the end of a file's name indicates, or None."""
    if PASS.fullmatch(ending):
        return "between passes"
    if GIVEN.fullmatch(ending):
        return "before the optimizations"
    return "optimized" if OPTIMIZED.fullmatch(ending) else None


def explain_none(files: Files, others: Mapping[str, str]) -> str:
    """Return a message that the files contain no module, with their contents.

    Args:
        files: The set of files.
        others: The description of each file.
    """
    if files.names == (files.title,):
        what = f"{files.title} {others[files.title].removeprefix('it ')}"
    elif kind := name_kind(b"", files.title):  # some kinds are archives
        what = f"{files.title} {kind}"
    elif not files.names:
        what = f"{files.title} holds no file"
    else:
        what = f"{files.title} holds {plural(len(files.names), 'file')}, and none that XLA dumped"
        # The files that a command can read come first.
        reasons = sorted(others.items(), key=lambda item: _COMMAND not in item[1])
        what += "".join(f"\n  {name[:80]} {reason.removeprefix('it ')}" for name, reason in reasons[:_FEW])
        what += f"\n  and {len(reasons) - _FEW} more" if len(reasons) > _FEW else ""
    left_out = "".join(f"\n  left out: {name}: {reason}" for name, reason in [*files.left_out.items()][:3])
    if _COMMAND not in what:
        what += "\nreadable inputs: folders of --xla_dump_to, and files with HLO, StableHLO, a profile or an executable"
    return f"{what}{left_out}"
