"""What each launch is made of, as a table: Python expressions beside the operations they became."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import list_launches, list_origins
from xla_inspect.plural import plural
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from xla_inspect.captured import Capture


def show_origins(capture: Capture) -> str:
    """Return a table of the launches of a capture, each with the Python in it; those with none are counted below."""
    rows, silent = [], 0
    for launch in list_launches(capture):
        origins = list_origins(capture, launch.instruction)
        if not any(origin.expression for origin in origins):
            silent += 1
            continue
        lines = (
            f"{markdown.code(origin.expression) or 'no line'}: {markdown.escape(', '.join(origin.opcodes))}"
            for origin in origins
        )
        rows.append((f"<b>{markdown.code(launch.name)}</b>", "<br>".join(lines)))
    table = markdown.cards(["launch", "Python, and the operations it became"], rows)
    if not silent:
        return table
    rest = f"{plural(silent, 'more launch', 'more launches')} {'has' if silent == 1 else 'have'} no line"
    return f"{table}\n{rest}: copies that the compiler added.\n"
