"""Answers planted in copies of the exercises, and their marks."""

from __future__ import annotations

import ast
import shutil
from typing import TYPE_CHECKING

from xla_inspect.practice.marking.exercises import EXERCISES, FOLDER, Exercise

if TYPE_CHECKING:
    from pathlib import Path

BY_KEY = {exercise.key: exercise for exercise in EXERCISES}


def copy_all(folder: Path) -> Path:
    """Copy all unsolved exercises below a folder, and return their folder."""
    copied = folder / "practice"
    shutil.copytree(FOLDER, copied, ignore=shutil.ignore_patterns("__pycache__"))
    return copied


def solve(folder: Path) -> None:
    """Replace the files of the exercises in a folder with their solutions."""
    for exercise in EXERCISES:
        here = Exercise(exercise.phase, exercise.name, folder)
        shutil.copy(here.solution, here.file)


def plant(key: str, folder: Path, answer: str) -> Exercise:
    """Write an exercise into a folder, with functions and answers replaced by those of `answer`."""
    exercise = BY_KEY[key]
    planted = Exercise(exercise.phase, exercise.name, folder / "practice", FOLDER)
    planted.file.parent.mkdir(parents=True)
    replaced = {name for node in ast.parse(answer).body for name in find_names(node)}
    lines = exercise.text.splitlines()
    for node in exercise.tree.body:
        if not replaced.isdisjoint(find_names(node)):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    planted.file.write_text("\n".join([*lines, answer]), encoding="utf-8")
    return planted


def find_names(node: ast.stmt) -> set[str]:
    """Return the names that a statement of a module binds, imports left out."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
