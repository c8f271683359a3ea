"""The origin of a kernel: the pass that made it, of what, and why in this form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import custom_fusion_kind, is_fusion, parse_log
from xla_inspect.plural import plural
from xla_inspect.questions.why.explanation import Finding
from xla_inspect.questions.why.refusal_text import write_clause
from xla_inspect.questions.why.why_context import IMPORT, tell_maker

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
    by = f"the pass {passed} fused them" if passed else "they came in one"
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
        0,
        tuple(dict.fromkeys(line for line in map(evidence.show_line, (one, other)) if line.where)),
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
    what = name_form(launch) or f"a {launch.kind} {'fusion' if is_fusion(launch.instruction) else 'kernel'}"
    lines = {part for part in (evidence.show_line(each).where for each in parts) if part}
    count = len(parts) - is_fusion(launch.instruction)
    if count > 1:
        what += f" of {plural(count, 'instruction')} from {plural(len(lines), 'line')}"
    if is_product and is_fusion(launch.instruction) and not emitter:
        what += f", around the matmul {hero.name}" if hero.opcode in {"convolution", "dot"} else ""
    by = tell_maker(made)
    because = _say_matmul(evidence, matmul, made, emitter or "") if is_product else ""
    return Finding(
        "matmul" if is_product else "kernel",
        (launch.name,),
        f"{evidence.name(launch)} is {what}: {by}{because}.",
        made.pipeline,
        made.name or IMPORT,
        evidence.show_line(hero),
        tuple(list_costs(evidence, launch)),
        (*matmul, *(each for each in said if each not in matmul))[:_MOST],
        launch.instruction.shape.bytes,
    )


def _say_matmul(evidence: Evidence, said: Sequence[Reason], made: Step, emitter: str) -> str:
    """Return why a matmul is computed by what computes it, as the end of a sentence, or an empty string."""
    refused = next((each for each in said if each.kind in _NOT_TRITON), None)
    if "triton" in emitter:
        asked = any(each.kind == _ASKED for each in said)
        names = [run.name for run in evidence.capture.runs]
        later = next((name for name in names if "cublas" in name and "rewriter" in name), "")
        first = made.name in names and later and names.index(made.name) < names.index(later)
        why = ", for it found nothing in it that Triton does not take" if asked else ""
        return f"{why}{f', and {later}, which makes calls of cuBLAS, runs after it' if first else ''}"
    if refused is not None:
        return f", and {refused.pass_name} refused it for Triton: {write_clause(refused, refused.instruction, '')}"
    own = [each for each in said if each.pass_name == made.name and each.kind and each.sentence]
    picked = next((each for verdict in ("done", "noted") for each in own if each.verdict == verdict), None)
    return f". {picked.meaning.rstrip('.')}" if picked else ""


def name_form(launch: Launch) -> str:
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


def list_costs(evidence: Evidence, first: Launch, second: Launch | None = None) -> Iterator[str]:
    """Yield what the GPU's cost model reckons of fusing one into the other."""
    if not evidence.capture.fusion_log:
        return
    log = parse_log(evidence.capture.fusion_log)
    for estimate in log.estimates:
        if estimate.producer == first.name and (second is None or second.name in estimate.consumers):
            yield (
                f"The cost model estimates {estimate.fused:.3g} µs fused and {estimate.apart:.3g} µs apart for "
                f"{first.name}."
            )
            break
    for refusal in log.refusals:
        if refusal.producer == first.name and (second is None or refusal.consumer in {None, second.name}):
            yield f"The fusion pass left {first.name} alone: {refusal.reason}."
            break
