"""What the page that opens a dump asks of the tool, in the browser: the files stay there, and are read as needed."""

from __future__ import annotations

import gc
import io
import json
import logging
import sys
import traceback
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Any, Protocol

from xla_inspect.analysis import find_stage
from xla_inspect.answers import list_absences, tell_absences, write_fragment
from xla_inspect.dumps import Entry, Files, check_module, list_modules, name_archive, read_capture
from xla_inspect.errors import InspectError
from xla_inspect.questions import QUESTIONS, load_part
from xla_inspect.report import title
from xla_inspect.report.explorer import describe_capture, describe_details

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.captured import Capture
    from xla_inspect.dumps import DumpedModule

LOOSE = "DUMP"
"""What files of no folder are called, as a command line would name the folder of them."""

HEAD = 512
"""Bytes that tell what a file is."""

TOO_LARGE = "It takes more memory than a browser has for it; `xla-inspect read` on your machine has more."

log = logging.getLogger("xla_inspect")


class Bytes(Protocol):
    """Bytes of the page's script."""

    def to_bytes(self) -> bytes:
        """Return a copy of them."""
        ...


class Read(Protocol):
    """Reads part of a file that the page was given."""

    def __call__(self, number: int, start: int, end: int) -> Bytes:
        """Return bytes of the file of a number, from a place to another, or fewer where it ends before."""
        ...


class PageFile(io.RawIOBase):
    """A file that the page was given, as one that can be searched.

    Args:
        size: Bytes.
        read: Returns the bytes from a place to another.
    """

    def __init__(self, size: int, read: Callable[[int, int], bytes]) -> None:
        """Begin at the first byte."""
        self.size, self.read_part, self.at = size, read, 0

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that it can be searched."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, and return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        self.at = max(start + offset, 0)
        return self.at

    def readinto(self, into: Any) -> int:  # noqa: ANN401 - whatever has room for bytes
        """Fill what has room for bytes, and return how many there were."""
        part = self.read_part(self.at, min(self.at + len(into), self.size)) if self.at < self.size else b""
        into[: len(part)] = part
        self.at += len(part)
        return len(part)


class PageArchive(io.BufferedReader):
    """An archive that the page was given: it stays open, since its members are read as they are asked for."""

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


class DumpReader:
    """Answers the page: a dump at a time, and of it the module that was asked for last.

    Args:
        tell: Is given what takes long, in words.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Begin with no dump."""
        self.files = Files("nothing", {})
        self.modules: tuple[DumpedModule, ...] = ()
        self.capture: Capture | None = None
        self.asked = ""
        log.addHandler(_Teller(tell))
        log.setLevel(logging.INFO)

    def open(self, listing: str, read: Read) -> str:
        """Return what is in a dump, as JSON: its modules, the questions about one, and what was left out.

        Args:
            listing: `[name, bytes]` of each file, as JSON.
            read: Reads part of one, by its place in the listing.

        Raises:
            InspectError: Nothing in it is a module; says why.
        """
        self.close()
        named: list[tuple[str, int]] = [(name, size) for name, size in json.loads(listing)]
        self.files = _open_files(named, read)
        self.modules = list_modules(self.files)
        return json.dumps(
            {
                "title": self.files.title,
                "bytes": self.files.total,
                "modules": [_describe(module) for module in self.modules],
                "panels": [(name, question.panel) for name, question in QUESTIONS.items() if question.panel],
                "leftOut": [f"{name}: {why}" for name, why in self.files.left_out.items()],
            }
        )

    def read(self, number: int) -> bytes:
        """Read a module, and return what the explorer needs of it, as JSON, and why what is missing is missing.

        Args:
            number: Which of the modules it is, from 0.

        Returns:
            `explorer`, see `describe_capture`, and `missing`, a paragraph or an empty string.

        Raises:
            InspectError: Its files cannot be read.
        """
        self.capture = None
        gc.collect()
        module = self.modules[number]
        log.info("reading %s, %s bytes", module.key, f"{module.bytes:,}")
        capture = read_capture(self.files, module)
        check_module(self.files, module, capture)
        self.capture = capture
        self.asked = quote(f"{self.files.title}:{module.key}")
        shown = describe_capture(capture, code=bool(capture.code), bundles=True)
        stage = find_stage(capture)
        told = "" if stage.is_final else f"{stage.explain()} "
        return _write({"explorer": shown, "missing": told + tell_absences(list_absences(capture))})

    def read_details(self) -> bytes:
        """Return what the explorer asks for later of the module that was read, as JSON."""
        capture = self._get()
        return _write(describe_details(capture, code=bool(capture.code), bundles=True))

    def answer(self, question: str) -> str:
        """Return the answer to a question about the module that was read, as JSON.

        Args:
            question: One of `QUESTIONS` that has a panel.

        Returns:
            `answer`, as HTML, and `missing`, what it lacks for the files do not tell, a paragraph or an empty string.

        Raises:
            InspectError: The files do not tell.
        """
        capture = self._get()
        answer = load_part(question, "finding").answer_dump(capture, self.asked)
        missing = tell_absences(list_absences(capture, QUESTIONS[question].needs))
        return json.dumps({"answer": write_fragment(answer), "missing": missing})

    def explain(self) -> str:
        """Return what the last error says, as JSON: its `message`, and of a fault of the reader where that is."""
        error = getattr(sys, "last_exc", None)
        if isinstance(error, InspectError):
            return json.dumps({"message": str(error)})
        if isinstance(error, MemoryError):
            return json.dumps({"message": TOO_LARGE})
        trace = "".join(traceback.format_exception(error)) if error else ""
        return json.dumps({"message": f"{type(error).__name__}: {error}", "isFault": True, "trace": trace})

    def close(self) -> None:
        """Forget the dump."""
        self.files, self.modules, self.capture = Files("nothing", {}), (), None
        gc.collect()

    def _get(self) -> Capture:
        if self.capture is None:
            message = "no module is open; choose one in the table"
            raise InspectError(message)
        return self.capture


class _Teller(logging.Handler):
    """Says in the page what the tool logs of work that takes long."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self.tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self.tell(record.getMessage())


def _open_files(named: list[tuple[str, int]], read: Read) -> Files:
    """Return the files of a listing, or of the archive that is the only one in it."""

    def read_part(number: int, start: int, end: int) -> bytes:
        return read(number, start, end).to_bytes() if end > start else b""

    if len(named) == 1:
        ((name, size),) = named
        if name_archive(read_part(0, 0, min(HEAD, size))):
            file = PageFile(size, lambda start, end: read_part(0, start, end))
            return Files.from_archive(PageArchive(file, 1 << 20), name)

    def read_first(number: int, most: int) -> bytes:
        return read_part(number, 0, min(most, named[number][1]))

    entries = {name: Entry(size, partial(read_first, number)) for number, (name, size) in enumerate(named)}
    tops = {name.partition("/")[0] for name in entries}
    # A folder that was dropped is what they lie in.
    if len(tops) == 1 and all("/" in name for name in entries):
        (top,) = tops
        return Files.from_mapping({name.removeprefix(f"{top}/"): entry for name, entry in entries.items()}, top)
    return Files.from_mapping(entries, named[0][0] if len(named) == 1 else LOOSE)


def _describe(module: DumpedModule) -> dict[str, Any]:
    """Return a row of the table of modules."""
    return {
        "key": module.key,
        "name": module.name,
        "target": module.title or title(module.target),
        "passes": module.passes,
        "bytes": module.bytes,
        "kernels": module.kernels,
        "stage": module.stage,
    }


def _write(data: dict[str, Any]) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode()
