"""The rendering or running of one page without a site build, with the same extensions, reader and failures."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import markdown
from markdown_exec import markdown_config
from mkdocs.config import load_config as read_config
from mkdocs.utils import meta

from livepage.keep import outcomes
from livepage.notebooks import notebook_pages
from livepage.read import EXTENSION, Answer, Build, PageRanError, project, relative

if TYPE_CHECKING:
    from pathlib import Path

    from mkdocs.config.defaults import MkDocsConfig

    from livepage.read import Failure


def load_project(root: Path) -> MkDocsConfig:
    """Return the configuration of a project, and make it the project of this process."""
    config = read_config(str(root / "mkdocs.yml"))
    project.adopt(config)
    return config


def render_page(page: Path, root: Path, build: Build | None = None) -> tuple[str, list[Failure]]:
    """Render a page as the build does, without the theme and without checking links to other pages.

    Args:
        page: The Markdown file, or a notebook, which only runs if no stored result is valid.
        root: The project's folder, which holds `mkdocs.yml`.
        build: The build that the page belongs to; it receives the page's source and outcomes.

    Returns:
        The HTML of the page, and its failures in the order of lines.
    """
    config, build = load_project(root), build or Build()
    failures: list[Failure] = []
    if page.suffix == ".md":
        text = _read_body(page)
    else:
        text, failures = notebook_pages.convert(page, build)
    build.report = failures.append
    return _convert(page, text, config, build), failures


def run_only(page: Path, config: MkDocsConfig, build: Build | None = None) -> Answer:
    """Run the code of a page as a build does, and return its outcomes (a notebook's Markdown) without rendering it."""
    build = build or Build()
    if page.suffix != ".md":
        text, failures = notebook_pages.run_notebook(page, build)
        return Answer(text=text, failure=failures[0] if failures else None)
    build.only_run, build.report = True, lambda _: None
    with contextlib.suppress(PageRanError):
        _convert(page, _read_body(page), config, build)
    source, _ = build.sources[relative(page.resolve(), project.root)]
    return outcomes.answer(source, build)


def _read_body(page: Path) -> str:
    """Return the Markdown of a page without its front matter, as MkDocs passes it on."""
    body: str = meta.get_data(page.read_text(encoding="utf-8-sig"))[0]
    return body


def _convert(page: Path, text: str, config: MkDocsConfig, build: Build) -> str:
    build.current = page
    options = {**config.mdx_configs, EXTENSION: {**(config.mdx_configs.get(EXTENSION) or {}), "build": build}}
    markdown_config.save(config.markdown_extensions, options)
    try:
        converter = markdown.Markdown(extensions=config.markdown_extensions, extension_configs=options)
        return converter.convert(text)
    finally:
        markdown_config.reset()
        build.current = None
