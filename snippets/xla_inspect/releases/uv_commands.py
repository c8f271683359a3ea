"""The uv commands that create environments and list releases, run outside any project to ignore its pins."""

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
    """The error for a release that cannot be measured; the message says which, why and what to do."""


def find_uv() -> str:
    """Return the path of uv: the value of `UV`, else uv on the PATH, else the default install location.

    Raises:
        ReleaseError: uv is not installed.
    """
    home = Path.home()
    places = [os.environ.get("UV", ""), shutil.which("uv") or "", home / ".local/bin/uv", home / ".cargo/bin/uv"]
    path = next((str(place) for place in places if str(place) and shutil.which(str(place))), None)
    if path is None:
        message = (
            "each release of JAX is installed by uv, and there is none on the PATH\n"
            "get it with `pip install uv`, or let the variable UV name it"
        )
        raise ReleaseError(message)
    return path


def run_uv(arguments: Sequence[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run uv in a folder without a project, because a project's pins would affect the installation.

    Raises:
        ReleaseError: uv is not installed, or it failed and `check` is set.
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
    """Return uv's error message as one line without addresses, or advice if the disk is full or the network is down."""
    if FULL.search(text):
        return "the disk is full; remove what is in the way, or name another folder with XLA_INSPECT_CACHE"
    if OFFLINE.search(text):
        return "the package index does not answer; is this machine online?"
    # uv draws a tree of its reasons with characters outside ASCII.
    words = re.sub(r"[^\x00-\x7f]|\bhint:", "", text)  # the drawing around it
    return re.sub(r"\s+", " ", re.sub(r"`?https?://\S+", "the registry", words)).strip()[:300]
