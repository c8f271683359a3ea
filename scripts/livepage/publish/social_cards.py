"""The social card of each page: a picture with the title and one of the page's figures, shown by sites that link to it.

A browser draws the cards from the built site, with the site's styles and fonts. Link previews fetch a card by its
absolute address, so there are no cards without a site address, while serving, or without an installed Chromium.
"""

from __future__ import annotations

import hashlib
import html
import os
import posixpath
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from livepage.read import log, project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

SIZE = (1200, 630)
"""Width and height in pixels, as recommended for link previews."""
FOLDER = "assets/cards"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_KEPT = Path(".cache/cards")
_DRAFT = "card-draft.html"
_FIGURE = re.compile(r"<figure\b(?P<attributes>[^>]*)>.*?</figure>", re.DOTALL)
_CAPTION = re.compile(r"<figcaption\b.*?</figcaption>", re.DOTALL)
_STYLES = re.compile(r'<link\b[^>]*\brel="stylesheet"[^>]*>')
_CARD = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">{styles}
<style>
  html, body {{ height: 100%; margin: 0; overflow: hidden; }}
  body {{ background: var(--paper); color: var(--ink); display: block; }}
  .card {{ box-sizing: border-box; display: grid; gap: 48px; grid-template-columns: {columns}; }}
  .card {{ height: 630px; padding: 64px; width: 1200px; }}
  .md-typeset .card h1 {{ color: var(--ink); font: 600 {heading}px/1.1 var(--serif, serif); margin: 18px 0 24px; }}
  .md-typeset .card p {{ font: {text}px/1.4 var(--serif, serif); margin: 0; max-width: none; }}
  .md-typeset .card p.site {{ color: var(--ink-soft); font: 26px/1 var(--mono, monospace); }}
  .card .picture {{ align-items: center; display: flex; height: 502px; justify-content: center; overflow: hidden; }}
  .md-typeset .card .picture > figure {{ flex: none; margin: 0; max-width: none; width: 420px; }}
</style></head>
<body data-md-color-scheme="default"><div class="md-typeset"><div class="card">
<div><p class="site">{site}</p><h1>{title}</h1><p>{description}</p></div>{picture}
</div></div></body></html>
"""
# This script scales the figure to the largest size that fits its box.
_FIT = """() => {
  const box = document.querySelector(".picture"), figure = box && box.firstElementChild
  if (!figure) return
  figure.style.zoom = Math.min(box.clientWidth / figure.scrollWidth, box.clientHeight / figure.scrollHeight)
}"""


@dataclass(frozen=True, slots=True)
class _Card:
    """A page, its card as HTML, and a digest of the site's styles."""

    page: Page
    html: str
    styles: str

    @property
    def file(self) -> str:
        """The file name of the card's stored picture."""
        return f"{hashlib.sha256((self.styles + self.html).encode()).hexdigest()[:32]}.png"


def find_browser() -> str:
    """Return the path of a Chromium that can draw cards, or an empty string."""
    if not find_spec("playwright"):
        return ""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), "")


def find_address(name: str) -> str:
    """Return the location of a page's card in the site, such as `assets/cards/deep-page.png` for `deep/page.py`."""
    return f"{FOLDER}/{posixpath.splitext(name)[0].replace('/', '-')}.png"


def publish_cards(pages: Sequence[Page], config: MkDocsConfig) -> None:
    """Copy the card of each page into the site, draw cards without a stored picture, and delete unused pictures."""
    site, cache = Path(config.site_dir), project.root / _KEPT
    (site / FOLDER).mkdir(parents=True, exist_ok=True)
    cache.mkdir(parents=True, exist_ok=True)
    styles = _digest_styles(site)
    texts = [(site / page.file.dest_uri).read_text(encoding="utf-8") for page in pages]
    cards = [
        _Card(page, write_card(page, text, config.site_name), styles) for page, text in zip(pages, texts, strict=True)
    ]
    if missing := [card for card in cards if not (cache / card.file).is_file()]:
        log.info("drawing %d social cards", len(missing))
        # Playwright needs a thread of its own, because it refuses to run in one with an event loop, as in notebooks.
        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(_draw, missing, site, cache).result()
    for card in cards:
        shutil.copyfile(cache / card.file, site / find_address(card.page.file.src_uri))
    for file in cache.glob("*.png"):
        if file.name not in {card.file for card in cards}:
            file.unlink(missing_ok=True)


def write_card(page: Page, page_html: str, site_name: str) -> str:
    """Return the card of a page as HTML that can be placed next to the page's own HTML file.

    Args:
        page: The page; `card` in its front matter selects the class of the figure, by default the first SVG.
        page_html: The page's HTML in the site.
        site_name: The name of the site.
    """
    picture = _find_figure(str(page.content or ""), str(page.meta.get("card", "")))
    # The page's title and front matter are HTML already, so the title has to be stripped of its tags.
    plain = Markup(page.meta.get("title") or page.title).striptags()  # noqa: S704 - its tags are removed at once
    title = html.escape(plain, quote=False)
    return _CARD.format(
        styles="".join(_STYLES.findall(page_html)),
        columns="1fr 1fr" if picture else "1fr",
        heading=60 if picture else 96,
        text=28 if picture else 42,
        site=html.escape(site_name),
        title=title if not page.is_homepage else html.escape(site_name),
        description=page.meta.get("description", ""),
        picture=f'<div class="picture">{picture}</div>' if picture else "",
    )


def _find_figure(content: str, kind: str) -> str:
    """Return a page's first figure with `kind` in its attributes, or its first SVG figure, without caption, or ''."""
    for match in _FIGURE.finditer(content):
        if kind in match["attributes"] and ("<svg" in match[0] or kind):
            return _CAPTION.sub("", match[0])
    return ""


def _digest_styles(site: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted((site / "assets").rglob("*.css")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _draw(cards: Sequence[_Card], site: Path, cache: Path) -> None:
    """Draw each card in Chromium, and store its picture as PNG in the cache."""
    from playwright.sync_api import sync_playwright

    width, height = SIZE
    with sync_playwright() as playwright:
        # Chromium's sandbox fails for root in containers; it is not needed, since the drawn page is the site's own.
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": width, "height": height})
        for card in cards:
            draft = (site / card.page.file.dest_uri).with_name(_DRAFT)
            draft.write_text(card.html, encoding="utf-8")
            try:
                view.goto(draft.as_uri())
                view.evaluate("document.fonts.ready")
                view.evaluate(_FIT)
                # Renaming is atomic, so another build never copies an unfinished picture.
                partial = cache / f"{card.file}.{os.getpid()}"
                partial.write_bytes(view.screenshot())
                partial.replace(cache / card.file)
            finally:
                draft.unlink()
        browser.close()
