"""The child process that runs the user's file for a command, so that the command can report any failure.

The file may call `sys.exit` or `os._exit`, crash, or crash the compiler.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

from xla_inspect import subject as subjects
from xla_inspect.commands import time_limit, user_code
from xla_inspect.commands.forked_child import ForkedChild, can_fork
from xla_inspect.process import REASONS, Child, find_line, name_end
from xla_inspect.targets import list_original
from xla_inspect.terminal import describe_terminal, drop_logs, print_note

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

STATUS, STACKS, ENVIRONMENT = "status", "stacks", "environment"
"""The files with the exit status of the command, the stacks of a crash, and the user's environment variables."""

CRASHED = {
    0: "the code at this line crashed, or code that it calls: an extension module or the compiler",
    signal.SIGABRT: f"{REASONS[signal.SIGABRT]}; its message is above",
    9: f"{REASONS[9]}; use a smaller EXAMPLE, or a machine with more memory",
}
"""The advice about a process that a signal ended, by the signal's number; that of 0 is for all other signals."""

_INTERRUPTED = 130

_ENDING_ITSELF = frozenset({"plan"})
"""The commands whose process prints an answer after an interrupt."""

OBJECTS = 400_000
"""The number of new objects after which Python looks for garbage in a process that loads and traces a function.

JAX's modules and parsed HLO are hundreds of thousands of objects that live until the process ends, and with Python's
usual threshold the search for garbage among them takes a tenth of the time. Scripts keep the usual threshold, because
a training loop may leave arrays in reference cycles.
"""


def run_apart(
    arguments: Sequence[str],
    options: argparse.Namespace,
    *,
    folder: Path | None = None,
    paths: Sequence[str] = (),
) -> int:
    """Run a command in a separate process, forward its output, and return its exit status.

    Args:
        arguments: The words of the command line.
        options: The parsed options.
        folder: Its working folder, by default this process's.
        paths: Folders to import from, before Python's own search path.
    """
    file = subjects.Request(tuple(options.subject)).file
    with tempfile.TemporaryDirectory(prefix="xla_inspect_run_") as name, ending_by_exception():
        original = list_original()
        if paths:
            # The folders of a commit come first, so that its modules hide those of the user's checkout.
            original["PYTHONPATH"] = os.pathsep.join(filter(None, (*paths, original.get("PYTHONPATH", ""))))
        (Path(name) / ENVIRONMENT).write_text(json.dumps(original), encoding="utf-8")
        environment = {
            **original,
            **describe_terminal(sys.stdout),
            **_simulate(options),
            # This process reads the pipe as UTF-8, whatever encoding the locale of the machine has.
            "PYTHONIOENCODING": "utf-8",
        }
        is_script = options.subject[0] == "run"
        program = _write_program(is_script=is_script)
        # A script keeps a process of its own making, since it may look at how Python was started.
        if can_fork() and not (folder or paths or is_script):
            child: Child | ForkedChild = ForkedChild(program, [name, *arguments], environment, lambda: sweep(name))
        else:
            child = _start(program, name, arguments, environment, folder)
        process = child.process if isinstance(child, Child) else child
        try:
            if getattr(options, "command", "") in _ENDING_ITSELF:
                _ignore_first_interrupt()
            closed, failure = _pass_all_on(process)
            process.wait()
        except KeyboardInterrupt:
            _ignore_interrupts()
            print_note("interrupted")
            return _INTERRUPTED
        finally:
            code = child.end()
            # A process that crashes does not write its status, so a missing file means that it did not finish.
            status = Path(name) / STATUS
            exit_status = status.read_text(encoding="utf-8") if status.is_file() else ""
            if not exit_status:
                from xla_inspect.compilation import sweep_dumps

                sweep_dumps()
        if failure:
            print_note(f"cannot write the answer: {failure}")
            return 2
        # If the reader closed the pipe, this process ended the child, so the early end is no error.
        if not exit_status and not closed:
            print_note(_explain_end(code, options, file, Path(name) / STACKS) + name_last_call(process.pid))
        # A process that wrote no status did not finish, so its command cannot count as a success.
        return int(exit_status or 2)


def _write_program(*, is_script: bool) -> str:
    """Return the text of the program that runs the command in its own process."""
    beginning = "" if is_script else f"import gc; gc.set_threshold({OBJECTS}); "
    return f"{beginning}from {__package__}.answering_process import main; main()"


def _start(
    program: str, name: str, arguments: Sequence[str], environment: Mapping[str, str], folder: Path | None
) -> Child:
    """Start a new process that runs the command; `name` is the folder of its files, `folder` its working folder."""
    return Child(
        # The file imports from its own folder, not from the working folder, as if Python ran it.
        [sys.executable, "-P"],
        program,
        [name, *arguments],
        variables=environment,
        folder=folder,
        source=None,
        errors=subprocess.PIPE,
        cleaning=f"from {__name__} import sweep; sweep({name!r})",
        has_session=False,
    )


