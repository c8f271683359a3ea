"""The time of a compile in paragraphs and tables: phases, passes, parts of the program, and what helps."""

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


# Of which share of the whole, and above how many seconds, a cost is worth a word.
_SHARE, _SECONDS, _REPEATS = 0.1, 0.5, 4
_LARGE = 1 << 20
_NAME = 42
_SUSPECTS = {
    ("constant_folding", "constant-folding"): (
        "Constant folding took {time}: what is computed from constants alone is computed by the compiler; "
        "pass the arrays as arguments, or compute them before."
    ),
    ("config-assigner", "autotuner", "algorithm-picker"): (
        "Choosing among kernels took {time}: the compiler makes candidates of code for matmuls."
    ),
}


def render(times: CompileTimes) -> Iterator[Part]:
    """Yield the sentence, the tables, and what would help."""
    yield _say(times)
    if times.seconds:
        yield from _tell_times(times)
    yield from _tell_effects(times)
    yield from _tell_parts(times)
    yield from _tell_constants(times)
    yield from _advise(times)


def _tell_times(times: CompileTimes) -> Iterator[Part]:
    if times.is_stepped:
        yield "The times hold the writing of the module after each pass, without which a compile is shorter."
    rows = [(name, format_duration(taken), _percent(taken, times.seconds)) for name, taken in times.phases.items()]
    rows = [row for row, taken in zip(rows, times.phases.values(), strict=True) if taken or times.where == HERE]
    yield Table(("phase", "time", "share"), tuple(rows), (1, 2), f"Where the time goes, {times.where}")
    if times.where == HERE:
        yield "The start of Python, JAX and the compiler is not included."
    yield from _tell_passes(times)


def _say(times: CompileTimes) -> str:
    if not (times.seconds or times.has_both):
        counted = plural(sum(part.after for part in times.parts), "instruction")
        said = f"{times.stage.join(times.program)} for {title(times.target)}: {counted} of HLO. "
        return f"{said}{'' if times.stage.is_final else times.stage.explain() + ' '}What passes did to it is not known."
    if not times.seconds:
        before, after = (sum(getattr(part, name) for part in times.parts) for name in ("before", "after"))
        name = times.stage.join(times.program)
        return f"{name} for {title(times.target)}: {before:,} instructions of HLO became {after:,}."
    ranked = sorted(times.phases.items(), key=lambda item: -item[1])
    where = ", ".join(f"{name} {_percent(taken, times.seconds)}" for name, taken in ranked[:4] if taken)
    verb = "gave up after" if times.error else "took"
    said = (
        f"{times.program} for {title(times.target)}: the compile {verb} {format_duration(times.seconds)} {times.where}"
    )
    said = f"{said}: {where}." if where else f"{said}."
    return f"{said} It does not compile: {times.error}." if times.error else said


def _cut(times: CompileTimes, rows: Sequence[tuple[str, ...]], least: int = FEW) -> tuple[tuple[str, ...], ...]:
    return tuple(rows[: min(times.limit, least)] if times.limit else rows)


def _tell_passes(times: CompileTimes) -> Iterator[Part]:
    if not any(each.seconds for each in times.passes):
        yield "What single passes took was not recorded."
        return
    rows = [
        (
            format_duration(each.seconds),
            _percent(each.seconds, times.seconds),
            str(each.runs),
            str(each.changed),
            shorten(f"{each.name} ({each.pipeline})", _NAME),
        )
        for each in times.passes
    ]
    columns = ("time", "share", "runs", "changed", "pass (pipeline)")
    shown = _cut(times, rows)
    counted = f"{len(shown)} of {len(rows)}, the longest" if len(shown) < len(rows) else "all"
    yield Table(columns, shown, (0, 1, 2, 3), f"Passes: {counted}")


def _tell_effects(times: CompileTimes) -> Iterator[Part]:
    if not times.effects:
        return
    rows = [
        (str(number), str(each.before), str(each.after), shorten(f"{each.name} ({each.pipeline})", _NAME))
        for number, each in enumerate(times.effects, 1)
    ]
    columns = ("", "before", "after", "pass (pipeline)")
    yield Table(columns, tuple(rows), (0, 1, 2), "What changed the module, by instructions")


def _tell_parts(times: CompileTimes) -> Iterator[Part]:
    rows = [
        (
            *(str(number) for number in (part.equations, part.operations, part.before, part.after)),
            str(part.repeats) if part.repeats > 1 else "",
            shorten(part.path or "(none: parameters and the like)", _NAME - 10),
        )
        for part in times.parts
    ]
    last = "optimized" if times.stage.is_final else "this module"
    columns = ("jaxpr", "StableHLO", "HLO", last, "times", "part of the program")
    # A stage that is not told has no operations in any part, and a module that is the only one is told once.
    hidden = set() if times.has_both else {2}
    hidden |= {at for at in range(4) if all(row[at] == "0" for row in rows)}
    known = [at for at in range(len(columns)) if at not in hidden]
    shown = tuple(tuple(row[at] for at in known) for row in _cut(times, rows))
    title = "Operations by part of the program"
    yield Table(tuple(columns[at] for at in known), shown, tuple(range(len(known) - 1)), title)
    repeated = [
        (str(line.times), str(line.operations), shorten_front(line.place, _NAME), shorten(line.text, _NAME))
        for line in times.repeats
    ]
    if repeated:
        yield Table(
            ("times", "operations", "line", ""), _cut(times, repeated, SHORT), (0, 1), "The same line many times"
        )


def _tell_constants(times: CompileTimes) -> Iterator[Part]:
    if not times.constants:
        return
    rows = [
        (format_bytes(each.bytes), shorten(each.type, 24), shorten_front(each.place, _NAME) or "unknown", each.origin)
        for each in times.constants
    ]
    title_ = "Arrays of more than 1 KiB that are a part of the program"
    yield Table(("size", "array", "line", "where from"), _cut(times, rows, SHORT), (0,), title_)


def _advise(times: CompileTimes) -> Iterator[Part]:
    for words, text in _SUSPECTS.items():
        taken = sum(each.seconds for each in times.passes if any(word in each.name for word in words))
        if taken > _SECONDS and taken > _SHARE * times.seconds:
            yield Hint(text.format(time=format_duration(taken)))
    large = [each for each in times.constants if each.bytes >= _LARGE]
    if large:
        total = format_bytes(sum(each.bytes for each in large))
        yield Hint(f"{total} of constants are compiled in: pass such arrays as arguments, and nothing folds them.")
    unrolled = [part for part in times.parts if part.repeats >= _REPEATS]
    if unrolled:
        most = max(unrolled, key=lambda part: part.before)
        yield Hint(f"{most.path} is there {most.repeats} times: jax.lax.scan over stacked parameters compiles it once.")
    if not times.effects and times.has_both:
        yield Hint("What each pass changed:", suggest("passes", times.asked, "--changes"))


def _percent(part: float, whole: float) -> str:
    return format_share(part / whole if whole else 0.0)
