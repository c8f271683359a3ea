"""The functions of a program, out of the file that frames them with imports, examples and a way to run it."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.captured import Capture
from xla_inspect.folders import find_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Excerpt:
    """What is shown of a file.

    Attributes:
        file: Its name, relative to the project where it lies in one.
        text: The functions that were asked for and those of the file that they call, in its order.
        whole: All of it.
    """

    file: str
    text: str
    whole: str


def find_excerpts(*subjects: Capture | Callable[..., object]) -> list[Excerpt]:
    """Return an excerpt of each file that holds one of some programs, in the order in which they are asked for.

    Raises:
        ValueError: The file of a capture has no function of its program's name, or a function has no file.
    """
    asked: dict[str, tuple[str, list[str]]] = {}
    for subject in subjects:
        file, whole, name = _locate(subject)
        asked.setdefault(file, (whole, []))[1].append(name)
    return [Excerpt(file, _cut_out(file, whole, names), whole) for file, (whole, names) in asked.items()]


def _locate(subject: Capture | Callable[..., object]) -> tuple[str, str, str]:
    """Return the file of a program, its text and the function's name."""
    if isinstance(subject, Capture):
        return subject.source_file, subject.source, subject.program
    function = inspect.unwrap(subject)
    while isinstance(function, partial):
        function = inspect.unwrap(function.func)
    path = inspect.getsourcefile(function)
    if path is None:
        message = f"{function!r} has no file"
        raise ValueError(message)
    file, project = Path(path), find_project()
    inside = project is not None and file.is_relative_to(project)
    name = file.relative_to(project).as_posix() if project and inside else file.name
    return name, file.read_text(encoding="utf-8"), function.__name__


def _cut_out(file: str, whole: str, names: list[str]) -> str:
    """Return the functions of these names with those that they call, each as it stands."""
    functions = {part.name: part for part in ast.parse(whole).body if isinstance(part, _Function)}
    wanted: set[str] = set()
    for name in names:
        if name not in functions:
            message = f"{file or 'what has no file'} has no function {name}"
            raise ValueError(message)
        wanted |= _reach(name, functions, wanted)
    lines = whole.splitlines()
    return "\n\n\n".join(
        "\n".join(lines[_first_line(part) - 1 : part.end_lineno]) for name, part in functions.items() if name in wanted
    )


def _reach(name: str, functions: dict[str, _Function], met: set[str]) -> set[str]:
    """Return the names of a function and of all in the same file that it uses, but for those already met."""
    found, left = set(met), [name]
    while left:
        current = left.pop()
        if current not in found:
            found.add(current)
            left.extend(_list_used(functions[current], functions))
    return found


def _list_used(part: _Function, functions: dict[str, _Function]) -> Iterator[str]:
    for node in ast.walk(part):
        if isinstance(node, ast.Name) and node.id in functions:
            yield node.id


def _first_line(part: _Function) -> int:
    return min([part.lineno, *(decorator.lineno for decorator in part.decorator_list)])
