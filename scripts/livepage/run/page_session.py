"""The execution of a page's pieces, in reading order, in a namespace that belongs to the page."""

from __future__ import annotations
import __future__

import ast
import contextlib
import itertools
import linecache
import logging
import os
import re
import subprocess
import symtable
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from markdown_exec import console_width, working_directory

from livepage.read import SHELLS, Failure, Kind, Origin, Outcome, Piece, SearchEntry, Source, log, project, relative
from livepage.run.asserts import HELPER, Asserts, find_fault
from livepage.run.checked_modules import rewrite_imports, show_functions
from livepage.run.guard import Guard
from livepage.run.process_state import State
from livepage.run.rewriter import last_name, rewrite
from livepage.run.stdout import Stdout, find_trace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from livepage.run.asserts import Site

LINE_LOG = "livepage.lines"
"""The logger of each line before it runs; if the process ends, the last logged line is responsible."""
_lines = logging.getLogger(LINE_LOG)

ENTRIES = "search_entries"
"""The name under which a block passes on search entries for its output, as rows of a `SearchEntry`."""


def run_page(source: Source) -> list[Outcome]:
    """Run a page from the top in a fresh namespace, and return the outcome of each piece."""
    state = State()
    with Guard() as guard:
        session = _Session(source, guard)
        with rewrite_imports(session.asserts):
            outcomes = [session.run_piece(piece, state) for piece in source.pieces]
    return _end(source, outcomes, state, guard, session.modules)


def _end(
    source: Source, outcomes: list[Outcome], state: State, guard: Guard, modules: Mapping[str, ModuleType]
) -> list[Outcome]:
    """Undo a page's lasting changes to the process, and return the outcomes with complaints about these changes."""
    if not source.pieces:
        return []
    for piece, origin, what in state.restore(list(source.pieces), guard.variables):
        complaint = f"this page leaves {what} changed for the pages after it: put it back where it was"
        guard.complaints.append((origin, complaint))
        outcomes[source.pieces.index(piece)] = _add(outcomes[source.pieces.index(piece)], guard)
    makers = tuple(project.adapter.list_makers([item for names in modules.values() for item in vars(names).values()]))
    return [*(replace(outcome, made=()) for outcome in outcomes[:-1]), replace(outcomes[-1], made=makers)]


def _add(outcome: Outcome, guard: Guard) -> Outcome:
    """Return an outcome that fails with the piece's first complaint, or the given outcome if there is none."""
    if not guard.complaints:
        return outcome
    origin, complaint = guard.complaints[0]
    guard.complaints.clear()
    return (
        outcome
        if outcome.failure and outcome.failure.error == complaint
        else Outcome(failure=Failure(origin, complaint))
    )


