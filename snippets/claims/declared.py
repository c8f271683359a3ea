"""The claims as `docs/data/claims.toml` declares them."""

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
    "tools": "Tools and set-up",
    "frameworks": "Frameworks and other compilers",
}
"""The chapters of the ledger in order, with their titles."""

_HEADER = re.compile(r"^\[([\w-]+)\]$")
_FIELDS = {"chapter", "claim", "truth", "verdict", "check", "shown", "source", "once", "said", "where", "heard"}
HEARD = ("everywhere", "often", "")
"""How common a claim is: drawn, listed, or only counted."""
_NEEDED = {"chapter", "claim", "truth", "verdict"}


class ClaimError(Exception):
    """A claim that is declared wrongly, or that the compiler decides otherwise."""


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes:
        id: Its short name, such as `layer-is-one-kernel`.
        chapter: The chapter it belongs to, one of `CHAPTERS`.
        claim: What is claimed, in one sentence; Markdown.
        truth: What is true; Markdown.
        verdict: The declared verdict.
        check: The check that decides it, as `module.function`, or an empty string where none can run here.
        where: The cases in which it holds, where it depends on the case.
        said: The numbers that the claim names, which the check is called with.
        shown: The section that shows it, as `page.md#section`, or an empty string.
        source: A link to who says so where no check can run.
        once: A link to who says that it held in an earlier release.
        heard: How common it is, one of `HEARD`.
        line: The line of the file on which it is declared.
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
        """Where it is declared, as `docs/data/claims.toml:12`."""
        return f"docs/data/{FILE.name}:{self.line}"


def read_claims(file: Path = FILE) -> tuple[Claim, ...]:
    """Return the claims in the order of the file.

    Raises:
        ClaimError: A claim lacks something or holds something unknown; the message names its line.
    """
    text = file.read_text(encoding="utf-8")
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
    held = tuple(map(str, where)) if isinstance(where, list) else ()
    return Claim(id=name, verdict=verdict, said=numbers, where=held, line=line, **texts)


def _find_problem(texts: dict[str, str]) -> str:
    """Return what is wrong with a declaration, or an empty string."""
    verdict = texts.get("verdict", "")
    sourced = not texts.get("check") and not texts.get("source")
    problems = {
        f"unknown {', '.join(sorted(texts.keys() - _FIELDS))}": texts.keys() - _FIELDS,
        f"{', '.join(sorted(_NEEDED - texts.keys()))} is missing": _NEEDED - texts.keys(),
        f"no chapter {texts.get('chapter')!r}; there are {', '.join(CHAPTERS)}": texts.get("chapter") not in CHAPTERS,
        f"no verdict {verdict!r}; there are {', '.join(Verdict)}": verdict not in list(Verdict),
        f"no claim is heard {texts.get('heard')!r}, but {' or '.join(HEARD[:2])}": texts.get("heard", "") not in HEARD,
        "a claim that is heard everywhere is drawn, which takes a check": (
            texts.get("heard") == HEARD[0] and not texts.get("check")
        ),
        "a claim that no check decides needs a source": sourced,
        f"a check decides it, so it is not {Verdict.UNTESTED!r}": texts.get("check") and verdict == Verdict.UNTESTED,
        "it is outdated just when `once` says who shows that it held in an earlier release": (
            (verdict == Verdict.OUTDATED) != bool(texts.get("once"))
        ),
    }
    return next((problem for problem, applies in problems.items() if applies), "")
