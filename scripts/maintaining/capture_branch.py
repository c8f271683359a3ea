"""The branch of a repository that holds published captures: one commit without parents, read and pushed by git.

Reading it changes neither the work tree nor any branch of the clone: what the clone lacks is fetched into a temporary
repository. Git runs without hooks there, asks no questions, and has a time limit.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

BRANCH = "refs/heads/captures"

ASKING, FETCHING = 15, 300
"""The time limits in seconds for asking a remote whether it has the branch, and for fetching or pushing the branch."""

_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=10",
    "GIT_NO_LAZY_FETCH": "1",
}
# Variables that make git use another repository, as in a hook.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")


class BranchError(Exception):
    """The branch cannot be read or pushed; the message completes a sentence."""


def run_git(folder: Path, *words: str, limit: float = ASKING) -> str:
    """Return the output of git in a folder.

    Args:
        folder: The working folder.
        words: The command.
        limit: The time limit in seconds.

    Raises:
        BranchError: Git is missing, failed, or took too long.
    """
    try:
        result = subprocess.run(
            ["git", *words], cwd=folder, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", check=False, timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        message = f"git needed more than {limit:.0f} seconds"
        raise BranchError(message) from error
    except OSError as error:
        message = f"git does not start ({error.strerror})"
        raise BranchError(message) from error
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["no reason given"]
        message = f"git {next(word for word in words if word.islower())}: {lines[0]}"
        raise BranchError(message)
    return result.stdout


def _environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    return {**_QUIET, **own, "LC_ALL": "C"}


def find_remote(root: Path) -> str:
    """Return the name of a clone's remote: `origin`, or the only one.

    Raises:
        BranchError: The folder is no clone, or has no such remote.
    """
    if Path(run_git(root, "rev-parse", "--show-toplevel").strip()).resolve() != root.resolve():
        message = "this folder is no clone"
        raise BranchError(message)
    remotes = run_git(root, "remote").split()
    if "origin" in remotes:
        return "origin"
    if len(remotes) != 1:
        message = "this clone has no remote"
        raise BranchError(message)
    return remotes[0]


def find_published(root: Path, remote: str) -> str:
    """Return the commit that a remote's branch has now.

    Raises:
        BranchError: The remote has no such branch, or does not answer.
    """
    answer = run_git(root, "ls-remote", "--refs", "--", remote, BRANCH).split()
    if not answer:
        message = f"the remote {remote} has no branch `{BRANCH.rpartition('/')[2]}`"
        raise BranchError(message)
    return answer[0]


@contextmanager
def opened(root: Path, remote: str, commit: str) -> Iterator[Tree]:
    """Give access to the files of a published commit, which is fetched only if the clone does not have it already.

    Raises:
        BranchError: The branch cannot be fetched.
    """
    if has_commit(root, commit):
        with Tree(root, commit) as tree:
            yield tree
        return
    address = run_git(root, "remote", "get-url", remote).strip()
    with tempfile.TemporaryDirectory(prefix="captures_", ignore_cleanup_errors=True) as name:
        run_git(root, "init", "--quiet", "--bare", "--template=", name)
        # The working folder remains the clone, because the address may be relative to it.
        fetch = ("fetch", "--quiet", "--no-tags", "--depth=1", "--", address, f"+{BRANCH}:{BRANCH}")
        run_git(root, f"--git-dir={name}", *fetch, limit=FETCHING)
        with Tree(Path(name), BRANCH) as tree:
            yield tree


def has_commit(root: Path, commit: str) -> bool:
    """Return whether a clone has a commit, as a clone of all branches does."""
    try:
        run_git(root, "cat-file", "-e", f"{commit}^{{commit}}")
    except BranchError:
        return False
    return True


class Tree:
    """The files of a commit, read one after another from one process of git."""

    def __init__(self, repository: Path, commit: str) -> None:
        """Start the process in a repository."""
        self._commit = commit
        self._process = subprocess.Popen(
            ["git", "cat-file", "--batch"], cwd=repository, env=_environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, or None if the commit has no such file.

        Raises:
            BranchError: Git ended before it had written the file.
        """
        assert self._process.stdin  # noqa: S101 - a pipe
        assert self._process.stdout  # noqa: S101 - also a pipe
        try:
            self._process.stdin.write(f"{self._commit}:{path}\n".encode())
            self._process.stdin.flush()
            head = self._process.stdout.readline().split()
            if len(head) != 3 or head[1] != b"blob":  # noqa: PLR2004 - the object, its type and its size
                if head[-1:] == [b"missing"]:
                    return None
                message = f"git cannot read {path} of the branch"
                raise BranchError(message)
            size = int(head[2])
            data = self._process.stdout.read(size + 1)
        except OSError as error:
            message = "git ended while it read the branch"
            raise BranchError(message) from error
        if len(data) != size + 1:
            message = "git ended while it read the branch"
            raise BranchError(message)
        return data[:-1]

    def __enter__(self) -> Self:
        """Return the tree, whose process has started."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def push_folder(root: Path, folder: Path, message: str) -> None:
    """Push the files of a folder as the only commit of the branch, to the clone's remote.

    Raises:
        BranchError: There is no remote, or it rejects the commit.
    """
    remote = find_remote(root)
    address = run_git(root, "remote", "get-url", "--push", remote).strip()
    identity = ("-c", "user.name=publisher", "-c", "user.email=publisher@localhost", "-c", "commit.gpgSign=false")
    with tempfile.TemporaryDirectory(prefix="captures_", ignore_cleanup_errors=True) as name:
        run_git(root, "init", "--quiet", "--bare", "--template=", name)
        inside = (f"--git-dir={name}", f"--work-tree={folder}", "-c", "core.autocrlf=false", "-c", "core.bare=false")
        run_git(folder, *inside, "add", "--all", "--force", ".", limit=FETCHING)
        tree = run_git(folder, *inside, "write-tree").strip()
        commit = run_git(root, f"--git-dir={name}", *identity, "commit-tree", tree, "-m", message).strip()
        push = ("push", "--quiet", "--force", "--", address, f"{commit}:{BRANCH}")
        run_git(root, f"--git-dir={name}", *push, limit=FETCHING)
