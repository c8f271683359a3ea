"""The exercises as data: each a Python file with a place to write in, hints at its end, and a solution kept apart."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from xla_inspect.capture import folders
from xla_inspect.errors import InspectError
from xla_inspect.practice.phases import CHECKED

MARK = "TODO(human)"
"""What stands where the reader writes."""

BESIDE = Path(__file__).parents[3] / "practice"
"""Where the exercises lie in a clone of the project."""

_NUMBERED = re.compile(r"^\d\. ", re.MULTILINE)

_NAMES = {
    "basics": ("mlp", "gradient", "pairwise", "compile_once"),
    "jaxpr": ("primitives", "follow", "from_jaxpr"),
    "hlo": ("read_dump", "one_fusion", "constants", "donate"),
    "optimization": ("categories", "find_pass", "vanish", "predict_kernels"),
    "transforms": ("count_products", "per_example", "hessian_vector"),
    "capstone": ("model",),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the reader is to write.

    Attributes:
        name: The function or the answer that is missing.
        line: The one-based line of the file.
    """

    name: str
    line: int


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes:
        phase: The phase that it belongs to, one of `phases.CHECKED`.
        name: Its name in the phase, that of its file.
        folder: The folder that holds the phases' folders, and the solutions in one of their own.
    """

    phase: str
    name: str
    folder: Path = BESIDE

    @property
    def key(self) -> str:
        """The phase and the name, as in `hlo/donate`."""
        return f"{self.phase}/{self.name}"

    @property
    def file(self) -> Path:
        """The file that the reader edits."""
        return self.folder / self.phase / f"{self.name}.py"

    @property
    def solution(self) -> Path:
        """The file with the reference solution."""
        return self.folder / "solutions" / self.phase / f"{self.name}.py"

    @cached_property
    def text(self) -> str:
        """The text of the file.

        Raises:
            InspectError: It cannot be read.
        """
        return _read(self.file)

    @property
    def solution_text(self) -> str:
        """The text of the reference solution.

        Raises:
            InspectError: It cannot be read.
        """
        return _read(self.solution)

    @cached_property
    def tree(self) -> ast.Module:
        """The file as Python reads it.

        Raises:
            SyntaxError: It is no Python.
            InspectError: It cannot be read.
        """
        return ast.parse(self.text, filename=str(self.file))

    @property
    def title(self) -> str:
        """What is to be done, in one sentence: the first line of the file."""
        return (ast.get_docstring(self.tree) or self.name).splitlines()[0]

    @property
    def task(self) -> str:
        """The task in Markdown: the rest of what the file says of itself."""
        return (ast.get_docstring(self.tree) or "").partition("\n")[2].strip("\n")

    @property
    def hints(self) -> tuple[str, ...]:
        """The hints at the end of the file in Markdown, each of which says more than the one before."""
        found = [node.value for node in self.tree.body if isinstance(node, ast.Assign) and _names(node) == ["HINTS"]]
        text = str(ast.literal_eval(found[0])) if found else ""
        return tuple(" ".join(hint.split()) for hint in _NUMBERED.split(text)[1:])

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Where something is still to be written: functions that raise NotImplementedError, and answers that are None.

        Raises:
            SyntaxError: The file is no Python.
            InspectError: It cannot be read.
        """
        found = []
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef):
                found += [Place(node.name, line.lineno) for line in node.body if _is_missing(line)]
            elif isinstance(node, ast.Assign | ast.AnnAssign) and _is_none(node.value):
                found += [Place(name, node.lineno) for name in _names(node)]
        return tuple(found)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"{name_file(file)} is gone; get it back with `git checkout {name_file(file)}`"
        raise InspectError(message) from None
    except (OSError, UnicodeDecodeError) as error:
        message = f"{name_file(file)} cannot be read: {error}"
        raise InspectError(message) from error


def _is_missing(node: ast.stmt) -> bool:
    """Return whether a statement raises NotImplementedError, with or without words."""
    raised = node.exc if isinstance(node, ast.Raise) else None
    raised = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(raised, ast.Name) and raised.id == NotImplementedError.__name__


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def name_file(file: Path) -> str:
    """Return a file's path from the working folder where it lies there, else from the project, else all of it."""
    roots = (Path.cwd(), folders.find_project(file.parent))
    root = next((root for root in roots if root and file.is_relative_to(root)), None)
    return (file.relative_to(root) if root else file).as_posix()


EXERCISES = tuple(Exercise(phase, name) for phase, names in _NAMES.items() for name in names)
"""All exercises, in order."""


def find_exercises(phase: str, folder: Path | None = None) -> tuple[Exercise, ...]:
    """Return the exercises of a phase, which may also be given by its number (`capstone` comes after the last).

    Raises:
        InspectError: There is no such phase; the message lists those that there are.
    """
    wanted = phase.strip().lower().replace("-", "_")
    if wanted.isdecimal() and 1 <= int(wanted) <= len(CHECKED):
        wanted = CHECKED[int(wanted) - 1]
    if wanted not in CHECKED:
        message = f"no phase is called {phase!r}; there are {', '.join(CHECKED)}, or their numbers 1 to {len(CHECKED)}"
        raise InspectError(message)
    return tuple(replace(each, folder=folder or each.folder) for each in EXERCISES if each.phase == wanted)
