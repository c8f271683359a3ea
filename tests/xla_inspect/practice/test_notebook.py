"""Notebook output as portable Markdown, and complete exercises."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import Captures, capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.errors import InspectError
from xla_inspect.practice import notebook
from xla_inspect.practice.marking.exercises import EXERCISES, Exercise

X = jax.ShapeDtypeStruct((8, 4), jnp.float32)


def shown(piece: notebook.Shown) -> str:
    """Return the Markdown that IPython displays for a piece of output."""
    return piece._repr_markdown_()


def test_a_table_shows_text_as_it_is_and_numbers_to_the_right() -> None:
    assert shown(notebook.table(["name", "count"], [("a|b *c*", 3), ("d_e", 4000)])) == (
        "| name | count |\n| --- | --: |\n| a&#124;b &#42;c&#42; | 3 |\n| d&#95;<wbr>e | 4,000 |\n"
    )


def test_a_listing_is_safe_against_fences_inside_it() -> None:
    assert shown(notebook.listing("```\nROOT", "hlo")) == "````hlo\n```\nROOT\n````\n"


def test_a_missing_target_gives_its_reason() -> None:
    results = capture_all(jnp.sin, X, targets=("cpu",))
    captures = Captures(dict(results), {"h100": "no <compiler>"}, ("cpu", "h100"))
    gap = '<p class="gap" data-target="h100">NVIDIA H100: not compiled here: no &#60;compiler&#62;</p>'
    count_table = shown(notebook.across(captures, lambda one: len(list_kernels(one)), "kernels"))
    assert count_table == f"| compiled for | kernels |\n| --- | --: |\n| CPU | 1 |\n\n{gap}\n"
    assert gap in shown(notebook.entries(captures))
    assert "// CPU\nENTRY" in shown(notebook.entries(captures))


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda each: each.key)
def test_an_exercise_is_shown_with_its_open_places_only(exercise: Exercise) -> None:
    html = notebook.starter(exercise)
    assert html.count("TODO(human)") >= len(exercise.places)
    assert "HINTS" not in html
    assert exercise.title not in html
    compile(html, exercise.name, "exec")


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda each: each.key)
def test_only_the_written_part_of_a_solution_is_shown(exercise: Exercise) -> None:
    """Together with the starter code, the shown part of a solution compiles as a program."""
    html = notebook.extract_solution(exercise)
    assert [place.name for place in exercise.places if place.name not in html] == []
    assert "NotImplementedError" not in html
    assert len(html) < len(notebook.without_docstring(exercise.solution_text)) or exercise.phase == "capstone"
    compile(f"{notebook.starter(exercise)}\n\n{html}", exercise.name, "exec")


def test_no_such_exercise_names_those_there_are() -> None:
    with pytest.raises(InspectError, match=r"no exercise 'basics/none'; there are basics/mlp, "):
        notebook.find_exercise("basics/none")


def test_the_pairs_run_on_the_side_of_jax() -> None:
    text = shown(notebook.pairs())
    assert text.count("JAX, run now:") == 3
    assert "tensor(30.)" in text
    assert "Array(30., dtype=float32, weak_type=True)" in text
