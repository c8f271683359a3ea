"""The archive of the tool's reader, which the page that opens a dump unpacks in the browser."""

from __future__ import annotations

import io
import tomllib
import zipfile
from pathlib import Path

from common import ROOT
from xla_inspect.closure import find_files, list_places

ENTRY = Path(__file__).with_name("dump_reader.py")
"""The module that the page calls; everything that it imports is packed as well."""

CONTRACT = "Reading, asking and exploring need the standard library alone, as in a browser"
"""The import contract in `pyproject.toml` that lists the subpackages that can run in a browser."""

FIRST = (1980, 1, 1, 0, 0, 0)
"""The earliest time that an archive can store."""


def list_files() -> dict[str, Path]:
    """Return the paths of the files of the reader, by their names in the archive."""
    tool = ROOT / "snippets" / "xla_inspect"
    rooms = {f"xla_inspect.{name}": place for name, place in list_places(tool).items()}
    allowed = read_rooms()
    below = {name for name, place in rooms.items() if place.suffix == ".py" or name == "xla_inspect.targets"}
    places = {name: place for name, place in rooms.items() if name in {*allowed, *below}}
    paths = find_files([ENTRY, ENTRY.with_name("__init__.py"), tool / "__init__.py"], places)
    # The explorer's static files are published separately.
    reads = (path for path in paths if path.parent.name != "static")
    return {path.relative_to(_find_top(path)).as_posix(): path for path in sorted(reads)}


def read_rooms() -> list[str]:
    """Return the subpackages of the tool that need only the standard library, as the import contract lists them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    modules = next(contract["source_modules"] for contract in contracts if contract["name"] == CONTRACT)
    rooms = [".".join(name.split(".")[:2]) for name in modules if name.startswith("xla_inspect.")]
    return [*dict.fromkeys(rooms)]


def pack() -> bytes:
    """Return the archive; equal files give equal bytes on every machine."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, path in list_files().items():
            # Line ends are normalized, since a checkout on Windows may have changed them.
            text = path.read_bytes().replace(b"\r\n", b"\n")
            archive.writestr(zipfile.ZipInfo(name, FIRST), text, zipfile.ZIP_DEFLATED, 9)
    return content.getvalue()


def _find_top(path: Path) -> Path:
    return next(folder for folder in (ROOT / "snippets", ROOT / "scripts") if path.is_relative_to(folder))
