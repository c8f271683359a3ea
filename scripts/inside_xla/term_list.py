"""The terms that pages link at their first use: those of the glossary, the opcodes, and the passes."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livepage.read import Term

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

GLOSSARY, OPERATIONS, OPCODES = "glossary.md", "operations.md", "data/opcodes.toml"
PASSES, PASS_TABLE = "passes.md", "data/passes.toml"
RULES = Path(__file__).with_name("terms.toml")

_ENTRY = re.compile(r"^\*\*(?P<name>.+?)\*\*\{ #(?P<id>[\w-]+) \}\n:   (?P<says>.+)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SENTENCE = re.compile(r".*?[.!?](?=\s|$)", re.DOTALL)


def read_terms(docs: Path) -> tuple[Term, ...]:
    """Return the terms of a folder of pages; missing files contribute no terms."""
    files = [docs / GLOSSARY, docs / OPCODES, docs / PASS_TABLE, RULES]
    return _read(tuple((file, file.stat().st_mtime_ns) for file in files if file.is_file()))


def choose(terms: Iterable[Term], page: str) -> list[Term]:
    """Return the terms that are linked on a page, given by its file."""
    rules = read_rules()
    if page in {GLOSSARY, OPERATIONS, *rules["without"]}:
        return []
    other = set(rules["other"].get(page, ()))
    pages = {name for name, kind in ((OPERATIONS, "opcodes"), (PASSES, "passes")) if kind in other}
    return [term for term in terms if term.name not in other and term.page not in pages]


@cache
def read_rules() -> Mapping[str, Any]:
    """Return the content of `terms.toml`."""
    return tomllib.loads(RULES.read_text(encoding="utf-8"))


@cache
def _read(files: tuple[tuple[Path, int], ...]) -> tuple[Term, ...]:
    texts = {file.name: file.read_text(encoding="utf-8") for file, _ in files}
    first = (*_list_glossary(texts.get("glossary.md", "")), *_list_opcodes(texts.get("opcodes.toml", "")))
    # The modification times in `files` make the cache miss after an edit.
    # If a pass has the same name as an opcode, the name means the opcode.
    return (*first, *_list_passes(texts.get("passes.toml", ""), {term.code for term in first}))


def _list_glossary(text: str) -> Iterator[Term]:
    rules = read_rules()
    for entry in _ENTRY.finditer(text):
        name = entry["name"]
        is_code = name in rules["codes"]
        words = () if is_code or name in rules["ordinary"] else tuple(_list_forms(name, entry["id"]))
        yield Term(
            name,
            GLOSSARY,
            entry["id"],
            shorten(entry["says"]),
            words,
            code=name if is_code else "",
            is_verb=name in rules["verbs"],
        )


def _list_opcodes(text: str) -> Iterator[Term]:
    for opcode, row in tomllib.loads(text).get("opcodes", {}).items():
        yield Term(opcode, OPERATIONS, f"op-{opcode}", shorten(row["says"]), code=opcode)


def _list_passes(text: str, codes: Container[str]) -> Iterator[Term]:
    for name, row in tomllib.loads(text).get("passes", {}).items():
        if name not in codes:
            yield Term(name, PASSES, name.replace(" ", "_"), shorten(row["says"]), code=name, is_rare=True)


def _list_forms(name: str, anchor: str) -> Iterator[str]:
    """Yield the forms of a term in prose: unchanged, in the plural, with hyphens, and as initials."""
    yield name
    if name[-1].islower():
        yield re.sub(r"(?<=[^aeiou])y$", "ie", name) + ("es" if name.endswith(("s", "x", "ch", "sh")) else "s")
    if " " in name:
        yield name.replace(" ", "-")
        initials = "".join(word[0] for word in name.split())
        # Only terms that are known by their initials have them as their anchor.
        if initials == anchor:
            yield initials.upper()


def shorten(definition: str) -> str:
    """Return the first sentence of a definition as plain text."""
    plain = re.sub(r"(?<!\w)[*_]+|[*_]+(?!\w)|`", "", _LINK.sub(r"\1", definition))
    first = _SENTENCE.match(plain)
    return first[0] if first else plain
