"""No sentence that claims something changes without a look at what backs it, nor a check without its sentences."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from authoring import affirm, affirmed_tables
from livepage.notebooks import read_prose
from livepage.read import Failure, Origin, project, read_sentences
from livepage.run import agreement, backing

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "docs").rglob("*.py"))]
type Judge = Callable[[str], list[str]]

PAGE = """\
---
description: What the CPU does.
---
# Title

## Kernels { #kernels }

The CPU makes four kernels of it.
A kernel is what is started at once.

```python exec="on"
print("| the CPU's kernels | bytes |")
```

```python check="Four kernels on the CPU"
assert len(one["cpu"].kernels) == 4
```

The TPU makes `= len(one["tpu"])` of it.

## Elsewhere

Every compiler has [a loop](https://example.org/loop) of its own.
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each page and notebook, or for those that `--page` names."""
    if "page" in metafunc.fixturenames:
        named = {Path(page).resolve() for page in metafunc.config.getoption("--page")}
        pages = [page for page in PAGES if not named or page in named]
        metafunc.parametrize("page", pages, ids=[page.relative_to(ROOT).as_posix() for page in pages])


@pytest.fixture
def in_project() -> Iterator[None]:
    before, project.root = project.root, ROOT
    yield
    project.root = before


@pytest.mark.usefixtures("in_project")
def test_a_page_says_what_was_affirmed(page: Path) -> None:
    if found := agreement.judge(read_prose(page)):
        pytest.fail("\n".join(map(str, found)), pytrace=False)


@pytest.mark.usefixtures("in_project")
def test_the_tables_say_what_was_affirmed() -> None:
    tables = list(affirmed_tables.read(ROOT))
    assert [str(failure) for table in tables for failure in agreement.judge(table)] == []
    assert [len(table.sentences) > 50 for table in tables] == [True] * 4


@pytest.mark.usefixtures("in_project")
def test_no_record_outlives_its_page() -> None:
    names = [page.relative_to(ROOT).as_posix() for page in PAGES] + [table.name for table in affirmed_tables.read(ROOT)]
    assert {path.name for path in (ROOT / backing.FOLDER).iterdir()} <= {backing.locate(name).name for name in names}


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Affirm a page of its own, and return what is said of it once its text is another."""
    monkeypatch.setattr(project, "root", tmp_path)
    (tmp_path / agreement.WORDS).parent.mkdir(parents=True)
    shutil.copy(ROOT / agreement.WORDS, tmp_path / agreement.WORDS)
    before = read_sentences("docs/page.md", PAGE)
    record = backing.Record({check.title: check.code for check in before.checks})
    for sentence in before.sentences:
        if agreement.claims(sentence.text):
            record.backed[sentence.text] = backing.propose(sentence, before) or (backing.FREE, "")
    backing.store("docs/page.md", record)

    def check(text: str) -> list[str]:
        return [str(failure) for failure in agreement.judge(read_sentences("docs/page.md", text))]

    return check


def test_what_was_affirmed_is_not_complained_of(judge: Judge) -> None:
    assert judge(PAGE) == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("makes four kernels", "makes five kernels", 8),
        ("The CPU makes", "The H100 makes", 8),
        ("four kernels of it", "at most four kernels of it", 8),
        ("`= len(one", "`= 2 * len(one", 19),
        ("The TPU makes", "The CPU makes", 19),
        ("Every compiler has", "No compiler has", 23),
        ("the CPU's kernels", "the CPU's copies", 12),
    ],
)
def test_another_number_name_qualifier_value_or_label_is_noticed_with_its_line(
    judge: Judge, old: str, new: str, line: int
) -> None:
    assert old in PAGE
    [said] = judge(PAGE.replace(old, new))
    assert said.startswith(f"docs/page.md:{line}: this sentence changed, and rests on ")
    assert said.endswith("read them, then scripts/authoring/affirm docs/page.md")


def test_a_check_that_changes_is_noticed_with_the_sentence_that_rests_on_it(judge: Judge) -> None:
    [said] = judge(PAGE.replace("== 4", "== 5"))
    assert said.startswith(
        'docs/page.md:15: this check changed; on it rests line 8, "The CPU makes four kernels of it."'
    )


def test_a_check_in_another_layout_is_the_same(judge: Judge) -> None:
    assert judge(PAGE.replace("== 4", "==  4  # kernels")) == []


def test_a_new_claim_without_anything_behind_it_is_noticed(judge: Judge) -> None:
    [said] = judge(PAGE.replace("A kernel is", "Only the H100 fuses all of it.\nA kernel is"))
    assert said.startswith(
        "docs/page.md:9: this sentence says what a compiler decides, and was not held against a check"
    )


