"""A build of the pages with Zensical instead of MkDocs, and the comparison of the result with the pages' Markdown.

Zensical reads `mkdocs.yml` and runs the Markdown extensions, including ours; it runs no MkDocs hook. Its exit code does
not cover all failures, so any line that it logs is a failure, except for lines that every build logs.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from common import ROOT
from inside_xla import explorer_files, open_dump_files
from livepage.notebooks import notebook_pages, read_notebook
from livepage.publish import build_info, reading_time, search
from livepage.read import Build, load_adapter, project
from livepage.run import backing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDER = Path(".cache/portable")
USUAL = re.compile(r"Build started|No issues found|Build finished in [\d.]+m?s|compiling .+ \.\.\.")
COMPILER_LOG = re.compile(r"[IWEF]\d{4} [\d:.]+ +\d+ \S+:\d+\]")
"""The beginning of a compiler's log message. The lines that continue it are HLO and locations in XLA's source."""
_CONTINUED = re.compile(r"[\s(}]|=== Source Location|external/")
HOOK_MADE = ("llms.txt", "feed.xml")
"""The files that an MkDocs hook writes into the site, and that pages link to."""
SEARCH = "search.json"
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_ARTICLE = re.compile(r"<article\b.*?</article>", re.DOTALL)
_SECTION = re.compile(r'<h[1-6]\b[^>]*\bid="(?P<id>[^"]+)"[^>]*>.*?</h[1-6]>', re.DOTALL)


@dataclass
class Built:
    """The parts of a built page that are checked.

    Attributes:
        ids: All ids in order, with repetitions.
        links: The targets of links and images.
        words: The number of occurrences of each class.
    """

    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)


class _ArticleReader(HTMLParser):
    """The parser that collects the ids, links and classes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Built()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        self.page.ids += filter(None, [names.get("id")])
        self.page.links += [link for name in ("href", "src") if (link := names.get(name)) and tag != "link"]
        for word in (names.get("class") or "").split():
            self.page.words[word] = self.page.words.get(word, 0) + 1


def read_page(path: Path) -> Built:
    """Return the ids, links and classes of a built page."""
    reader = _ArticleReader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.page


