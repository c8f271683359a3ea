"""What a capture holds, in rows: operations by category, kernels, fusions, layouts, constants, passes, decisions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import (
    compare_modules,
    count_executed,
    count_operations,
    fused_computations,
    list_fusions,
    list_kernels,
    list_launches,
    main_memory_bytes,
)
from xla_inspect.hlo import CATEGORIES, IDLE, categorise
from xla_inspect.report import format_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from xla_inspect.analysis import Launch
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Computation, Instruction, Module

SHOWN = 60
"""Characters that a literal may take."""


def count_categories(module: Module) -> Counter[str]:
    """Return how many instructions of each category a module has, those inside fusions included."""
    return Counter(categorise(instruction.opcode) for instruction in module.walk())


def categories(before: Module, after: Module) -> list[tuple[str, int, int, str]]:
    """Return a row per category: its name, how many before and after, and the opcodes whose number changed."""
    counts = count_categories(before), count_categories(after)
    opcodes = before.opcode_counts(), after.opcode_counts()
    rows = []
    for name in CATEGORIES:
        if not any(count[name] for count in counts):
            continue
        changed = [
            f"{opcode} {opcodes[0][opcode]} to {opcodes[1][opcode]}"
            for opcode in sorted({*opcodes[0], *opcodes[1]})
            if categorise(opcode) == name and opcodes[0][opcode] != opcodes[1][opcode]
        ]
        rows.append((name, counts[0][name], counts[1][name], ", ".join(changed)))
    return rows


def describe_kernels(capture: Capture) -> list[tuple[str, str, str]]:
    """Return a row per kernel: its name, its kind with what emits it, and what it does."""
    fusions = {fusion.name: fusion for fusion in list_fusions(capture.module)}
    rows = []
    for launch in list_kernels(capture):
        fusion = fusions.get(launch.name)
        if fusion is not None:
            kind = f"{fusion.kind} {fusion.custom_kind or ''}".strip()
            rows.append((launch.name, kind, describe_opcodes(fusion.opcodes)))
        else:
            rows.append((launch.name, "no fusion", _name_work(launch)))
    return rows


def _name_work(launch: Launch) -> str:
    """Return what a launch without a fusion does: its opcode, and the library function that it calls."""
    return " ".join(filter(None, (launch.instruction.opcode, launch.instruction.custom_call_target)))


def describe_opcodes(opcodes: Iterable[str]) -> str:
    """Return the opcodes that do something, in order of appearance with their numbers, as in `2 multiply, add`."""
    counts = Counter(opcode for opcode in opcodes if opcode not in IDLE)
    return ", ".join(f"{count} {opcode}" if count > 1 else opcode for opcode, count in counts.items()) or "nothing else"


def list_shared(capture: Capture) -> list[tuple[str, str, str]]:
    """Return a row per kernel whose result several kernels read: its name, its result's shape, and who reads it."""
    entry = capture.module.entry
    rows = []
    for launch in list_kernels(capture):
        if launch.name not in entry.by_name:
            # It runs inside a loop or a branch.
            continue
        readers = list(dict.fromkeys(_list_readers(entry, launch.name)))
        if len(readers) > 1:
            rows.append((launch.name, entry.by_name[launch.name].shape.plain, ", ".join(readers)))
    return rows


def _list_readers(entry: Computation, name: str) -> Iterator[str]:
    """Give the instructions of ENTRY that read a value, also through those that only rename it."""
    for user in entry.users(name):
        if user.opcode in IDLE:
            yield from _list_readers(entry, user.name)
        else:
            yield user.name


def list_layouts(capture: Capture) -> list[tuple[str, str, str]]:
    """Return a row per instruction of ENTRY whose result is an array: its name, its shape, and its layout."""
    return [
        (
            instruction.name,
            instruction.shape.plain,
            str(instruction.shape).removeprefix(instruction.shape.plain) or "none",
        )
        for instruction in capture.module.entry
        if not instruction.shape.elements and instruction.opcode not in IDLE - {"parameter", "bitcast"}
    ]


