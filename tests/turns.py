"""The choice of pages that a check runs again: an eighth of them, other ones for each commit.

What the last commit changed has its turn at once. With EVERY_PAGE=1, as every night, all pages have theirs.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[1]
SHARE = 8


def ask_git(folder: Path, *words: str) -> list[str]:
    """Return the output lines of git in a folder."""
    result = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def choose(pages: Sequence[Path]) -> list[Path]:
    """Return the pages whose turn it is, in their order.

    Args:
        pages: Absolute paths of pages of the project.
    """
    if os.environ.get("EVERY_PAGE"):
        return [*pages]
    turn = int(ask_git(ROOT, "rev-parse", "HEAD")[0][-2:], 16)
    # Against the first parent of a merge; the only commit of a shallow clone counts as one that changes every file.
    changed = {ROOT / name for name in ask_git(ROOT, "log", "-1", "-m", "--first-parent", "--format=", "--name-only")}
    changed |= {ROOT / name for name in ask_git(ROOT, "ls-files", "--modified", "--others", "--exclude-standard")}
    return [page for number, page in enumerate(pages) if page in changed or number % SHARE == turn % SHARE]
