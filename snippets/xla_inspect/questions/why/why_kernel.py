"""The explanation of a kernel: the pass that created it, its contents, and the reason for its form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import custom_fusion_kind, is_fusion, parse_log
from xla_inspect.plural import plural
from xla_inspect.questions.why.explanation import IMPORT, Finding
from xla_inspect.questions.why.refusal_text import write_clause
from xla_inspect.questions.why.why_context import tell_maker
from xla_inspect.targets import find_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.analysis import Launch, Step
    from xla_inspect.hlo import Instruction
    from xla_inspect.questions.why.explanation import Reason
    from xla_inspect.questions.why.why_context import Evidence

_FORMS = {"dot": "a matmul", "convolution": "a matmul or convolution", "reduce": "a reduction", "sort": "a sort"}
_LIBRARIES = ("cublas", "cudnn", "onednn", "cusolver", "cufft")
_NOT_TRITON = frozenset({"matmul-not-triton", "pure-matmul-to-library", "triton-dot"})
_ASKED = "triton-asked-for-dot"
_MOST = 12


def explain_union(evidence: Evidence, launch: Launch, one: Instruction, other: Instruction) -> Finding:
    """Return the explanation why two instructions are in one kernel: the pass that fused them."""
    place = evidence.histories.find_union(one, other)
    fusions = [
        step
        for instruction in (one, other)
        for step in evidence.histories.tell_way(instruction)
        if step.deed == "fused"
    ]
    last = max(fusions, key=lambda step: step.state, default=None)
    pipeline, pass_name = (last.pipeline, last.name) if last else ("", "")
    # The state in which the two are first together shows the pass that united them.
    if place:
        pipeline, pass_name = evidence.histories.find_pass(place, "fusion")
    names = f"{evidence.name_value(one)} and {evidence.name_value(other)}"
    by = f"the pass {pass_name} fused them" if pass_name else "they were together in the original program"
    messages = evidence.read_decisions(evidence.attempts.between([one], [other]))
    return Finding(
        "together",
        (one.name, other.name),
        f"{names} are one kernel, {launch.name}: {by}.",
        pipeline,
        pass_name or IMPORT,
        evidence.show_line(other),
        (),
        messages[:_MOST],
        0,
        tuple(dict.fromkeys(line for line in map(evidence.show_line, (one, other)) if line.where)),
    )


def explain_kernel(evidence: Evidence, launch: Launch) -> Finding:
    """Return the explanation of a kernel: its form, the pass that created it, and the compiler's messages."""
    hero = evidence.kernels.hero(launch)
    # The first step of an instruction is its creation.
    first = evidence.steps(launch.instruction)[0]
    parts = evidence.kernels.parts(launch)
    messages = evidence.read_decisions(evidence.attempts.about((*parts, launch.instruction)))
    matmul = [message for message in messages if message.topic == "matmul"]
    emitter = custom_fusion_kind(launch.instruction) or launch.instruction.custom_call_target
    # A library call or a Triton fusion may hide its matmul, but the messages of the compiler still refer to it.
    is_product = hero.opcode in {"dot", "convolution"} or "gemm" in (emitter or "") or bool(matmul)
    what = (
        name_form(launch, evidence.capture.target)
        or f"a {launch.kind} {'fusion' if is_fusion(launch.instruction) else 'kernel'}"
    )
    lines = {where for where in (evidence.show_line(part).where for part in parts) if where}
    # The parts include the fusion instruction itself.
    count = len(parts) - is_fusion(launch.instruction)
    if count > 1:
        what += f" of {plural(count, 'instruction')} from {plural(len(lines), 'line')}"
    if is_product and is_fusion(launch.instruction) and not emitter:
        what += f", around the matmul {hero.name}" if hero.opcode in {"convolution", "dot"} else ""
    by = tell_maker(first)
    because = _say_matmul(evidence, matmul, first, emitter or "") if is_product else ""
    return Finding(
        "matmul" if is_product else "kernel",
        (launch.name,),
        f"{evidence.name(launch)} is {what}: {by}{because}.",
        first.pipeline,
        first.name or IMPORT,
        evidence.show_line(hero),
        tuple(list_costs(evidence, launch)),
        (*matmul, *(message for message in messages if message not in matmul))[:_MOST],
        launch.instruction.shape.bytes,
    )


def _say_matmul(evidence: Evidence, messages: Sequence[Reason], first: Step, emitter: str) -> str:
    """Return the reason for the code generator or library of a matmul, as the end of a sentence, or an empty string."""
    refusal = next((message for message in messages if message.kind in _NOT_TRITON), None)
    if "triton" in emitter:
        is_supported = any(message.kind == _ASKED for message in messages)
        names = [run.name for run in evidence.capture.runs]
        later = next((name for name in names if "cublas" in name and "rewriter" in name), "")
        # A pass that rewrites matmuls for cuBLAS cannot rewrite one that Triton already has.
        is_earlier = first.name in names and later and names.index(first.name) < names.index(later)
        why = ", since Triton supports all of its instructions" if is_supported else ""
        library = find_terms(evidence.capture.target).adapt("cuBLAS")
        return f"{why}{f'. {later}, which creates calls to {library}, runs later' if is_earlier else ''}"
    if refusal is not None:
        clause = write_clause(refusal, refusal.instruction, "")
        return f". {refusal.pass_name} rejected it for Triton because {clause}"
    own = [message for message in messages if message.pass_name == first.name and message.kind and message.sentence]
    choice = next((message for verdict in ("done", "noted") for message in own if message.verdict == verdict), None)
    return f". {choice.meaning.rstrip('.')}" if choice else ""


def name_form(launch: Launch, target: str) -> str:
    """Return a phrase for a launch that fusion passes treat separately, such as a library call, or an empty string."""
    instruction = launch.instruction
    # Names of XLA's own kinds and targets begin with underscores, as in `__cublas$gemm`.
    emitter = (custom_fusion_kind(instruction) or "").strip("_")
    call = (instruction.custom_call_target or "").strip("_")
    if launch.role in {"collective", "copy"}:
        return f"a {launch.role}"
    library = find_terms(target).name_library(instruction.custom_call_target or "")
    if library or call.startswith(_LIBRARIES):
        return f"a call to the library {library or call.partition('$')[0]}"
    if call:
        return f"a custom call to {call}"
    if emitter:
        maker = "that Triton compiles" if "triton" in emitter else "that a library computes"
        return f"a fusion {maker} ({emitter})"
    return _FORMS.get(instruction.opcode, "") and f"{_FORMS[instruction.opcode]} outside of any fusion"


def list_costs(evidence: Evidence, first: Launch, second: Launch | None = None) -> Iterator[str]:
    """Yield up to two sentences from a GPU's fusion log: the estimated cost of fusing a kernel, and the refusal."""
    # Only the GPU's compiler has this log.
    if not evidence.capture.fusion_log:
        return
    log = parse_log(evidence.capture.fusion_log)
    for estimate in log.estimates:
        if estimate.producer == first.name and (second is None or second.name in estimate.consumers):
            yield (
                f"For {first.name}, the cost model estimates {estimate.fused:.3g} µs if it is fused and "
                f"{estimate.apart:.3g} µs if it is a separate kernel."
            )
            break
    for refusal in log.refusals:
        if refusal.producer == first.name and (second is None or refusal.consumer in {None, second.name}):
            yield f"The fusion pass did not fuse {first.name}: {refusal.reason}."
            break
