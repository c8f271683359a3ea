"""The gallery's matrices and lists show each capture's number, mark what changes, and hide no gap."""

from __future__ import annotations

import html.parser
import re

import pytest

from chapters import gallery_matrix
from programs import layer as program
from xla_inspect import Captures, capture_all
from xla_inspect.analysis import list_kernels

pytestmark = pytest.mark.usefixtures("all_targets")

TARGETS = ("cpu", "a100", "h100", "h200")


class Cells(html.parser.HTMLParser):
    """Collects the body's cells of a table: class, text and link of each."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[list[str]] = []
        self.open = self.body = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.body |= tag == "tbody"
        if self.body and tag in {"td", "th"}:
            self.cells.append([given.get("class") or "", "", ""])
            self.open = True
        elif self.open and tag == "a":
            self.cells[-1][2] = given.get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        self.open &= tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        if self.open:
            self.cells[-1][1] += data


@pytest.fixture(scope="module")
def layers() -> Captures:
    found = capture_all(program.layer, *program.EXAMPLE, targets=TARGETS)
    return Captures(found, {"tpu-v4": "it <says> no"}, (*TARGETS, "tpu-v4"))


def read(text: str) -> list[list[str]]:
    reader = Cells()
    reader.feed(text)
    return reader.cells


def test_a_matrix_has_a_number_for_each_target_and_marks_what_differs_from_the_one_before(layers: Captures) -> None:
    text = gallery_matrix.number_matrix(
        {"layer": ("relu(x @ <w>)", layers)}, lambda capture: len(list_kernels(capture)), "Kernels"
    )
    assert read(text) == [
        ["", "relu(x @ <w>)", "#layer"],
        ["", "2", ""],
        ["", "1", ""],
        ["new", "2", ""],
        ["", "2", ""],
        ["none", "no", "#layer"],
    ]
    assert "<caption>Kernels</caption>" in text


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (1023, "1023"), (1024, "1K"), (1536, "1.5K"), (262144, "256K"), (5 * 2**20, "5M"), (3 * 2**30, "3G")],
)
def test_a_number_takes_four_characters_at_most(layers: Captures, number: int, shown: str) -> None:
    text = gallery_matrix.number_matrix({"layer": ("Layer", layers)}, lambda _: number, "Bytes")
    assert read(text)[1][1] == shown


def test_targets_with_the_same_launches_share_a_row_and_a_gap_has_its_reason(layers: Captures) -> None:
    lines = gallery_matrix.show_launch_kinds(layers).splitlines()[2:]
    assert [re.sub(r"<[^>]*>", "", line) for line in lines] == [
        "| CPU | 2 | 1 kCustom, 1 kLoop |  |",
        "| A100 | 1 | 1 kCustom |  |",
        "| H100, H200 | 2 | 1 kCustom, 1 kLoop |  |",
        "| TPU v4 | none | it &#60;says&#62; no |  |",
    ]


def test_steps_name_each_program_that_changes_and_leave_out_what_did_not_compile(layers: Captures) -> None:
    shown = {"layer": ("Layer", layers)}
    assert list(gallery_matrix.list_generation_steps(shown, "a100", "h100")) == ["layer"]
    assert gallery_matrix.list_generation_steps(shown, "tpu-v4", "tpu-v5e") == {}
    text = gallery_matrix.show_generations(shown, ("a100", "h100", "h200"))
    assert "NVIDIA A100 to NVIDIA H100: of 1 programs 1 with other launches" in text
    assert "+1 <code>kLoop</code>" in text
    assert "NVIDIA H100 to NVIDIA H200: of 1 programs 0 with other launches, 0 with the same in other sizes" in text
