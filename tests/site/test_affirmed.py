"""Changed claims and changed checks need a new affirmation."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from authoring import affirm, affirmed_tables, project_texts
from livepage.notebooks import read_prose
from livepage.read import Failure, Origin, Prose, project, read_sentences
from livepage.run import backing, sentence_checks

ROOT = Path(__file__).resolve().parents[2]
PAGES = project_texts.list_pages(ROOT)
type Judge = Callable[[str], list[str]]

TALLY = """\
def count_all(one):
    return sum(map(_count, one.values()))


def _count(capture):
    return len(capture.kernels) + 0
"""
PAGE = """\
---
description: What the CPU does.
---
# Title

## Kernels { #kernels }

The CPU makes four kernels of it.
A kernel is what is started at once.

```python exec="on"
from chapters import tally

LIMIT = 4
one = measure("layer")
def count(capture):
    \"\"\"Count.\"\"\"
    return len(capture.kernels)
print("| the CPU's kernels, the fewest | bytes |")
print(one)
```

```python check="Four kernels on the CPU"
assert tally.count_all(one) == count(one["cpu"]) == LIMIT == 4
```

The TPU makes `= len(one["tpu"])` of it.

## Elsewhere

Every compiler has [a loop](https://example.org/loop) of its own.

| a | b |
| --- | --- |
| none | some |

```sh
measure --all  # every kernel
```
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each page and notebook, or for those that `--page` names."""
    if "page" in metafunc.fixturenames:
        chosen = {Path(page).resolve() for page in metafunc.config.getoption("--page")}
        pages = [page for page in PAGES if not chosen or page in chosen]
        metafunc.parametrize("page", pages, ids=[page.relative_to(ROOT).as_posix() for page in pages])


@pytest.fixture
def in_project() -> Iterator[None]:
    with project.placed_at(ROOT):
        yield


@pytest.mark.usefixtures("in_project")
def test_a_page_says_what_was_affirmed(page: Path) -> None:
    if failures := sentence_checks.judge_sentences(read_prose(page)):
        pytest.fail("\n".join(map(str, failures)), pytrace=False)


@pytest.mark.usefixtures("in_project")
def test_the_texts_on_no_page_say_what_was_affirmed() -> None:
    texts = list(project_texts.read_others(ROOT))
    if failures := [str(failure) for text in texts for failure in sentence_checks.judge_sentences(text)]:
        pytest.fail("\n".join(failures), pytrace=False)
    assert [len(table.sentences) > 50 for table in affirmed_tables.read_tables(ROOT)] == [True] * 4
    names = {text.name for text in texts if text.sentences}
    assert {*project_texts.READMES, "scripts/test", "snippets/xla_inspect/commands/command_line.py"} <= names
    assert {"snippets/practice/hints/hlo.toml", "snippets/practice/puzzles/softmax.py"} <= names
    assert {"snippets/xla_inspect/practice/texts/gpu.md", "snippets/xla_inspect/report/words.toml"} <= names
    sentences = {(text.name, sentence.text) for text in texts for sentence in text.sentences}
    answers = {
        "docs/assets/filter.js": "dot, lax.psum, communication, H100 ...",
        "snippets/xla_inspect/report/explorer/static/keys.js": "open or close the second pane, as Compare does",
        "snippets/xla_inspect/analysis/reasons/tables/fusion.toml": (
            "clause: its user already contains more than five reductions"
        ),
        "snippets/xla_inspect/analysis/bundles/usage.py": (
            "addresses, counters, conditions, branches and the start of copies"
        ),
    }
    assert answers.items() <= sentences


@pytest.mark.usefixtures("in_project")
def test_no_record_outlives_its_text_and_two_hashes_are_short() -> None:
    names = {text.name for text in project_texts.read_all(ROOT)}
    assert backing.load_all().keys() <= names
    assert (ROOT / backing.RECORDS).stat().st_size < 300_000


def accept_all(prose: Prose) -> None:
    assert affirm.affirm(prose, lambda _: True, {}) == []


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """A function that returns the messages about a changed text of a page whose first text is affirmed."""
    monkeypatch.setattr(project, "root", tmp_path)
    (tmp_path / backing.WORDS).parent.mkdir(parents=True)
    shutil.copy(ROOT / backing.WORDS, tmp_path / backing.WORDS)
    (tmp_path / "snippets/chapters").mkdir(parents=True)
    (tmp_path / "snippets/chapters/tally.py").write_text(TALLY, encoding="utf-8")
    accept_all(read_sentences("docs/page.md", PAGE))

    def check(text: str) -> list[str]:
        return [str(failure) for failure in sentence_checks.judge_sentences(read_sentences("docs/page.md", text))]

    return check


def test_an_affirmed_sentence_is_not_reported(judge: Judge) -> None:
    assert judge(PAGE) == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("makes four kernels", "makes five kernels", 8),
        ("The CPU makes", "The H100 makes", 8),
        ("four kernels of it", "at most four kernels of it", 8),
        ("is started at once", "is never started", 9),
        ("`= len(one", "`= 2 * len(one", 27),
        ("The TPU makes", "The CPU makes", 27),
        ("Every compiler has", "No compiler has", 31),
        ("the CPU's kernels", "the CPU's copies", 19),
        ("What the CPU does", "What the H100 does", 2),
        ("Four kernels on the CPU", "Five kernels on the CPU", 8),
        ("the fewest", "the most", 19),
        ("## Kernels {", "## Copies {", 6),
        ("every kernel", "the first kernel", 38),
    ],
)
def test_another_number_name_qualifier_value_label_title_or_question_is_noticed_with_its_line(
    judge: Judge, old: str, new: str, line: int
) -> None:
    assert old in PAGE
    [failure, *_] = judge(PAGE.replace(old, new))
    assert failure.startswith(f"docs/page.md:{line}: ")
    assert failure.endswith(", then run scripts/authoring/affirm docs/page.md")


def test_a_check_that_changes_is_noticed_with_the_sentence_that_rests_on_it(judge: Judge) -> None:
    failures = judge(PAGE.replace("== 4", "== 5"))
    assert 'docs/page.md:23: this check or a helper of it changed; on it rests line 8, "The CPU makes' in failures[-1]
    assert failures[0].startswith('docs/page.md:8: what backs this sentence changed, "The CPU makes four')


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return len(capture.kernels)", "return min(len(capture.kernels), 4)"),
        ('one = measure("layer")', 'one = measure("gelu")'),
        ("LIMIT = 4", "LIMIT = 5"),
    ],
)
def test_a_helper_of_the_page_that_a_check_calls_is_part_of_the_check(judge: Judge, old: str, new: str) -> None:
    assert old in PAGE
    assert any("this check or a helper of it changed" in failure for failure in judge(PAGE.replace(old, new)))


def test_a_helper_of_the_project_that_a_check_calls_is_part_of_the_check(judge: Judge, tmp_path: Path) -> None:
    assert judge(PAGE) == []
    (tmp_path / "snippets/chapters/tally.py").write_text(TALLY.replace("+ 0", "+ 1"), encoding="utf-8")
    assert any("this check or a helper of it changed" in failure for failure in judge(PAGE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("== 4", "==  4  # kernels"),
        ("The CPU makes four kernels of it.", "The **CPU** makes\nfour `kernels` of it."),
        ("https://example.org/loop", "https://example.org/loop#body"),
        ("## Kernels { #kernels }", "## Kernels { #launches }"),
        ("| a | b |", "| a   |  b |"),
        ("LIMIT", "most"),
        ("measure --all  # every", "measure --all    # every"),
        ('    """Count."""', '    """Count the kernels."""'),
    ],
)
def test_layout_and_markup_are_not_asked_about(judge: Judge, old: str, new: str) -> None:
    assert old in PAGE
    assert judge(PAGE.replace(old, new)) == []


def test_a_new_claim_without_anything_behind_it_is_noticed(judge: Judge) -> None:
    [failure] = judge(PAGE.replace("A kernel is", "Only the H100 fuses all of it.\nA kernel is"))
    assert failure.startswith("docs/page.md:9: this sentence is new or changed, ")


@pytest.mark.parametrize(
    "text",
    [
        "The chip is the same with more memory, and so is the code: no program has other launches.",
        "Padding costs nothing, since nobody reads it.",
        "Nothing is cached between two runs of Python, whatever you set.",
        "Freed space is handed back to the operating system at once.",
        "Its functions are inlined as soon as somebody parses the text.",
        "A tile is the piece that one group works on.",
        "The name comes from Latin.",
        "Run `measure --all` again.",
        "Put the batch last.",
        "Is it the smaller one?",
        "## Donated arguments",
        "Four layers without sharded weights, with a product and a relu in each:",
    ],
)
def test_a_claim_in_ordinary_words_is_noticed(judge: Judge, text: str) -> None:
    [failure] = judge(PAGE.replace("Every compiler", f"{text}\nEvery compiler"))
    assert failure.startswith("docs/page.md:31: this sentence is new or changed")


def test_a_word_beside_text_in_a_row_is_a_label_and_so_is_what_names_the_row() -> None:
    block = """\
```python exec="on"
ways = {"jit": ("compiles once", "nothing"), "grad": ("adds a half", "a scalar")}
options = {"level": 0, "mode": "max"}
```
"""
    [labels] = read_sentences("docs/page.md", block).sentences
    assert labels.text == "labels: jit | grad | compiles once | nothing | adds a half | a scalar"


def test_a_row_of_values_and_a_name_with_a_digit_are_read() -> None:
    page = '# H100\n\n| `add` | `= count("add")` |\n| --- | --- |\n| H200 | `= 2` |\n`add`\n`= 2`\n'
    texts = [sentence.text for sentence in read_sentences("docs/page.md", page).sentences]
    assert texts == ["H100", '`add` | `= count("add")` |', "H200 | `= 2` |"]


def test_lines_of_a_paragraph_are_one_text_and_sentences_of_a_line_are_several() -> None:
    page = "A sentence\ngoes on. Another `x.y` stands\nthere:\n\n* An item.\n* **2.** One more.\n"
    sentences = [(sentence.line, sentence.text) for sentence in read_sentences("docs/page.md", page).sentences]
    assert sentences == [
        (1, "A sentence goes on."),
        (2, "Another `x.y` stands there:"),
        (5, "An item."),
        (6, "One more."),
    ]


def test_a_sentence_that_goes_or_becomes_one_that_claims_nothing_is_noticed(judge: Judge) -> None:
    for new in ("", "Welcome here.\n"):
        [failure] = judge(PAGE.replace('The TPU makes `= len(one["tpu"])` of it.\n', new))
        assert failure.startswith("docs/page.md:1: the page no longer says what was affirmed (1 of 12 sentences)")


@pytest.mark.parametrize(
    "text",
    [
        "Welcome to this chapter.",
        "Go on with the next page.",
        "Read the listing from the top.",
        "What do you expect?",
        "## Next",
        "This page is slow reading.",
        "So far, so good.",
        "Now to the other half of the story.",
        "Skip this section at first, if you like.",
    ],
)
def test_a_sentence_that_claims_nothing_is_not_recorded(judge: Judge, text: str) -> None:
    assert judge(PAGE.replace("A kernel is", f"{text}\n\nA kernel is")) == []


@pytest.mark.usefixtures("in_project")
def test_the_number_of_an_item_claims_nothing() -> None:
    assert [sentence_checks.claims(text) for text in ("7.", "2)", "7 kernels.")] == [False, False, True]


def test_a_failing_check_names_the_sentences_that_rest_on_it(judge: Judge) -> None:
    assert judge(PAGE) == []
    failure = Failure(Origin("docs/page.md", 24), "AssertionError: left was 3, right was 4")
    explained = sentence_checks.explain_failure(
        failure, "Four kernels on the CPU", read_sentences("docs/page.md", PAGE)
    )
    assert str(explained).startswith(
        "docs/page.md:24: AssertionError: left was 3, right was 4; on this rests docs/page.md:8"
    )


def test_the_command_shows_sentence_and_check_side_by_side_and_records_what_is_accepted(judge: Judge) -> None:
    prose = read_sentences("docs/page.md", PAGE.replace("makes four kernels", "makes at most four kernels"))
    before = [sentence.text for sentence in read_sentences("docs/page.md", PAGE).sentences]
    [pair] = affirm.affirm(prose, lambda _: False, {}, before)
    assert "docs/page.md:8: changed; it rests on 'Four kernels on the CPU'" in pair.shown
    assert "- The CPU makes four kernels of it." in pair.shown
    assert "+ The CPU makes at most four kernels of it." in pair.shown
    assert '| assert tally.count_all(one) == count(one["cpu"]) == LIMIT == 4' in pair.shown
    assert len(sentence_checks.judge_sentences(prose)) == 1
    accept_all(prose)
    assert sentence_checks.judge_sentences(prose) == []
    assert judge(PAGE) != []


def test_a_value_supports_no_clause_without_a_value(judge: Judge) -> None:
    text = textwrap.dedent(PAGE) + "\nThe H100 makes `= 2 + 3` of it, and the CPU is twice as slow.\n"
    prose = read_sentences("docs/page.md", text)
    [pair] = affirm.affirm(prose, lambda _: False, {})
    assert pair.check.title == "reading"
    with pytest.raises(SystemExit, match="no value decides 'and the CPU is twice as slow"):
        affirm.affirm(prose, lambda _: True, {pair.sentence.line: "values"})
    assert judge(text) != []
    assert affirm.affirm(prose, lambda _: True, {pair.sentence.line: "reading"}) == []
    assert judge(text) == []


def test_names_that_the_check_lacks_are_shown(judge: Judge) -> None:
    prose = read_sentences("docs/page.md", PAGE.replace("The CPU makes four", "The B200 makes four"))
    [pair] = affirm.affirm(prose, lambda _: False, {})
    assert "The code on the right does not hold: B200" in pair.shown
    assert judge(PAGE) == []


@pytest.mark.usefixtures("judge")
def test_a_sentence_is_accepted_without_a_question_only_if_its_values_decide_it() -> None:
    text = f'{PAGE}The CPU has `= len(one["cpu"])`.\nThe CPU keeps `= len(one["cpu"])` for nothing.\n'
    [pair] = affirm.affirm(read_sentences("docs/page.md", text), affirm.accept_decided, {})
    assert "The code on the right does not hold: keeps, nothing" in pair.shown
