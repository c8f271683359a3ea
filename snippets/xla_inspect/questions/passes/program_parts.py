"""A program by its parts: operations by module and scope, lines that are there many times, arrays compiled in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING

from xla_inspect.analysis import join_alike, name_alike, name_part, read_op_scope, read_operations, read_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module

_LARGE = 1024
_REPEATS = 4

STAGES = ("equations", "operations", "before", "after")


@dataclass(frozen=True)
class ProgramPart:
    """One part of a program: a module or named scope, or a Python function where there is none.

    Attributes:
        path: Its name; parts that differ in numbers alone are counted together, as `block_*/mlp`.
        repeats: How many parts that is.
        equations: Equations of the jaxpr.
        operations: Operations of the StableHLO, those of a function that is called several times once.
        before: HLO instructions as the compiler gets them.
        after: HLO instructions in the optimized module.
    """

    path: str
    repeats: int
    equations: int
    operations: int
    before: int
    after: int


@dataclass(frozen=True)
class RepeatedLine:
    """A line of Python whose operations are there several times, as those of a loop that is unrolled.

    Attributes:
        place: The file and the line.
        times: How often.
        operations: How many StableHLO operations all of them are.
        text: The line.
    """

    place: str
    times: int
    operations: int
    text: str


@dataclass(frozen=True)
class LargeConstant:
    """An array of more than 1 KiB that is a part of the program.

    Attributes:
        type: Its element type and dimensions.
        bytes: Its size.
        place: The file and line that use or made it, or an empty string.
        origin: Whether the program closes over it, JAX made it, or the compiler computed it.
    """

    type: str
    bytes: int
    place: str
    origin: str


def count_parts(capture: Capture, depth: int) -> tuple[ProgramPart, ...]:
    """Return the parts of a capture's program, the largest first.

    Args:
        capture: The program on one target.
        depth: How many levels of scopes they are told apart by.
    """
    counts = {stage: Counter[str]() for stage in STAGES}
    for each in capture.equations:
        counts["equations"][name_part(read_scope(each.scope), each.function, depth)] += each.number
    for operation in read_operations(capture.stablehlo_locations):
        function = operation.frame.function if operation.frame else ""
        counts["operations"][name_part(read_op_scope(operation.op_name), function, depth)] += 1
    counts["before"].update(_name_instructions(capture, capture.unoptimized_module, depth))
    if capture.after:
        counts["after"].update(_name_instructions(capture, capture.module, depth))
    joined = join_alike(part for stage in STAGES for part in counts[stage])
    members = Counter(joined.values())
    totals = {stage: Counter[str]() for stage in STAGES}
    for stage in STAGES:
        for part, number in counts[stage].items():
            totals[stage][joined[part]] += number
    parts = [ProgramPart(path, number, *(totals[stage][path] for stage in STAGES)) for path, number in members.items()]
    return tuple(sorted(parts, key=lambda part: (-part.equations, -part.before, -part.after)))


def _name_instructions(capture: Capture, module: Module, depth: int) -> Iterator[str]:
    for instruction in module.walk():
        frames = capture.frames.get(instruction.stack_frame or 0, ())
        yield name_part(read_op_scope(instruction.op_name or ""), frames[0].function if frames else "", depth)


def list_repeats(capture: Capture) -> tuple[RepeatedLine, ...]:
    """Return the lines of the project whose operations are there at least four times over, the most operations first.

    A loop in Python makes them, or a function mapped over a tree. The first and the last round of a loop may have some
    more operations, or fewer, so that how often most of a line's are there is what counts.
    """
    lines: dict[tuple[str, int], Counter[tuple[str, int, int, int]]] = {}
    for operation in read_operations(capture.stablehlo_locations):
        frame = operation.frame
        # A constant is shared by several or made again, as it comes.
        if frame and frame.file in capture.sources and operation.name != "stablehlo.constant":
            kind = f"{operation.name} {name_alike(operation.op_name)}", frame.column, frame.end_line, frame.end_column
            lines.setdefault((frame.file, frame.line), Counter())[kind] += 1
    found = [
        RepeatedLine(f"{file}:{line}", times, numbers.total(), _read_line(capture, file, line))
        for (file, line), numbers in lines.items()
        if (times := median_low(numbers.values())) >= _REPEATS
    ]
    return tuple(sorted(found, key=lambda line: -line.operations))


def _read_line(capture: Capture, file: str, line: int) -> str:
    lines = capture.sources[file].splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def list_constants(capture: Capture) -> tuple[LargeConstant, ...]:
    """Return the large arrays that are a part of a program, the largest first: closed over, or made by a compiler."""
    closed = [
        LargeConstant(
            f"{each.dtype}{list(each.shape)}".replace(" ", ""),
            each.size,
            f"{each.file}:{each.line}" if each.file else "",
            "closed over",
        )
        for each in capture.constants
    ]
    given = _list_literals(capture.unoptimized_module)
    made = _list_literals(capture.module) if capture.after else []
    known = Counter((each.shape.dtype, each.shape.dimensions) for each in given)
    own = Counter((_short(each.dtype), each.shape) for each in capture.constants)
    found = []
    for literals, earlier, origin in ((given, own, "made by JAX"), (made, known, "computed by the compiler")):
        for literal in literals:
            key = literal.shape.dtype, literal.shape.dimensions
            if earlier[key]:
                earlier[key] -= 1
            else:
                frames = capture.frames.get(literal.stack_frame or 0, ())
                place = f"{frames[0].file}:{frames[0].line}" if frames else ""
                found.append(LargeConstant(literal.shape.plain, literal.shape.bytes, place, origin))
    return tuple(sorted((*closed, *found), key=lambda each: -each.bytes))


def _list_literals(module: Module) -> list[Instruction]:
    return [each for each in module.walk() if each.opcode == "constant" and each.shape.bytes > _LARGE]


def _short(dtype: str) -> str:
    """Return what HLO calls an element type of NumPy."""
    names = {"bool": "pred", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128"}
    short = dtype.replace("float", "f").replace("uint", "u").replace("int", "s") if dtype not in names else ""
    return names.get(dtype, short)
