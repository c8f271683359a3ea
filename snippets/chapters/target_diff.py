"""What differs between the outcomes of one program on two targets, such as two generations of one maker's."""

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
    """What differs from one target to another.

    Attributes:
        launches_gone: Kinds of launches that there are more of before, each with how many more.
        launches_new: Those that there are more of after.
        passes_gone: Passes that changed the module more often before.
        passes_new: Those that changed it more often after.
        is_regridded: Whether the launches are of the same kinds, and blocks, threads or shared memory of one differ.
    """

    launches_gone: Counter[str]
    launches_new: Counter[str]
    passes_gone: Counter[str]
    passes_new: Counter[str]
    is_regridded: bool

    @property
    def has_other_launches(self) -> bool:
        """Whether the kinds of the launches differ."""
        return bool(self.launches_gone or self.launches_new)

    @property
    def has_other_passes(self) -> bool:
        """Whether the passes that changed the module differ."""
        return bool(self.passes_gone or self.passes_new)


def compare_targets(old: Capture, new: Capture) -> GenerationStep:
    """Return what differs between two captures of one program.

    Args:
        old: The capture for the target before.
        new: The capture for the target after.
    """
    launches, passes = (
        [count_kinds(list_launches(capture)) for capture in (old, new)],
        [Counter(capture.pass_names) for capture in (old, new)],
    )
    grids = [[(thunk.grid, thunk.threads, thunk.shared_memory) for thunk in capture.thunks] for capture in (old, new)]
    return GenerationStep(
        launches_gone=launches[0] - launches[1],
        launches_new=launches[1] - launches[0],
        passes_gone=passes[0] - passes[1],
        passes_new=passes[1] - passes[0],
        is_regridded=launches[0] == launches[1] and grids[0] != grids[1],
    )


def count_kinds(launches: Iterable[Launch]) -> Counter[str]:
    """Return how many launches of each kind there are: a fusion's kind, else the opcode; asynchronous ones apart."""
    return Counter(f"{launch.kind}, async" if launch.is_async else launch.kind for launch in launches)
