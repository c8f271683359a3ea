"""A module of a set of dumped files, as far as the names of the files and their beginnings tell."""

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
_LIVE_RANGES = re.compile(r"(?:.*[._])?after_optimizations-live-range\.txt")


@dataclass(frozen=True)
class DumpedModule:
    """A module of a dump.

    Attributes:
        name: What it is called, as its text says where there is one.
        number: Its number in the process that dumped it, or None of a file that has none in its name.
        folder: The folder of the set in which its files lie, or an empty string.
        target: The short name of the hardware that it was compiled for, with a grid of several devices; `unknown` where
            nothing tells.
        title: What the files call that hardware, or an empty string.
        devices: How many devices run it.
        bytes: Bytes of its files.
        kernels: How many kernels the compiler made code for, without calls of libraries, or None where the names and
            beginnings of files do not tell.
        files: The end of a file's name, or its path in the module's own folder -> its path in the set.
        time: When it was dumped, as the names of its files have it, or an empty string.
        arguments: The shapes of its arguments, without layouts, where its text says them at its beginning.
        part: Which module of its file it is, of a file that holds several; counted from 0.
        stage: The stage of the module that answers are about, as far as its files tell.
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

    @property
    def key(self) -> str:
        """What it is called among the modules of a dump: `module_0006.jit_step`, with the folder before it."""
        front = f"{self.folder}/" if self.folder else ""
        if self.number is None:
            return f"{front}{self.name}"
        return f"{front}{self.time and f'{self.time}.'}module_{self.number:04}.{self.name}"

    @property
    def passes(self) -> int:
        """How many modules were dumped between passes."""
        return len(self.between)

    @property
    def before(self) -> str:
        """The path of the module as the compiler got it, or an empty string."""
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
    def thunks(self) -> str:
        """The path of a GPU's thunk sequence, or an empty string."""
        return self.files.get("thunk_sequence.txt", "")

    @property
    def between(self) -> dict[str, str]:
        """The modules dumped between passes, in order: the end of a file's name -> its path; a text before the rest."""
        found: dict[int, str] = {}
        for ending in self.files:
            if PASS.fullmatch(ending) and _MODULE.search(ending):
                number = int(ending.partition(".")[0])
                if number not in found or is_text(ending):
                    found[number] = ending
        return {found[number]: self.files[found[number]] for number in sorted(found)}

    def _find(self, form: re.Pattern[str]) -> str:
        """Return the path of the file whose name ends so, that of a text before another."""
        endings = filter(form.fullmatch, self.files)
        ending = min(endings, key=lambda ending: (not is_text(ending), ending), default="")
        return self.files.get(ending, "")


def is_text(ending: str) -> bool:
    """Return whether a file is a text, as it is or compressed."""
    return ending.removesuffix(".gz").endswith(".txt")
