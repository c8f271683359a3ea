"""The modules of a dump, or the parts of one, in paragraphs and tables."""

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
    "summary": "In numbers:",
    "memory": "What takes the memory:",
    "kernels": "Each kernel:",
    "report": "All of it, to step through in a browser:",
}


def render_table(table: DumpTable) -> Iterator[Part]:
    """Yield how many there are, the table, and what to ask."""
    size = format_bytes(sum(row.bytes for row in table.modules))
    yield f"{table.title} holds {plural(len(table.modules), 'module')}, {size}."
    shown = sorted(table.modules, key=lambda row: -row.bytes)[: table.rows]
    shown = [row for row in table.modules if row in shown]
    columns = ("target", "passes", "size", "kernels made", "stage", "module")
    yield Table(columns, tuple(map(_tell_row, shown)), (1, 2, 3))
    if len(shown) < len(table.modules):
        yield f"{len(table.modules) - len(shown)} smaller ones are left out; --all shows them."
    if lacking := [row for row in table.modules if row.stage != "optimized"]:
        few = ", ".join(row.module for row in lacking[:_FEW])
        yield f"Without a module that is known to be optimized: {few}{', ...' if len(lacking) > _FEW else ''}."
    yield from tell_left_out(table.left_out)
    if table.modules:
        largest = max(table.modules, key=lambda row: (row.stage == "optimized", row.bytes))
        name = f"{table.asked}:{largest.module}" if len(table.modules) > 1 else table.asked
        yield Hint("Ask about one:", suggest("summary", name))


def render_contents(contents: DumpContents) -> Iterator[Part]:
    """Yield what there is, what is missing, and what to ask."""
    hardware = f" ({contents.hardware})" if contents.hardware else ""
    where = title(contents.target) if contents.target != _UNKNOWN else "hardware that its files do not tell"
    size = f"{plural(contents.files, 'file')}, {format_bytes(contents.bytes)}"
    yield f"{contents.program}, compiled for {where}{hardware}: {size}."
    if not contents.stage.is_final:
        yield contents.stage.explain()
    yield f"They tell: {', '.join(contents.there)}."
    rows = tuple((NAMES.get(name, name), reason) for name, reason in contents.missing.items())
    yield Table(("missing", "because"), rows, (), "What they do not tell")
    yield from tell_left_out(contents.left_out)
    for question, text in _QUESTIONS.items():
        yield Hint(text, suggest(question, contents.asked))


def tell_left_out(left_out: Mapping[str, str]) -> Iterator[str]:
    """Yield what is said of files that are no part of a dump."""
    if left_out:
        few = "; ".join(f"{shorten(name, _NAME)}: {reason}" for name, reason in [*left_out.items()][:_FEW])
        yield f"Left out: {plural(len(left_out), 'file')} ({few})."


def _tell_row(row: ModuleRow) -> tuple[str, ...]:
    kernels = "?" if row.kernels is None else str(row.kernels)
    return row.target, str(row.passes), format_bytes(row.bytes), kernels, row.stage.partition(" ")[0], row.module
