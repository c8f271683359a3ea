"""A small served site without the loop that waits for edits: each test triggers the check for edits."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import textwrap
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.livereload import LiveReloadServer

from livepage.serve import LastBuild, PagesPending, Rebuild

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Site

PROJECT = Path(__file__).resolve().parents[3]
URL = "http://127.0.0.1:8000/"
THEME = """
    <!doctype html><title>{{ page.title }}</title><meta name="description" content="{{ page.meta.description }}">
    <nav>{% for item in nav.pages %}<a href="{{ item.url | url }}">{{ item.title }}</a>{% endfor %}</nav>
    {{ page.previous_page.title }} {{ page.next_page.title }} {{ config.extra.feed }}
    <article>{{ page.content }}</article>
"""
FILES = {
    "theme/main.html": THEME,
    "theme/404.html": "{% for item in nav.pages %}{{ item.title }}{% endfor %}",
    "docs/index.md": "# Home\n\nA sentence. The [first](first.md#there).\n",
    "docs/first.md": '# First\n\nA sentence.\n\n## There { #there }\n\n`= 6 * 7`\n\n--8<-- "part.md"\n',
    "docs/second.md": """
        # Second

        A sentence, [there](first.md#there) and [here](#block-1-listed).

        ```python exec="on"
        import helper
        print("## Listed\\n\\n```text\\n" + helper.WORD + "\\n```")
        ```

        ```python check="A word is said"
        assert helper.WORD
        ```
    """,
    "docs/reader.md": """
        # Reader

        A sentence.

        ```python exec="on"
        from pathlib import Path
        from livepage.read import project
        folder = project.root / "docs"
        print(sum(len((folder / name).read_text()) for name in ("index.md", "second.md", "reader.md", "news.md")))
        ```
    """,
    "docs/news.md": "---\nfeed: v\n---\n\n# News\n\nA sentence.\n\n## v1 { #v1 }\n\nWhat is new.\n",
    "snippets/helper.py": 'WORD = "one"\n',
    "part.md": "A part.\n",
}


class Served:
    """A served site, which is built once and checks for edits on request."""

    def __init__(self, site: Site, folder: Path, last: LastBuild) -> None:
        """Write the site's files and configuration, and build it."""
        self.site, self.docs, self.folder = site, site.root / "docs", folder
        self.whole = 0
        self.heard: list[str] = []
        site.write({name: textwrap.dedent(text).removeprefix("\n") for name, text in FILES.items()})
        site.write({})
        config = site.root / "mkdocs.yml"
        text = config.read_text(encoding="utf-8").replace("static_templates: []", "static_templates: [404.html]")
        text = text.replace("watch: []", "watch: [snippets]")
        config.write_text(text, encoding="utf-8")
        self.server = LiveReloadServer(self._build, "127.0.0.1", 0, str(folder))
        self._build()
        self.whole = 0
        self.rebuild = Rebuild(self.server, self._build, PagesPending(), last)

    def _build(self) -> None:
        self.whole += 1
        _build(self.site.root, self.folder)

    def put(self, name: str, text: str) -> None:
        """Write a file with a new modification time, even if the clock is coarse."""
        path = self.site.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        status = path.stat()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))

    def replace(self, name: str, old: str, new: str) -> None:
        """Edit a file."""
        text = (self.site.root / name).read_text(encoding="utf-8")
        assert old in text
        self.put(name, text.replace(old, new))

    def look(self) -> list[str]:
        """Build changed pages as MkDocs' loop does, and return the warnings."""
        self.server._wanted_epoch += 1  # noqa: SLF001 - as the loop does
        self.server._want_rebuild = False  # noqa: SLF001 - likewise
        with _hear() as heard:
            self.server.builder()
        return heard

    def compare(self, folder: Path) -> tuple[dict[str, bytes], dict[str, bytes], list[str]]:
        """Return the served files, those of a full build in another process, and that build's warnings."""
        child = os.fork()
        if not child:
            code = 1
            try:
                with _hear() as heard:
                    _build(self.site.root, folder)
                (folder.parent / "heard.json").write_text(json.dumps(heard), encoding="utf-8")
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        return _read(self.folder), _read(folder), json.loads((folder.parent / "heard.json").read_text(encoding="utf-8"))


