"""The line numbers of dead links, which MkDocs itself does not report."""

from __future__ import annotations

import logging
import re

from livepage.read import Build, Failure, Origin, project

_MESSAGE = re.compile(r"Doc file '(?P<page>[^']+)' contains an? (?:[a-z]+ )*(?:link|image|anchor)? ?'(?P<link>[^']*)'")

_TARGET = re.compile(r"the doc '([^']+)'")


class LineOfLink(logging.Filter):
    """The log filter that puts `docs/page.md:42: ` in front of MkDocs' messages about links."""

    def __init__(self, build: Build) -> None:
        """Store the build that the messages are about."""
        super().__init__()
        self._build = build

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the line number to a record about a link; return False for an anchor on a page that is still running."""
        message = record.getMessage()
        if match := _MESSAGE.match(message):
            about = {match["page"], *_TARGET.findall(message)}
            if "anchor" in message and any((project.docs / name).as_posix() in self._build.pending for name in about):
                return False  # the page has not run yet, so the anchors in its output are unknown
            record.msg, record.args = str(make_link_failure(message, self._build)), ()
        return True


def make_link_failure(message: str, build: Build) -> Failure | None:
    """Return MkDocs' message about a link as a failure with file and line, or None for any other message.

    A line number that already precedes the message is replaced.
    """
    if not (match := _MESSAGE.search(message)):
        return None
    origin = _find_link((project.docs / match["page"]).as_posix(), match["link"], build)
    return Failure(origin, message[match.start() :])


def _find_link(name: str, link: str, build: Build) -> Origin:
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
