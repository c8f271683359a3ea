"""The published files of the page that opens a dump: Python for browsers, and the reader that runs in it."""

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
"""The attribute that only the page that opens a dump has."""

PARTS = "parts.json"
"""The file that lists the parts to fetch, with their sizes."""

MISSING = "Python for a browser is not in this build. `scripts/maintaining/browser-bundles pyodide` brings it."


def publish_dump_page(pages: Iterable[str], site: Path) -> None:
    """Publish the files that the page fetches in place of those of earlier builds, if the site has the page.

    If Python for browsers is missing, the page gets a message instead.

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
    # The name contains a hash, so a new reader would not replace the old one.
    for old in folder.glob("reader-*.zip"):
        old.unlink()
    content = pack()
    # The hash in the name makes browsers fetch a changed reader and cache an unchanged one.
    reader = f"reader-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    (folder / reader).write_bytes(content)
    parts = {"explorer": [*BUNDLES], "style": STYLE, "reader": reader, **_publish_python(site)}
    (folder / PARTS).write_text(json.dumps(parts, indent=1) + "\n", encoding="utf-8", newline="\n")


def _publish_python(site: Path) -> dict[str, object]:
    """Link Python into the site, and return its folder and its files' sizes in bytes; if it is not built, a message."""
    release = f"{PACKAGE}-{PYODIDE.read_version(PACKAGE)}"
    folder = site / "assets" / release
    if not PYODIDE.is_made():
        shutil.rmtree(folder, ignore_errors=True)
        return {"missing": MISSING}
    folder.mkdir(parents=True, exist_ok=True)
    for path in PYODIDE.paths:
        link_file(path, folder / path.name)
    return {"python": f"{release}/", "sizes": {path.name: path.stat().st_size for path in PYODIDE.paths}}
