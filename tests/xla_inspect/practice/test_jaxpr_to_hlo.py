"""Each equation of a jaxpr is listed next to the instructions made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect import capture
from xla_inspect.practice import jaxpr_to_hlo, models
from xla_inspect.practice.equations import Equations

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

PROGRAMS = {
    "classify": (models.classify, models.PARAMS, models.X),
    "wasteful": (models.wasteful, models.PARAMS, models.X),
    "decay": (models.decay, models.shape(1024, 256)),
    "doubled": (models.doubled, models.shape(4)),
}
CLASSIFY = PROGRAMS["classify"]
OPCODES = {
    "sub": "subtract",
    "div": "divide",
    "dot_general": "dot",
    "broadcast_in_dim": "reshape",
    "add": "add",
    "max": "maximum",
}


def show(name: str) -> tuple[Capture, list[jaxpr_to_hlo.JaxprRow]]:
    program = capture(*PROGRAMS[name])
    return program, jaxpr_to_hlo.set_beside(program, Equations(*PROGRAMS[name]))


def test_the_instruction_of_an_equation_is_of_its_operation_and_of_as_many_columns() -> None:
    equations = [*Equations(*CLASSIFY)]
    _, capture = show("classify")
    assert len(capture) == len(equations) + 1
    for equation, row in zip(equations, capture, strict=False):
        assert f" = {equation.primitive.name} " in row.equation
        # What only prepares an operand comes before it.
        last = row.before[-1]
        assert (last.opcode, last.shape.dimensions) == (
            OPCODES[equation.primitive.name],
            equation.outvars[0].aval.shape,
        )


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_instruction_is_listed_exactly_once(name: str) -> None:
    capture, rows = show(name)
    names = [instruction.name for row in rows for instruction in row.before]
    assert sorted(names) == sorted(entry.name for entry in capture.unoptimized_module.entry)


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_instruction_without_an_equation_has_no_primitive(name: str) -> None:
    last = show(name)[1][-1]
    assert last.equation == jaxpr_to_hlo.NONE
    assert {before.opcode for before in last.before} <= {"parameter", "constant", "broadcast"}


def test_equations_with_the_same_line_and_primitive_are_grouped() -> None:
    _, capture = show("wasteful")
    assert "r12 = neg r11; r13 = neg r12" in [row.equation for row in capture]


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(("target", "matmul"), [("cpu", "dot"), ("h100", "dot"), ("tpu-v5e", "convolution")])
def test_remaining_instructions_are_listed_with_their_kernel(target: str, matmul: str) -> None:
    program = capture(*CLASSIFY, target=target)
    table = jaxpr_to_hlo.rows(program, Equations(*CLASSIFY))
    after = [text for _, _, text in table]
    # The difference becomes a sum with a negative number, and the quotient a multiplication by a reciprocal.
    assert after[0].startswith("add in ")
    assert after[1].startswith("multiply in ")
    assert after[2].startswith(f"{matmul} in ")
    # One row of numbers is the same whether it is called a row or not.
    assert after[3] == "nothing"


def test_all_stages_are_counted_by_the_same_rule() -> None:
    counts = {name: numbers for name, *numbers in jaxpr_to_hlo.count_by_stage(capture(*CLASSIFY), Equations(*CLASSIFY))}
    assert counts["equations, or instructions"][:2] == [9, 24]
    assert counts["inputs"] == [5, 5, 5]
    assert counts["numbers of the program"] == [3, 2, 3]
    assert counts["repeated or reshaped"] == [2, 10, 5]
    assert counts["kernels"] == [0, 0, 5]
