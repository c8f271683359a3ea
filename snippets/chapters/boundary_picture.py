"""Kernels from top to bottom, and below each what its compiler said of why the next one that reads it is another."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from xla_inspect.questions.why import WhyFinder
from xla_inspect.report import Box, draw_boxes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xla_inspect.captured import Capture

WIDEST, LINES = 48, 2
"""How many characters of a reason stand in one line below a box, for which a phone has room; and how many lines."""


def draw_boundaries(capture: Capture, names: Iterable[str], caption: str) -> str:
    """Return kernels as boxes and who reads whom as arrows, as HTML.

    Below a box stand the words of the compiler on the first of the kernels shown that reads it: why the two are not
    one. Where it said nothing of the two, the pass that made them two stands there.

    Args:
        capture: A capture with its passes and its reasons.
        names: The instructions of the kernels, in the order in which they run.
        caption: What stands under the picture, plain text.

    Raises:
        KeyError: The program has no kernel of such a name.
    """
    chosen = list(dict.fromkeys(names))
    reads = find_readers(capture, chosen)
    boxes = [_describe(name, why) for name, why in zip(chosen, _tell(capture, chosen, reads), strict=True)]
    edges = [(chosen.index(name), chosen.index(reader)) for name in chosen for reader in reads[name]]
    return draw_boxes(boxes, sorted(edges), caption)


def find_readers(capture: Capture, names: Sequence[str]) -> dict[str, list[str]]:
    """Return which of some kernels read what each of them writes, in their order.

    Args:
        capture: As in `draw_boundaries`.
        names: As in `draw_boundaries`.

    Raises:
        KeyError: As in `draw_boundaries`.
    """
    kernels = WhyFinder(capture).evidence.kernels
    found = {}
    for name in names:
        launch = kernels.holder(capture.module.entry.by_name[name])
        readers = {reader.instruction.name for reader in kernels.readers(launch)} if launch is not None else set()
        found[name] = [other for other in names if other in readers and other != name]
    return found


def _tell(capture: Capture, names: Sequence[str], reads: dict[str, list[str]]) -> list[str]:
    """Return why each kernel is apart from the first that reads it, in the compiler's words."""
    finder = WhyFinder(capture)
    told = []
    for name in names:
        if not reads[name]:
            told.append("")
            continue
        finding = finder.explain_apart(name, reads[name][0])[0][0]
        words = next((each.words for each in finding.reasons if each.verdict == "refused"), "")
        told.append(words or f"made by {finding.pass_name}")
    return told


def _describe(name: str, why: str) -> Box:
    lines = wrap(why, WIDEST, max_lines=LINES, placeholder=" \u2026")
    return Box(
        "other", is_result=False, lines=((name, ()),), labels=tuple(zip(lines, lines, strict=True)), tooltip=why or name
    )
