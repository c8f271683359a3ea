"""Pin every package: the groups of `pyproject.toml` name direct ones, and what lies below is resolved and written.

`scripts/maintaining/pin` runs this after a direct pin was changed; with `--upgrade` it also moves what lies below.
Needs nothing but uv and the standard library, so that it runs before the environment exists.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PIN = re.compile(r"([\w.-]+)(?:\[[^\]]*\])?==([^;*\s]+)\s*(?:;.*)?")
RUNTIME_LIST = "constraint-dependencies"
BUILD_LIST = "build-constraint-dependencies"


class PinError(Exception):
    """A requirement without an exact version, or a resolution with several versions of one package."""


def read_requirements(project: Mapping[str, Any]) -> Iterator[str]:
    """Yield every requirement of each group in a parsed `pyproject.toml`; the wheel's own requirements are ranges."""
    for group in project["dependency-groups"].values():
        yield from (item for item in group if isinstance(item, str))


def parse_pins(requirements: Iterable[str]) -> dict[str, str]:
    """Return the version of each requirement by its normalized name.

    Raises:
        PinError: A requirement has no exact version, or two versions of one package are requested.
    """
    pins: dict[str, str] = {}
    for requirement in requirements:
        match = PIN.fullmatch(requirement.strip())
        if match is None:
            message = f"{requirement!r} is not pinned: write name==version in pyproject.toml"
            raise PinError(message)
        name, version = re.sub(r"[-_.]+", "-", match[1]).lower(), match[2]
        if pins.setdefault(name, version) != version:
            message = f"{name} is asked for in two versions, {pins[name]} and {version}: one pin must serve all"
            raise PinError(message)
    return pins


def read_pins(project: Mapping[str, Any]) -> dict[str, str]:
    """Return the version of every package that a parsed `pyproject.toml` pins, directly or as a constraint."""
    return parse_pins([*read_requirements(project), *project["tool"]["uv"].get(RUNTIME_LIST, [])])


def read_build_pins(project: Mapping[str, Any]) -> dict[str, str]:
    """Return the pinned version of every package that builds the wheel."""
    return parse_pins([*project["build-system"]["requires"], *project["tool"]["uv"].get(BUILD_LIST, [])])


def write_pins(text: str, key: str, pins: Mapping[str, str]) -> str:
    """Return the text of a `pyproject.toml` with its list `key` replaced by `pins`, one on each line, sorted by name.

    Raises:
        PinError: The text has no such list, or several.
    """
    lines = "".join(f'  "{name}=={version}",\n' for name, version in sorted(pins.items()))
    opening = rf"(?m)^{re.escape(key)} = \[\n(?:  \".*\",\n)*\]$"
    text, count = re.subn(opening, f"{key} = [\n{lines}]", text)
    if count != 1:
        message = f"pyproject.toml holds {count} lists `{key} = [` with one string a line, where one is needed"
        raise PinError(message)
    return text


def resolve(text: str, versions: Mapping[str, str], *, build: bool = False) -> dict[str, str]:
    """Return the versions that uv resolves for all platforms of a `pyproject.toml`, preferring fitting `versions`.

    With `build`, they are those of the packages that build the wheel, otherwise those of all dependency groups.
    """
    project = tomllib.loads(text)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").write_text(text, encoding="utf-8")
        output = folder / "resolved.txt"
        output.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()), encoding="utf-8")
        groups = [option for group in project["dependency-groups"] for option in ("--group", group)]
        # This runs in the project's folder, because the selected uv may depend on the Python version that it requires.
        command = [os.environ.get("UV", "uv"), f"--directory={folder}", "pip", "compile", "--quiet", "--universal"]
        command += ["--fork-strategy=fewest"]
        command += ["--no-annotate", "--no-header", f"--output-file={output}"]
        command += [
            f"--python={sys.executable}",
            f"--python-version={project['project']['requires-python'].removeprefix('>=')}",
        ]
        command += ["-"] if build else ["pyproject.toml", *groups]
        requires = "\n".join(project["build-system"]["requires"])
        subprocess.run(command, cwd=ROOT, check=True, text=True, input=requires if build else "")
        return parse_pins(output.read_text(encoding="utf-8").splitlines())


def pin(text: str, *, upgrade: bool = False) -> str:
    """Return the text of a `pyproject.toml` with both lists of constraints resolved again.

    Versions that still fit stay unless `upgrade` is true, which selects the newest ones.
    """
    project = tomllib.loads(text)
    versions, known_build = ({}, {}) if upgrade else (read_pins(project), read_build_pins(project))
    bare = write_pins(write_pins(text, RUNTIME_LIST, {}), BUILD_LIST, {})
    direct = parse_pins(read_requirements(project))
    direct_build = parse_pins(project["build-system"]["requires"])
    below = {name: version for name, version in resolve(bare, versions).items() if name not in direct}
    below_build = {
        name: version for name, version in resolve(bare, known_build, build=True).items() if name not in direct_build
    }
    return write_pins(write_pins(text, RUNTIME_LIST, below), BUILD_LIST, below_build)


def main() -> int:
    """Rewrite the constraints in `pyproject.toml`, and return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/maintaining/pin", description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="move every indirect pin to its newest version")
    options = parser.parse_args()
    path = ROOT / "pyproject.toml"
    before = path.read_text(encoding="utf-8")
    try:
        after = pin(before, upgrade=options.upgrade)
    except PinError as error:
        print(f"scripts/maintaining/pin: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print("scripts/maintaining/pin: uv could not resolve; its message stands above", file=sys.stderr)
        return error.returncode
    path.write_text(after, encoding="utf-8")
    count = len(tomllib.loads(after)["tool"]["uv"][RUNTIME_LIST])
    print(f"{'unchanged' if after == before else 'rewritten'}: {count} packages below the direct pins")
    return 0


if __name__ == "__main__":
    sys.exit(main())
