"""What a TPU's compiler leaves of its own low-level program, kernel by kernel, and how that is stored."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PROGRAM = "TLP"
"""How the compiler names the program around the kernels, its top-level program."""


@dataclass(frozen=True, slots=True)
class LowStage:
    """The low-level program of a kernel after one step of the compiler below HLO.

    Attributes:
        name: The step, such as `post-GVN`, in the compiler's words.
        instructions: How many low-level instructions there are, or None where that is not said.
        bundles: How many bundles they are packed into, or None where they are not packed.
        is_changed: Whether it differs from what the step before left, or None where that is not said.
    """

    name: str
    instructions: int | None
    bundles: int | None
    is_changed: bool | None


@dataclass(frozen=True, slots=True)
class LowLevel:
    """A kernel below HLO, or the program around the kernels, as the compiler for a TPU finished it.

    Attributes:
        kernel: The instruction that it was made for; `PROGRAM`, or another of the compiler's own names in `<>`, of what
            is around the kernels.
        instructions: All instructions that run it: those that are the same share one.
        bundles: The finished program, a bundle a line, as the compiler prints it.
        utilization: How many of each unit's slots each bundle takes, as the compiler prints it.
        schedule: How many bundles there are, and of which HLO instruction, as the compiler prints it.
        critical_path: The longest chain of each block, with cycles to its end, as the compiler prints it.
        profile: What the compiler counts once through: a part of a unit, how often it is used, and how often it could
            be in that time.
        stages: The steps that made it, in order.
    """

    kernel: str
    instructions: tuple[str, ...]
    bundles: str
    utilization: str
    schedule: str
    critical_path: str
    profile: tuple[tuple[str, int, int], ...] = ()
    stages: tuple[LowStage, ...] = ()


TEXTS = ("bundles", "utilization", "schedule", "critical_path")
"""The attributes that hold long texts."""


def write_low_level(kernels: Iterable[LowLevel], keep: Callable[[str], Any] = str) -> list[Any]:
    """Return kernels as JSON holds them.

    Args:
        kernels: The kernels.
        keep: What a long text becomes.
    """
    return [
        [
            each.kernel,
            list(each.instructions),
            [keep(getattr(each, name)) for name in TEXTS],
            [list(row) for row in each.profile],
            [list(astuple(stage)) for stage in each.stages],
        ]
        for each in kernels
    ]


def read_low_level(written: Iterable[Any], get: Callable[[Any], str] = str) -> tuple[LowLevel, ...]:
    """Return the kernels that `write_low_level` wrote.

    Args:
        written: What it returned.
        get: What a long text is made of again.
    """
    kernels = []
    for kernel, instructions, texts, profile, stages in written:
        bundles, utilization, schedule, critical_path = map(get, texts)
        kernels.append(
            LowLevel(
                kernel,
                tuple(instructions),
                bundles,
                utilization,
                schedule,
                critical_path,
                tuple((str(part), int(used), int(room)) for part, used, room in profile),
                tuple(LowStage(*stage) for stage in stages),
            )
        )
    return tuple(kernels)
