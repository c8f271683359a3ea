"""The task description for the release probe: a subject's location, its arguments, and its compile options."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import stablehlo, targets
from xla_inspect.compilation import PINNED, list_options
from xla_inspect.errors import InspectError
from xla_inspect.folders import find_project
from xla_inspect.releases import adapt_figures
from xla_inspect.spelling import suggest_file
from xla_inspect.subject.dump import is_dump
from xla_inspect.subject.loading import find_root, split_name
from xla_inspect.subject.saved import is_saved
from xla_inspect.subject.shapes import read_shapes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.releases import Environment
    from xla_inspect.subject.request import Request
    from xla_inspect.targets import Target


_INSTALLED = {"site-packages", "dist-packages", "bin", ".venv"}
"""Folders with this Python's installed packages, which another release must not import."""


class ReleaseTask:
    """A subject as the release probe needs it: its files and its target, from which `describe` makes a task.

    Args:
        request: The parsed subject and options.
        target: The short name of a target.

    Raises:
        InspectError: The subject does not exist, or cannot be compiled again with another release.
    """

    def __init__(self, request: Request, target: str) -> None:
        """Locate the files of the subject without importing the user's code."""
        self.request = request
        if request.mesh and ":" not in target:
            target = targets.place(target, math.prod(request.mesh.values()))
        self.target: Target = targets.find_target(target)
        word = request.words[0]
        if what := _name_kind(request):
            message = f"each release compiles a function anew, and {' '.join(request.words)!r} is {what}"
            message += "\nname a function: FILE.py:FUNCTION, or package.module:FUNCTION"
            raise InspectError(message)
        place, self.name = split_name(word)
        self.place = self._find_place(place)
        self.root = find_project(Path(self.place["folder"])) or Path(self.place["folder"])

    @property
    def file(self) -> str:
        """The user's file, or an empty string for a module."""
        return self.place["file"]

    @property
    def paths(self) -> list[str]:
        """The folders that the user's code is imported from."""
        own = [self.place["path"], str(Path.cwd())] if not self.file else [self.place["path"]]
        # An editable install adds folders of the user's project to `sys.path`, and the probe needs them too.
        here = [Path(entry).absolute() for entry in sys.path if entry]
        folders = [entry for entry in (*here, self.root / "src") if entry.is_relative_to(self.root) and entry.is_dir()]
        return list(dict.fromkeys([*own, *(str(folder) for folder in folders if not _INSTALLED & {*folder.parts})]))

    @property
    def flags(self) -> dict[str, str]:
        """The XLA flags of the probe's process by name: for a CPU the number of devices, at least 8; otherwise none."""
        # Unlike a capture, the probe fixes no other option: each release compiles as it does for the user here.
        count = max(int(self.target.topology or 1), 8) if self.target.kind == "cpu" else 0
        return {"xla_force_host_platform_device_count": str(count)} if count else {}

    def describe(self, environment: Environment, folder: Path, *, runs: bool = False, timed: int = 0) -> dict[str, Any]:
        """Return the task for one JAX release as a dictionary, which the release probe reads as JSON.

        Args:
            environment: The environment of the release.
            folder: The folder for its dumps and its result.
            runs: Whether to run the subject instead of compiling it with dumps.
            timed: The number of further compiles without dumps, to measure the compile time alone.
        """
        request, kind = self.request, self.target.kind
        plain = {**(PINNED[kind] if kind == "gpu" else {}), **request.xla}
        # The probe adds the folder of the dumps itself.
        dumps = {name: value for name, value in list_options(kind, folder).items() if name != "xla_dump_to"}
        return {
            "id": environment.version,
            "folder": str(folder),
            "file": self.place["file"],
            "module": self.place["module"],
            "root": str(self.root),
            "name": self.name,
            "args": self._list_args(),
            "args_from": self._find_maker(),
            "mesh": dict(request.mesh),
            "specs": [request.in_spec, request.out_spec],
            "vmap": request.vmap,
            "grad": request.grad,
            "jit": request.jit_options,
            "xla": dict(request.xla),
            "kind": kind,
            "target": self.target.name,
            "devices": int(self.target.topology or 1) if kind == "cpu" else 0,
            "topology": self._describe_topology(environment),
            "options": {**dumps, **plain},
            "plain_options": plain,
            "runs": runs,
            "timed": timed,
        }

    def _find_place(self, place: str) -> dict[str, str]:
        """Return a dictionary with the file, the module, the folder that contains it and the path to import it from.

        The file is empty if the user named a module; the module is empty for a file outside of any package.
        """
        if not place.endswith(".py"):
            root = Path.cwd()
            inside = Path(*place.split("."))
            there = [root / inside.with_suffix(".py"), root / inside / "__init__.py", root / "src" / inside]
            file = next((path for path in there if path.exists()), None)
            return {"file": "", "module": place, "folder": str(file.parent if file else root), "path": str(root)}
        path = Path(place).absolute()
        if not path.is_file():
            message = f"no file {place}{suggest_file(path)}"
            raise InspectError(message)
        root = find_root(path)
        parts = path.relative_to(root).with_suffix("").parts
        dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts) if root != path.parent else ""
        return {"file": str(path), "module": dotted, "folder": str(path.parent), "path": str(root)}

    def _list_args(self) -> list[Any] | None:
        if not self.request.args:
            return None
        return [[str(shape.dtype), list(shape.shape)] for shape in read_shapes(self.request.args)]

    def _find_maker(self) -> dict[str, str] | None:
        if not self.request.args_from:
            return None
        place, name = split_name(self.request.args_from)
        location = self._find_place(place)
        return {"file": location["file"], "module": location["module"], "name": name}

    def _describe_topology(self, environment: Environment) -> list[Any] | None:
        if self.target.kind == "cpu":
            return None
        figures = targets.read_spec(self.target.base) if self.target.kind == "gpu" else ""
        # A release rejects device data with fields that its plugin does not know.
        return [*targets.describe_topology(self.target, adapt_figures(figures, environment.plugin))]


def _name_kind(request: Request) -> str:
    """Return a description of a subject that is not a function, or an empty string for a function."""
    word = request.words[0]
    kinds = {
        "a script": request.is_script,
        "more than one": len(request.words) > 1,
        "a dump of one release": not request.is_script and is_dump(word),
        "a capture that was saved": is_saved(word),
        "StableHLO, which one release lowered": not request.is_script and stablehlo.find_file(word) is not None,
    }
    return next((kind for kind, is_it in kinds.items() if is_it), "")


def list_unknown(task: Mapping[str, Any], result: Mapping[str, Any]) -> list[str]:
    """Return the names of the user's own XLA options that a release does not know, from the result of its probe."""
    return [name for name in result.get("options_unknown", ()) if name in task["xla"]]
