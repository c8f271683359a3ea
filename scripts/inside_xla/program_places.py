"""A place beside each program's listing that says how a reader edits it, and the files that this takes."""

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
"""Where the programs lie in `SNIPPETS`, and in a bundle of them."""

PUBLISHED = f"assets/{FOLDER}"
"""Where the site has what a reader takes away."""

MOST = 4
"""How many functions of a listing are named."""

_LISTING = re.compile(
    rf'<div class="language-python highlight"><span class="filename">(?:from )?'
    rf"(?P<file>{SNIPPETS}/{FOLDER}/(?P<stem>\w+)\.py)</span>(?P<code>.*?)</pre></div>"
    # The fold of the rest of the file belongs to it.
    r'(?:\s*<details class="listing">\s*<summary>The whole file.*?</details>)?',
    re.DOTALL,
)
_TAG = re.compile(r"<[^>]*>")
_DEFINED = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
_PLACE = re.compile(r'<div class="program-edit" [^>]*data-program="(\w+)"')
# What a reader has who has the package.
_INSTALLED = {"jax", "jaxlib", "numpy", "xla_inspect"}
_NEVER = (1980, 1, 1, 0, 0, 0)


def add_places(html: str, url: str) -> str:
    """Return a page with a place after each listing of a program that a reader can take away and compile.

    Args:
        html: What the page shows.
        url: Its address in the site.
    """
    return _LISTING.sub(lambda listing: listing[0] + _write_place(listing, url), html)


def list_functions(path: Path) -> tuple[str, ...]:
    """Return the functions of a program's file that it has arguments for, or () where it is none.

    It has EXAMPLE and a function with the name of the file, or PROGRAMS, and imports no more than JAX, this package and
    other programs.
    """
    if not path.is_file() or not (found := _read_functions(path.read_text(encoding="utf-8"), path.stem)):
        return ()
    is_whole = all(_list_foreign(file.read_text(encoding="utf-8")) <= {FOLDER} for file in _list_files(path))
    return found if is_whole else ()


def publish_programs(pages: Iterable[str], site: Path) -> None:
    """Write what the places of some pages let readers take away into the site, and remove what none does.

    Args:
        pages: The HTML of each page.
        site: The folder of the built site.
    """
    wanted = sorted({name for html in pages for name in _PLACE.findall(html)})
    folder = site / PUBLISHED
    files = dict(bundle(name) for name in wanted)
    for old in folder.glob("*"):
        if old.name not in files:
            old.unlink()
    for name, data in files.items():
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / name).is_file() or (folder / name).read_bytes() != data:
            (folder / name).write_bytes(data)


def bundle(stem: str) -> tuple[str, bytes]:
    """Return what a reader takes away for a program, as the name of a file and what it holds.

    That is the program's file, or an archive of a package where it imports others.
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
    """Return the command that opens a program which was taken away in the playground."""
    is_alone = len(_list_files(project.root / SNIPPETS / FOLDER / f"{stem}.py")) == 1
    return f"xla-inspect play {'' if is_alone else f'{FOLDER}/'}{stem}.py:{function}"


def _write_place(listing: re.Match[str], url: str) -> str:
    path = project.root / listing["file"]
    known = list_functions(path)
    shown = _DEFINED.findall(entities.unescape(_TAG.sub("", listing["code"])))
    functions = [name for name in known if name in shown]
    if not functions:
        return ""
    taken, _ = bundle(listing["stem"])
    marks = {"program": listing["stem"], "file": listing["file"], "function": functions[0]}
    named = " ".join(f'data-{name}="{entities.escape(value)}"' for name, value in marks.items())
    what = entities.escape(get_relative_url(f"{PUBLISHED}/{taken}", url))
    how = entities.escape(get_relative_url("your-code/#play", url))
    unpacked = ", unpack it," if taken.endswith(".zip") else ""
    others = "".join(f", or <code>{name}</code>" for name in functions[1:MOST])
    return (
        f'\n<div class="program-edit" {named}><details><summary>Edit this program</summary>'
        f'<p>Take <a href="{what}" download>{taken}</a>{unpacked} and <a href="{how}">open the playground</a> on your '
        f"machine on <code>{functions[0]}</code>{others}:</p>"
        # As the highlighter writes it: the theme's page makes it one that the keyboard reaches.
        '<figure class="highlight"><pre><span></span><code>'
        f"{entities.escape(write_command(listing['stem'], functions[0]))}</code></pre></figure></details></div>"
    )


@lru_cache(maxsize=256)
def _read_functions(code: str, stem: str) -> tuple[str, ...]:
    body = ast.parse(code).body
    defined = [each.name for each in body if isinstance(each, ast.FunctionDef)]
    held = {name: each.value for each in body for name in _list_targets(each) if hasattr(each, "value")}
    if "EXAMPLE" in held and stem in defined:
        return (stem,)
    named = set(_list_programs(held["PROGRAMS"])) if "PROGRAMS" in held else set()
    return tuple(name for name in defined if name in named)


def _list_programs(table: ast.expr) -> Iterator[str]:
    """Yield the names that stand first in the entries of PROGRAMS, or all of one that is put together."""
    parts = [table]
    if isinstance(table, ast.Dict):
        parts = [each.elts[0] if isinstance(each, ast.Tuple) and each.elts else each for each in table.values]
    for part in parts:
        yield from (each.id for each in ast.walk(part) if isinstance(each, ast.Name))


def _list_targets(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [each.id for each in targets if isinstance(each, ast.Name)]


@lru_cache(maxsize=256)
def _list_foreign(code: str) -> frozenset[str]:
    """Return what code imports that neither Python nor the package's installation brings."""
    tree = ast.parse(code)
    names = {alias.name for each in ast.walk(tree) if isinstance(each, ast.Import) for alias in each.names}
    names |= {each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    return frozenset(name.partition(".")[0] for name in names) - _INSTALLED - sys.stdlib_module_names


def _list_files(path: Path) -> list[Path]:
    """Return a program's file with the other programs that it imports."""
    # Of the package nothing is read: it is there.
    places = {FOLDER: list_places(project.root / SNIPPETS)[FOLDER]}
    files = find_files([path], places)
    return sorted(file for file in files if file.parent == path.parent and file.suffix == ".py")
