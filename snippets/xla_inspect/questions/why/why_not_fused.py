"""Why two kernels are two: what the compiler said of fusing them, else what they are."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.analysis import HEAVY, is_fusion, search
from xla_inspect.plural import plural
from xla_inspect.questions.collectives import PRODUCTS
from xla_inspect.questions.why.explanation import Finding, LineOf
from xla_inspect.questions.why.refusal_text import write_clause
from xla_inspect.questions.why.why_kernel import list_costs, name_form
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.analysis import Launch, Step
    from xla_inspect.hlo import Instruction
    from xla_inspect.questions.why.explanation import Reason
    from xla_inspect.questions.why.why_context import Evidence

type About = Mapping[Launch, Instruction]
"""The instruction of a kernel that is asked about, where that is not the one that it is mostly about."""

type _Reached = tuple[Instruction, Instruction | None]
"""An instruction on a way between two kernels, and the barrier that the way passes."""

_FUSING = ("fusion", "priority-fusion", "tpu_fusion", "multi-output-fusion", "dot-library-rewriter")
BARRIER = "opt-barrier"
_WRAPPING = "fusion-wrapper"
"""The pass that makes a fusion of each instruction that none took in, and decides nothing."""
MATMULS = PRODUCTS | {"custom-call"}
"""Opcodes of what a matmul may be."""
_MOST, _MOST_BETWEEN = 12, 3


@dataclass(frozen=True)
class _Cause:
    """Why a kernel is apart from one that reads what it writes.

    Attributes:
        why: The reason, as a clause.
        passed: The pipeline and the pass.
        weight: How much it says: 2 where the compiler names both, 1 where it names one.
        said: What the compiler said of the two.
        barrier: The optimization barrier between them, or None.
    """

    why: str
    passed: tuple[str, str]
    weight: int
    said: tuple[Reason, ...]
    barrier: Instruction | None = None


def explain_boundary(evidence: Evidence, first: Launch, second: Launch, about: About | None = None) -> Finding:
    """Return why two launches are apart.

    Args:
        evidence: The capture.
        first: One.
        second: The other; which of them reads the other is found here.
        about: What of them is asked about.
    """
    kernels, about = evidence.kernels, about or {}
    if second in kernels.feeders(first) and second not in kernels.readers(first):
        first, second = second, first
    names = f"{_name(evidence, first, about)} and {_name(evidence, second, about)}"
    lines = _list_lines(evidence, about, first, second)
    if second not in kernels.readers(first):
        return _explain_distance(evidence, (first, second), names, lines)
    cause = _find_cause(evidence, first, second, ("the first", "the second"))
    moved = 2 * first.instruction.shape.bytes
    return _write(evidence, (first, second), f"{names} are two kernels: {cause.why}.", cause, lines, moved)


def _write(  # noqa: PLR0913, PLR0917 - what a finding consists of
    evidence: Evidence,
    ends: tuple[Launch, Launch],
    verdict: str,
    cause: _Cause,
    lines: tuple[LineOf, ...],
    moved: int,
    edge: tuple[Launch, Launch] | None = None,
) -> Finding:
    """Return that two kernels are apart; a barrier of the program that keeps them so is what to look at first."""
    line = lines[-1] if lines else LineOf("", "")
    if cause.barrier is not None and (barrier := evidence.show_line(cause.barrier)).where:
        line, lines = barrier, tuple(dict.fromkeys((barrier, *lines)))
    notes = tuple(_list_notes(evidence, *(edge or ends)))
    names = tuple(each.name for each in ends)
    return Finding("apart", names, verdict, *cause.passed, line, notes, cause.said[:_MOST], moved, lines)


def _find_cause(evidence: Evidence, first: Launch, second: Launch, names: tuple[str, str]) -> _Cause:
    """Return why a kernel is apart from one that reads it.

    Args:
        evidence: The capture.
        first: The kernel.
        second: The one that reads it.
        names: How the two are called.
    """
    kernels = evidence.kernels
    left, right = kernels.parts(first), kernels.parts(second)
    said = evidence.read_decisions(evidence.attempts.between((*left, first.instruction), (*right, second.instruction)))
    refusals = tuple(each for each in said if each.verdict == "refused")
    passed = _find_pass(evidence, first, second, refusals)
    if barrier := find_barrier(evidence, first, second):
        where = evidence.show_line(barrier).where
        why = f"optimization_barrier{f' ({where})' if where else ''} stands between them until fusion is over"
        return _Cause(why, passed, 2, said, barrier)
    if split := find_split(evidence, first, second):
        gone = ", ".join(each.name for each in split.instead) or kernels.hero(first).name
        part = split.instruction.opcode
        why = f"{split.name} rewrote {gone} as several steps, and {names[1]} computes one of them, the {part}"
        return _Cause(why, (split.pipeline, split.name), 2, said)
    if refusals:
        refusal = refusals[0]
        way = f"{names[0]} into {names[1]}"
        if not evidence.is_about(refusal, (*left, first.instruction)):
            way = f"{names[0]} and {names[1]}"
        clause = write_clause(refusal, first.name, second.name)
        why = f"the pass {refusal.pass_name} does not fuse {way}, because {clause}"
        return _Cause(why, passed, 1 + bool(refusal.others), said)
    is_told = bool(evidence.capture.log)
    attempts = "the log holds no attempt to fuse the two" if is_told else "what was tried is not in this capture"
    for launch in (first, second):
        made = evidence.steps(launch.instruction)[0]
        if form := name_form(launch):
            by = f", made by the pass {made.name}," if made.name else ""
            why = f"{launch.name} is {form}{by} and {attempts}"
            return _Cause(why, passed, 0, said)
    for launch, name in ((second, names[1]), (first, names[0])):
        hero = kernels.hero(launch)
        made = evidence.histories.find_first(hero)
        if made.deed == "made" and made.name and hero.opcode in HEAVY:
            why = f"{made.name} made the {hero.opcode} that {name} computes, and {attempts}"
            return _Cause(why, (made.pipeline, made.name), 1, said)
    return _Cause(attempts, passed, 0, said)


def _explain_distance(
    evidence: Evidence, ends: tuple[Launch, Launch], names: str, lines: tuple[LineOf, ...]
) -> Finding:
    """Return why two launches are apart of which neither reads what the other writes."""
    first, second = ends
    path = _find_path(evidence, first, second)
    if not path:
        return _explain_strangers(evidence, ends, names, lines)
    edges = [(one, other) for one, other in itertools.pairwise(path)]
    causes = [_find_cause(evidence, one, other, (one.name, other.name)) for one, other in edges]
    # The step of which the compiler gave a reason that names both says most.
    at = max(range(len(edges)), key=lambda number: causes[number].weight)
    cause, (one, other) = causes[at], edges[at]
    middle = [evidence.name(each) for each in path[1:-1]]
    runs = "runs" if len(middle) == 1 else "run"
    between = " and ".join((", ".join(middle[:-1]), middle[-1]) if len(middle) > 1 else middle)
    if len(middle) > _MOST_BETWEEN:
        between = plural(len(middle), "kernel")
    said = tuple(dict.fromkeys(reason for each in (cause, *causes) for reason in each.said))
    verdict = f"{names} are two kernels: {between} {runs} between them, and {cause.why}."
    return _write(evidence, ends, verdict, replace(cause, said=said), lines, 0, (one, other))


def _explain_strangers(
    evidence: Evidence, ends: tuple[Launch, Launch], names: str, lines: tuple[LineOf, ...]
) -> Finding:
    """Return why two launches are apart that no chain of launches connects."""
    first, second = ends
    kernels = evidence.kernels
    shared = [each for each in kernels.feeders(first) if each in kernels.feeders(second)]
    inputs = [each for each in kernels.arguments(first) if each in kernels.arguments(second)]
    both = [*(evidence.name(each) for each in shared), *map(evidence.name_value, inputs)]
    reading = f"; both read {', '.join(both[:_MOST_BETWEEN])}" if both else ""
    left, right = kernels.parts(first), kernels.parts(second)
    said = evidence.read_decisions([*evidence.attempts.between(left, right), *evidence.attempts.between(right, left)])
    refusal = next((each for each in said if each.verdict == "refused" and each.others), None)
    clause = f", and the pass {refusal.pass_name} does not join them: " if refusal else ""
    clause += write_clause(refusal, first.name, second.name) if refusal else ""
    return Finding(
        "apart",
        (first.name, second.name),
        f"{names} are two kernels: neither reads what the other writes{reading}{clause}.",
        *_find_pass(evidence, first, second, (refusal,) if refusal else ()),
        lines[-1] if lines else LineOf("", ""),
        (),
        said[:_MOST],
        0,
        lines,
    )


def find_split(evidence: Evidence, first: Launch, second: Launch) -> Step | None:
    """Return the step in which a pass wrote the operation of one kernel as several, one of which the other computes."""
    hero = evidence.kernels.hero(first)
    origin = hero.op_name, hero.stack_frame
    if origin == (None, None):
        return None
    for part in evidence.kernels.parts(second):
        if (part.op_name, part.stack_frame) != origin or part.opcode == hero.opcode or part.opcode not in HEAVY:
            continue
        made = evidence.histories.find_first(part)
        if made.name and any(_is_same(each, hero) for each in made.instead):
            return made
    return None


def _is_same(one: Instruction, other: Instruction) -> bool:
    return one.opcode == other.opcode or {one.opcode, other.opcode} <= MATMULS


def find_barrier(evidence: Evidence, first: Launch, second: Launch) -> Instruction | None:
    """Return the optimization barrier of the program on a way from one kernel to the other, or None."""
    module = evidence.capture.unoptimized_module
    if not any(each.opcode == BARRIER for each in module.walk()):
        return None
    numbers = evidence.histories.states[0].numbers
    known = {number: each for each, number in numbers.items()}
    names = [evidence.histories.names_at(0, evidence.kernels.parts(each)) for each in (first, second)]
    starts: list[_Reached] = [(each, None) for each in known.values() if each.name in names[0] - names[1]]

    def list_next(place: _Reached) -> Iterator[_Reached]:
        for user in module.users(place[0]):
            if user.name not in names[0]:
                yield user, user if user.opcode == BARRIER else place[1]

    passed = (barrier for each, barrier in search(starts, list_next) if each.name in names[1])
    return next(filter(None, passed), None)


def _name(evidence: Evidence, launch: Launch, about: About) -> str:
    """Return a kernel with the line of what is asked about in it."""
    where = evidence.show_line(about[launch]).where if launch in about else ""
    return f"{launch.name} ({where})" if where else evidence.name(launch)


def _list_lines(evidence: Evidence, about: About, *launches: Launch) -> tuple[LineOf, ...]:
    found = (evidence.show_line(about.get(launch, evidence.kernels.hero(launch))) for launch in launches)
    return tuple(dict.fromkeys(line for line in found if line.where))


def _find_pass(evidence: Evidence, first: Launch, second: Launch, refusals: Sequence[Reason]) -> tuple[str, str]:
    """Return the pass that left two kernels apart: that refused, else that made one of them, else that fuses."""
    if refusals:
        return refusals[0].pipeline, refusals[0].pass_name
    for launch in (second, first):
        made = evidence.steps(launch.instruction)[0]
        if made.name not in {"", _WRAPPING} and is_fusion(launch.instruction):
            return made.pipeline, made.name
    for launch in (first, second):
        made = evidence.steps(launch.instruction)[0]
        if made.name and launch.opcode == "custom-call":
            return made.pipeline, made.name
    found = next((run for run in evidence.capture.runs if run.name in _FUSING), None)
    return (found.pipeline, found.name) if found else ("", "")


def _list_notes(evidence: Evidence, first: Launch, second: Launch) -> Iterator[str]:
    size = format_bytes(first.instruction.shape.bytes)
    yield f"{first.name} writes {size} to memory, which {second.name} reads."
    readers = evidence.kernels.readers(first)
    if len(readers) > 1:
        yield f"{first.name} has {len(readers)} readers: {', '.join(each.name for each in readers[:3])}."
    if first.within != second.within:
        yield "They run in different loops or branches."
    for launch in (first, second):
        if form := name_form(launch):
            yield f"{launch.name} is {form}."
    yield from list_costs(evidence, first, second)


def _find_path(evidence: Evidence, first: Launch, second: Launch) -> tuple[Launch, ...]:
    """Return the launches on a shortest way from one to the other, either way round, with both; empty without one."""
    for start, end in ((first, second), (second, first)):
        waiting: list[tuple[Launch, ...]] = [(start,)]
        seen = {start}
        while waiting:
            path = waiting.pop(0)
            for reader in evidence.kernels.readers(path[-1]):
                if reader == end:
                    return (*path, reader)
                if reader not in seen and len(path) < _MOST:
                    seen.add(reader)
                    waiting.append((*path, reader))
    return ()
