"""The house style of prose, and the lint that checks it."""

from __future__ import annotations

import subprocess
import sysconfig
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from mkdocs.utils import meta

from common import ROOT
from lint import style

PAGES = style.list_prose_files()
type Find = Callable[[str], list[tuple[int, str]]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each page, or for those that `--page` names."""
    if "page" in metafunc.fixturenames:
        chosen = {Path(page).resolve() for page in metafunc.config.getoption("--page")}
        pages = [page for page in PAGES if not chosen or page in chosen]
        metafunc.parametrize("page", pages, ids=[page.relative_to(ROOT).as_posix() for page in pages])


def spell(*paths: Path) -> subprocess.CompletedProcess[str]:
    """Check the spelling of files, or of all prose, as scripts/test does."""
    command = [
        str(Path(sysconfig.get_path("scripts")) / "typos"),
        "--format=brief",
        "--config=pyproject.toml",
        *map(str, paths or prose_files()),
    ]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def prose_files() -> list[Path]:
    """Return the files that readers and contributors read."""
    return [*PAGES, ROOT / "README.md", *(ROOT / ".github").glob("*.md")]


def test_a_page_keeps_the_style(page: Path) -> None:
    if faults := style.check_style(page, ROOT):
        pytest.fail("\n".join(map(str, faults)), pytrace=False)


def test_the_front_matter_of_a_page_can_be_read(page: Path) -> None:
    """MkDocs drops what it cannot read, such as a description with a colon inside, and shows it as text."""
    text = page.read_text(encoding="utf-8")
    assert bool(meta.get_data(text)[1]) == (page.suffix == ".md" and text.startswith("---\n"))


def test_user_visible_text_is_spelled_correctly() -> None:
    result = spell()
    assert (result.returncode, result.stdout) == (0, "")


def test_no_entry_of_the_rules_outlives_its_words_or_its_term() -> None:
    assert style.unused() == []


def test_each_word_that_may_stay_has_its_reason() -> None:
    allowed = style.tomllib.loads(style.RULES.read_text(encoding="utf-8"))["allowed"]
    assert [phrase for phrases in allowed.values() for phrase, reason in phrases.items() if not reason] == []


@pytest.fixture
def find(tmp_path: Path) -> Find:
    """A function that checks a page with a text, and returns line and words of each finding."""

    def check(text: str) -> list[tuple[int, str]]:
        page = tmp_path / "docs" / "page.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(textwrap.dedent(text).removeprefix("\n"), encoding="utf-8")
        return [(finding.line, finding.what) for finding in style.check_style(page, tmp_path)]

    return check


@pytest.mark.parametrize(("wrong", "right"), [("recieves", "receives"), ("normalised", "normalized")])
def test_a_misspelt_word_and_one_in_the_other_spelling_are_found(tmp_path: Path, wrong: str, right: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\nThe compiler {wrong}.\n", encoding="utf-8")
    result = spell(page)
    assert result.returncode != 0
    assert result.stdout == f"{page}:3:14: error: `{wrong}` should be `{right}`\n"


@pytest.mark.parametrize(
    "line",
    [
        "One kernel runs. Another waits.",
        "One kernel runs (so it says). Another waits.",
        "Is it `fused`? It is.",
        "One kernel runs. `Fusion` does it.",
        "* **kLoop**: one kernel. Another waits.",
        "1. First this. Then that.",
    ],
)
def test_a_second_sentence_on_a_line_is_found(find: Find, line: str) -> None:
    [(number, what)] = find(f"# Title\n\n{line}\n")
    assert (number, what.partition(",")[0]) == (3, "a second sentence on the line")


def test_a_sentence_that_goes_on_in_the_next_line_is_found(find: Find) -> None:
    [(number, what)] = find("# Title\n\nOne kernel\nruns.\n")
    assert (number, what) == (3, "the sentence goes on in the next line, join them: 'runs.'")


def test_text_in_a_notebook_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "docs" / "page.py"
    path.parent.mkdir()
    path.write_text("# %% [markdown]\n# # Title\n#\n# One. Two.\n\n# %%\nx = 1\n# One. Two.\n", encoding="utf-8")
    assert [(finding.file, finding.line) for finding in style.check_style(path, tmp_path)] == [("docs/page.py", 4)]


def test_fixing_puts_each_sentence_on_its_line_and_changes_nothing_else() -> None:
    text = (
        "# A. B\n\n* One. `Two`. Three.\n1. Four (4). Five.\n\n    Six. Seven.\n\n| a. B | c |\n\n```text\nX. Y\n```\n"
    )
    assert style.mend(text) == (
        "# A. B\n\n* One.\n  `Two`.\n  Three.\n1. Four (4).\n   Five.\n\n"
        "    Six.\n    Seven.\n\n| a. B | c |\n\n```text\nX. Y\n```\n"
    )
    assert style.mend(style.mend(text)) == style.mend(text)


def test_text_in_a_fold_is_checked(find: Find) -> None:
    assert [line for line, _ in find('??? question "Answer"\n\n    One runs. Another waits.\n')] == [3]


@pytest.mark.parametrize(
    "text",
    [
        "One kernel runs.\nAnother waits.",
        "See Fig. 2, i.e. `x.y. Z` and J. Doe, vs. A.",
        "**A100 to H100.** One pass has something to write.",
        "| a. B | c. D |",
        "## One. Two",
        "```text\nOne. Two\n```",
        "A list:\n\n* one\n* two\n\nThe end.",
        "A list of pages:\n[one](a.md),\n[two](b.md).",
        "One kernel runs.\n{ .answer }",
        "The version `= x.y`. ",
    ],
)
def test_one_sentence_a_line_titles_tables_and_lists_pass(find: Find, text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize("word", ["fast", "Faster", "slow", "slowly", "speeds", "quick", "rapidly"])
def test_a_word_of_speed_without_a_figure_is_found(find: Find, word: str) -> None:
    [(number, what)] = find(f"# Title\n\nThis is {word} here.\n")
    assert (number, what.partition(":")[0]) == (3, f"{word!r} without a figure beside it")


@pytest.mark.parametrize(
    "text",
    [
        "It is faster by `= ratio`.",
        "It takes `= t` microseconds.\nThe other is faster.",
        "It is faster in 2024.",
        "`fast` is a name, and [so is this](fast.md).",
        "## Fast math",
        "Breakfast is steadfast.",
    ],
)
def test_a_word_of_speed_beside_a_figure_passes(find: Find, text: str) -> None:
    assert find(text) == []


def test_a_figure_in_another_paragraph_does_not_count(find: Find) -> None:
    assert [line for line, _ in find("It takes `= t` seconds.\n\nThe other is faster.\n")] == [3]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Stable HLO is a dialect.", "StableHLO"),
        ("The Stablehlo module.", "StableHLO"),
        ("What Xla does.", "XLA"),
        ("An allreduce.", "all-reduce"),
        ("An all reduce.", "all-reduce"),
        ("Its lifetime ends.", "live range"),
        ("An op-code.", "opcode"),
    ],
)
def test_a_term_that_is_not_written_as_in_the_glossary_is_found(find: Find, text: str, right: str) -> None:
    [(number, what)] = find(f"# Title\n\n{text}\n")
    assert number == 3
    assert what.endswith(f"the glossary says {right!r}")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The array is cut along its rows.", "is cut"),
        ("The H100 cuts the contracted dimension.", "cuts the"),
        ("Each product has its own kernel.", "Each product"),
        ("It broadcasts, and the bias is stretched.", "stretched"),
        ("The next pass takes it apart.", "takes it apart"),
        ("It launches something else now.", "launches something else"),
        ("The copy is gone.", "is gone"),
        ("So much for paper.", "So much for"),
        ("Jaxprs print otherwise.", "print otherwise"),
    ],
)
def test_a_word_that_nobody_says_of_a_program_is_found(find: Find, text: str, wrong: str) -> None:
    [(number, what)] = find(f"# Title\n\n{text}\n")
    assert number == 3
    assert what.startswith(f"{wrong!r}: say ")


@pytest.mark.parametrize(
    "text",
    [
        "What goes to memory, and where to go on.",
        "Run `product` and `cut`, and cut down the time.",
        "It is a product of Google, and its production is cut short.",
        "Between them lies a clean cut.",
        "The last one has gone to the CPU.",
        "They lie far apart.",
    ],
)
def test_the_same_words_in_their_other_senses_pass(find: Find, text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize("text", ["StableHLO, XLA and `xla_dump_to`.", "All-reduce and live ranges.", "See xla.py."])
def test_terms_as_in_the_glossary_and_names_of_files_pass(find: Find, text: str) -> None:
    assert find(text) == []


def test_words_that_may_stay_pass_and_the_same_word_elsewhere_does_not(
    find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = {"allowed": {"docs/page.md": {"a fast path": "a name"}}, "terms": {}, "words": {}, "ordinary": []}
    monkeypatch.setattr(style, "_read_rules", lambda: rules)
    assert [line for line, _ in find("It has a fast path.\n\nIt is fast.\n")] == [3]
