"""The reader's file as a module, and descriptions of its errors with file and line."""

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
"""Python's message for a call with arguments that a function does not accept."""


class Submission:
    """The reader's file, executed.

    Raises:
        Exception: Whatever the file raises.
    """

    def __init__(self, exercise: Exercise) -> None:
        """Execute the file as a module, with its folder on the path as if it was run directly."""
        self.file = exercise.file
        self.exercise = exercise
        self.module = _execute(self.file, f"practice_{exercise.phase}_{exercise.name}")

    @property
    def where(self) -> str:
        """The name of the file in messages."""
        return name_file(self.file)

    @cached_property
    def given(self) -> ModuleType:
        """The executed solution as a module, for original definitions that the reader may have changed in the file."""
        return _execute(self.exercise.solution, f"given_{self.exercise.phase}_{self.exercise.name}")

    def companion(self, name: str) -> ModuleType:
        """Return the original version of a module next to the exercise's file, executed anew at each call."""
        folder = self.exercise.originals or self.exercise.folder
        return _execute(folder / self.exercise.phase / f"{name}.py", f"given_{self.exercise.phase}_{name}")

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the file.

        Raises:
            WrongError: The file has no function of that name.
        """
        member = getattr(self.module, name, None)
        if not callable(member):
            raise WrongError(bad(f"{self.where} no longer has a function `{name}`, which the check calls"))
        return member  # type: ignore[no-any-return]  # whatever the reader wrote

    def judge(self, name: str, expected: object, right: str, wrong: str, lines: Iterable[str]) -> Remark:
        """Return the remark on an answer that the reader filled in.

        Args:
            name: The name of the answer in the file.
            expected: The right answer. A list is accepted for a tuple, and a name may begin with `%`.
            right: The remark for the right answer.
            wrong: The sentence after `not ...` for another answer.
            lines: The lines of HLO that prove it.
        """
        member = getattr(self.module, name, None)
        answer = (
            tuple(member)
            if isinstance(member, list)
            else member.removeprefix("%")
            if isinstance(member, str)
            else member
        )
        # Python counts True as equal to 1, so the types are compared before the values.
        if type(answer) is not type(expected):
            state = "is not defined" if not hasattr(self.module, name) else f"is {member!r}"
            kind = type(expected).__name__
            return bad(f"{self.locate(name)}: `{name}` {state}, but the answer must be of type {kind}")
        return judge(answer == expected, right, f"{self.locate(name)}: not {answer!r}. {wrong}", lines, "hlo")

    def say_changed(self, name: str) -> str:
        """Return a note if the reader has changed a function of the original file, or an empty string."""
        original = ast.parse(self.exercise.solution_text)
        # Syntax trees are compared instead of texts, so formatting and comments do not matter.
        texts = [
            [ast.dump(node) for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
            for tree in (self.exercise.tree, original)
        ]
        return (
            "" if texts[0] == texts[1] else f" You changed `{name}`, but the question is about the original function."
        )

    def locate(self, name: str) -> str:
        """Return the place of a function or an answer as FILE:LINE, with line 1 if it is not found."""
        # A jitted function has no code object, but refers to the original function as `__wrapped__`.
        code = getattr(getattr(getattr(self.module, name, None), "__wrapped__", None), "__code__", None)
        code = code or getattr(getattr(self.module, name, None), "__code__", None)
        lines = self.file.read_text(encoding="utf-8").splitlines()
        numbers = [
            number for number, line in enumerate(lines, 1) if line.startswith((f"{name} =", f"{name}:", f"{name}="))
        ]
        line = code.co_firstlineno if code and code.co_filename == str(self.file.absolute()) else (numbers or [1])[-1]
        return f"{self.where}:{line}"


def _execute(file: Path, name: str) -> ModuleType:
    """Return a file as an executed module of that name, with its folder on the path as if it was run directly."""
    spec = importlib.util.spec_from_file_location(name, file.absolute())
    if spec is None or spec.loader is None:
        raise WrongError(bad(f"{name_file(file)} is not a Python file"))
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickling look a class up in its module by name, so the module must be registered first.
    sys.modules[name] = module
    # The reader's file may import a file next to it, as it could if Python ran it directly.
    sys.path.insert(0, str(file.parent.absolute()))
    try:
        # A file may turn warnings into errors, which must not affect other code.
        with warnings.catch_warnings():
            spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def describe_exception(error: BaseException, file: Path) -> Remark:
    """Return a remark with an exception's message and the last line of the reader's file in its traceback."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        text = (error.text or "").rstrip("\n")
        pointer = " " * max((error.offset or 1) - 1, 0) + "^"
        lines = (text, pointer) if text.strip() else ()
        return Remark(
            good=False, text=f"{name_file(file)}:{error.lineno or 1}: Python cannot read this: {error.msg}", lines=lines
        )
    names = {str(file), str(file.absolute())}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in names]
    message = _shorten(str(error))
    kind = type(error).__name__
    if not frames:
        position = _find_called(message, file) if isinstance(error, TypeError) else ""
        return bad(f"{name_file(file)}{position}: {kind}{message and f': {message}'}")
    line = frames[-1].lineno or 1
    source = linecache.getline(str(file.absolute()), line).strip()
    explanation = (
        "the file ends the process here, but an exercise should only define functions and answers"
        if kind == "SystemExit"
        else message
    )
    return bad(f"{name_file(file)}:{line}: {kind}{explanation and f': {explanation}'}", [source], "python")


def _find_called(message: str, file: Path) -> str:
    """Return a colon and the line of the function that was called with wrong arguments, or an empty string."""
    match = _CALLED.match(message)
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    # A call with wrong arguments fails before it enters the function, so the traceback has no line of the file.
    return next((f":{at}" for at, text in lines if match and re.match(rf"(?:async )?def {match[1]}\b", text)), "")


def _shorten(message: str) -> str:
    """Return the message of an exception in one line, cut off after 400 characters."""
    words = " ".join(message.split())
    limit = 400
    return words if len(words) <= limit else f"{words[:limit].rpartition(' ')[0]} ..."
