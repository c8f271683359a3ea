"""Records without traces of the machine that made them."""

from __future__ import annotations

import sysconfig
import tempfile
from pathlib import Path

import pytest

from peers.recording import Recording, UnfitTextError, normalise

ROOT = Path(__file__).resolve().parents[2]


def test_paths_of_this_machine_get_a_name() -> None:
    text = f"{sysconfig.get_path('purelib')}/onnx/a.py and {ROOT}/snippets and {tempfile.gettempdir()}/x1"
    assert normalise(text, "here") == "<packages>/onnx/a.py and <project>/snippets and <temporary>/x1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\nfirst  \n\nthird\t\n", "first\n\nthird"),
        ("dense<0xFF800000> and i64 0x10", "dense<0xFF800000> and i64 0x10"),
    ],
    ids=["blanks at ends", "hexadecimal numbers, which are no addresses"],
)
def test_a_text_is_recorded_without_blanks_at_its_ends_and_with_its_numbers(text: str, expected: str) -> None:
    assert normalise(text, "here") == expected


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("file = " + "/usr" + "/lib/x86_64-linux-gnu/libm.so", "a path of this machine"),
        ("<Object at 0x7f0012345678>", "an address in memory"),
        ('cpu_features = "+avx512f,+sse4.2,+fma,+cmov"', "a list of CPU features"),
    ],
)
def test_traces_of_the_machine_are_rejected_with_their_line(line: str, what: str) -> None:
    with pytest.raises(UnfitTextError, match=f"iree: layer/flow, line 2: holds {what}"):
        Recording("iree").text("layer/flow", f"first\n{line}")


def test_varying_text_is_replaced_on_request() -> None:
    recording = Recording("torch")
    recording.text("layer", "# AOT ID: ['3_inference']", replace={r"\d+_inference": "N_inference"})
    assert recording.texts == {"layer": ["# AOT ID: ['N_inference']"]}
