"""The explanation why two kernels are not fused, from the compiler's messages, or else the form of the kernels."""

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
"""The instruction that the question is about, by kernel, if it is not the kernel's main instruction."""

type _Reached = tuple[Instruction, Instruction | None]
"""An instruction on a path between two kernels, and the optimization barrier on this path, or None."""

_FUSING = ("fusion", "priority-fusion", "tpu_fusion", "multi-output-fusion", "dot-library-rewriter")
BARRIER = "opt-barrier"
_WRAPPING = "fusion-wrapper"
"""The pass that wraps each remaining instruction in a fusion of its own, which is no decision about fusion."""
MATMULS = PRODUCTS | {"custom-call"}
"""The possible opcodes of a matmul."""
_MOST, _MOST_BETWEEN = 12, 3


@dataclass(frozen=True)
class _Cause:
    """The reason why a kernel is not fused with a reader of its result.

    Attributes:
        why: The reason, as a clause.
        pass_: The pipeline and the name of the responsible pass.
        weight: The strength of the evidence: 2 if it concerns both kernels, 1 if it concerns one, 0 without any.
        messages: The compiler's messages about the two kernels.
        barrier: The optimization barrier between them, or None.
    """

    why: str
    pass_: tuple[str, str]
    weight: int
    messages: tuple[Reason, ...]
    barrier: Instruction | None = None


def explain_boundary(evidence: Evidence, first: Launch, second: Launch, about: About | None = None) -> Finding:
    """Return the explanation why two launches are not fused, from the capture's log and modules.

    Args:
        evidence: The capture.
        first: One launch.
        second: The other launch. Either may read the result of the other.
        about: The instruction in each launch that the question is about, if not its main one.
    """
    kernels, about = evidence.kernels, about or {}
    # The first kernel is the producer, in whichever order the question names the two.
    if second in kernels.feeders(first) and second not in kernels.readers(first):
        first, second = second, first
    names = f"{_name(evidence, first, about)} and {_name(evidence, second, about)}"
    lines = _list_lines(evidence, about, first, second)
    if second not in kernels.readers(first):
        return _explain_distance(evidence, (first, second), names, lines)
    cause = _find_cause(evidence, first, second, ("the first", "the second"))
    # The value between two kernels is written to memory once and read once.
    traffic = 2 * first.instruction.shape.bytes
    return _write(evidence, (first, second), f"{names} are two kernels: {cause.why}.", cause, lines, traffic)


def _write(  # noqa: PLR0913, PLR0917 - the parts of a finding
    evidence: Evidence,
    ends: tuple[Launch, Launch],
    verdict: str,
    cause: _Cause,
    lines: tuple[LineOf, ...],
    traffic: int,
    edge: tuple[Launch, Launch] | None = None,
) -> Finding:
    """Return the finding about two separate kernels.

    Its main line is that of the cause's barrier, which then also comes first of all lines, or else the last of `lines`.
    `edge` is the adjacent pair on the path between the ends that the notes are about, if the ends are not adjacent.
    """
    line = lines[-1] if lines else LineOf("", "")
    if cause.barrier is not None and (barrier := evidence.show_line(cause.barrier)).where:
        line, lines = barrier, tuple(dict.fromkeys((barrier, *lines)))
    notes = tuple(_list_notes(evidence, *(edge or ends)))
    names = tuple(end.name for end in ends)
    return Finding("apart", names, verdict, *cause.pass_, line, notes, cause.messages[:_MOST], traffic, lines)


