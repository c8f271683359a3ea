"""A module in a set of dumped files, described by file names and the first bytes of the files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xla_inspect.dumps.file_names import GIVEN, OPTIMIZED, PASS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis import StageName

_MODULE = re.compile(r"\.(?:txt|hlo\.pb)(?:\.gz)?$")
_BUFFERS = re.compile(r"(?:.*[._])?after_optimizations-buffer-assignment\.txt")
_PLAN = re.compile(rf"{_BUFFERS.pattern}|.*-live-range\.txt|.*-memory-usage-report\.txt")
_LIVE_RANGES = re.compile(r"(?:.*[._])?after_optimizations-live-range\.txt")


@dataclass(frozen=True)
class DumpedModule:
    """A module of a dump.

    Attributes:
        name: Its name, from its text if there is one.
        number: Its number in the process that compiled it, or None if neither the file's name nor the file has one.
        folder: The folder of its files in the set, or an empty string.
        target: The short name of its target hardware, with a grid if it has several devices; `unknown` if no file
            identifies it.
        title: The name of the hardware in the files, or an empty string.
        devices: The number of devices that run it.
        bytes: The total size of its files.
        kernels: The number of kernels with generated code, without library calls, or None if the names and first bytes
            of the files do not determine it.
        files: Paths in the set by the end of the file's name, or by the path in the module's own folder.
        time: The time of the dump from the file names, or an empty string.
        arguments: The shapes of its arguments, without layouts, if the first bytes of its text list them.
        part: The index of the module in its file, from 0, for files with several modules.
        stage: The stage of the module that answers are based on, from its files; `none` for a memory plan alone.
        profile: The path of the profile that holds it, or an empty string.
    """

    name: str
    number: int | None
    folder: str
    target: str
    title: str
    devices: int
    bytes: int
    kernels: int | None
    files: Mapping[str, str] = field(repr=False)
    time: str = ""
    arguments: tuple[str, ...] = ()
    part: int = 0
    stage: StageName = "optimized"
    profile: str = ""

    @property
    def key(self) -> str:
        """Its unique name among the modules of a dump: `module_0006.jit_step`, preceded by the folder."""
        front = f"{self.folder}/" if self.folder else ""
        if self.number is None:
            return f"{front}{self.name}"
        return f"{front}{self.time and f'{self.time}.'}module_{self.number:04}.{self.name}"

    @property
    def passes(self) -> int:
        """The number of modules that were dumped between passes."""
        return len(self.between)

    @property
    def before(self) -> str:
        """The path of the compiler's input module, or an empty string."""
        return self._find(GIVEN)

    @property
    def after(self) -> str:
        """The path of the optimized module, or an empty string."""
        return self._find(OPTIMIZED)

    @property
    def buffers(self) -> str:
        """The path of the buffer assignment, or an empty string."""
        return self._find(_BUFFERS)

    @property
    def live_ranges(self) -> str:
        """The path of the live ranges, or an empty string."""
        return self._find(_LIVE_RANGES)

    @property
    def plan(self) -> str:
        """The path of a part of the memory plan as text, or an empty string."""
        return self._find(_PLAN)

    @property
    def thunks(self) -> str:
        """The path of a GPU's thunk sequence, or an empty string."""
        return self.files.get("thunk_sequence.txt", "")

    @property
    def between(self) -> dict[str, str]:
        """The paths of modules dumped between passes, in order, by the end of the name; text is preferred."""
        endings: dict[int, str] = {}
        for ending in self.files:
            if PASS.fullmatch(ending) and _MODULE.search(ending):
                number = int(ending.partition(".")[0])
                # The same module may also be there as a protobuf, which has to be converted to text.
                if number not in endings or is_text(ending):
                    endings[number] = ending
        return {endings[number]: self.files[endings[number]] for number in sorted(endings)}

    def _find(self, form: re.Pattern[str]) -> str:
        """Return the path of a file whose name's end matches; text is preferred to other forms."""
        endings = filter(form.fullmatch, self.files)
        ending = min(endings, key=lambda ending: (not is_text(ending), ending), default="")
        return self.files.get(ending, "")


def is_text(ending: str) -> bool:
    """Return whether a file's name ends in `.txt` or `.txt.gz`."""
    return ending.removesuffix(".gz").endswith(".txt")