def copy(root: Path, folder: Path) -> None:
    """Replace a folder by a copy of the project's files that git does not ignore, without the browser tests.

    Zensical clears `.cache` for its own cache, so it builds this copy and not the project itself.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    shutil.rmtree(folder, ignore_errors=True)
    for name in listed:
        if name and (root / name).is_file() and not name.startswith("tests/browser"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, folder / name)


def write_notebooks(folder: Path) -> list[str]:
    """Write each notebook of a copy as a Markdown page, since Zensical reads no Python files, and adapt links to it.

    Args:
        folder: The copy; its `affirm.toml` is deleted. The notebooks run in the project itself, which caches results.

    Returns:
        The failures, each with its file and line.
    """
    # A notebook has another file name in the copy, so its sentences are unaffirmed; the MkDocs build checks them.
    (folder / backing.WORDS).unlink()
    failures: list[str] = []
    names = [path.relative_to(ROOT / "docs") for path in notebook_pages.list_notebooks(ROOT / "docs")]
    for name in names:
        markdown, failed = notebook_pages.convert(ROOT / "docs" / name, Build())
        failures += map(str, failed)
        front_matter = read_notebook(ROOT / "docs" / name).front_matter
        (folder / "docs" / name).with_suffix(".md").write_text(f"{front_matter}\n{markdown}", encoding="utf-8")
    notebook = re.compile(rf"\b({'|'.join(re.escape(name.stem) for name in names)})\.py(?=[)#\n])")
    for path in (folder / "mkdocs.yml", *(folder / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        path.write_text(notebook.sub(r"\1.md", text), encoding="utf-8")
    return failures


def finish(site: Path) -> None:
    """Add reading times and shorten the search index, as the MkDocs hooks do after rendering."""
    sections: dict[str, str] = {}
    for path in site.rglob("index.html"):
        text = path.read_text(encoding="utf-8")
        if not (article := _ARTICLE.search(text)):
            continue
        timed = reading_time.add_time(article[0])
        path.write_text(text[: article.start()] + timed + text[article.end() :], encoding="utf-8")
        url = path.parent.relative_to(site).as_posix() + "/" if path.parent != site else ""
        _, *parts = _SECTION.split(search.to_index(article[0]))
        sections[url] = parts[1] if parts else ""
        sections |= {f"{url}#{name}": body for name, body in zip(parts[::2], parts[1::2], strict=True)}
    index = json.loads((site / SEARCH).read_text(encoding="utf-8"))
    items = [item for item in index["items"] if item["location"] in sections]
    index["items"] = [{**item, "text": sections[item["location"]]} for item in items]
    (site / SEARCH).write_text(json.dumps(index, ensure_ascii=False), encoding="utf-8")


def build_copy(folder: Path, cache: Path) -> tuple[int, list[str]]:
    """Build the site of a copy of the project; return the exit code and the unexpected lines of the log.

    Args:
        folder: The copy.
        cache: The folder of the cached captures.
    """
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder / "snippets"), str(folder / "scripts")]),
        "XLA_INSPECT_CACHE": os.environ.get("XLA_INSPECT_CACHE", str(cache)),
    }
    process = subprocess.run(
        [Path(sys.executable).parent / "zensical", "build", "--clean", "--strict"],
        cwd=folder, env=environment, check=False, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return process.returncode, list(list_complaints(_COLOR.sub("", process.stdout).splitlines()))


def list_complaints(lines: Iterable[str]) -> Iterator[str]:
    """Yield the unexpected lines of a log, without the lines of every build and the messages of compilers."""
    is_compilers = False
    for line in map(str.rstrip, lines):
        # A compiler's message can span several lines: those after its first are recognized by their beginning.
        is_compilers = bool(COMPILER_LOG.match(line) or (is_compilers and (not line or _CONTINUED.match(line))))
        if line and not is_compilers and not USUAL.fullmatch(line):
            yield line


def find_page(name: str, site: Path) -> Path:
    """Return the path of the built page for a Markdown file, given relative to the folder of the pages."""
    plain = Path(name).with_suffix("")
    return site / (plain.parent if plain.name == "index" else plain) / "index.html"


def check_pages(root: Path) -> list[str]:
    """Return the faults of the built pages: missing, failed or duplicate parts, and dead links."""
    site = root / "site"
    wrong: list[str] = []
    pages = {path: read_page(path) for path in sorted(site.rglob("*.html"))}
    for source in sorted((root / "docs").rglob("*.md")):
        name = source.relative_to(root).as_posix()
        path = find_page(source.relative_to(root / "docs").as_posix(), site)
        if path not in pages:
            wrong.append(f"{name}: it was not built")
            continue
        page = pages[path]
        text = path.read_text(encoding="utf-8")
        wrong += [
            f"{name}: {page.words.get(word, 0)} of {expected} {word}s are on the page"
            for word, expected in build_info.count(source, source.read_text(encoding="utf-8-sig")).items()
            # Blocks have no element of their own, and a value or check may be a marked gap if its target is missing.
            if word != "block" and page.words.get(word, 0) + page.words.get("gap", 0) < expected
        ]
        wrong += [f"{name}: a part of it failed"] * ("failed" in page.words)
        wrong += [f"{name}: a mark of ours was left as it is: {mark}" for mark in set(_find_marks(text))]
        wrong += [
            f'{name}: two elements have the id "{i}"' for i in sorted({i for i in page.ids if page.ids.count(i) > 1})
        ]
        wrong += [f'{name}: the link "{link}" leads nowhere' for link in _find_dead(path, page, pages, site)]
    return wrong


def _find_marks(text: str) -> list[str]:
    article = _ARTICLE.search(text)
    return re.findall(r"livepage-value-\d+|livepage=&quot;\d+|(?<!<code>)--8&lt;--", article[0] if article else text)


def _find_dead(path: Path, page: Built, pages: dict[Path, Built], site: Path) -> list[str]:
    """Return the links of a page that lead to no file of the site, or to no id on the target page."""
    dead = []
    for link in dict.fromkeys(page.links):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or parts.path.startswith("/") or link.startswith(("#x=", "#__")):
            continue
        if posixpath.basename(parts.path) in HOOK_MADE:
            continue  # `list_missing` reports these files
        target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
        if _leaves_site(link, path, site):
            continue  # `list_missing` reports these links too
        target = target / "index.html" if target.is_dir() else target
        if not target.is_file() or (
            parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids
            and not parts.fragment.startswith("x=")
        ):  # fmt: skip
            dead.append(link)
    return [link for link in dead if (site / "assets") not in (path.parent / link).resolve().parents]


def _leaves_site(link: str, path: Path, site: Path) -> bool:
    """Return whether a relative link leads out of the site.

    Zensical treats a link in HTML that a block prints as relative to the Markdown file, and adds another `..` to it.
    """
    return link.startswith("../") and not (path.parent / link).resolve().is_relative_to(site.resolve())


def list_missing(root: Path) -> list[str]:
    """Return the features of the MkDocs site that Zensical's site lacks, judging by its files."""
    site = root / "site"
    pages = "".join(path.read_text(encoding="utf-8") for path in site.rglob("index.html"))
    missing = []
    if 'class="reading-time"' not in pages:
        missing.append("no reading times")
    notebooks = notebook_pages.list_notebooks(root / "docs")
    missing += [
        f"{path.relative_to(root).as_posix()} is not rendered"
        for path in notebooks
        if not find_page(path.relative_to(root / "docs").as_posix(), site).is_file()
    ]
    index = site / SEARCH
    if index.is_file() and "<pre>" in (text := index.read_text(encoding="utf-8")):
        missing.append(f"the search index takes {len(text):,} bytes: listings are in it")
    for name in HOOK_MADE:
        if not (site / name).is_file():
            missing.append(f"no {name}, which a hook makes")
    moved = sum(_leaves_site(link, path, site) for path in site.rglob("index.html") for link in read_page(path).links)
    if moved:
        missing.append(f"links in printed HTML: {moved} lead out of the site")
    if not list(site.rglob("index.md")):
        missing.append("no Markdown beside the pages, which a hook makes")
    return missing


