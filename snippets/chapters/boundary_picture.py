"""A picture of kernels in order, with the compiler's reason why each one is not fused with the kernel that reads it."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from xla_inspect.questions.why import WhyFinder
from xla_inspect.report import Box, draw_boxes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xla_inspect.captured import Capture

WIDEST, LINES = 48, 2
"""The characters of a line of text below a box, so that it fits on a phone, and the number of lines."""


def draw_boundaries(capture: Capture, names: Iterable[str], caption: str) -> str:
    """Return kernels as boxes, with an arrow from each kernel to those that read its result, as HTML.

    The text below a box is the compiler's reason why that kernel is not fused with the first kernel that reads it. If
    the compiler logged no reason, the text names the pass that created the second kernel.

    Args:
        capture: A capture with its passes and its reasons.
        names: The instructions of the kernels, in the order in which they run.
        caption: The caption of the picture, plain text.

    Raises:
        KeyError: The program has no kernel of that name.
    """
    # Edges are found by the index of a name, so a name must not occur twice.
    chosen = list(dict.fromkeys(names))
    reads = find_readers(capture, chosen)
    boxes = [_describe(name, why) for name, why in zip(chosen, _tell(capture, chosen, reads), strict=True)]
    edges = [(chosen.index(name), chosen.index(reader)) for name in chosen for reader in reads[name]]
    return draw_boxes(boxes, sorted(edges), caption)


def find_readers(capture: Capture, names: Sequence[str]) -> dict[str, list[str]]:
    """Return for each named kernel, by name, the other named kernels that read its result, in the order of `names`.

    Raises:
        KeyError: As in `draw_boundaries`.
    """
    kernels = WhyFinder(capture).evidence.kernels
    readers_by_name = {}
    for name in names:
        launch = kernels.holder(capture.module.entry.by_name[name])
        readers = {reader.instruction.name for reader in kernels.readers(launch)} if launch is not None else set()
        readers_by_name[name] = [other for other in names if other in readers and other != name]
    return readers_by_name


def _tell(capture: Capture, names: Sequence[str], reads: dict[str, list[str]]) -> list[str]:
    """Return why each kernel is not fused with its first reader, or which pass made the reader; empty without one."""
    finder = WhyFinder(capture)
    labels = []
    for name in names:
        # No other kernel of the picture reads the result, so there is no boundary to explain.
        if not reads[name]:
            labels.append("")
            continue
        finding = finder.explain_apart(name, reads[name][0])[0][0]
        words = next((reason.words for reason in finding.reasons if reason.verdict == "refused"), "")
        labels.append(words or f"created by {finding.pass_name}")
    return labels


def _describe(name: str, why: str) -> Box:
    lines = wrap(why, WIDEST, max_lines=LINES, placeholder=" \u2026")
    return Box(
        "other", is_result=False, lines=((name, ()),), labels=tuple(zip(lines, lines, strict=True)), tooltip=why or name
    )
