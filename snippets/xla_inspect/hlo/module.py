"""HLO as data: a module of computations, each a list of instructions."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.hlo.attributes import split_attributes, split_metadata, unquote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.hlo.frame import Frame
    from xla_inspect.hlo.shape import Shape

_ALIAS = re.compile(r"\{([\d, ]*)\}: \((\d+),")


class HloLookupError(InspectError, LookupError):
    """An error for a name that is missing or ambiguous in a module."""


@dataclass(frozen=True, eq=False)
class Instruction:
    """One instruction, compared by identity; modules with the same line in the same computation may share it.

    Attributes:
        name: The name, without `%`.
        opcode: The opcode, one of `opcodes.OPCODES`.
        shape: The shape of the result.
        operands: The names of the operands, in order; empty for a parameter or a constant.
        computation: The name of the computation that contains it.
        text: The line as written, with the names of nested computations in place of their text.
        is_root: Whether its result is the result of its computation.
        attribute_text: All attributes as written, from the first comma.
        calls: The names of the called computations by attribute; empty for most instructions.
        literal: The text between the parentheses of a parameter or a constant.
        wrapped: The opcode that an asynchronous instruction wraps, if the text shows it (`slice-start`), or None.
        operand_shapes: The shapes of the operands if the text has them, otherwise None.
        operand_indices: The tuple index that is selected from each operand (`(1,)` for `%x#1`), or None; always None in
            a parsed module, in which each element is an instruction.
    """

    name: str
    opcode: str
    shape: Shape
    operands: tuple[str, ...]
    computation: str
    text: str
    is_root: bool
    attribute_text: str
    calls: Mapping[str, tuple[str, ...]]
    literal: str | None = None
    wrapped: str | None = None
    operand_shapes: tuple[Shape, ...] | None = None
    operand_indices: tuple[tuple[int, ...], ...] | None = None

    def __repr__(self) -> str:
        """Return the name, shape, opcode and operand names, without attributes."""
        return f"<{self.name} = {self.shape} {self.opcode}({', '.join(self.operands)})>"

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The attributes as written, in order: `{"kind": "kLoop", "calls": "%fused_computation"}`."""
        return MappingProxyType(split_attributes(self.attribute_text))

    @cached_property
    def metadata(self) -> Mapping[str, str]:
        """The fields of `metadata={...}` in order, with strings unquoted; empty without metadata."""
        if "metadata={" not in self.attribute_text:
            return MappingProxyType({})
        return MappingProxyType(split_metadata(self.attributes.get("metadata", "")))

    @property
    def op_name(self) -> str | None:
        """The name that JAX gave to the operation, such as `jit(layer)/dot_general`, or None."""
        return self.metadata.get("op_name")

    @cached_property
    def stack_frame(self) -> int | None:
        """The id of the Python frame that created it, a key of `Module.frames()`, or None."""
        text = self.metadata.get("stack_frame_id")
        return int(text) if text is not None and text.isdecimal() else None

    @property
    def fusion_kind(self) -> str | None:
        """The kind of a fusion (`kLoop`, `kInput`, `kOutput` or `kCustom`), or None if it is not a fusion."""
        return self.attributes.get("kind") if "fusion" in (self.opcode, self.wrapped) else None

    @property
    def backend_config(self) -> str | None:
        """The text of `backend_config`, usually JSON, unquoted if it is a string; None without a config."""
        if "backend_config=" not in self.attribute_text:
            return None
        text = self.attributes.get("backend_config")
        return None if text is None else unquote(text)

    @property
    def custom_call_target(self) -> str | None:
        """The target function of a custom call, or None."""
        text = self.attributes.get("custom_call_target")
        return None if text is None else unquote(text)

    @property
    def parameter_number(self) -> int | None:
        """The number of a parameter, from 0; None for any other instruction."""
        return int(self.literal) if self.opcode == "parameter" and self.literal is not None else None

    @property
    def control_predecessors(self) -> tuple[str, ...]:
        """The names of instructions that must run before it, other than its operands."""
        if "control-predecessors=" not in self.attribute_text:
            return ()
        text = self.attributes.get("control-predecessors", "{}")[1:-1]
        return tuple(name.strip().removeprefix("%") for name in text.split(",") if name.strip())

    @cached_property
    def called(self) -> tuple[str, ...]:
        """The names of the called computations, in the order of its attributes."""
        return tuple(name for names in self.calls.values() for name in names)


