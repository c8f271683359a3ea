"""What devices send each other: each exchange with its line, its bytes, the axes it goes along, and why it is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import (
    Stage,
    close_brackets,
)
from xla_inspect.answers.answer import Answer
from xla_inspect.answers.answer_parts import Hint, Table
from xla_inspect.answers.exchange import Exchange  # noqa: TC001 - the schema is read off the annotations
from xla_inspect.answers.line_totals import LineTotal, tell_scopes
from xla_inspect.answers.replication import Replication  # noqa: TC001 - likewise
from xla_inspect.plural import plural
from xla_inspect.targets import title
from xla_inspect.units import format_amount, format_bytes, format_duration, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers.answer_parts import Part

_LONGEST_LINE = 60
_LARGEST = 3
_SHOWN = 4
_MOST_NAMES = 6
_MOST_ROWS = 16
_MOST_GROUPS, _MOST_MEMBERS = 4, 8


@dataclass(frozen=True)
class Exchanges(Answer):
    """What the devices of one target send each other.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        devices: How many devices the program is spread over.
        mesh: Axes and their sizes; empty where the program names none.
        exchanges: The collectives, those that carry most first.
        error: What the compiler said where it gave up, or an empty string.
        stage: The stage of the module that has them.
        replication: The arguments, results and work that the devices repeat, or None where that is not known.
        scopes: Of the one line that most bytes are brought for, or of all without a line, the bytes by scope (`text`).
            Empty where neither has most, or those have one scope.
    """

    program: str
    target: str
    devices: int
    mesh: tuple[tuple[str, int], ...]
    exchanges: tuple[Exchange, ...]
    error: str
    stage: Stage
    replication: Replication | None = None
    scopes: tuple[LineTotal, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the compiler made a program of it."""
        return not self.error

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the exchanges, what for, and what overlaps."""
        said = f"{self.stage.join(self.program)} on {title(self.target)}"
        if self.error and not self.exchanges:
            yield f"{said}: it does not compile, and nothing is known of its exchanges: {shorten(self.error, 600)}"
            return
        if not self.exchanges and not self.stage.is_final and self.devices > 1:
            yield f"{said}: no collectives yet. {self._tell_later()}"
            return
        if not self.exchanges:
            yield f"{said}: no collectives; {self._say_alone()}."
            return
        yield f"{said}: {self._sum_up()}"
        if self.error:
            yield f"It does not compile ({shorten(self.error, 600)}); this is what the compiler left until then."
        if not self.stage.is_final:
            yield self._tell_later()
        yield from self._tell_rows()
        if self.scopes:
            yield tell_scopes(self.scopes, "brings", format_bytes, "collectives")
        if self.replication and (sentence := self.replication.sentence):
            yield f"Replicated: {sentence}."
        if self.stage.has_launches:
            yield from self._tell_overlap()
        yield from self._tell_rematerialized()
        unknown = sum(each.runs is None for each in self.exchanges)
        if unknown:
            yield (
                f"How often {plural(unknown, 'of them runs', 'of them run')} is not known, since the compiler knows no "
                "trips of a loop, or which branch is taken: each counts once."
            )

    def _tell_later(self) -> str:
        """Return what the rest of the compile does to the collectives."""
        if self.stage.shapes == "global":
            return (
                f"{self.stage.explain()} The partitioner decides later what the {self.devices} devices exchange: those "
                "that the program asks for itself are written already, and it adds its own."
            )
        if self.stage.shapes == "unknown":
            return f"{self.stage.explain()} If the partitioner has not run yet, it adds collectives."
        return f"{self.stage.explain()} Later passes may combine, split, move or remove collectives."

    def _say_alone(self) -> str:
        """Return how a program is spread that exchanges nothing."""
        if self.devices == 1:
            return "it runs on one device, and nothing is exchanged"
        if self.replication is None:
            return f"it is spread over {self.devices} devices, and nothing is exchanged"
        if self.replication.is_total:
            return f"nothing is spread: {self.replication.sentence}"
        sentence = self.replication.sentence
        spread = f"it is spread over {self.devices} devices, and nothing is exchanged"
        return f"{spread}. Replicated: {sentence}" if sentence else f"{spread}: no argument or result is held twice"

    def _sum_up(self) -> str:
        total = sum(each.total_bytes for each in self.exchanges)
        sent = sum(each.total_sent for each in self.exchanges)
        runs = sum(each.runs or 1 for each in self.exchanges)
        hidden = [each for each in self.exchanges if each.is_overlapped]
        apart = sum(each.total_bytes for each in hidden)
        rows = _group(self.exchanges)[:_LARGEST]
        largest = ", ".join(f"{row[0].kind} at {row[0].where} ({_share(row, total)})" for row in rows)
        often = f", run {runs} times" if runs != len(self.exchanges) else ""
        overlap = (
            "decided by the schedule, later"
            if not self.stage.has_launches
            else f"{len(hidden)} of {len(self.exchanges)} have kernels beside them ({format_bytes(apart)})"
            if hidden
            else "none has kernels beside it"
        )
        return (
            f"{plural(len(self.exchanges), 'collective')}{often}; in a step each device brings {format_bytes(total)} "
            f"and sends at least {format_bytes(sent)}. Largest: {largest}. Overlap: {overlap}."
        )

    def _tell_rows(self) -> Iterator[Part]:
        rows, notes = [], []
        grouped = _group(self.exchanges)
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
            total = sum(each.total_bytes for each in self.exchanges)
            carried = sum(each.total_bytes for row in left for each in row)
            share = format_share(carried / total, 1) if total else "nothing"
            yield f"{plural(len(left), 'more row')} with {share} of the bytes; --json has all."
        yield Table(("", "what, and why"), tuple(notes), (0,))

    def _tell_overlap(self) -> Iterator[Part]:
        rows = []
        for number, same in enumerate(_group(self.exchanges)[:_MOST_ROWS], 1):
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
            yield Table(
                columns, tuple(rows), tuple(range(6)), "What runs between start and done, of all in a row, once"
            )
            yield (
                "What runs between start and done may hide the exchange; whether it suffices depends on the links "
                "between the devices, of which no figures are known here."
            )
        else:
            yield "Each is waited for where it stands: the schedule has nothing between a start and a done."

    def _tell_rematerialized(self) -> Iterator[Part]:
        found = [each for each in self.exchanges if each.is_rematerialized]
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


def _describe(same: Sequence[Exchange]) -> str:
    """Return what the exchanges of a row carry, their lines, and why they are there."""
    one = same[0]
    counts = Counter(one.shapes)
    carried = ", ".join(
        f"{f'{count} x ' if count > 1 else ''}{shape}" for shape, count in list(counts.items())[:_SHOWN]
    )
    carried += ", ..." if len(counts) > _SHOWN else ""
    told = {True: "asked for", False: "partitioner", None: "nothing in the module says what it is there for"}[
        one.is_asked
    ]
    names = list(dict.fromkeys(name for each in same for name in each.arguments))
    arguments = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    reasons = list(dict.fromkeys(each.reason for each in same))
    because = "; ".join(reasons[:_SHOWN]) + ("; ..." if len(reasons) > _SHOWN else "")
    lines = "; ".join(
        f"{place.line}: `{shorten(close_brackets(place.text), _LONGEST_LINE)}`" for place in one.places if place.text
    )
    scope = f" [{one.scope}]" if one.scope else ""
    inferred = f" (line inferred from {one.inferred})" if one.inferred else ""
    first = one.name if len(same) == 1 else f"{one.name}, ..."
    said = ": ".join(filter(None, (told, ", ".join(filter(None, (arguments, because))))))
    if one.is_asked is None:
        said = "; ".join(filter(None, (arguments, told)))
    return f"{first} {carried}{scope}{f', line {lines}' if lines else ''}{inferred}. {said[0].upper()}{said[1:]}."


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
