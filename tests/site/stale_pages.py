"""A list of the pages of the current folder's site that would run again after each planted change.

A change is a JSON object on a line of its own: `{"file": ..., "old": ..., "new": ...}`, `{"file": ..., "made": ...}`
for a file that was not there, `{"package": ...}` for another version of an installed package, or `{}` for none. It is
taken back before the next. The answer is a line of JSON: the names of the pages.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from livepage import render_one
from livepage.keep import common_key
from livepage.notebooks import notebook_pages
from livepage.read import Build, project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig


def list_stale(config: MkDocsConfig) -> list[str]:
    """Return the pages without a valid stored result; none of them runs."""
    stale: list[str] = []

    build = Build(elsewhere=stale.append)  # which would run a page, and returns that it still waits for that
    for page in sorted(project.docs.rglob("*.md")):
        if project.docs / "overrides" not in page.parents:
            render_one.run_only(page.absolute(), config, build)
    for notebook in sorted((project.docs / "practice").glob("*.py")):
        notebook_pages.convert(notebook.absolute(), build)
    return sorted(set(stale))


@contextmanager
def planted(change: dict[str, str]) -> Iterator[None]:
    """Make a change within the context, and revert it afterwards."""
    with ExitStack() as undo:
        if name := change.get("package"):
            undo.enter_context(_other_version(name))
        if "file" in change:
            path = Path(change["file"])
            before = path.read_bytes() if path.is_file() else None
            undo.callback(lambda: path.unlink() if before is None else path.write_bytes(before))
            text = (before or b"").decode()
            if "made" not in change and text.count(change["old"]) < 1:
                message = f"{path} does not hold {change['old']!r}"
                raise ValueError(message)
            path.write_text(change.get("made") or text.replace(change["old"], change["new"], 1), encoding="utf-8")
        yield


@contextmanager
def _other_version(name: str) -> Iterator[None]:
    """Let one installed package seem to have another version within the context."""
    packages = {path.name for path in Path(sysconfig.get_path("purelib")).glob("*.dist-info")}
    mine = next(folder for folder in packages if folder.lower().startswith(f"{name}-"))
    with tempfile.TemporaryDirectory() as other:
        for folder in {*packages, f"{name}-0.0.1.dist-info"} - {mine}:
            (Path(other) / folder).mkdir()
        with patch.object(sysconfig, "get_path", return_value=other):
            common_key._list_packages.cache_clear()  # noqa: SLF001 - another process would not need it
            yield
        common_key._list_packages.cache_clear()  # noqa: SLF001 - as above


def main() -> None:
    """Read the change in each line of standard input, and print the stale pages as JSON."""
    config = render_one.load_project(Path.cwd())
    project.docs = Path("docs")
    for line in sys.stdin:
        with planted(json.loads(line)):
            stale = list_stale(config)
        sys.stdout.write(json.dumps(stale) + "\n")


if __name__ == "__main__":
    main()
