"""The list of opcodes as HTML: the origin of each opcode, its lines and its fate, with every text escaped."""

from __future__ import annotations

import pytest

from chapters.opcode_cards import OpcodeCatalog, Reach, list_cards
from chapters.opcode_index import find_sightings
from chapters.opcode_rows import OpcodeRow
from programs import opcodes, opcodes_by_primitive
from xla_inspect import capture
from xla_inspect.captured import Captures
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.hlo import CATEGORY, parse_module

HAND = parse_module("HloModule m\n\nENTRY main {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] exp2(x)\n}\n")


@pytest.fixture(scope="module")
def catalog() -> OpcodeCatalog:
    """The opcodes of two programs on the CPU, one with primitives of its own."""
    rows = {opcode: OpcodeRow(opcode, "One & only.", by="Because of `a < b`.") for opcode in CATEGORY}
    rows["or"] = OpcodeRow("or", "Either.", call="i | j")
    rows["logistic"] = OpcodeRow(
        "logistic", "The sigmoid.", call="logistic.bind(x)", by="Not in JAX.", stablehlo="logistic"
    )
    calls = {"or": "i | j", "logistic": "logistic.bind(x)"}
    function, example = opcodes.PROGRAMS["bits"]
    primitive, its_example = opcodes_by_primitive.PROGRAMS["others"]
    bits = capture(function, *example)
    return OpcodeCatalog(
        rows,
        find_sightings([("bits", bits)], calls),
        find_sightings([("others", capture(primitive, *its_example))], calls),
        HAND,
        Captures({"cpu": bits}, {"h100": "no compiler here"}, ("cpu", "h100")),
    )


@pytest.mark.parametrize(
    ("opcode", "reach"),
    [
        ("or", "call"),
        ("parameter", "structure"),
        ("fusion", "pass"),
        ("logistic", "primitive"),
        ("exp2", "hand"),
        ("domain", "nowhere"),
    ],
)
def test_each_origin_of_an_opcode_is_distinguished(catalog: OpcodeCatalog, opcode: str, reach: Reach) -> None:
    assert catalog.reach(opcode) == reach


def test_counts_are_of_what_a_target_has(catalog: OpcodeCatalog) -> None:
    structure = {opcode for opcode in catalog.programs if CATEGORY[opcode] == "structure"}
    assert catalog.bars()["structure, 6"] == {"cpu": len(structure), "h100": None}
    assert "or" in catalog.opcodes_at("cpu", "before") & catalog.opcodes_at("cpu")


def test_a_count_that_needs_a_missing_target_is_marked(catalog: OpcodeCatalog) -> None:
    with pytest.raises(TargetUnavailableError):
        catalog.opcodes_at("h100")
    with pytest.raises(TargetUnavailableError):
        catalog.reached_by("call")


def test_a_card_shows_call_line_and_result(catalog: OpcodeCatalog) -> None:
    cards = list_cards("element-wise", catalog)
    card = cards[cards.index('id="op-or"') :].partition("</details>")[0]
    assert "<p>From <code>i | j</code>" in card
    assert ">or</span>(" in card
    assert "<dt>CPU</dt><dd>still in the optimized module" in card
    assert "<dt>NVIDIA H100</dt><dd>not compiled here" in card


def test_a_card_links_to_the_specification(catalog: OpcodeCatalog) -> None:
    assert 'href="https://openxla.org/stablehlo/spec#logistic"' in list_cards("element-wise", catalog)


def test_text_of_the_table_is_escaped(catalog: OpcodeCatalog) -> None:
    cards = list_cards("structure", catalog)
    assert "One &amp; only." in cards
    assert "Because of <code>a &lt; b</code>." in cards
