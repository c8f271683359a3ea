"""The printed answer about a dump: its modules, or the contents of one module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import NAMES, Hint, Table, suggest
from xla_inspect.plural import plural
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.answers import Part
    from xla_inspect.questions.read.finding import DumpContents, DumpTable, ModuleRow


_NAME, _FEW = 44, 5
_UNKNOWN = "unknown"
_QUESTIONS = {
    "summary": "For an overview:",
    "memory": "For its memory by line:",
    "kernels": "For each kernel:",
    "report": "For a page to browse all of it:",
}


def render_table(table: DumpTable) -> Iterator[Part]:
    """Yield the printed answer: the number of modules, a table of them, and the next command to try."""
    size = format_bytes(sum(row.bytes for row in table.modules))
    yield f"{table.title} contains {plural(len(table.modules), 'module')} with {size}."
    largest_rows = sorted(table.modules, key=lambda row: -row.bytes)[: table.rows]
    # The largest modules are shown in the order in which they were compiled.
    rows = [row for row in table.modules if row in largest_rows]
    columns = ("target", "passes", "size", "kernels", "stage", "module")
    yield Table(columns, tuple(map(_tell_row, rows)), (1, 2, 3))
    if omitted := len(table.modules) - len(rows):
        yield f"{plural(omitted, 'smaller module')} not shown; --all shows all modules."
    if lacking := [row for row in table.modules if row.stage != "optimized"]:
        few = ", ".join(row.module for row in lacking[:_FEW])
        yield f"The dump has no optimized form of: {few}{', ...' if len(lacking) > _FEW else ''}."
    yield from tell_left_out(table.left_out)
    if table.modules:
        # Most questions need an optimized module, and the largest one is the most likely to be of interest.
        largest = max(table.modules, key=lambda row: (row.stage == "optimized", row.bytes))
        # With only one module, its name is not needed.
        name = f"{table.asked}:{largest.module}" if len(table.modules) > 1 else table.asked
        yield Hint("To inspect one module:", suggest("memory" if largest.stage == "none" else "summary", name))


def render_contents(contents: DumpContents) -> Iterator[Part]:
    """Yield the printed answer: the information in the files, a table of what is missing, and next commands."""
    hardware = f" ({contents.hardware})" if contents.hardware else ""
    where = title(contents.target) if contents.target != _UNKNOWN else "unknown hardware"
    size = f"{plural(contents.files, 'file')}, {format_bytes(contents.bytes)}"
    yield f"{contents.program}, compiled for {where}{hardware}: {size}."
    if not contents.stage.is_final:
        yield contents.stage.explain()
    yield f"The files contain: {', '.join(contents.there)}."
    rows = tuple((NAMES.get(name, name), reason) for name, reason in contents.missing.items())
    yield Table(("missing", "reason"), rows, (), "Missing information")
    yield from tell_left_out(contents.left_out)
    for question, text in _QUESTIONS.items():
        if contents.stage.name != "none" or question == "memory":
            yield Hint(text, suggest(question, contents.asked))


def tell_left_out(left_out: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence about the files that are not part of a dump, or nothing if there are none."""
    if left_out:
        few = "; ".join(f"{shorten(name, _NAME)}: {reason}" for name, reason in [*left_out.items()][:_FEW])
        yield f"{plural(len(left_out), 'file is', 'files are')} not part of the dump ({few})."


def _tell_row(row: ModuleRow) -> tuple[str, ...]:
    # The beginnings of the files do not always show the number of kernels.
    kernels = "?" if row.kernels is None else str(row.kernels)
    return row.target, str(row.passes), format_bytes(row.bytes), kernels, row.stage.partition(" ")[0], row.module
