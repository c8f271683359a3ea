"""The printed comparison of two captures: paragraphs and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import Table, tell_unknown_work
from xla_inspect.plural import plural
from xla_inspect.questions.diff.times_by_line import tell_times
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_duration, shorten, shorten_front

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Part
    from xla_inspect.questions.diff.difference import Amount, Difference, LineChange


_LONGEST_NAME = 15
_LONGEST_KIND = 26
_MOST_ROWS = 20
_BY_KIND = {"kernels", "instructions"}
_WEIGHTIEST = ("kernels", "peak memory", "collectives", "bytes exchanged", "flops", "bytes moved")
"""The names of the amounts in the order in which the summary lists their differences."""


def render(difference: Difference) -> Iterator[Part]:
    """Yield the printed comparison: a summary, the cause, a table of numbers, and the changes by line."""
    yield _sum_up(difference)
    yield _explain(difference)
    for side in (difference.left, difference.right):
        if side.error:
            yield f"{side.name} does not compile: {shorten(side.error.partition(chr(10))[0], 200)}"
    # Equal instructions have equal counts, so the tables would be empty, as they are for a failed side.
    if difference.is_same_result or _name_failed(difference):
        return
    heads = tuple(shorten_front(side.name, _LONGEST_NAME) for side in (difference.left, difference.right))
    instructions = tuple((amount.left, amount.right, amount.where) for amount in difference.instructions[:_MOST_ROWS])
    if instructions:
        yield Table((*heads, "line"), instructions, (), "Different instructions")
    if omitted := difference.instructions[_MOST_ROWS:]:
        yield f"{plural(len(omitted), 'more instruction differs', 'more instructions differ')}; --json lists all."
    rows = []
    for amount in difference.amounts:
        rows += [_write_row(amount)] if amount.left or amount.right else []
        # The kinds are shown below the total that they add up to.
        rows += [_write_row(kind, "  ") for kind in difference.kinds] if amount.name in _BY_KIND else []
    if difference.left.compile_seconds or difference.right.compile_seconds:
        before, after = (format_duration(side.compile_seconds) for side in (difference.left, difference.right))
        rows.append(("compile time", before, after, ""))
    scope = "per device" if difference.is_counted_by_device else "in the module"
    yield Table((scope, *heads, "change"), tuple(rows), (1, 2, 3))
    yield from tell_unknown_work(difference.unknown_work)
    if difference.times:
        yield from tell_times(difference.times, heads)
    yield from _list_changes("Kernels by line", difference.kernels, heads, "kernel")
    yield from _list_changes("Runs of collectives by line", difference.collectives, heads, "collective")
    yield from _list_changes("Memory at the peak by line", difference.memory, heads, "purpose", in_bytes=True)


def _write_row(amount: Amount, indent: str = "") -> tuple[str, str, str, str]:
    return (f"{indent}{amount.name}", amount.show(amount.left), amount.show(amount.right), amount.change)


def _sum_up(difference: Difference) -> str:
    same = difference.left.program == difference.right.program
    program = difference.left.program if same else f"{difference.left.program} and {difference.right.program}"
    sides = f"{program}, {difference.left.name} -> {difference.right.name}"
    # Modules without launches have no counts of kernels, so their instructions are compared.
    if by_module := _name_failed(difference) or _sum_up_modules(difference):
        return f"{sides}: {by_module}."
    if difference.is_same_result and difference.holds:
        return f"{sides}: both programs are the same, instruction by instruction."
    if difference.holds:
        return f"{sides}: no count differs."
    differing = [amount for amount in difference.amounts if not amount.is_same]
    if differing:
        # The summary has room for few numbers, so the most expensive kinds come first.
        order = {name: at for at, name in enumerate(_WEIGHTIEST)}
        differing.sort(key=lambda amount: order.get(amount.name, len(order)))
        return f"{sides}: {'; '.join(f'{amount.name.strip()} {_change(amount)}' for amount in differing[:4])}."
    if difference.kernels or difference.collectives or difference.memory:
        return f"{sides}: the same number of kernels and bytes, but for different lines."
    return f"{sides}: the same number of kernels and bytes, but {_count_instructions(difference)}."


def _name_failed(difference: Difference) -> str:
    """Return which sides do not compile, as a clause, or an empty string if there are counts to compare."""
    failed = [side.name for side in (difference.left, difference.right) if side.error and not difference.amounts]
    return f"{' and '.join(failed)} {'does' if len(failed) == 1 else 'do'} not compile" if failed else ""


def _sum_up_modules(difference: Difference) -> str:
    """Return the summary for modules that are compared by their instructions, or an empty string."""
    lacking = [side.name for side in (difference.left, difference.right) if side.stage.name == "none"]
    if lacking:
        return f"{' and '.join(lacking)} {'has' if len(lacking) == 1 else 'have'} no optimized module to compare"
    counts = next((amount for amount in difference.amounts if amount.name == "instructions"), None)
    if counts and difference.left.stage.name != difference.right.stage.name:
        return f"two stages of a compilation, with {counts.left:,.0f} and {plural(int(counts.right), 'instruction')}"
    if not difference.instructions:
        return ""
    first = difference.instructions[0]
    where = f" ({first.where})" if first.where else ""
    what = plural(len(difference.instructions), "instruction")
    more = "" if len(difference.instructions) == 1 else "the first is "
    return f"the programs differ in {what}; {more}{first.left or 'none'} -> {first.right or 'none'}{where}"


def _count_instructions(difference: Difference) -> str:
    parts = [
        plural(number or 0, "instruction") + f" {verb}"
        for number, verb in (
            (difference.added, "added"),
            (difference.removed, "removed"),
            (difference.changed, "changed"),
        )
        if number
    ]
    return ", ".join(parts) or "the instructions are in a different order"


def _explain(difference: Difference) -> str:
    sentences = [
        {
            True: f"Your code is the same: the compiler received the same {difference.given_as}.",
            False: f"Your code differs: the compiler received different {difference.given_as}.",
            None: "It is not known if your code is the same, since a side lacks the unoptimized module.",
        }[difference.is_same_code]
    ]
    stages = [side.stage.title for side in (difference.left, difference.right)]
    if stages != ["optimized", "optimized"] and not (difference.left.error or difference.right.error):
        same = stages[0] == stages[1]
        sentences.append(
            f"Both modules are {stages[0]}." if same else f"The modules are {stages[0]} and {stages[1]}, respectively."
        )
    if difference.left.target != difference.right.target and "unknown" not in {
        difference.left.target,
        difference.right.target,
    }:
        sentences.append(f"The targets are {title(difference.left.target)} and {title(difference.right.target)}.")
    for text, differing, is_known in (
        ("The compiler differs", difference.versions, difference.is_compiler_known),
        ("The compiler options differ", difference.options, difference.are_options_known),
    ):
        if differing and is_known:
            pairs = ", ".join(f"{one.name} {one.left or 'none'} -> {one.right or 'none'}" for one in differing)
            sentences.append(f"{text}: {pairs}.")
    sentences += _explain_unknown(difference)
    if difference.added is not None and (difference.added or difference.removed or difference.changed):
        sentences.append(f"The {_name_module(difference)} has {_count_instructions(difference)}.")
    return " ".join(sentences)


def _name_module(difference: Difference) -> str:
    return "optimized program" if difference.left.stage.is_final and difference.right.stage.is_final else "module"


def _explain_unknown(difference: Difference) -> Iterator[str]:
    """Yield a sentence if the compiler and its options are the same, or if one of them is unknown."""
    unknown = [
        name
        for name, is_known in (("compiler", difference.is_compiler_known), ("options", difference.are_options_known))
        if not is_known
    ]
    if unknown:
        yield f"The {' and the '.join(unknown)} of the files {'is' if unknown == ['compiler'] else 'are'} not known."
    elif (
        not (difference.versions or difference.options)
        and difference.left.target == difference.right.target != "unknown"
    ):
        yield "The compiler and its options are the same."


def _change(amount: Amount) -> str:
    """Return both numbers as text, `3 -> 5`, or their difference if rounding makes them look equal."""
    before, after = amount.show(amount.left), amount.show(amount.right)
    return f"{before} -> {after}" if before != after else amount.change


def _list_changes(
    name: str, changes: Sequence[LineChange], heads: tuple[str, ...], what: str, *, in_bytes: bool = False
) -> Iterator[Part]:
    """Yield a table of the lines with the largest changes first, and a sentence about omitted lines, if any."""
    if not changes:
        return
    ordered = sorted(changes, key=lambda change: -abs(change.right - change.left))
    show = format_bytes if in_bytes else str
    rows = tuple(
        (show(change.left), show(change.right), shorten(change.what, _LONGEST_KIND), change.where)
        for change in ordered[:_MOST_ROWS]
    )
    yield Table((*heads, what, "line"), rows, (0, 1), name)
    if len(ordered) > _MOST_ROWS:
        yield f"{plural(len(ordered) - _MOST_ROWS, 'more line')} with smaller changes; --json lists all lines."
