"""The size of a program by its parts: operations by module and scope, lines with many copies, and embedded arrays."""

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
    """One part of a program: a module or named scope, or a Python function if there is none.

    Attributes:
        path: Its name. Parts whose names differ only in numbers are counted together, such as `block_*/mlp`.
        repeats: The number of parts with this path.
        equations: Equations of the jaxpr.
        operations: Operations of the StableHLO. A function that is called several times counts once.
        before: HLO instructions in the unoptimized module.
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
    """A line of Python with several copies of its operations, such as the body of an unrolled loop.

    Attributes:
        place: The file and the line.
        times: The number of copies.
        operations: The number of StableHLO operations in all copies.
        text: The source text of the line.
    """

    place: str
    times: int
    operations: int
    text: str


@dataclass(frozen=True)
class LargeConstant:
    """An array of more than 1 KiB that is embedded in the program.

    Attributes:
        type: Its element type and dimensions.
        bytes: Its size.
        place: The file and line that use or create it, or an empty string.
        origin: `closed over` by the function, `made by JAX`, or `computed by the compiler`.
    """

    type: str
    bytes: int
    place: str
    origin: str


def count_parts(capture: Capture, depth: int) -> tuple[ProgramPart, ...]:
    """Return the parts of a capture's program with their numbers of operations at each stage, the largest first.

    Args:
        capture: The program on one target.
        depth: The number of levels of named scopes that separate parts.
    """
    counts = {stage: Counter[str]() for stage in STAGES}
    for equation in capture.equations:
        counts["equations"][name_part(read_scope(equation.scope), equation.function, depth)] += equation.number
    for operation in read_operations(capture.stablehlo_locations):
        # An operation without a named scope is counted for its Python function.
        function = operation.frame.function if operation.frame else ""
        counts["operations"][name_part(read_op_scope(operation.op_name), function, depth)] += 1
    counts["before"].update(_name_instructions(capture, capture.unoptimized_module, depth))
    if capture.after:
        counts["after"].update(_name_instructions(capture, capture.module, depth))
    # Numbered layers are one part, so that the table stays short for deep models.
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
    """Return the lines of the user's files with at least four copies of their operations, the most operations first.

    Such copies come from a Python loop or from a function that is mapped over a tree. The first and the last iteration
    of a loop may have more or fewer operations, so the count is the median over the line's operations.
    """
    lines: dict[tuple[str, int], Counter[tuple[str, int, int, int]]] = {}
    for operation in read_operations(capture.stablehlo_locations):
        frame = operation.frame
        # Copies may share a constant or have their own, so constants would distort the count.
        if frame and frame.file in capture.sources and operation.name != "stablehlo.constant":
            # The columns separate several operations of one kind on the same line.
            kind = f"{operation.name} {name_alike(operation.op_name)}", frame.column, frame.end_line, frame.end_column
            lines.setdefault((frame.file, frame.line), Counter())[kind] += 1
    repeats = [
        RepeatedLine(f"{file}:{line}", times, numbers.total(), _read_line(capture, file, line))
        for (file, line), numbers in lines.items()
        if (times := median_low(numbers.values())) >= _REPEATS
    ]
    return tuple(sorted(repeats, key=lambda line: -line.operations))


def _read_line(capture: Capture, file: str, line: int) -> str:
    lines = capture.sources[file].splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def list_constants(capture: Capture) -> tuple[LargeConstant, ...]:
    """Return the arrays of more than 1 KiB that are embedded in a program, each with its origin, largest first."""
    closed = [
        LargeConstant(
            f"{constant.dtype}{list(constant.shape)}".replace(" ", ""),
            constant.size,
            f"{constant.file}:{constant.line}" if constant.file else "",
            "closed over",
        )
        for constant in capture.constants
    ]
    unoptimized = _list_literals(capture.unoptimized_module)
    optimized = _list_literals(capture.module) if capture.after else []
    # A literal that an earlier stage already has counts there, so only the new ones of each stage remain.
    from_program = Counter((instruction.shape.dtype, instruction.shape.dimensions) for instruction in unoptimized)
    # JAX and HLO have different names for the element types.
    from_user = Counter((_short(constant.dtype), constant.shape) for constant in capture.constants)
    constants = []
    for literals, earlier, origin in (
        (unoptimized, from_user, "made by JAX"),
        (optimized, from_program, "computed by the compiler"),
    ):
        for literal in literals:
            key = literal.shape.dtype, literal.shape.dimensions
            if earlier[key]:
                earlier[key] -= 1
            else:
                frames = capture.frames.get(literal.stack_frame or 0, ())
                place = f"{frames[0].file}:{frames[0].line}" if frames else ""
                constants.append(LargeConstant(literal.shape.plain, literal.shape.bytes, place, origin))
    return tuple(sorted((*closed, *constants), key=lambda constant: -constant.bytes))


def _list_literals(module: Module) -> list[Instruction]:
    return [
        instruction
        for instruction in module.walk()
        if instruction.opcode == "constant" and instruction.shape.bytes > _LARGE
    ]


def _short(dtype: str) -> str:
    """Return HLO's name for an element type of NumPy, such as `f32` for `float32`."""
    names = {"bool": "pred", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128"}
    # `uint` is replaced before `int`, which it contains.
    short = dtype.replace("float", "f").replace("uint", "u").replace("int", "s") if dtype not in names else ""
    return names.get(dtype, short)
