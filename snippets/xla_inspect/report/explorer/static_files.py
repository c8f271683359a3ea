"""The static files of the explorer: its scripts in load order, and its style sheet."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SCRIPTS = (
    "diff.js",
    "worker.js",
    "model.js",
    "dom.js",
    "kinds.js",
    "help.js",
    "syntax.js",
    "virtual_rows.js",
    "rows.js",
    "passes.js",
    "reasons.js",
    "links.js",
    "hover.js",
    "address.js",
    "offers.js",
    "stepper.js",
    "pane.js",
    "find.js",
    "source_pane.js",
    "bar.js",
    "grips.js",
    "takeaway.js",
    "keys.js",
    "status.js",
    "explorer.js",
)
"""The scripts of the first view. A script that adds a view to `xlaExplorer.views` is listed before `explorer.js`."""

LATER = (
    "zoom.js",
    "code_colours.js",
    "code_stages.js",
    "code.js",
    "graph.js",
    "buffers.js",
    "roofline.js",
    "kernels.js",
    "matching.js",
    "pair.js",
    "picture.js",
)
"""The scripts that the first view does not need: other views, a second pane, pictures. They load after `SCRIPTS`."""

COMPILERS = ("compilers.js", "recorded_compiler.js")
"""The additional scripts of a page whose explorer shows the output of a compiler, live or recorded."""

BUNDLES = {"explorer.js": (*SCRIPTS, *COMPILERS), "more.js": LATER}
"""The two scripts that the site publishes: one loads when an explorer opens, the other loads later."""

STYLE = "explorer.css"
"""The style sheet."""


def read_asset(name: str) -> str:
    """Return the text of a static file of the explorer."""
    return (resources.files(__package__) / "static" / name).read_text(encoding="utf-8")


def join_scripts(names: Iterable[str]) -> str:
    """Join scripts, named in load order, into one text without blank lines and comment lines."""
    lines = (line for name in names for line in read_asset(name).splitlines())
    return "".join(f"{line}\n" for line in lines if line.strip() and not line.lstrip().startswith("//"))
