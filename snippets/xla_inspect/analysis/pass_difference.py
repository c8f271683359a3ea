"""The first difference between two compilations: before the first pass, after a pass, in the schedule, or below HLO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xla_inspect.analysis.matching import Meanings
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Module

UNREADABLE = (InspectError, LookupError, ValueError, AttributeError, TypeError, StopIteration)
"""The errors that the text of an unknown XLA release can cause in the parsers."""

type Stage = Literal["lowering", "pass", "scheduling", "below HLO", "unknown"]
"""The stage at which two compilations diverge: JAX's lowering, a pass, the order of instructions, or anything below
HLO such as code generation, the memory plan and libraries."""


@dataclass(frozen=True, slots=True)
class PassDifference:
    """The first difference between two compilations.

    Attributes:
        stage: The stage of the difference.
        old: The pass of the older compilation after which the modules differ, or an empty string.
        new: The pass of the newer compilation after which the modules differ, or an empty string.
        blamed: The pass that caused the difference, or an empty string.
        maker: The pass of the newer compilation that produces the final number of the operations in question; empty
            if no operations were counted, or both compilations have the same number.
        pipeline: The pipeline of that pass, or of `new`.
    """

    stage: Stage
    old: str = ""
    new: str = ""
    blamed: str = ""
    maker: str = ""
    pipeline: str = ""


@dataclass(frozen=True)
class _State:
    """The module after a pass: the pass, a number that is equal for equal computations, and the module's position."""

    pipeline: str
    name: str
    number: int
    at: int


def find_difference(
    old: Capture, new: Capture, count: Callable[[Module], Counter[str]] | None = None
) -> PassDifference:
    """Return the point at which two compilations of one program finally diverge.

    Two modules are equal if they compute the same result in the same way, regardless of the names of instructions and
    the passes that ran. A difference that a later pass removes does not count. If a text cannot be parsed, the stage is
    `unknown`.

    Args:
        old: The older compilation.
        new: The newer compilation.
        count: A function that counts the operations in question in a module, or None.
    """
    try:
        first, second = _list_states(old, new)
        maker = _find_maker(new, count, count(old.module)) if count else ("", "")
    except UNREADABLE:
        return PassDifference("unknown")
    # The optimized modules compute the same, so only the order of instructions or code generation can differ.
    if first[-1].number == second[-1].number:
        stage: Stage = "scheduling" if _is_reordered(old.module, new.module) else "below HLO"
        return PassDifference(stage)
    meeting = _find_last_meeting(first, second)
    if meeting is None:
        return PassDifference("lowering", maker=maker[1], pipeline=maker[0])
    old_state, new_state = (
        states[at + 1] if at + 1 < len(states) else None for states, at in zip((first, second), meeting, strict=True)
    )
    names = (old_state.name if old_state else "", new_state.name if new_state else "")
    blamed = _find_earlier(names, (old, new), (first, second), meeting) or _blame(names, old, new)
    is_old = blamed == names[0] != names[1]
    pipeline = (old_state if is_old else new_state) or old_state
    return PassDifference("pass", *names, blamed, maker[1], maker[0] or (pipeline.pipeline if pipeline else ""))


def _find_earlier(
    names: tuple[str, str],
    captures: tuple[Capture, Capture],
    states: tuple[Sequence[_State], Sequence[_State]],
    meeting: tuple[int, int],
) -> str:
    """Return the diverging pass of one compilation that the other has already run without effect, or an empty string.

    In the other compilation the pass only annotated the module, for example with the way to split a kernel.
    """
    for capture, own, at, other in zip(captures, states, meeting, reversed(names), strict=True):
        if at + 1 < len(own):
            between = capture.passes[own[at].at : own[at + 1].at - 1]
            if any(_spell(change.name) == _spell(other) for change in between):
                return other
    return ""


def _blame(names: tuple[str, str], old: Capture, new: Capture) -> str:
    """Return the pass that caused a difference: the one that changed only one compilation, or that ran first."""
    first, second = map(_spell, names)
    changing = [{_spell(change.name) for change in capture.passes} for capture in (old, new)]
    only_old, only_new = bool(first) and first not in changing[1], bool(second) and second not in changing[0]
    if not only_old:
        return names[1] or names[0]
    if not only_new:
        return names[0]
    # Each pass changes the module in only one compilation, so the pass that runs first causes the difference.
    for capture in (new, old):
        runs = [_spell(run.name) for run in capture.runs]
        if first in runs and second in runs:
            return names[0] if runs.index(first) < runs.index(second) else names[1]
    return names[1]


def _spell(name: str) -> str:
    """Return the name of a pass in a form that does not depend on how a release joins its words."""
    return name.replace("_", "-").lower()


def _list_states(old: Capture, new: Capture) -> tuple[list[_State], list[_State]]:
    """Return the states of both compilations, from the imported to the optimized module, without unchanged ones."""
    meanings = Meanings()

    def list_own(capture: Capture) -> list[_State]:
        stages = [
            ("", "", capture.unoptimized_module),
            *((change.pipeline, change.name, change.module) for change in capture.passes),
        ]
        if capture.after:
            stages.append(("", "", capture.module))
        states: list[_State] = []
        for at, (pipeline, name, module) in enumerate(stages):
            number = meanings.find(module, module.entry)[module.entry.root]
            # A pass that only renames or annotates leaves the number unchanged, so it does not start a new state.
            if not states or states[-1].number != number:
                states.append(_State(pipeline, name, number, at))
        return states

    return list_own(old), list_own(new)


def _find_last_meeting(first: Sequence[_State], second: Sequence[_State]) -> tuple[int, int] | None:
    """Return the positions in both lists of their last common state, or None without one."""
    places = {state.number: at for at, state in enumerate(first)}
    # The numbers of both compilations come from one table, so equal numbers mean equal computations.
    shared = [(places[state.number], at) for at, state in enumerate(second) if state.number in places]
    return max(shared, key=sum, default=None)


def _find_maker(capture: Capture, count: Callable[[Module], Counter[str]], before: Counter[str]) -> tuple[str, str]:
    """Return the pipeline and the pass after which the count of the differing operations is final, or empty strings."""
    final = count(capture.module)
    # Without a difference between the two compilations, no pass is responsible.
    differing = [key for key in {*final, *before} if final[key] != before[key]]
    if not differing:
        return "", ""

    def is_final(module: Module) -> bool:
        counts = count(module)
        return all(counts[key] == final[key] for key in differing)

    maker = ("", "")
    # The count may pass through its final value early, so the search goes back from the last pass.
    for change in reversed(capture.passes):
        if not is_final(change.module):
            break
        maker = (change.pipeline, change.name)
    return maker


def _is_reordered(old: Module, new: Module) -> bool:
    """Return whether both modules are scheduled and the instructions of their entries are in different orders."""
    meanings = Meanings()
    orders = []
    for module in (old, new):
        # Names differ between compilations, so the order is compared by the meanings of the instructions.
        numbers = meanings.find(module, module.entry)
        orders.append([numbers[instruction] for instruction in module.entry])
    return orders[0] != orders[1] and old.is_scheduled and new.is_scheduled
