"""A query of the package index for the JAX releases that this machine can install, and the choice of a span of them."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from xla_inspect.releases.interpreters import list_interpreters
from xla_inspect.releases.uv_commands import ReleaseError, run_uv, shorten_refusal
from xla_inspect.spelling import list_nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.releases.interpreters import Interpreter

VERSION = re.compile(r"\d+(?:\.\d+)+")
"""The form of a release's name: numbers only, without pre-releases."""
_LISTED = re.compile(r"^Available versions: (.*)$", re.MULTILINE)


def order(version: str) -> tuple[int, ...]:
    """Return the sort key of a release: its numbers, so that 0.10.0 follows 0.9.2."""
    return tuple(map(int, re.findall(r"\d+", version)))


def list_releases() -> tuple[str, ...]:
    """Return the JAX releases that some Python on this machine can install, oldest first.

    Raises:
        ReleaseError: The package index does not answer.
    """
    releases: set[str] = set()
    problem = ""
    for interpreter in list_interpreters():
        versions, refusal = _ask_index(interpreter)
        releases.update(versions)
        problem = problem or refusal
    if not releases:
        message = f"which releases of JAX there are cannot be found out: {problem or 'the package index names none'}"
        raise ReleaseError(message)
    return tuple(sorted(releases, key=order))


def _ask_index(interpreter: Interpreter) -> tuple[list[str], str]:
    """Return the releases that an interpreter can install, and the error message if the query fails."""
    question = ["-m", "pip", "--disable-pip-version-check", "index", "versions", "jax"]
    ended = subprocess.run([interpreter.path, "-I", *question], capture_output=True, text=True, check=False)  # noqa: S603 - uv, or an interpreter that it found
    # Some interpreters have no pip; uv queries the index for them.
    if ended.returncode and "No module named pip" in ended.stderr:
        ended = run_uv(
            ["run", "--no-project", "--quiet", "--python", str(interpreter.path), "--with", "pip", "python", *question],
            check=False,
        )
    # `pip index` lists only releases that this interpreter can install.
    match = _LISTED.search(ended.stdout)
    if match is None:
        return [], shorten_refusal(ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else "")
    return [version for version in match[1].split(", ") if VERSION.fullmatch(version)], ""


def choose_span(releases: Sequence[str], first: str, last: str) -> tuple[str, ...]:
    """Return those of all releases, oldest first, that are from one to another, inclusive.

    Raises:
        ReleaseError: One of the two is not a release, or the first is not older than the last.
    """
    for name, version in (("--to", last), ("--from", first)):
        if version not in releases:
            # The neighbours by number are better suggestions than releases with a similar name.
            near = _find_neighbours(releases, version) or list_nearest(version, releases, 3, 0.5)
            hint = f"the nearest are {', '.join(near)}" if near else f"the newest is {releases[-1]}"
            message = (
                f"{name} {version}: there is no such release of JAX that a Python of this machine can have\n{hint}"
            )
            raise ReleaseError(message)
    if order(first) >= order(last):
        message = f"--from {first} is not before --to {last}\nname the older release with --from"
        raise ReleaseError(message)
    return tuple(version for version in releases if order(first) <= order(version) <= order(last))


def _find_neighbours(releases: Sequence[str], version: str) -> list[str]:
    if not VERSION.fullmatch(version):
        return []
    older = [release for release in releases if order(release) < order(version)]
    newer = [release for release in releases if order(release) > order(version)]
    return older[-1:] + newer[:1]
