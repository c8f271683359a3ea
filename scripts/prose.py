"""Find literal numbers in the prose of a page: what a compiler says is computed there, never typed.

Names pass (`H100`, `float32`), and so do years, the numbers of lists and exercises, and versions but for those that
the project pins.
A shape such as `64 x 128` or `[4, 8]` passes where the page's own code, or a program that it imports, holds it.
Any other number needs an entry in `prose.toml`: the words around it, and the reason.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = Path(__file__).with_suffix(".toml")

# What is not prose, in the order in which it is blanked out.
_NO_PROSE = tuple(
    re.compile(pattern, re.MULTILINE | re.DOTALL)
    for pattern in (
        r"\A---\n.*?^---$",  # front matter
        r"^(?P<lead>[ \t>]*)(?P<fence>`{3,}|~{3,})[^\n`]*$.*?^(?P=lead)(?P=fence)[ \t]*$",
        r"<!--.*?-->",
        r"^--8<--.*$",  # includes a file
        r"(?<!\\)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)",
        r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)",  # where a link leads
        r"<https?://[^>]*>",
        r"</?\w[^>]*>",
        r"\{:?\s*[#.][^}\n]*\}",  # attribute lists
        r"\[\^[^\]]*\]",  # footnotes
        r"^[ \t>]*\[[^\]]+\]:.*$",  # link definitions
        r"^[ \t>]*(?:\d+[.)](?=\s)|\*\*\d+\.\*\*)",  # numbers of list items and exercises
    )
)
_WORD = re.compile(r"[^\s|]+")
_SHAPE = re.compile(r"\[\d+(?:,\s*\d+)*\]|\d+(?:\s*(?:x|\N{MULTIPLICATION SIGN})\s*\d+)+(?!\w)")
_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}|v\d+|(?:Python|jax|JAX|jaxlib|libtpu|CUDA|C\+\+|MkDocs)\s+\d+(?:\.\d+)*\b")
_YEAR = re.compile(r"(?:19|20)\d\d")
# A value that computes nothing.
_FIXED = re.compile(r"""(?<!`)`= ([\d_.]+|'[^'`]*'|"[^"`]*")`(?!`)""")
_PUNCTUATION = "\"'*_.,;:!?()[]{}\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True)
class Finding:
    """A number that nothing vouches for."""

    file: str
    line: int
    number: str

    def __str__(self) -> str:
        """Return `file:line: ` with what to do."""
        return (
            f"{self.file}:{self.line}: the number {self.number!r} is typed: compute it (`= expression`), "
            f"or add its words and the reason to scripts/{ALLOWED.name}"
        )


def check(path: Path, root: Path = ROOT) -> list[Finding]:
    """Return the typed numbers of a page, in order.

    Args:
        path: The Markdown file.
        root: The project, from which the file is named and whose `snippets/programs` it may import.
    """
    return check_text(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix(), root)


def check_text(text: str, name: str, root: Path = ROOT) -> list[Finding]:
    """Return the typed numbers of a page's text.

    Args:
        text: Markdown.
        name: The page's file, relative to the project.
        root: The project.
    """
    code = "\n".join((*_find_code(text), *_read_programs(text, root)))
    masked = mask(text)
    for phrase in _read_allowed().get(name, ()):
        masked = masked.replace(phrase, _blank_text(phrase))
    masked = _VERSION.sub(lambda found: found[0] if _is_pinned(found[0]) else _blank(found), masked)
    masked = _SHAPE.sub(lambda found: _blank(found) if _holds(code, found[0]) else found[0], masked)
    typed = [(line, number) for line, _, number in _find_numbers(masked) if not _YEAR.fullmatch(number)]
    fixed = [(text.count("\n", 0, found.start()) + 1, found[1]) for found in _FIXED.finditer(text)]
    return [Finding(name, line, number) for line, number in sorted(typed + fixed, key=lambda pair: pair[0])]


def list_numbers(text: str) -> list[tuple[int, int, str]]:
    """Return the numbers in the prose of a page that the lint can vouch for, years and versions aside.

    Returns:
        The line of each, the offset in the text, and the number.
    """
    return [found for found in _find_numbers(_VERSION.sub(_blank, mask(text))) if not _YEAR.fullmatch(found[2])]


def unused(root: Path = ROOT) -> list[str]:
    """Return the entries of the list whose page does not hold their words any more."""
    return [
        f"{name}: {phrase!r}"
        for name, phrases in _read_allowed().items()
        for phrase in phrases
        if not (root / name).is_file() or phrase not in (root / name).read_text(encoding="utf-8")
    ]


def _is_pinned(version: str) -> bool:
    """Return whether this is the version of a package that the project pins, which the next release changes."""
    return version.rsplit(maxsplit=1)[-1] in _read_pins()


@cache
def _read_pins() -> set[str]:
    """Return the pinned versions of at least three parts."""
    return set(re.findall(r"==(\d+(?:\.\d+){2,})", (ROOT / "pyproject.toml").read_text(encoding="utf-8")))


def mask(text: str) -> str:
    """Return a page with white space for all that is not prose."""
    for pattern in _NO_PROSE:
        text = pattern.sub(_blank, text)
    return text


def _find_numbers(masked: str) -> list[tuple[int, int, str]]:
    """Return line, offset and text of each word that is a number; one that starts with a letter is a name."""
    found = []
    for word in _WORD.finditer(masked):
        number = word[0].strip(_PUNCTUATION)
        if re.match(r"[^\w]*\d", number):
            found.append((masked.count("\n", 0, word.start()) + 1, word.start() + word[0].index(number), number))
    return found


def _holds(code: str, shape: str) -> bool:
    """Return whether code holds these dimensions one after the other."""
    dimensions = re.findall(r"\d+", shape)
    return re.search(r"(?<![\d.])" + r"[\s,x_()]+".join(dimensions) + r"(?![\d.])", code) is not None


def _find_code(text: str) -> list[str]:
    """Return the fences of a page."""
    return [found[0] for found in _NO_PROSE[1].finditer(text)]


def _read_programs(text: str, root: Path) -> list[str]:
    """Return the source of the programs that a page imports."""
    names = re.findall(r"\bprograms\.(\w+)", text)
    for line in re.findall(r"\bprograms import ([^\n]*)", text):
        names += re.findall(r"\w+", line)
    files = [root / "snippets" / "programs" / f"{name}.py" for name in dict.fromkeys(names)]
    return [file.read_text(encoding="utf-8") for file in files if file.is_file()]


@cache
def _read_allowed() -> dict[str, dict[str, str]]:
    """Return, by page, the words that may hold a number, with the reason."""
    return tomllib.loads(ALLOWED.read_text(encoding="utf-8"))


def _blank(found: re.Match[str]) -> str:
    return _blank_text(found[0])


def _blank_text(text: str) -> str:
    """Return white space of the same lines."""
    return re.sub(r"[^\n]", " ", text)


def main() -> None:
    """Check the pages named on the command line, or all of them."""
    paths = [Path(name).resolve() for name in sys.argv[1:]] or sorted((ROOT / "docs").rglob("*.md"))
    findings = [finding for path in paths for finding in check(path)]
    print("\n".join(map(str, findings)) or f"no typed numbers in {len(paths)} pages")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
