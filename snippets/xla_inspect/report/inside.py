"""What a fusion holds as a picture: operations from top to bottom, what enters on the left, what leaves below."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.hlo.fusions import custom_fusion_kind, is_fusion
from xla_inspect.report.quantity import shorten
from xla_inspect.report.titles import lane, short

if TYPE_CHECKING:
    from xla_inspect.hlo.module import Computation, Instruction, Module
    from xla_inspect.hlo.record import Capture

# What only says the same value in another shape.
RENAMING = frozenset({"bitcast", "broadcast", "reshape"})
# What a fusion of each kind is built around, where it is built around anything.
CENTRES = {
    "kInput": frozenset({"reduce", "transpose", "scatter", "concatenate"}),
    "kOutput": frozenset({"convolution", "dot"}),
}

# CSS pixels.
WIDTH, LEFT, BOX, HIGH, STEP, EDGE = 300, 104, 112, 22, 36, 12
LONGEST = 15


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a fusion.

    Attributes:
        opcode: What it does.
        takes: The operations that it takes, by their numbers.
        reads: What it takes from outside: names of values, and constants as written.
    """

    opcode: str
    takes: tuple[int, ...]
    reads: tuple[str, ...]


# A value: the number of a step, the name of something outside, or a tuple of values.
type _Value = int | str | tuple[_Value, ...]


def list_steps(module: Module, fusion: Instruction) -> tuple[Step, ...]:
    """The operations that a fusion of the entry computation holds, in order, nested fusions opened, renaming left out.

    Args:
        module: The module that holds it.
        fusion: A fusion.
    """
    steps: list[Step] = []
    given: list[_Value] = [_name(module.entry, name) for name in fusion.operands]
    _follow(module, module.called(fusion)[0], given, steps)
    return tuple(steps)


def _follow(module: Module, computation: Computation, given: list[_Value], steps: list[Step]) -> _Value:
    values: dict[str, _Value] = {}
    for instruction in computation:
        taken = [values[name] for name in instruction.operands]
        if instruction.opcode == "parameter":
            value = given[instruction.parameter_number or 0]
        elif instruction.opcode == "constant":
            value = shorten(instruction.literal or "", LONGEST)
        elif instruction.opcode in RENAMING:
            value = taken[0]
        elif instruction.opcode == "tuple":
            value = tuple(taken)
        elif instruction.opcode == "get-tuple-element" and isinstance(taken[0], tuple):
            value = taken[0][int(instruction.attributes["index"])]
        elif is_fusion(instruction):
            value = _follow(module, module.called(instruction)[0], taken, steps)
        else:
            takes = tuple(dict.fromkeys(each for each in taken if isinstance(each, int)))
            reads = tuple(dict.fromkeys(each for each in taken if isinstance(each, str)))
            steps.append(Step(instruction.opcode, takes, reads))
            value = len(steps) - 1
        values[instruction.name] = value
    return values[computation.root.name]


def _name(entry: Computation, name: str) -> str:
    """A value of the entry computation by its name in Python where it is a parameter or a copy of one."""
    found = entry.by_name[name]
    while found.opcode in {"bitcast", "copy-done", "copy-start"}:
        found = entry.by_name[found.operands[0]]
    return (found.op_name or found.name) if found.opcode == "parameter" else found.name


def fusion(capture: Capture, name: str, said: str) -> str:
    """Return one fusion of the entry computation as HTML.

    Args:
        capture: The program on one target.
        name: The fusion's name.
        said: The program in a few words, plain text.
    """
    found = capture.module.entry.by_name[name]
    steps = list_steps(capture.module, found)
    kind = found.fusion_kind or ""
    centre = _find_centre(steps, kind)
    parts = [part for number, step in enumerate(steps) for part in _draw_step(number, step, is_centre=number == centre)]
    bottom = EDGE + len(steps) * STEP
    frame = f'<rect class="frame" x="{LEFT - 14}" y="1" width="{BOX + 60}" height="{bottom}" rx="8"/>'
    leaves = found.shape.plain if not found.shape.is_tuple else f"{len(found.shape.elements)} results"
    x = LEFT + BOX / 2
    out = (
        f'<path d="M{x} {bottom - STEP + HIGH}V{bottom + 16}" class="way"/><path d="M{x - 4} {bottom + 12}l4 5l4 -5"/>'
    )
    out += f'<text x="{x}" y="{bottom + 30}" class="middle">{html.escape(leaves)}</text>'
    emitter = custom_fusion_kind(found)
    tag = f"{kind} by {emitter}" if emitter else kind
    label = f"{tag} on {short(capture.target)}: {', '.join(step.opcode for step in steps)}"
    return (
        f'<figure class="inside {lane(capture.target)}" markdown="0">'
        f"<figcaption><b>{html.escape(tag)}</b> {html.escape(short(capture.target))}<br>"
        f"<code>{html.escape(said)}</code></figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {bottom + 36}" role="img" aria-label="{html.escape(label)}">'
        f"{frame}{''.join(parts)}{out}</svg></figure>"
    )


def gallery(*drawings: str) -> str:
    """Return drawings of fusions side by side where there is room."""
    return f'<div class="gallery" markdown="0">{"".join(drawings)}</div>\n'


def _find_centre(steps: tuple[Step, ...], kind: str) -> int | None:
    """The number of the operation that the fusion is built around, or None."""
    found = [number for number, step in enumerate(steps) if step.opcode in CENTRES.get(kind, ())]
    return found[0] if found else None


def _draw_step(number: int, step: Step, *, is_centre: bool) -> list[str]:
    """One box, what enters it from outside, and the ways to it from the boxes above."""
    y = EDGE + number * STEP
    middle = y + HIGH / 2
    parts = []
    for source in step.takes:
        if source == number - 1:
            parts.append(f'<path class="way" d="M{LEFT + BOX / 2} {y - STEP + HIGH}V{y}"/>')
        else:
            start, out = EDGE + source * STEP + HIGH / 2, LEFT + BOX + 14 + 6 * (number - source - 2)
            right = LEFT + BOX
            parts.append(f'<path class="way" d="M{right} {start}H{out}V{middle - 4}H{right}"/>')
    if step.reads:
        said = shorten(", ".join(step.reads), LONGEST)
        parts.append(
            f'<path class="way" d="M{LEFT - 26} {middle}H{LEFT}"/><path d="M{LEFT - 5} {middle - 4}l5 4l-5 4"/>'
        )
        parts.append(f'<text class="end" x="{LEFT - 30}" y="{middle + 3.5}">{html.escape(said)}</text>')
    mark = ' class="centre"' if is_centre else ""
    parts.append(f'<rect{mark} x="{LEFT}" y="{y}" width="{BOX}" height="{HIGH}" rx="4"/>')
    parts.append(f'<text class="middle" x="{LEFT + BOX / 2}" y="{middle + 3.5}">{html.escape(step.opcode)}</text>')
    return parts
