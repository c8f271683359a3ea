"""The partial rebuild: an edit rebuilds the pages that it affects, or the whole site if it may affect more than pages.

When the server is idle, the folder of the site holds exactly the files that a full build would write. The edited page
is rebuilt first; the search index, the lists and the pages that depend on other pages follow.
"""

from __future__ import annotations

import gc
import logging
import time
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mkdocs.commands import build as steps

from livepage.keep import rendered
from livepage.publish import term_links
from livepage.read import Build, find_build, log, project
from livepage.serve.browsers import Browsers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.pages import Page

    from livepage.serve.last_build import Built, LastBuild
    from livepage.serve.pages_pending import PagesPending

DELAY = 0.03
"""Seconds without a change after which a rebuild begins, because editors may write a file twice."""

EVERY = 0.05
"""Seconds between two checks for edited pages."""

_ANNOUNCEMENTS = ("Detected file changes", "Reloading browsers")
"""The messages of MkDocs around each rebuild; here, each rebuilt page has a line of its own."""

_KNOWN = {"material/search", "markdown-exec"}
"""The plugins for which a partial rebuild is known to work. Hooks belong to the project itself."""


class _ReachesFurtherError(Exception):
    """An edit changed a page's title or metadata, which other pages show."""


class Rebuild:
    """The builder that a server calls in place of MkDocs' own."""

    def __init__(
        self, server: LiveReloadServer, build_all: Callable[[], object], pending: PagesPending, last: LastBuild
    ) -> None:
        """Replace a server's builder.

        Args:
            server: MkDocs' server, before it begins to serve.
            build_all: A function that builds the whole site.
            pending: The pages that still run in other processes.
            last: The last complete build.
        """
        self._server, self._build_all = server, build_all
        self._pending, self._last = pending, last
        self._browsers = Browsers(server, pending.describe, self._visit)
        self._wanted: set[str] = set()
        self._waiting: dict[str, None] = {}
        self._is_finished = True
        server.build_delay = DELAY
        server.builder = self

    def begin(self, folder: str) -> None:
        """Make MkDocs check this folder for edits more often, and rebuild pages edited during the first build.

        Each rebuilt page gets one line in the log, in place of MkDocs' announcements.
        """
        for emitter in self._server.observer.emitters:
            if emitter.watch.path == folder:
                emitter._timeout = EVERY  # noqa: SLF001 - MkDocs' own is half a second
        logging.getLogger("mkdocs.livereload").addFilter(
            lambda record: not record.getMessage().endswith(_ANNOUNCEMENTS)
        )
        if self._last.is_changed():
            self._wake()
        self._pending.tell(self.want)

    def want(self, pages: Iterable[str]) -> None:
        """Request, from any thread, that pages are rebuilt even if their text is unchanged.

        Requests that arrive before the next rebuild begins are handled together.

        Args:
            pages: The pages' files, relative to the folder of the pages, such as `practice/index.md`.
        """
        with self._server._rebuild_cond:  # noqa: SLF001 - the lock of MkDocs' own file watcher
            is_first = not self._wanted
            self._wanted.update(pages)
        if is_first:  # each wake-up restarts the server's delay, so it would never end
            self._wake()

    def _visit(self, address: str) -> None:
        """Give priority to the page that a browser shows."""
        if self._last.built is None:
            return
        for name, page in self._last.built.pages.items():
            if unquote(page.file.url) == address:
                self._pending.prefer(name)

    def _wake(self) -> None:
        with self._server._rebuild_cond:  # noqa: SLF001 - as MkDocs' own file watcher does
            self._server._want_rebuild = True  # noqa: SLF001
            self._server._rebuild_cond.notify_all()  # noqa: SLF001

    def __call__(self, *_: object) -> None:
        """Rebuild the pages that a change since the last build affects, or the whole site if it affects more."""
        with self._server._rebuild_cond:  # noqa: SLF001 - as in `want`
            requests = sorted(self._wanted)
            self._wanted.clear()
        last, edited = self._last.built, self._last.take_edited()
        build = find_build(last.config) if last else Build()
        if (
            last is None
            or edited is None
            or not _KNOWN.issuperset(last.config.plugins.keys() - {*last.config.hooks})
            or term_links.are_stale(build.terms)
        ):
            self._build_whole()
            return
        reached = [*edited, *self._waiting, *requests, *rendered.find_stale(last.pages, build)]
        if reached:
            reached += [name for name in last.pages if not rendered.is_kept(name, build)]
        elif self._is_finished:
            return
        self._waiting = dict.fromkeys(name for name in reached if name in last.pages)
        self._is_finished = False
        try:
            self._build_waiting(last)
        except Exception as error:  # noqa: BLE001 - a full build reports any error again
            if not isinstance(error, _ReachesFurtherError):
                log.info("these pages cannot be built alone: %s", error)
            self._build_whole()

    def _build_whole(self) -> None:
        self._waiting.clear()
        self._is_finished = True
        self._browsers.hold([], ready=[])
        try:
            self._build_all()
        except BaseException:
            self._last.built = None
            raise
        if last := self._last.built:
            for page in last.pages.values():
                self._settle(page, find_build(last.config))
        self._browsers.show_all()

    def _settle(self, page: Page, build: Build) -> None:
        """Stop waiting for a page that was built completely."""
        if (project.docs / page.file.src_uri).as_posix() not in build.pending:
            self._pending.settle(page.file.src_uri)

    def _build_waiting(self, last: Built) -> None:
        """Build the waiting pages and then the shared files; a new edit interrupts this."""
        build, start = find_build(last.config), time.perf_counter()
        build.started = start
        build.totals.clear()
        pages = [last.pages[name] for name in self._waiting]
        self._browsers.hold([page.file.url for page in pages], ready=[file.url for file in last.files])
        if plugin := last.config.plugins.get("markdown-exec"):
            plugin.on_config(last.config)  # the plugin resets its state at the end of a build
        for page in pages:
            _build(page, last)
            self._settle(page, build)
            del self._waiting[page.file.src_uri]
            self._browsers.show(page.file.url)
            log.info("%s is shown after %.2f s", page.file.src_uri, time.perf_counter() - start)
            if self._server._want_rebuild:  # noqa: SLF001 - set by MkDocs' own file watcher
                return
        _finish(last)
        self._is_finished = True
        self._browsers.release()
        gc.collect()  # the raised thresholds would delay the next collection for long


