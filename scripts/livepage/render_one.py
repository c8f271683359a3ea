"""Render one page without building a site, as the tests do: same extensions, same reader, same failures."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import markdown
from markdown_exec import markdown_config
from mkdocs.config import load_config

from livepage.keep import outcomes
from livepage.notebooks import notebook_pages
from livepage.read import Answer, PageRanError, load_adapter, project, relative

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig

    from livepage.read import Failure

_FRONT_MATTER = re.compile(r"---\n.*?\n(?:---|\.\.\.)\n+", re.DOTALL)


def load(root: Path) -> MkDocsConfig:
    """Return the configuration of a project, and let it be the one whose pages are read."""
    config = load_config(str(root / "mkdocs.yml"))
    project.root, project.docs = root.resolve(), Path(config.docs_dir).relative_to(root.resolve())
    project.adapter = load_adapter((config.mdx_configs.get("livepage.extension") or {}).get("adapter", ""))
    return config


def render(page: Path, root: Path) -> tuple[str, list[Failure]]:
    """Render a page as the build does, but for the theme around it and the check of links to other pages.

    Args:
        page: The Markdown file, or a notebook, which runs where nothing is kept of it.
        root: The project's folder, which holds `mkdocs.yml`.

    Returns:
        The HTML of the page, and what failed, in the order of lines.
    """
    config = load(root)
    failures: list[Failure] = []
    if page.suffix == ".md":
        text = page.read_text(encoding="utf-8-sig")
    else:
        text, failures = notebook_pages.convert(page)
    return _convert(page, text, config, failures.append), failures


def run(page: Path, config: MkDocsConfig) -> Answer:
    """Run what stands on a page, as a build does, and render nothing."""
    if page.suffix != ".md":
        text, failures = notebook_pages.run(page)
        return Answer(text, failures[0] if failures else None)
    project.only_run = True
    with contextlib.suppress(PageRanError):
        _convert(page, page.read_text(encoding="utf-8-sig"), config, lambda _: None)
    return Answer(outcomes.answer(*project.sources[relative(page.resolve(), project.root)]))


def _convert(page: Path, text: str, config: MkDocsConfig, report: Callable[[Failure], None]) -> str:
    project.report, project.current = report, page
    markdown_config.save(config.markdown_extensions, config.mdx_configs)
    try:
        converter = markdown.Markdown(extensions=config.markdown_extensions, extension_configs=config.mdx_configs)
        return converter.convert(_FRONT_MATTER.sub("", text, count=1) if text.startswith("---\n") else text)
    finally:
        markdown_config.reset()
        project.report, project.current = None, None
