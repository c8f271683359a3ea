"""The difference of two captures in paragraphs and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import Table
from xla_inspect.plural import plural
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
"""The differences that the sentence names first."""


def render(difference: Difference) -> Iterator[Part]:
    """Yield the sentence, why, the numbers, and what changed by line."""
    yield _sum_up(difference)
    yield _explain(difference)
    for side in (difference.left, difference.right):
        if side.error:
            yield f"{side.name} does not compile: {shorten(side.error.partition(chr(10))[0], 200)}"
    if difference.is_same_result:
        return
    heads = tuple(shorten_front(side.name, _LONGEST_NAME) for side in (difference.left, difference.right))
    shown = tuple((each.left, each.right, each.where) for each in difference.instructions[:_MOST_ROWS])
    if shown:
        yield Table((*heads, "line"), shown, (), "Instructions that differ")
    if left := difference.instructions[_MOST_ROWS:]:
        yield f"{plural(len(left), 'more instruction')} that differ; --json has all."
    rows = []
    for each in difference.amounts:
        rows += [_write_row(each)] if each.left or each.right else []
        rows += [_write_row(kind, "  ") for kind in difference.kinds] if each.name in _BY_KIND else []
    if difference.left.compile_seconds or difference.right.compile_seconds:
        before, after = (format_duration(side.compile_seconds) for side in (difference.left, difference.right))
        rows.append(("compile, this machine", before, after, ""))
    counted = "per device" if difference.is_counted_by_device else "in the module"
    yield Table((counted, *heads, "change"), tuple(rows), (1, 2, 3))
    yield from _list_changes("Kernels by line", difference.kernels, heads, "kernel")
    yield from _list_changes("Collectives by line, times that they run", difference.collectives, heads, "collective")
    yield from _list_changes("Memory at the peak by line", difference.memory, heads, "what", in_bytes=True)


def _write_row(each: Amount, indent: str = "") -> tuple[str, str, str, str]:
    return (f"{indent}{each.name}", each.show(each.left), each.show(each.right), each.change)


def _sum_up(difference: Difference) -> str:
    same = difference.left.program == difference.right.program
    program = difference.left.program if same else f"{difference.left.program} and {difference.right.program}"
    said = f"{program}, {difference.left.name} -> {difference.right.name}"
    if by_module := _sum_up_modules(difference):
        return f"{said}: {by_module}."
    if difference.is_same_result and difference.holds:
        return f"{said}: the same, instruction by instruction."
    if difference.holds:
        return f"{said}: nothing that is counted differs."
    differing = [each for each in difference.amounts if not each.is_same]
    if differing:
        order = {name: at for at, name in enumerate(_WEIGHTIEST)}
        differing.sort(key=lambda each: order.get(each.name, len(order)))
        return f"{said}: {'; '.join(f'{each.name.strip()} {_change(each)}' for each in differing[:4])}."
    if difference.kernels or difference.collectives or difference.memory:
        return f"{said}: as many kernels, as many bytes, and some of them for other lines."
    return f"{said}: as many kernels and bytes, and {_count_instructions(difference)}."


def _sum_up_modules(difference: Difference) -> str:
    """Return how two modules differ that are compared by their instructions, or an empty string."""
    lacking = [side.name for side in (difference.left, difference.right) if side.stage.name == "none"]
    if lacking:
        return f"{' and '.join(lacking)} left no optimized module, so nothing is counted"
    counts = next((each for each in difference.amounts if each.name == "instructions"), None)
    if counts and difference.left.stage.name != difference.right.stage.name:
        return f"two stages of a compile, {counts.left:,.0f} and {plural(int(counts.right), 'instruction')}"
    if not difference.instructions:
        return ""
    first = difference.instructions[0]
    where = f" ({first.where})" if first.where else ""
    what = plural(len(difference.instructions), "instruction")
    more = "" if len(difference.instructions) == 1 else "first "
    return f"the programs differ in {what}, {more}{first.left or 'none'} -> {first.right or 'none'}{where}"


def _count_instructions(difference: Difference) -> str:
    parts = [
        plural(number or 0, "instruction") + f" {verb}"
        for number, verb in ((difference.added, "came"), (difference.removed, "went"), (difference.changed, "changed"))
        if number
    ]
    return ", ".join(parts) or "the instructions stand in another order"


def _explain(difference: Difference) -> str:
    told = [
        {
            True: f"Your code is the same: the compiler was given the same {difference.given_as}.",
            False: f"Your code differs: the compiler was given other {difference.given_as}.",
            None: "Whether your code is the same is not known: a side lacks the module as the compiler got it.",
        }[difference.is_same_code]
    ]
    stages = [side.stage.title for side in (difference.left, difference.right)]
    if stages != ["optimized", "optimized"] and not (difference.left.error or difference.right.error):
        same = stages[0] == stages[1]
        told.append(f"Both modules are {stages[0]}." if same else f"The modules are {stages[0]}, and {stages[1]}.")
    if difference.left.target != difference.right.target and "unknown" not in {
        difference.left.target,
        difference.right.target,
    }:
        told.append(f"The targets are {title(difference.left.target)} and {title(difference.right.target)}.")
    for what, differing in (("The compiler", difference.versions), ("Its options", difference.options)):
        verb = "differs" if what == "The compiler" else "differ"
        if differing and (difference.is_compiler_known if what == "The compiler" else difference.are_options_known):
            each = ", ".join(f"{one.name} {one.left or 'none'} -> {one.right or 'none'}" for one in differing)
            told.append(f"{what} {verb}: {each}.")
    told += _explain_unknown(difference)
    if difference.added is not None and (difference.added or difference.removed or difference.changed):
        told.append(f"In the {_name_module(difference)} {_count_instructions(difference)}.")
    return " ".join(told)


def _name_module(difference: Difference) -> str:
    return "optimized program" if difference.left.stage.is_final and difference.right.stage.is_final else "module"


def _explain_unknown(difference: Difference) -> Iterator[str]:
    """Yield that compiler and options are the same, or which of them is not known."""
    unknown = [
        name
        for name, known in (("compiler", difference.is_compiler_known), ("options", difference.are_options_known))
        if not known
    ]
    if unknown:
        yield f"The files do not tell the {' and the '.join(unknown)}."
    elif (
        not (difference.versions or difference.options)
        and difference.left.target == difference.right.target != "unknown"
    ):
        yield "Compiler and options are the same."


def _change(each: Amount) -> str:
    """Return both numbers, or by how much they differ where they look the same."""
    left, right = each.show(each.left), each.show(each.right)
    return f"{left} -> {right}" if left != right else each.change


def _list_changes(
    name: str, changes: Sequence[LineChange], heads: tuple[str, ...], what: str, *, in_bytes: bool = False
) -> Iterator[Part]:
    """Yield the lines where something came or went, those that changed most first."""
    if not changes:
        return
    ordered = sorted(changes, key=lambda each: -abs(each.right - each.left))
    show = format_bytes if in_bytes else str
    rows = tuple(
        (show(each.left), show(each.right), shorten(each.what, _LONGEST_KIND), each.where)
        for each in ordered[:_MOST_ROWS]
    )
    yield Table((*heads, what, "line"), rows, (0, 1), name)
    if len(ordered) > _MOST_ROWS:
        yield f"{plural(len(ordered) - _MOST_ROWS, 'more line')} with smaller changes; --json has all."
