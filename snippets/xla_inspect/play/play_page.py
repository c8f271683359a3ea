"""The playground's page and the files that it loads, some of which belong to the explorer."""

from __future__ import annotations

import html
from importlib import resources
from string import Template

from xla_inspect.report.explorer import COMPILERS, LATER, SCRIPTS, STYLE, read_asset

OWN = (
    "server_compiler.js",
    "drafts.js",
    "code_link.js",
    "plain_editor.js",
    "python_editor.js",
    "problems.js",
    "argument_list.js",
    "compile_options.js",
    "run_line.js",
    "counterparts.js",
    "play_menus.js",
    "sharing.js",
    "play.js",
)
"""The page's own scripts, in loading order; `play.js` starts the page."""

BUNDLE = "codemirror.js"
"""The code editor, a build product that is not tracked; without it, the page has a plain text field."""

KINDS = {".js": "text/javascript", ".css": "text/css", ".txt": "text/plain"}


def write_page(token: str) -> str:
    """Return the HTML of the page.

    Args:
        token: The secret that the page sends with each request, so that the server recognizes it.
    """
    ours = [*SCRIPTS, *LATER, *COMPILERS]
    names = [*ours, *([BUNDLE] if _find_own(BUNDLE) else []), *(name for name in OWN if _find_own(name))]
    scripts = "\n".join(f'<script src="static/{name}" defer></script>' for name in names)
    return Template(_read_own("play.html")).substitute(
        token=html.escape(token), scripts=scripts, style=read_asset(STYLE)
    )


def read_static(name: str) -> tuple[bytes, str] | None:
    """Return the content and the media type of a file that the page loads, or None if there is no such file.

    Args:
        name: The file's name, without a folder.
    """
    stem, _, ending = name.rpartition(".")
    kind = KINDS.get(f".{ending}")
    # A name with a folder could lead outside of the static files, on Windows also with a backslash.
    if not stem or kind is None or "/" in name or "\\" in name:
        return None
    if name in {*SCRIPTS, *LATER, *COMPILERS, STYLE}:
        return read_asset(name).encode(), f"{kind}; charset=utf-8"
    return (_read_own(name).encode(), f"{kind}; charset=utf-8") if _find_own(name) else None


def _find_own(name: str) -> bool:
    return (resources.files(__package__) / "static" / name).is_file()


def _read_own(name: str) -> str:
    return (resources.files(__package__) / "static" / name).read_text(encoding="utf-8")
