"""What the last whole build left in this process, and the state that its files had when it began."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from mkdocs.structure.files import InclusionLevel
from mkdocs.utils import get_build_date

from livepage.keep import Stamp
from livepage.keep import stamp as stamp_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

_SKIPPED = {"__pycache__", ".git", ".venv"}


@dataclass
class Built:
    """What a build gathered before it wrote its pages, for whoever builds some of them again.

    Attributes:
        config: Its configuration.
        files: The files of the site.
        nav: The navigation.
        env: The environment of the theme's templates.
    """

    config: MkDocsConfig
    files: Files
    nav: Navigation
    env: Environment

    @cached_property
    def pages(self) -> dict[str, Page]:
        """The pages that MkDocs serves, in its order, by the file of each in the folder of the pages."""
        served = self.files.documentation_pages(inclusion=InclusionLevel.is_in_serve)
        return {file.src_uri: file.page for file in served if file.page}

    @cached_property
    def sources(self) -> dict[str, str]:
        """The pages that are Markdown, by the path of each."""
        return {str(page.file.abs_src_path): name for name, page in self.pages.items() if name.endswith(".md")}


@dataclass
class LastBuild:
    """The last whole build.

    Attributes:
        built: What it left, or None before the first one and after one that failed.
        stamps: The state of its files when it began, or when pages were last built again.
        date: The day that it writes on pages.
    """

    built: Built | None = None
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    date: str = ""

    def begin(self, config: MkDocsConfig) -> None:
        """Note the state of the files of a build, before anything is read."""
        self.built, self.stamps, self.date = None, stamp(config), get_build_date()

    def is_changed(self) -> bool:
        """Return whether a file is another than when the build began."""
        return self.built is not None and stamp(self.built.config) != self.stamps

    def take_edited(self) -> list[str] | None:
        """Return the pages whose file changed since this was asked last, or None where anything else did."""
        if self.built is None or self.date != get_build_date():
            return None
        before, self.stamps = self.stamps, stamp(self.built.config)
        changed = [path for path in {**before, **self.stamps} if before.get(path) != self.stamps.get(path)]
        sources = self.built.sources
        if not all(path in sources and self.stamps.get(path) for path in changed):
            return None
        return [sources[path] for path in changed]


def stamp(config: MkDocsConfig) -> dict[str, Stamp]:
    """Return the state of all that MkDocs watches and of the project's own templates."""
    folders = [config.docs_dir, *config.watch]
    if custom := config.theme.custom_dir:
        folders.append(custom)
    return stamp_files([*list_files(folders), *filter(None, [config.config_file_path])])


def list_files(folders: Iterable[str]) -> Iterator[str]:
    """Yield each file in some folders, and those named themselves; hidden ones, which editors make, are no pages."""
    for folder in map(os.path.abspath, folders):
        if os.path.isfile(folder):  # noqa: PTH113 - a watched file
            yield folder
        for place, inner, files in os.walk(folder):
            inner[:] = [name for name in inner if name not in _SKIPPED and not name.startswith(".")]
            yield from (f"{place}{os.sep}{name}" for name in files if not name.startswith("."))
