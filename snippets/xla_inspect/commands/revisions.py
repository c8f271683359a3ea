"""The project of a subject as a commit has it, in a folder of its own: nothing of the reader's checkout is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.spelling import suggest_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def check_out(words: Sequence[str], revision: str, folder: Path) -> tuple[tuple[str, ...], Path, tuple[str, ...]]:
    """Write the files of a commit into a folder, and return the subject there.

    Args:
        words: The subject, as on the command line.
        revision: The commit: a hash, a branch, a tag, `HEAD~2`, ...
        folder: An empty folder.

    Returns:
        The words of the subject, what stands for the working folder, and the folders to import from: those of the
        reader's checkout that Python imports from, as the commit has them.

    Raises:
        InspectError: The subject is in no repository, or that has no such commit, or the commit no such file.
    """
    place = words[1] if words[0] == "run" and len(words) > 1 else words[0].rpartition(":")[0] or words[0]
    is_file = place.endswith(".py")
    path = Path(place).absolute() if is_file else Path.cwd() / "module"
    root = _find_root(path.parent, place)
    commit = (
        "" if revision.startswith("-") else _ask_git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    )
    if not commit:
        message = f"--rev {revision}: the repository {root} has no such commit; `git log --all` lists what it has"
        raise InspectError(message)
    # With an index of its own, git writes the files and leaves the reader's index and files as they are.
    index = folder / "index"
    files = folder / "files"
    files.mkdir()
    environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
    _ask_git(root, "read-tree", commit, environment=environment)
    _ask_git(root, "checkout-index", "--all", f"--prefix={files}{os.sep}", environment=environment)
    inside = path.resolve().relative_to(root)
    there = files / inside
    if is_file and not there.is_file():
        message = f"--rev {revision}: that commit has no {inside}; was the file renamed since?"
        raise InspectError(message)
    here = Path.cwd().resolve()
    working = files / here.relative_to(root) if here.is_relative_to(root) else there.parent
    if is_file and not working.is_dir():
        working = there.parent
    if not working.is_dir():
        message = f"--rev {revision}: that commit has no folder {here.relative_to(root)}"
        raise InspectError(message)
    # Named from the working folder, as the reader did.
    named = str(there.relative_to(working)) if there.is_relative_to(working) else str(there)
    if not is_file:
        moved = tuple(words)
    elif words[0] == "run":
        moved = ("run", named, *words[2:])
    else:
        moved = (named + words[0][len(place) :], *words[1:])
    return moved, working, tuple(_find_paths(root, files))


def _find_root(folder: Path, place: str) -> Path:
    if not folder.is_dir():
        message = f"no file {place}{suggest_file(folder / Path(place).name)}"
        raise InspectError(message)
    found = _ask_git(folder, "rev-parse", "--show-toplevel")
    if not found:
        message = f"--rev: {place} is in no git repository, so there are no commits of it"
        raise InspectError(message)
    return Path(found).resolve()


def _find_paths(root: Path, files: Path) -> list[str]:
    """Return where a commit has the folders of the repository that Python imports from, as an editable install adds."""
    entries = [Path(entry).resolve() for entry in sys.path if entry]
    installed = {"site-packages", "dist-packages"}
    own = [entry for entry in entries if entry.is_relative_to(root) and not installed & set(entry.parts)]
    there = [files / entry.relative_to(root) for entry in (*own, root / "src")]
    return [str(folder) for folder in dict.fromkeys(there) if folder.is_dir() and folder != files]


def _ask_git(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Return what git answers, or an empty string where it refuses.

    Raises:
        InspectError: There is no git; or it refuses to write files, which an environment of its own is for.
    """
    command = ["git", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(  # noqa: S603 - git, with words that cannot be options
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False, env=environment
        )
    except FileNotFoundError as error:
        message = "--rev needs git, and there is none on this machine's PATH"
        raise InspectError(message) from error
    if answer.returncode and environment:
        said = answer.stderr.strip().partition("\n")[0]
        message = f"--rev: git {arguments[0]} failed in {folder}: {said}"
        raise InspectError(message)
    return "" if answer.returncode else answer.stdout.strip()
