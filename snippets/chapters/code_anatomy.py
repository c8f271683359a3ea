"""Annotated lines of generated code (SASS, PTX, LLVM IR, TPU bundles): numbered parts with a list of explanations."""

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
"""Languages of machine code, mapped to the table of their instructions."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of part that a line of one language may contain.

    Attributes:
        pattern: The expression that matches such a part.
        name: The name of this kind of part.
        meaning: The explanation of this kind of part.
        role: The class that gives its colour.
        once: Whether a line contains it at most once.
    """

    pattern: re.Pattern[str]
    name: str
    meaning: str
    role: str
    once: bool = False


def annotate_code(language: str, line: str) -> str:
    """Return a line of code as an annotated figure, HTML.

    Args:
        language: The language: `sass`, `ptx`, `llvm`, `triton`, `asm` or `bundle`.
        line: The line.

    Raises:
        ValueError: The table has no rules for that language.
    """
    parts = split_code(language, line)
    return draw_parts(parts, read_rules()[language][0])


def split_code(language: str, line: str) -> tuple[Part, ...]:
    """Return the parts of a line of code, including the text between them: joined, they are the stripped line.

    Parts with the same name and meaning share one entry of the list below the line.

    Raises:
        ValueError: As in `annotate_code`.
    """
    languages = read_rules()
    if language not in languages:
        message = f"no rules for lines of {language!r}; the known languages are {', '.join(languages)}"
        raise ValueError(message)
    text, rules = line.strip(), [*languages[language][1]]
    parts: list[Part] = []
    position = between = 0
    while position < len(text):
        # An empty match would not advance the position, so it does not count.
        candidate = next(
            ((rule, match) for rule in rules if (match := rule.pattern.match(text, position)) and match[0]), None
        )
        if candidate is None:
            position += 1
            continue
        rule, match = candidate
        if between < position:
            parts.append(Part(text[between:position]))
        parts.append(Part(match[0], rule.name, _explain(language, rule, match[0]), rule.role))
        if rule.once:
            # Rules marked `once` are listed in the order of the line, so the earlier ones can no longer match.
            rules = [other for other in rules[rules.index(rule) + 1 :] if other.once] + [
                other for other in languages[language][1] if not other.once
            ]
        between = position = match.end()
    if between < len(text):
        parts.append(Part(text[between:]))
    return tuple(parts)


@cache
def read_rules() -> dict[str, tuple[str, tuple[Rule, ...]]]:
    """Return for each language the title of its figures, and its rules in the order in which they are tried."""
    table = tomllib.loads(LINES.read_text(encoding="utf-8"))
    return {
        language: (
            entry["title"],
            tuple(Rule(**{**part, "pattern": re.compile(part["pattern"])}) for part in entry["part"]),
        )
        for language, entry in table.items()
    }


def _explain(language: str, rule: Rule, text: str) -> str:
    if "{says}" not in rule.meaning:
        return rule.meaning
    family = read_table(MACHINES[language]).find(text)
    # The description is inserted into a sentence, so it loses its capital letter and its full stop.
    says = family.says.rstrip(".") if family else "an instruction that the table does not list"
    return rule.meaning.format(says=says[0].lower() + says[1:])
