"""The project of this process, its log, and the constants that several parts of this package share.

These are in a module of their own because MkDocs loads the file of a hook as a second instance of its module.
"""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livepage.read.adapter import Adapter, load_adapter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig

EXTENSION = "livepage.extension"
"""The extension whose options hold the adapter, and pass a build to its pages."""

log = logging.getLogger("mkdocs.plugins.livepage")
"""The logger whose messages appear in a build."""


CACHES = frozenset({".cache", ".git", ".venv", ".uv", "__pycache__", "site"})
"""The folders with generated files, which no page's content depends on."""

GARBAGE = (100_000, 50, 50)
"""The thresholds of the garbage collector: pages create many small objects with long lives, and with Python's defaults
it would search all imported modules hundreds of times.
"""


WAITS = '<p class="waiting">This still runs; what it shows will stand here.</p>'
"""The placeholder on a served page for output that is not available yet."""


@dataclass
class Project:
    """The project whose pages are read.

    Attributes:
        root: The folder to which names in reports are relative.
        docs: The folder of the pages.
        adapter: The project's own additions.
    """

    root: Path = field(default_factory=Path.cwd)
    docs: Path = Path("docs")
    adapter: Adapter = field(default_factory=Adapter)

    def adopt(self, config: MkDocsConfig) -> None:
        """Set the attributes from a MkDocs configuration."""
        self.root = Path(config.config_file_path).resolve().parent
        self.docs = Path(config.docs_dir).relative_to(self.root)
        self.adapter = load_adapter((config.mdx_configs.get(EXTENSION) or {}).get("adapter", ""))

    @contextmanager
    def placed_at(self, root: Path) -> Iterator[None]:
        """Set the root to another folder within a `with` block."""
        before, self.root = self.root, root
        try:
            yield
        finally:
            self.root = before

    def find_name(self, path: str | bytes | os.PathLike[Any], caches: frozenset[str] = CACHES) -> str:
        """Return a path relative to the project, or an empty string for a path outside of it or in a cache.

        Args:
            path: The path.
            caches: The names of cache folders, in addition to those that the adapter and Python define.
        """
        absolute, root = os.path.abspath(os.fsdecode(path)), f"{self.root}{os.sep}"  # noqa: PTH100 - called often
        if not f"{absolute}{os.sep}".startswith(root):
            return ""
        name = absolute[len(root) :] or "."
        # A cache or the temporary folder may be inside the project, and its files are no inputs either.
        variables = map(os.environ.get, self.adapter.caches)
        folders = [os.path.abspath(folder) for folder in (*variables, tempfile.gettempdir()) if folder]  # noqa: PTH100
        inner = [f"{folder}{os.sep}" for folder in folders if folder.startswith(root)]
        if caches.intersection(name.split(os.sep)) or f"{absolute}{os.sep}".startswith(tuple(inner)):  # noqa: PTH206
            return ""
        return name.replace(os.sep, "/")


project = Project()
"""The project of this process."""
