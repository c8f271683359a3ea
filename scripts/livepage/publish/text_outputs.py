"""The text outputs of a build: the Markdown of each page, the list of pages in `llms.txt`, and the feed."""

from __future__ import annotations

import html
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from markupsafe import Markup

from livepage.publish.page_markdown import find_address, to_markdown
from livepage.read import find_build, project

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

_SECTION = re.compile(r'<h(?P<level>[23])\b[^>]*\bid="(?P<id>[^"]+)"[^>]*>(?P<title>.*?)</h(?P=level)>', re.DOTALL)
_BLOCK = re.compile(r"<(h[3-6]|p|ul|ol|table)\b[^>]*>.*?</\1>", re.DOTALL)
_UNSAID = re.compile(r'<(details|figure|pre|svg|section|button)\b.*?</\1>|<a class="headerlink".*?</a>', re.DOTALL)
_KEPT = re.compile(r"<(/?(?:h[3-6]|p|ul|ol|li|table|thead|tbody|tr|th|td|code|strong|em))\b[^>]*>|<[^>]*>")
_LONGEST = 6000
"""The largest number of characters of a section that the feed includes."""


@dataclass(frozen=True, slots=True)
class Item:
    """A section of a page, as one item of the feed.

    Attributes:
        title: The section's heading.
        address: The section's page and id, relative to the site.
        summary: The section's text as plain HTML, without folded text, graphics and listings.
    """

    title: str
    address: str
    summary: str


def publish_texts(nav: Navigation, pages: Sequence[Page], config: MkDocsConfig) -> None:
    """Write the Markdown of each page, `llms.txt` and `feed.xml` into the site; delete a feed without items."""
    site = Path(config.site_dir)
    names = frozenset(page.file.src_uri for page in pages)
    for name in sorted(names):
        if ran := find_build(config).sources.get((project.docs / name).as_posix()):
            _write(site / find_address(name), to_markdown(name, *ran, names))
    address = (config.site_url or "").rstrip("/") + "/" if config.site_url else ""
    _write(site / "llms.txt", write_llms_index(nav, config, address))
    fed = [page for page in pages if "feed" in page.meta]
    if items := [item for page in fed for item in list_items(page)]:
        title = f"{html.unescape(str(fed[0].title))} - {config.site_name}"
        _write(site / "feed.xml", to_feed(items, title, config, address))
    else:
        (site / "feed.xml").unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def write_llms_index(nav: Navigation, config: MkDocsConfig, address: str) -> str:
    """Return `llms.txt` in the format of llmstxt.org: the site's description and a list of its Markdown pages."""
    parts = [f"# {config.site_name}\n\n> {config.site_description}"]
    loose: list[str] = []
    for entry in nav.items:
        pages = list(_walk(entry))
        lines = [_describe(page, address) for page in pages]
        if entry.is_section:
            parts.append(f"## {entry.title}\n\n" + "\n".join(lines))
        else:
            loose += lines
    parts.insert(1, "\n".join(loose))
    return "\n\n".join(filter(None, parts)) + "\n"


def _walk(entry: object) -> Iterator[Page]:
    children = getattr(entry, "children", None)
    if children:
        for child in children:
            yield from _walk(child)
    elif getattr(entry, "is_page", False):
        yield entry  # type: ignore[misc]  # a page, since `is_page` is true


def _describe(page: Page, address: str) -> str:
    about = f": {_inline(page.meta['description'])}" if page.meta.get("description") else ""
    return f"- [{_inline(page.title or '')}]({address}{find_address(page.file.src_uri)}){about}"


def _inline(text: str) -> str:
    """Return HTML-escaped text as one line of Markdown in which nothing can be read as an element or a link."""
    return re.sub(r"([\\<\[\]])", r"\\\1", " ".join(html.unescape(text).split()))


def list_items(page: Page) -> Iterator[Item]:
    """Yield the sections of a page with an id that matches the pattern `feed` in the page's front matter."""
    pattern = page.meta["feed"]
    content = page.content or ""
    heads = list(_SECTION.finditer(content))
    for at, head in enumerate(heads):
        if not re.match(pattern, head["id"]):
            continue
        deeper = [later for later in heads[at + 1 :] if later["level"] <= head["level"]]
        body = content[head.end() : deeper[0].start() if deeper else len(content)]
        blocks = [_simplify(match[0]) for match in _BLOCK.finditer(_UNSAID.sub("", body))]
        sizes = accumulate(map(len, blocks))
        summary = "".join(block for block, size in zip(blocks, sizes, strict=True) if size <= _LONGEST)
        title = Markup(_UNSAID.sub("", head["title"])).striptags()  # noqa: S704 - its tags are removed at once
        yield Item(title, f"{page.url}#{head['id']}", summary)


def _simplify(block: str) -> str:
    """Return HTML with only those elements that every feed reader shows, without attributes."""
    plain = _KEPT.sub(lambda match: f"<{match[1]}>" if match[1] else "", block)
    return re.sub(r"\s+", " ", plain)


def to_feed(items: Iterable[Item], title: str, config: MkDocsConfig, address: str) -> str:
    """Return an RSS 2.0 feed; without the site's address its links are relative to the feed."""
    # The hook sets this variable to the commit's date, so that equal sources give an equal feed.
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    date = format_datetime(datetime.fromtimestamp(seconds, UTC))
    own = (
        f'\n    <atom:link href="{escape(address)}feed.xml" rel="self" type="application/rss+xml"/>' if address else ""
    )
    entries = "".join(
        f"""
    <item>
      <title>{escape(item.title)}</title>
      <link>{escape(address + item.address)}</link>
      <guid isPermaLink="false">{escape(item.address)}</guid>
      <description>{escape(item.summary)}</description>
    </item>"""
        for item in items
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom">
  <channel>
    <title>{escape(title)}</title>
    <link>{escape(address) or "."}</link>
    <description>{escape(config.site_description or "")}</description>
    <lastBuildDate>{date}</lastBuildDate>{own}{entries}
  </channel>
</rss>
"""
