"""An answer printed in a terminal or a pipe, in 80 columns."""

from __future__ import annotations

import io
import re
import shlex
from typing import TYPE_CHECKING

from xla_inspect.answers.answer_parts import Hint, Listing, Table
from xla_inspect.plural import plural
from xla_inspect.terminal import ANSWER_WIDTH, CONTINUED, Paper

if TYPE_CHECKING:
    from xla_inspect.answers.answer_parts import Tellable

CONTINUED_INDENT = "  "


def print_answer(answer: Tellable, paper: Paper) -> None:
    """Print an answer.

    Args:
        answer: The answer.
        paper: Where to.
    """
    for number, part in enumerate(answer.tell()):
        if isinstance(part, Table):
            if part.title:
                paper.heading(part.title)
            paper.table(part.columns, part.rows, numbers=part.numbers)
        elif isinstance(part, Listing):
            _print_listing(part, paper)
        elif isinstance(part, Hint):
            _print_hint(part, paper)
        elif number == 0:
            paper.verdict(part, good=answer.holds)
        else:
            paper.say(part)


def _print_listing(listing: Listing, paper: Paper) -> None:
    """Print the beginning of a listing: a page has all of it."""
    lines = listing.text.splitlines()
    paper.heading(listing.title)
    paper.show("\n".join(lines[:MOST_LINES]), "diff")
    if len(lines) > MOST_LINES:
        paper.say(f"{plural(len(lines) - MOST_LINES, 'more line')}; a page that `--html` writes has all.")


MOST_LINES = 24
"""Lines of a listing that are printed."""


def _print_hint(hint: Hint, paper: Paper) -> None:
    """Print a hint in one line where it fits, else its command below it, in lines that a shell takes for one."""
    whole = f"{hint.text} {hint.command}"
    if hint.command and len(whole) <= paper.width:
        paper.hint(whole)
    else:
        command = fold_command(hint.command, paper.width - len(paper.indent))
        paper.hint(hint.text, f"\n{paper.indent}".join(command))


def fold_command(command: str, width: int) -> list[str]:
    """Return a command line in lines of a width, each but the last with a backslash at its end.

    Args:
        command: The command; what is quoted in it stays in one line.
        width: Columns, which a single word may exceed.
    """
    try:
        words = shlex.split(command, posix=False)
    except ValueError:
        return [command]
    lines: list[str] = []
    # An option stays in one line with its value.
    for word in re.sub(r"(?<=\n)(--\S+)\n(?!--)", r"\1 ", "\n".join(["", *words])).split("\n")[1:]:
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and len(longer) + len(CONTINUED) <= width:
            lines[-1] = longer
        else:
            lines.append(f"{CONTINUED_INDENT}{word}" if lines else word)
    if len(command) <= width:
        return [command]
    return [*(f"{line}{CONTINUED}" for line in lines[:-1]), *lines[-1:]]


def print_text(answer: Tellable) -> str:
    """Return an answer as it is printed where there are no colours."""
    stream = io.StringIO()
    print_answer(answer, Paper(stream, width=ANSWER_WIDTH, fold=True, indent="  "))
    return stream.getvalue().rstrip()
