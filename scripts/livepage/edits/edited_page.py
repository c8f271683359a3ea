"""Run pages of a copy of a project with one of its files edited: the process of `livepage.edits.page_child`.

A line of the standard input is a job as JSON: `job`, its number, `page`, `file` and `text`, which is None where the
page is only to be made ready. A line of the standard output is an event with that number: `work`, and at the end
`page`, `failed`, `ready` or `stopped`.
"""

from __future__ import annotations

import contextlib
import gc
import json
import linecache
import logging
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import IO, TYPE_CHECKING, Any

from mkdocs.commands import build as steps
from mkdocs.config import load_config
from mkdocs.structure.files import get_files
from mkdocs.structure.nav import get_navigation

from livepage.edits.import_trails import ImportTrails
from livepage.edits.program_errors import ProgramErrors, find_syntax_error
from livepage.keep import fresh_modules, outcomes, rendered
from livepage.notebooks import read_prose
from livepage.read import GARBAGE, Kind, log, project
from livepage.run import agreement, run_page, slice_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from livepage.read import Outcome, Source

_leave = os._exit  # which a page must not call
_jobs: Queue[dict[str, Any]] = Queue()
_is_running: list[bool] = []


class EditedPages:
    """The pages of a copy of a project, each as it is and as it would be."""

    def __init__(self, root: Path, tell: Callable[[dict[str, Any]], None]) -> None:
        """Read the configuration of a project as a build does, without beginning one.

        Args:
            root: Its folder.
            tell: Who hears of what goes on.
        """
        self._root, self._tell = root, tell
        self._config = load_config(str(root / "mkdocs.yml"), site_dir=str(root / ".cache" / "site"))
        self._config.site_url = ""
        self._config = self._config.plugins.on_config(self._config)
        files = get_files(self._config)
        files.add_files_from_theme(self._config.theme.get_env(), self._config)
        self._files = self._config.plugins.on_files(files, config=self._config)
        get_navigation(self._files, self._config)
        self._bases: dict[str, tuple[Source, list[Outcome]]] = {}
        self._edit: tuple[Path, str] | None = None
        self._count = 0
        project.instead = self._answer
        if project.adapter.slow_work:
            slow = logging.getLogger(project.adapter.slow_work)
            slow.addHandler(_Teller(tell))
            slow.setLevel(logging.INFO)
            slow.propagate = False

    def show(self, page: str, file: str, text: str | None) -> dict[str, Any]:
        """Return what a page says where a file holds a text, or that it is ready for that.

        Args:
            page: Its file, relative to the folder of the pages.
            file: The file, relative to the project, which holds now what it does in the project.
            text: What it is to hold, or None to make the page ready.
        """
        begun = time.perf_counter()
        path = self._root / file
        if text is not None and (fault := find_syntax_error(text, path)):
            return {"event": "failed", **fault}
        name = (project.docs / page).as_posix()
        self._edit = None
        self._note_file(path)
        self._render(page)
        if text is None:
            return {"event": "ready", "seconds": round(time.perf_counter() - begun, 3)}
        path.write_text(text, encoding="utf-8")
        self._note_file(path)
        self._edit = path, file
        errors = ProgramErrors(path)
        project.hear = errors.hear
        begun = time.perf_counter()
        try:
            content = self._render(page)
        finally:
            project.hear = None
        source, ran = project.sources[name]
        if failed := self._find_end(source, ran, errors):
            return {"event": "failed", **failed}
        return {
            "event": "page",
            "content": content,
            "ran": self._count,
            "pieces": len(source.pieces),
            "failures": [*_list_failures(source, ran)],
            "seconds": round(time.perf_counter() - begun, 3),
        }

    def _note_file(self, path: Path) -> None:
        linecache.cache.pop(str(path), None)

    def _render(self, page: str) -> str:
        found = self._files.get_file_from_path(page)
        if found is None or found.page is None:
            message = f"there is no page {page}"
            raise FileNotFoundError(message)
        rendered.drop(page)
        found.page.content, found.page.toc, found.page._title_from_render = None, [], None  # type: ignore[assignment]  # noqa: SLF001 - as MkDocs begins
        steps._populate_page(found.page, self._config, self._files)  # noqa: SLF001 - the step of MkDocs' own build
        return str(found.page.content)

    def _answer(self, source: Source) -> list[Outcome]:
        """Return what the pieces of a page come to: what is known of it, or what runs for an edit and the rest."""
        known = self._bases.get(source.name)
        base = known[1] if known and known[0].pieces == source.pieces else None
        if self._edit is None:
            if base is None:
                base = outcomes.recall(source) or self._run(source, {})
            self._bases[source.name] = source, base
            return base
        uses = ImportTrails(self._root / "snippets", project.adapter.packages).find_uses(self._edit[0])
        part = slice_page(source.pieces, base, uses) if base else None
        if part is None or base is None:
            self._count = len(source.pieces)
            return self._run(source, {})
        self._count = len(part.needed)
        rest = {at: outcome for at, outcome in enumerate(base) if at not in part.needed}
        ran = self._run(replace(source, pieces=part.pieces), rest)
        # What only had to run for others is as it was.
        mixed = [outcome if at in part.reached else base[at] for at, outcome in enumerate(ran)]
        return [*mixed[:-1], replace(mixed[-1], made=base[-1].made)]

    def _run(self, source: Source, known: dict[int, Outcome]) -> list[Outcome]:
        with fresh_modules():
            return run_page(source, known)

    def _find_end(self, source: Source, ran: list[Outcome], errors: ProgramErrors) -> dict[str, Any] | None:
        """Return why there is nothing to show, or None: a block failed, and others for it."""
        blocks = [
            outcome.failure
            for piece, outcome in zip(source.pieces, ran, strict=True)
            if piece.kind is Kind.BLOCK and outcome.failure and not outcome.follows
        ]
        if not blocks:
            return None
        if errors.first:
            return errors.first
        if any(outcome.follows for outcome in ran):
            place = f"{blocks[0].origin.file}, line {blocks[0].origin.line}"
            return {
                "kind": "page",
                "message": f"{blocks[0].error} (in the code of {place})",
                "line": None,
                "column": None,
            }
        return None


