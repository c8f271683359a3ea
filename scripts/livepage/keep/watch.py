"""The recording of everything that code reads: project files and folders, the environment, and unstorable inputs."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import sys
import sysconfig
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from livepage.keep.inputs import Inputs, hash_file, hash_names
from livepage.keep.page_store import BUILD
from livepage.keep.repository import read_state
from livepage.read import project
from livepage.run import is_own, is_own_file, is_writing, listen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType, FrameType

_CLOCKS = frozenset(
    {
        time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns,
        time.process_time, time.process_time_ns, time.localtime, time.gmtime, time.ctime, time.strftime,
        dt.datetime.now, dt.datetime.utcnow, dt.datetime.today, dt.date.today,
    }
)  # fmt: skip
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
_LOCAL = {"localhost", "127.0.0.1", "::1", ""}
_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_PACKAGES = sysconfig.get_path("purelib") + os.sep
_METADATA = os.path.join(os.path.dirname(importlib.metadata.__file__), "")  # noqa: PTH118, PTH120 - as a prefix
# The folders of the system and of Python. Temporary files and reports about the process are not inputs of a page.
_SYSTEM = (
    *(f"{os.path.realpath(folder)}{os.sep}" for folder in (sys.prefix, sys.base_prefix, _LIBRARY, _PACKAGES)),
    *("/usr/", "/lib/", "/lib64/", "/etc/", "/opt/", "/proc/", "/sys/", "/dev/", "/run/", "/var/"),
    *("/System/", "/Library/"),
)

# `os.stat` raises no audit event, so `_tell_and_stat` raises this one to record tests for a file's existence.
_ASKED = "livepage.stat"
_stat = os.stat
_PLAIN = type(os.environ)

_watches: list[Watch] = []


class Watch:
    """A recorder of the inputs that this process reads inside a `with` block; watches can be nested.

    Attributes:
        facts: The files, folders and environment variables that were read, as in `Inputs`.
        children: The arguments of the programs that were started.
        fleeting: A description of the first input that cannot be stored, or an empty string.
    """

    def __enter__(self) -> Self:
        """Start recording."""
        if not _watches:
            tempfile.gettempdir()  # its first call writes a file, under a lock
            os.stat = _tell_and_stat  # which also raises an audit event
            os.environ.__class__ = _Environment  # which records the readers
            if sys.monitoring.get_tool(_TOOL) is None:
                sys.monitoring.use_tool_id(_TOOL, "livepage")
                sys.monitoring.register_callback(_TOOL, sys.monitoring.events.CALL, _on_call)
        self.facts: dict[str, object] = {}
        self.children: list[str] = []
        self.fleeting = ""
        self._before = dict(os.environ)
        _watches.append(self)
        sys.monitoring.set_events(_TOOL, sys.monitoring.events.CALL)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop recording, and restore the functions of this process that were replaced."""
        _watches.remove(self)
        if not _watches:
            sys.monitoring.set_events(_TOOL, 0)
            os.stat, os.environ.__class__ = _stat, _PLAIN

    def make_inputs(self, files: Iterable[str] = (), without: str = "") -> Inputs:
        """Return the recorded inputs, with additional files and without the file `without`."""
        inputs = Inputs.take(files) | Inputs(self.facts, self.fleeting)
        return Inputs({fact: value for fact, value in inputs.facts.items() if fact != f"file {without}"}, self.fleeting)

    def note_fleeting(self, what: str) -> None:
        """Record that an input was read that cannot be stored."""
        self.fleeting = self.fleeting or what

    def note_variable(self, name: str) -> None:
        """Record that an environment variable was read.

        Code that copies the whole environment also reads the name of this build, which no page depends on.
        """
        if name != BUILD:
            self.facts.setdefault(f"variable {name}", self._before.get(name))


@contextmanager
def unwatched() -> Iterator[None]:
    """Suspend all recording: looking up stored results must not count as an input."""
    aside, _watches[:] = _watches[:], []
    try:
        yield
    finally:
        _watches[:] = aside


def record_repository_state(name: str) -> str:
    """Return the state of the git clone, as `read_state` does, and record it as an input."""
    state = read_state(name)
    for watch in _watches:
        watch.facts.setdefault(f"git {name}", state)
    return state


_TOOL = sys.monitoring.PROFILER_ID + 1


def _on_open(_event: str, details: tuple[Any, ...]) -> None:
    if not _watches or not isinstance(details[0], str | bytes | os.PathLike):
        return
    if _is_import():
        return
    path = os.path.abspath(os.fsdecode(details[0]))  # noqa: PTH100 - called for every file that the process opens
    if name := project.find_name(path):
        for watch in _watches:
            watch.facts.setdefault(f"file {name}", hash_file(path))
    elif _is_outside(path) and not is_writing(details):
        for watch in _watches:
            watch.note_fleeting(f"the file {Path(path).name}, which lies outside the project")


