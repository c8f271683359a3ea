"""A view of a capture that attributes operations to the lines of one package."""

from __future__ import annotations

import ast
import importlib.util
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.spelling import list_nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Frame

_INSTALLED = re.compile(r".*/(?:site|dist)-packages/")
_HIDDEN = ("jax", "jaxlib")


def use_lines_of(package: str, *captures: Capture) -> tuple[Capture, ...]:
    """Return views of captures that attribute each operation to the innermost frame of a package in its call chain.

    An operation without such a frame keeps its line. The text of an installed file is used only if the file has an
    expression at each position in the call chains, so that text of another version is never shown.

    Args:
        package: The package or module, such as `flax` or `flax.linen`; an empty string leaves the captures unchanged.
        *captures: The captures of one answer.

    Raises:
        InspectError: No capture has a line in the package.
    """
    if not package:
        return captures
    frames: dict[str, set[Frame]] = {}
    for frame in (frame for capture in captures for chain in capture.frames.values() for frame in chain):
        frames.setdefault(frame.file, set()).add(frame)
    sources = {file: text for capture in captures for file, text in capture.sources.items()}
    looked_for = _Package(package.replace("/", "."), sources)
    texts = {file: text for file in frames if (text := looked_for.read(file, frames[file])) is not None}
    if not texts:
        raise InspectError(looked_for.explain_lack(captures[-1].program, frames))
    return tuple(_put_first(capture, texts) for capture in captures)


def _put_first(capture: Capture, texts: Mapping[str, str]) -> Capture:
    """Return a capture whose call chains start with their innermost frame in the package, if they have one."""

    def cut(chain: tuple[Frame, ...]) -> tuple[Frame, ...]:
        return next((chain[at:] for at, frame in enumerate(chain) if frame.file in texts), chain)

    frames = {number: cut(chain) for number, chain in capture.frames.items()}
    # The user's own files take precedence over files of the package with the same name.
    return capture.retold(frames=frames, sources={**texts, **capture.sources}, _own=capture)


@dataclass(frozen=True)
class _Package:
    """The package that a user asked for.

    Attributes:
        name: The name of the package.
        sources: The files of the user's program with their text.
    """

    name: str
    sources: Mapping[str, str]

    @property
    def path(self) -> str:
        """The package's path relative to the folder of its installation, without the suffix of a module."""
        return self.name.replace(".", "/")

    @cached_property
    def folder(self) -> Path | None:
        """The folder that contains the installed package, such as `site-packages`, or None if it is not installed."""
        try:
            spec = importlib.util.find_spec(self.name.partition(".")[0])
        # A name that is invalid or has no spec counts as a package that is not installed.
        except (ImportError, ValueError):
            return None
        places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec else []
        return Path(places[0]).parent if places else None

    def read(self, file: str, frames: Collection[Frame]) -> str | None:
        """Return the text of a file of the package, empty if it is unavailable, or None for a file of another package.

        Args:
            file: A file in the call chains.
            frames: The frames of the call chains in this file.
        """
        inside = _drop_folder(file)
        # A file of the user's project has no folder of installed packages in its path.
        if file in self.sources and inside == file.replace("\\", "/"):
            # A project may store its packages in any folder, so the package's path may occur anywhere in the file's
            # path.
            is_inside = f"/{self.path}/" in f"/{file}" or f"/{file}".endswith(f"/{self.path}.py")
            return self.sources[file] if is_inside else None
        if inside.startswith(f"{self.path}/") or inside == f"{self.path}.py":
            paths = [self.folder / inside] if self.folder else []
            return next((text for path in paths if (text := _read_fitting(path, frames))), "")
        if "/" in inside or self.folder is None:
            return None
        # JAX's locations contain only the file name of a package that is installed from source, so look for that name.
        module = self.folder / f"{self.path}.py"
        paths = [module] if module.name == inside else sorted((self.folder / self.path).rglob(inside))
        return next((text for path in paths if (text := _read_fitting(path, frames))), None)

    def explain_lack(self, program: str, files: Collection[str]) -> str:
        """Return an error message: why a program has no line in the package, and the packages in which it has lines.

        Args:
            program: The program's name.
            files: All files in its call chains.
        """
        top, *below = self.name.split(".")
        inside = [_drop_folder(file) for file in files if file not in self.sources]
        # `<string>` is not a file, and the package in an absolute path is unknown.
        names = [file for file in inside if file[:1].isidentifier()]
        parts = [file.removesuffix(".py" if "/" in file else "").split("/") for file in names]
        others = sorted({".".join(part[: 1 + (part[0] == top) * len(below)]) for part in parts})
        if self.folder is None:
            near = list_nearest(self.name, others)
            reason = f"there is no package {self.name!r} here"
            reason += f"; did you mean {near[0]!r}?" if near else ""
        else:
            reason = f"{program} has no line of {self.name}"
            reason += ", whose frames JAX leaves out" if top in _HIDDEN else ""
        return f"--lines-of: {reason}; the program has lines of {', '.join(others) or 'no package but your own code'}"


def _drop_folder(file: str) -> str:
    """Return a file's path below the folder of installed packages, or the unchanged path of any other file."""
    return _INSTALLED.sub("", file.replace("\\", "/"))


def _read_fitting(path: Path, frames: Collection[Frame]) -> str:
    """Return the text of a file that fits the frames, or an empty string.

    A file fits if an expression begins or ends at the end of each frame. A program that is lowered for several devices
    has frames without length, which end where they begin.
    """
    try:
        text = path.read_text(encoding="utf-8")
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.expr | ast.stmt)]
    # A file that cannot be read or parsed here cannot fit the frames.
    except (OSError, SyntaxError, ValueError):
        return ""
    places = {(node.lineno, node.col_offset + 1) for node in nodes}
    places |= {(node.end_lineno or 0, (node.end_col_offset or 0) + 1) for node in nodes}
    # For a method call over several lines, Python reports the position of the method's name.
    names = [node for node in nodes if isinstance(node, ast.Attribute)]
    places |= {(node.end_lineno or 0, (node.end_col_offset or 0) + 1 - len(node.attr)) for node in names}
    return text if {(frame.end_line, frame.end_column) for frame in frames} <= places else ""
