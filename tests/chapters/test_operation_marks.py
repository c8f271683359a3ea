"""The operations of a function in its source, and the part of the source that a page shows."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest

from chapters.operation_marks import find_marks, show_marked
from programs import softmax
from xla_inspect import capture_all

if TYPE_CHECKING:
    from xla_inspect.captured import Captures


@pytest.fixture(scope="module")
def one() -> Captures:
    return capture_all(softmax.softmax, *softmax.EXAMPLE, targets=("cpu",))


def test_an_operation_is_named_by_what_is_called_or_by_its_operator(one: Captures) -> None:
    lines = one["cpu"].source.splitlines()
    marks = find_marks(one)
    marked_texts = [lines[mark.line - 1][mark.start : mark.end] for mark in marks]
    assert marked_texts == ["jnp.exp", "-", "jnp.max", "/", "jnp.sum"]
    assert [mark.number for mark in marks] == [1, 2, 3, 4, 5]
    assert marks[2].expression == "jnp.max(x, axis=-1, keepdims=True)"


def test_the_function_is_shown_without_its_docstring_and_word_for_word(one: Captures) -> None:
    page = show_marked(one["cpu"], find_marks(one), "softmax")
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    source_lines = [line for line in one["cpu"].source.splitlines() if line.startswith(("def softmax", "    "))]
    assert text.strip().splitlines() == [line for line in source_lines if '"""' not in line and "print(" not in line]


def test_a_line_names_all_of_its_operations(one: Captures) -> None:
    html = show_marked(one["cpu"], find_marks(one), "softmax")
    assert re.findall(r'class="line" data-of="([\d ]+)" tabindex="0"', html) == ["1 2 3", "4 5"]
    assert re.findall(r'class="operation c(\d)" data-of="(\d)"', html) == [(str(n), str(n + 1)) for n in range(5)]


def test_no_line_breaks_at_a_hyphen(one: Captures) -> None:
    html = show_marked(one["cpu"], find_marks(one), "softmax")
    assert re.findall(r'<span class="whole">([^<]*)</span>', html)[:2] == ["-&#62;", "axis=-1"]


def test_a_function_that_is_not_in_the_file_is_refused(one: Captures) -> None:
    with pytest.raises(ValueError, match="has no function hardmax"):
        show_marked(one["cpu"], (), "hardmax")
