"""Cached results of functions that pages run, renewed when their files, JAX or the compilers change."""

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
"""The packages that a result depends on; a missing compiler counts as a version too."""


def recall_run(function: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Run a module's function on this CPU, and return its result; use the cache if its dependencies are unchanged.

    The dependencies are the module's file, the project's modules that it imports, but no data files, Python, JAX,
    NumPy, the compilers for GPU and TPU, the environment's XLA flags, this package and the processor's architecture.
    Tuples are returned as lists.

    Raises:
        InspectError: The function is not defined in a module's file, or JSON cannot represent its result.
    """
    targets.settle()
    module = sys.modules.get(function.__module__)
    file = getattr(module, "__file__", None)
    if not (file and getattr(module, function.__name__, None) is function):
        message = f"recall_run() needs a function of a module, accessible by its name, and not {function!r}"
        raise InspectError(message)
    path = Path(file)
    # Each dot in the module's name is one folder between its file and the folder that Python imports from.
    folder = path.parents[function.__module__.count(".")]
    # Other files in the folder may be written by the function itself, so they are no dependencies.
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
    """Call a function, and return its result as JSON; raise InspectError if JSON cannot represent it."""
    try:
        return json.dumps(function())
    except (TypeError, ValueError) as error:
        message = f"{function.__module__}.{function.__name__} returns a value that JSON cannot represent ({error})"
        raise InspectError(message) from error
