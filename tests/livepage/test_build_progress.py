"""The estimate of the time that a build still takes."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from livepage import build_progress
from livepage.build_progress import Cost, Progress
from livepage.read import Adapter, project

if TYPE_CHECKING:
    from pathlib import Path

FEW = 5
COSTS = {"docs/quick.md": Cost(2, 0), "docs/slow.md": Cost(90, 60), "docs/usual.md": Cost(8, 4)}


class Clock:
    """A clock that tests set, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that the progress reads."""
    clock = Clock()
    monkeypatch.setattr(build_progress, "time", clock)
    return clock


def read_minutes(text: str) -> float | None:
    """Return the minutes in a progress line; less than a minute is half a minute."""
    if "less than a minute" in text:
        return 0.5
    match = re.search(r"about (\d+) minute", text)
    return float(match[1]) if match else None


def test_no_time_is_named_in_the_first_twenty_seconds(clock: Clock) -> None:
    progress = Progress(dict(COSTS))
    clock.now = 19
    progress.note_done("docs/usual.md")
    assert progress.describe() == "0 compiled, 1 of 3 pages done"
    clock.now = 21
    assert progress.describe() == "0 compiled, 1 of 3 pages done, about 4 minutes left"


def test_a_slow_start_gives_no_estimate(clock: Clock) -> None:
    """One compilation in the first minute would mean an hour."""
    progress = Progress(dict(COSTS))
    progress.note_work("docs/slow.md")
    clock.now = 60
    assert progress.find_share() == 0.015
    assert progress.describe() == "1 compiled, 0 of 3 pages done"


def test_the_compilations_of_a_page_show_how_far_it_is(clock: Clock) -> None:
    progress = Progress(dict(COSTS))
    for _ in range(30):
        progress.note_work("docs/slow.md")
    assert progress.find_share() == 0.45
    clock.now = 60
    assert progress.describe() == "30 compiled, 0 of 3 pages done, about 1 minute left"


def test_a_page_with_more_compilations_than_expected_is_not_finished_before_its_end(clock: Clock) -> None:
    progress = Progress(dict(COSTS))
    for _ in range(100):
        progress.note_work("docs/slow.md")
    assert progress.find_share() == pytest.approx(0.9 * 0.95)
    progress.note_done("docs/slow.md")
    assert progress.find_share() == 0.9
    assert clock.now == 0


@pytest.mark.parametrize("seed", range(5))
def test_an_estimate_never_jumps_by_more_than_a_factor_of_two(clock: Clock, seed: int) -> None:
    rest = random.Random(seed)  # noqa: S311 - not for secrets
    pages = {f"docs/{number}.md": Cost(rest.uniform(10, 60), rest.randrange(20)) for number in range(30)}
    progress = Progress(dict(pages))
    estimates: list[tuple[float, float]] = []
    for page, cost in pages.items():
        clock.now += cost.seconds * rest.choice((0.1, 1, 8))  # this machine is slower or faster than that of the table
        progress.note_done(page)
        # The text has whole minutes, so only the longer times are compared.
        if (minutes := read_minutes(progress.describe())) and minutes > FEW:
            estimates.append((clock.now, minutes))
    assert len(estimates) > FEW
    for (earlier, before), (now, after) in pairwise(estimates):
        expected = before - (now - earlier) / 60
        assert (expected - 1) / 2 - 1 <= after <= (expected + 1) * 2 + 1


def test_the_table_gives_the_costs_and_other_pages_cost_as_much_for_each_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Own(Adapter):
        page_costs = "costs.json"

    monkeypatch.setattr(project, "root", tmp_path)
    monkeypatch.setattr(project, "adapter", Own())
    (tmp_path / "two.md").write_text("`= 1` and `= 2`\n", encoding="utf-8")
    (tmp_path / "new.md").write_text("`= 1`, `= 2` and `= 3`\n", encoding="utf-8")
    (tmp_path / "plain.md").write_text("Text.\n", encoding="utf-8")
    build_progress.write_costs({"two.md": Cost(4.0, 7)}, tmp_path / "costs.json")
    assert json.loads((tmp_path / "costs.json").read_text(encoding="utf-8")) == {"two.md": [4.0, 7]}
    assert build_progress.expect(["two.md", "new.md", "plain.md"]) == {"two.md": Cost(4.0, 7), "new.md": Cost(6.0, 0)}


def test_the_cost_of_a_page_is_its_time_and_its_compilations(clock: Clock) -> None:
    progress = Progress(dict(COSTS))
    progress.note_work("docs/usual.md")
    progress.note_done("docs/usual.md", 3.25)
    progress.note_done("docs/quick.md")  # it was stored
    assert progress.measured == {"docs/usual.md": Cost(3.2, 1)}
    assert clock.now == 0
