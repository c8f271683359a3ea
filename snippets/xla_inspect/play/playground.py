"""The start and end of a playground: the page's initial content, its server, and the signals that end it."""

from __future__ import annotations

import errno
import os
import platform
import signal
import sys
import threading
import time
import webbrowser
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from xla_inspect.errors import InspectError
from xla_inspect.play.code_outline import outline
from xla_inspect.play.example_list import list_examples
from xla_inspect.play.play_server import listen
from xla_inspect.play.process_pool import Limits, ProcessPool
from xla_inspect.spelling import FEW, suggest_file, suggest_name
from xla_inspect.subject import find_root
from xla_inspect.targets import TARGETS, USUAL, available, find_target, find_version

if TYPE_CHECKING:
    from collections.abc import Callable

EDIT = "edit.py"
"""The file name of code that does not come from a file."""

NOT_STOPPED = (
    "The code runs with your rights: its time, memory and output are limited, "
    "but not what it does with your files and the network."
)

_FLAGS = {
    "cpu": ("xla_cpu_enable_fast_math", "xla_cpu_prefer_vector_width", "xla_backend_optimization_level"),
    "gpu": ("xla_gpu_enable_triton_gemm", "xla_gpu_enable_latency_hiding_scheduler", "xla_gpu_enable_command_buffer"),
    "tpu": (),
}
_ALL = ("xla_disable_hlo_passes",)


def serve(subject: str, limits: Limits, port: int | None, out: TextIO, *, is_opened: bool) -> int:
    """Serve the page until a signal ends it, and return the exit status.

    Args:
        subject: The file and function to edit first, as `FILE.py:FUNCTION`, or an empty string for an example.
        limits: The limits of each edit.
        port: The port of the server, see `listen`.
        out: The stream on which to print the address.
        is_opened: Whether to open the page in the browser.

    Raises:
        InspectError: There is no such file or function, no port is free, or the system cannot fork processes.
    """
    if not hasattr(os, "fork"):
        message = (
            f"the playground needs a system that can fork, such as Linux or macOS, and this is {platform.system()}"
        )
        raise InspectError(message)
    content = read_file(subject) if subject else begin_with_example()
    start = {**content, **describe_machine(limits)}
    # The place must be known before the pool starts, because its processes import from these folders.
    place = find_place(subject, content["file"])
    wait = await_signal()
    kinds = sorted({find_target(target).kind for target in start["targets"]})
    with closing(ProcessPool(limits, place, kinds)) as pool:
        server = listen(port, pool, start)
        with server:
            # The main thread stays free to wait for signals, which Python delivers only there.
            threading.Thread(target=server.serve_forever, name="play-server", daemon=True).start()
            announce(f"{content['file']} is on {server.address} for you alone; Ctrl-C ends it", out)
            announce(NOT_STOPPED, out)
            if is_opened:
                threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
            wait()
            server.shutdown()
    return 0


def announce(text: str, out: TextIO) -> None:
    """Print a line, unless the terminal has hung up."""
    try:
        print(text, file=out, flush=True)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        # The terminal hung up and its signal will follow. Python flushes the stream again at exit, so it goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def await_signal() -> Callable[[], None]:
    """Install handlers for the signals that end a program, and return a function that waits for the first signal."""
    signals: list[int] = []
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), lambda number, _: signals.append(number))

    def wait() -> None:
        # Polling is necessary: a signal just before the main thread starts to wait for a lock would not wake it.
        while not signals:
            time.sleep(0.1)

    return wait


def read_file(subject: str) -> dict[str, Any]:
    """Return the page's initial content for a subject: `file`, `code`, `function`, `arguments` and `options`.

    Raises:
        InspectError: The file does not exist or cannot be read, or it has no such function.
    """
    place, _, function = subject.rpartition(":") if not subject.endswith(".py") else (subject, "", "")
    path = Path(place)
    if not place.endswith(".py"):
        message = f"the playground edits Python files, and {subject!r} is not FILE.py:FUNCTION"
        raise InspectError(message)
    if not path.is_file():
        message = f"no file {place}{suggest_file(path)}"
        raise InspectError(message)
    try:
        # Some editors put a byte order mark at the start of a file, which Python's parser would reject in a string.
        code = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{place} cannot be read: {error}"
        raise InspectError(message) from error
    content = outline(code, function)
    names = [entry["name"] for entry in content["functions"]]
    # Code with a syntax error has no outline, so it is opened as it is and the page shows the error.
    if function and not content["errors"] and content["chosen"] != function:
        message = f"{place} has no function {function!r}; {suggest_name(function, names, 'it has', FEW)}"
        raise InspectError(message)
    return {
        "file": path.name,
        "code": code,
        "function": function or content["chosen"],
        "arguments": "",
        "options": {},
    }


def begin_with_example() -> dict[str, Any]:
    """Return the page's initial content if the reader gave no file, which is the first example."""
    first = list_examples()[0]
    return {"file": EDIT, **{name: first[name] for name in ("code", "function", "arguments", "options")}}


def find_place(subject: str, file: str) -> dict[str, Any]:
    """Return the name of the edited `file`, its `package`, and the `paths` of the folders from which it imports."""
    if not subject:
        return {"file": file, "package": "", "paths": []}
    path = Path(subject if subject.endswith(".py") else subject.rpartition(":")[0]).absolute()
    root = find_root(path)
    return {"file": file, "package": ".".join(path.parent.relative_to(root).parts), "paths": [str(root)]}


def describe_machine(limits: Limits) -> dict[str, Any]:
    """Return the page's facts about this machine (targets, flags, limits, versions), the examples and the command."""
    obstacles = available()
    # A machine without GPU and TPU compilers still has a target, so the page never starts without any.
    usual = [name for name in USUAL if not obstacles[name]] or [name for name in TARGETS if not obstacles[name]][:1]
    packages = ("xla-inspect", "jax", "jaxlib", "jax-cuda13-plugin", "libtpu")
    versions = {name: version for name in packages if (version := find_version(name))}
    return {
        "targets": usual,
        "examples": list_examples(),
        "available": [
            {"target": name, "title": find_target(name).title, "obstacle": obstacles[name] or None} for name in TARGETS
        ],
        "flags": {name: [*_FLAGS[find_target(name).kind], *_ALL] for name in TARGETS if not obstacles[name]},
        "limits": {"code": limits.code, "compile": limits.compile, "memory": limits.memory},
        "versions": {**versions, "python": platform.python_version()},
        "command": "xla-inspect play" if sys.argv else "",
    }
