"""The exercises as data: each is a Python file to complete, with hints and a solution in other files."""

from __future__ import annotations

import ast
import shlex
import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from xla_inspect import folders
from xla_inspect.errors import InspectError
from xla_inspect.installation import CHECKOUT, run_line
from xla_inspect.practice.phases import CHECKED
from xla_inspect.spelling import list_nearest

MARK = "TODO(human)"
"""The text that marks the place where the reader writes."""

FOLDER = CHECKOUT / "snippets" / "practice" if CHECKOUT else Path("practice")
"""The default folder of the exercises: in the project's checkout, or else below the working folder."""

LEVELS = 5
"""The level of the most difficult exercise; that of the easiest is 1."""

# The name, the approximate minutes for a beginner, and the level.
_LISTED = {
    "basics": (("mlp", 2, 1), ("gradient", 1, 1), ("pairwise", 3, 2), ("compile_once", 3, 2)),
    "jaxpr": (("primitives", 4, 3), ("follow", 5, 3), ("from_jaxpr", 3, 2)),
    "hlo": (("read_dump", 5, 3), ("one_fusion", 5, 3), ("constants", 1, 1), ("donate", 3, 2)),
    "optimization": (("categories", 2, 1), ("find_pass", 5, 3), ("vanish", 4, 3), ("predict_kernels", 2, 2)),
    "transforms": (("count_products", 2, 2), ("per_example", 3, 2), ("hessian_vector", 3, 2)),
    "puzzles": (
        ("softmax", 10, 4),
        ("history", 8, 4),
        ("layer_norm", 10, 4),
        ("narrow", 8, 4),
        ("cache", 6, 4),
        ("attention", 12, 4),
        ("remat", 12, 4),
        ("embedding", 6, 4),
        ("hoist", 8, 4),
        ("sharded", 12, 4),
    ),
    "capstone": (("model", 25, LEVELS), ("diagnose", 25, LEVELS)),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A place where the reader has to write.

    Attributes:
        name: The name of the missing function or answer.
        line: The one-based line of the file.
    """

    name: str
    line: int


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes:
        phase: Its phase, one of `phases.CHECKED`.
        name: Its name in the phase, which is the name of its file.
        folder: The folder that contains the folders of the phases and of the solutions.
        originals: The folder with the original files, if `folder` contains only the reader's file.
        minutes: The approximate time that it takes.
        level: Its difficulty, from 1 to `LEVELS`.
    """

    phase: str
    name: str
    folder: Path = FOLDER
    originals: Path | None = None
    minutes: int = 0
    level: int = 0

    @property
    def key(self) -> str:
        """The phase and the name, such as `hlo/donate`."""
        return f"{self.phase}/{self.name}"

    @property
    def file(self) -> Path:
        """The file that the reader edits."""
        return self.folder / self.phase / f"{self.name}.py"

    @property
    def solution(self) -> Path:
        """The file with the reference solution."""
        return (self.originals or self.folder) / "solutions" / self.phase / f"{self.name}.py"

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
        """The syntax tree of the file.

        Raises:
            SyntaxError: It is no Python.
            InspectError: It cannot be read.
        """
        return ast.parse(self.text, filename=str(self.file))

    @property
    def title(self) -> str:
        """The first line of the file's docstring: the task in one sentence."""
        return (ast.get_docstring(self.tree) or self.name).splitlines()[0]

    @property
    def safe_title(self) -> str:
        """The title, or an empty string if the file is missing or is not valid Python."""
        try:
            return self.title
        except (SyntaxError, ValueError, InspectError):
            return ""

    @property
    def task(self) -> str:
        """The rest of the file's docstring: the task in Markdown."""
        return (ast.get_docstring(self.tree) or "").partition("\n")[2].strip("\n")

    @property
    def hints(self) -> tuple[str, ...]:
        """Hints in Markdown, each more detailed than the previous one."""
        return tuple(" ".join(hint.split()) for hint in self._guidance.get("hints", ()))

    @property
    def learnt(self) -> str:
        """The lesson of the exercise, in Markdown."""
        return str(self._guidance.get("learnt", ""))

    @property
    def _guidance(self) -> dict[str, Any]:
        """The hints and the lesson from the phase's file, or from the project's if the folder has none."""
        files = [folder / "hints" / f"{self.phase}.toml" for folder in (self.originals or self.folder, FOLDER)]
        file = next((file for file in files if file.is_file()), None)
        entries: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8")) if file else {}
        return dict(entries.get(self.name, {}))

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The places that are not written yet: functions that raise NotImplementedError, and answers that are None.

        Raises:
            SyntaxError: The file is no Python.
            InspectError: It cannot be read.
        """
        open_places = []
        for name, node in self._bound.items():
            if isinstance(node, ast.FunctionDef):
                open_places += [Place(name, line.lineno) for line in _reached(node.body) if _is_missing(line)]
            elif isinstance(node.value, ast.Constant) and node.value.value is None:
                open_places.append(Place(name, node.lineno))
        return tuple(open_places)

    @property
    def leftovers(self) -> tuple[Place, ...]:
        """The unreachable lines that raise NotImplementedError after the reader's code.

        Raises:
            SyntaxError: The file is no Python.
            InspectError: It cannot be read.
        """
        functions = [(name, node.body) for name, node in self._bound.items() if isinstance(node, ast.FunctionDef)]
        return tuple(
            Place(name, line.lineno)
            for name, body in functions
            for line in body[len(_reached(body)) :]
            if _is_missing(line)
        )

    @property
    def _bound(self) -> dict[str, ast.FunctionDef | ast.Assign | ast.AnnAssign]:
        """The statement that last binds each name at the top level of the file, by name."""
        bindings: dict[str, ast.FunctionDef | ast.Assign | ast.AnnAssign] = {}
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef):
                bindings[node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                bindings |= dict.fromkeys(_names(node), node)
        return bindings


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"{name_file(file)} is missing; restore it with `git checkout {name_file(file)}`"
        raise InspectError(message) from None
    except (OSError, UnicodeDecodeError) as error:
        message = f"{name_file(file)} cannot be read: {error}"
        raise InspectError(message) from error


def _reached(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a block up to and including the first one that always leaves it."""
    return body[: next((at for at, node in enumerate(body, 1) if _leaves(node)), len(body))]


def _leaves(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return bool(node.orelse) and _leaves(node.body[-1]) and _leaves(node.orelse[-1])
    return isinstance(node, ast.Return | ast.Raise) or (isinstance(node, ast.With) and _leaves(node.body[-1]))


def _is_missing(node: ast.stmt) -> bool:
    """Return whether a statement raises NotImplementedError, with or without words."""
    raised = node.exc if isinstance(node, ast.Raise) else None
    raised = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(raised, ast.Name) and raised.id == NotImplementedError.__name__


def _names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)]


