"""The MkDocs hook: it starts the processes that run pages, logs failures as warnings, and publishes further files."""

from __future__ import annotations

import gc
import logging
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import FileSystemBytecodeCache
from markupsafe import Markup, escape
from mkdocs.exceptions import PluginError
from mkdocs.plugins import CombinedEvent, event_priority
from mkdocs.structure.nav import Navigation
from mkdocs.utils import CountHandler

from livepage import build_progress
from livepage.keep import page_store, rendered, run_git
from livepage.notebooks import notebook_pages
from livepage.publish import (
    chapters_pdf,
    reading_time,
    search,
    site_checksum,
    social_cards,
    term_links,
    text_outputs,
)
from livepage.read import EXTENSION, GARBAGE, Build, find_build, log, project
from livepage.render import LineOfLink, html_output
from livepage.serve import SCRIPT_ADDRESS, Built, LastBuild, PagesPending, Rebuild
from livepage.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from livepage.read import Failure, SearchEntry

ASKED = "data/search.toml"
"""The file with the search terms of readers, by the section that answers them; relative to the folder of the pages."""

_MKDOCS_LOG = logging.getLogger("mkdocs")
_PAGES_LOG = logging.getLogger("mkdocs.structure.pages")


@dataclass
class _Site:
    """The state that is shared between MkDocs events; MkDocs offers hooks no other place for it.

    Attributes:
        command: The MkDocs command that builds, such as `build` or `serve`.
        last: The last complete build of a server.
        pending: The pages of a server that still run in other processes.
        workers: The processes that run pages during a build.
        asked: The search terms of readers, by page and section.
        nav: The navigation.
        pages: The pages that have been written.
    """

    command: str = ""
    last: LastBuild = field(default_factory=LastBuild)
    pending: PagesPending | None = None
    workers: Workers | None = None
    asked: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    nav: Navigation = field(default_factory=lambda: Navigation([], []))
    pages: dict[str, Page] = field(default_factory=dict)


_site = _Site()


def on_startup(command: str, *, dirty: bool) -> None:
    """Store the command; for `serve` without `dirty`, prepare to run pages in other processes."""
    _site.command = command
    if command == "serve" and not dirty:
        _site.pending = PagesPending()


def on_config(config: MkDocsConfig) -> None:
    """Set up the project, the failure reports and the log, and date the build by its commit."""
    project.adopt(config)
    if _site.command == "serve":
        _be_lenient(config)
    build = Build(report=_warn, started=time.perf_counter(), shows_failures=not config.strict)
    config.mdx_configs[EXTENSION] = {**(config.mdx_configs.get(EXTENSION) or {}), "build": build}
    if config.strict:
        # With --quiet, MkDocs neither prints nor counts warnings, so a strict build with a failed page would succeed.
        _MKDOCS_LOG.setLevel(min(_MKDOCS_LOG.level or logging.WARNING, logging.WARNING))
    _site.asked = search.read_asked(Path(config.docs_dir) / ASKED)
    page_store.begin_build()
    if _site.command == "serve":
        _site.last.begin(config)
    site_checksum.remove(Path(config.site_dir))
    gc.set_threshold(*GARBAGE)
    if project.adapter.slow_work:
        # Operations that take seconds are listed in the build's log.
        slow = logging.getLogger(project.adapter.slow_work)
        slow.parent, slow.level = log, logging.INFO
    build.terms = tuple(project.adapter.list_terms())
    if os.environ.get("SITE_VERSIONS"):
        # scripts/ci/publish sets this variable: the header then offers the other published versions of the site.
        config.extra["version"] = {"provider": "mike", "default": "stable"}
    _PAGES_LOG.filters[:] = [entry for entry in _PAGES_LOG.filters if not isinstance(entry, LineOfLink)]
    _PAGES_LOG.addFilter(LineOfLink(build))
    if "SOURCE_DATE_EPOCH" not in os.environ and (date := run_git("log", "-1", "--format=%ct")):
        os.environ["SOURCE_DATE_EPOCH"] = date


