"""The explorer of many programs: an index of recorded compilations that replaces a compiler on a page."""

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
        title: The title of the program.
        captures: The captures of the program.
        code: Whether to show the code of the kernels, for captures that contain machine code.
    """

    title: str
    captures: Captures
    code: bool = False


def embed_programs(
    programs: Mapping[str, Recorded], name: str, *, times: str = "", bundles: bool = False, **state: str | int
) -> str:
    """Return one explorer of many programs as HTML that opens automatically, and stage its data for the site.

    Args:
        programs: The programs by their names in links.
        name: The name of the explorer in links, unique on the site.
        times: A file of `scripts/measure`, as for `embed_explorer`.
        bundles: Whether to show the text of a TPU's bundles, as for `embed_explorer`.
        **state: The state to open: `program`, and the fields of `embed_explorer`.
    """
    index = stage_index(describe_index(programs, times, bundles=bundles), embed.STAGED)
    first = programs[str(state["program"])].captures[str(state["target"])]
    targets = {
        capture.target.partition(":")[0] for program in programs.values() for capture in program.captures.values()
    }
    what = f"{plural(len(programs), 'program')} on {plural(len(targets), 'target')}."
    poster = embed.stage_poster(first, embed.STAGED, state)
    return embed.write_root(name, {"index": index}, state, poster, html.escape(what))


def describe_index(programs: Mapping[str, Recorded], times: str = "", *, bundles: bool = False) -> dict[str, Any]:
    """Return the index that `recorded_compiler.js` reads, without programs that have no capture, and stage their data.

    Args:
        programs: The programs, as for `embed_programs`.
        times: A file of measured times.
        bundles: Whether to show the text of a TPU's bundles.
    """
    entries, captures, codes = [], [], {}
    for name, (program_title, program_captures, code) in programs.items():
        # A program that could not be compiled for any target has nothing to open.
        if not program_captures:
            continue
        one = next(iter(program_captures.values()))
        codes[name] = one.source
        entry = {"name": name, "title": program_title, "function": one.program, "file": one.source_file}
        entries.append({**entry, "arguments": write_arguments(one)})
        offers = embed.list_offers(program_captures, None, times, code=code, bundles=bundles)
        captures += [{"program": name, **offer} for offer in offers]
    return {"programs": entries, "codes": stage_index(codes, embed.STAGED), "captures": captures}


def write_arguments(capture: Capture) -> str:
    """Return the arguments of a program in the notation of the playground: `x: f32[64,128], b: f32[128]`.

    The names are left out if the function does not have one parameter for each array.
    """
    inputs = _INPUTS.search(capture.jaxpr)
    shapes = _INPUT.findall(inputs[1]) if inputs else []
    functions = (node for node in ast.walk(ast.parse(capture.source)) if isinstance(node, ast.FunctionDef))
    own = next((node for node in functions if node.name == capture.program), None)
    names = [node.arg for node in own.args.args] if own else []
    # An argument may be a pytree of several arrays, and then no parameter names one array.
    has_names = len(names) == len(shapes)
    return (
        ", ".join(f"{name}: {shape}" for name, shape in zip(names, shapes, strict=True))
        if has_names
        else ", ".join(shapes)
    )


def stage_index(index: Mapping[str, Any], folder: Path) -> str:
    """Write an index or source codes into a folder, and return the file's name, which is a hash of the content."""
    body = json.dumps(index, separators=(",", ":")).encode()
    name = f"{hashlib.sha256(body).hexdigest()[:16]}.json"
    store.write_whole(folder / name, body)
    return name
