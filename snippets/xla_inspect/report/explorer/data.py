"""What the explorer's script needs of a capture, as small JSON: texts once each, states as numbers into them."""

from __future__ import annotations

import gc
import logging
from collections import Counter
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from xla_inspect.analysis import (
    compare_modules,
    find_computation_lines,
    find_lines,
    follow_passes,
    print_instruction,
    read_jaxpr_lines,
    read_stablehlo_lines,
)
from xla_inspect.hlo import CONFIGURATION
from xla_inspect.report import describe_words
from xla_inspect.report.explorer.code_data import describe_code, list_pieces, trace_pieces
from xla_inspect.report.explorer.graph_data import describe_graph
from xla_inspect.report.explorer.kernel_data import describe_kernels
from xla_inspect.report.explorer.memory_data import describe_buffers
from xla_inspect.report.explorer.reason_data import describe_reasons
from xla_inspect.report.explorer.row_data import RowTable
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from xla_inspect.analysis import PassState, Place, SourceLine
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Computation, Instruction, Module
    from xla_inspect.report import Measured

VERSION = 3
"""Of the form of the data: the scripts that read it belong to the same."""
NONE = -1
FIRST = "first that is there"
"""What the first module is called where it is not the one that the compiler got."""
SOON, LATER = 2.0, 5.0
"""Seconds until something is said of how far it is, and from one time to the next."""

log = logging.getLogger("xla_inspect")

TABLES = ("places", "texts", "configurations", "origins", "chains")


def describe_capture(
    capture: Capture,
    donated: Capture | None = None,
    measured: Measured | None = None,
    *,
    code: bool = False,
    bundles: bool = False,
) -> dict[str, Any]:
    """Return the explorer's data of one capture; `static/explorer.js` reads it.

    Args:
        capture: The capture.
        donated: The same program for the same target, compiled with arguments donated, for its memory plan.
        measured: What was measured of its kernels.
        code: Whether its code is shown; the texts are in `describe_details`.
        bundles: Whether the text of a TPU's bundles is among them.

    Returns:
        A mapping that JSON can hold:

        - `program`, `target`, `title`, `versions`: what was compiled, and for what.
        - `sources`: `[file, lines]` of each Python file, the program's own first.
        - `jaxpr`, `stablehlo`: lists of `[text, place]`.
        - `places`, `texts`, `configurations`, `origins`, `chains`: tables that all else points into, -1 for nothing.
          A place is `[file, line]`, a chain a list of `[function, file, line]`, innermost first, an origin
          `[op_name, chain, through]`.
        - `rows`: columns `instruction`, `text`, `configuration`, `origin`, `place`, see `RowTable.write`.
        - `computations`: `[name, is entry, base, edit]`: its rows are what the edit makes of those of the computation
          `base`, or of none; see `write_edit`.
        - `states`: `pipeline`, `pass`, `summary`, `counts` by opcode, `changed` (numbers of instructions) and
          `computations`, callers first, as an edit of those of the state before; of the first the `label`, if it is not
          the module as imported.
        - `words`: what opcodes, passes and attributes that occur are, in a sentence each: see `describe_words`.
        - `runs`: `[pipeline, runs, runs that said they changed something]` in order of first appearance.
        - `graph`: see `describe_graph`; `buffers` and `donated`, where there is one: see `describe_buffers`;
          `kernels`: see `describe_kernels`; `code`: see `describe_code`, or null where it is not shown.
        - `reasons`: whether the compiler's reasons are in `describe_details`.
    """
    with _collecting_later():
        return _describe(capture, donated, measured, code=code, bundles=bundles)


def describe_details(capture: Capture, *, code: bool = False, bundles: bool = False) -> dict[str, Any]:
    """Return what the explorer needs when it is asked for, and not to begin with.

    Args:
        capture: The capture.
        code: As in `describe_capture`.
        bundles: As in `describe_capture`: the same of both.

    Returns:
        `code`, the texts that `describe_capture` names by position; `lines`, see `trace_pieces`; `reasons`, see
        `describe_reasons`.
    """
    with _collecting_later():
        pieces = list_pieces(capture, bundles=bundles) if code else []
        return {
            "code": [piece.text for piece in pieces],
            "lines": trace_pieces(pieces),
            "reasons": describe_reasons(capture),
        }


