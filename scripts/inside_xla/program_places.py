"""The *Edit this program* fold after each program's listing, and the downloads that it links to."""

from __future__ import annotations

import ast
import html as entities
import io
import re
import sys
import zipfile
from functools import lru_cache
from typing import TYPE_CHECKING

from mkdocs.utils import get_relative_url

from livepage.read import project
from xla_inspect.closure import find_files, list_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SNIPPETS = "snippets"
FOLDER = "programs"
"""The folder of the programs in `SNIPPETS`, and in an archive of programs."""

PUBLISHED = f"assets/{FOLDER}"
"""The site's folder for downloadable programs."""

MOST = 4
"""The largest number of a listing's functions that the text mentions."""

_LISTING = re.compile(
    rf'<div class="language-python highlight"><span class="filename">(?:from )?'
    rf"(?P<file>{SNIPPETS}/{FOLDER}/(?P<stem>\w+)\.py)</span>(?P<code>.*?)</pre></div>"
    # The fold with the rest of the file belongs to the listing.
    r'(?:\s*<details class="listing">\s*<summary>The whole file.*?</details>)?',
    re.DOTALL,
)
_TAG = re.compile(r"<[^>]*>")
_DEFINED = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
_PLACE = re.compile(r'<div class="program-edit" [^>]*data-program="(\w+)"')
# The packages that installing this package provides.
_INSTALLED = {"jax", "jaxlib", "numpy", "xla_inspect"}
# A fixed time, the earliest that a ZIP archive can store, so that equal files make equal archives.
_NEVER = (1980, 1, 1, 0, 0, 0)


def add_places(html: str, url: str) -> str:
    """Return a page with an edit fold after each listing of a program that can be downloaded and compiled.

    Args:
        html: The page's HTML.
        url: The page's address in the site.
    """
    return _LISTING.sub(lambda listing: listing[0] + _write_place(listing, url), html)


def list_functions(path: Path) -> tuple[str, ...]:
    """Return the functions of a program's file that have example arguments, or () if it is no downloadable program.

    A program defines EXAMPLE and a function with the name of the file, or PROGRAMS. A downloadable one imports only
    JAX, this package and other programs.
    """
    if not path.is_file() or not (functions := _read_functions(path.read_text(encoding="utf-8"), path.stem)):
        return ()
    # A download must run outside of the project, so the imports of all of its files are checked.
    is_whole = all(_list_foreign(file.read_text(encoding="utf-8")) <= {FOLDER} for file in _list_files(path))
    return functions if is_whole else ()


def publish_programs(pages: Iterable[str], site: Path) -> None:
    """Write the downloads of all pages into the site, and remove unused ones.

    Args:
        pages: The HTML of each page.
        site: The folder of the built site.
    """
    stems = sorted({name for html in pages for name in _PLACE.findall(html)})
    folder = site / PUBLISHED
    files = dict(bundle(name) for name in stems)
    for old in folder.glob("*"):
        if old.name not in files:
            old.unlink()
    for name, data in files.items():
        folder.mkdir(parents=True, exist_ok=True)
        # An unchanged file is not written again, so that it keeps its modification time.
        if not (folder / name).is_file() or (folder / name).read_bytes() != data:
            (folder / name).write_bytes(data)


def bundle(stem: str) -> tuple[str, bytes]:
    """Return the download for a program, as the name of a file and its content.

    It is the program's file, or an archive of a package if the program imports others.
    """
    path = project.root / SNIPPETS / FOLDER / f"{stem}.py"
    files = _list_files(path)
    if len(files) == 1:
        return path.name, path.read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(f"{FOLDER}/__init__.py", _NEVER), "")
        for file in files:
            archive.writestr(zipfile.ZipInfo(f"{FOLDER}/{file.name}", _NEVER), file.read_bytes())
    return f"{stem}.zip", packed.getvalue()


def write_command(stem: str, function: str) -> str:
    """Return the command that opens a downloaded program in the playground."""
    is_alone = len(_list_files(project.root / SNIPPETS / FOLDER / f"{stem}.py")) == 1
    return f"xla-inspect play {'' if is_alone else f'{FOLDER}/'}{stem}.py:{function}"


def _write_place(listing: re.Match[str], url: str) -> str:
    path = project.root / listing["file"]
    candidates = list_functions(path)
    visible = _DEFINED.findall(entities.unescape(_TAG.sub("", listing["code"])))
    functions = [name for name in candidates if name in visible]
    if not functions:
        return ""
    asset, _ = bundle(listing["stem"])
    marks = {"program": listing["stem"], "file": listing["file"], "function": functions[0]}
    attributes = " ".join(f'data-{name}="{entities.escape(value)}"' for name, value in marks.items())
    what = entities.escape(get_relative_url(f"{PUBLISHED}/{asset}", url))
    how = entities.escape(get_relative_url("your-code/#play", url))
    unpacked = ", unpack it," if asset.endswith(".zip") else ""
    others = "".join(f", or <code>{name}</code>" for name in functions[1:MOST])
    return (
        f'\n<div class="program-edit" {attributes}><details><summary>Edit this program</summary>'
        f'<p>Download <a href="{what}" download>{asset}</a>{unpacked} and <a href="{how}">open the playground</a> '
        f"on your machine with <code>{functions[0]}</code>{others}:</p>"
        # This is the highlighter's own markup, which the theme makes accessible by keyboard.
        '<figure class="highlight"><pre><span></span><code>'
        f"{entities.escape(write_command(listing['stem'], functions[0]))}</code></pre></figure></details></div>"
    )


@lru_cache(maxsize=256)
def _read_functions(code: str, stem: str) -> tuple[str, ...]:
    body = ast.parse(code).body
    defined = [statement.name for statement in body if isinstance(statement, ast.FunctionDef)]
    values = {
        name: statement.value for statement in body for name in _list_targets(statement) if hasattr(statement, "value")
    }
    if "EXAMPLE" in values and stem in defined:
        return (stem,)
    programs = set(_list_programs(values["PROGRAMS"])) if "PROGRAMS" in values else set()
    return tuple(name for name in defined if name in programs)


def _list_programs(table: ast.expr) -> Iterator[str]:
    """Yield the names in first position in the entries of PROGRAMS, or all names if PROGRAMS is a computed value."""
    parts = [table]
    if isinstance(table, ast.Dict):
        parts = [node.elts[0] if isinstance(node, ast.Tuple) and node.elts else node for node in table.values]
    for part in parts:
        yield from (node.id for node in ast.walk(part) if isinstance(node, ast.Name))


def _list_targets(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


@lru_cache(maxsize=256)
def _list_foreign(code: str) -> frozenset[str]:
    """Return the imports of code that neither Python nor this package's installation provides."""
    tree = ast.parse(code)
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return frozenset(name.partition(".")[0] for name in names) - _INSTALLED - sys.stdlib_module_names


def _list_files(path: Path) -> list[Path]:
    """Return a program's file with the other programs that it imports."""
    # The package itself is installed, so only the imports of other programs are followed.
    places = {FOLDER: list_places(project.root / SNIPPETS)[FOLDER]}
    files = find_files([path], places)
    return sorted(file for file in files if file.parent == path.parent and file.suffix == ".py")