def _find_cause(evidence: Evidence, first: Launch, second: Launch, names: tuple[str, str]) -> _Cause:
    """Return the reason why a kernel is not fused with a reader of its result."""
    kernels = evidence.kernels
    first_parts, second_parts = kernels.parts(first), kernels.parts(second)
    attempts = evidence.attempts.between((*first_parts, first.instruction), (*second_parts, second.instruction))
    messages = evidence.read_decisions(attempts)
    refusals = tuple(message for message in messages if message.verdict == "refused")
    pass_ = _find_pass(evidence, first, second, refusals)
    # The causes are tested from the most to the least certain: a barrier, a rewrite, a message, the form of a kernel.
    if barrier := find_barrier(evidence, first, second):
        where = evidence.show_line(barrier).where
        why = f"an optimization_barrier{f' ({where})' if where else ''} separates them until fusion is complete"
        return _Cause(why, pass_, 2, messages, barrier)
    if split := find_split(evidence, first, second):
        original = ", ".join(instruction.name for instruction in split.instead) or kernels.hero(first).name
        part = split.instruction.opcode
        why = f"{split.name} rewrote {original} as several steps, and {names[1]} computes one of them, the {part}"
        return _Cause(why, (split.pipeline, split.name), 2, messages)
    if refusals:
        refusal = refusals[0]
        pair = f"{names[0]} into {names[1]}"
        if not evidence.is_about(refusal, (*first_parts, first.instruction)):
            pair = f"{names[0]} and {names[1]}"
        clause = write_clause(refusal, first.name, second.name)
        why = f"the pass {refusal.pass_name} does not fuse {pair} because {clause}"
        return _Cause(why, pass_, 1 + bool(refusal.others), messages)
    has_log = bool(evidence.capture.log)
    gap = "the log has no attempt to fuse them" if has_log else "this capture has no log of attempts to fuse them"
    for launch in (first, second):
        step = evidence.steps(launch.instruction)[0]
        if form := name_form(launch, evidence.capture.target):
            by = f", made by the pass {step.name}," if step.name else ""
            return _Cause(f"{launch.name} is {form}{by} and {gap}", pass_, 0, messages)
    for launch, name in ((second, names[1]), (first, names[0])):
        hero = kernels.hero(launch)
        step = evidence.histories.find_first(hero)
        if step.deed == "made" and step.name and hero.opcode in HEAVY:
            why = f"{step.name} created the {hero.opcode} that {name} computes, and {gap}"
            return _Cause(why, (step.pipeline, step.name), 1, messages)
    return _Cause(gap, pass_, 0, messages)


def _explain_distance(
    evidence: Evidence, ends: tuple[Launch, Launch], names: str, lines: tuple[LineOf, ...]
) -> Finding:
    """Return the explanation why two launches are not fused if the second does not read the first's result."""
    first, second = ends
    path = _find_path(evidence, first, second)
    if not path:
        return _explain_strangers(evidence, ends, names, lines)
    edges = [(one, other) for one, other in itertools.pairwise(path)]
    causes = [_find_cause(evidence, one, other, (one.name, other.name)) for one, other in edges]
    # The pair of adjacent kernels with the strongest evidence explains the distance best.
    at = max(range(len(edges)), key=lambda number: causes[number].weight)
    cause, (one, other) = causes[at], edges[at]
    middle = [evidence.name(launch) for launch in path[1:-1]]
    runs = "runs" if len(middle) == 1 else "run"
    between = " and ".join((", ".join(middle[:-1]), middle[-1]) if len(middle) > 1 else middle)
    # A long list of kernels would hide the cause, which follows it.
    if len(middle) > _MOST_BETWEEN:
        between = plural(len(middle), "kernel")
    messages = tuple(dict.fromkeys(reason for source in (cause, *causes) for reason in source.messages))
    verdict = f"{names} are two kernels: {between} {runs} between them, and {cause.why}."
    return _write(evidence, ends, verdict, replace(cause, messages=messages), lines, 0, (one, other))


def _explain_strangers(
    evidence: Evidence, ends: tuple[Launch, Launch], names: str, lines: tuple[LineOf, ...]
) -> Finding:
    """Return the explanation why two launches are not fused if no chain of launches connects them."""
    first, second = ends
    kernels = evidence.kernels
    shared = [launch for launch in kernels.feeders(first) if launch in kernels.feeders(second)]
    inputs = [argument for argument in kernels.arguments(first) if argument in kernels.arguments(second)]
    both = [*(evidence.name(launch) for launch in shared), *map(evidence.name_value, inputs)]
    reading = f"; both read {', '.join(both[:_MOST_BETWEEN])}" if both else ""
    first_parts, second_parts = kernels.parts(first), kernels.parts(second)
    attempts = [
        *evidence.attempts.between(first_parts, second_parts),
        *evidence.attempts.between(second_parts, first_parts),
    ]
    messages = evidence.read_decisions(attempts)
    refusal = next((message for message in messages if message.verdict == "refused" and message.others), None)
    clause = f", and the pass {refusal.pass_name} does not fuse them because " if refusal else ""
    clause += write_clause(refusal, first.name, second.name) if refusal else ""
    return Finding(
        "apart",
        (first.name, second.name),
        f"{names} are two kernels: neither reads the result of the other{reading}{clause}.",
        *_find_pass(evidence, first, second, (refusal,) if refusal else ()),
        lines[-1] if lines else LineOf("", ""),
        (),
        messages[:_MOST],
        0,
        lines,
    )


