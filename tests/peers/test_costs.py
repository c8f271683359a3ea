"""What the contributing page says of a download was measured, of every compiler."""

from __future__ import annotations

import json
from pathlib import Path

from peers import records

COSTS = json.loads((Path(__file__).resolve().parents[2] / "docs" / "data" / "peer-costs.json").read_text("utf-8"))


def test_every_compiler_was_measured() -> None:
    assert sorted(COSTS) == records.names(), "run `scripts/peers --costs NAME`"


def test_a_measurement_says_what_it_took_when_and_where() -> None:
    for cost in COSTS.values():
        assert list(cost) == ["download MB", "disk MB", "install seconds", "processor seconds", "date", "machine"]
        assert 0 < cost["download MB"] < cost["disk MB"]
        assert cost["install seconds"] > 0
        assert cost["processor seconds"] > 0