@pytest.mark.parametrize(
    "text",
    [
        "The chip is the same with more memory, and so is the code: no program has other launches.",
        "Padding costs nothing, since nobody reads it.",
        "Nothing is cached between two runs of Python, whatever you set.",
        "Freed space is handed back to the operating system at once.",
        "Its functions are inlined as soon as somebody parses the text.",
    ],
)
def test_a_claim_in_ordinary_words_is_noticed(judge: Judge, text: str) -> None:
    [said] = judge(PAGE.replace("Every compiler", f"{text}\nEvery compiler"))
    assert said.startswith("docs/page.md:23: this sentence says what a compiler decides")


def test_a_word_beside_text_in_a_row_is_a_label_and_so_is_what_names_the_row() -> None:
    block = """\
```python exec="on"
ways = {"jit": ("compiles once", "nothing"), "grad": ("adds a half", "a scalar")}
options = {"level": 0, "mode": "max"}
```
"""
    [said] = read_sentences("docs/page.md", block).sentences
    assert said.text == "labels: jit | grad | compiles once | nothing | adds a half | a scalar"


def test_a_row_of_values_and_a_name_with_a_digit_are_read() -> None:
    page = '# H100\n\n| `add` | `= count("add")` |\n| --- | --- |\n| H200 | `= 2` |\n`add`\n`= 2`\n'
    said = [sentence.text for sentence in read_sentences("docs/page.md", page).sentences]
    assert said == ["H100", '`add` | `= count("add")` |', "H200 | `= 2` |"]


def test_a_sentence_that_goes_is_noticed(judge: Judge) -> None:
    [said] = judge(PAGE.replace('The TPU makes `= len(one["tpu"])` of it.\n', ""))
    assert said.startswith('docs/page.md:15: the page no longer says "The TPU makes')


@pytest.mark.parametrize(
    "text",
    [
        "Welcome to this chapter.",
        "Go on with the next page.",
        "Read the listing from the top.",
        "The name comes from Latin.",
        "Elements go elsewhere and keep their value.",
        "This one takes a minute to read.",
        "Photographs have three channels.",
        "A tile is the piece that one group works on.",
    ],
)
def test_a_sentence_that_claims_nothing_costs_nothing(judge: Judge, text: str) -> None:
    assert judge(PAGE.replace("A kernel is", f"{text}\nA kernel is")) == []


def test_what_was_declared_to_claim_nothing_may_change_a_little(judge: Judge) -> None:
    record = backing.load("docs/page.md")
    record.backed["The CPU makes four kernels of it."] = (backing.FREE, "")
    backing.store("docs/page.md", record)
    assert judge(PAGE.replace("makes four kernels", "makes a few kernels")) == []
    assert len(judge(PAGE.replace("The CPU makes four kernels of it.", "The TPU never copies anything at all."))) == 1


def test_a_backing_that_is_not_there_is_noticed(judge: Judge) -> None:
    record = backing.load("docs/page.md")
    record.backed["The CPU makes four kernels of it."] = (backing.VALUES, "")
    backing.store("docs/page.md", record)
    [said] = judge(PAGE)
    assert said.startswith("docs/page.md:8: this sentence rests on its values, and there is none")


def test_a_failing_check_names_the_sentences_that_rest_on_it(judge: Judge) -> None:
    assert judge(PAGE) == []
    failure = Failure(Origin("docs/page.md", 16), "AssertionError: left was 3, right was 4")
    told = agreement.explain(failure, "Four kernels on the CPU", read_sentences("docs/page.md", PAGE))
    assert str(told).startswith(
        "docs/page.md:16: AssertionError: left was 3, right was 4; on this rests docs/page.md:8"
    )


def test_the_command_shows_sentence_and_check_side_by_side(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(affirm, "ROOT", tmp_path)
    changed = PAGE.replace("makes four kernels", "makes at most four kernels")
    assert len(judge(changed)) == 1
    assert affirm.affirm(read_sentences("docs/page.md", changed), {}) == []
    shown = capsys.readouterr().out
    assert "docs/page.md:8: changed, rests on 'Four kernels on the CPU'" in shown
    assert "- The CPU makes four kernels of it." in shown
    assert "+ The CPU makes at most four kernels of it." in shown
    assert '| assert len(one["cpu"].kernels) == 4' in shown
    assert judge(changed) == []


def test_the_command_refuses_what_nothing_backs(judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(affirm, "ROOT", tmp_path)
    text = textwrap.dedent(PAGE) + "\n## More\n\nOnly the H100 fuses all of it.\n"
    [said] = affirm.affirm(read_sentences("docs/page.md", text), {})
    assert said.startswith("docs/page.md:27: nothing backs this: Only the H100 fuses all of it.")
    assert affirm.affirm(read_sentences("docs/page.md", text), {27: backing.FREE}) == []
    assert judge(text) == []


def test_the_record_holds_the_check_beside_its_sentences(judge: Judge) -> None:
    assert judge(PAGE) == []
    text = backing.locate("docs/page.md").read_text(encoding="utf-8")
    assert 'says = [\n  "The CPU makes four kernels of it.",\n' in text
    assert 'code = """\nassert len(one["cpu"].kernels) == 4\n"""' in text