class _Session:
    """The namespace of a page, with the failures and gaps so far."""

    def __init__(self, source: Source, guard: Guard) -> None:
        self.name = "livepage_" + re.sub(r"\W", "_", source.name)
        self.modules: dict[str, ModuleType] = {}
        self.asserts = Asserts()
        self.guard = guard
        self.enter("")
        self.cut = ("", "")
        self.failed = False

    def enter(self, session: str) -> None:
        """Switch to the namespace of a markdown-exec session, or to that of the page."""
        if session not in self.modules:
            # Data classes and pickle look up the module of a class by its name, so the namespace needs a real module.
            module = ModuleType(f"{self.name}_{session}" if session else self.name)
            self.modules[session] = sys.modules[module.__name__] = module
            vars(module)[HELPER] = self.asserts
        self.namespace: dict[str, Any] = vars(self.modules[session])

    def run_piece(self, piece: Piece, state: State) -> Outcome:
        """Run one piece; any exception except a keyboard interrupt becomes part of the outcome."""
        stdout = Stdout(self.guard.raise_refusal)
        options = piece.options
        self.enter(options.get("session", ""))
        before = dict(self.namespace)
        self.guard.piece = piece
        try:
            place = working_directory(options.get("workdir"))
            with place, console_width(int(options.get("width", "0"))), contextlib.redirect_stdout(stdout):
                text, exact = self._evaluate(piece)
            # Entries are converted to plain types: another process cannot unpickle classes that a page defines.
            rows = self.namespace.pop(ENTRIES, ())
            entries = tuple(SearchEntry(*map(str, row[:3]), *map(float, row[3:])) for row in rows)  # type: ignore[arg-type]  # three texts
            output = stdout.getvalue() if piece.kind is Kind.BLOCK else text
            outcome = Outcome(output, entries=entries, exact=exact)
        except KeyboardInterrupt as error:
            log.error("%s: interrupted while this line ran", locate(error, piece))
            raise
        except BaseException as error:  # noqa: BLE001 - a block that calls sys.exit must not end the build
            outcome = self._judge(piece, error, stdout.getvalue())
        finally:
            stdout.end()
            self.guard.piece = None
        if outcome.gap:
            self._forget(piece, before)
        if piece.kind is not Kind.VALUE:
            state.note(piece)
        return _add(outcome, self.guard)

    def _evaluate(self, piece: Piece) -> tuple[str, str]:
        """Run a piece; return a value's text and exact form, or the source of functions that asserted for a check."""
        if piece.kind is Kind.VALUE:
            _lines.info("%s", piece.origin)
            value = ast.parse(piece.code, str(piece.origin.file), mode="eval")
            ast.increment_lineno(value, piece.origin.line - 1)
            result = eval(compile(value, piece.origin.file, "eval"), self.namespace)  # noqa: S307 - the page's own code
            text, exact = show_value(result), getattr(result, "exact", "")
            if trace := find_trace(f"{text} {exact}"):
                self.guard.raise_refusal(trace)
            return text, str(exact) if isinstance(exact, str) else ""
        if piece.language not in {"python", "pycon"}:
            _lines.info("%s", piece.origin)
            sys.stdout.write(run_shell(piece) if piece.language in SHELLS else piece.code)
            return "", ""
        tree = ast.parse(piece.code, piece.lines[0].file if piece.lines else piece.origin.file)
        calls = {last_name(part.func) for part in ast.walk(tree) if isinstance(part, ast.Call)}
        sites, runs = rewrite(tree, self.asserts), self.asserts.runs
        counts = [site.ran for site in self.asserts.sites]
        for origin, code in compile_piece(tree, piece):
            _lines.info("%s", origin)
            exec(code, self.namespace)  # noqa: S102 - the page's own code
            if self.namespace.get(HELPER) is not self.asserts:
                self.namespace[HELPER] = self.asserts
                self.guard.complaints.append((origin, "a block must not clear the names of its page"))
        if piece.kind is Kind.CHECK:
            asserted = self.asserts.runs > runs or any(name.startswith("assert") for name in calls)
            return self._review(piece, sites, counts, asserted=asserted), ""
        return "", ""

    def _review(self, piece: Piece, sites: Sequence[Site], counts: Sequence[int], *, asserted: bool) -> str:
        """Report a check whose asserts checked nothing; return the source of module functions that asserted for it."""
        whole = has_every_target()
        line, fault = find_fault(sites, is_whole=whole) or (
            0,
            "" if asserted or not whole else "this check asserts nothing",
        )
        if fault:
            self.guard.complaints.append((piece.lines[line - 1] if line else piece.origin, fault))
        ran_before = itertools.chain(counts, itertools.repeat(0))
        module_sites = [
            site for site, count in zip(self.asserts.sites, ran_before, strict=False) if site.file and site.ran > count
        ]
        for site in module_sites:
            if weak := find_fault([site], is_whole=whole):
                self.guard.complaints.append((piece.origin, f"{site.file}:{weak[0]}: {weak[1]}"))
        return show_functions(module_sites)

    def _forget(self, piece: Piece, before: Mapping[str, object]) -> None:
        """Delete the names that a skipped piece would have assigned, since their values come from earlier pieces."""
        if piece.language not in {"python", "pycon"}:
            return
        scope = symtable.symtable(piece.code, piece.origin.file, "eval" if piece.kind is Kind.VALUE else "exec")
        for name in (symbol.get_name() for symbol in scope.get_symbols() if symbol.is_assigned()):
            if name in before and self.namespace.get(name) is before[name]:
                del self.namespace[name]

    def _judge(self, piece: Piece, error: BaseException, output: str) -> Outcome:
        missing = project.adapter.find_gap(error)
        if missing and os.environ.get("REQUIRE_TARGETS") != "all":
            if piece.kind is Kind.BLOCK:
                self.cut = missing
            return Outcome(output, gap=missing[1], target=missing[0])
        if isinstance(error, NameError) and self.cut[0]:
            return Outcome(output, gap=self.cut[1], target=self.cut[0])
        follows = self.failed and isinstance(error, NameError)
        self.failed = self.failed or piece.kind is Kind.BLOCK
        origin = locate(error, piece)
        return Outcome(failure=Failure(origin, describe_error(error) + _raised_at(error, origin)), follows=follows)


