"""A decision tree of questions and answers, drawn as nested boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.report import figure, markdown

if TYPE_CHECKING:
    from collections.abc import Mapping

type Tree = str | tuple[str, Mapping[str, Tree]]
"""A recommendation, or a question with the subtree for each answer."""


def draw_decisions(question: Tree, caption: str) -> str:
    """Return a decision tree as nested HTML lists, which screen readers read in order.

    Args:
        question: The first question, with its answers.
        caption: A description of the drawing, plain text.
    """
    return figure("decisions", f"<div>{_draw(question)}</div>", markdown.escape(caption))


def _draw(node: Tree) -> str:
    if isinstance(node, str):
        return f"<b>{markdown.escape(node)}</b>"
    question, answers = node
    items = "".join(f"<li><i>{markdown.escape(answer)}</i>{_draw(then)}</li>" for answer, then in answers.items())
    return f"<span>{markdown.escape(question)}</span><ul>{items}</ul>"