def _build(page: Page, last: Built) -> None:
    """Build one page as MkDocs does.

    Raises:
        _ReachesFurtherError: The page's title or metadata changed, which other pages show.
    """
    before = page.title, page.meta
    page.content, page.toc, page._title_from_render = None, [], None  # type: ignore[assignment]  # noqa: SLF001 - as MkDocs begins
    steps._populate_page(page, last.config, last.files)  # noqa: SLF001 - the step of MkDocs' own build
    if (page.title, page.meta) != before:
        raise _ReachesFurtherError
    search = last.config.plugins.get("material/search")
    entries = search.search_index.entries if search else []
    entries[:] = [entry for entry in entries if _page_of(entry) != page.url]
    is_draft = page.file.inclusion.is_excluded()  # type: ignore[no-untyped-call]  # MkDocs leaves it untyped
    files = [other.file for other in last.pages.values()]
    steps._build_page(page, last.config, files, last.nav, last.env, excluded=is_draft)  # noqa: SLF001 - as above
    order = {other.url: place for place, other in enumerate(last.pages.values())}
    entries.sort(key=lambda entry: order[_page_of(entry)])


def _page_of(entry: dict[str, str]) -> str:
    return entry["location"].partition("#")[0]


def _finish(last: Built) -> None:
    """Check the links of all pages to anchors, and run MkDocs' steps before and after the pages of a build."""
    config = last.config
    for page in last.pages.values():
        page.validate_anchor_links(files=last.files, log_level=config.validation.links.anchors)
    config.plugins.on_pre_build(config=config)
    config.plugins.on_post_build(config=config)
