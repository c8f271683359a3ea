"""What a compile came to, in a few lines of text that show a change of the compiler as a short diff."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from xla_inspect.hlo.fusions import custom_fusion_kind, list_opcodes
from xla_inspect.hlo.launches import list_launches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.hlo.launches import Launch
    from xla_inspect.hlo.module import Module
    from xla_inspect.hlo.record import Capture

MEMORY = ("peak", "arguments", "outputs", "temporaries", "aliased")
"""The parts of the memory plan; the length of generated code is left out, since it is an affair of the host."""

WORK = {"flops": "flops", "bytes accessed": "bytes", "transcendentals": "transcendentals"}
"""Properties of XLA's HLO cost analysis, and what they are called here."""


def describe(capture: Capture, work: Mapping[str, float]) -> str:
    """Return the kernels of a capture in order, the passes that changed it, its memory and its work, line by line.

    Names that the compiler numbers, layouts and generated code are left out: they change without a change that a
    reader would call one.

    Args:
        capture: The capture.
        work: What XLA's cost analysis counts in the optimized module, property to number.
    """
    module = capture.module
    parts = {
        "kernels": [_describe_launch(module, launch) for launch in list_launches(capture)],
        "passes that changed it": list(_list_passes(capture)),
        "memory in bytes": [f"{name}: {getattr(capture.memory, name):,}" for name in MEMORY],
        "work": [f"{called}: {work.get(name, 0):,.0f}" for name, called in WORK.items()],
    }
    return "".join(f"{part}\n" + "".join(f"  {line}\n" for line in lines) for part, lines in parts.items())


def _describe_launch(module: Module, launch: Launch) -> str:
    """Return what is launched as in `kLoop fusion: add 1, maximum 1 -> f32[8,32]`, how often first unless once."""
    times = "" if launch.runs == 1 else f"{'?' if launch.runs is None else f'{launch.runs:,}'} x "
    found = launch.instruction
    thunk = launch.kernel.kind if launch.kernel and launch.kernel.kind.startswith("k") else ""
    if found is None:
        return f"{times}{thunk or launch.name}"
    fused = found.fusion_kind is not None
    emitter = custom_fusion_kind(found) or found.custom_call_target
    words = [thunk, found.fusion_kind, found.wrapped if fused else found.opcode, emitter]
    if fused and not found.wrapped:
        words[2] = "fusion"
    opcodes = Counter(list_opcodes(module, found)) if fused else Counter[str]()
    counted = ", ".join(f"{opcode} {number}" for opcode, number in sorted(opcodes.items()))
    what = " ".join(word for word in words if word) + (f": {counted}" if counted else "")
    return f"{times}{what} -> {found.shape.plain}"


def _list_passes(capture: Capture) -> Iterator[str]:
    """Yield the passes that changed the module, a line for each stretch of a pipeline, in order."""
    for pipeline, changes in groupby(capture.passes, key=lambda change: change.pipeline):
        runs = [(name, len(list(group))) for name, group in groupby(change.name for change in changes)]
        yield f"{pipeline}: {', '.join(name if times == 1 else f'{name} x {times}' for name, times in runs)}"
