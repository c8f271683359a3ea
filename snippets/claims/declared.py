"""The declarations of the claims in `docs/data/claims.toml`: their fields, and a reader that validates them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from claims.finding import Verdict

FILE = Path(__file__).resolve().parents[2] / "docs" / "data" / "claims.toml"

CHAPTERS = {
    "pipeline": "The pipeline",
    "jaxpr": "Jaxpr",
    "reading-hlo": "Reading HLO",
    "operations": "Operations",
    "simplification": "Simplification",
    "layout": "Layout and hardware",
    "fusion": "Fusion",
    "buffers": "Buffers",
    "stablehlo": "StableHLO and OpenXLA",
    "sharding": "Sharding",
    "when-xla-helps": "When XLA helps",
    "tools": "Tools and setup",
    "frameworks": "Frameworks and other compilers",
}
"""The chapters of the page of claims in order, with their titles."""

_HEADER = re.compile(r"^\[([\w-]+)\]$")
_FIELDS = {"chapter", "claim", "truth", "verdict", "check", "shown", "source", "once", "said", "where", "heard"}
HEARD = ("everywhere", "often", "")
"""The prevalence of a claim, which decides whether the page plots, lists or folds the claim."""
_NEEDED = {"chapter", "claim", "truth", "verdict"}


class ClaimError(Exception):
    """A claim with a wrong declaration, or with another verdict than the declared one."""


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes:
        id: Its short name, such as `layer-is-one-kernel`.
        chapter: Its chapter, one of `CHAPTERS`.
        claim: The claim in one sentence; Markdown.
        truth: The true statement; Markdown.
        verdict: The declared verdict.
        check: The check that decides it, as `module.function`, or an empty string if none can run here.
        where: The cases in which it holds, if it depends on the case.
        said: The numbers in the claim, which are the arguments of the check.
        shown: The section that shows it, as `page.md#section`, or an empty string.
        source: A link to a source, if no check can run.
        once: A link to a source for the statement that it held in an earlier release.
        heard: How common it is, one of `HEARD`.
        line: The line of its declaration in the file.
    """

    id: str
    chapter: str
    claim: str
    truth: str
    verdict: Verdict
    check: str = ""
    said: tuple[int, ...] = ()
    where: tuple[str, ...] = ()
    shown: str = ""
    source: str = ""
    once: str = ""
    heard: str = ""
    line: int = 0

    @property
    def place(self) -> str:
        """The place of its declaration, such as `docs/data/claims.toml:12`."""
        return f"docs/data/{FILE.name}:{self.line}"


def read_claims(file: Path = FILE) -> tuple[Claim, ...]:
    """Read the declared claims, without running checks, in the order of the file.

    Raises:
        ClaimError: A declaration is invalid, such as one that lacks a field; the message contains its line.
    """
    text = file.read_text(encoding="utf-8")
    # `tomllib` reports no line numbers, so the headers are searched in the text.
    lines = {header[1]: at for at, line in enumerate(text.splitlines(), 1) if (header := _HEADER.match(line))}
    return tuple(_claim(name, fields, lines.get(name, 0)) for name, fields in tomllib.loads(text).items())


def _claim(name: str, fields: dict[str, object], line: int) -> Claim:
    claimed, where = fields.pop("said", []), fields.pop("where", [])
    texts = {key: str(value) for key, value in fields.items()}
    if problem := _find_problem(texts):
        message = f"docs/data/{FILE.name}:{line}: {name}: {problem}"
        raise ClaimError(message)
    verdict = Verdict(texts.pop("verdict"))
    numbers = tuple(int(str(number)) for number in claimed) if isinstance(claimed, list) else ()
    case_names = tuple(map(str, where)) if isinstance(where, list) else ()
    return Claim(id=name, verdict=verdict, said=numbers, where=case_names, line=line, **texts)


def _find_problem(texts: dict[str, str]) -> str:
    """Return the first problem of a declaration's fields in words, or an empty string."""
    verdict = texts.get("verdict", "")
    sourced = not texts.get("check") and not texts.get("source")
    # Only the first problem that applies is reported, so the general ones come first.
    problems = {
        f"unknown field {', '.join(sorted(texts.keys() - _FIELDS))}": texts.keys() - _FIELDS,
        f"{', '.join(sorted(_NEEDED - texts.keys()))} is missing": _NEEDED - texts.keys(),
        f"no chapter {texts.get('chapter')!r}; the chapters are {', '.join(CHAPTERS)}": texts.get("chapter")
        not in CHAPTERS,
        f"no verdict {verdict!r}; the verdicts are {', '.join(Verdict)}": verdict not in list(Verdict),
        f"unknown value heard = {texts.get('heard')!r}; use {' or '.join(HEARD[:2])}": texts.get("heard", "")
        not in HEARD,
        "a claim that is heard everywhere is plotted, which needs a check": (
            texts.get("heard") == HEARD[0] and not texts.get("check")
        ),
        "a claim without a check needs a source": sourced,
        f"a claim with a check cannot be {str(Verdict.UNTESTED)!r}": texts.get("check") and verdict == Verdict.UNTESTED,
        "a claim is outdated if and only if `once` links to a source that says that it held in an earlier release": (
            (verdict == Verdict.OUTDATED) != bool(texts.get("once"))
        ),
    }
    return next((problem for problem, applies in problems.items() if applies), "")
