"""What devices send each other: each exchange with its line, its bytes, the axes it goes along, and why it is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers.answer import Answer, Hint, Table
from xla_inspect.plural import plural
from xla_inspect.report import title
from xla_inspect.units import format_amount, format_bytes, format_duration, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers.answer import Part

_LONGEST_LINE = 60
_LONGEST_PLACE = 24
_LARGEST = 3
_SHOWN = 4
_MOST_ROWS = 16


@dataclass(frozen=True)
class Place:
    """A line of Python.

    Attributes:
        file: The file as the program's locations name it.
        line: The line, counted from one.
        text: What stands there, or an empty string where the file is not at hand.
    """

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Meanwhile:
    """What the schedule has between the start of an exchange and what waits for it, of one run.

    Attributes:
        kernels: Launches that compute more than a place or a count.
        flops: Their operations.
        moved_bytes: Bytes of main memory that they read and write.
        least_seconds: The least time that they take by published peaks, or None where none are published.
    """

    kernels: int
    flops: float
    moved_bytes: int
    least_seconds: float | None


@dataclass(frozen=True)
class Exchange:
    """One collective of the optimized program.

    Attributes:
        name: Its instruction.
        kind: `all-gather`, `all-reduce`, `reduce-scatter`, `all-reduce-scatter` (a TPU's fusion of the two),
            `all-to-all`, `collective-permute`, ...
        shapes: What each device brings, by operand.
        operand_bytes: Bytes that each device brings, in one run.
        sent_bytes: The least that each device sends, in one run.
        group: How many devices exchange with each other.
        axes: The axes of the mesh along which those lie; empty where they are no axes', or no names are known.
        is_all: Whether those are all devices.
        devices: The numbers of the devices of the first group; empty where the form of the groups is not known.
        runs: How often it runs in a step, or None where nobody knows.
        loops: The loops and branches around it, the innermost first.
        places: The lines that it belongs to, the first most; several where the compiler made one exchange of some.
        scope: The named scopes around the operation, with `backward` for what JAX's transposition made.
        inferred: How the lines are known where the instruction says none: from what it takes, or what takes it.
        is_asked: Whether the program asks for it; False for what the partitioner brought in, None where nobody says.
        arguments: What of the program's arguments is gathered, as the program calls it.
        reason: The primitive that asks for it, or why the partitioner brought it in, as far as the module says.
        is_async: Whether other work may run between its start and its end.
        meanwhile: That work, or None where the exchange is not asynchronous.
        is_rematerialized: Whether it makes a value whole on each device only to cut it again.
    """

    name: str
    kind: str
    shapes: tuple[str, ...]
    operand_bytes: int
    sent_bytes: int
    group: int
    axes: tuple[str, ...]
    is_all: bool
    devices: tuple[int, ...]
    runs: int | None
    loops: tuple[str, ...]
    places: tuple[Place, ...]
    scope: str
    inferred: str
    is_asked: bool | None
    arguments: tuple[str, ...]
    reason: str
    is_async: bool
    meanwhile: Meanwhile | None
    is_rematerialized: bool

    @property
    def total_bytes(self) -> int:
        """Bytes that each device brings in a step; where nobody knows how often it runs, in one run."""
        return self.operand_bytes * (1 if self.runs is None else self.runs)

    @property
    def total_sent(self) -> int:
        """The least that each device sends in a step, likewise."""
        return self.sent_bytes * (1 if self.runs is None else self.runs)

    @property
    def is_overlapped(self) -> bool:
        """Whether kernels run meanwhile."""
        return self.meanwhile is not None and self.meanwhile.kernels > 0

    @property
    def where(self) -> str:
        """Its first line, with how many more there are."""
        if not self.places:
            return "?"
        more = f" +{len(self.places) - 1}" if len(self.places) > 1 else ""
        first = self.places[0]
        file = first.file.rpartition("/")[2]
        number = f":{first.line}{more}"
        return shorten(file, _LONGEST_PLACE - len(number)) + number


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
    """

    program: str
    target: str
    devices: int
    mesh: tuple[tuple[str, int], ...]
    exchanges: tuple[Exchange, ...]
    error: str

    @property
    def holds(self) -> bool:
        """Whether the compiler made a program of it."""
        return not self.error

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the exchanges, what for, and what overlaps."""
        said = f"{self.program} on {title(self.target)}"
        if self.error and not self.exchanges:
            yield f"{said}: it does not compile, and nothing is known of its exchanges. {_first_line(self.error)}"
            return
        if not self.exchanges:
            spread = "runs on one device" if self.devices == 1 else f"is spread over {self.devices} devices"
            yield f"{said}: no collectives; it {spread}, and nothing is exchanged."
            return
        yield f"{said}: {self._sum_up()}"
        if self.error:
            yield f"It does not compile ({_first_line(self.error)}); this is what the compiler left until then."
        yield from self._tell_rows()
        yield from self._tell_overlap()
        yield from self._tell_rematerialized()
        unknown = sum(each.runs is None for each in self.exchanges)
        if unknown:
            yield (
                f"How often {plural(unknown, 'of them runs', 'of them run')} is not known, since the compiler knows no "
                "trips of a loop, or which branch is taken: each counts once."
            )

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
            f"{len(hidden)} of {len(self.exchanges)} have kernels beside them ({format_bytes(apart)})"
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
            notes.append((str(number), _describe(same)))
        columns = ("", "runs", "kind", "brings", "sends", "where", "along")
        yield Table(columns, tuple(rows), (0, 1, 3, 4), "Per device and run, those that carry most in a step first")
        if left := grouped[_MOST_ROWS:]:
            total = sum(each.total_bytes for each in self.exchanges)
            carried = sum(each.total_bytes for row in left for each in row)
            share = f"{carried / total:.1%}" if total else "nothing"
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
                f"of them and cut again. {each.reason[0].upper()}{each.reason[1:]}."
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
    told = {True: "asked for: ", False: "partitioner: ", None: "asked for or not, the module does not say"}[
        one.is_asked
    ]
    arguments = ", ".join(dict.fromkeys(name for each in same for name in each.arguments))
    reasons = list(dict.fromkeys(each.reason for each in same))
    because = "; ".join(reasons[:_SHOWN]) + ("; ..." if len(reasons) > _SHOWN else "")
    lines = "; ".join(f"{place.line}: `{shorten(place.text, _LONGEST_LINE)}`" for place in one.places if place.text)
    scope = f" [{one.scope}]" if one.scope else ""
    inferred = f" (line inferred from {one.inferred})" if one.inferred else ""
    first = one.name if len(same) == 1 else f"{one.name}, ..."
    said = f"{told}{f'{arguments}, ' if arguments else ''}{because}"
    return f"{first} {carried}{scope}{f', line {lines}' if lines else ''}{inferred}. {said[0].upper()}{said[1:]}."


def _group(exchanges: Sequence[Exchange]) -> list[list[Exchange]]:
    """Return exchanges in rows of those that are alike, the rows that carry most first."""
    rows: dict[object, list[Exchange]] = {}
    for each in exchanges:
        # What is exchanged forward and again backward is one row; for what it is may differ in it.
        key = (each.kind, each.shapes, each.axes, each.devices, each.runs, each.places, each.is_asked)
        rows.setdefault((key, each.is_rematerialized), []).append(each)
    return sorted(rows.values(), key=lambda row: -sum(each.total_bytes for each in row))


def _share(row: Sequence[Exchange], total: int) -> str:
    return f"{sum(each.total_bytes for each in row) / total:.0%}" if total else format_bytes(0)


def _first_line(text: str) -> str:
    return shorten(text.partition("\n")[0], 200)
