"""What a `run.py` writes its record with: results checked, texts without anything of this machine, versions, hashes."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peers import given, records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike


class UnfitTextError(Exception):
    """A text that holds something of the machine or the moment it was made on."""


# What no record may hold, and what to do about it.
_UNFIT = {
    "a path of this machine": re.compile(r"(?<![\w.}<>-])/(?:home|root|tmp|work|usr|opt|Users|private|var)/[\w./-]+"),
    "an address in memory": re.compile(r"\b0x[0-9a-f]{9,16}\b"),
    "a list of CPU features": re.compile(r"\+(?:avx|sse|fma|neon)[\w.-]*,"),
}


@dataclass
class Recording:
    """What one compiler did, as it is collected.

    Attributes:
        peer: The folder's name.
        kernels: Program to the names of what is launched one after the other, in order.
        errors: Program to the bound that its largest error keeps.
        facts: Anything else that JSON can hold: counts, bytes, names. Nothing timed.
        texts: Name to what the compiler printed.
    """

    peer: str
    kernels: dict[str, list[str]] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def program(self, name: str, kernels: Iterable[str], result: ArrayLike) -> None:
        """Record one of the four programs: what is launched for it, and that its result is right.

        Raises:
            given.WrongResultError: The result is not that of the reference.
        """
        self.errors[name] = given.check(name, result)
        self.kernels[name] = list(kernels)

    def text(self, name: str, text: str, replace: Mapping[str, str] | None = None) -> None:
        """Record what the compiler printed.

        Args:
            name: How the site asks for it, such as `layer/FuseOps`.
            text: The text; paths of this machine are replaced, see `normalise`.
            replace: Regular expression to what stands in its place, for what differs from run to run.

        Raises:
            UnfitTextError: Something of this machine is left in it.
        """
        for pattern, put in (replace or {}).items():
            text = re.sub(pattern, put, text)
        self.texts[name] = normalise(text, f"{self.peer}: {name}").splitlines()

    def write(self) -> None:
        """Write the record to the file that the command line names, or print it.

        Raises:
            UnfitTextError: A fact holds something of this machine.
        """
        folder = Path(__file__).resolve().parent / self.peer
        content = {
            "peer": self.peer,
            "script": records.hash_script(folder),
            "given": given.digest(),
            "versions": versions(),
            "kernels": self.kernels,
            "error_below": self.errors,
            "facts": self.facts,
            "texts": self.texts,
        }
        _refuse_unfit(json.dumps(self.facts), f"{self.peer}: facts")
        text = records.render(content)
        if len(sys.argv) > 1:
            Path(sys.argv[1]).write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)


def run_child(*command: str | Path, folder: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, or stop with the last that it wrote.

    Args:
        command: The program and its arguments.
        folder: Where to run it.
        variables: What stands in its environment besides this process's.
    """
    ended = subprocess.run(
        [*map(str, command)], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{ended.stderr[-3000:]}")
    return ended


def versions() -> dict[str, str]:
    """Return the version of every package of this environment by its name, and of Python as far as it matters."""
    found = {
        re.sub(r"[-_.]+", "-", each.metadata["Name"]).lower(): each.version
        for each in importlib.metadata.distributions()
    }
    return {"python": platform.python_version().rpartition(".")[0], **dict(sorted(found.items()))}


def normalise(text: str, where: str) -> str:
    """Return a text without what differs between machines: paths of this one, and blanks at the ends of lines.

    Args:
        text: What a compiler printed.
        where: What to call it where something is left.

    Raises:
        UnfitTextError: A path, an address or a list of CPU features is left.
    """
    places = {
        sysconfig.get_path("purelib"): "<packages>",
        sysconfig.get_path("platlib"): "<packages>",
        sys.prefix: "<environment>",
        sys.base_prefix: "<python>",
        str(Path(__file__).resolve().parents[2]): "<project>",
        tempfile.gettempdir(): "<temporary>",
        str(Path.home()): "<home>",
    }
    for place, name in sorted(places.items(), key=lambda item: -len(item[0])):
        text = text.replace(place, name)
    text = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    _refuse_unfit(text, where)
    return text


def _refuse_unfit(text: str, where: str) -> None:
    for what, pattern in _UNFIT.items():
        for number, line in enumerate(text.splitlines(), 1):
            if found := pattern.search(line):
                message = f"{where}, line {number}: holds {what}, {found[0]!r}: take it out before recording the text"
                raise UnfitTextError(message)
