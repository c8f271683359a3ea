"""The PDF of a site's chapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pypdf import PdfReader

from livepage.publish import chapters_pdf, social_cards

if TYPE_CHECKING:
    from pathlib import Path


def test_the_chapters_are_printed_in_order_with_an_outline(tmp_path: Path) -> None:
    if not social_cards.find_browser():
        pytest.skip("there is no Chromium")
    for name, text in {
        "b": '<p class="reading-time">1 minute</p><p>First',
        "a": '<p class="reading-time">1 minute</p><p>Second',
        "c": "<p>A list",
    }.items():
        (tmp_path / f"{name}.html").write_text(f"<!doctype html><title>{name}</title>{text}</p>", encoding="utf-8")
    chapters_pdf.publish_pdf({"b.html": "B & C", "c.html": "List", "a.html": "A"}, tmp_path)
    pdf = PdfReader(tmp_path / chapters_pdf.FILE)
    assert [entry.title for entry in pdf.outline] == ["B & C", "A"]  # type: ignore[union-attr]  # a flat outline
    assert [page.extract_text().split()[-1] for page in pdf.pages] == ["First", "Second"]
