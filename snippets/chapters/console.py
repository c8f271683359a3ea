"""A command of the tool, or Python that uses it, and what it prints, as a page shows it: run in the build."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys

from xla_inspect.commands import MISSING, main, run_here
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.report import markdown
from xla_inspect.targets import find_target


def show_command(command: str, *, expected: int = 0, lines: int | None = None) -> str:
    """Return a command with what it prints, as a listing.

    Args:
        command: As it is typed, `xla-inspect` first.
        expected: The exit status that it ends with.
        lines: How many lines are shown at most; what follows is folded.

    Raises:
        RuntimeError: It ends with another status; with what it said.
    """
    printed = output(command, expected=expected).splitlines()
    shown = markdown.fence("\n".join([f"$ {command}", *printed[:lines]]), "console")
    if lines is None or len(printed) <= lines:
        return shown
    rest = markdown.fence("\n".join(printed[lines:]), "text")
    return f"{shown}\n{markdown.fold(f'{len(printed) - lines} more lines', rest)}"


def output(command: str, *, expected: int = 0) -> str:
    """Return what a command prints.

    Args:
        command: As in `run`. A script is run in a process of its own, anything else in this one.
        expected: As in `run`.

    Raises:
        ValueError: It is another program.
        RuntimeError: As in `run`.
        TargetUnavailableError: This machine cannot compile for the target that it names, so that a page has a gap.
    """
    program, *words = shlex.split(command)
    if program != "xla-inspect":
        message = f"a page runs xla-inspect, not {program}"
        raise ValueError(message)
    out, errors, path = io.StringIO(), io.StringIO(), list(sys.path)
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(out):
            status = main(words) if "run" in words else run_here(words, out)
    finally:
        # A file's folder is on the path for the command alone, and this process has other pages to run.
        sys.path[:] = path
    if status == MISSING:
        target = words[words.index("--target") + 1]
        raise TargetUnavailableError(target, find_target(target).obstacle)
    if status != expected:
        message = f"{command} ended with {status}, not {expected}: {errors.getvalue()}"
        raise RuntimeError(message)
    return out.getvalue().rstrip()


def show_question(question: str, *, lines: int | None = None, expected: int = 0) -> str:
    """Return the command that asks a chapter's question of the reader's own function, and folded what it prints here.

    Args:
        question: What is asked and of which program, such as `kernels snippets/programs/softmax.py:softmax --target
            h100`. It is run as it stands; the reader's command names a file of theirs in the place of the program's.
        lines: As in `run`.
        expected: As in `run`.

    Raises:
        ValueError: It names no program of this project.
        RuntimeError: As in `run`.
        TargetUnavailableError: As in `run`.
    """
    own = _make_own(question)
    if own == question:
        message = f"no FILE.py in {question!r}"
        raise ValueError(message)
    example = markdown.fold(
        "What it prints here", show_command(f"xla-inspect {question}", expected=expected, lines=lines)
    )
    return f"{markdown.fence(f'xla-inspect {own}', 'sh')}\n{example}"


def _make_own(question: str) -> str:
    """Return a question with the reader's file and function in the place of the project's."""
    names = dict.fromkeys(re.findall(r"\S+\.py\S*", question))
    theirs = zip(names, ("your_file.py", "your_other_file.py"), strict=False)
    for name, file in theirs:
        question = question.replace(name, f"{file}:your_function" if ":" in name else file)
    # Times are of one machine, so that a page leaves them out, and a reader wants them.
    return question.replace(" --no-times", "")


def run_python(text: str) -> str:
    """Return Python with what it prints, as two listings.

    Args:
        text: The code.
    """
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "<example>", "exec"), {"__name__": "example"})  # noqa: S102 - the page's own code
    return f"{markdown.fence(text.strip(), 'python')}\n{markdown.fence(out.getvalue().rstrip(), 'text')}"
