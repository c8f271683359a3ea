"""The printed answer about a program's numbers, and an explorer's marks on passes that change bits or did not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import close_brackets
from xla_inspect.answers import Hint, Table, name_line, suggest
from xla_inspect.plural import plural
from xla_inspect.questions.numbers.finding import rank
from xla_inspect.targets import find_entry, lane, title
from xla_inspect.units import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part
    from xla_inspect.questions.numbers.finding import ArrayDifference, NumberChanges, Origin, Step

_LONGEST_ERROR = 600
_LONGEST_REASON = 200
_MOST_REASONS = 3
_LARGE_ULPS = 1e6
_HERE = "The modules ran on this machine's CPU."
_PRODUCTS = {
    "gpu": "matmuls round float32 to TF32 (10 bits of fraction instead of 23)",
    "tpu": "matmuls round float32 to bfloat16 (7 bits of fraction instead of 23)",
}
_SOURCES = {"gpu": "as measured on an H100", "tpu": "as JAX's documentation of `jax.lax.Precision` says"}


def render(answer: NumberChanges) -> Iterator[Part]:
    """Yield the printed answer: one sentence, the table of steps, comparisons with other runs, limits and commands."""
    where = f"{answer.program} on {title(answer.target)}"
    if answer.error:
        yield f"{answer.program} does not compile for {title(answer.target)}: {shorten(answer.error, _LONGEST_ERROR)}"
        return
    if not answer.ran:
        yield f"{where}: no module ran, so nothing is compared. {answer.absence}".rstrip()
        yield from tell_missed(answer)
        return
    yield f"{where}: {_summarize(answer)}"
    if answer.steps and answer.shown:
        largest = sorted(answer.steps, key=lambda step: rank(step.difference), reverse=True)[: answer.shown]
        rows = tuple(_list_row(step) for step in answer.steps if step in largest)
        more = len(answer.steps) > len(rows)
        name = "Passes that change bits" + (f" (the {len(rows)} largest of {len(answer.steps)})" if more else "")
        yield Table(
            ("relative", "since start", "absolute", "ulps", "output", "pass", "begins at"), rows, (0, 1, 2, 3, 4), name
        )
        yield from _explain_steps(answer)
    yield from _tell_nonfinite(answer)
    yield from tell_missed(answer)
    yield from _tell_references(answer)
    yield from _tell_trials(answer)
    yield from _tell_matrix_units(answer)
    yield answer.inputs
    yield from answer.notes
    yield tell_limits(answer.target)
    if answer.steps and answer.asked and not answer.trials:
        yield Hint("To try options that keep the bits:", suggest("numbers", answer.asked, "--try"))


def tell_limits(target: str) -> str:
    """Return the statement about what a run on this CPU does not show."""
    if lane(target) == "cpu":
        return f"{_HERE} On another CPU, the last bits of results may differ."
    device = "the real hardware" if lane(target) == "unknown" else f"a real {title(target)}"
    rounding = " How its matrix cores round float32 is not known here." if find_entry(target).platform == "rocm" else ""
    return (
        f"{_HERE} On {device}, there may be further differences: it may compute functions such as exp "
        f"and tanh differently, add or scatter in another order, and round differently in its matrix units.{rounding}"
    )


def _summarize(answer: NumberChanges) -> str:
    largest = answer.largest
    if answer.absence:
        return f"nothing is compared. {answer.absence}"
    if largest is None:
        if answer.missed:
            same = "their results have the same bits" if answer.ran > 1 else "nothing is compared"
            return f"only {answer.ran:,} of {plural(answer.modules, 'module')} ran, and {same}."
        units = f"; {_name_rounding(answer)}" if answer.matrix_units else ""
        return f"no pass changes a bit of the results ({plural(answer.passes, 'pass', 'passes')}){units}."
    origin = largest.origin
    code = f" `{close_brackets(origin.text)}`" if origin.text else ""
    line = f", at {origin.where}{code}" if origin.where else ""
    several = "one of " if len(largest.passes) > 1 else ""
    name = f"{several}{_name_passes(largest.passes)}"
    passes = f"{len(answer.steps):,} of {plural(answer.passes, 'pass', 'passes')}"
    text = f"bits change at {passes}; the largest step is {name}{line}: {measure(largest.difference)}"
    is_larger = answer.matrix_units is not None and rank(answer.matrix_units) > rank(largest.difference)
    return f"{text}; {_name_rounding(answer)}." if is_larger else f"{text}."


def _name_rounding(answer: NumberChanges) -> str:
    size = f": {measure(answer.matrix_units)}" if answer.matrix_units else ""
    return f"on a real {title(answer.target)}, {_PRODUCTS[lane(answer.target)]}{size}"


def _name_passes(passes: tuple[str, ...]) -> str:
    names = [name.rpartition("/")[2] for name in passes]
    return names[0] if len(names) == 1 else f"the {len(names)} passes from {names[0]} to {names[-1]}"


def measure(difference: ArrayDifference) -> str:
    """Return the size of a difference in words."""
    if difference.nonfinite:
        return f"a NaN or an infinity in {plural(difference.nonfinite, 'element')}"
    if not difference.absolute:
        return f"the sign of zero in {plural(difference.elements, 'element')}"
    return f"relative error {difference.relative:.2g}, absolute {difference.absolute:.2g}"


def _list_row(step: Step) -> tuple[str, ...]:
    difference = step.difference
    name = step.passes[0] if len(step.passes) == 1 else f"{step.passes[0]} to {step.passes[-1]}"
    errors = (f"{size:.1e}" for size in (difference.relative, step.since_start, difference.absolute))
    return (*errors, _show_ulps(difference), str(difference.output), name, name_origin(step.origin))


def _show_ulps(difference: ArrayDifference) -> str:
    if difference.nonfinite:
        return "NaN"
    return f"{difference.ulps:.1e}" if difference.ulps >= _LARGE_ULPS else f"{difference.ulps:,.0f}"


def name_origin(origin: Origin) -> str:
    """Return the instruction at which a difference begins with its line, or the reason why it is not known."""
    if not origin.instruction:
        return f"not known: {origin.note}"
    line = name_line(origin.where, origin.text) if origin.where else ""
    return f"{origin.instruction} {line}".strip()


def _explain_steps(answer: NumberChanges) -> Iterator[str]:
    text = (
        "Relative errors are shares of the output's largest magnitude, and ulps count the representable numbers "
        "between the two results. `since start` compares with the first module instead of the one before. `output` is "
        "the number of the result, from 0, and the second line of a row is the instruction where the difference begins."
    )
    if any(len(step.passes) > 1 for step in answer.steps):
        text += " Where the modules between several passes did not run, one of these passes changed the bits."
    if lane(answer.target) == "cpu" and any(step.passes[-1].endswith("/fusion") for step in answer.steps):
        text += (
            " A fusion joins operations in one kernel, in which this CPU may compute a multiplication and an addition "
            "with a single rounding (fused multiply-add)."
        )
    yield text
    if answer.total is not None:
        yield f"From the first to the last module{' that ran' if answer.missed else ''}: {measure(answer.total)}."
    elif len(answer.steps) > 1:
        yield "The last module has the same bits as the first, because later steps undo earlier ones."


def _tell_nonfinite(answer: NumberChanges) -> Iterator[str]:
    nonfinite = answer.nonfinite
    if nonfinite is None:
        return
    kind = "a NaN" if nonfinite.kind == "NaN" else "an infinity"
    since = _tell_end(nonfinite.after) if nonfinite.after else "from the start, before any pass"
    origin = nonfinite.origin
    begin = f"it begins at {origin.opcode}" if origin.instruction else "the instruction is"
    last = "In the last module that ran" if answer.missed else "After all passes"
    end = "" if nonfinite.remains else f" {last}, the results have no NaN and no infinity."
    yield f"Output {nonfinite.output} has {kind} {since}; {begin} {name_origin(origin)}.{end}"
    names = [f"{one.argument}{list(one.index) or ''} = {one.value}" for one in nonfinite.causes.elements]
    together = "leads to it" if len(names) == 1 else "lead to it together"
    elements = f"{plural(len(names), 'input element')} {together}: {', '.join(names)}." if names else ""
    yield f"{elements} {nonfinite.causes.note}".strip()


def _tell_end(step: str) -> str:
    # The step to the optimized module has a description instead of a pass.
    return f"after {step.removeprefix('after ')}"


def tell_missed(answer: NumberChanges) -> Iterator[str]:
    """Yield a sentence with the number of modules that did not run, and the reasons, if there are such modules."""
    if not answer.missed:
        return
    count = sum(one.modules for one in answer.missed)
    reasons = "; ".join(
        f"{shorten(one.reason, _LONGEST_REASON)} ({plural(one.modules, 'module')}, first "
        f"{_tell_end(one.first) if one.first else 'before the passes'})"
        for one in answer.missed[:_MOST_REASONS]
    )
    others = len(answer.missed) - _MOST_REASONS
    more = f"; and {plural(others, 'other reason')}" if others > 0 else ""
    yield f"{count:,} of {plural(answer.modules, 'module')} did not run: {reasons}{more}."


def _tell_references(answer: NumberChanges) -> Iterator[Part]:
    rows = tuple(
        (_show_error(reference.first), _show_error(reference.last), reference.name)
        for reference in answer.references
        if not reference.absence
    )
    if rows:
        modules = ("first that ran", "last that ran") if answer.missed else ("before the passes", "after the passes")
        yield Table((*modules, "reference"), rows, (0, 1), "Relative error, compared with")
    for reference in answer.references:
        if reference.absence:
            yield f"There is no comparison with {reference.name}: {shorten(reference.absence, _LONGEST_REASON)}."


def _show_error(difference: ArrayDifference | None) -> str:
    if difference is None:
        return "0"
    return "NaN or infinity" if difference.nonfinite else f"{difference.relative:.2g}"


def _tell_matrix_units(answer: NumberChanges) -> Iterator[str]:
    if answer.matrix_units is not None:
        kind, difference = lane(answer.target), answer.matrix_units
        yield (
            f"On a real {title(answer.target)}, {_PRODUCTS[kind]} unless their precision is `highest`, "
            f"{_SOURCES[kind]}. No pass does this, and neither does this CPU. "
            f"Simulated here, it changes output {difference.output} after all passes: {measure(difference)}. "
            "`jax.default_matmul_precision('highest')` prevents it."
        )


def _tell_trials(answer: NumberChanges) -> Iterator[Part]:
    if answer.trials and answer.largest:
        name = _name_passes(answer.largest.passes)
        for trial in answer.trials:
            if trial.relative is None:
                yield f"--xla {trial.option} does not help: {shorten(trial.error, _LONGEST_REASON)}."
            elif trial.keeps:
                same = f"differs from the one before {name} by less than a tenth of the change"
                result = f"equals the one before {name}" if trial.relative == 0 else same
                command = suggest("numbers", answer.asked, "--xla", trial.option)
                yield Hint(f"With {trial.option}, the result {result}:", command)
            else:
                reason = trial.error or f"relative error {trial.relative:.2g}"
                yield f"--xla {trial.option} does not keep the result: {reason}."


def describe_marks(answer: NumberChanges) -> dict[str, Any]:
    """Return the marks on the passes for an explorer, as plain data.

    Returns:
        - `note`: sentences about all passes, the inputs, and what a run on this CPU does not show.
        - `states`: by the number of a state, the kind of its mark (`changed` or `missed`), a few words, and a sentence.
    """
    states: dict[int, tuple[str, str, str]] = {}
    for missed in answer.missed:
        whose = "The reason" if missed.modules == 1 else f"The reason for the first of {missed.modules} such modules"
        sentence = f"The module after this pass did not run. {whose}: {missed.reason}."
        states |= dict.fromkeys(missed.states, ("missed", "not run", sentence))
    for step in answer.steps:
        size = measure(step.difference)
        group = f"One of the {len(step.passes)} passes up to this one changes" if len(step.passes) > 1 else "It changes"
        sentence = f"{group} bits of output {step.difference.output}: {size}; begins at {name_origin(step.origin)}."
        states[step.states[-1]] = ("changed", f"changes bits: {size.partition(',')[0]}", sentence)
    first = next(iter(answer.tell()), "")
    note = " ".join([str(first), *answer.notes, answer.inputs, tell_limits(answer.target)])
    return {"note": note, "states": states}
