"""Write the records of hashes from the records of a commit: `python -m authoring.convert_affirmed COMMIT`.

A sentence whose line was affirmed keeps its backing where that is the same; one of which nothing was recorded, since it
claimed nothing by the rule of then, rests on reading. A line whose check is another than the recorded one stays open.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from authoring import project_texts
from common import ROOT
from livepage.read import VALUE, Check, Prose, Sentence, project
from livepage.run import READING, Backings, agreement, backing

_NO_WORDS = re.compile(r"^\s*(?:[>*+-]\s+|#{1,6}\s+|\d+[.)]\s+|:\s+|(?:!!!|\?\?\?\+?|===)\s*[\w ]*|\|)*")
_ATTRIBUTES = re.compile(r"\s*\{:?\s*[#.][^}]*\}\s*$")


def _read_old(commit: str, name: str) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Return the code of each check, and the backing of each line."""
    page = Path(name)
    if not page.is_relative_to("docs"):
        return {}, {}
    file = f"docs/data/affirmed/{page.relative_to('docs').with_suffix('').as_posix().replace('/', '-')}.toml"
    done = subprocess.run(["git", "show", f"{commit}:{file}"], cwd=ROOT, check=False, capture_output=True, text=True)
    table = tomllib.loads(done.stdout)
    codes = {check["title"]: check["code"] for check in table.get("check", ())}
    lines = {text: ("check", check["title"]) for check in table.get("check", ()) for text in check["says"]}
    for kind in ("values", "output", "source", "free"):
        lines |= dict.fromkeys(table.get(kind, {}).get("says", ()), (kind, ""))
    return codes, lines


def _convert(prose: Prose, commit: str) -> list[str]:
    codes, lines = _read_old(commit, prose.name)
    backings, record, left = Backings(prose), set[tuple[str, str]](), list[str]()
    source = (ROOT / prose.name).read_text(encoding="utf-8-sig").split("\n")
    for sentence in agreement.list_claims(prose):
        kind, title = _find(sentence, source, lines)
        possible = {check.title: check for check in backings.list_possible(sentence)}
        if sentence.backing:
            check = sentence.backing
        elif title:
            check = possible.get(title, possible[READING])
        else:
            check = possible.get(kind, possible[READING])
        old = codes.get(check.title) if check in prose.checks else None
        if old is not None and backings.seal(Check(check.title, old, check.line)) != backings.seal(check):
            left.append(f"{prose.name}:{sentence.line}: its check changed since it was affirmed: {sentence.text}")
            continue
        record.add((backing.hash_sentence(sentence.text), backings.seal(check)))
    backing.store(prose, record)
    return left


def _find(sentence: Sentence, source: list[str], lines: dict[str, tuple[str, str]]) -> tuple[str, str]:
    line = source[sentence.line - 1] if sentence.line <= len(source) else ""
    line = re.sub(r"^# ?", "", line) if not VALUE.search(line) or line.startswith("# ") else line
    for text in (sentence.text, line, source[sentence.line - 1]):
        words = " ".join(_ATTRIBUTES.sub("", _NO_WORDS.sub("", text)).split())
        if words in lines:
            return lines[words]
    return READING, ""


def main() -> None:
    """Convert all records, and print what stays open."""
    project.root = ROOT
    (ROOT / backing.RECORDS).unlink(missing_ok=True)
    left = [line for prose in project_texts.read_all(ROOT) for line in _convert(prose, sys.argv[1])]
    print("\n".join(left) or "every record is converted")


if __name__ == "__main__":
    main()
