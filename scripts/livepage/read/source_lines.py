"""The origin of each line of a page: the page's own file, or an included file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from pymdownx.snippets import SnippetExtension, SnippetMissingError, SnippetPreprocessor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from markdown import Markdown

_MARKER = re.compile(r"[ \t]*-+8<-+")


@dataclass(frozen=True, slots=True)
class Origin:
    """A line of a file, counted from one; the file is relative to the project."""

    file: str
    line: int

    def __str__(self) -> str:
        """Return `file:line`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that must fail the build.

    Attributes:
        origin: The file and line.
        error: The Python error, as in `NameError: name 'x' is not defined`, or another description.
    """

    origin: Origin
    error: str

    def __str__(self) -> str:
        """Return `file:line: error`."""
        return f"{self.origin}: {self.error}"


class _Placed(str):
    """A line that keeps its origin when an include is indented by white space in front of it."""

    __slots__ = ("origin",)
    origin: Origin

    def __new__(cls, text: str, origin: Origin) -> Self:
        line = super().__new__(cls, text)
        line.origin = origin
        return line

    def __radd__(self, lead: str) -> _Placed:
        return _Placed(str(lead) + str(self), self.origin)

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> _Placed:
        return _Placed(super().replace(old, new, count), self.origin)


class Includes(SnippetPreprocessor):  # type: ignore[misc]  # pymdownx has no type hints
    """The preprocessor that expands `--8<-- "file"` lines like `pymdownx.snippets` and records each line's origin."""

    root = Path()

    def __init__(self, md: Markdown, root: Path, **options: Any) -> None:  # noqa: ANN401 - as pymdownx has them
        """Set the options of the extension, with the base folders relative to the project."""
        options = {**SnippetExtension().getConfigs(), "check_paths": True, **options}
        bases = options["base_path"] if isinstance(options["base_path"], list) else [options["base_path"]]
        super().__init__({**options, "base_path": [str(root / base) for base in bases]}, md)
        self.md, self.root = md, root

    def read_lines(self, path: str) -> list[str]:
        """Return the lines of an included file, each with its origin."""
        return [*place_lines(super().read_lines(path), relative(Path(path), self.root))]

    def select_snippet_lines(self, lines: list[str], target: dict[str, Any]) -> list[str]:
        """Return the lines of a file that an include selects.

        Raises:
            SnippetMissingError: The file has fewer lines.
        """
        starts, ends = target["start"] or [], target["end"] or []
        count = len(lines) - (bool(lines) and not lines[-1])
        if any((start or 0) >= count for start in starts) or any((end or 0) > count for end in ends):
            message = f"Snippet at path '{target['path']}' has {count} lines, and others are to be included"
            raise SnippetMissingError(message)
        selected: list[str] = super().select_snippet_lines(lines, target)
        return selected

    def expand(self, lines: Sequence[str], name: str, first: int) -> tuple[list[str], list[Origin], list[Failure]]:
        """Expand the includes of a page.

        Args:
            lines: The page's text.
            name: The page's file, relative to the project.
            first: The line of the file on which `lines` begin.

        Returns:
            The expanded lines, the origin of each line, and a failure for each include that does not exist.
        """
        placed = place_lines(lines, name, first)
        failures: list[Failure] = []
        try:
            expanded: list[str] = super().run(placed)
        except SnippetMissingError as error:
            # pymdownx stops at the first missing file, so each line is expanded alone to report all of them.
            failures = [Failure(line.origin, _say(alone)) for line in placed if (alone := self._fails(line))]
            failures = failures or [Failure(Origin(name, first), _say(error))]
            expanded = [line for line in placed if not _MARKER.match(line)]
        origins: list[Origin] = []
        for line in expanded:
            fallback = origins[-1] if origins else Origin(name, first)
            origins.append(line.origin if isinstance(line, _Placed) else fallback)
        return [str(line) for line in expanded], origins, failures

    def _fails(self, line: str) -> SnippetMissingError | None:
        try:
            super().run([line])
        except SnippetMissingError as error:
            return error
        return None


def _say(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def place_lines(lines: Sequence[str], name: str, first: int = 1) -> list[_Placed]:
    """Return the lines of a file as strings that know their origin."""
    return [_Placed(line, Origin(name, first + index)) for index, line in enumerate(lines)]


def relative(path: Path, root: Path) -> str:
    """Return a path with forward slashes, relative to the project if it lies inside."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.as_posix()
