"""The comparison of a page's sentences with the code that backs them: a change of either needs a person's review.

A check guards a fact about the compiler. Only a person can see that a sentence still states this fact. The project
therefore records, for each page, the sentences that make claims and the backing of each. After an edit of either, the
build fails until a person has reviewed both with `scripts/authoring/affirm`.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING

from livepage.read import LABELS, VALUE, Failure, Origin, project
from livepage.run import backing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from livepage.read import Prose, Sentence
    from livepage.run.backing import Record

_MOST = 3
"""The largest number of sentences that the message of a failing check lists."""
_LONGEST = 8
"""The largest number of words in a request or question that makes no claim."""
_COMPARE = "compare it with the code that backs it"


def claims(text: str) -> bool:
    """Return whether a sentence may state a fact.

    Every sentence, title, row and label does, except for short questions, short requests and short sentences about the
    page itself. Those only state a fact if they contain code, an amount, or the project's words for compiler decisions.
    """
    if re.fullmatch(r"\d+[.)]", text):  # the number of a list item
        return False
    if VALUE.search(text) or text.startswith(LABELS) or re.search(r"[`|\d]", text):
        return True
    words = _read_words(project.root)
    plain = text.strip('"*_ ')
    soft = words["soft"].match(plain)
    if len(text.split()) > _LONGEST or not (soft or plain.endswith("?")):
        return True
    rest = plain[soft.end() :] if soft else plain
    kinds = {kind for kind in ("names", "actors", "things", "amounts") if words[kind].search(rest)}
    return bool(kinds & {"names", "amounts"}) or {"actors", "things"} <= kinds


@cache
def _read_words(root: Path) -> dict[str, re.Pattern[str]]:
    table = backing.read_words(root)
    return {
        kind: re.compile(rf"(?<![\w-])(?:{'|'.join(words)})(?![\w-])", re.IGNORECASE)
        for kind, words in table.items()
        if kind != "helpers"
    }


def list_claims(prose: Prose) -> list[Sentence]:
    """Return the sentences of a page that have to be affirmed."""
    return [sentence for sentence in prose.sentences if sentence.backing or claims(sentence.text)]


def judge_sentences(prose: Prose) -> list[Failure]:
    """Return a failure for each sentence not affirmed with its current backing, and one if affirmed sentences are gone.

    A project without the file `backing.WORDS` has no failures.
    """
    if not (project.root / backing.WORDS).is_file():
        return []
    faults = _judge(prose, backing.load_affirmed(prose.name))
    return [
        Failure(Origin(prose.name, line), f"{what}, then run scripts/authoring/affirm {prose.name}")
        for line, what in sorted(faults)
    ]


def _judge(prose: Prose, record: Record) -> Iterator[tuple[int, str]]:
    open_sentences = list_open(prose, record)
    affirmed = {one for one, _ in record}
    for sentence in open_sentences:
        if backing.hash_sentence(sentence.text) not in affirmed:
            yield sentence.line, f"this sentence is new or changed, {_quote(sentence.text)}: {_COMPARE}"
        elif sentence.backing in prose.checks:
            resting = list_resting(prose, sentence.text)
            of = f"; on it rests line {resting[0].line}, {_quote(resting[0].text)}" if resting else ""
            yield sentence.line, f"this check or a helper of it changed{of}: {_COMPARE}"
        else:
            yield sentence.line, f"what backs this sentence changed, {_quote(sentence.text)}: {_COMPARE}"
    absent = affirmed - {backing.hash_sentence(sentence.text) for sentence in prose.sentences}
    fresh = [one for one in open_sentences if backing.hash_sentence(one.text) not in affirmed]
    # An edited sentence is both absent and fresh; only additional absent sentences were deleted.
    if len(absent) > len(fresh):
        number = f"{len(absent)} of {len(affirmed)} sentences"
        yield 1, f"the page no longer says what was affirmed ({number}): check that they may go"


def list_open(prose: Prose, record: Record) -> list[Sentence]:
    """Return the sentences that have to be affirmed because they or their backing changed."""
    backings = backing.Backings(prose)
    by_sentence: dict[str, set[str]] = {}
    for one, seal in record:
        by_sentence.setdefault(one, set()).add(seal)
    return [
        sentence
        for sentence in list_claims(prose)
        if not (
            (seals := by_sentence.get(backing.hash_sentence(sentence.text), set()))
            and any(backings.is_one_of(check, seals) for check in backings.list_possible(sentence))
        )
    ]


def list_resting(prose: Prose, title: str) -> list[Sentence]:
    """Return the sentences of a page that people affirmed with the check of this title as their backing."""
    digits = backing.hash_title(title)
    hashes = {one for one, seal in backing.load_affirmed(prose.name) if seal.startswith(digits)}
    return [
        sentence
        for sentence in prose.sentences
        if backing.hash_sentence(sentence.text) in hashes and not sentence.backing
    ]


def explain_failure(failure: Failure, title: str, prose: Prose) -> Failure:
    """Return a check's failure, whose message then also lists the sentences that the check backs."""
    resting = list_resting(prose, title)
    if not resting:
        return failure
    places = "; ".join(f"{prose.name}:{sentence.line} {_quote(sentence.text)}" for sentence in resting[:_MOST])
    more = f", and {len(resting) - _MOST} more" if len(resting) > _MOST else ""
    return Failure(failure.origin, f"{failure.error}; on this rests {places}{more}")


def _quote(text: str, most: int = 90) -> str:
    return json.dumps(text if len(text) <= most else f"{text[:most].rpartition(' ')[0]} ...", ensure_ascii=False)
