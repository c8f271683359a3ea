"""Hold the sentences of a page to the checks that back them: the one is not changed without a look at the other.

A check guards a fact of the compiler. That the sentence beside it still says this fact, only a person can see. So the
project keeps, for each page, a record in which every sentence that claims something stands beside the check that backs
it. An edit of either fails until `scripts/authoring/affirm` has shown both, and the record's diff shows both to a
reviewer.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.read import VALUE, Failure, Origin, project
from livepage.run import backing
from livepage.run.backing import CHECK, FREE, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from livepage.read import Prose, Sentence
    from livepage.run.backing import Record

WORDS = Path("scripts/authoring/affirm.toml")

_ALIKE = 0.75
"""How much of a sentence stays when it still is the same one, edited."""
_FEWEST = 3
"""How many words it takes to claim something; what has fewer is a heading."""
_MOST = 3
"""How many sentences a failing check names."""


def claims(text: str) -> bool:
    """Return whether a sentence says what a compiler decides: it holds a value, or words that the project lists."""
    if len(text.split()) < _FEWEST or text.endswith("?"):
        return bool(VALUE.search(text))
    words = _read_words(project.root / WORDS)
    holds = {kind for kind in ("names", "actors", "things", "amounts") if words[kind].search(text)}
    is_said = {"things", "amounts"} <= holds and not words["definitions"].match(text)
    return bool(VALUE.search(text)) or "names" in holds or {"actors", "things"} <= holds or is_said


@cache
def _read_words(file: Path) -> dict[str, re.Pattern[str]]:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        kind: re.compile(rf"(?<![\w-])(?:{'|'.join(words)})(?![\w-])", re.IGNORECASE) for kind, words in table.items()
    }


def judge(prose: Prose, record: Record | None = None) -> list[Failure]:
    """Return where a page says something that was not affirmed, or not against the check as it is now.

    Args:
        prose: What the page says now.
        record: What was affirmed of it; by default what the project keeps.
    """
    if not (project.root / WORDS).is_file():
        return []
    record = backing.load(prose.name) if record is None else record
    faults = [*_judge_sentences(prose, record), *_judge_checks(prose, record)]
    do = f"read them, then scripts/authoring/affirm {prose.name}"
    return [Failure(Origin(prose.name, line), f"{what}: {do}") for line, what in sorted(faults)]


def _judge_sentences(prose: Prose, record: Record) -> Iterator[tuple[int, str]]:
    now = {sentence.text: sentence for sentence in prose.sentences}
    lines = {check.title: check.line for check in prose.checks}
    fresh = [sentence for sentence in prose.sentences if sentence.text not in record.backed]
    for text, follower in pair([text for text in record.backed if text not in now], fresh).items():
        kind, title = record.backed[text]
        if follower:
            fresh.remove(follower)
            if kind != FREE:
                behind = f"the check at line {lines[title]}, {_quote(title)}" if title in lines else f"its {kind}"
                yield follower.line, f"this sentence changed, and rests on {behind}; it was {_quote(text)}"
        elif kind != FREE:
            yield lines.get(title, 1), f"the page no longer says {_quote(text)}"
    for text, (kind, title) in record.backed.items():
        if text in now and prose.fixed and prose.fixed[text] != (kind, title):
            yield now[text].line, f"this rests on {prose.fixed[text][1] or 'a source'}, and was held against {title}"
        elif text in now and kind in KINDS and not backing.can_back(kind, now[text], prose):
            yield now[text].line, f"this sentence rests on its {kind}, and there is none"
    for sentence in fresh:
        if prose.fixed or claims(sentence.text):
            yield sentence.line, "this sentence says what a compiler decides, and was not held against a check"


def _judge_checks(prose: Prose, record: Record) -> Iterator[tuple[int, str]]:
    now = {sentence.text: sentence for sentence in prose.sentences}
    for check in prose.checks:
        if check.title not in record.checks:
            yield check.line, "no sentence was held against this check"
        elif not same_code(check.code, record.checks[check.title]):
            sentences = [now[text] for text in record.list_sentences(CHECK, check.title) if text in now]
            resting = "".join(
                f"; on it rests line {sentence.line}, {_quote(sentence.text)}" for sentence in sentences[:1]
            )
            yield check.line, f"this check changed{resting}"


def pair(gone: Iterable[str], fresh: Iterable[Sentence]) -> dict[str, Sentence | None]:
    """Find for each sentence that is gone the new one that it became, or None."""
    left = list(fresh)
    followers: dict[str, Sentence | None] = {}
    for text in gone:
        best = max(left, key=lambda sentence: _measure(text, sentence.text), default=None)
        followers[text] = best if best and _measure(text, best.text) >= _ALIKE else None
        if best and followers[text]:
            left.remove(best)
    return followers


def _measure(before: str, after: str) -> float:
    """Return the share of a sentence that stays, in words or in letters."""
    words = difflib.SequenceMatcher(None, before.split(), after.split(), autojunk=False).ratio()
    return max(words, difflib.SequenceMatcher(None, before, after, autojunk=False).ratio())


def explain(failure: Failure, title: str, prose: Prose) -> Failure:
    """Return the failure of a check with the line of each sentence that rests on it."""
    texts = set(backing.load(prose.name).list_sentences(CHECK, title))
    resting = [sentence for sentence in prose.sentences if sentence.text in texts]
    if not resting:
        return failure
    places = "; ".join(f"{prose.name}:{sentence.line} {_quote(sentence.text)}" for sentence in resting[:_MOST])
    more = f", and {len(resting) - _MOST} more" if len(resting) > _MOST else ""
    return Failure(failure.origin, f"{failure.error}; on this rests {places}{more}")


def same_code(one: str, other: str) -> bool:
    """Return whether two sources do the same, however they are laid out."""
    try:
        return one == other or ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def _quote(text: str, most: int = 90) -> str:
    return json.dumps(text if len(text) <= most else f"{text[:most].rpartition(' ')[0]} ...", ensure_ascii=False)
