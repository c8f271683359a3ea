"""Chrome traces are read event by event in every form of the format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from xla_inspect.errors import InspectError
from xla_inspect.traces import chrome, measure_times, open_trace

if TYPE_CHECKING:
    from pathlib import Path

EVENT = {
    "ph": "X",
    "pid": 1,
    "tid": 2,
    "ts": 1.5,
    "dur": 2,
    "name": "add",
    "args": {"hlo_op": "add", "hlo_module": "m"},
}


def read(path: Path, text: str) -> list[tuple[str, float, float]]:
    path.write_text(text, encoding="utf-8")
    return [(event.op, event.start, event.duration) for event in open_trace(path).events()]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"traceEvents": [EVENT]}),
        json.dumps({"displayTimeUnit": "ns", "n": 12, "metadata": {"a": [1, {"b": "]}"}]}, "traceEvents": [EVENT, {}]}),
        json.dumps([EVENT], indent=2),
        f"[{json.dumps(EVENT)},\n",
        f"\ufeff [{json.dumps(EVENT)}]",
        json.dumps(
            {"traceEvents": [7, None, "x", EVENT, {"ph": "X"}, {**EVENT, "dur": "many"}, {**EVENT, "ts": 10**400}]}
        ),
    ],
)
def test_each_form_of_the_format_is_read(text: str, tmp_path: Path) -> None:
    assert read(tmp_path / "trace.json", text) == [("add", 1500, 2000)]


@pytest.mark.parametrize("size", [1, 2, 7, 50])
def test_the_size_of_read_chunks_makes_no_difference(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"n": 123, "t": 'a\\"\u00e9', "traceEvents": [EVENT, {**EVENT, "name": "\u00e9\\"}, EVENT]})
    whole = read(tmp_path / "trace.json", text)
    monkeypatch.setattr(chrome, "CHUNK", size)
    assert read(tmp_path / "trace.json", text) == whole
    assert len(whole) == 3


def test_a_trace_longer_than_one_chunk_is_counted_completely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome, "CHUNK", 1000)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [{**EVENT, "ts": at * 10} for at in range(5000)]}), encoding="utf-8")
    (row,) = measure_times(open_trace(path)).rows
    assert row.count == 5000


def test_one_value_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome, "LARGEST", 1000)
    monkeypatch.setattr(chrome, "CHUNK", 100)
    with pytest.raises(InspectError, match="longer than 1,000 characters"):
        read(tmp_path / "trace.json", json.dumps({"metadata": "x" * 5000, "traceEvents": []}))
