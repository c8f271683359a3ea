"""What the pieces of a page come to: kept, come from another process, or run here."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sysconfig
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livepage.keep import held_pages, page_store
from livepage.keep.fresh_modules import fresh_modules
from livepage.keep.inputs import Inputs, hash_file
from livepage.keep.watch import Watch, unwatched
from livepage.read import Failure, Origin, Outcome, SearchEntry, log, project
from livepage.run import make_plan, run_held, run_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from livepage.read import Answer, Piece, Source
    from livepage.run import HeldRun

KIND = "outcomes"

_inputs: dict[str, Inputs] = {}
"""What went into the outcomes of each page, as this process heard of it last, kept or not."""

_in_part: set[str] = set()
"""The pages of whose last run a part was taken from the one before."""

_ROOMS = ("read", "run", "keep")
"""What of this package decides what a page comes to."""

_PACKAGE = Path(__file__).parents[1]


def obtain(source: Source) -> tuple[list[Outcome], bool]:
    """Return what the pieces of a page come to, and whether they had to run for it."""
    _in_part.discard(source.name)
    with unwatched():
        outcomes = recall(source)
        tool = list_tool_files(piece.code for piece in source.pieces) if outcomes is None else set()
    if outcomes is not None:
        return outcomes, False
    if project.elsewhere and tool:
        outcomes = _ask(source, project.elsewhere)
        return outcomes, not any(outcome.waits for outcome in outcomes)
    outcomes = run(source, tool)
    if project.doubt and source.name in _in_part:
        project.doubt(source.name, _tell_text(source), make_digest(outcomes))
    return outcomes, True


def _ask(source: Source, elsewhere: Callable[[str], Answer | None]) -> list[Outcome]:
    """Return what a page comes to in another process, or that it waits for that."""
    key = _tell_text(source)
    for _ in range(2):  # the page may have been edited while it ran
        answer = elsewhere(source.name)
        if answer is None:
            return [Outcome(waits=True)] * len(source.pieces)
        if answer.failure:
            return _blame(source, answer.failure)
        if answer.data["key"] == key:
            _inputs[source.name] = Inputs(**answer.data["inputs"])
            return decode(answer.data["outcomes"])
    return [Outcome(waits=True)] * len(source.pieces)


def _blame(source: Source, failure: Failure) -> list[Outcome]:
    """Return outcomes for a page whose process ended: that of the piece which did it, and others that follow."""
    at = next((at for at, piece in enumerate(source.pieces) if failure.origin in (piece.origin, *piece.lines)), 0)
    return [Outcome(failure=failure, follows=number != at) for number in range(len(source.pieces))]


def answer(source: Source, outcomes: list[Outcome]) -> dict[str, Any]:
    """Return what the process that runs a page for another says, as JSON holds it."""
    told = asdict(list_inputs(source.name))
    is_partial = source.name in _in_part
    return {"key": _tell_text(source), "outcomes": encode(outcomes), "inputs": told, "partial": is_partial}


def recall(source: Source) -> list[Outcome] | None:
    """Return what is kept of what the pieces of a page come to."""
    if not source.pieces:
        return []
    found = (page_store.find(KIND, source.name, key, decode) for key in make_keys(source))
    outcomes = next((outcomes for outcomes in found if outcomes is not None), None)
    if outcomes is not None:
        _inputs[source.name] = page_store.list_inputs(KIND, source.name)
    return outcomes


def list_inputs(name: str) -> Inputs:
    """Return what went into the outcomes of a page besides its own code."""
    return _inputs.get(name, Inputs())


def forget() -> None:
    """Forget every page, as at the start of a process."""
    _inputs.clear()
    _in_part.clear()
    held_pages.forget()


def run(source: Source, tool: set[str]) -> list[Outcome]:
    """Run the pieces of a page in this process, those that an edit reaches where the page is held.

    What they came to is kept where all of them ran and none failed.

    Args:
        source: The page.
        tool: The files of the project's own packages that it reaches.
    """
    for path in tool:
        hash_file(path)  # as it is before it is read
    outcomes = _run_part(source, tool)
    return _run_whole(source, tool) if outcomes is None else outcomes


def _run_part(source: Source, tool: set[str]) -> list[Outcome] | None:
    """Run what an edit reaches, and return what the page comes to; None where it has to run whole."""
    held = held_pages.find(source.name, hash_common(*_ROOMS))
    plan = make_plan(held.run, source) if held else None
    if held is None or plan is None:
        return None
    with Watch() as watch, fresh_modules(held.modules) as imported:
        run = run_held(source, plan)
    inputs = held_pages.merge(held.inputs, _gather(source, watch, tool, imported))
    if run.unfit or inputs.fleeting:
        held_pages.drop(source.name)
        return None
    log.info("%s: %d of %d blocks, checks and values ran again", source.name, run.ran, len(run.runs))
    _inputs[source.name] = inputs
    _in_part.add(source.name)
    held_pages.hold(source.name, run, inputs, held.common, held.modules)
    return run.list_outcomes()


def _run_whole(source: Source, tool: set[str]) -> list[Outcome]:
    modules: dict[str, ModuleType] = {}
    run: HeldRun | None = None
    with Watch() as watch, fresh_modules(modules) as imported:
        if held_pages.is_wanted():
            run = run_held(source)
        outcomes = run.list_outcomes() if run else run_page(source)
    if watch.fleeting:
        log.info("%s is not kept: it read %s", source.name, watch.fleeting)
    _inputs[source.name] = inputs = _gather(source, watch, tool, imported)
    if run:
        held_pages.hold(source.name, run, inputs, hash_common(*_ROOMS), modules)
    if not any(outcome.failure for outcome in outcomes):
        plain, placed = make_keys(source)
        is_placed = any(source.name in outcome.text for outcome in outcomes)
        page_store.keep(KIND, source.name, placed if is_placed else plain, inputs, outcomes, encode=encode)
    return outcomes


def let_go(name: str) -> None:
    """Let a page run whole the next time."""
    held_pages.drop(name)


def _gather(source: Source, watch: Watch, tool: set[str], imported: Mapping[str, str]) -> Inputs:
    """Return what went into what ran."""
    watch.files.update(imported)
    reached = tool | imported_files(watch.children)
    return watch.make_inputs(reached, without=[str(project.root / source.name)])


def make_keys(source: Source) -> tuple[str, str]:
    """Return two hashes of the code of a page and of what all pages depend on: without its lines' places, and with.

    What shows a line of the page itself, of a function that stands on it, says of which file: lines move with prose.
    """
    code = [(piece.kind, piece.code, dict(piece.options)) for piece in source.pieces]
    places = [_tell_places(piece) for piece in source.pieces]
    common = hash_common(*_ROOMS)
    return make_key(common, source.name, code), make_key(common, source.name, code, places)


def make_key(*parts: object) -> str:
    """Return a hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


