"""The measured times of a profile, matched with a program's launches, their lines of Python and their estimates."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.estimates import Estimate
from xla_inspect.answers import Answer, Hint, LineTotal, Table, say_time, show_range, tell_lines
from xla_inspect.plural import plural
from xla_inspect.targets import lane, title
from xla_inspect.units import format_seconds, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part

FEW_OTHERS = 8
"""The number of events from outside the program that are shown by default."""

_NAME = 26
_LIKELY = 0.5


@dataclass(frozen=True)
class MeasuredLaunch:
    """A launch of the program with its measured time.

    Attributes:
        name: The name of the instruction.
        others: Other launches with the same kernel, if the profile does not distinguish them.
        role: `kernel`, `copy`, `collective`, or an empty string for an event that is not a launch, such as a loop.
        where: The line of Python, as in `model.py:12`, or an empty string.
        text: The source text of the line.
        scope: The named scopes and modules around the operation.
        seconds: The time of all its runs, without the launches inside it.
        count: The number of its events in the profile; of its most frequent kernel if several kernels compute it.
        share: Its share of the total time in the profile, from 0 to 1.
        least_seconds: The least time of one run according to the published peak rates, or None.
        limit: The resource that determines the least time.
        estimate: The estimated time of one run in seconds, without the gap after it; None for a CPU, and for a launch
            that others overlap.
        known_by: The evidence for the match: `name` of the instruction, `symbol` of the kernel, or `order`, if this
            launch is the only one between two kernels of the program that ran before and after the event.
    """

    name: str
    others: tuple[str, ...]
    role: str
    where: str
    text: str
    scope: str
    seconds: float
    count: int
    share: float
    least_seconds: float | None
    limit: str
    estimate: Estimate | None
    known_by: str

    @property
    def reached(self) -> float | None:
        """The least time of all runs as a share of the measured time, or None if either is missing or zero."""
        if not self.least_seconds or not self.seconds:
            return None
        # The least time is that of one run, but the measured time is that of all runs.
        return self.least_seconds * self.count / self.seconds


@dataclass(frozen=True)
class Unjoined:
    """An event of the profile that matches no launch of the program.

    Attributes:
        name: The name in the profile.
        module: The HLO module of the event, or an empty string if the profile does not record it.
        seconds: The total time of all events with this name.
        count: The number of events with this name.
        reason: The reason why it matches no launch.
    """

    name: str
    module: str
    seconds: float
    count: int
    reason: str


@dataclass(frozen=True)
class KernelTimes(Answer):
    """The measured times of a program's launches in a profile.

    Attributes:
        program: The name of the program.
        asked: The subject and options, as on the command line.
        target: The target of the capture.
        module: The name of the program's HLO module, which profiles record.
        file: The profile.
        form: The format of the profile, such as `Chrome trace`.
        device: The kind of device in the profile: `gpu`, `tpu`, `cpu`, or an empty string.
        devices: The number of devices.
        programs: The number of programs in the profile with the module's name. A program that is compiled again, such
            as for other shapes, keeps its name, so its times cannot be separated.
        seconds: The total time of all events on the devices.
        joined_seconds: The time that matches launches of the program.
        other_seconds: The time of other programs in the profile, by module.
        launches: The measured launches, the longest first.
        lines: Their totals by line of Python, in seconds.
        unjoined: The events that match no launch, the longest first.
        unseen: Launches without an event in the profile.
        shown: The number of launches to show, from the first.
        labelled: The trace file with labels for the lines, or an empty string.
        labelled_events: The number of labeled events in this file.
        model: The limits of the model of the least time, or the reason why the target has none.
        times: The limits of the estimates, or an empty string without them.
    """

    program: str
    asked: str
    target: str
    module: str
    file: str
    form: str
    device: str
    devices: int
    programs: int
    seconds: float
    joined_seconds: float
    other_seconds: Mapping[str, float]
    launches: tuple[MeasuredLaunch, ...]
    lines: tuple[LineTotal, ...]
    unjoined: tuple[Unjoined, ...]
    unseen: tuple[str, ...]
    shown: int
    labelled: str
    labelled_events: int
    model: str
    times: str

    @property
    def holds(self) -> bool:
        """True if the profile contains launches of the program on a device of the target's kind."""
        return bool(self.launches) and self.is_alike

    @property
    def file_name(self) -> str:
        """The file name of the profile without its folders."""
        return self.file.rpartition("/")[2]

    @property
    def is_alike(self) -> bool:
        """True if the profile comes from the same kind of device as the capture's target."""
        return self.device == lane(self.target)

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: a summary, a table of launches by measured time, and the unmatched events."""
        yield self._say()
        # The labeled file is complete even if no launch has a match.
        if self.labelled:
            events = plural(self.labelled_events, "event")
            yield f"{events} in {self.labelled} now name their line of Python; open the file in Perfetto."
        # Times of another device or of another program would be misleading, so only the advice is shown.
        if not self.holds:
            yield from self._advise()
            yield from self._tell_others()
            return
        has_roof = any(row.estimate or row.reached is not None for row in self.launches)
        columns = ("launch", "time", "share", "count", "each", *(("estimate", "reached") if has_roof else ()), "line")
        rows = tuple(_show(row, has_roof=has_roof) for row in self.launches[: self.shown])
        if rows:
            yield Table(columns, rows, tuple(range(1, len(columns) - 1)))
        if rest := self.launches[self.shown :]:
            share = format_share(sum(row.share for row in rest), 1)
            yield f"{plural(len(rest), 'more launch', 'more launches')} with {share} of the time; --all shows all."
        if len(self.launches) > len(self.lines) > 1:
            yield tell_lines(self.lines, "time", format_seconds)
        yield from self._tell_others()
        if any(row.known_by == "symbol" for row in self.launches) and self.form.startswith("Nsight"):
            yield "Nsight records only the symbols of kernels, so equal symbols of other programs are counted too."
        if self.programs > 1:
            yield (
                f"The profile has {self.programs} programs with the name {self.module}, for example for other shapes. "
                "Times of launches with the same name are added up."
            )
        if self.unseen:
            yield f"Not in the profile: {shorten(', '.join(self.unseen), 200)}."
        yield from self._advise()
        if any(row.estimate for row in self.launches):
            yield from self._compare()

    def _compare(self) -> Iterator[str]:
        """Yield sentences that compare the measured times with the estimates, and explain the columns."""
        # A kernel that several launches share has the time of all of them, and a loop has no estimate.
        rows = [(row, row.estimate * row.count) for row in self.launches if row.estimate and not row.others]
        total = sum((estimate for _, estimate in rows), Estimate())
        inside = sum(estimate.may_be(row.seconds) for row, estimate in rows)
        measured, launches = sum(row.seconds for row, _ in rows), plural(len(rows), "launch", "launches")
        yield (
            f"Measured: {format_seconds(measured)} in {launches} with an estimate. Estimated for the same runs: "
            f"{say_time(total)}. {inside} of {len(rows)} measured times are in their range."
        )
        yield f"estimate: the time of one run, without the gap after it. {self.times}"
        yield f"reached: the least time, a lower bound, as a share of the measured time. {self.model}"

    def _say(self) -> str:
        program = f"{self.program} on {title(self.target)}"
        if not self.seconds:
            return f"{self.file_name} ({self.form}) has no events of a device or with the name of an HLO instruction."
        on = f" on {plural(self.devices, self.device.upper())}" if self.devices > 1 else ""
        total = f"{format_seconds(self.seconds)}{on}"
        if not self.is_alike:
            kind = self.device.upper()
            return (
                f"{self.file_name} comes from a {kind}, but the capture is for {title(self.target)}. Each compiler has "
                f"its own names for kernels: pass the {kind} that the program ran on with --target."
            )
        if not self.launches:
            return f"None of the {total} in {self.file_name} belongs to {program}."
        first = self.launches[0]
        where = f" ({first.where})" if first.where else ""
        joined = self.joined_seconds / self.seconds
        # A loop has measured time of its own, but it is not a launch.
        launches = plural(sum(bool(row.role) for row in self.launches), "launch", "launches")
        return (
            f"{format_share(joined)} of the {total} in {self.file_name} belongs to {launches} of {program}. "
            f"The longest is {first.name}{where} with {format_share(first.share)} of the time."
        )

    def _tell_others(self) -> Iterator[Part]:
        if not self.is_alike:
            return
        if self.other_seconds:
            times = ", ".join(
                f"{name} {format_seconds(seconds)}" for name, seconds in [*self.other_seconds.items()][:FEW_OTHERS]
            )
            yield f"Other programs in the profile: {times}."
        # The events of other programs are summed up in a sentence of their own.
        own = [event for event in self.unjoined if event.module not in self.other_seconds]
        if not own:
            return
        rows = tuple(
            (format_seconds(event.seconds), f"{event.count:,}", f"{shorten(event.name, 56)}: {event.reason}")
            for event in own[: max(FEW_OTHERS, self.shown if self.shown > len(self.launches) else 0)]
        )
        yield Table(("time", "count", "event and reason"), rows, (0, 1), title="Events that match no launch")
        if len(own) > len(rows):
            rest = sum(event.seconds for event in own[len(rows) :])
            yield f"{plural(len(own) - len(rows), 'more name')} with {format_seconds(rest)}."

    def _advise(self) -> Iterator[Part]:
        if not self.is_alike:
            return
        # Events of a module with the program's name should match its launches.
        unmatched = sum(event.seconds for event in self.unjoined if event.module == self.module)
        if unmatched and unmatched > _LIKELY * (unmatched + self.joined_seconds):
            yield (
                f"The profile has a module {self.module}, but most of its names are missing from this compilation. "
                "Possible causes: another version of JAX, other shapes or options, or another function with that name."
            )
        elif not self.launches and self.other_seconds:
            yield Hint(f"The module of {self.program} is {self.module}; pass the function that was profiled.")


def _show(row: MeasuredLaunch, *, has_roof: bool) -> tuple[str, ...]:
    reached = row.reached
    roof = (
        format_seconds(row.estimate.likely) if row.estimate else "",
        format_share(reached) if reached is not None else "",
    )
    about = [
        f"estimated {show_range(row.estimate)}" if row.estimate else "",
        f"{row.where} {row.text}".strip(),
        f"[{row.scope}]" if row.scope else "",
        "" if row.role else "without the launches inside it",
        f"includes {', '.join(row.others)} (same kernel)" if row.others else "",
    ]
    return (
        shorten(row.name, _NAME),
        format_seconds(row.seconds),
        format_share(row.share, 1),
        f"{row.count:,}",
        format_seconds(row.seconds / row.count),
        *(roof if has_roof else ()),
        "; ".join(part for part in about if part) or "no line known",
    )
