"""The tables in docs/data whose entries are sentences with a backing: claims, comparison, opcodes and passes."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from livepage.read import Check, Prose, Sentence, read_sentences
from livepage.run import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_SECTION = re.compile(r"\]\((?P<page>[\w/-]*(?:\.md)?)#(?P<id>[\w-]+)\)")
_HEADING = re.compile(r"^(?P<level>#+) .*\{[^}]*#(?P<id>[\w-]+)", re.MULTILINE)


def read_tables(root: Path) -> Iterator[Prose]:
    """Yield the four tables, each as a text whose sentences are the entries."""
    data = root / "docs" / "data"
    yield _gather("docs/data/claims.toml", data / "claims.toml", _list_claims(root), _import_claims(root))
    yield _gather("docs/data/comparison.toml", data / "comparison.toml", _list_cells(root))
    yield _gather("docs/data/opcodes.toml", data / "opcodes.toml", _list_opcodes(root))
    yield _gather("docs/data/passes.toml", data / "passes.toml", _list_passes(root))


_BARE = re.compile(r"[\w-]+")

type _Entry = tuple[str, str, Check | None]
"""The start of an entry's line in its file, the sentence, and the check that backs it."""


def _gather(name: str, file: Path, entries: Iterable[_Entry], helpers: str = "") -> Prose:
    lines = file.read_text(encoding="utf-8").split("\n")
    sentences, at = [], 0
    for start, text, check in entries:
        # The search continues from the last entry, since columns of different rows start their lines alike.
        at = next((number for number, line in enumerate(lines[at:], at + 1) if line.startswith(start)), at)
        sentences.append(Sentence(text, at, backing=check or Check(SOURCE, "", at)))
    return Prose(name, tuple(sentences), blocks=(Check("", helpers, 1),) * bool(helpers))


def _list_claims(root: Path) -> Iterator[_Entry]:
    """Yield the claims about XLA with their verdicts, each backed by the call of its check function, if it has one."""
    for name, claim in _load(root, "claims.toml").items():
        where = f" ({', '.join(claim['where'])})" if "where" in claim else ""
        heard = f", heard {claim['heard']}" if "heard" in claim else ""
        text = f"{name}: {claim['claim']} {claim['verdict']}{where}{heard}: {claim['truth']}"
        check = Check(claim["check"], f"{claim['check']}()", 1) if "check" in claim else None
        yield f"[{name}]", text, check


def _list_cells(root: Path) -> Iterator[_Entry]:
    """Yield the cells of the comparison of compilers, backed by the checks of the section that they link to, if any."""
    for row, cells in _load(root, "comparison.toml").items():
        for column, cell in cells.items():
            link = _SECTION.search(cell)
            place = f"{link['page'] or 'peers.md'}#{link['id']}" if link else ""
            check = Check(place, _find_checks(root, place), 1) if place else None
            yield column if column.isidentifier() else f'"{column}"', f"{row}, {column}: {cell}", check


def _list_opcodes(root: Path) -> Iterator[_Entry]:
    """Yield the definitions of the opcodes with their calls and linked specifications, without a check."""
    for name, opcode in _load(root, "opcodes.toml")["opcodes"].items():
        beside = [f"{key} {opcode[key]}" for key in ("call", "by", "xla", "stablehlo") if key in opcode]
        yield f"[opcodes.{name}]", f"{name}: {opcode['says']} ({'; '.join(beside)})", None


def _list_passes(root: Path) -> Iterator[_Entry]:
    """Yield the descriptions of the passes with their sources, without a check."""
    for name, row in _load(root, "passes.toml")["passes"].items():
        key = name if _BARE.fullmatch(name) else f'"{name}"'
        yield f"[passes.{key}]", f"{name}: {row['says']} ({', '.join(row['sources'])})", None


def _load(root: Path, name: str) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = tomllib.loads((root / "docs" / "data" / name).read_text(encoding="utf-8"))
    return table


def _import_claims(root: Path) -> str:
    """Return the import statement of all modules whose functions check claims."""
    names = sorted(path.stem for path in (root / "snippets" / "claims").glob("[a-z]*.py"))
    return f"from claims import {', '.join(names)}"


def _find_checks(root: Path, place: str) -> str:
    """Return the checks of the section `place`, as in `fusion.md#id`, as one source text; it is empty without any."""
    page, _, anchor = place.partition("#")
    path = root / "docs" / page
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8")
    headings = [
        (text.count("\n", 0, heading.start()) + 1, len(heading["level"]), heading["id"])
        for heading in _HEADING.finditer(text)
    ]
    first, level = next(((line, level) for line, level, name in headings if name == anchor), (0, 0))
    # A section ends at the next heading of its own level or a higher one; deeper headings belong to it.
    last = next((line for line, other, _ in headings if line > first and other <= level), text.count("\n") + 2)
    checks = _list_checks(text) if first else ()
    return "\n".join(f"# {check.title}\n{check.code}" for check in checks if first < check.line < last)


@lru_cache(maxsize=50)  # a page backs many cells, and each edit of a served site reads them again
def _list_checks(text: str) -> tuple[Check, ...]:
    return read_sentences("", text).checks
