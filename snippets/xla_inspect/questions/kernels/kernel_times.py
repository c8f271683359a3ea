"""The times that a profile measured, joined to a program's launches and so to lines of Python."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the schema is read off the annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer, Hint, LineTotal, Table, tell_lines
from xla_inspect.plural import plural
from xla_inspect.questions.kernels.finding import show_seconds
from xla_inspect.targets import lane, title
from xla_inspect.units import format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part

FEW_OTHERS = 8
"""The number of names from outside the program that are shown by default."""

_NAME = 26
_LIKELY = 0.5


@dataclass(frozen=True)
class MeasuredLaunch:
    """A launch of the program that a profile saw.

    Attributes:
        name: The instruction.
        others: Other launches that share its kernel, where the profile does not tell them apart.
        role: `kernel`, `copy`, `collective`, or an empty string for what is no launch: a loop around others.
        where: The line of Python, as in `model.py:12`, or an empty string.
        text: The line as it is written.
        scope: Where in the program that is, by the names of scopes and modules.
        seconds: How long all of its runs took, without what ran inside it.
        count: How often the profile saw it.
        share: Its part of all the time that the profile holds, from 0 to 1.
        least_seconds: The least time of one run by the published peaks, or None.
        limit: What needs that long.
        known_by: How it was found: `name` of the instruction, `symbol` of the kernel, or `order`: it
            ran between two kernels of the program between which this launch alone stands.
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
    known_by: str

    @property
    def reached(self) -> float | None:
        """The least time as a share of the measured time, or None without one."""
        if not self.least_seconds or not self.seconds:
            return None
        return self.least_seconds * self.count / self.seconds


@dataclass(frozen=True)
class Unjoined:
    """An event of the profile that belongs to no launch of the program.

    Attributes:
        name: What the profile calls it.
        module: The module of HLO that it is of, where the profile says.
        seconds: How long all of it took.
        count: How often it ran.
        reason: Why it is joined to nothing.
    """

    name: str
    module: str
    seconds: float
    count: int
    reason: str


