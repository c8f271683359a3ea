"""The reader for fence headers; it follows markdown-exec, since the renderer silently drops headers it cannot read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from markdown_exec import formatters, validator

if TYPE_CHECKING:
    from collections.abc import Mapping

FENCE_MARK = "livepage"
"""The option of a fence that holds the number of its piece."""

SHELLS = {"bash": "bash", "sh": "sh", "console": "sh"}
"""The programs that run blocks in shell languages."""

_LANGUAGE = re.compile(r"[ \t]*\.?(?P<language>[\w#.+-]+)(?=[ \t]|$)")
_OPTION = re.compile(r"[ \t]*(?P<key>[A-Za-z][\w-]*)=(?P<quote>[\"'])(?P<value>.*?)(?P=quote)(?=[ \t]|$)")
_ATTRIBUTES = re.compile(r"[ \t]*\{(?P<inner>[^{}]*)\}[ \t]*$")
_CLASS_OR_ID = re.compile(r"[ \t]*[.#][\w-]+")

_SAME = {"py": "python", "markdown": "md"}
_UNRUN = {"tree", "pyodide"}
_SHOWN = {"title", "hl_lines", "linenums"}
BLOCK_OPTIONS = {
    "exec", "source", "result", "html", "id", "idprefix", "tabs", "width", "updatetoc", "session", "workdir",
    "returncode", "inputs", "check", *_SHOWN,
}  # fmt: skip
"""The options of a fence that runs."""
_SOURCES = {"above", "below", "block", "material-block", "tabbed-left", "tabbed-right", "console"}
_LIKE = 0.7


@dataclass(frozen=True)
class Header:
    """The header of a fence.

    Attributes:
        kind: `block`, `check`, or an empty string for a fence that does not run.
        language: The language; for two names of the same language, the first.
        options: The options, as written.
    """

    kind: str = ""
    language: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def write(self, number: int) -> str:
        """Return the header of the placeholder for the piece with this number; its last option is the number."""
        options = {"exec": "on"} if self.kind == "check" else self.options
        quoted = [f"{key}='{value}'" if '"' in value else f'{key}="{value}"' for key, value in options.items()]
        return " ".join([self.language, *quoted, f'{FENCE_MARK}="{number}"'])


def read_header(text: str) -> Header:
    """Return the parsed header of a fence.

    Args:
        text: The text after the opening marks of the fence.

    Raises:
        ValueError: The renderer would reject or misinterpret the header.
    """
    language, options = _split(text)
    language = _SAME.get(language, language)
    if "check" in options:
        return Header("check", language, _read_check(language, options))
    # The validator of markdown-exec itself decides whether a fence runs, so that the reader cannot disagree with it.
    exec_options: dict[str, Any] = {}
    try:
        runs = validator(language, dict(options), exec_options, {}, None)  # type: ignore[arg-type]  # it asks nothing of the page
    except ValueError as error:
        message = f"width and returncode are whole numbers: {error}"
        raise ValueError(message) from None
    if language == "pyodide" and options.get("assets", "1").lower() not in {"0", "false", "no", "off"}:
        message = 'pyodide would load scripts from other hosts: publish them with the site, and say assets="no"'
        raise ValueError(message)
    if not runs:
        _refuse_unknown(options)
    if not runs or language in _UNRUN:
        return Header(language=language, options=options)
    _check_block(language, options)
    return Header("block", language, options)


def _split(header: str) -> tuple[str, dict[str, str]]:
    language, at = "", 0
    if name := _LANGUAGE.match(header):
        language, at = name["language"], name.end()
    if braces := _ATTRIBUTES.match(header, at):
        classes = [item[1:] for item in re.findall(r"(?<!\S)\.[\w-]+", braces["inner"])]
        language = language or (classes[0] if classes else "")
        header, at = braces["inner"], 0
    options: dict[str, str] = {}
    while header[at:].strip():
        if plain := _CLASS_OR_ID.match(header, at):
            at = plain.end()
        elif option := _OPTION.match(header, at):
            options[option["key"]], at = option["value"], option.end()
        else:
            message = f'cannot read {header[at:].strip()!r} in the header of a fence: write options as name="value"'
            raise ValueError(message)
    return language, options


def _read_check(language: str, options: Mapping[str, str]) -> Mapping[str, str]:
    if language != "python":
        message = f"a check is written in `python`, not in {language or 'a fence without a language'}"
        raise ValueError(message)
    if extra := sorted(set(options) - {"check"}):
        message = f"a check has no option {extra[0]!r}"
        raise ValueError(message)
    if not options["check"].strip():
        message = 'a check says its claim in one sentence: check="..."'
        raise ValueError(message)
    return options


def _refuse_unknown(options: Mapping[str, str]) -> None:
    if unknown := [key for key in options if key not in {*_SHOWN, "exec"} and not key.startswith("data-")]:
        message = f'unknown option {unknown[0]!r}: a fence that runs says exec="on"; known here are {_list(_SHOWN)}'
        raise ValueError(message)


def _check_block(language: str, options: Mapping[str, str]) -> None:
    if language not in formatters:
        runnable = _list({*formatters} - {*_SAME, *_UNRUN})
        message = f"{language or 'a fence without a language'} does not run on a page: {runnable} do"
        raise ValueError(message)
    for key in options:
        # Unknown options become attributes of the listing, so a misspelled option would be silently ignored.
        if key not in BLOCK_OPTIONS and (close := get_close_matches(key, BLOCK_OPTIONS, 1, _LIKE)):
            message = f"unknown option {key!r}: is {close[0]!r} meant?"
            raise ValueError(message)
    if (source := options.get("source", "")) and source not in _SOURCES:
        message = f'source="{source}" is not one of {_list(_SOURCES)}'
        raise ValueError(message)


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))
