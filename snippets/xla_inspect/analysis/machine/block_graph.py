"""The control-flow graph of a function in LLVM IR, and the loops in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import search

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ENTRY = "entry"
"""The label used here for the first block of a function, whose label in the text is a number or is missing."""

_DEFINE = re.compile(r'^define [^@]*@(?:"(?P<quoted>[^"]+)"|(?P<plain>[-\w.$]+))\(')
_LABEL = re.compile(r'^(?:"(?P<quoted>[^"]+)"|(?P<plain>[-\w.$]+)):')
_FOLLOWER = re.compile(r'label %(?:"([^"]+)"|([-\w.$]+))')
_TERMINATOR = re.compile(r"^  (?:%\S+ = )?(?:tail )?(?:br|switch|indirectbr|invoke|callbr)\b")


@dataclass(frozen=True, slots=True)
class Function:
    """A function in LLVM IR.

    Attributes:
        name: Its name.
        blocks: The lines of each block by label, in the order of the text.
        followers: The labels of the possible successors of each block, by label.
    """

    name: str
    blocks: Mapping[str, tuple[str, ...]]
    followers: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Cycle:
    """A natural loop: blocks of a function, by label, that run repeatedly.

    Attributes:
        header: The block through which control enters the loop.
        latches: The blocks that jump back to it.
        blocks: All blocks of the loop, including those of inner loops.
    """

    header: str
    latches: tuple[str, ...]
    blocks: frozenset[str]


def list_functions(text: str) -> Iterator[Function]:
    """Yield the functions that a module in LLVM IR defines."""
    name = ""
    body: list[str] = []
    for line in text.splitlines():
        if match := _DEFINE.match(line):
            name, body = match["quoted"] or match["plain"], []
        elif name and line == "}":
            yield _read_function(name, body)
            name = ""
        elif name:
            body.append(line)


def _read_function(name: str, body: list[str]) -> Function:
    blocks: dict[str, list[str]] = {}
    label = ENTRY
    for number, line in enumerate(body):
        if match := _LABEL.match(line):
            # LLVM prints the first block with or without a label.
            label = ENTRY if number == 0 else match["quoted"] or match["plain"]
        elif line.strip():
            blocks.setdefault(label, []).append(line)
    followers: dict[str, tuple[str, ...]] = {}
    for block, lines in blocks.items():
        # A `switch` lists its targets on the lines after it, so everything from the terminator on is read.
        at = next((number for number, line in enumerate(lines) if _TERMINATOR.match(line)), len(lines))
        rest = "\n".join(lines[at:])
        followers[block] = tuple(dict.fromkeys(quoted or plain for quoted, plain in _FOLLOWER.findall(rest)))
    return Function(name, {block: tuple(lines) for block, lines in blocks.items()}, followers)


def find_cycles(function: Function) -> tuple[Cycle, ...]:
    """Return the loops of a function, each outer loop before its inner loops.

    A back edge is a jump to a block that dominates the jump: every path to the jump leads through that block.
    """
    before, dominators = _find_dominators(function)
    cycles = []
    for header, entering in before.items():
        if latches := tuple(label for label in entering if header in dominators[label]):
            # The search walks backward from the latches and must not leave the loop through its header.
            inside = {**before, header: []}
            cycles.append(Cycle(header, latches, frozenset({header, *search(latches, inside.__getitem__)})))
    order = {label: number for number, label in enumerate(function.blocks)}
    return tuple(sorted(cycles, key=lambda cycle: (order[cycle.header], -len(cycle.blocks))))


def _find_dominators(function: Function) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Return the predecessors and the dominators of each reachable block."""
    followers = {
        label: [name for name in names if name in function.blocks] for label, names in function.followers.items()
    }
    order = list(search([ENTRY], followers.__getitem__))
    before: dict[str, list[str]] = {label: [] for label in order}
    for label in order:
        for follower in followers[label]:
            before[follower].append(label)
    # The sets begin with all blocks and can only shrink, so the iteration ends.
    dominators = {label: {*order} for label in order}
    dominators[ENTRY] = {ENTRY}
    is_changed = True
    while is_changed:
        is_changed = False
        for label in order[1:]:
            dominating = set.intersection(*(dominators[name] for name in before[label])) | {label}
            if dominating != dominators[label]:
                dominators[label], is_changed = dominating, True
    return before, dominators
