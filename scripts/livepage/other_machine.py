"""A second process that runs pages as another machine would: another day, time zone, hash seed and number of cores.

What a page shows there and here differs only where the page shows something of the machine or of the moment.
"""

from __future__ import annotations

import datetime as dt
import importlib
import json
import os
import subprocess
import sys
import time
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from livepage.read import Outcome, Source

_DATE, _TIME = dt.date, dt.datetime
_LATER = dt.timedelta(days=400, hours=5)
_ELSEWHERE = {"PYTHONHASHSEED": "271828", "TZ": "Pacific/Chatham", "LC_ALL": "C.UTF-8"}


class Twin:
    """The second process, which runs pages on demand."""

    def __init__(self, root: Path, modules: Sequence[str] = ()) -> None:
        """Take a project's folder, and the modules that it imports once it starts, when it is first asked."""
        self._root, self._modules = root, modules
        self._process: subprocess.Popen[str] | None = None
        self._asked: list[Path] = []
        self._told: dict[Path, list[str]] = {}

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, at once: nothing of it is kept."""
        if self._process:
            self._process.kill()
            self._process.communicate()

    def ask(self, page: Path) -> None:
        """Let it run a page, when it has run those that it was asked for before."""
        self._asked.append(page)
        process = self._start()
        if process.stdin:
            process.stdin.write(f"{page}\n")
            process.stdin.flush()

    def compare(self, page: Path, source: Source, outcomes: Sequence[Outcome]) -> list[str]:
        """Return where a page shows something else in the second process, each with its file and line.

        Raises:
            RuntimeError: The process ended over it.
        """
        if page not in self._asked:
            self.ask(page)
        process = self._start()
        while page not in self._told and process.stdout:
            line = process.stdout.readline()
            if not line:
                message = f"the second process ended while it ran {source.name}"
                raise RuntimeError(message)
            self._told[self._asked[len(self._told)]] = json.loads(line)
        return list(list_differences(source, [*map(_tell, outcomes)], self._told[page]))

    def _start(self) -> subprocess.Popen[str]:
        if self._process is None:
            command = [sys.executable, "-m", "livepage.other_machine", *self._modules]
            pipe, environment = subprocess.PIPE, os.environ | _ELSEWHERE
            self._process = subprocess.Popen(
                command, cwd=self._root, env=environment, stdin=pipe, stdout=pipe, text=True
            )
        return self._process


def list_differences(source: Source, here: Sequence[str], there: Sequence[str]) -> Iterator[str]:
    """Yield what a page shows once and not again, each with its file and line."""
    for piece, first, second in zip(source.pieces, here, there, strict=True):
        if first != second:
            lines, others = first.split("\n"), second.split("\n")
            at = next((at for at, pair in enumerate(zip(lines, others, strict=False)) if len(set(pair)) > 1), -1)
            excerpts = [text[at] if -1 < at < len(text) else f"{len(text)} lines" for text in (lines, others)]
            yield f"{piece.origin}: run again elsewhere, this shows {excerpts[1]!r} in place of {excerpts[0]!r}"


def _tell(outcome: Outcome) -> str:
    return "\n".join(str(part) for part in astuple(outcome) if part)


def _move() -> None:
    """Let Python name another day and another machine; the clock itself goes on, since caches ask it."""
    cores = os.cpu_count() or 1

    class Instances(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, cls.__mro__[1])

    class Date(_DATE, metaclass=Instances):  # type: ignore[misc,valid-type]  # a class, whatever its name is now
        @classmethod
        def today(cls) -> Any:  # noqa: ANN401 - as the class that it stands for
            return (_TIME.now() + _LATER).date()

    class Time(_TIME, metaclass=Instances):  # type: ignore[misc,valid-type]  # as above
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:  # noqa: ANN401 - as above
            return _TIME.now(tz) + _LATER

        today = utcnow = now

    vars(dt).update(date=Date, datetime=Time)
    for name in ("localtime", "gmtime", "ctime"):
        asked = getattr(time, name)
        setattr(time, name, lambda at=None, asked=asked: asked(time.time() + 4e7 if at is None else at))
    format_time = time.strftime
    time.strftime = lambda text, at=None: format_time(text, time.localtime() if at is None else at)
    os.cpu_count = lambda: cores + 3
    if hasattr(os, "sched_getaffinity"):
        os.sched_getaffinity = lambda _process: set(range(cores + 3))


def main(modules: Sequence[str]) -> None:
    """Run the pages that are named on the standard input, and print what each came to."""
    from livepage import render_one
    from livepage.keep import page_store
    from livepage.read import Build

    os.environ[page_store.STORE_OFF] = "1"
    output, sys.stdout = sys.stdout, sys.stderr
    _move()
    for module in modules:
        importlib.import_module(module)
    for line in sys.stdin:
        page = Path(line.strip())
        build = Build()
        render_one.render(page, Path.cwd(), build)
        _, outcomes = build.sources[page.resolve().relative_to(Path.cwd()).as_posix()]
        output.write(json.dumps([*map(_tell, outcomes)]) + "\n")
        output.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
