"""The explorer in a page of the site: a picture, and data files that are loaded when a person opens it."""

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
from xla_inspect.code_digest import hash_dependencies
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
"""The folder of the project in which the data waits until the site adapter publishes it."""

FORMAT = b"3"
"""The version of the file format; changing it forces all files to be rewritten."""

FEW = 4

log = logging.getLogger(__name__)

# The start of a file. The seal is a hash of the file's name and of the rest of the file.
_SEALED = re.compile(rb'\{"seal":"(?P<seal>[0-9a-f]{64})",')


def embed_explorer(  # noqa: PLR0913 - each argument selects one more thing to show
    captures: Captures,
    name: str,
    *,
    donated: Captures | None = None,
    times: str = "",
    code: bool = False,
    bundles: bool = False,
    numbers: Mapping[str, Any] | None = None,
    **state: str | int,
) -> str:
    """Return the explorer of one program as HTML that opens it in place, and stage its data for the site.

    Args:
        captures: The program's captures; a target that could not be compiled is left out.
        name: The name of the explorer in links, unique on the site.
        donated: The same program compiled with arguments donated, whose memory plan can then be shown as well.
        times: A file of `scripts/measure`, whose kernel times are shown if they belong to the same program.
        code: Whether to show the code of the kernels, for captures that contain machine code.
        bundles: Whether the code includes the text of a TPU's bundles; otherwise no file of the page contains it.
        numbers: The passes that change bits by target, as for `describe_capture`, or None.
        **state: The state to open: `target`, `view` (`jaxpr`, `stablehlo`, `before`, `passes`, `after`, `code`,
            `graph`, `buffers`, `kernels`), `pass` (the name of a pass, or the number of a state) and `place`
            (`file:line`).
    """
    available = list(captures.values())
    files = " ".join(sorted({html.escape(capture.source_file) for capture in available}))
    offers = list_offers(captures, donated, times, code=code, bundles=bundles, numbers=numbers)
    first = next(
        (capture for capture in available if capture.target == state.get("target")), available[0] if available else None
    )
    if first and state.get("view", "passes") == "passes" and "pass" not in state and (chosen := choose_pass(first)):
        state["pass"] = chosen
    what = f"{html.escape(captures_title(available))}<noscript> It needs JavaScript.</noscript>"
    attributes = {"captures": json.dumps(offers), "source": files}
    return write_root(name, attributes, state, stage_poster(first, STAGED, state) if first else "", what)


def list_offers(  # noqa: PLR0913 - each argument selects one more thing to show
    captures: Captures,
    donated: Captures | None = None,
    times: str = "",
    *,
    code: bool = False,
    bundles: bool = False,
    numbers: Mapping[str, Any] | None = None,
) -> list[dict[str, str | int]]:
    """Return the captures that an explorer offers, one entry per target, and stage their data.

    Args:
        captures: The captures, as for `embed_explorer`.
        donated: The same program compiled with arguments donated.
        times: A file of measured times.
        code: Whether to show the code of the kernels.
        bundles: Whether the code includes the text of a TPU's bundles.
        numbers: The passes that change bits by target.

    Returns:
        For each capture its `target` and the target's `title`; `src`, the file of its data; `details`, the file that
        is loaded on demand, or an empty string; and `size`, the bytes of `src`.
    """
    offers: list[dict[str, str | int]] = []
    for capture in captures.values():
        options = {"code": code and holds_machine_code(capture), "bundles": bundles}
        marks = (numbers or {}).get(capture.target)
        plan = donated.get(capture.target) if donated else None
        src = stage_data(capture, STAGED, plan, Path(times), **options, numbers=marks)
        # A capture without code and without a log has no details, so the page does not offer an empty file.
        details = stage_details(capture, STAGED, **options) if options["code"] or capture.log else ""
        size = (STAGED / src).stat().st_size
        names: dict[str, str | int] = {"target": capture.target, "title": title(capture.target)}
        offers.append(names | {"src": src, "details": details, "size": size})
    return offers


def write_root(name: str, attributes: Mapping[str, str], state: Mapping[str, str | int], poster: str, what: str) -> str:
    """Return the HTML element in which a page opens an explorer, with its picture and description until then.

    Args:
        name: The name of the explorer in links.
        attributes: Data attributes, by their names without `data-`.
        state: The state to open.
        poster: The picture, as `draw_poster` returns it.
        what: The description, as HTML.
    """
    data = {"explorer": name, **attributes, "scripts": json.dumps([*BUNDLES]), "style": STYLE}
    fields = " ".join(
        f'data-{key}="{html.escape(value)}"' for key, value in {**data, "state": json.dumps(state)}.items()
    )
    picture = f'<span class="poster">{poster}</span>' if poster else ""
    return (
        f'<div class="explorer" id="explorer-{html.escape(name)}" {fields}>\n'
        f'<p class="offer">{picture}<span class="what">{what}</span></p>\n</div>\n'
    )


