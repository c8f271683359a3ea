"""The code of each kernel for the explorer: what it takes of the hardware, as small JSON, and its texts apart."""

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
from xla_inspect.targets import find_entry
from xla_inspect.units import format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from xla_inspect.analysis import SourceLine
    from xla_inspect.analysis.bundles import BelowListing
    from xla_inspect.analysis.machine import KernelListing
    from xla_inspect.captured import Capture

BUNDLES = "bundles"
"""What stands for a language where a piece is the text of a TPU's bundles."""

LEAST_WAVES = 0.1

REMARKS = 12
"""How many of LLVM's remarks on a kernel are shown."""

ESTIMATE = "the compiler's estimate of one way through, each loop's body once, without any wait for memory"

type Figure = tuple[str, str, str]


@dataclass(frozen=True)
class Piece:
    """A text of a kernel's code.

    Attributes:
        kernel: The kernel, as `fit_symbol` names it, or an empty string for the whole program.
        language: As in `Code`, or `BUNDLES`.
        text: The text.
    """

    kernel: str
    language: str
    text: str


def holds_machine_code(capture: Capture) -> bool:
    """Return whether a capture holds machine code: that of a GPU's or the CPU's kernels, or what is below HLO."""
    return bool(capture.low_level) or any(piece.language in {"sass", "asm"} for piece in capture.code)


def list_pieces(capture: Capture, *, bundles: bool) -> list[Piece]:
    """Return the texts that the explorer shows of a capture's code, those of a kernel nearest to HLO first.

    Args:
        capture: The capture.
        bundles: Whether the text of a TPU's bundles is among them.
    """
    order = list(views.LANGUAGES)
    is_gpu = find_entry(capture.target).kind == "gpu"
    # On a GPU the code before LLVM's passes is as long as that after them, and Triton's or HLO stands in its place.
    kept = (code for code in capture.code if not (is_gpu and code.language == "llvm-unoptimized"))
    pieces = [
        Piece("" if code.language == "hlo" else fit_symbol(code.kernel), code.language, code.text)
        for code in sorted(kept, key=lambda code: (code.kernel, order.index(code.language)))
    ]
    below = read_below(capture) if bundles else ()
    return pieces + [Piece(fit_symbol(kernel.name), BUNDLES, write_bundles(kernel)) for kernel in below]


def trace_pieces(pieces: Sequence[Piece]) -> dict[int, tuple[int, ...]]:
    """Return for the position of each kernel's SASS the line of its PTX that each of its lines comes from.

    Args:
        pieces: As `list_pieces` returns them.

    Returns:
        As `trace_sass` says it, without what has none.
    """
    sources = {piece.kernel: piece.text for piece in pieces if piece.language == "ptx"}
    traced = [at for at, piece in enumerate(pieces) if piece.language == "sass" and piece.kernel in sources]
    with ThreadPoolExecutor() as pool:
        lines = pool.map(lambda at: trace_sass(sources[pieces[at].kernel], pieces[at].text), traced)
        return {at: each for at, each in zip(traced, lines, strict=True) if each}


