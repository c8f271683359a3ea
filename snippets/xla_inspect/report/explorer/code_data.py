"""The code of each kernel for the explorer: its use of the hardware as small JSON, with its texts in another file."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import find_lines, fit_symbol, list_launches
from xla_inspect.analysis.bundles import UNITS, describe_below, read_below
from xla_inspect.analysis.machine import describe_kernels, read_table
from xla_inspect.plural import plural
from xla_inspect.report import format_bytes, name_kind, views, write_bundles
from xla_inspect.report.explorer.graph_data import list_called
from xla_inspect.sass_lines import trace_sass
from xla_inspect.targets import find_entry, find_terms
from xla_inspect.units import format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from xla_inspect.analysis import SourceLine
    from xla_inspect.analysis.bundles import BelowListing
    from xla_inspect.analysis.machine import KernelListing
    from xla_inspect.captured import Capture
    from xla_inspect.targets import Terms

BUNDLES = "bundles"
"""The language of a piece that is the text of a TPU's bundles."""

LEAST_WAVES = 0.1

REMARKS = 12
"""The largest number of LLVM's remarks that are shown for one kernel."""

ESTIMATE = "the compiler's estimate for one pass through the kernel: each loop body once, no waiting for memory"

type Figure = tuple[str, str, str]


@dataclass(frozen=True)
class Piece:
    """A text of a kernel's code.

    Attributes:
        kernel: The name of the kernel as `fit_symbol` returns it, or an empty string for the whole program.
        language: A language of `Code`, or `BUNDLES`.
        text: The text.
    """

    kernel: str
    language: str
    text: str


def holds_machine_code(capture: Capture) -> bool:
    """Return whether a capture contains machine code of a GPU or CPU, or a TPU's code below HLO."""
    return bool(capture.low_level) or any(piece.language in {"sass", "asm"} for piece in capture.code)


def list_pieces(capture: Capture, *, bundles: bool) -> list[Piece]:
    """Return the texts of a capture's code that the explorer shows, for each kernel the text nearest to HLO first.

    Args:
        capture: The capture.
        bundles: Whether to include the text of a TPU's bundles.
    """
    order = list(views.LANGUAGES)
    pieces = [
        Piece("" if code.language == "hlo" else fit_symbol(code.kernel), code.language, code.text)
        for code in sorted(views.choose_code(capture), key=lambda code: (code.kernel, order.index(code.language)))
    ]
    below = read_below(capture) if bundles else ()
    return pieces + [Piece(fit_symbol(kernel.name), BUNDLES, write_bundles(kernel)) for kernel in below]


def trace_pieces(pieces: Sequence[Piece]) -> dict[int, tuple[int, ...]]:
    """Return, by the position of each kernel's SASS, the PTX line that each SASS line comes from.

    Args:
        pieces: The result of `list_pieces`.

    Returns:
        The results of `trace_sass`, without the kernels that have none.
    """
    sources = {piece.kernel: piece.text for piece in pieces if piece.language == "ptx"}
    positions = [at for at, piece in enumerate(pieces) if piece.language == "sass" and piece.kernel in sources]
    with ThreadPoolExecutor() as pool:
        lines = pool.map(lambda at: trace_sass(sources[pieces[at].kernel], pieces[at].text), positions)
        return {at: line_sources for at, line_sources in zip(positions, lines, strict=True) if line_sources}


def describe_code(
    capture: Capture, numbers: Mapping[str, int], locate: Callable[[SourceLine], int], *, bundles: bool = False
) -> dict[str, Any]:
    """Return the data about the code of one capture that `static/code.js` shows.

    Args:
        capture: The capture.
        numbers: The explorer's number of each instruction of the optimized module, by name.
        locate: Returns the number of a line of Python, or -1.
        bundles: As in `list_pieces`; texts are referenced by their positions in its result.

    Returns:
        A mapping that can be written as JSON:

        - `said`: a sentence about all of the code; `gap`: the missing texts and how to get them, or an empty string.
        - `kernels`: the kernels in launch order, each with `name`, `sort` (a kind of the graph, or an empty string),
          `instructions` (the numbers of the instructions that run it), `holds` (these and all instructions that they
          fuse), `places` (lines of Python), `figures` (`[name, value, description]`), `bars` (`[name, share,
          description]`) under the heading `barred`, `lines` (loops and remarks), `steps` (the steps below HLO that
          changed it: `[position among the steps, instructions, bundles]`, null if unknown), the number of steps that
          left it `unchanged`, and `pieces`.
        - `steps`: `[name, description]`.
        - `pieces`: those of the whole program. A piece is `[title, lines, position among the texts, language]`.
    """
    pieces: dict[str, list[tuple[str, int, int, str]]] = {}
    for position, piece in enumerate(list_pieces(capture, bundles=bundles)):
        title = "Bundles" if piece.language == BUNDLES else views.LANGUAGES[piece.language][0]
        title = title[0].upper() + title[1:]
        pieces.setdefault(piece.kernel, []).append((title, len(piece.text.splitlines()), position, piece.language))
    kind = find_entry(capture.target).kind
    links = _Links(capture, numbers, locate)
    kernels = [*_describe_below(capture, links)] if kind == "tpu" else [*_describe_kernels(capture, links)]
    for kernel in kernels:
        kernel["pieces"] = pieces.get(fit_symbol(kernel["name"]), [])
    launch_names = {name for kernel in kernels for name in kernel.pop("launches")}
    return {
        "said": _sum_up(capture, kernels, launch_names),
        "gap": _explain_gap(capture, kernels, bundles=bundles),
        "kernels": kernels,
        "steps": list(links.steps),
        "pieces": pieces.get("", []),
    }


