"""The explorer as one self-contained HTML file that opens offline, for example from an email attachment."""

from __future__ import annotations

import base64
import gzip
import html
import json
from string import Template
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import find_stage
from xla_inspect.report import draw_entry, draw_timeline, find_measured, read_times
from xla_inspect.report.explorer.data import describe_capture, describe_details
from xla_inspect.report.explorer.static_files import LATER, SCRIPTS, STYLE, join_scripts, read_asset
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from xla_inspect.captured import Capture, Captures

LARGE = 1 << 20
"""The number of characters above which data is compressed, and texts are not repeated for use without JavaScript."""

SOME = 1 << 15
"""The number of characters above which data that is loaded on demand is compressed."""

_START = """
const unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (it) => it.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
};
const read = (it) => (it.dataset.packed ? unpack(it.textContent) : JSON.parse(it.textContent));
const offers = [...document.querySelectorAll("script[data-target]")].map((it) => ({
  program: it.dataset.program, programTitle: it.dataset.programTitle,
  target: it.dataset.target, title: it.dataset.title,
  load: async () => read(it),
  loadDetails: async () => read(it.nextElementSibling),
}));
const style = document.getElementById("style").content.firstElementChild.cloneNode(true);
const root = document.getElementById("explorer");
const beside = offers.find((it) => it.program !== offers[0].program);
const pair = beside ? { program: beside.program, target: beside.target, view: "passes", pass: "fusion" } : null;
const { Explorer } = globalThis.xlaExplorer;
if (offers.length) new Explorer(root, "report", offers, style).start({ pass: "fusion", pair });
"""


def write_report(
    captures: Captures,
    donated: Captures | None = None,
    times: Path | None = None,
    beside: Mapping[str, Capture] | None = None,
    numbers: Mapping[str, Any] | None = None,
) -> str:
    """Return the explorer of one program on its targets as a complete HTML page.

    Args:
        captures: The program's captures. The page lists targets that could not be compiled. It shows all code that
            the captures contain, including the text of a TPU's bundles, because the page is not published.
        donated: The same program compiled with arguments donated, whose memory plan can then be shown as well.
        times: A file of `scripts/measure`, whose kernel times are shown if they belong to the same program.
        beside: Captures to compare with, by title: of another release, or from before an edit. The page opens with
            the first of them next to the program.
        numbers: The passes that change bits by target, as for `describe_capture`, or None.
    """
    available, record = list(captures.values()), read_times(times)
    donated_captures = {capture.target: donated.get(capture.target) if donated else None for capture in available}

    def describe(capture: Capture, plan: Capture | None = None, **marks: Any) -> dict[str, Any]:  # noqa: ANN401 - as there
        return describe_capture(capture, plan, find_measured(record, capture), code=True, bundles=True, **marks)

    heading = f"{available[0].program}, as XLA compiles it" if available else "Nothing was compiled"
    versions = sorted({f"{name} {version}" for capture in available for name, version in capture.versions.items()})
    origin = f"Compiled by {', '.join(versions)}." if versions else ""
    origin += "".join(f" {_describe_dump(capture)}" for capture in available if capture.is_dumped)
    missing = "".join(f" Not compiled here: {target} ({reason})." for target, reason in captures.missing.items())
    return Template(read_asset("page.html")).substitute(
        title=html.escape(heading),
        style=read_asset(STYLE),
        made=html.escape(origin + missing),
        plain="\n".join(_show(capture) for capture in available),
        data="\n".join(
            [
                *(
                    _embed(
                        describe(offer, donated_captures[offer.target], numbers=(numbers or {}).get(offer.target)),
                        offer,
                    )
                    for offer in available
                ),
                *(_embed(describe(offer), offer, name) for name, offer in (beside or {}).items()),
            ]
        ),
        script=join_scripts((*SCRIPTS, *LATER)) + _START,
    )


def _describe_dump(capture: Capture) -> str:
    """Return sentences about a capture that was read from a dump, with the parts that it lacks."""
    absences = "; ".join(dict.fromkeys(capture.missing[name] for name in _STAGES if name in capture.missing))
    stage = find_stage(capture)
    explanation = "" if stage.is_final else f" {stage.explain()}"
    gaps = f": {absences}" if absences else ""
    return f"Read from a compiler dump for {title(capture.target)}{gaps}.{explanation}"


_STAGES = ("before", "after", "passes", "buffers", "live_ranges")


def _show(capture: Capture) -> str:
    """Return the modules and pictures as HTML for browsers without JavaScript, or a note if the texts are too long."""
    where = html.escape(title(capture.target))
    # Two copies of a large module would make the page slow, also for readers with JavaScript.
    if len(capture.before) + len(capture.after) > LARGE:
        hint = "The module is too large to be shown without JavaScript. Use xla-inspect show instead."
        return f"<h2>{where}</h2>\n<p>{hint}</p>"
    stage = find_stage(capture)
    texts = {"before": capture.before, "after" if stage.is_final else stage.title: capture.after}
    if stage.name == "before the optimizations":
        texts.pop("before")
    sections = [f"<h2>{where}, {when}</h2>\n<pre>{html.escape(text)}</pre>" for when, text in texts.items()]
    return "\n".join((*sections, draw_entry(capture), draw_timeline(capture)))


def _embed(data: dict[str, Any], capture: Capture, beside: str = "") -> str:
    target, name = html.escape(data["target"]), html.escape(data["title"])
    program, program_title = html.escape(beside), html.escape(beside or capture.program)
    attributes = (
        f'data-program="{program}" data-program-title="{program_title}" data-target="{target}" data-title="{name}"'
    )
    details = describe_details(capture, code=True, bundles=True)
    return _write(data, attributes, LARGE) + _write(details, "data-details", SOME)


def _write(data: dict[str, Any], attributes: str, large: int) -> str:
    # In a script element only `</script` and `<!--` have a meaning, so escaping `<` in the JSON is enough.
    text = json.dumps(data, separators=(",", ":"))
    packed = ""
    if len(text) > large:
        packed = ' data-packed="gzip"'
        # The time stamp is fixed, so that the same report always has the same bytes.
        text = base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
    text = text.replace("<", "\\u003c")
    return f'<script type="application/json" {attributes}{packed}>{text}</script>'
