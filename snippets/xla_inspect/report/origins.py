"""What each launch is made of, as a table: Python expressions beside the operations they became."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.hlo.fusions import entry_kernels
from xla_inspect.hlo.origins import list_origins
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from xla_inspect.hlo.record import Capture


def origins(capture: Capture) -> str:
    """Return a table of the launches of a capture, each with the Python in it; those with none are counted below."""
    rows, silent = [], 0
    for launch in entry_kernels(capture.module):
        found = list_origins(capture, launch)
        if not any(origin.expression for origin in found):
            silent += 1
            continue
        said = (
            f"{markdown.code(origin.expression) or 'no line'}: {markdown.escape(', '.join(origin.opcodes))}"
            for origin in found
        )
        rows.append((f"<b>{markdown.code(launch.name)}</b>", "<br>".join(said)))
    table = markdown.cards(["launch", "Python, and the operations it became"], rows)
    if not silent:
        return table
    rest = f"{markdown.count(silent, 'more instruction')} of ENTRY {'has' if silent == 1 else 'have'} no line"
    return f"{table}\n{rest}: copies that the compiler added.\n"
