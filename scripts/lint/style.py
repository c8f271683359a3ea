"""The house style of prose: one sentence on each line, no speed without a figure, and terms as in the glossary.

    uv run python -m lint.style [--mend] [docs/fusion.md ...]

`--mend` puts each sentence on a line of its own; a person has to fix all other findings.

No linter has these rules. The rule of rumdl for one sentence on each line (MD013) does not handle bold titles,
definitions and notebooks. `typos` checks the spelling, and `typed_numbers.py` the numbers.

* A line of a paragraph or list holds one whole sentence. A bold title that ends with a full stop may come before it.
* A word of speed has a figure in its sentence or a neighboring one: a number or a computed value.
* A term is written as in `docs/glossary.md`; `style.toml` lists wrong synonyms for some terms.
* `style.toml` also lists plain words that texts about compilers do not use, each with the field's own word.

Exceptions are listed in `style.toml`, with the words around them and the reason.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import ROOT
from livepage.notebooks import read_markdown
from livepage.read import mask

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = Path(__file__).with_suffix(".toml")

# Lines that are not running text: headings, table rows, glossary entries, and the titles of folds and tabs.
_NO_TEXT = re.compile(r"^\s*(?:#|\||:\s|!!!|\?\?\?|===)")
_DEFINITION = re.compile(r"^:\s")
_TAB = re.compile(r"^\s*===")
_ITEM = re.compile(r"^\s*(?:[*+-]|\d+[.)])\s+")
_TITLE = re.compile(r"^\s*(?:(?:[*+-]|\d+[.)])\s+)?\*\*[^*]+[.?!]\*\*(?=\s)")
_CLOSING = r"[\"')\]*_`\N{RIGHT DOUBLE QUOTATION MARK}]*"
_NEXT = re.compile(rf"[.?!]{_CLOSING}(?P<gap>\s+)(?=[\"'(\[*_`\N{{LEFT DOUBLE QUOTATION MARK}}]*[A-Z\x00])")
_END = re.compile(rf"[.?!:;,]{_CLOSING}\s*$")
_SHORT = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|etc|approx|Fig|No|Sec)|\b[A-Z])\.$")
_SPEED = re.compile(r"\b(?:fast|slow|quick|rapid|speed|swift|blazing|performant|sluggish)\w*", re.IGNORECASE)
_FIGURE = re.compile(r"\d|(?<!`)`= ")
_ENTRY = re.compile(r"^\*\*(.+?)\*\*\{ #[\w-]+ \}$", re.MULTILINE)


@dataclass(frozen=True)
class Breach:
    """A violation of the house style: its file, its line, and a message."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        """Return `file:line: ` with what to do."""
        return f"{self.file}:{self.line}: {self.what}"


@dataclass(frozen=True)
class _Line:
    """A line of prose.

    Attributes:
        number: The line number, counted from one.
        text: The line as written in the file.
        prose: The line with everything but prose blanked out; code becomes NUL characters, so that it remains a word.
    """

    number: int
    text: str
    prose: str


def check_style(path: Path, root: Path = ROOT) -> list[Breach]:
    """Return the violations of the style on a page, in order.

    Args:
        path: The Markdown file, or the Python file of a notebook.
        root: The project; messages name the file relative to it.
    """
    text = read_markdown(path) if path.suffix == ".py" else path.read_text(encoding="utf-8")
    return check_text(text, path.relative_to(root).as_posix())


def list_prose_files(root: Path = ROOT) -> list[Path]:
    """Return the files with the site's prose: pages, notebooks and the changelog."""
    docs = root / "docs"
    return [*sorted(docs.rglob("*.md")), *sorted(docs.rglob("*.py")), root / "CHANGELOG.md"]


def check_text(text: str, name: str) -> list[Breach]:
    """Return the violations of the style in a page's text.

    Args:
        text: Markdown.
        name: The page's file, relative to the project.
    """
    allowed = _read_rules()["allowed"].get(name, {})
    breaches: set[tuple[int, str]] = set()
    for paragraph in _list_paragraphs(text):
        breaches |= set(_find_sentences(paragraph))
        breaches |= set(_find_speed(paragraph, tuple(allowed)))
    for line in _list_lines(text):
        # The title of a tab may be code, such as `stage="hlo"`, so its words need not be terms.
        breaches |= set() if _TAB.match(line.text) else set(_find_terms(line, tuple(allowed)))
        if _DEFINITION.match(line.text):
            breaches |= set(_find_speed([line], tuple(allowed)))
    return [Breach(name, number, what) for number, what in sorted(breaches)]