@contextmanager
def _collecting_later() -> Iterator[None]:
    """Put off the search for reference cycles: a large capture is millions of objects, none of them in a cycle."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _describe(
    capture: Capture, donated: Capture | None, measured: Measured | None, *, code: bool, bundles: bool
) -> dict[str, Any]:
    writer = _Writer(capture)
    states, said, first = list[dict[str, Any]](), monotonic() + SOON - LATER, None
    for number, state in enumerate(follow_passes(capture)):
        states.append(writer.write_state(state))
        last = state
        if monotonic() > said + LATER:
            said = monotonic()
            log.info(
                "writing what passes did to %s for %s: %d of %d",
                capture.program,
                capture.target,
                number,
                len(capture.passes),
            )
        first = first or state.module
    states[0]["label"] = "" if capture.before else FIRST
    graph = describe_graph(first or last.module, last)
    # A dump may be without.
    planned = {"buffers": capture, "donated": donated}
    plans = {name: writer.write_buffers(each) for name, each in planned.items() if each and each.buffers}
    shown = None
    if code:
        shown = describe_code(capture, _number_names(capture, last), writer.write_line, bundles=bundles)
    return {
        "version": VERSION,
        "program": capture.program,
        "target": capture.target,
        "title": title(capture.target),
        "versions": dict(sorted(capture.versions.items())),
        "sources": [[file, text.splitlines()] for file, text in capture.sources.items()],
        "jaxpr": writer.write_lines(read_jaxpr_lines(capture.jaxpr_locations)),
        "stablehlo": writer.write_lines(read_stablehlo_lines(capture.stablehlo_locations)),
        "states": states,
        "runs": _count_runs(capture),
        "graph": graph,
        **plans,
        "kernels": describe_kernels(capture, writer.write_line, measured),
        "code": shown,
        "reasons": bool(capture.log),
        "words": describe_words(
            {
                "opcode": {opcode for state in states for opcode in state["counts"]},
                "pass": {name for step in states for name in (step["pass"], step["pipeline"])},
                "attribute": writer.attributes,
            }
        ),
        "rows": writer.rows.write(),
        "computations": writer.rows.computations,
        **{name: list(table) for name, table in writer.tables.items()},
    }


def _number_names(capture: Capture, last: PassState) -> dict[str, int]:
    """Return the number of each instruction of the optimized module by its name there, which may be another one."""
    kept = compare_modules(last.module, capture.module).kept
    return {new.name: last.numbers[old] for old, new in kept.items()}


class _Writer:
    """Turns states and lines into numbers, and gives equal things one number."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.tables: dict[str, dict[Hashable, int]] = {name: {} for name in TABLES}
        self.files = {file: number for number, file in enumerate(capture.sources)}
        self.frame_lines: dict[int, SourceLine | None] = {}
        self.rows = RowTable()
        self.attributes: set[str] = set()
        self.said_rows: WeakKeyDictionary[Computation, tuple[tuple[int, ...], ...]] = WeakKeyDictionary()
        # What is said of an instruction wherever it stands: its text, configuration, name and chain.
        self.said: WeakKeyDictionary[Instruction, tuple[int, int, str, tuple[Hashable, ...]]] = WeakKeyDictionary()

    def add(self, table: str, thing: Hashable) -> int:
        known = self.tables[table]
        return known.setdefault(thing, len(known))

    def write_lines(self, lines: Sequence[tuple[str, Place]]) -> list[tuple[str, int]]:
        return [(text, self.write_place(*place) if place else NONE) for text, place in lines]

    def write_buffers(self, capture: Capture) -> dict[str, Any]:
        lines = find_lines(capture, capture.module)

        def locate(instruction: Instruction) -> int:
            line = lines.get(instruction)
            return self.write_place(line.file, line.number) if line else NONE

        return describe_buffers(capture, locate)

    def write_line(self, line: SourceLine) -> int:
        return self.write_place(line.file, line.number)

    def write_place(self, file: str, line: int) -> int:
        return self.add("places", (self.files[file], line)) if file in self.files else NONE

    def write_state(self, state: PassState) -> dict[str, Any]:
        changed = state.change.changed if state.change else ()
        for computation in reversed(state.module.computations):
            self.write_computation(state.module, computation, state.numbers)
        return {
            "pipeline": state.pipeline,
            "pass": state.name,
            "summary": state.change.summary if state.change else "",
            "counts": dict(sorted(state.module.opcode_counts().items())),
            "changed": sorted(
                state.numbers[instruction_change.after]
                for instruction_change in changed
                if set(instruction_change.aspects) - {"name", "metadata"}
            ),
            "computations": self.rows.end_state(),
        }

    def write_computation(self, module: Module, computation: Computation, numbers: Mapping[Instruction, int]) -> None:
        if computation not in self.said_rows:
            self.said_rows[computation] = tuple(self.write_rows(module, computation))
        said = zip(computation, self.said_rows[computation], strict=True)
        rows = [(numbers[instruction], *row) for instruction, row in said]
        self.rows.add(computation.name, is_entry=computation.is_entry, rows=rows)

    def write_rows(self, module: Module, computation: Computation) -> Iterator[tuple[int, ...]]:
        """Yield what is said of each instruction in any state that has the computation as it is."""
        lines = find_computation_lines(self.capture, module, computation, self.frame_lines)
        for instruction in computation:
            line = lines.get(instruction)
            text, configuration, name, chain = self.said.get(instruction) or self.write_instruction(instruction)
            yield (
                text,
                configuration,
                self.write_origin(name, chain, line),
                self.write_place(line.file, line.number) if line else NONE,
            )

    def write_instruction(self, instruction: Instruction) -> tuple[int, int, str, tuple[Hashable, ...]]:
        attributes = instruction.attributes
        self.attributes.update(attributes)
        configuration = "".join(f", {name}={attributes[name]}" for name in CONFIGURATION if name in attributes)
        frames = self.capture.frames.get(instruction.stack_frame or 0, ())
        said = self.said[instruction] = (
            self.add("texts", print_instruction(instruction, {"metadata", *CONFIGURATION})),
            self.add("configurations", configuration) if configuration else NONE,
            instruction.op_name or "",
            tuple((frame.function, frame.file, frame.line) for frame in frames),
        )
        return said

    def write_origin(self, name: str, chain: tuple[Hashable, ...], line: SourceLine | None) -> int:
        through = line.through if line else ""
        if not (name or chain or through):
            return NONE
        return self.add("origins", (name, self.add("chains", chain) if chain else NONE, through))


def _count_runs(capture: Capture) -> list[tuple[str, int, int]]:
    runs, changed = Counter[str](), Counter[str]()
    for run in capture.runs:
        runs[run.pipeline] += 1
        changed[run.pipeline] += run.changed
    return [(pipeline, number, changed[pipeline]) for pipeline, number in runs.items()]
