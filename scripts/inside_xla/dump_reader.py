"""The reader behind the page that opens a dump: it runs in the browser, where the files stay and are read on demand."""

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
from xla_inspect.questions.kernels import UNMEASURED, join_times, measure_program
from xla_inspect.report import title
from xla_inspect.report.explorer import describe_capture, describe_details
from xla_inspect.traces import open_profile

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.captured import Capture
    from xla_inspect.dumps import DumpedModule

LOOSE = "DUMP"
"""The title of files that are in no folder, as a command line would name their folder."""

HEAD = 512
"""The number of bytes at the start of a file that identify its type."""

TOO_LARGE = "It takes more memory than a browser has for it; `xla-inspect read` on your machine has more."

log = logging.getLogger("xla_inspect")


class Bytes(Protocol):
    """The interface of byte arrays that belong to the page's script."""

    def to_bytes(self) -> bytes:
        """Return a copy of the bytes."""
        ...


class Read(Protocol):
    """The interface of the function that reads a part of one of the page's files."""

    def __call__(self, number: int, start: int, end: int) -> Bytes:
        """Return the bytes from `start` to `end` of the file with this number, or fewer if the file is shorter."""
        ...


class PageFile(io.RawIOBase):
    """A file of the page as a seekable binary stream.

    Args:
        size: The size in bytes.
        read_part: A function that returns the bytes between two positions.
    """

    def __init__(self, size: int, read_part: Callable[[int, int], bytes]) -> None:
        """Start at the first byte."""
        self.size, self.read_part, self.at = size, read_part, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, and return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        self.at = max(start + offset, 0)
        return self.at

    def readinto(self, into: Any) -> int:  # noqa: ANN401 - whatever has room for bytes
        """Fill a buffer, and return the number of bytes that were read."""
        part = self.read_part(self.at, min(self.at + len(into), self.size)) if self.at < self.size else b""
        into[: len(part)] = part
        self.at += len(part)
        return len(part)


class PageArchive(io.BufferedReader):
    """An archive of the page that stays open, since its members are read on demand."""

    def close(self) -> None:
        """Do nothing: the page's file needs no closing, and must stay readable."""


class DumpReader:
    """The object that the page calls; it holds one dump and the module of it that was read last.

    Args:
        tell: A function that is called with messages about slow work.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Start without a dump."""
        self.files = Files("nothing", {})
        self.modules: tuple[DumpedModule, ...] = ()
        self.capture: Capture | None = None
        self.asked = self.profile = ""
        log.addHandler(_Teller(tell))
        log.setLevel(logging.INFO)

    def open(self, listing: str, read_bytes: Read) -> str:
        """Return the content of a dump as JSON: its modules, the possible questions, and the files that were left out.

        Args:
            listing: `[name, bytes]` of each file, as JSON.
            read_bytes: A function that reads a part of a file, given by its position in the listing.

        Raises:
            InspectError: The dump contains no module; the message gives the reason.
        """
        self.close()
        sizes: list[tuple[str, int]] = [(name, size) for name, size in json.loads(listing)]
        self.files = _open_files(sizes, read_bytes)
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

    def read(self, number: int) -> str:
        """Read a module, and return a paragraph about its missing parts, or an empty string.

        Args:
            number: The index of the module, counted from 0.

        Raises:
            InspectError: The module's files cannot be read.
        """
        # Memory is scarce in a browser, so the old capture is freed before the new one is read.
        self.capture = None
        gc.unfreeze()
        gc.collect()
        module = self.modules[number]
        log.info("reading %s, %s bytes", module.key, f"{module.bytes:,}")
        capture = read_capture(self.files, module)
        check_module(self.files, module, capture)
        self.capture, self.profile = capture, module.profile
        self.asked = quote(f"{self.files.title}:{module.key}")
        # Otherwise the garbage collector would visit all objects of a large module again during each answer.
        gc.freeze()
        stage = find_stage(capture)
        note = "" if stage.is_final else f"{stage.explain()} "
        return note + tell_absences(list_absences(capture))

    def read_explorer(self) -> bytes:
        """Return the data of the current module for the explorer, see `describe_capture`, as JSON."""
        capture = self._get()
        return _write(describe_capture(capture, code=bool(capture.code), bundles=True))

    def read_details(self) -> bytes:
        """Return the details of the current module that the explorer loads later, as JSON."""
        capture = self._get()
        return _write(describe_details(capture, code=bool(capture.code), bundles=True))

    def answer(self, question: str) -> str:
        """Return the answer to a question about the current module, as JSON.

        Args:
            question: One of the `QUESTIONS` that have a panel.

        Returns:
            `answer`, as HTML, and `missing`, a paragraph about parts that the files do not contain, or an empty string.

        Raises:
            InspectError: The files do not contain the answer.
        """
        capture = self._get()
        missing = tell_absences(list_absences(capture, QUESTIONS[question].needs))
        answer = load_part(question, "finding").answer_dump(capture, self.asked)
        if self.profile and question == "kernels":
            timing = measure_program(capture, open_profile(self.profile, self.files.read(self.profile)))
            times = join_times(capture, timing, self.asked, shown=answer.shown)
            answer = times if times.launches else answer
            missing += "" if times.launches else f" Also, {UNMEASURED.format(self.profile, capture.program)}."
        return json.dumps({"answer": write_fragment(answer), "missing": missing})

    def explain(self) -> str:
        """Return the last error as JSON: its `message`, and for a bug in the reader also the traceback."""
        error = getattr(sys, "last_exc", None)
        if isinstance(error, InspectError):
            return json.dumps({"message": str(error)})
        if isinstance(error, MemoryError):
            return json.dumps({"message": TOO_LARGE})
        trace = "".join(traceback.format_exception(error)) if error else ""
        return json.dumps({"message": f"{type(error).__name__}: {error}", "isFault": True, "trace": trace})

    def close(self) -> None:
        """Forget the dump, and free its memory."""
        self.files, self.modules, self.capture = Files("nothing", {}), (), None
        gc.unfreeze()
        gc.collect()

    def _get(self) -> Capture:
        if self.capture is None:
            message = "no module is open; choose one in the table"
            raise InspectError(message)
        return self.capture


class _Teller(logging.Handler):
    """The log handler that shows the tool's messages about slow work on the page."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self.tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self.tell(record.getMessage())


def _open_files(sizes: list[tuple[str, int]], read_bytes: Read) -> Files:
    """Return the files of a listing, or the files of its only entry if that is an archive."""

    def read_part(number: int, start: int, end: int) -> bytes:
        # The bytes belong to the page's script, so Python gets a copy of its own.
        return read_bytes(number, start, end).to_bytes() if end > start else b""

    if len(sizes) == 1:
        ((name, size),) = sizes
        if name_archive(read_part(0, 0, min(HEAD, size))):
            file = PageFile(size, lambda start, end: read_part(0, start, end))
            return Files.from_archive(PageArchive(file, 1 << 20), name)

    def read_first(number: int, most: int) -> bytes:
        return read_part(number, 0, min(most, sizes[number][1]))

    entries = {name: Entry(size, partial(read_first, number)) for number, (name, size) in enumerate(sizes)}
    tops = {name.partition("/")[0] for name in entries}
    # If all files are in one folder, the user dropped that folder, and it becomes the title.
    if len(tops) == 1 and all("/" in name for name in entries):
        (top,) = tops
        return Files.from_mapping(
            {name.removeprefix(f"{top}/"): entry for name, entry in entries.items()}, top, f"{top}/"
        )
    return Files.from_mapping(entries, sizes[0][0] if len(sizes) == 1 else LOOSE, "")


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
