"""An answer printed in a terminal or a pipe, in 80 columns."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from xla_inspect.answers.answer import Hint, Table
from xla_inspect.terminal import ANSWER_WIDTH, Paper

if TYPE_CHECKING:
    from xla_inspect.answers.answer import Answer


def print_answer(answer: Answer, paper: Paper) -> None:
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
        elif isinstance(part, Hint):
            paper.hint(part.text, part.command)
        elif number == 0:
            paper.verdict(part, good=answer.holds)
        else:
            paper.say(part)


def print_text(answer: Answer) -> str:
    """Return an answer as it is printed where there are no colours."""
    stream = io.StringIO()
    print_answer(answer, Paper(stream, width=ANSWER_WIDTH, fold=True, indent="  "))
    return stream.getvalue().rstrip()
