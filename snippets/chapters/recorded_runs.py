"""Run what a program shows, once for each version of its files and of JAX, and keep what it returned."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import targets
from xla_inspect.closure import find_files, hash_files, list_places
from xla_inspect.compilation import ambient_flags, recall_text
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGES = ("jax", "jaxlib", "numpy", "libtpu", "jax-cuda13-plugin")
"""What a run depends on besides its own files; a compiler that is missing counts too."""


def run_recorded(function: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Return what a module's function returns on this CPU, from the cache where nothing that it depends on changed.

    That is its module's file, the project's modules that it imports and the data that these name, Python, JAX, NumPy,
    the compilers for GPU and TPU, the environment's XLA flags, this package and the processor's architecture. Tuples
    come back as lists.

    Raises:
        InspectError: The function stands in no module's file, or what it returns is nothing that JSON can hold.
    """
    targets.settle()
    module = sys.modules.get(function.__module__)
    file = getattr(module, "__file__", None)
    if not (file and getattr(module, function.__name__, None) is function):
        message = f"run() takes a function of a module, by its name there, and not {function!r}"
        raise InspectError(message)
    path = Path(file)
    folder = path.parents[function.__module__.count(".")]
    # What else lies beside it may be what it writes.
    files = [source for source in find_files([path], list_places(folder)) if source.suffix == ".py"]
    content = {
        "function": function.__qualname__,
        "files": hash_files(files, folder),
        "versions": {name: targets.find_version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "isa": targets.name_isa(),
        "flags": ambient_flags({}),
    }
    return json.loads(recall_text(content, lambda: _write(function)))


def _write(function: Callable[[], Any]) -> str:
    """Return what a function returns, as JSON."""
    try:
        return json.dumps(function())
    except (TypeError, ValueError) as error:
        message = f"{function.__module__}.{function.__name__} returns what JSON cannot hold ({error})"
        raise InspectError(message) from error
