"""The data of a capture for the explorer's scripts, as small JSON: each text once, and states as numbers of texts."""

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
"""The version of the data's format, which the scripts that read the data must share."""
NONE = -1
FIRST = "first dumped module"
"""The label of the first module if the module that the compiler received is missing."""
SOON, LATER = 2.0, 5.0
"""Seconds before the first log message about progress, and between two messages."""

log = logging.getLogger("xla_inspect")

TABLES = ("places", "texts", "configurations", "origins", "chains")


def describe_capture(  # noqa: PLR0913 - each argument selects one more thing to show
    capture: Capture,
    donated: Capture | None = None,
    measured: Measured | None = None,
    *,
    code: bool = False,
    bundles: bool = False,
    numbers: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the explorer's data of one capture; `static/explorer.js` reads it.

    Args:
        capture: The capture.
        donated: The same program for the same target, compiled with arguments donated, for its memory plan.
        measured: The measurements of the program's kernels.
        code: Whether the code is shown; its texts are in the result of `describe_details`.
        bundles: Whether the code includes the text of a TPU's bundles.
        numbers: The passes that change bits, as `xla_inspect.questions.numbers.describe_marks` returns them, or None.

    Returns:
        A mapping that can be written as JSON:

        - `program`, `target`, `title`, `versions`: the program, its target and the compiler's packages.
        - `sources`: `[file, lines]` of each Python file, starting with the file of the program.
        - `jaxpr`, `stablehlo`: lists of `[text, place]`.
        - `places`, `texts`, `configurations`, `origins`, `chains`: tables that other entries index, with -1 for none.
          A place is `[file, line]`, a chain a list of `[function, file, line]`, innermost first, an origin
          `[op_name, chain, through]`.
        - `rows`: columns `instruction`, `text`, `configuration`, `origin`, `place`, see `RowTable.write`.
        - `computations`: `[name, is entry, base, edit]`: the rows of a computation are the result of applying the edit
          to the rows of the computation `base`, or to no rows; see `write_edit`.
        - `states`: `pipeline`, `pass`, `summary`, `counts` by opcode, `changed` (numbers of instructions) and
          `computations`, callers first, as an edit of those of the previous state; also a `label` for the first state,
          if that is not the imported module.
        - `words`: a sentence about each opcode, pass and attribute that occurs: see `describe_words`.
        - `runs`: `[pipeline, runs, runs that reported a change]` in order of first appearance.
        - `graph`: see `describe_graph`; `buffers` and, if given, `donated`: see `describe_buffers`;
          `kernels`: see `describe_kernels`; `code`: see `describe_code`, or null if it is not shown.
        - `numbers`, if given: `note`, and `states`: the kind of a mark, a few words and a sentence by state.
        - `reasons`: whether the result of `describe_details` has the compiler's reasons.
    """
    with _collecting_later():
        data = _describe(capture, donated, measured, code=code, bundles=bundles)
    if numbers is not None:
        # The module after the last pass has no state of its own if no instruction differs.
        last = len(data["states"]) - 1
        states = {min(number, last): mark for number, mark in numbers["states"].items()}
        data["numbers"] = {"note": numbers["note"], "states": states}
    return data


def describe_details(capture: Capture, *, code: bool = False, bundles: bool = False) -> dict[str, Any]:
    """Return the data that the explorer loads only on demand.

    Args:
        capture: The capture.
        code: The argument of `describe_capture`.
        bundles: The argument of `describe_capture`.

    Returns:
        `code`, the texts that `describe_capture` references by position; `lines`, see `trace_pieces`; `reasons`, see
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
    """Pause the garbage collector in the block: a large capture is millions of objects, none in a reference cycle."""
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
    states, last_report, first = list[dict[str, Any]](), monotonic() + SOON - LATER, None
    for number, state in enumerate(follow_passes(capture)):
        states.append(writer.write_state(state))
        last = state
        if monotonic() > last_report + LATER:
            last_report = monotonic()
            log.info(
                "writing the changes of the passes to %s for %s: %d of %d",
                capture.program,
                capture.target,
                number,
                len(capture.passes),
            )
        first = first or state.module
    states[0]["label"] = "" if capture.before else FIRST
    graph = describe_graph(first or last.module, last)
    # A dump may lack the buffer assignment.
    capture_of = {"buffers": capture, "donated": donated}
    plans = {
        # The plans are written before the tables are read below, because they can still add places.
        name: writer.write_buffers(plan_capture)
        for name, plan_capture in capture_of.items()
        if plan_capture and plan_capture.buffers
    }
    code_data = None
    if code:
        code_data = describe_code(capture, _number_names(capture, last), writer.write_line, bundles=bundles)
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
        "code": code_data,
        "reasons": bool(capture.log),
        "words": describe_words(
            {
                "opcode": {opcode for state in states for opcode in state["counts"]},
                "pass": {name for step in states for name in (step["pass"], step["pipeline"])},
                "attribute": writer.attributes,
            },
            capture.target,
        ),
        "rows": writer.rows.write(),
        "computations": writer.rows.computations,
        **{name: list(table) for name, table in writer.tables.items()},
    }