def list_constants(module: Module) -> list[tuple[str, str, str]]:
    """Return a row per constant: its value, its shape, and where it stands: ENTRY, or the fusion that it is part of."""
    inside = fused_computations(module)
    return [
        (shorten(constant.literal or ""), constant.shape.plain, _place(constant, inside, module))
        for constant in module.walk()
        if constant.opcode == "constant"
    ]


def shorten(literal: str) -> str:
    """Return a literal, shortened to what one line takes."""
    text = " ".join(literal.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _place(constant: Instruction, inside: frozenset[str], module: Module) -> str:
    name = constant.computation
    if name == module.entry.name:
        return "ENTRY"
    while name in inside and (caller := module.callers[name][-1]).computation in inside:
        name = caller.computation
    return f"inside {module.callers[name][-1].name}" if name in inside else name


def list_passes(capture: Capture) -> list[tuple[str, str, int]]:
    """Return a row per pass that changed what the text shows: its name, what it did, and the instructions left."""
    rows = []
    before = capture.unoptimized_module
    for step in capture.passes:
        change = compare_modules(before, step.module)
        before = step.module
        if change.is_visible:
            rows.append((name_pass(step.name, step.pipeline), change.summary, step.module.instruction_count()))
    return rows


def name_pass(name: str, pipeline: str) -> str:
    """Return how a pass is called; what happens before the first pass of a pipeline is named by the pipeline."""
    return f"start of {pipeline}" if name == "pipeline-start" else name


def find_remover(capture: Capture, opcodes: Collection[str], goal: int) -> tuple[str, int]:
    """Return who first brought the number of some operations down to a goal, and how many there are in the end.

    What a fusion computes a second time counts twice, so there may be more in the end than once there were.

    Args:
        capture: The program on one target.
        opcodes: HLO's names of the operations to count together.
        goal: How many the program needs.
    """
    left = count_executed(capture.after, opcodes)
    if count_operations(capture.stablehlo, opcodes) <= goal:
        return "JAX, before the compiler got it", left
    if count_executed(capture.before, opcodes) <= goal:
        return "the import of StableHLO into HLO", left
    for step in capture.passes:
        if count_executed(step.text, opcodes) <= goal:
            return f"{name_pass(step.name, step.pipeline)}, in {step.pipeline}", left
    return "no pass", left


def list_decisions(capture: Capture) -> list[str]:
    """Return what the compiler decided, a sentence each, counted from what it left."""
    before, after = capture.unoptimized_module, capture.module
    work = sum(instruction.opcode not in IDLE for instruction in before.walk())
    launched = list_kernels(capture)
    fusions = {fusion.name: fusion for fusion in list_fusions(after)}
    decisions = [
        f"{_number(work, 'operation')} that compute or move data became {_number(len(launched), 'kernel')}.",
        f"Of {_number(len(capture.runs), 'run')} of passes, {len(list_passes(capture))} changed what the text shows.",
    ]
    emitters = Counter(
        fusions[launch.name].custom_kind or fusions[launch.name].kind for launch in launched if launch.name in fusions
    )
    if emitters:
        emitted = ", ".join(f"{count} x {name}" for name, count in emitters.most_common())
        alone = len(launched) - emitters.total()
        decisions.append(f"Fusions by how they are emitted: {emitted}; {_number(alone, 'kernel')} without a fusion.")
    matmuls = [matmul.name for matmul in after.walk() if matmul.opcode in {"dot", "convolution"}]
    if matmuls:
        opcodes = sorted({matmul.opcode for matmul in after.walk() if matmul.opcode in {"dot", "convolution"}})
        decisions.append(f"Matmuls: {len(matmuls)} left, written as {' and '.join(opcodes)}.")
    copies = [launch.is_async for launch in list_launches(capture) if launch.role == "copy"]
    if copies:
        decisions.append(
            f"{_number(len(copies), 'copy', 'copies')} of a value as it is, {sum(copies)} started ahead of its reader."
        )
    decisions.append(f"The kernels read and write {format_bytes(main_memory_bytes(after))} of main memory.")
    memory = capture.memory
    decisions.append(
        f"Memory: {format_bytes(memory.arguments)} of arguments, {format_bytes(memory.outputs)} of results, "
        f"{format_bytes(memory.temporaries)} for values in between."
    )
    return decisions


def _number(count: int, one: str, more: str = "") -> str:
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"
