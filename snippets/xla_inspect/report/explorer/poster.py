"""A small picture of what an explorer will show, for the page on which it waits to be opened, and for paper."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, NamedTuple

from xla_inspect.analysis import (
    follow_passes,
    list_kernels,
    live_bytes,
    parse_buffers,
    parse_live_ranges,
    place_buffers,
    print_instruction,
)
from xla_inspect.plural import plural
from xla_inspect.report import format_bytes, svg
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.analysis import PassState
    from xla_inspect.captured import Capture

WIDTH, HEIGHT = 350, 146
"""Of each half, in CSS pixels: they stand beside each other, or on a phone one above the other."""

ROWS = 7
"""How many rows of a diff or kernels are shown."""

LONGEST = 56
"""Characters of a row."""

FUSING = ("priority-fusion", "tpu_fusion", "fusion")
"""The passes of GPU, TPU and CPU that decide what becomes one kernel."""

_TOP, _BOTTOM, _ROW = 30, 120, 16
_HIDDEN = {"metadata", "backend_config", "frontend_attributes"}


class _Seen(NamedTuple):
    """A state of the module, without the module: instructions, what the pass was called and what it did."""

    instructions: int
    name: str
    summary: str
    rows: tuple[tuple[str, str], ...]


def draw_poster(capture: Capture, view: str = "passes", chosen: str | int = "") -> str:
    """Return a picture of a capture as two SVG drawings: how passes change it, and what the view is about.

    Args:
        capture: The capture that the explorer opens at.
        view: As `embed_explorer` takes it: `buffers` shows the memory plan, `graph`, `kernels`, `code` and `after` the
            kernels, any other the pass.
        chosen: The pass that it opens at, by its name or the number of its state.
    """
    states = [*_read(capture)]
    at = _choose(states, chosen)
    second = _draw_pass(states[max(at, 0)])
    if view == "buffers" and capture.live_ranges:
        second = _draw_memory(capture)
    elif view in {"graph", "kernels", "code", "after"}:
        second = _draw_kernels(capture)
    return _draw_passes(capture, states, at) + second


def choose_pass(capture: Capture) -> str:
    """Return the pass at which an explorer opens where nothing else is said: that which fuses, or none."""
    return next((name for name in FUSING if name in capture.pass_names), "")


def describe_poster(capture: Capture) -> str:
    """Return what such a picture is of, in a sentence: program, target, passes, kernels."""
    first, last = capture.unoptimized_module.instruction_count(), capture.module.instruction_count()
    passes, kernels = len(capture.pass_names), len(list_kernels(capture))
    return (
        f"{capture.program} on {title(capture.target)}: {plural(passes, 'pass', 'passes')} that changed it, "
        f"{first} instructions as imported, {last} at the end, {plural(kernels, 'kernel')}"
    )


def _read(capture: Capture) -> Iterator[_Seen]:
    """Yield what is shown of each state; of the modules, which are large, none is kept."""
    for state in follow_passes(capture):
        yield _Seen(
            state.module.instruction_count(),
            state.name,
            state.change.summary if state.change else "",
            tuple(_list_rows(state)),
        )


def _list_rows(state: PassState) -> Iterator[tuple[str, str]]:
    """Yield the first rows of a diff, each with its mark: `-`, `+` or `~`."""
    if not state.change:
        return
    half = (ROWS + 1) // 2
    removed, added, changed = state.change.removed, state.change.added, [each.after for each in state.change.changed]
    most = max(ROWS - min(len(added) + len(changed), half), 0)
    marked = (
        [("-", each) for each in removed[:most]] + [("+", each) for each in added] + [("~", each) for each in changed]
    )
    yield from ((mark, print_instruction(each, _HIDDEN)) for mark, each in marked[:ROWS])


def _choose(states: Sequence[_Seen], chosen: str | int) -> int:
    """Return the number of the chosen state, or -1 where none is."""
    if isinstance(chosen, int) or chosen.isdecimal():
        return min(int(chosen), len(states) - 1)
    return next((at for at, state in enumerate(states) if chosen and state.name == chosen), -1)


def _draw_passes(capture: Capture, states: Sequence[_Seen], at: int) -> str:
    """Draw the instructions after each pass as bars, with the chosen one marked."""
    most = max(state.instructions for state in states) or 1
    step = WIDTH / len(states)
    gap = 1 if step > 3 else 0  # noqa: PLR2004 - pixels; thinner bars touch
    bars = "".join(
        f'<rect x="{number * step:.1f}" y="{_BOTTOM - tall:.1f}" width="{step - gap:.1f}" height="{tall:.1f}"'
        f"{' class="chosen"' if number == at else ''}/>"
        for number, state in enumerate(states)
        for tall in [(_BOTTOM - _TOP) * state.instructions / most]
    )
    middle = (at + 0.5) * step
    anchor = "start" if middle < WIDTH / 4 else "end" if middle > WIDTH * 3 / 4 else "middle"
    name = (states[at].name or "as imported") if at >= 0 else ""
    ends = (f"{states[0].instructions} instructions", f"{states[-1].instructions} after the last pass")
    said = (
        _write(0, 12, f"{capture.program} on {title(capture.target)}", "title")
        + (_write(round(middle, 1), _TOP - 4, name, "chosen", anchor) if name else "")
        + _write(0, _BOTTOM + 14, ends[0])
        + _write(WIDTH, _BOTTOM + 14, ends[1], anchor="end")
    )
    marked = f"; one is marked: {name}" if name else ""
    label = f"{describe_poster(capture)}. Bars of the instructions after each pass{marked}."
    return svg(bars + said, label, (WIDTH, HEIGHT), kind="strip")


def _draw_pass(state: _Seen) -> str:
    """Draw the first rows of what a pass changed."""
    head = f"{state.name}: {state.summary}" if state.name else "as imported"
    said = f"What {state.name or 'the import'} did: {state.summary or 'nothing that shows'}."
    return _draw_rows(head, [(_KINDS[mark], f"{mark} {text}") for mark, text in state.rows], said)


_KINDS = {"-": "removed", "+": "added", "~": "changed"}


def _draw_kernels(capture: Capture) -> str:
    """Draw the first kernels in the order in which they run."""
    kernels = list_kernels(capture)
    head = plural(len(kernels), "kernel")
    rows = [("kernel", f"{number} {each.name}: {each.kind}") for number, each in enumerate(kernels[:ROWS], 1)]
    more = " and others" if len(kernels) > ROWS else ""
    return _draw_rows(head, rows, f"{head}: {', '.join(each.name for each in kernels[:ROWS])}{more}.")


def _draw_rows(head: str, rows: Sequence[tuple[str, str]], said: str) -> str:
    """Draw lines of text, each a class and what it says, under a heading."""
    body = "".join(
        f'<rect x="0" y="{_TOP - 11 + number * _ROW}" width="{WIDTH}" height="{_ROW - 1}" class="{kind}"/>'
        + _write(4, _TOP + number * _ROW, _cut(text))
        for number, (kind, text) in enumerate(rows)
    )
    return svg(_write(0, 12, _cut(head), "title") + body, said, (WIDTH, HEIGHT), kind="rows")


def _draw_memory(capture: Capture) -> str:
    """Draw the bytes that hold a live value, instruction by instruction."""
    ranges = parse_live_ranges(capture.live_ranges)
    rows = [row for row in place_buffers(parse_buffers(capture.buffers), ranges) if row.kind != "thread-local"]
    live = live_bytes(rows, max((row.end or 0 for row in rows), default=0))
    most = max(live) or 1
    step = WIDTH / len(live)
    path = " ".join(
        f"H{number * step:.1f} V{_BOTTOM - (_BOTTOM - _TOP) * each / most:.1f}" for number, each in enumerate(live)
    )
    body = (
        f'<path d="M0 {_BOTTOM} {path} H{WIDTH} V{_BOTTOM} Z" class="live"/>'
        + _write(0, 12, "Memory, as the program runs", "title")
        + _write(0, _BOTTOM + 14, f"at most {format_bytes(most)} live")
    )
    return svg(body, f"Live bytes as the program runs: at most {format_bytes(most)}.", (WIDTH, HEIGHT), kind="rows")


def _write(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    placed = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}"{named}{placed}>{html.escape(text)}</text>'


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
