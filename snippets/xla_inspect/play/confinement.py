"""What code that a reader edits may do on this machine: write below its own folder, and take so much of everything."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
"""Numbers of Landlock's system calls, the same for every kind of processor."""

_WRITE = (1 << 1) | sum(1 << right for right in range(4, 13))
"""Landlock's rights of whoever changes files: write, and make or remove what there is."""

_REFER, _TRUNCATE = 1 << 13, 1 << 14
_SCOPES = 0b11
"""That neither abstract sockets nor signals reach a process outside."""

_REFER_SINCE, _TRUNCATE_SINCE, _NETWORK_SINCE, _SCOPE_SINCE = 2, 3, 4, 6
"""The versions of Landlock that brought each."""

_SUBREAPER, _NO_NEW_PRIVILEGES, _DUMPABLE = 36, 38, 4

FILE = 1 << 28
"""Bytes that one file may have."""

FILES = 1024
"""Files that may be open at once."""


def adopt_orphans() -> None:
    """Let the processes below this one, however far, become its children when their own parents end. Linux has that."""
    _call("prctl", _SUBREAPER, 1, 0, 0, 0)


def confine(folder: Path, memory: int) -> None:
    """Let this process and those that it starts write below a folder alone, and take no more than is given.

    What the system does not offer is left out: Landlock is Linux's, and signals stay inside since its version 6.

    Args:
        folder: The folder.
        memory: Bytes of memory.
    """
    limits = {resource.RLIMIT_DATA: memory, resource.RLIMIT_FSIZE: FILE, resource.RLIMIT_NOFILE: FILES}
    for kind, most in {**limits, resource.RLIMIT_CORE: 0}.items():
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(kind)[1]
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (bound, bound))
    with contextlib.suppress(OSError, AttributeError):
        _lock_to(folder)


def _lock_to(folder: Path) -> None:
    version = _call("syscall", _CREATE, None, 0, 1)
    if version < 1:
        return
    rights = _WRITE
    rights |= _REFER if version >= _REFER_SINCE else 0
    rights |= _TRUNCATE if version >= _TRUNCATE_SINCE else 0
    asked = struct.pack("=QQQ", rights, 0, _SCOPES if version >= _SCOPE_SINCE else 0)
    size = 24 if version >= _SCOPE_SINCE else 16 if version >= _NETWORK_SINCE else 8
    rules = _call("syscall", _CREATE, asked[:size], size, 0)
    if rules < 0:
        return
    for place, allowed in ((str(folder), rights), (os.devnull, rights & ((1 << 1) | _TRUNCATE))):
        beneath = os.open(place, os.O_PATH | os.O_CLOEXEC)
        _call("syscall", _ADD_RULE, rules, 1, struct.pack("=Qi", allowed, beneath), 0)
        os.close(beneath)
    _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _call("syscall", _RESTRICT, rules, 0)
    os.close(rules)


def _call(name: str, *arguments: int | bytes | None) -> int:
    """Call a function of the C library, with every number as wide as a register."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return -1
    return int(function(*(ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)))