def _build(root: Path, folder: Path) -> None:
    config = load_config(str(root / "mkdocs.yml"), site_dir=str(folder), strict=False)
    config.site_url = URL
    build(config, serve_url=URL)


def _read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class _hear:  # noqa: N801 - a context, used as a word
    """A context manager that yields a list of the warnings of MkDocs within it."""

    def __enter__(self) -> list[str]:
        self.heard: list[str] = []
        self.handler = logging.Handler(logging.WARNING)
        self.handler.emit = lambda record: self.heard.append(record.getMessage())  # type: ignore[method-assign]
        logging.getLogger("mkdocs").addHandler(self.handler)
        return self.heard

    def __exit__(self, *_: object) -> None:
        logging.getLogger("mkdocs").removeHandler(self.handler)


@pytest.fixture
def served(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A site of five pages that is served."""
    [hook] = load_config(str(site.root / "mkdocs.yml")).hooks.values()
    monkeypatch.setattr(hook, "_site", state := hook._Site(command="serve"))  # noqa: SLF001 - as `mkdocs serve` leaves it
    return Served(site, tmp_path / "served", state.last)


TOOL = {
    "snippets/tool/__init__.py": """
        import logging
        import time
        from pathlib import Path

        def work(name):
            while not Path(f"go-{name}").exists():
                time.sleep(0.02)
            logging.getLogger("tool").info("working on %s", name)
            return f"{name} is done"
        """,
    "snippets/own_adapter.py": """
        from livepage.read import Adapter

        class Own(Adapter):
            packages = ("tool",)
            slow_work = "tool"

        ADAPTER = Own()
        """,
    "docs/index.md": "# Home\n\nNothing runs here.\n",
}
TOOL_CONFIG = "\nmarkdown_extensions:\n  livepage.extension: {adapter: own_adapter}\n"


class Server:
    """A server of a site, in a process of its own."""

    def __init__(self, site: Site, port: int) -> None:
        self.site, self.address = site, f"http://127.0.0.1:{port}/"
        self.log = site.root / "log"
        with self.log.open("wb") as log:
            command = [sys.executable, "-m", "mkdocs", "serve", f"--dev-addr=127.0.0.1:{port}"]
            self.process = subprocess.Popen(command, cwd=site.root, stdout=log, stderr=log)
        self.get("", "Home")

    def get(self, page: str, mark: str, *, longest: float = 30) -> str:
        """Return the text of a page once it contains `mark`, which takes at most `longest` seconds."""
        end, text = time.monotonic() + longest, ""
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.address}{page}", timeout=10) as answer:  # noqa: S310 - this machine
                    text = answer.read().decode()
            except OSError:
                text = ""
            if mark in text:
                return text
            time.sleep(0.05)
        pytest.fail(f"{page or 'the home page'} did not show {mark!r}:\n{text}\n{self.log.read_text()}")

    def let(self, name: str) -> None:
        """Create the file for which the work called `name` waits, so that its page can finish."""
        (self.site.root / f"go-{name}").touch()


@pytest.fixture
def serve(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, str]], Server]]:
    """A function that serves a site with the given pages."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site.root / "snippets"), str(PROJECT / "scripts")]))
    monkeypatch.delenv("LIVE", raising=False)
    started: list[Server] = []

    def start(pages: dict[str, str]) -> Server:
        site.write({**TOOL, "theme/main.html": "<article>{{ page.content }}</article><body></body>", **pages})
        config = site.root / "mkdocs.yml"
        config.write_text(config.read_text(encoding="utf-8") + TOOL_CONFIG, encoding="utf-8")
        started.append(Server(site, find_port()))
        return started[0]

    yield start
    for server in started:
        server.process.terminate()
        server.process.wait()


def find_port() -> int:
    import socket

    with socket.socket() as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        return int(free_socket.getsockname()[1])
