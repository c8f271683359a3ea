"""The matrices and lists of the gallery: numbers, marked changes and visible gaps."""

from __future__ import annotations

import html
import re

import pytest

from chapters import gallery_matrix
from programs import layer as program
from xla_inspect import Captures, capture_all
from xla_inspect.analysis import list_kernels

pytestmark = pytest.mark.usefixtures("all_targets")

TARGETS = ("cpu", "a100", "h100", "h200")


@pytest.fixture(scope="module")
def layers() -> Captures:
    layers = capture_all(program.layer, *program.EXAMPLE, targets=TARGETS)
    return Captures(layers, {"tpu-v4": "it <says> no"}, (*TARGETS, "tpu-v4"))


def read(text: str) -> list[list[str]]:
    """Return class, text and link of each cell in the body of a table."""
    cells = re.findall(r"<t[dh]([^>]*)>(.*?)</t[dh]>", text.partition("<tbody")[2], re.DOTALL)
    return [[find("class", attributes), strip(inner), find("href", inner)] for attributes, inner in cells]


def find(name: str, markup: str) -> str:
    return "".join(re.findall(rf'{name}="([^"]*)"', markup)[:1])


def strip(markup: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", markup))


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
    ("number", "expected"),
    [(0, "0"), (1023, "1023"), (1024, "1K"), (1536, "1.5K"), (262144, "256K"), (5 * 2**20, "5M"), (3 * 2**30, "3G")],
)
def test_a_number_takes_four_characters_at_most(layers: Captures, number: int, expected: str) -> None:
    text = gallery_matrix.number_matrix({"layer": ("Layer", layers)}, lambda _: number, "Bytes")
    assert read(text)[1][1] == expected


def test_targets_with_the_same_launches_share_a_row_and_a_gap_has_its_reason(layers: Captures) -> None:
    lines = gallery_matrix.show_launch_kinds(layers).splitlines()[2:]
    assert [re.sub(r"<[^>]*>", "", line) for line in lines] == [
        "| CPU | 2 | 1 kCustom, 1 kLoop |  |",
        "| A100 | 1 | 1 kCustom |  |",
        "| H100, H200 | 2 | 1 kCustom, 1 kLoop |  |",
        "| TPU v4 | none | it &#60;says&#62; no |  |",
    ]


def test_steps_name_each_program_that_changes_and_leave_out_what_did_not_compile(layers: Captures) -> None:
    shown_programs = {"layer": ("Layer", layers)}
    assert list(gallery_matrix.list_generation_steps(shown_programs, "a100", "h100")) == ["layer"]
    assert gallery_matrix.list_generation_steps(shown_programs, "tpu-v4", "tpu-v5e") == {}
    text = gallery_matrix.show_generations(shown_programs, ("a100", "h100", "h200"))
    assert "NVIDIA A100 to NVIDIA H100: of 1 program, 1 launch other kernels" in text
    assert "+1 <code>kLoop</code>" in text
    assert (
        "NVIDIA H100 to NVIDIA H200: of 1 program, 0 launch other kernels, 0 launch the same kernels in other sizes"
        in text
    )
