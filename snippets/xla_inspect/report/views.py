"""What a chapter shows of a capture: each view takes one and returns Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.hlo.changes import summarise
from xla_inspect.hlo.fusions import entry_kernels
from xla_inspect.report import markdown
from xla_inspect.report.listing import print_computation, print_instruction
from xla_inspect.report.titles import title

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.hlo.module import Module
    from xla_inspect.hlo.record import Capture, Captures

SHORT = 24


def by_target(captures: Captures, view: Callable[[Capture], str]) -> str:
    """Return one tab per target with what `view` shows of its capture, and a note where there is none."""
    panes = {}
    for target in captures.targets:
        if target in captures:
            panes[title(target)] = f"{view(captures[target])}\n{stamp(captures[target])}"
        else:
            panes[title(target)] = (
                f'<p class="gap">Not compiled here: {markdown.escape(captures.missing[target])}</p>\n'
            )
    return markdown.tabs(panes)


def stamp(capture: Capture) -> str:
    """Return the small line that says what made a listing."""
    made = ", ".join(f"{name} {version}" for name, version in sorted(capture.versions.items()))
    compiled = {"xla_gpu_autotune_level": "without a GPU, autotuning off"}
    how = next((f" ({said})" for option, said in compiled.items() if option in capture.options), "")
    return f"`{capture.program}` for {title(capture.target)}{how}: {made}\n{{ .stamp }}\n"


def source(capture: Capture) -> str:
    """Return the program's file."""
    return markdown.fence(capture.source, "python", title=capture.source_file)


def jaxpr(capture: Capture) -> str:
    """Return the jaxpr."""
    return _long(capture.jaxpr, "jaxpr")


def stablehlo(capture: Capture) -> str:
    """Return StableHLO without locations."""
    return _long(capture.stablehlo, "stablehlo")


def before(capture: Capture) -> str:
    """Return the HLO that the compiler got: ENTRY first, the whole text folded."""
    return _module(capture.unoptimized_module, capture.before)


def optimized(capture: Capture) -> str:
    """Return optimized HLO: ENTRY first, the whole text folded."""
    return _module(capture.module, capture.after)


def passes(capture: Capture) -> str:
    """Return the passes that changed the module: what each did, and the instructions left after it."""
    rows, module = [], capture.unoptimized_module
    for step in capture.passes:
        after = step.module
        name = f"{markdown.code(step.name)}<br><small>{markdown.escape(step.pipeline)}</small>"
        rows.append((name, markdown.escape(summarise(module, after)), after.instruction_count()))
        module = after
    listing = markdown.table(["pass", "what it did", "instructions"], rows, numbers=[2])
    if len(rows) <= SHORT:
        return listing
    return markdown.fold(f"All {len(rows)} passes that changed the module", listing)


def kernels(capture: Capture) -> str:
    """Return what is launched, in order."""
    rows = [
        (
            markdown.code(kernel.name),
            kernel.fusion_kind or kernel.kind,
            " x ".join(map(str, kernel.grid)) if kernel.grid else "",
            " x ".join(map(str, kernel.threads)) if kernel.threads else "",
            "" if kernel.shared_memory is None else kernel.shared_memory,
        )
        for kernel in capture.kernels
    ]
    on_gpu = any(kernel.grid for kernel in capture.kernels)
    columns = 5 if on_gpu else 2
    header = ["launch", "kind", "blocks", "threads per block", "shared memory, bytes"][:columns]
    listing = markdown.table(header, [row[:columns] for row in rows], numbers=range(2, columns))
    if len(rows) <= SHORT:
        return listing
    return markdown.fold(f"All {len(rows)} launches", listing)


def code(capture: Capture) -> str:
    """Return the generated code, each piece folded."""
    lexers = {"llvm-unoptimized": "llvm", "triton": "stablehlo", "sass": "text", "asm": "gas"}
    titles = {
        "llvm-unoptimized": "LLVM IR before LLVM's own passes",
        "llvm": "LLVM IR",
        "asm": "assembly",
        "triton": "Triton IR",
        "ptx": "PTX",
        "sass": "SASS",
        "hlo": "scheduled HLO",
    }
    return "\n".join(
        markdown.fold(
            f"{titles[piece.language]} of {piece.kernel}: {markdown.count(len(piece.text.splitlines()), 'line')}",
            markdown.fence(piece.text, lexers.get(piece.language, piece.language)),
        )
        for piece in capture.code
    )


def launches(captures: Captures) -> str:
    """Return the instructions that do work on each target, in one listing, without layouts."""
    blocks = []
    for target, capture in captures.items():
        hidden = {
            "metadata",
            "backend_config",
            "frontend_attributes",
            "sharding",
            "calls",
            "cross_program_prefetch_index",
        }
        lines = [print_instruction(kernel, hidden, layouts=False) for kernel in entry_kernels(capture.module)]
        blocks.append("\n".join((f"// {title(target)}", *lines)))
    return markdown.fence("\n\n".join(blocks), "hlo")


def _module(module: Module, text: str) -> str:
    lines = markdown.count(len(text.splitlines()), "line")
    return (
        markdown.fence(print_computation(module.entry), "hlo")
        + "\n"
        + markdown.fold(f"The whole module, {lines}, with metadata and configuration", markdown.fence(text, "hlo"))
    )


def _long(text: str, language: str) -> str:
    lines = text.splitlines()
    if len(lines) <= 2 * SHORT:
        return markdown.fence(text, language)
    return (
        markdown.fence("\n".join(lines[:SHORT]), language)
        + "\n"
        + markdown.fold(f"All {len(lines)} lines", markdown.fence(text, language))
    )
