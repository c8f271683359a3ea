"""A comparison of a jaxpr with its HLO: each equation with its instructions, matched by name and source line."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import find_launch, is_fusion, list_kernels, read_jaxpr_lines
from xla_inspect.hlo import IDLE
from xla_inspect.practice.tables import describe_opcodes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.analysis import Place
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.practice.equations import Equations

NONE = "no equation"
"""The label of the row for instructions that belong to no equation."""

RESHAPING = ("broadcast_in_dim", "broadcast", "reshape", "bitcast")
"""Primitives and opcodes that only repeat or reshape numbers."""

# The pattern matches the first line of an outer equation, which may continue on the lines below.
_EQUATION = re.compile(r"    \S.* = \S")


@dataclass(frozen=True, slots=True)
class JaxprRow:
    """The HLO instructions of one equation, or of several equations that cannot be distinguished.

    Attributes:
        equation: As in `r1 = sub pixels, 127.5`, several joined by `; `, or `NONE`.
        before: The instructions in the compiler's input.
        after: The instructions in the optimized module, inside and outside fusions.
    """

    equation: str
    before: tuple[Instruction, ...]
    after: tuple[Instruction, ...]


def set_beside(capture: Capture, equations: Equations) -> list[JaxprRow]:
    """Return a row per equation, in order, and a last row for the instructions without an equation.

    Equations and instructions are matched by the primitive's name and the Python line in an instruction's metadata.
    """
    places = [place for text, place in read_jaxpr_lines(capture.jaxpr_locations) if _EQUATION.match(text)]
    names: dict[tuple[str, Place], list[str]] = {}
    for (_, primitive, reads, makes, _), place in zip(equations.rows(), places, strict=True):
        # Two equal primitives on one line cannot be told apart in HLO, so they share a row.
        names.setdefault((primitive, place), []).append(f"{makes} = {primitive} {reads}")
    by_origin = [_sort(capture, module) for module in (capture.unoptimized_module, capture.module)]
    # Matched instructions are removed from the modules' tables, so only those without an equation remain.
    rows = [
        JaxprRow("; ".join(texts), *(tuple(module_origins.pop(key, ())) for module_origins in by_origin))
        for key, texts in names.items()
    ]
    # These are instructions that the compiler or JAX's lowering added, which have no equation to name.
    rest = (
        tuple(one for instructions in module_origins.values() for one in instructions) for module_origins in by_origin
    )
    return [*rows, JaxprRow(NONE, *rest)]


def _sort(capture: Capture, module: Module) -> dict[tuple[str, Place], list[Instruction]]:
    """Return the instructions by primitive and source line, without fusions, inner parameters and reducers' bodies."""
    by_origin: dict[tuple[str, Place], list[Instruction]] = {}
    for instruction in module.walk():
        if is_fusion(instruction) or find_launch(module, instruction) is None:
            continue
        # Parameters of inner computations only pass values on; those of ENTRY are the program's arguments.
        if instruction.opcode == "parameter" and instruction.computation != module.entry.name:
            continue
        # The innermost frame is the line that a jaxpr prints for the equation.
        frames = capture.frames.get(instruction.stack_frame or 0, ())[:1]
        place = next(((frame.file, frame.line) for frame in frames), None)
        # The last part of an op_name is the primitive; the parts before it are the scopes around it.
        by_origin.setdefault(((instruction.op_name or "").rpartition("/")[2], place), []).append(instruction)
    return by_origin


def tell_after(capture: Capture, instructions: Iterable[Instruction]) -> str:
    """Return the opcodes of optimized instructions that do work as text, by the kernel that contains them."""
    places: dict[str, list[str]] = {}
    for instruction in instructions:
        launch = find_launch(capture.module, instruction)
        if launch is not None and instruction.opcode not in IDLE:
            places.setdefault("" if launch is instruction else launch.name, []).append(instruction.opcode)
    descriptions = (f"{describe_opcodes(opcodes)}{name and f' in {name}'}" for name, opcodes in places.items())
    return "; ".join(descriptions) or "nothing"


def rows(capture: Capture, equations: Equations) -> list[tuple[str, str, str]]:
    """Return the rows of `set_beside` as texts: equation, instructions before, and those after with their kernels."""
    return [
        (row.equation, _count(instruction.opcode for instruction in row.before), tell_after(capture, row.after))
        for row in set_beside(capture, equations)
    ]


def _count(opcodes: Iterable[str]) -> str:
    counts = Counter(opcodes).items()
    return ", ".join(f"{number} {opcode}" if number > 1 else opcode for opcode, number in counts) or "nothing"


def count_by_stage(capture: Capture, equations: Equations) -> list[tuple[str, int, int, int]]:
    """Return a row per kind, such as inputs or kernels: its name, and its counts in three stages of the program.

    The stages are the jaxpr, the compiler's input, and the optimized module.
    """
    operands = [atom for equation in equations for atom in equation.invars]
    modules = [
        [
            instruction
            for instruction in module.walk()
            if not is_fusion(instruction)
            and (instruction.opcode != "parameter" or instruction.computation == module.entry.name)
        ]
        for module in (capture.unoptimized_module, capture.module)
    ]

    def count(*opcodes: str) -> tuple[int, int]:
        before, after = (sum(instruction.opcode in opcodes for instruction in module) for module in modules)
        return before, after

    primitives = equations.primitives
    layouts = [
        sum(instruction.shape.layout is not None and bool(instruction.shape.dimensions) for instruction in instructions)
        for instructions in modules
    ]
    return [
        ("equations, or instructions", len(equations), *map(len, modules)),  # type: ignore[list-item]  # of two
        ("inputs", len(equations.jaxpr.invars), *count("parameter")),
        ("numbers of the program", sum(hasattr(atom, "val") for atom in operands), *count("constant")),
        ("repeated or reshaped", sum(primitives[name] for name in RESHAPING), *count(*RESHAPING)),
        ("arrays with a layout", 0, *layouts),  # type: ignore[list-item]  # of two
        ("kernels", 0, 0, len(list_kernels(capture))),
    ]
