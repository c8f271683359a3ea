"""The process that has imported JAX and forks the others, so that each is ready at once and all begin alike."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
import warnings
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Role = Callable[[dict[str, Any], Connection], None]

DESCRIPTORS = 3
"""The messages, the output and the status: one descriptor for each process."""

STACKS = ".stacks"
"""The file in a process's folder that names the lines that ran when it crashed or when its time was over."""

_MOST_DESCRIPTORS = 64


def main() -> None:
    """Fork a process for each order that comes through a socket, and end them all when the socket is closed.

    Arguments:
        The number of the socket's descriptor.
    """
    channel = socket.socket(fileno=int(sys.argv[1]))
    warnings.filterwarnings("ignore", message=".*fork", category=Warning)
    roles = load_roles()
    gc.collect()
    gc.freeze()
    wakes, awake = socket.socketpair()
    awake.settimeout(0)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(awake.fileno(), warn_on_full_buffer=False)
    statuses: dict[int, Connection] = {}
    while True:
        ready, _, _ = select.select([channel, wakes], [], [])
        if wakes in ready:
            wakes.recv(1 << 12)
        _report_ended(statuses)
        if channel not in ready:
            continue
        data, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, DESCRIPTORS)
        if not data:
            for process in statuses:
                _end_group(process)
            return
        process = os.fork()
        if process == 0:
            _become(json.loads(data), descriptors, roles)
        statuses[process] = Connection(descriptors.pop(), readable=False)
        for descriptor in descriptors:
            os.close(descriptor)
        with contextlib.suppress(OSError):
            statuses[process].send(process)


def load_roles() -> Mapping[str, Role]:
    """Import all that the processes need, including JAX, and return the function of each role."""
    from xla_inspect import targets

    targets.settle()
    from xla_inspect.play import compile_process, edit_process

    return {
        "edit": edit_process.run_edit,
        "compile": compile_process.run_compiler,
        "outline": compile_process.run_outliner,
    }


def _become(order: dict[str, Any], descriptors: list[int], roles: Mapping[str, Role]) -> NoReturn:
    """Take a role in a session of this process's own, and end with it."""
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        messages, output, _ = descriptors
        for standard, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
            os.dup2(descriptor, standard)
        # The other descriptors belong to the fork server and to other processes.
        os.closerange(3, messages)
        os.closerange(messages + 1, _MOST_DESCRIPTORS)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is a stream of text
        os.chdir(order["folder"])
        roles[order["role"]](order, Connection(messages))
        code = 0
    except BaseException:  # noqa: BLE001 - the server shows the traceback
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(code)


def _report_ended(statuses: dict[int, Connection]) -> None:
    """Send the exit code of each process that has ended, and end its group first."""
    while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) if statuses else None) is not None:
        process = ended.si_pid
        _end_group(process)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        with contextlib.suppress(OSError), statuses.pop(process) as status:
            status.send(code)


def _end_group(process: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process, signal.SIGKILL)
