"""The reasons in paragraphs and tables, the verdict first."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import close_brackets
from xla_inspect.answers import Hint, Table
from xla_inspect.plural import plural
from xla_inspect.questions.why.explanation import Finding, Why, suggest_why
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.answers import Part
    from xla_inspect.questions.why.explanation import Finding, PassStep, Reason, WhyPart


_TELLING = frozenset({"removes", "reduces", "adds"})
FEW_NOTES = 2


_TOPICS: Mapping[str, tuple[str, ...]] = {
    "apart": ("fusion", "matmul"),
    "together": ("fusion", "matmul"),
    "matmul": ("matmul", "fusion"),
    "kernel": ("fusion",),
}


_UNKNOWN = "?"
"""The words for a pass that is not known."""


FEW_STEPS, FEW_NAMES = 3, 2


WIDTH, BRIEF = 80, 12
"""The columns of a line, and how many lines an answer takes that is not asked for in full, unless its sentence does."""


def render(why: Why) -> Iterator[Part]:
    """Yield the verdict, then what it rests on."""
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
    """Yield the lines, and of the rest what there is room for, the weightiest first."""
    first = why.findings[0]
    room = BRIEF - _count_text_lines(verdict)
    if lines := _tell_lines(first):
        room -= _count_text_lines(lines)
        yield lines
    notes = " ".join(first.notes[:FEW_NOTES])
    part = next(iter(why.parts), None)
    told = [notes, _tell_words(first), _tell_part(part) if part else ""]
    told += [f"Also: {each.verdict}" for each in why.findings[1:2]]
    for text in filter(None, told):
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
            ("pass", "what the compiler said"),
            tuple((each.pass_name or "-", f"{each.verdict}: {_tell_reason(each)}") for each in finding.reasons),
        )


def _tell_parts(why: Why) -> Iterator[Part]:
    for part in why.parts:
        inside = "" if part.followed == part.name else f" in {part.name}"
        rows = tuple((step.pass_name, step.did) for step in part.steps)
        yield Table(("pass", f"what it did to {part.followed}{inside}"), rows)
        if not part.is_left:
            continue
        said = [f"runs in {part.kernel}" if part.kernel and part.kernel != part.name else ""]
        said += [f"fed by {', '.join(part.fed_by)}" if part.fed_by else ""]
        said += [f"read by {', '.join(part.read_by)}" if part.read_by else "", part.memory]
        yield f"Now: {part.name}, {part.opcode} {part.shape}; {'; '.join(filter(None, said)) or 'alone'}."
        yield Table(("from", ""), tuple(_list_origin(part)))


def _tell_trials(why: Why) -> Iterator[Part]:
    if not (why.trials or why.untried):
        return
    telling = [each for each in why.trials if why.is_full or each.outcome in _TELLING]
    kept = Counter(each.kind for each in why.trials if each.outcome == "keeps")
    failed = Counter(each.kind for each in why.trials if each.outcome == "failed")
    if telling:
        effects = [each.effect if why.is_full else each.effect.partition(";")[0] for each in telling]
        rows = tuple(
            (each.outcome, each.change, each.note or effect) for each, effect in zip(telling, effects, strict=True)
        )
        yield Table(("outcome", "tried", "counted"), rows, (), "What would change it, compiled to see")
    if why.is_full:
        return
    said = [f"{'Tried, and it stays' if telling else 'Nothing that was tried changes it'}: {_count_kinds(kept)}."]
    said = said if kept else []
    said += [f"Not compiled: {_count_kinds(failed)}; --full has why."] if failed else []
    said += [f"Nothing to try: {', '.join(why.untried)}."] if why.untried else []
    if said:
        yield " ".join(said)


def _advise(why: Why, left: int) -> Iterator[Hint]:
    is_pair = why.is_pair
    if not why.is_full:
        more = f" ({plural(left, 'more finding')})" if left > 0 else ""
        yield Hint(f"All of it{more}:", suggest_why(why.asked, why.what, "--full", is_pair=is_pair))
    if why.is_tried and not (why.trials or why.untried):
        yield Hint("What would change it:", suggest_why(why.asked, why.what, "--try", "all", is_pair=is_pair))


def _count_kinds(kinds: Mapping[str, int]) -> str:
    """Return kinds with how many of each there are, as in `layout (3), target`."""
    return ", ".join(f"{kind} ({number})" if number > 1 else kind for kind, number in kinds.items())


def _count_text_lines(text: str) -> int:
    """Return how many lines a paragraph takes, with the empty one behind it."""
    return len(textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)) + 1


def _tell_lines(finding: Finding) -> str:
    """Return the lines of Python that a finding is about, as they are written."""
    lines = dict.fromkeys(line for line in finding.lines or (finding.line,) if line.text)
    return "; ".join(f"`{line.where}`: `{close_brackets(line.text)}`" for line in lines)


def _tell_words(finding: Finding) -> str:
    """Return what the compiler itself said of what a finding is about, where that is short enough to stand whole."""
    topics = _TOPICS.get(finding.kind, ())
    for each in finding.reasons:
        is_own = each.pass_name == finding.pass_name and each.verdict == "refused"
        if each.topic in topics and is_own and each.words[-1:] != "\u2026":
            place = f" ({each.place.rpartition('/')[2]})" if each.place else ""
            return f"In the compiler's own words: “{each.words}”{place}."
    return ""


def _tell_part(part: WhyPart) -> str:
    """Return what passes did to a part, and where it is now, in two sentences."""
    way = [_tell_step(step) for step in part.steps if step.pass_name != _UNKNOWN]
    if len(way) > FEW_STEPS:
        way = [way[0], plural(len(way) - FEW_STEPS, "more step"), *way[1 - FEW_STEPS :]]
    name = part.name if part.followed == part.name else f"{part.followed}, in {part.name}"
    said = [f"{name}: {'; '.join(way)}."] if way else []
    if part.is_left and part.memory:
        read = f"; read by {', '.join(part.read_by[:FEW_NAMES])}" if part.read_by else ""
        said.append(f"Now {part.memory.partition(', shares')[0]}{read}.")
    return " ".join(said)


def _tell_step(step: PassStep) -> str:
    if step.did.startswith("brought"):
        return "from the program"
    verb, _, rest = step.did.partition(" ")
    if verb == "changed":
        return f"{step.pass_name} changed {rest.partition(':')[0]}"
    if verb == "moved":
        return f"{step.pass_name} fused it"
    _, _, instead = rest.partition(" in the place of ")
    # Of several of which one line is made nobody says which it was made of.
    put = f" in the place of {instead.rpartition(' ')[2]}" if instead and " and " not in instead else ""
    return f"{step.pass_name} {verb} it{put}"


def _tell_reason(reason: Reason) -> str:
    """Return what the compiler said, with what it is about, its own words and the place in XLA's source."""
    about = " into ".join(filter(None, (reason.instruction, reason.others[0] if reason.others else "")))
    source = f" ({reason.place})" if reason.place else ""
    words = f" “{reason.words}”" if reason.sentence else ""
    return f"{about}: {reason.meaning}{words}{source}" if about else f"{reason.meaning}{words}{source}"


def _list_origin(part: WhyPart) -> Iterator[tuple[str, str]]:
    """Yield where a part comes from, stage by stage, and what it fuses."""
    if part.line.where:
        yield part.line.where, part.line.text
    for name in ("op_name", "equation", "stablehlo"):
        if text := getattr(part, name):
            yield {"op_name": "JAX's name", "equation": "jaxpr", "stablehlo": "StableHLO"}[name], text
    for member in part.members:
        yield "fuses", member
