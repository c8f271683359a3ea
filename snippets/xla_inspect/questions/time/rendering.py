"""The printed estimate of a program's time: one sentence, tables by line and by kind, and commands that may help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis.estimates import DEFINITION, LAUNCHES
from xla_inspect.answers import Hint, Table, name_line, say_time, show_range, suggest
from xla_inspect.targets import lane, title
from xla_inspect.units import format_amount, format_seconds, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part
    from xla_inspect.questions.time.finding import TimeEstimate

NOT_MODELLED = (
    "These times are estimates by cost models, not measurements. They leave out input from the host, writing "
    "checkpoints to disk, and the time of Python before the launch, and they assume that all devices are equally fast. "
    "About nine in ten published times of kernels and training steps were within the range, but on TPUs, most steps "
    "that shard each layer took less time than the range."
)
"""The disclaimer of each answer; the measurements are those in docs/data/published-times.toml and step-times.json."""

_TERMS = {
    LAUNCHES: "launch overhead is the time to start the kernels, without their work, and the gap after each of them",
    "memory-bound": "memory-bound kernels have no matmul and mostly move data",
    "vector work": "vector work is that of kernels without a matmul that the vector units limit",
    "exposed collectives": "exposed collectives are exchanges between devices while no other work runs",
    "exposed copies": "exposed copies are copies while no other work runs",
}
"""The explanation of each kind of work whose name does not suffice."""

_LONGEST_ERROR = 600
_SHOWN_KINDS = 3
_LARGE_SHARE = 0.1


def render(answer: TimeEstimate) -> Iterator[Part]:
    """Yield the printed answer: the time in one sentence, tables by line and by kind, limits, and next commands."""
    if answer.error:
        yield f"{answer.program} does not compile for {title(answer.target)}: {shorten(answer.error, _LONGEST_ERROR)}"
        return
    if answer.seconds is None:
        yield f"{answer.program} on {title(answer.target)}: no estimate. {answer.absence}"
        return
    if not answer.seconds:
        yield f"{answer.program} on {title(answer.target)} launches nothing, so a step takes no time on the device."
        return
    yield _say_all(answer)
    total = answer.seconds
    if answer.lines:
        rows = tuple(
            (
                format_seconds(share.seconds),
                format_share(share.seconds / total),
                share.limit,
                share.kind,
                name_line(share.where, share.text),
            )
            for share in answer.lines[: answer.shown]
        )
        more = len(answer.lines) - len(rows)
        name = "By line of Python" + (f" (the {len(rows)} longest of {len(answer.lines)})" if more > 0 else "")
        yield Table(("time", "share", "bound by", "kind", "line"), rows, (0, 1), name)
    kinds = tuple(
        (
            format_seconds(share.seconds),
            format_share(share.seconds / total),
            show_range(share.time),
            share.limit,
            f"{share.launches:,}",
            share.text,
        )
        for share in answer.kinds
    )
    yield Table(("time", "share", "range", "bound by", "launches", "kind"), kinds, (0, 1, 4), "By kind of work")
    yield from _explain(answer)
    yield from answer.notes
    if hidden := sum(share.hidden_seconds for share in answer.kinds):
        yield (
            f"Another {format_seconds(hidden)} of asynchronous collectives and copies run during other work, so "
            "the step does not include them."
        )
    if answer.utilization is not None:
        again = f", and recomputation takes another {format_amount(answer.recomputed_flops or 0)}"
        flops = f"{format_amount(answer.model_flops or 0)} floating-point operations (flops)"
        yield f"{DEFINITION} On one device, those that count take {flops}{again if answer.recomputed_flops else ''}."
    yield NOT_MODELLED
    yield from _advise(answer)


def _say_all(answer: TimeEstimate) -> str:
    seconds = answer.seconds or 0.0
    kinds = ", ".join(f"{share.text} {format_share(share.seconds / seconds)}" for share in answer.kinds[:_SHOWN_KINDS])
    utilization = (
        f" The model flops utilization is {format_share(answer.utilization)}." if answer.utilization is not None else ""
    )
    time_ = f"{answer.program} on {title(answer.target)}: a step takes {say_time(answer.time)}."
    return f"{time_} By kind of work: {kinds}.{utilization}"


def _explain(answer: TimeEstimate) -> Iterator[str]:
    """Yield the explanations of the kinds of work, and then of the columns, as far as the tables contain them."""
    if terms := [_TERMS[share.text] for share in answer.kinds if share.text in _TERMS]:
        yield f"Kinds of work: {'; '.join(terms)}."
    lines = answer.lines[: answer.shown]
    columns = []
    if lines:
        columns.append(
            "`bound by` is the resource that determines most of a line's time, and `kind` is the kind of work that "
            "takes most of it."
        )
    if any(share.limit == "launch" for share in lines):
        columns.append("Launches that are bound by `launch` take longer to start than to do their work.")
    if any(" +" in share.where for share in lines):
        columns.append(
            "A number such as +2 after a line counts other lines whose collectives the compiler combined with its own."
        )
    yield from filter(None, [" ".join(columns)])


def _advise(answer: TimeEstimate) -> Iterator[Hint]:
    """Yield commands that show the causes of the longest kinds of work."""
    if not answer.asked or not answer.seconds:
        return
    shares = {share.text: share.seconds / answer.seconds for share in answer.kinds}
    if shares.get("exposed collectives", 0) > _LARGE_SHARE:
        yield Hint(
            "The devices wait for each other. To see each exchange with its mesh axis, reason and overlap:",
            suggest("collectives", answer.asked),
        )
    if shares.get("memory-bound", 0) + shares.get("vector work", 0) > _LARGE_SHARE:
        yield Hint("Many kernels move data. To see the bytes of each launch:", suggest("kernels", answer.asked))
    if answer.recomputed_flops and answer.recomputed_flops > _LARGE_SHARE * (answer.model_flops or 0):
        yield Hint(
            "Checkpoints repeat work. To see the memory with other checkpoints:",
            suggest("memory", answer.asked, "--try", "remat"),
        )
    if shares.get(LAUNCHES, 0) > _LARGE_SHARE:
        yield Hint(
            "Launch overhead is a large part of the step. To see every launch:",
            suggest("kernels", answer.asked, "--all"),
        )
    if lane(answer.target) != "cpu" and answer.lines and answer.lines[0].where:
        yield Hint("To see why the compiler made its decisions:", suggest("why", answer.asked))
