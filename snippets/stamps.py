"""Seal what a script measured or recorded, and read it: a change by hand, or by half, is noticed.

A sealed file is JSON that names the script that made it and the versions of what it is of, and ends with a hash of all
the rest. That is a guard against mistakes, and against nobody who means to deceive: who can write a file can hash it.
Needs nothing but the standard library, since other compilers' environments import it.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[1]
SEAL = "record"
"""The key of the hash, which is the last of a file."""
DATA = ROOT / "docs" / "data"

_PIN = re.compile(r"\"([\w.-]+)(?:\[[^\]\"]*\])?==([\w.+]+)")


class SealError(Exception):
    """A file that is not as a script wrote it, or that is not of the compilers that are pinned."""


def seal(text: str) -> str:
    """Return the text of a JSON object with its hash as the last of its items."""
    return f'{text.rstrip().removesuffix("}").rstrip()},\n "{SEAL}": "{_hash(json.loads(text))}"\n}}\n'


def is_sealed(content: Mapping[str, Any]) -> bool:
    """Return whether content, as a sealed file holds it, is as it was sealed."""
    rest = {name: value for name, value in content.items() if name != SEAL}
    return bool(content.get(SEAL) == _hash(rest))


def _hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def write_sealed(path: Path, script: str, versions: Mapping[str, str], content: Mapping[str, Any]) -> None:
    """Write what a script measured.

    Args:
        path: The file.
        script: The command that writes it, from the project's folder.
        versions: Package to version, of what it was measured with.
        content: What JSON can hold besides.
    """
    whole = {"script": script, "versions": dict(versions), **content}
    path.write_text(seal(json.dumps(whole, indent=1, ensure_ascii=False)), encoding="utf-8", newline="\n")


def read_sealed(path: Path) -> dict[str, Any]:
    """Return what a sealed file holds, its script and versions included.

    Raises:
        SealError: It was changed since it was sealed, or names no script or no versions.
    """
    content: dict[str, Any] = json.loads(read_text(path))
    return content


def read_current(path: Path) -> dict[str, Any]:
    """Return what a sealed file holds that must be of the versions that are pinned.

    Raises:
        SealError: As for `read`, or it is of other versions.
    """
    content = read_sealed(path)
    if aged := list_aged(content["versions"]):
        message = f"{_show(path)} is of {', '.join(aged)}: run `{content['script']}` and look at what changed"
        raise SealError(message)
    return content


def read_text(path: Path) -> str:
    """Return the text of a sealed file.

    Raises:
        SealError: As for `read`.
    """
    text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
    except ValueError as error:
        message = f"{_show(path)} is no JSON ({error}): `git checkout {_show(path)}` brings it back"
        raise SealError(message) from error
    if missing := [name for name in ("script", "versions", SEAL) if not content.get(name)]:
        message = f"{_show(path)} has no {', '.join(missing)}: the script that makes it calls stamps.write_sealed"
        raise SealError(message)
    if not is_sealed(content):
        message = (
            f"{_show(path)} was changed since `{content['script']}` wrote it: run that to measure anew, "
            f"or `git checkout {_show(path)}` to bring the file back"
        )
        raise SealError(message)
    return text


def list_sealed(folder: Path = DATA) -> list[Path]:
    """Return the files of a folder that scripts write and seal."""
    return sorted(folder.rglob("*.json"))


def list_faults(folder: Path = DATA) -> Iterator[str]:
    """Yield what is wrong with each file of a folder that is not as its script wrote it."""
    for path in list_sealed(folder):
        try:
            read_text(path)
        except SealError as error:
            yield str(error)


def name_versions(versions: Mapping[str, str]) -> str:
    """Return versions in one line, with what is pinned now where that is another."""
    return ", ".join(
        f"{name} {version}{f' (this build: {pinned})' if (pinned := _find_other(name, version)) else ''}"
        for name, version in versions.items()
    )


def list_aged(versions: Mapping[str, str]) -> list[str]:
    """Return the versions that are not the ones pinned now, in words; what nothing pins has no age."""
    found = ((name, version, _find_other(name, version)) for name, version in versions.items())
    return [f"{name} {version} and not of {pinned}" for name, version, pinned in found if pinned]


def _find_other(name: str, version: str) -> str:
    """Return the version of a package that is pinned where that is another, else an empty string."""
    pinned = _read_pins().get(name, [version])
    return "" if version in pinned else " or ".join(pinned)


@cache
def _read_pins() -> dict[str, list[str]]:
    """Return the versions that are pinned, by package: the project's, and of what it has none, other compilers'."""
    project = dict(_PIN.findall((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    found = {name: [version] for name, version in project.items()}
    for path in sorted((ROOT / "snippets" / "peers").glob("*/run.py")):
        for name, version in _PIN.findall(path.read_text(encoding="utf-8")):
            if name not in project:
                found.setdefault(name, []).append(version)
    return found


def _show(path: Path) -> str:
    """Return a path from the project's folder."""
    whole = path.resolve()
    return whole.relative_to(ROOT).as_posix() if whole.is_relative_to(ROOT) else path.name
