"""Typed numbers in the prose of pages, and the lint that finds them."""

from __future__ import annotations

import importlib.metadata
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from authoring import affirm
from common import ROOT
from lint import typed_numbers
from livepage.notebooks import read_prose
from livepage.read import project
from livepage.run import backing

type Find = Callable[[str], list[tuple[int, str]]]

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "CHANGELOG.md"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each page, or for those that `--page` names."""
    if "page" in metafunc.fixturenames:
        chosen = {Path(page).resolve() for page in metafunc.config.getoption("--page")}
        pages = [page for page in PAGES if not chosen or page in chosen]
        metafunc.parametrize("page", pages, ids=[page.relative_to(ROOT).as_posix() for page in pages])


def test_a_page_types_no_number(page: Path) -> None:
    if faults := typed_numbers.check_numbers(page, ROOT):
        pytest.fail("\n".join(map(str, faults)), pytrace=False)


def test_no_entry_of_the_list_outlives_its_words() -> None:
    assert typed_numbers.unused() == []


@pytest.fixture
def find(tmp_path: Path) -> Find:
    """A function that checks a page with a text, and returns line and number of each finding."""

    def check(text: str) -> list[tuple[int, str]]:
        page = tmp_path / "docs" / "page.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(textwrap.dedent(text).removeprefix("\n"), encoding="utf-8")
        return [(finding.line, finding.number) for finding in typed_numbers.check_numbers(page, tmp_path)]

    return check


@pytest.mark.parametrize("number", ["3", "1,024", "0.5", "64-bit", "12x", "30%", "2,", "(7", "**9**"])
def test_a_typed_number_is_found_with_its_line(find: Find, number: str) -> None:
    assert [line for line, _ in find(f"# Title\n\nThe compiler made\n{number} kernels here.")] == [4]


@pytest.mark.parametrize(
    "text",
    [
        "An H100, a v5e, float32, x86-64 and T4.",
        "Released in 2024 as v1.2.3 for Python 3.12.",
        "Three `= count(3)` and `4` and ``5 ` 6``.",
        'See [the paper](https://example.org/2/3.html#4 "page 5") and <https://example.org/6>.',
        "1. first\n2. second\n\n**3.** An exercise.",
        "## Heading { #part-2 .wide }",
        '<span data-n="3">text</span>',
        "```text\n17 lines\n```",
        '??? question "Answer"\n\n    ```python exec="on"\n    print(42)\n    ```',
        "<!-- 12 -->",
        "Shown before[^1].\n\n[^1]: There.",
    ],
)
def test_names_years_versions_code_links_and_list_numbers_pass(find: Find, text: str) -> None:
    assert find(text) == []


def test_a_shape_passes_only_where_the_code_of_the_page_holds_it(find: Find) -> None:
    code = '```python exec="on"\nx = jnp.zeros((64, 128))\n```\n\n'
    assert find(code + "Of shape [64, 128], or 64 x 128, or 64x128.") == []
    assert [number for _, number in find(code + "Of shape [64, 129].")] == ["64", "129"]
    assert [number for _, number in find(code + "Of shape 6 x 128.")] == ["6", "128"]


def test_words_on_the_list_pass_and_the_same_number_elsewhere_does_not(
    find: Find,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(typed_numbers, "_read_allowed", lambda: {"docs/page.md": {"the 64-bit types": "a name"}})
    assert find("All the 64-bit types.\n\nSome 64-bit words.") == [(3, "64-bit")]


def test_a_value_that_computes_nothing_is_a_typed_number(find: Find) -> None:
    assert find('Some `= 24` and `= count(24)`.\n\nThe `= "7 kernels"`.') == [(1, "24"), (3, '"7 kernels"')]
    assert find('Some `= f"{1 << 16:,}"` and `= f"{size:,}"`.') == [(1, 'f"{1 << 16:,}"')]


def test_the_version_of_a_pinned_package_is_computed(find: Find) -> None:
    installed = importlib.metadata.version("jaxlib")
    assert find(f"Since JAX 0.4.31, and with jaxlib {installed}.") == [(1, installed)]


def test_a_number_in_words_is_computed_or_held_by_the_check_behind_it(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    sentences = ("The CPU makes four kernels.", "The H100 makes five.", "All three differ.")
    check = '```python check="On the CPU"\nassert len(kernels) == 4\n```'
    page.write_text("\n".join(("# Title", "", *sentences, "", check)), encoding="utf-8")
    (tmp_path / backing.WORDS).parent.mkdir(parents=True)
    shutil.copy(ROOT / backing.WORDS, tmp_path / backing.WORDS)
    assert typed_numbers.check_words(page, tmp_path) == []
    with project.placed_at(tmp_path):
        affirm.affirm(read_prose(page), lambda _: True, {})
    before = project.root
    assert [(fault.line, fault.number) for fault in typed_numbers.check_words(page, tmp_path)] == [(4, "five")]
    assert project.root == before