def check_line(*names: str, folder: Path = FOLDER) -> str:
    """Return the commands that mark exercises or phases of a folder, one line for each name."""
    return "\n".join(_write_line("--check", name, folder) for name in names)


def option_line(option: str, exercise: Exercise) -> str:
    """Return the command with an option for an exercise, such as `--hint`."""
    return _write_line(option, exercise.key, exercise.folder)


def _write_line(option: str, name: str, folder: Path) -> str:
    here = folder.absolute()
    typed = here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here
    where = "" if folder == FOLDER else f" --exercises {shlex.quote(typed.as_posix())}"
    return run_line(f"python -m xla_inspect.main {option} {name}{where}")


def name_file(file: Path) -> str:
    """Return a file's path relative to the working folder or to its project, or else the unchanged path."""
    roots = (Path.cwd(), folders.find_project(file.parent))
    root = next((root for root in roots if root and file.is_relative_to(root)), None)
    return (file.relative_to(root) if root else file).as_posix()


EXERCISES = tuple(
    Exercise(phase, name, minutes=minutes, level=level)
    for phase, listed in _LISTED.items()
    for name, minutes, level in listed
)
"""All exercises, in order."""

ALL = "all"
"""The name that selects all phases."""


def find_exercises(selector: str, folder: Path | None = None) -> tuple[Exercise, ...]:
    """Return the exercises that a selector names: all of them, those of a phase, or one.

    Args:
        selector: A phase by its name or number (the capstone comes last), `all`, or an exercise: its
            name, alone or after its phase's name as in `basics/mlp`, or the path of its file.
        folder: The folder of the exercises, by default `FOLDER`.

    Raises:
        InspectError: There is no such phase or exercise; the message lists all of them.
    """
    name = Path(selector.strip().lower().replace("-", "_").replace("\\", "/")).as_posix().removesuffix(".py")
    if name.isdecimal() and 1 <= int(name) <= len(CHECKED):
        name = CHECKED[int(name) - 1]
    exercises = [
        exercise
        for exercise in EXERCISES
        if name in {ALL, exercise.phase, exercise.name} or f"/{name}".endswith(f"/{exercise.key}")
    ]
    if not exercises:
        keys = [exercise.key for exercise in EXERCISES]
        near = list_nearest(name, [*CHECKED, *keys, *(exercise.name for exercise in EXERCISES)])
        message = (
            f"no phase and no exercise is called {selector!r}"
            + (f"; did you mean {near[0]}?" if near else ".")
            + f" The phases are {', '.join(CHECKED)}, or their numbers 1 to {len(CHECKED)}; "
            f"the exercises are {', '.join(keys)}"
        )
        raise InspectError(message)
    return tuple(replace(exercise, folder=folder or exercise.folder) for exercise in exercises)