def hash_common(*rooms: str) -> str:
    """Return a hash of what all pages depend on: packages, Python, what the project says of this machine, this code."""
    files = sorted(path for room in rooms for path in (_PACKAGE / room).rglob("*") if path.suffix != ".pyc")
    code = {path.name: hash_file(str(path)) for path in files if path.is_file()}
    return make_key(_list_packages(), platform.python_version(), project.adapter.describe_machine(), code)


@cache
def _list_packages() -> list[str]:
    return sorted(package.name for package in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))


def list_tool_files(codes: Iterable[str]) -> set[str]:
    """Return the files of the project's own packages that code reaches: they stay loaded, and each counts whole."""
    folders = tuple(f"{project.root / 'snippets' / name}{os.sep}" for name in project.adapter.packages)
    return {file for file in imported_files(codes) if file.startswith(folders)}


def _tell_text(source: Source) -> str:
    """Return a hash of the code of a page and of its places."""
    return make_key([(piece.kind, piece.code, _tell_places(piece)) for piece in source.pieces])


def _tell_places(piece: Piece) -> list[str]:
    return [str(piece.origin), *map(str, piece.lines)]


def imported_files(codes: Iterable[str]) -> set[str]:
    """Return the files under `snippets/` that these sources import, and those that these import in turn."""
    return set(map(str, project.adapter.find_imported(codes, project.root / "snippets")))


def make_digest(outcomes: list[Outcome]) -> str:
    """Return a hash of what the pieces of a page come to."""
    return make_key(encode(outcomes))


def encode(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return outcomes as JSON holds them."""
    return [asdict(outcome) for outcome in outcomes]


def decode(rows: list[dict[str, Any]]) -> list[Outcome]:
    """Return outcomes from what JSON holds."""
    return [
        Outcome(
            **{**row, "failure": _decode(row["failure"]), "entries": _decode_entries(row), "made": tuple(row["made"])}
        )
        for row in rows
    ]


def _decode(failure: dict[str, Any] | None) -> Failure | None:
    return Failure(Origin(**failure["origin"]), failure["error"]) if failure else None


def _decode_entries(row: dict[str, Any]) -> tuple[SearchEntry, ...]:
    return tuple(SearchEntry(**entry) for entry in row["entries"])
