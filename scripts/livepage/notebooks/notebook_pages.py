"""Notebooks as pages: Python files in the percent format, which mkdocs-jupyter runs and converts to Markdown.

That Markdown goes the way of every page, so its links are checked, its listings coloured and its look is the site's.
While it is kept, or comes from another process, nothing of mkdocs-jupyter is imported, since that alone takes as long
as a small build.
"""

from __future__ import annotations

import ast
import html
import json
import logging
import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from livepage.notebooks import conversions, downloads
from livepage.notebooks.cells import read_notebook, read_prose
from livepage.read import WAITS, Adapter, Build, Failure, Origin, project, relative
from livepage.run import has_every_target, sentence_checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

SUFFIX = ".py"
TEMPLATE = Path(__file__).with_name("notebook.md.j2")
STARTS = 3
"""How often a process for a notebook is started that ends before it answers."""

# What each process that runs a notebook begins with.
_FIRST_LINES = """\
import sys
sys.path.append({path!r})
from livepage.keep import kernel_watch
sys.path.remove({path!r})
kernel_watch.install_watch({root!r}, {adapter!r}, is_whole={whole})
del kernel_watch, sys
"""
_FAILED = '<p class="failed">This notebook did not run in this build.</p>'
_UNBORN = "Kernel died before replying"
_CELL_LINE = re.compile(r"(?:Cell In\[(\d+)\], line|Input In \[(\d+)\], in) (\d+)")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_TITLE = re.compile(r"^# .*$", re.MULTILINE)
_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?$")


class _Page(File):
    """A notebook."""

    def is_documentation_page(self) -> bool:
        """Return that it is a page, which MkDocs tells by the end of its name."""
        return True


def list_notebooks(docs: Path) -> list[Path]:
    """Return the notebooks of a site."""
    return sorted(docs.rglob(f"*{SUFFIX}"))


def is_notebook(page: Page) -> bool:
    """Whether a page is a notebook."""
    return page.file.src_uri.endswith(SUFFIX)


def add_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of a site, its notebooks as pages, and with each the file that a reader takes away.

    Raises:
        PluginError: A notebook cannot be read; says where.
    """
    for path in list_notebooks(Path(config.docs_dir)):
        try:
            read_notebook(path)
        except ValueError as error:
            raise PluginError(str(error)) from error
    pages = {
        file.src_uri: _Page(
            file.src_uri,
            src_dir=file.src_dir or config.docs_dir,
            dest_dir=config.site_dir,
            use_directory_urls=config.use_directory_urls,
            inclusion=file.inclusion,
        )
        for file in files
        if file.src_uri.endswith(SUFFIX)
    }
    taken = [File.generated(config, _download(name), content="") for name in pages]
    return Files([*(pages.get(file.src_uri, file) for file in files), *taken])


def read_source(page: Page) -> str | None:
    """Return what MkDocs reads of a notebook, its front matter, and None for any other page."""
    return read_notebook(_path(page)).front_matter if is_notebook(page) else None


def write_downloads(files: Files, config: MkDocsConfig) -> None:
    """Write what readers take away, now that every page has its address."""
    for path in list_notebooks(Path(config.docs_dir)):
        name = path.relative_to(config.docs_dir).as_posix()
        if file := files.get_file_from_path(_download(name)):
            find_page = partial(downloads.address_of, config.site_url or "", name, files)
            file.content_string = downloads.write_download(read_notebook(path), config.repo_url or "", find_page)


def _prepare() -> Callable[[Path], str]:
    """Return what runs a notebook and converts it to Markdown."""
    from mkdocs_jupyter.convert import nb2html  # type: ignore[import-untyped]  # ships no types

    _shut_out_settings()

    def run(path: Path) -> str:
        convert = partial(nb2html, str(path), execute=True, allow_errors=False, custom_template=str(TEMPLATE))
        text = html.unescape(_retry(convert))
        return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)).strip() + "\n"

    return run


def _retry(convert: Callable[[], str]) -> str:
    """Convert a notebook, again where its process ended before the first cell, which tells nothing of the notebook.

    The ports of such a process are chosen as free ones, and are free again until it takes them: two builds that start
    theirs at once may choose the same.
    """
    for _ in range(STARTS - 1):
        try:
            return convert()
        except RuntimeError as error:
            if _UNBORN not in str(error):
                raise
    return convert()


def _shut_out_settings() -> None:
    """Keep the reader's own settings of Jupyter and IPython out of the processes that run notebooks."""
    folder = project.root / ".cache/notebooks"
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    adapter = type(project.adapter).__module__ if type(project.adapter) is not Adapter else ""
    own = str(Path(__file__).parents[2])
    first = _FIRST_LINES.format(path=own, whole=has_every_target(), root=str(project.root), adapter=adapter)
    chosen = {
        # Each would warn that it speaks to this process over plain TCP, which does not leave the machine.
        "Application": {"log_level": logging.ERROR},
        # A notebook `capstone.py` would otherwise be imported by those beside it that want the library `capstone`.
        "InteractiveShellApp": {"ignore_cwd": True, "exec_lines": [first]},
    }
    (profile / "ipython_kernel_config.json").write_text(json.dumps(chosen), encoding="utf-8")
    os.environ["JUPYTER_CONFIG_DIR"] = os.environ["IPYTHONDIR"] = str(folder)


