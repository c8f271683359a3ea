"""The explorer as one HTML file that needs nothing else: it opens offline, from a mail or a disk."""

from __future__ import annotations

import html
import json
from contextlib import suppress
from string import Template
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.report import graph
from xla_inspect.report.explorer.data import describe
from xla_inspect.report.explorer.files import SCRIPTS, STYLE, read
from xla_inspect.report.timeline import timeline
from xla_inspect.report.titles import title

if TYPE_CHECKING:
    from xla_inspect.hlo.record import Capture, Captures

_START = """
const captures = [...document.querySelectorAll("script[data-target]")].map((it) => ({
  target: it.dataset.target, title: it.dataset.title, load: async () => JSON.parse(it.textContent),
}));
const style = document.getElementById("style").content.firstElementChild.cloneNode(true);
const root = document.getElementById("explorer");
if (captures.length) new globalThis.xlaExplorer.Explorer(root, "report", captures, style).start();
"""


def write(captures: Captures, donated: Captures | None = None) -> str:
    """Return the explorer of one program on its targets as a whole HTML page.

    Args:
        captures: The program's captures; a target that could not be compiled is left out, and said.
        donated: The same program compiled with arguments donated: its memory plan can then be switched on.
    """
    found = list(captures.values())
    heading = f"{found[0].program}, as XLA compiles it" if found else "Nothing was compiled"
    versions = sorted({f"{name} {version}" for each in found for name, version in each.versions.items()})
    made = f"Compiled by {', '.join(versions)}." if found else ""
    missing = "".join(f" Not compiled here: {target} ({reason})." for target, reason in captures.missing.items())
    return Template(read("page.html")).substitute(
        title=html.escape(heading),
        style=read(STYLE),
        made=html.escape(made + missing),
        plain="\n".join(_show(each) for each in found),
        data="\n".join(_embed(describe(each, donated.get(each.target) if donated else None)) for each in found),
        script="\n".join((*map(read, SCRIPTS), _START)),
    )


def _show(capture: Capture) -> str:
    """Return the first and the last text, and the pictures, for readers without JavaScript."""
    where = html.escape(title(capture.target))
    texts = (("before", capture.before), ("after", capture.after))
    shown = [f"<h2>{where}, {when}</h2>\n<pre>{html.escape(text)}</pre>" for when, text in texts]
    # Without igraph, which the package does not depend on, the graph has no order.
    with suppress(InspectError):
        shown.append(graph.entry(capture))
    return "\n".join((*shown, timeline(capture)))


def _embed(data: dict[str, Any]) -> str:
    # In a script element only `</script` and `<!--` have a meaning; JSON may write any character as an escape.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    target, name = html.escape(data["target"]), html.escape(data["title"])
    return f'<script type="application/json" data-target="{target}" data-title="{name}">{text}</script>'
