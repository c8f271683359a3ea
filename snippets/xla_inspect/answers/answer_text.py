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

_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""")


def print_answer(answer: Tellable, paper: Paper) -> None:
    """Print the parts of an answer in their order, with the first as a verdict."""
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
    """Print the title and the first lines of a listing. An HTML page has all of its lines."""
    lines = listing.text.splitlines()
    paper.heading(listing.title)
    paper.show("\n".join(lines[:MOST_LINES]), "diff")
    if len(lines) > MOST_LINES:
        paper.say(f"{plural(len(lines) - MOST_LINES, 'more line')}; `--html` writes a page with all lines.")


MOST_LINES = 24
"""The number of lines of a listing that are printed."""


def _print_hint(hint: Hint, paper: Paper) -> None:
    """Print a hint in one line if it fits. Otherwise print its command below it, folded as a shell accepts it."""
    whole = f"{hint.text} {hint.command}"
    if hint.command and len(whole) <= paper.width:
        paper.hint(whole)
    else:
        command = fold_command(hint.command, paper.width - len(paper.indent))
        paper.hint(hint.text, f"\n{paper.indent}".join(command))


def fold_command(command: str, width: int) -> list[str]:
    """Return a command line folded to a width. Each line but the last ends in a backslash.

    Args:
        command: The command. A quoted string in it stays in one line.
        width: The number of columns. A single long word may exceed it.
    """
    try:
        shlex.split(command)
    except ValueError:
        # A command with an unbalanced quote cannot be split into words.
        return [command]
    # The words keep their quotes, so that the command can be copied.
    words = _WORD.findall(command)
    lines: list[str] = []
    # An option and its value stay in one line, since a break between them is hard to read.
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
    """Return the text that a command prints for an answer in a terminal without colors."""
    stream = io.StringIO()
    print_answer(answer, Paper(stream, width=ANSWER_WIDTH, fold=True, indent="  "))
    return stream.getvalue().rstrip()
