"""The explorer as one HTML file that needs nothing else: it opens offline, from a mail or a disk."""

from __future__ import annotations

import html
import json
from string import Template
from typing import TYPE_CHECKING, Any

from xla_inspect.report.explorer.data import describe
from xla_inspect.report.explorer.files import SCRIPTS, STYLE, read
from xla_inspect.report.titles import title

if TYPE_CHECKING:
    from xla_inspect.hlo.record import Capture, Captures

_START = """
const captures = [...document.querySelectorAll("script[data-target]")].map((it) => ({
  target: it.dataset.target, title: it.dataset.title, load: async () => JSON.parse(it.textContent),
}));
const wanted = globalThis.xlaExplorer.readLink("report") ?? {};
globalThis.explorer = new globalThis.xlaExplorer.Explorer(document.getElementById("explorer"), "report", captures);
globalThis.explorer.start(wanted);
"""


def write(captures: Captures) -> str:
    """Return the explorer of one program on its targets as a whole HTML page.

    Args:
        captures: The program's captures; a target that could not be compiled is left out, and said.
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
        data="\n".join(_embed(describe(each)) for each in found),
        script="\n".join((*map(read, SCRIPTS), _START)),
    )


def _show(capture: Capture) -> str:
    """Return the first and the last text for readers without JavaScript."""
    where = html.escape(title(capture.target))
    texts = (("before", capture.before), ("after", capture.after))
    return "\n".join(f"<h2>{where}, {when}</h2>\n<pre>{html.escape(text)}</pre>" for when, text in texts)


def _embed(data: dict[str, Any]) -> str:
    # In a script element only `</script` and `<!--` have a meaning; JSON may write any character as an escape.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    target, name = html.escape(data["target"]), html.escape(data["title"])
    return f'<script type="application/json" data-target="{target}" data-title="{name}">{text}</script>'
