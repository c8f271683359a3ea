"""What a program launches, in order, loops and branches opened: each launch with how often it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.hlo.fusions import fused_computations
from xla_inspect.hlo.opcodes import IDLE
from xla_inspect.hlo.work import trip_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.hlo.module import Computation, Instruction, Module
    from xla_inspect.hlo.record import Capture, Kernel

STRUCTURE = frozenset({"while", "conditional", "call"})
"""Instructions that launch nothing themselves but run other computations."""

_THUNKS = frozenset({"kWhile", "kConditional", "kSequential", "kAsyncDone"})


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch.

    Attributes:
        name: The instruction that is launched, or the thunk's kind where it names none.
        instruction: The instruction, or None where the thunk names none.
        kernel: What the capture says of it, grid and threads on a GPU; None inside loops and branches elsewhere.
        within: The loops and branches around it, outermost first, by the names of their instructions.
        runs: How often it runs, or None where the compiler does not know: a loop without a known count, a branch.
    """

    name: str
    instruction: Instruction | None
    kernel: Kernel | None
    within: tuple[str, ...]
    runs: int | None


@dataclass(frozen=True, slots=True)
class _Place:
    within: tuple[str, ...] = ()
    runs: int | None = 1


def list_launches(capture: Capture) -> tuple[Launch, ...]:
    """Return what a program launches, in order: as the thunks say on a GPU, else as the module is scheduled.

    Loops and branches are opened, and so are calls. The two halves of an asynchronous operation are one launch, where
    it starts.

    Args:
        capture: The capture.
    """
    module = capture.module
    places = _find_places(module)
    if any(kernel.grid is not None or kernel.kind.startswith("k") for kernel in capture.kernels):
        return tuple(_list_thunks(capture, places))
    kernels = {kernel.name: kernel for kernel in capture.kernels}
    return tuple(
        Launch(
            found.name, found, kernels.get(found.name), places[found.computation].within, places[found.computation].runs
        )
        for found in _walk(module, module.entry)
    )


def _list_thunks(capture: Capture, places: dict[str, _Place]) -> Iterator[Launch]:
    module = capture.module
    named: dict[str, tuple[Instruction, _Place]] = {}
    shells: dict[str, set[str]] = {}
    for computation in module.computations:
        for found in computation if computation.name in places else ():
            named[found.name] = found, places[computation.name]
            if found.opcode == "async-start":
                # What it starts may be a thunk of its own.
                inner = [each for called in module.called(found) for each in called]
                shells[found.name] = {each.name for each in inner}
                named |= {each.name: (each, places[computation.name]) for each in inner}
    started = {kernel.name for kernel in capture.kernels if kernel.kind != "kAsyncStart"}
    for kernel in capture.kernels:
        again = kernel.name in started or not started.isdisjoint(shells.get(kernel.name, ()))
        if kernel.kind in _THUNKS or (kernel.kind == "kAsyncStart" and again):
            continue
        instruction, place = named.get(kernel.name, (None, _Place()))
        yield Launch(kernel.name, instruction, kernel, place.within, place.runs)


def _walk(module: Module, computation: Computation) -> Iterator[Instruction]:
    for instruction in computation:
        if instruction.opcode in STRUCTURE:
            for called in module.called(instruction):
                yield from _walk(module, called)
        elif instruction.opcode not in IDLE and not instruction.opcode.endswith("-done"):
            yield instruction


def _find_places(module: Module) -> dict[str, _Place]:
    """Return for each computation that is run and not fused where it stands, the last call of one called twice."""
    fused = fused_computations(module)
    places = {module.entry.name: _Place()}
    waiting = [module.entry]
    while waiting:
        computation = waiting.pop()
        around = places[computation.name]
        for instruction in computation:
            if instruction.opcode not in STRUCTURE:
                continue
            within = around.within if instruction.opcode == "call" else (*around.within, instruction.name)
            for role, names in instruction.calls.items():
                times = _count_runs(instruction, role)
                runs = None if around.runs is None or times is None else around.runs * times
                for name in names:
                    if name not in fused:
                        places[name] = _Place(within, runs)
                        waiting.append(module.computation(name))
    return places


def _count_runs(caller: Instruction, role: str) -> int | None:
    """Return how often an instruction runs a computation that it calls in some role, or None where nobody knows."""
    if caller.opcode == "while":
        trips = trip_count(caller)
        # The condition is asked once more, to end the loop.
        return None if trips is None else trips + (role == "condition")
    return 1 if caller.opcode == "call" else None
