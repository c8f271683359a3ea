"""Why two kernels are two, or one: what the compiler said of fusing them, else what they are."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from xla_inspect.analysis import HEAVY, custom_fusion_kind, is_fusion, parse_log
from xla_inspect.answers.evidence import IMPORT, tell_maker
from xla_inspect.answers.why import Finding, LineOf
from xla_inspect.plural import plural
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.analysis import Launch, Step
    from xla_inspect.answers.evidence import Evidence
    from xla_inspect.answers.why import Reason
    from xla_inspect.hlo import Instruction

_FUSING = ("fusion", "priority-fusion", "tpu_fusion", "multi-output-fusion", "dot-library-rewriter")
_FORMS = {"dot": "a matmul", "convolution": "a matmul or convolution", "reduce": "a reduction", "sort": "a sort"}
BARRIER = "opt-barrier"
PRODUCTS = frozenset({"convolution", "custom-call", "dot"})
_LIBRARIES = ("cublas", "cudnn", "onednn", "cusolver", "cufft")
_MOST = 12


def explain_boundary(evidence: Evidence, first: Launch, second: Launch) -> Finding:
    """Return why two launches are apart.

    Args:
        evidence: The capture.
        first: One.
        second: The other; which of them reads the other is found here.
    """
    kernels = evidence.kernels
    if second in kernels.feeders(first) and second not in kernels.readers(first):
        first, second = second, first
    reads = second in kernels.readers(first)
    left, right = kernels.parts(first), kernels.parts(second)
    said = evidence.read_decisions(evidence.attempts.between((*left, first.instruction), (*right, second.instruction)))
    refusals = tuple(each for each in said if each.verdict == "refused")
    notes = tuple(_list_notes(evidence, first, second, reads=reads))
    names = f"{evidence.name(first)} and {evidence.name(second)}"
    pipeline, passed = _find_pass(evidence, first, second, refusals)
    line = evidence.show_line(kernels.hero(second))
    if barrier := find_barrier(evidence, first, second):
        line = evidence.show_line(barrier)
        where = f" ({line.where})" if line.where else ""
        said_too = f", and {_say_refusal(refusals[0])}" if refusals else ""
        why = f"optimization_barrier{where} stands between them until fusion is over{said_too}"
    elif split := find_split(evidence, first, second):
        pipeline, passed = split.pipeline, split.name
        gone = ", ".join(f"{each.opcode} {each.name}" for each in split.instead)
        part = f"{split.instruction.opcode} {evidence.name_value(split.instruction)}"
        written = f"{gone or kernels.hero(first).opcode} as several steps"
        why = f"the pass {passed} wrote {written}, and {part} is one that the second computes"
    elif not reads:
        return _explain_distance(evidence, first, second)
    elif refusals:
        why = _say_refusal(refusals[0])
    else:
        forms = [f"{each.name} is {form}" for each in (first, second) if (form := _name_form(each))]
        why = (
            f"{forms[0]}, and the compiler says of no attempt to fuse them"
            if forms
            else "no pass says that it tried to fuse one into the other"
        )
    verdict = f"{names} are two kernels: {why}."
    return Finding(
        "apart",
        (first.name, second.name),
        verdict.replace("..", "."),
        pipeline,
        passed,
        line,
        notes,
        said[:_MOST],
        2 * first.instruction.shape.bytes if reads else 0,
        _list_lines(evidence, first, second) if not barrier else (line, *_list_lines(evidence, first, second)),
    )


def _weigh_reasons(finding: Finding) -> int:
    refused = [reason for reason in finding.reasons if reason.verdict == "refused"]
    return bool(refused) + any(reason.others for reason in refused[:1])


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
    return one.opcode == other.opcode or {one.opcode, other.opcode} <= PRODUCTS


def find_barrier(evidence: Evidence, first: Launch, second: Launch) -> Instruction | None:
    """Return the optimization barrier of the program on a way from one kernel to the other, or None."""
    module = evidence.capture.unoptimized_module
    if not any(each.opcode == BARRIER for each in module.walk()):
        return None
    numbers = evidence.histories.states[0].numbers
    known = {number: each for each, number in numbers.items()}
    names = [evidence.histories.names_at(0, evidence.kernels.parts(each)) for each in (first, second)]
    for start in known.values():
        if start.name not in names[0] or start.name in names[1]:
            continue
        waiting: list[tuple[Instruction, Instruction | None]] = [(start, None)]
        seen = {start}
        while waiting:
            each, passed = waiting.pop()
            for user in module.users(each):
                if user.name in names[1] and passed is not None:
                    return passed
                if user not in seen and user.name not in names[0]:
                    seen.add(user)
                    waiting.append((user, user if user.opcode == BARRIER else passed))
    return None


def _list_lines(evidence: Evidence, *launches: Launch) -> tuple[LineOf, ...]:
    found = (evidence.show_line(evidence.kernels.hero(launch)) for launch in launches)
    return tuple(dict.fromkeys(line for line in found if line.where))


def _explain_distance(evidence: Evidence, first: Launch, second: Launch) -> Finding:
    """Return why two launches are apart of which neither reads what the other writes."""
    names = f"{evidence.name(first)} and {evidence.name(second)}"
    path = _find_path(evidence, first, second)
    line = evidence.show_line(evidence.kernels.hero(second))
    if not path:
        shared = [each for each in evidence.kernels.feeders(first) if each in evidence.kernels.feeders(second)]
        inputs = [each for each in evidence.kernels.arguments(first) if each in evidence.kernels.arguments(second)]
        both = [*(evidence.name(each) for each in shared), *map(evidence.name_value, inputs)]
        reading = f"; both read {', '.join(both[:3])}" if both else ""
        said = evidence.read_decisions(
            [
                *evidence.attempts.between(evidence.kernels.parts(first), evidence.kernels.parts(second)),
                *evidence.attempts.between(evidence.kernels.parts(second), evidence.kernels.parts(first)),
            ]
        )
        pipeline, passed = _find_pass(evidence, first, second, ())
        return Finding(
            "apart",
            (first.name, second.name),
            f"{names} are two kernels: neither reads what the other writes{reading}.",
            pipeline,
            passed,
            line,
            (),
            said[:_MOST],
            0,
            _list_lines(evidence, first, second),
        )
    edges = [explain_boundary(evidence, one, other) for one, other in itertools.pairwise(path)]
    # The edge for which the compiler gave a reason that names both says most.
    edge = max(edges, key=_weigh_reasons)
    between = ", ".join(evidence.name(each) for each in path[1:-1])
    return Finding(
        "apart",
        (first.name, second.name),
        f"{names} are two kernels: between them runs {between}. Of {edge.verdict.replace(' are two kernels:', ':', 1)}",
        edge.pipeline,
        edge.pass_name,
        line,
        tuple(note for each in edges for note in each.notes),
        tuple(dict.fromkeys(reason for each in (edge, *edges) for reason in each.reasons))[:_MOST],
        0,
        _list_lines(evidence, first, second),
    )


def explain_union(evidence: Evidence, launch: Launch, one: Instruction, other: Instruction) -> Finding:
    """Return which pass put two instructions into one kernel.

    Args:
        evidence: The capture.
        launch: The kernel that computes both.
        one: The first.
        other: The second.
    """
    place = evidence.histories.find_union(one, other)
    fused = [step for each in (one, other) for step in evidence.histories.tell_way(each) if step.deed == "fused"]
    last = max(fused, key=lambda step: step.state, default=None)
    pipeline, passed = (last.pipeline, last.name) if last else ("", "")
    if place:
        pipeline, passed = evidence.histories.find_pass(place, "fusion")
    names = f"{evidence.name_value(one)} and {evidence.name_value(other)}"
    by = f"the pass {passed} fused them" if passed else "no pass took them apart"
    said = evidence.read_decisions(evidence.attempts.between([one], [other]))
    return Finding(
        "together",
        (one.name, other.name),
        f"{names} are one kernel, {launch.name}: {by}.",
        pipeline,
        passed or IMPORT,
        evidence.show_line(other),
        (),
        said[:_MOST],
    )


def explain_kernel(evidence: Evidence, launch: Launch) -> Finding:
    """Return how a kernel came to be what it is.

    Args:
        evidence: The capture.
        launch: The kernel.
    """
    hero = evidence.kernels.hero(launch)
    made = evidence.steps(launch.instruction)[0]
    parts = evidence.kernels.parts(launch)
    said = evidence.read_decisions(evidence.attempts.about((*parts, launch.instruction)))
    matmul = [each for each in said if each.topic == "matmul"]
    emitter = custom_fusion_kind(launch.instruction) or launch.instruction.custom_call_target
    is_product = hero.opcode in {"dot", "convolution"} or "gemm" in (emitter or "") or bool(matmul)
    what = _name_form(launch) or f"a {launch.kind} {'fusion' if is_fusion(launch.instruction) else 'kernel'}"
    by = tell_maker(made)
    reason = _pick_maker(said, made.name)
    because = f". {reason.meaning.rstrip('.')}" if reason else ""
    lines = len({part for part in (evidence.show_line(each).where for each in parts) if part})
    notes = []
    if len(parts) > 2:  # noqa: PLR2004 - a fusion of one instruction
        count = plural(len(parts) - is_fusion(launch.instruction), "instruction")
        notes.append(f"It computes {count} of {plural(lines, 'line')} of Python.")
    notes += _list_costs(evidence, launch)
    return Finding(
        "matmul" if is_product else "kernel",
        (launch.name,),
        f"{evidence.name(launch)} is {what}; {by}{because}.",
        made.pipeline,
        made.name or IMPORT,
        evidence.show_line(hero),
        tuple(notes),
        (*matmul, *(each for each in said if each not in matmul))[:_MOST],
        launch.instruction.shape.bytes,
    )


def _pick_maker(said: Sequence[Reason], name: str) -> Reason | None:
    """Return what the pass that made a kernel said of it: that it did so, else what it asked."""
    own = [each for each in said if each.pass_name == name and each.kind and each.sentence]
    return next((each for verdict in ("done", "noted", "tried") for each in own if each.verdict == verdict), None)


def _say_refusal(reason: Reason) -> str:
    into = f" into {reason.others[0]}" if reason.others else ""
    said = reason.meaning.rstrip(".")
    said = said[0].lower() + said[1:] if reason.sentence and not said.startswith(reason.instruction) else said
    return f"the pass {reason.pass_name} did not fuse {reason.instruction}{into}: {said}"


def _find_pass(evidence: Evidence, first: Launch, second: Launch, refusals: tuple[Reason, ...]) -> tuple[str, str]:
    """Return the pass that left two kernels apart: that refused, else that made one of them, else that fuses."""
    if refusals:
        return refusals[0].pipeline, refusals[0].pass_name
    for launch in (second, first):
        made = evidence.steps(launch.instruction)[0]
        if made.name and is_fusion(launch.instruction):
            return made.pipeline, made.name
    for launch in (first, second):
        made = evidence.steps(launch.instruction)[0]
        if made.name and launch.opcode == "custom-call":
            return made.pipeline, made.name
    found = next((run for run in evidence.capture.runs if run.name in _FUSING), None)
    return (found.pipeline, found.name) if found else ("", "")


def _name_form(launch: Launch) -> str:
    """Return what a launch is where fusion passes leave it alone or treat it apart, or an empty string."""
    instruction = launch.instruction
    emitter = (custom_fusion_kind(instruction) or "").strip("_")
    target = (instruction.custom_call_target or "").strip("_")
    if launch.role in {"collective", "copy"}:
        return f"a {launch.role}"
    if target.startswith(_LIBRARIES):
        return f"a call of the library {target.partition('$')[0]}"
    if target:
        return f"a custom call of {target}"
    if emitter:
        maker = "that Triton compiles" if "triton" in emitter else "that a library computes"
        return f"a fusion {maker} ({emitter})"
    return _FORMS.get(instruction.opcode, "") and f"{_FORMS[instruction.opcode]} outside of any fusion"


def _list_notes(evidence: Evidence, first: Launch, second: Launch, *, reads: bool) -> Iterator[str]:
    if reads:
        size = format_bytes(first.instruction.shape.bytes)
        yield f"Between them {size} are written and read again."
        readers = evidence.kernels.readers(first)
        if len(readers) > 1:
            yield f"{first.name} has {len(readers)} readers, {', '.join(each.name for each in readers[:3])}."
    for launch in (first, second):
        if form := _name_form(launch):
            yield f"{launch.name} is {form}."
    if first.within != second.within:
        yield "They run in different loops or branches."
    yield from _list_costs(evidence, first, second)


def _list_costs(evidence: Evidence, first: Launch, second: Launch | None = None) -> Iterator[str]:
    """Yield what the GPU's cost model reckons of fusing one into the other."""
    if not evidence.capture.fusion_log:
        return
    log = parse_log(evidence.capture.fusion_log)
    for estimate in log.estimates:
        if estimate.producer == first.name and (second is None or second.name in estimate.consumers):
            yield (
                f"The cost model reckons {estimate.fused:.3g} µs fused and {estimate.apart:.3g} µs apart for "
                f"{first.name}."
            )
            break
    for refusal in log.refusals:
        if refusal.producer == first.name and (second is None or refusal.consumer in {None, second.name}):
            yield f"The fusion pass left {first.name} alone: {refusal.reason}."
            break


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
