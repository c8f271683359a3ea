"""Invalid and unreadable dumps, each with the expected message."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODULE = "HloModule {}, is_scheduled=true\n\nENTRY %main () -> f32[] {{\n  ROOT %c = f32[] constant(1)\n}}\n"
AFTER = "module_{:04}.{}.cpu_after_optimizations.txt"


def write_module(folder: Path, number: int = 1, name: str = "f", text: str = "") -> None:
    folder.mkdir(exist_ok=True)
    (folder / AFTER.format(number, name)).write_text(text or MODULE.format(name), encoding="utf-8")


def _write(name: str, content: str | bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return make


def _write_zip(folder: Path, name: str = "d.zip", member: str = "../../out.txt") -> None:
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr(member, MODULE.format("f"))


def _write_bomb(folder: Path) -> None:
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb") as packed:
        member = tarfile.TarInfo(AFTER.format(1, "f"))
        member.size = 300 << 20
        packed.write(member.tobuf())
        for _ in range(300):
            packed.write(bytes(1 << 20))
    (folder / "d.tar.gz").write_bytes(stream.getvalue())


def _link_to_itself(folder: Path) -> None:
    (folder / "d").mkdir()
    (folder / "d" / "d").symlink_to(folder / "d")
    (folder / "d" / AFTER.format(1, "f")).symlink_to("/etc/passwd")


def _write_unreadable(folder: Path) -> None:
    write_module(folder / "d")
    path = next((folder / "d").iterdir())
    path.unlink()
    os.mkfifo(path)


DUMPS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    # name: what makes it; the subject; what the first line of the error holds
    "nothing there": (lambda _: None, "none.zip", "there is no file or folder none.zip"),
    "no text there": (lambda _: None, "some/dump.hlo", "there is no file or folder some/dump.hlo"),
    "an empty folder": (lambda folder: (folder / "d").mkdir(), "d", "d holds no file"),
    "a folder without dumps": (_write("d/notes.md", "hello"), "d", "d holds 1 file, and none that XLA dumped"),
    "a folder of a folder": (_write("d/a/b/notes.md", "hello"), "d", "and none that XLA dumped"),
    "an empty file": (_write("d.txt", ""), "d.txt", "d.txt is empty"),
    "a file of words": (_write("d.txt", "some words\n"), "d.txt", "d.txt is a text without an HLO module"),
    "a binary file": (_write("d.bin", bytes(range(256))), "d.bin", "d.bin is a binary file of an unknown kind"),
    "a protobuf of another kind": (_write("d.pb", bytes(range(200, 256))), "d.pb", "d.pb"),
    "StableHLO cut off": (
        _write("d.mlir", "module @f {\n  func.func @main() {"),
        "d.mlir",
        "d.mlir:2:20: expected operation name in quotes",
    ),
    "a module cut off": (_write("d.hlo", MODULE.format("f")[:60]), "d.hlo", "d.hlo: line "),
    "a module that makes no sense": (
        lambda folder: write_module(folder / "d", text="HloModule f\n\nENTRY %main {\n  %x = f32[ add(\n}\n"),
        "d",
        "module_0001.f.cpu_after_optimizations.txt: line ",
    ),
    "a module of zeros": (lambda folder: write_module(folder / "d", text="\0" * 50), "d", "holds no text"),
    "a model in an archive": (
        lambda folder: _write_zip(folder, "d.keras"),
        "d.keras",
        "d.keras is a Keras model; load it",
    ),
    "a zip that climbs out": (_write_zip, "d.zip", "d.zip holds no file"),
    "a zip with an absolute path": (lambda folder: _write_zip(folder, member="/out.txt"), "d.zip", "holds no file"),
    "a zip that is none": (_write("d.zip", "PK\x03\x04 and words"), "d.zip", "d.zip cannot be read"),
    "a tar that is none": (_write("d.tar.gz", gzip.compress(b"words" * 200)), "d.tar.gz", "without an HLO module"),
    "a gzip cut off": (_write("d.tar.gz", gzip.compress(os.urandom(2000))[:900]), "d.tar.gz", "cannot be read"),
    "a bomb": (_write_bomb, "d.tar.gz", "d.tar.gz unpacks to"),
    "an archive in an archive": (lambda folder: _write_zip(folder, member="inner.zip"), "d.zip", "d.zip holds no file"),
    "links in circles and away": (_link_to_itself, "d", "d holds no file"),
    "a pipe": (_write_unreadable, "d", "d holds no file"),
    "no such module": (
        lambda folder: write_module(folder / "d"),
        "d:jit_g",
        "no module 'jit_g' in d; there is",
    ),
    "a module of a file": (_write("d.hlo", MODULE.format("f")), "d.hlo:g", "there is no module 'g' in d.hlo"),
    "several modules": (
        lambda folder: [write_module(folder / "d", number, name) for number, name in ((1, "f"), (2, "g"))] and None,
        "d",
        "2 modules in d; name one",
    ),
    "a name that several have": (
        lambda folder: [write_module(folder / "d", number) for number in (1, 2)] and None,
        "d:f",
        "2 modules are called f in d; name one",
    ),
    "escapes in a name": (
        lambda folder: write_module(folder / "d", name="\x1b[31mred\nline"),
        "d:none",
        r"module_0001.\x1b[31mred",
    ),
    "a null character": (lambda _: None, "d\0.zip", ""),
    "a package beside nothing": (_write("d/__init__.py", ""), "d:f", "d has no function 'f'"),
}
