"""What a page was rendered to, so that only what changed is converted again, in this process and in the next."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mkdocs.utils import CountHandler

from livepage.keep import outcomes, page_store
from livepage.keep.inputs import Inputs, hash_file
from livepage.keep.watch import Watch
from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from livepage.read import Build, Outcome, Source

KIND = "renderings"


@dataclass(frozen=True)
class _Rendered:
    """A page as this process rendered it last.

    Attributes:
        is_clean: Whether nothing warned of anything.
        inputs: What went into it besides its text.
    """

    is_clean: bool
    inputs: tuple[Inputs, ...]


@contextmanager
def count_warnings() -> Iterator[CountHandler]:
    """Count what MkDocs warns of meanwhile."""
    counter, log = CountHandler(level=logging.WARNING), logging.getLogger("mkdocs")
    log.addHandler(counter)
    try:
        yield counter
    finally:
        log.removeHandler(counter)


def is_kept(name: str, build: Build) -> bool:
    """Return whether a page was rendered without a warning; it may wait for what it shows."""
    return name in build.rendered and build.rendered[name].is_clean


def find_stale(names: Iterable[str], build: Build) -> list[str]:
    """Return those of some pages of which something changed, besides their own text, since they were rendered."""
    known = [name for name in names if name in build.rendered]
    return [name for name in known if not all(inputs.are_same() for inputs in build.rendered[name].inputs)]


def keep(page: Page, build: Build) -> None:
    """Let a page take its last rendering, where nothing that went into it changed since."""
    page.render = partial(_render_or_restore, page, build)  # type: ignore[method-assign]  # MkDocs has no event around it


def _render_or_restore(page: Page, build: Build, config: MkDocsConfig, files: Files) -> None:
    name = (project.docs / page.file.src_uri).as_posix()
    key = outcomes.make_key(
        outcomes.hash_common("read", "run", "keep", "render"),
        hash_file(config.config_file_path),
        page.markdown,
        sorted(files.src_uris),
    )
    entry = page_store.find_stored(KIND, name, key)
    if entry and _restore(page, build, files, entry.data):
        _note(page, build, entry.inputs, is_clean=True)
        return
    with count_warnings() as warnings, Watch() as watch:
        type(page).render(page, config, files)
    source, ran = build.sources.get(name, (None, []))
    inputs = watch.make_inputs(without=name)
    is_clean = not warnings.get_counts() and not any(outcome.failure for outcome in ran)
    if is_clean and name not in build.pending:
        page_store.keep(KIND, name, key, inputs, _tell(page, source, ran))
    _note(page, build, inputs, is_clean=is_clean)


def _note(page: Page, build: Build, inputs: Inputs, *, is_clean: bool) -> None:
    ran = build.inputs.get((project.docs / page.file.src_uri).as_posix(), Inputs())
    build.rendered[page.file.src_uri] = _Rendered(is_clean, (inputs, ran))


def _tell(page: Page, source: Source | None, ran: list[Outcome]) -> dict[str, Any]:
    """Return what rendering set on a page, and what was read on it."""
    return {
        "content": page.content,
        "toc": page.toc,
        "title": page._title_from_render,  # noqa: SLF001 - MkDocs has no other place for it
        "anchors": page.present_anchor_ids,
        "links": {file.src_uri: links for file, links in (page.links_to_anchors or {}).items()},
        "source": source,
        "outcomes": outcomes.make_digest(ran),
    }


def _restore(page: Page, build: Build, files: Files, kept: dict[str, Any]) -> bool:
    """Set on a page what rendering it would set; return whether its pieces still come to what they came to then."""
    if source := kept["source"]:
        ran = outcomes.recall(source, build)
        if ran is None or outcomes.make_digest(ran) != kept["outcomes"]:
            return False
        build.record(source, ran, ran=False)
    page.content = kept["content"]
    page.toc = kept["toc"]
    page._title_from_render = kept["title"]  # noqa: SLF001 - as above
    page.present_anchor_ids = kept["anchors"]
    links_by_file = {files.get_file_from_path(uri): links for uri, links in kept["links"].items()}
    page.links_to_anchors = {file: links for file, links in links_by_file.items() if file}
    return True
