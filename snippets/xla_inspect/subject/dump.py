"""Dumped modules as subjects, from a folder, an archive or a file that XLA wrote, possibly on another machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect import compilation, dumps
from xla_inspect.errors import InspectError
from xla_inspect.spelling import suggest_file
from xla_inspect.subject.subject import Subject

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.dumps import DumpedModule
    from xla_inspect.subject.request import Request


def is_dump(subject: str) -> bool:
    """Return whether a subject names a dump or a module of a dump, and not a function."""
    # This test comes first because it needs no import, and most subjects are files of Python.
    if subject.rpartition(":")[0].endswith(".py"):
        return False
    if (split := dumps.split_dump(subject)) is None:
        return False
    from xla_inspect import stablehlo

    return bool(split[1]) or not stablehlo.has_programs(split[0])


def open_dump(subject: str) -> tuple[dumps.Files, tuple[DumpedModule, ...], str, str]:
    """Return a dump's files, its modules, its path without the module's name, and that name or an empty string.

    Raises:
        InspectError: The dump cannot be read, or has no module.
    """
    split = dumps.split_dump(subject)
    if split is None:
        message = (
            f"{subject} is no folder and no file of a dump; read lists dumps, and the other commands take functions"
        )
        raise InspectError(message)
    path, module = split
    files, modules = _open(path)
    return files, modules, path, module


def _open(path: str) -> tuple[dumps.Files, tuple[DumpedModule, ...]]:
    place = Path(path)
    try:
        if place.is_dir():
            files = dumps.Files.from_folder(place)
        elif not place.is_file():
            message = (
                f"there is no file or folder {path}{suggest_file(place)}"
                if not place.exists()
                else f"{path} is no plain file"
            )
            raise InspectError(message)
        else:
            files = dumps.Files.from_archive(place) if dumps.is_archive(place) else dumps.Files.from_file(place)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise InspectError(message) from error
    return files, dumps.list_modules(files)


def read_dump(request: Request) -> Subject:
    """Return the subject for a module of a dump, or for all of its modules if the whole dump is requested.

    Raises:
        InspectError: The dump cannot be read, the module is missing or ambiguous, or an option needs a new compile.
    """
    path_text = request.words[0]
    for option, value in (
        ("xla", request.xla),
        ("args", request.args),
        ("donate", request.donate),
        ("grad", request.grad),
    ):
        if value:
            message = f"{path_text} is a dump, which --{option} cannot compile again; name the function instead"
            raise InspectError(message)
    files, modules, path, name = open_dump(path_text)
    if request.whole:
        if name:
            message = f"this command takes the whole dump: {path}, not {path_text}"
            raise InspectError(message)
        if not (compiled := [module for module in modules if module.stage != "none"]):
            message = f"{path} has no HLO module, but only memory plans or parts of them, which answer memory alone"
            raise InspectError(message)
        return Subject(files.title, origin="a dump", modules=compiled)
    module = dumps.pick_module(modules, name, path)
    capture = read_module(files, module)
    subject = Subject(module.name, saved={capture.target: capture}, origin="a dump", axes=request.mesh)
    place = Path(path, module.profile) if Path(path).is_dir() else Path(path)
    # A profile in an archive cannot be mapped into memory.
    subject.profile = place if place.name == Path(module.profile).name else None
    return subject


def read_module(files: dumps.Files, module: DumpedModule) -> Capture:
    """Return the capture of a module, with the assembly of a CPU's kernels if it is available.

    Raises:
        InspectError: The files have no module, or one that cannot be parsed.
    """
    capture = dumps.read_capture(files, module, disassemble=compilation.collect_assembly)
    # A module is parsed on demand, so without this check an error would appear in the middle of an answer.
    dumps.check_module(files, module, capture)
    return capture
