"""A profile is rewritten with labels on matched events and without other changes."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import profiles
import pytest

from xla_inspect.errors import InspectError
from xla_inspect.traces import Event, Label, measure_times, open_trace, write_labelled

if TYPE_CHECKING:
    from pathlib import Path

PLANES = {
    "/host:CPU": {
        "first": [profiles.Ran("add", 0, 5, {"hlo_op": "add", "hlo_module": "m"}), profiles.Ran("python", 0, 9)],
        "second": [profiles.Ran("mul", 2, 4, {"hlo_op": "mul", "hlo_module": "m"})],
    }
}


def find(event: Event) -> Label | None:
    return Label("net.py:7", {"python": "net.py:7 x + y"}) if event.op == "add" else None


def load(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    records: list[dict[str, Any]] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)["traceEvents"]
    return records


@pytest.mark.parametrize("form", ["xplane.pb", "json.gz", "json"])
@pytest.mark.parametrize("out", ["out.json", "out.json.gz"])
def test_labels_are_in_name_and_arguments_and_the_times_stay(form: str, out: str, tmp_path: Path) -> None:
    write = profiles.write_xspace if form == "xplane.pb" else profiles.write_chrome
    path = write(tmp_path / f"in.{form}", PLANES)
    assert write_labelled(open_trace(path), tmp_path / out, find) == (1, 3)
    events = {record["name"]: record for record in load(tmp_path / out) if record.get("ph") == "X"}
    assert events.keys() == {"add net.py:7", "python", "mul"}
    assert events["add net.py:7"]["args"] == {"hlo_op": "add", "hlo_module": "m", "python": "net.py:7 x + y"}
    before, after = measure_times(open_trace(path)), measure_times(open_trace(tmp_path / out))
    assert [(row.op, round(row.seconds * 1e9)) for row in after.rows] == [("add", 5), ("mul", 4)]
    assert [row.op for row in before.rows] == [row.op for row in after.rows]
    names = [record["args"]["name"] for record in load(tmp_path / out) if record.get("ph") == "M"]
    assert sorted(names) == ["/host:CPU", "first", "second"]


def test_a_profile_of_sums_cannot_be_labelled(tmp_path: Path) -> None:
    path = tmp_path / "sum.csv"
    path.write_text("Time (%),Total Time (ns),Instances,Name\n100,5,1,k\n", encoding="utf-8")
    with pytest.raises(InspectError, match="holds sums"):
        write_labelled(open_trace(path), tmp_path / "out.json", find)
    assert not (tmp_path / "out.json").exists()


def test_a_damaged_profile_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text('{"traceEvents": [{"ph": "X", "ts": 1, "dur": 1, "name": "a"}, {', encoding="utf-8")
    with pytest.raises(InspectError, match="cut off"):
        write_labelled(open_trace(path), tmp_path / "out.json", find)
    assert [leftover.name for leftover in tmp_path.iterdir()] == ["in.json"]


def test_an_unwritable_file_is_reported(tmp_path: Path) -> None:
    path = profiles.write_chrome(tmp_path / "in.json", PLANES)
    with pytest.raises(InspectError, match="cannot write"):
        write_labelled(open_trace(path), tmp_path / "none" / "out.json", find)
