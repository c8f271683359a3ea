"""The computations and instructions of a module by id, and their order in the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.hlo import NAME
from xla_inspect.hlo_proto.message import MalformedProtoError, look_up, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xla_inspect.hlo_proto.message import Message

NAMED = re.compile(NAME, re.ASCII)
"""The pattern of valid names."""
_UPPER = 0xFFFF_FFFF
_LONGEST_NAME = 1 << 14


class Computation:
    """One computation of a module.

    Attributes:
        name: The name of the computation.
        number: The id of the computation.
        thread: The thread that runs it; empty for the default thread.
        instructions: Its instructions by id, in the order of the file.
        root: The id of its root instruction.
        called: The ids of the computations that it calls, in the order of the callers' ids.
    """

    def __init__(self, proto: Message) -> None:
        """Decode the instructions of an `HloComputationProto`."""
        self.name: str = proto.name
        self.number: int = proto.id
        self.thread: str = proto.execution_thread
        self.instructions = _number(proto.instructions, "instruction", lambda instruction: instruction)
        if not self.instructions:
            refuse("it has no instructions")
        # In a file without the id of the root, the root is the last instruction.
        self.root: int = proto.root_id if proto.root_id in self.instructions else next(reversed(self.instructions))

        callers = (number for number, caller in self.instructions.items() if caller.called_computation_ids)
        by_id = sorted(callers, key=lambda number: number & _UPPER)
        self.called = [callee for number in by_id for callee in self.instructions[number].called_computation_ids]

    @property
    def parameters(self) -> list[Message]:
        """The parameters in the order of their numbers."""
        parameters = (part for part in self.instructions.values() if part.opcode == "parameter")
        return sorted(parameters, key=lambda parameter: parameter.parameter_number)

    def find(self, number: int) -> Message:
        """Return the instruction with an id, or raise `MalformedProtoError` if there is none."""
        return look_up(self.instructions, number, "it refers to instruction")


def check_name(name: str, owner: str) -> str:
    """Return a name unchanged if it is valid in HLO text.

    Raises:
        MalformedProtoError: The name is invalid.
    """
    if len(name) > _LONGEST_NAME or not NAMED.fullmatch(name):
        refuse(f"{owner} has a name that text cannot hold: {name[:40]!a}" if name else f"{owner} has no name")
    return name


def _number[Part](protos: Sequence[Message], kind: str, decode: Callable[[Message], Part]) -> dict[int, Part]:
    """Return decoded parts of a module by id; raise `MalformedProtoError` for a bad name or part or a repeated id."""
    parts: dict[int, Part] = {}
    for place, proto in enumerate(protos, 1):
        try:
            check_name(proto.name, "it")
            part = decode(proto)
        except MalformedProtoError as error:
            message = f"{kind} {place} of {len(protos)}: {error}"
            raise MalformedProtoError(message) from error
        if proto.id in parts:
            refuse(f"two of its {kind}s have the id {proto.id}")
        parts[proto.id] = part
    return parts


class ModuleGraph:
    """The computations of a module by id.

    Args:
        module: An `HloModuleProto`.
    """

    def __init__(self, module: Message) -> None:
        """Decode the computations and find the entry computation."""
        self.computations = _number(module.computations, "computation", Computation)
        names = (part for part in self.computations.values() if part.name == module.entry_computation_name)
        entry = self.computations.get(module.entry_computation_id) or next(names, None)
        self.entry = entry or refuse(f"there is no entry computation among {len(self.computations)} computations")

    def find(self, number: int) -> Computation:
        """Return the computation with an id, or raise `MalformedProtoError` if there is none."""
        return look_up(self.computations, number, "it calls computation")

    def order(self) -> list[Computation]:
        """Return the computations in the order of the text: callees first, depth first from the uncalled ones.

        Callees are visited in the order of the callers' ids, which is the order in which XLA stores instructions.
        """
        callees = {number for computation in self.computations.values() for number in computation.called}
        numbers = sorted(self.computations)
        visited: set[int] = set()
        ordered: list[Computation] = []
        # Computations that call each other in a cycle are reachable only from themselves, so they come last.
        for first in [*(number for number in numbers if number not in callees), *numbers]:
            # Chains of calls may be deeper than Python's recursion limit, so the search has its own stack.
            path: list[Computation] = []
            pending = [iter([first])]
            while pending:
                # A missing callee is ignored here, because writing its caller raises an error with the position.
                unvisited = (number for number in pending[-1] if number not in visited and number in self.computations)
                number = next(unvisited, None)
                if number is not None:
                    visited.add(number)
                    path.append(self.computations[number])
                    pending.append(iter(path[-1].called))
                elif pending.pop() and path:
                    ordered.append(path.pop())
        return ordered
