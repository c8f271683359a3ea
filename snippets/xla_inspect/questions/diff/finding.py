"""The search for the differences of two captures, which neither compiles nor runs anything."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import (
    compare_modules,
    find_refusal,
    find_stage,
    list_unknown_work,
    model_launches,
    name_failure,
)
from xla_inspect.questions.collectives import find_exchanges
from xla_inspect.questions.diff.counts_by_line import compare_tallies, tally
from xla_inspect.questions.diff.difference import Amount, Difference, InstructionPair, Side, Version
from xla_inspect.questions.diff.instruction_pairs import UNSEEN, is_different, pair_instructions
from xla_inspect.questions.diff.times_by_line import compare_times
from xla_inspect.questions.memory import ON_THE_WAY, explain_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis import Launched, Stage
    from xla_inspect.captured import Capture


_PLANNED = frozenset({"peak memory", "  arguments", "  temporaries", "  results", "generated code"})
"""The names of the amounts that come from a memory plan, left out if only one side has a plan."""
_UNCOUNTED: dict[str, Any] = dict.fromkeys(("amounts", "kinds", "instructions", "kernels", "collectives", "memory"), ())
"""The differences of two programs of which one did not compile."""
_NAME = re.compile(r"module @[\w.$-]+")


def compare_captures(first: Capture, second: Capture, names: tuple[str, str]) -> Difference:
    """Return the differences between two captures.

    Args:
        first: The first capture, the older one for two commits.
        second: The second capture.
        names: The names of the two sides in the printed comparison.
    """
    stages = find_stage(first), find_stage(second)
    has_launches = all(stage.has_launches for stage in stages)
    additions = removals = changes = None
    same: bool | None = None
    pairs: tuple[InstructionPair, ...] = ()
    if _are_comparable(first, second, stages):
        change = compare_modules(first.module, second.module)
        additions, removals = len(change.added), len(change.removed)
        changes = sum(not UNSEEN.issuperset(difference.aspects) for difference in change.changed)
        # Modules with equal instructions may still have different memory plans.
        same = not (additions or removals or changes or change.is_reordered) and (
            _has_plan(first) != _has_plan(second) or first.memory == second.memory
        )
        pairs = () if has_launches else pair_instructions(change, first, second)
    is_same_code, given_as = _compare_code(first, second)
    # The differences of the compiler's inputs explain those of the optimized modules.
    if is_same_code is False and given_as == "HLO":
        pairs = pair_instructions(compare_modules(first.unoptimized_module, second.unoptimized_module), first, second)
    launches = tuple(model_launches(capture) if capture.after else () for capture in (first, second))
    kernels = tuple([launch for launch in of if launch.launch.role == "kernel"] for of in launches)
    lines = compare_tallies(tally(first), tally(second))
    kinds = tuple(Counter(launch.launch.kind for launch in of) for of in kernels)
    # Without launches, the instructions are counted by opcode instead.
    if not has_launches and first.after and second.after:
        kinds = tuple(of.module.opcode_counts() for of in (first, second))
    amounts = _count(first, second, launches) if has_launches else _count_instructions(first, second)
    # Without a memory plan, a side has no bytes for temporaries, so the amounts cannot be compared.
    if _has_plan(first) != _has_plan(second):
        amounts = [amount for amount in amounts if amount.name not in _PLANNED]
    difference = Difference(
        left=_describe(first, names[0]),
        right=_describe(second, names[1]),
        is_same_code=is_same_code,
        given_as=given_as,
        instructions=pairs,
        is_compiler_known=bool(first.versions and second.versions),
        are_options_known=all(of.options or not of.is_dumped for of in (first, second)),
        is_same_result=same,
        versions=_compare_names(first.versions, second.versions),
        options=_compare_names(_spell(first.options), _spell(second.options)),
        added=additions,
        removed=removals,
        changed=changes,
        amounts=tuple(amounts),
        unknown_work=list_unknown_work(launch for of in launches for launch in of) if has_launches else (),
        kinds=tuple(
            Amount(kind, "", kinds[0][kind], kinds[1][kind])
            for kind in dict.fromkeys((*kinds[0], *kinds[1]))
            if kinds[0][kind] != kinds[1][kind]
        ),
        # Equal instructions on one target have equal times.
        times=None if same else compare_times(first, second),
        # If the instructions are equal, one side may still lack lines and axes, which is not a difference.
        kernels=lines.kernels if has_launches and not same else (),
        collectives=lines.collectives if has_launches and not same else (),
        memory=lines.memory if has_launches and not same and _has_plan(first) == _has_plan(second) else (),
    )
    # Only a program that is out of memory has final counts; any other error leaves a module that is not a result.
    if any(capture.error and find_refusal(capture) is None for capture in (first, second)):
        return replace(difference, is_same_result=None, added=None, removed=None, changed=None, **_UNCOUNTED)
    return difference


def _are_comparable(first: Capture, second: Capture, stages: tuple[Stage, Stage]) -> bool:
    """Return whether two captures have modules of the same stage and target (or one of an unknown target)."""
    if not (first.after and second.after) or stages[0].name != stages[1].name or stages[0].shapes != stages[1].shapes:
        return False
    # The files of a dump may not show the target, which is then assumed to be the same.
    return first.target == second.target or "unknown" in {first.target, second.target}


def _compare_code(first: Capture, second: Capture) -> tuple[bool | None, str]:
    """Return whether the compiler received the same program, or None if unknown, and the form of the comparison."""
    if first.stablehlo and second.stablehlo:
        # The name of the module is that of the function and has no effect on the code.
        return _NAME.sub("", first.stablehlo) == _NAME.sub("", second.stablehlo), "StableHLO"
    # Without the input of both sides, it is unknown whether the code is the same.
    if not (first.before and second.before):
        return None, ""
    return not is_different(compare_modules(first.unoptimized_module, second.unoptimized_module)), "HLO"


def _has_plan(capture: Capture) -> bool:
    """Return whether a capture has a memory plan."""
    return not capture.is_dumped or bool(capture.buffers)


def _count_instructions(first: Capture, second: Capture) -> list[Amount]:
    if not (first.after and second.after):
        return []
    return [Amount("instructions", "", first.module.instruction_count(), second.module.instruction_count())]


def _describe(capture: Capture, name: str) -> Side:
    return Side(
        name=name,
        program=capture.program,
        target=capture.target,
        versions=dict(capture.versions),
        options=_spell(capture.options),
        compile_seconds=capture.times.compiling,
        error=name_failure(capture),
        stage=find_stage(capture),
    )


def _spell(options: Mapping[str, str | int | bool]) -> dict[str, str]:
    # XLA spells the values of its flags in lower case, unlike Python.
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}


def _compare_names(first: Mapping[str, str], second: Mapping[str, str]) -> tuple[Version, ...]:
    return tuple(
        Version(name, first.get(name, ""), second.get(name, ""))
        for name in dict.fromkeys((*first, *second))
        if first.get(name, "") != second.get(name, "")
    )


def _count(first: Capture, second: Capture, launches: tuple[tuple[Launched, ...], ...]) -> list[Amount]:
    counts = [Counter(launch.launch.role for launch in of) for of in launches]
    flops = [sum(launch.total_flops for launch in of) for of in launches]
    moved = [sum(launch.total_bytes for launch in of) for of in launches]
    exchanges = [find_exchanges(of.program, of, {}).exchanges for of in (first, second)]
    sent_bytes = [sum(exchange.total_bytes for exchange in of) for of in exchanges]
    memories = [explain_memory(of, "") for of in (first, second)]
    code = [of.memory.generated_code for of in (first, second)]
    return [
        Amount("kernels", "", counts[0]["kernel"], counts[1]["kernel"]),
        Amount("copies", "", counts[0]["copy"], counts[1]["copy"]),
        Amount("collectives", "", len(exchanges[0]), len(exchanges[1])),
        Amount("bytes exchanged", "bytes", sent_bytes[0], sent_bytes[1]),
        Amount("flops", "flops", flops[0], flops[1]),
        Amount("bytes moved", "bytes", moved[0], moved[1]),
        Amount("peak memory", "bytes", *(memory.needed_bytes for memory in memories)),
        Amount("  arguments", "bytes", *(memory.sum_roles("argument") for memory in memories)),
        Amount("  temporaries", "bytes", *(memory.sum_roles(*ON_THE_WAY) for memory in memories)),
        Amount("  results", "bytes", *(memory.sum_roles("result") for memory in memories)),
        Amount("  constants", "bytes", *(memory.sum_roles("constant") for memory in memories)),
        Amount("generated code", "bytes", *code),
    ]
