"""Progress is stored by folder, and a damaged file does no harm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from planting import BY_KEY

from xla_inspect.practice.marking.logbook import Logbook
from xla_inspect.practice.marking.verdict import RIGHT, WRONG

MLP, DONATE = BY_KEY["basics/mlp"], BY_KEY["hlo/donate"]


def test_a_right_exercise_stays_right_until_it_is_marked_wrong(tmp_path: Path) -> None:
    Logbook(tmp_path).note(MLP, RIGHT)
    assert (Logbook(tmp_path).is_right(MLP), Logbook(tmp_path).is_right(DONATE)) == (True, False)
    Logbook(tmp_path).note(MLP, WRONG)
    assert not Logbook(tmp_path).is_right(MLP)


def test_a_changed_file_is_not_right_until_its_right_text_is_restored(folder: Path) -> None:
    logbook, exercise = Logbook(folder), replace(MLP, folder=folder)
    original = exercise.file.read_text(encoding="utf-8")
    logbook.note(exercise, RIGHT)
    exercise.file.write_text(f"{original}\n", encoding="utf-8")
    assert (logbook.find_state(exercise), logbook.is_right(exercise)) == ("changed", False)
    exercise.file.write_text(original, encoding="utf-8")
    assert logbook.is_right(exercise)
    exercise.file.unlink()
    assert not logbook.is_right(exercise)


def test_an_exercise_with_a_right_cell_is_right_whatever_its_file_contains(folder: Path) -> None:
    logbook, exercise = Logbook(folder), replace(MLP, folder=folder)
    logbook.note(exercise, RIGHT, cell=True)
    exercise.file.write_text("", encoding="utf-8")
    assert logbook.is_right(exercise)


def test_hints_and_marks_of_an_exercise_do_not_disturb_each_other(tmp_path: Path) -> None:
    logbook = Logbook(tmp_path)
    logbook.note_hints(DONATE, 2)
    logbook.note(DONATE, RIGHT)
    assert (logbook.count_hints(DONATE), logbook.is_right(DONATE)) == (2, True)


def test_missed_predictions_are_stored_until_they_are_asked_again(tmp_path: Path) -> None:
    logbook = Logbook(tmp_path)
    logbook.note_prediction("basics/traces", missed=False)
    assert not logbook.file.exists()
    logbook.note_prediction("hlo/kernels", missed=True)
    logbook.note_prediction("basics/traces", missed=True)
    logbook.note(MLP, RIGHT)
    assert sorted(Logbook(tmp_path).missed) == ["basics/traces", "hlo/kernels"]
    logbook.note_prediction("basics/traces", missed=False)
    assert (Logbook(tmp_path).missed, Logbook(tmp_path).is_right(MLP)) == (["hlo/kernels"], True)


def test_a_projects_logbook_is_in_an_ignored_folder_and_separate_by_folder(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    mine, yours = Logbook(tmp_path / "mine"), Logbook(tmp_path / "yours")
    mine.note(MLP, RIGHT)
    assert mine.file == yours.file == tmp_path / ".practice" / "progress.json"
    assert (mine.is_right(MLP), yours.is_right(MLP)) == (True, False)
    yours.note(DONATE, RIGHT)
    assert mine.is_right(MLP)
    ignored = (Path(__file__).parents[3] / ".gitignore").read_text(encoding="utf-8").split()
    assert f"/{mine.file.parent.name}/" in ignored


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{".": []}',
        b'{".": {"basics/mlp": 3, "missed": ["hlo/kernels"]}}',
        b'{".": {"missed": {"hlo/kernels": "yes"}}}',
        b'{".": {"basics/mlp": {"right": "yes", "hints": -1}}}',
        b'{".": {"basics/mlp": {"right": null, "hints": {}}}}',
    ],
)
def test_a_damaged_logbook_counts_as_empty_and_is_rewritten(broken: bytes, tmp_path: Path) -> None:
    logbook = Logbook(tmp_path)
    logbook.file.parent.mkdir()
    logbook.file.write_bytes(broken)
    assert (logbook.is_right(MLP), logbook.count_hints(MLP), logbook.missed) == (False, 0, [])
    logbook.note(MLP, RIGHT)
    assert Logbook(tmp_path).is_right(MLP)


def test_an_unwritable_logbook_is_ignored(tmp_path: Path) -> None:
    logbook = Logbook(tmp_path)
    logbook.file.parent.write_text("in the way", encoding="utf-8")
    logbook.note(MLP, RIGHT)
    assert not logbook.is_right(MLP)
