"""Suggestions for misspelled names, files and subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.spelling import list_nearest, respell_subject, suggest_file, suggest_name

if TYPE_CHECKING:
    from pathlib import Path


def test_the_closest_name_is_suggested_whatever_its_case_and_dashes() -> None:
    assert suggest_name("all_Gather", ("all-reduce", "all-gather")) == "did you mean 'all-gather'?"
    assert list_nearest("kernls", ("summary", "kernels", "kernel_of"), 2) == ["kernels", "kernel_of"]


def test_all_names_are_listed_if_none_is_close() -> None:
    assert suggest_name("zzz", ("peak", "copies")) == "there are peak, copies"
    assert suggest_name("zzz", (), "it has") == "it has none"
    assert suggest_name("zzz", ("a", "b", "c"), most=2) == "there are a, b and 1 more"
    assert suggest_name("plan_b", ("a", "b", "plan_a"), most=2) == "did you mean 'plan_a'?"


def test_a_file_next_to_the_missing_one_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "model.py").touch()
    assert suggest_file(tmp_path / "modl.py") == f"; did you mean {tmp_path / 'model.py'}?"
    assert suggest_file(tmp_path / "zzz.toml") == ""
    assert suggest_file(tmp_path / "sub" / "model.py") == f"; there is no folder {tmp_path / 'sub'}"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("model.py::layer", "model.py:layer"),
        ("model.py:layer()", "model.py:layer"),
        ("model.py:layer(x, y)", "model.py:layer"),
        ("model.py.layer", "model.py:layer"),
        ("model.py/layer", "model.py:layer"),
        ("package.model.layer", "package.model:layer"),
        ("model.py:Net.forward", "model.py:Net.forward"),
        ("model.py", "model.py"),
        ("layer", "layer"),
    ],
)
def test_a_subject_in_another_form_is_respelled(typed: str, expected: str) -> None:
    assert respell_subject(typed) == expected
