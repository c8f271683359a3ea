"""How this package came here, from a wheel or as the project's checkout, and what to type in each case."""

from __future__ import annotations

import os
from pathlib import Path


def find_checkout(package: Path = Path(__file__).parent) -> Path | None:
    """Return the project's folder where the package lies in its repository, or None where it was installed."""
    root = package.parents[1]
    return root if (root / "pyproject.toml").is_file() and package == root / "snippets" / "xla_inspect" else None


CHECKOUT = find_checkout()


def install_line(*extras: str, checkout: Path | None = CHECKOUT) -> str:
    """Return the command that installs what is missing.

    Args:
        *extras: The extras of the wheel that bring it, such as `cuda`; none for what the wheel always asks for.
        checkout: The project's folder, where all of them come with its environment.
    """
    if checkout:
        return "uv sync"
    quote = '"' if os.name == "nt" else "'"
    return f"pip install {quote}xla-inspect[{','.join(extras)}]{quote}" if extras else "pip install xla-inspect"


def run_line(command: str, *, checkout: Path | None = CHECKOUT) -> str:
    """Return a command of this package, such as `xla-inspect targets`, as it is typed here."""
    return f"uv run {command}" if checkout else command
