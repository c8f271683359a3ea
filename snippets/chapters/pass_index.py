"""Every pass that compilers ran over some programs: where it ran, how often it changed something, and one change."""

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
"""How many lines of an example are shown on each side, and how many characters of a line."""

_METADATA = re.compile(r", metadata=\{[^}]*\}")
_NUMBER = re.compile(r"\.\d+\b")
_HIDDEN = 1 << 30
"""What is added to the size of a change that only reorders or renames, so that any other is smaller."""
_PLUMBING = {"parameter", "constant", "tuple", "get-tuple-element"}
# Where a change is that only these differ in, other instructions than those shown were changed.
_FOLLOWS = {"operands", "control dependencies", "name", "metadata"}


@dataclass
class PassUse:
    """A pass on one target.

    Attributes:
        runs: How often it ran.
        changes: How many of its runs said that they changed the module.
        programs: Those in which it said so.
        shows: Those in which the text shows more than another order or other numbers in names, of targets whose modules
            were looked at.
    """

    runs: int = 0
    changes: int = 0
    programs: list[str] = field(default_factory=list)
    shows: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Example:
    """One change by a pass.

    Attributes:
        program: The name of the program.
        target: The target.
        summary: What changed, in words.
        before: Instructions that changed or were removed, a line each.
        after: What stands there then.
        more: How many further lines there are on both sides.
    """

    program: str
    target: str
    summary: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    more: int


@dataclass
class PassRecord:
    """What was seen of a pass.

    Attributes:
        name: What compilers call it.
        uses: Target, without a topology, to what it did there.
        pipelines: Those that ran it.
        inner: The passes that it ran itself, where it is a pipeline.
        example: One change, the smallest, or None where no text shows one.
    """

    name: str
    uses: dict[str, PassUse] = field(default_factory=dict)
    pipelines: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    example: Example | None = None

    @property
    def has_changed(self) -> bool:
        """Whether it said that it changed any program on any target."""
        return any(use.changes for use in self.uses.values())

    def count(self, targets: Collection[str]) -> int:
        """Return in how many programs the text shows a change by it, summed over some targets."""
        return sum(len(use.shows) for target, use in self.uses.items() if target in targets)


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of a module's text: where it is, and how many characters it is."""

    program: str
    target: str
    capture: Capture
    at: int
    size: int

    @property
    def name(self) -> str:
        return self.capture.passes[self.at].name


def find_passes(programs: Mapping[str, Captures], examples: Collection[str]) -> dict[str, PassRecord]:
    """Return every pass that ran, by name, in the order in which they were met.

    Args:
        programs: The captures of each program, by its name.
        examples: The targets, without topologies, of which a change is looked for: modules are compared for these.
    """
    seen: dict[str, PassRecord] = {}
    smallest: dict[str, _Change] = {}
    for program, captures in programs.items():
        for capture in captures.values():
            target = capture.target.partition(":")[0]
            _add_runs(seen, program, target, capture)
            if target in examples:
                for change in _list_changes(program, target, capture):
                    _add_change(seen, change)
                    if change.name not in smallest or change.size < smallest[change.name].size:
                        smallest[change.name] = change
    for name in seen.keys() & smallest.keys():
        seen[name].example = _make_example(smallest[name])
    return seen


def _add_runs(seen: dict[str, PassRecord], program: str, target: str, capture: Capture) -> None:
    following = [*(run.pipeline for run in capture.runs[1:]), ""]
    for run, next_pipeline in zip(capture.runs, following, strict=True):
        found = seen.setdefault(run.name, PassRecord(run.name))
        use = found.uses.setdefault(target, PassUse())
        use.runs += 1
        use.changes += run.changed
        if run.changed and program not in use.programs:
            use.programs.append(program)
        if run.pipeline not in found.pipelines:
            found.pipelines.append(run.pipeline)
        # A pipeline that another runs is recorded as a pass, and what it runs follows.
        if next_pipeline == run.name != run.pipeline:
            inside = (each.name for each in capture.runs if each.pipeline == run.name != each.name)
            found.inner[:] = dict.fromkeys([*found.inner, *inside])


def _add_change(seen: Mapping[str, PassRecord], change: _Change) -> None:
    # The compiler also writes what a pipeline begins with, under the name of no pass.
    use = seen[change.name].uses[change.target] if change.name in seen else PassUse()
    if change.size < _HIDDEN and change.program not in use.shows:
        use.shows.append(change.program)


def _list_changes(program: str, target: str, capture: Capture) -> Iterator[_Change]:
    """Yield each change of the text, with how many characters it is."""
    before = _count_lines(capture.before)
    for at, change in enumerate(capture.passes):
        after = _count_lines(change.text)
        size = sum(len(line) * number for lines in (before - after, after - before) for line, number in lines.items())
        yield _Change(program, target, capture, at, size or _HIDDEN + change.text.count("\n"))
        before = after


def _count_lines(text: str) -> Counter[str]:
    """Return the lines of a module without what only says where they come from, and without numbers in names."""
    return Counter(_NUMBER.sub("", _METADATA.sub("", text)).splitlines())


def _make_example(found: _Change) -> Example:
    passes, at = found.capture.passes, found.at
    text = passes[at - 1].text if at else found.capture.before
    # Parsed here, so that captures that others hold do not keep the modules of every pass.
    change = compare_modules(parse_module(text), parse_module(passes[at].text))
    first = [each for each in change.changed if not _FOLLOWS.issuperset(each.aspects)] or (
        [] if change.added or change.removed else [*change.changed]
    )
    configs = {id(side): config for each in first for side, config in _compare_configs(each.before, each.after)}
    before = _print([*change.removed, *(each.before for each in first)], change.before, configs)
    after = _print([*change.added, *(each.after for each in first)], change.after, configs)
    both = before.keys() & after.keys()
    sides = [[line for line in lines if line not in both] for lines in (before, after)]
    more = sum(max(len(side) - LINES, 0) for side in sides)
    old, new = (tuple(side[:LINES]) for side in sides)
    return Example(found.program, found.target, change.summary, old, new, more)


def _compare_configs(before: Instruction, after: Instruction) -> Iterator[tuple[Instruction, str]]:
    """Yield an instruction before and after a change, each with what the other's backend config has not."""
    texts = [side.attributes.get("backend_config", "{}") for side in (before, after)]
    try:
        old, new = map(json.loads, texts)
    except ValueError:
        return
    yield before, json.dumps(_subtract(old, new), separators=(",", ":"))
    yield after, json.dumps(_subtract(new, old), separators=(",", ":"))


def _subtract(config: Any, other: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return what of a config another does not say the same of, down to single values."""
    if not isinstance(config, dict) or not isinstance(other, dict):
        return config
    return {key: _subtract(value, other.get(key)) for key, value in config.items() if other.get(key) != value}


def _print(instructions: Iterable[Instruction], module: Module, configs: Mapping[int, str]) -> dict[str, None]:
    """Return instructions of a module as lines, first those that compute something outside of fusions."""
    inside = fused_computations(module)
    ranked = sorted(instructions, key=lambda each: (each.opcode in _PLUMBING, each.computation in inside))
    lines = []
    for each in ranked:
        config = configs.get(id(each), "{}")
        is_shown = config != "{}"
        line = print_instruction(each, each.attributes.keys() if is_shown else {"metadata", "backend_config"})
        lines.append(shorten(f"{line}, backend_config={config}" if is_shown else line, WIDTH))
    return dict.fromkeys(lines)
