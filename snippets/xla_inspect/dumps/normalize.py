"""Normalization of dumped HLO text to a text that depends only on the program, with stack frames as call chains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.captured import PassChange, PassRun
from xla_inspect.dumps.file_names import PASS
from xla_inspect.hlo import Frame, read_frames, spell_out, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The GPU compiler writes this hash before scheduling; it covers names that contain the process's module numbers.
FINGERPRINT = re.compile(r',?\s*fingerprint_before_lhs="[0-9a-f]*"')
EMPTY_ATTRIBUTES = re.compile(r",?\s*frontend_attributes=\{\}")

# XLA wrote locations so before it had frame tables, and still does for frameworks that compile without them.
PLACE = re.compile(r'source_file="(?P<file>[^"\n]*)" source_line=(?P<line>\d{1,9})')

FRAME_ID = re.compile(r"(\bstack_frame_id=)(\d+)")

PLAIN = re.compile(r"[^a-zA-Z0-9_.+-]")


class Frames:
    """The call chains of one compile's modules, under ids that mean the same in each module.

    Each dump numbers its frames in a table of its own, and partitioning a module renumbers them.

    Attributes:
        chains: Call chains by id, innermost frame first.
    """

    def __init__(self) -> None:
        """Start with no chain."""
        self.chains: dict[int, tuple[Frame, ...]] = {}
        self._ids: dict[tuple[Frame, ...], int] = {}
        self._changes: dict[str, dict[str, str]] = {}

    def clean(self, text: str) -> str:
        """Return a dumped module without its tables and run-dependent parts, with this object's ids of its call chains.

        Tuple elements that the dump writes inline at their uses become instructions, as they are in the compiler.
        """
        tables, text = split(text)
        text = spell_out(text)
        # Newer dumps have frame tables, which say more than a file and a line.
        if "source_line=" in text and "stack_frame_id=" not in text:
            text = PLACE.sub(self._number_place, text)
        if tables and (changes := self._learn(tables)):
            text = FRAME_ID.sub(lambda match: f"{match[1]}{changes.get(match[2], match[2])}", text)
        # The hash is in the module's header, which is the first line.
        header, end, rest = text.partition("\n")
        if "fingerprint_before_lhs" not in header:
            return text
        return EMPTY_ATTRIBUTES.sub("", FINGERPRINT.sub("", header)) + end + rest

    def _number_place(self, match: re.Match[str]) -> str:
        """Return a file and line of metadata, extended by the id of a call chain with only that line."""
        line = int(match["line"])
        chain = (Frame(match["file"], "", line, 1, line, 1),)
        number = self._ids.get(chain)
        if number is None:
            number = self._ids[chain] = max(self.chains, default=0) + 1
            self.chains[number] = chain
        return f"{match[0]} stack_frame_id={number}"

    def _learn(self, tables: str) -> dict[str, str]:
        """Add the chains of a dump's tables, and return the new id by old id for those that must be replaced."""
        # Most dumps of one compile have the same tables, so they are parsed once.
        if tables not in self._changes:
            changes = self._changes[tables] = {}
            for own, chain in read_frames(tables).items():
                # An id stays as it is unless another chain has it already.
                existing = own if self.chains.get(own, chain) == chain else self._ids.get(chain)
                common = max(self.chains) + 1 if existing is None else existing
                self.chains.setdefault(common, chain)
                self._ids.setdefault(chain, common)
                if common != own:
                    changes[str(own)] = str(common)
        return self._changes[tables]


def find_changes(
    dumped: Iterable[tuple[str, str | None]], before: str, runs: Sequence[PassRun], frames: Frames
) -> tuple[PassChange, ...]:
    """Return the passes that changed the module, in order, each with the module after it.

    Pipelines dump their initial state, and nested pipelines dump their final state twice. A dump that equals the state
    before it is therefore no change, and is skipped.

    Args:
        dumped: Name and text of the modules dumped between passes, in order. The text is None if it cannot be read, and
            its pass is then reported together with the next one.
        before: The compiler's input module, cleaned.
        runs: All runs of passes, for the compiler's own pass names (file names replace some characters).
        frames: The compile's call chains, which the dumps extend.
    """
    # File names have an underscore in place of other characters, so they are mapped back to the passes' names.
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
        # Any of the unreadable passes may have made this change.
        name, unread = " or ".join([*unread, name]), []
        module = frames.clean(text)
        # A pipeline dumps its initial state, and a nested one dumps its final state twice.
        if module == state:
            continue
        state = module
        pipeline = match["pipeline"]
        changes.append(PassChange(names.get(pipeline, pipeline), name, module))
    return tuple(changes)
