"""The source text of a program's functions, cut out of their file: without imports, examples and main code."""

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
    from collections.abc import Callable

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Excerpt:
    """The part of a source file that a page shows.

    Attributes:
        file: The name of the file, relative to the project if the file is inside the project.
        text: The requested functions and the functions of the file that they call, in the order of the file.
        whole: The text of the whole file.
    """

    file: str
    text: str
    whole: str


def find_excerpts(*subjects: Capture | Callable[..., object]) -> list[Excerpt]:
    """Return one excerpt for each file that contains a requested program, in the order of the requests.

    Raises:
        ValueError: The file of a capture has no function of its program's name, or a function has no file.
    """
    requests: dict[str, tuple[str, list[str]]] = {}
    for subject in subjects:
        file, whole, name = _locate(subject)
        requests.setdefault(file, (whole, []))[1].append(name)
    return [Excerpt(file, _cut_out(file, whole, names), whole) for file, (whole, names) in requests.items()]


def _locate(subject: Capture | Callable[..., object]) -> tuple[str, str, str]:
    """Return the file of a program, its text and the function's name."""
    if isinstance(subject, Capture):
        return subject.source_file, subject.source, subject.program
    function = inspect.unwrap(subject)
    # A partial object has no code and no name of its own, and it may wrap another decorated function.
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
    """Return the unchanged text of the functions with these names and of the functions that they call."""
    functions = {part.name: part for part in ast.parse(whole).body if isinstance(part, _Function)}
    names_to_show: set[str] = set()
    for name in names:
        if name not in functions:
            message = f"{file or 'a program without a file'} has no function {name}"
            raise ValueError(message)
        names_to_show |= _reach(name, functions, names_to_show)
    lines = whole.splitlines()
    return "\n\n\n".join(
        "\n".join(lines[_first_line(part) - 1 : part.end_lineno])
        for name, part in functions.items()
        if name in names_to_show
    )


def _reach(name: str, functions: dict[str, _Function], known_names: set[str]) -> set[str]:
    """Return the visited names, the name of a function, and the names of all functions of the file that it uses."""
    visited, pending = set(known_names), [name]
    while pending:
        current = pending.pop()
        if current not in visited:
            visited.add(current)
            used = (node.id for node in ast.walk(functions[current]) if isinstance(node, ast.Name))
            pending.extend(name for name in used if name in functions)
    return visited


def _first_line(part: _Function) -> int:
    # Python's line number of a function is that of its `def`, which is below its decorators.
    return min([part.lineno, *(decorator.lineno for decorator in part.decorator_list)])
