"""Keep what a page was rendered to, so that a rebuild converts again only the pages that changed."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mkdocs.utils import CountHandler

from livepage.keep import outcomes
from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from livepage.read import Outcome, Source

_kept: dict[str, _Rendered] = {}
_failed: dict[str, Mapping[str, outcomes.Stamp]] = {}
"""The files that went into pages that warned of something, with the stamp of each."""


@dataclass(frozen=True)
class _Rendered:
    """A page as it was rendered, without a warning.

    Attributes:
        key: The text it was rendered from, and the files of the site, to which links may lead.
        files: The files that went into it, with the stamp of each.
        result: The attributes that MkDocs set on the page.
        links: Those of other pages' anchors, by the file they lead to.
        ran: What the page runs, and what it came to.
    """

    key: object
    files: Mapping[str, outcomes.Stamp]
    result: Mapping[str, Any]
    links: Mapping[str, dict[str, str]]
    ran: tuple[Source, list[Outcome]] | None

    def restore(self, page: Page, files: Files) -> None:
        """Set on a page what rendering it would set."""
        for name, value in self.result.items():
            setattr(page, name, value)
        links_by_file = {files.get_file_from_path(uri): links for uri, links in self.links.items()}
        page.links_to_anchors = {file: links for file, links in links_by_file.items() if file}
        if self.ran:
            project.record(*self.ran, ran=False)


_RESULT = ("content", "toc", "_title_from_render", "present_anchor_ids")


def forget() -> None:
    """Forget every page, as at the start of a process."""
    _kept.clear()
    _failed.clear()
    outcomes.forget()


def drop(name: str) -> None:
    """Forget one page."""
    _kept.pop(name, None)
    _failed.pop(name, None)


def is_kept(name: str) -> bool:
    """Return whether a page was rendered without a warning, and not dropped since."""
    return name in _kept


def find_stale(names: Iterable[str]) -> list[str]:
    """Return those of some pages into which a file went that changed since they were rendered."""
    known = {**_failed, **{name: page.files for name, page in _kept.items()}}
    used = {name: known[name] for name in names if name in known}
    now = outcomes.stamp({file for files in used.values() for file in files})
    return [name for name, files in used.items() if any(now[file] != state for file, state in files.items())]


def keep(page: Page) -> None:
    """Let a page take its last rendering, where nothing that went into it changed since."""
    page.render = partial(_render_or_restore, page)  # type: ignore[method-assign]  # MkDocs has no event around it


def _render_or_restore(page: Page, config: MkDocsConfig, files: Files) -> None:
    name = page.file.src_uri
    key = page.markdown, sorted(files.src_uris)
    rendered = _kept.pop(name, None)
    if rendered and rendered.key == key and outcomes.are_current(rendered.files):
        rendered.restore(page, files)
        _kept[name] = rendered
        return
    warnings, log = CountHandler(level=logging.WARNING), logging.getLogger("mkdocs")
    log.addHandler(warnings)
    try:
        with outcomes.Watch() as opened:
            type(page).render(page, config, files)
    finally:
        log.removeHandler(warnings)
    _failed.pop(name, None)
    if warnings.get_counts():
        _failed[name] = outcomes.stamp(opened)
        return
    source = (project.docs / name).as_posix()
    stamps = {**outcomes.stamp(opened), **outcomes.list_files(source)}
    links = {file.src_uri: links for file, links in (page.links_to_anchors or {}).items()}
    result = {name: getattr(page, name) for name in _RESULT}
    _kept[name] = _Rendered(key, stamps, result, links, project.sources.get(source))