def find_split(evidence: Evidence, first: Launch, second: Launch) -> Step | None:
    """Return the step in which a pass split one kernel's operation so that the other computes a part of it, or None."""
    hero = evidence.kernels.hero(first)
    origin = hero.op_name, hero.stack_frame
    # All instructions without metadata would seem to come from the same operation.
    if origin == (None, None):
        return None
    for part in evidence.kernels.parts(second):
        if (part.op_name, part.stack_frame) != origin or part.opcode == hero.opcode or part.opcode not in HEAVY:
            continue
        step = evidence.histories.find_first(part)
        if step.name and any(_is_same(instruction, hero) for instruction in step.instead):
            return step
    return None


def _is_same(one: Instruction, other: Instruction) -> bool:
    return one.opcode == other.opcode or {one.opcode, other.opcode} <= MATMULS


def find_barrier(evidence: Evidence, first: Launch, second: Launch) -> Instruction | None:
    """Return the program's optimization barrier on a path from the first kernel to the second, or None."""
    module = evidence.capture.unoptimized_module
    if not any(instruction.opcode == BARRIER for instruction in module.walk()):
        return None
    numbers = evidence.histories.states[0].numbers
    names = [evidence.histories.names_at(0, evidence.kernels.parts(launch)) for launch in (first, second)]
    # No barrier can separate an instruction that is in both kernels from itself.
    starts: list[_Reached] = [(instruction, None) for instruction in numbers if instruction.name in names[0] - names[1]]

    def list_next(place: _Reached) -> Iterator[_Reached]:
        for user in module.users(place[0]):
            if user.name not in names[0]:
                yield user, user if user.opcode == BARRIER else place[1]

    barriers = (barrier for instruction, barrier in search(starts, list_next) if instruction.name in names[1])
    return next(filter(None, barriers), None)


def _name(evidence: Evidence, launch: Launch, about: About) -> str:
    """Return the name of a kernel with a line: that of its instruction in the question, or else its own."""
    where = evidence.show_line(about[launch]).where if launch in about else ""
    return f"{launch.name} ({where})" if where else evidence.name(launch)


def _list_lines(evidence: Evidence, about: About, *launches: Launch) -> tuple[LineOf, ...]:
    lines = (evidence.show_line(about.get(launch, evidence.kernels.hero(launch))) for launch in launches)
    return tuple(dict.fromkeys(line for line in lines if line.where))


def _find_pass(evidence: Evidence, first: Launch, second: Launch, refusals: Sequence[Reason]) -> tuple[str, str]:
    """Return the pass that refused to fuse two kernels, or else that created one of them, or else a fusion pass."""
    if refusals:
        return refusals[0].pipeline, refusals[0].pass_name
    for launch in (second, first):
        step = evidence.steps(launch.instruction)[0]
        # The wrapping pass makes a fusion of each instruction that is left, so it decides nothing.
        if step.name not in {"", _WRAPPING} and is_fusion(launch.instruction):
            return step.pipeline, step.name
    for launch in (first, second):
        step = evidence.steps(launch.instruction)[0]
        if step.name and launch.opcode == "custom-call":
            return step.pipeline, step.name
    fusion_run = next((run for run in evidence.capture.runs if run.name in _FUSING), None)
    return (fusion_run.pipeline, fusion_run.name) if fusion_run else ("", "")


def _list_notes(evidence: Evidence, first: Launch, second: Launch) -> Iterator[str]:
    size = format_bytes(first.instruction.shape.bytes)
    yield f"{first.name} writes {size} to memory, and {second.name} reads it."
    readers = evidence.kernels.readers(first)
    if len(readers) > 1:
        yield f"{first.name} has {len(readers)} readers: {', '.join(reader.name for reader in readers[:3])}."
    if first.within != second.within:
        yield "They run in different loops or branches."
    for launch in (first, second):
        if form := name_form(launch, evidence.capture.target):
            yield f"{launch.name} is {form}."
    yield from list_costs(evidence, first, second)


def _find_path(evidence: Evidence, first: Launch, second: Launch) -> tuple[Launch, ...]:
    """Return a shortest path of launches between two, in either direction, with both; empty without one of up to 13."""
    for start, end in ((first, second), (second, first)):
        waiting: list[tuple[Launch, ...]] = [(start,)]
        visited = {start}
        while waiting:
            path = waiting.pop(0)
            for reader in evidence.kernels.readers(path[-1]):
                if reader == end:
                    return (*path, reader)
                # The bound limits the search, since a longer path would not explain anything.
                if reader not in visited and len(path) < _MOST:
                    visited.add(reader)
                    waiting.append((*path, reader))
    return ()
