"""The table of passes matches the passes that compilers run; an error explains how to fix a mismatch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chapters.pass_index import PassRecord, PassUse, find_passes
from chapters.pass_rows import PassRow, PassTableError, check_rows, read_rows
from programs import gallery
from xla_inspect import TARGETS, capture_all

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = Path(__file__).resolve().parents[2] / "docs" / "data" / "passes.toml"

type Writer = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """A function that writes a table of passes with a text, and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "passes.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def see(name: str, **uses: PassUse) -> dict[str, PassRecord]:
    """Return the record of one pass by its name; without `uses`, it ran once on the CPU."""
    return {name: PassRecord(name, uses or {"cpu": PassUse(runs=1)}, ["all"])}


@pytest.mark.usefixtures("all_targets")
def test_every_pass_that_runs_on_any_target_has_a_row() -> None:
    piece = gallery.PROGRAMS["layer"]
    ran = find_passes({"layer": capture_all(piece.function, *piece.example, targets=TARGETS)}, ())
    assert {target for record in ran.values() for target in record.uses} == set(TARGETS)
    assert sorted(ran.keys() - read_rows(TABLE).keys()) == []


def test_a_pass_without_a_row_fails_with_its_name_and_targets() -> None:
    records = {**see("dce"), **see("frobnicate", h100=PassUse(runs=2), h200=PassUse(runs=2))}
    with pytest.raises(PassTableError, match=r"passes\.toml lacks frobnicate, which ran on h100, h200: add a sentence"):
        check_rows({"dce": PassRow("dce", "Removes.", ("xla/dce.cc",))}, records)


def test_a_row_of_a_pass_that_no_longer_runs_fails_with_its_name() -> None:
    rows = {name: PassRow(name, "Removes.", ("xla/dce.cc",)) for name in ("dce", "gone")}
    with pytest.raises(PassTableError, match=r"passes\.toml has gone, which no longer runs on any target; remove it"):
        check_rows(rows, see("dce"))


def test_the_sentence_of_a_closed_pass_claims_no_more_than_captures_show() -> None:
    row = PassRow("secret", "Makes it faster.", ("libtpu",))
    with pytest.raises(PassTableError, match="secret is closed source and changed nothing in the captures"):
        check_rows({"secret": row}, see("secret"))
    check_rows({"secret": row}, see("secret", tpu=PassUse(runs=1, changes=1, programs=["layer"])))
    check_rows({"secret": PassRow("secret", "Its name suggests that it keeps one.", ("libtpu",))}, see("secret"))
    pipeline = {"secret": PassRecord("secret", {"tpu-v5e": PassUse(runs=1)}, ["all"], ["dce"])}
    check_rows({"secret": row}, pipeline)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('says = "Removes"\nsources = ["xla/a.cc"]', "dce: `says` must be one sentence"),
        ('sources = ["xla/a.cc"]', "dce: `says` must be one sentence"),
        ('says = "Removes."', "dce: `sources` must list its files"),
        ('says = "Removes."\nsource = "xla/a.cc"', "dce: unknown key source; the keys are log, says, sources"),
        ('says = "Its name suggests that it removes."\nsources = ["xla/a.cc"]', "dce: its source is open"),
    ],
)
def test_an_incomplete_row_fails_with_the_name_of_its_pass(write: Writer, entry: str, message: str) -> None:
    with pytest.raises(PassTableError, match=message):
        read_rows(write(f"[passes.dce]\n{entry}\n"))


def test_log_files_are_the_sources_and_the_files_that_the_table_adds() -> None:
    row = PassRow("fusion", "Fuses.", ("xla/service/instruction_fusion.cc", "libtpu"), ("tpu_instruction_fusion",))
    assert row.files == {"instruction_fusion", "libtpu", "tpu_instruction_fusion"}
    assert not row.is_closed


def test_each_pass_has_a_unique_anchor_and_one_sentence() -> None:
    rows = read_rows(TABLE)
    assert len({row.anchor for row in rows.values()}) == len(rows)
    assert [row.name for row in rows.values() if not row.anchor.replace("-", "").replace("_", "").isalnum()] == []
    assert {name: row.says for name, row in rows.items() if ". " in row.says or len(row.says) > 200} == {}


def test_a_source_is_a_file_of_xla_or_libtpu() -> None:
    odd = [
        (name, source)
        for name, row in read_rows(TABLE).items()
        for source in row.sources
        if source != "libtpu" and not (source.startswith("xla/") and source.endswith(".cc"))
    ]
    assert odd == []
