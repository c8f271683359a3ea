"""Build the pages again that an edit reaches, and the whole site where it may reach more than pages.

What a full build of the same text would write is what stands in the folder of the site once the process rests. The
edited page is there first; the search, the lists and the pages that read others follow.
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mkdocs.commands import build as steps
from mkdocs.exceptions import Abort

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
"""Seconds of rest that end a change: an editor may write a file twice."""

EVERY = 0.05
"""Seconds between two looks at the pages."""

_KNOWN = {"material/search", "markdown-exec"}
"""The plugins of which it is known what they keep from page to page. Hooks are the project's own."""


class _ReachesFurtherError(Exception):
    """An edit changed what other pages show of a page."""


class Rebuild:
    """What a server calls in the place of MkDocs' own builder."""

    def __init__(
        self, server: LiveReloadServer, build_all: Callable[[], object], pending: PagesPending, last: LastBuild
    ) -> None:
        """Take the place of a server's builder.

        Args:
            server: MkDocs' server, which has not begun to serve.
            build_all: What builds the whole site.
            pending: The pages of which something is still to come.
            last: The last whole build.
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
        """Let MkDocs look for edits in the folder of the pages often, and take those that were made meanwhile."""
        for emitter in self._server.observer.emitters:
            if emitter.watch.path == folder:
                emitter._timeout = EVERY  # noqa: SLF001 - MkDocs' own is half a second
        if self._last.is_changed():
            self._wake()
        self._pending.tell(self.want)

    def want(self, pages: Iterable[str]) -> None:
        """Ask, from any thread, for pages to be built again whose text need not have changed.

        What is asked for before the next rebuild begins is built in one.

        Args:
            pages: Their files, relative to the folder of the pages, as `practice/index.md`.
        """
        with self._server._rebuild_cond:  # noqa: SLF001 - what MkDocs' own watch holds
            is_first = not self._wanted
            self._wanted.update(pages)
        if is_first:  # or, where one follows the other, the server would wait for ever until they end
            self._wake()

    def _visit(self, address: str) -> None:
        """Let the page come first at which somebody looks."""
        if self._last.built is None:
            return
        for name, page in self._last.built.pages.items():
            if unquote(page.file.url) == address:
                self._pending.prefer(name)

    def _wake(self) -> None:
        with self._server._rebuild_cond:  # noqa: SLF001 - what MkDocs' own watch sets
            self._server._want_rebuild = True  # noqa: SLF001
            self._server._rebuild_cond.notify_all()  # noqa: SLF001

    def __call__(self, *_: object) -> None:
        """Build what changed since the last build."""
        with self._server._rebuild_cond:  # noqa: SLF001 - as in `want`
            wanted = sorted(self._wanted)
            self._wanted.clear()
        built, edited = self._last.built, self._last.take_edited()
        build = find_build(built.config) if built else Build()
        if (
            built is None
            or edited is None
            or not _KNOWN.issuperset(built.config.plugins.keys() - {*built.config.hooks})
            or term_links.are_stale(build.terms)
        ):
            self._build_whole()
            return
        reached = [*edited, *self._waiting, *wanted, *rendered.find_stale(built.pages, build)]
        if reached:
            reached += [name for name in built.pages if not rendered.is_kept(name, build)]
        elif self._is_finished:
            return
        self._waiting = dict.fromkeys(name for name in reached if name in built.pages)
        self._is_finished = False
        try:
            with rendered.count_warnings() as counter:
                self._build_waiting(built)
        except Exception as error:  # noqa: BLE001 - whatever it is, a full build says it again
            if not isinstance(error, _ReachesFurtherError):
                log.info("these pages cannot be built alone: %s", error)
            self._build_whole()
            return
        if built.config.strict and (counts := counter.get_counts()):
            told = ", ".join(f"{number} {name.lower()}s" for name, number in counts)
            message = f"Aborted with {told} in strict mode!"
            raise Abort(message)

    def _build_whole(self) -> None:
        self._waiting.clear()
        self._is_finished = True
        self._browsers.hold([], ready=[])
        try:
            self._build_all()
        except BaseException:
            self._last.built = None
            raise
        if built := self._last.built:
            for page in built.pages.values():
                self._settle(page, find_build(built.config))
        self._browsers.show_all()

    def _settle(self, page: Page, build: Build) -> None:
        """Let nobody wait any longer for a page that was built whole."""
        if (project.docs / page.file.src_uri).as_posix() not in build.pending:
            self._pending.settle(page.file.src_uri)

    def _build_waiting(self, built: Built) -> None:
        """Build the pages that wait, and what stands beside them; an edit comes first."""
        build, start = find_build(built.config), time.perf_counter()
        build.started = start
        build.totals.clear()
        pages = [built.pages[name] for name in self._waiting]
        self._browsers.hold([page.file.url for page in pages], ready=[file.url for file in built.files])
        if plugin := built.config.plugins.get("markdown-exec"):
            plugin.on_config(built.config)  # which it forgets at the end of a build
        for page in pages:
            _build(page, built)
            self._settle(page, build)
            del self._waiting[page.file.src_uri]
            self._browsers.show(page.file.url)
            log.debug("%s is built after %.2f seconds", page.file.src_uri, time.perf_counter() - start)
            if self._server._want_rebuild:  # noqa: SLF001 - what MkDocs' own watch sets
                return
        _finish(built)
        self._is_finished = True
        self._browsers.release()
        gc.collect()  # by its own thresholds Python would wait for long


def _build(page: Page, built: Built) -> None:
    """Build one page as MkDocs does.

    Raises:
        _ReachesFurtherError: Other pages show something of it that is no longer so.
    """
    before = page.title, page.meta
    page.content, page.toc, page._title_from_render = None, [], None  # type: ignore[assignment]  # noqa: SLF001 - as MkDocs begins
    steps._populate_page(page, built.config, built.files)  # noqa: SLF001 - the step of MkDocs' own build
    if (page.title, page.meta) != before:
        raise _ReachesFurtherError
    search = built.config.plugins.get("material/search")
    entries = search.search_index.entries if search else []
    entries[:] = [entry for entry in entries if _page_of(entry) != page.url]
    is_draft = page.file.inclusion.is_excluded()  # type: ignore[no-untyped-call]  # MkDocs leaves it untyped
    files = [other.file for other in built.pages.values()]
    steps._build_page(page, built.config, files, built.nav, built.env, excluded=is_draft)  # noqa: SLF001 - as above
    order = {other.url: place for place, other in enumerate(built.pages.values())}
    entries.sort(key=lambda entry: order[_page_of(entry)])


def _page_of(entry: dict[str, str]) -> str:
    return entry["location"].partition("#")[0]


def _finish(built: Built) -> None:
    """Do what a build does before and after its pages."""
    config = built.config
    for page in built.pages.values():
        page.validate_anchor_links(files=built.files, log_level=config.validation.links.anchors)
    config.plugins.on_pre_build(config=config)
    config.plugins.on_post_build(config=config)
