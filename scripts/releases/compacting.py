"""The reduction of a probe's results to the small record of a release that is kept under version control."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from releases.measuring import CODED, load_result
from xla_inspect.analysis import list_launches, main_memory_bytes
from xla_inspect.compilation import PINNED
from xla_inspect.errors import InspectError
from xla_inspect.hlo import parse_module
from xla_inspect.releases import Form, Release, ReleaseCompile, ReleaseOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releases.measuring import Task
    from xla_inspect.releases import Environment

SWITCHED_OFF = str(PINNED["cpu"]["xla_disable_hlo_passes"]).split(",")
"""The passes that are disabled because their results depend on the machine; some releases list them anyway."""

SHOWN = ("layer", "softmax")
"""The programs whose jaxpr and StableHLO are recorded as text."""


def compact(environment: Environment, tasks: Sequence[Task], left_out: Mapping[str, int]) -> Release:
    """Return the record of a release, made from the stored results; tasks without a result are skipped.

    Args:
        environment: The environment of the release.
        tasks: The measured tasks.
        left_out: The number of figures of each GPU that the release has no field for.
    """
    passes: dict[str, dict[str, None]] = {}
    parameters: dict[str, set[str]] = {}
    attributes: dict[str, set[str]] = {}
    texts: dict[str, dict[str, str]] = {}
    programs: dict[str, tuple[list[Form], dict[str, Form], dict[str, ReleaseOutcome]]] = {}
    for task in sorted(tasks, key=lambda task: (task["program"], task["member"])):
        # Tasks have no result if the release has no compiler for their target.
        if not (environment.folder / task["file"]).exists():
            continue
        result, name = load_result(environment, task), name_program(task)
        traced, lowered, outcomes = programs.setdefault(name, ([], {}, {}))
        if failed := result.get("failed"):
            outcomes[task["base"]] = ReleaseOutcome(failed=failed)
            continue
        ran = passes.setdefault(task["kind"], {})
        ran.update(dict.fromkeys(name for name in result["ran"] if name not in SWITCHED_OFF))
        for primitive, names in result["parameters"].items():
            parameters.setdefault(primitive, set()).update(names)
        for operation, (_, *names) in result["operations"].items():
            attributes.setdefault(operation, set()).update(names)
        if not traced:
            traced.append(Form(_hash(result["jaxpr"]), result["primitives"]))
        if task["program"] in SHOWN and task["base"] == "cpu":
            texts[name] = {"jaxpr": result["jaxpr"], "stablehlo": result["stablehlo"]}
        counts = {operation: int(number) for operation, (number, *_) in result["operations"].items()}
        lowered[task["base"]] = Form(_hash(result["stablehlo"]), counts)
        outcomes[task["base"]] = summarize_compile(result, has_code=task["base"] in CODED)
    names = json.loads((environment.folder / "names.json").read_text(encoding="utf-8"))
    return Release(
        jax=environment.version,
        versions=environment.versions,
        missing=environment.missing,
        figures_left_out={name: number for name, number in left_out.items() if number},
        names={module: tuple(values) for module, values in names.items() if module},
        passes={kind: tuple(values) for kind, values in sorted(passes.items())},
        parameters={name: tuple(sorted(values)) for name, values in sorted(parameters.items())},
        attributes={name: tuple(sorted(values)) for name, values in sorted(attributes.items())},
        programs={
            name: ReleaseCompile(traced[0] if traced else None, lowered, outcomes)
            for name, (traced, lowered, outcomes) in sorted(programs.items())
        },
        texts=texts,
    )


def name_program(task: Task) -> str:
    """Return the name of a program in records: its file, and its name within the file if there are several."""
    return f"{task['program']}: {task['member']}" if task["member"] else task["program"]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def summarize_compile(result: Mapping[str, Any], *, has_code: bool) -> ReleaseOutcome:
    """Return the figures of one stored compilation, including counts of its code if `has_code`."""
    memory = {name: number for name, number in (result["memory"] or {}).items() if number}
    cost = result["cost"]
    changes = dict(sorted(Counter(result["changed"]).items()))
    flops = None if cost is None else int(cost.get("flops", 0))
    try:
        module = parse_module(result["after"])
        launches = Counter(launch.sort for launch in list_launches(module))
        traffic = main_memory_bytes(module)
    except (InspectError, KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
        # Another release may print its modules in a form that this parser does not know.
        return ReleaseOutcome(
            changed=changes, memory=memory, flops=flops, failed=f"its module cannot be read: {error!r}"[:200]
        )
    return ReleaseOutcome(
        launches=dict(sorted(launches.items())),
        changed=changes,
        instructions=sum(module.opcode_counts().values()),
        memory=memory,
        traffic=traffic,
        flops=flops,
        # JSON only has keys of text, so the depths are converted back to numbers.
        code={int(depth): dict(sorted(counts.items())) for depth, counts in sorted(result["work"].items())}
        if has_code
        else None,
        entries=result["entries"] if has_code else 0,
    )
