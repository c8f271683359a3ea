"""One-line summaries of the changes between two modules."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis.fusions import fused_computations, is_fusion, list_opcodes
from xla_inspect.hlo import IDLE, INCIDENTAL
from xla_inspect.plural import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from xla_inspect.analysis.changes import InstructionChange, ModuleChange
    from xla_inspect.hlo import Instruction

# These opcodes appear and disappear whenever instructions move between computations, so a summary lists them only if
# nothing else changed.
_PLUMBING = frozenset({"parameter", "tuple", "get-tuple-element"})
# The words for each aspect in which an instruction can differ.
_WORDS = {
    "shape": "changed the shape of",
    "element type": "changed the element type of",
    "operands": "rewired",
    "attributes": "changed attributes of",
    "called computations": "changed the computations called by",
    "layout": "set the layout of",
    "memory space": "moved to another memory space",
    "control dependencies": "changed the order constraints of",
}
# A summary reports these aspects even if instructions were added or removed.
_BESIDE = ("element type", "layout", "memory space")
_ONLY = {
    "layout": "only layouts changed",
    "memory space": "only memory spaces changed",
    "control dependencies": "only order constraints changed",
    "sharding": "only shardings changed",
    "frontend attributes": "only frontend attributes changed",
    "backend config": "only backend configs changed",
    "metadata": "only metadata changed",
    "name": "only names changed",
}

NOTHING = "changed nothing that the text shows"


def summarise_change(change: ModuleChange) -> str:
    """Return one line about a change: the fused, inlined, removed and added instructions, or the main difference."""
    delta = dict(change.opcode_delta)
    parts = [*_inlining(change, delta), *_fusing(change, delta)]
    parts += [words + _where(change) for words in _counts(delta)]
    aspects = change.aspects()
    if parts:
        parts += [_aspect(change, aspect) for aspect in _BESIDE if aspects[aspect]]
        # Other changes usually reorder instructions too, so only a first schedule is worth mentioning.
        parts += [part for part in _ordering(change) if "scheduled" in part]
        return "; ".join(parts)
    weighty = [aspect for aspect in _WORDS if aspects[aspect]]
    quiet = [aspect for aspect in _ONLY if aspects[aspect]]
    ordering = list(_ordering(change))
    if change.added or change.removed:
        parts.append(_replaced(change))
    if weighty and weighty[0] not in _ONLY:
        parts += [_aspect(change, aspect) for aspect in weighty[:2]]
    elif ordering:
        parts += ordering
    elif not parts and quiet:
        number = sum(1 for instruction in change.changed if quiet[0] in instruction.aspects)
        parts.append(f"{_ONLY[quiet[0]]} ({plural(number, 'instruction')})")
    if not parts and change.header:
        parts.append(f"only the module's {' and '.join(change.header)} changed")
    return "; ".join(parts) or NOTHING


def _aspect(change: ModuleChange, aspect: str) -> str:
    """Return words that count the instructions that differ in an aspect, with the types or attribute if all agree."""
    concerned = [instruction for instruction in change.changed if aspect in instruction.aspects]
    words = f"{_WORDS[aspect]} {plural(len(concerned), 'instruction')}"
    if aspect == "element type":
        pairs = {
            (old, new) for instruction in concerned for old, new in zip(*_types(instruction), strict=True) if old != new
        }
        if len(pairs) == 1:
            old, new = pairs.pop()
            words += f" from {old} to {new}"
    if aspect == "attributes":
        keys = {key for instruction in concerned for key in instruction.keys if key not in INCIDENTAL}
        if len(keys) == 1:
            words = f"changed {keys.pop()} of {plural(len(concerned), 'instruction')}"
    return words


def _types(change: InstructionChange) -> tuple[list[str], list[str]]:
    before, after = ([leaf.dtype for leaf in i.shape.leaves()] for i in (change.before, change.after))
    return before, after


def _inlining(change: ModuleChange, delta: dict[str, int]) -> Iterator[str]:
    """Yield words about inlined calls (computation gone, instructions kept), and drop the calls from `delta`."""
    calls = -delta.get("call", 0)
    if calls <= 0 or not change.computations_removed:
        return
    removals = Counter(
        instruction.opcode
        for name in change.computations_removed
        for instruction in change.before.computation(name)
        if instruction.opcode not in _PLUMBING
    )
    # If the instructions of the removed computations are gone too, the calls were deleted and not inlined.
    if all(delta.get(opcode, 0) <= -count for opcode, count in removals.items()):
        return
    del delta["call"]
    yield f"inlined {plural(calls, 'call')}"


def _fusing(change: ModuleChange, delta: dict[str, int]) -> Iterator[str]:
    """Yield words about new fusions, or else about removed (dissolved or merged) ones, and drop these from `delta`."""
    inside = fused_computations(change.after)
    new = [i for i in change.added if is_fusion(i) and i.computation not in inside]
    if new:
        moved = sum(_work(change.removed, fused_computations(change.before)))
        kinds = Counter(instruction.fusion_kind or "" for instruction in new)
        # The words about fused instructions already mention the new fusions.
        delta.pop("fusion", None)
        inner = sum(opcode not in IDLE for fusion in new for opcode in list_opcodes(change.after, fusion))
        yield f"fused {plural(min(moved, inner) or inner, 'instruction')} into {_join(_kinds(kinds))}"
        return
    old = fused_computations(change.before)
    removals = [i for i in change.removed if is_fusion(i) and i.computation not in old]
    if removals and -delta.get("fusion", 0) >= len(removals):
        delta["fusion"] += len(removals)
        kinds = Counter(instruction.fusion_kind or "" for instruction in removals)
        # Without new work outside fusions, the contents of the removed fusions must have moved into other fusions.
        words = _join(_kinds(kinds))
        yield f"dissolved {words}" if any(_work(change.added, inside)) else f"merged {words} into others"


def _work(instructions: Iterable[Instruction], inside: frozenset[str]) -> Iterator[bool]:
    for instruction in instructions:
        yield instruction.computation not in inside and instruction.opcode not in IDLE


def _kinds(kinds: Mapping[str, int]) -> Iterator[str]:
    for kind, count in sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0])):
        yield plural(count, f"{kind} fusion")


def _counts(delta: Mapping[str, int], unsaid: frozenset[str] = _PLUMBING) -> Iterator[str]:
    """Yield words that count the removed and added instructions by opcode, without the opcodes in `unsaid`."""
    counts = {opcode: count for opcode, count in delta.items() if opcode not in unsaid}
    removals = {opcode: -count for opcode, count in counts.items() if count < 0}
    additions = {opcode: count for opcode, count in counts.items() if count > 0}
    sides = [f"{verb} {_list(side)}" for verb, side in (("removed", removals), ("added", additions)) if side]
    if sides:
        yield ", ".join(sides)


def _where(change: ModuleChange) -> str:
    """Return " inside fusions" if every added and removed instruction is in a fused computation, or an empty string."""
    touched = [(change.after, instruction) for instruction in change.added]
    touched += [(change.before, instruction) for instruction in change.removed]
    inside = {id(module): fused_computations(module) for module in (change.before, change.after)}
    fused = all(instruction.computation in inside[id(module)] for module, instruction in touched)
    return " inside fusions" if touched and fused else ""


def _list(counts: Mapping[str, int], limit: int = 4) -> str:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    # A single opcode takes no more room than the word "others", so it is listed.
    if len(ranked) == limit + 1:
        limit += 1
    words = [f"{count} {opcode}" for opcode, count in ranked[:limit]]
    if len(ranked) > limit:
        words.append(f"{sum(count for _, count in ranked[limit:])} others")
    return _join(words)


def _ordering(change: ModuleChange) -> Iterator[str]:
    if change.after.is_scheduled and not change.before.is_scheduled:
        yield "scheduled the module"
    elif change.after.is_scheduled and change.is_reordered:
        yield "changed the schedule"


def _replaced(change: ModuleChange) -> str:
    if change.opcode_delta:
        return ", ".join(_counts(change.opcode_delta, frozenset()))
    counts = Counter(instruction.opcode for instruction in change.removed)
    return f"replaced {_list(counts)} by as many others"


def _join(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
