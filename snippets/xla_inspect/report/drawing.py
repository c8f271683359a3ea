"""The stages of one compile as a drawing: shared stages first, then one lane per target."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from xla_inspect.hlo.fusions import entry_kernels
from xla_inspect.report import text
from xla_inspect.report.svg import sparkline
from xla_inspect.report.titles import title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from xla_inspect.hlo.record import Capture, Captures

_LANGUAGES = {
    "triton": "Triton IR",
    "llvm": "LLVM IR",
    "asm": "assembly",
    "ptx": "PTX",
    "sass": "SASS",
    "hlo": "scheduled HLO",
}


def stages(captures: Captures) -> str:
    """Return the drawing of one program's way to each target, as HTML; each stage links to `#` its own name.

    Args:
        captures: One program's captures. A target that could not be compiled keeps an empty lane.
    """
    first = next(iter(captures.values()))
    shared = (
        ("program", "Python", _lines(first)),
        ("jaxpr", "jaxpr", _plural(text.equations(first.jaxpr), "equation")),
        ("stablehlo", "StableHLO", _plural(text.operations(first.stablehlo), "operation")),
        ("hlo", "HLO", _plural(first.unoptimized_module.instruction_count(), "instruction")),
    )
    lanes: tuple[tuple[str, str, Callable[[Capture], str]], ...] = (
        ("passes", "Passes", _passes),
        ("optimized", "Optimized HLO", _optimized),
        ("memory", "Memory plan", _memory),
        ("code", "Code", _code),
    )
    rows = [_stage(anchor, name, f"<p>{said}</p>") for anchor, name, said in shared]
    rows += [_stage(anchor, name, _lanes(captures, say)) for anchor, name, say in lanes]
    return f'<figure class="stages" markdown="0"><ol>{"".join(rows)}</ol></figure>\n'


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
    changed = _plural(len(capture.passes), "change")
    return f"{_plural(len(capture.runs), 'run')}, {changed}{sparkline(counts, label)}"


def _optimized(capture: Capture) -> str:
    kernels = entry_kernels(capture.module)
    return f"{_plural(capture.module.instruction_count(), 'instruction')}, {_plural(len(kernels), 'kernel')}"


def _memory(capture: Capture) -> str:
    memory = capture.memory
    return f"{memory.arguments + memory.outputs - memory.aliased:,} bytes in and out, {memory.temporaries:,} between"


def _code(capture: Capture) -> str:
    languages = dict.fromkeys(code.language for code in capture.code)
    return " → ".join(_LANGUAGES[language] for language in _LANGUAGES if language in languages)


def _plural(number: int, noun: str) -> str:
    return f"<b>{number:,}</b> {noun}{'' if number == 1 else 's'}"
