"""The launches of a program, by the definition that the glossary repeats in the same words.

Kernels are fusions, library calls, custom calls and other computing operations.
Collectives and copies are counted separately, start and done together as one.
A loop body counts once, next to its trip count.
*Launch* is a GPU term: a TPU runs one program of operations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xla_inspect.analysis.flops import LABELS
from xla_inspect.analysis.fusions import custom_fusion_kind
from xla_inspect.analysis.loops import STRUCTURE, Loops
from xla_inspect.analysis.module_stage import find_stage
from xla_inspect.hlo import CATEGORY, IDLE, Module

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.captured import Capture, Thunk
    from xla_inspect.hlo import Computation, Instruction

type Role = Literal["kernel", "collective", "copy"]
"""The role of a launch: it computes, communicates between devices, or moves data."""


HOST_CALL = "host callback"
"""The label in listings for a launch that runs Python on the host."""

_NOTHING = IDLE | {"add-dependency", "after-all", "async-update", "domain", "opt-barrier"}
_MARKS = frozenset(("custom-call", target) for target in LABELS)
_COPIES = frozenset({"copy", "infeed", "outfeed", "recv", "send"})
_SLICES = frozenset({"dynamic-slice", "dynamic-update-slice", "slice"})
_COLLECTIVES = (
    # The category includes the numbers of the device itself, which need no exchange, and transfers, which are copies.
    frozenset(name for name, category in CATEGORY.items() if category == "communication")
    - {"partition-id", "replica-id"}
    - _COPIES
)
_SHELLS = frozenset({"kAsyncStart", "kAsyncDone"})
_ASYNC = ", async"


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel, a collective or a copy.

    Attributes:
        instruction: The instruction that runs; for an asynchronous operation, the operation inside its start if the
            text shows it separately.
        scheduled: The instruction in the schedule, which is the start of an asynchronous operation.
        within: The names of the loops and branches around it, outermost first.
        runs: The number of runs, or None if it is unknown, as in a branch or a loop without a known trip count.
        assumed_runs: The number of runs for totals, where each loop or branch with an unknown number runs once.
        thunk: The thunk of the GPU's runtime, or None for other targets.
    """

    instruction: Instruction
    scheduled: Instruction
    within: tuple[str, ...]
    runs: int | None
    assumed_runs: int
    thunk: Thunk | None

    @property
    def is_async(self) -> bool:
        """True if it may overlap with the following instructions until its `-done` instruction waits for it."""
        return self.scheduled.opcode.endswith("-start")

    @property
    def name(self) -> str:
        """The name of the launched instruction."""
        return self.instruction.name

    @property
    def fusion_kind(self) -> str | None:
        """The kind of a fusion (`kLoop`, `kInput`, `kOutput` or `kCustom`), or None if it is not a fusion."""
        return self.instruction.fusion_kind

    @property
    def opcode(self) -> str:
        """The opcode of the launched operation: `copy` for a `copy-start`."""
        return self.instruction.wrapped or self.instruction.opcode.removesuffix("-start")

    @property
    def kind(self) -> str:
        """The kind of a fusion, or the opcode of any other launch."""
        return self.fusion_kind or self.opcode

    @property
    def sort(self) -> str:
        """The opcode with the emitter or the called target: `fusion kLoop`, `custom-call TopK`, `copy, async`."""
        instruction = self.instruction
        emitter = custom_fusion_kind(instruction) or instruction.fusion_kind or instruction.custom_call_target
        return f"{self.opcode} {emitter or ''}".rstrip() + (_ASYNC if self.is_async else "")

    @property
    def role(self) -> Role | None:
        """The role of the launch; see `find_role`."""
        return find_role(self.sort)


