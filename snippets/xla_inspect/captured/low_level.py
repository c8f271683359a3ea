"""The low-level programs of a TPU's kernels, and their conversion to JSON data and back."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PROGRAM = "TLP"
"""The compiler's name for the program around the kernels, the top-level program."""


@dataclass(frozen=True, slots=True)
class LowStage:
    """The size of a kernel's low-level program after one step of the compiler below HLO.

    Attributes:
        name: The compiler's name of the step, such as `post-GVN`.
        instructions: The number of low-level instructions, or None if it is unknown.
        bundles: The number of bundles into which they are packed, or None if they are not packed yet.
        is_changed: Whether the step changed the program, or None if it is unknown.
    """

    name: str
    instructions: int | None
    bundles: int | None
    is_changed: bool | None


@dataclass(frozen=True, slots=True)
class LowLevel:
    """The finished TPU code of one kernel below HLO, or of the program around the kernels.

    Attributes:
        kernel: The instruction that it implements; for code around the kernels, `PROGRAM` or another of the compiler's
            own names in `<>`.
        instructions: All instructions that run it; equal instructions share one kernel.
        bundles: The finished program, one bundle per line, as the compiler prints it.
        utilization: The number of slots of each unit that each bundle uses, as the compiler prints it.
        schedule: The compiler's summary of the schedule: numbers of bundles, in total, empty and by HLO instruction.
        critical_path: The longest dependence chain of each block, with the cycles to its end, as the compiler prints
            it.
        stages: The compiler steps that produced it, in order.
    """

    kernel: str
    instructions: tuple[str, ...]
    bundles: str
    utilization: str
    schedule: str
    critical_path: str
    stages: tuple[LowStage, ...] = ()


TEXTS = ("bundles", "utilization", "schedule", "critical_path")
"""The attributes with long texts."""


def write_low_level(kernels: Iterable[LowLevel], keep: Callable[[str], Any] = str) -> list[Any]:
    """Return kernels as JSON data, in which `keep` replaces the long texts (`TEXTS`).

    Args:
        kernels: The kernels.
        keep: A function that stores a long text and returns a reference to it.
    """
    return [
        [
            kernel.kernel,
            list(kernel.instructions),
            [keep(getattr(kernel, name)) for name in TEXTS],
            [list(astuple(stage)) for stage in kernel.stages],
        ]
        for kernel in kernels
    ]


def read_low_level(data: Iterable[Any], get: Callable[[Any], str] = str) -> tuple[LowLevel, ...]:
    """Return the kernels that `write_low_level` wrote.

    Args:
        data: The result of `write_low_level`.
        get: A function that returns the long text for a reference.
    """
    kernels = []
    # The texts are in the order of `TEXTS`.
    for kernel, instructions, texts, stages in data:
        bundles, utilization, schedule, critical_path = map(get, texts)
        kernels.append(
            LowLevel(
                kernel,
                tuple(instructions),
                bundles,
                utilization,
                schedule,
                critical_path,
                tuple(LowStage(*stage) for stage in stages),
            )
        )
    return tuple(kernels)
