"""What a program's file offers to compile: its own function with an EXAMPLE, or several programs under names."""

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
    """A program that a file offers.

    Attributes:
        name: What the file calls it, or an empty string where it is the function that was asked for.
        function: The function.
        example: The arguments it is compiled for.
        arguments: What else its capture is told.
        only: The short names of the targets that it is for, or nothing where it is for any.
    """

    name: str
    function: Callable[..., Any]
    example: tuple[Any, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()


def list_program_members(module: ModuleType, function: str) -> dict[str, Member]:
    """Return the programs that a file offers by name, in the order of the file.

    That is its own function with EXAMPLE, under an empty name, or else each of PROGRAMS: a pair of a function and its
    example, or what has `function`, `example` and `arguments`. ONLY names the targets of some of them, ARGUMENTS is
    what each capture is told besides, and LAYOUTS the same by name, for a function that is spread over devices in
    several ways.

    Args:
        module: The file's module.
        function: The name of its own function.

    Raises:
        InspectError: It has a function and no EXAMPLE.
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
    """Return a function of a file with the file's EXAMPLE and ARGUMENTS.

    Args:
        module: The file's module.
        function: The function's name.
        file: What an error calls the file.

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
    """Return the names that a file defines, without running it."""
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
