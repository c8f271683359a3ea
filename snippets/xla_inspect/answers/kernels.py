"""What a program launches: each kernel, copy and collective with its line, its work and the least time it takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import STATEMENT, Stage, close_brackets, find_stage, tell_failure
from xla_inspect.answers.answer import Answer
from xla_inspect.answers.answer_parts import Hint, Table, suggest
from xla_inspect.answers.launch_rows import LaunchRow, describe_launches
from xla_inspect.answers.line_totals import LineTotal, sum_lines, sum_scopes, tell_lines, tell_scopes
from xla_inspect.errors import InspectError
from xla_inspect.plural import plural
from xla_inspect.spelling import list_nearest
from xla_inspect.targets import explain_absence, explain_tiles, find_hardware, title
from xla_inspect.units import format_amount, format_bytes, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from xla_inspect.answers.answer_parts import Part
    from xla_inspect.captured import Capture

USUAL_ROWS = 12
"""How many launches are shown where nobody says how many."""

_TILED = "__triton_nested_gemm_fusion"
"""The kind of fusion of a matmul whose tile the compiler chose."""

_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9), ("ps", 1e-12))
_WHOLE, _LONGEST = 100, 600

_NAME = 26
_COLUMNS = ("launch", "least", "by", "runs", "bytes", "flops", "where")


@dataclass(frozen=True)
class Kernels(Answer):
    """What a program launches, those first that take longest at least.

    Attributes:
        program: The name of the program.
        asked: What was asked about, as on the command line.
        target: The target's short name, with its grid.
        launches: All launches, by the least time of all their runs, where there is none by the bytes they move.
        lines: The same by line of Python: seconds at least of all runs, bytes where there is no least time.
        scopes: The same by scope, of the one line that most comes from, as that of a call of a library's model, or of
            all without a line; each `text` is a scope. Empty where neither has most, or those have one scope.
        shown: How many launches are told, from the first.
        named: The launches that were asked for by name, which are told in detail.
        least_seconds: The least time of all together, one after the other, each as often as it is known to run; None
            where no peaks of the target are published.
        unknown_runs: How many of them run an unknown number of times, and count once.
        model: What the least times leave out, or why there are none.
        registers_gap: Why registers are not known, or an empty string.
        error: What the compiler said where it gave up, or an empty string.
        stage: The stage of the module whose launches these are.
    """

    program: str
    asked: str
    target: str
    launches: tuple[LaunchRow, ...]
    lines: tuple[LineTotal, ...]
    scopes: tuple[LineTotal, ...]
    shown: int
    named: tuple[str, ...]
    least_seconds: float | None
    unknown_runs: int
    model: str
    registers_gap: str
    error: str
    stage: Stage

    @property
    def holds(self) -> bool:
        """Whether the compiler made a program of it."""
        return not self.error

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the launches or those that were asked for, and what to ask next."""
        if not self.stage.has_launches and self.stage.name != "none":
            yield f"{self.stage.join(self.program)} on {title(self.target)}: no kernels yet. {self._explain_stage()}"
            return
        if self.error:
            yield f"{self.program} does not compile for {title(self.target)}: {shorten(self.error, _LONGEST)}"
            if not self.launches:
                return
            yield "What the compiler left until it gave up:"
        elif self.named:
            yield self._say_named()
        else:
            yield self._say_all()
        if self.named:
            for name in self.named:
                yield from self._tell_one(next(row for row in self.launches if row.name == name))
        else:
            yield from self._tell_list()
        if self.registers_gap:
            yield self.registers_gap
        yield self.model

    def _explain_stage(self) -> str:
        later = "Fusion and the schedule decide the kernels later, so its instructions are no launches."
        if self.stage.name == "unknown":
            later = "It has no fusions either, so as far as it shows its instructions are no launches."
        return f"{self.stage.explain()} {later}"

    def _say_all(self) -> str:
        program = self.stage.join(self.program)
        roles = Counter(row.role for row in self.launches)
        counted = ", ".join(
            plural(number, role, "copies" if role == "copy" else "") for role, number in roles.most_common()
        )
        if not self.launches:
            return f"{program} on {title(self.target)} launches nothing."
        first = self.launches[0]
        where = f" ({first.where})" if first.where else ""
        if not self.least_seconds:
            moved = format_bytes(first.weight[1])
            return f"{program} on {title(self.target)}: {counted}; {first.name}{where} moves most, {moved}."
        share = format_share(first.weight[0] / self.least_seconds)
        most = show_seconds(self.least_seconds)
        return (
            f"{program} on {title(self.target)}: {counted}, at least {most} in all; "
            f"{first.name}{where} takes most, {share}."
        )

    def _say_named(self) -> str:
        row = next(row for row in self.launches if row.name == self.named[0])
        what = f"{row.kind} {row.role}" if row.kind != row.role else row.kind
        where = f" of {row.where}" if row.where else ""
        least = f", at least {show_seconds(row.least_seconds)} a run" if row.least_seconds else ""
        return f"{row.name} is a {what}{where} in {self.program} on {title(self.target)}{least}."

    def _tell_list(self) -> Iterator[Part]:
        shown, others = self.launches[: self.shown], self.launches[self.shown :]
        cells = tuple(map(_list_row, shown))
        # Without a roof there is no least time, and nothing that limits.
        kept = [at for at in range(len(_COLUMNS)) if self.least_seconds is not None or at not in {1, 2}]
        rows = tuple(tuple(row[at] for at in kept) for row in cells)
        numbers = tuple(number for number, at in enumerate(kept) if at in {1, 3, 4, 5})
        if rows:
            yield Table(tuple(_COLUMNS[at] for at in kept), rows, numbers)
        if others:
            least = sum(row.weight[0] for row in others)
            share = f" ({format_share(least / self.least_seconds, 1)} of the least time)" if self.least_seconds else ""
            left = plural(len(others), "smaller launch", "smaller launches")
            yield f"Left out: {left}{share}; --all shows all."
        if self.unknown_runs:
            yield (
                f"{plural(self.unknown_runs, 'launch', 'launches')} in loops or branches of which the compiler does "
                "not know how often they run (? above) count once."
            )
        unit = ("bytes", _show_bytes) if self.least_seconds is None else ("least", show_seconds)
        if len(self.launches) > len(self.lines) > 1:
            yield tell_lines(self.lines, *unit)
        if self.scopes:
            yield tell_scopes(self.scopes, *unit)
        if shown:
            yield Hint(
                "One of them in detail:",
                suggest("kernels", self.asked, "--kernel", shown[0].name),
            )

    def _tell_one(self, row: LaunchRow) -> Iterator[Part]:
        yield Table(("of one run", ""), tuple(_list_facts(row)), title=row.name)
        rows = tuple(
            (
                each.where or "no line kept",
                ", ".join(f"{name} {number}" if number > 1 else name for name, number in each.opcodes.items()),
                close_brackets(each.text),
            )
            for each in row.fused
        )
        if rows:
            yield Table(("line", "text and operations"), tuple((a, f"{c}  [{b}]" if c else b) for a, b, c in rows))
        if row.code:
            yield Hint(
                f"Its code ({', '.join(row.code)}):",
                suggest("show", self.asked, "--stage", "code", "--kernel", row.symbol or row.name),
            )


