"""Whether parts of a program that are named as a reader names them are computed in one kernel."""

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
"""What costs nothing inside of a kernel, or only moves: a compiler makes it again wherever it is needed."""
_SHOWN = 12
__tracebackhide__ = True
"""So that pytest shows the test's own lines."""


class SharedKernel:
    """Finds the kernels of what is named in one program.

    Args:
        capture: The program.
    """

    def __init__(self, capture: Capture) -> None:
        """Find the launches."""
        self.capture = capture
        self.kernels = KernelParts(capture.module)
        self.selector = Selector(capture, find_lines(capture, capture.module), Histories(capture))

    def find(self, name: str) -> tuple[Launch, ...]:
        """Return the launches that compute what is named, in the order of the schedule.

        Args:
            name: A named scope, a Python function, a variable, a line or a piece of one: see `Selector.select`.

        Raises:
            InspectError: The program has no such part, with those that it has; or no launch computes it.
        """
        try:
            selection = self.selector.select(name)
        except InspectError as error:
            names = self.selector.list_names()
            more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            message = f"{error}. It has the names {', '.join(names[:_SHOWN])}{more}"
            raise InspectError(message) from None
        holders = [
            (each, holder)
            for each in selection.instructions
            if not is_fusion(each) and (holder := self.kernels.holder(each)) is not None
        ]
        # A fusion that is named itself, or one that a library computes, has no parts to look at.
        holders = holders or [
            (each, holder) for each in selection.instructions if (holder := self.kernels.holder(each)) is not None
        ]
        telling = [holder for each, holder in holders if each.opcode not in _CHEAP]
        found = {id(holder): holder for holder in telling or [holder for _, holder in holders]}
        if not found:
            message = f"no kernel of {self.capture.program} computes {name!r}: it takes no launch of its own"
            raise InspectError(message)
        return tuple(each for each in self.kernels.launches if id(each) in found)

    def find_all(self, names: Sequence[str]) -> tuple[Launch, ...]:
        """Return the launches that compute any of what is named.

        Raises:
            InspectError: As `find`; or nothing is named.
        """
        if not names:
            message = "name what is to be one kernel, such as one_kernel('softmax', 'scale')"
            raise InspectError(message)
        found = {id(launch) for name in names for launch in self.find(name)}
        return tuple(each for each in self.kernels.launches if id(each) in found)
