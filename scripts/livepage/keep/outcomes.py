"""The outcomes of a page's pieces: loaded from the store, requested from another process, or computed here."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from livepage.keep import page_store
from livepage.keep.common_key import hash_common, make_key
from livepage.keep.fresh_modules import fresh_modules
from livepage.keep.reached import Reach, find_reached, list_tool_folders
from livepage.keep.watch import Watch, unwatched
from livepage.read import SHELLS, Answer, Outcome, log, project
from livepage.run import run_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from livepage.keep.inputs import Inputs
    from livepage.read import Build, Failure, Piece, Source

KIND = "outcomes"

_SUBPACKAGES = ("read", "run", "keep")
"""The subpackages whose code determines the outcomes of a page."""


def obtain(source: Source, build: Build) -> tuple[list[Outcome], bool]:
    """Return the outcomes of a page's pieces, and whether the pieces had to run."""
    with unwatched():
        outcomes = recall(source, build)
    if outcomes is not None:
        return outcomes, False
    if build.elsewhere:
        outcomes = _ask(source, build)
        return outcomes, not any(outcome.waits for outcome in outcomes)
    return run_pieces(source, build), True


def _ask(source: Source, build: Build) -> list[Outcome]:
    """Return the outcomes of a page from another process, or outcomes that say the page is still waiting for them."""
    key = _tell_text(source)
    for _ in range(2):  # the page may have been edited while it ran
        answer = build.elsewhere(source.name) if build.elsewhere else None
        if answer is None:
            return [Outcome(waits=True)] * len(source.pieces)
        if answer.failure:
            return _blame(source, answer.failure)
        if answer.key == key:
            build.inputs[source.name] = answer.inputs
            return answer.outcomes
    return [Outcome(waits=True)] * len(source.pieces)


def _blame(source: Source, failure: Failure) -> list[Outcome]:
    """Return the outcomes of a page whose process ended: one piece failed, and the others failed because of it."""
    at = next((at for at, piece in enumerate(source.pieces) if piece.holds(failure.origin)), 0)
    return [Outcome(failure=failure, follows=number != at) for number in range(len(source.pieces))]


def answer(source: Source, build: Build) -> Answer:
    """Return the outcomes, inputs and text hash of a page that this process ran, as its answer to the build."""
    _, outcomes = build.sources[source.name]
    return Answer(_tell_text(source), outcomes, inputs=build.inputs.get(source.name))


def recall(source: Source, build: Build) -> list[Outcome] | None:
    """Return the stored outcomes of a page's pieces, or None if there are no valid ones."""
    if not source.pieces:
        return []
    entries = (page_store.find_stored(KIND, source.name, key) for key in make_keys(source))
    entry = next(filter(None, entries), None)
    if entry is None:
        return None
    build.inputs[source.name] = entry.inputs
    outcomes: list[Outcome] = entry.data
    return outcomes


def run_pieces(source: Source, build: Build) -> list[Outcome]:
    """Run the pieces of a page in this process, and store the outcomes if none failed."""
    with Watch() as watch, fresh_modules() as imported, Reach() as reach:
        outcomes = run_page(source)
    for piece in source.pieces:
        if piece.language in SHELLS and "inputs" not in piece.options:
            watch.note_fleeting(f'what `{piece.language}` reads in {piece.origin}, which has no inputs="..."')
    if watch.fleeting:
        log.info("%s is not kept: it read %s", source.name, watch.fleeting)
    with unwatched():
        reached = _list_reached(source, reach, watch, imported)
    build.inputs[source.name] = inputs = _gather(source, watch, reached, imported)
    if not any(outcome.failure for outcome in outcomes):
        plain, placed = make_keys(source)
        is_placed = any(source.name in outcome.text for outcome in outcomes)
        with unwatched():  # a rendering that is being watched does not depend on the files that the store hashes
            page_store.keep(KIND, source.name, placed if is_placed else plain, inputs, outcomes)
    return outcomes


def _list_reached(source: Source, reach: Reach, watch: Watch, imported: Mapping[str, str]) -> set[str]:
    """Return the files of the tool packages that a page depends on, here and in the programs that it started."""
    return find_reached(reach.names, (piece.code for piece in source.pieces), imported, watch.children)


def _gather(source: Source, watch: Watch, reached: set[str], imported: Mapping[str, str]) -> Inputs:
    """Return all inputs of a page that just ran; modules count as they were when they were loaded."""
    folders = list_tool_folders()
    loaded = {file: value for file, value in imported.items() if not file.startswith(folders) or file in reached}
    watch.facts.update({f"file {project.find_name(file)}": value for file, value in loaded.items()})
    return watch.make_inputs(reached | {*_list_declared(source)}, without=source.name)


def _list_declared(source: Source) -> Iterator[str]:
    """Yield the files that blocks declare as inputs, including all files in declared folders."""
    for piece in source.pieces:
        for name in piece.options.get("inputs", "").split():
            path = project.root / name
            yield from map(str, path.rglob("*") if path.is_dir() else [path])


def make_keys(source: Source) -> tuple[str, str]:
    """Return two hashes of a page's code and of everything that all pages depend on: without and with line numbers.

    The second hash is needed if the output names a line of the page itself, since editing prose moves the lines.
    """
    code = [(piece.kind, piece.language, piece.code, piece.listing, dict(piece.options)) for piece in source.pieces]
    places = [_tell_places(piece) for piece in source.pieces]
    common = hash_common(*_SUBPACKAGES)
    return make_key(common, source.name, code), make_key(common, source.name, code, places)


def _tell_text(source: Source) -> str:
    """Return a hash of a page's code and its line numbers."""
    return make_key([(piece.kind, piece.language, piece.code, _tell_places(piece)) for piece in source.pieces])


def _tell_places(piece: Piece) -> list[str]:
    return [str(piece.origin), *map(str, piece.lines)]


def make_digest(outcomes: list[Outcome]) -> str:
    """Return a hash of the outcomes of a page's pieces."""
    return make_key([asdict(outcome) for outcome in outcomes])
