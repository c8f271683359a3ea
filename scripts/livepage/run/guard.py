"""The guard against forbidden actions of a block: ending or forking the process, writing into the project, and others.

A forbidden action raises an exception. It is also reported with the page's line if the block catches that exception.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import traceback
from typing import TYPE_CHECKING, Any, NoReturn, Self

from livepage.read import Origin, project
from livepage.run import audit_events

if TYPE_CHECKING:
    from types import FrameType

    from livepage.read import Piece

_STARTS = {
    "os.exec": "a block must not put another program in the place of the build",
    "os.fork": "a block must not fork the build: start a program with `subprocess`",
    "os.forkpty": "a block must not fork the build: start a program with `subprocess`",
}
# The positions of the paths among an event's arguments, each with the position of the folder it is relative to.
_WRITES = {
    "os.remove": ((0, 1),), "os.mkdir": ((0, 2),), "os.rmdir": ((0, 1),), "os.truncate": ((0, -1),),
    "os.rename": ((0, 2), (1, 3)), "os.link": ((1, 3),), "os.symlink": ((1, 2),), "shutil.rmtree": ((0, -1),),
}  # fmt: skip
_CHANGES = ("os.putenv", "os.unsetenv")
_CACHES = frozenset({".cache", "__pycache__"})

_guards: list[Guard] = []


class RefusedError(RuntimeError):
    """The error of a block that does something forbidden."""


class Guard:
    """The supervisor of one page while its pieces run.

    Attributes:
        complaints: The forbidden actions of the pieces, each with its line.
        variables: The environment variables that the page's own code set or removed.
        piece: The piece that is running.
    """

    def __init__(self) -> None:
        """Start without complaints."""
        self.complaints: list[tuple[Origin, str]] = []
        self.variables: set[str] = set()
        self.piece: Piece | None = None

    def __enter__(self) -> Self:
        """Start guarding, and replace the functions that would end the process or drop exceptions."""
        tempfile.gettempdir()  # its first call writes a file
        _guards.append(self)
        self._before = os._exit, threading.excepthook
        os._exit = self._refuse_exit
        threading.excepthook = self._hear_thread
        return self

    def __exit__(self, *_: object) -> None:
        """Stop guarding, and restore the replaced functions."""
        os._exit, threading.excepthook = self._before
        _guards.remove(self)

    def raise_refusal(self, message: str) -> NoReturn:
        """Record a forbidden action of the block, and stop it.

        Raises:
            RefusedError: Always.
        """
        place = self.find_place(sys._getframe()) or (self.piece.origin if self.piece else Origin("<page>", 1))  # noqa: SLF001 - there is no other way to find the caller
        self.complaints.append((place, message))
        raise RefusedError(message)

    def find_place(self, frame: FrameType | None) -> Origin | None:
        """Return the innermost line of the piece among the callers, or None if the piece is not one of them."""
        while frame and self.piece:
            if self.piece.holds(origin := Origin(frame.f_code.co_filename, frame.f_lineno)):
                return origin
            frame = frame.f_back
        return None

    def _refuse_exit(self, status: int) -> NoReturn:
        self.raise_refusal(f"os._exit({status}): a block must not leave Python")

    def _hear_thread(self, failed: threading.ExceptHookArgs) -> None:
        for frame in reversed(traceback.extract_tb(failed.exc_traceback)):
            origin = Origin(frame.filename, frame.lineno or 0)
            if self.piece and self.piece.holds(origin):
                error = "".join(traceback.format_exception_only(failed.exc_value)[-1:]).strip()
                self.complaints.append((origin, f"{error} (in a thread)"))
                return
        self._before[1](failed)


def _on_event(event: str, details: tuple[Any, ...]) -> None:
    guard = _guards[-1] if _guards else None
    if guard is None or guard.piece is None:
        return
    if event in _CHANGES:
        if audit_events.is_own(sys._getframe(2)):  # noqa: SLF001 - there is no other way to find the caller
            guard.variables.add(os.fsdecode(details[0]))
        return
    if event == "open":
        targets = [details[0]] if audit_events.is_writing(details) else []
    else:
        targets = [_join(details, *places) for places in _WRITES.get(event, ())]
    paths = [path for path in targets if isinstance(path, str | bytes | os.PathLike)]
    names = [name for path in paths if (name := project.find_name(path, _CACHES))]
    if (event in _STARTS or names) and guard.find_place(sys._getframe(2)):  # noqa: SLF001 - as above
        guard.raise_refusal(_STARTS.get(event) or f"a block must not write into the project: {names[0]}")


def _join(details: tuple[Any, ...], at: int, folder: int) -> Any:  # noqa: ANN401 - as the event has it
    """Return a path from an event's arguments; a path relative to an open folder becomes absolute."""
    path = details[at]
    handle = details[folder] if 0 <= folder < len(details) else -1
    if not isinstance(handle, int) or handle < 0 or not isinstance(path, str | bytes | os.PathLike):
        return path
    try:
        # Only Linux lists the paths of open folders here.
        return os.path.join(os.readlink(f"/proc/self/fd/{handle}"), os.fsdecode(path))  # noqa: PTH115, PTH118 - as above
    except OSError:
        return None


audit_events.listen(_on_event, ("open", *_STARTS, *_WRITES, *_CHANGES))
