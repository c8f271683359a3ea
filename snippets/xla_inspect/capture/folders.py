"""Where this package keeps files: the project's folder, and the cache."""

from __future__ import annotations

import os
from pathlib import Path

PROJECT_MARK = "pyproject.toml"


def find_project(start: Path | None = None) -> Path | None:
    """Return the nearest folder, from `start` (default: the working folder) upwards, that is a Python project."""
    start = (start or Path.cwd()).absolute()
    return next((folder for folder in (start, *start.parents) if (folder / PROJECT_MARK).is_file()), None)


def find_cache() -> Path | None:
    """Return the folder of the capture cache, or None when `XLA_INSPECT_CACHE=off`.

    It is `XLA_INSPECT_CACHE`, else `.cache/xla_inspect` of the project that the working folder is in,
    else `xla_inspect` in the user's cache folder (`XDG_CACHE_HOME`, `LOCALAPPDATA` or `~/.cache`).
    """
    chosen = os.environ.get("XLA_INSPECT_CACHE", "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen).expanduser()
    if project := find_project():
        return project / ".cache" / "xla_inspect"
    user = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(user) if user else Path.home() / ".cache") / "xla_inspect"
