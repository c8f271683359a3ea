"""The printed answer about memory: the verdict, the memory by line, and the remedies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import HBM, close_brackets
from xla_inspect.answers import Hint, Table, say_time, show_time, suggest, tell_scopes
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
"""Rows with less than this share of the memory are summed up in one row."""

DEFAULT_SHARE = 0.75
"""The share of a GPU's memory that JAX allocates by default, according to "GPU memory allocation" on docs.jax.dev."""


def render(use: MemoryUse) -> Iterator[Part]:
    """Yield the printed answer: the verdict, tables of the memory by line, and remedies."""
    yield _say(use)
    if use.error and (use.refusal is None or use.refusal.space != HBM):
        yield from _tell_error(use)
    # Without values at the peak, or with values of no bytes such as tokens, all tables would be empty.
    if not use.rows or not use.needed_bytes:
        return
    first, rest = use.rows[:FEW], use.rows[FEW:]
    # Rows with a tiny share are merged into the last row, since they do not help to save memory.
    small = [row for row in first if row.bytes < SMALL * use.needed_bytes]
    large, rest = tuple(row for row in first if row not in small), (*small, *rest)
    cells: list[tuple[str, ...]] = [
        (format_bytes(row.bytes), _share(use, row.bytes), row.place, row.role, _tell_row(row)) for row in large
    ]
    if rest:
        total = sum(row.bytes for row in rest)
        cells.append((format_bytes(total), _share(use, total), f"{len(rest)} more", "", ""))
    yield Table(("bytes", "%", "line", "purpose", "values at the peak"), tuple(cells), (0, 1))
    if use.basis == "plan":
        yield from _tell_roles(use)
    elif use.basis == "usage report":
        yield "Values that are not live at the same time share memory, so the rows may add up to more than the total."
    yield from use.constraints
    if use.scopes:
        yield tell_scopes(use.scopes, "bytes", format_bytes, "values")
    # Some padding is unavoidable, so only large amounts are shown.
    padded = [row for row in use.rows if row.padding_bytes > max(0.2 * row.bytes, 0.01 * use.needed_bytes)]
    if padded:
        yield Table(
            ("padding", "of", "line", "shape"),
            tuple(
                (format_bytes(row.padding_bytes), format_bytes(row.bytes), row.place, ", ".join(row.shapes[:2]))
                for row in padded[:FEW]
            ),
            (0, 1),
            "Padding: short dimensions are padded to full tiles",
        )
    for cause in use.causes:
        yield str(cause)
        yield Hint(f"Remedy: {cause.remedy}.")
    if use.trials:
        yield from _tell_trials(use)
    yield from _advise(use)


def _tell_error(use: MemoryUse) -> Iterator[Part]:
    """Yield the compiler's message and the remedy for an error that is not about main memory."""
    if use.refusal is None:
        yield f"The compiler reports: {use.error}"
        return
    if use.refusal.text:
        yield f"{use.refusal.place} `{shorten(use.refusal.text, LINE)}`"
    if use.refusal.buffer:
        yield f"The largest buffer is the {use.refusal.buffer}"
    if use.refusal.remedy:
        yield Hint(f"Remedy: {use.refusal.remedy}.")
    if use.refusal.vmem_options and use.asked and not use.trials:
        yield Hint("To compile with a higher limit:", suggest("memory", use.asked, "--try", "vmem"))
    if use.rows:
        available = f" of {format_bytes(use.available_bytes)}" if use.available_bytes else ""
        yield f"The error is not about main memory. The program needs {format_bytes(use.needed_bytes)}{available}:"


def _say(use: MemoryUse) -> str:
    if use.refusal is not None and use.refusal.space != HBM:
        return f"{use.program} does not compile for {title(use.target)}: {use.refusal.sentence}."
    subject = f"{use.stage.join(use.program)} on {title(use.target)}"
    # Global shapes would overstate the memory of one device.
    if use.stage.shapes != "of one device":
        return _say_global(use)
    size = format_bytes(use.needed_bytes)
    if use.gap or use.basis == "live ranges":
        needs = f"{subject} needs {size} per device for arguments and results. The size of its temporaries is not known"
        live = f"{subject}: the values at the peak have {size}. The memory that the program needs is not known"
        return f"{needs}: {use.gap}." if use.gap else f"{live}: live ranges do not show which values share memory."
    # An error before the memory plan leaves no bytes to report.
    if not use.needed_bytes:
        return f"{subject}: the compiler failed before it planned the memory."
    needs = f"{subject} needs {format_bytes(use.needed_bytes)} per device"
    if use.available_bytes is None:
        return f"{needs}; the available memory depends on the machine."
    verdict = {True: " and fits in", False: " and does not fit in", None: " of"}[use.fits]
    return f"{needs}{verdict} the {format_bytes(use.available_bytes)} available."


