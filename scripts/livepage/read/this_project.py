"""The project of this process, its log, and what pages say while they wait.

A module of its own, since MkDocs loads the file of a hook as a second instance of that module.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path

from livepage.read.adapter import Adapter

log = logging.getLogger("mkdocs.plugins.livepage")
"""The log that a build listens to."""


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


project = Project()
"""The project of this process."""
