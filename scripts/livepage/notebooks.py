"""Notebooks on the site, through mkdocs-jupyter, failing as well as the other pages do.

Nothing of it is imported while the site has no notebook, since that alone takes as long as a small build.
"""

from __future__ import annotations

import hashlib
import json
import re
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.pages import _RelativePathTreeprocessor
from mkdocs.structure.toc import get_toc

from livepage.origins import Origin, relative
from livepage.project import project
from livepage.session import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_LINK = re.compile(r'(<(?:a|img)\b[^<>]*?\s(?:href|src)=")([^"]*)(")')
# What differs from build to build, and what the site styles itself.
_NOISE = re.compile(r"<(style|script)\b.*?</\1>|\sid=\"cell-id=[^\"]*\"", re.DOTALL)
_CELL_LINE = re.compile(r"Cell In\[\d+\], line (\d+)")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def add_plugin(config: MkDocsConfig) -> None:
    """Add mkdocs-jupyter to the plugins of a build that has notebooks.

    A notebook runs in the build and an error in it fails the build. Its output is kept until the notebook, a file
    under `snippets/` or any installed package changes.
    """
    if "mkdocs-jupyter" in config.plugins or not any(Path(config.docs_dir).rglob("*.ipynb")):
        return
    from mkdocs_jupyter.plugin import Plugin  # type: ignore[import-untyped]  # ships no types

    plugin = Plugin()
    options = {
        "include": ["*.ipynb"],
        "execute": True,
        "allow_errors": False,
        "cache_dir": str(project.root / ".cache" / "notebooks" / _fingerprint()),
        # From version 3 on, every page of the site would load MathJax from another host.
        "mathjax_version": 2,
    }
    errors, warnings = plugin.load_config(options, config_file_path=config.config_file_path)
    for _, problem in (*errors, *warnings):
        raise problem if isinstance(problem, Exception) else ValueError(problem)
    config.plugins["mkdocs-jupyter"] = plugin


def guard(page: Page, report: Callable[[Failure], None]) -> None:
    """Let a notebook that raises name itself, its cell and its line instead of ending the build with a traceback."""
    from nbclient.exceptions import CellExecutionError

    render = page.render

    def guarded(config: MkDocsConfig, files: Files) -> None:
        try:
            render(config, files)
        except CellExecutionError as error:
            report(Failure(_locate(_source(page), str(error)), f"{error.ename}: {error.evalue}"))
            page.content = '<p class="failed">This notebook did not run in this build.</p>'
            page.toc = get_toc([])

    page.render = guarded  # type: ignore[method-assign]  # as mkdocs-jupyter does


def clean(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a notebook's HTML with its links checked and rewritten as on a Markdown page, and without its styles."""
    links = _RelativePathTreeprocessor(page.file, files, config)
    html = _NOISE.sub("", html)
    html = _LINK.sub(lambda found: found[1] + links.path_to_url(found[2]) + found[3], html)
    page.present_anchor_ids = set(re.findall(r'\s(?:id|name)="([^"]+)"', html))
    page.links_to_anchors = links.links_to_anchors
    return html


def is_notebook(page: Page) -> bool:
    """Whether a page is a notebook."""
    return page.file.src_uri.endswith(".ipynb")


def find_in_cells(path: Path, wanted: str) -> Origin:
    """Return cell and line of a text in a notebook, as `docs/lab.ipynb[cell 2]:3`."""
    name = relative(path, project.root)
    for number, source in enumerate(_cells(path), 1):
        for at, line in enumerate(source.split("\n"), 1):
            if wanted in line:
                return Origin(f"{name}[cell {number}]", at)
    return Origin(name, 1)


def _source(page: Page) -> Path:
    return Path(page.file.abs_src_path or page.file.src_uri)


def _locate(path: Path, error: str) -> Origin:
    line = _CELL_LINE.search(_COLOR.sub("", error))
    for number, source in enumerate(_cells(path), 1):
        if source.strip() and f"-\n{source}\n-" in error:
            return Origin(f"{relative(path, project.root)}[cell {number}]", int(line[1]) if line else 1)
    return Origin(relative(path, project.root), 1)


def _cells(path: Path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells]


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for package in sorted(f"{found.name}=={found.version}" for found in distributions()):
        digest.update(package.encode())
    for path in sorted((project.root / "snippets").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]
