"""The table of words covers everything that occurs and agrees with the reference pages."""

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
def test_the_sentences_match_the_reference_pages(root: Path, kind: str, name: str) -> None:
    table = tomllib.loads((root / "docs" / "data" / f"{name}.toml").read_text(encoding="utf-8"))[name]
    assert read_words()[kind] == {item: row["says"] for item, row in table.items()}


def test_the_parts_of_a_line_have_the_same_names() -> None:
    words = read_words()["attribute"]
    assert {name: words.get(name) for name in anatomy.ATTRIBUTES} == anatomy.ATTRIBUTES


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
@pytest.mark.parametrize("program", list(PROGRAMS))
def test_every_opcode_pass_and_attribute_has_a_sentence(program: str, target: str) -> None:
    result = capture(PROGRAMS[program], *EXAMPLES[program], target=target)
    words = describe_capture(result)["words"]
    states = list(follow_passes(result))
    instructions = [item for state in states for item in state.module.walk()]
    assert {item.opcode for item in instructions} <= set(read_words()["opcode"])
    assert {name for item in instructions for name in item.attributes} <= set(read_words()["attribute"])
    assert {f"opcode:{item.opcode}" for item in instructions} <= set(words)
    passes = {state.name for state in states[1:] if state.pipeline}
    assert {f"pass:{name}" for name in passes} <= set(words)


def test_a_sentence_starts_with_a_capital_and_ends_with_a_period() -> None:
    text = describe_words({"attribute": ["kind"], "opcode": ["add", "no-such"], "pass": []}, "cpu")
    assert sorted(text) == ["attribute:kind", "opcode:add"]
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in text.values())