def link_explorer(capture: Capture, name: str, text: str, *, after: str = "", view: str = "passes") -> str:
    """Return a link, as HTML, to a state of an explorer on the same page.

    Args:
        capture: A capture of the explorer.
        name: The name of the explorer.
        text: The text of the link, plain text.
        after: The pass to open, at its first change of the module.
        view: A view of `embed_explorer`.

    Raises:
        InspectError: The pass did not change the module.
    """
    state = f"#x={name}&target={capture.target}&view={view}"
    if after:
        _check_pass(capture, after)
        state += f"&pass={capture.pass_names.index(after) + 1}"
    return f'<a href="{html.escape(state)}">{html.escape(text)}</a>'


def link_pair(name: str, program: str, *sides: tuple[Capture, str]) -> str:
    """Return the escaped address of an explorer on the same page that shows two passes side by side.

    Args:
        name: The name of the explorer.
        program: The name of the program of both sides in the explorer.
        sides: The capture of each side, with the pass to open.

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
        message = f"no pass {after!r} changed {capture.program} for {capture.target}; see the capture's pass_names"
        raise InspectError(message)


def captures_title(captures: list[Capture]) -> str:
    """Return a sentence with the program and the targets of an explorer that is not open yet."""
    if not captures:
        return "The explorer has nothing to show, because no target could be compiled here."
    names = [title(capture.target) for capture in captures]
    targets = ", ".join(names) if len(names) <= FEW else f"{len(names)} targets"
    return f"{captures[0].program} on {targets}: every stage and pass, the graph, the memory plan and the launches."


def stage_data(  # noqa: PLR0913 - each argument selects one more thing to show
    capture: Capture,
    folder: Path,
    donated: Capture | None = None,
    times: Path | None = None,
    *,
    code: bool = False,
    bundles: bool = False,
    numbers: Mapping[str, Any] | None = None,
) -> str:
    """Write the explorer's data of a capture into a folder unless it is there already, and return the file's name."""

    def describe() -> dict[str, Any]:
        measured = find_measured(read_times(times), capture)
        return describe_capture(capture, donated, measured, code=code, bundles=bundles, numbers=numbers)

    options = f"{code} {bundles}{json.dumps(numbers) if numbers else ''}"
    return _stage(folder, f"{hash_capture(capture, donated, times, options=options)}.json", describe)


def stage_details(capture: Capture, folder: Path, *, code: bool = False, bundles: bool = False) -> str:
    """Write the data loaded on demand (code, reasons) into a folder unless it is there, and return the file's name."""
    options = f"details {code} {bundles}"
    name = f"{hash_capture(capture, options=options)}.json"
    return _stage(folder, name, lambda: describe_details(capture, code=code, bundles=bundles))


def stage_poster(capture: Capture, folder: Path, state: Mapping[str, str | int]) -> str:
    """Return the picture of a capture in an explorer, and store it in a folder for the next call."""
    view, chosen = str(state.get("view", "passes")), state.get("pass", "")
    name = f"{hash_capture(capture, options=f'poster {hash_code("poster.py")} {view} {chosen}')}.json"
    _stage(folder, name, lambda: {"poster": draw_poster(capture, view, chosen)})
    poster: str = json.loads(store.read_stored(folder / name) or b"{}")["poster"]
    return poster


def _stage(folder: Path, name: str, describe: Callable[[], dict[str, Any]]) -> str:
    path = folder / name
    # The name is a hash of the input, so an undamaged file with this name is up to date.
    if (data := store.read_stored(path)) is not None:
        if is_whole(name, data):
            return name
        log.info("the explorer's data %s is damaged or belongs to another file, so it is written again", name)
    # The opening brace is dropped, because the seal is written in front of the other fields.
    body = json.dumps(describe(), separators=(",", ":")).encode()[1:]
    store.write_whole(path, f'{{"seal":"{_seal(name, body)}",'.encode() + body)
    return name


def is_whole(name: str, data: bytes) -> bool:
    """Return whether the content of an explorer's data file is undamaged and was written under this name."""
    seal = _SEALED.match(data)
    return bool(seal and seal["seal"].decode() == _seal(name, data[seal.end() :]))


def _seal(name: str, body: bytes) -> str:
    return hashlib.sha256(name.encode() + b"\n" + body).hexdigest()


def hash_capture(
    capture: Capture, donated: Capture | None = None, times: Path | None = None, *, options: str = ""
) -> str:
    """Return the stem of a capture's data file: 16 digits of a hash of all input and of the code that writes it.

    Args:
        capture: The capture.
        donated: The same program with arguments donated.
        times: A file of measured times.
        options: The options that select the data.
    """
    digest = hashlib.sha256(hash_code().encode() + FORMAT)
    parts = [capture.identity, capture.program, capture.source_file, json.dumps(dict(capture.sources))]
    for part in (*parts, donated.identity if donated else "", options):
        # The zero byte separates the parts; without it, different parts could give the same sequence of bytes.
        digest.update(part.encode() + b"\0")
    # Finding the measurements of this capture would require its StableHLO, so the whole file is hashed.
    digest.update(times.read_bytes() if times and times.is_file() else b"")
    return digest.hexdigest()[:16]


@cache
def hash_code(module: str = "data.py") -> str:
    """Return a hash of a module of this package and of all code and data that the module depends on."""
    package = Path(__file__).parents[2]
    return hash_dependencies([Path(__file__).with_name(module)], package)
