"""Damage HLO at random, and count what the reader answers with: a module, its own error, or anything else.

    uv run python -m maintaining.hlo_mutations [--count 100000] [--seed 0] [FILE ...]

Without files, the modules that the tests hold are damaged. Characters, words and lines are deleted, doubled, swapped,
flipped or replaced; texts are cut off, nested deep, and given huge numbers, NUL, escapes of terminals and HTML.
The command fails where the reader raises anything but its own error, names a place outside the text, takes longer than
two seconds of processor time, or needs more than a gibibyte.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from common import ROOT, say
from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SECONDS = 2.0
MEBIBYTES = 1024
_WORD = re.compile(r"\w+|[^\w\s]")
_STRANGE = (
    "\0", "\x1b[2J\x1b]0;x\a", "<script>alert(1)</script>", "\u2028", "\u00e9", "\U0001f600", "\ufeff", "9" * 5000,
    "-99999999999999999999", "1e999999999", "0x", "\\", '"', "'", "/*", "//", "\r", "%", "#9999999999", "{...}",
)  # fmt: skip
_NESTS = ("(", "{", "[", "f32[", "add(", "calls={ROOT a = ", "{(", "((", "a={", "/*")


def mutate(text: str, dice: random.Random) -> str:
    """Return a text with one to four things damaged."""
    for _ in range(dice.choice((1, 1, 2, 4))):
        text = dice.choice(_KINDS)(text, dice)
    return text


def _change_piece(pieces: list[str], dice: random.Random, between: str) -> str:
    """Delete, double, move, swap or replace one of the pieces of a text."""
    if not pieces:
        return ""
    first, second = dice.randrange(len(pieces)), dice.randrange(len(pieces))
    kind = dice.randrange(5)
    if kind == 0:
        del pieces[first]
    elif kind == 1:
        pieces.insert(second, pieces[first])
    elif kind == 2:  # noqa: PLR2004 - the kinds are numbered
        pieces[first], pieces[second] = pieces[second], pieces[first]
    elif kind == 3:  # noqa: PLR2004 - likewise
        pieces[first] = dice.choice(_STRANGE)
    else:
        pieces[first] = pieces[second]
    return between.join(pieces)


def _change_character(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    other = chr(ord(text[at]) ^ (1 << dice.randrange(7))) if at < len(text) else "}"
    return text[:at] + dice.choice(("", other, other + other)) + text[at + 1 :]


def _change_word(text: str, dice: random.Random) -> str:
    found = [match.span() for match in _WORD.finditer(text)]
    pieces, last = [], 0
    for start, end in found:
        pieces += [text[last:start], text[start:end]]
        last = end
    return _change_piece([*pieces, text[last:]], dice, "")


def _nest(text: str, dice: random.Random) -> str:
    at, depth = dice.randrange(len(text) + 1), dice.choice((3, 70, 2000))
    opening = dice.choice(_NESTS)
    closing = "".join({"(": ")", "{": "}", "[": "]"}.get(mark, "") for mark in reversed(opening))
    return text[:at] + opening * depth + dice.choice(("", "x", closing * depth)) + text[at:]


_KINDS: tuple[Callable[[str, random.Random], str], ...] = (
    _change_character,
    _change_word,
    lambda text, dice: _change_piece(text.split("\n"), dice, "\n"),
    lambda text, dice: text[: dice.randrange(len(text) + 1)],
    lambda text, dice: (at := dice.randrange(len(text) + 1), text[:at] + dice.choice(_STRANGE) + text[at:])[1],
    _nest,
)


def answer(text: str) -> str:
    """Return what the reader makes of a text: `read`, `refused`, or what is wrong with that.

    Raises:
        Exception: Whatever the reader raises that is not its own error.
    """
    start, refusal = time.process_time(), None
    try:
        parse_module(text)
    except HloSyntaxError as error:
        refusal = error
    if time.process_time() - start > SECONDS:
        return "slow"
    if refusal is None:
        return "read"
    lines = text.split("\n")
    inside = 1 <= refusal.line <= len(lines) and 1 <= refusal.column <= len(lines[refusal.line - 1]) + 1
    plain = str(refusal).isprintable()
    return "refused" if inside and plain else "refused badly"


def main(arguments: Sequence[str] | None = None) -> int:
    """Damage texts and print what came of them; return 1 where anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="HLO to damage; the tests' modules by default")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    texts = [path.read_text(encoding="utf-8") for path in asked.files] or list_texts()
    dice = random.Random(asked.seed)  # noqa: S311 - the same damage each time, and no secret
    answers: Counter[str] = Counter()
    for number in range(asked.count):
        text = mutate(dice.choice(texts), dice)
        try:
            found = answer(text)
        except Exception as error:  # noqa: BLE001 - what else it raises is the question
            found = f"raised {type(error).__name__}"
        answers[found] += 1
        if found not in {"read", "refused"} and answers[found] <= 3:  # noqa: PLR2004 - a few are enough to look at
            say(f"{number}, {found}: {text[:2000]!r}")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    say(f"{asked.count:,} damaged: {', '.join(f'{count:,} {found}' for found, count in answers.most_common())}")
    say(f"{used:,} MiB at most")
    return int(not set(answers) <= {"read", "refused"} or used > MEBIBYTES)


def list_texts() -> list[str]:
    """Return the modules that the tests hold."""
    sys.path.insert(0, str(ROOT / "tests" / "xla_inspect"))
    from handwritten import MODULES

    return list(MODULES.values())


if __name__ == "__main__":
    sys.exit(main())
