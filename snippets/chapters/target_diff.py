"""Differences between one program's compilations for two targets, such as two generations of GPUs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_launches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.analysis import Launch
    from xla_inspect.captured import Capture


@dataclass(frozen=True)
class GenerationStep:
    """The differences from one target to another.

    Attributes:
        launches_gone: The number of removed launches of each kind.
        launches_new: The number of added launches of each kind.
        passes_gone: Passes that changed the module more often for the old target, with the difference.
        passes_new: Passes that change the module more often for the new target, with the difference.
        is_regridded: Whether the launches have the same kinds but other blocks, threads or shared memory.
    """

    launches_gone: Counter[str]
    launches_new: Counter[str]
    passes_gone: Counter[str]
    passes_new: Counter[str]
    is_regridded: bool

    @property
    def has_other_launches(self) -> bool:
        """True if the kinds of the launches differ."""
        return bool(self.launches_gone or self.launches_new)

    @property
    def has_other_passes(self) -> bool:
        """True if the passes that changed the module differ."""
        return bool(self.passes_gone or self.passes_new)


def compare_targets(old: Capture, new: Capture) -> GenerationStep:
    """Return the differences between two captures of one program."""
    launches, passes = (
        [count_kinds(list_launches(capture)) for capture in (old, new)],
        [Counter(capture.pass_names) for capture in (old, new)],
    )
    grids = [[(thunk.grid, thunk.threads, thunk.shared_memory) for thunk in capture.thunks] for capture in (old, new)]
    # The difference of counters drops counts that are not positive, so each direction needs its own difference.
    return GenerationStep(
        launches_gone=launches[0] - launches[1],
        launches_new=launches[1] - launches[0],
        passes_gone=passes[0] - passes[1],
        passes_new=passes[1] - passes[0],
        is_regridded=launches[0] == launches[1] and grids[0] != grids[1],
    )


def count_kinds(launches: Iterable[Launch]) -> Counter[str]:
    """Return the number of launches by kind (a fusion's kind or an opcode), with asynchronous launches apart."""
    return Counter(f"{launch.kind}, async" if launch.is_async else launch.kind for launch in launches)
