"""Python for browsers: files of the Pyodide package, for the page that reads dumps. The site contains them."""

from __future__ import annotations

import json
from pathlib import Path

from common import ROOT
from maintaining.browser_bundle import BrowserBundle, Built

PACKAGE = "pyodide"
AS_THEY_ARE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
LOCK = "pyodide-lock.json"


def build_interpreter(packages: Path) -> Built:
    """Return the files that Python needs to start.

    The list of downloadable packages is emptied, because the page downloads none.

    Args:
        packages: The folder of the installed package.
    """
    folder = packages / PACKAGE
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    alone = json.dumps({"info": lock["info"], "packages": {}}, sort_keys=True) + "\n"
    return Built({**{name: (folder / name).read_bytes() for name in AS_THEY_ARE}, LOCK: alone.encode()}, [PACKAGE])


PYODIDE = BrowserBundle(
    "pyodide",
    "Python for a browser",
    "The page that opens a dump says so, and opens none.",
    Path(__file__).parent / "pyodide_npm",
    ROOT / ".cache" / "pyodide" / "files",
    Path(__file__).with_name("pyodide.toml"),
    (*AS_THEY_ARE, LOCK),
    build_interpreter,
)
