"""Notebooks on the site: Python files in the percent format, which mkdocs-jupyter runs and hands over as Markdown.

That Markdown goes the way of every page, so its links are checked, its listings coloured and its look is the site's.
What a notebook was handed over as is kept (`livepage.handed`). While all of them are, nothing of mkdocs-jupyter is
imported, since that alone takes as long as a small build. Those that are not run side by side, each in a process of
its own, while other pages are built.
"""

from __future__ import annotations

import base64
import os
import re
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files

from livepage import downloads, handed, percent
from livepage.origins import Origin, relative
from livepage.project import project
from livepage.session import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

SUFFIX = ".py"
TEMPLATE = Path(__file__).with_name("notebook.md.j2")
OPTIONS = {
    "execute": True,
    "allow_errors": False,
    "markdown_cell_processor": "mkdocs",
    "custom_template": str(TEMPLATE),
    # From version 3 on, every page of the site would load MathJax from another host.
    "mathjax_version": 2,
}
AT_ONCE = 2
"""How many notebooks run side by side: each takes a core and, with three compilers, up to a gigabyte."""

_FAILED = '<p class="failed">This notebook did not run in this build.</p>'
_CELL_LINE = re.compile(r"(?:Cell In\[(\d+)\], line|Input In \[(\d+)\], in) (\d+)")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_TITLE = re.compile(r"^# .*$", re.MULTILINE)
_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?$")

_running: dict[str, Future[str]] = {}


class _Page(File):
    """A notebook that needs no plugin, since what it is handed over as is kept."""

    def is_documentation_page(self) -> bool:
        """Return that it is a page."""
        return True


class _Reader(BasePlugin):  # type: ignore[no-untyped-call,type-arg]  # MkDocs leaves it so
    """Reads notebooks where nothing else does. MkDocs lets one plugin alone read pages, so this is no hook."""

    def on_page_read_source(self, page: Page, config: MkDocsConfig) -> str | None:  # noqa: ARG002 - the event's
        """Return what MkDocs reads of a notebook: its front matter."""
        if not is_notebook(page):
            return None
        return percent.read(_path(page)).front_matter


def add_plugin(config: MkDocsConfig) -> None:
    """Add mkdocs-jupyter to the plugins of a build in which a notebook has to run; an error in one fails the build."""
    _running.clear()
    paths = list_notebooks(Path(config.docs_dir))
    try:
        handed.begin(paths)
    except ValueError as error:
        raise PluginError(str(error)) from error
    if all(map(handed.is_kept, paths)):
        config.plugins["notebook-reader"] = _Reader()
        return
    from mkdocs_jupyter.plugin import Plugin  # type: ignore[import-untyped]  # ships no types

    handed.shut_out_settings()
    plugin = Plugin()
    options = {"include": [f"*{SUFFIX}"], "cache": False, **OPTIONS}  # its cache knows nothing of versions and imports
    errors, warnings = plugin.load_config(options, config_file_path=config.config_file_path)
    for _, problem in (*errors, *warnings):
        raise problem if isinstance(problem, Exception) else ValueError(problem)
    config.plugins["mkdocs-jupyter"] = plugin


def list_notebooks(docs: Path) -> list[Path]:
    """Return the notebooks of a site."""
    return sorted(docs.rglob(f"*{SUFFIX}"))


def is_notebook(page: Page) -> bool:
    """Whether a page is a notebook."""
    return page.file.src_uri.endswith(SUFFIX)


