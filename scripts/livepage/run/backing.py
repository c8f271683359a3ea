"""What backs the sentences of a page, as the project keeps it: a check, a value, an output or a source."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.read import LABELS, VALUE, project

if TYPE_CHECKING:
    from livepage.read import Prose, Sentence

FOLDER = Path("docs/data/affirmed")

CHECK, VALUES, OUTPUT, SOURCE, FREE = "check", "values", "output", "source", "free"
"""What may stand behind a sentence."""

KINDS = {
    VALUES: "Each computes what it says.",
    OUTPUT: "Each says what stands in the output of a block of its section.",
    SOURCE: "Each has a link to who says it or to what shows it, or the sentence next to it has.",
    FREE: "None of these claims what a compiler decides; each may change a little.",
}
"""What can stand behind a sentence instead of a check, with the words that say so in the record."""

_LINK = re.compile(r"\]\(|<https?://|\]\[|\[\^")

type Backing = tuple[str, str]
"""What backs a sentence: a kind, and the title where it is a check."""


@dataclass
class Record:
    """What was affirmed of a page.

    Attributes:
        checks: The source of each check, by its title.
        backed: What backs each sentence.
    """

    checks: dict[str, str] = field(default_factory=dict)
    backed: dict[str, Backing] = field(default_factory=dict)

    def list_sentences(self, kind: str, title: str = "") -> list[str]:
        """Return the sentences that something backs."""
        return [text for text, by in self.backed.items() if by == (kind, title)]


def locate(name: str) -> Path:
    """Return the file of a page's record; the page is named relative to the project."""
    page = Path(name).relative_to(project.docs).with_suffix("")
    return project.root / FOLDER / f"{page.as_posix().replace('/', '-')}.toml"


def load(name: str) -> Record:
    """Return what was affirmed of a page; nothing where there is no record."""
    file = locate(name)
    return _load(file, file.stat().st_mtime_ns) if file.is_file() else Record()


@cache
def _load(file: Path, _changed: int) -> Record:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    record = Record()
    for check in table.get(CHECK, ()):
        record.checks[check["title"]] = check["code"].strip("\n")
        record.backed |= dict.fromkeys(check["says"], (CHECK, check["title"]))
    for kind in KINDS:
        record.backed |= dict.fromkeys(table.get(kind, {}).get("says", ()), (kind, ""))
    return record


def store(name: str, record: Record) -> bool:
    """Write what was affirmed of a page, and return whether that differs from what stood there."""
    lines = [
        f"# What {name} says, beside what backs it. `scripts/authoring/affirm {name}` writes this after a look.",
        "",
    ]
    for title, code in record.checks.items():
        lines += ["[[check]]", f"title = {_quote(title)}", *_list(record.list_sentences(CHECK, title))]
        lines += ['code = """', code.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'), '"""', ""]
    for kind, what in KINDS.items():
        if sentences := record.list_sentences(kind):
            lines += [f"[{kind}] # {what}", *_list(sentences), ""]
    file, text = locate(name), "\n".join(lines).rstrip("\n") + "\n"
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return True


def propose(sentence: Sentence, prose: Prose) -> Backing | None:
    """Return what probably backs a sentence: the next check of its section, the last one, its values, a source."""
    below = [check for check in prose.checks if check.section == sentence.section and check.line > sentence.line]
    above = [check for check in prose.checks if check.section == sentence.section and check.line < sentence.line]
    if near := below[:1] or above[-1:]:
        return CHECK, near[0].title
    if sentence.text.startswith(LABELS) and can_back(OUTPUT, sentence, prose):
        return OUTPUT, ""
    return next(((kind, "") for kind in (VALUES, SOURCE) if can_back(kind, sentence, prose)), None)


def can_back(kind: str, sentence: Sentence, prose: Prose) -> bool:
    """Return whether there is what is said to back a sentence: a value in it, a block of its section, a link."""
    if prose.fixed:
        return prose.fixed.get(sentence.text, ("", ""))[0] == kind
    if kind == VALUES:
        return bool(VALUE.search(sentence.text))
    if kind == OUTPUT:
        return sentence.section in prose.blocks
    if kind == SOURCE:
        at = prose.sentences.index(sentence)
        beside = prose.sentences[max(0, at - 1) : at + 2]
        return any(_LINK.search(other.text) for other in beside if other.section == sentence.section)
    return kind == FREE


def _list(sentences: list[str]) -> list[str]:
    return ["says = [", *(f"  {_quote(text)}," for text in sentences), "]"] if sentences else ["says = []"]


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
