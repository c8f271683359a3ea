"""The checksum of a finished site: the last file that a build writes, and the first that publishing reads."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAME = "built.json"


def write_checksum(site: Path, pages: Sequence[str]) -> None:
    """Write the checksum of a site.

    Args:
        site: The site's folder.
        pages: The files of the site's pages, relative to the folder.

    Raises:
        FileNotFoundError: A page is missing or empty.
    """
    for page in pages:
        if not (site / page).is_file() or not (site / page).stat().st_size:
            message = f"the page {page} was not built"
            raise FileNotFoundError(message)
    content = {"pages": sorted(pages), "sha256": _hash(site)}
    (site / NAME).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8", newline="\n")


def remove(site: Path) -> None:
    """Remove the checksum before the site is built again."""
    (site / NAME).unlink(missing_ok=True)


def check_checksum(site: Path) -> str:
    """Return the reason why a folder holds no finished site, or an empty string."""
    try:
        content = json.loads((site / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"{site} holds no finished site: there is no {NAME}, which a build writes last"
    if missing := [page for page in content["pages"] if not (site / page).is_file()]:
        return f"{site} lacks the page {missing[0]}, which its {NAME} names"
    if not content["pages"] or content["sha256"] != _hash(site):
        return f"{site} is not what its build left: its files do not add up to the sum in {NAME}"
    return ""


def _hash(site: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in site.rglob("*") if path.is_file() and path != site / NAME):
        # Names are part of the checksum, so that a renamed file is detected.
        digest.update(path.relative_to(site).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