@dataclass(frozen=True)
class KernelTimes(Answer):
    """The times that a profile measured of a program.

    Attributes:
        program: The name of the program.
        asked: What was asked about, as on the command line.
        target: The target of the capture.
        module: The name of its module, by which a profile knows it.
        file: The profile.
        form: What the profile is, such as `Chrome trace`.
        device: What it ran on: `gpu`, `tpu`, `cpu`, or an empty string.
        devices: On how many of these.
        programs: How many programs of the module's name the profile has: one that was compiled again, such as for other
            shapes, has the same name, and its times are not told apart.
        seconds: How long everything took that ran on them, added up.
        joined_seconds: How much of that belongs to launches of the program.
        other_seconds: How much of it the profile says is of other programs, by module.
        launches: What was measured, the longest first.
        lines: The same by line of Python, in seconds.
        unjoined: What belongs to no launch, the longest first.
        unseen: Launches that the profile does not have.
        shown: How many launches are told, from the first.
        labelled: The file of the trace with the lines in it, or an empty string.
        labelled_events: How many of its events have a line.
        model: What the least times leave out, or why there are none.
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

    @property
    def holds(self) -> bool:
        """True if something in the profile is of the program, on a device of the target's kind."""
        return bool(self.launches) and self.is_alike

    @property
    def file_name(self) -> str:
        """The name of the profile without its folders."""
        return self.file.rpartition("/")[2]

    @property
    def is_alike(self) -> bool:
        """True if the profile is of a device of the kind that the capture is for."""
        return self.device == lane(self.target)

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the launches by their time, and what is not in the program."""
        yield self._say()
        if self.labelled:
            yield f"{self.labelled} has the lines in {plural(self.labelled_events, 'event')}; open it in Perfetto."
        if not self.holds:
            yield from self._advise()
            yield from self._tell_others()
            return
        has_roof = any(row.reached is not None for row in self.launches)
        columns = ("launch", "time", "share", "count", "each", *(("least", "of it") if has_roof else ()), "where")
        rows = tuple(_show(row, has_roof=has_roof) for row in self.launches[: self.shown])
        if rows:
            yield Table(columns, rows, tuple(range(1, len(columns) - 1)))
        if rest := self.launches[self.shown :]:
            share = format_share(sum(row.share for row in rest), 1)
            yield f"{plural(len(rest), 'more launch', 'more launches')}, {share} of the time; --all shows all."
        if len(self.launches) > len(self.lines) > 1:
            yield tell_lines(self.lines, "time", show_seconds)
        yield from self._tell_others()
        if any(row.known_by == "symbol" for row in self.launches) and self.form.startswith("Nsight"):
            yield "Nsight knows kernels by their symbols alone: another program's of the same symbol count too."
        if self.programs > 1:
            yield (
                f"The profile has {self.programs} programs with the name {self.module}, such as for other shapes: "
                "what they have in common is added up."
            )
        if self.unseen:
            yield f"Not in the profile: {shorten(', '.join(self.unseen), 200)}."
        yield from self._advise()
        if has_roof:
            yield f"`least` is of one run, and `of it` how much of the measured time that is. {self.model}"

    def _say(self) -> str:
        program = f"{self.program} on {title(self.target)}"
        if not self.seconds:
            return f"{self.file_name}, a {self.form}, holds nothing that ran on a device or has a name of HLO."
        on = f" on {plural(self.devices, self.device.upper())}" if self.devices > 1 else ""
        total = f"{show_seconds(self.seconds)}{on}"
        if not self.is_alike:
            kind = self.device.upper()
            return (
                f"{self.file_name} is of a {kind}, and the capture is for {title(self.target)}: compilers name kernels "
                f"each in its own way, so ask for the {kind} that it ran on, with --target."
            )
        if not self.launches:
            return f"Nothing of the {total} in {self.file_name} is of {program}."
        first = self.launches[0]
        where = f" ({first.where})" if first.where else ""
        joined = self.joined_seconds / self.seconds
        launches = plural(sum(bool(row.role) for row in self.launches), "launch", "launches")
        return (
            f"{format_share(joined)} of the {total} in {self.file_name} is joined to {launches} of {program}; "
            f"{first.name}{where} takes most, {format_share(first.share)}."
        )

    def _tell_others(self) -> Iterator[Part]:
        if not self.is_alike:
            return
        if self.other_seconds:
            listed = ", ".join(
                f"{name} {show_seconds(seconds)}" for name, seconds in [*self.other_seconds.items()][:FEW_OTHERS]
            )
            yield f"Of other programs in the profile: {listed}."
        own = [each for each in self.unjoined if each.module not in self.other_seconds]
        if not own:
            return
        rows = tuple(
            (show_seconds(each.seconds), f"{each.count:,}", f"{shorten(each.name, 56)}: {each.reason}")
            for each in own[: max(FEW_OTHERS, self.shown if self.shown > len(self.launches) else 0)]
        )
        yield Table(("time", "count", "what"), rows, (0, 1), title="Not in the program")
        if len(own) > len(rows):
            left = sum(each.seconds for each in own[len(rows) :])
            yield f"{len(own) - len(rows)} more names, {show_seconds(left)}."

    def _advise(self) -> Iterator[Part]:
        if not self.is_alike:
            return
        named = sum(each.seconds for each in self.unjoined if each.module == self.module)
        if named and named > _LIKELY * (named + self.joined_seconds):
            yield (
                f"The profile has a module {self.module}, but most of its names are not in this compile of it: "
                "another version of JAX, other shapes or options, or another function of the same name."
            )
        elif not self.launches and self.other_seconds:
            yield Hint(f"The module of {self.program} is {self.module}; ask about the function that was profiled.")


def _show(row: MeasuredLaunch, *, has_roof: bool) -> tuple[str, ...]:
    reached = row.reached
    roof = (
        show_seconds(row.least_seconds) if row.least_seconds is not None else "",
        format_share(reached) if reached is not None else "",
    )
    about = [
        f"{row.where} {row.text}".strip(),
        f"[{row.scope}]" if row.scope else "",
        "" if row.role else "itself, without what it runs",
        f"shares its kernel with {', '.join(row.others)}" if row.others else "",
    ]
    return (
        shorten(row.name, _NAME),
        show_seconds(row.seconds),
        format_share(row.share, 1),
        f"{row.count:,}",
        show_seconds(row.seconds / row.count),
        *(roof if has_roof else ()),
        "; ".join(part for part in about if part) or "no line kept",
    )
