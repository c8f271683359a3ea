"""The printed answer about launches: paragraphs and tables of all of them, or of one in detail."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import close_brackets
from xla_inspect.answers import Hint, Table, say_time, show_range, suggest, tell_lines, tell_scopes
from xla_inspect.plural import plural
from xla_inspect.questions.kernels.finding import _LONGEST, Kernels
from xla_inspect.targets import find_terms, title
from xla_inspect.units import format_amount, format_bytes, format_runs, format_seconds, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part
    from xla_inspect.questions.kernels.launch_rows import LaunchRow
    from xla_inspect.targets import Terms


_NAME = 26
_COLUMNS = ("launch", "time", "limit", "runs", "bytes", "flops")


def render(kernels: Kernels) -> Iterator[Part]:
    """Yield the printed answer: a summary, a table of the launches or details of the named ones, and a hint."""
    if not kernels.stage.has_launches and kernels.stage.name != "none":
        where = f"{kernels.stage.join(kernels.program)} on {title(kernels.target)}"
        yield f"{where}: no kernels yet. {_explain_stage(kernels)}"
        return
    if kernels.error:
        yield f"{kernels.program} does not compile for {title(kernels.target)}: {shorten(kernels.error, _LONGEST)}"
        if not kernels.launches:
            return
        yield "These are the launches of the last module before the error:"
    elif kernels.named:
        yield _say_named(kernels)
    else:
        yield _say_all(kernels)
    if kernels.named:
        for name in kernels.named:
            yield from _tell_one(kernels, next(row for row in kernels.launches if row.name == name))
    else:
        yield from _tell_list(kernels)
    # The list shows the least time only without an estimate, when the model says why there is none.
    model = kernels.model
    if kernels.time:
        model = f"The least time is a lower bound. {model}" if kernels.named else ""
    words = find_terms(kernels.target).note if any(row.registers is not None for row in kernels.launches) else ""
    yield from filter(None, (kernels.registers_gap, kernels.times, model, kernels.without_gpu, words))


def _explain_stage(kernels: Kernels) -> str:
    later = "Fusion and scheduling determine the kernels later, so the instructions are not launches yet."
    if kernels.stage.name == "unknown":
        later = "The module has no fusions, so its instructions are probably not launches yet."
    return f"{kernels.stage.explain()} {later}"


def _say_all(kernels: Kernels) -> str:
    program = kernels.stage.join(kernels.program)
    roles = Counter(row.role for row in kernels.launches)
    counts = ", ".join(plural(number, role, "copies" if role == "copy" else "") for role, number in roles.most_common())
    if not kernels.launches:
        return f"{program} on {title(kernels.target)} launches nothing."
    first = kernels.launches[0]
    where = f" ({first.where})" if first.where else ""
    # Without peak rates of the target, only the bytes can rank the launches.
    if not kernels.time or not kernels.time.likely:
        moved = format_bytes(first.weight[1])
        return f"{program} on {title(kernels.target)}: {counts}. {first.name}{where} moves the most bytes, {moved}."
    share = format_share(first.weight[0] / kernels.time.likely)
    verb = (
        f"takes {say_time(kernels.time)}" if len(kernels.launches) == 1 else f"take {say_time(kernels.time)} together"
    )
    return (
        f"{program} on {title(kernels.target)}: {counts} that {verb}. "
        f"{first.name}{where} accounts for {share} of this time."
    )


def _say_named(kernels: Kernels) -> str:
    row = next(row for row in kernels.launches if row.name == kernels.named[0])
    what = f"{row.kind} {row.role}" if row.kind != row.role else row.kind
    where = f" from {row.where}" if row.where else ""
    runs = f" in {plural(row.assumed_runs, 'run')}" if row.runs != 1 else ""
    time = f"; it takes {say_time(row.time)}{runs}" if row.time and row.time.likely else ""
    return f"{row.name} is a {what}{where} in {kernels.program} on {title(kernels.target)}{time}."


def _tell_list(kernels: Kernels) -> Iterator[Part]:
    launches, others = kernels.launches[: kernels.shown], kernels.launches[kernels.shown :]
    terms = find_terms(kernels.target)
    cells = tuple(_list_row(row, terms) for row in launches)
    # Without an estimate, the columns for the time and its limit would be empty.
    columns = [at for at in range(len(_COLUMNS) + 1) if kernels.time or at not in {1, 2}]
    heads = (*_COLUMNS, "range, line and scope" if kernels.time else "line and scope")
    rows = tuple(tuple(row[at] for at in columns) for row in cells)
    numbers = tuple(number for number, at in enumerate(columns) if at in {1, 3, 4, 5})
    if rows:
        yield Table(tuple(heads[at] for at in columns), rows, numbers)
    if others:
        time = sum(row.weight[0] for row in others)
        share = f" ({format_share(time / kernels.time.likely, 1)} of the time)" if kernels.time else ""
        omitted = plural(len(others), "smaller launch", "smaller launches")
        yield f"{omitted} not shown{share}; --all shows all launches."
    if kernels.unknown_runs:
        yield (
            f"For {plural(kernels.unknown_runs, 'launch', 'launches')}, each loop with an unknown trip count counts as "
            "one iteration, and each branch as taken once (? in the column runs)."
        )
    unit = ("time", format_seconds) if kernels.time else ("bytes", _show_bytes)
    # With one launch for each line, the totals would repeat the table of launches.
    if len(kernels.launches) > len(kernels.lines) > 1:
        yield tell_lines(kernels.lines, *unit)
    if kernels.scopes:
        yield tell_scopes(kernels.scopes, *unit)
    if launches:
        yield Hint(
            "To see one launch in detail:",
            suggest("kernels", kernels.asked, "--kernel", launches[0].name),
        )


def _tell_one(kernels: Kernels, row: LaunchRow) -> Iterator[Part]:
    yield Table(("per run", ""), tuple(_list_facts(row, find_terms(kernels.target))), title=row.name)
    rows = tuple(
        (
            line.where or "no line known",
            ", ".join(f"{name} {number}" if number > 1 else name for name, number in line.opcodes.items()),
            close_brackets(line.text),
        )
        for line in row.fused
    )
    if rows:
        yield Table(("line", "source and operations"), tuple((a, f"{c}  [{b}]" if c else b) for a, b, c in rows))
    if row.code:
        yield Hint(
            f"To see its code ({', '.join(row.code)}):",
            suggest("show", kernels.asked, "--stage", "code", "--kernel", row.symbol or row.name),
        )


def _show_bytes(number: float) -> str:
    return format_bytes(round(number))


def _list_row(row: LaunchRow, terms: Terms) -> tuple[str, ...]:
    size = _show_size(row, terms)
    line = f"{row.where} {close_brackets(row.text)}".strip()
    hidden = f"other launches hide {format_seconds(row.hidden_seconds)}" if row.hidden_seconds else ""
    time = show_range(row.time) if row.time and row.time.high else ""
    about = [time, line, f"[{row.scope}]" if row.scope else "", row.library, row.callback, size, hidden]
    return (
        shorten(row.name, _NAME),
        format_seconds(row.weight[0]),
        row.time_limit,
        format_runs(row.runs, row.assumed_runs),
        format_bytes(row.weight[1]),
        # A library call with unknown work must not look as if it did none.
        format_amount(row.flops * row.assumed_runs) if row.flops else ("?" if row.unknown_work else "0"),
        "; ".join(part for part in about if part) or "no line known",
    )


def _show_size(row: LaunchRow, terms: Terms) -> str:
    if row.vmem_bytes is not None:
        return f"{format_bytes(row.vmem_bytes)} of VMEM"
    # Only the launches of a GPU have a grid.
    if not row.grid or not row.threads:
        return ""
    shared = f", {format_bytes(row.shared_bytes)} {terms.shared.removesuffix(' memory')}" if row.shared_bytes else ""
    registers = f", {row.registers} {terms.registers}" if row.registers is not None else ""
    spilled = f", {format_bytes(row.spilled_bytes)} spilled" if row.spilled_bytes else ""
    return f"{_show_launch(row.grid, row.threads)}{shared}{registers}{spilled}"


def _show_launch(grid: tuple[int, int, int], threads: tuple[int, int, int]) -> str:
    return f"{_show_grid(grid, 'block')} of {_show_grid(threads, 'thread')}"


def _show_grid(size: tuple[int, int, int], noun: str) -> str:
    # Dimensions of size 1 are omitted, since most grids use only one or two of the three.
    numbers = [f"{number:,}" for number in size if number > 1]
    return f"{' x '.join(numbers)} {noun}s" if numbers else f"1 {noun}"


def _list_facts(row: LaunchRow, terms: Terms) -> Iterator[tuple[str, str]]:
    """Yield the properties of a launch as pairs of a name and a value."""
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
        yield "on-chip", format_bytes(row.on_chip_bytes)
    if row.vmem_bytes is not None:
        yield "VMEM", f"{format_bytes(row.vmem_bytes)} for its own buffers"
    flops = ", ".join(f"{format_amount(number)} {kind}" for kind, number in row.flops_by_type.items() if number)
    yield "flops", flops or ("unknown" if row.unknown_work else "none")
    if row.unknown_work:
        yield "unknown work", f"the work of {', '.join(row.unknown_work)} is not known"
    if row.transcendentals:
        yield "exp, tanh, ...", format_amount(row.transcendentals)
    yield from _list_device_facts(row, terms)


def _list_device_facts(row: LaunchRow, terms: Terms) -> Iterator[tuple[str, str]]:
    """Yield the properties of a launch on its device as pairs of a name and a value."""
    if row.time:
        runs = "" if row.runs == 1 else " in all runs"
        yield "time", f"{say_time(row.time)}{runs}, limited by {row.time_limit}"
    if row.least_seconds is not None:
        yield "least time", f"{format_seconds(row.least_seconds)} at peak rates, limited by {row.limit}"
    if row.grid and row.threads:
        yield "grid", _show_launch(row.grid, row.threads)
    if row.shared_bytes is not None:
        yield terms.shared, f"{format_bytes(row.shared_bytes)} per block"
    if row.registers is not None:
        yield terms.registers, f"{row.registers} per thread, {format_bytes(row.spilled_bytes or 0)} spilled"
    if row.occupancy is not None:
        # A full multiprocessor has no limit to report.
        bound = f", limited by {' and '.join(row.bound_by)}" if row.occupancy < 1 else ""
        yield "occupancy", f"{format_share(row.occupancy)} of a {terms.core}'s {terms.wave}s{bound}"
    # The symbol of a kernel is often the name of its instruction.
    if row.symbol and row.symbol != row.name:
        yield "symbol", row.symbol
