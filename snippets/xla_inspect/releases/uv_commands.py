"""The commands of uv that make environments and know of releases, run where no project's pins hold."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Sequence

OFFLINE = re.compile(
    r"dns error|error sending request|failed to lookup|connection (?:refused|reset)|network is unreachable|timed out",
    re.IGNORECASE,
)
FULL = re.compile(r"no space left on device|os error 28|disk quota", re.IGNORECASE)


class ReleaseError(InspectError):
    """A release that cannot be measured; the message says which, why and what to do."""


def find_uv() -> str:
    """Return the uv of this machine: what `UV` names, else the one on the PATH, else where its installer puts it.

    Raises:
        ReleaseError: There is none.
    """
    home = Path.home()
    places = [os.environ.get("UV", ""), shutil.which("uv") or "", home / ".local/bin/uv", home / ".cargo/bin/uv"]
    found = next((str(place) for place in places if str(place) and shutil.which(str(place))), None)
    if found is None:
        message = (
            "each release of JAX is installed by uv, and there is none on the PATH\n"
            "get it with `pip install uv`, or let the variable UV name it"
        )
        raise ReleaseError(message)
    return found


def run_uv(arguments: Sequence[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run uv in a folder without a project, whose pins would hold for what it installs.

    Args:
        arguments: The words after `uv`.
        check: Whether an exit status other than 0 is an error.

    Raises:
        ReleaseError: There is no uv, or it failed and `check` is set.
    """
    uv = find_uv()
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run(  # noqa: S603 - uv, or an interpreter that it found
            [uv, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            encoding="utf-8",
            env={**os.environ, "UV_NO_PROGRESS": "1"},
        )
    if check and ended.returncode:
        message = f"uv {' '.join(arguments[:2])} failed: {shorten_refusal(ended.stderr)}"
        raise ReleaseError(message)
    return ended


def shorten_refusal(text: str) -> str:
    """Return what uv said in one line, without the drawing around it and without the addresses of registries."""
    if FULL.search(text):
        return "the disk is full; remove what is in the way, or name another folder with XLA_INSPECT_CACHE"
    if OFFLINE.search(text):
        return "the package index does not answer; is this machine online?"
    words = re.sub(r"[^\x00-\x7f]|\bhint:", "", text)  # the drawing around it
    return re.sub(r"\s+", " ", re.sub(r"`?https?://\S+", "the registry", words)).strip()[:300]
