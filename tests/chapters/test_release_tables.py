"""Tests of the tables of changes between releases: escaped texts, counts, and no hidden rows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from chapters import release_tables
from xla_inspect.releases import Disagreement, Drift, ReleaseCompile, ReleaseOutcome, read_releases
from xla_inspect.report import markdown

ROOT = Path(__file__).resolve().parents[2]
RECORDS = read_releases(ROOT / "docs" / "data" / "drift")
STEP = Drift(RECORDS[-2], RECORDS[-1])


def test_the_matrix_has_a_row_for_each_step_and_says_what_was_not_compiled() -> None:
    table = release_tables.update_matrix([one_of_three_changed()], ["cpu", "h100:8"])
    assert table.count("<tr>") == 2
    assert f'<a href="#v0-12-0-1">{RECORDS[-2].jax} to 0.12.0.1</a>' in table
    assert re.findall(r"<td ([^>]*)>(.*?)</td>", table) == [
        ('style="--share: 33%" title="CPU: 1 of 3 programs"', "33"),
        ('class="none" title="not compiled under both releases"', "&ndash;"),
    ]


def one_of_three_changed() -> Drift:
    """Return the changes between two releases in which one of three programs launches something else on the CPU."""
    outcome = ReleaseOutcome(launches={"fusion kLoop": 1})
    old = {name: ReleaseCompile(None, {}, {"cpu": outcome}) for name in ("a", "b", "c")}
    new = {**old, "b": ReleaseCompile(None, {}, {"cpu": ReleaseOutcome(launches={"fusion kLoop": 2})})}
    return Drift(replace(RECORDS[-2], programs=old), replace(RECORDS[-1], programs=new))


def test_an_update_of_libtpu_alone_is_called_so_and_has_an_address_of_its_own() -> None:
    before = replace(RECORDS[-1], versions={**RECORDS[-1].versions, "libtpu": "0.0.51"})
    after = replace(RECORDS[-1], versions={**RECORDS[-1].versions, "libtpu": "0.0.52"})
    assert [release_tables.name_update(Drift(*pair)) for pair in ((RECORDS[-2], after), (before, after))] == [
        f"JAX {RECORDS[-2].jax} to 0.12.0.1",
        "libtpu 0.0.51 to 0.0.52",
    ]
    assert release_tables.section_id(after, "libtpu") == "libtpu-0-0-52"
    assert '<a href="#libtpu-0-0-52">libtpu 0.0.51 to 0.0.52</a>' in release_tables.update_matrix(
        [Drift(before, after)], ["cpu"]
    )
    assert sorted([after, before], key=lambda release: release.order) == [before, after]


def test_counts_have_signs_and_additions_come_first() -> None:
    text = release_tables.say_counts({"reduce": -1, "fusion kLoop": 2})
    assert text == "+2 <code>fusion kLoop</code>, &minus;1 <code>reduce</code>"


def test_each_program_whose_launches_changed_is_in_the_table() -> None:
    table = release_tables.tabulate_launches(STEP, markdown.cards, markdown.fold)
    assert STEP.launches
    assert [name for name, _ in STEP.launches if markdown.code(name) not in table] == []


def test_rows_beyond_the_first_few_are_folded_and_counted() -> None:
    table = release_tables.fold_rows([["a"]] * (release_tables.MOST + 3), ["name"], markdown.cards, markdown.fold)
    assert '??? listing "3 more rows"' in table


def test_failed_checks_are_listed_by_page_and_escaped() -> None:
    disagreements = [
        Disagreement("docs/fusion.md", 10, "check", "a < b", "AssertionError: <class 'int'>"),
        Disagreement("docs/fusion.md", 12, "value", "f(x)", "KeyError: 'x'"),
    ]
    table = release_tables.fold_by_page(disagreements, markdown.fold)
    assert '??? listing "fusion: 1 check, 1 value or block"' in table
    assert "These fail on [this page](fusion.md):" in table
    assert "| a &#60; b | <code>AssertionError: &#60;class" in table
    assert "| <code>f(x)</code> | <code>KeyError:" in table
