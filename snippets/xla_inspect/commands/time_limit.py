"""The time limit for loading and tracing the user's code. Code that hangs is ended, and its line is reported."""

from __future__ import annotations

import faulthandler
import sys
import threading
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SLOW = 2.0
"""The seconds after which a message names the slow activity."""

IN_C = 1.0
"""The seconds after the limit at which a process ends that blocks all other threads, such as a loop in C."""

end_process: Callable[[int], None] | None = None
"""The function that ends this process with a status, or None outside of a command's own process, without a limit."""

stacks: TextIO | None = None
"""The file to which the stack of code that blocks all other threads is written, or None."""


@contextmanager
def limited(doing: str, file: str, seconds: float) -> Iterator[None]:
    """Print a note if an activity takes over 2 seconds; at the limit, end the process if it is a command's own.

    Args:
        doing: The activity, such as `loading model.py`.
        file: The user's file, as it was typed.
        seconds: The limit.
    """
    reader = threading.get_ident()

    def end() -> None:
        # Outside of a command's own process, this would end the program of the caller.
        if end_process is None:
            return
        # `faulthandler` could otherwise end the process before the message is printed.
        faulthandler.cancel_dump_traceback_later()
        print_note(explain_timeout(_find_place(reader, file), doing, seconds))
        end_process(2)

    timers = [threading.Timer(SLOW, sys.stderr.write, [f"{doing} ...\n"]), threading.Timer(seconds, end)]
    for timer in timers:
        # A timer that is still waiting must not keep Python from ending.
        timer.daemon = True
        timer.start()
    if stacks:
        # Code in C that holds the interpreter's lock blocks the timers, but not the thread of `faulthandler`.
        faulthandler.dump_traceback_later(seconds + IN_C, exit=True, file=stacks)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        for timer in timers:
            timer.cancel()


def _find_place(thread: int, file: str) -> str:
    """Return a thread's innermost line in a file, as FILE:LINE, or a line of other user code, or only the file."""
    from xla_inspect.commands import user_code

    frame = sys._current_frames().get(thread)  # noqa: SLF001 - documented
    lines = [(inner.f_code.co_filename, line) for inner, line in traceback.walk_stack(frame)] if frame else []
    own = str(Path(file).absolute())
    return user_code.name_place(lines[::-1], own, file)


def explain_timeout(place: str, doing: str, seconds: float) -> str:
    """Return the message for code that exceeded its time limit."""
    return (
        f"{place}: {doing} did not finish within {seconds:g} s\n"
        'end the loop or the wait there, put it under `if __name__ == "__main__":`, or raise the limit, as in '
        "--load-limit 3600"
    )
