"""Listeners for the files that this process opens or writes and the programs it starts, through audit events."""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from typing import TYPE_CHECKING, Any

from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

type Listener = Callable[[str, tuple[Any, ...]], None]

_FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_PACKAGES = sysconfig.get_path("purelib") + os.sep

_inside = threading.local()
_listeners: dict[str, list[Listener]] = {}


def listen(listener: Listener, events: tuple[str, ...]) -> None:
    """Call a function for these audit events from now on; an audit hook cannot be removed."""
    if not _listeners:
        sys.addaudithook(_hear)
    for event in events:
        _listeners.setdefault(event, []).append(listener)


def is_writing(details: tuple[Any, ...]) -> bool:
    """Return whether an `open` event opens a file for writing."""
    _, mode, flags = details
    return bool(set(mode or "") & set("wax+")) or (isinstance(flags, int) and bool(flags & _FOR_WRITING))


def is_own_file(file: str) -> bool:
    """Return whether a file of code is a page, or in one of the project's packages other than its tool packages."""
    if not os.path.isabs(file):  # noqa: PTH117 - this runs at each read of a clock or variable
        return file.endswith((".md", ".py"))
    if f"{os.sep}ipykernel_" in file:  # a cell of a notebook
        return True
    folder = f"{project.root}{os.sep}snippets{os.sep}"
    return file.startswith(folder) and file[len(folder) :].partition(os.sep)[0] not in project.adapter.packages


def is_own(frame: FrameType | None) -> bool:
    """Return whether the innermost frame outside of Python's library is the project's own code."""
    # The folder of the packages may be inside that of the standard library, so it is excluded explicitly.
    while frame and frame.f_code.co_filename.startswith(("<frozen", _LIBRARY)):
        if frame.f_code.co_filename.startswith(_PACKAGES):
            return False
        frame = frame.f_back
    return frame is not None and is_own_file(frame.f_code.co_filename)


def _hear(event: str, details: tuple[Any, ...]) -> None:
    if event not in _listeners or getattr(_inside, "a_listener", False):
        return  # a listener's own actions would call it again without end
    _inside.a_listener = True
    try:
        for listener in _listeners[event]:
            listener(event, details)
    finally:
        _inside.a_listener = False
