"""The glossary: alphabetical order, and a link to a section for each term."""

from __future__ import annotations

import re
from pathlib import Path

GLOSSARY = (Path(__file__).resolve().parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^\*\*(.+?)\*\*\{ #([\w-]+) \}\n:   (.+)$", GLOSSARY, re.MULTILINE)


def test_every_term_has_the_form_of_an_entry() -> None:
    assert len(ENTRIES) == GLOSSARY.count("\n**")
    assert len({anchor for _, anchor, _ in ENTRIES}) == len(ENTRIES)


def test_terms_are_in_alphabetical_order() -> None:
    terms = [re.sub(r"[^a-z]", "", term.lower()) for term, _, _ in ENTRIES]
    assert terms == sorted(terms)


def test_every_term_leads_to_a_section() -> None:
    assert [term for term, _, sentence in ENTRIES if not re.search(r"\]\([\w-]+\.md#[\w-]+\)", sentence)] == []
