"""A small picture of an explorer's content, shown on a page until the explorer is opened, and in print."""

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
"""The size of each half in CSS pixels. The halves are side by side, or on a phone one above the other."""

ROWS = 7
"""The largest number of diff rows or kernels in the picture."""

LONGEST = 56
"""The largest number of characters in a row."""

FUSING = ("priority-fusion", "tpu_fusion", "fusion")
"""The passes that decide which instructions become one kernel, on GPU, TPU and CPU."""

_TOP, _BOTTOM, _ROW = 30, 120, 16
_HIDDEN = {"metadata", "backend_config", "frontend_attributes"}


class _StateSummary(NamedTuple):
    """A state of the module: its number of instructions, the pass before it, that pass's change and some diff rows."""

    instructions: int
    name: str
    summary: str
    rows: tuple[tuple[str, str], ...]


def draw_poster(capture: Capture, view: str = "passes", chosen: str | int = "") -> str:
    """Draw a capture as two SVG pictures: the changes by all passes, and the subject of the view.

    Args:
        capture: The capture that the explorer opens.
        view: A view of `embed_explorer`: `buffers` shows the memory plan; `graph`, `kernels`, `code` and `after` show
            the kernels; any other view shows the chosen pass.
        chosen: The pass that the explorer opens, by its name or by the number of its state.
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
    """Return the default pass of an explorer: the pass that fuses, or an empty string if there is none."""
    return next((name for name in FUSING if name in capture.pass_names), "")


def describe_poster(capture: Capture) -> str:
    """Return one sentence that describes a capture's picture: program, target, passes, instructions and kernels."""
    first, last = capture.unoptimized_module.instruction_count(), capture.module.instruction_count()
    passes, kernels = len(capture.pass_names), len(list_kernels(capture))
    return (
        f"{capture.program} on {title(capture.target)}: {plural(passes, 'pass', 'passes')} changed the module, "
        f"from {first} imported instructions to {last} optimized ones in {plural(kernels, 'kernel')}"
    )


def _read(capture: Capture) -> Iterator[_StateSummary]:
    """Yield a summary of each state, so that the large modules need not stay in memory."""
    for state in follow_passes(capture):
        yield _StateSummary(
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
    removals, additions, changes = (
        state.change.removed,
        state.change.added,
        [instruction.after for instruction in state.change.changed],
    )
    # Half of the rows are reserved for additions and changes, so that long removals do not hide them.
    most = max(ROWS - min(len(additions) + len(changes), half), 0)
    rows = (
        [("-", instruction) for instruction in removals[:most]]
        + [("+", instruction) for instruction in additions]
        + [("~", instruction) for instruction in changes]
    )
    yield from ((mark, print_instruction(instruction, _HIDDEN)) for mark, instruction in rows[:ROWS])


def _choose(states: Sequence[_StateSummary], chosen: str | int) -> int:
    """Return the number of the state chosen by pass name or number (at most the last), or -1 for an unknown name."""
    if isinstance(chosen, int) or chosen.isdecimal():
        return min(int(chosen), len(states) - 1)
    return next((at for at, state in enumerate(states) if chosen and state.name == chosen), -1)


def _draw_passes(capture: Capture, states: Sequence[_StateSummary], at: int) -> str:
    """Return, as SVG, the number of instructions after each pass as bars, with the chosen pass marked."""
    # A module without instructions would otherwise lead to a division by zero.
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
    # A name near an edge of the picture would be cut off if it were centered.
    anchor = "start" if middle < WIDTH / 4 else "end" if middle > WIDTH * 3 / 4 else "middle"
    name = (states[at].name or "as imported") if at >= 0 else ""
    ends = (f"{states[0].instructions} instructions", f"{states[-1].instructions} after the last pass")
    texts = (
        _write(0, 12, f"{capture.program} on {title(capture.target)}", "title")
        + (_write(round(middle, 1), _TOP - 4, name, "chosen", anchor) if name else "")
        + _write(0, _BOTTOM + 14, ends[0])
        + _write(WIDTH, _BOTTOM + 14, ends[1], anchor="end")
    )
    mark = f", with {name} marked" if name else ""
    label = f"{describe_poster(capture)}. The bars show the instructions after each pass{mark}."
    return svg(bars + texts, label, (WIDTH, HEIGHT), kind="strip")


def _draw_pass(state: _StateSummary) -> str:
    """Return the first rows of the diff of a pass as SVG."""
    head = f"{state.name}: {state.summary}" if state.name else "as imported"
    label = f"Changes by {state.name or 'the import'}: {state.summary or 'none that are visible'}."
    return _draw_rows(head, [(_KINDS[mark], f"{mark} {text}") for mark, text in state.rows], label)


_KINDS = {"-": "removed", "+": "added", "~": "changed"}


def _draw_kernels(capture: Capture) -> str:
    """Return the names and kinds of the first kernels, in the order in which they run, as SVG."""
    kernels = list_kernels(capture)
    head = plural(len(kernels), "kernel")
    rows = [("kernel", f"{number} {kernel.name}: {kernel.kind}") for number, kernel in enumerate(kernels[:ROWS], 1)]
    more = " and others" if len(kernels) > ROWS else ""
    return _draw_rows(head, rows, f"{head}: {', '.join(kernel.name for kernel in kernels[:ROWS])}{more}.")


def _draw_rows(head: str, rows: Sequence[tuple[str, str]], label: str) -> str:
    """Return lines of text below a heading as SVG; each row is a CSS class and a text."""
    body = "".join(
        f'<rect x="0" y="{_TOP - 11 + number * _ROW}" width="{WIDTH}" height="{_ROW - 1}" class="{kind}"/>'
        + _write(4, _TOP + number * _ROW, _cut(text))
        for number, (kind, text) in enumerate(rows)
    )
    return svg(_write(0, 12, _cut(head), "title") + body, label, (WIDTH, HEIGHT), kind="rows")


def _draw_memory(capture: Capture) -> str:
    """Return the bytes of live values, instruction by instruction, as SVG."""
    ranges = parse_live_ranges(capture.live_ranges)
    rows = [row for row in place_buffers(parse_buffers(capture.buffers), ranges) if row.kind != "thread-local"]
    live = live_bytes(rows, max((row.end or 0 for row in rows), default=0))
    most = max(live) or 1
    step = WIDTH / len(live)
    path = " ".join(
        f"H{number * step:.1f} V{_BOTTOM - (_BOTTOM - _TOP) * amount / most:.1f}" for number, amount in enumerate(live)
    )
    body = (
        f'<path d="M0 {_BOTTOM} {path} H{WIDTH} V{_BOTTOM} Z" class="live"/>'
        + _write(0, 12, "Live memory over the program", "title")
        + _write(0, _BOTTOM + 14, f"at most {format_bytes(most)} live")
    )
    return svg(body, f"Live bytes as the program runs: at most {format_bytes(most)}.", (WIDTH, HEIGHT), kind="rows")


def _write(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    class_attribute = f' class="{kind}"' if kind else ""
    anchor_attribute = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}"{class_attribute}{anchor_attribute}>{html.escape(text)}</text>'


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
