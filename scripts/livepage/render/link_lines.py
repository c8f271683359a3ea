"""Say on which line of a page a dead link stands, which MkDocs itself does not."""

from __future__ import annotations

import logging
import re

from livepage.read import Build, Origin, project

_MESSAGE = re.compile(r"Doc file '(?P<page>[^']+)' contains an? (?:[a-z]+ )*(?:link|image|anchor)? ?'(?P<link>[^']*)'")

_TARGET = re.compile(r"the doc '([^']+)'")


class LineOfLink(logging.Filter):
    """Puts `docs/page.md:42: ` in front of what MkDocs says about a link."""

    def __init__(self, build: Build) -> None:
        """Take the build that MkDocs speaks of."""
        super().__init__()
        self._build = build

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record where it names a page and a link; drop it where it misses an anchor that may come yet."""
        message = record.getMessage()
        if match := _MESSAGE.match(message):
            about = {match["page"], *_TARGET.findall(message)}
            if "anchor" in message and any((project.docs / name).as_posix() in self._build.pending for name in about):
                return False  # what that page shows, and its anchors with it, is still to come
            name = (project.docs / match["page"]).as_posix()
            origin = find_link(name, match["link"], self._build)
            record.msg, record.args = f"{origin}: {message}", ()
        return True


def find_link(name: str, link: str, build: Build) -> Origin:
    """Return the line of a page that holds a link, or the block that printed it, or the page's first line."""
    path = project.root / name
    lines = path.read_text(encoding="utf-8-sig").split("\n") if path.is_file() else []
    for at, line in enumerate(lines, 1):
        if re.search(rf"[(<\"'\s]{re.escape(link)}[)>\"'\s]|{re.escape(link)}$", line):
            return Origin(name, at)
    if name in build.sources:
        source, outcomes = build.sources[name]
        for piece, outcome in zip(source.pieces, outcomes, strict=True):
            if link in outcome.text:
                return piece.origin
    return Origin(name, 1)
