"""The modules of a dump, and the parts of one of them."""

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
    """A module of a dump.

    Attributes:
        module: What it is called behind the dump's name and a colon.
        name: Its name alone.
        target: The short name of the hardware that it was compiled for; `unknown` where nothing tells.
        hardware: What the files call that, or an empty string.
        devices: How many devices run it.
        passes: How many modules were dumped between passes.
        bytes: Bytes of its files.
        kernels: How many kernels the compiler made code for, without calls of libraries, or None where the names and
            beginnings of files do not tell.
        has: What there is of it: `before`, `after`, `buffers`, `live ranges`, `thunks`.
        stage: The stage of the module that answers are about.
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
    """The modules of a dump.

    Attributes:
        title: What the dump is called.
        asked: The dump, as on the command line, without a module.
        modules: Its modules.
        left_out: Why files are no part of it, by name.
        rows: How many modules are shown.
    """

    title: str
    asked: str
    modules: tuple[ModuleRow, ...]
    left_out: Mapping[str, str]
    rows: int = _ROWS

    def tell(self) -> Iterator[Part]:
        """Yield how many there are, the table, and what to ask."""
        from xla_inspect.questions.read.rendering import render_table

        return render_table(self)


@dataclass(frozen=True)
class DumpContents(Answer):
    """One module of a dump.

    Attributes:
        program: Its name.
        asked: What was asked about, as on the command line.
        target: The short name of the hardware that it was compiled for.
        hardware: What the files call that, or an empty string.
        files: How many files it has.
        bytes: Bytes of them.
        passes: How many modules were dumped between passes.
        there: What its files tell.
        missing: What they do not tell, and why, by the name of a field of a capture.
        left_out: Why files are no part of the dump, by name.
        stage: The stage of the module that answers are about.
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
        """Yield what there is, what is missing, and what to ask."""
        from xla_inspect.questions.read.rendering import render_contents

        return render_contents(self)


def list_dump(title: str, modules: Sequence[DumpedModule], left_out: Mapping[str, str], asked: str) -> DumpTable:
    """Return the table of a dump's modules.

    Args:
        title: What the dump is called.
        modules: Its modules.
        left_out: Why files are no part of it, by name.
        asked: The dump, as on the command line.
    """
    return DumpTable(title, asked, tuple(map(_describe, modules)), left_out)


def describe_dump(module: DumpedModule, capture: Capture, left_out: Mapping[str, str], asked: str) -> DumpContents:
    """Return what the files of one module tell.

    Args:
        module: The module.
        capture: What was read of it.
        left_out: Why files are no part of the dump, by name.
        asked: The dump and the module, as on the command line.
    """
    held = [field.name for field in fields(capture) if field.name in NAMES and getattr(capture, field.name)]
    there = [name for field, name in NAMES.items() if field in held and field not in capture.missing]
    return DumpContents(
        program=module.name,
        asked=asked,
        target=capture.target,
        hardware=module.title,
        files=len({*module.files.values()}),
        bytes=module.bytes,
        passes=module.passes,
        there=tuple(there),
        missing=list_absences(capture),
        left_out=left_out,
        stage=find_stage(capture),
    )


def _describe(module: DumpedModule) -> ModuleRow:
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
