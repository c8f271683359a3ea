"""Run what a program shows, once for each version of its files and of JAX, and keep what it returned."""

from __future__ import annotations

import ast
import json
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.capture import cache, targets
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGES = ("jax", "jaxlib", "numpy", "libtpu", "jax-cuda13-plugin")
"""What a run depends on besides its own files; a compiler that is missing counts too."""


def run(function: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Return what a module's function returns on this CPU, from the cache where nothing that it depends on changed.

    That is its module's file, those of the modules beside it that it imports, Python, JAX, NumPy, the compilers for GPU
    and TPU, the environment's XLA flags, this package and the processor's architecture. Tuples come back as lists.

    Raises:
        InspectError: The function stands in no module's file, or what it returns is nothing that JSON can hold.
    """
    targets.settle()
    module = sys.modules.get(function.__module__)
    file = getattr(module, "__file__", None)
    if not (file and getattr(module, function.__name__, None) is function):
        message = f"run() takes a function of a module, by its name there, and not {function!r}"
        raise InspectError(message)
    content = {
        "function": function.__qualname__,
        "files": {path.name: path.read_text(encoding="utf-8") for path in sorted(find_files(Path(file)))},
        "versions": {name: targets.find_version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "isa": targets.name_isa(),
        "flags": cache.ambient_flags({}),
    }
    return json.loads(cache.recall(content, lambda: _write(function)))


def _write(function: Callable[[], Any]) -> str:
    """Return what a function returns, as JSON."""
    try:
        return json.dumps(function())
    except (TypeError, ValueError) as error:
        message = f"{function.__module__}.{function.__name__} returns what JSON cannot hold ({error})"
        raise InspectError(message) from error


def find_files(file: Path) -> set[Path]:
    """Return a Python file and those beside it that it imports, directly or not, known by their names."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found.add(file)
        names = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {alias.name for alias in node.names}
                names.add((isinstance(node, ast.ImportFrom) and node.module) or "")
        beside = (file.with_name(f"{name.rpartition('.')[2]}.py") for name in names if name)
        waiting += [path for path in beside if path.is_file()]
    return found
