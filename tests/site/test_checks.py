"""Checks: claims beside the asserts that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Site


def test_a_check_folds_its_source_under_its_claim(site: Site) -> None:
    """One line for the reader, the asserts for who opens it."""
    site.write({"docs/a.md": '# A\n\n```python check="One < two & so on"\none = 1\nassert one < 2\n```\n\n`= one`\n'})
    assert site.build() == []
    html = site.html("a")
    assert '<details class="check"><summary>Checked in this build: One &lt; two &amp; so on</summary>' in html
    assert "assert" in html
    assert '<span class="value">1</span>' in html


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("assert 1 + 1 == 3", "AssertionError: left was 2, right was 3"),
        ("assert [1, 2] == [1], 'lists'", "AssertionError: lists: left was [1, 2], right was [1]"),
        ("assert 'x' in {'a': 1}", "AssertionError: left was 'x', right was {'a': 1}"),
        ("a, b = 1, 0\nassert a and b", "AssertionError: a was 1, b was 0"),
        ("import re\nassert not re.match('a', 'a')", "AssertionError"),
        ("def f(n):\n    assert n > 2, n\nf(1)", "AssertionError: 1: left was 1, right was 2"),
        ("assert 'y' * 900 == 1", "right was 1"),
        ("calls = []\nassert (calls.append(1) or len(calls)) == 2", "AssertionError: left was 1, right was 2"),
        ("assert all(x > 1 for x in [1, 2])", "AssertionError"),
    ],
)
def test_a_failing_assert_says_what_it_compared(site: Site, code: str, said: str) -> None:
    """Plain asserts, evaluated once, their values in the report."""
    site.write({"docs/a.md": f'# A\n\n```python check="It holds"\n{code}\n```\n'})
    _, failures = site.render("a")
    assert len(failures) == 1
    assert failures[0].error.endswith(said)
    assert len(failures[0].error) < 600
    line = max(at for at, text in enumerate(f"\n\n\n{code}".split("\n"), 1) if "assert" in text)
    assert str(failures[0].origin) == f"docs/a.md:{line}"


def test_a_changed_claim_fails_in_the_build_and_in_the_tests_alike(site: Site) -> None:
    """Same words, same line."""
    site.write({"docs/a.md": '# A\n\n```python check="Two"\nassert 1 == 2\n```\n'})
    _, failures = site.render("a")
    assert (
        site.build()
        == [str(failure) for failure in failures]
        == ["docs/a.md:4: AssertionError: left was 1, right was 2"]
    )
