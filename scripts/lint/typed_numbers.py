"""The lint for literal numbers in prose: a number that comes from a compiler must be computed, never typed.

These numbers pass: names (`H100`, `float32`), years, the numbers of lists and exercises, and versions other than those
that the project pins. A shape such as `64 x 128` or `[4, 8]` passes if the page's own code, or a program that it
imports, contains it. A number in words must be computed, or be in the check behind its sentence, if the sentence rests
on code of the page (see `livepage.run`).

Any other number needs an entry in `typed_numbers.toml` with the words around it and the reason; `*` means all pages.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from common import ROOT
from livepage.notebooks import read_prose
from livepage.read import FENCE, READING, mask, project
from livepage.run import SOURCE, Backings, backing

ALLOWED = Path(__file__).with_suffix(".toml")

_WORD = re.compile(r"[^\s|]+")
_SHAPE = re.compile(r"\[\d+(?:,\s*\d+)*\]|\d+(?:\s*(?:x|\N{MULTIPLICATION SIGN})\s*\d+)+(?!\w)")
_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}|v\d+|(?:Python|jax|JAX|jaxlib|libtpu|CUDA|C\+\+|MkDocs)\s+\d+(?:\.\d+)*\b")
_COUNTS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
NUMBER_WORDS = {word: number for number, word in enumerate(_COUNTS.split(), 2)}
NUMBER_WORDS |= {"twice": 2, "half": 2, "thrice": 3, "dozen": 12}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_VALUE = re.compile(r"(?<!`)`= ([^`\n]+)`(?!`)")
_PUNCTUATION = "\"'*_.,;:!?()[]{}\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True)
class UnbackedNumber:
    """A number that neither code nor an exception backs, with its file and line."""

    file: str
    line: int
    number: str

    def __str__(self) -> str:
        """Return `file:line: ` with what to do."""
        place = f"{self.file}:{self.line}"
        listed = f"or add its words and the reason to {ALLOWED.relative_to(ROOT)}"
        if self.number.lower() in NUMBER_WORDS:
            how = "compute it (`= in_words(...)`), assert it in the check behind the sentence,"
            return f"{place}: nothing holds the number {self.number!r}: {how} {listed}"
        return f"{place}: the number {self.number!r} is typed: compute it (`= expression`), {listed}"


def check_numbers(path: Path, root: Path = ROOT) -> list[UnbackedNumber]:
    """Return the numbers of a page, in digits or words, that neither code nor an exception backs.

    Args:
        path: The Markdown file.
        root: The project, which contains the file and the programs that it may import.
    """
    name = path.relative_to(root).as_posix()
    return [*check_text(path.read_text(encoding="utf-8"), name, root), *check_words(path, root)]


def check_words(path: Path, root: Path = ROOT) -> list[UnbackedNumber]:
    """Return the numbers in words that the code behind their affirmed sentence lacks; other sentences are skipped."""
    name = path.relative_to(root).as_posix()
    # `backing` reads the records through the project's root.
    with project.placed_at(root):
        if not path.is_relative_to(root / project.docs) or not (record := backing.load_affirmed(name)):
            return []
        prose = read_prose(path)
        backings = Backings(prose)
        findings = []
        for sentence in prose.sentences:
            seals = {seal for text, seal in record if text == backing.hash_sentence(sentence.text)}
            check = next((one for one in backings.list_possible(sentence) if backings.seal(one) in seals), None)
            if check and not sentence.backing and check.title not in {SOURCE, READING}:
                words = _NUMBER_WORD.findall(_blank_allowed(mask(sentence.text), name))
                helpers = [helper for helper in backings.list_helpers(check) if helper.startswith("def check_")]
                numbers = _list_numbers("\n".join([check.code, *helpers])) if check in prose.checks else set()
                findings += [
                    UnbackedNumber(name, sentence.line, word)
                    for word in words
                    if NUMBER_WORDS[word.lower()] not in numbers
                ]
        return findings


def _list_numbers(code: str) -> set[object]:
    """Return the numbers in a check's code: constants, their reciprocals, and the lengths of lists and dictionaries."""
    numbers = set[object]()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            # The reciprocal counts too, so that 0.5 in a check backs the word "half", which is listed as 2.
            numbers |= {node.value, 1 / node.value if node.value else 0}
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            numbers.add(len(node.elts))
        elif isinstance(node, ast.Dict):
            numbers.add(len(node.keys))
    return numbers