def run_shell(piece: Piece) -> str:
    """Run a shell block, and return its output, including its errors.

    Raises:
        RuntimeError: The exit status differs from the block's `returncode`.
    """
    shell, status = SHELLS[piece.language], int(piece.options.get("returncode", "0"))
    process = subprocess.run(
        [shell, "-c", piece.code],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    if process.returncode != status:
        last = process.stdout.strip().rpartition("\n")[2]
        message = f"`{shell}` ended with exit status {process.returncode}, not {status}: {last or 'it printed nothing'}"
        raise RuntimeError(message)
    return process.stdout


def show_value(value: object) -> str:
    """Return the text of a value in prose: an int gets thousands separators, and any other value is `str(value)`."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def compile_piece(tree: ast.Module, piece: Piece) -> list[tuple[Origin, CodeType]]:
    """Return the compiled code of each statement of a block or check, with the origin of its first line.

    A block may include other files, so its statements can come from several. `from __future__` imports apply to the
    whole piece.
    """
    flags = 0
    statements: list[tuple[Origin, CodeType]] = []
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= getattr(__future__, alias.name).compiler_flag
        first = _first_line(statement)
        origin = piece.lines[first - 1]
        ast.increment_lineno(statement, origin.line - first)
        module = ast.Module([statement], [])
        code = compile(module, origin.file, "exec", flags=flags, dont_inherit=True, optimize=0)
        statements.append((origin, code))
    return statements


def has_every_target() -> bool:
    """Return whether all targets are available; a check without asserts is accepted if its target is missing."""
    return not project.adapter.list_missing()


def _first_line(statement: ast.stmt) -> int:
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def locate(error: BaseException, piece: Piece) -> Origin:
    """Return the innermost line of a piece in an error's traceback, or the line on which the piece begins."""
    if isinstance(error, SyntaxError) and error.lineno and piece.kind is not Kind.VALUE:
        at = min(error.lineno, len(piece.lines)) - 1
        if error.filename in {origin.file for origin in piece.lines} and piece.lines:
            return piece.lines[at]
    place = piece.origin
    for frame in _list_frames(error):
        if piece.holds(origin := Origin(frame.filename, frame.lineno or 0)):
            place = origin
    return place


def _list_frames(error: BaseException) -> traceback.StackSummary:
    """Return an error's stack without the text of the lines: reading the files would make them inputs of the page."""
    return traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)


def describe_error(error: BaseException) -> str:
    """Return an error in one line, like the end of a Python traceback; a bare `AssertionError` has no colon."""
    text = "".join(traceback.format_exception_only(error)[-1:]).strip()
    if isinstance(error, SystemExit):
        text = f"SystemExit: {error.code}: a block must not leave Python"
    return text


def _raised_at(error: BaseException, origin: Origin) -> str:
    """Return the line of the project's own modules that raised the error, if it differs from the line on the page."""
    snippets = project.root / "snippets"
    frames = [
        Origin(relative(Path(frame.filename), project.root), frame.lineno or 1)
        for frame in _list_frames(error)
        if Path(frame.filename).is_relative_to(snippets)
    ]
    return f" (raised at {frames[-1]})" if frames and frames[-1] != origin else ""


def remember(name: str, text: str) -> None:
    """Register a page's text under its relative name for tracebacks and `inspect.getsource`."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
