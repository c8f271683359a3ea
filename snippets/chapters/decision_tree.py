"""A question, its answers, and the questions that follow from them, as a tree of nested boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.report import figure, markdown

if TYPE_CHECKING:
    from collections.abc import Mapping

type Tree = str | tuple[str, Mapping[str, Tree]]
"""What to take; or a question, with what follows from each answer."""


def draw_decisions(question: Tree, caption: str) -> str:
    """Return the tree as HTML, of nested lists, so that it is read in order by those who listen.

    Args:
        question: The first question.
        caption: What the drawing shows, plain text.
    """
    return figure("decisions", f"<div>{_draw(question)}</div>", markdown.escape(caption))


def _draw(node: Tree) -> str:
    if isinstance(node, str):
        return f"<b>{markdown.escape(node)}</b>"
    asked, answers = node
    items = "".join(f"<li><i>{markdown.escape(answer)}</i>{_draw(then)}</li>" for answer, then in answers.items())
    return f"<span>{markdown.escape(asked)}</span><ul>{items}</ul>"
