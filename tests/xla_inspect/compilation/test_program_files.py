"""The programs of a file: one function, several named ones, or one with several shardings."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from xla_inspect import InspectError
from xla_inspect.compilation.program_files import Member, find_function, list_defined_names, list_program_members

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = (1.0,)


def own(x: float) -> float:
    return x


def other(x: float) -> float:
    return x


def module(**names: Any) -> ModuleType:  # noqa: ANN401 - whatever a file defines
    module = ModuleType("own")
    vars(module).update(__file__="own.py", **names)
    return module


def test_a_file_offers_the_function_of_its_name_with_its_example() -> None:
    assert list_program_members(module(own=own, other=other, EXAMPLE=EXAMPLE), "own") == {"": Member("", own, EXAMPLE)}


def test_every_capture_gets_the_options_of_its_file() -> None:
    arguments = {"donate_argnums": 0}
    assert list_program_members(module(own=own, EXAMPLE=EXAMPLE, ARGUMENTS=arguments), "own")[""].arguments == arguments
    several = module(PROGRAMS={"one": (own, EXAMPLE)}, ARGUMENTS=arguments)
    assert list_program_members(several, "own")["one"].arguments == arguments


def test_layouts_are_the_same_function_with_other_shardings() -> None:
    layouts = {"data": {"mesh": {"x": 8}}}
    members = list_program_members(module(own=own, EXAMPLE=EXAMPLE, LAYOUTS=layouts), "own")
    assert members == {"": Member("", own, EXAMPLE), "data": Member("data", own, EXAMPLE, layouts["data"])}


def test_programs_are_offered_by_name_each_for_its_targets() -> None:
    programs = {
        "one": (own, EXAMPLE),
        "two": SimpleNamespace(function=other, example=EXAMPLE, arguments={"mesh": {"x": 8}}),
    }
    assert list_program_members(module(PROGRAMS=programs, ONLY={"one": ("cpu",)}), "own") == {
        "one": Member("one", own, EXAMPLE, only=("cpu",)),
        "two": Member("two", other, EXAMPLE, {"mesh": {"x": 8}}),
    }


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"other": other, "EXAMPLE": EXAMPLE}, "own.py has no function 'own'; it has other"),
        ({"EXAMPLE": EXAMPLE}, "own.py has no function 'own'; it has none"),
        ({"own": own}, "own.py does not say with which arguments: let EXAMPLE be a tuple"),
        ({"own": own, "EXAMPLE": [1.0]}, "let EXAMPLE be a tuple"),
    ],
)
def test_a_missing_part_is_reported(names: dict[str, Any], message: str) -> None:
    with pytest.raises(InspectError, match=message):
        find_function(module(**names), "own")


def test_names_are_read_without_running_the_file(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("raise ValueError\nEXAMPLE = A = (1,)\nB: int = 2\ndef own(x):\n    C = 3\n", encoding="utf-8")
    assert list_defined_names(file) == {"EXAMPLE", "A", "B", "own"}
