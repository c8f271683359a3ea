"""The stored renderings of pages, so that only changed pages are converted again, in this process and in later ones."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mkdocs.utils import CountHandler

from livepage.keep import outcomes, page_store
from livepage.keep.common_key import hash_common, make_key
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
    """The last rendering of a page in this process.

    Attributes:
        is_clean: Whether it was rendered without a warning.
        inputs: The inputs of the rendering, and those of the page's outcomes, without the page's text.
    """

    is_clean: bool
    inputs: tuple[Inputs, ...]


@contextmanager
def count_warnings() -> Iterator[CountHandler]:
    """Yield a handler that counts the warnings that MkDocs logs inside the `with` block."""
    counter, log = CountHandler(level=logging.WARNING), logging.getLogger("mkdocs")
    log.addHandler(counter)
    try:
        yield counter
    finally:
        log.removeHandler(counter)


def is_kept(name: str, build: Build) -> bool:
    """Return whether the last rendering of a page had no warning; parts of it may still be waiting for results."""
    return name in build.rendered and build.rendered[name].is_clean


def find_stale(names: Iterable[str], build: Build) -> list[str]:
    """Return the pages with an input, other than their own text, that changed since they were rendered."""
    candidates = [name for name in names if name in build.rendered]
    return [name for name in candidates if not all(inputs.are_same() for inputs in build.rendered[name].inputs)]


def keep(page: Page, build: Build) -> None:
    """Replace the page's method `render` by one that reuses the stored rendering if no input has changed."""
    page.render = partial(_render_or_restore, page, build)  # type: ignore[method-assign]  # MkDocs has no event around it


def _render_or_restore(page: Page, build: Build, config: MkDocsConfig, files: Files) -> None:
    name = (project.docs / page.file.src_uri).as_posix()
    key = make_key(
        hash_common("read", "run", "keep", "render"),
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
    """Return the attributes that rendering set on a page, and the page's source, for the store."""
    return {
        "content": page.content,
        "toc": page.toc,
        "title": page._title_from_render,  # noqa: SLF001 - MkDocs has no other place for it
        "anchors": page.present_anchor_ids,
        "links": {file.src_uri: links for file, links in (page.links_to_anchors or {}).items()},
        "source": source,
        "outcomes": outcomes.make_digest(ran),
    }


def _restore(page: Page, build: Build, files: Files, stored: dict[str, Any]) -> bool:
    """Set the stored rendering on a page, unless its pieces have other outcomes now; return whether it was set."""
    if source := stored["source"]:
        ran = outcomes.recall(source, build)
        if ran is None or outcomes.make_digest(ran) != stored["outcomes"]:
            return False
        build.record(source, ran, ran=False)
    page.content = stored["content"]
    page.toc = stored["toc"]
    page._title_from_render = stored["title"]  # noqa: SLF001 - as above
    page.present_anchor_ids = stored["anchors"]
    links_by_file = {files.get_file_from_path(uri): links for uri, links in stored["links"].items()}
    page.links_to_anchors = {file: links for file, links in links_by_file.items() if file}
    return True
