"""A table that follows the expressions of a line of Python through every stage of compilation."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import find_expression, find_instructions, find_launch, is_fusion, read_operations
from xla_inspect.hlo import IDLE
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xla_inspect.analysis import Operation
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Module


def show_operations(capture: Capture, line: int) -> str:
    """Return an HTML table of the operations that one line of Python becomes at each stage of compilation.

    Args:
        capture: The program on one target.
        line: The number of the line in the file, from 1.
    """
    operations = [
        operation
        for operation in read_operations(capture.stablehlo_locations)
        if operation.frame and operation.frame.file == capture.source_file and operation.frame.line == line
    ]
    rows = []
    # One operation of the jaxpr may become several StableHLO operations, which share its name.
    for op_name in dict.fromkeys(operation.op_name for operation in operations):
        own = [operation for operation in operations if operation.op_name == op_name]
        expressions = dict.fromkeys(find_expression(capture, operation) for operation in own)
        rows.append(
            (
                "<br>".join(f"<b>{markdown.code(expression)}</b>" for expression in expressions),
                markdown.code(op_name.rpartition("/")[2]),
                _codes(operation.name.removeprefix("stablehlo.") for operation in own),
                _codes(_opcodes(capture, capture.unoptimized_module, own[0])),
                _places(capture, capture.module, own[0]),
            )
        )
    return markdown.cards(["Python", "jaxpr", "StableHLO", "HLO", "optimized HLO"], rows)


def _opcodes(capture: Capture, module: Module, operation: Operation) -> Iterator[str]:
    for instruction in find_instructions(capture, module, operation):
        if find_launch(module, instruction) is not None:
            yield instruction.opcode


def _places(capture: Capture, module: Module, operation: Operation) -> str:
    places: dict[str, list[str]] = {}
    for instruction in find_instructions(capture, module, operation):
        launch = find_launch(module, instruction)
        # A fusion carries the metadata of one operation inside it, which this loop visits too.
        if launch is None or is_fusion(instruction) or instruction.opcode in IDLE:
            continue
        places.setdefault(launch.name, []).extend([] if launch is instruction else [instruction.opcode])
    descriptions = (
        f"{_codes(inside)} in {markdown.code(name)}" if inside else markdown.code(name)
        for name, inside in places.items()
    )
    return "<br>".join(descriptions) or "removed"


def _codes(names: Iterable[str]) -> str:
    return ", ".join(
        markdown.code(name) + (f" x {times}" if times > 1 else "") for name, times in Counter(names).items()
    )
