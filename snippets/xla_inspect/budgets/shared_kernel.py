"""A search for the kernels that compute named parts of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import REWRITING, Histories, KernelParts, find_lines, is_fusion
from xla_inspect.errors import InspectError
from xla_inspect.hlo import IDLE
from xla_inspect.questions.why import Selector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.analysis import Launch
    from xla_inspect.captured import Capture

_CHEAP = IDLE | REWRITING | {"broadcast", "iota", "while", "conditional", "call", "pad", "slice", "concatenate"}
"""Opcodes that are free in a kernel or only move data; a compiler may repeat them in every kernel that uses them."""
_SHOWN = 12
__tracebackhide__ = True
"""Hide this module in pytest's tracebacks, so that they show the test's own lines."""


class SharedKernel:
    """A search for the kernels that compute parts of one program, such as a scope, a function or a line."""

    def __init__(self, capture: Capture) -> None:
        """Prepare the search."""
        self.capture = capture
        self.kernels = KernelParts(capture.module)
        self.selector = Selector(capture, find_lines(capture, capture.module), Histories(capture))

    def find(self, name: str) -> tuple[Launch, ...]:
        """Return the launches that compute a part of the program, in the order of the schedule.

        Args:
            name: A named scope, a Python function, a variable, a line or a piece of a line: see `Selector.select`.

        Raises:
            InspectError: The program has no such part (the message lists its parts), or no launch computes it.
        """
        try:
            selection = self.selector.select(name)
        except InspectError as error:
            names = self.selector.list_names()
            more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            message = f"{error}. It has the names {', '.join(names[:_SHOWN])}{more}"
            raise InspectError(message) from None
        holders = [
            (instruction, holder)
            for instruction in selection.instructions
            if not is_fusion(instruction) and (holder := self.kernels.holder(instruction)) is not None
        ]
        # A fusion that is selected by its own name, or that a library computes, has no selected instruction inside.
        holders = holders or [
            (instruction, holder)
            for instruction in selection.instructions
            if (holder := self.kernels.holder(instruction)) is not None
        ]
        # A kernel that only repeats a cheap instruction, such as a broadcast, does not compute the named part.
        telling = [holder for instruction, holder in holders if instruction.opcode not in _CHEAP]
        by_identity = {id(holder): holder for holder in telling or [holder for _, holder in holders]}
        if not by_identity:
            message = f"no kernel of {self.capture.program} computes {name!r}: it has no launch of its own"
            raise InspectError(message)
        return tuple(instruction for instruction in self.kernels.launches if id(instruction) in by_identity)

    def find_all(self, names: Sequence[str]) -> tuple[Launch, ...]:
        """Return the launches that compute any of the named parts.

        Raises:
            InspectError: There are no names, or `find` fails for a name.
        """
        if not names:
            message = "name the parts that must be one kernel, such as one_kernel('softmax', 'scale')"
            raise InspectError(message)
        by_identity = {id(launch) for name in names for launch in self.find(name)}
        return tuple(launch_item for launch_item in self.kernels.launches if id(launch_item) in by_identity)
