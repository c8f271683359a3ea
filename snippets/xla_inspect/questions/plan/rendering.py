"""The printed answer about plans: the best one in a sentence, tables of plans and failures, and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import Hint, Table, show_range, suggest
from xla_inspect.plural import plural
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_seconds, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part
    from xla_inspect.questions.plan.finding import Plan, StepPlan

_ROWS = 8
_ENDINGS = {
    "complete": "All combinations were compared.",
    "model": "The search ended because no other combination is expected to be faster.",
    "budget": "The search ended because it used up its processor time; --minutes allows more.",
    "interrupted": "The search was interrupted.",
}
_ABSENT = {
    "mesh": "no other mesh has these devices and axes (--mesh or the specs of the arguments define the axes)",
    "specs": "no large argument is sharded over a mesh axis (--in-spec shards one)",
    "remat": "no scan, checkpoint or function saves values for a backward pass",
    "donate": "no argument is left to donate",
}
_BASIS = (
    "The times are estimates by cost models, not measurements: they serve to rank plans, but a small difference may be "
    "an error of the models. Plans with microbatches assume that the loss is a mean over the batch."
)


def render(answer: StepPlan) -> Iterator[Part]:
    """Yield the printed answer: the best plan in one sentence, tables of plans and failures, and commands."""
    yield _say(answer)
    if answer.plans:
        rows = tuple(map(_list_row, answer.plans[:_ROWS]))
        more = len(answer.plans) - len(rows)
        name = "The best plans that fit" + (f" ({len(rows)} of {len(answer.plans)})" if more else "")
        yield Table(("time", "range", "MFU", "memory", "change"), rows, (0, 2, 3), name)
    if answer.failures:
        yield Table(("plans", "reason", "change"), tuple(_list_failures(answer)), (0,), "Plans that cannot be used")
    tried = ", ".join(f"{kind} ({count})" for kind, count in answer.tried.items()) or "none"
    yield f"Number of choices for each kind of change: {tried}. {_ENDINGS[answer.ending]}"
    for kind in answer.absent:
        if kind in _ABSENT:
            yield f"Not tried: {kind}, because {_ABSENT[kind]}."
    yield _BASIS
    if answer.plans and (answer.plans[0].edits or answer.plans[0].options):
        yield from _advise(answer, answer.plans[0])


def _say(answer: StepPlan) -> str:
    base = answer.written
    own = f"The program as written: {base.failure or 'no estimate'}"
    if base.seconds is not None:
        own = f"The program as written takes {format_seconds(base.seconds)}{base.failure and f' and {base.failure}'}"
    program = f"{answer.program} on {title(answer.target)}"
    compiled = f"The search compiled {answer.compiled:,} of {plural(answer.possible, 'possible plan')}."
    if not answer.plans:
        return f"{program}: no compiled plan fits. {own}. {compiled}"
    best = answer.plans[0]
    utilization = (
        f" The model flops utilization (MFU) is {format_share(best.utilization)}."
        if best.utilization is not None
        else ""
    )
    change = "the program as written" if best == base else repr(best.change)
    available = f" of {format_bytes(answer.available_bytes)}" if answer.available_bytes else ""
    return (
        f"{program}: the best plan is {change}. A step takes about {format_seconds(best.time.likely)}, and a "
        f"device needs {format_bytes(best.needed_bytes or 0)}{available}.{utilization}"
        + ("" if best == base else f" {own}.")
        + f" {compiled}"
    )


def _list_row(plan: Plan) -> tuple[str, ...]:
    return (
        format_seconds(plan.time.likely),
        show_range(plan.time),
        format_share(plan.utilization) if plan.utilization is not None else "?",
        format_bytes(plan.needed_bytes) if plan.needed_bytes is not None else "?",
        plan.change,
    )


def _list_failures(answer: StepPlan) -> Iterator[tuple[str, str, str]]:
    """Yield each reason for which plans cannot be used, after their number and before the shortest of them."""
    reasons: dict[str, list[Plan]] = {}
    for plan in answer.failures:
        is_shown = plan.failure in reasons or len(reasons) < _ROWS
        reasons.setdefault(plan.failure if is_shown else "other reasons, or more memory", []).append(plan)
    for reason, plans in reasons.items():
        yield str(len(plans)), reason, min((plan.change for plan in plans), key=len)


def _advise(answer: StepPlan, best: Plan) -> Iterator[Hint]:
    """Yield the edits that the best plan needs in the code, and a command with its changes that options can make."""
    for edit in best.edits:
        yield Hint(f"To edit your code for the best plan: {edit}.")
    if best.options and answer.asked:
        part = "the best plan, without its edits of your code," if best.edits else "the best plan"
        # An option replaces one of the same name that the command had.
        yield Hint(f"To see the time of {part} by line:", f"{suggest('time', answer.asked)} {best.options}")
