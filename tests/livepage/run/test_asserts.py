"""Checks: claims with the asserts that support them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inside_xla.site_adapter import SiteAdapter
from livepage.run import page_session

if TYPE_CHECKING:
    from conftest import Site


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("assert 1 + 1 == 3", "AssertionError: left was 2, right was 3"),
        ("assert [1, 2] == [1], 'lists'", "AssertionError: lists: left was [1, 2], right was [1]"),
        ("assert 'x' in {'a': 1}", "AssertionError: left was 'x', right was {'a': 1}"),
        ("a, b = 1, 0\nassert a and b", "AssertionError: a was 1, b was 0"),
        ("import re\nassert not re.match('a', 'a')", "AssertionError"),
        ("def f(n):\n    assert n > 2, n\nf(1)", "AssertionError: 1: left was 1, right was 2"),
        ("assert 'y' * 900 == 1", "right was 1"),
        ("calls = []\nassert (calls.append(1) or len(calls)) == 2", "AssertionError: left was 1, right was 2"),
        ("assert all(x > 1 for x in [2, 1, 0])", "AssertionError: x was 1"),
        ("assert not any(x > y for x, y in [(1, 2), (4, 3)])", "AssertionError: x was 4, y was 3"),
        ("for x in (2, 3):\n    assert x < 3", "AssertionError: left was 3, right was 3, x was 3"),
        (
            """
from dataclasses import dataclass
@dataclass
class Found:
    program: str
    target: str
    text: str
for found in (Found("layer", "h100", "HloModule" * 90),):
    assert len(found.text) == 0""",
            "left was 810, right was 0, found was Found(program='layer', target='h100')",
        ),
    ],
)
def test_a_failing_assert_reports_the_compared_values(site: Site, code: str, message: str) -> None:
    """A plain assert is evaluated once, and its compared values are in the report."""
    site.write({"docs/a.md": f'# A\n\n```python check="It holds"\n{code}\n```\n'})
    _, failures = site.render("a")
    assert len(failures) == 1
    assert failures[0].error.endswith(message)
    assert len(failures[0].error) < 600
    line = max(at for at, text in enumerate(f"\n\n\n{code}".split("\n"), 1) if "assert" in text)
    assert str(failures[0].origin) == f"docs/a.md:{line}"


NOTHING = {
    "no assert": ("x = 1", 3, "this check asserts nothing"),
    "a comment": ("# assert 1", 3, "this check asserts nothing"),
    "a constant": ("assert True", 4, "this assert holds whatever was computed"),
    "a text": ("assert 'the kernels are one'", 4, "this assert holds whatever was computed"),
    "numbers": ("x = 1\nassert 2 > 1", 5, "this assert holds whatever was computed"),
    "or": ("x = 1\nassert x == 2 or True", 5, "this assert holds whatever was computed"),
    "itself": ("x = 1\nassert x == x", 5, "this assert compares something with itself"),
    "a tuple": ("assert (1 == 2, 'no')", 4, "an assert of a tuple always holds"),
    "swallowed": ("x = 1\ntry:\n    assert x == 2\nexcept Exception:\n    pass", 6, "an `except` around this"),
    "could be": ("x = 1\ntry:\n    assert x == 1\nexcept AssertionError:\n    x = 2", 6, "an `except` around this"),
    "suppressed": (
        "import contextlib\nwith contextlib.suppress(AssertionError):\n    assert contextlib is None",
        6,
        "an `except` around this assert",
    ),
    "swallowed above": (
        "def f():\n    assert f is None\ntry:\n    f()\nexcept AssertionError:\n    pass\nassert f",
        5,
        "this assert failed, and an `except` swallowed it",
    ),
    "a loop": ("for x in []:\n    assert x", 5, "this assert never ran"),
    "one of two": ("x = 1\nassert x\nif x > 1:\n    assert x", 7, "this assert never ran"),
    "all": ("x = []\nassert all(y for y in x)", 5, "this assert looked at nothing"),
    "filtered": ("x = [1]\nassert all(y for y in x if y > 1)", 5, "this assert looked at nothing"),
    "a list": ("x = []\nassert all(x)", 5, "this assert looked at nothing"),
    "not any": ("x = []\nassert not any(y for y in x)", 5, "this assert looked at nothing"),
}


@pytest.mark.usefixtures("all_targets")  # a loop over what is missing is no fault of the check
@pytest.mark.parametrize("name", NOTHING)
def test_a_check_that_checks_nothing_fails(site: Site, name: str) -> None:
    code, line, message = NOTHING[name]
    site.write({"docs/a.md": f'# A\n\n```python check="It holds"\n{code}\n```\n'})
    _, failures = site.render("a")
    assert [str(failure)[: len(f"docs/a.md:{line}: {message}")] for failure in failures] == [
        f"docs/a.md:{line}: {message}"
    ]


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    {}[0]\nexcept KeyError:\n    pass\nelse:\n    assert False, 'a list again'\nassert print",
        "try:\n    {}[0]\nexcept KeyError as error:\n    assert error.args == (0,)",
        "for found in ([], [1]):\n    assert all(x == 1 for x in found)",
        "import math\nassert math.pi > 3 and all(map(math.isfinite, [1, 2]))",
        "import numpy as np\nnp.testing.assert_allclose([1.0], [1.0])",
        "def hold(x):\n    assert x > 1, x\nhold(2)\nhold(3)",
        "x = []\nassert x == []",
    ],
)
def test_a_check_that_checks_something_passes(site: Site, code: str) -> None:
    site.write({"docs/a.md": f'# A\n\n```python check="It holds"\n{code}\n```\n'})
    assert site.render("a")[1] == []


MODULE = """
def check_sizes(sizes):
    assert all(size < 3 for size in sizes), "sizes"
"""


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ("[1]", []),
        (
            "[1, 4]",
            ["docs/a.md:5: AssertionError: sizes: sizes was [1, 4], size was 4 (raised at snippets/size_checks"],
        ),
        (
            "[]",
            ["docs/a.md:3: snippets/size_checks/sizes.py:2: this assert looked at nothing: what its `all` or `any`"],
        ),
    ],
)
def test_asserts_of_a_module_count_as_those_of_the_check_that_calls_it(
    site: Site, monkeypatch: pytest.MonkeyPatch, sizes: str, expected: list[str]
) -> None:
    monkeypatch.setattr(SiteAdapter, "checks", ("size_checks",))
    monkeypatch.syspath_prepend(site.root / "snippets")
    site.write({"snippets/size_checks/__init__.py": "", "snippets/size_checks/sizes.py": MODULE})
    code = f"from size_checks import sizes\nsizes.check_sizes({sizes})"
    site.write({"docs/a.md": f'# A\n\n```python check="It holds"\n{code}\n```\n'})
    page, faults = site.render("a")
    assert [str(fault)[: len(start)] for fault, start in zip(faults, expected, strict=True)] == expected
    assert ("def" in page) == (not expected), "what a check opens shows the function that asserts"


def test_a_check_can_be_postponed_if_a_target_is_missing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_session, "has_every_target", lambda: False)
    site.write({"docs/a.md": '# A\n\n```python check="One kernel"\nfor kernels in []:\n    assert kernels == 1\n```\n'})
    assert site.render("a")[1] == []
