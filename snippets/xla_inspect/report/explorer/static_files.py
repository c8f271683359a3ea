"""The explorer's own files: scripts in the order in which they are loaded, and the style."""

from __future__ import annotations

from importlib import resources

SCRIPTS = (
    "diff.js",
    "worker.js",
    "model.js",
    "dom.js",
    "kinds.js",
    "help.js",
    "zoom.js",
    "syntax.js",
    "virtual_rows.js",
    "rows.js",
    "passes.js",
    "code_colours.js",
    "code_stages.js",
    "code.js",
    "graph.js",
    "buffers.js",
    "roofline.js",
    "kernels.js",
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
    "matching.js",
    "pair.js",
    "grips.js",
    "picture.js",
    "takeaway.js",
    "keys.js",
    "status.js",
    "explorer.js",
)
"""A script of a view adds it to `xlaExplorer.views` and stands before `explorer.js`."""

COMPILERS = ("compilers.js", "recorded_compiler.js")
"""What a page loads besides whose explorer is offered what a compiler makes, recorded or not."""

STYLE = "explorer.css"
"""The style sheet."""


def read_asset(name: str) -> str:
    """Return one of the explorer's own files."""
    return (resources.files(__package__) / "static" / name).read_text(encoding="utf-8")
