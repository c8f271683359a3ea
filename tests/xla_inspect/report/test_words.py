"""The table of words says what occurs, and what the reference pages say."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from chapters import anatomy
from programs import attention, transformer_block_grad
from programs import layer as small
from xla_inspect import capture
from xla_inspect.analysis import follow_passes
from xla_inspect.report.explorer import describe_capture
from xla_inspect.report.words import describe_words, read_words

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = {
    "layer": small.layer,
    "attention": attention.attention,
    "transformer_block_grad": transformer_block_grad.transformer_block_grad,
}
EXAMPLES = {
    "layer": small.EXAMPLE,
    "attention": attention.EXAMPLE,
    "transformer_block_grad": transformer_block_grad.EXAMPLE,
}


@pytest.mark.parametrize(("kind", "name"), [("opcode", "opcodes"), ("pass", "passes")])
def test_the_reference_pages_say_the_same(root: Path, kind: str, name: str) -> None:
    table = tomllib.loads((root / "docs" / "data" / f"{name}.toml").read_text(encoding="utf-8"))[name]
    assert read_words()[kind] == {each: row["says"] for each, row in table.items()}


def test_the_parts_of_a_line_are_named_the_same() -> None:
    words = read_words()["attribute"]
    assert {name: words.get(name) for name in anatomy.ATTRIBUTES} == anatomy.ATTRIBUTES


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
@pytest.mark.parametrize("program", list(PROGRAMS))
def test_all_that_occurs_has_a_sentence(program: str, target: str) -> None:
    found = capture(PROGRAMS[program], *EXAMPLES[program], target=target)
    words = describe_capture(found)["words"]
    states = list(follow_passes(found))
    instructions = [each for state in states for each in state.module.walk()]
    assert {each.opcode for each in instructions} <= set(read_words()["opcode"])
    assert {name for each in instructions for name in each.attributes} <= set(read_words()["attribute"])
    assert {f"opcode:{each.opcode}" for each in instructions} <= set(words)
    passes = {state.name for state in states[1:] if state.pipeline}
    assert {f"pass:{name}" for name in passes} <= set(words)


def test_a_sentence_begins_and_ends_as_one() -> None:
    said = describe_words({"attribute": ["kind"], "opcode": ["add", "no-such"], "pass": []})
    assert sorted(said) == ["attribute:kind", "opcode:add"]
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in said.values())
