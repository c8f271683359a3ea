"""Turn dumped HLO text into text that depends on the program alone, and its stack-frame tables into call chains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.captured import PassChange, PassRun
from xla_inspect.dumps.file_names import PASS
from xla_inspect.hlo import Frame, read_frames, spell_out, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# A hash that the GPU compiler writes before it schedules; it covers names that number the process's modules.
FINGERPRINT = re.compile(r',?\s*fingerprint_before_lhs="[0-9a-f]*"')
EMPTY_ATTRIBUTES = re.compile(r",?\s*frontend_attributes=\{\}")

# What XLA wrote before it had tables of frames, and what writes who compiles for it without.
PLACE = re.compile(r'source_file="(?P<file>[^"\n]*)" source_line=(?P<line>\d{1,9})')

FRAME_ID = re.compile(r"(\bstack_frame_id=)(\d+)")

PLAIN = re.compile(r"[^a-zA-Z0-9_.+-]")


class Frames:
    """The call chains of one compile's modules, under ids that mean the same in each of them.

    Each dump numbers its frames in a table of its own, and partitioning a module numbers them anew.

    Attributes:
        chains: Id to call chain, innermost frame first.
    """

    def __init__(self) -> None:
        """Start with no chain."""
        self.chains: dict[int, tuple[Frame, ...]] = {}
        self._ids: dict[tuple[Frame, ...], int] = {}
        self._changes: dict[str, dict[str, str]] = {}

    def clean(self, text: str) -> str:
        """Return a dumped module without its tables and without what differs between two runs, its ids made common.

        The elements of tuples that the dump picks where they are used become instructions, as they are to the compiler.
        """
        tables, text = split(text)
        text = spell_out(text)
        if "source_line=" in text and "stack_frame_id=" not in text:
            text = PLACE.sub(self._number_place, text)
        if tables and (changes := self._learn(tables)):
            text = FRAME_ID.sub(lambda match: f"{match[1]}{changes.get(match[2], match[2])}", text)
        # The hash stands in the module's header, which is the first line.
        header, end, rest = text.partition("\n")
        if "fingerprint_before_lhs" not in header:
            return text
        return EMPTY_ATTRIBUTES.sub("", FINGERPRINT.sub("", header)) + end + rest

    def _number_place(self, match: re.Match[str]) -> str:
        """Return a file and line of metadata with the id of a call chain of that line alone."""
        line = int(match["line"])
        chain = (Frame(match["file"], "", line, 1, line, 1),)
        known = self._ids.get(chain)
        if known is None:
            known = self._ids[chain] = max(self.chains, default=0) + 1
            self.chains[known] = chain
        return f"{match[0]} stack_frame_id={known}"

    def _learn(self, tables: str) -> dict[str, str]:
        """Take up the chains of a dump's tables, and return which ids have to change."""
        if tables not in self._changes:
            changes = self._changes[tables] = {}
            for own, chain in read_frames(tables).items():
                known = own if self.chains.get(own, chain) == chain else self._ids.get(chain)
                common = max(self.chains) + 1 if known is None else known
                self.chains.setdefault(common, chain)
                self._ids.setdefault(chain, common)
                if common != own:
                    changes[str(own)] = str(common)
        return self._changes[tables]


def find_changes(
    dumped: Iterable[tuple[str, str | None]], before: str, runs: Sequence[PassRun], frames: Frames
) -> tuple[PassChange, ...]:
    """Return the passes that changed the module, in order, each with the module after it.

    Pipelines dump their first state, and one that runs inside another dumps its last state twice: a dump that equals
    the state before it is no change and is left out.

    Args:
        dumped: Name and text of the modules dumped between passes, in order; None for one that cannot be read, whose
            pass is named with the next.
        before: The module that the compiler got, cleaned.
        runs: All runs of passes, for the names as the compiler has them (a file's name has other letters for some).
        frames: The compile's call chains, to which the dumps add theirs.
    """
    names = {PLAIN.sub("_", name): name for run in runs for name in (run.pipeline, run.name)}
    state, changes, unread = before, list[PassChange](), list[str]()
    for file, text in dumped:
        match = PASS.fullmatch(file)
        if not match:
            continue
        name = match["name"] or match["before"]
        name = names.get(name, name)
        if text is None:
            unread.append(name)
            continue
        name, unread = " or ".join([*unread, name]), []
        module = frames.clean(text)
        if module == state:
            continue
        state = module
        pipeline = match["pipeline"]
        changes.append(PassChange(names.get(pipeline, pipeline), name, module))
    return tuple(changes)
