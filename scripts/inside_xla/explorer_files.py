"""The published files of the explorers: the scripts, and the data of the pages that embed an explorer."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError

from livepage.read import project
from xla_inspect import store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STAGED = Path(".cache/explorer")
LIMIT = 128 * 2**20
"""The largest size, in bytes, of stored data that this build does not use."""
_INDEX = re.compile(r'data-index="([0-9a-f]+\.json)"')
_DATA = re.compile(r"&quot;(?:src|details)&quot;: &quot;([0-9a-f]+\.json)&quot;")


def publish_explorer(pages: Iterable[str], site: Path) -> None:
    """Publish the explorer's scripts and the data that pages use, and delete all other data from the site.

    Without a page that has an explorer, delete the site's folder of explorers.

    Args:
        pages: The HTML of each page.
        site: The folder of the built site.

    Raises:
        PluginError: Data that a stored page uses was deleted; the message says what to do.
    """
    pages = list(pages)
    indexes = {name for html in pages for name in _INDEX.findall(html)}
    names = sorted({*indexes, *(name for html in pages for name in _DATA.findall(html)), *_list_indexed(indexes)})
    folder = site / "assets" / "explorer"
    if not names:
        shutil.rmtree(folder, ignore_errors=True)  # an edit may have removed the last explorer
        return
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.json"):
        if file.name not in names:
            file.unlink()
    # A stored page refers to data by its hash, which an earlier build may have evicted.
    if missing := [name for name in names if not (project.root / STAGED / name).is_file()]:
        message = (
            f"{STAGED} lacks {missing[0]}{' and others' if missing[1:] else ''}, which kept pages name; "
            "remove .cache/pages too, and build again"
        )
        raise PluginError(message)
    for name in names:
        link_file(project.root / STAGED / name, folder / name)
    publish_scripts(site)
    store.evict(project.root / STAGED, "*.json", size=LIMIT, keep=names)


def publish_scripts(site: Path) -> None:
    """Write the explorer's scripts and styles into the site."""
    from xla_inspect.report.explorer import BUNDLES, STYLE, join_scripts, read_asset

    folder = site / "assets" / "explorer"
    folder.mkdir(parents=True, exist_ok=True)
    for name, parts in BUNDLES.items():
        (folder / name).write_text(join_scripts(parts), encoding="utf-8")
    (folder / STYLE).write_text(read_asset(STYLE), encoding="utf-8")


def _list_indexed(indexes: Iterable[str]) -> Iterator[str]:
    """Yield the data files that indexes list; a missing index is reported when it is published."""
    for path in (project.root / STAGED / name for name in indexes):
        if path.is_file():
            index = json.loads(path.read_bytes())
            yield index["codes"]
            yield from (capture[part] for capture in index["captures"] for part in ("src", "details") if capture[part])


def link_file(file: Path, place: Path) -> None:
    """Replace `place` by a hard link to a file, or by a copy if that fails; a copy takes ten times as long."""
    # An existing link would make `hardlink_to` fail, and a copy would write through it into the original.
    place.unlink(missing_ok=True)
    try:
        place.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, place)