def _say_global(use: MemoryUse) -> str:
    """Return the summary for a module whose shapes are global (of all devices together), or may be."""
    size = format_bytes(use.global_bytes)
    subject = f"{use.stage.join(use.program)} on {title(use.target)}: the arguments and results have {size}"
    if use.stage.shapes == "unknown":
        return f"{subject}. It is not known if the shapes are global or those of one of {use.stage.devices} devices."
    share = f"{subject} in total. Each of the {use.stage.devices} devices stores"
    if use.unknown_shards:
        count = plural(use.unknown_shards, "argument or result", "arguments and results")
        share = f"{share} at most {format_bytes(use.needed_bytes)}, since the module has no sharding for {count}"
    else:
        share = f"{share} {format_bytes(use.needed_bytes)}, according to the module's shardings"
    return f"{share}. The compiler plans temporaries after partitioning, so the total need is not known."


def _share(use: MemoryUse, number: int) -> str:
    return format_share(number / use.needed_bytes).removesuffix("%")


def _tell_roles(use: MemoryUse) -> Iterator[str]:
    sums = {role: use.sum_roles(role) for role in ROLES}
    donated = sum(row.bytes for row in use.rows if row.donated)
    totals = [
        f"{ROLES[role]} {format_bytes(sums[role])}"
        + (f" ({format_bytes(donated)} donated)" if role == "argument" and donated else "")
        for role in ROLES
        if sums[role]
    ]
    yield f"By purpose: {', '.join(totals)}."
    if any(row.stacked for row in use.rows):
        most = max(use.rows, key=lambda row: row.stacked).stacked
        yield f"`{most} x` marks an array in which a loop of {most} iterations stores one slice per iteration."
    # A program that fits in the memory of the device may still exceed JAX's share of it.
    if use.available_bytes and use.fits and use.needed_bytes > DEFAULT_SHARE * use.available_bytes:
        yield (
            "This program needs more than the three quarters of a GPU's memory that JAX allocates by default; set "
            "XLA_PYTHON_CLIENT_MEM_FRACTION to a larger share."
        )


def _advise(use: MemoryUse) -> Iterator[Hint]:
    # Changes that save main memory do not help if another memory is too small.
    if use.trials or not use.asked or (use.error and (use.refusal is None or use.refusal.space != HBM)):
        return
    offers = (
        (
            "remat",
            # A change is suggested only if it could save a noticeable share of the memory.
            use.sum_roles("saved") > use.needed_bytes / 4,
            "To recompute values in the backward pass instead of saving them, put jax.checkpoint around the layer:",
        ),
        (
            "donate",
            use.undonated_bytes > use.needed_bytes / 20,
            f"To let results reuse the memory of arguments, donate {format_bytes(use.undonated_bytes)} of arguments:",
        ),
        (
            "schedule",
            use.target.startswith("cpu") and any(cause.kind == "schedule" for cause in use.causes),
            "To save memory on a CPU, let XLA order the instructions for less memory and less parallelism:",
        ),
        ("all", use.fits is False, "To try every change that needs no edit of your code:"),
    )
    for kind, is_due, text in offers:
        if is_due:
            yield Hint(text, suggest("memory", use.asked, "--try", kind))


def _tell_row(row: MemoryRow) -> str:
    few, more = row.shapes[:SHAPES], len(row.shapes) - SHAPES
    shapes = ", ".join((*few, f"{more} more") if more > 0 else few)
    donated = "donated, " if row.donated else ""
    return " ".join(
        filter(None, (f"`{shorten(close_brackets(row.code), LINE)}`" if row.code else "", donated + shapes))
    )


def _tell_trials(use: MemoryUse) -> Iterator[Part]:
    """Yield the table of the tried changes, with their times if there are estimates."""
    rows = tuple(map(_tell_trial, use.trials))
    if not use.times:
        # Without any estimate, the column of times would be empty.
        rows = tuple((*row[:2], row[3]) for row in rows)
    columns = ("needs", "fits", *(("time",) if use.times else ()), "change")
    yield Table(columns, rows, (0,), "Memory with each change, compiled to measure it")
    if use.times:
        own = f"Without a change, a step takes {say_time(use.time)}. " if use.time else ""
        yield f"{own}{use.times}"


def _tell_trial(trial: MemoryTrial) -> tuple[str, ...]:
    needs = format_bytes(trial.needed_bytes) if trial.needed_bytes is not None else "?"
    fits = {True: "yes", False: "no", None: "?"}[trial.fits]
    return needs, fits, show_time(trial.time), f"{trial.change}: {trial.note}" if trial.note else trial.change
