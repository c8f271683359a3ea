"""Of a page an edit of a file lets run what uses the file, and what that needs, statement by statement."""

from __future__ import annotations

from livepage.read import Kind, Origin, Outcome, Piece
from livepage.run import slice_page


def make(code: str, kind: Kind = Kind.BLOCK) -> Piece:
    origins = tuple(Origin("docs/page.md", line) for line in range(1, code.count("\n") + 2))
    return Piece(kind, code, origins[0], origins, {"check": "It holds"} if kind is Kind.CHECK else {})


def uses(code: str) -> bool:
    return "edited" in code


def cut(*pieces: Piece, told: tuple[str, ...] = ()) -> tuple[list[int], list[int], list[str]]:
    """Return the places that are reached, those that are needed, and the code that is left of each."""
    known = [Outcome(text) for text in (*told, *[""] * (len(pieces) - len(told)))]
    part = slice_page(pieces, known, uses)
    assert part
    return sorted(part.reached), sorted(part.needed), [piece.code for piece in part.pieces]


def test_what_uses_nothing_of_the_file_does_not_run() -> None:
    pieces = make("import edited\nimport other"), make("x = edited.f()"), make("y = other.f()"), make("x", Kind.VALUE)
    reached, needed, left = cut(*pieces)
    assert (reached, needed) == ([0, 1, 3], [0, 1, 3])
    assert left[0] == "import edited\n"


def test_what_those_read_that_use_it_runs_and_is_not_reached() -> None:
    pieces = make("base = 2\nunused = 3"), make("import edited\nx = edited.f(base)"), make("base", Kind.VALUE)
    reached, needed, left = cut(*pieces)
    assert (reached, needed) == ([1], [0, 1])
    assert left[0] == "base = 2\n"


def test_a_name_that_is_bound_anew_is_no_longer_reached() -> None:
    pieces = make("import edited\nx = edited.f()"), make("x = 1"), make("x", Kind.VALUE)
    assert cut(*pieces)[0] == [0]


def test_what_is_changed_in_place_is_made_as_it_was() -> None:
    pieces = make("rows = []"), make("rows.append(1)"), make("import edited\nprint(edited.f(rows))")
    assert cut(*pieces)[1] == [0, 1, 2]


def test_what_a_function_reads_when_it_is_called_counts() -> None:
    pieces = make("import edited\nx = edited.f()"), make("def tell():\n    return x"), make("tell()", Kind.VALUE)
    assert cut(*pieces)[0] == [0, 1, 2]


def test_a_block_that_printed_and_a_check_run_whole() -> None:
    printing = make("import edited\nprint('a')\nx = edited.f()")
    check = make("assert True\nassert x", Kind.CHECK)
    _, _, left = cut(printing, check, told=("a\n",))
    assert left == [printing.code, check.code]


def test_of_an_import_of_several_only_the_one_counts_that_leads_there() -> None:
    pieces = make("from programs import edited, other"), make("other.f()", Kind.VALUE), make("edited.f()", Kind.VALUE)
    assert cut(*pieces)[0] == [0, 2]


def test_what_reaches_names_that_its_text_does_not_tell_cannot_be_cut() -> None:
    assert slice_page([make("import edited\nprint(globals())")], [Outcome()], uses) is None
