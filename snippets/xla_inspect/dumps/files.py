"""A set of named files that are only read: a folder, an archive, or what a browser was given."""

from __future__ import annotations

import gzip
import os
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
"""How many files a set may have."""

MOST_BYTES = 1 << 30
"""How many bytes of one file are read at most."""

DEEPEST = 12
"""How many folders may lie in each other."""

_LONGEST, _LONGEST_PART = 1024, 255

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a set.

    Attributes:
        size: Bytes.
        read: Returns so many of its first bytes, or all of them where there are fewer.
    """

    size: int
    read: Callable[[int], bytes]


class Files:
    """Named files, each read when it is asked for; nothing is ever written.

    Names are paths from the top of the set with `/` between folders, and lead nowhere else.

    Args:
        title: What the set is called.
        entries: The files by name.
        left_out: Why other files that are there are no part of the set, by name.
        read_many: Yields the first bytes of several files, where that takes less than to read them one by one.
        is_sequential: Whether to read one takes as long as to read all before it, as in a compressed tar file.

    Attributes:
        title: As above.
        left_out: As above.
        is_sequential: As above.
    """

    def __init__(
        self,
        title: str,
        entries: Mapping[str, Entry],
        left_out: Mapping[str, str] | None = None,
        read_many: Callable[[Iterable[str], int], Iterator[tuple[str, bytes]]] | None = None,
        *,
        is_sequential: bool = False,
    ) -> None:
        """Keep the entries; nothing is read."""
        self.title = title
        self.left_out = dict(left_out or {})
        self.is_sequential = is_sequential
        self._entries = dict(sorted(entries.items()))
        self._read_many = read_many

    @classmethod
    def from_mapping(cls, entries: Mapping[str, bytes | Entry], title: str = "files") -> Files:
        """Return the set of files that are given, each as its bytes or as an `Entry`.

        A name that leads out of the set is left out.
        """
        kept, left_out = {}, {}
        for name, given in entries.items():
            if problem := find_problem(name):
                left_out[name] = problem
            else:
                kept[clean_name(name)] = given if isinstance(given, Entry) else _hold(given)
        return cls(title, kept, left_out)

    @classmethod
    def from_folder(cls, path: str | os.PathLike[str]) -> Files:
        """Return the files of a folder and of those in it; links are left out.

        Raises:
            InspectError: It is no folder, cannot be read, or holds more files than any dump.
        """
        return cls(Path(path).name or str(path), *_walk(Path(path)))

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
        return cls(path.name, {path.name: Entry(size, lambda most: _read_file(path, most, follow=True))})

    @classmethod
    def from_archive(cls, source: str | os.PathLike[str] | bytes | BinaryIO, title: str = "") -> Files:
        """Return the files of a `.zip`, `.tar`, `.tar.gz`, `.tar.xz` or `.tar.bz2`; nothing is unpacked to the disk.

        Args:
            source: Its path, its bytes, or a file of them that seeks.
            title: What it is called where that is not told by a path.

        Raises:
            InspectError: It cannot be read, is no archive, or is made to take more room than any dump does.
        """
        from xla_inspect.dumps.archive import open_archive

        if isinstance(source, bytes):
            return open_archive(lambda: BytesIO(source), title or "archive")
        if isinstance(source, (str, os.PathLike)):
            path = Path(source)
            return open_archive(lambda: path.open("rb"), title or path.name)
        return open_archive(lambda: _rewind(source), title or "archive")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files, sorted."""
        return tuple(self._entries)

    def __contains__(self, name: str) -> bool:
        """Return whether there is a file of a name."""
        return name in self._entries

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        return self._entries[name].size

    @property
    def total(self) -> int:
        """The bytes of all files together."""
        return sum(entry.size for entry in self._entries.values())

    def read(self, name: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            InspectError: It cannot be read, or is larger than any that XLA writes.
        """
        if self.size(name) > MOST_BYTES:
            message = f"{name} has {self.size(name):,} bytes, and no more than {MOST_BYTES:,} of a file are read"
            raise InspectError(message)
        return self._entries[name].read(MOST_BYTES)

    def read_head(self, name: str, most: int) -> bytes:
        """Return the first bytes of a file.

        Raises:
            InspectError: It cannot be read.
        """
        return self._entries[name].read(most)

    def read_many(self, names: Iterable[str], most: int = MOST_BYTES) -> Iterator[tuple[str, bytes]]:
        """Yield files with their first bytes, in the order in which they are quickest to read.

        Raises:
            InspectError: One cannot be read.
        """
        wanted = [name for name in dict.fromkeys(names) if name in self._entries]
        if self._read_many:
            yield from self._read_many(wanted, most)
        else:
            for name in wanted:
                yield name, self._entries[name].read(most)


def is_gzip(data: bytes) -> bool:
    """Return whether bytes are those of a gzip file."""
    return data.startswith(b"\x1f\x8b")


def unpack(data: bytes, most: int = MOST_BYTES) -> bytes:
    """Return what a gzip file holds, at most so many bytes of it.

    Raises:
        InspectError: It is no such file, is damaged, or holds more than any file that XLA writes.
    """
    try:
        with gzip.open(BytesIO(data)) as file:
            text = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        message = f"a compressed file is damaged: {error}"
        raise InspectError(message) from error
    if len(text) > most:
        message = f"a compressed file holds more than {most:,} bytes, which is more than any dump does"
        raise InspectError(message)
    return text


def find_problem(name: str) -> str:
    """Return why a name is none of a file inside a set, or an empty string."""
    parts = name.replace("\\", "/").split("/")
    if "\0" in name:
        return "its name has a null character"
    if ".." in parts:
        return "its path climbs out"
    if not parts[0] or parts[0].endswith(":"):
        return "its path is absolute"
    if len(name) > _LONGEST or max(map(len, parts)) > _LONGEST_PART:
        return "its name is longer than that of any file"
    return ""


def clean_name(name: str) -> str:
    """Return a name without steps that lead nowhere."""
    return "/".join(part for part in name.split("/") if part not in {"", "."})


def _hold(data: bytes) -> Entry:
    return Entry(len(data), lambda most: data[:most])


def _rewind(file: BinaryIO) -> BinaryIO:
    file.seek(0)
    return file


def _walk(root: Path) -> tuple[dict[str, Entry], dict[str, str]]:
    """Return the files under a folder, and what is left out."""
    found: dict[str, Entry] = {}
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
            if entry.is_symlink():
                left_out[name] = "it is a link"
            elif entry.is_dir(follow_symlinks=False):
                if depth >= DEEPEST:
                    left_out[name] = f"it lies more than {DEEPEST} folders deep"
                else:
                    visit(Path(entry.path), f"{name}/", depth + 1)
            elif entry.is_file(follow_symlinks=False):
                found[name] = Entry(entry.stat(follow_symlinks=False).st_size, _reader(entry.path))
                check_number(len(found), str(root))
            else:
                left_out[name] = "it is no plain file"

    visit(root, "", 0)
    return found, left_out


def check_number(number: int, title: str) -> None:
    """Do nothing where a set may have so many files.

    Raises:
        InspectError: There are too many.
    """
    if number > MOST_FILES:
        message = f"{title} holds more than {MOST_FILES:,} files; name a folder of it"
        raise InspectError(message)


def _reader(path: str) -> Callable[[int], bytes]:
    return lambda most: _read_file(Path(path), most)


def _read_file(path: Path, most: int, *, follow: bool = False) -> bytes:
    """Return the first bytes of a file, which may have become a link or a pipe since it was listed."""
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
    """Return at most so many bytes of a file, without asking for room that they may not take."""
    pieces = []
    while most > 0 and (piece := file.read(min(most, _CHUNK))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)
