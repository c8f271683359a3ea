"""Dump archives that are read without extraction to disk: `.zip`, and `.tar`, compressed or not."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from stat import S_ISLNK
from struct import calcsize, unpack_from
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

from xla_inspect.dumps.files import MOST_FILES, Entry, Files, check_number, clean_name, find_problem, read_chunks
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

type Opener = Callable[[], BinaryIO]

MOST_UNPACKED = 16 << 30
"""The maximum unpacked size of an archive in bytes."""

FREE = 256 << 20
"""The unpacked size in bytes that is allowed for any archive, however small."""

RATIOS = {"zip": 250, "gzip": 250, "xz": 5000, "bzip2": 5000, "tar": 2}
"""The allowed compression ratio beyond `FREE`, by kind; some kinds also compress repetitions that are far apart."""

NESTED = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".7z", ".rar")
"""The name endings of archives, which are not opened inside another archive."""

_MAGIC = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
)
_TAR, _TAR_AT = b"ustar", 257
_HEAD = 512
_TAIL = 1 << 17
MOST_LISTED = 400 * MOST_FILES
"""The maximum size of a zip file's directory in bytes."""
_MANY = 0xFFFFFFFF
_STEP = 4 << 20


def name_archive(head: bytes) -> str:
    """Return an archive's kind from its first 512 bytes: `zip`, `gzip`, `xz`, `bzip2`, `tar`, or "" for other data."""
    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), "")
    return kind or ("tar" if head[_TAR_AT:].startswith(_TAR) else "")


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive, judged by its first bytes.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        return bool(name_archive(file.read(_HEAD)))


def open_archive(opener: Opener, title: str) -> Files:
    """Return the files of an archive as a set, in which each file is read on demand.

    Args:
        opener: Opens the archive.
        title: The name of the archive in messages.

    Raises:
        InspectError: The archive cannot be read, is not an archive, or unpacks to more data than any dump.
    """
    with reading(title), opener() as file:
        kind = name_archive(file.read(_HEAD))
        packed = file.seek(0, 2)
        if kind == "zip":
            _check_directory(file, packed, title)
            return _list_zip(opener, title, packed)
    if not kind:
        message = f"{title} is no archive that is read here: .zip, .tar, .tar.gz, .tar.xz or .tar.bz2"
        raise InspectError(message)
    return _list_tar(partial(_unpack, opener, kind, title, packed), title)


@contextmanager
def reading(title: str) -> Iterator[None]:
    """Convert any error in the block, which reads an archive, into an `InspectError` that names the archive."""
    try:
        yield
    except InspectError:
        raise
    except Exception as error:  # each form of archive has errors of its own, and so has each damage
        message = f"{title} cannot be read: {error or type(error).__name__}; is it whole?"
        raise InspectError(message) from error


def _leave_out(name: str) -> str:
    """Return the reason to skip an archive member, or an empty string to include it."""
    if problem := find_problem(name):
        return problem
    return "an archive in an archive is not opened" if name.lower().endswith(NESTED) else ""


def _check_room(title: str, kind: str, packed: int, unpacked: int) -> None:
    """Check the unpacked size of an archive against the limits.

    Raises:
        InspectError: The archive unpacks to too much data.
    """
    if unpacked > MOST_UNPACKED or (unpacked > FREE and unpacked > packed * RATIOS[kind]):
        message = (
            f"{title} unpacks to {unpacked:,} bytes or more from {packed:,}, which no dump does; "
            "if it is one, unpack it and name the folder"
        )
        raise InspectError(message)


def _check_directory(file: BinaryIO, packed: int, title: str) -> None:
    """Check the size of a zip file's directory, which is read as a whole, against the limit.

    Raises:
        InspectError: The directory is too large.
    """
    file.seek(max(packed - _TAIL, 0))
    tail = file.read(_TAIL)
    sizes: list[int] = []
    for magic, form, at in ((b"PK\x05\x06", "<I", 12), (b"PK\x06\x06", "<Q", 40)):
        place = tail.rfind(magic)
        if 0 <= place <= len(tail) - at - calcsize(form):
            sizes += unpack_from(form, tail, place + at)
    # Sizes that do not fit are stored in the longer zip64 form.
    if min(max([0, *(size for size in sizes if size != _MANY)]), packed) > MOST_LISTED:
        check_number(MOST_FILES + 1, title)


def _list_zip(opener: Opener, title: str, packed: int) -> Files:
    places: dict[str, zipfile.ZipInfo] = {}
    left_out: dict[str, str] = {}
    with opener() as file, zipfile.ZipFile(file) as archive:
        check_number(len(archive.infolist()), title)
        for member in archive.infolist():
            problem = _leave_out(member.filename)
            if member.is_dir():
                continue
            if not problem and member.flag_bits & 1:
                problem = "it is encrypted"
            # Programs on Unix store the file's mode in the upper half of this number.
            if not problem and S_ISLNK(member.external_attr >> 16):
                problem = "it is a link"
            if problem:
                left_out[member.filename] = problem
            else:
                places[clean_name(member.filename)] = member
    _check_room(title, "zip", packed, sum(member.file_size for member in places.values()))
    reader = partial(_read_zip, opener, title, places)
    entries = {name: Entry(member.file_size, partial(_read_one, reader, name)) for name, member in places.items()}
    return Files(title, entries, left_out, reader)