def mend(text: str) -> str:
    """Return a page's text with each sentence on a line of its own, with the same indentation."""
    lines = text.split("\n")
    for line in _list_lines(text):
        if _NO_TEXT.match(line.text):
            continue
        lead = _ITEM.match(line.text)
        indent = " " * (lead.end() if lead else len(line.text) - len(line.text.lstrip()))
        parts, start = [], 0
        for gap in _list_gaps(line):
            parts.append(line.text[start : gap.start("gap")])
            start = gap.end()
        lines[line.number - 1] = f"\n{indent}".join([*parts, line.text[start:]])
    return "\n".join(lines)


def unused(root: Path = ROOT) -> list[str]:
    """Return the exceptions in `style.toml` that no page uses any more, and its terms that are not in the glossary."""
    rules = _read_rules()
    stale = [
        f"{name}: {phrase!r}"
        for name, phrases in rules["allowed"].items()
        for phrase in phrases
        if not (root / name).is_file() or phrase not in (root / name).read_text(encoding="utf-8")
    ]
    terms = {term.lower() for term in _read_terms()}
    return stale + [
        f"no term of the glossary: {right!r}" for right in rules["terms"].values() if right.lower() not in terms
    ]


def _list_lines(text: str) -> Iterator[_Line]:
    """Yield the lines of a page that hold prose."""
    for number, (line, prose) in enumerate(zip(text.split("\n"), _mark(text).split("\n"), strict=True), 1):
        if prose.strip(" \t>\x00") or "\x00" in prose:
            yield _Line(number, line, prose)


def _mark(text: str) -> str:
    """Return a page with white space for everything but prose, and NUL characters for code and values within prose."""
    masked = mask(text)
    marked = list(masked)
    for span in re.finditer(r"(?<!\\)(`+)(?!`)[^\n]+?(?<!`)\1(?!`)", text):
        # The lines of a fence are blank as well, but have no text around the code; they must not become words.
        start = text.rfind("\n", 0, span.start()) + 1
        end = text.find("\n", span.end())
        line = masked[start : end if end >= 0 else len(text)]
        if line.strip(" \t>") and not masked[span.start() : span.end()].strip():
            marked[span.start() : span.end()] = "\x00" * len(span[0])
    return "".join(marked)


def _list_paragraphs(text: str) -> Iterator[list[_Line]]:
    """Yield the paragraphs and the list items, each as its lines."""
    paragraph: list[_Line] = []
    for line in _list_lines(text):
        follows = paragraph and line.number == paragraph[-1].number + 1
        if paragraph and not (follows and not _ITEM.match(line.text) and not _NO_TEXT.match(line.text)):
            yield paragraph
            paragraph = []
        if not _NO_TEXT.match(line.text):
            paragraph.append(line)
    if paragraph:
        yield paragraph


def _find_sentences(paragraph: list[_Line]) -> Iterator[tuple[int, str]]:
    """Yield the number of each line with a second sentence or an unfinished one, and a message."""
    for line in paragraph:
        # Only the first gap is reported, since `--mend` splits the whole line at once.
        for gap in _list_gaps(line)[:1]:
            after = line.text[gap.end() :].strip()
            yield line.number, f"a second sentence on the line, give it one of its own: {_head(after)!r}"
    for line, following in pairwise(paragraph):
        if not _END.search(line.prose) and not line.text.endswith(("  ", "\\")):
            yield line.number, f"the sentence goes on in the next line, join them: {_head(following.text.strip())!r}"


def _list_gaps(line: _Line) -> list[re.Match[str]]:
    """Return the gaps between the sentences of a line."""
    title = _TITLE.match(line.text)
    gaps = _NEXT.finditer(line.prose, title.end() if title else 0)
    return [gap for gap in gaps if not _SHORT.search(line.prose[: gap.start() + 1])]


