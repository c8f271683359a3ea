"""The measured download sizes of all compilers on the contributing page."""

from __future__ import annotations

from typing import Any

import stamps
from common import ROOT
from peers import records

FILE = ROOT / "docs" / "data" / "peer-costs.json"


def read() -> dict[str, dict[str, Any]]:
    costs: dict[str, dict[str, Any]] = stamps.read_sealed(FILE)["costs"]
    return costs


def test_every_compiler_was_measured() -> None:
    assert sorted(read()) == records.names(), "run `scripts/peers --costs NAME`"


def test_a_measurement_says_what_it_took_when_and_where() -> None:
    for cost in read().values():
        assert list(cost) == ["download MB", "disk MB", "install seconds", "processor seconds", "date", "machine"]
        assert 0 < cost["download MB"] < cost["disk MB"]
        assert cost["install seconds"] > 0
        assert cost["processor seconds"] > 0


def test_the_pinned_version_was_measured() -> None:
    """Another version has other costs of installation: `scripts/peers --costs NAME` measures them."""
    assert stamps.list_aged(stamps.read_sealed(FILE)["versions"]) == []
