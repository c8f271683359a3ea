"""The program that an edit compiles: a function of a module with the page's arguments and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.play.argument_text import read_arguments
from xla_inspect.subject import Request, find_listed, find_named, read_flags, read_member, read_mesh, takes_nothing
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from xla_inspect.subject import Subject

PREFIXES = {"xla_cpu_": "cpu", "xla_gpu_": "gpu", "xla_tpu_": "tpu"}
"""The kind of target for each prefix of options that only its compiler accepts."""


def find_subject(module: ModuleType, file: str, name: str, arguments: str, options: Mapping[str, Any]) -> Subject:
    """Return the function of a module that the page selected, with its arguments and options, ready to compile.

    Args:
        module: The module with the reader's code.
        file: The module's name in error messages.
        name: The name of a function, or of one of the module's PROGRAMS.
        arguments: The arguments as text, see `read_arguments`; if empty, those of EXAMPLE.
        options: The options that the page sends.

    Raises:
        InspectError: The function or its arguments are missing, or they do not fit each other.
    """
    if not name:
        message = "there is no function to compile; write one, as in `def f(x): return x + 1`"
        raise InspectError(message)
    programs = getattr(module, "PROGRAMS", {})
    entry = find_listed(module, name)
    listed = isinstance(programs, dict) and entry in programs
    bound = None
    if arguments.strip():
        program = programs[entry] if listed else None
        function = (
            (program[0] if isinstance(program, tuple) else program.function)
            if program
            else find_named(module, name, file)
        )
        bound = read_arguments(arguments, function, vars(module))
    elif (
        not listed
        and not (hasattr(module, "EXAMPLE") or hasattr(module, "EXAMPLE_KWARGS"))
        # This call raises the error about a missing function, which is more useful than one about missing arguments.
        and not takes_nothing(find_named(module, name, file))
    ):
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
    return read_member(request, module, file, name, bound)


def choose_options(subject: Subject, target: str) -> dict[str, str | int | bool]:
    """Return the XLA options of a program that apply to a target, leaving out those of other kinds of target."""
    own = find_target(target).kind
    return {
        name: value
        for name, value in subject.options.items()
        if next((kind for prefix, kind in PREFIXES.items() if name.startswith(prefix)), own) == own
    }
