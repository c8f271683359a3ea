"""The printed answer about compile time: phases, passes, parts of the program, and remedies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import Hint, Table, suggest
from xla_inspect.plural import plural
from xla_inspect.questions.passes.finding import FEW, HERE, SHORT, CompileTimes
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_duration, format_share, shorten, shorten_front

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Part


# A cost below this share of the total, or below this many seconds, is not worth a hint.
_SHARE, _SECONDS, _REPEATS = 0.1, 0.5, 4
_LARGE = 1 << 20
_NAME = 42
_SUSPECTS = {
    ("constant_folding", "constant-folding"): (
        "Constant folding took {time}: the compiler computes operations whose operands are all constants. Pass the "
        "arrays as arguments, or compute them before the call."
    ),
    ("config-assigner", "autotuner", "algorithm-picker"): (
        "Choosing kernels took {time}: the compiler generates several candidates for each matmul."
    ),
}


def render(times: CompileTimes) -> Iterator[Part]:
    """Yield the printed answer: a summary, tables of phases, passes and program parts, and remedies."""
    yield _say(times)
    if times.seconds:
        yield from _tell_times(times)
    yield from _tell_effects(times)
    yield from _tell_parts(times)
    yield from _tell_constants(times)
    yield from _advise(times)


def _tell_times(times: CompileTimes) -> Iterator[Part]:
    if times.is_stepped:
        yield "The times include dumping the module after each pass; a normal compilation is shorter."
    rows = [
        (name, format_duration(seconds), _percent(seconds, times.seconds)) for name, seconds in times.phases.items()
    ]
    # A dump does not record the times of all phases, so its empty phases are hidden.
    rows = [row for row, seconds in zip(rows, times.phases.values(), strict=True) if seconds or times.where == HERE]
    yield Table(("phase", "time", "share"), tuple(rows), (1, 2), f"Time by phase, {times.where}")
    if times.where == HERE:
        yield "The startup of Python, JAX and the compiler is not included."
    yield from _tell_passes(times)


def _say(times: CompileTimes) -> str:
    if not (times.seconds or times.has_both):
        count = plural(sum(part.after for part in times.parts), "HLO instruction")
        summary = f"{times.stage.join(times.program)} for {title(times.target)}: {count}. "
        stage = "" if times.stage.is_final else f"{times.stage.explain()} "
        return f"{summary}{stage}The changes of the passes are not known."
    # Without times, only the sizes of the modules describe the compilation.
    if not times.seconds:
        before, after = (sum(getattr(part, name) for part in times.parts) for name in ("before", "after"))
        name = times.stage.join(times.program)
        return f"{name} for {title(times.target)}: {plural(before, 'HLO instruction')} became {after:,}."
    ranked = sorted(times.phases.items(), key=lambda item: -item[1])
    shares = ", ".join(f"{name} {_percent(seconds, times.seconds)}" for name, seconds in ranked[:4] if seconds)
    # The time of a failed compilation ends at the error.
    verb = "failed after" if times.error else "took"
    summary = (
        f"Compiling {times.program} for {title(times.target)} {verb} {format_duration(times.seconds)} {times.where}"
    )
    summary = f"{summary}: {shares}." if shares else f"{summary}."
    return f"{summary} The error: {times.error}." if times.error else summary


def _cut(times: CompileTimes, rows: Sequence[tuple[str, ...]], least: int = FEW) -> tuple[tuple[str, ...], ...]:
    return tuple(rows[: min(times.limit, least)] if times.limit else rows)


def _tell_passes(times: CompileTimes) -> Iterator[Part]:
    # A capture may list the runs of the passes without their times.
    if not any(pass_time.seconds for pass_time in times.passes):
        yield "The times of single passes were not recorded."
        return
    rows = [
        (
            format_duration(pass_time.seconds),
            _percent(pass_time.seconds, times.seconds),
            str(pass_time.runs),
            str(pass_time.changed),
            shorten(f"{pass_time.name} ({pass_time.pipeline})", _NAME),
        )
        for pass_time in times.passes
    ]
    columns = ("time", "share", "runs", "changed", "pass (pipeline)")
    longest = _cut(times, rows)
    count = f"the {len(longest)} longest of {len(rows)}" if len(longest) < len(rows) else "all"
    yield Table(columns, longest, (0, 1, 2, 3), f"Passes: {count}")


def _tell_effects(times: CompileTimes) -> Iterator[Part]:
    if not times.effects:
        return
    rows = [
        (str(number), str(effect.before), str(effect.after), shorten(f"{effect.name} ({effect.pipeline})", _NAME))
        for number, effect in enumerate(times.effects, 1)
    ]
    columns = ("", "before", "after", "pass (pipeline)")
    yield Table(columns, tuple(rows), (0, 1, 2), "Passes that changed the module, with its number of instructions")


def _tell_parts(times: CompileTimes) -> Iterator[Part]:
    rows = [
        (
            *(str(number) for number in (part.equations, part.operations, part.before, part.after)),
            str(part.repeats) if part.repeats > 1 else "",
            shorten(part.path or "(none, such as parameters)", _NAME - 10),
        )
        for part in times.parts
    ]
    last = "optimized" if times.stage.is_final else "this module"
    columns = ("jaxpr", "StableHLO", "HLO", last, "copies", "part of the program")
    # A missing stage has no operations in any part. If there is only one module, its column must not appear twice.
    hidden = set() if times.has_both else {2}
    hidden |= {at for at in range(4) if all(row[at] == "0" for row in rows)}
    visible = [at for at in range(len(columns)) if at not in hidden]
    cells = tuple(tuple(row[at] for at in visible) for row in _cut(times, rows))
    title = "Operations by part of the program"
    yield Table(tuple(columns[at] for at in visible), cells, tuple(range(len(visible) - 1)), title)
    repeated = [
        (str(line.times), str(line.operations), shorten_front(line.place, _NAME), shorten(line.text, _NAME))
        for line in times.repeats
    ]
    if repeated:
        yield Table(
            ("copies", "operations", "line", ""), _cut(times, repeated, SHORT), (0, 1), "Lines with many copies"
        )


def _tell_constants(times: CompileTimes) -> Iterator[Part]:
    if not times.constants:
        return
    rows = [
        (
            format_bytes(constant.bytes),
            shorten(constant.type, 24),
            shorten_front(constant.place, _NAME) or "unknown",
            constant.origin,
        )
        for constant in times.constants
    ]
    title_ = "Arrays of more than 1 KiB that are embedded in the program"
    yield Table(("size", "array", "line", "origin"), _cut(times, rows, SHORT), (0,), title_)


def _advise(times: CompileTimes) -> Iterator[Part]:
    for words, text in _SUSPECTS.items():
        seconds = sum(pass_time.seconds for pass_time in times.passes if any(word in pass_time.name for word in words))
        # A large share of a very short compilation is not worth a change.
        if seconds > _SECONDS and seconds > _SHARE * times.seconds:
            yield Hint(text.format(time=format_duration(seconds)))
    large = [constant for constant in times.constants if constant.bytes >= _LARGE]
    if large:
        total = format_bytes(sum(constant.bytes for constant in large))
        yield Hint(f"To avoid {total} of constants in the program, pass these arrays as arguments.")
    # Parts that differ only in their numbers are usually unrolled layers.
    unrolled = [part for part in times.parts if part.repeats >= _REPEATS]
    if unrolled:
        # The part with the most instructions most likely costs the most compile time.
        most = max(unrolled, key=lambda part: part.before)
        yield Hint(
            f"To compile {most.path} once instead of {most.repeats} times, use jax.lax.scan over stacked parameters."
        )
    if not times.effects and times.has_both:
        yield Hint("To see the effect of each pass:", suggest("passes", times.asked, "--changes"))


def _percent(part: float, whole: float) -> str:
    return format_share(part / whole if whole else 0.0)
