"""A picture of a fusion: its operations from top to bottom, its inputs on the left and its results below."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import custom_fusion_kind, is_fusion
from xla_inspect.plural import plural
from xla_inspect.report import figure, lane, short, shorten, svg

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Computation, Instruction, Module

# Operations that only give a value another shape.
RENAMING = frozenset({"bitcast", "broadcast", "reshape"})
# The opcodes that a fusion of each kind is built around; a loop fusion has no such operation.
CENTRES = {
    "kInput": frozenset({"reduce", "transpose", "scatter", "concatenate"}),
    "kOutput": frozenset({"convolution", "dot"}),
}

# CSS pixels.
WIDTH, LEFT, BOX, HIGH, STEP, EDGE = 300, 104, 112, 22, 36, 12
LONGEST = 15


@dataclass(frozen=True, slots=True)
class FusionStep:
    """One operation of a fusion.

    Attributes:
        opcode: The opcode of the operation.
        takes: The numbers of the operations whose results it uses.
        reads: The inputs from outside the fusion: names of values, and constants as written.
    """

    opcode: str
    takes: tuple[int, ...]
    reads: tuple[str, ...]


# A value: the number of a step, the name of something outside, or a tuple of values.
type _Value = int | str | tuple[_Value, ...]


def list_fusion_steps(module: Module, fusion: Instruction) -> tuple[FusionStep, ...]:
    """Return the operations of a fusion in order, nested fusions expanded, without reshapes, bitcasts and broadcasts.

    Args:
        module: The module that contains the fusion.
        fusion: A fusion of the entry computation.
    """
    steps: list[FusionStep] = []
    arguments: list[_Value] = [_name(module.entry, name) for name in fusion.operands]
    _follow(module, module.called(fusion)[0], arguments, steps)
    return tuple(steps)


def _follow(module: Module, computation: Computation, arguments: list[_Value], steps: list[FusionStep]) -> _Value:
    values: dict[str, _Value] = {}
    for instruction in computation:
        operands = [values[name] for name in instruction.operands]
        if instruction.opcode == "parameter":
            value = arguments[instruction.parameter_number or 0]
        elif instruction.opcode == "constant":
            value = shorten(instruction.literal or "", LONGEST)
        elif instruction.opcode in RENAMING:
            value = operands[0]
        elif instruction.opcode == "tuple":
            value = tuple(operands)
        elif instruction.opcode == "get-tuple-element" and isinstance(operands[0], tuple):
            # Only a tuple that the fusion builds itself can be taken apart; the results of one operation stay one
            # value.
            value = operands[0][int(instruction.attributes["index"])]
        elif is_fusion(instruction):
            value = _follow(module, module.called(instruction)[0], operands, steps)
        else:
            # An operand that is used twice, as in a square, gets only one line.
            takes = tuple(dict.fromkeys(source for source in operands if isinstance(source, int)))
            reads = tuple(dict.fromkeys(source for source in operands if isinstance(source, str)))
            steps.append(FusionStep(instruction.opcode, takes, reads))
            value = len(steps) - 1
        values[instruction.name] = value
    return values[computation.root.name]


def _name(entry: Computation, name: str) -> str:
    """Return a value's name: its name in Python if it is a parameter or a copy of one, else its name in HLO."""
    instruction = entry.by_name[name]
    # Copies and bitcasts hide the name that a parameter has in Python.
    while instruction.opcode in {"bitcast", "copy-done", "copy-start"}:
        instruction = entry.by_name[instruction.operands[0]]
    return (instruction.op_name or instruction.name) if instruction.opcode == "parameter" else instruction.name


def draw_fusion(capture: Capture, name: str, call: str) -> str:
    """Return a picture of one fusion of the entry computation as HTML.

    Args:
        capture: The program on one target.
        name: The fusion's name.
        call: A short form of the program's code, plain text.
    """
    fusion = capture.module.entry.by_name[name]
    steps = list_fusion_steps(capture.module, fusion)
    kind = fusion.fusion_kind or ""
    centre = _find_centre(steps, kind)
    parts = [part for number, step in enumerate(steps) for part in _draw_step(number, step, is_centre=number == centre)]
    bottom = EDGE + len(steps) * STEP
    frame = f'<rect class="frame" x="{LEFT - 14}" y="1" width="{BOX + 60}" height="{bottom}" rx="8"/>'
    leaves = fusion.shape.plain if not fusion.shape.is_tuple else plural(len(fusion.shape.elements), "result")
    x = LEFT + BOX / 2
    out = (
        f'<path d="M{x} {bottom - STEP + HIGH}V{bottom + 16}" class="way"/><path d="M{x - 4} {bottom + 12}l4 5l4 -5"/>'
    )
    out += f'<text x="{x}" y="{bottom + 30}" class="middle">{html.escape(leaves)}</text>'
    emitter = custom_fusion_kind(fusion)
    tag = f"{kind} by {emitter}" if emitter else kind
    label = f"{tag} on {short(capture.target)}: {', '.join(step.opcode for step in steps)}"
    above = (
        f"<figcaption><b>{html.escape(tag)}</b> {html.escape(short(capture.target))}<br>"
        f"<code>{html.escape(call)}</code></figcaption>"
    )
    picture = svg(frame + "".join(parts) + out, label, (WIDTH, bottom + 36))
    return figure(f"inside {lane(capture.target)}", above + picture).rstrip()


def arrange_drawings(*drawings: str) -> str:
    """Return the HTML that shows drawings of fusions side by side if the screen is wide enough."""
    return f'<div class="gallery">{"".join(drawings)}</div>\n'


def _find_centre(steps: tuple[FusionStep, ...], kind: str) -> int | None:
    """Return the number of the first operation that a fusion of this kind is built around, or None."""
    centres = [number for number, step in enumerate(steps) if step.opcode in CENTRES.get(kind, ())]
    return centres[0] if centres else None


def _draw_step(number: int, step: FusionStep, *, is_centre: bool) -> list[str]:
    """Return the SVG elements of one operation: its box, its inputs from outside, and lines from boxes above it."""
    y = EDGE + number * STEP
    middle = y + HIGH / 2
    parts = []
    for source in step.takes:
        if source == number - 1:
            parts.append(f'<path class="way" d="M{LEFT + BOX / 2} {y - STEP + HIGH}V{y}"/>')
        else:
            # A straight line would cross the boxes in between, so the line bends to the right, further for longer
            # distances.
            start, out = EDGE + source * STEP + HIGH / 2, LEFT + BOX + 14 + 6 * (number - source - 2)
            right = LEFT + BOX
            parts.append(f'<path class="way" d="M{right} {start}H{out}V{middle - 4}H{right}"/>')
    if step.reads:
        sources = shorten(", ".join(step.reads), LONGEST)
        parts.append(
            f'<path class="way" d="M{LEFT - 26} {middle}H{LEFT}"/><path d="M{LEFT - 5} {middle - 4}l5 4l-5 4"/>'
        )
        parts.append(f'<text class="end" x="{LEFT - 30}" y="{middle + 3.5}">{html.escape(sources)}</text>')
    mark = ' class="centre"' if is_centre else ""
    parts.append(f'<rect{mark} x="{LEFT}" y="{y}" width="{BOX}" height="{HIGH}" rx="4"/>')
    parts.append(f'<text class="middle" x="{LEFT + BOX / 2}" y="{middle + 3.5}">{html.escape(step.opcode)}</text>')
    return parts
