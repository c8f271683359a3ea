"""The explorer in a browser marks the passes that change bits, and the modules that did not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from programs import rounding_error
from xla_inspect import Captures, capture_all, numbers
from xla_inspect.questions.numbers import describe_marks

from .test_access import judge

if TYPE_CHECKING:
    from .conftest import Show

pytestmark = pytest.mark.usefixtures("all_targets")

VECTOR = jax.ShapeDtypeStruct((1024,), jnp.float32)
NAME = "simplify-fp-conversions"
MARKED = "return [...root.querySelectorAll('[role=option]:has(.bits)')].map(it => it.innerText.split('\\n'))"


@pytest.fixture(scope="module")
def rounded() -> tuple[Captures, dict[str, Any]]:
    """The captures of a rounding error for two targets, and the marks on their passes."""
    captures = capture_all(rounding_error.rounding_error, VECTOR, targets=("cpu", "h100"))
    return captures, {target: describe_marks(numbers(capture)) for target, capture in captures.items()}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_a_pass_that_changes_bits_has_a_mark_in_colour_and_words(
    show: Show, rounded: tuple[Captures, dict[str, Any]], width: int, scheme: str
) -> None:
    captures, marks = rounded
    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    opened = show(captures, f"x=report&target=h100&view=passes&pass={NAME}", numbers=marks, **look)
    [[name, *_, words]] = opened.inside(MARKED)
    assert (name, words) == (NAME, "changes bits: relative error 1")
    assert opened.page.get_by_role("option", name="changes bits: relative error 1").count() == 1
    assert "It changes bits of output 0: relative error 1, absolute 0.0" in opened.page.locator(".detail").inner_text()
    assert "begins at sub.1 rounding_error.py:" in opened.page.locator(".detail .bits").inner_text()
    colours = (
        "['.bits', 'small:not(.bits)'].map(it => getComputedStyle(root.querySelector(`[role=option] ${it}`)).color)"
    )
    assert len(set(opened.inside(f"return {colours}"))) == 2
    assert judge(opened.page, "html") == []
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.page.get_by_role("listbox").press("Home")
    assert "On a real NVIDIA H100, there may be further differences" in opened.page.locator(".detail").inner_text()
    assert opened.page.locator(".detail .bits").count() == 0
    opened.choose("cpu")
    assert opened.inside(MARKED) == []
    assert "no pass changes a bit of the results" in opened.page.locator(".detail").inner_text()


def test_modules_that_did_not_run_are_marked_with_the_reason(show: Show) -> None:
    table = jnp.asarray(np.random.default_rng(0).standard_normal(1024))
    captures = capture_all(lambda x: jnp.tanh(x) + table, VECTOR, targets=("cpu",))
    opened = show(
        captures, "x=report&target=cpu&view=passes&pass=0", numbers={"cpu": describe_marks(numbers(captures["cpu"]))}
    )
    states = opened.inside(MARKED)
    assert len(states) == opened.page.locator("[role=option]").count() > 1
    assert {state[-1] for state in states} == {"not run"}
    detail = opened.page.locator(".detail").inner_text()
    assert "no module ran, so nothing is compared" in detail
    assert "The reason for the first of" in detail
    assert "is not in the capture" in detail


def test_a_report_without_numbers_says_nothing_about_them(show: Show, rounded: tuple[Captures, dict[str, Any]]) -> None:
    opened = show(rounded[0], "x=report&target=h100&view=passes&pass=0")
    assert opened.inside(MARKED) == []
    assert opened.page.locator(".detail > p").count() == 1
