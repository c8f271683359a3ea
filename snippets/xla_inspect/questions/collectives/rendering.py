"""The collectives in paragraphs and tables: line, bytes, axes, reason, and the work that overlaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import Hint, Table, tell_scopes
from xla_inspect.plural import plural
from xla_inspect.questions.collectives.collective import (
    Exchange,  # noqa: TC001 - the schema is read off the annotations
)
from xla_inspect.questions.collectives.finding import Exchanges, _describe
from xla_inspect.targets import title
from xla_inspect.units import format_amount, format_bytes, format_duration, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Part


_LARGEST = 3
_MOST_ROWS = 16
_MOST_GROUPS, _MOST_MEMBERS = 4, 8


def render(exchanges: Exchanges) -> Iterator[Part]:
    """Yield the sentence, the exchanges, what for, and what overlaps."""
    said = f"{exchanges.stage.join(exchanges.program)} on {title(exchanges.target)}"
    if exchanges.error and not exchanges.exchanges:
        yield f"{said}: it does not compile, and nothing is known of its exchanges: {shorten(exchanges.error, 600)}"
        return
    if not exchanges.exchanges and not exchanges.stage.is_final and exchanges.devices > 1:
        yield f"{said}: no collectives yet. {_tell_later(exchanges)}"
        return
    if not exchanges.exchanges:
        yield f"{said}: no collectives; {_say_alone(exchanges)}."
        return
    yield f"{said}: {_sum_up(exchanges)}"
    if exchanges.error:
        yield f"It does not compile ({shorten(exchanges.error, 600)}); this is what the compiler left until then."
    if not exchanges.stage.is_final:
        yield _tell_later(exchanges)
    yield from _tell_rows(exchanges)
    if exchanges.scopes:
        yield tell_scopes(exchanges.scopes, "brings", format_bytes, "collectives")
    if exchanges.replication and (sentence := exchanges.replication.sentence):
        yield f"Replicated: {sentence}."
    if exchanges.stage.has_launches:
        yield from _tell_overlap(exchanges)
    yield from _tell_rematerialized(exchanges)
    unknown = sum(each.runs is None for each in exchanges.exchanges)
    if unknown:
        yield (
            f"How often {plural(unknown, 'of them runs', 'of them run')} is not known, since the compiler knows no "
            "trips of a loop, or which branch is taken: each counts once."
        )


def _tell_later(exchanges: Exchanges) -> str:
    """Return what the rest of the compile does to the collectives."""
    if exchanges.stage.shapes == "global":
        return (
            f"{exchanges.stage.explain()} The partitioner decides later what the {exchanges.devices} devices exchange: "
            "those that the program asks for itself are written already, and it adds its own."
        )
    if exchanges.stage.shapes == "unknown":
        return f"{exchanges.stage.explain()} If the partitioner has not run yet, it adds collectives."
    return f"{exchanges.stage.explain()} Later passes may combine, split, move or remove collectives."


def _say_alone(exchanges: Exchanges) -> str:
    """Return how a program is spread that exchanges nothing."""
    if exchanges.devices == 1:
        return "it runs on one device, and nothing is exchanged"
    if exchanges.replication is None:
        return f"it is spread over {exchanges.devices} devices, and nothing is exchanged"
    if exchanges.replication.is_total:
        return f"nothing is spread: {exchanges.replication.sentence}"
    sentence = exchanges.replication.sentence
    spread = f"it is spread over {exchanges.devices} devices, and nothing is exchanged"
    return f"{spread}. Replicated: {sentence}" if sentence else f"{spread}: no argument or result is held twice"


def _sum_up(exchanges: Exchanges) -> str:
    total = sum(each.total_bytes for each in exchanges.exchanges)
    sent = sum(each.total_sent for each in exchanges.exchanges)
    runs = sum(each.runs or 1 for each in exchanges.exchanges)
    hidden = [each for each in exchanges.exchanges if each.is_overlapped]
    apart = sum(each.total_bytes for each in hidden)
    rows = _group(exchanges.exchanges)[:_LARGEST]
    largest = ", ".join(f"{row[0].kind} at {row[0].where} ({_share(row, total)})" for row in rows)
    often = f", run {runs} times" if runs != len(exchanges.exchanges) else ""
    overlap = (
        "decided by the schedule, later"
        if not exchanges.stage.has_launches
        else f"{len(hidden)} of {len(exchanges.exchanges)} have kernels beside them ({format_bytes(apart)})"
        if hidden
        else "none has kernels beside it"
    )
    return (
        f"{plural(len(exchanges.exchanges), 'collective')}{often}; in a step each device brings {format_bytes(total)} "
        f"and sends at least {format_bytes(sent)}. Largest: {largest}. Overlap: {overlap}."
    )


def _tell_rows(exchanges: Exchanges) -> Iterator[Part]:
    rows, notes = [], []
    grouped = _group(exchanges.exchanges)
    for number, same in enumerate(grouped[:_MOST_ROWS], 1):
        one = same[0]
        times = "?" if one.runs is None else f"{one.runs}"
        size = format_bytes(one.operand_bytes), format_bytes(one.sent_bytes)
        rows.append((str(number), f"{len(same)} x {times}", one.kind, *size, one.where, _name_group(one)))
        members = _list_members(one)
        notes.append((str(number), f"{_describe(same)}{f' {members}.' if members else ''}"))
    columns = ("", "runs", "kind", "brings", "sends", "where", "along")
    yield Table(columns, tuple(rows), (0, 1, 3, 4), "Per device and run, those that carry most in a step first")
    if left := grouped[_MOST_ROWS:]:
        total = sum(each.total_bytes for each in exchanges.exchanges)
        carried = sum(each.total_bytes for row in left for each in row)
        share = format_share(carried / total, 1) if total else "nothing"
        yield f"{plural(len(left), 'more row')} with {share} of the bytes; --json has all."
    yield Table(("", "what, and why"), tuple(notes), (0,))


def _tell_overlap(exchanges: Exchanges) -> Iterator[Part]:
    rows = []
    for number, same in enumerate(_group(exchanges.exchanges)[:_MOST_ROWS], 1):
        beside = [each.meanwhile for each in same if each.meanwhile is not None]
        if not beside:
            continue
        times = [each.least_seconds for each in beside if each.least_seconds is not None]
        hidden = sum(each.is_overlapped for each in same)
        rows.append(
            (
                str(number),
                f"{hidden} of {len(same)}",
                str(sum(each.kernels for each in beside)),
                format_amount(sum(each.flops for each in beside)),
                format_bytes(sum(each.moved_bytes for each in beside)),
                format_duration(sum(times)) if times else "?",
            )
            if hidden
            else (str(number), f"0 of {len(same)}", "", "", "", "")
        )
    if rows:
        columns = ("", "overlapped", "kernels", "flops", "bytes", "at least")
        yield Table(columns, tuple(rows), tuple(range(6)), "What runs between start and done, of all in a row, once")
        yield (
            "What runs between start and done may hide the exchange; whether it suffices depends on the links "
            "between the devices, of which no figures are known here."
        )
    else:
        yield "Each is waited for where it stands: the schedule has nothing between a start and a done."


def _tell_rematerialized(exchanges: Exchanges) -> Iterator[Part]:
    found = [each for each in exchanges.exchanges if each.is_rematerialized]
    for each in found:
        yield (
            f"Full rematerialization at {each.where}: {', '.join(each.shapes)} of each device is made whole on all "
            f"of them and sharded again. {each.reason[0].upper()}{each.reason[1:]}."
        )
    if found:
        yield Hint(
            "Let the two shardings differ by one axis at a time, with a with_sharding_constraint between them, "
            "so that an all-to-all does it."
        )


def _name_group(one: Exchange) -> str:
    if not one.axes:
        return f"{one.group} devices" if not one.is_all else f"all {one.group}"
    return f"{' x '.join(one.axes)} ({one.group}{', all' if one.is_all and len(one.axes) > 1 else ''})"


def _list_members(one: Exchange) -> str:
    """Return which devices exchange with each other, or an empty string of all or where that is not known."""
    if one.pairs:
        told = [f"{source} to {target}" for source, target in one.pairs[:_MOST_MEMBERS]]
        return f"Devices: {', '.join(told)}{', ...' if len(one.pairs) > len(told) else ''}"
    if one.is_all or not one.groups:
        return ""
    told = [_name_members(group) for group in one.groups[:_MOST_GROUPS]]
    more = f", and {plural(left, 'more group')}" if (left := len(one.groups) - len(told)) > 0 else ""
    return f"Devices: {', '.join(told)}{more}"


def _name_members(group: Sequence[int]) -> str:
    few = [*map(str, group[:_MOST_MEMBERS])]
    return f"{{{', '.join((*few, '...') if len(group) > len(few) else few)}}}"


def _group(exchanges: Sequence[Exchange]) -> list[list[Exchange]]:
    """Return exchanges in rows of those that are alike, the rows that carry most first."""
    rows: dict[object, list[Exchange]] = {}
    for each in exchanges:
        # What is exchanged forward and again backward is one row; for what it is may differ in it.
        key = (each.kind, each.shapes, each.axes, each.groups, each.pairs, each.runs, each.places, each.is_asked)
        rows.setdefault((key, each.is_rematerialized), []).append(each)
    return sorted(rows.values(), key=lambda row: -sum(each.total_bytes for each in row))


def _share(row: Sequence[Exchange], total: int) -> str:
    return format_share(sum(each.total_bytes for each in row) / total) if total else format_bytes(0)
