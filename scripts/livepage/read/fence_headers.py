"""What the header of a fence may say, since the Markdown renderer drops a header it cannot read without a word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LANGUAGE = re.compile(r"[ \t]*\.?(?P<language>[\w#.+-]+)(?=[ \t]|$)")
_OPTION = re.compile(r"[ \t]*(?P<key>[A-Za-z][\w-]*)=(?P<quote>[\"'])(?P<value>.*?)(?P=quote)(?=[ \t]|$)")
_ATTRIBUTES = re.compile(r"[ \t]*\{(?P<inner>[^{}]*)\}[ \t]*$")
_CLASS_OR_ID = re.compile(r"[ \t]*[.#][\w-]+")

_SHOWN = {"title", "hl_lines", "linenums"}
_RUN = {"exec", "source", "result", "html", "id", "idprefix", "tabs", "width", "updatetoc"} | _SHOWN
_SOURCES = {"above", "below", "block", "tabbed-left", "tabbed-right", "console"}
_SWITCHES = {"html": {"on", "off"}, "updatetoc": {"on", "off"}}


def read_header(header: str) -> tuple[str | None, Mapping[str, str]]:
    """Return what a fence is (`block`, `check` or None for a listing) and its options.

    Args:
        header: What follows the opening marks of the fence.

    Raises:
        ValueError: The renderer would not accept the header, or would not do what it seems to ask.
    """
    language, options = _split(header)
    if "exec" not in options and "check" not in options:
        if unknown := [key for key in options if key not in _SHOWN and not key.startswith("data-")]:
            message = f'unknown option {unknown[0]!r}: a fence that runs says exec="on"; known here are {_list(_SHOWN)}'
            raise ValueError(message)
        return None, options
    if language != "python":
        message = f"only `python` runs on a page, not {language or 'a fence without a language'}"
        raise ValueError(message)
    if "check" in options:
        return "check", _read_check(options)
    return "block", _read_block(options)


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


def _read_check(options: Mapping[str, str]) -> Mapping[str, str]:
    if extra := sorted(set(options) - {"check"}):
        message = f"a check has no option {extra[0]!r}"
        raise ValueError(message)
    if not options["check"].strip():
        message = 'a check says its claim in one sentence: check="..."'
        raise ValueError(message)
    return options


def _read_block(options: Mapping[str, str]) -> Mapping[str, str]:
    if options["exec"] != "on":
        message = f'exec="{options["exec"]}" is not "on": a block runs, or its header does not mention exec'
        raise ValueError(message)
    if "session" in options:
        message = "no session on a page: all its blocks share one namespace"
        raise ValueError(message)
    if unknown := sorted(set(options) - _RUN):
        message = f"unknown option {unknown[0]!r}: known are {_list(_RUN)}"
        raise ValueError(message)
    if options.get("source", "above") not in _SOURCES:
        message = f'source="{options["source"]}" is not one of {_list(_SOURCES)}'
        raise ValueError(message)
    for key, allowed in _SWITCHES.items():
        if options.get(key, "on") not in allowed:
            message = f'{key}="{options[key]}" is not one of {_list(allowed)}'
            raise ValueError(message)
    if not options.get("width", "0").isdigit():
        message = f'width="{options["width"]}" is not a number of columns'
        raise ValueError(message)
    return options


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))
