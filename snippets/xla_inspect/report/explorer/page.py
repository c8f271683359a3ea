"""The explorer as one HTML file that needs nothing else: it opens offline, from a mail or a disk."""

from __future__ import annotations

import html
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from xla_inspect.report.explorer.data import describe

if TYPE_CHECKING:
    from xla_inspect.hlo.record import Captures

SCRIPTS = ("model.js", "panes.js", "explorer.js")
STYLE = "explorer.css"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ background: light-dark(#fdfcf9, #15181e); color: light-dark(#23262b, #dfe1e6); font: 16px/1.5 Georgia, serif; margin: 1rem auto; max-width: 90rem; padding: 0 1rem; }}
h1 {{ font-size: 1.4rem; overflow-wrap: anywhere; }}
{style}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{made}</p>
<div class="explorer" id="explorer"><noscript>The explorer needs JavaScript; the optimized HLO stands below.</noscript></div>
<noscript>{plain}</noscript>
</main>
{data}
<script>
{script}
</script>
</body>
</html>
"""

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
    title = f"{found[0].program}, as XLA compiles it" if found else "Nothing was compiled"
    versions = sorted({f"{name} {version}" for each in found for name, version in each.versions.items()})
    made = f"Compiled by {', '.join(versions)}." if found else ""
    missing = "".join(f" Not compiled here: {target} ({reason})." for target, reason in captures.missing.items())
    return _PAGE.format(
        title=html.escape(title),
        style=read("explorer.css"),
        made=html.escape(made + missing),
        plain="".join(f"<pre>{html.escape(each.after)}</pre>" for each in found),
        data="\n".join(_embed(describe(each)) for each in found),
        script="\n".join((*map(read, SCRIPTS), _START)),
    )


def read(name: str) -> str:
    """Return one of the explorer's own files."""
    return (resources.files(__package__) / "static" / name).read_text(encoding="utf-8")


def _embed(data: dict[str, Any]) -> str:
    # In a script element only `</script` and `<!--` have a meaning; JSON may write any character as an escape.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    target, title = html.escape(data["target"]), html.escape(data["title"])
    return f'<script type="application/json" data-target="{target}" data-title="{title}">{text}</script>'