def rank_launches(
    capture: Capture,
    asked: str = "",
    *,
    names: Collection[str] = (),
    shown: int = USUAL_ROWS,
    registers: Mapping[str, tuple[int, int, int]] | str = "",
) -> Kernels:
    """Return what a program launches on one target.

    Args:
        capture: Its capture, which needs no modules between passes.
        asked: What was asked about, as on the command line.
        names: Launches to tell in detail: the names of their instructions, or of their kernels in the code.
        shown: How many to tell where none are named.
        registers: Of kernels by their symbol, see `describe_launches`; or why they are not known.

    Raises:
        InspectError: There is no such launch.
    """
    rows = describe_launches(capture, {} if isinstance(registers, str) else registers) if capture.after else ()
    found = find_names(rows, names) if rows else ()
    hardware = find_hardware(capture.target)
    return Kernels(
        program=capture.program,
        asked=asked,
        target=capture.target,
        launches=tuple(sorted(rows, key=lambda row: row.weight, reverse=True)),
        lines=sum_lines((row.where, row.text, row.weight[not hardware]) for row in rows),
        scopes=sum_scopes([(row.where, row.scope.rpartition("/")[0], row.weight[not hardware]) for row in rows]),
        shown=shown,
        named=found,
        least_seconds=sum(row.weight[0] for row in rows) if hardware else None,
        unknown_runs=sum(row.runs is None for row in rows),
        model=_describe_model(capture),
        registers_gap=registers if isinstance(registers, str) else "",
        error=tell_failure(capture),
        stage=find_stage(capture),
    )


def _describe_model(capture: Capture) -> str:
    """Return what least times leave out, or why there are none, and the origin of a GPU's tiles."""
    hardware = find_hardware(capture.target)
    model = f"{STATEMENT} {hardware.gap}".strip() if hardware else explain_absence(capture.target)
    tiles = explain_tiles(capture.options) if _TILED in capture.after else ""
    return f"{model} The tiles of matmuls are {tiles}." if tiles else model


