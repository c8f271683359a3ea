"""What a page was rendered to, so that only what changed is converted again, in this process and in the next."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mkdocs.structure.toc import AnchorLink, TableOfContents
from mkdocs.utils import CountHandler

from livepage.keep import outcomes, page_store
from livepage.keep.inputs import hash_file
from livepage.keep.watch import Watch
from livepage.read import Kind, Origin, Piece, Source, project

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from livepage.read import Outcome

KIND = "renderings"


def forget() -> None:
    """Forget every page, as at the start of a process."""
    page_store.forget()


def keep(page: Page) -> None:
    """Let a page take its last rendering, where nothing that went into it changed since."""
    render = page.render

    def render_or_restore(config: MkDocsConfig, files: Files) -> None:
        name = (project.docs / page.file.src_uri).as_posix()
        key = outcomes.make_key(
            outcomes.hash_common("read", "run", "keep", "render"),
            hash_file(config.config_file_path),
            page.markdown,
            sorted(files.src_uris),
        )
        if (kept := page_store.find(KIND, name, key)) and _restore(page, files, kept):
            return
        warnings, log = CountHandler(level=logging.WARNING), logging.getLogger("mkdocs")
        log.addHandler(warnings)
        try:
            with Watch() as watch:
                render(config, files)
        finally:
            log.removeHandler(warnings)
        source, ran = project.sources.get(name, (None, []))
        if warnings.get_counts() or name in project.pending or any(outcome.failure for outcome in ran):
            return
        page_store.keep(KIND, name, key, watch.make_inputs(), _tell(page, source, ran))

    page.render = render_or_restore  # type: ignore[method-assign]  # MkDocs has no event around it


def _tell(page: Page, source: Source | None, ran: list[Outcome]) -> dict[str, Any]:
    """Return what rendering set on a page, and what was read on it, as JSON holds it."""
    return {
        "content": page.content,
        "toc": [_tell_anchor(item) for item in page.toc],
        "title": page._title_from_render,  # noqa: SLF001 - MkDocs has no other place for it
        "anchors": sorted(page.present_anchor_ids or ()),
        "links": {file.src_uri: links for file, links in (page.links_to_anchors or {}).items()},
        "source": asdict(source) if source else None,
        "outcomes": outcomes.make_digest(ran),
    }


def _restore(page: Page, files: Files, kept: dict[str, Any]) -> bool:
    """Set on a page what rendering it would set; return whether its pieces still come to what they came to then."""
    if kept["source"]:
        source = _read_source(kept["source"])
        ran = outcomes.recall(source)
        if ran is None or outcomes.make_digest(ran) != kept["outcomes"]:
            return False
        project.record(source, ran, ran=False)
    page.content = kept["content"]
    anchors = [_read_anchor(item) for item in kept["toc"]]
    for first in anchors[:1]:
        first.active = True  # type: ignore[attr-defined]  # as MkDocs marks it
    page.toc = TableOfContents(anchors)
    page._title_from_render = kept["title"]  # noqa: SLF001 - as above
    page.present_anchor_ids = set(kept["anchors"])
    links_by_file = {files.get_file_from_path(uri): links for uri, links in kept["links"].items()}
    page.links_to_anchors = {file: links for file, links in links_by_file.items() if file}
    return True


def _tell_anchor(item: AnchorLink) -> dict[str, Any]:
    children = [_tell_anchor(child) for child in item.children]
    return {"title": item.title, "id": item.id, "level": item.level, "children": children}


def _read_anchor(row: dict[str, Any]) -> AnchorLink:
    anchor = AnchorLink(row["title"], row["id"], row["level"])
    anchor.children = [_read_anchor(child) for child in row["children"]]
    return anchor


def _read_source(row: dict[str, Any]) -> Source:
    pieces = tuple(
        Piece(
            Kind(piece["kind"]),
            piece["code"],
            Origin(**piece["origin"]),
            tuple(Origin(**line) for line in piece["lines"]),
            piece["options"],
        )
        for piece in row["pieces"]
    )
    return Source(row["name"], tuple(row["lines"]), pieces, ())
