"""The MkDocs hook of this site: it checks docs/data, and publishes explorers, the dump page and programs."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import stamps
from authoring import project_texts
from common import ROOT
from inside_xla import explorer_files, open_dump_files, program_places
from livepage.run import sentence_checks

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

# MkDocs loads its hooks with the configuration, so this is set before anything is captured.
os.environ.setdefault("XLA_INSPECT_CACHE", str(ROOT / ".cache" / "xla_inspect"))

log = logging.getLogger("mkdocs.plugins.data")

_built: dict[str, str] = {}


def on_pre_build(config: MkDocsConfig) -> None:
    """Warn about data files that were changed by hand, and about unaffirmed texts outside of pages."""
    for fault in stamps.list_faults(Path(config.docs_dir) / "data"):
        log.warning("%s", fault)
    for prose in project_texts.read_others(Path(config.config_file_path).parent):
        for failure in sentence_checks.judge_sentences(prose):
            log.warning("%s", failure)


def on_files(_: Files, **__: object) -> None:
    """Forget the pages of the last build; after an edit, only the edited page is rendered again."""
    _built.clear()


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Return a page's HTML with an edit fold after the listing of each program."""
    return program_places.add_places(html, page.url)


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Store the page's HTML, in which the published files are looked up after the build."""
    _built[page.file.src_uri] = output
    return output


def on_post_build(config: MkDocsConfig) -> None:
    """Publish the files of the explorers and of the page that opens a dump, and the downloadable programs."""
    explorer_files.publish_explorer(_built.values(), Path(config.site_dir))
    open_dump_files.publish_dump_page(_built.values(), Path(config.site_dir))
    program_places.publish_programs(_built.values(), Path(config.site_dir))
