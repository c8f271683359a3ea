"""Published times are compared with estimates, tuned and held-out rows apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import stamps
from measuring import published_times
from measuring.published_times import (
    RECORD,
    Comparison,
    compare_pairs,
    compare_row,
    compare_rows,
    main,
    summarize,
    write_record,
)
from published import times
from xla_inspect.analysis.estimates import Estimate

if TYPE_CHECKING:
    from pathlib import Path


def compare(measured: float, *, is_held_out: bool = False) -> Comparison:
    return Comparison("row", is_held_out, measured, Estimate(1.0, 1.5, 2.0))


@pytest.mark.parametrize(
    ("measured", "place", "error"), [(1.0, True, 0.5), (2.0, True, -0.25), (0.9, False, 2 / 3), (2.1, False, -2 / 7)]
)
def test_a_time_is_inside_the_range_up_to_both_ends(measured: float, place: bool, error: float) -> None:  # noqa: FBT001
    row = compare(measured)
    assert (row.is_inside, row.error) == (place, pytest.approx(error))


def test_a_summary_counts_the_rows_inside_and_ignores_the_sign_of_errors() -> None:
    rows = [compare(measured) for measured in (1.0, 2.0, 3.0)]
    assert summarize("tuned", rows) == "tuned: 3 rows, median error 50%; 2 inside a range of 2.00 in the median"


@pytest.mark.usefixtures("all_targets")
def test_a_row_is_compared_with_the_estimate_of_its_program(capsys: pytest.CaptureFixture[str]) -> None:
    [row] = compare_rows(["v6e-copy"], ())
    published = times.read_times()["rows"]["v6e-copy"]
    assert (row.is_held_out, row.measured) == (published["held_out"], times.find_seconds(published))
    assert row.estimate.low < row.estimate.likely < row.estimate.high
    main(["v6e-copy"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [str(row), "tuned: no rows", summarize("held out", [row])]


def test_the_record_has_a_step_of_each_source_on_each_device() -> None:
    def find_kind(name: str) -> tuple[str, str]:
        return rows[name]["source"], rows[name]["target"].partition(":")[0]

    rows = times.read_times()["rows"]
    steps = [name for name, row in rows.items() if row["kind"] == "step"]
    names = list(stamps.read_sealed(RECORD)["seconds"])
    assert names == [name for name in steps if name in names]
    assert {find_kind(name) for name in names} == {find_kind(name) for name in steps}


def test_a_record_keeps_other_rows_of_the_same_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_times, "RECORD", tmp_path / "record.json")
    later, earlier = [replace(compare(1.0), name=name) for name in ("v6e-llama3-8b-8", "h100-gpt-5b")]
    for row in (later, earlier):
        write_record([row])
    assert stamps.read_sealed(published_times.RECORD)["seconds"] == {
        row.name: [1.0, 1.5, 2.0] for row in (earlier, later)
    }


@pytest.mark.usefixtures("all_targets")
def test_a_pair_compares_both_variants_in_both_orders(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = times.read_times()
    short, long = "tpu7x-product-1024", "tpu7x-product-2048"
    pairs = {
        "right": {"slower": long, "faster": short, "per": "step"},
        "reversed": {"slower": short, "faster": long, "per": "step"},
    }
    monkeypatch.setattr(times, "read_times", lambda: {**table, "pairs": pairs})
    right, reverse = compare_pairs(())
    rows = {name: compare_row(name, table["rows"][name]) for name in (short, long)}
    assert (right.measured, right.estimated) == (
        rows[long].measured / rows[short].measured,
        rows[long].estimate.likely / rows[short].estimate.likely,
    )
    assert (right.is_right, reverse.is_right) == (True, False)
    main(["--pairs", "reversed"])
    assert capsys.readouterr().out.splitlines()[1:] == [str(reverse)]
    assert str(reverse).endswith("WRONG")


def test_a_pair_is_compared_by_step_or_by_token_of_a_chip() -> None:
    row = times.read_times()["rows"]["h100-llama2-7b"]
    model = times.find_program(row).model
    chips = int(row["target"].partition(":")[2])
    assert times.scale_time(row, 12.0, "step") == 12.0
    assert times.scale_time(row, 12.0, "token") == pytest.approx(12.0 * chips / (model.batch * model.length))
