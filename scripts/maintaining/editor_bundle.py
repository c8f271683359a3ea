"""The playground's editor: CodeMirror as a single script, which the wheel contains."""

from __future__ import annotations

import json
import re
from pathlib import Path

from common import ROOT
from maintaining.browser_bundle import BrowserBundle, Built
from maintaining.npm_packages import collect_licences, run_node

STATIC = ROOT / "snippets" / "xla_inspect" / "play" / "static"
SCRIPT, LICENCES = "codemirror.js", "codemirror.LICENSE.txt"
FORM = (
    "--bundle",
    "--minify",
    "--format=iife",
    "--global-name=codeMirror",
    "--target=es2022",
    "--legal-comments=none",
    "--charset=utf8",
)


def build_editor(packages: Path) -> Built:
    """Build the script, and return it with its licenses.

    Args:
        packages: The folder of the installed packages.
    """
    folder = packages.parent
    out, meta = folder / SCRIPT, folder / "meta.json"
    esbuild = packages / "esbuild" / "bin" / "esbuild"
    run_node(folder, "node", str(esbuild), "entry.mjs", *FORM, f"--outfile={out}", f"--metafile={meta}")
    inputs = json.loads(meta.read_text(encoding="utf-8"))["inputs"]
    names = sorted({match[1] for path in inputs if (match := re.search(r"node_modules/((?:@[^/]+/)?[^/]+)/", path))})
    return Built({SCRIPT: out.read_bytes(), LICENCES: collect_licences(packages, names)}, names, ("esbuild",))


EDITOR = BrowserBundle(
    "editor",
    "the playground's editor",
    "The playground has a plain one instead.",
    Path(__file__).parent / "editor_npm",
    STATIC,
    STATIC / "codemirror.toml",
    (SCRIPT, LICENCES),
    build_editor,
)
