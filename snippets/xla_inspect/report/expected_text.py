"""The result of a compilation in a few lines of text, so that a change of the compiler shows as a short diff."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from xla_inspect.analysis import custom_fusion_kind, list_launches, list_opcodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.analysis import Launch
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Module

MEMORY = ("peak", "arguments", "outputs", "temporaries", "aliased")
"""The parts of the memory plan. The length of the generated code is left out, because it depends on the host."""

WORK = {"flops": "flops", "bytes accessed": "bytes", "transcendentals": "transcendentals"}
"""Properties of XLA's HLO cost analysis, each with its name in this text."""


def describe_outcome(capture: Capture, work: Mapping[str, float]) -> str:
    """Return lines about a capture: its kernels in order, the passes that changed it, its memory and its work.

    Numbered names, layouts and generated code are left out: they differ between compilations that are otherwise the
    same.

    Args:
        capture: The capture.
        work: XLA's cost analysis of the optimized module: each property with its number.
    """
    module = capture.module
    launches = {"kernel": "kernels", "collective": "collectives", "copy": "copies"}
    launches_by_role = {role: [launch for launch in list_launches(capture) if launch.role == role] for role in launches}
    parts = {
        # Most programs have no collectives and no copies, so an empty list of those is not shown.
        **{
            launches[role]: [_describe_launch(module, launch) for launch in role_launches]
            for role, role_launches in launches_by_role.items()
            if role_launches or role == "kernel"
        },
        "passes that changed it": list(_list_passes(capture)),
        "memory in bytes": [f"{name}: {getattr(capture.memory, name):,}" for name in MEMORY],
        "work": [f"{label}: {work.get(name, 0):,.0f}" for name, label in WORK.items()],
    }
    return "".join(f"{part}\n" + "".join(f"  {line}\n" for line in lines) for part, lines in parts.items())


def _describe_launch(module: Module, launch: Launch) -> str:
    """Return a line such as `3 x kLoop fusion: add 1, maximum 1 -> f32[8,32]`; for a single run it has no `1 x`."""
    times = "" if launch.runs == 1 else f"{'?' if launch.runs is None else f'{launch.runs:,}'} x "
    instruction = launch.instruction
    thunk = launch.thunk.kind if launch.thunk else ""
    fused = instruction.fusion_kind is not None
    emitter = custom_fusion_kind(instruction) or instruction.custom_call_target
    words = [thunk, instruction.fusion_kind, instruction.wrapped if fused else instruction.opcode, emitter]
    if fused and not instruction.wrapped:
        words[2] = "fusion"
    opcodes = Counter(list_opcodes(module, instruction)) if fused else Counter[str]()
    contents = ", ".join(f"{opcode} {number}" for opcode, number in sorted(opcodes.items()))
    what = " ".join(word for word in words if word) + (f": {contents}" if contents else "")
    return f"{times}{what} -> {instruction.shape.plain}"


def _list_passes(capture: Capture) -> Iterator[str]:
    """Yield the passes that changed the module, a line for each stretch of a pipeline, in order."""
    for pipeline, changes in groupby(capture.passes, key=lambda change: change.pipeline):
        # XLA repeats some pipelines until nothing changes, so a pass may follow itself.
        runs = [(name, len(list(group))) for name, group in groupby(change.name for change in changes)]
        yield f"{pipeline}: {', '.join(name if times == 1 else f'{name} x {times}' for name, times in runs)}"
