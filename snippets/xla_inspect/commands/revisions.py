"""The extraction of a commit of the subject's project into a separate folder. The user's checkout stays unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.dumps import ENDINGS
from xla_inspect.errors import InspectError
from xla_inspect.spelling import suggest_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def check_out(words: Sequence[str], revision: str, folder: Path) -> tuple[tuple[str, ...], Path, tuple[str, ...]]:
    """Write the files of a commit into a folder, and return the subject in this folder.

    Args:
        words: The subject, as on the command line.
        revision: The commit: a hash, a branch, a tag, `HEAD~2`, ...
        folder: An empty folder.

    Returns:
        The words of the subject, the folder that corresponds to the working folder, and the folders to import from,
        which correspond to the folders of the user's checkout on Python's search path.

    Raises:
        InspectError: The subject is not in a repository, or the commit or the file does not exist.
    """
    place = words[1] if words[0] == "run" and len(words) > 1 else words[0].rpartition(":")[0] or words[0]
    is_file = place.endswith((".py", *ENDINGS))
    # A module has no path of its own, so the working folder determines its repository.
    path = Path(place).absolute() if is_file else Path.cwd() / "module"
    root = _find_root(path.parent, place)
    # git would read a revision that begins with a dash as an option.
    commit = (
        "" if revision.startswith("-") else _ask_git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    )
    if not commit:
        message = f"--rev {revision}: the repository {root} has no such commit; `git log --all` lists its commits"
        raise InspectError(message)
    # With a separate index, git writes the files without changing the user's index and files.
    index = folder / "index"
    files = folder / "files"
    files.mkdir()
    environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
    _ask_git(root, "read-tree", commit, environment=environment)
    _ask_git(root, "checkout-index", "--all", f"--prefix={files}{os.sep}", environment=environment)
    # The root has no symbolic links, so the path must not have any either.
    inside = path.resolve().relative_to(root)
    old_path = files / inside
    if is_file and not old_path.is_file():
        message = f"--rev {revision}: this commit has no {inside}; was the file renamed since then?"
        raise InspectError(message)
    here = Path.cwd().resolve()
    working = files / here.relative_to(root) if here.is_relative_to(root) else old_path.parent
    # The working folder may not exist in an old commit.
    if is_file and not working.is_dir():
        working = old_path.parent
    if not working.is_dir():
        message = f"--rev {revision}: this commit has no folder {here.relative_to(root)}"
        raise InspectError(message)
    # The subject stays relative to the working folder, as the user typed it, so that answers show the same names.
    name = str(old_path.relative_to(working)) if old_path.is_relative_to(working) else str(old_path)
    if not is_file:
        subject = tuple(words)
    elif words[0] == "run":
        subject = ("run", name, *words[2:])
    else:
        subject = (name + words[0][len(place) :], *words[1:])
    return subject, working, tuple(_find_paths(root, files))


def _find_root(folder: Path, place: str) -> Path:
    if not folder.is_dir():
        message = f"no file {place}{suggest_file(folder / Path(place).name)}"
        raise InspectError(message)
    root = _ask_git(folder, "rev-parse", "--show-toplevel")
    if not root:
        message = f"--rev: {place} is not in a git repository, so it has no commits"
        raise InspectError(message)
    return Path(root).resolve()


def _find_paths(root: Path, files: Path) -> list[str]:
    """Return a commit's versions of the repository's folders on Python's search path, such as editable installs."""
    entries = [Path(entry).resolve() for entry in sys.path if entry]
    # A virtual environment inside of the repository is on the search path, but git does not contain it.
    installed = {"site-packages", "dist-packages"}
    own = [entry for entry in entries if entry.is_relative_to(root) and not installed & set(entry.parts)]
    folders = [files / entry.relative_to(root) for entry in (*own, root / "src")]
    return [str(folder) for folder in dict.fromkeys(folders) if folder.is_dir() and folder != files]


def _ask_git(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Return the output of git, or an empty string if it fails.

    Raises:
        InspectError: git is not installed, or a command with its own environment, which writes files, fails.
    """
    command = ["git", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(  # noqa: S603 - git, with words that cannot be options
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False, env=environment
        )
    except FileNotFoundError as error:
        message = "--rev needs git, which is not on this machine's PATH; install git"
        raise InspectError(message) from error
    # Other commands only ask, and their failure means that there is no answer.
    if answer.returncode and environment:
        reason = answer.stderr.strip().partition("\n")[0]
        message = f"--rev: git {arguments[0]} failed in {folder}: {reason}"
        raise InspectError(message)
    return "" if answer.returncode else answer.stdout.strip()
