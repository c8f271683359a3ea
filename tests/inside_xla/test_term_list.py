"""The terms of the glossary, opcodes and passes for the build, each with one sentence."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from inside_xla import term_list
from xla_inspect.hlo import OPCODES

DOCS = Path(__file__).resolve().parents[2] / "docs"
TERMS = term_list.read_terms(DOCS)
GLOSSARY = {term.name: term for term in TERMS if term.page == term_list.GLOSSARY}


def test_every_entry_of_the_glossary_and_every_opcode_is_there() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    assert [*GLOSSARY] == re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE)
    opcodes = {term.code: term.anchor for term in TERMS if term.page == term_list.OPERATIONS}
    assert opcodes == {opcode: f"op-{opcode}" for opcode in OPCODES}


def test_every_pass_that_is_not_an_opcode_is_a_term() -> None:
    table = tomllib.loads((DOCS / term_list.PASS_TABLE).read_text(encoding="utf-8"))["passes"]
    passes = [term for term in TERMS if term.page == term_list.PASSES]
    assert {*table} - {term.code for term in passes} == {*table} & OPCODES == {"fusion"}
    assert {term.anchor for term in passes} == {name.replace(" ", "_") for name in table if name != "fusion"}
    assert {(term.words, term.is_rare) for term in passes} == {((), True)}
    assert {term.page for term in TERMS if term.is_rare} == {term_list.PASSES}


def test_each_term_has_one_sentence_of_plain_text() -> None:
    sentences = {term.name: term.says for term in TERMS}
    # A computed value would stand there as its expression.
    assert {
        name: says for name, says in sentences.items() if not re.fullmatch(r"(?:(?!\]\()[^`=]){8,240}[.!?]", says)
    } == {}


@pytest.mark.parametrize(
    ("definition", "sentence"),
    [
        ("The `dot` of *two*. More of it.", "The dot of two."),
        ("As [the source](https://x.dev/a.h) says. [Shown](a.md#b)", "As the source says."),
        ("Memory of 1.5 MiB; `backend_config` has it.", "Memory of 1.5 MiB; backend_config has it."),
        ("No end", "No end"),
    ],
)
def test_the_first_sentence_of_a_definition_is_kept(definition: str, sentence: str) -> None:
    assert term_list.shorten(definition) == sentence


def test_a_term_is_written_in_the_plural_with_hyphens_and_by_its_initials() -> None:
    assert GLOSSARY["pass"].words == ("pass", "passes")
    assert GLOSSARY["HLO"].words == ("HLO",)
    assert GLOSSARY["cost model"].words == ("cost model", "cost models", "cost-model")
    assert GLOSSARY["topology"].words == ("topology", "topologies")
    assert "CSE" in GLOSSARY["common subexpression elimination"].words


def test_ordinary_words_are_not_linked_and_verbs_only_as_nouns() -> None:
    rules = term_list.read_rules()
    assert {name for name in rules["ordinary"] if GLOSSARY[name].words} == set()
    assert {name for name, term in GLOSSARY.items() if term.is_verb} == set(rules["verbs"])
    assert {term.code for term in GLOSSARY.values()} - {""} == set(rules["codes"])


def test_a_page_is_left_alone_or_without_what_means_something_else_there() -> None:
    for page in ("glossary.md", "operations.md", "index.md"):
        assert term_list.choose(TERMS, page) == []
    assert term_list.choose(TERMS, "fusion.md") == [*TERMS]
    names = [term.name for term in term_list.choose(TERMS, "layout.md")]
    assert "kernel" not in names
    assert "tile" in names
    assert {term.page for term in term_list.choose(TERMS, "jaxpr.md")} == {term_list.GLOSSARY, term_list.PASSES}


def test_a_page_may_be_without_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {**term_list.read_rules(), "other": {"jaxpr.md": ["passes"]}}
    monkeypatch.setattr(term_list, "read_rules", lambda: rules)
    assert {term.page for term in term_list.choose(TERMS, "jaxpr.md")} == {term_list.GLOSSARY, term_list.OPERATIONS}


def test_each_rule_names_an_existing_page_and_term() -> None:
    rules = term_list.read_rules()
    for page in (*rules["without"], *rules["other"]):
        assert (DOCS / page).is_file(), page
    assert {name for names in rules["other"].values() for name in names} <= {*GLOSSARY, "opcodes", "passes"}


def test_a_folder_without_a_glossary_has_no_terms(tmp_path: Path) -> None:
    assert term_list.read_terms(tmp_path) == ()
