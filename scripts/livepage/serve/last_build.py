"""The results of the last complete build in this process, and the state of its files when it began."""

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
    """The objects that a build created before it wrote its pages, for rebuilding some of them.

    Attributes:
        config: The build's configuration.
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
        """The pages that MkDocs serves, in MkDocs' order, by their files relative to the folder of the pages."""
        served = self.files.documentation_pages(inclusion=InclusionLevel.is_in_serve)
        return {file.src_uri: file.page for file in served if file.page}

    @cached_property
    def sources(self) -> dict[str, str]:
        """The Markdown pages, by the absolute path of each."""
        return {str(page.file.abs_src_path): name for name, page in self.pages.items() if name.endswith(".md")}


@dataclass
class LastBuild:
    """The last complete build.

    Attributes:
        built: The objects of the build, or None before the first build and after a failed one.
        stamps: The state of the files when the build began, or when pages were last rebuilt.
        date: The build date that pages show.
    """

    built: Built | None = None
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    date: str = ""

    def begin(self, config: MkDocsConfig) -> None:
        """Record the state of a build's files before any of them is read."""
        self.built, self.stamps, self.date = None, stamp(config), get_build_date()

    def is_changed(self) -> bool:
        """Return whether a file has changed since the build began."""
        return self.built is not None and stamp(self.built.config) != self.stamps

    def take_edited(self) -> list[str] | None:
        """Return the pages edited since the last call, or None after another change, a new date, or a failed build."""
        if self.built is None or self.date != get_build_date():
            return None
        before, self.stamps = self.stamps, stamp(self.built.config)
        paths = [path for path in {**before, **self.stamps} if before.get(path) != self.stamps.get(path)]
        sources = self.built.sources
        if not all(path in sources and self.stamps.get(path) for path in paths):
            return None
        return [sources[path] for path in paths]


def stamp(config: MkDocsConfig) -> dict[str, Stamp]:
    """Return the state of all files that MkDocs watches and of the project's own templates."""
    folders = [config.docs_dir, *config.watch]
    if custom := config.theme.custom_dir:
        folders.append(custom)
    return stamp_files([*list_files(folders), *filter(None, [config.config_file_path])])


def list_files(folders: Iterable[str]) -> Iterator[str]:
    """Yield the files in folders, and the given paths that are files; hidden files of editors are skipped."""
    for folder in map(os.path.abspath, folders):
        if os.path.isfile(folder):  # noqa: PTH113 - a watched file
            yield folder
        for place, inner, files in os.walk(folder):
            inner[:] = [name for name in inner if name not in _SKIPPED and not name.startswith(".")]
            yield from (f"{place}{os.sep}{name}" for name in files if not name.startswith("."))
