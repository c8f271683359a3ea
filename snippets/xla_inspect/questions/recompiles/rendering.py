"""The printed answer about recompilations: functions, causes and remedies."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from xla_inspect.answers import Hint, Table
from xla_inspect.plural import plural
from xla_inspect.units import format_duration, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.answers import Part
    from xla_inspect.questions.recompiles.finding import Recompiles
    from xla_inspect.questions.recompiles.traced_calls import OwnOperations, TracedCall, TracedFunction


ADVICE: Mapping[str, str] = {
    "shape": "pad the argument to one shape or a few shapes, or drop an incomplete last batch",
    "dtype": "convert the argument to one type before the call",
    "weak type": "pass the same kind of number each time, such as jnp.float32(x)",
    "PRNG key": "create all keys in the same way, with jax.random.key",
    "static value": "pass the value as an array, unless a shape or a Python branch depends on it",
    "static object": "create the object once, give its class __eq__ and __hash__, or pass its contents as arguments",
    "structure": "pass containers of one structure, with zeros for missing values",
    "sharding": "shard the argument like the result before the first call, with jax.device_put or in_shardings",
    "keyword": "always pass the argument by position, or always by keyword",
    "new function": "create and jit the function once, outside of the loop",
    "jit options": "jit the function once, with the same options",
    "setting of JAX": "change the setting once, before the first call",
    "dropped": "find the call that drops the compiled program, such as jax.clear_caches()",
}
"""Remedies against recompilation, by the kind of difference."""

_NAME, _WHERE = 24, 36
"""The longest printed name, and the longest name with its place, in characters."""

_UNTIMED = 3
"""The number of the first columns, which contain no times."""

_NAMED, _ROWS, _SHOWN = 5, 12, 3
"""The largest numbers of rows for functions compiled once, of rows for causes, and of hints."""

_MUCH = 0.1
"""If the operations of one line take at least this share of a script's time, the answer mentions the line."""

CONTROL = ("scan", "while", "while_loop", "cond", "map", "associative_scan")
"""Operations of JAX that call a user's function. They are compiled again if the function object is a new one."""


def render(run: Recompiles) -> Iterator[Part]:
    """Yield the printed answer: a summary, tables of functions and causes of recompilations, and remedies."""
    again = [function for function in run.functions if len(function.calls) > 1]
    yield _say_all(run, again)
    if run.functions or run.own:
        yield _list_functions(run)
    if again:
        yield from _list_causes(run, again)
    yield from _tell_own(run)
    yield from _advise(run, again)


def _say_all(run: Recompiles, again: Sequence[TracedFunction]) -> str:
    compiles = sum(function.compiles for function in run.functions)
    functions = plural(len(run.functions), "function")
    script = _shorten_path(run.script)
    whole = format_duration(run.script_seconds)
    took = f"took {format_duration(run.seconds)} of the {whole} of {script} on this machine"
    share = took if run.is_timed else f"in {script}"
    own = f" and {plural(run.own_compiles, 'JAX operation')} outside of jit" if run.own_compiles else ""
    summary = f"{plural(compiles, 'compilation')} of {functions}{own} {share}"
    # A script may run JAX's operations without jitting any function.
    if not run.functions:
        count = plural(run.own_compiles, "compilation")
        return f"{count} of JAX operations outside of jit {share}; the script jits no function."
    over = [function for function in run.functions if run.at_most is not None and function.compiles > run.at_most]
    if over:
        names = ", ".join(f"{function.name} {function.compiles} times" for function in over)
        return f"{summary}. Compiled more than {plural(run.at_most or 0, 'time')}: {names}."
    if not again:
        return f"{summary}. No function was compiled again."
    # The number of calls decides if the times are omitted or equal.
    worst = max(again, key=_lost)
    differing = Counter(
        f"{difference.argument or 'the function'} ({difference.kind})"
        for call in worst.calls
        for difference in call.differences[:1]
    )
    # The first compilation of a function is not a recompilation.
    repeats = sum(len(function.calls) - 1 for function in again)
    cost = f"{plural(repeats, 'recompilation')} took {format_duration(sum(_lost(function)[0] for function in again))}"
    if not run.is_timed:
        cost = f"There {'was' if repeats == 1 else 'were'} {plural(repeats, 'recompilation')}"
    mainly = "mainly " if repeats > 1 else ""
    return f"{summary}. {cost}, {mainly}of {worst.name} because of {differing.most_common(1)[0][0]}."


def _list_functions(run: Recompiles) -> Table:
    many = [function for function in run.functions if len(function.calls) > 1]
    once = [function for function in run.functions if len(function.calls) == 1]
    # The slowest functions that were compiled once have rows of their own. One row sums up the others.
    slowest = once if len(once) <= _NAMED + 1 else once[:_NAMED]
    rows = [_describe(_call(function), function.calls) for function in (*many, *slowest)]
    if rest := once[len(slowest) :]:
        calls = [call for function in rest for call in function.calls]
        rows.append(_describe(f"{len(rest)} more functions, once each", calls))
    if run.own:
        seconds = sum(operations.seconds for operations in run.own)
        rows.append(("JAX operations outside of jit", "", str(run.own_compiles), format_duration(seconds), "", "", ""))
    columns = ("function", "traced", "compiled", "time", "trace", "lower", "XLA")
    if not run.is_timed:
        return Table(columns[:_UNTIMED], tuple(row[:_UNTIMED] for row in rows), (1, 2), "Compilations by function")
    return Table(columns, tuple(rows), (1, 2, 3, 4, 5, 6), "Compilations by function, with times on this machine")


