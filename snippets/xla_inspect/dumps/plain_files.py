"""Modules in files without XLA's dump names: HLO text, of one module or several, and `HloProto`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.analysis import read_stage
from xla_inspect.dumps.dump_module import DumpedModule
from xla_inspect.dumps.entry_arguments import list_arguments
from xla_inspect.dumps.file_names import GIVEN, OPTIMIZED, PASS, split_name
from xla_inspect.dumps.files import is_gzip, unpack
from xla_inspect.dumps.target_name import add_devices, count_devices, find_by_text
from xla_inspect.errors import InspectError
from xla_inspect.hlo_proto import read_hlo_proto
from xla_inspect.plural import plural
from xla_inspect.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.analysis import StageName

from xla_inspect.dumps.files import Files

_ENDINGS = (".hlo", ".txt", ".pb", ".hlotxt", ".gz", ".log", ".mlir", ".bc")
_START = re.compile(r"^[ \t]*HloModule[ \t]+([^\s,]+)", re.MULTILINE)
# The head of an entry computation, or an instruction: `%a = f32[4]{0} add(`. No other language has lines of that form.
_BARE = re.compile(
    r"^[ \t]*(?:ENTRY [^\n]*\{|(?:ROOT )?%?[\w.-]+ = \(?(?:pred|token|opaque|[a-z]{1,2}\d+\w*)\[[^\]\n]*\]"
    r"[^\n]* [\w-]+\()",
    re.MULTILINE,
)
_MLIR = re.compile(
    r"^[ \t]*\"?(?:module\b.*\{|builtin\.module|func\.func|#loc)|\b(?:stablehlo|mhlo|vhlo|chlo)\.|\btensor<",
    re.MULTILINE,
)
_BYTECODE = b"ML\xefR"
_MAKE_HLO = (
    "JAX writes HLO with jax.jit(f).lower(x).compile().as_text(), or before the optimizations with "
    'jax.jit(f).lower(x).as_text(dialect="hlo")'
)
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
    # Users name a single file on purpose, so it is read whatever its name is.
    readable = [name for name in names if single or name.lower().endswith(_ENDINGS)]
    modules: list[DumpedModule] = []
    others = dict.fromkeys(set(names) - {*readable}, f"its name ends in none of {', '.join(_ENDINGS)}")
    for name, data in files.read_many(readable):
        listed = list(_describe(name, data))
        modules += listed
        if not listed:
            others[name] = f"it {describe_content(data)}"
    return modules, dict(sorted(others.items()))


def find_texts(text: str) -> list[str]:
    """Return the text of each HLO module in a file's text, because PyTorch/XLA writes several to one file."""
    starts = [match.start() for match in _START.finditer(text)]
    if len(starts) < 2:  # noqa: PLR2004 - several
        return [text] if starts or _BARE.search(text) else []
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def describe_content(data: bytes) -> str:
    """Return a predicate such as "is empty" that describes a file without HLO, judged by its first bytes."""
    if not data:
        return "is empty"
    # The files of `jax.export` have other data in front of the bytecode.
    if _BYTECODE in data[:_LOOK]:
        return "is bytecode of MLIR, as jax.export writes, and no HLO"
    if _BINARY.search(data[:_LOOK]):
        return "is binary, and no HloProto"
    if _MLIR.search(data[:_LOOK].decode("utf-8", "replace")):
        return "is MLIR, as StableHLO is, and no HLO"
    return "is a text without an HLO module"


def _describe(name: str, data: bytes) -> Iterator[DumpedModule]:
    """Yield the modules in a file."""
    folder, _, file = name.rpartition("/")
    try:
        data = unpack(data) if is_gzip(data) else data
        is_proto = bool(_BINARY.search(data[:_LOOK]))
        texts = [read_hlo_proto(data).text] if is_proto else find_texts(data.decode("utf-8", "replace"))
    except InspectError:
        return
    split = split_name(file)
    for part, module_text in enumerate(texts):
        match, devices = _START.search(module_text), count_devices(module_text.partition("\n")[0])
        stage = read_stage(module_text, _name_stage(split[1]) if split else None)
        kind = {"before the optimizations": "before_optimizations", "between passes": split[1] if split else ""}
        ending = re.sub(r"\.(?:txt|hlo\.pb)(?:\.gz)?$", "", kind.get(stage, "after_optimizations"))
        yield DumpedModule(
            name=printable(match[1] if match else file),
            number=None,
            folder=printable(folder),
            target=add_devices(find_by_text(module_text), devices),
            title="",
            devices=devices,
            # If several modules share a file, each one counts only its own text.
            bytes=len(module_text) if len(texts) > 1 else len(data),
            kernels=None,
            files={f"{ending}{'.hlo.pb' if is_proto else '.txt'}": name},
            arguments=list_arguments(module_text.partition("\n")[0]),
            part=part,
            stage=stage,
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
    elif not files.names:
        what = f"{files.title} holds no file"
    else:
        what = f"{files.title} holds {plural(len(files.names), 'file')}, and none that XLA dumped"
        what += "".join(f"\n  {name[:80]} {reason.removeprefix('it ')}" for name, reason in [*others.items()][:_FEW])
    left_out = "".join(f"\n  left out: {name}: {reason}" for name, reason in [*files.left_out.items()][:3])
    what += f"\n{_MAKE_HLO}" if "MLIR" in what else ""
    return f"{what}\nwhat --xla_dump_to writes is read, and files of HLO as text or HloProto{left_out}"
