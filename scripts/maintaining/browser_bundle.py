"""What browsers load and the repository does not hold: made of pinned packages, and held to the hashes on record."""

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
    """What came out, and of what.

    Attributes:
        files: The content of each file, by its name.
        packages: The packages that the files hold.
        tools: The packages that made them.
    """

    files: dict[str, bytes]
    packages: list[str]
    tools: tuple[str, ...] = ()


@dataclass(frozen=True)
class BrowserBundle:
    """Files that are made of packages of npm.

    Attributes:
        name: What the command calls it, and the folder in `.cache` that its packages lie in.
        title: What it is.
        without: What is so where it was not made, as a sentence.
        pinned: The folder with the packages' versions and hashes.
        place: The folder that the files are written into; none of them is tracked.
        record: The file that says what they are made of, and what they must come out as.
        files: Their names.
        build: Makes them, of the folder that the packages lie in.
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
        """Where the files lie, once they are made."""
        return [self.place / name for name in self.files]

    def read_record(self) -> dict[str, str]:
        """Return the SHA-256 of each file, by its name."""
        return dict(tomllib.loads(self.record.read_text(encoding="utf-8"))["sha256"])

    def read_size(self) -> int:
        """Return how many bytes all files take that are on record."""
        return int(tomllib.loads(self.record.read_text(encoding="utf-8"))["bytes"])

    def read_version(self, package: str) -> str:
        """Return the version of a package that is on record."""
        told = tomllib.loads(self.record.read_text(encoding="utf-8"))["package"]
        return str(next(each["version"] for each in told if each["name"] == package))

    def is_made(self) -> bool:
        """Return whether each file lies there as it is on record."""
        hashes = self.read_record()
        return all(path.exists() and digest(path.read_bytes()) == hashes[path.name] for path in self.paths)

    def make(self, *, is_new: bool = False) -> None:
        """Make the files, and write them where they belong.

        Args:
            is_new: Whether what comes out is recorded, and not compared.

        Raises:
            BundleError: If they cannot be made, or come out otherwise than recorded.
        """
        packages = install_packages(self.pinned, ROOT / ".cache" / self.name)
        built = self.build(packages)
        if is_new:
            self.write_record(built, packages)
        hashes = self.read_record()
        if wrong := [name for name, content in built.files.items() if digest(content) != hashes.get(name)]:
            reason = f"{' and '.join(wrong)} came out otherwise than {self.record.name} says; it is not used"
            raise BundleError(reason)
        self.place.mkdir(parents=True, exist_ok=True)
        for name, content in built.files.items():
            (self.place / name).write_bytes(content)
        size = sum(map(len, built.files.values()))
        say(f"made {self.title}: {', '.join(built.files)}, {size:,} bytes in {self.place.relative_to(ROOT)}")

    def write_record(self, built: Built, packages: Path) -> None:
        """Write down what came out, and of what."""
        head = (
            f"# What {self.title} is made of, and what its files must come out as.\n"
            f"# Written by `scripts/maintaining/browser-bundles {self.name} --record`.\n"
        )
        hashes = "".join(f'"{name}" = "{digest(content)}"\n' for name, content in built.files.items())
        told = [read_package(packages, name) for name in (*built.packages, *built.tools)]
        written = [
            "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
            + ("bundled = false\n" if table["name"] in built.tools else "")
            for table in told
        ]
        packed = "".join(f"\n[[package]]\n{table}" for table in written)
        size = sum(map(len, built.files.values()))
        self.record.write_text(f"{head}bytes = {size}\n\n[sha256]\n{hashes}{packed}", encoding="utf-8", newline="\n")


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()