def describe_code(
    capture: Capture, numbers: Mapping[str, int], locate: Callable[[SourceLine], int], *, bundles: bool = False
) -> dict[str, Any]:
    """Return what `static/code.js` shows of the code of one capture.

    Args:
        capture: The capture.
        numbers: The explorer's number of each instruction of the optimized module, by name.
        locate: Returns the number of a line of Python, or -1.
        bundles: As in `list_pieces`, whose positions stand for the texts.

    Returns:
        A mapping that JSON can hold:

        - `said`: a sentence on all of it; `gap`: what is not at hand and how to get it, or an empty string.
        - `kernels`: in the order in which they are launched, each with `name`, `sort` (one of those of the graph, or an
          empty string), `instructions` (numbers of those that run it), `holds` (those and all that they fuse), `places`
          (lines of Python), `figures` (`[name, value, what it is]`), `bars` (`[name, share, what it is]`) under
          `barred`, `lines` (loops and remarks), `steps` (those below HLO that changed it: `[position among the steps,
          instructions, bundles]`, null where not said), how many left it `unchanged`, and `pieces`.
        - `steps`: `[name, what it does]`.
        - `pieces`: of the whole program. A piece is `[title, lines, position among the texts, language]`.
    """
    found: dict[str, list[tuple[str, int, int, str]]] = {}
    for position, piece in enumerate(list_pieces(capture, bundles=bundles)):
        title = "Bundles" if piece.language == BUNDLES else views.LANGUAGES[piece.language][0]
        title = title[0].upper() + title[1:]
        found.setdefault(piece.kernel, []).append((title, len(piece.text.splitlines()), position, piece.language))
    kind = find_entry(capture.target).kind
    links = _Links(capture, numbers, locate)
    kernels = [*_describe_below(capture, links)] if kind == "tpu" else [*_describe_kernels(capture, links)]
    for kernel in kernels:
        kernel["pieces"] = found.get(fit_symbol(kernel["name"]), [])
    described = {name for kernel in kernels for name in kernel.pop("launches")}
    return {
        "said": _sum_up(capture, kernels, described),
        "gap": _explain_gap(capture, kernels, bundles=bundles),
        "kernels": kernels,
        "steps": list(links.steps),
        "pieces": found.get("", []),
    }


class _Links:
    """Finds what a launch stands for in the explorer: numbers of instructions and of lines of Python."""

    def __init__(self, capture: Capture, numbers: Mapping[str, int], locate: Callable[[SourceLine], int]) -> None:
        self.module, self.numbers, self.locate = capture.module, numbers, locate
        self.lines = find_lines(capture, capture.module)
        self.known = {instruction.name: instruction for instruction in capture.module.walk()}
        self.steps: dict[tuple[str, str], int] = {}
        self.scheduled = {launch.name: launch.scheduled.name for launch in list_launches(capture)}

    def find(self, launches: Collection[str]) -> dict[str, Any]:
        """Return what some launches are linked to."""
        own = [self.scheduled.get(name, name) for name in launches]
        held = [
            self.known[name]
            for name in dict.fromkeys((*own, *launches))
            if name in self.known  # a compiler may name a kernel otherwise
        ]
        inner = [
            each
            for instruction in held
            for called in dict.fromkeys(list_called(self.module, instruction))
            for each in self.module.computation(called)
        ]
        places = (self.locate(line) for each in (*held, *inner) if (line := self.lines.get(each)))
        return {
            "launches": list(launches),
            "sort": next((name_kind(each) for each in held), ""),
            "instructions": [self.numbers[name] for name in own if name in self.numbers],
            "holds": sorted({self.numbers[each.name] for each in (*held, *inner) if each.name in self.numbers}),
            "places": [place for place in dict.fromkeys(places) if place >= 0],
        }


def _describe_kernels(capture: Capture, links: _Links) -> Iterator[dict[str, Any]]:
    for kernel in describe_kernels(capture):
        is_gpu = kernel.block is not None or kernel.resources is not None or "ptx" in kernel.languages
        yield {
            "name": kernel.name,
            **links.find(kernel.launches),
            "figures": [*(_figure_gpu(kernel) if is_gpu else _figure_cpu(kernel))],
            "barred": f"{plural(kernel.mix.total, 'instruction')} by kind" if kernel.mix else "",
            "bars": [*_bar_mix(kernel, "sass" if is_gpu else "")],
            "lines": [*_tell_loops(kernel), *kernel.remarks[:REMARKS]],
            "steps": [],
            "unchanged": 0,
        }