def _list_causes(run: Recompiles, again: Sequence[TracedFunction]) -> Iterator[Table]:
    rows: list[tuple[str, ...]] = []
    for function in again:
        grouped: dict[tuple[str, ...], list[TracedCall]] = defaultdict(list)
        for call in function.calls[1:]:
            first = call.differences[0]
            # The first difference is the most important one, so it decides the group.
            grouped[(call.where, first.kind, first.argument)].append(call)
        for (where, *_), calls in sorted(
            grouped.items(), key=lambda item: (-sum(call.seconds for call in item[1]), -len(item[1]))
        ):
            seconds = sum(call.seconds for call in calls)
            what = _tell_difference(calls)
            rows.append(
                (
                    shorten(function.name, _NAME),
                    str(len(calls)),
                    format_duration(seconds),
                    f"{_shorten_path(where)}: {what}",
                )
            )
    omitted = rows[_ROWS:]
    title = "Causes of recompilation" + (f": {_ROWS} of {len(rows)}; --json lists all" if omitted else "")
    columns = ("function", "calls", "time", "line and difference")
    # Without times, their column would be empty.
    visible = [at for at in range(len(columns)) if run.is_timed or columns[at] != "time"]
    cells = tuple(tuple(row[at] for at in visible) for row in rows[:_ROWS])
    yield Table(tuple(columns[at] for at in visible), cells, (1, 2) if run.is_timed else (1,), title)


def _tell_own(run: Recompiles) -> Iterator[Part]:
    for entry in run.own:
        # A control-flow operation is the more useful example, since each of its calls may compile a whole loop.
        name, count = max(entry.operations.items(), key=lambda item: (item[0] in CONTROL, item[1]))
        where = f"at {_shorten_path(entry.where)}" if entry.where else "at an unknown line"
        if name in CONTROL and count > 1:
            yield (
                f"The JAX operation {name} {where} was compiled {count} times{_cost(run, entry)}, each time with a new "
                "function object. Inside jax.jit, it would be part of one program."
            )
            return
        if run.is_timed and entry.seconds > _MUCH * run.script_seconds:
            many = sum(entry.operations.values())
            yield (
                f"{many} of the {plural(run.own_compiles, 'JAX operation')} outside of jit "
                f"{'is' if many == 1 else 'are'} {where}{_cost(run, entry)}. Each of these operations is a separate "
                "program; inside jax.jit, all of them would be one program."
            )
            return


def _cost(run: Recompiles, own: OwnOperations) -> str:
    return f", {format_duration(own.seconds)}" if run.is_timed else ""


def _advise(run: Recompiles, again: Sequence[TracedFunction]) -> Iterator[Hint]:
    seconds_by_kind: dict[str, float] = defaultdict(float)
    for function in again:
        for call in function.calls[1:]:
            seconds_by_kind[call.differences[0].kind] += call.seconds
    for kind, seconds in sorted(seconds_by_kind.items(), key=lambda item: -item[1])[:_SHOWN]:
        time = f" ({format_duration(seconds)})" if run.is_timed else ""
        yield Hint(f"Remedy for {kind}{time}: {ADVICE[kind]}.")


def _lost(function: TracedFunction) -> tuple[float, int]:
    """Return the seconds and the number of a function's calls after the first, which needed a recompilation."""
    return sum(call.seconds for call in function.calls[1:]), len(function.calls) - 1


def _call(function: TracedFunction) -> str:
    """Return a function's name and the place of its definition, shortened to fit."""
    place = function.defined.rpartition("/")[2]
    return f"{shorten(function.name, max(_WHERE - len(place) - 3, _SHOWN))} ({place})" if place else function.name


def _shorten_path(path: str) -> str:
    """Return a path, or `…/` and its last part if it is long."""
    # The file name and the line say more about a place than the first folders do.
    return path if len(path) <= _WHERE else f"…/{path.rpartition('/')[2]}"


def _describe(name: str, calls: Sequence[TracedCall]) -> tuple[str, ...]:
    return (
        name,
        str(sum(call.traces for call in calls)),
        str(sum(call.compiles for call in calls)),
        format_duration(sum(call.seconds for call in calls)),
        format_duration(sum(call.tracing_seconds for call in calls)),
        format_duration(sum(call.lowering_seconds for call in calls)),
        format_duration(sum(call.compiling_seconds for call in calls)),
    )


def _tell_difference(calls: Sequence[TracedCall]) -> str:
    """Return a sentence about calls that differ in the same way, with the first and the last change."""
    first, last = calls[0].differences[0], calls[-1].differences[0]
    if first.kind == "new function":
        text = "a new function object was jitted"
    elif first.kind == "dropped":
        text = "no difference; JAX had dropped the compiled program"
    else:
        change = f"{first.before} -> {first.after}"
        if len(calls) > 1 and last.after != first.after:
            change += f", ... -> {last.after}"
        more = f", and {plural(first.more, 'other part')} of it" if first.more else ""
        text = f"{first.argument}: {first.kind} {change}{more}"
    others = [
        f"{difference.argument} ({difference.kind})" if difference.argument else difference.kind
        for difference in calls[0].differences[1:]
    ]
    return f"{text}; also {', '.join(others[:2])}" if others else text
