"""The views of a chapter: functions that take captures and return Markdown."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from xla_inspect.analysis import (
    HOST_CALL,
    calls_host,
    compare_modules,
    list_fusions,
    list_kernels,
    list_launches,
    print_computation,
    print_instruction,
)
from xla_inspect.hlo import CLUTTER
from xla_inspect.plural import plural
from xla_inspect.report import markdown
from xla_inspect.report.function_text import find_excerpts
from xla_inspect.report.timeline import draw_timeline
from xla_inspect.targets import find_entry, title

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.analysis import Fusion, Launch
    from xla_inspect.captured import Capture, Captures, Code
    from xla_inspect.hlo import Module

SHORT = 24
COLOURED = 100
LANGUAGES: Mapping[str, tuple[str, str]] = {
    "triton": ("Triton IR", "stablehlo"),
    "llvm-unoptimized": ("LLVM IR before LLVM's own passes", "llvm"),
    "llvm": ("LLVM IR", "llvm"),
    "asm": ("assembly", "gas"),
    "ptx": ("PTX", "ptx"),
    "sass": ("SASS", "sass"),
    "hlo": ("scheduled HLO", "hlo"),
}
"""The title and the lexer of each language of generated code, the language nearest to HLO first."""

_FUNCTION = re.compile(r"^(?:ENTRY|define|\.visible|\s*tt\.func|\s*xtile\.entry_func)", re.MULTILINE)


def tabs_by_target(captures: Captures, view: Callable[[Capture], str]) -> str:
    """Return one tab per target with the `view` of its capture, or a note if the target has no capture."""
    panes = {}
    for target in captures.targets:
        if target in captures:
            panes[title(target)] = f"{view(captures[target])}\n"
        else:
            panes[title(target)] = (
                f'<p class="gap">Not compiled here: {markdown.escape(captures.missing[target])}</p>\n'
            )
    return markdown.tabs(panes)


def show_function(subject: Capture | Callable[..., object], *more: Capture | Callable[..., object]) -> str:
    """Return, as Markdown, a program's function and those of its file that it calls, with the whole file folded.

    Args:
        subject: A function, or a capture whose program is the function.
        more: More functions or captures; each further file has its own listing.

    Raises:
        ValueError: The file of a capture has no function of its program's name, or a function has no file.
    """
    listings = []
    for excerpt in find_excerpts(subject, *more):
        lines = plural(len(excerpt.whole.splitlines()), "line")
        whole = markdown.fence(excerpt.whole, "python")
        listings += [
            markdown.fence(excerpt.text, "python", title=excerpt.file),
            markdown.fold(f"The whole file, {lines}", whole),
        ]
    return "\n".join(listings)


def show_jaxpr(capture: Capture) -> str:
    """Return the jaxpr as Markdown; a long one is folded below its first lines."""
    return _long(capture.jaxpr, "jaxpr")


def show_stablehlo(capture: Capture) -> str:
    """Return StableHLO without locations as Markdown; a long text is folded below its first lines."""
    return _long(capture.stablehlo, "stablehlo")


def show_before(capture: Capture) -> str:
    """Return the HLO that the compiler received: the entry computation first, the whole text folded."""
    return _module(capture.unoptimized_module, capture.before)


def show_optimized(capture: Capture) -> str:
    """Return the optimized HLO: the entry computation first, the whole text folded."""
    return _module(capture.module, capture.after)


def show_passes(capture: Capture) -> str:
    """Return a table of the passes that changed the module: the change of each and the instructions after it."""
    rows, silent, module = [], [], capture.unoptimized_module
    for step in capture.passes:
        after = step.module
        change = compare_modules(module, after)
        # XLA also dumps the module where a pipeline starts, under a name that is not that of a pass.
        name = "the start of" if step.name == "pipeline-start" else markdown.code(step.name)
        if change.is_visible:
            where = f"{name}<br><small>{markdown.escape(step.pipeline)}</small>"
            rows.append((where, markdown.escape(change.summary), after.instruction_count()))
        else:
            silent.append(name)
        module = after
    listing = markdown.table(["pass", "what it did", "instructions (fusion bodies included)"], rows, numbers=[2])
    if len(rows) > SHORT:
        listing = markdown.fold(f"All {len(rows)} passes that changed the text of the module", listing)
    if silent:
        more = plural(len(silent), "more pass", "more passes")
        listing += f"\n{more} reported a change that is not visible in the text: {', '.join(silent)}.\n"
    return listing


def show_kernels(capture: Capture) -> str:
    """Return a table of the kernels in order, and below it the numbers of collectives and copies."""
    fusions = {fusion.name: fusion for fusion in list_fusions(capture.module)}

    def describe(kernel: Launch) -> tuple[object, ...]:
        thunk = kernel.thunk
        callback = f", {HOST_CALL}" if calls_host(kernel.instruction) else ""
        kind = _kind(fusions[kernel.name]) if kernel.name in fusions else markdown.code(kernel.kind) + callback
        if thunk is None:
            return markdown.code(kernel.name), kind, "", "", ""
        grid, threads = (" x ".join(map(str, size or ())) for size in (thunk.grid, thunk.threads))
        return markdown.code(kernel.name), kind, grid, threads, "" if thunk.grid is None else thunk.shared_memory

    rows = [describe(kernel) for kernel in list_kernels(capture)]
    # Only thunks have launch sizes, so without them the other columns would be empty.
    columns = 5 if capture.thunks else 2
    header = ["kernel", "kind", "blocks", "threads per block", "shared memory, bytes"][:columns]
    listing = markdown.table(header, [row[:columns] for row in rows], numbers=range(2, columns))
    if len(rows) > SHORT:
        listing = markdown.fold(f"All {len(rows)} kernels", listing)
    roles = Counter(str(launch.role) for launch in list_launches(capture))
    rest = [
        f"{roles[role]:,} {role if roles[role] == 1 else several}"
        for role, several in (("collective", "collectives"), ("copy", "copies"))
        if roles[role]
    ]
    return f"{listing}\nThe program also runs {' and '.join(rest)}.\n" if rest else listing


def choose_code(capture: Capture) -> list[Code]:
    """Return the pieces of generated code that add something to the others."""
    # On a GPU, the IR before LLVM's passes is as long as the IR after them, and Triton IR or HLO already shows it.
    is_gpu = find_entry(capture.target).kind == "gpu"
    hidden = {"llvm-unoptimized"} if is_gpu and any(code.language == "llvm" for code in capture.code) else set()
    return [code for code in capture.code if code.language not in hidden]


def show_code(capture: Capture) -> str:
    """Return generated code, or "": first lines of the longest function nearest to HLO, then every text folded."""
    pieces = sorted(choose_code(capture), key=lambda piece: list(LANGUAGES).index(piece.language))
    if not pieces:
        return ""
    lead = pieces[0]
    # The longest function does the computation; the other functions only set it up.
    starts = [match.start() for match in _FUNCTION.finditer(lead.text)] or [0]
    functions = [lead.text[start:end] for start, end in pairwise([*starts, len(lead.text)])]
    lines = max(functions, key=len).splitlines()
    name, lexer = LANGUAGES[lead.language]
    listing = markdown.fence("\n".join(lines[:SHORT]), lexer, title=f"{name} of {lead.kernel}")
    return "\n".join((listing, *map(_folded_code, pieces)))


def show_kinds(captures: Captures) -> str:
    """Return a table of the number of kernels of each kind per target, and of its collectives and copies."""
    counts = {target: Counter(kernel.kind for kernel in list_kernels(capture)) for target, capture in captures.items()}
    roles = {
        target: Counter(str(launch.role) for launch in list_launches(capture)) for target, capture in captures.items()
    }
    # Names of fusion kinds start with a `k`; they come first, before the opcodes of other kernels.
    names = sorted({kind for count in counts.values() for kind in count}, key=lambda kind: (kind[0] != "k", kind))
    rows: list[tuple[object, ...]] = [
        (markdown.code(kind), *(count[kind] for count in counts.values())) for kind in names
    ]
    rows.append(("all kernels", *(count.total() for count in counts.values())))
    for role, several in (("collective", "collectives"), ("copy", "copies")):
        if any(count[role] for count in roles.values()):
            rows.append((several, *(count[role] for count in roles.values())))
    return markdown.table(["kernels", *map(title, counts)], rows, numbers=range(1, len(counts) + 1))


def show_launches(captures: Captures) -> str:
    """Return a Markdown listing of the instructions that each target launches, without layouts."""
    blocks = []
    for target, capture in captures.items():
        lines = [print_instruction(launch.scheduled, CLUTTER, layouts=False) for launch in list_launches(capture)]
        blocks.append("\n".join((f"// {title(target)}", *lines)))
    return markdown.fence("\n\n".join(blocks), "hlo")


def show_memory(capture: Capture) -> str:
    """Return a picture of the memory plan as HTML, and the compiler's text of the plan folded."""
    lines = plural(len(capture.buffers.splitlines()), "line")
    text = markdown.fence(capture.buffers, "text")
    return draw_timeline(capture) + "\n" + markdown.fold(f"The compiler's buffer assignment, {lines}", text)


def _folded_code(piece: Code) -> str:
    name, lexer = LANGUAGES[piece.language]
    lines = len(piece.text.splitlines())
    # Colors need one HTML element per token, and a page with ten thousand elements is slow on a phone.
    body = markdown.fence(piece.text, lexer if lines <= COLOURED else "text")
    return markdown.fold(f"{name} of {piece.kernel}, {plural(lines, 'line')}", body)


def _kind(fusion: Fusion) -> str:
    emitter = f" by {markdown.code(fusion.custom_kind)}" if fusion.custom_kind else ""
    return f"{fusion.kind}{emitter}, {plural(len(fusion.opcodes), 'instruction')} inside"


def _module(module: Module, text: str) -> str:
    lines = plural(len(text.splitlines()), "line")
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
