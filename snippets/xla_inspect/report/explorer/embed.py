"""The explorer in a page of the site: a button, and the data in files that are fetched when it is pressed."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.report import measured
from xla_inspect.report.explorer.data import describe
from xla_inspect.report.explorer.files import SCRIPTS, STYLE
from xla_inspect.report.titles import title

if TYPE_CHECKING:
    from xla_inspect.hlo.record import Capture, Captures

STAGED = Path(".cache/explorer")
"""Where the data waits, in the project that is built, for the site adapter to publish it."""

FEW = 4

_IMPORT = re.compile(r"^ *from xla_inspect\.([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


def embed(
    captures: Captures, name: str, *, donated: Captures | None = None, root: Path | None = None, **state: str | int
) -> str:
    """Return the explorer of one program as HTML that opens it in place; the data is staged for the site.

    Args:
        captures: The program's captures; a target that could not be compiled is left out.
        name: What links to it carry, unique on the site.
        donated: The same program compiled with arguments donated: its memory plan can then be switched on.
        root: The project's folder, by default the current one.
        **state: Where it opens: `target`, `view` (`jaxpr`, `stablehlo`, `before`, `passes`, `after`, `graph`,
            `buffers`, `kernels`), `pass` (the name of a pass, or the number of a state) and `place` (`file:line`).
    """
    found = list(captures.values())
    folder = (root or Path.cwd()) / STAGED
    given = {each.target: donated.get(each.target) if donated else None for each in found}
    offered = [
        {"target": each.target, "title": title(each.target), "src": stage(each, folder, given[each.target])}
        for each in found
    ]
    named = html.escape(name)
    files = " ".join(sorted({html.escape(each.source_file) for each in found}))
    what = html.escape(captures_title(found))
    return (
        f'<div class="explorer" id="explorer-{named}" data-explorer="{named}" data-source="{files}"'
        f" data-scripts='{html.escape(json.dumps(SCRIPTS), quote=True)}' data-style='{STYLE}'"
        f" data-captures='{html.escape(json.dumps(offered), quote=True)}'"
        f" data-state='{html.escape(json.dumps(state), quote=True)}'>\n"
        f'<p class="offer"><span>{what}<noscript> It needs JavaScript.</noscript></span></p>\n</div>\n'
    )


def link(capture: Capture, name: str, text: str, *, after: str = "", view: str = "passes") -> str:
    """Return a link, as HTML, to a state of an explorer on the same page.

    Args:
        capture: One of its captures.
        name: What the explorer is called.
        text: What the link says, plain text.
        after: The pass to open at: the first time that it changed the module.
        view: As in `embed`.

    Raises:
        InspectError: The pass did not change the module.
    """
    state = f"#x={name}&target={capture.target}&view={view}"
    if after and after not in capture.pass_names:
        message = f"no pass {after!r} changed {capture.program} for {capture.target}; see its pass_names"
        raise InspectError(message)
    if after:
        state += f"&pass={capture.pass_names.index(after) + 1}"
    return f'<a href="{html.escape(state)}">{html.escape(text)}</a>'


def captures_title(found: list[Capture]) -> str:
    """Return what an explorer that is not open says of itself."""
    if not found:
        return "Nothing to step through: no target could be compiled here."
    names = [title(each.target) for each in found]
    targets = ", ".join(names) if len(names) <= FEW else f"{len(names)} targets"
    return f"{found[0].program} on {targets}: every stage and pass, the graph, the memory plan and the launches."


def stage(capture: Capture, folder: Path, donated: Capture | None = None) -> str:
    """Write the explorer's data of a capture into a folder unless it is there, and return the name of the file."""
    name = f"{hash_capture(capture, donated)}.json"
    path = folder / name
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}-{id(capture)}.tmp")
        unfinished.write_text(json.dumps(describe(capture, donated), separators=(",", ":")), encoding="utf-8")
        unfinished.replace(path)
    return name


def hash_capture(capture: Capture, donated: Capture | None = None) -> str:
    """Return what names the data of a capture: made from all that goes into it, and from the code that makes it."""
    digest = hashlib.sha256(hash_code())
    parts = [capture.identity, capture.program, capture.source_file, json.dumps(dict(capture.sources))]
    for part in (*parts, donated.identity if donated else ""):
        digest.update(part.encode() + b"\0")
    # To find what was measured of this capture would take reading all of it.
    digest.update(measured.DATA.read_bytes() if measured.DATA.is_file() else b"")
    return digest.hexdigest()[:16]


@cache
def hash_code() -> bytes:
    """Return a hash of the modules that turn a capture into data: what `data` imports, and what that imports."""
    package = Path(__file__).parents[2]
    waiting, files = [Path(__file__).with_name("data.py")], set[Path]()
    while waiting:
        file = waiting.pop()
        files.add(file)
        for module, names in _IMPORT.findall(file.read_text(encoding="utf-8")):
            folder = package.joinpath(*module.split("."))
            found = [
                folder.with_suffix(".py"),
                *(folder / f"{name.strip()}.py" for name in re.split(r"[\s,()]+", names)),
            ]
            waiting += [each for each in found if each.is_file() and each not in files]
    tables = sorted((package / "report").rglob("*.toml"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in (*sorted(files), *tables))).digest()
