"""The printed answer about collectives: paragraphs and tables with line, bytes, axes, reason and overlap."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import close_brackets
from xla_inspect.analysis.estimates import Estimate
from xla_inspect.answers import Hint, Table, say_time, show_flops, tell_scopes
from xla_inspect.plural import plural
from xla_inspect.questions.collectives.collective import (
    Exchange,  # noqa: TC001
)
from xla_inspect.questions.collectives.finding import Exchanges  # noqa: TC001
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_runs, format_seconds, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Part


_LARGEST = 3
_MOST_ROWS = 16
_MOST_GROUPS, _MOST_MEMBERS = 4, 8
_LONGEST_LINE = 60
_MOST_SHAPES = _MOST_REASONS = 4
_MOST_NAMES = 6
_ORIGINS = {True: "requested by the program", False: "added by the partitioner", None: "the module gives no reason"}
"""The sentence about the origin of a collective, by `Exchange.is_asked`."""


def render(exchanges: Exchanges) -> Iterator[Part]:
    """Yield the printed answer: a summary, tables of the collectives and their reasons, and the overlapping work."""
    subject = f"{exchanges.stage.join(exchanges.program)} on {title(exchanges.target)}"
    # A failed compilation may still have a module with collectives, which are worth listing.
    if exchanges.error and not exchanges.exchanges:
        yield f"{subject} does not compile, so its collectives are unknown: {shorten(exchanges.error, 600)}"
        return
    # An earlier module does not show if later passes will add collectives.
    if not exchanges.exchanges and not exchanges.stage.is_final and exchanges.devices > 1:
        yield f"{subject}: no collectives yet. {_tell_later(exchanges)}"
        return
    if not exchanges.exchanges:
        yield f"{subject}: no collectives; {_say_alone(exchanges)}."
        yield from exchanges.constraints
        return
    yield f"{subject}: {_sum_up(exchanges)}"
    if exchanges.error:
        yield (
            f"The program does not compile ({shorten(exchanges.error, 600)}). These are the collectives of the last "
            "module before the error."
        )
    if not exchanges.stage.is_final:
        yield _tell_later(exchanges)
    yield from _tell_rows(exchanges)
    if exchanges.scopes:
        yield tell_scopes(exchanges.scopes, "input", format_bytes, "collectives")
    yield from exchanges.constraints
    if exchanges.replication and (sentence := exchanges.replication.sentence):
        yield f"Replicated: {sentence}."
    if exchanges.stage.has_launches:
        yield from _tell_overlap(exchanges)
    yield from _tell_rematerialized(exchanges)
    unknown = sum(exchange.runs is None for exchange in exchanges.exchanges)
    if unknown:
        yield (
            f"For {plural(unknown, 'collective')}, each loop with an unknown trip count counts as one iteration, and "
            "each branch as taken once (? in the column runs)."
        )


def _tell_later(exchanges: Exchanges) -> str:
    """Return a text about the collectives that later passes may add or change, for an unfinished module."""
    if exchanges.stage.shapes == "global":
        return (
            f"{exchanges.stage.explain()} The collectives that the program requests are already in the module. Later, "
            f"the partitioner adds the others that the {exchanges.devices} devices need."
        )
    if exchanges.stage.shapes == "unknown":
        return f"{exchanges.stage.explain()} If the partitioner has not run yet, it adds collectives."
    return f"{exchanges.stage.explain()} Later passes may combine, split, move or remove collectives."


def _say_alone(exchanges: Exchanges) -> str:
    """Return a clause about a program without collectives: one device, sharded without exchange, or replicated."""
    if exchanges.devices == 1:
        return "it runs on one device"
    if exchanges.replication is None:
        return f"its {exchanges.devices} devices exchange nothing"
    if exchanges.replication.is_total:
        return f"nothing is sharded: {exchanges.replication.sentence}"
    sentence = exchanges.replication.sentence
    shards = f"it is sharded over {exchanges.devices} devices that exchange nothing"
    return f"{shards}. Replicated: {sentence}" if sentence else f"{shards}. No argument or result is replicated"


def _sum_up(exchanges: Exchanges) -> str:
    total = sum(exchange.total_bytes for exchange in exchanges.exchanges)
    least = sum(exchange.total_sent for exchange in exchanges.exchanges)
    runs = sum(exchange.assumed_runs for exchange in exchanges.exchanges)
    hidden = [exchange for exchange in exchanges.exchanges if exchange.is_overlapped]
    apart = sum(exchange.total_bytes for exchange in hidden)
    rows = _group(exchanges.exchanges)[:_LARGEST]
    largest = ", ".join(f"{row[0].kind} at {row[0].where} ({_share(row, total)})" for row in rows)
    often = f" with {runs} runs" if runs != len(exchanges.exchanges) else ""
    overlap = (
        "decided later, by the schedule"
        if not exchanges.stage.has_launches
        else f"kernels run during {len(hidden)} of {len(exchanges.exchanges)} collectives ({format_bytes(apart)})"
        if hidden
        else "no kernel runs during a collective"
    )
    return (
        f"{plural(len(exchanges.exchanges), 'collective')}{often}. In a step, the input of each device is "
        f"{format_bytes(total)}, and it sends at least {format_bytes(least)}. Largest: {largest}. Overlap: {overlap}."
        f"{_say_wait(exchanges)}"
    )


def _say_wait(exchanges: Exchanges) -> str:
    """Return a sentence on the estimated time that a step waits for all collectives, or an empty string."""
    if not exchanges.times:
        return ""
    hidden = sum(exchange.hidden_seconds for exchange in exchanges.exchanges)
    also = f", and other work hides {format_seconds(hidden)} of them" if hidden else ""
    return f" A step waits {say_time(_sum_time(exchanges.exchanges))} for them{also}."


def _sum_time(same: Sequence[Exchange]) -> Estimate:
    return sum((exchange.time for exchange in same if exchange.time), Estimate())


def _describe_row(same: Sequence[Exchange]) -> str:
    """Return a text about the similar collectives of a row: their shapes, lines, origin and reasons."""
    one = same[0]
    counts = Counter(one.shapes)
    shapes = ", ".join(
        f"{f'{count} x ' if count > 1 else ''}{shape}" for shape, count in list(counts.items())[:_MOST_SHAPES]
    )
    shapes += ", ..." if len(counts) > _MOST_SHAPES else ""
    names = list(dict.fromkeys(name for exchange in same for name in exchange.arguments))
    arguments = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    reasons = list(dict.fromkeys(exchange.reason for exchange in same))
    because = "; ".join(reasons[:_MOST_REASONS]) + ("; ..." if len(reasons) > _MOST_REASONS else "")
    lines = "; ".join(
        f"{place.line}: `{shorten(close_brackets(place.text), _LONGEST_LINE)}`" for place in one.places if place.text
    )
    scope = f" [{one.scope}]" if one.scope else ""
    inferred = f" (line inferred from {one.inferred})" if one.inferred else ""
    first = one.name if len(same) == 1 else f"{one.name}, ..."
    origin = _ORIGINS[one.is_asked]
    # If the origin is unknown, there is no reason to show.
    if one.is_asked is None:
        explanation = "; ".join(filter(None, (arguments, origin)))
    else:
        explanation = ": ".join(filter(None, (origin, ", ".join(filter(None, (arguments, because))))))
    # Reasons are stored in lower case, since other answers use them inside a sentence.
    explanation = f"{explanation[0].upper()}{explanation[1:]}"
    return f"{first} {shapes}{scope}{f', line {lines}' if lines else ''}{inferred}. {explanation}."


def _tell_rows(exchanges: Exchanges) -> Iterator[Part]:
    rows, notes = [], []
    grouped = _group(exchanges.exchanges)
    for number, same in enumerate(grouped[:_MOST_ROWS], 1):
        one = same[0]
        times = format_runs(one.runs, one.assumed_runs)
        size = format_bytes(one.operand_bytes), format_bytes(one.sent_bytes)
        rows.append((str(number), f"{len(same)} x {times}", one.kind, *size, one.where, _name_group(one)))
        members = _list_members(one)
        time = _sum_time(same)
        waits = f" A step waits {say_time(time)} for {'it' if len(same) == 1 else 'them'}." if time.high else ""
        notes.append((str(number), f"{_describe_row(same)}{f' {members}.' if members else ''}{waits}"))
    columns = ("", "runs", "kind", "input", "sends", "line", "along")
    yield Table(columns, tuple(rows), (0, 1, 3, 4), "Bytes per device and run, by the most input per step")
    if omitted := grouped[_MOST_ROWS:]:
        total = sum(exchange.total_bytes for exchange in exchanges.exchanges)
        omitted_bytes = sum(exchange.total_bytes for row in omitted for exchange in row)
        share = format_share(omitted_bytes / total, 1) if total else "none"
        yield f"{plural(len(omitted), 'more row')} with {share} of the bytes; --json shows all rows."
    yield Table(("", "shapes, line and reason"), tuple(notes), (0,))


def _tell_overlap(exchanges: Exchanges) -> Iterator[Part]:
    rows = []
    for number, same in enumerate(_group(exchanges.exchanges)[:_MOST_ROWS], 1):
        work = [exchange.meanwhile for exchange in same if exchange.meanwhile is not None]
        if not work:
            continue
        # Targets without published rates have no estimates.
        times = [exchange.seconds for exchange in work if exchange.seconds is not None]
        hidden = sum(exchange.is_overlapped for exchange in same)
        rows.append(
            (
                str(number),
                f"{hidden} of {len(same)}",
                str(sum(exchange.kernels for exchange in work)),
                show_flops(
                    sum(exchange.flops for exchange in work), [name for one in work for name in one.unknown_work]
                ),
                format_bytes(sum(exchange.moved_bytes for exchange in work)),
                format_seconds(sum(times)) if times else "?",
            )
            if hidden
            else (str(number), f"0 of {len(same)}", "", "", "", "")
        )
    if rows:
        columns = ("", "overlapped", "kernels", "flops", "bytes", "time")
        yield Table(columns, tuple(rows), tuple(range(6)), "Work between start and done, for one run of each row")
        if not exchanges.times:
            yield (
                "The work between the start and the done of a collective may hide it. Whether it hides all of it "
                "depends on the speed of the links between the devices, which is not known here."
            )
    else:
        yield "No collective overlaps with other work: the schedule has nothing between a start and its done."
    if exchanges.times:
        yield exchanges.times


def _tell_rematerialized(exchanges: Exchanges) -> Iterator[Part]:
    rematerialized = [entry for entry in exchanges.exchanges if entry.is_rematerialized]
    for entry in rematerialized:
        yield (
            f"Full rematerialization at {entry.where}: every device gathers the shards {', '.join(entry.shapes)} into "
            f"the whole value, and the value is sharded again. {entry.reason[0].upper()}{entry.reason[1:]}."
        )
    if rematerialized:
        yield Hint(
            "To replace it with an all-to-all, change one axis of the sharding at a time, with a "
            "with_sharding_constraint between the two shardings."
        )


def _name_group(one: Exchange) -> str:
    # The groups may follow no axis of the mesh, and then only their size describes them.
    if not one.axes:
        return f"{one.group} devices" if not one.is_all else f"all {one.group}"
    return f"{' x '.join(one.axes)} ({one.group}{', all' if one.is_all and len(one.axes) > 1 else ''})"


def _list_members(one: Exchange) -> str:
    """Return the groups or pairs of devices as text; empty if one group has all devices or groups are unknown."""
    # A permutation has pairs of devices instead of groups.
    if one.pairs:
        pairs = [f"{source} to {target}" for source, target in one.pairs[:_MOST_MEMBERS]]
        return f"Devices: {', '.join(pairs)}{', ...' if len(one.pairs) > len(pairs) else ''}"
    # A single group has all devices, so a list of them would be redundant.
    if one.is_all or not one.groups:
        return ""
    groups = [_name_members(group) for group in one.groups[:_MOST_GROUPS]]
    more = f", and {plural(omitted, 'more group')}" if (omitted := len(one.groups) - len(groups)) > 0 else ""
    return f"Devices: {', '.join(groups)}{more}"


def _name_members(group: Sequence[int]) -> str:
    few = [*map(str, group[:_MOST_MEMBERS])]
    return f"{{{', '.join((*few, '...') if len(group) > len(few) else few)}}}"


def _group(exchanges: Sequence[Exchange]) -> list[list[Exchange]]:
    """Return the collectives grouped into rows of similar ones, the rows with the most bytes first."""
    rows: dict[object, list[Exchange]] = {}
    for exchange in exchanges:
        # A collective of the forward pass and its copy in the backward pass share a row, even if their reasons differ.
        key = (
            exchange.kind,
            exchange.shapes,
            exchange.axes,
            exchange.groups,
            exchange.pairs,
            exchange.runs,
            exchange.assumed_runs,
            exchange.places,
            exchange.is_asked,
        )
        rows.setdefault((key, exchange.is_rematerialized), []).append(exchange)
    return sorted(rows.values(), key=lambda row: -sum(exchange.total_bytes for exchange in row))


def _share(row: Sequence[Exchange], total: int) -> str:
    return format_share(sum(exchange.total_bytes for exchange in row) / total) if total else format_bytes(0)
