"""The facts about a build that its pages can show: the commit, the pinned packages, and the executed part of each page.

They come from the source files, through the reader that the build itself uses, so a page of the build can show them.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from markdown import Markdown
from mkdocs.utils import meta

from livepage.keep import record_repository_state
from livepage.read import Includes, Origin, project, read_pieces

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TITLE = re.compile(r"^# (.+?)(?:\s*\{.*\})?$", re.MULTILINE)
_NAMED = re.compile(r"([\w/-]+\.(?:md|py))$", re.MULTILINE)
_PIN = re.compile(r"([\w.-]+)==([^;\s]+)")


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit that a build is made from.

    Attributes:
        name: The commit's full hash, or an empty string outside of a git clone.
        date: The commit's date in UTC, as `2026-11-20 20:11`, or an empty string.
        changed: Whether tracked files differ from the commit.
    """

    name: str = ""
    date: str = ""
    changed: bool = False

    def __str__(self) -> str:
        """Return a short description of the commit."""
        if not self.name:
            return "files outside of a git clone"
        return f"{self.name[:12]} of {self.date} UTC" + (", with local changes" if self.changed else "")


@dataclass(frozen=True, slots=True)
class Counted:
    """A page with the number of its executed pieces.

    Attributes:
        name: The page's file, relative to the folder of the pages.
        title: The page's first heading.
        pieces: The number of pieces by kind: `block`, `value` and `check`.
    """

    name: str
    title: str
    pieces: Mapping[str, int]


def find_commit() -> Commit:
    """Return the commit of the project's folder; outside of a git clone its name is empty."""
    if not (line := record_repository_state("commit")):
        return Commit()
    name, seconds = line.split()
    date = datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%d %H:%M")
    return Commit(name, date, changed=bool(record_repository_state("changes")))


def list_pages() -> list[Counted]:
    """Return the Markdown pages with their numbers of pieces, in the order of the navigation, then all others."""
    folder = project.root / project.docs
    navigation = _NAMED.findall((project.root / "mkdocs.yml").read_text(encoding="utf-8"))
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.md"))}
    order = {name: place for place, name in reversed([*enumerate(navigation)])}
    return [_count_page(name, paths[name]) for name in sorted(paths, key=lambda name: order.get(name, len(order)))]


def list_notebooks() -> list[str]:
    """Return the notebooks, which run cell by cell, relative to the folder of the pages."""
    folder = project.root / project.docs
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.py"))]


def _count_page(name: str, path: Path) -> Counted:
    lines, pieces = _read(path, path.read_text(encoding="utf-8-sig"))
    title = _TITLE.search("\n".join(lines))
    return Counted(name, title[1] if title else name, pieces)


def count(path: Path, text: str) -> Counter[str]:
    """Return the number of blocks, values and checks of a page, including those in included files."""
    return _read(path, text)[1]


def _read(path: Path, text: str) -> tuple[list[str], Counter[str]]:
    # The count needs the includes expanded, since included files may contain pieces too.
    lines = meta.get_data(text)[0].split("\n")
    expanded, _, _ = _make_reader(project.root).expand(lines, path.name, 1)
    return expanded, _count_pieces(path.name, "\n".join(expanded))


@lru_cache(maxsize=100)  # each rebuild counts every page again
def _count_pieces(name: str, text: str) -> Counter[str]:
    lines = text.split("\n")
    return Counter(str(piece.kind) for piece in read_pieces(name, lines, [Origin(name, 1)] * len(lines)).pieces)


@cache
def _make_reader(root: Path) -> Includes:
    return Includes(Markdown(), root, base_path=["snippets", "."])


def list_pins() -> dict[str, dict[str, str]]:
    """Return the version of each package that `pyproject.toml` pins, by dependency group and package."""
    table: dict[str, Any] = tomllib.loads((project.root / "pyproject.toml").read_text(encoding="utf-8"))
    return {
        what: {
            match[1]: match[2]
            for requirement in requirements
            if isinstance(requirement, str) and (match := _PIN.match(requirement))
        }
        for what, requirements in table["dependency-groups"].items()
    }