class _Links:
    """The links from a launch to numbers of the explorer: of instructions and of lines of Python."""

    def __init__(self, capture: Capture, numbers: Mapping[str, int], locate: Callable[[SourceLine], int]) -> None:
        self.module, self.numbers, self.locate = capture.module, numbers, locate
        self.lines = find_lines(capture, capture.module)
        self.instructions = {instruction.name: instruction for instruction in capture.module.walk()}
        self.steps: dict[tuple[str, str], int] = {}
        self.scheduled = {launch.name: launch.scheduled.name for launch in list_launches(capture)}

    def find(self, launches: Collection[str]) -> dict[str, Any]:
        """Return the `launches` of a kernel and the `sort`, `instructions`, `holds` and `places` of `describe_code`."""
        own = [self.scheduled.get(name, name) for name in launches]
        outer = [
            self.instructions[name]
            for name in dict.fromkeys((*own, *launches))
            if name in self.instructions  # The name of a kernel may differ from that of its instruction.
        ]
        inner = [
            member
            for instruction in outer
            for computation in dict.fromkeys(list_called(self.module, instruction))
            for member in self.module.computation(computation)
        ]
        places = (self.locate(line) for member in (*outer, *inner) if (line := self.lines.get(member)))
        return {
            "launches": list(launches),
            "sort": next((name_kind(member) for member in outer), ""),
            "instructions": [self.numbers[name] for name in own if name in self.numbers],
            "holds": sorted({self.numbers[member.name] for member in (*outer, *inner) if member.name in self.numbers}),
            "places": [place for place in dict.fromkeys(places) if place >= 0],
        }


def _describe_kernels(capture: Capture, links: _Links) -> Iterator[dict[str, Any]]:
    for kernel in describe_kernels(capture):
        is_gpu = kernel.block is not None or kernel.resources is not None or "ptx" in kernel.languages
        machine = find_entry(capture.target).platform
        yield {
            "name": kernel.name,
            **links.find(kernel.launches),
            "figures": [*(_figure_gpu(kernel, find_terms(capture.target)) if is_gpu else _figure_cpu(kernel))],
            "barred": f"{plural(kernel.mix.total, 'instruction')} by kind" if kernel.mix else "",
            "bars": [*_bar_mix(kernel, {"cuda": "sass", "rocm": "amdgcn"}.get(machine, ""))],
            "lines": [*_describe_loops(kernel), *kernel.remarks[:REMARKS]],
            "steps": [],
            "unchanged": 0,
        }


def _figure_gpu(kernel: KernelListing, terms: Terms) -> Iterator[Figure]:
    resources, full = kernel.resources, kernel.occupancy
    if kernel.block is not None:
        yield "launched as", f"{plural(kernel.grid or 0, 'block')} of {kernel.block:,}", "threads"
    if resources is not None:
        yield terms.registers, f"{resources.registers}", "32-bit registers per thread"
        spilled = format_bytes(resources.spilled) if resources.spilled else "none"
        yield "spills", spilled, "stored and loaded by each thread because it has too few registers"
    if resources is not None or kernel.launch_shared:
        yield terms.shared, format_bytes(kernel.shared) if kernel.shared else "none", "per block"
    if full is not None:
        bound = " and ".join(full.bound_by)
        explanation = f"{full.warps} of at most {full.most_warps} {terms.wave}s per {terms.core}, limited by {bound}"
        yield "occupancy", format_share(full.share), explanation
        if full.grid:
            waves = f"{full.waves:.1f}" if full.waves >= LEAST_WAVES else f"<{LEAST_WAVES}"
            yield terms.fills, waves, "times that the blocks fill the whole GPU; below 1, part of the GPU is idle"