def find_names(rows: Collection[LaunchRow], names: Collection[str]) -> tuple[str, ...]:
    """Return the names of the launches that are meant by names of instructions or of kernels, `%` or none before them.

    Raises:
        InspectError: One of them is meant by none.
    """
    known = {row.name: row.name for row in rows}
    known |= {row.symbol: row.name for row in rows if row.symbol and row.symbol not in known}
    for name in (bare for bare in (name.removeprefix("%") for name in names) if bare not in known):
        close = list_nearest(name, known, 3, 0.5) or list(known)[:3]
        message = f"there is no launch {name!r}; did you mean {' or '.join(close)}?" if close else f"no launch {name!r}"
        raise InspectError(message)
    return tuple(dict.fromkeys(known[name.removeprefix("%")] for name in names))


def show_seconds(seconds: float) -> str:
    """Return a time in few characters, three digits."""
    if not seconds:
        return "0"
    unit, least = next((unit for unit in _UNITS if seconds >= unit[1]), _UNITS[-1])
    number = seconds / least
    return f"{number:.0f} {unit}" if number >= _WHOLE else f"{number:.3g} {unit}"


def _show_bytes(number: float) -> str:
    return format_bytes(round(number))


def _list_row(row: LaunchRow) -> tuple[str, ...]:
    size = _show_size(row)
    line = f"{row.where} {close_brackets(row.text)}".strip()
    about = [line, f"[{row.scope}]" if row.scope else "", row.library, row.callback, size]
    return (
        shorten(row.name, _NAME),
        show_seconds(row.weight[0]),
        row.bound,
        "?" if row.runs is None else f"{row.runs:,}",
        format_bytes(row.weight[1]),
        format_amount(row.flops * (row.runs or 1)) if row.flops else ("?" if row.unknown_work else "0"),
        "; ".join(part for part in about if part) or "no line kept",
    )


def _show_size(row: LaunchRow) -> str:
    if row.vmem_bytes is not None:
        return f"{format_bytes(row.vmem_bytes)} of VMEM"
    if not row.grid or not row.threads:
        return ""
    shared = f", {format_bytes(row.shared_bytes)} shared" if row.shared_bytes else ""
    registers = f", {row.registers} registers" if row.registers is not None else ""
    spilled = f", {format_bytes(row.spilled_bytes)} spilled" if row.spilled_bytes else ""
    return f"{_show_launch(row.grid, row.threads)}{shared}{registers}{spilled}"


def _show_launch(grid: tuple[int, int, int], threads: tuple[int, int, int]) -> str:
    return f"{_show_grid(grid, 'block')} of {_show_grid(threads, 'thread')}"


def _show_grid(size: tuple[int, int, int], noun: str) -> str:
    numbers = [f"{number:,}" for number in size if number > 1]
    return f"{' x '.join(numbers)} {noun}s" if numbers else f"1 {noun}"


def _list_facts(row: LaunchRow) -> Iterator[tuple[str, str]]:
    """Yield what is known of a launch, a name and a value each."""
    runs = "an unknown number of times" if row.runs is None else plural(row.runs, "time")
    around = f" (in {', '.join(row.within)})" if row.within else ""
    yield "runs", runs + around
    yield "kind", ", ".join(part for part in (row.role, row.kind, row.callback) if part)
    if row.library:
        yield "computed by", row.library
    if row.where:
        yield "line", f"{row.where}  {close_brackets(row.text)}".strip()
    if row.scope:
        yield "scope", row.scope
    yield "reads", format_bytes(row.read_bytes)
    yield "writes", format_bytes(row.written_bytes)
    if row.on_chip_bytes:
        yield "on the chip", format_bytes(row.on_chip_bytes)
    if row.vmem_bytes is not None:
        yield "VMEM", f"{format_bytes(row.vmem_bytes)} for its own buffers"
    flops = ", ".join(f"{format_amount(number)} {kind}" for kind, number in row.flops_by_type.items() if number)
    yield "flops", flops or ("unknown" if row.unknown_work else "none")
    if row.unknown_work:
        yield "unknown work", f"{', '.join(row.unknown_work)} says nothing of it"
    if row.transcendentals:
        yield "exp, tanh, ...", format_amount(row.transcendentals)
    yield from _list_device_facts(row)


def _list_device_facts(row: LaunchRow) -> Iterator[tuple[str, str]]:
    """Yield what is known of a launch on its device, likewise."""
    if row.least_seconds is not None:
        yield "least time", f"{show_seconds(row.least_seconds)}, limited by {row.limit}"
    if row.grid and row.threads:
        yield "grid", _show_launch(row.grid, row.threads)
    if row.shared_bytes is not None:
        yield "shared memory", f"{format_bytes(row.shared_bytes)} a block"
    if row.registers is not None:
        yield "registers", f"{row.registers} a thread, {format_bytes(row.spilled_bytes or 0)} spilled"
    if row.occupancy is not None:
        bound = f", bound by {' and '.join(row.bound_by)}" if row.occupancy < 1 else ""
        yield "occupancy", f"{format_share(row.occupancy)} of a multiprocessor's warps{bound}"
    if row.symbol and row.symbol != row.name:
        yield "in the code", row.symbol
