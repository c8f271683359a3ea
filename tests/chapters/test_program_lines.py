"""Lines of a page's program: changed in place, and found by their text."""

from __future__ import annotations

import pytest

from chapters.program_lines import change_line, find_on_line, list_kernels_of_lines
from programs import layer, remember
from xla_inspect import capture
from xla_inspect.analysis import list_kernels


def test_a_changed_line_takes_effect_and_other_lines_keep_their_numbers() -> None:
    changed_function = change_line(remember.remember, "z / 16", "z - 16")
    before, after = (
        capture(function, *remember.EXAMPLE, passes=False) for function in (remember.remember, changed_function)
    )
    assert (after.program, after.source) == (before.program, before.source)
    assert find_on_line(before, "z = z / 16", "divide")
    assert not find_on_line(after, "z = z / 16", "divide")
    assert len(find_on_line(after, "z = z / 16", "subtract")) == 1
    assert find_on_line(after, "alike = ", "dot") == find_on_line(before, "alike = ", "dot")


def test_a_program_itself_stays_as_it_is() -> None:
    function = remember.remember
    assert change_line(function, "z / 16", "z / 10") is not function
    assert remember.remember is function


@pytest.mark.parametrize(("old", "new"), [("not there", "x"), ("z", "x"), ("y = x @ w", "y = x @ w\n    y = y + 1")])
def test_an_ambiguous_or_missing_text_is_rejected(old: str, new: str) -> None:
    with pytest.raises(ValueError, match="must occur once in remember, and it occurs"):
        change_line(remember.remember, old, new)


def test_the_kernels_of_a_line_are_those_that_compute_a_part_of_it() -> None:
    program = capture(layer.layer, *layer.EXAMPLE, target="cpu", passes=False)
    names = [kernel.name for kernel in list_kernels(program)]
    assert list_kernels_of_lines(program, "return jax.nn.relu") == tuple(names)
    step = capture(remember.remember, *remember.EXAMPLE, target="cpu", passes=False)
    (first,) = list_kernels_of_lines(step, "y = x @ w")
    (last,) = list_kernels_of_lines(step, "alike = ")
    assert first != last
    assert not {first, last} & set(list_kernels_of_lines(step, "mean = ", "std = ", "z = (y"))
    with pytest.raises(ValueError, match="no line of"):
        list_kernels_of_lines(step, "not there")
