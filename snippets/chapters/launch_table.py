"""A table of a capture's launches, with the Python expressions and operations that each launch computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import list_launches, list_origins
from xla_inspect.plural import plural
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from xla_inspect.captured import Capture


def show_origins(capture: Capture) -> str:
    """Return a table of a capture's launches with their Python expressions; launches without any are only counted."""
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
    table = markdown.cards(["launch", "Python expressions and their operations"], rows)
    if not silent:
        return table
    rest = plural(silent, "more launch comes", "more launches come")
    copies = "a copy" if silent == 1 else "copies"
    return f"{table}\n{rest} from no line of Python: {copies} that the compiler added.\n"
