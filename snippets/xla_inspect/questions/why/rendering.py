"""The printed explanation of a compiler decision: paragraphs and tables, the verdict first."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import close_brackets
from xla_inspect.answers import Hint, Table, say_time, show_time
from xla_inspect.plural import plural
from xla_inspect.questions.why.explanation import IMPORT, Finding, Why, suggest_why
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.answers import Part
    from xla_inspect.questions.why.explanation import Finding, PassStep, Reason, WhyPart


_EFFECTIVE = frozenset({"removes", "reduces", "adds"})
FEW_NOTES = 2


_TOPICS: Mapping[str, tuple[str, ...]] = {
    "apart": ("fusion", "matmul"),
    "together": ("fusion", "matmul"),
    "matmul": ("matmul", "fusion"),
    "kernel": ("fusion",),
}


_INSTEAD = re.compile(r" in (?:the )?place of ")
_UNKNOWN = "?"
"""The name in place of a pass that is not known."""


FEW_STEPS, FEW_NAMES = 3, 2


WIDTH, BRIEF = 80, 12
"""The columns of a line, and the number of lines of an answer without `--full`, unless its verdict is longer."""


def render(why: Why) -> Iterator[Part]:
    """Yield the printed answer: the verdict, then the evidence, the tried changes and next commands."""
    first, *rest = why.findings
    where = f"{why.stage.join(why.program)} on {title(why.target)}:"
    yield (verdict := " ".join(filter(None, (where, why.value, first.verdict))))
    if why.is_full:
        yield from _tell_finding(first)
        yield from _tell_parts(why)
        for finding in rest:
            yield f"Also: {finding.verdict}"
            yield from _tell_finding(finding)
    else:
        yield from _tell_briefly(why, verdict)
    yield from _tell_trials(why)
    for missing in why.missing:
        yield Hint(missing)
    yield from _advise(why, len(rest))


def _tell_briefly(why: Why, verdict: str) -> Iterator[Part]:
    """Yield the lines of Python and then as much of the evidence as fits, the most important first."""
    first = why.findings[0]
    # The verdict is always printed in full, so only the evidence has to fit.
    room = BRIEF - _count_text_lines(verdict)
    if lines := _tell_lines(first):
        room -= _count_text_lines(lines)
        yield lines
    notes = " ".join(first.notes[:FEW_NOTES])
    part = next(iter(why.parts), None)
    paragraphs = [notes, _tell_words(first), _tell_part(part) if part else ""]
    paragraphs += [f"Also: {finding.verdict}" for finding in why.findings[1:2]]
    for text in filter(None, paragraphs):
        # A long paragraph is skipped, so that a shorter but less important one can still use the room.
        if (size := _count_text_lines(text)) <= room:
            room -= size
            yield text


def _tell_finding(finding: Finding) -> Iterator[Part]:
    if lines := _tell_lines(finding):
        yield lines
    if finding.notes:
        yield " ".join(finding.notes)
    if finding.reasons:
        yield Table(
            ("pass", "compiler message"),
            tuple((reason.pass_name or "-", f"{reason.verdict}: {_tell_reason(reason)}") for reason in finding.reasons),
        )


def _tell_parts(why: Why) -> Iterator[Part]:
    for part in why.parts:
        inside = "" if part.followed == part.name else f" in {part.name}"
        rows = tuple((step.pass_name, step.did) for step in part.steps)
        yield Table(("pass", f"change to {part.followed}{inside}"), rows)
        # A removed instruction has no place in the optimized program.
        if not part.is_left:
            continue
        # A launch would otherwise be described as running in itself.
        facts = [f"runs in {part.kernel}" if part.kernel and part.kernel != part.name else ""]
        facts += [f"reads {', '.join(part.fed_by)}" if part.fed_by else ""]
        facts += [f"is read by {', '.join(part.read_by)}" if part.read_by else ""]
        facts += [f"occupies {part.memory}" if part.memory else ""]
        facts = [f"{part.name}, {part.opcode} {part.shape}", *filter(None, facts)]
        yield f"In the optimized program: {'; '.join(facts)}."
        yield Table(("origin", ""), tuple(_list_origin(part)))


def _tell_trials(why: Why) -> Iterator[Part]:
    if not (why.trials or why.untried):
        return
    # Without --full, changes without an effect are only counted.
    effective = [trial for trial in why.trials if why.is_full or trial.outcome in _EFFECTIVE]
    without_effect = Counter(trial.kind for trial in why.trials if trial.outcome == "keeps")
    failed = Counter(trial.kind for trial in why.trials if trial.outcome == "failed")
    if effective:
        effects = [trial.effect if why.is_full else trial.effect.partition(";")[0] for trial in effective]
        rows = tuple(
            (trial.outcome, *((show_time(trial.time),) if why.times else ()), trial.change, trial.note or effect)
            for trial, effect in zip(effective, effects, strict=True)
        )
        columns = ("outcome", *(("time",) if why.times else ()), "change", "count")
        yield Table(columns, rows, (), "Effects of changes, each compiled")
        if why.times:
            own = f"Without a change, a step takes {say_time(why.time)}. " if why.time else ""
            yield f"{own}{why.times}"
    # The table of a full answer already has a row for each of these changes.
    if why.is_full:
        return
    sentences = [f"Changes without an effect: {_count_kinds(without_effect)}."] if without_effect else []
    sentences += [f"Changes that do not compile: {_count_kinds(failed)}; --full shows the errors."] if failed else []
    sentences += [f"Changes that do not apply here: {', '.join(why.untried)}."] if why.untried else []
    if sentences:
        yield " ".join(sentences)


def _advise(why: Why, others: int) -> Iterator[Hint]:
    is_pair = why.is_pair
    if not why.is_full:
        more = f" ({plural(others, 'more finding')})" if others > 0 else ""
        yield Hint(f"To see all evidence{more}:", suggest_why(why.asked, why.what, "--full", is_pair=is_pair))
    if why.is_tried and not (why.trials or why.untried):
        yield Hint("To find changes with an effect:", suggest_why(why.asked, why.what, "--try", "all", is_pair=is_pair))


def _count_kinds(kinds: Mapping[str, int]) -> str:
    """Return kinds with their counts, as in `layout (3), target`."""
    return ", ".join(f"{kind} ({number})" if number > 1 else kind for kind, number in kinds.items())


def _count_text_lines(text: str) -> int:
    """Return the number of lines of a paragraph, including the empty line after it."""
    return len(textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)) + 1


def _tell_lines(finding: Finding) -> str:
    """Return the lines of Python of a finding with their source text as one text; empty if no text is known."""
    # Two kernels may come from the same line, which is printed only once.
    lines = dict.fromkeys(line for line in finding.lines or (finding.line,) if line.text)
    return "; ".join(f"`{line.where}`: `{close_brackets(line.text)}`" for line in lines)


def _tell_words(finding: Finding) -> str:
    """Return a sentence that quotes the compiler's refusal behind a finding; empty if there is none or it is cut."""
    topics = _TOPICS.get(finding.kind, ())
    for reason in finding.reasons:
        # Only a refusal by the pass of the verdict explains the verdict.
        is_own = reason.pass_name == finding.pass_name and reason.verdict == "refused"
        # The log marks a truncated message with an ellipsis.
        if reason.topic in topics and is_own and reason.words[-1:] != "\u2026":
            place = f" ({reason.place.rpartition('/')[2]})" if reason.place else ""
            return f"The compiler's message: “{reason.words}”{place}."
    return ""


