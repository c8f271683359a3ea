"""The backing of a sentence, and the record of the sentences that people affirmed: two hashes for each sentence.

The first hash is of the sentence, without markup. The second is of its backing: five digits from the title, then seven
from the code with the helpers that it calls. An edit of the sentence, the check or a helper changes one of them.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import keyword
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.read import LABELS, OUTPUT, READING, VALUE, Check, project
from livepage.run.helpers import list_helpers, normalize_code, read_namespace, rename_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from livepage.read import Prose, Sentence

RECORDS = Path("docs/data/affirmed.txt")
"""The file of the records: the name of each text, followed by a line for each affirmed sentence."""
WORDS = Path("scripts/authoring/affirm.toml")

VALUES = "values"
SOURCE = "source"
"""The kind of a backing that is a link."""
KINDS = {
    VALUES: "it computes what it says",
    OUTPUT: "it says what a block of its section prints",
    SOURCE: "it, or the sentence next to it, links to its source",
    READING: "no code decides it: a person compared it with what it is about",
}
"""The kinds of backing that can replace a check, each with a description."""

TITLE = 5
"""The number of digits of a backing's hash that come from its title."""
_DIGITS = 12
_LINK = re.compile(r"\]\(|<https?://|\]\[|\[\^")
_EXPRESSION = re.compile(r"(?<!`)(`+)\s?=\s(.+?)\s*\1")
_CLAUSES = re.compile(r"[;:]\s|,\s")
_PARTS = re.compile(rf"{_CLAUSES.pattern}|\sand\s")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# The parts of a sentence that are not words: link targets, footnotes, attributes, tags, emphasis and cell marks.
_MARKUP = re.compile(
    r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|\[\^[^\]]*\]|\{:?\s*[#.][^}\n]*\}|</?\w[^>]*>|[*_`\[\]|\\]"
)
_PUNCTUATION = re.compile(r"[.,;:!\"'()]+(?=\s|$)|(?<!\S)[\"'(]+")

type Record = set[tuple[str, str]]
"""The affirmed sentences, as pairs of the sentence's hash and the backing's hash."""


def _hash(text: str, digits: int = _DIGITS) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


@cache
def hash_sentence(text: str) -> str:
    """Return the hash of a sentence; markup and punctuation do not affect it."""
    expressions = [f"`= {_print(match[2])}`" for match in _EXPRESSION.finditer(text)]
    words = _PUNCTUATION.sub("", _MARKUP.sub(" ", _EXPRESSION.sub(" \0 ", text)))
    return _hash("\n".join([" ".join(words.split()).casefold(), *expressions]))


def _print(expression: str) -> str:
    try:
        return ast.unparse(ast.parse(expression.strip(), mode="eval"))
    except SyntaxError:
        return expression


@cache
def hash_title(title: str) -> str:
    """Return the first digits of the hash of a title."""
    return _hash(" ".join(title.split()), TITLE)


@cache
def read_words(root: Path) -> dict[str, list[str]]:
    """Return the lists of `affirm.toml` by name: words that mark claims, and the folders of helpers."""
    table: dict[str, list[str]] = tomllib.loads((root / WORDS).read_text(encoding="utf-8"))
    return table


class Backings:
    """The possible backings of a page's sentences, with the hashes of their code."""

    def __init__(self, prose: Prose) -> None:
        """Read the names that the page's blocks define."""
        self.prose = prose
        self._folders = tuple(project.root / name for name in read_words(project.root)["helpers"])
        self._namespace = read_namespace([block.code for block in prose.blocks], self._folders)
        self._seals: dict[tuple[str, str], str] = {}

    def seal(self, check: Check) -> str:
        """Return the hash of a backing: of its title, and of its code with the helpers that it calls."""
        key = check.title, check.code
        if key not in self._seals:
            code = rename_variables("\n".join([normalize_code(check.code), *self.list_helpers(check)]))
            self._seals[key] = hash_title(check.title) + _hash(code, _DIGITS - TITLE)
        return self._seals[key]

    def is_one_of(self, check: Check, seals: set[str]) -> bool:
        """Return whether a backing's hash is one of these; its code is read only if its title fits."""
        title = hash_title(check.title)
        return any(seal.startswith(title) for seal in seals) and self.seal(check) in seals

    def list_helpers(self, check: Check) -> list[str]:
        """Return the source of each statement, on the page or in a helper module, that a check's code depends on."""
        return list_helpers(check.code, self._namespace, self._folders) if check.code else []

    def list_possible(self, sentence: Sentence) -> list[Check]:
        """Return the possible backings of a sentence, the most probable first."""
        if sentence.backing:
            return [sentence.backing]
        beside = [check for check in self.prose.checks if check.section == sentence.section]
        near = [check for check in beside if check.line > sentence.line][:1] or beside[-1:]
        kinds = [kind for kind in KINDS if self._is_there(kind, sentence)]
        others = [check for check in self.prose.checks if check not in near]
        return [*near, *(self._make(kind, sentence) for kind in kinds), *others]

    def _make(self, kind: str, sentence: Sentence) -> Check:
        code = ""
        if kind == VALUES:
            code = "\n".join(match[2] for match in _EXPRESSION.finditer(sentence.text))
        elif kind == OUTPUT:
            code = "\n".join(block.code for block in self.prose.blocks if block.section == sentence.section)
        return Check(kind, code, sentence.line, sentence.section)

    def _is_there(self, kind: str, sentence: Sentence) -> bool:
        if kind == VALUES:
            return bool(VALUE.search(sentence.text))
        if kind == OUTPUT:
            return any(block.section == sentence.section for block in self.prose.blocks)
        if kind == SOURCE:
            at = self.prose.sentences.index(sentence)
            beside = self.prose.sentences[max(0, at - 1) : at + 2]
            return any(_LINK.search(other.text) for other in beside if other.section == sentence.section)
        return True


def find_undecided(sentence: Sentence, check: Check, helpers: list[str]) -> list[str]:
    """Return the parts of a sentence that its backing does not decide, judging by the text.

    For computed values, these are the clauses without one; for a check or a block, the names and numbers that its code
    lacks.
    """
    if sentence.text.startswith(LABELS):
        return []
    if check.title == VALUES:
        clauses = _CLAUSES.split(_EXPRESSION.sub("`= `", sentence.text))
        return [clause for clause in clauses if "`= " not in clause and len(clause.split()) > 2]  # noqa: PLR2004 - a clause
    if not check.code:
        return []
    code = "\n".join([check.title, check.code, *helpers]).casefold()
    words = read_words(project.root)
    names = re.findall(rf"(?<![\w-])(?:{'|'.join(words['names'])})(?![\w-])", sentence.text, re.IGNORECASE)
    return [name for name in dict.fromkeys(names) if name.casefold().rstrip("s") not in code]


def list_added_words(sentence: Sentence) -> list[str]:
    """Return the words that a sentence adds to its computed values; none if the sentence only states these values.

    The words of the list `measuring`, and those in the code of a value in the same clause, add nothing. A word for an
    amount or a comparison adds something even if it is in the code, since code may contain it for any reason.
    """
    values = [match[2] for match in _EXPRESSION.finditer(sentence.text)]
    numbered = iter(range(len(values)))
    words = read_words(project.root)
    open_words = []
    for part in _PARTS.split(_MARKUP.sub(" ", _EXPRESSION.sub(lambda _: f" \0{next(numbered)} ", sentence.text))):
        own = [values[int(number)] for number in re.findall(r"\0(\d+)", part)] or values
        code = {_stem(word) for word in _WORD.findall(" ".join(own).replace("_", " "))} - _PYTHON
        for word in _WORD.findall(re.sub(r"\0\d+", "", part)):
            is_amount = any(re.fullmatch(amount, word, re.IGNORECASE) for amount in words["amounts"])
            if word.casefold() not in words["measuring"] and (is_amount or _stem(word) not in code):
                open_words.append(word)
    return open_words


_PYTHON = {*keyword.kwlist, *dir(builtins)}


def _stem(word: str) -> str:
    return word.casefold().removesuffix("'s").removesuffix("s")


def load_affirmed(name: str) -> Record:
    """Return the affirmed sentences of a text, which is named relative to the project."""
    return set(load_all().get(name, ()))


def load_all() -> Mapping[str, Record]:
    """Return the affirmed sentences of all texts, by the text's name."""
    file = project.root / RECORDS
    return _load(file, file.stat().st_mtime_ns) if file.is_file() else {}


@cache
def _load(file: Path, _modified: int) -> Mapping[str, Record]:
    records: dict[str, Record] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        first, second = line.split()
        if first == "#":
            record = records.setdefault(second, set())
        else:
            record.add((first, second))
    return records


def store(prose: Prose, record: Record) -> bool:
    """Write the affirmed sentences of a text in the order of its sentences; return whether they changed."""
    if record == load_affirmed(prose.name):
        return False
    order = {hash_sentence(sentence.text): at for at, sentence in enumerate(prose.sentences)}
    pairs = sorted(record, key=lambda pair: (order.get(pair[0], len(order)), pair))
    file = project.root / RECORDS
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    sections = {part.partition("\n")[0]: part for part in text.split("# ")[1:]}
    sections[prose.name] = "".join([f"{prose.name}\n", *(f"{one} {backing}\n" for one, backing in pairs)])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"# {sections[name]}" for name in sorted(sections) if name != prose.name or record))
    return True
