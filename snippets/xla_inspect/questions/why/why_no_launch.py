"""The fate of an instruction: moved into a kernel, without a launch, an argument, a collective."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import REDUCE_SCATTER, REWRITING, SourceLine, is_fusion, read_line, show_place, walk_inside
from xla_inspect.hlo import IDLE
from xla_inspect.plural import plural
from xla_inspect.questions.why.explanation import Finding, LineOf
from xla_inspect.questions.why.why_context import IMPORT, tell_maker

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
    """Return which pass put an instruction where it is."""
    steps = evidence.steps(instruction)
    step = next((each for each in reversed(steps) if each.deed == "fused"), steps[0])
    said = evidence.read_decisions(evidence.attempts.about([instruction]))
    return Finding(
        "kernel",
        (instruction.name,),
        f"{evidence.name_value(instruction)} is {place_value(evidence, instruction)}.",
        step.pipeline,
        step.name or IMPORT,
        evidence.show_line(instruction),
        (),
        said,
    )


def place_value(evidence: Evidence, instruction: Instruction) -> str:
    """Return where an instruction of the optimized module is computed, as the end of a sentence."""
    launch = evidence.kernels.holder(instruction)
    if launch is None:
        return "a value without a launch of its own"
    loop = f", in the loop {launch.within[-1]}" if launch.within else ""
    if instruction in {launch.instruction, launch.scheduled}:
        return f"the {launch.kind} kernel {launch.name}{loop}"
    step = next((each for each in reversed(evidence.steps(instruction)) if each.deed == "fused"), None)
    by = f"; the pass {step.name} fused it" if step and step.name else ""
    results = list(_list_results(evidence, launch))
    if instruction in results:
        return f"{'the' if len(results) == 1 else 'a'} result of {launch.name}{loop}{by}"
    others = " and ".join(map(evidence.name_kind, results[:_MOST]))
    return f"computed inside {launch.name}{loop}, whose result is {others}{by}"


def _list_results(evidence: Evidence, launch: Launch) -> Iterator[Instruction]:
    """Yield the instructions whose values a fusion returns."""
    waiting = [launch.instruction]
    while waiting:
        each = waiting.pop(0)
        if is_fusion(each):
            waiting += [called.root for called in evidence.module.called(each)]
        elif each.opcode in IDLE:
            waiting += evidence.module.operands(each)
        else:
            yield each


def explain_untraced(evidence: Evidence, selection: Selection) -> Finding:
    """Return that JAX dropped what a line computes before XLA got the program."""
    file, number = selection.lines[-1]
    line = SourceLine(file, number, "")
    where = show_place(line)
    name = f"`{selection.what}` ({where})" if selection.statements else where
    verdict = f"{name} is not in the program that XLA gets: JAX dropped it after tracing, for no result depends on it."
    return Finding("removed", (), verdict, "", IMPORT, LineOf(where, read_line(evidence.capture, line)))


def explain_idle(evidence: Evidence, instruction: Instruction) -> Finding:
    """Return what there is to say of an instruction that takes no launch."""
    said = evidence.read_decisions(evidence.attempts.about([instruction]))
    made = evidence.histories.find_first(instruction)
    instead = ", ".join(evidence.name_kind(each) for each in made.instead)
    by = tell_maker(made)
    by += f" in the place of {instead}" if instead else ""
    name = evidence.name_kind(instruction)
    if instruction.opcode in CONTROL:
        inner = sum(instruction.name in each.within for each in evidence.kernels.launches)
        verdict = f"{name} runs {plural(inner, 'launch', 'launches')} of its own: {by}."
    elif instruction.opcode in REWRITING | IDLE:
        verdict = f"{name} takes no launch, for it moves no bytes: {by}."
    else:
        verdict = f"{name} takes no launch: {by}."
    return Finding(
        "kernel",
        (instruction.name,),
        verdict,
        made.pipeline,
        made.name or IMPORT,
        evidence.show_line(instruction),
        (),
        said,
    )


def explain_argument(evidence: Evidence, instruction: Instruction) -> Finding:
    """Return whether a result takes the place of an argument, and why not."""
    number = instruction.parameter_number or 0
    name = instruction.op_name or instruction.name
    if number in evidence.donated:
        verdict = f"The argument {name} is donated, and a result takes its place."
    elif number in evidence.offered:
        verdict = f"The argument {name} is donated, and nothing takes its place: no result has its shape and layout."
    else:
        alike = [each for each in evidence.module.entry.root.shape.leaves() if each.plain == instruction.shape.plain]
        fits = (
            f", though {'a result has' if len(alike) == 1 else f'{len(alike)} results have'} its shape" if alike else ""
        )
        verdict = f"The argument {name} is not donated{fits}: it keeps its memory to the end."
    said = evidence.read_decisions(evidence.attempts.about([instruction]))
    return Finding("argument", (instruction.name,), verdict, "", IMPORT, evidence.show_line(instruction), (), said)


def _exchanges(instruction: Instruction) -> bool:
    return instruction.opcode.startswith(_EXCHANGES) or (instruction.wrapped or "").startswith(_EXCHANGES)


def _name_pass(name: str) -> str:
    return f"the pass {name}" if "partition" in name else "the partitioner"


def explain_exchange(evidence: Evidence, exchange: Exchange, launch: Launch) -> Finding:
    """Return who asked for a collective."""
    # What combines, splits or starts collectives made this one of others.
    named = (each for each in evidence.module.walk() if each.name == exchange.name)
    instruction = next((each for each in named if _exchanges(each)), launch.instruction)
    # A fusion or what starts the collective holds it.
    inside = (each for each in walk_inside(evidence.module, instruction) if _exchanges(each))
    first = evidence.histories.find_earliest(next(inside, instruction))
    said = evidence.read_decisions(evidence.attempts.about([launch.instruction]))
    what = f"{', '.join(exchange.arguments)} " if exchange.arguments else ""
    formed, brought = first, f"{_name_pass(first.name)} brought it in"
    if exchange.kind == REDUCE_SCATTER and (fused := evidence.steps(launch.instruction)[0]).name:
        formed = fused
        brought = f"the pass {fused.name} fused a slice with the all-reduce that {_name_pass(first.name)} brought in"
    asked = {
        True: f"the program asks for it ({exchange.reason})",
        False: f"{brought}: {what}{exchange.reason}",
        None: "",
    }[exchange.is_asked]
    cause = f" because {asked}" if asked else "; nothing in the module says what it is there for"
    place = exchange.places[0] if exchange.places else None
    where = exchange.where.partition(" +")[0] if place else ""
    notes = (
        [f"It was made as {first.instruction.name} by the pass {first.name}."]
        if first.instruction.name != exchange.name and first.name
        else []
    )
    if exchange.is_rematerialized:
        notes.append("It makes a value whole on each device only to have it sharded again.")
    article = "an" if exchange.kind[0] == "a" else "a"
    return Finding(
        "collective",
        (exchange.name,),
        f"{exchange.name}{f' ({where})' if where else ''} is {article} {exchange.kind}{cause}.",
        formed.pipeline,
        formed.name or IMPORT,
        LineOf(where, place.text) if place else evidence.show_line(launch.instruction),
        tuple(notes),
        said,
        exchange.total_bytes,
    )