def dress(page: Page, config: MkDocsConfig, build: Build, report: Callable[[Failure], None]) -> str:
    """Return a notebook's Markdown with its time and the ways to take it along under its title."""
    markdown, failures = convert(_path(page), build)
    for failure in failures:
        report(failure)
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


def convert(path: Path, build: Build) -> tuple[str, list[Failure]]:
    """Return the Markdown of a notebook, or what stands in its place, and what is wrong with it.

    It runs in another process where that is better, and here where nothing is kept of it.
    """
    name = relative(path, project.root)
    build.pending.discard(name)
    kept = conversions.recall(path)
    if kept is not None:
        return kept, _review(path, kept, build)
    if not build.elsewhere:
        return run_notebook(path, build)
    answer = build.elsewhere(name)
    if answer is None:
        build.pending.add(name)
        return _show_unrun(path), []
    if answer.failure:
        return f"# {path.stem}\n\n{_FAILED}\n", [answer.failure]
    return answer.text, _review(path, answer.text, build)


def run_notebook(path: Path, build: Build) -> tuple[str, list[Failure]]:
    """Run a notebook, keep what it was converted to, and return it, or a note in its place, and what is wrong."""
    try:
        markdown = conversions.convert(path, _prepare())
    except Exception as error:  # noqa: BLE001 - whatever a notebook, its process or its conversion ends with
        return f"# {path.stem}\n\n{_FAILED}\n", [_locate(path, error)]
    return markdown, _review(path, markdown, build)


def _show_unrun(path: Path) -> str:
    """Return the Markdown of a notebook that still runs: its text, and its code with a note below."""
    cells = [cell for cell in read_notebook(path).cells if "check" not in cell.metadata]
    parts = (f"```python\n{cell.source}\n```\n\n{WAITS}" if cell.is_code else cell.source for cell in cells)
    return "\n\n".join(parts) + "\n"


def _review(path: Path, markdown: str, build: Build) -> list[Failure]:
    """Note which targets are missing from what a notebook shows.

    Returns:
        Its checks without an assert, what was not affirmed, and the missing targets where all are required.
    """
    gaps = project.adapter.find_gaps(markdown)
    build.missing.update(gaps)
    name = relative(path, project.root)
    checks = [cell for cell in read_notebook(path).code_cells if "check" in cell.metadata]
    failures = [
        Failure(Origin(name, cell.line), "this check asserts nothing")
        for cell in checks
        if not any(isinstance(part, ast.Assert) for part in ast.walk(ast.parse(cell.source)))
    ]
    failures += sentence_checks.judge_sentences(read_prose(path))
    if os.environ.get("REQUIRE_TARGETS") == "all":
        failures += [Failure(Origin(name, 1), f"target {target} is missing: {gap}") for target, gap in gaps.items()]
    return failures


def _locate(path: Path, error: Exception) -> Failure:
    """Return what failed in a notebook, at the line of its file where the innermost cell stood."""
    name = relative(path, project.root)
    message = f"{getattr(error, 'ename', type(error).__name__)}: {getattr(error, 'evalue', error)}"
    places = _CELL_LINE.findall(_COLOR.sub("", str(error)))
    cells = read_notebook(path).code_cells
    for first, second, line in reversed(places):
        number = int(first or second)
        if number <= len(cells):
            cell = cells[number - 1]
            failure = Failure(Origin(name, cell.line + int(line) - 1), message)
            return sentence_checks.explain_failure(failure, str(cell.metadata.get("check", "")), read_prose(path))
    return Failure(Origin(name, 1), message)
