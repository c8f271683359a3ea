"""What the reader wrote: the file as a module, and what goes wrong in it told with file and line."""

from __future__ import annotations

import ast
import importlib.util
import linecache
import re
import sys
import traceback
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

from xla_inspect.practice.marking.exercises import name_file
from xla_inspect.practice.marking.verdict import Remark, WrongError, bad, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from types import ModuleType

    from xla_inspect.practice.marking.exercises import Exercise

_CALLED = re.compile(r"(?:\w+\.)*(\w+)\(\) (?:takes|missing|got)")
"""How Python says that a function of the reader's takes other arguments than those it was called with."""


class Submission:
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
        self.module = _execute(self.file, f"practice_{exercise.phase}_{exercise.name}")

    @property
    def where(self) -> str:
        """The file as it is named to the reader."""
        return name_file(self.file)

    @cached_property
    def given(self) -> ModuleType:
        """What the file gives, as it was before the reader tried something with it: the solution leaves it alone."""
        return _execute(self.exercise.solution, f"given_{self.exercise.phase}_{self.exercise.name}")

    def companion(self, name: str) -> ModuleType:
        """Return a module that comes with the exercise, as it was given."""
        folder = self.exercise.originals or self.exercise.folder
        return _execute(folder / self.exercise.phase / f"{name}.py", f"given_{self.exercise.phase}_{name}")

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the file.

        Raises:
            WrongError: It has none of that name.
        """
        member = getattr(self.module, name, None)
        if not callable(member):
            raise WrongError(bad(f"{self.where} has no function `{name}` any more; the check calls it by that name"))
        return member  # type: ignore[no-any-return]  # whatever the reader wrote

    def judge(self, name: str, expected: object, right: str, wrong: str, lines: Iterable[str]) -> Remark:
        """Return what is to be said of an answer that the reader filled in.

        Args:
            name: What it is called in the file.
            expected: The answer that is right; a list may stand for a tuple, and a name may begin with `%`.
            right: What to say where it is this one.
            wrong: What to say after `not ...` where it is another.
            lines: The lines of HLO that show it.
        """
        member = getattr(self.module, name, None)
        answer = (
            tuple(member)
            if isinstance(member, list)
            else member.removeprefix("%")
            if isinstance(member, str)
            else member
        )
        if type(answer) is not type(expected):
            state = "is not defined" if not hasattr(self.module, name) else f"is {member!r}"
            kind = type(expected).__name__
            return bad(f"{self.locate(name)}: `{name}` {state}, and an answer of type {kind} is asked for")
        return judge(answer == expected, right, f"{self.locate(name)}: not {answer!r}. {wrong}", lines, "hlo")

    def say_changed(self, name: str) -> str:
        """Return a sentence where a function that the file gives is another by now, or nothing."""
        original = ast.parse(self.exercise.solution_text)
        texts = [
            [ast.dump(node) for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
            for tree in (self.exercise.tree, original)
        ]
        return "" if texts[0] == texts[1] else f" You changed `{name}`, and asked is of the one that was given."

    def locate(self, name: str) -> str:
        """Return the file and the line where a function or an answer of the file stands."""
        code = getattr(getattr(getattr(self.module, name, None), "__wrapped__", None), "__code__", None)
        code = code or getattr(getattr(self.module, name, None), "__code__", None)
        lines = self.file.read_text(encoding="utf-8").splitlines()
        named = [
            number for number, line in enumerate(lines, 1) if line.startswith((f"{name} =", f"{name}:", f"{name}="))
        ]
        line = code.co_firstlineno if code and code.co_filename == str(self.file.absolute()) else (named or [1])[-1]
        return f"{self.where}:{line}"


def _execute(file: Path, name: str) -> ModuleType:
    """Return a file as a module of that name, executed with its folder on the path as when it is run."""
    spec = importlib.util.spec_from_file_location(name, file.absolute())
    if spec is None or spec.loader is None:
        raise WrongError(bad(f"{name_file(file)} is no Python file"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent.absolute()))
    try:
        # A file that makes errors of warnings does so for itself.
        with warnings.catch_warnings():
            spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def describe_exception(error: BaseException, file: Path) -> Remark:
    """Return what an exception says, with the line of the reader's file that it passed last.

    Args:
        error: What was raised.
        file: The reader's file.
    """
    if isinstance(error, SyntaxError) and error.filename == str(file):
        text = (error.text or "").rstrip("\n")
        pointer = " " * max((error.offset or 1) - 1, 0) + "^"
        lines = (text, pointer) if text.strip() else ()
        return Remark(
            good=False, text=f"{name_file(file)}:{error.lineno or 1}: Python cannot read this: {error.msg}", lines=lines
        )
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is(frame.filename, file)]
    message = _shorten(str(error))
    kind = type(error).__name__
    if not frames:
        called = _find_called(message, file) if isinstance(error, TypeError) else ""
        return bad(f"{name_file(file)}{called}: {kind}{message and f': {message}'}")
    line = frames[-1].lineno or 1
    source = linecache.getline(str(file.absolute()), line).strip()
    explanation = (
        "the file ends the process here; an exercise only defines what is asked for"
        if kind == "SystemExit"
        else message
    )
    return bad(f"{name_file(file)}:{line}: {kind}{explanation and f': {explanation}'}", [source], "python")


def _find_called(message: str, file: Path) -> str:
    """Return the line, after a colon, of the function that was called with other arguments than it takes, if any."""
    called = _CALLED.match(message)
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    return next((f":{at}" for at, text in lines if called and re.match(rf"(?:async )?def {called[1]}\b", text)), "")


def _is(filename: str, file: Path) -> bool:
    return filename in {str(file), str(file.absolute())}


def _shorten(message: str) -> str:
    """Return what an exception says, and no more of it than fits on a few lines."""
    words = " ".join(message.split())
    limit = 400
    return words if len(words) <= limit else f"{words[:limit].rpartition(' ')[0]} ..."
