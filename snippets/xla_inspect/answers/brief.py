"""How the parts of an answer to *why* are told: each as a sentence or two, or as rows."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from xla_inspect.analysis import close_brackets
from xla_inspect.plural import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.answers.why import Finding, PassStep, Reason, WhyPart

_TOPICS: Mapping[str, tuple[str, ...]] = {
    "apart": ("fusion", "matmul"),
    "together": ("fusion", "matmul"),
    "matmul": ("matmul", "fusion"),
    "kernel": ("fusion",),
}
UNKNOWN = "?"
"""What stands for a pass that is not known."""
FEW_STEPS, FEW_NAMES = 3, 2
WIDTH, BRIEF = 80, 12
"""The columns of a line, and how many lines an answer takes that is not asked for in full, unless its sentence does."""


def count_kinds(kinds: Mapping[str, int]) -> str:
    """Return kinds with how many of each there are, as in `layout (3), target`."""
    return ", ".join(f"{kind} ({number})" if number > 1 else kind for kind, number in kinds.items())


def measure(text: str) -> int:
    """Return how many lines a paragraph takes, with the empty one behind it."""
    return len(textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)) + 1


def tell_lines(finding: Finding) -> str:
    """Return the lines of Python that a finding is about, as they are written."""
    lines = dict.fromkeys(line for line in finding.lines or (finding.line,) if line.text)
    return "; ".join(f"`{line.where}`: `{close_brackets(line.text)}`" for line in lines)


def tell_words(finding: Finding) -> str:
    """Return what the compiler itself said of what a finding is about, where that is short enough to stand whole."""
    topics = _TOPICS.get(finding.kind, ())
    for each in finding.reasons:
        is_own = each.pass_name == finding.pass_name and each.verdict == "refused"
        if each.topic in topics and is_own and each.words[-1:] != "\u2026":
            place = f" ({each.place.rpartition('/')[2]})" if each.place else ""
            return f"In the compiler's own words: “{each.words}”{place}."
    return ""


def tell_part(part: WhyPart) -> str:
    """Return what passes did to a part, and where it is now, in two sentences."""
    way = [_tell_step(step) for step in part.steps if step.pass_name != UNKNOWN]
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


def tell_reason(reason: Reason) -> str:
    """Return what the compiler said, with what it is about, its own words and the place in XLA's source."""
    about = " into ".join(filter(None, (reason.instruction, reason.others[0] if reason.others else "")))
    source = f" ({reason.place})" if reason.place else ""
    words = f" “{reason.words}”" if reason.sentence else ""
    return f"{about}: {reason.meaning}{words}{source}" if about else f"{reason.meaning}{words}{source}"


def list_origin(part: WhyPart) -> Iterator[tuple[str, str]]:
    """Yield where a part comes from, stage by stage, and what it fuses."""
    if part.line.where:
        yield part.line.where, part.line.text
    for name in ("op_name", "equation", "stablehlo"):
        if text := getattr(part, name):
            yield {"op_name": "JAX's name", "equation": "jaxpr", "stablehlo": "StableHLO"}[name], text
    for member in part.members:
        yield "fuses", member
