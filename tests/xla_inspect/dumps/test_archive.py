"""Archives and folders give the same files; unsafe paths, links and decompression bombs are rejected."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from xla_inspect import InspectError
from xla_inspect.dumps import Entry, Files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONTENT = {"module_0001.f.before_optimizations.txt": b"HloModule f\n", "sub/other.txt": b"x" * 3000, "empty": b""}


def pack_zip(content: dict[str, bytes] = CONTENT) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return stream.getvalue()


def pack_tar(content: dict[str, bytes] = CONTENT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


FORMS: dict[str, Callable[[], bytes]] = {
    "zip": pack_zip,
    "tar": pack_tar,
    "tar.gz": lambda: gzip.compress(pack_tar()),
    "tar.xz": lambda: lzma.compress(pack_tar()),
    "tar.bz2": lambda: bz2.compress(pack_tar()),
}


def read_all(files: Files) -> dict[str, bytes]:
    return {name: files.read(name) for name in files.names}


@pytest.mark.parametrize("form", FORMS)
def test_an_archive_gives_complete_members_and_their_prefixes(form: str, tmp_path: Path) -> None:
    (tmp_path / f"dump.{form}").write_bytes(FORMS[form]())
    files = Files.from_archive(tmp_path / f"dump.{form}")
    assert (files.title, read_all(files)) == (f"dump.{form}", CONTENT)
    assert {name: files.size(name) for name in files.names} == {name: len(data) for name, data in CONTENT.items()}
    assert dict(files.read_many(reversed(files.names), 5)) == {name: data[:5] for name, data in CONTENT.items()}
    assert read_all(Files.from_archive(FORMS[form]())) == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == [f"dump.{form}"]


def test_a_folder_and_a_mapping_hold_the_same(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name, data in CONTENT.items():
        (tmp_path / name).write_bytes(data)
    assert read_all(Files.from_folder(tmp_path)) == CONTENT
    entries = {name: Entry(len(data), lambda most, data=data: data[:most]) for name, data in CONTENT.items()}
    assert read_all(Files.from_mapping(entries)) == read_all(Files.from_mapping(CONTENT)) == CONTENT


def test_a_compressed_text_is_a_set_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "after.hlo.gz").write_bytes(gzip.compress(b"HloModule f\n" * 500))
    files = Files.from_archive(tmp_path / "after.hlo.gz")
    assert read_all(files) == {"after.hlo": b"HloModule f\n" * 500}
    assert files.size("after.hlo") == 6000


OUTSIDE = ("../up.txt", "a/../../up.txt", "/etc/absolute.txt", "C:/drive.txt", "..\\up.txt")


@pytest.mark.parametrize("pack", [pack_zip, pack_tar])
def test_members_with_paths_outside_are_skipped_and_listed(pack: Callable[[dict[str, bytes]], bytes]) -> None:
    files = Files.from_archive(pack({**dict.fromkeys(OUTSIDE, b"HloModule f"), "in.txt": b"in"}))
    assert files.names == ("in.txt",)
    assert len(files.left_out) == len(OUTSIDE)
    assert set(files.left_out.values()) == {"its path climbs out", "its path is absolute"}


def test_links_devices_and_nested_archives_are_skipped() -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, kind in (("soft", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("pipe", tarfile.FIFOTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        archive.addfile(tarfile.TarInfo("inner.tar.gz"))
    files = Files.from_archive(stream.getvalue())
    assert files.names == ()
    assert files.left_out == {
        "soft": "it is a link",
        "hard": "it is a link",
        "pipe": "it is no plain file",
        "inner.tar.gz": "an archive in an archive is not opened",
    }


def test_an_encrypted_member_is_left_out() -> None:
    data = bytearray(pack_zip({"secret.txt": b"text", "plain.txt": b"text"}))
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    files = Files.from_archive(bytes(data))
    assert (files.names, files.left_out) == (("plain.txt",), {"secret.txt": "it is encrypted"})


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few make links")
def test_links_in_a_folder_are_skipped_including_cycles(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("x", encoding="utf-8")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "away.txt").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe.txt")
    files = Files.from_folder(tmp_path)
    assert files.names == ("real.txt",)
    assert files.left_out == {"away.txt": "it is a link", "loop": "it is a link", "pipe.txt": "it is no plain file"}
    (tmp_path / "real.txt").unlink()
    (tmp_path / "real.txt").symlink_to("/etc/passwd")
    with pytest.raises(InspectError, match="cannot be read"):
        files.read("real.txt")


def bomb(size: int) -> bytes:
    """Return a compressed tar file with one member of zeros, written piece by piece."""
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb") as packed:
        member = tarfile.TarInfo("module_0001.f.before_optimizations.txt")
        member.size = size
        packed.write(member.tobuf())
        piece = bytes(1 << 20)
        for _ in range(size >> 20):
            packed.write(piece)
    return stream.getvalue()


def test_a_decompression_bomb_is_rejected_before_it_is_unpacked() -> None:
    with pytest.raises(InspectError, match=r"unpacks to .* bytes or more from .*, which no dump does"):
        Files.from_archive(bomb(400 << 20), "bomb.tar.gz")
    zipped = bytearray(pack_zip({"module_0001.f.before_optimizations.txt": bytes(1 << 20)}))
    at = zipped.index(b"PK\x01\x02")
    zipped[at + 24 : at + 28] = (3 << 30).to_bytes(4, "little")
    with pytest.raises(InspectError, match="unpacks to 3,221,225,472 bytes"):
        Files.from_archive(bytes(zipped), "bomb.zip")


@pytest.mark.parametrize("form", FORMS)
def test_a_truncated_or_damaged_archive_is_reported(form: str) -> None:
    data = FORMS[form]()
    for broken in (data[: len(data) // 3], data[:40]):
        with pytest.raises(InspectError, match=rf"broken.{form} (?:cannot be read|is no archive)"):
            Files.from_archive(broken, f"broken.{form}")
    damaged = data[:60] + b"\xff" * 40 + data[100:]
    with suppress(InspectError):
        assert read_all(Files.from_archive(damaged)).keys() <= CONTENT.keys()


def test_a_file_that_is_not_an_archive_is_rejected() -> None:
    with pytest.raises(InspectError, match="is no archive that is read here"):
        Files.from_archive(b"HloModule f", "text.zip")


def test_an_impossible_file_name_is_skipped() -> None:
    names = {
        "module_0001.f.0001.a" + ".after_.before_" * 500 + "x": b"",
        "a/" * 600 + "b": b"",
        "module_" + "1" * 300: b"",
    }
    files = Files.from_archive(pack_zip({**names, **CONTENT}))
    assert set(files.names) == set(CONTENT)
    assert set(files.left_out.values()) == {"its name is longer than that of any file"}
