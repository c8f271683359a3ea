"""The launch of a program for a name in a profile: the name of an instruction, or the symbol of a kernel."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import STATEMENT, find_lines, fit_symbol, list_launches, read_line, show_place
from xla_inspect.answers import sum_lines
from xla_inspect.questions.kernels.kernel_times import KernelTimes, MeasuredLaunch, Unjoined
from xla_inspect.questions.kernels.launch_rows import describe_launches, find_scope
from xla_inspect.targets import explain_absence, find_hardware
from xla_inspect.traces import Label

if TYPE_CHECKING:
    from xla_inspect.analysis import Launch, SourceLine
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction
    from xla_inspect.questions.kernels.launch_rows import LaunchRow
    from xla_inspect.traces import Event, Timed, Timing

# What compilers and loaders put after the name of an instruction to make that of a kernel.
_AFTER = re.compile(r"(?:_kernel|\.kernel|__\d+|_clone|\.clone)+$")
_COPIED = re.compile(r"^\[?(?:CUDA )?mem(?:cpy|set)", re.IGNORECASE)
_LIBRARY = re.compile(
    r"cutlass|cublas|cudnn|nccl|cub::|thrust|ampere_|sm\d\d_|hopper|gemm|nvjet|splitK|fmha", re.IGNORECASE
)


class Names:
    """The names by which a profile may know what a program runs.

    Args:
        capture: The capture.
    """

    def __init__(self, capture: Capture) -> None:
        """Take down the names of launches, and of all else that is scheduled."""
        self.capture = capture
        self.module = capture.module
        self._named: dict[str, str] = {}
        self._by_symbol: dict[str, list[str]] = {}
        self._launches = list_launches(capture)
        for launch in self._launches:
            for name in (launch.name, launch.scheduled.name):
                self._named.setdefault(name, launch.name)
            # The end of an asynchronous launch is the time that is waited for it.
            for user in self._ends(launch.scheduled):
                self._named.setdefault(user.name, launch.name)
            symbol = launch.thunk.symbol if launch.thunk else ""
            sharing = self._by_symbol.setdefault(symbol or fit_symbol(launch.name), [])
            if launch.name not in sharing:
                sharing.append(launch.name)

    def find(self, op: str, name: str, module: str) -> tuple[str, str]:
        """Return the launch that an event is of, or a loop or the like, and how it is known; two empty strings of none.

        Args:
            op: The instruction that the profile names, or an empty string.
            name: What the profile calls the event: on a GPU the symbol of a kernel.
            module: The module that it names, or an empty string.
        """
        if self.is_other(module):
            return "", ""
        if op in self._named:
            return self._named[op], "name"
        if op and op in self._instructions:
            return op, "name"
        # Without a module, or with the name of several commands in one, only the symbol tells.
        for symbol in (name, fit_symbol(name), _AFTER.sub("", name), fit_symbol(_AFTER.sub("", name))):
            if symbol in self._by_symbol:
                return self._by_symbol[symbol][0], "symbol"
        return "", ""

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The kernels that one launch alone runs, by name: it is known what runs before one of them, and what next."""
        named = Counter(launch.thunk.symbol for launch in self._launches if launch.thunk)
        return frozenset(symbol for symbol, number in named.items() if symbol and number == 1)

    def find_between(self, after: str, before: str, *, is_copy: bool) -> str:
        """Return the launch that must be what ran between two kernels of one stream, or an empty string if none must.

        Both kernels are of the program, and between them in its schedule stands one launch alone that has no kernel of
        the compiler's: a call of a library, or a copy.

        Args:
            after: The name of the kernel before, one of `symbols`.
            before: The name of the kernel after it, likewise.
            is_copy: Whether it was a copy.
        """
        at = {launch.thunk.symbol: at for at, launch in enumerate(self._launches) if launch.thunk}
        first, last = at.get(after, len(at)), at.get(before, 0)
        if not after or not before or first >= last:
            return ""
        between = self._launches[first + 1 : last]
        around = {launch.within for launch in self._launches[first : last + 1]}
        if len(between) != 1 or len(around) != 1 or between[0].is_async or _is_generated(between[0]):
            return ""
        return between[0].name if (between[0].opcode != "custom-call") == is_copy else ""

    def is_other(self, module: str) -> bool:
        """Return whether a module that a profile names is another than this program's."""
        return bool(module) and module != self.module.name

    def sharing(self, name: str) -> tuple[str, ...]:
        """Return the other launches that run the kernel of a launch."""
        return next(
            (tuple(each for each in all_ if each != name) for all_ in self._by_symbol.values() if name in all_), ()
        )

    def find_place(self, name: str) -> tuple[str, str]:
        """Return the line of an instruction, as in `model.py:12`, and its text; two empty strings where it has none."""
        instruction = self._instructions.get(name)
        line = self._lines.get(instruction) if instruction else None
        return (show_place(line), read_line(self.capture, line)) if line else ("", "")

    def label(self, event: Event) -> Label | None:
        """Return what to write into an event of the program, or None where it is of none of its launches."""
        name, _ = self.find(event.op, event.name, event.module)
        instruction = self._instructions.get(name)
        if instruction is None:
            return None
        if name not in self._labels:
            where, text = self.find_place(name)
            shapes = ", ".join(self._shape(instruction))
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

    def _shape(self, instruction: Instruction) -> list[str]:
        return [operand.shape.plain for operand in self.module.operands(instruction)]

    def _ends(self, start: Instruction) -> list[Instruction]:
        if not start.opcode.endswith("-start"):
            return []
        ends, waiting = [], [start]
        while waiting:
            for user in self.module.users(waiting.pop()):
                if user.opcode.endswith(("-done", "-update")):
                    ends.append(user)
                    waiting.append(user)
        return ends


