"""Turn what the probe left of a release into the small record that is kept under version control."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from releases.measuring import read
from releases.probe import OPTIONS
from xla_inspect.errors import InspectError
from xla_inspect.hlo.fusions import custom_fusion_kind
from xla_inspect.hlo.launches import STRUCTURE
from xla_inspect.hlo.opcodes import IDLE
from xla_inspect.hlo.parser import parse
from xla_inspect.hlo.releases import Compiled, Form, Outcome, Release
from xla_inspect.hlo.traffic import measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from releases.environments import Environment
    from releases.measuring import Task
    from xla_inspect.hlo.module import Computation, Instruction, Module

SWITCHED_OFF = str(OPTIONS["cpu"]["xla_disable_hlo_passes"]).split(",")
"""Passes that do not run since the result would depend on the machine; some releases list them all the same."""

SHOWN = ("layer", "softmax")
"""The programs whose jaxpr and StableHLO are kept as text."""


def compact(environment: Environment, tasks: Sequence[Task], left_out: Mapping[str, int]) -> Release:
    """Return the record of a release.

    Args:
        environment: The release.
        tasks: What was measured.
        left_out: How many figures of each GPU it has no field for.
    """
    passes: dict[str, dict[str, None]] = {}
    parameters: dict[str, set[str]] = {}
    attributes: dict[str, set[str]] = {}
    texts: dict[str, dict[str, str]] = {}
    programs: dict[str, tuple[list[Form], dict[str, Form], dict[str, Outcome]]] = {}
    for task in sorted(tasks, key=lambda each: (each["program"], each["member"])):
        if not (environment.folder / task["file"]).exists():
            continue
        found, name = read(environment, task), name_program(task)
        traced, lowered, outcomes = programs.setdefault(name, ([], {}, {}))
        if failed := found.get("failed"):
            outcomes[task["base"]] = Outcome(failed=failed)
            continue
        ran = passes.setdefault(task["kind"], {})
        ran.update(dict.fromkeys(name for name in found["ran"] if name not in SWITCHED_OFF))
        for primitive, names in found["parameters"].items():
            parameters.setdefault(primitive, set()).update(names)
        for operation, (_, *names) in found["operations"].items():
            attributes.setdefault(operation, set()).update(names)
        if not traced:
            traced.append(Form(_hash(found["jaxpr"]), found["primitives"]))
        if task["program"] in SHOWN and task["base"] == "cpu":
            texts[name] = {"jaxpr": found["jaxpr"], "stablehlo": found["stablehlo"]}
        counts = {operation: int(number) for operation, (number, *_) in found["operations"].items()}
        lowered[task["base"]] = Form(_hash(found["stablehlo"]), counts)
        outcomes[task["base"]] = describe(found)
    names = json.loads((environment.folder / "names.json").read_text(encoding="utf-8"))
    return Release(
        jax=environment.version,
        versions=environment.versions,
        missing=environment.missing,
        figures_left_out={name: number for name, number in left_out.items() if number},
        names={module: tuple(each) for module, each in names.items() if module},
        passes={kind: tuple(each) for kind, each in sorted(passes.items())},
        parameters={name: tuple(sorted(each)) for name, each in sorted(parameters.items())},
        attributes={name: tuple(sorted(each)) for name, each in sorted(attributes.items())},
        programs={
            name: Compiled(traced[0] if traced else None, lowered, outcomes)
            for name, (traced, lowered, outcomes) in sorted(programs.items())
        },
        texts=texts,
    )


def name_program(task: Task) -> str:
    """Return what a record calls a program: its file, and which of the file's it is."""
    return f"{task['program']}: {task['member']}" if task["member"] else task["program"]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def describe(found: Mapping[str, Any]) -> Outcome:
    """Return what one compile came to."""
    memory = {name: number for name, number in (found["memory"] or {}).items() if number}
    cost = found["cost"]
    changed = dict(sorted(Counter(found["changed"]).items()))
    flops = None if cost is None else int(cost.get("flops", 0))
    try:
        module = parse(found["after"])
        launched = list(walk(module, module.entry))
        launches = Counter(name_kind(module, each) for each in launched)
        traffic = sum(measure(module, find_started(module, each)).main for each in launched)
    except (InspectError, KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
        # The text of a release that this parser has not met.
        return Outcome(
            changed=changed, memory=memory, flops=flops, failed=f"its module cannot be read: {error!r}"[:200]
        )
    return Outcome(
        launches=dict(sorted(launches.items())),
        changed=changed,
        instructions=sum(module.opcode_counts().values()),
        memory=memory,
        traffic=traffic,
        flops=flops,
    )


def walk(module: Module, computation: Computation) -> Iterator[Instruction]:
    """Yield what a computation launches in the order of the text, loops, branches and calls opened."""
    for instruction in computation:
        if instruction.opcode in STRUCTURE:
            for called in module.called(instruction):
                yield from walk(module, called)
        elif instruction.opcode not in IDLE and not instruction.opcode.endswith("-done"):
            yield instruction


def find_started(module: Module, instruction: Instruction) -> Instruction:
    """Return what an asynchronous start holds, which reads and writes the same, or the instruction itself."""
    if instruction.opcode != "async-start":
        return instruction
    held = [each for called in module.called(instruction) for each in called if each.opcode not in IDLE]
    return held[-1] if held else instruction


def name_kind(module: Module, instruction: Instruction) -> str:
    """Return what sort of launch an instruction is: its opcode, and the fusion's or the library call's kind.

    What starts beside others is marked: `all-gather, async`.
    """
    if (started := find_started(module, instruction)) is not instruction:
        return f"{name_kind(module, started)}, async"
    kind = custom_fusion_kind(instruction) or instruction.fusion_kind or instruction.custom_call_target
    name = f"{instruction.opcode.removesuffix('-start')} {kind or ''}".rstrip()
    return f"{name}, async" if instruction.opcode.endswith("-start") else name
