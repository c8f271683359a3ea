"""The memory of one device in paragraphs and tables: whether it suffices, what takes it, what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import (
    HBM,
    close_brackets,
)
from xla_inspect.answers import Hint, Table, suggest, tell_scopes
from xla_inspect.plural import plural
from xla_inspect.questions.memory.finding import ROLES, MemoryRow, MemoryTrial, MemoryUse
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part


FEW = 10
SHAPES, LINE = 2, 60
SMALL = 0.002
"""The share of the whole below which rows are summed up in one."""

DEFAULT_SHARE = 0.75
"""The share of a GPU's memory that JAX takes unless XLA_PYTHON_CLIENT_MEM_FRACTION says otherwise: jax.dev, GPU memory
allocation."""


def render(use: MemoryUse) -> Iterator[Part]:
    """Yield whether it fits, what takes the memory, and what would help."""
    yield _say(use)
    if use.error and (use.refusal is None or use.refusal.space != HBM):
        yield from _tell_error(use)
    if not use.rows:
        return
    shown, rest = use.rows[:FEW], use.rows[FEW:]
    small = [row for row in shown if row.bytes < SMALL * use.needed_bytes]
    shown, rest = tuple(row for row in shown if row not in small), (*small, *rest)
    cells: list[tuple[str, ...]] = [
        (format_bytes(row.bytes), _share(use, row.bytes), row.place, row.role, _tell_row(row)) for row in shown
    ]
    if rest:
        total = sum(row.bytes for row in rest)
        cells.append((format_bytes(total), _share(use, total), f"{len(rest)} more", "", ""))
    yield Table(("bytes", "%", "where", "what for", "what is held when most is"), tuple(cells), (0, 1))
    yield from _tell_roles(use)
    if use.scopes:
        yield tell_scopes(use.scopes, "bytes", format_bytes, "values")
    padded = [row for row in use.rows if row.padding_bytes > max(0.2 * row.bytes, 0.01 * use.needed_bytes)]
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
    for cause in use.causes:
        yield str(cause)
        yield Hint(f"What helps: {cause.remedy}.")
    if use.trials:
        yield Table(
            ("needs", "fits", "tried"),
            tuple(map(_tell_trial, use.trials)),
            (0,),
            "What would help, compiled to see",
        )
    yield from _advise(use)


def _tell_error(use: MemoryUse) -> Iterator[Part]:
    """Yield what the compiler said, and what helps, of an error that is not of main memory."""
    if use.refusal is None:
        yield f"The compiler said: {use.error}"
        return
    if use.refusal.text:
        yield f"{use.refusal.place} `{shorten(use.refusal.text, LINE)}`"
    if use.refusal.buffer:
        yield f"Its largest buffer is the {use.refusal.buffer}"
    if use.refusal.remedy:
        yield Hint(f"What helps: {use.refusal.remedy}.")
    if use.refusal.vmem_options and use.asked and not use.trials:
        yield Hint("Compile with a higher limit, to see:", suggest("memory", use.asked, "--try", "vmem"))
    if use.rows:
        available = f" of {format_bytes(use.available_bytes)}" if use.available_bytes else ""
        yield f"Main memory is another matter; the compiler planned {format_bytes(use.needed_bytes)}{available}:"


def _say(use: MemoryUse) -> str:
    if use.refusal is not None and use.refusal.space != HBM:
        return f"{use.program} does not compile for {title(use.target)}: {use.refusal.sentence}."
    where = f"{use.stage.join(use.program)} on {title(use.target)}, per device:"
    if use.stage.shapes != "of one device":
        return _say_global(use)
    if use.gap:
        said = f"{where} takes {format_bytes(use.needed_bytes)} for arguments and results"
        return f"{said}, and temporaries besides that are not told: {use.gap}."
    if not use.needed_bytes:
        return f"{where} the compiler gave up before it planned the memory."
    needs = f"{where} needs {format_bytes(use.needed_bytes)}"
    if use.available_bytes is None:
        return f"{needs}; what there is depends on the machine."
    said = f"{needs}, has {format_bytes(use.available_bytes)}."
    return f"{said} It fits." if use.fits else f"{said} It does not fit."


def _say_global(use: MemoryUse) -> str:
    said = f"{use.stage.join(use.program)} on {title(use.target)}: arguments and results have "
    said += format_bytes(use.global_bytes)
    if use.stage.shapes == "unknown":
        return f"{said}; whether the shapes are global or those of one of {use.stage.devices} devices is not known."
    said += f" in all, by global shapes. Of that each of {use.stage.devices} devices has "
    said += format_bytes(use.needed_bytes)
    if use.unknown_shards:
        counted = plural(use.unknown_shards, "argument or result", "arguments and results")
        said += f" at most: the module does not say how {counted} {_are(use.unknown_shards)} sharded"
    else:
        said += ", by the shardings of the module"
    return f"{said}. Temporaries are planned after the partitioner, so what it needs is not known."


def _share(use: MemoryUse, number: int) -> str:
    return format_share(number / use.needed_bytes).removesuffix("%")


def _tell_roles(use: MemoryUse) -> Iterator[str]:
    sums = {role: use.sum_roles(role) for role in ROLES}
    donated = sum(row.bytes for row in use.rows if row.donated)
    said = [
        f"{ROLES[role]} {format_bytes(sums[role])}"
        + (f" (of them donated {format_bytes(donated)})" if role == "argument" and donated else "")
        for role in ROLES
        if sums[role]
    ]
    yield f"Together: {', '.join(said)}."
    if any(row.stacked for row in use.rows):
        most = max(use.rows, key=lambda row: row.stacked).stacked
        yield f"`{most} x` is what a loop of {most} trips stacks up, a slice in each."
    if use.available_bytes and use.fits and use.needed_bytes > DEFAULT_SHARE * use.available_bytes:
        yield (
            "Of a GPU's memory JAX takes three quarters unless XLA_PYTHON_CLIENT_MEM_FRACTION says otherwise, and "
            "this program needs more."
        )


def _advise(use: MemoryUse) -> Iterator[Hint]:
    if use.trials or not use.asked or (use.error and (use.refusal is None or use.refusal.space != HBM)):
        return
    offers = (
        (
            "remat",
            use.sum_roles("saved") > use.needed_bytes / 4,
            "What is saved for the backward pass could be computed again, with jax.checkpoint around the layer:",
        ),
        (
            "donate",
            use.undonated_bytes > use.needed_bytes / 20,
            f"{format_bytes(use.undonated_bytes)} of arguments could be donated, for results to take their place:",
        ),
        (
            "schedule",
            use.target.startswith("cpu") and any(cause.kind == "schedule" for cause in use.causes),
            "XLA can order the instructions for a CPU for less memory, and then runs fewer at once:",
        ),
        ("all", use.fits is False, "All that can be tried without a change of yours:"),
    )
    for kind, is_due, text in offers:
        if is_due:
            yield Hint(text, suggest("memory", use.asked, "--try", kind))


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
