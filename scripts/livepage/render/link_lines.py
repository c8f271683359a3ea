"""The line numbers of dead links, which MkDocs itself does not report."""

from __future__ import annotations

import logging
import re

from livepage.read import Build, Origin, project

_MESSAGE = re.compile(r"Doc file '(?P<page>[^']+)' contains an? (?:[a-z]+ )*(?:link|image|anchor)? ?'(?P<link>[^']*)'")

_TARGET = re.compile(r"the doc '([^']+)'")


class LineOfLink(logging.Filter):
    """The log filter that puts `docs/page.md:42: ` in front of MkDocs' messages about links."""

    def __init__(self, build: Build) -> None:
        """Store the build that the messages are about."""
        super().__init__()
        self._build = build

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the line to a record about a link; return False only for an anchor on a page that is still running."""
        message = record.getMessage()
        if match := _MESSAGE.match(message):
            about = {match["page"], *_TARGET.findall(message)}
            if "anchor" in message and any((project.docs / name).as_posix() in self._build.pending for name in about):
                return False  # the output of that page, with its anchors, is not there yet
            name = (project.docs / match["page"]).as_posix()
            origin = find_link(name, match["link"], self._build)
            record.msg, record.args = f"{origin}: {message}", ()
        return True


def find_link(name: str, link: str, build: Build) -> Origin:
    """Return the line of a page that holds a link, the block that printed the link, or the page's first line."""
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
