"""The external addresses in the texts of the project, with their places.

Addresses are read from the source files instead of the built site, so that each has a file and a line.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

from common import ROOT
from xla_inspect.practice import PHASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TEXTS = ("README.md", "CHANGELOG.md", "docs", "snippets")
"""The files and folders that readers see: pages, data, programs, and the messages of the tool."""
SUFFIXES = {".html", ".js", ".json", ".md", ".mlir", ".py", ".toml", ".txt", ".yml"}
ADDRESS = re.compile(r"https?://[^\s<>()\"'`|\\\]]+")
"""An address up to a character that ends it in Markdown, Python, TOML or HTML."""
_AFTER_ADDRESS = ".,;:"


@dataclass(frozen=True, slots=True)
class Link:
    """An external address in a text.

    Attributes:
        address: The address without its fragment.
        place: `file:line`, or the name of a phase whose address is composed of parts.
    """

    address: str
    place: str


def read_linking_texts() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each file that readers see, and the composed addresses of the phases."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run([*command, "--", *TEXTS], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listing.stdout.split("\0")):
        path = ROOT / name
        if path.suffix in SUFFIXES and path.is_file():
            yield name, path.read_text(encoding="utf-8")
    for phase in PHASES.values():
        yield f"phase {phase.name}", "\n".join(phase.references.values())


def find_links(texts: Iterable[tuple[str, str]]) -> list[Link]:
    """Return the links of texts, in their order: one for each occurrence of an external address."""
    return [
        Link(urldefrag(address).url, f"{place}:{text.count('\n', 0, match.start()) + 1}")
        for place, text in texts
        for match in ADDRESS.finditer(text)
        if _is_external(address := match[0].rstrip(_AFTER_ADDRESS))
    ]


def _is_external(address: str) -> bool:
    """Return whether an address is complete and has a public host."""
    # Braces and `$` belong to templates, such as `http://{host}`, and a public host has a dot.
    host = "" if re.search(r"[{}$*]", address) else urlsplit(address).hostname or ""
    return "." in host and not host.replace(".", "").isdigit()
