"""Small sites, built in this process with the project's configuration but a bare theme."""

from __future__ import annotations

import logging
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from livepage import render_one
from livepage.read import Build, find_build

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from livepage.read import Failure

PROJECT = Path(__file__).resolve().parents[2]
CONFIG = f"""\
INHERIT: {PROJECT / "mkdocs.yml"}
hooks: [{PROJECT / "scripts/livepage/mkdocs_hook.py"}]
watch: []
theme: {{name: null, custom_dir: theme, static_templates: []}}
nav:
"""
TEMPLATE = "<!doctype html><title>{{ page.title }}</title><article>{{ page.content }}</article>"


@dataclass
class Site:
    """A site in its own folder, with the log messages and the state of its last build."""

    root: Path
    log: list[str] = field(default_factory=list)
    last: Build = field(default_factory=Build)

    def write(self, files: Mapping[str, str]) -> None:
        """Write files without their common indentation, and a configuration that lists all pages."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).removeprefix("\n"), encoding="utf-8")
        pages = sorted(path.relative_to(self.root / "docs") for path in (self.root / "docs").rglob("*.[mp]*"))
        nav = "".join(f"  - {page.as_posix()}\n" for page in pages if page.suffix in {".md", ".py"})
        (self.root / "mkdocs.yml").write_text(CONFIG + nav, encoding="utf-8")

    def build(self, *, serve: bool = False) -> list[str]:
        """Build the site and return its warnings, or fail if `mkdocs build --strict` would not fail for them."""
        heard = _Heard()
        logger = logging.getLogger("mkdocs")
        logger.addHandler(heard)
        before = logger.level
        logger.setLevel(logging.INFO)
        aborted = False
        try:
            config = load_config(str(self.root / "mkdocs.yml"))
            build(config, serve_url="/" if serve else None)
        except Abort:
            aborted = True
        finally:
            logger.removeHandler(heard)
            logger.setLevel(before)
        self.log, self.last = heard.info, find_build(config)
        assert aborted == bool(heard.warnings)
        return heard.warnings

    def html(self, page: str) -> str:
        """Return the built HTML of a page, such as `pipeline`."""
        folder = self.root / "site" / ("" if page == "index" else page)
        return (folder / "index.html").read_text(encoding="utf-8").partition("<article>")[2].partition("</article>")[0]

    def render(self, page: str) -> tuple[str, list[Failure]]:
        """Render one page without building the site, and return its HTML and its failures."""
        self.last = Build()
        return render_one.render_page(self.root / "docs" / f"{page}.md", self.root, self.last)


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.warnings: list[str] = []
        self.info: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        (self.warnings if record.levelno >= logging.WARNING else self.info).append(record.getMessage())


def _make(root: Path) -> Site:
    site = Site(root.resolve())
    (root / "snippets").mkdir(parents=True)
    site.write({"docs/index.md": "# Home\n", "theme/main.html": TEMPLATE, "theme/404.html": TEMPLATE})
    return site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """An empty site whose snippets can be imported."""
    monkeypatch.syspath_prepend(str(tmp_path / "site" / "snippets"))
    return _make(tmp_path / "site")


@pytest.fixture
def make_site() -> Callable[[Path], Site]:
    """A function that turns a folder into a site."""
    return Site


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """An empty site that the tests of one file share."""
    return _make(tmp_path_factory.mktemp("shared") / "site")
