"""A drawing of the stages of one compilation: shared stages first, then a lane for each target."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from chapters import capture_text
from xla_inspect.analysis import list_kernels
from xla_inspect.plural import plural
from xla_inspect.report import figure, markdown, sparkline, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from xla_inspect.captured import Capture, Captures

_LANGUAGES = {
    "triton": "Triton IR",
    "llvm": "LLVM IR",
    "asm": "assembly",
    "ptx": "PTX",
    "sass": "SASS",
    "hlo": "scheduled HLO",
}


def draw_stages(captures: Captures) -> str:
    """Return a drawing of one program's stages for each target as HTML; each links to the section with its name.

    Args:
        captures: The captures of one program. The lane of a target that did not compile is empty.
    """
    first = next(iter(captures.values()))
    shared = (
        ("program", "Python", _lines(first)),
        ("jaxpr", "jaxpr", _emphasise(capture_text.count_printed_equations(first.jaxpr), "equation")),
        ("stablehlo", "StableHLO", _emphasise(capture_text.count_printed_operations(first.stablehlo), "operation")),
        ("hlo", "HLO", _emphasise(first.unoptimized_module.instruction_count(), "instruction")),
    )
    lanes: tuple[tuple[str, str, Callable[[Capture], str]], ...] = (
        ("passes", "Passes", _passes),
        ("optimized", "Optimized HLO", _optimized),
        ("memory", "Memory plan", _memory),
        ("code", "Code", _code),
    )
    rows = [_stage(anchor, name, f"<p>{size}</p>") for anchor, name, size in shared]
    rows += [_stage(anchor, name, _lanes(captures, say)) for anchor, name, say in lanes]
    return figure("stages", f"<ol>{''.join(rows)}</ol>")


def _stage(anchor: str, name: str, body: str) -> str:
    return f'<li><a href="#{anchor}">{name}</a>{body}</li>'


def _lanes(captures: Captures, say: Callable[[Capture], str]) -> str:
    cells: Iterable[str] = (
        f"<dt>{html.escape(title(target))}</dt><dd>{say(captures[target])}</dd>"
        if target in captures
        else f'<dt>{html.escape(title(target))}</dt><dd class="gap">not compiled here</dd>'
        for target in captures.targets
    )
    return f"<dl>{''.join(f'<div>{cell}</div>' for cell in cells)}</dl>"


def _lines(capture: Capture) -> str:
    return html.escape(capture.source_file)


def _passes(capture: Capture) -> str:
    counts = [
        capture.unoptimized_module.instruction_count(),
        *(step.instruction_count for step in capture.passes),
    ]
    label = f"Instructions after each pass that changed the module: from {counts[0]} to {counts[-1]}"
    changes = _emphasise(len(capture.passes), "change")
    return f"{_emphasise(len(capture.runs), 'run')}, {changes} of the text{sparkline(counts, label)}"


def _optimized(capture: Capture) -> str:
    kernels = len(list_kernels(capture))
    return f"{_emphasise(capture.module.instruction_count(), 'instruction')}, {_emphasise(kernels, 'kernel')}"


def _memory(capture: Capture) -> str:
    memory = capture.memory
    # An aliased output reuses the memory of an argument, so its bytes are not counted again.
    outside = markdown.size(memory.arguments + memory.outputs - memory.aliased)
    between = markdown.size(memory.temporaries) if memory.temporaries else "none"
    return f"{outside} in and out, {between} between"


def _code(capture: Capture) -> str:
    languages = dict.fromkeys(code.language for code in capture.code)
    # A capture may list languages in any order; the table has them in the order of compilation.
    return " → ".join(_LANGUAGES[language] for language in _LANGUAGES if language in languages)


def _emphasise(number: int, noun: str) -> str:
    return f"<b>{plural(number, noun)}".replace(" ", "</b> ", 1)
