"""After an edit a block runs, and those after it that use what it made; what cannot be told lets the whole page run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from livepage import render_one
from livepage.keep import outcomes
from livepage.read import project

from .edit_cases import ALL, CASES

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Site

HELPER = "WORD = 'word'\nrows = []\n\ndef add():\n    rows.append(1)\n"


@dataclass
class Desk:
    """A page that is edited, each block of which notes in a file that it ran."""

    site: Site
    count: Path
    config: Any

    def write(self, blocks: list[str], name: str = "a") -> str:
        """Write the page and run it; return the letters of the blocks that ran."""
        text = "\n\n".join(["# Page", *map(self._fence, blocks)])
        page = self.site.root / "docs" / f"{name}.md"
        page.write_text(text + "\n", encoding="utf-8")
        self.count.write_text("", encoding="utf-8")
        self.answer = render_one.run(page, self.config)
        return self.count.read_text(encoding="utf-8")

    def _fence(self, block: str) -> str:
        if not (found := re.match(r"(\w)([:!]) ", block)):
            return block
        header = 'exec="on"' if found[2] == ":" else f'check="{found[1]}"'
        note = f"open({str(self.count)!r}, 'a').write({found[1]!r})"
        return f"```python {header}\n{note}\n{block[found.end() :]}\n```"

    def compare(self, blocks: list[str], name: str = "a") -> None:
        """Hold what the page came to last against what it comes to when all of it runs."""
        shown = self.answer.data["outcomes"]
        outcomes.let_go(f"docs/{name}.md")
        self.write(blocks, name)
        assert not self.answer.data["partial"]
        assert shown == self.answer.data["outcomes"]


@pytest.fixture
def desk(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A page that is edited."""
    monkeypatch.setattr(project, "holds", True)
    monkeypatch.setattr(project, "only_run", False)
    monkeypatch.delenv("LIVE", raising=False)
    site.write({"snippets/helper.py": HELPER})
    return Desk(site, tmp_path / "count", render_one.load(site.root))


def list_letters(blocks: list[str]) -> str:
    return "".join(re.findall(r"^(\w)[:!] ", "\n".join(blocks), re.MULTILINE))


@pytest.mark.parametrize("edit", CASES)
def test_what_an_edit_reaches_runs_and_nothing_else(desk: Desk, edit: str) -> None:
    before, after, ran = CASES[edit]
    desk.write(before)
    assert desk.write(after) == ran.replace(ALL, list_letters(after))
    desk.compare(after)


@pytest.mark.parametrize("edit", CASES)
def test_an_edit_and_its_undoing_end_where_they_began(desk: Desk, edit: str) -> None:
    before, after, _ = CASES[edit]
    after = [*after, "z: print('so that nothing is kept of it')"]
    desk.write(before)
    desk.write(after)
    desk.write([*before, "z: print('nor of this')"])
    desk.compare([*before, "z: print('nor of this')"])
