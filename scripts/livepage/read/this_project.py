"""The project of this process, its log, and what pages say while they wait.

A module of its own, since MkDocs loads the file of a hook as a second instance of that module.
"""

from __future__ import annotations

import logging
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livepage.read.adapter import Adapter, load_adapter

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

EXTENSION = "livepage.extension"
"""The extension whose options hold the adapter, and hand a build to its pages."""

log = logging.getLogger("mkdocs.plugins.livepage")
"""The log that a build listens to."""


CACHES = frozenset({".cache", ".git", ".venv", ".uv", "__pycache__", "site"})
"""The folders of which no page's content depends: they hold what was made."""

GARBAGE = (100_000, 50, 50)
"""When Python looks for garbage: pages make many small objects that live for long, and by its own thresholds it would
search all that they import hundreds of times."""


WAITS = '<p class="waiting">This still runs; what it shows will stand here.</p>'
"""What stands in a server's page for what is not there yet."""


@dataclass
class Project:
    """The project whose pages are read.

    Attributes:
        root: The folder that names in reports are relative to.
        docs: The folder of the pages.
        adapter: What the project adds.
    """

    root: Path = field(default_factory=Path.cwd)
    docs: Path = Path("docs")
    adapter: Adapter = field(default_factory=Adapter)

    def adopt(self, config: MkDocsConfig) -> None:
        """Become the project of a configuration."""
        self.root = Path(config.config_file_path).resolve().parent
        self.docs = Path(config.docs_dir).relative_to(self.root)
        self.adapter = load_adapter((config.mdx_configs.get(EXTENSION) or {}).get("adapter", ""))

    def find_name(self, path: str | bytes | os.PathLike[Any], caches: frozenset[str] = CACHES) -> str:
        """Return a path relative to the project, or an empty string where it lies elsewhere or in a cache.

        Args:
            path: The path.
            caches: The names of folders that are caches, besides those that the adapter and Python name.
        """
        absolute, root = os.path.abspath(os.fsdecode(path)), f"{self.root}{os.sep}"  # noqa: PTH100 - called often
        if not f"{absolute}{os.sep}".startswith(root):
            return ""
        name = absolute[len(root) :] or "."
        variables = map(os.environ.get, self.adapter.caches)
        folders = [os.path.abspath(folder) for folder in (*variables, tempfile.gettempdir()) if folder]  # noqa: PTH100
        inner = [f"{folder}{os.sep}" for folder in folders if folder.startswith(root)]
        if caches.intersection(name.split(os.sep)) or f"{absolute}{os.sep}".startswith(tuple(inner)):  # noqa: PTH206
            return ""
        return name.replace(os.sep, "/")


project = Project()
"""The project of this process."""