def _number_names(capture: Capture, last: PassState) -> dict[str, int]:
    """Return the number of each instruction by its name in `capture.module`, which may differ from that in `last`."""
    pairs = compare_modules(last.module, capture.module).kept
    return {new.name: last.numbers[old] for old, new in pairs.items()}


type Callers = list[tuple[str, int | None]]
"""The names and stack frames of the instructions that call a computation."""


class _Writer:
    """A writer that turns states and lines into numbers, with one number for equal values."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.tables: dict[str, dict[Hashable, int]] = {name: {} for name in TABLES}
        self.files = {file: number for number, file in enumerate(capture.sources)}
        self.frame_lines: dict[int, SourceLine | None] = {}
        self.rows = RowTable()
        self.attributes: set[str] = set()
        # The rows of each computation without the numbers of its instructions, by the callers that they depend on.
        self.computation_rows: WeakKeyDictionary[Computation, tuple[Callers, list[tuple[int, ...]]]] = (
            WeakKeyDictionary()
        )
        # The parts of a row that do not depend on the computation: text, configuration, name and chain. Many states
        # share an instruction, so they are written once.
        self.parts: WeakKeyDictionary[Instruction, tuple[int, int, str, tuple[Hashable, ...]]] = WeakKeyDictionary()

    def add(self, table: str, entry: Hashable) -> int:
        entries = self.tables[table]
        return entries.setdefault(entry, len(entries))

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
        changes = state.change.changed if state.change else ()
        # A module's text lists callers last, and the explorer shows them first.
        for computation in reversed(state.module.computations):
            self.write_computation(state.module, computation, state.numbers)
        return {
            "pipeline": state.pipeline,
            "pass": state.name,
            "summary": state.change.summary if state.change else "",
            "counts": dict(sorted(state.module.opcode_counts().items())),
            "changed": sorted(
                state.numbers[change.after] for change in changes if set(change.aspects) - {"name", "metadata"}
            ),
            "computations": self.rows.end_state(),
        }

    def write_computation(self, module: Module, computation: Computation, numbers: Mapping[Instruction, int]) -> None:
        # The values that a loop carries have the line of the loop, so the rows depend on the callers too.
        callers = [(caller.name, caller.stack_frame) for caller in module.callers.get(computation.name, ())]
        key, common = self.computation_rows.get(computation, ([], []))
        if not common or key != callers:
            common = [*self.write_rows(module, computation)]
            self.computation_rows[computation] = callers, common
        pairs = zip(computation, common, strict=True)
        rows = [(numbers[instruction], *row) for instruction, row in pairs]
        self.rows.add(computation.name, is_entry=computation.is_entry, rows=rows)

    def write_rows(self, module: Module, computation: Computation) -> Iterator[tuple[int, ...]]:
        """Yield the row of each instruction, the same for all states with this computation and its callers."""
        lines = find_computation_lines(self.capture, module, computation, self.frame_lines)
        for instruction in computation:
            line = lines.get(instruction)
            text, configuration, name, chain = self.parts.get(instruction) or self.write_instruction(instruction)
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
        parts = self.parts[instruction] = (
            self.add("texts", print_instruction(instruction, {"metadata", *CONFIGURATION})),
            self.add("configurations", configuration) if configuration else NONE,
            instruction.op_name or "",
            tuple((frame.function, frame.file, frame.line) for frame in frames),
        )
        return parts

    def write_origin(self, name: str, chain: tuple[Hashable, ...], line: SourceLine | None) -> int:
        through = line.through if line else ""
        if not (name or chain or through):
            return NONE
        return self.add("origins", (name, self.add("chains", chain) if chain else NONE, through))


def _count_runs(capture: Capture) -> list[tuple[str, int, int]]:
    runs, changes = Counter[str](), Counter[str]()
    for run in capture.runs:
        runs[run.pipeline] += 1
        changes[run.pipeline] += run.changed
    return [(pipeline, number, changes[pipeline]) for pipeline, number in runs.items()]
