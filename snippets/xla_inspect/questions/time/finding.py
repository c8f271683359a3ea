"""The estimated time of a capture's program: the step, its lines of Python, its kinds of work, and its utilization."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.analysis import Stage, find_stage, tell_failure
from xla_inspect.analysis.estimates import (
    LAUNCHES,
    Estimate,
    RangedTime,
    count_model_work,
    find_rates,
    list_options,
    time_step,
)
from xla_inspect.answers import Answer, sum_lines
from xla_inspect.questions.collectives import list_launch_places
from xla_inspect.questions.kernels import USUAL_ROWS
from xla_inspect.targets import explain_missing_gpu, find_entry, lane

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from xla_inspect.analysis.estimates import DeviceRates, StepTime, TimedLaunch
    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture

NO_CPU = (
    "The rates at which a CPU computes and moves data are not published, but "
    "`xla-inspect time SUBJECT --target cpu --calibrate` measures them on this machine in about a minute."
)
"""The explanation of a missing estimate for a CPU."""


AMD_NOTE = (
    "The rates are AMD's peaks, but the shares of them that kernels reach, and the time to start a launch, are those "
    "of an H100. The range was widened to contain four published times, all of matmuls on an MI300X, so they do not "
    "test it."
)
"""The statement about an estimate for an AMD GPU."""


@dataclass(frozen=True)
class TimeShare(RangedTime):
    """The estimated time of a part of a program.

    Attributes:
        where: The line of Python, as in `model.py:12`; empty without a known line, and for a kind of work.
        text: The source text of the line, or the kind of work.
        kind: The kind of work that takes most of the time.
        limit: The resource that determines most of the time: `compute`, `memory`, `interconnect`, `launch`, ...
        launches: The number of launches in the module.
        seconds: The likely seconds.
        low_seconds: The lower end of the range.
        high_seconds: The upper end of the range.
        is_least: Whether the operations of a part are not known, so that the time is at least this one.
        hidden_seconds: The seconds of asynchronous operations that other work overlaps, which are not included.
    """

    where: str
    text: str
    kind: str
    limit: str
    launches: int
    seconds: float
    low_seconds: float
    high_seconds: float
    is_least: bool
    hidden_seconds: float


@dataclass(frozen=True, kw_only=True)
class TimeEstimate(RangedTime, Answer):
    """The estimated time of one run of a program on one target.

    Attributes:
        program: The name of the program.
        asked: The subject and options, as on the command line.
        target: The target's short name, with its grid.
        seconds: The likely seconds of a run, or None without an estimate.
        low_seconds: The lower end of the range.
        high_seconds: The upper end of the range.
        is_least: Whether the operations of a part are not known, so that the time is at least this one.
        lines: The time by line of Python, the longest first.
        kinds: The time by kind of work, the longest first.
        model_flops: The operations of the program's own products on one device, without recomputation; None if unknown.
        recomputed_flops: The operations of products that checkpoints recompute on one device; None if unknown.
        hardware_flops: The operations of all products that one device executes.
        utilization: The model flops utilization as a share; None if unknown. It exceeds 1 if the compiler removed work.
        notes: Sentences about missing figures, which make the range wider.
        absence: The reason why there is no estimate, or an empty string.
        sources: The addresses of the pages with the published rates.
        shown: The number of lines to show, from the first.
        error: The compiler's error message, or an empty string if it succeeded.
        stage: The stage of the module that contains the launches.
    """

    program: str
    asked: str
    target: str
    seconds: float | None = None
    low_seconds: float = 0.0
    high_seconds: float = 0.0
    is_least: bool = False
    lines: tuple[TimeShare, ...] = ()
    kinds: tuple[TimeShare, ...] = ()
    model_flops: float | None = None
    recomputed_flops: float | None = None
    hardware_flops: float = 0.0
    utilization: float | None = None
    notes: tuple[str, ...] = ()
    absence: str = ""
    sources: tuple[str, ...] = ()
    shown: int
    error: str
    stage: Stage

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: the time in one sentence, tables by line and by kind, limits, and next commands."""
        from xla_inspect.questions.time.rendering import render

        return render(self)


def estimate_time(
    capture: Capture, command_words: str = "", *, rows: int = USUAL_ROWS, rates: DeviceRates | None = None
) -> TimeEstimate:
    """Return the estimated time of a capture's program, and of its lines, of which `rows` are shown.

    A GPU's capture has the compiler's own estimates if it was compiled with them. A CPU needs its measured rates.
    """
    rates = rates or find_rates(capture.target)
    stage = find_stage(capture)
    answer = TimeEstimate(
        program=capture.program,
        asked=command_words,
        target=capture.target,
        absence=_explain_absence(capture, rates, stage),
        shown=rows,
        error=tell_failure(capture),
        stage=stage,
    )
    if answer.absence or rates is None:
        return answer
    step = time_step(capture, rates)
    seconds = step.seconds
    work = count_model_work(capture, rates.hardware) if stage.is_final else None
    utilization = work.peak_seconds / seconds.likely if work and work.peak_seconds and seconds.likely else None
    return replace(
        answer,
        seconds=seconds.likely,
        low_seconds=seconds.low,
        high_seconds=seconds.high,
        is_least=seconds.is_least,
        lines=time_lines(capture, step),
        kinds=_list_kinds(step),
        model_flops=work.flops if work else None,
        recomputed_flops=work.recomputed if work else None,
        hardware_flops=float(
            sum(one.launched.work.products.total() * one.launched.launch.assumed_runs for one in step.launches)
        ),
        utilization=utilization,
        notes=tuple(_list_notes(capture, step, rates, work.unknown if work else (), utilization or 0.0)),
        sources=tuple(filter(None, rates.sources)),
    )


