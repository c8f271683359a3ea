"""Publish what the page that opens a dump fetches: Python for a browser, and the reader that runs in it."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING

from inside_xla.explorer_files import link_file, publish_scripts
from inside_xla.reader_archive import pack
from maintaining.pyodide_bundle import PACKAGE, PYODIDE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MARK = "data-open-dump"
"""What the page that opens a dump has, and no other."""

PARTS = "parts.json"
"""Says what there is to fetch, and how large it is."""

MISSING = "Python for a browser is not in this build. `scripts/maintaining/browser-bundles pyodide` brings it."


def publish_dump_page(pages: Iterable[str], site: Path) -> None:
    """Link what the page fetches into the site, and nothing where there is no such page.

    Where Python for a browser was not made, the page is told so.

    Args:
        pages: The HTML of each page.
        site: The folder of the built site.
    """
    if not any(MARK in html for html in pages):
        return
    from xla_inspect.report.explorer import BUNDLES, STYLE

    publish_scripts(site)
    folder = site / "assets" / "open-dump"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("reader-*.zip"):
        old.unlink()
    content = pack()
    reader = f"reader-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    (folder / reader).write_bytes(content)
    parts = {"explorer": [*BUNDLES], "style": STYLE, "reader": reader, **_publish_python(site)}
    (folder / PARTS).write_text(json.dumps(parts, indent=1) + "\n", encoding="utf-8", newline="\n")


def _publish_python(site: Path) -> dict[str, object]:
    """Link Python into a folder that is named by its version; return where that lies, and the bytes of each file."""
    named = f"{PACKAGE}-{PYODIDE.read_version(PACKAGE)}"
    folder = site / "assets" / named
    if not PYODIDE.is_made():
        shutil.rmtree(folder, ignore_errors=True)
        return {"missing": MISSING}
    folder.mkdir(parents=True, exist_ok=True)
    for path in PYODIDE.paths:
        link_file(path, folder / path.name)
    return {"python": f"{named}/", "sizes": {path.name: path.stat().st_size for path in PYODIDE.paths}}