def add_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of a site, its notebooks as pages, and with each the file that a reader takes away."""
    options = {"dest_dir": config.site_dir, "use_directory_urls": config.use_directory_urls}
    by_plugin = "mkdocs-jupyter" in config.plugins
    found = Files([])
    for file in files:
        if not file.src_uri.endswith(SUFFIX):
            found.append(file)
            continue
        src_dir = file.src_dir or config.docs_dir
        page = _Page(file.src_uri, src_dir=src_dir, inclusion=file.inclusion, **options)  # type: ignore[arg-type]  # as File takes them
        found.append(file if by_plugin else page)
    for file in list(files):
        if file.src_uri.endswith(SUFFIX):
            found.append(File.generated(config, _download(file.src_uri), content=""))
    return found


def write_downloads(files: Files, config: MkDocsConfig) -> None:
    """Write what readers take away, now that every page has its address."""

    def find_url(uri: str) -> str | None:
        file = files.get_file_from_path(uri)
        return file.url if file else None

    for path in list_notebooks(Path(config.docs_dir)):
        name = path.relative_to(config.docs_dir).as_posix()
        file = files.get_file_from_path(_download(name))
        if file is None:
            continue

        def find_page(link: str, name: str = name) -> str | None:
            return downloads.address_of(config.site_url or "", name, link, find_url)

        file.content_string = downloads.write(percent.read(path), config.repo_url or "", find_page)


def start(files: Files, config: MkDocsConfig) -> None:
    """Let the notebooks run that have to, while other pages are built."""
    plugin: Any = config.plugins.get("mkdocs-jupyter")
    if plugin is None:
        return
    pool = ThreadPoolExecutor(AT_ONCE)
    for file in files.documentation_pages():
        path = Path(file.abs_src_path or "")
        if file.page and is_notebook(file.page) and not handed.is_kept(path):
            # The plugin's own way to a notebook; it goes it again when it comes to the page.
            plugin.on_pre_page(file.page, config=config, files=files)
            content = file.page._mkdocs_jupyter_content  # type: ignore[attr-defined]  # noqa: SLF001 - set by the plugin
            file.page.__dict__.pop("render")
            _running[file.src_uri] = pool.submit(_convert, content)
    pool.shutdown(wait=False)


def _convert(content: Callable[[], dict[str, Any]]) -> str:
    return decode(content()["content"])


def convert(path: Path) -> str:
    """Return the Markdown of a notebook, which runs for it, as mkdocs-jupyter hands it over.

    Raises:
        Exception: Whatever the notebook, its process or its conversion ends with.
    """
    from mkdocs_jupyter.convert import nb2html  # type: ignore[import-untyped]  # ships no types

    handed.shut_out_settings()
    return decode(nb2html(str(path), **OPTIONS))


def decode(content: str) -> str:
    """Return the Markdown that the template packed."""
    text = base64.b64decode(content).decode()
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)).strip() + "\n"


def guard(page: Page, report: Callable[[Failure], None]) -> None:
    """Let the plugin take what is kept or running; one that raises names itself, its cell's line and the error."""
    if hasattr(page, "_mkdocs_jupyter_content"):
        page._mkdocs_jupyter_content = lambda: {"content": _obtain(page, report)}  # noqa: SLF001 - the plugin's


def dress(markdown: str, page: Page, config: MkDocsConfig, report: Callable[[Failure], None]) -> str:
    """Return a notebook's Markdown with its time and the ways to take it along under its title."""
    if not hasattr(page, "_mkdocs_jupyter_content"):
        markdown = _obtain(page, report)
    name = Path(_download(page.file.src_uri)).name
    ways = [f"{page.meta['minutes']} minutes"] if "minutes" in page.meta else []
    ways.append(f'[Download the notebook]({name}){{ download="{name}" }}')
    if address := colab_address(config, page.file.src_uri):
        image = os.path.relpath("assets/open-in-colab.svg", Path(page.file.src_uri).parent.as_posix() or ".")
        ways.append(f"[![Open in Colab]({Path(image).as_posix()}){{ width=126 height=24 }}]({address})")
    bar = " · ".join(ways) + "\n{ .notebook-bar }"
    return _TITLE.sub(lambda title: f"{title[0]}\n\n{bar}\n", markdown, count=1)


def colab_address(config: MkDocsConfig, page: str) -> str:
    """Return where Colab opens a notebook from the repository's branch that holds the built site, or an empty string.

    Colab opens notebooks of GitHub alone.
    """
    repository = _GITHUB.match(config.repo_url or "")
    branch = config.extra.get("site_branch")
    if not repository or not branch:
        return ""
    return f"https://colab.research.google.com/github/{repository[1]}/blob/{branch}/{_download(page)}"


def _path(page: Page) -> Path:
    return Path(page.file.abs_src_path or page.file.src_uri)


def _download(uri: str) -> str:
    return uri.removesuffix(SUFFIX) + ".ipynb"


def _obtain(page: Page, report: Callable[[Failure], None]) -> str:
    """Return the Markdown that a notebook is handed over as, or a note in its place when it failed."""
    path = _path(page)
    try:
        if page.file.src_uri not in _running:
            markdown = handed.load(path)
        else:
            markdown = _running[page.file.src_uri].result()
            handed.store(path, markdown)
    except Exception as error:  # noqa: BLE001 - whatever a notebook, its process or its conversion ends with
        report(locate(path, error))
        return f"# {path.stem}\n\n{_FAILED}\n"
    for failure in note_gaps(path, markdown):
        report(failure)
    return markdown


def note_gaps(path: Path, markdown: str) -> list[Failure]:
    """Note which targets are missing from what a notebook shows, and return them as failures where all are required."""
    gaps = handed.list_gaps(markdown)
    project.missing.update(gaps)
    if os.environ.get("REQUIRE_TARGETS") != "all":
        return []
    origin = Origin(relative(path, project.root), 1)
    return [Failure(origin, f"target {target} is missing: {reason}") for target, reason in gaps.items()]


def locate(path: Path, error: Exception) -> Failure:
    """Return what failed in a notebook, at the line of its file where the innermost cell stood."""
    name = relative(path, project.root)
    said = f"{getattr(error, 'ename', type(error).__name__)}: {getattr(error, 'evalue', error)}"
    places = _CELL_LINE.findall(_COLOR.sub("", str(error)))
    cells = percent.read(path).code_cells
    for first, second, line in reversed(places):
        number = int(first or second)
        if number <= len(cells):
            return Failure(Origin(name, cells[number - 1].line + int(line) - 1), said)
    return Failure(Origin(name, 1), said)
