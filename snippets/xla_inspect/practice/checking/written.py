"""What the reader wrote: the file as a module, and what goes wrong in it told with file and line."""

from __future__ import annotations

import importlib.util
import linecache
import sys
import traceback
from typing import TYPE_CHECKING, Any

from xla_inspect.practice.checking.exercises import name_file
from xla_inspect.practice.checking.finding import Finding, WrongError, bad

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xla_inspect.practice.checking.exercises import Exercise


class Written:
    """The reader's file, executed.

    Args:
        exercise: The exercise.

    Raises:
        Exception: Whatever the file raises.
    """

    def __init__(self, exercise: Exercise) -> None:
        """Execute the file as a module of its own, with its folder on the path as when it is run."""
        self.file = exercise.file
        self.exercise = exercise
        name = f"practice_{exercise.phase}_{exercise.name}"
        spec = importlib.util.spec_from_file_location(name, self.file.absolute())
        if spec is None or spec.loader is None:
            raise WrongError(bad(f"{name_file(self.file)} is no Python file"))
        self.module = importlib.util.module_from_spec(spec)
        sys.modules[name] = self.module
        sys.path.insert(0, str(self.file.parent.absolute()))
        try:
            spec.loader.exec_module(self.module)
        finally:
            sys.path.pop(0)

    @property
    def where(self) -> str:
        """The file as it is named to the reader."""
        return name_file(self.file)

    @property
    def example(self) -> tuple[Any, ...]:
        """The shapes that the file gives as EXAMPLE.

        Raises:
            WrongError: It gives none.
        """
        found = getattr(self.module, "EXAMPLE", None)
        if not isinstance(found, tuple):
            raise WrongError(bad(f"{self.where} has no tuple `EXAMPLE` any more; the check needs it"))
        return found

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the file.

        Raises:
            WrongError: It has none of that name.
        """
        found = getattr(self.module, name, None)
        if not callable(found):
            raise WrongError(bad(f"{self.where} has no function `{name}` any more; the check calls it by that name"))
        return found  # type: ignore[no-any-return]  # whatever the reader wrote

    def answer(self, name: str, kind: type) -> Any:  # noqa: ANN401 - of the type that is asked for
        """Return an answer that the reader filled in.

        Raises:
            WrongError: There is none of that name, or it is of another type.
        """
        found = getattr(self.module, name, None)
        if not isinstance(found, kind) or isinstance(found, bool) is not (kind is bool):
            given = "is gone" if not hasattr(self.module, name) else f"is {found!r}"
            raise WrongError(
                bad(f"{self.locate(name)}: `{name}` {given}, and an answer of type {kind.__name__} is asked for")
            )
        return found

    def locate(self, name: str) -> str:
        """Return the file and the line where a function or an answer of the file stands."""
        code = getattr(getattr(getattr(self.module, name, None), "__wrapped__", None), "__code__", None)
        code = code or getattr(getattr(self.module, name, None), "__code__", None)
        lines = self.file.read_text(encoding="utf-8").splitlines()
        named = (
            number for number, line in enumerate(lines, 1) if line.startswith((f"{name} =", f"{name}:", f"{name}="))
        )
        line = code.co_firstlineno if code and code.co_filename == str(self.file.absolute()) else next(named, 1)
        return f"{self.where}:{line}"


def describe(error: BaseException, file: Path) -> Finding:
    """Return what an exception says, with the line of the reader's file that it passed last.

    Args:
        error: What was raised.
        file: The reader's file.
    """
    if isinstance(error, SyntaxError) and error.filename == str(file):
        text = (error.text or "").rstrip("\n")
        pointer = " " * max((error.offset or 1) - 1, 0) + "^"
        lines = (text, pointer) if text.strip() else ()
        return Finding(
            good=False, text=f"{name_file(file)}:{error.lineno or 1}: Python cannot read this: {error.msg}", lines=lines
        )
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is(frame.filename, file)]
    said = _shorten(str(error))
    kind = type(error).__name__
    if not frames:
        return bad(f"{name_file(file)}: {kind}{said and f': {said}'}")
    line = frames[-1].lineno or 1
    source = linecache.getline(str(file.absolute()), line).strip()
    told = (
        "the file ends the process here; an exercise only defines what is asked for" if kind == "SystemExit" else said
    )
    return bad(f"{name_file(file)}:{line}: {kind}{told and f': {told}'}", [source], "python")


def _is(filename: str, file: Path) -> bool:
    return filename in {str(file), str(file.absolute())}


def _shorten(said: str) -> str:
    """Return what an exception says, and no more of it than fits on a few lines."""
    words = " ".join(said.split())
    limit = 400
    return words if len(words) <= limit else f"{words[:limit].rpartition(' ')[0]} ..."