def _list_failures(source: Source, ran: list[Outcome]) -> Any:  # noqa: ANN401 - rows of JSON
    """Yield what does not hold of a page, each with the sentences that rest on it."""
    prose = read_prose(project.root / source.name)
    for piece, outcome in zip(source.pieces, ran, strict=True):
        if outcome.failure is None:
            continue
        title = piece.options.get("check", "")
        yield {
            "kind": str(piece.kind),
            "title": title,
            "error": outcome.failure.error,
            "is_false": outcome.failure.error.startswith("AssertionError"),
            "code": _find_line(piece.code, outcome.failure.origin.line, [line.line for line in piece.lines]),
            "sentences": [one.text for one in agreement.list_resting(prose, title)] if title else [],
        }


def _find_line(code: str, line: int, lines: list[int]) -> str:
    return code.split("\n")[lines.index(line)].strip() if line in lines else ""


class _Teller(logging.Handler):
    """Hands on what is logged of slow work."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(logging.INFO)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell({"event": "work", "text": record.getMessage()})


def main() -> None:
    """Do jobs one after the other, until nobody holds the other end of the standard input."""
    gc.set_threshold(*GARBAGE)
    sys.dont_write_bytecode = True  # a file that is edited twice in a second would be taken for what it was
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write that is too long fails, at its line
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a page lets be printed past Python is no answer
    signal.signal(signal.SIGINT, _interrupt)
    log.propagate = False
    current = [0]

    def tell(event: dict[str, Any]) -> None:
        _write(output, {**event, "job": current[0]})

    threading.Thread(target=_read, daemon=True).start()
    pages: EditedPages | None = None
    while True:
        job = _jobs.get()
        current[0] = job["job"]
        _is_running.append(True)
        try:
            pages = pages or EditedPages(Path.cwd(), tell)
            event = pages.show(job["page"], job["file"], job["text"])
        except KeyboardInterrupt:
            event = {"event": "stopped"}
        except Exception as error:  # noqa: BLE001 - whatever it is, who waits must hear of it
            message = f"{type(error).__name__}: {error}"[:2000]
            event = {"event": "failed", "kind": "page", "message": message, "line": None, "column": None}
        _is_running.clear()
        tell(event)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    if _is_running:
        raise KeyboardInterrupt


def _write(output: IO[str], event: dict[str, Any]) -> None:
    output.write(json.dumps(event) + "\n")
    output.flush()


def _read() -> None:
    """Hand on what is read; end the process, whatever runs, when the other end is closed."""
    for line in sys.stdin:
        _jobs.put(json.loads(line))
    _leave(0)


if __name__ == "__main__":
    main()
