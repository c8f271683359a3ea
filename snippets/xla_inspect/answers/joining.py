"""Which launch of a program a name in a profile stands for: that of an instruction, or the symbol of a kernel."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import find_lines, list_launches
from xla_inspect.answers.launch_rows import find_scope, read_line, show_place
from xla_inspect.traces import Label

if TYPE_CHECKING:
    from xla_inspect.analysis import SourceLine
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction
    from xla_inspect.traces import Event, Timed

# What stands in the place of what a symbol must not hold.
_UNFIT = re.compile(r"\W")
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
        for launch in list_launches(capture):
            for name in (launch.name, launch.scheduled.name):
                self._named.setdefault(name, launch.name)
            # The end of an asynchronous launch is the time that is waited for it.
            for user in self._ends(launch.scheduled):
                self._named.setdefault(user.name, launch.name)
            symbol = launch.thunk.symbol if launch.thunk else ""
            sharing = self._by_symbol.setdefault(symbol or _fit(launch.name), [])
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
        for symbol in (name, _fit(name), _AFTER.sub("", name), _fit(_AFTER.sub("", name))):
            if symbol in self._by_symbol:
                return self._by_symbol[symbol][0], "symbol"
        return "", ""

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


def _fit(name: str) -> str:
    return _UNFIT.sub("_", name)