def _tell_and_stat(path: Any, *rest: Any, **options: Any) -> os.stat_result:  # noqa: ANN401 - whatever os.stat takes
    if _watches:
        sys.audit(_ASKED, path)
    return _stat(path, *rest, **options)


def _on_ask(_event: str, details: tuple[Any, ...]) -> None:
    path = details[0]
    if isinstance(path, str | bytes | os.PathLike) and (name := project.find_name(path)):
        for watch in _watches:
            watch.facts.setdefault(f"asked {name}", os.path.exists(path))  # noqa: PTH110 - as above


def _on_list(_event: str, details: tuple[Any, ...]) -> None:
    if not _watches or isinstance(details[0], int):
        return
    path = os.path.abspath(os.fsdecode(details[0] or "."))  # noqa: PTH100 - as above
    name = project.find_name(path)
    # An import lists the folders that it searches, which does not make their names an input of the page.
    if name not in {"", "."} and not _is_import():
        for watch in _watches:
            watch.facts.setdefault(f"folder {name}", hash_names(path))


def _is_import() -> bool:
    """Return whether the search for a module or for an installed package caused the event that is being handled."""
    # The modules that a page imports are found apart, since a module may be loaded already when a page imports it. The
    # versions of packages are in the keys of all pages.
    return sys._getframe(3).f_code.co_filename.startswith(("<frozen importlib", _METADATA))  # noqa: SLF001 - no other way


def _is_outside(path: str) -> bool:
    """Return whether a file belongs to neither the project, the system nor a cache."""
    if path.startswith((f"{project.root}{os.sep}", *_SYSTEM)) or os.path.realpath(path).startswith(_SYSTEM):
        return False
    caches = filter(None, (*map(os.environ.get, project.adapter.caches), tempfile.gettempdir()))
    return Path(path).is_file() and not any(Path(path).is_relative_to(Path(cache).absolute()) for cache in caches)


def _on_network(_event: str, details: tuple[Any, ...]) -> None:
    address = details[1] if isinstance(details[0], object) and len(details) > 1 else details[0]
    host = address[0] if isinstance(address, tuple) and address else details[0]
    if not _watches or not isinstance(host, str) or host in _LOCAL:
        return
    for watch in _watches:
        watch.note_fleeting("the network")


def _on_start(_event: str, details: tuple[Any, ...]) -> None:
    if not _watches:
        return
    arguments = details[1] if isinstance(details[1], list | tuple) else [details[1]]
    texts = [os.fsdecode(part) for part in arguments if isinstance(part, str | bytes | os.PathLike)]
    for watch in _watches:
        watch.children += texts


class _Environment(type(os.environ)):  # type: ignore[misc]  # assigned to the class of `os.environ`
    """The environment, extended to record which variables the project's own code reads."""

    def __getitem__(self, name: str) -> str:
        _note_asked(name, sys._getframe(1))  # noqa: SLF001 - there is no other way to find the caller
        # Another thread may end the watch at this moment, which changes the class of `self`, so `super()` would fail.
        value: str = _PLAIN.__getitem__(self, name)
        return value

    def copy(self) -> dict[str, str]:
        return _Copy({self.decodekey(name): self.decodevalue(value) for name, value in self._data.items()})


class _Copy(dict[str, str]):
    """A copy of the environment for a program to be started; passing it on does not count as reading it."""

    def __getitem__(self, name: str) -> str:
        _note_asked(name, sys._getframe(1))  # noqa: SLF001 - as above
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as a dict's
        _note_asked(name, sys._getframe(1))  # noqa: SLF001 - as above
        return super().get(name, default)


def _note_asked(name: str, frame: FrameType) -> None:
    if _watches and is_own(frame):
        for watch in _watches:
            watch.note_variable(name)


def _on_call(code: CodeType, _offset: int, function: object, _first: object) -> object:
    """Record a call that reads a clock, and disable the event for every other call site."""
    try:
        is_clock = function in _CLOCKS
    except TypeError:  # an unhashable object is not a clock
        is_clock = False
    if not is_clock or code.co_filename.endswith(project.adapter.stopwatches or ("\0",)):
        return sys.monitoring.DISABLE
    if is_own_file(code.co_filename):
        for watch in _watches:
            watch.note_fleeting("the clock")
    return None


listen(_on_open, ("open",))
listen(_on_ask, (_ASKED,))
listen(_on_list, ("os.listdir", "os.scandir"))
listen(_on_network, _NETWORK)
listen(_on_start, ("subprocess.Popen",))
