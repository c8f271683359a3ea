"""The thin MkDocs hook: failures become warnings with page and line, and listings stay out of the search index."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import FileSystemBytecodeCache
from mkdocs.plugins import CombinedEvent, event_priority
from watchdog.observers.polling import PollingObserver

from livepage import ahead, explorers, kept, notebooks, reading, search, texts
from livepage.links import LineOfLink
from livepage.project import GARBAGE, log, project

if TYPE_CHECKING:
    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

    from livepage.session import Failure

_built: list[str] = []
_ahead: list[ahead.Ahead] = []
_nav: list[Navigation] = []
_pages: list[Page] = []
_PAGES_LOG = logging.getLogger("mkdocs.structure.pages")


def on_config(config: MkDocsConfig) -> None:
    """Say where the project lies and who hears of failures, and date the build by its commit."""
    project.root = Path(config.config_file_path).resolve().parent
    project.docs = Path(config.docs_dir).relative_to(project.root)
    project.report = _warn
    project.clear()
    gc.set_threshold(*GARBAGE)
    # A compile takes seconds: it is named in the build's log.
    compiles = logging.getLogger("xla_inspect")
    compiles.parent, compiles.level = log, logging.INFO
    project.started = time.perf_counter()
    notebooks.add_plugin(config)
    if os.environ.get("SITE_VERSIONS"):
        # Set by scripts/publish: other versions of the site lie beside this one, and the header offers them.
        config.extra["version"] = {"provider": "mike", "default": "stable"}
    if not any(isinstance(known, LineOfLink) for known in _PAGES_LOG.filters):
        _PAGES_LOG.addFilter(LineOfLink())
    if "SOURCE_DATE_EPOCH" not in os.environ:
        commit = ["git", "-C", str(project.root), "log", "-1", "--format=%ct"]
        try:
            date = subprocess.run(commit, capture_output=True, text=True, check=False).stdout.strip()
        except OSError:
            return
        if date:
            os.environ["SOURCE_DATE_EPOCH"] = date


def on_env(env: Environment, config: MkDocsConfig, **_: object) -> Environment:
    """Keep the compiled templates of the theme, which otherwise take a third of a rebuild, and tell them of a feed."""
    _end_ahead()
    config.extra["feed"] = any("feed" in page.meta for page in _nav[0].pages)
    folder = project.root / ".cache" / "templates"
    folder.mkdir(parents=True, exist_ok=True)
    env.bytecode_cache = FileSystemBytecodeCache(str(folder))
    return env


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take notebooks for pages, each with a file to take away."""
    return notebooks.add_files(files, config)


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Start the notebooks that have to run, and write those that readers take away."""
    notebooks.start(files, config)
    notebooks.write_downloads(files, config)
    _nav[:] = [nav]
    _pages.clear()
    pages = [Path(file.abs_src_path or "") for file in files.documentation_pages()]
    _ahead[:] = [ahead.Ahead([page for page in pages if page.suffix == ".md"])]
    _ahead[0].begin()
    return nav


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Say which page comes."""
    project.current = Path(page.file.abs_src_path or page.file.src_uri)
    return notebooks.dress(markdown, page, config, _warn) if notebooks.is_notebook(page) else markdown


def on_page_content(html: str, **_: object) -> str:
    """Say that the page is over and how long it takes to read."""
    project.current = None
    return reading.add_time(html)


@event_priority(-100)
def on_pre_page(page: Page, **_: object) -> Page:
    """Guard a notebook, after mkdocs-jupyter has taken it over, and keep what a page is rendered to."""
    if notebooks.is_notebook(page):
        notebooks.guard(page, _warn)
    kept.keep(page)
    return page


@event_priority(100)
def _hide_listings(context: dict[str, Any], /, page: Page, **_: object) -> dict[str, Any]:
    page.full_content = page.content  # type: ignore[attr-defined]  # kept for `_show_listings`
    page.content = search.to_index(page.content or "", whole="feed" not in page.meta)
    return context


@event_priority(-100)
def _show_listings(context: dict[str, Any], /, page: Page, config: MkDocsConfig, **_: object) -> dict[str, Any]:
    _pages.append(page)
    if plugin := config.plugins.get("material/search"):
        search.rank(plugin.search_index.entries)
    page.content = page.full_content  # type: ignore[attr-defined]  # set by `_hide_listings`
    return context


# The search plugin indexes pages at this event.
on_page_context = CombinedEvent(_hide_listings, _show_listings)


def on_post_page(output: str, **_: object) -> str:
    """Keep the page, in which explorers may stand."""
    _built.append(output)
    return output


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Publish what explorers need, and sum up the build in the log."""
    explorers.publish(_built, Path(config.site_dir))
    texts.publish(_nav[0], _pages, config)
    _built.clear()
    totals = project.totals
    log.info(
        "%d pages (%d run): %d blocks, %d values, %d checks; %.2f seconds",
        *(totals[name] for name in ("pages", "pages run", "blocks", "values", "checks")),
        time.perf_counter() - project.started,
    )
    for target, reason in sorted(project.missing.items()):
        log.info("target %s is missing, marked on the pages: %s", target, reason)


def on_build_error(**_: object) -> None:
    """Stop what runs beside the build."""
    _end_ahead()


def on_serve(server: LiveReloadServer, **_: object) -> None:
    """Look for edits seven times a second: MkDocs looks twice, and its wait took as long as the rebuild."""
    watched = list(server._watched_paths)  # noqa: SLF001 - the pages, mkdocs.yml, and with --watch-theme the theme
    for path in watched:
        server.unwatch(path)
    server.observer = PollingObserver(timeout=0.15)
    server.build_delay = 0.05  # between two edits that are one
    for path in watched:
        server.watch(path)


def on_shutdown() -> None:
    """Let the process end at once: its last search for garbage, among all of JAX, takes a third of a second."""
    _end_ahead()
    gc.freeze()


def _end_ahead() -> None:
    while _ahead:
        _ahead.pop().end()


def _warn(failure: Failure) -> None:
    log.warning("%s", failure)
