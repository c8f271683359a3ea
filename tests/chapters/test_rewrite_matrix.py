"""The matrix of rewrites, and one rewrite line by line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from chapters import rewrite_matrix
from xla_inspect.analysis import Fate, find_fate

if TYPE_CHECKING:
    from xla_inspect.captured import Captures

KEPT, IMPORTED, FOLDED = Fate("", "", None, 1), Fate("import", "", None, 0), Fate("constant_folding", "p", 1, 0)


def cells(html: str) -> list[tuple[str, str, str]]:
    """Read class, width and text of each cell of the body."""
    return [
        (cell[1], cell[2], re.sub(r"&#95;<wbr>", "_", cell[3]))
        for cell in re.finditer(r'<td class="(\w+)" role="cell" colspan="(\d)"[^>]*>(.*?)</td>', html)
    ]


def test_targets_that_agree_share_a_cell_and_the_others_do_not() -> None:
    row = {
        "float32": {"cpu": KEPT, "h100": FOLDED, "tpu-v5e": FOLDED},
        "int32": {"cpu": IMPORTED, "h100": IMPORTED, "tpu-v5e": IMPORTED},
    }
    expected = [("kept", "1", "kept"), ("pass", "2", "constant_folding"), ("early", "3", "import")]
    assert cells(rewrite_matrix.rewrite_matrix({"x * 0": row}, "")) == expected


def test_a_row_is_as_wide_as_the_head_and_each_type_stands_before_its_cells() -> None:
    row = {kind: {"cpu": KEPT, "h100": FOLDED, "tpu-v5e": FOLDED} for kind in ("float32", "int32")}
    head, body = rewrite_matrix.rewrite_matrix({"x * 0": row}, "").split("<tbody")
    widths = [sum(map(int, re.findall(r'colspan="(\d)"', part))) for part in (head.partition("</tr>")[0], body)]
    assert widths == [6, 6]
    assert body.count("<td ") == 4
    assert re.findall(r'data-kind="(\w+)" title="\w+, (\w+)', body) == [("float32", "CPU"), ("int32", "CPU")]


def test_the_history_ends_with_the_pass_that_decided(captures: Captures) -> None:
    capture = captures["cpu"]
    fate = find_fate(capture, ("call",), 0)
    blocks = rewrite_matrix.show_rewrite(capture, fate).split("\n\n")
    assert [" call(" in block for block in blocks] == [True] * (len(blocks) - 1) + [False]
    assert f"// after {fate.by}, in {fate.pipeline}" in blocks[-1]


def test_a_line_that_the_listing_above_does_not_hold_is_marked(captures: Captures) -> None:
    header, *lines = rewrite_matrix.show_steps(captures["cpu"], 0).splitlines()
    marked = [lines[int(number) - 1] for number in re.findall(r"\d+", header)]
    (seam,) = (place for place, line in enumerate(lines) if line.startswith("// after "))
    assert marked == [line for line in lines[seam + 1 : -1] if line not in lines[:seam]]
    assert marked != []


def test_a_history_may_start_late(captures: Captures) -> None:
    assert rewrite_matrix.show_steps(captures["cpu"], 1, 1).splitlines()[1].startswith("// after ")
    assert "// as imported" not in rewrite_matrix.show_steps(captures["cpu"], 1, 0)


def test_a_kept_instruction_has_no_history_of_removal(captures: Captures) -> None:
    with pytest.raises(ValueError, match="they are still in the module"):
        rewrite_matrix.show_rewrite(captures["cpu"], KEPT)


@pytest.mark.usefixtures("all_targets")
def test_the_entry_of_each_target_is_listed(captures: Captures) -> None:
    html = rewrite_matrix.show_entries(captures)
    assert re.findall("^// (.*)$", html, re.MULTILINE) == ["CPU", "NVIDIA H100", "TPU v5e"]
    assert html.count("ENTRY ") == len(captures)
