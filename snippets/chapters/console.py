"""A command of the tool and what it prints, as a page shows it: run in the build, in this process."""

from __future__ import annotations

import contextlib
import io
import shlex

from xla_inspect.commands import run_here
from xla_inspect.report import markdown


def run(command: str, *, expected: int = 0, lines: int | None = None) -> str:
    """Return a command with what it prints, as a listing.

    Args:
        command: As it is typed, `xla-inspect` first.
        expected: The exit status that it ends with.
        lines: How many lines are shown at most; what follows is folded.

    Raises:
        RuntimeError: It ends with another status; with what it said.
    """
    program, *words = shlex.split(command)
    if program != "xla-inspect":
        message = f"a page runs xla-inspect, not {program}"
        raise ValueError(message)
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(errors):
        status = run_here(words, out)
    if status != expected:
        message = f"{command} ended with {status}, not {expected}: {errors.getvalue()}"
        raise RuntimeError(message)
    printed = out.getvalue().rstrip().splitlines()
    shown = markdown.fence("\n".join([f"$ {command}", *printed[:lines]]), "console")
    if lines is None or len(printed) <= lines:
        return shown
    return (
        shown
        + "\n"
        + markdown.fold(f"{len(printed) - lines} more lines", markdown.fence("\n".join(printed[lines:]), "text"))
    )
