"""An index of the passes that compilers ran over a set of programs, with their runs, changes and one example."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import compare_modules, fused_computations
from xla_inspect.hlo import parse_module
from xla_inspect.report import print_instruction, shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from xla_inspect.captured import Capture, Captures
    from xla_inspect.hlo import Instruction, Module

LINES, WIDTH = 3, 200
"""The number of lines of an example on each side, and the number of characters of a line."""

_METADATA = re.compile(r", metadata=\{[^}]*\}")
# Passes renumber instructions, so another number in a name is no change of the program.
_NUMBER = re.compile(r"\.\d+\b")
_HIDDEN = 1 << 30
"""A number added to the size of a change that only reorders or renames, so that every other change is smaller."""
_PLUMBING = {"parameter", "constant", "tuple", "get-tuple-element"}
# An instruction that differs only in these aspects follows a change of another instruction.
_FOLLOWS = {"operands", "control dependencies", "name", "metadata"}


@dataclass
class PassUse:
    """The record of a pass on one target.

    Attributes:
        runs: The number of its runs.
        changes: The number of runs that reported a change of the module.
        programs: The programs in which it reported a change.
        shows: The programs whose text changed in more than the order of lines or the numbers in names. It is empty for
            targets whose modules are not compared.
    """

    runs: int = 0
    changes: int = 0
    programs: list[str] = field(default_factory=list)
    shows: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Example:
    """One change that a pass made.

    Attributes:
        program: The name of the program.
        target: The target.
        summary: A description of the change.
        before: The instructions that changed or were removed, one line each.
        after: The instructions that replaced them.
        more: The number of lines that are not shown, on both sides together.
    """

    program: str
    target: str
    summary: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    more: int


@dataclass
class PassRecord:
    """The record of a pass on all targets.

    Attributes:
        name: The name that compilers give it.
        uses: The record for each target, by the target's name without a topology.
        pipelines: The pipelines that ran it.
        inner: The passes that it runs, if it is a pipeline.
        example: Its smallest change, or None if no text shows a change.
    """

    name: str
    uses: dict[str, PassUse] = field(default_factory=dict)
    pipelines: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    example: Example | None = None

    @property
    def has_changed(self) -> bool:
        """True if the pass reported a change of any program on any target."""
        return any(use.changes for use in self.uses.values())

    def count(self, targets: Collection[str]) -> int:
        """Return the number of programs whose text it changed, summed over some targets."""
        return sum(len(use.shows) for target, use in self.uses.items() if target in targets)


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of a module's text: its program, target and pass, and its size in characters."""

    program: str
    target: str
    capture: Capture
    at: int
    size: int

    @property
    def name(self) -> str:
        return self.capture.passes[self.at].name


def find_passes(programs: Mapping[str, Captures], examples: Collection[str]) -> dict[str, PassRecord]:
    """Return the record of every pass that ran, by name, in the order of first runs.

    Args:
        programs: The captures of each program, by its name.
        examples: The targets, without topologies, whose modules are compared to find example changes.
    """
    records: dict[str, PassRecord] = {}
    smallest: dict[str, _Change] = {}
    for program, captures in programs.items():
        for capture in captures.values():
            target = capture.target.partition(":")[0]
            _add_runs(records, program, target, capture)
            if target in examples:
                for change in _list_changes(program, target, capture):
                    _add_change(records, change)
                    if change.name not in smallest or change.size < smallest[change.name].size:
                        smallest[change.name] = change
    for name in records.keys() & smallest.keys():
        records[name].example = _make_example(smallest[name])
    return records


def _add_runs(records: dict[str, PassRecord], program: str, target: str, capture: Capture) -> None:
    # A pipeline in another pipeline is recognized by the run after it, and the last run has none.
    following = [*(run.pipeline for run in capture.runs[1:]), ""]
    for run, next_pipeline in zip(capture.runs, following, strict=True):
        record = records.setdefault(run.name, PassRecord(run.name))
        use = record.uses.setdefault(target, PassUse())
        use.runs += 1
        use.changes += run.changed
        if run.changed and program not in use.programs:
            use.programs.append(program)
        if run.pipeline not in record.pipelines:
            record.pipelines.append(run.pipeline)
        # A pipeline inside another one is recorded as a pass, followed by the passes that it runs.
        if next_pipeline == run.name != run.pipeline:
            inside = (other.name for other in capture.runs if other.pipeline == run.name != other.name)
            record.inner[:] = dict.fromkeys([*record.inner, *inside])