def join_times(
    capture: Capture,
    timing: Timing,
    asked: str = "",
    *,
    shown: int = 20,
    labelled: tuple[str, int] = ("", 0),
) -> KernelTimes:
    """Return what a profile measured of a program on one target.

    Args:
        capture: Its capture, for the target that the profile is of.
        timing: What the profile measured.
        asked: What was asked about, as on the command line.
        shown: How many launches to tell.
        labelled: The file of the trace with the lines in it, and how many of its events have one.
    """
    names = Names(capture)
    rows = {row.name: row for row in describe_launches(capture)}
    joined: dict[str, list[tuple[Timed, str]]] = {}
    others: dict[str, float] = {}
    unjoined: list[Unjoined] = []
    for each in timing.rows:
        name, known_by = names.find(each.op, each.name, each.module)
        if not name:
            name, known_by = (
                names.find_between(each.after, each.before, is_copy=bool(_COPIED.search(each.name))),
                "order",
            )
        if name:
            joined.setdefault(name, []).append((each, known_by))
            continue
        if names.is_other(each.module):
            others[each.module] = others.get(each.module, 0.0) + each.seconds
        reason = explain(each, names)
        unjoined.append(Unjoined(each.op or each.name, each.module, each.seconds, each.count, reason))
    total = timing.seconds
    measured = [_describe(name, found, rows.get(name), names, total) for name, found in joined.items()]
    measured.sort(key=lambda row: -row.seconds)
    seen = {name for row in measured for name in (row.name, *row.others)}
    return KernelTimes(
        program=capture.program,
        asked=asked,
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
        unseen=tuple(name for name in rows if name not in seen) if measured else (),
        shown=shown,
        labelled=labelled[0],
        labelled_events=labelled[1],
        model=STATEMENT if find_hardware(capture.target) else explain_absence(capture.target),
    )


def _describe(
    name: str, found: list[tuple[Timed, str]], row: LaunchRow | None, names: Names, total: float
) -> MeasuredLaunch:
    seconds = sum(each.seconds for each, _ in found)
    # A launch may be several kernels, such as a product and the sum of its parts: it ran as often as one of them did.
    by_symbol = all(known_by == "symbol" for _, known_by in found)
    return MeasuredLaunch(
        name=name,
        others=names.sharing(name) if by_symbol else (),
        role=row.role if row else "",
        where=row.where if row else names.find_place(name)[0],
        text=row.text if row else names.find_place(name)[1],
        scope=row.scope if row else "",
        seconds=seconds,
        count=max(each.count for each, _ in found),
        share=seconds / total if total else 0.0,
        least_seconds=row.least_seconds if row else None,
        limit=row.limit if row else "",
        known_by=found[0][1],
    )


def explain(timed: Timed, names: Names) -> str:
    """Return why what ran under a name belongs to no launch."""
    if names.is_other(timed.module):
        return f"of another program, {timed.module}"
    if timed.op:
        return "no instruction of this compile has that name"
    if _COPIED.search(timed.name):
        return "a copy, and the profile does not say of what"
    if _LIBRARY.search(timed.name):
        return "a kernel of a library, which carries no name of the program"
    return "no kernel of this compile has that name"


def _is_generated(launch: Launch) -> bool:
    return bool(launch.thunk and launch.thunk.symbol)
