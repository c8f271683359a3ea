"""Listings of commands and Python examples with their output, run while the site is built."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from itertools import pairwise

from xla_inspect.commands import MISSING, main, run_here
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.plural import plural
from xla_inspect.report import markdown
from xla_inspect.targets import find_target


def show_command(command: str, *, expected: int = 0, lines: int | None = None) -> str:
    """Run an `xla-inspect` command, and return it with its output as a listing.

    Args:
        command: The command as typed, starting with `xla-inspect`.
        expected: The exit status that the command must return.
        lines: The number of lines to show; the rest is folded.

    Raises:
        RuntimeError: The exit status differs; the message contains the error output.
    """
    output = read_output(command, expected=expected).splitlines()
    listing = markdown.fence("\n".join([f"$ {command}", *output[:lines]]), "console")
    if lines is None or len(output) <= lines:
        return listing
    rest = markdown.fence("\n".join(output[lines:]), "text")
    return f"{listing}\n{markdown.fold(f'{plural(len(output) - lines, "more line")}', rest)}"


def read_output(command: str, *, expected: int = 0) -> str:
    """Run an `xla-inspect` command, and return its standard output.

    Args:
        command: As in `show_command`. A script runs in a new process, any other command in this one.
        expected: As in `show_command`.

    Raises:
        ValueError: The command is not `xla-inspect`.
        RuntimeError: As in `show_command`.
        TargetUnavailableError: This machine cannot compile for the command's target, so the page has a gap.
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
        # The command adds a file's folder to the path, and this process has other pages to run.
        sys.path[:] = path
    # A missing compiler is no error of the page, which then has a gap.
    if status == MISSING:
        names = [name for option, name in pairwise(words) if option in ("--target", "--against-target")]
        for name in names:
            if obstacle := find_target(name).obstacle:
                raise TargetUnavailableError(name, obstacle)
    if status != expected:
        message = f"{command} ended with {status}, not {expected}: {errors.getvalue()}"
        raise RuntimeError(message)
    return out.getvalue().rstrip()


def show_question(question: str, *, lines: int | None = None, expected: int = 0) -> str:
    """Return the command that asks a chapter's question about the reader's function, with a folded example.

    Args:
        question: The question and its program, such as `kernels snippets/programs/softmax.py:softmax --target h100`.
            The example runs it unchanged. The reader's command has a placeholder instead of the program's file.
        lines: As in `show_command`.
        expected: As in `show_command`.

    Raises:
        ValueError: The question contains no Python file.
        RuntimeError: As in `show_command`.
        TargetUnavailableError: As in `show_command`.
    """
    own = _make_own(question)
    if own == question:
        message = f"{question!r} contains no FILE.py to replace with the reader's file"
        raise ValueError(message)
    example = markdown.fold("Example output", show_command(f"xla-inspect {question}", expected=expected, lines=lines))
    return f"{markdown.fence(f'xla-inspect {own}', 'sh')}\n{example}"


def _make_own(question: str) -> str:
    """Return a question with placeholders for the reader's file and function instead of the project's."""
    names = dict.fromkeys(re.findall(r"\S+\.py\S*", question))
    # Most questions contain one file, so the second placeholder often stays unused.
    theirs = zip(names, ("your_file.py", "your_other_file.py"), strict=False)
    for name, file in theirs:
        question = question.replace(name, f"{file}:your_function" if ":" in name else file)
    # Pages leave out times, which differ between machines, but the reader wants to see them.
    return question.replace(" --no-times", "")


def show_python(text: str) -> str:
    """Run Python code, and return the code and its printed output as two listings."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "<example>", "exec"), {"__name__": "example"})  # noqa: S102 - the page's own code
    return f"{markdown.fence(text.strip(), 'python')}\n{markdown.fence(out.getvalue().rstrip(), 'text')}"
