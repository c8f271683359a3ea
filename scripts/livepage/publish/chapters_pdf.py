"""The chapters of a site as one PDF, which Chromium prints from the built pages."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

from livepage.publish.social_cards import find_browser

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "course.pdf"
PDF_VARIABLE = "SITE_PDF"
"""The environment variable with which a build prints the PDF, and pages link to the PDF."""
_CHAPTER = 'class="reading-time"'
_LIMIT = 120_000  # milliseconds, since a page may contain large listings


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


def publish_pdf(titles: Mapping[str, str], site: Path) -> None:
    """Print the chapters, which are the pages with a reading time, into one PDF in the site, with an outline of titles.

    Args:
        titles: The titles of pages by their files in the site, in the order of the PDF.
        site: The folder of the built site.
    """
    chapters = {file: name for file, name in titles.items() if _CHAPTER in (site / file).read_text(encoding="utf-8")}
    # Playwright runs in a separate thread, because it cannot run in a thread that has an event loop.
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(_print, chapters, site).result()


def _print(chapters: Mapping[str, str], site: Path) -> None:
    from playwright.sync_api import sync_playwright
    from pypdf import PdfWriter

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    writer = PdfWriter()
    with sync_playwright() as playwright:
        # Chromium's sandbox fails for root in containers. The site's own pages can be opened without a sandbox.
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        view = browser.new_page()
        view.set_default_timeout(_LIMIT)
        for file, name in chapters.items():
            view.goto(f"http://127.0.0.1:{server.server_port}/{file}")
            view.evaluate("document.fonts.ready")
            printed = view.pdf(prefer_css_page_size=True, format="A4", print_background=True)
            writer.append(io.BytesIO(printed), outline_item=name)
        browser.close()
    server.shutdown()
    writer.write(site / FILE)
