"""Run the pieces of one page, in reading order, in one namespace that is the page's own."""

from __future__ import annotations
import __future__

import ast
import contextlib
import io
import linecache
import os
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from livepage import witness
from livepage.asserts import HELPER, explain, explain_asserts
from livepage.blocks import Kind, Piece, Source
from livepage.origins import Origin, relative
from livepage.project import project

if TYPE_CHECKING:
    from collections.abc import Sequence

# A page holds text: where the build runs in a terminal, JAX would colour its jaxprs.
os.environ["JAX_PPRINT_USE_COLOR"] = "0"


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that must fail the build.

    Attributes:
        origin: The file and line.
        error: The Python error, as in `NameError: name 'x' is not defined`.
    """

    origin: Origin
    error: str

    def __str__(self) -> str:
        """Return `file:line: error`."""
        return f"{self.origin}: {self.error}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a piece came to.

    Attributes:
        text: What a block printed, or what a value shows.
        gap: Why it could not run on this machine, or an empty string.
        target: The target that is missing, when it is a gap.
        failure: What failed, or None.
        follows: Whether it only failed because a block above it did.
    """

    text: str = ""
    gap: str = ""
    target: str = ""
    failure: Failure | None = None
    follows: bool = False


def run(source: Source) -> list[Outcome]:
    """Run a page from the top in a fresh namespace and return what each piece came to."""
    session = _Session(source)
    return [session.run(piece) for piece in source.pieces]


class _Session:
    """The namespace of a page, and what already went wrong in it."""

    def __init__(self, source: Source) -> None:
        # Data classes and pickle look up the module that a class was made in.
        module = ModuleType("livepage_" + re.sub(r"\W", "_", source.name))
        sys.modules[module.__name__] = module
        self.namespace: dict[str, Any] = module.__dict__
        self.namespace[HELPER] = explain
        self.cut = ("", "")
        self.failed = False

    def run(self, piece: Piece) -> Outcome:
        """Run one piece; whatever it raises is part of the outcome, except an interrupt from the keyboard."""
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                shown = self._evaluate(piece)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a block that calls sys.exit must not end the build
            return self._judge(piece, error, printed.getvalue())
        finally:
            witness.note(None)
        return Outcome(shown if piece.kind is Kind.VALUE else printed.getvalue())

    def _evaluate(self, piece: Piece) -> str:
        if piece.kind is Kind.VALUE:
            witness.note(piece.origin)
            tree = ast.parse(piece.code, str(piece.origin.file), mode="eval")
            ast.increment_lineno(tree, piece.origin.line - 1)
            return show(eval(compile(tree, piece.origin.file, "eval"), self.namespace))  # noqa: S307 - the page's own code
        for origin, code in compile_piece(piece):
            witness.note(origin)
            exec(code, self.namespace)  # noqa: S102 - the page's own code
        return ""

    def _judge(self, piece: Piece, error: BaseException, printed: str) -> Outcome:
        missing = _unavailable(error)
        if missing and os.environ.get("REQUIRE_TARGETS") != "all":
            if piece.kind is Kind.BLOCK:
                self.cut = missing
            return Outcome(printed, gap=missing[1], target=missing[0])
        if isinstance(error, NameError) and self.cut[0]:
            return Outcome(printed, gap=self.cut[1], target=self.cut[0])
        follows = self.failed and isinstance(error, NameError)
        self.failed = self.failed or piece.kind is Kind.BLOCK
        origin = locate(error, piece)
        return Outcome(failure=Failure(origin, describe(error) + _raised_at(error, origin)), follows=follows)


def show(value: object) -> str:
    """Return a value as prose shows it: an int with thousands separators, text as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def compile_piece(piece: Piece) -> list[tuple[Origin, CodeType]]:
    """Compile a block or check, statement by statement, each line with the file and line on which it stands.

    A block may include another file, so that its statements stand in more than one. `from __future__` imports hold
    for the whole piece.

    Raises:
        SyntaxError: With the line counted within the piece.
    """
    tree = ast.parse(piece.code, piece.lines[0].file if piece.lines else piece.origin.file)
    explain_asserts(tree)
    flags = 0
    compiled: list[tuple[Origin, CodeType]] = []
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= getattr(__future__, alias.name).compiler_flag
        first = _first_line(statement)
        origin = piece.lines[first - 1]
        ast.increment_lineno(statement, origin.line - first)
        module = ast.Module([statement], [])
        code = compile(module, origin.file, "exec", flags=flags, dont_inherit=True, optimize=0)
        compiled.append((origin, code))
    return compiled


def _first_line(statement: ast.stmt) -> int:
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def locate(error: BaseException, piece: Piece) -> Origin:
    """Return the line of the piece that an error came from: the innermost that stands on the page.

    A line of a file that the block includes counts as the page's; a line of an imported module does not.
    """
    lines = {(origin.file, origin.line) for origin in (piece.origin, *piece.lines)}
    if isinstance(error, SyntaxError) and error.lineno and piece.kind is not Kind.VALUE:
        at = min(error.lineno, len(piece.lines)) - 1
        if error.filename in {origin.file for origin in piece.lines} and piece.lines:
            return piece.lines[at]
    found = piece.origin
    for frame in traceback.extract_tb(error.__traceback__):
        if (frame.filename, frame.lineno) in lines:
            found = Origin(frame.filename, frame.lineno or found.line)
    return found


def describe(error: BaseException) -> str:
    """Return an error in one line, as Python ends its tracebacks; a bare `AssertionError` has no colon."""
    text = "".join(traceback.format_exception_only(error)[-1:]).strip()
    if isinstance(error, SystemExit):
        text = f"SystemExit: {error.code}: a block must not leave Python"
    return text


def _raised_at(error: BaseException, origin: Origin) -> str:
    """Return the line of the project's own modules that raised, where that is not the line on the page."""
    snippets = project.root / "snippets"
    frames = [
        Origin(relative(Path(frame.filename), project.root), frame.lineno or 1)
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(snippets)
    ]
    return f" (raised at {frames[-1]})" if frames and frames[-1] != origin else ""


def remember(name: str, text: str) -> None:
    """Let tracebacks and `inspect.getsource` find the lines of a page under its relative name."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


def _unavailable(error: BaseException) -> tuple[str, str] | None:
    """Return target and reason of a `TargetUnavailableError`, known by name since the package may be reloaded."""
    if any(base.__name__ == "TargetUnavailableError" for base in type(error).__mro__):
        return getattr(error, "target", ""), getattr(error, "reason", str(error))
    return None
