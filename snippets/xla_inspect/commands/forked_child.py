"""A copy of this process that runs the user's file, which starts without importing this package again."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from types import ModuleType
from typing import TYPE_CHECKING

from xla_inspect.process import kill_below

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def can_fork() -> bool:
    """Return whether a copy of this process works like a new one: on Linux, without other threads and without JAX.

    A copy has none of the other threads, and libraries that need them, such as XLA, hang in it.
    """
    return sys.platform == "linux" and threading.active_count() == 1 and "jax" not in sys.modules


class ForkedChild:
    """A copy of this process with its own output and environment, which ends with this process.

    It has the part of the interface of `subprocess.Popen` that `child_process` uses.

    Args:
        program: The program text, as after `python -c`; it ends the process.
        words: The words of `sys.argv`.
        variables: The environment variables.
        clean: The function that the copy calls before it ends because this process was killed.

    Attributes:
        stdout: The standard output, as text.
        stderr: The standard error, as text.
        returncode: The exit status, or a negative signal number; None while it runs.
    """

    def __init__(
        self,
        program: str,
        words: Sequence[str],
        variables: Mapping[str, str],
        clean: Callable[[], object],
    ) -> None:
        """Start the copy."""
        self.returncode: int | None = None
        (output, output_sink), (errors, error_sink), (lifeline, self._held_open) = os.pipe(), os.pipe(), os.pipe()
        # Text that waits in a buffer would be written twice.
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            try:
                for number in (output, errors, self._held_open):
                    os.close(number)
                os.dup2(output_sink, 1)
                os.dup2(error_sink, 2)
                _start_anew(words, variables)
                threading.Thread(target=_follow, args=(lifeline, clean), daemon=True).start()
                exec(program, vars(sys.modules["__main__"]))  # noqa: S102 - our own text, as in a new process
            except BaseException:  # noqa: BLE001 - nothing of the copied process may go on here
                traceback.print_exc()
            finally:
                os._exit(1)
        for number in (output_sink, error_sink, lifeline):
            os.close(number)
        self.stdout = open(output, encoding="utf-8", errors="replace")  # noqa: PTH123, SIM115 - closed by `end`
        self.stderr = open(errors, encoding="utf-8", errors="replace")  # noqa: PTH123, SIM115 - closed with the process

    def wait(self) -> int:
        """Wait for the end, and return the exit status, or a negative signal number."""
        if self.returncode is None:
            _, status = os.waitpid(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def kill(self) -> None:
        """Kill the copy, if it still runs."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> int:
        """Kill the copy and its descendants, and return the exit status, or a negative signal number."""
        if self.returncode is None:
            kill_below(self.pid)
            self.kill()
        code = self.wait()
        if self._held_open >= 0:
            os.close(self._held_open)
            self._held_open = -1
        return code


def _start_anew(words: Sequence[str], variables: Mapping[str, str]) -> None:
    """Give a copied process the state of a new one that runs `python -P -c`."""
    from xla_inspect.targets import restart_environment

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    # The old streams have the encoding and the position of other files.
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - of the process
    sys.stderr = open(  # noqa: SIM115 - as above
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    # With `-P`, the path does not begin with the folder of the script or the working folder.
    if not sys.flags.safe_path:
        del sys.path[0]
    sys.argv = ["-c", *words]
    sys.modules["__main__"] = ModuleType("__main__")
    restart_environment(variables)


def _follow(lifeline: int, clean: Callable[[], object]) -> None:
    """Wait until the original process has ended, and end this one."""
    os.read(lifeline, 1)
    try:
        clean()
    finally:
        os.kill(os.getpid(), signal.SIGKILL)
