"""Subjects for programs that exist as StableHLO, which are compiled like functions."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xla_inspect import stablehlo
from xla_inspect.errors import InspectError
from xla_inspect.subject import frameworks
from xla_inspect.subject.asked_function import apply_options, hide_frames, read_member
from xla_inspect.subject.subject import Call, Subject
from xla_inspect.targets import settle
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.subject.request import Request


class StablehloSubject(Subject):
    """The subject of a file with a StableHLO program; its captures have the lines of all files that it names."""

    def __init__(self, file: stablehlo.StablehloFile, call: Call, request: Request) -> None:
        """Store the arguments without compiling."""
        super().__init__(call.function.__name__, call, options=request.xla)
        self._texts = {file.source_name: file.text} if file.text else {}

    def _capture(self, target: str, settings: dict[str, Any], parts: Mapping[str, bool]) -> Capture:
        result = super()._capture(target, settings, parts)
        # The files of a framework are often on another machine, and the lines in them are known without their texts.
        sources = {**dict.fromkeys(result.files, ""), **result.sources, **self._texts}
        return result.retold(sources=sources)


def read_stablehlo(request: Request) -> Subject | None:
    """Return the subject for a file with a StableHLO program, or None if the request names no such file.

    Raises:
        InspectError: The file cannot be parsed, a size is missing, or an option needs the Python function.
    """
    word = request.words[0]
    if model := frameworks.load_saved_model(word):
        return read_member(request, *model)
    file = stablehlo.find_file(word)
    if file is None:
        return None
    for option in ("grad", "vmap", "static", "args", "args_from"):
        if getattr(request, option):
            message = (
                f"--{option.replace('_', '-')} needs the Python function, and {file.name} has only its StableHLO, with "
                "the shapes of its arguments; export the changed function, or give open sizes with --dim NAME=SIZE"
            )
            raise InspectError(message)
    settle()
    hide_frames()
    program = stablehlo.read_module(file)
    if program.axes and request.mesh and dict(request.mesh) != dict(program.axes):
        axes = ",".join(f"{axis}={size}" for axis, size in program.axes.items())
        message = f"{file.name} is partitioned over the mesh {axes}; leave out --mesh, or export it for the other mesh"
        raise InspectError(message)
    if program.platforms:
        print_note(
            f"{file.name} was exported for {', '.join(program.platforms)}; other targets compile the same program"
        )
    elif b"_platform_index" in program.bytecode:
        print_note(f"{file.name} has the branches of several platforms, and an argument that selects one of them")
    if program.elided:
        print_note(f"{file.name} omits the values of constants, which are arguments here: {', '.join(program.elided)}")
    call = Call(*stablehlo.make_call(program, request.dims, file.name))
    # Donations of the command are added to those of the program, all as numbers, because JAX does not join the two.
    names = [*inspect.signature(call.function).parameters]
    donated = [str(names.index(text)) if text in names else text for text in request.donate]
    own = map(str, call.settings.get("donate_argnums", ()))
    call = apply_options(replace(request, donate=(*own, *donated)), call)
    return StablehloSubject(file, replace(call, file=file.path if file.text else None), request)
