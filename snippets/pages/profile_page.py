"""Tables and checks of the page about profiles and source lines."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from programs import scoped
from xla_inspect.analysis import list_kernels
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.captured import Capture, Captures

BLOCK = "transformer_block.py"


def find_place(row: Mapping[str, Any]) -> str:
    """Return the file and line of a profile's row as `FILE:LINE`, or an empty string if it has no file."""
    return f"{Path(row['file']).name}:{row['line']}" if row["file"] else ""


def find_layer(row: Mapping[str, Any]) -> str:
    """Return, as text, the number of the layer in a row's path, as in `x_layers_3`; every row must have one."""
    (number, *_) = re.findall(r"x_layers_(\d+)", row["op_name"])
    return str(number)


def list_symbols_by_line(capture: Capture) -> dict[int, list[str]]:
    """Return the name of each launch's code by line of `transformer_block.py`; line 0 has launches of other files."""
    symbols: dict[int, list[str]] = {}
    for kernel in list_kernels(capture):
        if kernel.instruction and kernel.instruction.stack_frame:
            chain = capture.frames[kernel.instruction.stack_frame]
            line = next((frame.line for frame in chain if frame.file.endswith(BLOCK)), 0)
            symbol = kernel.thunk.symbol if kernel.thunk else ""
            symbols.setdefault(line, []).append(symbol or kernel.name)
    return symbols


def count_launches_by_line(capture: Capture) -> Counter[int]:
    """Return the number of launches by line, as `list_symbols_by_line` does."""
    return Counter({line: len(symbols) for line, symbols in list_symbols_by_line(capture).items()})


def find_busiest_line(capture: Capture) -> tuple[int, set[str]]:
    """Return the line of the block with the most launches, and the names of the code that these launches run."""
    symbols = list_symbols_by_line(capture)
    line = max(symbols.keys() - {0}, key=lambda number: len(symbols[number]))
    return line, {*symbols[line]}


def read_line(capture: Capture, number: int) -> str:
    """Return the text of the line with this number, from 1, of the transformer block."""
    return capture.sources[f"snippets/programs/{BLOCK}"].splitlines()[number - 1]


def show_launches(gpu: Mapping[str, Any]) -> str:
    """Return a Markdown table of the recorded rows of a GPU profile: launch, microseconds, line, and path."""
    rows = [
        (
            markdown.code(row["op"]),
            f"{row['nanoseconds'] / 1000:,.0f}",
            _code(find_place(row)),
            _code("/".join(re.sub(r"\[.*", "", row["op_name"]).split("/")[-2:])),
            markdown.code(row["shares"]) if row["shares"] else "itself",
        )
        for row in gpu["rows"]
    ]
    return markdown.table(["launch", "time, µs", "line", "end of the path", "code generated for"], rows, numbers=[1])


def _code(text: str) -> str:
    return markdown.code(text) if text else "none"


def check_sharing(gpu: Mapping[str, Any], symbol: str) -> None:
    """Assert that the profile's first row computes the logits, rows share code, and only collectives have no line.

    Args:
        gpu: The recorded profile.
        symbol: The launch whose code several layers share.
    """
    first, *_ = gpu["rows"]
    assert first["opcode"] == "custom-call"
    assert "logits" in first["op_name"]
    layers = [find_layer(row) for row in gpu["rows"] if row["shares"] == symbol]
    assert len(set(layers)) == len(layers) > 1
    assert {row["opcode"] for row in gpu["rows"] if not row["file"]} == {"reduce-scatter", "all-gather-start"}


def check_scopes(programs: Captures) -> None:
    """Assert that the path of each launch contains a scope, and that the opcodes are the same without scopes."""
    import jax

    for program in programs.values():
        instructions = (kernel.instruction for kernel in list_kernels(program) if kernel.instruction)
        paths = [instruction.op_name for instruction in instructions if instruction.op_name]
        assert any("/widen/" in path for path in paths)
        assert any("/narrow/" in path for path in paths)
        assert all("/widen/" in path or "/narrow/" in path for path in paths)
    with mock.patch.object(jax, "named_scope", return_value=contextlib.nullcontext()):
        unscoped = jax.jit(lambda x, *of: scoped.scoped(x, *of))  # noqa: PLW0108 - JAX traces one function but once
        bare = unscoped.lower(*scoped.EXAMPLE).compile().as_text() or ""
    whole = jax.jit(scoped.scoped).lower(*scoped.EXAMPLE).compile().as_text() or ""
    assert "/widen/" not in bare
    opcodes = re.compile(r"^ +(?:ROOT )?%\S+ = \S+ ([\w-]+)\(", re.MULTILINE)
    assert Counter(opcodes.findall(bare)) == Counter(opcodes.findall(whole))


def measure_lines(events: list[Mapping[str, Any]], capture: Capture) -> Counter[str]:
    """Return the total duration of a profile's events for each line of Python, in the profile's unit (microseconds)."""
    times: Counter[str] = Counter()
    for event in events:
        # In the trace format, X marks a complete event; only these have a duration.
        if event["ph"] == "X":
            times[find_source_line(capture, event["args"]["hlo_op"]) or "no line"] += event["dur"]
    return times


def find_source_line(capture: Capture, name: str) -> str:
    """Return the innermost `FILE:LINE` of the instruction `name` of the entry computation, or an empty string."""
    instruction = capture.module.entry.by_name.get(name)
    chain = capture.frames.get(instruction.stack_frame or 0, ()) if instruction else ()
    return next((f"{Path(frame.file).name}:{frame.line}" for frame in chain), "")
