"""The short text of a compilation lists every launch, every pass that changed it, memory and work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from programs import rnn, transformer_block
from xla_inspect import capture_all
from xla_inspect.analysis import list_launches
from xla_inspect.hlo import OPCODES
from xla_inspect.report.expected_text import describe_outcome

if TYPE_CHECKING:
    from xla_inspect import Captures

WORK = {"flops": 4_227_072.0, "bytes accessed": 361_472.0, "transcendentals": 0.0}


@pytest.fixture(scope="module")
def block() -> Captures:
    """The captures of a transformer block, which a pass changes twice in a row, on three targets."""
    return capture_all(transformer_block.transformer_block, *transformer_block.EXAMPLE)


@pytest.fixture(scope="module")
def scan() -> Captures:
    """The captures of a loop of 32 steps on the three targets that pages show."""
    return capture_all(rnn.rnn, *rnn.EXAMPLE)


def parts(text: str) -> dict[str, list[str]]:
    """Return the lines of each part of a text, by the title of the part."""
    result = re.findall(r"^(\S.*)\n((?:  .*\n)*)", text, re.MULTILINE)
    return {name: [line.strip() for line in lines.splitlines()] for name, lines in result}


def test_every_launch_has_a_line_with_valid_opcodes(block: Captures) -> None:
    for capture in block.values():
        text = parts(describe_outcome(capture, WORK))
        lines = [line for role in ("kernels", "collectives", "copies") for line in text.get(role, [])]
        assert len(lines) == len(list_launches(capture))
        counts = [
            part for line in lines if ": " in line for part in line.partition(": ")[2].split(" -> ")[0].split(", ")
        ]
        assert {part.rpartition(" ")[0] for part in counts} - OPCODES == set()


def test_every_pass_is_listed_once_per_change_of_the_module(block: Captures) -> None:
    for capture in block.values():
        text: list[str] = []
        for line in parts(describe_outcome(capture, WORK))["passes that changed it"]:
            for item in line.partition(": ")[2].split(", "):
                name, _, times = item.partition(" x ")
                text += [name] * int(times or 1)
        assert text == list(capture.pass_names)


def test_a_launch_in_a_loop_shows_its_number_of_runs(scan: Captures) -> None:
    lines = parts(describe_outcome(scan["cpu"], WORK))["kernels"]
    assert {line.partition(" x ")[0] for line in lines if " x " in line} == {"32", "33"}


def test_numbered_names_are_left_out(block: Captures) -> None:
    for capture in block.values():
        assert re.findall(r"%|\w\.\d|\{[\d,]", describe_outcome(capture, WORK)) == []
