"""How long the reader's code may take to load and to be traced: what hangs is ended, and its line told."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SLOW = 2.0
"""Seconds after which it is said what takes so long."""

end_process: Callable[[int], None] | None = None
"""What ends this process with a status, where it is one of a command's own; else there is no limit."""


@contextmanager
def limited(doing: str, file: str, seconds: float) -> Iterator[None]:
    """Say what is done where it takes long, and end the process where it takes longer than the limit.

    Args:
        doing: What is done, such as `loading model.py`.
        file: The reader's file, as it was named.
        seconds: The limit.
    """
    reader = threading.get_ident()

    def end() -> None:
        if end_process is None:
            return
        frame, own = sys._current_frames().get(reader), str(Path(file).absolute())  # noqa: SLF001 - documented
        while frame is not None and frame.f_code.co_filename != own:
            frame = frame.f_back
        place = f"{file}:{frame.f_lineno}" if frame else file
        _say(f"xla-inspect: {place}: {doing} was not done after {seconds:g} s")
        _say('put what takes long under `if __name__ == "__main__":`, or raise the limit, as in --load-limit 3600')
        end_process(2)

    timers = [threading.Timer(SLOW, _say, [f"{doing} ..."]), threading.Timer(seconds, end)]
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a command prints
