"""A line of generated code in its parts, each numbered in the line and named under it: SASS, PTX, LLVM IR, a bundle."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chapters.anatomy import Part, draw_parts
from xla_inspect.analysis.machine import read_table

LINES = Path(__file__).parent / "code_lines.toml"

MACHINES = {"sass": "sass", "asm": "x86"}
"""Languages of machine code, and the table of their instructions."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A part that a line of a language may have.

    Attributes:
        pattern: What it matches.
        name: What such a part is called.
        meaning: What it says.
        role: A word for its colour.
        once: Whether it stands once in a line at most.
    """

    pattern: re.Pattern[str]
    name: str
    meaning: str
    role: str
    once: bool = False


def annotate_code(language: str, line: str) -> str:
    """Return a line of code as an annotated figure, HTML.

    Args:
        language: As a piece of code has it: `sass`, `ptx`, `llvm`, `triton` or `asm`; or `bundle`.
        line: The line.

    Raises:
        ValueError: There are no parts known of that language.
    """
    parts = split_code(language, line)
    return draw_parts(parts, read_rules()[language][0])


def split_code(language: str, line: str) -> tuple[Part, ...]:
    """Return the parts of a line of code, what stands between them included: together they are the line, stripped.

    Parts of one name are one entry of the list under the line: only the first carries a meaning of its own.

    Args:
        language: As in `annotate_code`.
        line: The line.

    Raises:
        ValueError: As in `annotate_code`.
    """
    known = read_rules()
    if language not in known:
        message = f"no parts of a line of {language!r} are known; there are those of {', '.join(known)}"
        raise ValueError(message)
    text, rules = line.strip(), [*known[language][1]]
    parts: list[Part] = []
    position = between = 0
    while position < len(text):
        found = next(
            ((rule, match) for rule in rules if (match := rule.pattern.match(text, position)) and match[0]), None
        )
        if found is None:
            position += 1
            continue
        rule, match = found
        if between < position:
            parts.append(Part(text[between:position]))
        parts.append(Part(match[0], rule.name, _explain(language, rule, match[0]), rule.role))
        if rule.once:
            # What stands before it in the table stands before it in the line.
            rules = [other for other in rules[rules.index(rule) + 1 :] if other.once] + [
                other for other in known[language][1] if not other.once
            ]
        between = position = match.end()
    if between < len(text):
        parts.append(Part(text[between:]))
    return tuple(parts)


@cache
def read_rules() -> dict[str, tuple[str, tuple[Rule, ...]]]:
    """Return language to the title of its figures and its parts, in the order in which they are tried."""
    read = tomllib.loads(LINES.read_text(encoding="utf-8"))
    return {
        language: (
            entry["title"],
            tuple(Rule(**{**part, "pattern": re.compile(part["pattern"])}) for part in entry["part"]),
        )
        for language, entry in read.items()
    }


def _explain(language: str, rule: Rule, text: str) -> str:
    if "{says}" not in rule.meaning:
        return rule.meaning
    family = read_table(MACHINES[language]).find(text)
    says = family.says.rstrip(".") if family else "an instruction that is not known here"
    return rule.meaning.format(says=says[0].lower() + says[1:])
