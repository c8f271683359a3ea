"""The output stream of a block: publishable text of limited size, without traces of this machine."""

from __future__ import annotations

import io
import re
import sys
import sysconfig
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 1_000_000
"""The largest number of characters that a block may print."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,}")


class Stdout(io.StringIO):
    """The stream that collects a block's output."""

    def __init__(self, raise_refusal: Callable[[str], NoReturn]) -> None:
        """Store the function that is called with the reason if a text must not be printed."""
        super().__init__()
        self.raise_refusal = raise_refusal
        self.size = 0
        self.is_open = True

    def write(self, text: str, /) -> int:
        """Store a text, or call `raise_refusal` if the output gets too long or the text must not be published."""
        self.size += len(text)
        if self.size > LIMIT:
            self.raise_refusal(f"a block must not print more than {LIMIT:,} characters")
        if trace := find_trace(text):
            self.raise_refusal(trace)
        return super().write(text)

    def close(self) -> None:
        """Close the stream, or call `raise_refusal` if the block still runs."""
        if self.is_open:
            self.raise_refusal("a block must not close sys.stdout")
        super().close()

    def end(self) -> None:
        """Allow the stream to be closed from now on."""
        self.is_open = False


def find_trace(text: str) -> str:
    """Return a message about a local path, memory address or invalid Unicode in a text, or an empty string."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return f"this prints {text[error.start]!a}, which is no text"
    for what, path in _list_paths(project.root):
        if path in text:
            return f"this prints {what}, a path of this machine: {path}"
    if " at 0x" in text and (address := _ADDRESS.search(text)):
        return f"this prints an address in memory, which no other build has:{address[0].removeprefix(' at')}"
    return ""


@cache
def _list_paths(root: Path) -> list[tuple[str, str]]:
    paths = {
        "the folder of the project": root,
        "the folder of the packages": Path(sysconfig.get_path("purelib")),
        "the environment of Python": Path(sys.prefix),
        "Python's own folder": Path(sysconfig.get_path("stdlib")),
        "a temporary file": Path(tempfile.gettempdir()) / "tmp",
        "your home": Path.home() / "_",
    }
    # The path of a folder directly below `/` may also occur as a word of ordinary text, so it is not searched for.
    return [(what, str(path).removesuffix("_")) for what, path in paths.items() if len(path.parts) > 2]  # noqa: PLR2004 - `/`, a folder, and what is in it
