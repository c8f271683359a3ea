"""The explorer of many programs at once: an index of what was recorded, from which a page's compiler answers."""

from __future__ import annotations

import ast
import hashlib
import html
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from xla_inspect import store
from xla_inspect.plural import plural
from xla_inspect.report.explorer import embed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from xla_inspect.captured import Capture, Captures


_INPUTS = re.compile(r"\{ lambda [^;]*;(.*?)\. let", re.DOTALL)
_INPUT = re.compile(r"\w+:([a-z]\w*\[[\d,]*\])")


class Recorded(NamedTuple):
    """A program of the index.

    Attributes:
        title: What a reader calls it.
        captures: Its captures.
        code: Whether the code of its kernels is shown, of those captures that hold machine code.
    """

    title: str
    captures: Captures
    code: bool = False


def embed_programs(
    programs: Mapping[str, Recorded], name: str, *, times: str = "", bundles: bool = False, **state: str | int
) -> str:
    """Return one explorer of many programs as HTML that opens by itself; index and data are staged for the site.

    Args:
        programs: The programs, by what links call them.
        name: What links to the explorer carry, unique on the site.
        times: A file of `scripts/measure`, as for `embed_explorer`.
        bundles: Whether the text of a TPU's bundles is shown, as for `embed_explorer`.
        **state: Where it opens: `program`, and as for `embed_explorer`.
    """
    index = stage_index(describe_index(programs, times, bundles=bundles), embed.STAGED)
    first = programs[str(state["program"])].captures[str(state["target"])]
    targets = {capture.target.partition(":")[0] for each in programs.values() for capture in each.captures.values()}
    what = f"{plural(len(programs), 'program')} on {plural(len(targets), 'target')}."
    poster = embed.stage_poster(first, embed.STAGED, state)
    return embed.write_root(name, {"index": index}, state, poster, html.escape(what))


def describe_index(programs: Mapping[str, Recorded], times: str = "", *, bundles: bool = False) -> dict[str, Any]:
    """Return what was recorded, as `recorded_compiler.js` reads it; codes and data are staged.

    Args:
        programs: As for `embed_programs`, and what else that takes.
        times: A file of measured times.
        bundles: Whether the text of a TPU's bundles is shown.
    """
    described, captures, codes = [], [], {}
    for name, (said, compiled, code) in programs.items():
        if not compiled:
            continue
        one = next(iter(compiled.values()))
        codes[name] = one.source
        written = {"name": name, "title": said, "function": one.program, "file": one.source_file}
        described.append({**written, "arguments": write_arguments(one)})
        offered = embed.list_offers(compiled, None, times, code=code, bundles=bundles)
        captures += [{"program": name, **each} for each in offered]
    return {"programs": described, "codes": stage_index(codes, embed.STAGED), "captures": captures}


def write_arguments(capture: Capture) -> str:
    """Return the arguments of a program as a playground takes them: `x: f32[64,128], b: f32[128]`.

    They have names where the function has a parameter for each array.
    """
    found = _INPUTS.search(capture.jaxpr)
    shapes = _INPUT.findall(found[1]) if found else []
    functions = (each for each in ast.walk(ast.parse(capture.source)) if isinstance(each, ast.FunctionDef))
    own = next((each for each in functions if each.name == capture.program), None)
    names = [each.arg for each in own.args.args] if own else []
    named = len(names) == len(shapes)
    return (
        ", ".join(f"{name}: {shape}" for name, shape in zip(names, shapes, strict=True)) if named else ", ".join(shapes)
    )


def stage_index(index: Mapping[str, Any], folder: Path) -> str:
    """Write an index, or codes, into a folder, and return the name of the file, which is made of what it holds."""
    body = json.dumps(index, separators=(",", ":")).encode()
    name = f"{hashlib.sha256(body).hexdigest()[:16]}.json"
    store.write_whole(folder / name, body)
    return name
