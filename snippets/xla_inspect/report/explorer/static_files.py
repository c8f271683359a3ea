"""The explorer's own files: scripts in the order in which they are loaded, and the style."""

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
"""What shows the first view. A script of a view adds it to `xlaExplorer.views` and stands before `explorer.js`."""

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
"""What the first view does not need: other views, a second pane, a picture. A page may load them after `SCRIPTS`."""

COMPILERS = ("compilers.js", "recorded_compiler.js")
"""What a page loads besides whose explorer is offered what a compiler makes, recorded or not."""

BUNDLES = {"explorer.js": (*SCRIPTS, *COMPILERS), "more.js": LATER}
"""The scripts as the site publishes them: what a page loads when its explorer opens, and what it loads later."""

STYLE = "explorer.css"
"""The style sheet."""


def read_asset(name: str) -> str:
    """Return one of the explorer's own files."""
    return (resources.files(__package__) / "static" / name).read_text(encoding="utf-8")


def join_scripts(names: Iterable[str]) -> str:
    """Return scripts as one, without the lines that are comments.

    Args:
        names: Which ones, in the order in which they are loaded.
    """
    lines = (line for name in names for line in read_asset(name).splitlines())
    return "".join(f"{line}\n" for line in lines if line.strip() and not line.lstrip().startswith("//"))