def _simulate(options: argparse.Namespace) -> dict[str, str]:
    """Return the environment variable that makes JAX simulate as many CPU devices as the largest target has.

    The dict is empty for a script, or if JAX simulates enough devices already.
    """
    from xla_inspect.targets import count_devices

    if options.subject[0] == "run":
        # A script runs in its usual environment, with as many devices as without this package.
        return {}
    targets = options.target if isinstance(options.target, list) else [options.target]
    # JAX fixes the number of CPU devices when it starts, so the largest target decides.
    most = max((count_devices(target) for target in targets if target), default=1)
    return {"JAX_NUM_CPU_DEVICES": str(most)} if most > int(os.environ.get("JAX_NUM_CPU_DEVICES", "1")) else {}


def _ignore_interrupts() -> None:
    """Ignore a second interrupt, since the process is being ended already."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _ignore_first_interrupt() -> None:
    """Leave the first interrupt to the child process, which gets it too and then prints what it knows so far."""
    if threading.current_thread() is threading.main_thread():
        before = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, before))


@contextmanager
def ending_by_exception() -> Iterator[None]:
    """Turn signals that end this process into SystemExit, so that the child process and its dumps are removed too."""
    # Python lets only the main thread install handlers of signals.
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: object) -> NoReturn:
        sys.exit(128 + number)

    # `_ignore_interrupts` may replace the handler of interrupts, so this handler is restored too.
    before = {signal.SIGINT: signal.getsignal(signal.SIGINT)}
    before |= {number: signal.signal(number, leave) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# Not every operating system has both signals.
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def _pass_all_on(process: subprocess.Popen[str] | ForkedChild) -> tuple[bool, str]:
    """Forward the output of a process until it closes its streams.

    Returns:
        Whether the reader of the output closed the pipe, and the reason if the output cannot be written.
    """
    closed = threading.Event()
    failures: list[str] = []

    def pass_on(source: Iterable[str] | None, sink: IO[str]) -> None:
        try:
            for line in source or ():
                sink.write(line)
                # A compilation may take minutes, so its messages must not wait in a buffer.
                sink.flush()
        except (OSError, ValueError) as error:
            if isinstance(error, BrokenPipeError):
                closed.set()
            else:
                failures.append(str(error))
            # No one receives further output, so the process has nothing left to do.
            process.kill()
            # Python flushes the stream at exit, which would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sink.fileno())

    streams = (process.stdout, sys.stdout), (drop_logs(process.stderr or ()), sys.stderr)
    # Both streams are read at the same time, since a process blocks when a pipe that is not read is full.
    threads = [threading.Thread(target=pass_on, args=stream, daemon=True) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return closed.is_set(), next(iter(failures), "")


def _explain_end(code: int, options: argparse.Namespace, file: str, stacks: Path) -> str:
    """Return the message for a process that ended before its command was finished."""
    text = stacks.read_text(encoding="utf-8", errors="replace") if stacks.is_file() else ""
    line = find_line(text, Path(file))
    where = f"{file}:{line}" if line else file
    # `faulthandler` begins the stacks of an expired time limit with this word.
    if text.rpartition("Fatal Python error")[2].startswith("Timeout ("):
        return time_limit.explain_timeout(where, "loading or tracing it", options.load_limit)
    # A negative exit code is the number of the signal that ended the process.
    what_to_do = user_code.ENDED if code >= 0 else CRASHED.get(-code, CRASHED[0])
    return f"{where}: the process that ran this file ended early ({name_end(code)})\n{what_to_do}"


def name_last_call(process: int) -> str:
    """Return a line about the last call that a crashed process made of a stand-in for ROCm's libraries, or ""."""
    from xla_inspect.targets import name_rocm_call

    call = name_rocm_call(process)
    return f"\nThe last call of a ROCm library was {call}, which is a stand-in here." if call else ""


def sweep(folder: str) -> None:
    """If a command's folder still exists, its parent process was killed: remove the folder and this process's dumps."""
    # The parent process removes the folder, unless it was killed.
    if Path(folder).is_dir():
        shutil.rmtree(folder, ignore_errors=True)
        # Another process removes the dumps, since this process keeps them open until it ends.
        program = "import time; time.sleep(1); from xla_inspect.compilation import sweep_dumps; sweep_dumps()"
        subprocess.Popen([sys.executable, "-P", "-c", program], start_new_session=True)  # noqa: S603 - our own module
