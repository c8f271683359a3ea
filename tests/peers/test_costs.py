"""What the contributing page says of a download was measured, of every compiler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from peers import records

FILE = Path(__file__).resolve().parents[2] / "docs" / "data" / "peer-costs.json"


def read() -> dict[str, dict[str, Any]]:
    costs: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return costs


def test_every_compiler_was_measured() -> None:
    assert sorted(read()) == records.names(), "run `scripts/peers --costs NAME`"


def test_a_measurement_says_what_it_took_when_and_where() -> None:
    for cost in read().values():
        assert list(cost) == ["download MB", "disk MB", "install seconds", "processor seconds", "date", "machine"]
        assert 0 < cost["download MB"] < cost["disk MB"]
        assert cost["install seconds"] > 0
        assert cost["processor seconds"] > 0