def _tell_part(part: WhyPart) -> str:
    """Return up to two sentences: the changes that passes made to a part, and the memory it occupies."""
    # A step of an unknown pass does not help to find the cause.
    steps = [_tell_step(step) for step in part.steps if step.pass_name != _UNKNOWN]
    if len(steps) > FEW_STEPS:
        steps = [steps[0], plural(len(steps) - FEW_STEPS, "more step"), *steps[1 - FEW_STEPS :]]
    name = part.name if part.followed == part.name else f"{part.followed} in {part.name}"
    sentences = [f"History of {name}: {'; '.join(steps)}."] if steps else []
    if part.is_left and part.memory:
        readers = f" and is read by {', '.join(part.read_by[:FEW_NAMES])}" if part.read_by else ""
        sentences.append(f"It occupies {part.memory.partition(', shared')[0]}{readers}.")
    return " ".join(sentences)


def _tell_step(step: PassStep) -> str:
    if step.pass_name == IMPORT:
        return "part of the original program"
    verb, _, rest = step.did.partition(" ")
    if verb == "changed":
        return f"{step.pass_name} changed {rest.partition(':')[0]}"
    if verb == "moved":
        return f"{step.pass_name} fused it"
    instead = _INSTEAD.split(rest, maxsplit=1)[-1] if _INSTEAD.search(rest) else ""
    # If one instruction replaces several, the history does not show which of them it was created from.
    replacement = f" in place of {instead.rpartition(' ')[2]}" if instead and " and " not in instead else ""
    return f"{step.pass_name} {verb} it{replacement}"


def _tell_reason(reason: Reason) -> str:
    """Return a text about a message: instructions, explanation, the message itself and its place in XLA's source."""
    about = " into ".join(filter(None, (reason.instruction, reason.others[0] if reason.others else "")))
    source = f" ({reason.place})" if reason.place else ""
    words = f" “{reason.words}”" if reason.sentence else ""
    return f"{about}: {reason.meaning}{words}{source}" if about else f"{reason.meaning}{words}{source}"


def _list_origin(part: WhyPart) -> Iterator[tuple[str, str]]:
    """Yield the rows of a part's origin: its line, JAX's name, jaxpr and StableHLO text, and the fused operations."""
    if part.line.where:
        yield part.line.where, part.line.text
    for name in ("op_name", "equation", "stablehlo"):
        if text := getattr(part, name):
            yield {"op_name": "JAX's name", "equation": "jaxpr", "stablehlo": "StableHLO"}[name], text
    for member in part.members:
        yield "fuses", member
