"""The changes of a page to its process that would affect later pages: they are detected, reported and undone.

They concern the environment, the working directory, the module search path, the warning filters, logger levels,
settings of libraries that the project lists, and attributes of modules.
"""

from __future__ import annotations

import builtins
import logging
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from livepage.read import Origin, Piece

# The calls that change a kind of state; the other kinds are found in code by the name of the changed entry.
_WORDS = {
    "the working directory": r"chdir",
    "warnings": r"simplefilter|filterwarnings|resetwarnings|showwarning",
    "the level of logger": r"setLevel|basicConfig|disabled?\b",
}
_BY_LIBRARIES = {"warnings", "the level of logger"}
_NONE: Any = object()

type Values = dict[tuple[str, str], Any]
type Kinds = Mapping[str, tuple[Callable[[], Mapping[str, Any]], Callable[[str, Any], None]]]


class State:
    """The state of the process before a page runs, and after each of its pieces."""

    def __init__(self) -> None:
        """Record the current state."""
        self.before = _take()
        self.modules = _take_modules()
        self.after: list[tuple[Piece, Values]] = []

    def note(self, piece: Piece) -> None:
        """Record the state after a piece, if it has changed."""
        now = _take()
        if now != (self.after[-1][1] if self.after else self.before):
            self.after.append((piece, now))

    def restore(self, pieces: list[Piece], variables: set[str]) -> Iterator[tuple[Piece, Origin, str]]:
        """Undo a page's changes to the process, and yield each change with the piece and line that caused it.

        Args:
            pieces: The page's pieces, all of which ran.
            variables: The environment variables that the page's own code set; libraries may set others permanently.
        """
        now = _take()
        for kind, name in sorted(self.before.keys() | now.keys()):
            was, current = self.before.get((kind, name), _NONE), now.get((kind, name), _NONE)
            if was == current or (kind == "os.environ" and name not in variables):
                continue
            # Importing a library creates new settings and loggers, which is no change that needs to be undone.
            if was is _NONE and kind in {"the level of logger", *project.adapter.settings}:
                continue
            piece = self._blame(kind, name) or pieces[-1]
            words = _WORDS.get(kind) or re.escape(name or kind)
            # Libraries also change filters and levels permanently at their first import; only the page's code counts.
            if kind in _BY_LIBRARIES and not re.search(words, piece.code):
                continue
            _list_kinds()[kind][1](name, was)
            yield piece, _place(piece, words), f"{kind} {name}".strip()
        for module, name, was in self._find_patched():
            if was is _NONE:
                delattr(module, name)
            else:
                setattr(module, name, was)
            word = rf"\b{re.escape(name)}\b"
            piece = next((piece for piece in reversed(pieces) if re.search(word, piece.code)), pieces[0])
            yield piece, _place(piece, word), f"{module.__name__}.{name}"

    def _blame(self, kind: str, name: str) -> Piece | None:
        """Return the last block or check that changed an entry of the state, or None if a value did."""
        states = [self.before, *(values for _, values in self.after)]
        history = [values.get((kind, name), _NONE) for values in states]
        return next(
            (self.after[at][0] for at in reversed(range(len(self.after))) if history[at] != history[at + 1]), None
        )

    def _find_patched(self) -> Iterator[tuple[ModuleType, str, Any]]:
        """Yield the replaced functions and classes of modules, and the names added to the builtins."""
        for module, attributes in self.modules.values():
            for name, now in list(vars(module).items()):
                was = attributes.get(name, _NONE)
                is_new = was is _NONE and module is builtins and name != "_"
                if is_new or (was is not now and was is not _NONE and callable(was)):
                    yield module, name, was


def _take() -> Values:
    return {(kind, name): value for kind, (read_all, _) in _list_kinds().items() for name, value in read_all().items()}


def _list_kinds() -> Kinds:
    return {**_KINDS, **project.adapter.settings}


def _take_modules() -> dict[str, tuple[ModuleType, dict[str, Any]]]:
    """Return the loaded public modules with their attributes, by name, without the project's own modules."""
    own = str(project.root / "snippets") + os.sep
    return {
        name: (module, dict(vars(module)))
        for name, module in list(sys.modules.items())
        if "._" not in name
        and name[0] != "_"
        and not str(getattr(module, "__file__", "")).startswith(own)
        and not name.startswith(("livepage", "scripts"))
    }


def _set_variable(name: str, value: str) -> None:
    if value is _NONE:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _set_level(name: str, value: tuple[int, bool]) -> None:
    logger = logging.getLogger(name)
    logger.setLevel(value[0])
    logger.disabled = value[1]


def _read_levels() -> dict[str, tuple[int, bool]]:
    loggers = {"": logging.root, **logging.root.manager.loggerDict}
    by_name = {name: logger for name, logger in loggers.items() if isinstance(logger, logging.Logger)}
    return {name: (logger.level, logger.disabled) for name, logger in by_name.items()}


# The kinds of state in the format of the adapter's settings: a function that reads them all, and one that sets one.
_KINDS: Kinds = {
    "os.environ": (lambda: dict(os.environ), _set_variable),
    "the working directory": (lambda: {"": os.getcwd()}, lambda _, folder: os.chdir(folder)),  # noqa: PTH109 - a text
    "sys.path": (lambda: {"": list(sys.path)}, lambda _, paths: sys.path.__setitem__(slice(None), paths)),
    "warnings": (lambda: {"": list(warnings.filters)}, lambda _, filters: setattr(warnings, "filters", filters)),
    "the level of logger": (_read_levels, _set_level),
}


def _place(piece: Piece, words: str) -> Origin:
    """Return the last line of a piece that matches a pattern, or the line on which the piece begins."""
    rows = [at for at, line in enumerate(piece.code.split("\n")) if re.search(words, line)]
    return piece.lines[rows[-1]] if rows and rows[-1] < len(piece.lines) else piece.origin
