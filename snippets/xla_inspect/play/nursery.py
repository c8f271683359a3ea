"""The process that has imported JAX, and from which the others are forked: they are there at once, and all alike."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import socket
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.play import confinement
from xla_inspect.play.keeper import keep
from xla_inspect.play.pipe_messages import Sender

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DESCRIPTORS = 5
"""Requests, answers, output, control and status: what each process is given."""


def main() -> None:
    """Fork a process for each order that comes through a socket, until that is closed.

    Arguments:
        The number of the socket's descriptor.
    """
    channel = socket.socket(fileno=int(sys.argv[1]))
    confinement.adopt_orphans()
    warnings.filterwarnings("ignore", message=".*fork", category=Warning)
    roles = load_roles()
    gc.collect()
    gc.freeze()
    keepers: set[int] = set()
    while True:
        ready, _, _ = select.select([channel], [], [], 1)
        _reap(keepers)
        if not ready:
            continue
        data, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, DESCRIPTORS)
        if not data:
            return
        order = json.loads(data)
        keeper = os.fork()
        if keeper == 0:
            channel.close()
            _become(order, descriptors, roles)
        keepers.add(keeper)
        for descriptor in descriptors:
            os.close(descriptor)


def load_roles() -> Mapping[str, Callable[[Any, int, Sender], None]]:
    """Import all that the processes need, JAX with it, and return what each kind of them does."""
    from xla_inspect import targets

    targets.settle()
    from xla_inspect.play import compile_process, edit_process, outline_process

    return {"edit": edit_process.run, "compile": compile_process.run, "outline": outline_process.run}


def _become(
    order: dict[str, Any], descriptors: list[int], roles: Mapping[str, Callable[[Any, int, Sender], None]]
) -> None:
    """Be the keeper of a process, and end with it."""
    requests, answers, output, control, status = descriptors

    def run() -> None:
        # What is beside the standard streams belongs to others.
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        kept = {0, 1, 2, requests, answers}
        for descriptor in range(3, 64):
            if descriptor not in kept:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        os.chdir(order["folder"])
        roles[order["role"]](order, requests, Sender(answers, order["mark"]))

    try:
        Path(order["folder"]).mkdir(parents=True, exist_ok=True)
        keep(order, control, status, run)
    finally:
        os._exit(0)


def _reap(keepers: set[int]) -> None:
    """Take leave of processes that have ended, and end those whose keeper has."""
    import signal

    from xla_inspect.play.keeper import list_below

    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            keepers.discard(ended)
    task = Path(f"/proc/self/task/{os.getpid()}/children")
    if task.is_file():
        for child in map(int, task.read_text(encoding="ascii").split()):
            if child not in keepers:
                for process in (*list_below(child), child):
                    with contextlib.suppress(OSError):
                        os.kill(process, signal.SIGKILL)
