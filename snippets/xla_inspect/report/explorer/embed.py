"""The explorer in a page of the site: a button, and the data in files that are fetched when it is pressed."""

from __future__ import annotations

import hashlib
import html
import json
import logging
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import store
from xla_inspect.closure import find_files, hash_files
from xla_inspect.errors import InspectError
from xla_inspect.report import find_measured, read_times, title
from xla_inspect.report.explorer.code_data import holds_machine_code
from xla_inspect.report.explorer.data import describe_capture, describe_details
from xla_inspect.report.explorer.static_files import SCRIPTS, STYLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.captured import Capture, Captures

STAGED = Path(".cache/explorer")
"""Where the data waits, in the project that is built, for the site adapter to publish it."""

FORMAT = b"3"
"""Changed whenever a file is written in another way."""

FEW = 4

log = logging.getLogger(__name__)

# How a file begins: its seal binds what follows to the file's name.
_SEALED = re.compile(rb'\{"seal":"(?P<seal>[0-9a-f]{64})",')


def embed_explorer(  # noqa: PLR0913 - what is shown beside the captures
    captures: Captures,
    name: str,
    *,
    donated: Captures | None = None,
    times: str = "",
    code: bool = False,
    bundles: bool = False,
    **state: str | int,
) -> str:
    """Return the explorer of one program as HTML that opens it in place; the data is staged for the site.

    Args:
        captures: The program's captures; a target that could not be compiled is left out.
        name: What links to it carry, unique on the site.
        donated: The same program compiled with arguments donated: its memory plan can then be switched on.
        times: A file of `scripts/measure`, whose times of kernels are shown where they are of the same program.
        code: Whether the code of its kernels is shown, of those captures that hold machine code.
        bundles: Whether the text of a TPU's bundles is among it; without, no file of the page holds any of it.
        **state: Where it opens: `target`, `view` (`jaxpr`, `stablehlo`, `before`, `passes`, `after`, `code`, `graph`,
            `buffers`, `kernels`), `pass` (the name of a pass, or the number of a state) and `place` (`file:line`).
    """
    compiled = list(captures.values())
    donated_captures = {capture.target: donated.get(capture.target) if donated else None for capture in compiled}
    with_code = {capture.target for capture in compiled if code and holds_machine_code(capture)}
    offered = [
        {
            "target": capture.target,
            "title": title(capture.target),
            "src": stage_data(capture, STAGED, donated_captures[capture.target], Path(times), **shown),
            "details": stage_details(capture, STAGED, **shown) if shown["code"] or capture.log else "",
        }
        for capture in compiled
        for shown in [{"code": capture.target in with_code, "bundles": bundles}]
    ]
    named = html.escape(name)
    files = " ".join(sorted({html.escape(capture.source_file) for capture in compiled}))
    what = html.escape(captures_title(compiled))
    return (
        f'<div class="explorer" id="explorer-{named}" data-explorer="{named}" data-source="{files}"'
        f" data-scripts='{html.escape(json.dumps(SCRIPTS), quote=True)}' data-style='{STYLE}'"
        f" data-captures='{html.escape(json.dumps(offered), quote=True)}'"
        f" data-state='{html.escape(json.dumps(state), quote=True)}'>\n"
        f'<p class="offer"><span>{what}<noscript> It needs JavaScript.</noscript></span></p>\n</div>\n'
    )


def link_explorer(capture: Capture, name: str, text: str, *, after: str = "", view: str = "passes") -> str:
    """Return a link, as HTML, to a state of an explorer on the same page.

    Args:
        capture: One of its captures.
        name: What the explorer is called.
        text: What the link says, plain text.
        after: The pass to open at: the first time that it changed the module.
        view: As in `embed_explorer`.

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


def captures_title(captures: list[Capture]) -> str:
    """Return what an explorer that is not open says of itself."""
    if not captures:
        return "Nothing to step through: no target could be compiled here."
    names = [title(capture.target) for capture in captures]
    targets = ", ".join(names) if len(names) <= FEW else f"{len(names)} targets"
    return f"{captures[0].program} on {targets}: every stage and pass, the graph, the memory plan and the launches."


def stage_data(  # noqa: PLR0913 - what is shown beside the capture
    capture: Capture,
    folder: Path,
    donated: Capture | None = None,
    times: Path | None = None,
    *,
    code: bool = False,
    bundles: bool = False,
) -> str:
    """Write the explorer's data of a capture into a folder unless it is there, and return the name of the file."""

    def describe() -> dict[str, Any]:
        measured = find_measured(read_times(times), capture)
        return describe_capture(capture, donated, measured, code=code, bundles=bundles)

    shown = f"{code} {bundles}"
    return _stage(folder, f"{hash_capture(capture, donated, times, shown=shown)}.json", describe)


def stage_details(capture: Capture, folder: Path, *, code: bool = False, bundles: bool = False) -> str:
    """Likewise write what the explorer fetches when it is asked for: texts of the code, and the compiler's reasons."""
    shown = f"details {code} {bundles}"
    name = f"{hash_capture(capture, shown=shown)}.json"
    return _stage(folder, name, lambda: describe_details(capture, code=code, bundles=bundles))


def _stage(folder: Path, name: str, describe: Callable[[], dict[str, Any]]) -> str:
    path = folder / name
    if (data := store.read(path)) is not None:
        if is_whole(name, data):
            return name
        log.info("the explorer's data %s is damaged or another's: it is made again", name)
    body = json.dumps(describe(), separators=(",", ":")).encode()[1:]
    store.write(path, f'{{"seal":"{_seal(name, body)}",'.encode() + body)
    return name


def is_whole(name: str, data: bytes) -> bool:
    """Return whether data of the explorer is what was written under a name."""
    seal = _SEALED.match(data)
    return bool(seal and seal["seal"].decode() == _seal(name, data[seal.end() :]))


def _seal(name: str, body: bytes) -> str:
    return hashlib.sha256(name.encode() + b"\n" + body).hexdigest()


def hash_capture(
    capture: Capture, donated: Capture | None = None, times: Path | None = None, *, shown: str = ""
) -> str:
    """Return what names the data of a capture: made from all that goes into it, and from the code that makes it.

    Args:
        capture: The capture.
        donated: The same program with arguments donated.
        times: A file of measured times.
        shown: What is shown of it.
    """
    digest = hashlib.sha256(hash_code().encode() + FORMAT)
    parts = [capture.identity, capture.program, capture.source_file, json.dumps(dict(capture.sources))]
    for part in (*parts, donated.identity if donated else "", shown):
        digest.update(part.encode() + b"\0")
    # To find what was measured of this capture would take reading all of it.
    digest.update(times.read_bytes() if times and times.is_file() else b"")
    return digest.hexdigest()[:16]


@cache
def hash_code() -> str:
    """Return a hash of the code and data that make what an explorer shows: all that `data` depends on."""
    package = Path(__file__).parents[2]
    return hash_files(find_files([Path(__file__).with_name("data.py")], {"xla_inspect": package}), package)
