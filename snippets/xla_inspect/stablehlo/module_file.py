"""Files with StableHLO programs, alone, in a folder or in an archive; `FILE:FUNCTION` names one function."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from xla_inspect import dumps, folders
from xla_inspect.errors import InspectError
from xla_inspect.plural import plural

_LOOK = 64 << 10
_CODE = {".py", ".json", ".ipynb"}
_SEPARATOR = re.compile(r"^// -----.*$", re.MULTILINE)


@dataclass(frozen=True)
class StablehloFile:
    """A file with a program.

    Attributes:
        name: Its path, or its name in an archive.
        data: Its content.
        function: The function that the subject names, or an empty string.
        path: The file on disk, or None for a file in an archive.
    """

    name: str
    data: bytes
    function: str = ""
    path: Path | None = None

    @property
    def source_name(self) -> str:
        """The file's name in source locations: its path below the project around it, or its name in the archive."""
        if not self.path:
            return self.name
        return self.path.relative_to(folders.find_project(self.path.parent) or self.path.parent).as_posix()

    @property
    def text(self) -> str:
        """The content of a text of MLIR, whose lines are a program's source lines without others; else empty."""
        if dumps.BYTECODE in self.data[:_LOOK]:
            return ""
        return self.data.decode("utf-8-sig", "replace")

    @property
    def is_export(self) -> bool:
        """True for a file of `jax.export`, which has other data in front of the bytecode."""
        return dumps.BYTECODE in self.data[:_LOOK] and not self.data.startswith(dumps.BYTECODE)


def find_file(subject: str) -> StablehloFile | None:
    """Return the program that a subject names, or None if it names none with MLIR.

    A subject is `FILE` or `FILE:FUNCTION`. If a folder, an archive or a text has several programs, `:NAME` is between.

    Raises:
        InspectError: The file cannot be read, or several programs are there and none of them is named.
    """
    place, name = _split(subject)
    key, _, function = name.partition(":")
    programs = list_files(place, key)
    if "" in programs:
        return replace(programs[""], function=name)
    if not name and len(programs) == 1:
        (key,) = programs
    if key in programs:
        return replace(programs[key], function=function)
    # Another name is that of a module in a file with HLO.
    if not programs or (name and not dumps.is_mlir_file(Path(place))):
        return None
    message = f"{place} holds {plural(len(programs), 'program')}; name one of them, such as {place}:{min(programs)}"
    raise InspectError(message)


def has_programs(place: str) -> bool:
    """Return whether a folder or an archive has a SavedModel, or files with MLIR and none that XLA dumped."""
    path = Path(place)
    is_place = path.is_dir() or (path.is_file() and dumps.is_archive(path))
    return (path / "saved_model.pb").is_file() or (is_place and bool(list_files(place)))


def list_files(place: str, name: str = "") -> dict[str, StablehloFile]:
    """Return the programs in a file, in a text with separators, or in a folder or an archive, by name.

    The only program of a file has an empty name. Next to a dump, only the file with the given name is listed.

    Raises:
        InspectError: The file, folder or archive cannot be read.
    """
    path = Path(place)
    if path.is_file() and not dumps.is_archive(path):
        return _read(path) if path.suffix not in _CODE and dumps.is_mlir_file(path) else {}
    if not path.exists():
        return {}
    files = dumps.Files.from_folder(path) if path.is_dir() else dumps.Files.from_archive(path)
    is_dump = any(dumps.FILE.fullmatch(name.rpartition("/")[2]) for name in files.names)
    names = [file for file in files.names if file.lower().endswith(dumps.ENDINGS) and (not is_dump or file == name)]
    return {
        name: StablehloFile(name, data, path=path / name if path.is_dir() else None)
        for name, data in files.read_many(names)
        if dumps.is_mlir(data)
    }


def _split(subject: str) -> tuple[str, str]:
    """Return the path that a subject begins with, which may have colons, and the rest after a colon."""
    place, name = subject, ""
    while not Path(place).exists() and ":" in place:
        place, _, part = place.rpartition(":")
        name = f"{part}:{name}" if name else part
    return place, name


def _read(path: Path) -> dict[str, StablehloFile]:
    try:
        file = StablehloFile(str(path), dumps.to_utf8(path.read_bytes()), path=path.absolute())
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise InspectError(message) from error
    parts = _list_parts(file.text)
    if parts == [file.text]:
        return {"": file}
    files = [replace(file, data=part.encode()) for part in parts]
    return {"": files[0]} if len(files) == 1 else {str(number): part for number, part in enumerate(files, 1)}


def _list_parts(text: str) -> list[str]:
    """Return the programs in a text, each with the numbers of its lines, or only the text if it is a program itself."""
    if blocks := [block for block in dumps.list_fenced(text) if dumps.is_mlir(block.encode())]:
        parts, end = [], 0
        for block in blocks:
            # Lines are those of the file, also without the signs of a quotation in front of them.
            end = max(text.find(block.partition("\n")[0], end), end)
            parts.append("\n" * text.count("\n", 0, end) + block)
            end += 1
        return parts
    starts = [0, *(match.end() for match in _SEPARATOR.finditer(text))]
    if len(starts) == 1:
        return dumps.unwrap_mlir(text)
    parts = ["\n" * text.count("\n", 0, at) + _SEPARATOR.split(text[at:], 1)[0] for at in starts]
    return [part for part in parts if dumps.is_mlir(part.encode())]
