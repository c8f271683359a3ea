"""What changed between releases, as a page shows it: escaped, counted in words, nothing hidden."""

from __future__ import annotations

import re
from pathlib import Path

from xla_inspect.hlo import releases as records
from xla_inspect.hlo.drift import Drift
from xla_inspect.hlo.releases import Disagreement
from xla_inspect.report import drift, markdown, over_releases

RECORDS = records.read_all(Path(__file__).resolve().parents[2] / "docs" / "data" / "drift")
STEP = Drift(RECORDS[-2], RECORDS[-1])


def test_the_matrix_has_a_row_for_each_step_and_says_what_was_not_compiled() -> None:
    shown = drift.matrix([STEP], ["cpu", "h100:8"])
    assert shown.count("<tr>") == 2
    assert f'<a href="#{drift.address(STEP.new)}">' in shown
    share = round(100 * len(STEP.changed_programs("cpu")) / STEP.count("cpu"))
    assert re.findall(r"<td [^>]*>(.*?)</td>", shown) == [str(share), "&ndash;"]


def test_counts_are_told_with_their_signs_what_came_first() -> None:
    told = drift.say_counts({"reduce": -1, "fusion kLoop": 2})
    assert told == "+2 <code>fusion kLoop</code>, &minus;1 <code>reduce</code>"


def test_each_program_whose_launches_changed_is_in_the_table() -> None:
    shown = drift.launches(STEP, markdown.cards, markdown.fold)
    assert STEP.launches
    assert [name for name, _ in STEP.launches if drift.code(name) not in shown] == []


def test_rows_beyond_the_first_few_are_folded_and_counted() -> None:
    shown = drift.rows_first([["a"]] * (drift.MOST + 3), ["name"], markdown.cards, markdown.fold)
    assert '??? listing "3 more"' in shown


def test_what_does_not_hold_is_listed_by_page_and_escaped() -> None:
    found = [
        Disagreement("docs/fusion.md", 10, "check", "a < b", "AssertionError: <class 'int'>"),
        Disagreement("docs/fusion.md", 12, "value", "f(x)", "KeyError: 'x'"),
    ]
    shown = drift.by_page(found, markdown.fold)
    assert '??? listing "fusion: 1 check, 1 value or block"' in shown
    assert "On [this page](fusion.md):" in shown
    assert "* a &#60; b: <code>AssertionError: &#60;class" in shown
    assert "* <code>f(x)</code>: <code>KeyError:" in shown


def test_a_line_over_releases_leaves_out_what_is_not_known_and_tells_every_number() -> None:
    shown = over_releases.chart({"cpu": [3, None, 1], "tpu-v5e": [None, None, None]}, ["1.0", "1.1", "2.0"], "Launches")
    assert shown.count("<circle") == 2
    assert "CPU: 1.0 3, 1.1 none, 2.0 1" in shown
    assert "TPU v5e: 1.0 none, 1.1 none, 2.0 none" in shown
    assert shown.count('<g class="') == 1
