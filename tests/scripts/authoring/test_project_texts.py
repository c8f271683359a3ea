"""The user-visible texts of modules and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from authoring import project_texts

if TYPE_CHECKING:
    from pathlib import Path


def test_texts_of_a_script_are_checked_and_comments_are_not(tmp_path: Path) -> None:
    (tmp_path / "docs/assets").mkdir(parents=True)
    text = '// Not "one of the four texts".\nshow("one of two panes", `${count(it)} of it are left out`, "a b")\n'
    (tmp_path / "docs/assets/page.js").write_text(text, encoding="utf-8")
    (tmp_path / "docs/assets/editor.js").write_text(text, encoding="utf-8")
    (tmp_path / "docs/assets/editor.LICENSE.txt").write_text("Somebody else's.\n", encoding="utf-8")
    [script] = project_texts.read_scripts(tmp_path)
    assert [(sentence.line, sentence.text) for sentence in script.sentences] == [
        (2, "one of two panes"),
        (2, "${count(it)} of it are left out"),
    ]