def find_role(sort: str) -> Role | None:
    """Return the role of an instruction, or None if it is not launched.

    - `kernel`: a fusion, a call of a library, a custom call, a computing operation outside fusions, or a whole
      computation that is started on another core, such as a TPU's SparseCore.
    - `collective`: an exchange between devices, including one that Triton wrote as a fusion.
    - `copy`: a move of an unchanged value: a copy, an asynchronous fetch of a slice, or a transfer from or to the host
      or another device.
    - None: parameters, constants, loops, instructions that only rename or order values, and custom calls that compute
      nothing.

    Args:
        sort: The text of `Launch.sort`, which the records of releases also contain.
    """
    is_async = sort.endswith(_ASYNC)
    opcode, _, emitter = sort.removesuffix(_ASYNC).partition(" ")
    if opcode in _NOTHING or (opcode in STRUCTURE and not is_async) or (opcode, emitter) in _MARKS:
        return None
    if opcode in _COLLECTIVES or emitter == "__triton_collective":
        return "collective"
    return "copy" if opcode in _COPIES or (opcode in _SLICES and is_async) else "kernel"


def fit_symbol(name: str) -> str:
    """Return the symbol of an instruction's name: each character but letters, digits and `_` becomes `_`."""
    return re.sub(r"\W", "_", name)


def list_launches(program: Capture | Module) -> tuple[Launch, ...]:
    """Return the launches of a program in the order of the schedule: kernels, collectives and copies.

    The bodies of loops, branches and calls are included once, and `Launch.runs` has their number of runs. The two
    halves of an asynchronous operation are one launch, at the position of its start.

    Args:
        program: A capture, or an optimized module, which has no thunks. A capture whose module is from a stage before
            the compiler decided on kernels has no launches.
    """
    module, thunks = (program, ()) if isinstance(program, Module) else (program.module, program.thunks)
    if not (isinstance(program, Module) or find_stage(program).has_launches):
        return ()
    labels: dict[str, Thunk] = {}
    for thunk in thunks:
        # An operation may have several thunks. One with a grid says the most; an asynchronous shell says the least.
        current = labels.get(thunk.name)
        if current is None or thunk.grid or (current.kind in _SHELLS and thunk.kind not in _SHELLS):
            labels[thunk.name] = thunk
    return tuple(launch for launch in _walk(Loops(module), module.entry, (), (1, 1), labels) if launch.role)


def list_kernels(program: Capture | Module) -> tuple[Launch, ...]:
    """Return the kernels among the launches of a program, in order."""
    return tuple(launch for launch in list_launches(program) if launch.role == "kernel")


def calls_host(instruction: Instruction) -> bool:
    """Return whether an instruction calls Python on the host, as `jax.pure_callback` and `jax.debug.print` do.

    On CPU and GPU this is one custom call, whose target JAX names; on a TPU it is a transfer to the host and back.
    """
    if instruction.opcode.removesuffix("-done") in {"recv", "send"}:
        return instruction.attributes.get("is_host_transfer") == "true"
    target = instruction.custom_call_target or ""
    return target.startswith("xla_") and "_python_" in target and target.endswith("_callback")


def _walk(
    loops: Loops,
    computation: Computation,
    within: tuple[str, ...],
    runs: tuple[int | None, int],
    thunks: Mapping[str, Thunk],
) -> Iterator[Launch]:
    module = loops.module
    for instruction in computation:
        # The start of the operation already represents the launch.
        if instruction.opcode.endswith("-done"):
            continue
        if instruction.opcode in STRUCTURE:
            # A call runs exactly once, so it is no loop or branch around a launch.
            inside = within if instruction.opcode == "call" else (*within, instruction.name)
            for name in instruction.called:
                times = loops.count_calls(instruction, name)
                total = None if runs[0] is None or times is None else runs[0] * times
                counted = runs[1] * (1 if times is None else times)
                yield from _walk(loops, module.computation(name), inside, (total, counted), thunks)
        else:
            work = _find_started(module, instruction)
            # The thunk of an asynchronous operation may have the name of the operation or of its start.
            thunk = thunks.get(work.name) or thunks.get(instruction.name)
            yield Launch(work, instruction, within, *runs, thunk)


def _find_started(module: Module, instruction: Instruction) -> Instruction:
    """Return the operation in the computation that an asynchronous start calls, or else the instruction itself."""
    if instruction.opcode != "async-start" or instruction.wrapped:
        return instruction
    contents = [
        operation for callees in module.called(instruction) for operation in callees if operation.opcode not in IDLE
    ]
    return contents[-1] if contents else instruction
