"""The public names of the installed JAX; needs only JAX."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import types
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The modules that are searched for public names.
MODULES = (
    "jax", "jax.ad_checkpoint", "jax.custom_batching", "jax.custom_derivatives", "jax.custom_transpose", "jax.debug",
    "jax.distributed", "jax.dlpack", "jax.dtypes", "jax.errors", "jax.experimental", "jax.export", "jax.extend.core",
    "jax.flatten_util", "jax.image", "jax.lax", "jax.lax.linalg", "jax.monitoring", "jax.nn", "jax.nn.initializers",
    "jax.numpy", "jax.numpy.fft", "jax.numpy.linalg", "jax.profiler", "jax.random", "jax.scipy.fft",
    "jax.scipy.linalg", "jax.scipy.signal", "jax.scipy.special", "jax.scipy.stats", "jax.sharding", "jax.stages",
    "jax.tree", "jax.tree_util", "jax.typing", "jax.util",
)  # fmt: skip


def list_public_names() -> dict[str, list[str]]:
    """Return the public names of JAX's modules, by module; the entry "" holds JAX's version.

    A name is public if a module defines it, or imports it with an alias (`from a import b as b`), which is the
    convention of JAX and of type checkers. Missing modules, and names that JAX only keeps to report their deprecation,
    are left out.
    """
    import jax

    names: dict[str, list[str]] = {}
    experimental = importlib.import_module("jax.experimental")
    modules = [*MODULES, *(f"jax.experimental.{info.name}" for info in pkgutil.iter_modules(experimental.__path__))]
    for name in dict.fromkeys(modules):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = importlib.import_module(name)
                tree = ast.parse(inspect.getsource(module))
            except Exception:  # noqa: BLE001, S112 - the module is gone, or needs a missing package
                continue
        names[name] = sorted({defined for defined in list_defined(tree.body) if _is_public(module, defined)})
    names[""] = [jax.__version__]
    return names


def _is_public(module: types.ModuleType, name: str) -> bool:
    """Return whether a name of a module is public and not just an imported module."""
    value = module.__dict__.get(name)
    is_other = isinstance(value, types.ModuleType) and value.__name__ != f"{module.__name__}.{name}"
    return not name.startswith("_") and name in module.__dict__ and not is_other


def list_defined(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that the statements of a module define or re-export."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname for alias in statement.names if alias.asname)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(statement, ast.Try):
            yield from list_defined([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.If):
            # Names under TYPE_CHECKING do not exist at run time.
            checked = "TYPE_CHECKING" in ast.unparse(statement.test)
            yield from list_defined([*([] if checked else statement.body), *statement.orelse])


if __name__ == "__main__":
    print(json.dumps(list_public_names()))