def _be_lenient(config: MkDocsConfig) -> None:
    """Let a build succeed in spite of warnings, so that a server goes on and shows them on their pages."""
    config.strict = False
    # MkDocs has begun to count warnings before this event, and ends a build that has any.
    _MKDOCS_LOG.handlers[:] = [entry for entry in _MKDOCS_LOG.handlers if not isinstance(entry, CountHandler)]


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> Environment:
    """End the page processes, cache the theme's templates, and set its variables for the feed and the social cards."""
    _end_workers()
    config.extra["feed"] = any("feed" in page.meta for page in _site.nav.pages)
    published = bool(config.site_url) and _site.command != "serve"
    config.extra["cards"] = published and bool(social_cards.find_browser())
    if published and not config.extra["cards"]:
        log.info("no social cards: Chromium draws them, and there is none")
    env.filters["card_address"] = social_cards.find_address
    templates = project.root / ".cache" / "templates"
    templates.mkdir(parents=True, exist_ok=True)
    env.bytecode_cache = FileSystemBytecodeCache(str(templates))
    _site.last.built = Built(config, files, _site.nav, env)
    return env


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of the site with notebooks as pages, each with a file to download."""
    return notebook_pages.add_files(files, config)


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Write the downloadable notebooks, and start the processes that run pages."""
    notebook_pages.write_downloads(files, config)
    _site.nav, build = nav, find_build(config)
    _site.pages.clear()
    names = [(project.docs / file.src_uri).as_posix() for file in files.documentation_pages()]
    if _site.pending:
        ordered = [(project.docs / page.file.src_uri).as_posix() for page in nav.pages]
        _site.pending.begin(build, [*ordered, *(name for name in names if name not in ordered)])
    elif _site.command == "build":
        # Native code that a page calls may end its process with exit code 0, so pages run outside the build's process.
        progress = build_progress.Progress(build_progress.expect(names))
        # A page that takes long would let the other processes wait at the end, so it runs early.
        longest = sorted(progress.costs, key=lambda name: progress.costs[name].seconds, reverse=True)
        _site.workers = Workers(longest, progress, ran=build.ran, waiting={*longest})
        build.elsewhere = _site.workers.obtain
    return nav


def on_page_read_source(page: Page, **_: object) -> str | None:
    """Return the front matter of a notebook, whose cells are converted later, or None for another page."""
    return notebook_pages.read_source(page)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Return a page's Markdown, converted if it is a notebook; set the current page, and escape its metadata."""
    build = find_build(config)
    build.current = Path(page.file.abs_src_path or page.file.src_uri)
    page.meta.update({name: escape(page.meta[name]) for name in ("title", "description") if name in page.meta})
    return notebook_pages.dress(page, config, build, _warn) if notebook_pages.is_notebook(page) else markdown


def on_post_page(output: str, **_: object) -> str:
    """Return a page's HTML; a served page gets the script that shows how much of the site is still being built."""
    return (
        output.replace("</body>", f'<script src="{SCRIPT_ADDRESS}" defer></script></body>') if _site.pending else output
    )


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page's HTML with its reading time, links from its terms, and whole options; clear the current page."""
    find_build(config).current = None

    def find(name: str) -> str:
        other = files.get_file_from_path(name)
        return other.url_relative_to(page.file) if other and other is not page.file else ""

    linked = term_links.link(reading_time.add_time(html), project.adapter.choose_terms(page.file.src_uri), find)
    return html_output.keep_options(linked)


@event_priority(-100)
def on_pre_page(page: Page, config: MkDocsConfig, **_: object) -> Page:
    """Make the page reuse its stored rendering if none of its inputs has changed."""
    rendered.keep(page, find_build(config))
    return page


@event_priority(100)
def _hide_listings(context: dict[str, Any], /, page: Page, config: MkDocsConfig, **_: object) -> dict[str, Any]:
    page.full_content = page.content  # type: ignore[attr-defined]  # restored by `_show_listings`
    page.content = search.to_index(
        page.content or "", _list_entries(page, config), whole=not (page.meta.get("search") or {}).get("begins")
    )
    return context


