"""Where a line of Python went: its expressions, and what each became at every stage."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.hlo.provenance import find_expression, find_instructions, read_operations
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.hlo.module import Module
    from xla_inspect.hlo.record import Capture


def whereabouts(capture: Capture, line: int) -> str:
    """Return a table of the operations that one line of the program's file became.

    Args:
        capture: The program on one target.
        line: A line of the file, counted from one.
    """
    operations = [
        operation
        for operation in read_operations(capture.stablehlo_locations)
        if operation.frame and operation.frame.file == capture.source_file and operation.frame.line == line
    ]
    rows = []
    for op_name in dict.fromkeys(operation.op_name for operation in operations):
        own = [operation for operation in operations if operation.op_name == op_name]
        expression = next((find_expression(capture, operation.frame) for operation in own if operation.frame), "")
        rows.append(
            (
                f"<b>{markdown.code(expression)}</b>",
                markdown.code(op_name.rpartition("/")[2]),
                _codes(operation.name.removeprefix("stablehlo.") for operation in own),
                _codes(found.opcode for found in find_instructions(capture.unoptimized_module, op_name)),
                _places(capture.module, op_name),
            )
        )
    return markdown.cards(["Python", "jaxpr", "StableHLO", "HLO", "optimized HLO"], rows)


def _places(module: Module, op_name: str) -> str:
    callers = {called: instruction for instruction in module.walk() for called in instruction.called}
    places: dict[str, list[str]] = {}
    for found in find_instructions(module, op_name):
        caller = callers.get(found.computation)
        if caller is not None:
            places.setdefault(caller.name, []).append(found.opcode)
        elif not found.called:
            places.setdefault(found.name, [])
    said = (
        f"{_codes(inside)} in {markdown.code(name)}" if inside else markdown.code(name)
        for name, inside in places.items()
    )
    return "<br>".join(said) or "nothing left"


def _codes(names: Iterable[str]) -> str:
    return ", ".join(
        markdown.code(name) + (f" x {times}" if times > 1 else "") for name, times in Counter(names).items()
    )
