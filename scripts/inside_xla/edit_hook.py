"""A hook of MkDocs: programs of pages are edited in their places while the site is served, and only then."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.plugins import event_priority

from livepage.edits import EditService
from xla_inspect.play import read_static

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.pages import Page

FOLDER = Path(__file__).with_name("edit")
"""Where the scripts lie of which the published site holds none."""

SCRIPTS = ("sentences.js", "page_parts.js", "program_editor.js", "edit.js")
STYLE = "edit.css"

EDITOR = ("dom.js", "codemirror.js", "plain_editor.js", "python_editor.js")
"""What the playground's editor consists of, in the order in which it is loaded; the second may be missing."""

_KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}

_services: list[EditService] = []


def on_startup(command: str, *, dirty: bool) -> None:
    """Begin where pages are served and an edit is shown at once."""
    _services[:] = [EditService(read_asset)] if command == "serve" and not dirty else []


@event_priority(-50)
def on_page_content(content: str, page: Page, **_: object) -> str:
    """Note which programs a page names, and where its content begins and ends."""
    return _services[0].mark(page.file.src_uri, content) if _services else content


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Load the editor's scripts on a page that names programs."""
    if not _services or not _services[0].is_edited(page.file.src_uri):
        return output
    head = (
        f'<meta name="edit-token" content="{html.escape(_services[0].token)}">'
        f'<meta name="edit-scripts" content="{" ".join(EDITOR)}">'
        f'<link rel="stylesheet" href="/edit/{STYLE}">'
        + "".join(f'<script src="/edit/{name}" defer></script>' for name in SCRIPTS)
    )
    # Before the scripts of the page, which change what its parts are.
    return output.replace("</head>", f"{head}</head>", 1)


@event_priority(-50)
def on_serve(server: LiveReloadServer, config: MkDocsConfig, builder: Callable[[], None]) -> None:
    """Answer edits before anything else does."""
    del config, builder
    for service in _services:
        service.begin(server)


def on_shutdown() -> None:
    """End what runs for edits."""
    while _services:
        _services.pop().end()


def read_asset(name: str) -> tuple[bytes, str] | None:
    """Return a file that pages load while they are served, and its type; None where there is no such file."""
    if name in {*SCRIPTS, STYLE}:
        return (FOLDER / name).read_bytes(), _KINDS[Path(name).suffix]
    return read_static(name) if name in EDITOR else None
