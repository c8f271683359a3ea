"""The printed comparison of targets, and the next commands to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import Hint, Table, name_scope, show_flops, show_range, suggest, tell_unknown_work
from xla_inspect.plural import plural
from xla_inspect.questions.summary.finding import KINDS, LARGEST, Largest, Summary, TargetSummary
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_duration, format_seconds, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xla_inspect.answers import Part


SORTS = {
    "kernel": ("The largest kernels", "moves"),
    "memory": ("The largest uses of memory", "size"),
    "collective": ("The largest collectives", "sends"),
}
"""The title of the table and the heading of the bytes, for each sort of `Largest`."""

PLACE, NAME = 28, 18


def render(summary: Summary) -> Iterator[Part]:
    """Yield the printed answer: a sentence about each target, tables that compare them, and next commands."""
    yield f"{summary.program}: {', '.join(map(_say, summary.targets))}."
    kinds = dict.fromkeys(kind for target in summary.targets for kind in target.kinds)
    rows: list[tuple[str, list[str]]] = [
        ("kernels", [_show(target.kernels, str) for target in summary.targets]),
        *(
            (f"  {kind}", [str(target.kinds.get(kind, "")) for target in summary.targets])
            for kind in list(kinds)[:KINDS]
        ),
        ("copies", [_show(target.copies, str) for target in summary.targets]),
        ("collectives", [_count_collectives(target) for target in summary.targets]),
        ("flops", [_show_flops(target) for target in summary.targets]),
        ("bytes moved", [_show(target.moved_bytes, format_bytes) for target in summary.targets]),
        *_list_times(summary),
        ("memory needed", [_show_needed(target) for target in summary.targets]),
        ("  arguments", [format_bytes(target.argument_bytes) for target in summary.targets]),
        ("  temporaries", [_show(target.temporary_bytes, format_bytes) for target in summary.targets]),
        ("  results", [format_bytes(target.output_bytes) for target in summary.targets]),
    ]
    # The times are zero if they were omitted or come from a dump.
    if any(target.compile_seconds for target in summary.targets):
        rows.append(("compile time", [format_duration(target.compile_seconds) for target in summary.targets]))
    header = ("per device", *(target.target for target in summary.targets))
    yield Table(header, tuple((name, *cells) for name, cells in rows), tuple(range(1, len(header))))
    if any(target.has_unknown_runs for target in summary.targets):
        yield "Each loop with an unknown trip count counts as one iteration, and each branch as taken once."
    yield from tell_unknown_work([name for target in summary.targets for name in target.unknown_work])
    for target in summary.targets:
        if target.replication and (sentence := target.replication.sentence):
            yield f"Replicated on {title(target.target)}: {sentence}."
    yield from dict.fromkeys(sentence for target in summary.targets for sentence in target.constraints)
    for sort, (title_, bytes_heading) in SORTS.items():
        largest = [
            (target.target, entry) for target in summary.targets for entry in target.largest if entry.sort == sort
        ]
        if largest:
            # If no target has an estimate, the column would be empty.
            timed = any(entry.seconds is not None for _, entry in largest)
            cells = tuple(
                (
                    target,
                    format_bytes(entry.bytes),
                    *((_tell_time(entry),) if timed else ()),
                    shorten(entry.place, PLACE),
                    shorten(entry.name, NAME if timed else PLACE),
                )
                for target, entry in largest
            )
            header = ("target", bytes_heading, *(("time",) if timed else ()), "line", sort)
            yield Table(header, cells, (1, 2) if timed else (1,), title_)
        yield from _tell_scopes(summary, sort)
    if summary.times:
        yield summary.times
    yield from _advise(summary)


def _list_times(summary: Summary) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows with the estimated time of each target and its range, or nothing without any estimate."""
    times = [target.time for target in summary.targets]
    if any(times):
        yield "time of a step", [format_seconds(time.likely) if time else "" for time in times]
        yield "  range", [show_range(time) if time and time.high else "" for time in times]


def _tell_scopes(summary: Summary, sort: str) -> Iterator[Table]:
    """Yield a table with the largest scopes of each target's dominant line, or nothing if no target has any."""
    rows = []
    for target in summary.targets:
        scopes = target.scopes[sort]
        whole = sum(total.amount for total in scopes)
        for total in scopes[:LARGEST]:
            share = f"{total.amount / whole:.0%}"
            rows.append((target.target, share, total.where or "no line", shorten(name_scope(total), PLACE)))
    if rows:
        yield Table(("target", "share", "line", "scope"), tuple(rows), (1,), f"{SORTS[sort][0]}, by scope")


def _advise(summary: Summary) -> Iterator[Hint]:
    # Without a command line, there is no command to suggest.
    if summary.asked:
        if any(target.error for target in summary.targets) or any(target.temporary_bytes for target in summary.targets):
            yield Hint("To see the memory by line:", suggest("memory", summary.asked))
        if any(target.collectives for target in summary.targets):
            yield Hint("To see the data that devices exchange, and the reasons:", suggest("collectives", summary.asked))
        if any(target.kernels for target in summary.targets):
            yield Hint("To see each kernel and its limit:", suggest("kernels", summary.asked))
        if any(target.time for target in summary.targets):
            yield Hint("To see where the time goes:", suggest("time", summary.asked))


def _say(target: TargetSummary) -> str:
    if target.error:
        return f"does not compile for {title(target.target)}: {shorten(target.error, 200)}"
    where = f"on {title(target.target)}"
    if target.kernels is not None:
        stage = "" if target.stage.is_final else f", {target.stage.title}"
        return f"{plural(target.kernels, 'kernel')} {where}{stage}"
    shapes = ", global shapes" if target.stage.shapes == "global" else ""
    kernels = "no known kernels" if target.stage.name == "unknown" else "no kernels yet"
    return f"{kernels} {where}: {plural(target.instructions, 'instruction')}, {target.stage.title}{shapes}"


def _show[T](number: T | None, show: Callable[[T], str]) -> str:
    return "?" if number is None else show(number)


def _show_needed(target: TargetSummary) -> str:
    return format_bytes(target.peak_bytes) + (" + ?" if target.temporary_bytes is None else "")


def _show_flops(target: TargetSummary) -> str:
    return "?" if target.flops is None else show_flops(target.flops, target.unknown_work)


def _count_collectives(target: TargetSummary) -> str:
    # Before partitioning, the partitioner may still add collectives.
    if target.stage.shapes == "of one device" and target.stage.name != "none":
        return str(target.collectives)
    return f"{target.collectives} + ?" if target.collectives else "?"


def _tell_time(largest: Largest) -> str:
    return format_seconds(largest.seconds) if largest.seconds is not None else ""
