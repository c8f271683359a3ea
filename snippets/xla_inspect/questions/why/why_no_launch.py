"""The explanations of instructions inside a kernel or without a launch, of arguments and of collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import REDUCE_SCATTER, REWRITING, SourceLine, is_fusion, read_line, show_place, walk_inside
from xla_inspect.hlo import IDLE
from xla_inspect.plural import plural
from xla_inspect.questions.why.explanation import IMPORT, Finding, LineOf
from xla_inspect.questions.why.why_context import tell_maker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.analysis import Launch
    from xla_inspect.hlo import Instruction
    from xla_inspect.questions.collectives import Exchange
    from xla_inspect.questions.why.name_lookup import Selection
    from xla_inspect.questions.why.why_context import Evidence

_EXCHANGES = ("all-", "collective-", "ragged-all-", "reduce-scatter")
CONTROL = frozenset({"call", "conditional", "while"})
"""Opcodes that run other computations."""
_MOST = 3


def explain_inside(evidence: Evidence, instruction: Instruction) -> Finding:
    """Return the explanation of an instruction inside a kernel: its kernel, and the pass that fused it."""
    steps = evidence.steps(instruction)
    step = next((candidate for candidate in reversed(steps) if candidate.deed == "fused"), steps[0])
    messages = evidence.read_decisions(evidence.attempts.about([instruction]))
    return Finding(
        "kernel",
        (instruction.name,),
        f"{evidence.name_value(instruction)} is {place_value(evidence, instruction)}.",
        step.pipeline,
        step.name or IMPORT,
        evidence.show_line(instruction),
        (),
        messages,
    )


def place_value(evidence: Evidence, instruction: Instruction) -> str:
    """Return a phrase about the kernel that computes an instruction of the optimized module, to end a sentence."""
    launch = evidence.kernels.holder(instruction)
    if launch is None:
        return "a value without a launch of its own"
    loop = f", in the loop {launch.within[-1]}" if launch.within else ""
    if instruction in {launch.instruction, launch.scheduled}:
        return f"the {launch.kind} kernel {launch.name}{loop}"
    step = next((candidate for candidate in reversed(evidence.steps(instruction)) if candidate.deed == "fused"), None)
    by = f"; the pass {step.name} fused it" if step and step.name else ""
    results = list(_list_results(evidence, launch))
    if instruction in results:
        return f"{'the' if len(results) == 1 else 'a'} result of {launch.name}{loop}{by}"
    others = " and ".join(map(evidence.name_kind, results[:_MOST]))
    verb = "results are" if len(results) > 1 else "result is"
    return f"computed inside {launch.name}{loop}, whose {verb} {others}{by}"


def _list_results(evidence: Evidence, launch: Launch) -> Iterator[Instruction]:
    """Yield the instructions whose values a fusion returns."""
    waiting = [launch.instruction]
    while waiting:
        current = waiting.pop(0)
        # A fusion may have a tuple of results, and each of them may only rename a value.
        if is_fusion(current):
            waiting += [computation.root for computation in evidence.module.called(current)]
        elif current.opcode in IDLE:
            waiting += evidence.module.operands(current)
        else:
            yield current


def explain_untraced(evidence: Evidence, selection: Selection) -> Finding:
    """Return the explanation of a line without instructions, which JAX dropped before XLA received the program."""
    file, number = selection.lines[-1]
    line = SourceLine(file, number, "")
    where = show_place(line)
    name = f"`{selection.what}` ({where})" if selection.statements else where
    verdict = (
        f"{name} is not in the program that XLA receives: JAX dropped it after tracing because no result depends on it."
    )
    return Finding("removed", (), verdict, "", IMPORT, LineOf(where, read_line(evidence.capture, line)))


def explain_idle(evidence: Evidence, instruction: Instruction) -> Finding:
    """Return the explanation of an instruction without a launch: its origin, and why it needs none if known."""
    messages = evidence.read_decisions(evidence.attempts.about([instruction]))
    first = evidence.histories.find_first(instruction)
    instead = ", ".join(evidence.name_kind(instruction) for instruction in first.instead)
    by = tell_maker(first)
    by += f" in place of {instead}" if instead else ""
    name = evidence.name_kind(instruction)
    if instruction.opcode in CONTROL:
        inner = sum(instruction.name in launch.within for launch in evidence.kernels.launches)
        verdict = f"{name} contains {plural(inner, 'launch', 'launches')}: {by}."
    elif instruction.opcode in REWRITING | IDLE:
        verdict = f"{name} needs no launch because it moves no bytes: {by}."
    else:
        verdict = f"{name} has no launch: {by}."
    return Finding(
        "kernel",
        (instruction.name,),
        verdict,
        first.pipeline,
        first.name or IMPORT,
        evidence.show_line(instruction),
        (),
        messages,
    )


def explain_argument(evidence: Evidence, instruction: Instruction) -> Finding:
    """Return the explanation of an argument: whether a result reuses its memory, or why none does."""
    number = instruction.parameter_number or 0
    name = instruction.op_name or instruction.name
    if number in evidence.donated:
        verdict = f"The argument {name} is donated, and a result reuses its memory."
    elif number in evidence.offered:
        verdict = f"The argument {name} is donated, but its memory is not reused: no result has its shape and layout."
    else:
        # Only a result of the same shape could reuse the memory of the argument.
        alike = [leaf for leaf in evidence.module.entry.root.shape.leaves() if leaf.plain == instruction.shape.plain]
        results = "a result has" if len(alike) == 1 else f"{len(alike)} results have"
        contrast = f" although {results} its shape" if alike else ""
        verdict = f"The argument {name} is not donated{contrast}, so its memory is occupied for the whole run."
    messages = evidence.read_decisions(evidence.attempts.about([instruction]))
    return Finding("argument", (instruction.name,), verdict, "", IMPORT, evidence.show_line(instruction), (), messages)


def _exchanges(instruction: Instruction) -> bool:
    # An async-start has the opcode of the collective only in the computation that it wraps.
    return instruction.opcode.startswith(_EXCHANGES) or (instruction.wrapped or "").startswith(_EXCHANGES)


def _name_pass(name: str) -> str:
    return f"the pass {name}" if "partition" in name else "the partitioner"


def explain_exchange(evidence: Evidence, exchange: Exchange, launch: Launch) -> Finding:
    """Return the explanation of a collective: the program requests it, or the partitioner added it and why."""
    # Passes that combine, split or start collectives may have created this one from earlier ones.
    candidates = (candidate for candidate in evidence.module.walk() if candidate.name == exchange.name)
    instruction = next((candidate for candidate in candidates if _exchanges(candidate)), launch.instruction)
    # The collective itself may be inside a fusion or an async-start.
    inside = (candidate for candidate in walk_inside(evidence.module, instruction) if _exchanges(candidate))
    first = evidence.histories.find_earliest(next(inside, instruction))
    messages = evidence.read_decisions(evidence.attempts.about([launch.instruction]))
    what = f"{', '.join(exchange.arguments)} " if exchange.arguments else ""
    last, origin = first, f"that {_name_pass(first.name)} added"
    if exchange.kind == REDUCE_SCATTER and (fusion := evidence.steps(launch.instruction)[0]).name:
        last = fusion
        # A TPU's reduce-scatter is a fusion of an all-reduce, so two passes are responsible for it.
        origin = f"that the pass {fusion.name} formed from a slice and an all-reduce {origin}"
    cause = {
        True: f" that the program requests ({exchange.reason})",
        False: f" {origin}: {what}{exchange.reason}",
        None: "; the module gives no reason for it",
    }[exchange.is_asked]
    place = exchange.places[0] if exchange.places else None
    where = exchange.where.partition(" +")[0] if place else ""
    notes = (
        [f"The pass {first.name} created it as {first.instruction.name}."]
        if first.instruction.name != exchange.name and first.name
        else []
    )
    if exchange.is_rematerialized:
        notes.append("Each device gathers the whole value, which is then sharded again.")
    article = "an" if exchange.kind[0] == "a" else "a"
    return Finding(
        "collective",
        (exchange.name,),
        f"{exchange.name}{f' ({where})' if where else ''} is {article} {exchange.kind}{cause}.",
        last.pipeline,
        last.name or IMPORT,
        LineOf(where, place.text) if place else evidence.show_line(launch.instruction),
        tuple(notes),
        messages,
        exchange.total_bytes,
    )