@dataclass(eq=False)
class Computation:
    """A function of the module: instructions in the order of the text; modules with the same text may share it.

    Attributes:
        name: The name, without `%`.
        instructions: The instructions, operands before their users; in execution order if the module is scheduled.
        root: The instruction whose result is returned.
        is_entry: Whether the program starts here.
        execution_thread: The name of the thread that runs it, or None if the text has none.
    """

    name: str
    instructions: tuple[Instruction, ...]
    root: Instruction
    is_entry: bool
    execution_thread: str | None = None

    def __repr__(self) -> str:
        """Return the name and the number of instructions."""
        return f"<{'ENTRY ' if self.is_entry else ''}{self.name}: {len(self.instructions)} instructions>"

    def __iter__(self) -> Iterator[Instruction]:
        """Iterate over the instructions in order."""
        return iter(self.instructions)

    def __len__(self) -> int:
        """Return the number of instructions."""
        return len(self.instructions)

    @cached_property
    def by_name(self) -> Mapping[str, Instruction]:
        """The instructions by name."""
        return {instruction.name: instruction for instruction in self.instructions}

    @cached_property
    def called(self) -> tuple[str, ...]:
        """The names of the computations that its instructions call, in order, with repetitions."""
        return tuple(name for instruction in self.instructions for name in instruction.called)

    @cached_property
    def opcode_counts(self) -> Mapping[str, int]:
        """The number of instructions of each opcode."""
        return MappingProxyType(Counter(instruction.opcode for instruction in self.instructions))

    @cached_property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters in the order of their numbers."""
        parameters = [instruction for instruction in self.instructions if instruction.opcode == "parameter"]
        return tuple(sorted(parameters, key=lambda parameter: parameter.parameter_number or 0))

    @cached_property
    def _users(self) -> Mapping[str, list[Instruction]]:
        users: dict[str, list[Instruction]] = {}
        for instruction in self.instructions:
            for operand in instruction.operands:
                takers = users.setdefault(operand, [instruction])
                # An instruction may use the same operand several times, but is listed once.
                if takers[-1] is not instruction:
                    takers.append(instruction)
        return users

    def users(self, name: str) -> tuple[Instruction, ...]:
        """Return the instructions that use the one named `name` as an operand, in order, without duplicates.

        Raises:
            HloLookupError: The computation has no such instruction.
        """
        if name not in self.by_name:
            message = f"computation {self.name} has no instruction {name!r}"
            raise HloLookupError(message)
        return tuple(self._users.get(name, ()))

    def operands(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """Return the operands of an instruction of this computation, in order."""
        return tuple(self.by_name[name] for name in instruction.operands)


@dataclass(eq=False)
class Module:
    """A whole HLO module.

    Attributes:
        name: The name, such as `jit_layer`.
        attributes: The fields of the first line other than the name, in order.
        computations: The computations in the order of the text, callees before callers.
        stack_frames: The call chain of each stack frame by id, innermost frame first.
    """

    name: str
    attributes: Mapping[str, str]
    computations: tuple[Computation, ...]
    stack_frames: Mapping[int, tuple[Frame, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the name and the numbers of computations and instructions."""
        return f"<{self.name}: {len(self.computations)} computations, {self.instruction_count()} instructions>"

    @property
    def is_scheduled(self) -> bool:
        """True if the order of the instructions is their order of execution."""
        return self.attributes.get("is_scheduled") == "true"

    @property
    def num_partitions(self) -> int:
        """The number of devices over which the program is partitioned; 1 if the text does not say."""
        return int(self.attributes.get("num_partitions", "1"))

    @property
    def replica_count(self) -> int:
        """The number of replicas, each of which runs all partitions; 1 if the text does not say."""
        return int(self.attributes.get("replica_count", "1"))

    @property
    def device_count(self) -> int:
        """The number of devices that run the program."""
        return self.num_partitions * self.replica_count

    @property
    def entry_computation_layout(self) -> str | None:
        """The shapes of the parameters and the result, with layouts, as written, or None."""
        return self.attributes.get("entry_computation_layout")

    @property
    def input_output_alias(self) -> str | None:
        """The outputs that reuse a parameter's buffer, as written: `{ {0}: (0, {}, may-alias) }`; None without any."""
        return self.attributes.get("input_output_alias")

    @cached_property
    def aliases(self) -> Mapping[tuple[int, ...], int]:
        """The numbers of the parameters whose buffers are reused, by tuple index of the output."""
        pairs = _ALIAS.findall(self.input_output_alias or "")
        return {tuple(map(int, index.replace(",", " ").split())): int(number) for index, number in pairs}

    @cached_property
    def entry(self) -> Computation:
        """The entry computation, in which the program starts."""
        return next(computation for computation in self.computations if computation.is_entry)

    @cached_property
    def by_name(self) -> Mapping[str, Computation]:
        """The computations by name."""
        return {computation.name: computation for computation in self.computations}

    @cached_property
    def callers(self) -> Mapping[str, tuple[Instruction, ...]]:
        """The instructions that call each called computation, by the computation's name, in the order of the text."""
        callers: dict[str, list[Instruction]] = {}
        for instruction in self.walk():
            for name in instruction.called:
                callers.setdefault(name, []).append(instruction)
        return {name: tuple(calling) for name, calling in callers.items()}

    @cached_property
    def _instructions(self) -> Mapping[str, list[Instruction]]:
        by_name: dict[str, list[Instruction]] = {}
        for instruction in self.walk():
            by_name.setdefault(instruction.name, []).append(instruction)
        return by_name

    def computation(self, name: str) -> Computation:
        """Return the computation with a name.

        Raises:
            HloLookupError: The module has no such computation.
        """
        if name not in self.by_name:
            message = f"module {self.name} has no computation {name!r}; it has {', '.join(self.by_name)}"
            raise HloLookupError(message)
        return self.by_name[name]

    def instruction(self, name: str) -> Instruction:
        """Return the instruction with a name, from any computation.

        Raises:
            HloLookupError: The module has no such instruction, or several; then look it up in its computation.
        """
        instructions = self._instructions.get(name, [])
        if len(instructions) != 1:
            where = ", ".join(instruction.computation for instruction in instructions)
            message = f"module {self.name} has {len(instructions)} instructions {name!r}" + (
                f", in {where}" if where else ""
            )
            raise HloLookupError(message)
        return instructions[0]

    def walk(self) -> Iterator[Instruction]:
        """Yield every instruction of every computation, in the order of the text."""
        for computation in self.computations:
            yield from computation.instructions

    def users(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """Return the instructions that use a given one as an operand, in order, without duplicates."""
        return self.computation(instruction.computation).users(instruction.name)

    def operands(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """Return the operands of an instruction, in order."""
        return self.computation(instruction.computation).operands(instruction)

    def called(self, instruction: Instruction) -> tuple[Computation, ...]:
        """Return the computations that an instruction calls, in the order of its attributes."""
        return tuple(self.by_name[name] for name in instruction.called)

    @cached_property
    def _opcode_counts(self) -> Counter[str]:
        counts = Counter[str]()
        for computation in self.computations:
            for opcode, number in computation.opcode_counts.items():
                counts[opcode] += number
        return counts

    def opcode_counts(self, *, entry_only: bool = False) -> Counter[str]:
        """Return the number of instructions of each opcode, in the whole module or in its entry computation."""
        return Counter(self.entry.opcode_counts if entry_only else self._opcode_counts)

    def instruction_count(self, *, entry_only: bool = False) -> int:
        """Return the number of instructions in the whole module or in its entry computation."""
        return len(self.entry) if entry_only else sum(map(len, self.computations))

    def frames(self) -> Mapping[int, tuple[Frame, ...]]:
        """Return the call chain of each stack frame by id, innermost frame first; empty if the text has no tables."""
        return self.stack_frames
