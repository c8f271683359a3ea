"""What a compile came to, in a few lines: every launch, every pass that changed it, memory and work."""

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
    """A transformer block, with a pass that changes it twice in a row, on the three targets that pages show."""
    return capture_all(transformer_block.transformer_block, *transformer_block.EXAMPLE)


@pytest.fixture(scope="module")
def scan() -> Captures:
    """A loop of 32 steps on the three targets that pages show."""
    return capture_all(rnn.rnn, *rnn.EXAMPLE)


def parts(text: str) -> dict[str, list[str]]:
    """Return the lines of each part."""
    found = re.findall(r"^(\S.*)\n((?:  .*\n)*)", text, re.MULTILINE)
    return {name: [line.strip() for line in lines.splitlines()] for name, lines in found}


def test_every_launch_has_a_line_and_every_opcode_in_it_is_one(block: Captures) -> None:
    for capture in block.values():
        said = parts(describe_outcome(capture, WORK))
        lines = [line for role in ("kernels", "collectives", "copies") for line in said.get(role, [])]
        assert len(lines) == len(list_launches(capture))
        counted = [
            part for line in lines if ": " in line for part in line.partition(": ")[2].split(" -> ")[0].split(", ")
        ]
        assert {part.rpartition(" ")[0] for part in counted} - OPCODES == set()


def test_every_pass_that_changed_the_module_is_named_as_often_as_it_did(block: Captures) -> None:
    for capture in block.values():
        said: list[str] = []
        for line in parts(describe_outcome(capture, WORK))["passes that changed it"]:
            for each in line.partition(": ")[2].split(", "):
                name, _, times = each.partition(" x ")
                said += [name] * int(times or 1)
        assert said == list(capture.pass_names)


def test_a_launch_in_a_loop_says_how_often_it_runs(scan: Captures) -> None:
    lines = parts(describe_outcome(scan["cpu"], WORK))["kernels"]
    assert {line.partition(" x ")[0] for line in lines if " x " in line} == {"32", "33"}


def test_names_that_the_compiler_numbers_are_left_out(block: Captures) -> None:
    for capture in block.values():
        assert re.findall(r"%|\w\.\d|\{[\d,]", describe_outcome(capture, WORK)) == []
