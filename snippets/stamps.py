"""Sealed files of measurements and records, in which a manual or partial change is detected.

A sealed file is a JSON object with the script that wrote it, the versions of the measured packages, and a final hash
of the rest. The hash guards against mistakes, not against deception, since anyone can compute it again.
This module needs only the standard library, since other compilers' environments import it.
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
"""The key of the hash, which is the last item of a file."""
DATA = ROOT / "docs" / "data"

_PIN = re.compile(r"\"([\w.-]+)(?:\[[^\]\"]*\])?==([\w.+]+)")


class SealError(Exception):
    """An error about a sealed file: it was changed, is incomplete, or does not come from the pinned versions."""


def seal(text: str) -> str:
    """Return the text of a JSON object with its hash added as the last item."""
    return f'{text.rstrip().removesuffix("}").rstrip()},\n "{SEAL}": "{_hash(json.loads(text))}"\n}}\n'


def is_sealed(content: Mapping[str, Any]) -> bool:
    """Return whether the content of a sealed file still matches its hash."""
    rest = {name: value for name, value in content.items() if name != SEAL}
    return bool(content.get(SEAL) == _hash(rest))


def _hash(content: Mapping[str, Any]) -> str:
    # The hash covers the values and their order, but not the indentation of the file.
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def write_sealed(path: Path, script: str, versions: Mapping[str, str], content: Mapping[str, Any]) -> None:
    """Write the results of a script to a sealed file.

    Args:
        path: The file.
        script: The command that writes it, run from the project's folder.
        versions: The versions of the packages that were measured, by name.
        content: The results, as JSON values by name.
    """
    whole = {"script": script, "versions": dict(versions), **content}
    path.write_text(seal(json.dumps(whole, indent=1, ensure_ascii=False)), encoding="utf-8", newline="\n")


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the content of a sealed file, including its script and versions.

    Raises:
        SealError: The file was changed since it was sealed, or lacks its script or versions.
    """
    content: dict[str, Any] = json.loads(read_text(path))
    return content


def read_current(path: Path) -> dict[str, Any]:
    """Return the content of a sealed file, which must come from the pinned versions.

    Raises:
        SealError: As for `read_sealed`, or the file comes from other versions.
    """
    content = read_sealed(path)
    if aged := list_aged(content["versions"]):
        message = f"{_show(path)} is of {', '.join(aged)}: run `{content['script']}` and look at what changed"
        raise SealError(message)
    return content


def read_text(path: Path) -> str:
    """Return the text of a sealed file after checking its hash.

    Raises:
        SealError: As for `read_sealed`.
    """
    text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
    except ValueError as error:
        message = f"{_show(path)} is no JSON ({error}): `git checkout {_show(path)}` brings it back"
        raise SealError(message) from error
    # A file without these items was not written by `write_sealed`, so it has no hash to check.
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
    """Return the paths of all JSON files in a folder and its subfolders, sorted; their hashes are not checked."""
    return sorted(folder.rglob("*.json"))


def list_faults(folder: Path = DATA) -> Iterator[str]:
    """Yield an error message for each file of a folder that is not as its script wrote it."""
    for path in list_sealed(folder):
        try:
            read_text(path)
        except SealError as error:
            yield str(error)


def name_versions(versions: Mapping[str, str]) -> str:
    """Return versions on one line, each followed by the pinned version in parentheses if that differs."""
    return ", ".join(
        f"{name} {version}{f' (this build: {pinned})' if (pinned := _find_other(name, version)) else ''}"
        for name, version in versions.items()
    )


def list_aged(versions: Mapping[str, str]) -> list[str]:
    """Return a description of each version that differs from the pinned one; packages without a pin are ignored."""
    rows = ((name, version, _find_other(name, version)) for name, version in versions.items())
    return [f"{name} {version} and not of {pinned}" for name, version, pinned in rows if pinned]


def _find_other(name: str, version: str) -> str:
    """Return the pinned versions of a package, joined by "or", if `version` is none of them, else an empty string."""
    pinned = _read_pins().get(name, [version])
    return "" if version in pinned else " or ".join(pinned)


@cache
def _read_pins() -> dict[str, list[str]]:
    """Return the pinned versions by package, from `pyproject.toml`, or else from other compilers' `run.py` scripts."""
    project = dict(_PIN.findall((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    pins = {name: [version] for name, version in project.items()}
    for path in sorted((ROOT / "snippets" / "peers").glob("*/run.py")):
        for name, version in _PIN.findall(path.read_text(encoding="utf-8")):
            # A pin of the project takes precedence over a pin of another compiler's environment.
            if name not in project:
                pins.setdefault(name, []).append(version)
    return pins


def _show(path: Path) -> str:
    """Return a path relative to the project's folder, or only the name of a file outside it."""
    whole = path.resolve()
    return whole.relative_to(ROOT).as_posix() if whole.is_relative_to(ROOT) else path.name
