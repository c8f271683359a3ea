"""Notebooks as pages: Python files in the percent format, which mkdocs-jupyter runs and converts to Markdown.

The Markdown is then rendered like any page, so that its links are checked and its listings look like the site's.
mkdocs-jupyter takes as long to import as a small build, so it is only imported when a notebook runs in this process.
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
"""The number of attempts to start a notebook's process if the process ends before it answers."""

# The first lines of each process that runs a notebook.
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
    """A notebook file that MkDocs treats as a page."""

    def is_documentation_page(self) -> bool:
        """Return True, because MkDocs itself only recognizes pages by their file name extension."""
        return True


def list_notebooks(docs: Path) -> list[Path]:
    """Return the paths of the site's notebooks, sorted."""
    return sorted(docs.rglob(f"*{SUFFIX}"))


def is_notebook(page: Page) -> bool:
    """Return whether a page is a notebook."""
    return page.file.src_uri.endswith(SUFFIX)


def add_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of a site with its notebooks as pages, and with a download file for each notebook.

    Raises:
        PluginError: A notebook cannot be read; the message has file and line.
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
    downloads_of_pages = [File.generated(config, _download(name), content="") for name in pages]
    return Files([*(pages.get(file.src_uri, file) for file in files), *downloads_of_pages])


def read_source(page: Page) -> str | None:
    """Return a notebook's front matter as the text that MkDocs reads, or None for any other page."""
    return read_notebook(_path(page)).front_matter if is_notebook(page) else None


def write_downloads(files: Files, config: MkDocsConfig) -> None:
    """Set the content of the site's notebook downloads; this needs the final address of every page."""
    for path in list_notebooks(Path(config.docs_dir)):
        name = path.relative_to(config.docs_dir).as_posix()
        if file := files.get_file_from_path(_download(name)):
            find_page = partial(downloads.address_of, config.site_url or "", name, files)
            file.content_string = downloads.write_download(read_notebook(path), config.repo_url or "", find_page)


def _prepare() -> Callable[[Path], str]:
    """Return a function that runs a notebook and converts it to Markdown."""
    from mkdocs_jupyter.convert import nb2html  # type: ignore[import-untyped]  # ships no types

    _shut_out_settings()

    def run(path: Path) -> str:
        convert = partial(nb2html, str(path), execute=True, allow_errors=False, custom_template=str(TEMPLATE))
        text = html.unescape(_retry(convert))
        return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)).strip() + "\n"

    return run


def _retry(convert: Callable[[], str]) -> str:
    """Convert a notebook, and try again if its process ended before the first cell, which is not the notebook's fault.

    The process gets ports that were free when they were chosen, but it only occupies them later: two builds that start
    processes at the same time may choose the same ports.
    """
    for _ in range(STARTS - 1):
        try:
            return convert()
        except RuntimeError as error:
            if _UNBORN not in str(error):
                raise
    return convert()


def _shut_out_settings() -> None:
    """Keep the user's own Jupyter and IPython settings out of the processes that run notebooks."""
    folder = project.root / ".cache/notebooks"
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    adapter = type(project.adapter).__module__ if type(project.adapter) is not Adapter else ""
    own = str(Path(__file__).parents[2])
    first = _FIRST_LINES.format(path=own, whole=has_every_target(), root=str(project.root), adapter=adapter)
    chosen = {
        # Each process would warn about its unencrypted TCP connection, which does not leave the machine.
        "Application": {"log_level": logging.ERROR},
        # Otherwise a notebook `capstone.py` would be imported by its neighbors in place of the library `capstone`.
        "InteractiveShellApp": {"ignore_cwd": True, "exec_lines": [first]},
    }
    (profile / "ipython_kernel_config.json").write_text(json.dumps(chosen), encoding="utf-8")
    os.environ["JUPYTER_CONFIG_DIR"] = os.environ["IPYTHONDIR"] = str(folder)


def dress(page: Page, config: MkDocsConfig, build: Build, report: Callable[[Failure], None]) -> str:
    """Return a notebook's Markdown with duration, download and Colab link on top; pass failures to `report`."""
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
    """Return the address that opens a notebook in Colab, or an empty string.

    Colab opens notebooks from GitHub only, here from the repository's branch that holds the built site.
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
    """Return the Markdown of a notebook, or a placeholder for it, and its failures.

    The Markdown comes from the store, from another process, or from running the notebook in this process.
    """
    name = relative(path, project.root)
    build.pending.discard(name)
    stored = conversions.recall(path)
    if stored is not None:
        return stored, _review(path, stored, build)
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
    """Run a notebook and store its Markdown; return the Markdown or a note that the run failed, and the failures."""
    try:
        markdown = conversions.convert(path, _prepare())
    except Exception as error:  # noqa: BLE001 - whatever a notebook, its process or its conversion ends with
        return f"# {path.stem}\n\n{_FAILED}\n", [_locate(path, error)]
    return markdown, _review(path, markdown, build)


def _show_unrun(path: Path) -> str:
    """Return the Markdown of a notebook that is still running: its text, and its code with a note below each cell."""
    cells = [cell for cell in read_notebook(path).cells if "check" not in cell.metadata]
    parts = (f"```python\n{cell.source}\n```\n\n{WAITS}" if cell.is_code else cell.source for cell in cells)
    return "\n\n".join(parts) + "\n"


def _review(path: Path, markdown: str, build: Build) -> list[Failure]:
    """Return the failures of a converted notebook, and record the targets that are missing from its output.

    Returns:
        Checks without an assert, sentences that were not affirmed, and missing targets if all targets are required.
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
    # A notebook's sentences are read from its own file, since its Markdown is generated.
    failures += sentence_checks.judge_sentences(read_prose(path))
    if os.environ.get("REQUIRE_TARGETS") == "all":
        failures += [Failure(Origin(name, 1), f"target {target} is missing: {gap}") for target, gap in gaps.items()]
    return failures


def _locate(path: Path, error: Exception) -> Failure:
    """Return the failure of a notebook at the line of its file in the innermost cell of the traceback."""
    name = relative(path, project.root)
    message = f"{getattr(error, 'ename', type(error).__name__)}: {getattr(error, 'evalue', error)}"
    places = _CELL_LINE.findall(_COLOR.sub("", str(error)))
    cells = read_notebook(path).code_cells
    # The last place in the traceback is the innermost one.
    for first, second, line in reversed(places):
        number = int(first or second)
        if number <= len(cells):
            cell = cells[number - 1]
            failure = Failure(Origin(name, cell.line + int(line) - 1), message)
            return sentence_checks.explain_failure(failure, str(cell.metadata.get("check", "")), read_prose(path))
    return Failure(Origin(name, 1), message)