def answer_dump(capture: Capture, command_words: str) -> TimeEstimate:
    """Return the estimated time of a module of a dump, with all of its lines."""
    return estimate_time(capture, command_words, rows=len(capture.after))


def _explain_absence(capture: Capture, rates: DeviceRates | None, stage: Stage) -> str:
    if capture.after and not stage.has_launches:
        return (
            f"{stage.explain()} Fusion and scheduling determine the launches later, so there is no estimate yet. Pass "
            "the function or the optimized module instead."
        )
    if rates is None:
        if lane(capture.target) == "cpu":
            return NO_CPU
        return f"The table of targets lacks the peak rates of the {find_entry(capture.target).title}."
    return "" if capture.after else "There is no optimized module."


def _list_notes(
    capture: Capture, step: StepTime, rates: DeviceRates, unknown: Sequence[str], utilization: float
) -> Iterator[str]:
    """Yield sentences about figures that the estimate lacks."""
    yield from [AMD_NOTE] if rates.doubt.high > 1 else []
    yield from filter(None, [explain_missing_gpu(capture.options, capture.after)])
    if not step.has_figures and rates.kind != "cpu":
        reason = "the module has no estimated_cycles"
        if rates.kind == "gpu":
            option = next(iter(list_options(capture.target)), "")
            reason = f"the module was compiled without {option}" if option else "it writes none for this GPU"
            reason = "it wrote none for these launches" if capture.options.get(option) else reason
        yield f"The compiler's own estimates are missing ({reason}), so the range may be wider."
    elif rates.kind == "tpu" and not rates.clock:
        yield "This TPU's clock rate is not published, so the compiler's cycles are unused, and the range may be wider."
    if step.unknown_loops:
        loops = ", ".join(step.unknown_loops[:3])
        yield f"Each loop with an unknown number of iterations counts as one iteration: {loops}."
    if step.unknown_collectives:
        yield "No rates of this device's links are published, so the estimate leaves out the time of collectives."
    limits = {one.launched.launch.name for one in step.launches if one.limit == "unknown"}
    if limits:
        yield f"The operations of {', '.join(sorted(limits)[:3])} are not known, so only the memory traffic counts."
    if unknown:
        yield f"The utilization leaves out the operations of {', '.join(unknown[:3])}, which are not known."
    branching = {one.name for one in capture.module.walk() if one.opcode == "conditional"}
    if any(not branching.isdisjoint(one.launched.launch.within) for one in step.launches):
        yield "For each conditional, only the longest branch counts."
    if utilization > 1:
        reason = "the compiler removed matmuls, such as those that a program repeats"
        yield f"The utilization exceeds 100%, because {reason}."


def time_lines(capture: Capture, step: StepTime) -> tuple[TimeShare, ...]:
    """Return the estimated time of each line of Python, the longest first."""
    places = list_launch_places(capture, (one.launched for one in step.launches))
    return _sum_shares((place, one, one.total) for place, one in zip(places, step.launches, strict=True))


def _list_kinds(step: StepTime) -> tuple[TimeShare, ...]:
    kinds = [(("", one.kind), one, one.seconds) for one in step.launches]
    kinds += [(("", LAUNCHES), one, one.overhead) for one in step.launches if one.overhead.high]
    return tuple(
        replace(share, kind=LAUNCHES, limit="launch", hidden_seconds=0.0) if share.text == LAUNCHES else share
        for share in _sum_shares(kinds)
        if share.high_seconds
    )


def _sum_shares(parts: Iterable[tuple[tuple[str, str], TimedLaunch, Estimate]]) -> tuple[TimeShare, ...]:
    """Return the sums of parts of launches with the same place and text, the longest first."""
    groups: dict[tuple[str, str], list[tuple[TimedLaunch, Estimate]]] = {}
    for place, launch, seconds in parts:
        groups.setdefault(place, []).append((launch, seconds))
    shares = []
    for (where, text), group in groups.items():
        launches = [launch for launch, _ in group]
        total = sum((seconds for _, seconds in group), Estimate())
        kind, limit = (
            sum_lines(("", getattr(one, name), one.total.likely) for one in launches)[0].text
            for name in ("kind", "limit")
        )
        hidden = sum(one.hidden for one in launches)
        time = total.likely, total.low, total.high, total.is_least
        shares.append(TimeShare(where, text, kind, limit, len(group), *time, hidden))
    return tuple(sorted(shares, key=lambda share: -share.seconds))