def _find_speed(paragraph: list[_Line], allowed: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the line of each word of speed without a figure in its sentence or a neighboring one, and a message."""
    for index, line in enumerate(paragraph):
        beside = paragraph[max(0, index - 1) : index + 2]
        if any(
            _FIGURE.search(neighbor.prose.replace("\x00", "")) or _FIGURE.search(_values(neighbor))
            for neighbor in beside
        ):
            continue
        for word in _SPEED.finditer(line.prose):
            if not _is_allowed(line, word, allowed):
                yield line.number, f"{word[0]!r} without a figure beside it: give the number, or say what costs what"


def _values(line: _Line) -> str:
    """Return the computed values of a line."""
    return " ".join(re.findall(r"(?<!`)`= [^`]*`", line.text))


def _find_terms(line: _Line, allowed: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the line of each term not written as in the glossary and of each discouraged word, and a message."""
    for pattern, right in _read_patterns():
        for word in pattern.finditer(line.prose):
            if word[0] != right and not _is_allowed(line, word, allowed):
                yield line.number, f"{word[0]!r}: the glossary says {right!r}"
    for pattern, right in _read_words():
        for word in pattern.finditer(line.prose):
            if not _is_allowed(line, word, allowed):
                yield line.number, f"{word[0]!r}: say {right}"


def _is_allowed(line: _Line, word: re.Match[str], allowed: tuple[str, ...]) -> bool:
    """Return whether a match is inside a phrase that is allowed on the page."""
    return any(
        start <= word.start() and word.end() <= start + len(phrase)
        for phrase in allowed
        for start in [match.start() for match in re.finditer(re.escape(phrase), line.text)]
    )


@cache
def _read_patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns that match wrong forms of a term, each with the right form.

    A name with a capital letter inside (StableHLO, XLA) is matched in any other case. A term with a hyphen or a space
    (all-reduce) is matched as one word, and a term with a hyphen also as two.
    """
    patterns = []
    for term in _read_terms():
        if re.search(r"\w[A-Z]", term) and " " not in term and term not in _read_rules()["ordinary"]:
            split = re.sub(r"(?<=[a-z])(?=[A-Z])", r"[ -]?", term)
            patterns.append((re.compile(rf"(?<![\w./-]){split}(?![\w./-]*\w)", re.IGNORECASE), term))
        elif "-" in term:
            patterns.append((re.compile(rf"\b{term.replace('-', ' ?')}\b", re.IGNORECASE), term))
        elif " " in term:
            patterns.append((re.compile(rf"\b{term.replace(' ', '')}\b", re.IGNORECASE), term))
    for wrong, right in _read_rules()["terms"].items():
        patterns.append((re.compile(rf"\b{wrong}\b", re.IGNORECASE), right))
    return tuple(patterns)


@cache
def _read_words() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns for words that technical texts do not use, each with its replacement."""
    words: dict[str, str] = _read_rules()["words"]
    return tuple((re.compile(rf"\b(?:{wrong})\b", re.IGNORECASE), right) for wrong, right in words.items())


@cache
def _read_terms() -> tuple[str, ...]:
    """Return the terms of the glossary."""
    return tuple(_ENTRY.findall((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")))


@cache
def _read_rules() -> dict[str, Any]:
    """Return the content of `style.toml`."""
    return tomllib.loads(RULES.read_text(encoding="utf-8"))


def _head(text: str) -> str:
    """Return the first words of a text."""
    return text if len(text) <= 40 else f"{text[:40].rpartition(' ')[0]} ..."  # noqa: PLR2004 - enough to find it


def main() -> None:
    """Check the pages that the command line names, or all pages; `--mend` first splits lines with several sentences."""
    names = [name for name in sys.argv[1:] if name != "--mend"]
    paths = [Path(name).resolve() for name in names] or list_prose_files()
    for path in [path for path in paths if "--mend" in sys.argv and path.suffix == ".md"]:
        path.write_text(mend(path.read_text(encoding="utf-8")), encoding="utf-8")
    findings = [finding for path in paths for finding in check_style(path)]
    print("\n".join(map(str, findings)) or f"nothing to say about the style of {len(paths)} pages")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
