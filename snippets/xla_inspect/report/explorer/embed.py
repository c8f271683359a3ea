"""The explorer in a page of the site: a picture of it, and the data in files that are fetched when it is opened."""

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
from xla_inspect.report import find_measured, read_times
from xla_inspect.report.explorer.code_data import holds_machine_code
from xla_inspect.report.explorer.data import describe_capture, describe_details
from xla_inspect.report.explorer.poster import choose_pass, draw_poster
from xla_inspect.report.explorer.static_files import BUNDLES, STYLE
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    files = " ".join(sorted({html.escape(capture.source_file) for capture in compiled}))
    offered = list_offers(captures, donated, times, code=code, bundles=bundles)
    shown = next((each for each in compiled if each.target == state.get("target")), compiled[0] if compiled else None)
    if shown and state.get("view", "passes") == "passes" and "pass" not in state and (chosen := choose_pass(shown)):
        state["pass"] = chosen
    what = f"{html.escape(captures_title(compiled))}<noscript> It needs JavaScript.</noscript>"
    attributes = {"captures": json.dumps(offered), "source": files}
    return write_root(name, attributes, state, stage_poster(shown, STAGED, state) if shown else "", what)


def list_offers(
    captures: Captures, donated: Captures | None = None, times: str = "", *, code: bool = False, bundles: bool = False
) -> list[dict[str, str | int]]:
    """Return what an explorer is offered of a program's captures, target by target; their data is staged.

    Args:
        captures: As `embed_explorer` takes them, and what else it takes.
        donated: The same program compiled with arguments donated.
        times: A file of measured times.
        code: Whether the code of kernels is shown.
        bundles: Whether the text of a TPU's bundles is among it.

    Returns:
        For each capture its `target`, what that is called, `title`, the files of its data and of what is fetched when
        it is asked for, `src` and `details` or an empty string, and `size`, the bytes of the first.
    """
    offered: list[dict[str, str | int]] = []
    for capture in captures.values():
        shown = {"code": code and holds_machine_code(capture), "bundles": bundles}
        src = stage_data(capture, STAGED, donated.get(capture.target) if donated else None, Path(times), **shown)
        details = stage_details(capture, STAGED, **shown) if shown["code"] or capture.log else ""
        size = (STAGED / src).stat().st_size
        named: dict[str, str | int] = {"target": capture.target, "title": title(capture.target)}
        offered.append(named | {"src": src, "details": details, "size": size})
    return offered


def write_root(name: str, attributes: Mapping[str, str], state: Mapping[str, str | int], poster: str, what: str) -> str:
    """Return the element in which a page opens an explorer, with what stands there until then.

    Args:
        name: What links to it carry.
        attributes: What it is offered, by the name of the attribute, without `data-`.
        state: Where it opens.
        poster: The picture of it, as `draw_poster` returns it.
        what: What it says of itself, HTML.
    """
    data = {"explorer": name, **attributes, "scripts": json.dumps([*BUNDLES]), "style": STYLE}
    named = " ".join(
        f'data-{key}="{html.escape(value)}"' for key, value in {**data, "state": json.dumps(state)}.items()
    )
    drawn = f'<span class="poster">{poster}</span>' if poster else ""
    return (
        f'<div class="explorer" id="explorer-{html.escape(name)}" {named}>\n'
        f'<p class="offer">{drawn}<span class="what">{what}</span></p>\n</div>\n'
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
    if after:
        _check_pass(capture, after)
        state += f"&pass={capture.pass_names.index(after) + 1}"
    return f'<a href="{html.escape(state)}">{html.escape(text)}</a>'


def link_pair(name: str, program: str, *sides: tuple[Capture, str]) -> str:
    """Return the address, as HTML has it, of an explorer on the same page with two passes beside each other.

    Args:
        name: What the explorer is called.
        program: What it calls the program of both.
        sides: A capture for each, with the pass to open at.

    Raises:
        InspectError: A pass did not change its module.
    """
    fields = {"x": name}
    for end, (capture, after) in zip(("", "2"), sides, strict=True):
        _check_pass(capture, after)
        state = {"program": program, "target": capture.target, "view": "passes", "pass": after}
        fields |= {f"{key}{end}": value for key, value in state.items()}
    return html.escape("#" + "&".join(f"{key}={value}" for key, value in fields.items()))


def _check_pass(capture: Capture, after: str) -> None:
    if after not in capture.pass_names:
        message = f"no pass {after!r} changed {capture.program} for {capture.target}; see its pass_names"
        raise InspectError(message)


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


def stage_poster(capture: Capture, folder: Path, state: Mapping[str, str | int]) -> str:
    """Likewise keep the picture of a capture as an explorer will show it, and return it."""
    view, chosen = str(state.get("view", "passes")), state.get("pass", "")
    name = f"{hash_capture(capture, shown=f'poster {hash_code("poster.py")} {view} {chosen}')}.json"
    _stage(folder, name, lambda: {"poster": draw_poster(capture, view, chosen)})
    poster: str = json.loads(store.read_stored(folder / name) or b"{}")["poster"]
    return poster


def _stage(folder: Path, name: str, describe: Callable[[], dict[str, Any]]) -> str:
    path = folder / name
    if (data := store.read_stored(path)) is not None:
        if is_whole(name, data):
            return name
        log.info("the explorer's data %s is damaged or another's: it is made again", name)
    body = json.dumps(describe(), separators=(",", ":")).encode()[1:]
    store.write_whole(path, f'{{"seal":"{_seal(name, body)}",'.encode() + body)
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
def hash_code(module: str = "data.py") -> str:
    """Return a hash of the code and data that make what an explorer shows: all that a module beside this depends on."""
    package = Path(__file__).parents[2]
    return hash_files(find_files([Path(__file__).with_name(module)], {"xla_inspect": package}), package)
