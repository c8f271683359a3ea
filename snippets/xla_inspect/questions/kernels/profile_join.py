"""The match of a profile's events with a program's launches, by instruction name, kernel symbol or order."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import STATEMENT, find_lines, fit_symbol, list_launches, read_line, show_place
from xla_inspect.analysis.estimates import Estimate, find_rates, time_program
from xla_inspect.answers import explain_times, sum_lines
from xla_inspect.questions.kernels.kernel_times import KernelTimes, MeasuredLaunch, Unjoined
from xla_inspect.questions.kernels.launch_rows import describe_launches, find_scope
from xla_inspect.targets import explain_absence, find_hardware
from xla_inspect.traces import Label, measure_times

if TYPE_CHECKING:
    from xla_inspect.analysis import Launch, SourceLine
    from xla_inspect.analysis.estimates import TimedLaunch
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction
    from xla_inspect.questions.kernels.launch_rows import LaunchRow
    from xla_inspect.traces import Event, Source, Timed, Timing

# Suffixes that compilers and loaders append to the name of an instruction to form the name of its kernel.
_AFTER = re.compile(r"(?:_kernel|\.kernel|__\d+|_clone|\.clone)+$")
_COPIED = re.compile(r"^\[?(?:CUDA )?mem(?:cpy|set)", re.IGNORECASE)
_LIBRARY = re.compile(
    r"cutlass|cublas|cudnn|nccl|cub::|thrust|ampere_|sm\d\d_|hopper|Cijk_|rocprim|miopen|gemm|nvjet|splitK|fmha",
    re.IGNORECASE,
)


UNMEASURED = "no event of {} belongs to {}, so the times of its launches are not known"
"""The note about a profile and a program that did not run in it."""


class Names:
    """An index of a program's launches by the names that a profile may use for them."""

    def __init__(self, capture: Capture) -> None:
        """Index the launches by name and by symbol."""
        self.capture = capture
        self.module = capture.module
        self._by_name: dict[str, str] = {}
        self._by_symbol: dict[str, list[str]] = {}
        self._launches = list_launches(capture)
        for launch in self._launches:
            for name in (launch.name, launch.scheduled.name):
                self._by_name.setdefault(name, launch.name)
            # The time of the end of an asynchronous launch is the wait for that launch.
            for user in self._ends(launch.scheduled):
                self._by_name.setdefault(user.name, launch.name)
            symbol = launch.thunk.symbol if launch.thunk else ""
            sharing = self._by_symbol.setdefault(symbol or fit_symbol(launch.name), [])
            if launch.name not in sharing:
                sharing.append(launch.name)

    def find(self, op: str, name: str, module: str) -> tuple[str, str]:
        """Return the name of an event's launch or loop and the evidence (`name` or `symbol`), or two empty strings.

        Args:
            op: The instruction in the profile, or an empty string.
            name: The name of the event in the profile: on a GPU, the symbol of a kernel.
            module: The module in the profile, or an empty string.
        """
        # Another program may have instructions and kernels with the same names.
        if self.is_other(module):
            return "", ""
        if op in self._by_name:
            return self._by_name[op], "name"
        # An event may also belong to an instruction that is not a launch, such as a loop.
        if op and op in self._instructions:
            return op, "name"
        # Only the symbol identifies an event without a module, or an event of a command buffer with several commands.
        for symbol in (name, fit_symbol(name), _AFTER.sub("", name), fit_symbol(_AFTER.sub("", name))):
            if symbol in self._by_symbol:
                return self._by_symbol[symbol][0], "symbol"
        return "", ""

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The symbols of kernels with exactly one launch. Their position in the schedule is unambiguous."""
        counts = Counter(launch.thunk.symbol for launch in self._launches if launch.thunk)
        return frozenset(symbol for symbol, number in counts.items() if symbol and number == 1)

    def find_between(self, after: str, before: str, *, is_copy: bool) -> str:
        """Return the name of the only launch that can have run between two kernels of one stream, or ''.

        Both kernels belong to the program. Between them, its schedule must have exactly one launch without a
        generated kernel: a library call or a copy.

        Args:
            after: The symbol of the kernel before the event, one of `symbols`.
            before: The symbol of the kernel after the event, one of `symbols`.
            is_copy: Whether the event was a copy.
        """
        at = {launch.thunk.symbol: at for at, launch in enumerate(self._launches) if launch.thunk}
        first, last = at.get(after, len(at)), at.get(before, 0)
        if not after or not before or first >= last:
            return ""
        between = self._launches[first + 1 : last]
        # Neighbors in the profile are neighbors in the schedule only within one loop or branch.
        around = {launch.within for launch in self._launches[first : last + 1]}
        if len(between) != 1 or len(around) != 1 or between[0].is_async or _is_generated(between[0]):
            return ""
        # An event for a copy cannot be a library call, and any other event cannot be a copy.
        return between[0].name if (between[0].opcode != "custom-call") == is_copy else ""

    def is_other(self, module: str) -> bool:
        """Return whether a module in a profile belongs to another program."""
        return bool(module) and module != self.module.name

    def sharing(self, name: str) -> tuple[str, ...]:
        """Return the names of the other launches with the same kernel as the named one."""
        return next(
            (tuple(launch for launch in all_ if launch != name) for all_ in self._by_symbol.values() if name in all_),
            (),
        )

    def find_place(self, name: str) -> tuple[str, str]:
        """Return the line of an instruction, as in `model.py:12`, and its text, or two empty strings if it has none."""
        instruction = self._instructions.get(name)
        line = self._lines.get(instruction) if instruction else None
        return (show_place(line), read_line(self.capture, line)) if line else ("", "")

    def label(self, event: Event) -> Label | None:
        """Return the label (line and details) for an event, or None if it matches no instruction of the program."""
        name, _ = self.find(event.op, event.name, event.module)
        instruction = self._instructions.get(name)
        if instruction is None:
            return None
        if name not in self._labels:
            where, text = self.find_place(name)
            shapes = ", ".join([operand.shape.plain for operand in self.module.operands(instruction)])
            details = {
                "python": f"{where} {text}".strip(),
                "scope": find_scope(self.capture, instruction),
                "operands": shapes,
                "result": instruction.shape.plain,
                "instruction": name,
            }
            self._labels[name] = Label(where, {key: value for key, value in details.items() if value})
        return self._labels[name]

    @cached_property
    def _labels(self) -> dict[str, Label]:
        return {}

    @cached_property
    def _instructions(self) -> dict[str, Instruction]:
        return {instruction.name: instruction for instruction in self.module.walk()}

    @cached_property
    def _lines(self) -> dict[Instruction, SourceLine]:
        return dict(find_lines(self.capture, self.module))

    def _ends(self, start: Instruction) -> list[Instruction]:
        if not start.opcode.endswith("-start"):
            return []
        # An asynchronous launch may have several updates between its start and its end.
        ends, waiting = [], [start]
        while waiting:
            for user in self.module.users(waiting.pop()):
                if user.opcode.endswith(("-done", "-update")):
                    ends.append(user)
                    waiting.append(user)
        return ends


def measure_program(capture: Capture, source: Source, timing: Timing | None = None) -> Timing:
    """Return the times in a profile, or those that are given, with library kernels known by the kernels around them."""
    timing = timing or measure_times(source)
    if timing.names_instructions or not source.has_starts:
        return timing
    # Library kernels have no names of the program: only the kernels before and after them identify their launch.
    return measure_times(source, Names(capture).symbols)


def join_times(
    capture: Capture,
    timing: Timing,
    command_words: str = "",
    *,
    shown: int = 20,
    labelled: tuple[str, int] = ("", 0),
) -> KernelTimes:
    """Return the recorded times of a profile matched with the launches of a program on one target.

    Args:
        capture: The program's capture, for the target that the profile was recorded on.
        timing: The times in the profile.
        command_words: The subject and options, as on the command line.
        shown: The number of launches to show.
        labelled: The labeled trace file, and the number of its events with a label.
    """
    names = Names(capture)
    rows = {row.name: row for row in describe_launches(capture)}
    step = time_program(capture)
    estimates = {name: _estimate_run(one, capture.target) for name, one in step.by_name.items()} if step else {}
    joined: dict[str, list[tuple[Timed, str]]] = {}
    others: dict[str, float] = {}
    unjoined: list[Unjoined] = []
    for event in timing.rows:
        name, known_by = names.find(event.op, event.name, event.module)
        # The order of events is the weakest evidence, so it is used last.
        if not name:
            name, known_by = (
                names.find_between(event.after, event.before, is_copy=bool(_COPIED.search(event.name))),
                "order",
            )
        if name:
            joined.setdefault(name, []).append((event, known_by))
            continue
        if names.is_other(event.module):
            others[event.module] = others.get(event.module, 0.0) + event.seconds
        reason = explain(event, names)
        unjoined.append(Unjoined(event.op or event.name, event.module, event.seconds, event.count, reason))
    total = timing.seconds
    measured = [
        replace(_describe(name, events, rows.get(name), names, total), estimate=estimates.get(name))
        for name, events in joined.items()
    ]
    measured.sort(key=lambda row: -row.seconds)
    matched = {name for row in measured for name in (row.name, *row.others)}
    return KernelTimes(
        program=capture.program,
        asked=command_words,
        target=capture.target,
        module=capture.module.name,
        file=timing.file,
        form=timing.form,
        device=timing.device,
        devices=timing.devices,
        programs=timing.programs.get(capture.module.name, 0),
        seconds=total,
        joined_seconds=sum(row.seconds for row in measured),
        other_seconds=dict(sorted(others.items(), key=lambda other: -other[1])),
        launches=tuple(measured),
        lines=sum_lines((row.where, row.text, row.seconds) for row in measured),
        unjoined=tuple(unjoined),
        # If no event matches, a list of all launches would not help.
        unseen=tuple(name for name in rows if name not in matched) if measured else (),
        shown=shown,
        labelled=labelled[0],
        labelled_events=labelled[1],
        model=STATEMENT if find_hardware(capture.target) else explain_absence(capture.target),
        times=explain_times({capture.target: step}),
    )


def _describe(
    name: str, events: list[tuple[Timed, str]], row: LaunchRow | None, names: Names, total: float
) -> MeasuredLaunch:
    seconds = sum(event.seconds for event, _ in events)
    # One event that names the instruction settles which launch it is.
    by_symbol = all(known_by == "symbol" for _, known_by in events)
    return MeasuredLaunch(
        name=name,
        # An instruction's name identifies one launch, whereas several launches may share a symbol.
        others=names.sharing(name) if by_symbol else (),
        role=row.role if row else "",
        where=row.where if row else names.find_place(name)[0],
        text=row.text if row else names.find_place(name)[1],
        scope=row.scope if row else "",
        seconds=seconds,
        # A launch may consist of several kernels, such as a split matmul and the sum of its parts, so the number of
        # its runs is that of its most frequent kernel.
        count=max(event.count for event, _ in events),
        share=seconds / total if total else 0.0,
        least_seconds=row.least_seconds if row else None,
        limit=row.limit if row else "",
        estimate=None,
        known_by=events[0][1],
    )


def _estimate_run(timed: TimedLaunch, target: str) -> Estimate | None:
    """Return the estimated time of one run without gaps, as a profile measures it; None if others overlap with it."""
    rates = find_rates(target)
    # The estimate of an overlapped launch is the wait for it, but a profile measures the whole launch.
    if timed.hidden or not rates:
        return None
    floor = rates.floor if timed.overhead.high else Estimate()
    return timed.seconds * (1 / max(1, timed.launched.launch.assumed_runs)) + floor


def explain(timed: Timed, names: Names) -> str:
    """Return a phrase for the likely reason why an event matches no launch."""
    if names.is_other(timed.module):
        return f"part of another program, {timed.module}"
    if timed.op:
        return "no instruction of this compilation has that name"
    if _COPIED.search(timed.name):
        return "a copy; the profile does not record the instruction"
    if _LIBRARY.search(timed.name):
        return "a kernel of a library; the profile does not record the instruction"
    return "no kernel of this compilation has that name"


def _is_generated(launch: Launch) -> bool:
    return bool(launch.thunk and launch.thunk.symbol)
