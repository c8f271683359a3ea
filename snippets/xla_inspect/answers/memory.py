"""What takes the memory of one device, and whether it suffices, also where the compile fails for want of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from xla_inspect.analysis import (
    FINAL,
    HBM,
    PeakCause,
    Refusal,
    Stage,
    close_brackets,
)
from xla_inspect.answers.answer import Answer
from xla_inspect.answers.answer_parts import Hint, Table, suggest
from xla_inspect.answers.line_totals import LineTotal, tell_scopes
from xla_inspect.plural import plural
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.answers.answer_parts import Part

type Role = Literal["argument", "result", "constant", "saved", "temporary", "gap"]

ROLES: Mapping[Role, str] = {
    "argument": "arguments",
    "result": "results",
    "constant": "constants",
    "saved": "saved for the backward pass",
    "temporary": "temporaries",
    "gap": "set aside, empty at the peak",
}
"""How each role is told."""

ON_THE_WAY: Final = ("temporary", "saved", "gap")
"""The roles of values that are neither arguments nor results."""

FEW = 10
SHAPES, LINE = 2, 60
SMALL = 0.002
"""What is less of the whole than this share is told in one row with the others that are."""

DEFAULT_SHARE = 0.75
"""What of a GPU's memory JAX takes unless XLA_PYTHON_CLIENT_MEM_FRACTION says otherwise: jax.dev, GPU memory
allocation."""


@dataclass(frozen=True)
class MemoryRow:
    """What one place in the program holds at the peak.

    Attributes:
        role: What it is there for.
        place: `file:line`, or the name of an argument; empty where none is known.
        scope: The named scopes and modules around it.
        code: The line of Python, or an empty string.
        bytes: How much, padding included.
        padding_bytes: What of it fills up tiles.
        shapes: What it is, the largest first, such as `f32[32,2,4096]`.
        stacked: How many slices a loop stacks in it, or 0.
        donated: Whether it is an argument whose place a result takes.
    """

    role: Role
    place: str
    scope: str
    code: str
    bytes: int
    padding_bytes: int
    shapes: tuple[str, ...]
    stacked: int
    donated: bool


@dataclass(frozen=True)
class MemoryTrial:
    """A change of the program that was tried.

    Attributes:
        change: What was changed.
        needed_bytes: What the program needs with it, or None where it did not compile for another reason.
        fits: Whether that fits, or None where nobody knows.
        note: What was in the way, or an empty string.
    """

    change: str
    needed_bytes: int | None
    fits: bool | None
    note: str = ""


@dataclass(frozen=True)
class MemoryUse(Answer):
    """What takes the memory of one device.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        asked: What was asked about, as on the command line.
        needed_bytes: The most at once, as the compiler plans it: arguments and results for the whole run, and all that
            is set aside for temporaries.
        available_bytes: What a device has for it, or None where nobody knows, as of a CPU.
        fits: Whether it does, or None where nobody knows; no too where a memory on the chip is too small.
        error: What the compiler said where it gave up, or an empty string.
        refusal: The memory that the compiler ran out of, main memory or another, or None.
        rows: What it is made of, the largest first.
        undonated_bytes: Arguments that have the shape and type of a result and that no result takes the place of.
        causes: The causes of a high peak that the capture shows, the largest first, each with what helps.
        trials: What was tried.
        gap: Why the figures are of arguments and results alone, or an empty string.
        stage: The stage of the module that they are of.
        global_bytes: The bytes of global shapes, where those are not of one device; else as `needed_bytes`.
        unknown_shards: How many arguments and results count whole, since nothing says how they are sharded.
        scopes: Of the one line that asks for most, or of all without a line, the bytes by scope (`text`). Empty where
            neither has most, or those have one scope.
    """

    program: str
    target: str
    asked: str
    needed_bytes: int
    available_bytes: int | None
    fits: bool | None
    error: str
    refusal: Refusal | None
    rows: tuple[MemoryRow, ...]
    undonated_bytes: int
    causes: tuple[PeakCause, ...] = ()
    trials: tuple[MemoryTrial, ...] = ()
    gap: str = ""
    stage: Stage = FINAL
    global_bytes: int = 0
    unknown_shards: int = 0
    scopes: tuple[LineTotal, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether it fits, as far as anybody knows, and compiles."""
        return self.fits is not False and not self.error

    def tell(self) -> Iterator[Part]:
        """Yield whether it fits, what takes the memory, and what would help."""
        yield self._say()
        if self.error and (self.refusal is None or self.refusal.space != HBM):
            yield from self._tell_error()
        if not self.rows:
            return
        shown, rest = self.rows[:FEW], self.rows[FEW:]
        small = [row for row in shown if row.bytes < SMALL * self.needed_bytes]
        shown, rest = tuple(row for row in shown if row not in small), (*small, *rest)
        cells: list[tuple[str, ...]] = [
            (format_bytes(row.bytes), self._share(row.bytes), row.place, row.role, _tell_row(row)) for row in shown
        ]
        if rest:
            total = sum(row.bytes for row in rest)
            cells.append((format_bytes(total), self._share(total), f"{len(rest)} more", "", ""))
        yield Table(("bytes", "%", "where", "what for", "what is held when most is"), tuple(cells), (0, 1))
        yield from self._tell_roles()
        if self.scopes:
            yield tell_scopes(self.scopes, "bytes", format_bytes, "values")
        padded = [row for row in self.rows if row.padding_bytes > max(0.2 * row.bytes, 0.01 * self.needed_bytes)]
        if padded:
            yield Table(
                ("padding", "of", "where", "shape"),
                tuple(
                    (format_bytes(row.padding_bytes), format_bytes(row.bytes), row.place, ", ".join(row.shapes[:2]))
                    for row in padded[:FEW]
                ),
                (0, 1),
                "Padding: a tile is filled up where a dimension is short",
            )
        for cause in self.causes:
            yield str(cause)
            yield Hint(f"What helps: {cause.remedy}.")
        if self.trials:
            yield Table(
                ("needs", "fits", "tried"),
                tuple(map(_tell_trial, self.trials)),
                (0,),
                "What would help, compiled to see",
            )
        yield from self._advise()

    def sum_roles(self, *roles: Role) -> int:
        """Return the bytes at the peak that are there for some purposes, of `ROLES`."""
        return sum(row.bytes for row in self.rows if row.role in roles)

    def _tell_error(self) -> Iterator[Part]:
        """Yield what the compiler said, and what helps, of an error that is not of main memory."""
        if self.refusal is None:
            yield f"The compiler said: {self.error}"
            return
        if self.refusal.text:
            yield f"{self.refusal.place} `{shorten(self.refusal.text, LINE)}`"
        if self.refusal.buffer:
            yield f"Its largest buffer is the {self.refusal.buffer}"
        if self.refusal.remedy:
            yield Hint(f"What helps: {self.refusal.remedy}.")
        if self.refusal.vmem_options and self.asked and not self.trials:
            yield Hint("Compile with a higher limit, to see:", suggest("memory", self.asked, "--try", "vmem"))
        if self.rows:
            available = f" of {format_bytes(self.available_bytes)}" if self.available_bytes else ""
            yield f"Main memory is another matter; the compiler planned {format_bytes(self.needed_bytes)}{available}:"

    def _say(self) -> str:
        if self.refusal is not None and self.refusal.space != HBM:
            return f"{self.program} does not compile for {title(self.target)}: {self.refusal.sentence}."
        where = f"{self.stage.join(self.program)} on {title(self.target)}, per device:"
        if self.stage.shapes != "of one device":
            return self._say_global()
        if self.gap:
            said = f"{where} takes {format_bytes(self.needed_bytes)} for arguments and results"
            return f"{said}, and temporaries besides that are not told: {self.gap}."
        if not self.needed_bytes:
            return f"{where} the compiler gave up before it planned the memory."
        needs = f"{where} needs {format_bytes(self.needed_bytes)}"
        if self.available_bytes is None:
            return f"{needs}; what there is depends on the machine."
        said = f"{needs}, has {format_bytes(self.available_bytes)}."
        return f"{said} It fits." if self.fits else f"{said} It does not fit."

    def _say_global(self) -> str:
        said = f"{self.stage.join(self.program)} on {title(self.target)}: arguments and results have "
        said += format_bytes(self.global_bytes)
        if self.stage.shapes == "unknown":
            return (
                f"{said}; whether the shapes are global or those of one of {self.stage.devices} devices is not known."
            )
        said += f" in all, by global shapes. Of that each of {self.stage.devices} devices has "
        said += format_bytes(self.needed_bytes)
        if self.unknown_shards:
            counted = plural(self.unknown_shards, "argument or result", "arguments and results")
            said += f" at most: the module does not say how {counted} {_are(self.unknown_shards)} sharded"
        else:
            said += ", by the shardings of the module"
        return f"{said}. Temporaries are planned after the partitioner, so what it needs is not known."

    def _share(self, number: int) -> str:
        return format_share(number / self.needed_bytes).removesuffix("%")

    def _tell_roles(self) -> Iterator[str]:
        sums = {role: self.sum_roles(role) for role in ROLES}
        donated = sum(row.bytes for row in self.rows if row.donated)
        said = [
            f"{ROLES[role]} {format_bytes(sums[role])}"
            + (f" (of them donated {format_bytes(donated)})" if role == "argument" and donated else "")
            for role in ROLES
            if sums[role]
        ]
        yield f"Together: {', '.join(said)}."
        if any(row.stacked for row in self.rows):
            most = max(self.rows, key=lambda row: row.stacked).stacked
            yield f"`{most} x` is what a loop of {most} trips stacks up, a slice in each."
        if self.available_bytes and self.fits and self.needed_bytes > DEFAULT_SHARE * self.available_bytes:
            yield (
                "Of a GPU's memory JAX takes three quarters unless XLA_PYTHON_CLIENT_MEM_FRACTION says otherwise, and "
                "this program needs more."
            )

    def _advise(self) -> Iterator[Hint]:
        if self.trials or not self.asked or (self.error and (self.refusal is None or self.refusal.space != HBM)):
            return
        offers = (
            (
                "remat",
                self.sum_roles("saved") > self.needed_bytes / 4,
                "What is saved for the backward pass could be computed again, with jax.checkpoint around the layer:",
            ),
            (
                "donate",
                self.undonated_bytes > self.needed_bytes / 20,
                f"{format_bytes(self.undonated_bytes)} of arguments could be donated, for results to take their place:",
            ),
            (
                "schedule",
                self.target.startswith("cpu") and any(cause.kind == "schedule" for cause in self.causes),
                "XLA can order the instructions for a CPU for less memory, and then runs fewer at once:",
            ),
            ("all", self.fits is False, "All that can be tried without a change of yours:"),
        )
        for kind, is_due, text in offers:
            if is_due:
                yield Hint(text, suggest("memory", self.asked, "--try", kind))


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _tell_row(row: MemoryRow) -> str:
    few, more = row.shapes[:SHAPES], len(row.shapes) - SHAPES
    shapes = ", ".join((*few, f"{more} more") if more > 0 else few)
    donated = "donated, " if row.donated else ""
    return " ".join(
        filter(None, (f"`{shorten(close_brackets(row.code), LINE)}`" if row.code else "", donated + shapes))
    )


def _tell_trial(trial: MemoryTrial) -> tuple[str, str, str]:
    needs = format_bytes(trial.needed_bytes) if trial.needed_bytes is not None else "?"
    fits = {True: "yes", False: "no", None: "?"}[trial.fits]
    return needs, fits, f"{trial.change}: {trial.note}" if trial.note else trial.change
