"""The rendering or running of one page without a site build, with the same extensions, reader and failures."""

from __future__ import annotations

import contextlib
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_exec import markdown_config
from mkdocs.config import load_config as read_config
from mkdocs.structure.files import File, Files, InclusionLevel, get_files
from mkdocs.structure.nav import get_navigation
from mkdocs.structure.pages import Page
from mkdocs.utils import meta

from livepage.keep import outcomes, rendered
from livepage.notebooks import notebook_pages
from livepage.read import EXTENSION, Answer, Build, Failure, Origin, PageRanError, log, project, relative
from livepage.render import make_link_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mkdocs.config.defaults import MkDocsConfig

_LOG = logging.getLogger("mkdocs")


def load_project(root: Path) -> MkDocsConfig:
    """Return the configuration of a project, and make it the project of this process."""
    config = read_config(str(root / "mkdocs.yml"))
    project.adopt(config)
    return config


def render_page(page: Path, root: Path, build: Build | None = None) -> tuple[str, list[Failure]]:
    """Render a page as the build does, without the theme, and check its links and whether the navigation contains it.

    Args:
        page: The Markdown file, or a notebook, which only runs if no stored result is valid.
        root: The project's folder, which holds `mkdocs.yml`.
        build: The build that the page belongs to; it receives the page's source and outcomes.

    Returns:
        The HTML of the page, and its failures in the order of lines.
    """
    config, build = load_project(root), build or Build()
    text, failures = (
        (_read_body(page), list[Failure]()) if page.suffix == ".md" else notebook_pages.convert(page, build)
    )
    build.report = _make_report(failures)
    files = config.plugins.on_files(get_files(config), config=config)
    config.validation.nav.omitted_files = logging.DEBUG  # MkDocs would list all pages that the navigation lacks
    navigation = get_navigation(files, config)
    with _collect_warnings() as records:
        result = _convert(page, text, config, build, files)
        _validate_anchors(result, config, files)
    name = relative(page, project.root)
    about_links = [make_link_failure(record.getMessage(), build) for record in records]
    failures += [failure for failure in about_links if failure and failure.origin.file == name]
    if result not in navigation.pages and result.file.inclusion != InclusionLevel.NOT_IN_NAV:
        failures.append(Failure(Origin(name, 1), "the navigation lacks this page: add it to `nav` in mkdocs.yml"))
    return result.content or "", sorted(failures, key=lambda failure: failure.origin.line)


def run_only(page: Path, config: MkDocsConfig, build: Build | None = None) -> Answer:
    """Run the code of a page as a build does, and return its outcomes (a notebook's Markdown) without rendering it."""
    build = build or Build()
    if page.suffix != ".md":
        text, failures = notebook_pages.run_notebook(page, build)
        return Answer(text=text, failure=failures[0] if failures else None)
    build.only_run = True
    with contextlib.suppress(PageRanError):
        _convert(page, _read_body(page), config, build, Files([]))
    source, _ = build.sources[relative(page, project.root)]
    return outcomes.answer(source, build)


def _read_body(page: Path) -> str:
    """Return the Markdown of a page without its front matter, as MkDocs passes it on."""
    body: str = meta.get_data(page.read_text(encoding="utf-8-sig"))[0]
    return body


def _make_report(failures: list[Failure]) -> Callable[[Failure], None]:
    """Return a function that adds a failure to a list, and logs it so that the rendered page is not stored."""

    def report(failure: Failure) -> None:
        failures.append(failure)
        log.warning("%s", failure)

    return report


def _convert(page: Path, text: str, config: MkDocsConfig, build: Build, files: Files) -> Page:
    """Return the page that MkDocs renders from a text."""
    name = relative(page, project.root / project.docs)
    file = files.get_file_from_path(name) or File(name, config.docs_dir, config.site_dir, use_directory_urls=True)
    result = file.page or Page(None, file, config)
    build.current, result.markdown = page, text
    config.mdx_configs[EXTENSION] = {**(config.mdx_configs.get(EXTENSION) or {}), "build": build}
    markdown_config.save(config.markdown_extensions, config.mdx_configs)
    try:
        if not build.only_run:
            rendered.keep(result, build)
        result.render(config, files)
    finally:
        markdown_config.reset()
        build.current = None
    return result


@contextlib.contextmanager
def _collect_warnings() -> Iterator[list[logging.LogRecord]]:
    """Collect the warnings of MkDocs and of this package instead of printing them; errors are printed."""
    records: list[logging.LogRecord] = []
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)

    def collect(record: logging.LogRecord) -> bool:
        records.append(record)
        return record.levelno > logging.WARNING

    handler.addFilter(collect)
    before, _LOG.propagate = _LOG.propagate, False
    _LOG.addHandler(handler)
    try:
        yield records
    finally:
        _LOG.removeHandler(handler)
        _LOG.propagate = before


def _validate_anchors(page: Page, config: MkDocsConfig, files: Files) -> None:
    """Let MkDocs report a page's links to missing anchors, except links to pages whose results are not stored."""
    for file, links in (page.links_to_anchors or {}).items():
        other = file.page
        if other is None or other is page or file.abs_src_path is None or not file.src_uri.endswith(".md"):
            continue
        text = Path(file.abs_src_path).read_text(encoding="utf-8-sig")
        # Most anchors are in the text. For the others, the page is rendered from stored results, which takes longer.
        other.present_anchor_ids = {anchor for anchor in links if re.search(rf"#{re.escape(anchor)}\s*\}}", text)}
        if other.present_anchor_ids < links.keys():
            stored = Build(report=_make_report([]), elsewhere=lambda _: None)
            _convert(Path(file.abs_src_path), _read_body(Path(file.abs_src_path)), config, stored, files)
            if stored.pending:
                other.present_anchor_ids = None
    page.validate_anchor_links(files=files, log_level=logging.WARNING)
