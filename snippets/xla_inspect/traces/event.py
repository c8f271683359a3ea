"""The event of a profile in a form that all formats share, and the profile from which events are read."""

from __future__ import annotations

import gzip
import re
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_WHOLE = re.compile(r"%?([\w.\-]+) = \S")
# XLA names ranges for NVIDIA's tools in this form: Thunk:#name=jit(f)/add,hlo_op=loop_add_fusion#
_TOLD = {name: re.compile(rf"[#,]{name}=([^#,]+)") for name in ("hlo_op", "hlo_module")}
_NUMBERED = re.compile(r"\(\d+\)$")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a profile, or the sum of several runs.

    Attributes:
        process: The key of the device or process; `Source.processes` has its name.
        thread: The key of a stream, a thread or a line of the process; `Source.threads` has its name.
        name: The name in the profile: on a GPU the symbol of a kernel.
        op: The HLO instruction that ran, or an empty string if the profile does not say.
        module: The HLO module of the instruction, or an empty string.
        start: The start time, in nanoseconds from an arbitrary origin.
        duration: The duration in nanoseconds; for a sum over several runs, their total.
        count: The number of runs in this event.
        program: The number of the compiled program of the module, or an empty string.
        details: Further fields of the event, if they were requested.
    """

    process: str
    thread: str
    name: str
    op: str
    module: str
    start: float
    duration: float
    count: int = 1
    program: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Source:
    """A profile that is read from the start on each request.

    Attributes:
        path: The file.
        form: The format: `XProf profile`, `Chrome trace`, `Nsight trace` or `Nsight summary`.
        read: A function that yields the events, with their details on request.
        processes: The names of processes in the part that was read.
        threads: The names of threads in the part that was read, by process and thread.
        data: The content of a profile of XLA that is not on disk, or None.
    """

    path: Path
    form: str
    read: Callable[[Source, bool], Iterator[Event]]
    processes: dict[str, str] = field(default_factory=dict)
    threads: dict[tuple[str, str], str] = field(default_factory=dict)
    data: bytes | None = None

    @property
    def has_starts(self) -> bool:
        """True if the profile has start times, and not only durations."""
        return self.form != "Nsight summary"

    def events(self, *, detailed: bool = False) -> Iterator[Event]:
        """Yield the events in the order of the file, with their details only on request.

        Raises:
            InspectError: The file is damaged, cut off or in another format.
        """
        with self.reading():
            yield from self.read(self, detailed)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Convert errors in the `with` block about a damaged or unreadable file into an `InspectError` with a remedy.

        Raises:
            InspectError: The file cannot be read.
        """
        try:
            yield
        except UnicodeDecodeError as error:
            self.raise_trace_error(f"byte {error.start} is no text in UTF-8")
        except EOFError:
            self.raise_trace_error("it is cut off")
        except (gzip.BadGzipFile, zlib.error) as error:
            self.raise_trace_error(f"it is compressed and damaged ({error})")
        except RecursionError:
            self.raise_trace_error("it is nested too deeply")
        except MemoryError:
            self.raise_trace_error("it needs more memory than there is")
        except OSError as error:
            self.raise_trace_error(error.strerror or str(error))

    def raise_trace_error(self, why: str) -> NoReturn:
        """Raise an error about an unreadable file, with a remedy.

        Raises:
            InspectError: Always.
        """
        message = (
            f"{self.path} cannot be read as {_article(self.form)}: {why}\n"
            "write the profile again, and copy it whole: an .xplane.pb or trace.json.gz of jax.profiler, or what "
            "`nsys stats --report cuda_gpu_trace --format csv` prints"
        )
        raise InspectError(message)


def name_op(name: str, details: Mapping[str, Any]) -> tuple[str, str]:
    """Return the instruction and the module of an event, or an empty string for each that is unknown."""
    op, module = str(details.get("hlo_op") or ""), str(details.get("hlo_module") or "")
    if not op:
        # The name or a long name may be the text of the whole instruction, which begins with its own name.
        for text in (str(details.get("long_name") or ""), name):
            if whole := _WHOLE.match(text):
                op = whole[1]
                break
    # A range of NVTX contains the names between `#` marks; they fill in only what the event itself lacks.
    if "#" in name:
        fields = {key: match[1] for key, pattern in _TOLD.items() if (match := pattern.search(name))}
        op, module = op or fields.get("hlo_op", ""), module or fields.get("hlo_module", "")
    return op.removeprefix("%"), bare_module(module)


def bare_module(name: str) -> str:
    """Return the name of a module without the program's number, which profiles append."""
    return _NUMBERED.sub("", name)


def _article(form: str) -> str:
    return f"an {form}" if form[0] in "AEINX" else f"a {form}"