def _figure_gpu(kernel: KernelListing) -> Iterator[Figure]:
    taken, full = kernel.resources, kernel.occupancy
    if kernel.block is not None:
        yield "launched as", f"{plural(kernel.grid or 0, 'block')} of {kernel.block:,}", "threads"
    if taken is not None:
        yield "registers", f"{taken.registers}", "registers of 32 bits that a thread has"
        spilled = format_bytes(taken.spilled) if taken.spilled else "none"
        yield "spills", spilled, "what a thread stores and loads for want of registers"
    if taken is not None or kernel.launch_shared:
        yield "shared memory", format_bytes(kernel.shared) if kernel.shared else "none", "of a block"
    if full is not None:
        bound = " and ".join(full.bound_by)
        says = f"{full.warps} of the {full.most_warps} warps that a multiprocessor has room for, bound by {bound}"
        yield "occupancy", format_share(full.share), says
        if full.grid:
            waves = f"{full.waves:.1f}" if full.waves >= LEAST_WAVES else f"<{LEAST_WAVES}"
            yield "waves", waves, "how often the GPU is filled to run all blocks; below 1 a part of it idles"


def _figure_cpu(kernel: KernelListing) -> Iterator[Figure]:
    yield "vectors", f"{kernel.width} bits" if kernel.width else "none", "that most of its instructions on vectors use"
    if (used := kernel.vectors) and used.instructions:
        yield "of the code", format_share(used.vectors / used.instructions), "of its instructions work on whole vectors"
    if inner := kernel.innermost:
        vectorized = sum(loop.is_vectorized for loop in inner)
        yield "vectorized", f"{vectorized} of {len(inner)}", "loops that no loop is inside of"


def _tell_loops(kernel: KernelListing) -> Iterator[str]:
    for loop in kernel.loops:
        runs = _say_trips(loop.turns)
        width = f"vectors of {loop.width} bits" if loop.is_vectorized else "no vectors"
        where = "innermost loop" if loop.is_innermost else "loop around others"
        yield f"{where} in {loop.function}: {runs}, {plural(loop.instructions, 'instruction')}, {width}"


def _say_trips(trips: int | None) -> str:
    return f"runs {plural(trips, 'time')}" if trips is not None else "runs as often as its condition holds"


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
            "barred": "Slots taken, by unit",
            "bars": [(unit, share, does[unit]) for unit, share in kernel.utilization.items() if share],
            "lines": [
                f"loop of {plural(loop.bundles, 'bundle')} from {loop.first:#x} on, {_say_trips(loop.trips)}"
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
    yield "bundles", f"{kernel.bundles:,}", f"operations that are issued at once, line by line{empty}"
    if kernel.cycles is not None:
        yield "cycles", f"{kernel.cycles:,}", ESTIMATE
    if kernel.chain_cycles:
        yield "longest chain", f"{kernel.chain_cycles:,}", "cycles of operations of which each waits for the one before"
    operations = list(kernel.operations.items())
    told = ", ".join(f"{number:,} {unit}" for unit, number in operations)
    yield "operations", f"{sum(kernel.operations.values()):,}", told


def _sum_up(capture: Capture, kernels: Sequence[Mapping[str, Any]], described: Collection[str]) -> str:
    others = Counter(launch.sort for launch in list_launches(capture) if launch.name not in described)
    own = sum(bool(kernel["holds"]) for kernel in kernels)
    told = f"{plural(own, 'kernel')} with code of {'its' if own == 1 else 'their'} own."
    if not others:
        return told
    listed = ", ".join(f"{number:,} {sort}" for sort, number in others.most_common())
    return f"{told} Without, as a library or the runtime does them: {listed}."


def _explain_gap(capture: Capture, kernels: Sequence[Mapping[str, Any]], *, bundles: bool) -> str:
    kind = find_entry(capture.target).kind
    languages = {code.language for code in capture.code}
    if kind == "tpu" and not capture.low_level:
        return "What is below HLO was not captured; capture(..., machine=True) does."
    if kind == "tpu" and not bundles:
        number = sum(len(kernel.bundles) for kernel in read_below(capture))
        command = f"xla-inspect show {capture.source_file}:{capture.program} --stage code --target {capture.target}"
        told = f"The text of the {plural(number, 'bundle')} is not on this page."
        return f"{told} On your own machine this prints it: {command}"
    if kind == "gpu" and kernels and "sass" not in languages:
        return "Registers, occupancy and SASS were not captured; capture(..., machine=True) does."
    if kind == "cpu" and kernels and "asm" not in languages:
        return "The assembly was not captured: what disassembles it is not installed."
    return ""
