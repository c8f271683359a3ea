"""Bundles of browser files outside of the repository: built from pinned packages, and compared with stored hashes."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common import ROOT, say
from maintaining.npm_packages import BundleError, install_packages, read_package

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Built:
    """The files that a build produced, and the packages that they were made from.

    Attributes:
        files: The content of each file, by its name.
        packages: The packages whose code the files contain.
        tools: The packages that were used to build them.
    """

    files: dict[str, bytes]
    packages: list[str]
    tools: tuple[str, ...] = ()


@dataclass(frozen=True)
class BrowserBundle:
    """Files that are built from npm packages.

    Attributes:
        name: The bundle's name on the command line, and the folder in `.cache` for its packages.
        title: A description of the bundle.
        without: A sentence about the effect of a missing bundle.
        pinned: The folder with the packages' versions and hashes.
        place: The folder that the files are written into; git ignores them.
        record: The file that lists the packages, and the expected hashes of the files.
        files: The names of the files.
        build: The function that builds the files, given the folder of the installed packages.
    """

    name: str
    title: str
    without: str
    pinned: Path
    place: Path
    record: Path
    files: tuple[str, ...]
    build: Callable[[Path], Built]

    @property
    def paths(self) -> list[Path]:
        """The paths of the built files."""
        return [self.place / name for name in self.files]

    def read_record(self) -> dict[str, str]:
        """Return the recorded SHA-256 of each file, by its name."""
        return dict(tomllib.loads(self.record.read_text(encoding="utf-8"))["sha256"])

    def read_size(self) -> int:
        """Return the recorded total size of the files in bytes."""
        return int(tomllib.loads(self.record.read_text(encoding="utf-8"))["bytes"])

    def read_version(self, package: str) -> str:
        """Return the recorded version of a package."""
        tables = tomllib.loads(self.record.read_text(encoding="utf-8"))["package"]
        return str(next(package_table["version"] for package_table in tables if package_table["name"] == package))

    def is_made(self) -> bool:
        """Return whether all files exist and match their recorded hashes."""
        hashes = self.read_record()
        return all(path.exists() and digest(path.read_bytes()) == hashes[path.name] for path in self.paths)

    def make(self, *, is_new: bool = False) -> None:
        """Build the files, and write them into their folder.

        Args:
            is_new: Whether to record the result instead of comparing it with the record.

        Raises:
            BundleError: The files cannot be built, or they differ from the record.
        """
        packages = install_packages(self.pinned, ROOT / ".cache" / self.name)
        result = self.build(packages)
        if is_new:
            self.write_record(result, packages)
        hashes = self.read_record()
        if wrong := [name for name, content in result.files.items() if digest(content) != hashes.get(name)]:
            reason = f"{' and '.join(wrong)} came out otherwise than {self.record.name} says; it is not used"
            raise BundleError(reason)
        self.place.mkdir(parents=True, exist_ok=True)
        for name, content in result.files.items():
            (self.place / name).write_bytes(content)
        size = sum(map(len, result.files.values()))
        say(f"made {self.title}: {', '.join(result.files)}, {size:,} bytes in {self.place.relative_to(ROOT)}")

    def write_record(self, result: Built, packages: Path) -> None:
        """Write the record: the hashes of the files, and the packages that they were built from."""
        head = (
            f"# What {self.title} is made of, and what its files must come out as.\n"
            f"# Written by `scripts/maintaining/browser-bundles {self.name} --record`.\n"
        )
        hashes = "".join(f'"{name}" = "{digest(content)}"\n' for name, content in result.files.items())
        tables = [read_package(packages, name) for name in (*result.packages, *result.tools)]
        texts = [
            "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
            + ("bundled = false\n" if table["name"] in result.tools else "")
            for table in tables
        ]
        packed = "".join(f"\n[[package]]\n{table}" for table in texts)
        size = sum(map(len, result.files.values()))
        self.record.write_text(f"{head}bytes = {size}\n\n[sha256]\n{hashes}{packed}", encoding="utf-8", newline="\n")


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes as hexadecimal text."""
    return hashlib.sha256(content).hexdigest()
