"""A read-only set of named files: a folder, an archive, or files that a browser received."""

from __future__ import annotations

import codecs
import gzip
import os
import shlex
import stat
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

MOST_FILES = 200_000
"""The maximum number of files in a set."""

MOST_BYTES = 1 << 30
"""The maximum number of bytes to read from one file."""

DEEPEST = 12
"""The maximum nesting depth of folders."""

_LONGEST, _LONGEST_PART = 1024, 255

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a set.

    Attributes:
        size: The size in bytes.
        read: Returns the given number of first bytes, or all bytes if there are fewer.
    """

    size: int
    read: Callable[[int], bytes]


class Files:
    """Named files, each read on demand; nothing is ever written.

    Names are paths from the root of the set with `/` between folders, and never lead outside the set.

    Args:
        title: The name of the set.
        entries: The files by name.
        left_out: The reasons that existing files are excluded from the set, by name.
        read_many: Yields the first bytes of several files, if that is faster than reading them one by one.
        is_sequential: Whether reading one file requires reading all files before it, as in a compressed tar file.
        place: The text in front of a file's name on a command line: `FOLDER/`, an empty string, or None for `TITLE:`.

    Attributes:
        title: As above.
        place: As above.
        left_out: As above.
        is_sequential: As above.
    """

    def __init__(  # noqa: PLR0913 - the files, and how they are named and read
        self,
        title: str,
        entries: Mapping[str, Entry],
        left_out: Mapping[str, str] | None = None,
        read_many: Callable[[Iterable[str], int], Iterator[tuple[str, bytes]]] | None = None,
        *,
        is_sequential: bool = False,
        place: str | None = None,
    ) -> None:
        """Store the entries without reading them."""
        self.title = title
        self.place = f"{title}:" if place is None else place
        self.left_out = dict(left_out or {})
        self.is_sequential = is_sequential
        self._entries = dict(sorted(entries.items()))
        self._read_many = read_many

    @classmethod
    def from_mapping(
        cls, entries: Mapping[str, bytes | Entry], title: str = "files", place: str | None = None
    ) -> Files:
        """Return a set of the given files, each as its bytes or as an `Entry`; `place` is that of the class.

        A name that leads outside the set is excluded.
        """
        accepted, left_out = {}, {}
        for name, content in entries.items():
            if problem := find_problem(name):
                left_out[name] = problem
            else:
                accepted[clean_name(name)] = content if isinstance(content, Entry) else _hold(content)
        return cls(title, accepted, left_out, place=place)

    @classmethod
    def from_folder(cls, path: str | os.PathLike[str]) -> Files:
        """Return the files of a folder and its subfolders, without links.

        Raises:
            InspectError: The path is not a folder, cannot be read, or has more files than any dump.
        """
        return cls(Path(path).name or str(path), *_walk(Path(path)), place=f"{path}/")

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Files:
        """Return the set of one file.

        Raises:
            InspectError: There is no such file.
        """
        path = Path(path)
        try:
            size = path.stat().st_size
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}"
            raise InspectError(message) from error
        entries = {path.name: Entry(size, lambda most: _read_file(path, most, follow=True))}
        return cls(path.name, entries, place=str(path).removesuffix(path.name))

    @classmethod
    def from_archive(cls, source: str | os.PathLike[str] | bytes | BinaryIO, title: str = "") -> Files:
        """Return the files of a `.zip`, `.tar`, `.tar.gz`, `.tar.xz` or `.tar.bz2`, without extracting to disk.

        Args:
            source: The archive's path, its bytes, or a seekable binary file.
            title: The archive's name, if the source is not a path.

        Raises:
            InspectError: The archive cannot be read, is not an archive, or unpacks to more data than any dump.
        """
        # The other module imports this one, so it cannot be imported at the top.
        from xla_inspect.dumps.archive import open_archive

        if isinstance(source, bytes):
            return open_archive(lambda: BytesIO(source), title or "archive")
        if isinstance(source, (str, os.PathLike)):
            path = Path(source)
            files = open_archive(lambda: path.open("rb"), title or path.name)
            files.place = f"{path}:"
            return files
        return open_archive(lambda: _rewind(source), title or "archive")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files, sorted."""
        return tuple(self._entries)

    def __contains__(self, name: str) -> bool:
        """Return whether the set has a file with a name."""
        return name in self._entries

    def quote(self, name: str, *, is_unpacked: bool = False) -> str:
        """Return the path of a file as on a command line; `is_unpacked` if the command cannot read an archive."""
        path = os.path.normpath(self.place + name)
        if self.place.endswith(":"):
            # A compressed file alone is named like the file that it contains.
            path = self.place[:-1] if len(self._entries) == 1 else name if is_unpacked else path
        return shlex.quote(f"./{path}" if path.startswith("-") else path)

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        return self._entries[name].size

    @property
    def total(self) -> int:
        """The total size of all files in bytes."""
        return sum(entry.size for entry in self._entries.values())

    def read(self, name: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            InspectError: The file cannot be read, or is larger than any file that XLA writes.
        """
        if self.size(name) > MOST_BYTES:
            message = f"{name} has {self.size(name):,} bytes, and no more than {MOST_BYTES:,} of a file are read"
            raise InspectError(message)
        return to_utf8(self._entries[name].read(MOST_BYTES))

    def read_head(self, name: str, most: int) -> bytes:
        """Return the first bytes of a file, at most `most`.

        Raises:
            InspectError: The file cannot be read.
        """
        return to_utf8(self._entries[name].read(most))

    def read_many(self, names: Iterable[str], most: int = MOST_BYTES) -> Iterator[tuple[str, bytes]]:
        """Yield the name and first `most` bytes of each file that exists, in the order that is fastest to read.

        Raises:
            InspectError: A file cannot be read.
        """
        present = [name for name in dict.fromkeys(names) if name in self._entries]
        one_by_one = ((name, self._entries[name].read(most)) for name in present)
        for name, data in self._read_many(present, most) if self._read_many else one_by_one:
            yield name, to_utf8(data)


def to_utf8(data: bytes) -> bytes:
    """Convert text in UTF-16, which PowerShell writes, to UTF-8; return any other data unchanged."""
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16", "replace").encode() if is_wide else data


def is_gzip(data: bytes) -> bool:
    """Return whether data is a gzip file."""
    return data.startswith(b"\x1f\x8b")


def unpack(data: bytes, most: int = MOST_BYTES) -> bytes:
    """Return the decompressed contents of a gzip file.

    Raises:
        InspectError: The data is not a gzip file, is damaged, or unpacks to more than `most` bytes.
    """
    try:
        with gzip.open(BytesIO(data)) as file:
            # One byte more than the maximum shows that there is too much data.
            text = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        message = f"a compressed file is damaged: {error}"
        raise InspectError(message) from error
    if len(text) > most:
        message = f"a compressed file holds more than {most:,} bytes, which is more than any dump does"
        raise InspectError(message)
    return text


def find_problem(name: str) -> str:
    """Return the reason that a name is not valid inside a set, or an empty string."""
    parts = name.replace("\\", "/").split("/")
    if "\0" in name:
        return "its name has a null character"
    if ".." in parts:
        return "its path climbs out"
    # On Windows, a path that begins with a drive letter is absolute.
    if not parts[0] or parts[0].endswith(":"):
        return "its path is absolute"
    if len(name) > _LONGEST or max(map(len, parts)) > _LONGEST_PART:
        return "its name is longer than that of any file"
    return ""


def clean_name(name: str) -> str:
    """Return a path without its empty and `.` components."""
    return "/".join(part for part in name.split("/") if part not in {"", "."})


def _hold(data: bytes) -> Entry:
    return Entry(len(data), lambda most: data[:most])


def _rewind(file: BinaryIO) -> BinaryIO:
    file.seek(0)
    return file


def _walk(root: Path) -> tuple[dict[str, Entry], dict[str, str]]:
    """Return the files under a folder, and the reasons for excluded ones."""
    files: dict[str, Entry] = {}
    left_out: dict[str, str] = {}

    def visit(folder: Path, front: str, depth: int) -> None:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            if not front:
                message = f"{folder} cannot be read: {error.strerror}"
                raise InspectError(message) from error
            left_out[front] = f"it cannot be read: {error.strerror}"
            return
        for entry in entries:
            name = front + entry.name
            # A link may lead outside the folder, or back into it without end.
            if entry.is_symlink():
                left_out[name] = "it is a link"
            elif entry.is_dir(follow_symlinks=False):
                if depth >= DEEPEST:
                    left_out[name] = f"it lies more than {DEEPEST} folders deep"
                else:
                    visit(Path(entry.path), f"{name}/", depth + 1)
            elif entry.is_file(follow_symlinks=False):
                files[name] = Entry(entry.stat(follow_symlinks=False).st_size, _reader(entry.path))
                check_number(len(files), str(root))
            else:
                left_out[name] = "it is no plain file"

    visit(root, "", 0)
    return files, left_out


def check_number(number: int, title: str) -> None:
    """Check the number of files in a set against the limit.

    Raises:
        InspectError: There are too many files.
    """
    if number > MOST_FILES:
        message = f"{title} holds more than {MOST_FILES:,} files; name a folder of it"
        raise InspectError(message)


def _reader(path: str) -> Callable[[int], bytes]:
    return lambda most: _read_file(Path(path), most)


def _read_file(path: Path, most: int, *, follow: bool = False) -> bytes:
    """Return the first `most` bytes of a file.

    Raises:
        InspectError: The file cannot be read, or is now a pipe or (unless `follow`) a link.
    """
    # Without this flag, opening a pipe would wait until something writes to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        number = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                message = f"{path} is no plain file"
                raise InspectError(message)
            return read_chunks(file, most)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise InspectError(message) from error


def read_chunks(file: BinaryIO, most: int) -> bytes:
    """Return at most `most` bytes of a file, in chunks, so that a small file does not allocate a large buffer."""
    pieces = []
    while most > 0 and (piece := file.read(min(most, _CHUNK))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)
