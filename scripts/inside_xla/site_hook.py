"""A hook of MkDocs: keeps captures in the project, checks docs/data, and publishes what explorers fetch."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import stamps
from authoring import affirmed_tables
from common import ROOT
from inside_xla import explorer_files
from livepage.run import agreement

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

# Set as MkDocs reads its configuration, before anything is captured.
os.environ.setdefault("XLA_INSPECT_CACHE", str(ROOT / ".cache" / "xla_inspect"))

log = logging.getLogger("mkdocs.plugins.data")

_built: list[str] = []


def on_pre_build(config: MkDocsConfig) -> None:
    """Warn of data that was changed by hand, and of entries of tables that were not affirmed."""
    _built.clear()
    for fault in stamps.list_faults(Path(config.docs_dir) / "data"):
        log.warning("%s", fault)
    for prose in affirmed_tables.read(Path(config.config_file_path).parent):
        for failure in agreement.judge(prose):
            log.warning("%s", failure)


def on_post_page(output: str, **_: object) -> str:
    """Keep the page, in which explorers may stand."""
    _built.append(output)
    return output


def on_post_build(config: MkDocsConfig) -> None:
    """Publish what the explorers of the pages need."""
    explorer_files.publish(_built, Path(config.site_dir))
