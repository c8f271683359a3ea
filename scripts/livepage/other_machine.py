"""A second process that runs pages, each twice, under another date, time zone, hash seed and number of cores.

A page whose output differs between the two processes shows something that depends on the machine or on the time.
"""

from __future__ import annotations

import datetime as dt
import importlib
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from livepage.keep import make_key, outcomes, page_store
from livepage.read import project, relative
from livepage.workers import PageProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from livepage.read import Answer, Build, Outcome, Source

_DATE, _TIME = dt.date, dt.datetime
_LONGEST = 30.0
"""The seconds that a statement may take on a page that has run before, because its captures are then stored."""
_KIND = "agreements"
_LATER = dt.timedelta(days=400, hours=5)
_ELSEWHERE = {"PYTHONHASHSEED": "271828", "TZ": "Pacific/Chatham", "LC_ALL": "C.UTF-8"}


class Twin:
    """The second process, with another date and number of cores, which runs pages on demand."""

    def __init__(self, root: Path, modules: Sequence[str] = ()) -> None:
        """Store the project's folder and the modules to import; the process starts at the first request."""
        self._start = partial(
            PageProcess, root, "livepage.other_machine", *modules, **_ELSEWHERE, **{page_store.STORE_OFF: "1"}
        )
        self._process: PageProcess | None = None
        self._thread = ThreadPoolExecutor(1)
        self._answers: dict[Path, Future[tuple[list[Answer], list[str]]]] = {}

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the process at once; it stores nothing that could get lost."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process:
            self._process.popen.kill()
            self._process.popen.wait()

    def ask(self, page: Path) -> Future[tuple[list[Answer], list[str]]]:
        """Queue a page to run twice after the pages that were requested before it, and return its future answers.

        The second run is like that after an edit in a served site: libraries remember what the process ran before.
        """
        self._answers[page] = self._thread.submit(self._run, page)
        return self._answers[page]

    def compare(self, page: Path, build: Build) -> list[str]:
        """Return the differences between the page's outcomes and those of the second process, with file and line.

        A queued request for the page is used, so nothing runs here.

        Args:
            page: The page's file.
            build: The build with the page's source and its outcomes in another process.

        Raises:
            RuntimeError: The second process failed to run the page.
        """
        source, results = build.sources[relative(page, project.root)]
        if has_agreed(build, source.name):
            return []
        answers, differences = (self._answers.get(page) or self.ask(page)).result()
        for answer in answers:
            if answer.failure:
                message = f"the second process did not run {source.name}: {answer.failure}"
                raise RuntimeError(message)
            differences += list_differences(source, [*map(_join_parts, results)], [*map(_join_parts, answer.outcomes)])
        if not differences:
            page_store.keep(_KIND, source.name, _make_key(build, source.name), build.inputs[source.name], data=True)
        return list(dict.fromkeys(differences))

    def _run(self, page: Path) -> tuple[list[Answer], list[str]]:
        """Return the answers of two runs, and a message if a statement of the second run took too long."""
        self._process = self._process or self._start()
        answers = [self._process.answer(str(page)) for _ in range(2)]
        seconds, line = self._process.slowest
        slow = f"{line}: this takes {seconds:.0f} s although the page ran before: compute less, or read a record"
        return answers, [slow] * (seconds > _LONGEST)


def has_agreed(build: Build, name: str) -> bool:
    """Return whether the second process has already returned these outcomes of a page for the same code and inputs."""
    if not build.sources[name][0].pieces:
        return True
    return name not in build.pending and page_store.find_stored(_KIND, name, _make_key(build, name)) is not None


def _make_key(build: Build, name: str) -> str:
    source, results = build.sources[name]
    return make_key(
        outcomes.make_keys(source)[0], outcomes.make_digest(results), Path(__file__).read_text(encoding="utf-8")
    )


def list_differences(source: Source, here: Sequence[str], there: Sequence[str]) -> Iterator[str]:
    """Yield the pieces of a page whose output differs between two runs, each as a message with file and line."""
    for piece, first, second in zip(source.pieces, here, there, strict=True):
        if first != second:
            lines, others = first.split("\n"), second.split("\n")
            at = next((at for at, pair in enumerate(zip(lines, others, strict=False)) if len(set(pair)) > 1), -1)
            excerpts = [text[at] if -1 < at < len(text) else f"{len(text)} lines" for text in (lines, others)]
            yield f"{piece.origin}: run again elsewhere, this shows {excerpts[1]!r} in place of {excerpts[0]!r}"


def _join_parts(outcome: Outcome) -> str:
    return "\n".join(str(part) for part in astuple(outcome) if part)


def _move() -> None:
    """Make Python report another date and number of cores; the clock is unchanged, since caches depend on it."""
    cores = os.cpu_count() or 1

    # Objects of the original classes exist already, and must pass `isinstance` tests with the replacements.
    class Instances(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, cls.__mro__[1])

    class Date(_DATE, metaclass=Instances):  # type: ignore[misc,valid-type]  # a class, whatever its name is now
        @classmethod
        def today(cls) -> Any:  # noqa: ANN401 - as in the class that it replaces
            return (_TIME.now() + _LATER).date()

    class Time(_TIME, metaclass=Instances):  # type: ignore[misc,valid-type]  # as above
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:  # noqa: ANN401 - as above
            return _TIME.now(tz) + _LATER

        today = utcnow = now

    vars(dt).update(date=Date, datetime=Time)
    for name in ("localtime", "gmtime", "ctime"):
        original = getattr(time, name)
        setattr(time, name, lambda at=None, original=original: original(time.time() + 4e7 if at is None else at))
    format_time = time.strftime
    time.strftime = lambda text, at=None: format_time(text, time.localtime() if at is None else at)
    os.cpu_count = lambda: cores + 3
    if hasattr(os, "sched_getaffinity"):
        os.sched_getaffinity = lambda _process: set(range(cores + 3))


def main(modules: Sequence[str]) -> None:
    """Import modules, and run pages like `livepage.worker`, but with the other date and number of cores."""
    from livepage import worker

    _move()
    for module in modules:
        importlib.import_module(module)
    worker.main()


if __name__ == "__main__":
    main(sys.argv[1:])