def _figure_cpu(kernel: KernelListing) -> Iterator[Figure]:
    yield (
        "vectors",
        f"{kernel.width} bits" if kernel.width else "none",
        "the width of the vectors that the kernel computes with",
    )
    if (vectors := kernel.vectors) and vectors.instructions:
        yield (
            "vector code",
            format_share(vectors.vectors / vectors.instructions),
            "of the instructions use whole vectors",
        )
    if inner := kernel.innermost:
        vectorized = sum(loop.is_vectorized for loop in inner)
        yield "vectorized", f"{vectorized} of {len(inner)}", "innermost loop" if len(inner) == 1 else "innermost loops"


def _describe_loops(kernel: KernelListing) -> Iterator[str]:
    for loop in kernel.loops:
        runs = _describe_iterations(loop.turns)
        width = f"vectors of {loop.width} bits" if loop.is_vectorized else "no vectors"
        where = "innermost loop" if loop.is_innermost else "loop around other loops"
        yield f"{where} in {loop.function}: {runs}, {plural(loop.instructions, 'instruction')}, {width}"


def _describe_iterations(trips: int | None) -> str:
    return f"runs {plural(trips, 'time')}" if trips is not None else "repeats while its condition is true"


def _bar_mix(kernel: KernelListing, machine: str) -> Iterator[tuple[str, float, str]]:
    if kernel.mix is None or not kernel.mix.total:
        return
    kinds = read_table(machine or "x86").kinds
    for kind, number in kernel.mix.counts.items():
        yield kind, round(number / kernel.mix.total, 4), kinds.get(kind, "")


def _describe_below(capture: Capture, links: _Links) -> Iterator[dict[str, Any]]:
    does = dict(UNITS.values())
    for kernel in describe_below(capture):
        yield {
            "name": kernel.name,
            **links.find(kernel.launches),
            "figures": [*_figure_below(kernel)],
            "barred": "Share of slots used, by unit",
            "bars": [(unit, share, does[unit]) for unit, share in kernel.utilization.items() if share],
            "lines": [
                f"loop of {plural(loop.bundles, 'bundle')} at {loop.first:#x}, {_describe_iterations(loop.trips)}"
                for loop in kernel.loops
            ],
            "steps": [
                (links.steps.setdefault((step.name, step.sentence), len(links.steps)), step.instructions, step.bundles)
                for step in kernel.steps
                if step.is_changed is not False
            ],
            "unchanged": sum(step.is_changed is False for step in kernel.steps),
        }


def _figure_below(kernel: BelowListing) -> Iterator[Figure]:
    empty = f", {kernel.empty:,} of them empty" if kernel.empty else ""
    yield "bundles", f"{kernel.bundles:,}", f"groups of operations that are issued in the same cycle{empty}"
    if kernel.cycles is not None:
        yield "cycles", f"{kernel.cycles:,}", ESTIMATE
    if kernel.chain_cycles:
        yield "longest chain", f"{kernel.chain_cycles:,}", "cycles of operations that each wait for the previous one"
    operations = list(kernel.operations.items())
    breakdown = ", ".join(f"{number:,} {unit}" for unit, number in operations)
    yield "operations", f"{sum(kernel.operations.values()):,}", breakdown


def _sum_up(capture: Capture, kernels: Sequence[Mapping[str, Any]], described: Collection[str]) -> str:
    others = Counter(launch.sort for launch in list_launches(capture) if launch.name not in described)
    own = sum(bool(kernel["holds"]) for kernel in kernels)
    summary = f"{plural(own, 'kernel')} with generated code."
    if not others:
        return summary
    launches = ", ".join(f"{number:,} {sort}" for sort, number in others.most_common())
    return f"{summary} A library or the runtime does the rest, without generated code: {launches}."


def _explain_gap(capture: Capture, kernels: Sequence[Mapping[str, Any]], *, bundles: bool) -> str:
    kind = find_entry(capture.target).kind
    languages = {code.language for code in capture.code}
    if kind == "tpu" and not capture.low_level:
        return "The code below HLO was not captured. To capture it, use capture(..., machine=True)."
    if kind == "tpu" and not bundles:
        number = sum(len(kernel.bundles) for kernel in read_below(capture))
        command = f"xla-inspect show {capture.source_file}:{capture.program} --stage code --target {capture.target}"
        gap = f"The text of the {plural(number, 'bundle')} is not on this page."
        return f"{gap} To print it on your own machine, run: {command}"
    platform = find_entry(capture.target).platform
    if platform == "cuda" and kernels and "sass" not in languages:
        return "Registers, occupancy and SASS were not captured. To capture them, use capture(..., machine=True)."
    if platform in {"cpu", "rocm"} and kernels and "asm" not in languages:
        return "The assembly was not captured, because the disassembler is not installed."
    return ""