def check_text(text: str, name: str, root: Path = ROOT) -> list[UnbackedNumber]:
    """Return the numbers in a page's text that are typed in digits, and that neither code nor an exception backs.

    Args:
        text: Markdown.
        name: The page's file, relative to the project.
        root: The project.
    """
    code = "\n".join((*_find_code(text), *_read_programs(text, root)))
    masked = _blank_allowed(mask(text), name)
    # Versions are blanked before shapes, except for pinned ones, which must be computed as the next release moves them.
    masked = _VERSION.sub(lambda match: match[0] if _is_pinned(match[0]) else _blank(match), masked)
    masked = _SHAPE.sub(lambda match: _blank(match) if _holds(code, match[0]) else match[0], masked)
    typed = [(line, number) for line, _, number in _find_numbers(masked) if not _YEAR.fullmatch(number)]
    # A value such as `= 64` would only hide a typed number in the markup of a computed one.
    fixed = [
        (text.count("\n", 0, match.start()) + 1, match[1]) for match in _VALUE.finditer(text) if _is_fixed(match[1])
    ]
    return [UnbackedNumber(name, line, number) for line, number in sorted(typed + fixed, key=lambda pair: pair[0])]


def _is_fixed(value: str) -> bool:
    """Return whether an expression uses no names, and so computes nothing from a program or a compiler."""
    try:
        tree = ast.parse(value.strip(), mode="eval")
    except SyntaxError:
        return False  # the build reports the syntax error
    return not any(isinstance(node, ast.Name) for node in ast.walk(tree))


def _blank_allowed(masked: str, name: str) -> str:
    # Blanks of the same length keep the offsets and line numbers of the remaining numbers.
    for phrase in (*_read_allowed().get(name, ()), *_read_allowed().get("*", ())):
        masked = masked.replace(phrase, _blank_text(phrase))
    return masked


def list_numbers(text: str) -> list[tuple[int, int, str]]:
    """Return the numbers in the prose of a page that the lint checks, without years and versions.

    Returns:
        The line, the offset in the text, and the text of each number.
    """
    return [number for number in _find_numbers(_VERSION.sub(_blank, mask(text))) if not _YEAR.fullmatch(number[2])]


def unused(root: Path = ROOT) -> list[str]:
    """Return the exceptions whose words do not occur on their page any more."""
    return [
        f"{name}: {phrase!r}"
        for name, phrases in _read_allowed().items()
        for phrase in phrases
        if name != "*"
        if not (root / name).is_file() or phrase not in (root / name).read_text(encoding="utf-8")
    ]


def _is_pinned(version: str) -> bool:
    """Return whether a version is one that the project pins, and that the next release would change."""
    return version.rsplit(maxsplit=1)[-1] in _read_pins()


@cache
def _read_pins() -> set[str]:
    """Return the pinned versions that have at least three parts."""
    return set(re.findall(r"==(\d+(?:\.\d+){2,})", (ROOT / "pyproject.toml").read_text(encoding="utf-8")))


def _find_numbers(masked: str) -> list[tuple[int, int, str]]:
    """Return the line, offset and text of each word that is a number; a word that starts with a letter is a name."""
    numbers = []
    for word in _WORD.finditer(masked):
        number = word[0].strip(_PUNCTUATION)
        # A sign or a symbol may come before the digits, as in "-3" or "~5".
        if re.match(r"[^\w]*\d", number):
            numbers.append((masked.count("\n", 0, word.start()) + 1, word.start() + word[0].index(number), number))
    return numbers


def _holds(code: str, shape: str) -> bool:
    """Return whether code contains these dimensions one after the other."""
    dimensions = re.findall(r"\d+", shape)
    return re.search(r"(?<![\d.])" + r"[\s,x_()]+".join(dimensions) + r"(?![\d.])", code) is not None


def _find_code(text: str) -> list[str]:
    """Return the fences of a page."""
    return [fence[0] for fence in FENCE.finditer(text)]


def _read_programs(text: str, root: Path) -> list[str]:
    """Return the source of the programs that a page imports."""
    names = re.findall(r"\bprograms\.(\w+)", text)
    # `from programs import a, b` names its modules without the prefix `programs.`.
    for line in re.findall(r"\bprograms import ([^\n]*)", text):
        names += re.findall(r"\w+", line)
    files = [root / "snippets" / "programs" / f"{name}.py" for name in dict.fromkeys(names)]
    return [file.read_text(encoding="utf-8") for file in files if file.is_file()]


@cache
def _read_allowed() -> dict[str, dict[str, str]]:
    """Return, for each page, the words that may contain a number, with the reason."""
    return tomllib.loads(ALLOWED.read_text(encoding="utf-8"))


def _blank(match: re.Match[str]) -> str:
    return _blank_text(match[0])


def _blank_text(text: str) -> str:
    """Return white space with the same lines as a text."""
    return re.sub(r"[^\n]", " ", text)


def main() -> None:
    """Check the pages that the command line names, or all pages."""
    paths = [Path(name).resolve() for name in sys.argv[1:]] or sorted((ROOT / "docs").rglob("*.md"))
    findings = [finding for path in paths for finding in check_numbers(path)]
    print("\n".join(map(str, findings)) or f"no typed numbers in {len(paths)} pages")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
