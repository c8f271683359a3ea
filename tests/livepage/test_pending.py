"""The mark of unfinished work in another process."""

from __future__ import annotations

import pytest

from livepage.read import Build, read_pieces


@pytest.mark.parametrize(("name", "pending_pages"), [("docs/a.py", {"docs/a.py"}), ("docs/a.md", set())])
def test_the_markdown_of_a_running_notebook_stays_pending(name: str, pending_pages: set[str]) -> None:
    build = Build(pending={name})
    build.record(read_pieces(name, [], []), [], ran=False)
    assert build.pending == pending_pages
