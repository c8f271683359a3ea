"""The stack-frame tables in the header of a module: removed from its text, and read as call chains."""

from __future__ import annotations

import pytest

from xla_inspect import HloSyntaxError
from xla_inspect.hlo.frame_tables import read_frames, split

HEADER = "HloModule m\n\n"
TABLES = """FileNames
1 "a.py"
2 "b.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=4 column=0 end_column=4}
2 {file_name_id=2 function_name_id=1 line=5 end_line=5 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=3}
2 {file_location_id=2 parent_frame_id=1}

"""
BODY = "ENTRY %m { ROOT %x = f32[] parameter(0) }\n"


def test_frame_tables_are_removed_from_the_text() -> None:
    assert split(HEADER + TABLES + BODY) == (TABLES, HEADER + BODY)


def test_a_text_without_tables_stays_as_it_is() -> None:
    assert split(HEADER + BODY) == ("", HEADER + BODY)


def test_a_chain_goes_from_the_innermost_frame_outwards_in_the_order_of_the_table() -> None:
    chains = read_frames(TABLES)
    places = {key: [(frame.file, frame.line, frame.column) for frame in chain] for key, chain in chains.items()}
    assert places == {1: [("a.py", 3, 1), ("b.py", 5, 2)], 2: [("b.py", 5, 2)]}
    assert list(chains) == [1, 2]


def test_callers_are_found_with_zero_based_and_one_based_numbers() -> None:
    """libtpu 0.0.34 writes zero-based numbers of callers, which give the same call chains."""
    as_they_are = TABLES.replace("parent_frame_id=1", "parent_frame_id=0").replace(
        "parent_frame_id=3", "parent_frame_id=2"
    )
    assert read_frames(as_they_are) == read_frames(TABLES)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("line=3", "line=three", "expected a row of FileLocations"),
        ("file_location_id=2", "file_location_id=7", "FileLocations has no row 7"),
        ("2 {file_location_id=2 parent_frame_id=1}", "2 {file_location_id=2 parent_frame_id=2}", "is its own caller"),
    ],
)
def test_inconsistent_frame_tables_are_rejected(old: str, new: str, message: str) -> None:
    with pytest.raises(HloSyntaxError, match=message):
        read_frames(TABLES.replace(old, new))
