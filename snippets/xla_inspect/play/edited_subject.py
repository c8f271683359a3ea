"""The program that an edit asks about: a function of a module with the page's arguments and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.play.argument_text import read_arguments
from xla_inspect.subject import Request, find_listed, find_named, read_flags, read_member, read_mesh
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from xla_inspect.subject import Subject

PREFIXES = {"xla_cpu_": "cpu", "xla_gpu_": "gpu", "xla_tpu_": "tpu"}
"""The prefixes of options that only one kind of compiler knows."""


def find_subject(module: ModuleType, file: str, name: str, arguments: str, options: Mapping[str, Any]) -> Subject:
    """Return the program.

    Args:
        module: The module.
        file: What errors call it.
        name: The function's name, or that of one of its PROGRAMS.
        arguments: The arguments as text, see `read_arguments`; those of EXAMPLE where it is empty.
        options: What the page sends.

    Raises:
        InspectError: The function or its arguments are missing, or do not go together.
    """
    if not name:
        message = "there is no function to compile; write one, as in `def f(x): return x + 1`"
        raise InspectError(message)
    programs = getattr(module, "PROGRAMS", {})
    entry = find_listed(module, name)
    listed = isinstance(programs, dict) and entry in programs
    given = None
    if arguments.strip():
        held = programs[entry] if listed else None
        found = (held[0] if isinstance(held, tuple) else held.function) if held else find_named(module, name, file)
        given = read_arguments(arguments, found, vars(module))
    elif not listed and not (hasattr(module, "EXAMPLE") or hasattr(module, "EXAMPLE_KWARGS")):
        find_named(module, name, file)
        message = (
            "with which arguments? Write their shapes, as in x: f32[64,128], or let the file say "
            f"EXAMPLE = (...) for {name}"
        )
        raise InspectError(message)
    request = Request(
        (f"{file}:{name}",),
        mesh=read_mesh(options.get("mesh") or ""),
        donate=tuple(map(str, options.get("donate") or ())),
        static=tuple(map(str, options.get("static") or ())),
        grad=bool(options.get("grad")),
        vmap=int(options.get("vmap") or 0),
        xla=read_flags([f"{key}={value}" for key, value in (options.get("flags") or {}).items()]),
    )
    return read_member(request, module, file, name, given)


def choose_options(subject: Subject, target: str) -> dict[str, str | int | bool]:
    """Return those of a program's options of XLA that the compiler for a target can know."""
    own = find_target(target).kind
    return {
        name: value
        for name, value in subject.options.items()
        if next((kind for prefix, kind in PREFIXES.items() if name.startswith(prefix)), own) == own
    }
