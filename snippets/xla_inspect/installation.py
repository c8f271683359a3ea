"""The commands to install and run this package, for a wheel or for a checkout of the project."""

from __future__ import annotations

import os
from pathlib import Path


def find_checkout(package: Path = Path(__file__).parent) -> Path | None:
    """Return the project's folder if the package is in its repository, or None if it was installed."""
    root = package.parents[1]
    return root if (root / "pyproject.toml").is_file() and package == root / "snippets" / "xla_inspect" else None


CHECKOUT = find_checkout()


def install_line(*extras: str, checkout: Path | None = CHECKOUT) -> str:
    """Return the command that installs a missing package: `uv sync` in a checkout, else `pip install`.

    Args:
        *extras: The extras of the wheel that contain it, such as `cuda`; none for a requirement of the wheel itself.
        checkout: The project's folder, whose environment contains all extras, or None for a wheel.
    """
    if checkout:
        return "uv sync"
    quote = '"' if os.name == "nt" else "'"
    return f"pip install {quote}xla-inspect[{','.join(extras)}]{quote}" if extras else "pip install xla-inspect"


def run_line(command: str, *, checkout: Path | None = CHECKOUT) -> str:
    """Return a command of this package, such as `xla-inspect targets`, with the prefix that a checkout needs."""
    return f"uv run {command}" if checkout else command
