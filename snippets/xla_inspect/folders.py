"""The folders of this package's cache and of the project that a program belongs to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROJECT_MARK = "pyproject.toml"


def find_project(start: Path | None = None) -> Path | None:
    """Return the nearest folder with a `pyproject.toml`, from `start` (default: working folder) upwards, or None."""
    start = (start or Path.cwd()).absolute()
    return next((folder for folder in (start, *start.parents) if (folder / PROJECT_MARK).is_file()), None)


def shorten_path(file: str) -> str:
    """Return the path of a file relative to the working folder, or unchanged if it is outside of it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def find_cache() -> Path | None:
    """Return the folder of the capture cache, or None when `XLA_INSPECT_CACHE=off`.

    The folder is `XLA_INSPECT_CACHE`, or else `xla_inspect` in the user's cache folder: `LOCALAPPDATA` on Windows,
    `~/Library/Caches` on macOS, and `XDG_CACHE_HOME` or `~/.cache` on other systems.
    """
    chosen = os.environ.get("XLA_INSPECT_CACHE", "")
    if chosen.lower() == "off":
        return None
    # A shell does not expand `~` in every setting of a variable, such as one in a configuration file.
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        user = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        user = "~/Library/Caches"
    else:
        user = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(user).expanduser() / "xla_inspect"