@event_priority(-100)
def _show_listings(context: dict[str, Any], /, page: Page, config: MkDocsConfig, **_: object) -> dict[str, Any]:
    _site.pages[page.file.src_uri] = page
    if plugin := config.plugins.get("material/search"):
        queries = _site.asked.get(page.file.src_uri, {})
        for section in search.rank(plugin.search_index.entries, page.url, _list_entries(page, config), queries):
            log.warning("%s: %s has no section '%s' to find", project.docs / ASKED, page.file.src_uri, section)
    page.content = page.full_content  # type: ignore[attr-defined]  # set by `_hide_listings`
    return context


def _list_entries(page: Page, config: MkDocsConfig) -> tuple[SearchEntry, ...]:
    _, outcomes = find_build(config).sources.get((project.docs / page.file.src_uri).as_posix(), (None, []))
    return tuple(entry for outcome in outcomes for entry in outcome.entries)


# The search plugin indexes pages at this event, so listings are hidden before it and restored after it.
on_page_context = CombinedEvent(_hide_listings, _show_listings)


@event_priority(-100)
def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Publish the text outputs and social cards, log the totals, and write the site's checksum last."""
    build = find_build(config)
    text_outputs.publish_texts(_site.nav, list(_site.pages.values()), config)
    addresses = {name: page.file.url for name, page in _site.pages.items()}
    term_links.publish_terms(Path(config.site_dir), lambda name: addresses.get(name, ""))
    if config.extra["cards"]:
        social_cards.publish_cards(list(_site.pages.values()), config)
    if os.environ.get(chapters_pdf.PDF_VARIABLE):
        titles = {page.file.dest_uri: Markup(page.title).striptags() for page in _site.nav.pages}  # noqa: S704 - stripped
        chapters_pdf.publish_pdf(titles, Path(config.site_dir))
    totals = build.totals
    # After a partial rebuild, each page already has a line of its own in the log.
    log.log(
        logging.INFO if totals["pages"] >= len(_site.pages) else logging.DEBUG,
        "%d pages (%d run): %d blocks, %d values, %d checks; %.2f seconds",
        totals["pages"],
        len(build.ran),
        *(totals[name] for name in ("blocks", "values", "checks")),
        time.perf_counter() - build.started,
    )
    for target, reason in sorted(build.missing.items()):
        log.info("target %s is missing, marked on the pages: %s", target, reason)
    _finish(config)


def _finish(config: MkDocsConfig) -> None:
    """Write the checksum of the finished site, unless it is served or MkDocs counted a warning.

    Raises:
        PluginError: A page is missing or empty.
    """
    counters = [handler for handler in _MKDOCS_LOG.handlers if isinstance(handler, CountHandler)]
    if _site.command == "serve" or any(counter.get_counts() for counter in counters):
        return
    try:
        site_checksum.write_checksum(Path(config.site_dir), [page.file.dest_uri for page in _site.pages.values()])
    except FileNotFoundError as error:
        raise PluginError(str(error)) from error


def on_build_error(**_: object) -> None:
    """End the processes that run pages for the failed build."""
    _end_workers()


def on_serve(server: LiveReloadServer, config: MkDocsConfig, builder: Callable[[], None]) -> None:
    """Install the rebuild that only builds the pages that an edit affects, unless MkDocs runs in dirty mode."""
    if _site.pending:
        Rebuild(server, builder, _site.pending, _site.last).begin(config.docs_dir)


def on_shutdown() -> None:
    """End all processes, and freeze the garbage collector, whose last search through all imported objects is slow."""
    _end_workers()
    if _site.pending:
        _site.pending.end()
    gc.freeze()


def _end_workers() -> None:
    if _site.workers:
        _site.workers.end()
        if costs := os.environ.get(build_progress.COSTS):
            build_progress.write_costs(_site.workers.progress.measured, Path(costs))
        _site.workers = None


def _warn(failure: Failure) -> None:
    log.warning("%s", failure)