def _read_zip(
    opener: Opener, title: str, places: Mapping[str, zipfile.ZipInfo], names: Iterable[str], most: int
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and first `most` bytes of each requested file of a zip file, which is opened once for all."""
    with reading(title), opener() as file, zipfile.ZipFile(file) as archive:
        for name in names:
            with reading(f"{name} in {title}"), archive.open(places[name]) as one:
                data = read_chunks(cast("BinaryIO", one), most)
            yield name, data


class _Meter:
    """A tar file that is unpacked while it is read, and raises an error if it unpacks to more data than any dump."""

    def __init__(self, file: BinaryIO, kind: str, title: str, packed: int) -> None:
        self._file = file
        self._told = (title, kind, packed)

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, position: int) -> int:
        # Data is unpacked in steps, so that the limit stops an archive bomb early.
        while (at := self._file.tell()) < position:
            self._check(min(position, at + _STEP))
            if self._file.seek(min(position, at + _STEP)) == at:
                break
        return self._file.seek(position) if at > position else at

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _STEP:
            message = "a header in it is longer than any name of a file"
            raise ValueError(message)
        data = self._file.read(size)
        self._check(self._file.tell())
        return data

    def _check(self, position: int) -> None:
        title, kind, packed = self._told
        _check_room(title, kind, packed, position)


type Unpack = Callable[[], AbstractContextManager[_Meter]]


@contextmanager
def _unpack(opener: Opener, kind: str, title: str, packed: int) -> Iterator[_Meter]:
    """Open an archive that is not a zip file, and yield its contents, decompressed if necessary, as a `_Meter`."""
    with opener() as outer:
        inner: Any = outer
        if kind == "gzip":
            inner = gzip.GzipFile(fileobj=outer)
        elif kind == "xz":
            import lzma  # a browser may be without

            inner = lzma.LZMAFile(outer)  # noqa: SIM115 - it closes with what it reads
        elif kind == "bzip2":
            import bz2

            inner = bz2.BZ2File(outer)
        yield _Meter(inner, kind, title, packed)


def _list_tar(unpack: Unpack, title: str) -> Files:
    """Return the files of a tar file, or the single file if the compressed data is not a tar file."""
    with reading(title), unpack() as meter:
        head = meter.read(_HEAD)
        # An empty tar file consists of zero bytes and has no magic number.
        if name_archive(head) != "tar" and head.strip(b"\0"):
            return _list_single(unpack, title)
        meter.seek(0)
        places, left_out = _find_members(meter, title)
    reader = partial(_read_tar, unpack, title, places)
    entries = {name: Entry(size, partial(_read_one, reader, name)) for name, (_, size) in places.items()}
    return Files(title, entries, left_out, reader, is_sequential=True)


def _find_members(meter: _Meter, title: str) -> tuple[dict[str, tuple[int, int]], dict[str, str]]:
    """Return the offset and size of each file in a tar file, and the reasons for skipped members."""
    places: dict[str, tuple[int, int]] = {}
    left_out: dict[str, str] = {}
    with tarfile.open(fileobj=cast("IO[bytes]", meter), mode="r:") as archive:
        while member := archive.next():
            # `tarfile` would otherwise keep every member in memory.
            archive.members = []  # type: ignore[attr-defined]  # documented nowhere, and there since Python 2
            check_number(len(places) + len(left_out), title)
            problem = _leave_out(member.name)
            if member.isdir():
                continue
            if not problem and not member.isreg():
                problem = "it is a link" if member.issym() or member.islnk() else "it is no plain file"
            if not problem and member.issparse():
                problem = "it is kept with holes"
            if problem:
                left_out[member.name] = problem
            else:
                places[clean_name(member.name)] = member.offset_data, member.size
    return places, left_out


def _list_single(unpack: Unpack, title: str) -> Files:
    """Return a set with the one file that was compressed without tar."""

    def read(_: Iterable[str], most: int) -> Iterator[tuple[str, bytes]]:
        with reading(title), unpack() as meter:
            data = read_chunks(cast("BinaryIO", meter), most)
        yield name, data

    name = title.rpartition(".")[0] or title
    size = 0
    with unpack() as meter:
        while piece := meter.read(_STEP):
            size += len(piece)
    return Files(title, {name: Entry(size, partial(_read_one, read, name))})


def _read_one(reader: Callable[[Iterable[str], int], Iterator[tuple[str, bytes]]], name: str, most: int) -> bytes:
    ((_, data),) = reader([name], most)
    return data


def _read_tar(
    unpack: Unpack, title: str, places: Mapping[str, tuple[int, int]], names: Iterable[str], most: int
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and first `most` bytes of each requested file of a tar file, in the archive's order."""
    with reading(title), unpack() as meter:
        for name in sorted(names, key=lambda name: places[name]):
            start, size = places[name]
            meter.seek(start)
            data = read_chunks(cast("BinaryIO", meter), min(size, most))
            if len(data) < min(size, most):
                message = f"{name} ends early"
                raise EOFError(message)
            yield name, data
