"""Lookup of instructions, lines, variables, arguments and JAX names, with suggestions for unknown ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import capture
from xla_inspect.analysis import Histories, find_lines
from xla_inspect.errors import InspectError
from xla_inspect.questions.why.name_lookup import Selection, Selector


def step(x: jax.Array, w: jax.Array) -> jax.Array:
    total = jnp.sum(
        x,
        axis=0,
    )
    quotient = x / 1.0
    return jnp.tanh(quotient @ w) * total[:1]


@cache
def selector() -> Selector:
    shape = jax.ShapeDtypeStruct((32, 32), jnp.float32)
    program = capture(step, shape, shape)
    return Selector(program, find_lines(program, program.module), Histories(program))


def select(what: str) -> Selection:
    return selector().select(what)


def number(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(at for at, line in enumerate(lines, 1) if line.strip() == text)


@pytest.mark.parametrize("form", ["{}", "%{}"])
def test_an_instruction_is_found_by_its_name(form: str) -> None:
    name = selector().capture.module.entry.root.name
    selection = select(form.format(name))
    assert (selection.is_one, [instruction.name for instruction in selection.instructions]) == (True, [name])


@pytest.mark.parametrize("form", ["{}", ":{}", "test_name_lookup.py:{}", "why/test_name_lookup.py:{}"])
def test_a_line_selects_all_instructions_made_from_it(form: str) -> None:
    selection = select(form.format(number("total = jnp.sum(")))
    assert "reduce" in {instruction.opcode for instruction in selection.instructions}
    assert not selection.is_one


def test_a_variable_selects_the_lines_that_assign_it() -> None:
    first = number("total = jnp.sum(")
    assert [line for _, line in select("total").lines] == [first, first + 1, first + 2, first + 3]


def test_a_line_without_remaining_instructions_lists_the_removed_ones() -> None:
    selection = select("quotient")
    assert {removal.opcode for removal in selection.removed} >= {"divide"}


def test_an_opcode_selects_all_of_its_instructions() -> None:
    assert {instruction.opcode for instruction in select("reduce").instructions} == {"reduce"}


def test_an_argument_and_a_name_of_jax_are_found() -> None:
    assert [instruction.opcode for instruction in select("w").instructions] == ["parameter"]
    assert {instruction.opcode for instruction in select("tanh").instructions} >= {"tanh"}


def test_the_result_of_an_earlier_instruction_is_found() -> None:
    former = next(division for division in selector().capture.unoptimized_module.walk() if division.opcode == "divide")
    assert [division.opcode for division in select(former.name).removed] == ["divide"]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("tanhh", "the nearest are"),
        ("1", "the nearest lines with instructions:\n  test_name_lookup.py:"),
        ("other.py:3", "no instruction comes from a file 'other.py'"),
        ("%", "the name is empty"),
    ],
)
def test_an_unknown_name_is_reported_with_the_nearest_one(what: str, message: str) -> None:
    with pytest.raises(InspectError) as caught:
        select(what)
    assert message in str(caught.value)
