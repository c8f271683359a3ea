"""A hook of MkDocs: keeps captures, checks docs/data, publishes what explorers fetch, and lets programs be edited."""

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

# Set as MkDocs reads its configuration, before anything is captured.
os.environ.setdefault("XLA_INSPECT_CACHE", str(ROOT / ".cache" / "xla_inspect"))

log = logging.getLogger("mkdocs.plugins.data")

_built: dict[str, str] = {}


def on_pre_build(config: MkDocsConfig) -> None:
    """Warn of data that was changed by hand, and of texts on no page that were not affirmed."""
    for fault in stamps.list_faults(Path(config.docs_dir) / "data"):
        log.warning("%s", fault)
    for prose in project_texts.read_others(Path(config.config_file_path).parent):
        for failure in sentence_checks.judge_sentences(prose):
            log.warning("%s", failure)


def on_files(_: Files, **__: object) -> None:
    """Forget the pages of the last build; of an edit alone the edited page comes again."""
    _built.clear()


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Say beside each program how a reader edits it."""
    return program_places.add_places(html, page.url)


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Keep the page, in which explorers may stand."""
    _built[page.file.src_uri] = output
    return output


def on_post_build(config: MkDocsConfig) -> None:
    """Publish what the explorers of the pages need, and the programs that readers take away."""
    explorer_files.publish_explorer(_built.values(), Path(config.site_dir))
    open_dump_files.publish_dump_page(_built.values(), Path(config.site_dir))
    program_places.publish_programs(_built.values(), Path(config.site_dir))
