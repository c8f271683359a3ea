"""Render one page without building a site, as the tests do: same extensions, same reader, same failures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import markdown
from markdown_exec import markdown_config
from mkdocs.config import load_config

from livepage.notebooks import notebook_pages
from livepage.read import load_adapter, project

if TYPE_CHECKING:
    from livepage.read import Failure

_FRONT_MATTER = re.compile(r"---\n.*?\n(?:---|\.\.\.)\n+", re.DOTALL)


def render(page: Path, root: Path) -> tuple[str, list[Failure]]:
    """Render a page as the build does, but for the theme around it and the check of links to other pages.

    Args:
        page: The Markdown file, or a notebook, which runs where nothing is kept of it.
        root: The project's folder, which holds `mkdocs.yml`.

    Returns:
        The HTML of the page, and what failed, in the order of lines.
    """
    config = load_config(str(root / "mkdocs.yml"))
    failures: list[Failure] = []
    project.root, project.docs = root.resolve(), Path(config.docs_dir).relative_to(root.resolve())
    project.report, project.current = failures.append, page
    project.adapter = load_adapter((config.mdx_configs.get("livepage.extension") or {}).get("adapter", ""))
    text = page.read_text(encoding="utf-8-sig") if page.suffix == ".md" else _convert(page, failures)
    markdown_config.save(config.markdown_extensions, config.mdx_configs)
    try:
        converter = markdown.Markdown(extensions=config.markdown_extensions, extension_configs=config.mdx_configs)
        html = converter.convert(_FRONT_MATTER.sub("", text, count=1) if text.startswith("---\n") else text)
    finally:
        markdown_config.reset()
        project.report, project.current = None, None
    return html, failures


def _convert(notebook: Path, failures: list[Failure]) -> str:
    notebook_pages.begin([notebook])
    markdown, new_failures = notebook_pages.convert(notebook)
    failures += new_failures
    return markdown
