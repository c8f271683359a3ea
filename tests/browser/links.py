"""The targets of the links in the files of a built site."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from pathlib import Path


@cache
def read(path: Path) -> str:
    """Return the text of a file, cached because many links may lead to it."""
    return path.read_text(encoding="utf-8", errors="replace")


def leads_somewhere(path: Path, link: str) -> bool:
    """Return whether a link of a file leads to another host, or to a file of the site and an anchor in it."""
    address = urlsplit(link)
    if address.scheme or address.netloc:
        return True
    target = (path.parent / unquote(address.path)).resolve() if address.path else path
    target = target / "index.html" if target.is_dir() else target
    # A state of an explorer or of a filter is no place.
    is_place = bool(address.fragment) and not re.match("[a-z]+=", address.fragment)
    return target.is_file() and (not is_place or f'id="{unquote(address.fragment)}"' in read(target))
