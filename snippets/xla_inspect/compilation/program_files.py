"""The programs that a Python file offers to compile: its own function with an EXAMPLE, or named programs."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import ModuleType


@dataclass(frozen=True)
class Member:
    """One program in a file.

    Attributes:
        name: Its name in the file, or an empty string for the requested function.
        function: The function.
        example: The arguments that it is compiled for.
        arguments: Further keyword arguments of `capture` for it.
        only: The short names of its targets; empty if it is for any target.
    """

    name: str
    function: Callable[..., Any]
    example: tuple[Any, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()


def list_program_members(module: ModuleType, function: str) -> dict[str, Member]:
    """Return the programs of an imported file by name, in the order of the file.

    These are either the file's own function with EXAMPLE, under an empty name, or the entries of PROGRAMS: each a pair
    of a function and its example, or an object with `function`, `example` and `arguments`. ONLY restricts the targets
    of some programs, and ARGUMENTS has further arguments of each capture. LAYOUTS has such arguments by name, for a
    function that is sharded in several ways.

    Args:
        module: The file's module.
        function: The name of its own function.

    Raises:
        InspectError: The file has the function but no EXAMPLE.
    """
    arguments, only = getattr(module, "ARGUMENTS", {}), getattr(module, "ONLY", {})
    members = {}
    if hasattr(module, function):
        own = find_function(module, function)
        layouts = {
            name: Member(name, own.function, own.example, settings) for name, settings in _read(module, "LAYOUTS")
        }
        members = {"": own, **layouts}
    else:
        for name, entry in _read(module, "PROGRAMS"):
            program, example = entry if isinstance(entry, tuple) else (entry.function, entry.example)
            settings = {**arguments, **getattr(entry, "arguments", {})}
            members[name] = Member(name, program, example, settings, tuple(only.get(name, ())))
    return members


def find_function(module: ModuleType, function: str, file: str = "") -> Member:
    """Return a function of an imported file as a program, with the file's EXAMPLE and ARGUMENTS.

    Args:
        module: The file's module.
        function: The function's name.
        file: The file's name in error messages.

    Raises:
        InspectError: The file has no such function, or no EXAMPLE.
    """
    file, program = file or module.__file__ or module.__name__, getattr(module, function, None)
    if not callable(program):
        names = sorted(key for key, value in vars(module).items() if callable(value) and not key.startswith("_"))
        message = f"{file} has no function {function!r}; it has {', '.join(names) or 'none'}"
        raise InspectError(message)
    example = getattr(module, "EXAMPLE", None)
    if not isinstance(example, tuple):
        message = f"{file} does not say with which arguments: let EXAMPLE be a tuple of them, shapes are enough"
        raise InspectError(message)
    return Member("", program, example, getattr(module, "ARGUMENTS", {}))


def list_defined_names(file: Path) -> set[str]:
    """Return the names of a file's top-level functions and variables, without running the file."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def _read(module: ModuleType, name: str) -> Any:  # noqa: ANN401 - pairs of a name and what the file gives under it
    return getattr(module, name, {}).items()
