"""The compiles of a script in paragraphs and tables: functions, causes, and what helps."""

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
    "shape": "pad it to one shape, or to a few, or leave out what is left over",
    "dtype": "convert it to one type before the call",
    "weak type": "pass the same kind of number each time, such as jnp.float32(x)",
    "PRNG key": "make all keys alike, with jax.random.key",
    "static value": "pass it as an array, unless a shape or a Python branch depends on it",
    "static object": "make it once, or give its class __eq__ and __hash__, or pass what it holds as arguments",
    "structure": "pass containers of one structure, with zeros for what is missing",
    "sharding": "place it before the first call as the results of the step are, with jax.device_put or in_shardings",
    "keyword": "pass it in one way, by position or by keyword",
    "new function": "make the function and jit it once, outside of the loop",
    "jit options": "jit it once, with the same options",
    "setting of JAX": "set it once, before the first call",
    "dropped": "see what drops it, such as jax.clear_caches()",
}
"""Advice on how to save a compile, by the kind of difference."""

_NAME, _WHERE = 24, 36
"""Characters of a name, and of a name with its place."""

_UNTIMED = 3
"""The number of columns without times."""

_NAMED, _ROWS, _SHOWN = 5, 12, 3
"""The number of functions compiled once that are named, and of causes and pieces of advice."""

_MUCH = 0.1
"""The share of a script's time from which on the operations of one line are told."""

CONTROL = ("scan", "while", "while_loop", "cond", "map", "associative_scan")
"""Operations of JAX that run a function of the reader's, which is compiled anew where it is another each time."""


def render(run: Recompiles) -> Iterator[Part]:
    """Yield the sentence, the functions, what made each compile again, and what would save it."""
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
    own = f" and {plural(run.own_compiles, 'operation')} of JAX's own" if run.own_compiles else ""
    said = f"{plural(compiles, 'compile')} of {functions}{own} {share}"
    if not run.functions:
        counted = plural(run.own_compiles, "compile")
        return f"{counted} of operations of JAX's own {share}: it jits no function itself."
    over = [function for function in run.functions if run.at_most is not None and function.compiles > run.at_most]
    if over:
        named = ", ".join(f"{each.name} {each.compiles} times" for each in over)
        return f"{said}; compiled more often than {run.at_most}: {named}."
    if not again:
        return f"{said}: each function once."
    worst = max(again, key=_lost)
    differing = Counter(
        f"{each.argument or 'the function'} ({each.kind})" for call in worst.calls for each in call.differences[:1]
    )
    unlike = sum(len(function.calls) - 1 for function in again)
    lost = f"{format_duration(sum(_lost(each)[0] for each in again))} were for calls"
    told = lost if run.is_timed else plural(unlike, "call")
    return f"{said}; {told} unlike earlier ones, most for {worst.name}, by {differing.most_common(1)[0][0]}."


def _list_functions(run: Recompiles) -> Table:
    many = [function for function in run.functions if len(function.calls) > 1]
    once = [function for function in run.functions if len(function.calls) == 1]
    # Of what is compiled once, what took longest is named, and the rest summed up.
    named = once if len(once) <= _NAMED + 1 else once[:_NAMED]
    rows = [_describe(_call(each), each.calls) for each in (*many, *named)]
    if rest := once[len(named) :]:
        calls = [call for function in rest for call in function.calls]
        rows.append(_describe(f"{len(rest)} more, once each", calls))
    if run.own:
        seconds = sum(each.seconds for each in run.own)
        rows.append(("JAX's own operations", "", str(run.own_compiles), format_duration(seconds), "", "", ""))
    columns = ("function", "traced", "compiled", "time", "trace", "lower", "XLA")
    if not run.is_timed:
        return Table(columns[:_UNTIMED], tuple(row[:_UNTIMED] for row in rows), (1, 2), "Compiles by function")
    return Table(columns, tuple(rows), (1, 2, 3, 4, 5, 6), "Compiles by function, in seconds on this machine")


def _list_causes(run: Recompiles, again: Sequence[TracedFunction]) -> Iterator[Table]:
    rows: list[tuple[str, ...]] = []
    for function in again:
        grouped: dict[tuple[str, ...], list[TracedCall]] = defaultdict(list)
        for call in function.calls[1:]:
            first = call.differences[0]
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
    left = rows[_ROWS:]
    title = "Calls unlike any before" + (f": {_ROWS} of {len(rows)} causes, all with --json" if left else "")
    columns = ("function", "times", "time", "where, and what differed")
    kept = [at for at in range(len(columns)) if run.is_timed or columns[at] != "time"]
    shown = tuple(tuple(row[at] for at in kept) for row in rows[:_ROWS])
    yield Table(tuple(columns[at] for at in kept), shown, (1, 2) if run.is_timed else (1,), title)


def _tell_own(run: Recompiles) -> Iterator[Part]:
    for each in run.own:
        name, count = max(each.operations.items(), key=lambda item: (item[0] in CONTROL, item[1]))
        where = f"at {_shorten_path(each.where)}" if each.where else "somewhere"
        if name in CONTROL and count > 1:
            yield (
                f"JAX's own operations: {name} {where} was compiled {count} times{_cost(run, each)}, with "
                "another function to run each time; under jax.jit it is part of one program."
            )
            return
        if run.is_timed and each.seconds > _MUCH * run.script_seconds:
            many = sum(each.operations.values())
            yield (
                f"JAX's own operations: {many} of the {run.own_compiles} {where}{_cost(run, each)}; run "
                "one by one each is a program, and under jax.jit all are one."
            )
            return


def _cost(run: Recompiles, own: OwnOperations) -> str:
    return f", {format_duration(own.seconds)}" if run.is_timed else ""


def _advise(run: Recompiles, again: Sequence[TracedFunction]) -> Iterator[Hint]:
    lost: dict[str, float] = defaultdict(float)
    for function in again:
        for call in function.calls[1:]:
            lost[call.differences[0].kind] += call.seconds
    for kind, seconds in sorted(lost.items(), key=lambda item: -item[1])[:_SHOWN]:
        taken = f", {format_duration(seconds)}" if run.is_timed else ""
        yield Hint(f"{kind}{taken}: {ADVICE[kind]}.")


def _lost(function: TracedFunction) -> tuple[float, int]:
    """Return how long the calls took that were unlike earlier ones, and how many they are."""
    return sum(call.seconds for call in function.calls[1:]), len(function.calls) - 1


def _call(function: TracedFunction) -> str:
    """Return a function's name with where it is defined, as far as there is room."""
    place = function.defined.rpartition("/")[2]
    return f"{shorten(function.name, max(_WHERE - len(place) - 3, _SHOWN))} ({place})" if place else function.name


def _shorten_path(path: str) -> str:
    """Return a path, or the end of a long one."""
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
    """Return what differed in calls that differ likewise: the first change, and the last."""
    first, last = calls[0].differences[0], calls[-1].differences[0]
    if first.kind == "new function":
        told = "a function made anew, and jitted"
    elif first.kind == "dropped":
        told = "nothing differs: JAX had dropped what it compiled"
    else:
        change = f"{first.before} -> {first.after}"
        if len(calls) > 1 and last.after != first.after:
            change += f", ... -> {last.after}"
        more = f", and {plural(first.more, 'other part')} of it" if first.more else ""
        told = f"{first.argument}: {first.kind} {change}{more}"
    others = [f"{each.argument} ({each.kind})" if each.argument else each.kind for each in calls[0].differences[1:]]
    return f"{told}; also {', '.join(others[:2])}" if others else told
