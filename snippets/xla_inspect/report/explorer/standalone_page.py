"""The explorer as one HTML file that needs nothing else: it opens offline, from a mail or a disk."""

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
    from xla_inspect.report import Measured

LARGE = 1 << 20
"""Characters from which on data is compressed, and texts are not shown a second time."""

SOME = 1 << 15
"""Characters from which on data is compressed that a reader may never ask for."""

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
) -> str:
    """Return the explorer of one program on its targets as a whole HTML page.

    Args:
        captures: The program's captures; a target that could not be compiled is left out, and said. Their code is
            shown as far as they hold it, the text of a TPU's bundles too: the page is its reader's own.
        donated: The same program compiled with arguments donated: its memory plan can then be switched on.
        times: A file of `scripts/measure`, whose times of kernels are shown where they are of the same program.
        beside: What to compare it with, by what it is called: captures of another release, or from before an edit. The
            page opens with the first of them beside the program.
    """
    compiled, record = list(captures.values()), read_times(times)
    donated_captures = {capture.target: donated.get(capture.target) if donated else None for capture in compiled}
    heading = f"{compiled[0].program}, as XLA compiles it" if compiled else "Nothing was compiled"
    versions = sorted({f"{name} {version}" for capture in compiled for name, version in capture.versions.items()})
    made = f"Compiled by {', '.join(versions)}." if versions else ""
    made += "".join(f" {_tell_absences(capture)}" for capture in compiled if capture.is_dumped)
    missing = "".join(f" Not compiled here: {target} ({reason})." for target, reason in captures.missing.items())
    return Template(read_asset("page.html")).substitute(
        title=html.escape(heading),
        style=read_asset(STYLE),
        made=html.escape(made + missing),
        plain="\n".join(_show(capture) for capture in compiled),
        data="\n".join(
            [
                *(_embed(it, donated_captures[it.target], find_measured(record, it)) for it in compiled),
                *(_embed(it, None, find_measured(record, it), name) for name, it in (beside or {}).items()),
            ]
        ),
        script=join_scripts((*SCRIPTS, *LATER)) + _START,
    )


def _tell_absences(capture: Capture) -> str:
    """Return what a page says of a capture that was read from a dump."""
    told = "; ".join(dict.fromkeys(capture.missing[name] for name in _STAGES if name in capture.missing))
    stage = find_stage(capture)
    explained = "" if stage.is_final else f" {stage.explain()}"
    return f"Read from what a compiler dumped for {title(capture.target)}{f': {told}' if told else ''}.{explained}"


_STAGES = ("before", "after", "passes", "buffers", "live_ranges")


def _show(capture: Capture) -> str:
    """Return the first and the last text, and the pictures, for readers without JavaScript."""
    where = html.escape(title(capture.target))
    if len(capture.before) + len(capture.after) > LARGE:
        return f"<h2>{where}</h2>\n<p>It is too large to be shown without JavaScript: see xla-inspect show.</p>"
    stage = find_stage(capture)
    texts = {"before": capture.before, "after" if stage.is_final else stage.title: capture.after}
    if stage.name == "before the optimizations":
        texts.pop("before")
    sections = [f"<h2>{where}, {when}</h2>\n<pre>{html.escape(text)}</pre>" for when, text in texts.items()]
    return "\n".join((*sections, draw_entry(capture), draw_timeline(capture)))


def _embed(capture: Capture, donated: Capture | None, measured: Measured | None, beside: str = "") -> str:
    data = describe_capture(capture, donated, measured, code=True, bundles=True)
    target, name = html.escape(data["target"]), html.escape(data["title"])
    program, shown = html.escape(beside), html.escape(beside or capture.program)
    named = f'data-program="{program}" data-program-title="{shown}" data-target="{target}" data-title="{name}"'
    details = describe_details(capture, code=True, bundles=True)
    return _write(data, named, LARGE) + _write(details, "data-details", SOME)


def _write(data: dict[str, Any], named: str, large: int) -> str:
    # In a script element only `</script` and `<!--` have a meaning; JSON may write any character as an escape.
    text = json.dumps(data, separators=(",", ":"))
    packed = ""
    if len(text) > large:
        packed = ' data-packed="gzip"'
        text = base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
    text = text.replace("<", "\\u003c")
    return f'<script type="application/json" {named}{packed}>{text}</script>'
