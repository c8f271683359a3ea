"""A draw can be repeated, shows each sentence with its page's title alone, and hides riddles among the others."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from authoring import draw_sentences

if TYPE_CHECKING:
    from pathlib import Path

PAGE = """<html><head><title>Fusion - Inside XLA</title></head><body><article>
<h1>Fusion</h1><p>A fusion computes several operations in one kernel. Its values stay in registers.</p>
<ul><li>The <code>tanh</code> has three users in this program.</li></ul>
<pre>this listing is not running text at all</pre><table><tr><td>a row of a table is no sentence</td></tr></table>
<p>Too short here.</p></article></body></html>"""
SENTENCES = [
    ("Fusion", "A fusion computes several operations in one kernel."),
    ("Fusion", "Its values stay in registers."),
    ("Fusion", "The tanh has three users in this program."),
]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A built site of one page."""
    (tmp_path / "fusion").mkdir()
    (tmp_path / "fusion" / "index.html").write_text(PAGE, encoding="utf-8")
    return tmp_path


def test_a_draw_of_everything_has_each_sentence_of_running_text_once(site: Path) -> None:
    assert sorted(draw_sentences.draw(site, 1, 9, ("site",))) == SENTENCES


def test_the_same_seed_draws_the_same_sentences(site: Path) -> None:
    draws = [draw_sentences.draw(site, seed, 1, ("site",)) for seed in (1, 1, 2, 3, 4, 5)]
    assert draws[0] == draws[1]
    assert len({tuple(draw) for draw in draws}) > 1


def test_riddles_are_hidden_and_listed_in_the_key(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key.txt"
    monkeypatch.setattr(sys, "argv", ["draw", "7", "--site", str(site), "--kind", "site", "--key", str(key)])
    draw_sentences.main()
    lines = dict(line.split(". ", 1) for line in capsys.readouterr().out.splitlines())
    riddles = {lines.pop(number) for number in key.read_text(encoding="utf-8").split()}
    assert len(riddles) == 20
    assert "[Pipeline] Import rewrites already." in riddles
    assert sorted(lines.values()) == [f"[{page}] {sentence}" for page, sentence in SENTENCES]
