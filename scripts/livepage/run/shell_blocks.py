"""Blocks of other languages than Python: the code that they run, and how it runs."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from livepage.read import SHELLS

if TYPE_CHECKING:
    from livepage.read import Piece


def run_shell(piece: Piece) -> str:
    """Return what a block of a shell prints, errors among it.

    Raises:
        RuntimeError: It ends with another exit status than it names.
    """
    shell, wanted = SHELLS[piece.language], int(piece.options.get("returncode", "0"))
    done = subprocess.run(
        [shell, "-c", piece.code],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    if done.returncode != wanted:
        last = done.stdout.strip().rpartition("\n")[2]
        message = f"`{shell}` ended with exit status {done.returncode}, not {wanted}: {last or 'it printed nothing'}"
        raise RuntimeError(message)
    return done.stdout
