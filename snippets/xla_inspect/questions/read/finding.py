"""The answers about a dump of XLA files: the table of its modules, or the information in one module's files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from xla_inspect.analysis import Stage, StageName, find_stage
from xla_inspect.answers import NAMES, Answer, list_absences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture
    from xla_inspect.dumps import DumpedModule


_ROWS = 40


@dataclass(frozen=True)
class ModuleRow:
    """A module of a dump, as one row of the table of modules.

    Attributes:
        module: Its key on the command line, after the dump's name and a colon.
        name: The name of the module.
        target: The short name of the hardware that it was compiled for; `unknown` if the files do not show it.
        hardware: The hardware's name in the files, or an empty string.
        devices: The number of devices that run it.
        passes: The number of modules that were dumped between passes.
        bytes: The total size of its files.
        kernels: The number of kernels with generated code, without library calls, or None if the names and beginnings
            of the files do not show it.
        has: The parts that were dumped: `before`, `after`, `buffers`, `live ranges`, `thunks`.
        stage: The stage of the module that answers describe.
    """

    module: str
    name: str
    target: str
    hardware: str
    devices: int
    passes: int
    bytes: int
    kernels: int | None
    has: tuple[str, ...]
    stage: StageName


@dataclass(frozen=True)
class DumpTable(Answer):
    """The answer that lists the modules of a dump.

    Attributes:
        title: The name of the dump.
        asked: The dump, as on the command line, without a module.
        modules: Its modules.
        left_out: The files that are not part of the dump, each with the reason.
        rows: The number of modules to show.
    """

    title: str
    asked: str
    modules: tuple[ModuleRow, ...]
    left_out: Mapping[str, str]
    rows: int = _ROWS

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: the number of modules, a table of them, and the next command to try."""
        from xla_inspect.questions.read.rendering import render_table

        return render_table(self)


@dataclass(frozen=True)
class DumpContents(Answer):
    """The answer about one module of a dump: the information that its files have and lack.

    Attributes:
        program: The name of the module.
        asked: The subject, as on the command line.
        target: The short name of the hardware that it was compiled for.
        hardware: The hardware's name in the files, or an empty string.
        files: The number of its files.
        bytes: The total size of its files.
        passes: The number of modules that were dumped between passes.
        there: The information in its files.
        missing: The reasons for missing information, by the name of a field of a capture.
        left_out: The files that are not part of the dump, each with the reason.
        stage: The stage of the module that answers describe.
    """

    program: str
    asked: str
    target: str
    hardware: str
    files: int
    bytes: int
    passes: int
    there: tuple[str, ...]
    missing: Mapping[str, str]
    left_out: Mapping[str, str]
    stage: Stage

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: the information in the files, a table of what is missing, and next commands."""
        from xla_inspect.questions.read.rendering import render_contents

        return render_contents(self)


def list_dump(
    title: str, modules: Sequence[DumpedModule], left_out: Mapping[str, str], command_words: str
) -> DumpTable:
    """Return the table of a dump's modules."""
    return DumpTable(title, command_words, tuple(map(_describe, modules)), left_out)


def describe_dump(
    module: DumpedModule, capture: Capture, left_out: Mapping[str, str], command_words: str
) -> DumpContents:
    """Return the answer about one module: the kinds of information that its files have and lack."""
    # An incomplete part is listed with its reason instead.
    names = [field.name for field in fields(capture) if field.name not in capture.missing]
    there = [name for field, name in NAMES.items() if field in names and getattr(capture, field)]
    return DumpContents(
        program=module.name,
        asked=command_words,
        target=capture.target,
        hardware=module.title,
        # One file may provide several parts of a capture.
        files=len({*module.files.values()}),
        bytes=module.bytes,
        passes=module.passes,
        there=tuple(there),
        missing=list_absences(capture),
        left_out=left_out,
        stage=find_stage(capture),
    )


def _describe(module: DumpedModule) -> ModuleRow:
    # The order is that of the compilation.
    has = {
        "before": module.before,
        "after": module.after,
        "buffers": module.buffers,
        "live ranges": module.live_ranges,
        "thunks": module.thunks,
    }
    return ModuleRow(
        module=module.key,
        name=module.name,
        target=module.target,
        hardware=module.title,
        devices=module.devices,
        passes=module.passes,
        bytes=module.bytes,
        kernels=module.kernels,
        has=tuple(name for name, path in has.items() if path),
        stage=module.stage,
    )
