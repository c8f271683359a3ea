"""The blocks of a function in LLVM IR, which follows which, and the loops that they make."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import search

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ENTRY = "entry"
"""What the first block of a function is called here: in the text its label is a number, or not there."""

_DEFINE = re.compile(r'^define [^@]*@(?:"(?P<quoted>[^"]+)"|(?P<plain>[-\w.$]+))\(')
_LABEL = re.compile(r'^(?:"(?P<quoted>[^"]+)"|(?P<plain>[-\w.$]+)):')
_FOLLOWER = re.compile(r'label %(?:"([^"]+)"|([-\w.$]+))')
_TERMINATOR = re.compile(r"^  (?:%\S+ = )?(?:tail )?(?:br|switch|indirectbr|invoke|callbr)\b")


@dataclass(frozen=True, slots=True)
class Function:
    """A function in LLVM IR.

    Attributes:
        name: Its name.
        blocks: Label to the lines of the block, in the order of the text.
        followers: Label to the labels of the blocks that may follow.
    """

    name: str
    blocks: Mapping[str, tuple[str, ...]]
    followers: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Cycle:
    """Blocks that run again and again: a natural loop.

    Attributes:
        header: The block that it is entered by.
        latches: The blocks that jump back to it.
        blocks: All of its blocks, those of loops inside it among them.
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
            # The first block may carry its label, or have none.
            label = ENTRY if number == 0 else match["quoted"] or match["plain"]
        elif line.strip():
            blocks.setdefault(label, []).append(line)
    followers: dict[str, tuple[str, ...]] = {}
    for item, lines in blocks.items():
        at = next((number for number, line in enumerate(lines) if _TERMINATOR.match(line)), len(lines))
        rest = "\n".join(lines[at:])
        followers[item] = tuple(dict.fromkeys(quoted or plain for quoted, plain in _FOLLOWER.findall(rest)))
    return Function(name, {item: tuple(lines) for item, lines in blocks.items()}, followers)


def find_cycles(function: Function) -> tuple[Cycle, ...]:
    """Return the loops of a function, each outer one before those inside it.

    A jump back is one to a block that every way to the jump leads through.
    """
    before, dominators = _find_dominators(function)
    cycles = []
    for header, entering in before.items():
        if latches := tuple(label for label in entering if header in dominators[label]):
            inside = {**before, header: []}
            cycles.append(Cycle(header, latches, frozenset({header, *search(latches, inside.__getitem__)})))
    order = {label: number for number, label in enumerate(function.blocks)}
    return tuple(sorted(cycles, key=lambda cycle: (order[cycle.header], -len(cycle.blocks))))


def _find_dominators(function: Function) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Return for each block that can be reached those before it, and those that every way to it leads through."""
    followers = {
        label: [item for item in names if item in function.blocks] for label, names in function.followers.items()
    }
    order = list(search([ENTRY], followers.__getitem__))
    before: dict[str, list[str]] = {label: [] for label in order}
    for label in order:
        for follower in followers[label]:
            before[follower].append(label)
    dominators = {label: {*order} for label in order}
    dominators[ENTRY] = {ENTRY}
    changed = True
    while changed:
        changed = False
        for label in order[1:]:
            result = set.intersection(*(dominators[item] for item in before[label])) | {label}
            if result != dominators[label]:
                dominators[label], changed = result, True
    return before, dominators