def _add_change(records: Mapping[str, PassRecord], change: _Change) -> None:
    # The compiler also writes the module at the start of a pipeline, which belongs to no pass.
    use = records[change.name].uses[change.target] if change.name in records else PassUse()
    if change.size < _HIDDEN and change.program not in use.shows:
        use.shows.append(change.program)


def _list_changes(program: str, target: str, capture: Capture) -> Iterator[_Change]:
    """Yield each change of the module's text, with its size in characters."""
    before = _count_lines(capture.before)
    for at, change in enumerate(capture.passes):
        after = _count_lines(change.text)
        size = sum(len(line) * number for lines in (before - after, after - before) for line, number in lines.items())
        # A change of only the order or the numbers has no size, so it ranks after every other change.
        yield _Change(program, target, capture, at, size or _HIDDEN + change.text.count("\n"))
        before = after


def _count_lines(text: str) -> Counter[str]:
    """Return the number of occurrences of each line of a module, ignoring metadata and numbers in names."""
    return Counter(_NUMBER.sub("", _METADATA.sub("", text)).splitlines())


def _make_example(smallest: _Change) -> Example:
    passes, at = smallest.capture.passes, smallest.at
    text = passes[at - 1].text if at else smallest.capture.before
    # The text is parsed here, so that the captures, which live longer, do not store the modules of every pass.
    change = compare_modules(parse_module(text), parse_module(passes[at].text))
    # An instruction that only follows another change says nothing about the pass, unless nothing else changed.
    first = [instruction for instruction in change.changed if not _FOLLOWS.issuperset(instruction.aspects)] or (
        [] if change.added or change.removed else [*change.changed]
    )
    configs = {
        id(side): config
        for instruction in first
        for side, config in _compare_configs(instruction.before, instruction.after)
    }
    before = _print([*change.removed, *(instruction.before for instruction in first)], change.before, configs)
    after = _print([*change.added, *(instruction.after for instruction in first)], change.after, configs)
    # A line on both sides differs only in parts that are not printed.
    both = before.keys() & after.keys()
    sides = [[line for line in lines if line not in both] for lines in (before, after)]
    more = sum(max(len(side) - LINES, 0) for side in sides)
    old, new = (tuple(side[:LINES]) for side in sides)
    return Example(smallest.program, smallest.target, change.summary, old, new, more)


def _compare_configs(before: Instruction, after: Instruction) -> Iterator[tuple[Instruction, str]]:
    """Yield an instruction before and after a change, each with the part of its backend config that differs."""
    texts = [side.attributes.get("backend_config", "{}") for side in (before, after)]
    try:
        old, new = map(json.loads, texts)
    except ValueError:
        # A backend config that is not JSON cannot be compared entry by entry.
        return
    yield before, json.dumps(_subtract(old, new), separators=(",", ":"))
    yield after, json.dumps(_subtract(new, old), separators=(",", ":"))


def _subtract(config: Any, other: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return the entries of a config that differ from another config, down to single values."""
    if not isinstance(config, dict) or not isinstance(other, dict):
        return config
    return {key: _subtract(value, other.get(key)) for key, value in config.items() if other.get(key) != value}


def _print(instructions: Iterable[Instruction], module: Module, configs: Mapping[int, str]) -> dict[str, None]:
    """Return instructions of a module as lines, starting with those that compute something outside fusions."""
    inside = fused_computations(module)
    ranked = sorted(
        instructions, key=lambda instruction: (instruction.opcode in _PLUMBING, instruction.computation in inside)
    )
    lines = []
    for instruction in ranked:
        config = configs.get(id(instruction), "{}")
        is_shown = config != "{}"
        line = print_instruction(
            instruction, instruction.attributes.keys() if is_shown else {"metadata", "backend_config"}
        )
        lines.append(shorten(f"{line}, backend_config={config}" if is_shown else line, WIDTH))
    return dict.fromkeys(lines)
