"""The difference of two captures, found."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import compare_modules, name_failure
from xla_inspect.answers.difference import Amount, Difference, Side, Version
from xla_inspect.answers.exchange_finding import find_exchanges
from xla_inspect.answers.memory import ON_THE_WAY, explain_memory
from xla_inspect.answers.tally import compare_tallies, tally
from xla_inspect.report import model_launches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.report import Launched


_NAME = re.compile(r"module @[\w.$-]+")
_UNSEEN = frozenset({"metadata", "name"})


def compare_captures(left: Capture, right: Capture, names: tuple[str, str]) -> Difference:
    """Return what differs between two captures.

    Args:
        left: The first, the older one of two commits.
        right: The second.
        names: What they are called.
    """
    same_target = left.target == right.target
    added = removed = changed = None
    same: bool | None = None
    if same_target and left.after and right.after:
        change = compare_modules(left.module, right.module)
        added, removed = len(change.added), len(change.removed)
        changed = sum(not _UNSEEN.issuperset(each.aspects) for each in change.changed)
        same = not (added or removed or changed or change.is_reordered) and left.memory == right.memory
    launches = tuple(model_launches(each) if each.after else () for each in (left, right))
    kernels = tuple([each for each in of if each.launch.role == "kernel"] for of in launches)
    lines = compare_tallies(tally(left), tally(right))
    kinds = tuple(Counter(each.launch.kind for each in of) for of in kernels)
    return Difference(
        left=_describe(left, names[0]),
        right=_describe(right, names[1]),
        is_same_code=_NAME.sub("", left.stablehlo) == _NAME.sub("", right.stablehlo),
        is_same_result=same,
        versions=_compare_names(left.versions, right.versions),
        options=_compare_names(_spell(left.options), _spell(right.options)),
        added=added,
        removed=removed,
        changed=changed,
        amounts=tuple(_count(left, right, launches)),
        kinds=tuple(
            Amount(kind, "", kinds[0][kind], kinds[1][kind])
            for kind in dict.fromkeys((*kinds[0], *kinds[1]))
            if kinds[0][kind] != kinds[1][kind]
        ),
        kernels=lines.kernels,
        collectives=lines.collectives,
        memory=lines.memory,
    )


def _describe(capture: Capture, name: str) -> Side:
    return Side(
        name=name,
        program=capture.program,
        target=capture.target,
        versions=dict(capture.versions),
        options=_spell(capture.options),
        compile_seconds=capture.times.compiling,
        error=name_failure(capture),
    )


def _spell(options: Mapping[str, str | int | bool]) -> dict[str, str]:
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}


def _compare_names(left: Mapping[str, str], right: Mapping[str, str]) -> tuple[Version, ...]:
    return tuple(
        Version(name, left.get(name, ""), right.get(name, ""))
        for name in dict.fromkeys((*left, *right))
        if left.get(name, "") != right.get(name, "")
    )


def _count(left: Capture, right: Capture, launches: tuple[tuple[Launched, ...], ...]) -> list[Amount]:
    counts = [Counter(each.launch.role for each in of) for of in launches]
    flops = [sum(each.work.flops * (each.launch.runs or 1) for each in of) for of in launches]
    moved = [sum(each.bytes * (each.launch.runs or 1) for each in of) for of in launches]
    exchanges = [find_exchanges(of.program, of, {}).exchanges for of in (left, right)]
    sent = [sum(each.total_bytes for each in of) for of in exchanges]
    memories = [explain_memory(of, "") for of in (left, right)]
    code = [of.memory.generated_code for of in (left, right)]
    return [
        Amount("kernels", "", counts[0]["kernel"], counts[1]["kernel"]),
        Amount("copies", "", counts[0]["copy"], counts[1]["copy"]),
        Amount("collectives", "", len(exchanges[0]), len(exchanges[1])),
        Amount("bytes exchanged", "bytes", sent[0], sent[1]),
        Amount("flops", "flops", flops[0], flops[1]),
        Amount("bytes moved", "bytes", moved[0], moved[1]),
        Amount("peak memory", "bytes", *(each.needed_bytes for each in memories)),
        Amount("  arguments", "bytes", *(each.sum_roles("argument") for each in memories)),
        Amount("  temporaries", "bytes", *(each.sum_roles(*ON_THE_WAY) for each in memories)),
        Amount("  results", "bytes", *(each.sum_roles("result") for each in memories)),
        Amount("  constants", "bytes", *(each.sum_roles("constant") for each in memories)),
        Amount("generated code", "bytes", *code),
    ]