def main() -> int:
    """Build, check and report; return the exit code."""
    started = time.perf_counter()
    folder = ROOT / FOLDER
    copy(ROOT, folder)
    project.root, project.adapter = ROOT, load_adapter("inside_xla.site_adapter")
    if failures := write_notebooks(folder):
        print("\n".join(failures), file=sys.stderr)
        return 1
    cache = ROOT / ".cache" / "xla_inspect"
    code, messages = build_copy(folder, cache)
    if code or messages:
        # The message of a failed page contains its file and line; the traceback around it does not help.
        ours = [match[1] for line in messages if (match := re.search(r"PageError: (.*)", line))]
        print("\n".join(ours or messages), file=sys.stderr)
        print(f"portable: Zensical ended with {code} and logged the above", file=sys.stderr)
        return 1
    site = folder / "site"
    project.root = folder
    # Zensical runs no hooks, so the files that they publish at the end of a build are written here.
    texts = [path.read_text(encoding="utf-8") for path in site.rglob("index.html")]
    explorer_files.publish_explorer(texts, site)
    open_dump_files.publish_dump_page(texts, site)
    finish(site)
    wrong = check_pages(folder)
    print("\n".join(wrong), end="\n" * bool(wrong), file=sys.stderr)
    pages = len(list((ROOT / "docs").rglob("*.md")))
    print(f"portable: {pages} pages in {time.perf_counter() - started:.0f} seconds, {len(wrong)} faults of ours")
    print("What Zensical does not do:")
    print("\n".join(f"  * {lack}" for lack in list_missing(folder)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
