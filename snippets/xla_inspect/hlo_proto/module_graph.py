"""The computations and instructions of a module by their ids, and the order in which text has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.hlo import NAME
from xla_inspect.hlo_proto.schema import MalformedProtoError, decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAMED = re.compile(NAME, re.ASCII)
"""What names look like."""
_UPPER = 0xFFFF_FFFF
_LONGEST_NAME = 1 << 14


class Node:
    """One instruction: its fields, and what text needs of it more than once.

    Attributes:
        fields: The fields that are set, by name.
        name: Its name.
        opcode: Its opcode.
    """

    __slots__ = ("fields", "name", "opcode")

    def __init__(self, data: bytes) -> None:
        """Decode an `HloInstructionProto`."""
        self.fields = decode("HloInstructionProto", data)
        self.name = check_name(self.fields.get("name", ""), "it")
        self.opcode: str = self.fields.get("opcode", "")


class Body:
    """One computation.

    Attributes:
        name: Its name.
        number: Its id.
        thread: The thread that runs it, empty for the usual one.
        nodes: Its instructions by their ids, in the order of the file.
        root: The id of its root.
    """

    def __init__(self, data: bytes) -> None:
        """Decode an `HloComputationProto`."""
        fields = decode("HloComputationProto", data)
        self.name = check_name(fields.get("name", ""), "it")
        self.number: int = fields.get("id", 0)
        self.thread: str = fields.get("execution_thread", "")
        self.nodes: dict[int, Node] = {}
        parts = fields.get("instructions", ())
        for place, part in enumerate(parts, 1):
            try:
                node = Node(part)
            except MalformedProtoError as error:
                message = f"instruction {place} of {len(parts)}: {error}"
                raise MalformedProtoError(message) from error
            number = node.fields.get("id", 0)
            if number in self.nodes:
                message = f"two of its instructions have the id {number}"
                raise MalformedProtoError(message)
            self.nodes[number] = node
        if not self.nodes:
            message = "it has no instructions"
            raise MalformedProtoError(message)
        # A file that names no root has it last.
        root = fields.get("root_id", 0)
        self.root: int = root if root in self.nodes else next(reversed(self.nodes))

    @property
    def parameters(self) -> list[Node]:
        """Its parameters by their numbers."""
        found = (node for node in self.nodes.values() if node.opcode == "parameter")
        return sorted(found, key=lambda node: node.fields.get("parameter_number", 0))


def check_name(name: str, what: str) -> str:
    """Return a name that text can hold.

    Raises:
        MalformedProtoError: It is none.
    """
    if len(name) > _LONGEST_NAME or not NAMED.fullmatch(name):
        message = f"{what} has a name that text cannot hold: {name[:40]!a}" if name else f"{what} has no name"
        raise MalformedProtoError(message)
    return name


class ModuleGraph:
    """The computations of a module by their ids.

    Args:
        parts: The `HloComputationProto`s.
        entry: The id of the entry computation, or 0.
        entry_name: Its name.
    """

    def __init__(self, parts: Sequence[bytes], entry: int, entry_name: str) -> None:
        """Decode the computations."""
        self.bodies: dict[int, Body] = {}
        for place, part in enumerate(parts, 1):
            try:
                body = Body(part)
            except MalformedProtoError as error:
                message = f"computation {place} of {len(parts)}: {error}"
                raise MalformedProtoError(message) from error
            if body.number in self.bodies:
                message = f"two computations have the id {body.number}"
                raise MalformedProtoError(message)
            self.bodies[body.number] = body
        if entry not in self.bodies:
            named = [number for number, body in self.bodies.items() if body.name == entry_name]
            if not named:
                message = f"there is no entry computation among {len(self.bodies)} computations"
                raise MalformedProtoError(message)
            entry = named[0]
        self.entry = entry

    def body(self, number: int) -> Body:
        """Return the computation with an id, which an instruction calls."""
        found = self.bodies.get(number)
        if found is None:
            message = f"it calls computation {number}, which is not there"
            raise MalformedProtoError(message)
        return found

    def order(self) -> list[Body]:
        """Return the computations, callees before callers, as text has them: depth first from those not called.

        Instructions are gone through by their ids, which is the order in which XLA keeps them.
        """
        called = {number for body in self.bodies.values() for number in _find_called(body)}
        ordered: dict[int, Body] = {}
        for number in sorted(self.bodies):
            if number not in called:
                self._add(number, ordered)
        for number in sorted(self.bodies):  # those that call each other in a circle
            self._add(number, ordered)
        return list(ordered.values())

    def _add(self, first: int, ordered: dict[int, Body]) -> None:
        seen: set[int] = set(ordered) | {first}
        if first in ordered:
            return
        stack = [(first, iter(_find_called(self.bodies[first])))]
        while stack:
            number, callees = stack[-1]
            for callee in callees:
                if callee not in seen and callee in self.bodies:
                    seen.add(callee)
                    stack.append((callee, iter(_find_called(self.bodies[callee]))))
                    break
            else:
                ordered[number] = self.bodies[number]
                stack.pop()


def _find_called(body: Body) -> Iterator[int]:
    for number in sorted(body.nodes, key=lambda number: number & _UPPER):
        yield from body.nodes[number].fields.get("called_computation_ids", ())
