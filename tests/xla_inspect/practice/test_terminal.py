"""Output fits its terminal or pipe."""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap

import pytest
from screens import Terminal

from xla_inspect import basics, terminal
from xla_inspect.practice import models
from xla_inspect.practice.notebook import read_pairs
from xla_inspect.terminal import Paper, open_paper, understands_colour


def printed(colour: bool = False, width: int = 100, fold: bool = False) -> tuple[Paper, io.StringIO]:  # noqa: FBT001, FBT002 - a table of settings
    stream = io.StringIO()
    return Paper(stream, colour=colour, width=width, fold=fold), stream


def print_everything(paper: Paper) -> None:
    paper.title("Phase 9")
    paper.heading("9.1 A step")
    paper.say("Words with `code` in them.")
    paper.item("one item")
    paper.show("def f(x):\n    return x + 1", "python")
    paper.show("ENTRY %main {\n  ROOT %a = f32[4]{0} add(%b, %c)\n}", "hlo")
    paper.table(("name", "number"), [("a", 1000)], numbers=(1,))
    paper.verdict("All right.", good=True)
    paper.links({"XLA": "https://openxla.org/xla"})


def test_without_colour_there_is_no_escape_sequence_and_code_keeps_its_backticks() -> None:
    paper, stream = printed()
    print_everything(paper)
    assert "\x1b" not in stream.getvalue()
    assert "Words with `code` in them.\n" in stream.getvalue()


def test_colored_text_has_the_same_words() -> None:
    plain, bare = printed()
    coloured, stream = printed(colour=True)
    print_everything(plain)
    print_everything(coloured)
    assert "\x1b[" in stream.getvalue()
    without = re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue())
    assert without == bare.getvalue().replace("`", "")


def test_without_pygments_a_listing_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal.importlib.util, "find_spec", lambda _: None)
    paper, stream = printed(colour=True)
    paper.show("x = 1", "python")
    assert stream.getvalue() == "    x = 1\n\n"


def test_the_last_line_of_a_listing_is_coloured_like_the_others() -> None:
    paper, stream = printed(colour=True)
    paper.show(">>> 1\n1\n>>> 2\n2", "pycon")
    lines = stream.getvalue().splitlines()
    assert lines[1] == "    1"
    assert lines[3] == "    2"


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ],
)
def test_colour_is_for_terminals_that_allow_it(
    stream: io.StringIO, environment: dict[str, str], expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "understands_colour", lambda _: True)
    assert open_paper(stream, environment).colour is expected


def test_an_old_windows_console_gets_no_escape_sequences() -> None:
    assert understands_colour({}, "posix")
    assert not understands_colour({}, "nt")
    assert understands_colour({"WT_SESSION": "1"}, "nt")


def test_prose_is_wrapped_and_a_listing_in_a_pipe_is_not() -> None:
    paper, stream = printed(width=40)
    paper.say("word " * 30)
    assert max(map(len, stream.getvalue().splitlines())) <= 40
    line = "%name = f32[4]{0} add(%first, %second), " * 4
    paper.show(line)
    assert f"    {line.rstrip()}\n" in stream.getvalue()


def test_a_long_line_of_a_listing_is_cut_between_words_in_a_terminal_and_nothing_is_lost() -> None:
    paper, stream = printed(width=40, fold=True)
    line = "  %name = f32[32,128]{1,0} fusion(%first, %second), kind=kLoop, calls=%computation"
    paper.show(line)
    lines = stream.getvalue().rstrip().splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 40
    assert [part.endswith(" \\") for part in lines] == [True] * (len(lines) - 1) + [False]
    assert " ".join(" ".join(part.removesuffix(" \\") for part in lines).split()) == " ".join(line.split())


def test_code_that_is_cut_is_still_the_same_code() -> None:
    paper, stream = printed(width=40, fold=True)
    line = "result = first_value + second_value * third_value - fourth_value, [fifth_value, sixth_value]"
    paper.show(line, "python")
    cut = textwrap.dedent(stream.getvalue())
    assert cut.count("\n") > 2
    assert ast.dump(ast.parse(cut)) == ast.dump(ast.parse(line))


def test_titles_and_headings_are_wrapped_and_underlined_as_far_as_they_reach() -> None:
    paper, stream = printed(width=40, fold=True)
    paper.title("Phase 9 of 9: a title that is longer than the line")
    paper.heading("[4 of 4] hlo/donate: a heading that is longer than the line")
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[3] == "=" * max(map(len, lines[1:3]))


def test_the_python_that_the_practice_shows_fits_into_eighty_columns() -> None:
    functions = (models.mlp, models.loss, models.classify, models.wasteful, models.doubled)
    predicted = (function for function, _ in models.PREDICTED.values())
    typed = [basics.ARRAYS, basics.JIT, basics.GRAD, basics.VMAP, basics.MODEL, basics.STEP]
    typed += [pair["jax"] for pair in read_pairs()["pair"]]
    lines = [line for example in (*functions, *predicted) for line in inspect.getsource(example).splitlines()]
    lines += [f">>> {line}" for text in typed for line in text.splitlines()]
    assert [line for line in lines if len(line) > 80 - len(terminal.INDENT)] == []


def test_a_table_aligns_numbers_and_keeps_rows_whose_last_cell_is_empty() -> None:
    paper, stream = printed(width=60, fold=True)
    paper.table(
        ("category", "count", "what changed"), [("a", 1, ""), ("long name", 12345, "a word " * 12)], numbers=(1,)
    )
    lines = stream.getvalue().rstrip("\n").split("\n")
    assert lines[0] == "    category    count"
    assert lines[1].strip() == "what changed"
    assert lines[2] == "    a               1"
    assert lines[3] == "    long name  12,345"
    assert max(map(len, lines)) <= 60
    assert " ".join(" ".join(lines[4:]).split()) == " ".join(["a word"] * 12)


def test_a_table_with_room_wraps_its_last_column_in_place() -> None:
    paper, stream = printed(width=80, fold=True)
    paper.table(("name", "words"), [("a", "b " * 60)])
    lines = stream.getvalue().rstrip("\n").split("\n")
    assert lines[1].startswith("    a     b b")
    assert lines[2].startswith("          b b")
    assert max(map(len, lines)) <= 80
