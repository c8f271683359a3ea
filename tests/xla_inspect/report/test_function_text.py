"""A page shows the functions of a program without the rest of their file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import jax
import pytest

from programs import fusible, softmax, transformer_block
from xla_inspect.report import views
from xla_inspect.report.function_text import find_excerpts

if TYPE_CHECKING:
    from xla_inspect.captured import Captures


def test_a_capture_shows_its_function_and_folds_its_file(captures: Captures) -> None:
    listing, whole = views.show_function(captures["cpu"]).split("??? listing")
    assert listing.startswith('```python title="')
    assert "def layer(" in listing
    assert "EXAMPLE" not in listing
    assert whole.startswith(' "The whole file, ')
    assert "EXAMPLE" in whole


def test_functions_of_one_file_share_a_listing_in_file_order() -> None:
    [excerpt] = find_excerpts(fusible.moments, fusible.double_and_add)
    assert excerpt.file == "snippets/programs/fusible.py"
    assert [line for line in excerpt.text.splitlines() if line.startswith("def ")] == [
        "def double_and_add(x: jax.Array) -> jax.Array:",
        "def moments(x: jax.Array) -> tuple[jax.Array, jax.Array]:",
    ]


def test_functions_called_in_the_same_file_are_shown() -> None:
    [excerpt] = find_excerpts(transformer_block.transformer_block)
    assert [name for name in ("def normalize(", "def attend(", "def weight(") if name in excerpt.text] == [
        "def normalize(",
        "def attend(",
    ]


def test_functions_of_several_files_have_a_listing_each() -> None:
    files = [excerpt.file for excerpt in find_excerpts(softmax.softmax, fusible.fence)]
    assert files == ["snippets/programs/softmax.py", "snippets/programs/fusible.py"]


def test_a_wrapped_function_is_unwrapped() -> None:
    plain = find_excerpts(softmax.softmax)
    assert find_excerpts(jax.jit(softmax.softmax)) == plain
    assert find_excerpts(partial(softmax.softmax)) == plain


def test_a_missing_function_raises_an_error_with_its_name() -> None:
    def inner() -> None:
        """Nothing."""

    with pytest.raises(ValueError, match=r"test_function_text\.py has no function inner"):
        views.show_function(inner)
